"""Views: the same memory under another shape and other strides. Nothing is copied unless `reshape` has to."""

from tenferro._core.eager cimport emit1, emit_view
from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from tenferro._kernels.structure cimport diagonal

from itertools import islice

from tenferro.errors import AxisError, IntegerOverflowError, ValidationError


# ---- arguments -------------------------------------------------------------------------------------------------------

cdef tuple shape_tuple(const Meta *m):
    cdef int i
    return tuple([m.dims[i] for i in range(m.rank)])


cdef int axis_of(object axis, int rank) except -1:
    cdef Py_ssize_t k
    try:
        k = axis
    except OverflowError:
        k = -rank - 1
    if k < -rank or k >= rank:
        raise AxisError(f"axis {axis} is out of range for a tensor with {rank} axes; use -{rank} <= axis < {rank}",
                        argument="axis", expected=rank, actual=axis)
    return <int> (k + rank if k < 0 else k)


cdef unsigned long long axes_of(object axes, int rank) except *:
    cdef unsigned long long mask = 0
    cdef int k
    for a in (axes if isinstance(axes, (tuple, list)) else (axes,)):
        k = axis_of(a, rank)
        if (mask >> k) & 1:
            raise AxisError(f"axis {a} is named twice in {axes}; name each axis once", argument="axis", expected=rank,
                            actual=axes)
        mask |= 1ULL << k
    return mask


cdef Py_ssize_t size_of(object n, str argument) except? -1:
    try:
        return n
    except OverflowError:
        raise IntegerOverflowError(f"{argument}: {n} exceeds 2**63 - 1; use a smaller number", argument=argument,
                                   expected="< 2**63", actual=n) from None


cdef int shape_from(object shape, Py_ssize_t *dims) except -1:
    cdef int i = 0
    cdef tuple sizes
    if isinstance(shape, tuple):
        sizes = <tuple> shape
    else:
        sizes = tuple(islice(shape, MAX_RANK + 1)) if hasattr(shape, "__iter__") else (shape,)
    if len(sizes) > MAX_RANK:
        raise ValidationError(f"a tensor has at most {MAX_RANK} axes; this shape has more", argument="shape")
    for n in sizes:
        dims[i] = size_of(n, "shape")
        i += 1
    return i


# ---- broadcasting ----------------------------------------------------------------------------------------------------

cdef EagerTensor broadcast_like(EagerTensor x, const Meta *m):
    return broadcast_dims(x, m.rank, m.dims)


cdef EagerTensor broadcast_dims(EagerTensor x, int rank, const Py_ssize_t *shape):
    """x's shape is known to fit."""
    cdef Meta *m = x.v.meta
    cdef Meta *out = meta_new(m.dtype, rank)
    cdef int i, lead = rank - m.rank
    for i in range(rank):
        out.dims[i] = shape[i]
        out.dims[rank + i] = 0
        if i >= lead and m.dims[i - lead] != 1:
            out.dims[rank + i] = m.dims[m.rank + i - lead]
    return emit_view(Op.BROADCAST_TO, x, NULL, meta_finish(out), x.v.data)


# ---- reshaping -------------------------------------------------------------------------------------------------------

cdef EagerTensor copied(EagerTensor x, bint rows):
    return emit1(Op.COPY, x, NULL, meta_compact(x.v.meta.dtype, x.v.meta.rank, x.v.meta.dims, rows))


cdef bint split_strides(const Meta *m, int rank, const Py_ssize_t *shape, bint fortran, Py_ssize_t *strides) noexcept:
    """Strides of m's memory under another shape of the same size; False if there are none.

    Runs of old and new axes with equal products are matched from the slowest axis on; a run can be re-split if its old
    axes continue one another.
    """
    cdef Py_ssize_t old[64]
    cdef Py_ssize_t step[64]
    cdef Py_ssize_t a, b, s
    cdef int i, j, k, n = 0, i0 = 0, j0 = 0
    for i in range(m.rank):
        k = m.rank - 1 - i if fortran else i
        if m.dims[k] != 1:
            old[n] = m.dims[k]
            step[n] = m.dims[m.rank + k]
            n += 1
    while i0 < n and j0 < rank:
        a = old[i0]
        b = shape[rank - 1 - j0 if fortran else j0]
        i = i0 + 1
        j = j0 + 1
        while a != b:
            if a < b:
                a *= old[i]
                i += 1
            else:
                b *= shape[rank - 1 - j if fortran else j]
                j += 1
        for k in range(i0, i - 1):
            if step[k] != step[k + 1] * old[k + 1]:
                return False
        s = step[i - 1]
        for k in range(j - 1, j0 - 1, -1):
            strides[rank - 1 - k if fortran else k] = s
            s *= shape[rank - 1 - k if fortran else k]
        i0 = i
        j0 = j
    for k in range(j0, rank):           # what is left has length one
        strides[rank - 1 - k if fortran else k] = m.itemsize
    return True


