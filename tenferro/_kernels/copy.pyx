"""Copies between strided layouts, and casts."""

from libc.string cimport memcpy

from .ufunc cimport Loop, NOGIL_SIZE, broadcast_strides, coalesce, loop_t, strided_loop

cdef extern from "casts.h":
    loop_t tf_casts[13][13]

cdef extern from "tile.h":
    ctypedef void (*tile_t "tf_tile_t")(
        Py_ssize_t ni, Py_ssize_t nj, const char *src, Py_ssize_t si, Py_ssize_t sj, char *dst, Py_ssize_t di,
        Py_ssize_t dj) noexcept nogil
    tile_t tf_tile(int itemsize) noexcept nogil

cdef enum:
    TILED = 1024                        # elements from which an axis may be worth a tile


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


cdef bint transpose(const Value *src, Value *dst) noexcept nogil:
    """dst = src by tiles, where the fastest axis of one is a slow one of the other; False if it is not."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t at[64]
    cdef Py_ssize_t strides[2][64]
    cdef char *data[2]
    cdef int i, k, j = 0, rank = dst.meta.rank, last
    cdef tile_t tile = tf_tile(dst.meta.itemsize)
    if rank < 2:
        return False
    for i in range(rank):
        shape[i] = dst.meta.dims[i]
    broadcast_strides(src.meta, rank, strides[0])
    broadcast_strides(dst.meta, rank, strides[1])
    data[0] = src.data
    data[1] = dst.data
    last = coalesce(2, rank, shape, data, strides) - 1
    for i in range(1, last):
        if 0 < strides[0][i] < strides[0][j]:
            j = i
    if last < 1 or strides[0][j] >= strides[0][last] or strides[0][j] == 0 or shape[j] < 4 or shape[last] < 4:
        return False
    for i in range(last):
        at[i] = 0
    while True:
        tile(shape[j], shape[last], data[0], strides[0][j], strides[0][last], data[1], strides[1][j], strides[1][last])
        k = last - 1
        while k >= 0:
            if k != j:
                at[k] += 1
                data[0] += strides[0][k]
                data[1] += strides[1][k]
                if at[k] < shape[k]:
                    break
                data[0] -= at[k] * strides[0][k]
                data[1] -= at[k] * strides[1][k]
                at[k] = 0
            k -= 1
        if k < 0:
            return True


cdef int copy(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef bint done
    if out.meta.size == 0:
        return 0
    if out.meta.flags & DENSE and same_layout(ins[0].meta, out.meta):
        if out.meta.size < NOGIL_SIZE:
            memcpy(out.data, ins[0].data, out.meta.size * out.meta.itemsize)
        else:
            with nogil:
                memcpy(out.data, ins[0].data, out.meta.size * out.meta.itemsize)
        return 0
    if out.meta.size >= TILED:
        with nogil:
            done = transpose(&ins[0], out)
        if done:
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
