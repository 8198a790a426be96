"""Gathers and scatters: the recorded operations, and what public functions make of their arguments."""

from tenferro._core.asking cimport asked
from tenferro._core.eager cimport (apply2, as_operand, cast, computed_in, emit1, emit2, emit_n, fresh,
                                   scalar_like)
from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op, dtype_object
from tenferro._kernels.along cimport count_true, true_positions
from tenferro._kernels.structure cimport index_length
from .structure cimport broadcast_dims, reshape_dims, shape_tuple

import numpy as np

from tenferro.errors import (DTypeMismatchError, IntegerOverflowError, ShapeMismatchError,
                             ValidationError)

cdef object _generic = np.generic


# ---- the operations --------------------------------------------------------------------------------------------------

cdef Params *head(const Py_ssize_t *p, Py_ssize_t extra) except NULL:
    cdef Py_ssize_t i, n = 3 + p[1]
    cdef Params *q = params_new(n + extra)
    for i in range(n):
        q.v[i] = p[i]
    return q


cdef int block_dims(const Meta *whole, const Meta *idx, const Py_ssize_t *p, Py_ssize_t *dims) except -1:
    """Shape of what a gather takes; returns its rank."""
    cdef int i, j, rank = 0, kept = 0
    cdef unsigned long long named = 0
    if whole.rank - p[1] + idx.rank > MAX_RANK:
        raise ValidationError(f"a tensor has at most {MAX_RANK} axes; the result of this index would have "
                              f"{whole.rank - p[1] + idx.rank}", op="take", argument="indices")
    for i in range(p[1]):
        named |= 1ULL << p[2 + i]
    for i in range(whole.rank + 1):
        if kept == p[0]:
            for j in range(idx.rank):
                dims[rank] = idx.dims[j]
                rank += 1
            kept += 1
        if i < whole.rank and not (named >> i) & 1:
            dims[rank] = whole.dims[i]
            rank += 1
            kept += 1
    return rank


cdef EagerTensor take_axes(EagerTensor x, EagerTensor idx, const Py_ssize_t *p):
    cdef Py_ssize_t dims[64]
    cdef int rank = block_dims(x.v.meta, idx.v.meta, p, dims)
    cdef Meta *out = meta_compact(x.v.meta.dtype, rank, dims, row_major(x.v.meta) and row_major(idx.v.meta))
    return emit2(Op.TAKE, x, idx, head(p, 0), out)


cdef EagerTensor take_add(EagerTensor g, EagerTensor idx, const Py_ssize_t *p, const Meta *like):
    cdef Params *q
    cdef Py_ssize_t i
    cdef Meta *out = meta_compact(g.v.meta.dtype, like.rank, like.dims, row_major(like))
    q = head(p, p[1])
    for i in range(p[1]):
        q.v[3 + p[1] + i] = like.dims[p[2 + i]]
    return emit2(Op.TAKE_ADD, g, idx, q, out)


cdef EagerTensor scatter_at(int op, EagerTensor base, EagerTensor updates, EagerTensor idx, const Py_ssize_t *p,
                            bint rows):
    cdef Meta *out = meta_compact(base.v.meta.dtype, base.v.meta.rank, base.v.meta.dims, rows)
    return emit_n(op, (base, updates, idx), head(p, 0), out)


cdef EagerTensor zero_block(EagerTensor g, const Meta *idx, const Py_ssize_t *p):
    cdef Py_ssize_t dims[64]
    cdef int rank = block_dims(g.v.meta, idx, p, dims)
    return broadcast_dims(scalar_like(g, 0.0), rank, dims)


cdef EagerTensor counting(EagerTensor like, const Meta *m):
    """0, 1, 2, ... in the shape of m, row-major."""
    return as_operand(np.arange(m.size, dtype=np.int64).reshape(shape_tuple(m)), like.rt)


