"""Reductions by NumPy's inner loops: ``out = loop(out, x)`` with an output stride of 0 along the folded axes.

A loop that sees its output repeated sums pairwise, so sums are as accurate as NumPy's.
"""

from libc.string cimport memcpy, memset

from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from .copy cimport copy
from .ufunc cimport Loop, NOGIL_SIZE, coalesce, find_loop, strided_loop

cdef enum:
    SHORT = 16          # an inner loop of fewer elements does not pay for its call

ctypedef struct Walk:   # operands out, x, other
    int rank
    Py_ssize_t shape[64]
    Py_ssize_t strides[4][64]
    char *data[4]


cdef Py_ssize_t folded_count(const Meta *m, unsigned long long axes) noexcept nogil:
    """Number of elements that go into one element of the result."""
    cdef int i
    cdef Py_ssize_t n = 1
    for i in range(m.rank):
        if (axes >> i) & 1:
            n *= m.dims[i]
    return n


cdef void lengthen(Walk *w) noexcept nogil:
    """Where the inner axis is short, exchange it with the longest one."""
    cdef int i, k, best = w.rank - 1
    cdef Py_ssize_t t
    if w.rank < 2 or w.shape[best] >= SHORT:
        return
    for i in range(w.rank - 2, -1, -1):
        if w.shape[i] > 2 * w.shape[best]:
            best = i
    i = w.rank - 1
    if best == i:
        return
    t = w.shape[i]
    w.shape[i] = w.shape[best]
    w.shape[best] = t
    for k in range(3):
        t = w.strides[k][i]
        w.strides[k][i] = w.strides[k][best]
        w.strides[k][best] = t


cdef void plan(Walk *w, const Value *x, const Value *out, const Value *other, unsigned long long axes,
               bint keepdims) noexcept nogil:
    cdef int i, j = 0, rank = x.meta.rank, m = out.meta.rank
    cdef char *p
    for i in range(rank):
        w.shape[i] = x.meta.dims[i]
        w.strides[0][i] = w.strides[3][i] = x.meta.dims[rank + i]
        if (axes >> i) & 1:
            w.strides[1][i] = w.strides[2][i] = 0
            j += keepdims
        else:
            w.strides[1][i] = out.meta.dims[m + j]
            w.strides[2][i] = other.meta.dims[m + j]
            j += 1
    w.data[0] = w.data[3] = x.data
    w.data[1] = out.data
    w.data[2] = other.data
    w.rank = coalesce(4, rank, w.shape, w.data, w.strides)
    for i in range(w.rank):
        w.strides[0][i] = w.strides[1][i]
        w.strides[1][i] = w.strides[3][i]
    p = w.data[0]
    w.data[0] = w.data[1]
    w.data[1] = p
    lengthen(w)


cdef void fold(Loop *loop, const Value *x, const Value *out, const Value *other, unsigned long long axes,
               bint keepdims) noexcept nogil:
    cdef Walk w
    cdef char *args[3]
    cdef Py_ssize_t strides[3]
    if x.meta.size == 0:
        return
    if out.meta.size == 1 and x.meta.flags & DENSE:
        args[0] = out.data
        args[1] = x.data
        args[2] = other.data
        strides[0] = strides[2] = 0
        strides[1] = x.meta.itemsize
        loop.fn(args, &x.meta.size, strides, loop.data)
        return
    plan(&w, x, out, other, axes, keepdims)
    strided_loop(loop, 3, w.rank, w.shape, w.data, w.strides)


cdef void set_one(char *p, int dtype) noexcept nogil:
    """Write the number one."""
    if dtype == D_F64:
        (<double *> p)[0] = 1
    elif dtype == D_F32:
        (<float *> p)[0] = 1
    elif dtype == D_C128:
        (<double *> p)[0] = 1
        (<double *> p)[1] = 0
    elif dtype == D_C64:
        (<float *> p)[0] = 1
        (<float *> p)[1] = 0
    elif dtype == D_I64 or dtype == D_U64:
        (<long long *> p)[0] = 1
    elif dtype == D_I32 or dtype == D_U32:
        (<int *> p)[0] = 1
    elif dtype == D_I16 or dtype == D_U16:
        (<short *> p)[0] = 1
    else:
        p[0] = 1