cdef EagerTensor reshape_dims(EagerTensor x, int rank, const Py_ssize_t *shape, bint fortran):
    """The sizes are known to agree."""
    cdef Meta *m = x.v.meta
    cdef Meta *out
    cdef Params *p = NULL
    cdef Py_ssize_t strides[64]
    cdef int i
    if m.flags & (F_ORDER if fortran else C_ORDER) or m.size <= 1:
        out = meta_compact(m.dtype, rank, shape, not fortran)
    elif not split_strides(m, rank, shape, fortran, strides):
        return reshape_dims(copied(x, not fortran), rank, shape, fortran)
    else:
        out = meta_new(m.dtype, rank)
        for i in range(rank):
            out.dims[i] = shape[i]
            out.dims[rank + i] = strides[i]
        out = meta_finish(out)
    if fortran:
        p = params_new(1)
        p.v[0] = 1
    return emit_view(Op.RESHAPE, x, p, out, x.v.data)


cdef EagerTensor reshape_to(EagerTensor x, const Meta *m):
    return reshape_dims(x, m.rank, m.dims, False)


cdef EagerTensor reshape_to_f(EagerTensor x, const Meta *m):
    return reshape_dims(x, m.rank, m.dims, True)


# ---- permuting -------------------------------------------------------------------------------------------------------

cdef EagerTensor permute(EagerTensor x, const Py_ssize_t *perm):
    cdef Meta *m = x.v.meta
    cdef int i, n = m.rank
    cdef Meta *out = meta_new(m.dtype, n)
    cdef Params *p
    for i in range(n):
        out.dims[i] = m.dims[perm[i]]
        out.dims[n + i] = m.dims[n + perm[i]]
    out = meta_finish(out)
    p = params_new(n)
    for i in range(n):
        p.v[i] = perm[i]
    return emit_view(Op.TRANSPOSE, x, p, out, x.v.data)


cdef EagerTensor swap_last(EagerTensor x):
    cdef Py_ssize_t perm[64]
    cdef int i, n = x.v.meta.rank
    for i in range(n):
        perm[i] = i
    perm[n - 2] = n - 1
    perm[n - 1] = n - 2
    return permute(x, perm)


# ---- axes of length one, reversal, diagonals -------------------------------------------------------------------------

cdef inline Params *mask_params(unsigned long long axes) except NULL:
    cdef Params *p = params_new(1)
    p.v[0] = <Py_ssize_t> axes
    return p


cdef inline int count_bits(unsigned long long mask) noexcept:
    cdef int n = 0
    while mask:
        mask &= mask - 1
        n += 1
    return n


cdef EagerTensor expand(EagerTensor x, unsigned long long axes):
    cdef Meta *m = x.v.meta
    cdef int i, k = 0, rank = m.rank + count_bits(axes)
    cdef Meta *out = meta_new(m.dtype, rank)
    for i in range(rank):
        if (axes >> i) & 1:
            out.dims[i] = 1
            out.dims[rank + i] = m.itemsize
        else:
            out.dims[i] = m.dims[k]
            out.dims[rank + i] = m.dims[m.rank + k]
            k += 1
    return emit_view(Op.EXPAND_DIMS, x, mask_params(axes), meta_finish(out), x.v.data)


cdef EagerTensor squeezed(EagerTensor x, unsigned long long axes):
    cdef Meta *m = x.v.meta
    cdef int i, k = 0, rank = m.rank - count_bits(axes)
    cdef Meta *out = meta_new(m.dtype, rank)
    for i in range(m.rank):
        if not (axes >> i) & 1:
            out.dims[k] = m.dims[i]
            out.dims[rank + k] = m.dims[m.rank + i]
            k += 1
    return emit_view(Op.SQUEEZE, x, mask_params(axes), meta_finish(out), x.v.data)


cdef EagerTensor reversed_along(EagerTensor x, unsigned long long axes):
    cdef Meta *m = x.v.meta
    cdef int i, n = m.rank
    cdef char *data = x.v.data
    cdef Meta *out = meta_new(m.dtype, n)
    for i in range(n):
        out.dims[i] = m.dims[i]
        out.dims[n + i] = m.dims[n + i]
        if (axes >> i) & 1 and m.dims[i] > 1:
            out.dims[n + i] = -m.dims[n + i]
            if m.size:
                data += (m.dims[i] - 1) * m.dims[n + i]
    return emit_view(Op.REVERSE, x, mask_params(axes), meta_finish(out), data)


cdef EagerTensor diagonal_of(EagerTensor x, Py_ssize_t offset, int axis1, int axis2):
    cdef Meta *out = meta_new(x.v.meta.dtype, x.v.meta.rank - 1)
    cdef char *data = x.v.data + diagonal(x.v.meta, offset, axis1, axis2, out)
    cdef Params *p
    meta_finish(out)
    if out.size == 0:
        data = x.v.data
    p = params_new(3)
    p.v[0] = offset
    p.v[1] = axis1
    p.v[2] = axis2
    return emit_view(Op.EXTRACT_DIAG, x, p, out, data)
