"""Copies between strided layouts, and casts."""

from .ufunc cimport Loop, NOGIL_SIZE, broadcast_strides, coalesce, loop_t, strided_loop

cdef extern from "casts.h":
    loop_t tf_casts[13][13]

cdef extern from "slabs.h":
    bint tf_run_slabs(loop_t fn, void *fn_data, int n_ops, const int *items, int rank, const Py_ssize_t *shape, char **data,
                      Py_ssize_t (*strides)[64]) noexcept nogil

cdef extern from "permute.h":
    void tf_permute(int item, int rank, const Py_ssize_t *n, const char *src, const Py_ssize_t *s, char *dst,
                    const Py_ssize_t *d) noexcept nogil
    void tf_run(char *dst, const char *src, size_t n, bint stream) noexcept nogil
    void tf_fence() noexcept nogil
    enum: TF_STREAM_ROWS

cdef enum:
    SMALL = 64                          # elements up to which a plan of tiles costs more than it saves


cdef void run(const Value *src, Value *dst, Loop *loop) noexcept nogil:
    """dst = src, broadcast to dst's shape."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[2][64]
    cdef char *data[2]
    cdef int i, rank = dst.meta.rank
    cdef int *items = [src.meta.itemsize, dst.meta.itemsize]
    for i in range(rank):
        shape[i] = dst.meta.dims[i]
    broadcast_strides(src.meta, rank, strides[0])
    broadcast_strides(dst.meta, rank, strides[1])
    data[0] = src.data
    data[1] = dst.data
    rank = coalesce(2, rank, shape, data, strides)
    if not tf_run_slabs(loop.fn, loop.data, 2, items, rank, shape, data, strides):
        strided_loop(loop, 2, rank, shape, data, strides)


cdef void strided_copy(int itemsize, int rank, const Py_ssize_t *shape, const char *src, const Py_ssize_t *from_,
                       char *dst, const Py_ssize_t *to) noexcept nogil:
    tf_permute(itemsize, rank, shape, src, from_, dst, to)


cdef void copy_value(const Value *src, Value *dst) noexcept nogil:
    cdef Py_ssize_t strides[64]
    cdef Py_ssize_t nbytes = dst.meta.size * dst.meta.itemsize
    if dst.meta.flags & DENSE and same_layout(src.meta, dst.meta):
        tf_run(dst.data, src.data, nbytes, nbytes >= TF_STREAM_ROWS)
        if nbytes >= TF_STREAM_ROWS:
            tf_fence()
        return
    broadcast_strides(src.meta, dst.meta.rank, strides)
    tf_permute(dst.meta.itemsize, dst.meta.rank, dst.meta.dims, src.data, strides, dst.data, dst.meta.dims + dst.meta.rank)


cdef int copy(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    if out.meta.size == 0:
        return 0
    if out.meta.size <= SMALL:
        return cast(engine, op, ins, n, out, params)
    if out.meta.size < NOGIL_SIZE:
        copy_value(&ins[0], out)
    else:
        with nogil:
            copy_value(&ins[0], out)
    return 0


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