cdef EagerTensor winners(EagerTensor idx, const Py_ssize_t *p, const Meta *whole):
    cdef Py_ssize_t q[4]
    cdef Py_ssize_t dims[64]
    cdef Py_ssize_t size = 1, i
    cdef int rank = idx.v.meta.rank, total = <int> (whole.rank - p[1]) + idx.v.meta.rank
    cdef EagerTensor order = counting(idx, idx.v.meta), last
    for i in range(p[1]):
        size *= whole.dims[p[2 + i]]
    q[0], q[1], q[2], q[3] = 0, 1, 0, -1
    last = as_operand(np.zeros(size, np.int64), idx.rt)
    last = take_axes(scatter_at(Op.SCATTER, last, order, idx, q, True), idx, q)
    for i in range(rank):
        dims[i] = idx.v.meta.dims[i]
    for i in range(rank, total - p[0]):
        dims[i] = 1
    return reshape_dims(apply2(Op.EQUAL, last, order), <int> (total - p[0]), dims, False)


cdef EagerTensor along(EagerTensor x, EagerTensor idx, const Py_ssize_t *p, bint rows):
    cdef Meta *out = meta_compact(x.v.meta.dtype, idx.v.meta.rank, idx.v.meta.dims, rows)
    cdef Params *q = params_new(2)
    q.v[0], q.v[1] = p[0], p[1]
    return emit2(Op.TAKE_ALONG_AXIS, x, idx, q, out)


cdef EagerTensor along_add(EagerTensor g, EagerTensor idx, const Py_ssize_t *p, const Meta *like):
    cdef Meta *out = meta_compact(g.v.meta.dtype, like.rank, like.dims, row_major(like))
    cdef Params *q = params_new(2)
    q.v[0], q.v[1] = p[0], p[1]
    return emit2(Op.ALONG_AXIS_ADD, g, idx, q, out)


cdef EagerTensor set_window(EagerTensor x, EagerTensor value, const Py_ssize_t *v, bint rows):
    cdef Meta *out = meta_compact(x.v.meta.dtype, x.v.meta.rank, x.v.meta.dims, rows)
    cdef Py_ssize_t i, n = index_length(v[0], v[1])
    cdef Params *q = params_new(n)
    for i in range(n):
        q.v[i] = v[i]
    return emit2(Op.INDEX_SET, x, value, q, out)


cdef int window_dims(const Py_ssize_t *v, Py_ssize_t *dims) noexcept:
    cdef Py_ssize_t j, k
    for j in range(v[1]):
        k = v[2 + 3 * v[0] + j]
        dims[j] = 1 if k < 0 else v[4 + 3 * k]
    return <int> v[1]


cdef EagerTensor zero_window(EagerTensor g, const Py_ssize_t *v):
    cdef Py_ssize_t dims[64]
    cdef int rank = window_dims(v, dims)
    return broadcast_dims(scalar_like(g, 0.0), rank, dims)


# ---- operands --------------------------------------------------------------------------------------------------------

cdef EagerTensor array_operand(object obj, EagerTensor x):
    """An index array: a tensor of x's runtime, integers or bool. An empty list is one of integers."""
    cdef EagerTensor t
    if isinstance(obj, (list, tuple)):
        array = np.asarray(obj)
        obj = array.astype(np.int64) if array.size == 0 and array.dtype.kind == "f" else array
    t = as_operand(obj, x.rt)
    if is_inexact(t.v.meta.dtype):
        raise DTypeMismatchError(f"indices are integers or booleans, not {dtype_object(t.v.meta.dtype)}; convert them "
                                 "with astype(int)", op="index", argument="indices",
                                 expected="an integer or bool dtype", actual=dtype_object(t.v.meta.dtype))
    return t


cdef EagerTensor integers(object obj, EagerTensor x, str op):
    cdef EagerTensor t = array_operand(obj, x)
    if t.v.meta.dtype == D_BOOL:
        raise DTypeMismatchError(f"{op} takes integer indices; select by a mask with x[mask]", op=op,
                                 argument="indices", expected="an integer dtype", actual=dtype_object(D_BOOL))
    return computed_in(t, D_I64)


cdef EagerTensor operand_for(object value, EagerTensor x, str op, str argument):
    """What is put into x: in x's dtype, to which it must convert within its kind (NumPy's ``same_kind``)."""
    cdef EagerTensor t
    cdef int dtype = x.v.meta.dtype
    if isinstance(value, int) and not isinstance(value, (bool, _generic)):
        try:
            value = np.asarray(value, dtype_object(dtype if dtype != D_BOOL else D_I64))
        except OverflowError:
            raise IntegerOverflowError(f"{op}: {value} does not fit {dtype_object(dtype)}; convert the tensor with "
                                       "astype()", op=op, argument=argument, expected=dtype_object(dtype),
                                       actual=value) from None
    t = as_operand(value, x.rt)
    if t.v.meta.dtype != dtype:
        source, target = dtype_object(t.v.meta.dtype), dtype_object(dtype)
        if not np.can_cast(source, target, "same_kind"):
            raise DTypeMismatchError(f"{op}: {source} cannot be put into a tensor of {target}; convert one with "
                                     "astype()", op=op, argument=argument, expected=target, actual=source)
        t = cast(t, dtype)
    return t


