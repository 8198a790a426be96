"""Reductions."""

from tenferro._core.eager cimport as_eager, cast, check, emit1, emit_view
from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from .structure cimport reshape_to

from tenferro.errors import AxisError


cdef unsigned long long axis_mask(EagerTensor x, object axis) except *:
    cdef int rank = x.v.meta.rank
    cdef Py_ssize_t k
    cdef unsigned long long mask = 0
    if axis is None:
        return ~<unsigned long long> 0 if rank == 64 else (1ULL << rank) - 1
    for a in (axis if isinstance(axis, (tuple, list)) else (axis,)):
        k = a
        if k < 0:
            k += rank
        if k < 0 or k >= rank or (mask >> k) & 1:
            raise AxisError(f"axis {a} is out of range or named twice for a tensor with {rank} axes", argument="axis",
                            expected=f"-{rank} <= axis < {rank}", actual=a)
        mask |= 1ULL << k
    return mask


cdef Meta *reduced_meta(EagerTensor x, unsigned long long axes, bint keepdims, int dtype) except NULL:
    """The order of axes that remain is row-major if x's is, column-major otherwise."""
    cdef Py_ssize_t shape[64]
    cdef int i, n = 0
    for i in range(x.v.meta.rank):
        if not (axes >> i) & 1:
            shape[n] = x.v.meta.dims[i]
            n += 1
        elif keepdims:
            shape[n] = 1
            n += 1
    return meta_compact(dtype, n, shape, row_major(x.v.meta))


cdef EagerTensor sum_axes(EagerTensor x, unsigned long long axes, bint keepdims):
    cdef Params *p = params_new(2)
    cdef Meta *m
    p.v[0] = <Py_ssize_t> axes
    p.v[1] = keepdims
    return emit1(Op.REDUCE_SUM, x, p, reduced_meta(x, axes, keepdims, x.v.meta.dtype))


cdef EagerTensor sum_to(EagerTensor x, const Meta *m):
    cdef int lead = x.v.meta.rank - m.rank, i
    cdef unsigned long long axes = 0
    for i in range(x.v.meta.rank):
        if i < lead or (m.dims[i - lead] == 1 and x.v.meta.dims[i] != 1):
            axes |= 1ULL << i
    if axes == 0:
        return x
    x = sum_axes(x, axes, lead == 0)
    return x if same_shape(x.v.meta, m) else reshape_to(x, m)


cdef EagerTensor reduce_op(int op, EagerTensor x, object axis, bint keepdims):
    return sum_axes(x, axis_mask(x, axis), keepdims)


def sum(x, axis=None, keepdims=False):
    """Sum."""
    return reduce_op(Op.REDUCE_SUM, as_eager(x), axis, keepdims)
