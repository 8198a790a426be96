"""Copies between strided layouts, and casts."""

from libc.string cimport memcpy

from .ufunc cimport Loop, NOGIL_SIZE, broadcast_strides, coalesce, loop_t, strided_loop

cdef extern from "casts.h":
    loop_t tf_casts[13][13]


cdef void run(const Value *src, Value *dst, Loop *loop) noexcept nogil:
    """dst = src, broadcast to dst's shape."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[2][64]
    cdef char *data[2]
    cdef int i, rank = dst.meta.rank
    for i in range(rank):
        shape[i] = dst.meta.dims[i]
    broadcast_strides(src.meta, rank, strides[0])
    broadcast_strides(dst.meta, rank, strides[1])
    data[0] = src.data
    data[1] = dst.data
    rank = coalesce(2, rank, shape, data, strides)
    strided_loop(loop, 2, rank, shape, data, strides)


cdef int copy(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    if out.meta.size == 0:
        return 0
    if out.meta.flags & DENSE and same_layout(ins[0].meta, out.meta):
        if out.meta.size < NOGIL_SIZE:
            memcpy(out.data, ins[0].data, out.meta.size * out.meta.itemsize)
        else:
            with nogil:
                memcpy(out.data, ins[0].data, out.meta.size * out.meta.itemsize)
        return 0
    return cast(engine, op, ins, n, out, params)


cdef int cast(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef Loop loop
    if out.meta.size == 0:
        return 0
    loop.fn = tf_casts[ins[0].meta.dtype][out.meta.dtype]
    loop.data = NULL
    if out.meta.size < NOGIL_SIZE:
        run(&ins[0], out, &loop)
    else:
        with nogil:
            run(&ins[0], out, &loop)
    return 0