cdef void set_ones(Value *out) noexcept nogil:
    cdef Py_ssize_t k, size = out.meta.itemsize
    for k in range(out.meta.size):
        set_one(out.data + k * size, out.meta.dtype)


cdef int set_first(const Value *x, Value *out, unsigned long long axes, bint keepdims) except -1:
    """Start from the first elements along the folded axes: what has no identity is idempotent."""
    cdef Value first
    cdef Meta *m
    cdef int i, j = 0, rank = x.meta.rank
    if x.meta.size == 0:
        return 0
    if out.meta.size == 1:
        memcpy(out.data, x.data, x.meta.itemsize)
        return 0
    m = meta_new(x.meta.dtype, out.meta.rank)
    for i in range(rank):
        if not (axes >> i) & 1:
            m.dims[j] = x.meta.dims[i]
            m.dims[m.rank + j] = x.meta.dims[rank + i]
            j += 1
        elif keepdims:
            m.dims[j] = 1
            m.dims[m.rank + j] = x.meta.itemsize
            j += 1
    first.meta = meta_finish(m)
    first.buf = x.buf
    first.data = x.data
    copy(NULL, Op.COPY, &first, 1, out, NULL)
    meta_drop(m)
    return 0


cdef int divide(Value *v, double count) except -1:
    cdef int dtype = v.meta.dtype
    cdef Loop *loop = find_loop(Op.DIV, dtype)
    cdef double number[2]
    cdef char *args[3]
    cdef Py_ssize_t strides[3]
    number[0] = count
    number[1] = 0
    if real_dtype(dtype) == D_F32:
        (<float *> number)[0] = <float> count
        (<float *> number)[1] = 0
    args[0] = args[2] = v.data
    args[1] = <char *> number
    strides[0] = strides[2] = v.meta.itemsize
    strides[1] = 0
    if v.meta.size:
        loop.fn(args, &v.meta.size, strides, loop.data)
    return 0


cdef int maximum(const Value *x, Value *out, unsigned long long axes, bint keepdims, int op) except -1:
    """Fold by MAXIMUM or MINIMUM."""
    cdef Loop *loop = find_loop(op, x.meta.dtype)
    set_first(x, out, axes, keepdims)
    if x.meta.size < NOGIL_SIZE:
        fold(loop, x, out, out, axes, keepdims)
    else:
        with nogil:
            fold(loop, x, out, out, axes, keepdims)
    return 0


cdef int reduce(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef unsigned long long axes = <unsigned long long> params.v[0]
    cdef bint keepdims = params.v[1]
    cdef Loop *loop
    if op == Op.REDUCE_MAX:
        return maximum(ins, out, axes, keepdims, Op.MAXIMUM)
    if op == Op.REDUCE_MIN:
        return maximum(ins, out, axes, keepdims, Op.MINIMUM)
    if op == Op.REDUCE_PROD:
        loop = find_loop(Op.MUL, out.meta.dtype)
        set_ones(out)
    elif op == Op.ALL:
        loop = find_loop(Op.LOGICAL_AND, D_BOOL)
        set_ones(out)
    else:
        loop = find_loop(Op.LOGICAL_OR if op == Op.ANY else Op.ADD, out.meta.dtype)
        memset(out.data, 0, out.meta.size * out.meta.itemsize)
    if ins.meta.size < NOGIL_SIZE:
        fold(loop, ins, out, out, axes, keepdims)
    else:
        with nogil:
            fold(loop, ins, out, out, axes, keepdims)
    if op == Op.REDUCE_MEAN:
        divide(out, <double> folded_count(ins.meta, axes))
    return 0