cdef EagerTensor fitted(EagerTensor t, int rank, const Py_ssize_t *dims, str op, str argument):
    """t broadcast to a shape; leading axes of length one may be too many, as in NumPy's assignment."""
    cdef const Meta *m = t.v.meta
    cdef int i, extra = m.rank - rank
    cdef bint same = extra == 0, fits = True
    for i in range(m.rank):
        if i < extra:
            fits = fits and m.dims[i] == 1
        elif m.dims[i] != dims[i - extra]:
            same = False
            fits = fits and m.dims[i] == 1
    if not fits:
        expected = tuple([dims[i] for i in range(rank)])
        raise ShapeMismatchError(f"{op}: {argument} of shape {shape_tuple(m)} cannot be broadcast to {expected}; give "
                                 "one value for each place, or one for all", op=op, argument=argument,
                                 expected=expected, actual=shape_tuple(m))
    if same:
        return t
    if extra > 0:
        t = reshape_dims(t, rank, m.dims + extra, False)
    return broadcast_dims(t, rank, dims)


cdef EagerTensor flat_index(list arrays, list sizes, list axes):
    """One index over several axes from an index for each; the arrays are broadcast."""
    cdef Py_ssize_t dims[64]
    cdef int rank = 0, i, lead, n = len(arrays)
    cdef bint rows = True
    cdef EagerTensor t
    cdef Params *p
    cdef Meta *out
    if n == 0:
        raise ValidationError("there are no index arrays; give at least one", op="gather", argument="indices")
    for t in arrays:
        rank = max(rank, t.v.meta.rank)
        rows = rows and row_major(t.v.meta)
    for i in range(rank):
        dims[i] = 1
    for t in arrays:
        lead = rank - t.v.meta.rank
        for i in range(t.v.meta.rank):
            if t.v.meta.dims[i] != 1:
                if dims[lead + i] != 1 and dims[lead + i] != t.v.meta.dims[i]:
                    shapes = [shape_tuple((<EagerTensor> a).v.meta) for a in arrays]
                    raise ShapeMismatchError(f"index arrays of shapes {', '.join(map(str, shapes))} cannot be "
                                             "broadcast; align their axes", op="index", argument="indices",
                                             expected=shapes[0], actual=shape_tuple(t.v.meta))
                dims[lead + i] = t.v.meta.dims[i]
    out = meta_compact(D_I64, rank, dims, rows)
    p = params_new(2 * n)
    for i in range(n):
        p.v[2 * i] = sizes[i]
        p.v[2 * i + 1] = axes[i]
    return emit_n(Op.FLAT_INDEX, tuple(arrays), p, out)


cdef EagerTensor mask_positions(EagerTensor mask):
    """Where a mask is true, as row-major positions."""
    cdef Py_ssize_t n
    cdef EagerTensor t
    cdef Meta *m = mask.v.meta
    if mask.v.buf.space != HOST_SPACE:
        return asked("flatnonzero", mask, (), {})
    if not m.flags & C_ORDER:
        mask = emit1(Op.COPY, mask, NULL, meta_compact(D_BOOL, m.rank, m.dims, True))
        m = mask.v.meta
    with nogil:
        n = count_true(mask.v.data, m.size)
    t = fresh(mask.rt, meta_compact(D_I64, 1, &n, True))
    with nogil:
        true_positions(mask.v.data, n, <Py_ssize_t *> t.v.data)
    return t


cdef EagerTensor scatter_op(int op, EagerTensor x, EagerTensor updates, EagerTensor idx, const Py_ssize_t *p,
                            bint rows, str name, str argument):
    cdef Py_ssize_t dims[64]
    cdef int rank = block_dims(x.v.meta, idx.v.meta, p, dims)
    return scatter_at(op, x, fitted(updates, rank, dims, name, argument), idx, p, rows)
