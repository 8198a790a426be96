"""Reductions by NumPy's inner loops: ``out = loop(out, in)`` with an output stride of 0 along the reduced axes.

A loop that sees its output repeated sums pairwise, so sums are as accurate as NumPy's.
"""

from tenferro._core.optable cimport Op
from .ufunc cimport Loop, NOGIL_SIZE, coalesce, find_loop, strided_loop


cdef int run(Loop *loop, const Value *x, Value *out, unsigned long long axes, bint keepdims) noexcept nogil:
    """Fold x into out, which holds the initial values."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[3][64]
    cdef char *data[3]
    cdef int i, j = 0, rank = x.meta.rank
    for i in range(rank):
        shape[i] = x.meta.dims[i]
        strides[0][i] = strides[2][i] = x.meta.dims[rank + i]
        if (axes >> i) & 1:
            strides[1][i] = 0
            j += keepdims
        else:
            strides[1][i] = out.meta.dims[out.meta.rank + j]
            j += 1
    data[0] = data[2] = x.data
    data[1] = out.data
    rank = coalesce(3, rank, shape, data, strides)
    for i in range(rank):
        strides[0][i] = strides[1][i]
        strides[1][i] = strides[2][i]
        strides[2][i] = strides[0][i]
    data[2] = data[1]
    data[1] = data[0]
    data[0] = data[2]
    strided_loop(loop, 3, rank, shape, data, strides)
    return 0


cdef int reduce(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef Loop *loop = find_loop(Op.ADD, out.meta.dtype)
    cdef Py_ssize_t k
    for k in range(out.meta.size * out.meta.itemsize):
        out.data[k] = 0
    if ins[0].meta.size == 0:
        return 0
    if ins[0].meta.size < NOGIL_SIZE:
        run(loop, &ins[0], out, <unsigned long long> params.v[0], params.v[1])
    else:
        with nogil:
            run(loop, &ins[0], out, <unsigned long long> params.v[0], params.v[1])
    return 0
