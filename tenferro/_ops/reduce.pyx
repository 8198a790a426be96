"""Reductions along any axes."""

from tenferro._core.eager cimport alias, as_eager, cast, emit1, emit_view
from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op, dtype_code, dtype_object, op_name
from .basic cimport mul_s
from .structure cimport reshape_to

from tenferro.errors import AxisError, DTypeMismatchError, ValidationError


# ---- arguments -------------------------------------------------------------------------------------------------------

cdef int bad_axis(object a, int rank, bint twice, int op) except -1:
    name = None if op < 0 else op_name(op)
    start = "" if name is None else f"{name}: "
    if twice:
        raise AxisError(f"{start}axis {a} is named twice; name each axis once", op=name, argument="axis",
                        expected="distinct axes", actual=a)
    raise AxisError(f"{start}axis {a} is out of range for a tensor with {rank} axes; name one in -{rank} <= axis < {rank}",
                    op=name, argument="axis", expected=f"-{rank} <= axis < {rank}", actual=a)


cdef unsigned long long axis_mask(EagerTensor x, object axis) except *:
    return axes_for(-1, x, axis)


cdef unsigned long long axes_for(int op, EagerTensor x, object axis) except *:
    """The set of axes; errors name the operation, if there is one."""
    cdef int rank = x.v.meta.rank
    cdef Py_ssize_t k
    cdef unsigned long long mask = 0
    if axis is None:
        return ~<unsigned long long> 0 if rank == 64 else (1ULL << rank) - 1
    for a in (axis if isinstance(axis, (tuple, list)) else (axis,)):
        k = a
        if k < 0:
            k += rank
        if k < 0 or k >= rank:
            bad_axis(a, rank, False, op)
        if (mask >> k) & 1:
            bad_axis(a, rank, True, op)
        mask |= 1ULL << k
    return mask


cdef int flag(object keepdims) except -1:
    if keepdims is False:
        return 0
    if keepdims is True:
        return 1
    if type(keepdims).__name__ in ("bool", "bool_"):
        return bool(keepdims)
    raise ValidationError(f"keepdims is True or False, not {keepdims!r}; give other options by name",
                          argument="keepdims")


cdef int sum_dtype(int dtype) noexcept:
    if dtype == D_BOOL or D_I8 <= dtype <= D_I32:
        return D_I64
    return D_U64 if D_U8 <= dtype <= D_U32 else dtype


cdef EagerTensor in_float(EagerTensor x):
    return x if is_inexact(x.v.meta.dtype) else cast(x, D_F64)


# ---- for rules and composites ----------------------------------------------------------------------------------------

cdef Py_ssize_t count_along(const Meta *m, unsigned long long axes) noexcept:
    cdef int i
    cdef Py_ssize_t n = 1
    for i in range(m.rank):
        if (axes >> i) & 1:
            n *= m.dims[i]
    return n


cdef Meta *reduced_meta(EagerTensor x, unsigned long long axes, bint keepdims, int dtype) except NULL:
    """The order of the axes that remain is row-major if x's is, column-major otherwise."""
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


cdef inline EagerTensor emit_reduced(int op, EagerTensor x, unsigned long long axes, bint keepdims, int dtype,
                                     Py_ssize_t extra):
    cdef Meta *m = reduced_meta(x, axes, keepdims, dtype)
    cdef Params *p = params_new(3)
    p.v[0] = <Py_ssize_t> axes
    p.v[1] = keepdims
    p.v[2] = extra
    return emit1(op, x, p, m)


cdef EagerTensor reduced(int op, EagerTensor x, unsigned long long axes, bint keepdims):
    """A reduction whose result has x's dtype."""
    return emit_reduced(op, x, axes, keepdims, x.v.meta.dtype, 0)


cdef EagerTensor sum_axes(EagerTensor x, unsigned long long axes, bint keepdims):
    return emit_reduced(Op.REDUCE_SUM, x, axes, keepdims, x.v.meta.dtype, 0)


cdef EagerTensor truths(int op, EagerTensor x, unsigned long long axes, bint keepdims, int dtype):
    """ANY, ALL or COUNT_NONZERO, untracked."""
    return emit_reduced(op, alias(x, NULL) if x.node != NULL else x, axes, keepdims, dtype, 0)


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


cdef EagerTensor unreduce(EagerTensor x, const Meta *m, unsigned long long axes, bint keepdims):
    cdef Meta *out = meta_new(x.v.meta.dtype, m.rank)
    cdef Params *p
    cdef int i, j = 0
    for i in range(m.rank):
        out.dims[i] = m.dims[i]
        if (axes >> i) & 1:
            out.dims[m.rank + i] = 0
            j += keepdims
        else:
            out.dims[m.rank + i] = x.v.meta.dims[x.v.meta.rank + j]
            j += 1
    out = meta_finish(out)
    p = params_new(2)
    p.v[0] = <Py_ssize_t> axes
    p.v[1] = keepdims
    return emit_view(Op.UNREDUCE, x, p, out, x.v.data)


# ---- public ----------------------------------------------------------------------------------------------------------

cdef int empty(EagerTensor x, unsigned long long axes, int op) except -1:
    if x.v.meta.size == 0 and count_along(x.v.meta, axes) == 0:
        name = op_name(op)
        raise ValidationError(f"{name} has no value for no elements; a zero-size tensor can be reduced along its "
                              "other axes only", op=name, argument="x")
    return 0


cdef EagerTensor total(int op, object a, object axis, object keepdims, object dtype):
    cdef EagerTensor x = as_eager(a)
    cdef unsigned long long axes = axes_for(op, x, axis)
    cdef bint keep = flag(keepdims)
    cdef int out = sum_dtype(x.v.meta.dtype) if dtype is None else dtype_code(dtype)
    if op == Op.REDUCE_SUM and x.v.meta.dtype < D_F32 and out == sum_dtype(x.v.meta.dtype):
        return emit_reduced(op, x, axes, keep, out, 0)
    x = cast(x, out)
    if out == D_BOOL:
        op = Op.ANY if op == Op.REDUCE_SUM else Op.ALL
    return emit_reduced(op, x, axes, keep, x.v.meta.dtype, 0)


cdef EagerTensor reduce_op(int op, EagerTensor x, object axis, bint keepdims):
    return total(op, x, axis, keepdims, None)


cdef EagerTensor extreme(int op, object a, object axis, object keepdims):
    cdef EagerTensor x = as_eager(a)
    cdef unsigned long long axes = axes_for(op, x, axis)
    empty(x, axes, op)
    return emit_reduced(op, x, axes, flag(keepdims), x.v.meta.dtype, 0)


cdef EagerTensor truth(int op, object a, object axis, object keepdims, int dtype):
    cdef EagerTensor x = as_eager(a)
    cdef unsigned long long axes = axes_for(op, x, axis)
    return truths(op, x, axes, flag(keepdims), dtype)


cdef EagerTensor spread(int op, object a, object axis, object keepdims, object correction):
    """Variance or standard deviation. A fractional correction rescales the one without."""
    cdef EagerTensor x = in_float(as_eager(a))
    cdef unsigned long long axes = axes_for(op, x, axis)
    cdef int real_ = real_dtype(x.v.meta.dtype)
    cdef double c = correction, n
    cdef bint keep = flag(keepdims)
    if not -1e15 < c < 1e15:
        raise ValidationError(f"correction is a finite number, not {correction}", argument="correction")
    if c == <double> <Py_ssize_t> c:
        return emit_reduced(op, x, axes, keep, real_, <Py_ssize_t> c)
    n = <double> count_along(x.v.meta, axes)
    n = n / (n - c if n > c else 0.0)
    return mul_s(emit_reduced(op, x, axes, keep, real_, 0), n if op == Op.REDUCE_VAR else n ** 0.5)


def sum(x, axis=None, keepdims=False, *, dtype=None):
    """Sum of elements along axes.

    Parameters
    ----------
    x : array_like
        Any dtype.
    axis : None, int or tuple of int
        Axes to sum over; all by default.
    keepdims : bool
        Whether the summed axes stay, with length 1.
    dtype : dtype, optional
        Of the computation and the result. By default that of `x`, int64 or uint64 for bool and smaller integers.

    Returns
    -------
    EagerTensor
        0 for no elements. Integers wrap around; floating-point numbers are summed pairwise.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.sum([[1.0, 2.0], [3.0, 4.0]], axis=0)
    EagerTensor([4., 6.], dtype=float64)
    """
    return total(Op.REDUCE_SUM, x, axis, keepdims, dtype)


def prod(x, axis=None, keepdims=False, *, dtype=None):
    """Product of elements along axes.

    Parameters
    ----------
    x : array_like
        Any dtype.
    axis : None, int or tuple of int
        Axes to multiply over; all by default.
    keepdims : bool
        Whether these axes stay, with length 1.
    dtype : dtype, optional
        As for `sum`.

    Returns
    -------
    EagerTensor
        1 for no elements. Derivatives are products of the other elements, so that they are right at zeros.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.prod([[1.0, 2.0], [3.0, 4.0]], axis=1)
    EagerTensor([ 2., 12.], dtype=float64)
    """
    return total(Op.REDUCE_PROD, x, axis, keepdims, dtype)


def max(x, axis=None, keepdims=False):
    """Largest element along axes; NaN if there is one.

    Parameters
    ----------
    x : array_like
        Any dtype; complex numbers are compared by real, then by imaginary part.
    axis : None, int or tuple of int
        All axes by default.
    keepdims : bool
        Whether the reduced axes stay, with length 1.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype. The gradient is shared equally among the winners.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    ValidationError
        There are no elements to choose from.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.max([[1.0, 5.0], [3.0, 4.0]], axis=0)
    EagerTensor([3., 5.], dtype=float64)
    """
    return extreme(Op.REDUCE_MAX, x, axis, keepdims)


def min(x, axis=None, keepdims=False):
    """Smallest element along axes; NaN if there is one.

    Parameters
    ----------
    x : array_like
        Any dtype; complex numbers are compared by real, then by imaginary part.
    axis : None, int or tuple of int
        All axes by default.
    keepdims : bool
        Whether the reduced axes stay, with length 1.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype. The gradient is shared equally among the winners.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    ValidationError
        There are no elements to choose from.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.min([[1.0, 5.0], [3.0, 4.0]], axis=0)
    EagerTensor([1., 4.], dtype=float64)
    """
    return extreme(Op.REDUCE_MIN, x, axis, keepdims)


def mean(x, axis=None, keepdims=False):
    """Arithmetic mean along axes.

    Parameters
    ----------
    x : array_like
        Any dtype; bool and integers are computed in float64.
    axis : None, int or tuple of int
        All axes by default.
    keepdims : bool
        Whether the reduced axes stay, with length 1.

    Returns
    -------
    EagerTensor
        NaN for no elements.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.mean([[1.0, 2.0], [3.0, 5.0]], axis=1, keepdims=True)
    EagerTensor([[1.5],
                 [4. ]], dtype=float64)
    """
    cdef EagerTensor t = in_float(as_eager(x))
    cdef unsigned long long axes = axes_for(Op.REDUCE_MEAN, t, axis)
    return emit_reduced(Op.REDUCE_MEAN, t, axes, flag(keepdims), t.v.meta.dtype, 0)


def var(x, axis=None, keepdims=False, *, correction=0, ddof=None):
    """Variance along axes: the sum of ``abs(x - mean(x))**2`` over ``n - correction``.

    Parameters
    ----------
    x : array_like
        Any dtype; bool and integers are computed in float64.
    axis : None, int or tuple of int
        All axes by default.
    keepdims : bool
        Whether the reduced axes stay, with length 1.
    correction : int or float
        Degrees of freedom lost; 1 gives the unbiased estimate.
    ddof : int or float, optional
        NumPy's name for `correction`.

    Returns
    -------
    EagerTensor
        Real, also for complex `x`; exactly 0 for equal elements, NaN for none.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.var([1.0, 2.0, 3.0, 4.0])
    EagerTensor(1.25, dtype=float64)
    >>> tfr.var([1.0, 2.0, 3.0], ddof=1)
    EagerTensor(1., dtype=float64)
    """
    return spread(Op.REDUCE_VAR, x, axis, keepdims, correction if ddof is None else ddof)


def std(x, axis=None, keepdims=False, *, correction=0, ddof=None):
    """Standard deviation along axes: the square root of `var`. Where all elements are equal its derivatives are 0.

    Parameters
    ----------
    x : array_like
        Any dtype; bool and integers are computed in float64.
    axis : None, int or tuple of int
        All axes by default.
    keepdims : bool
        Whether the reduced axes stay, with length 1.
    correction : int or float
        Degrees of freedom lost; 1 gives the unbiased estimate.
    ddof : int or float, optional
        NumPy's name for `correction`.

    Returns
    -------
    EagerTensor
        Real, also for complex `x`, in the unit of `x`; exactly 0 for equal elements, NaN for none.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.std([1.0, 3.0, 5.0, 7.0, 4.0])
    EagerTensor(2., dtype=float64)
    """
    return spread(Op.REDUCE_STD, x, axis, keepdims, correction if ddof is None else ddof)


def logsumexp(x, axis=None, keepdims=False):
    """``log(sum(exp(x)))`` along axes, without overflow.

    Parameters
    ----------
    x : array_like
        Any real dtype; bool and integers are computed in float64.
    axis : None, int or tuple of int
        All axes by default.
    keepdims : bool
        Whether the reduced axes stay, with length 1.

    Returns
    -------
    EagerTensor
        -inf for no elements and where all are -inf; the gradient is 0 there.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    DTypeMismatchError
        `x` is complex.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.logsumexp([1000.0, 1000.0])
    EagerTensor(1000.69314718, dtype=float64)
    """
    cdef EagerTensor t = in_float(as_eager(x))
    cdef unsigned long long axes = axes_for(Op.LOGSUMEXP, t, axis)
    if is_complex(t.v.meta.dtype):
        raise DTypeMismatchError("logsumexp is defined for real numbers; use log(sum(exp(x))) for complex ones",
                                 op="logsumexp", argument="x", expected="a real dtype",
                                 actual=dtype_object(t.v.meta.dtype))
    return emit_reduced(Op.LOGSUMEXP, t, axes, flag(keepdims), t.v.meta.dtype, 0)


def any(x, axis=None, keepdims=False):
    """Whether any element along axes is not zero; False for no elements. NaN is not zero.

    Parameters
    ----------
    x : array_like
        Any dtype.
    axis : None, int or tuple of int
        All axes by default.
    keepdims : bool
        Whether the reduced axes stay, with length 1.

    Returns
    -------
    EagerTensor
        bool, untracked.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.any([[0, 0], [0, 3]], axis=1)
    EagerTensor([False,  True], dtype=bool)
    """
    return truth(Op.ANY, x, axis, keepdims, D_BOOL)


def all(x, axis=None, keepdims=False):
    """Whether no element along axes is zero; True for no elements.

    Parameters
    ----------
    x : array_like
        Any dtype.
    axis : None, int or tuple of int
        All axes by default.
    keepdims : bool
        Whether the reduced axes stay, with length 1.

    Returns
    -------
    EagerTensor
        bool, untracked.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.all([[0, 1], [2, 3]], axis=1)
    EagerTensor([False,  True], dtype=bool)
    """
    return truth(Op.ALL, x, axis, keepdims, D_BOOL)


def count_nonzero(x, axis=None, keepdims=False):
    """Number of elements along axes that are not zero.

    Parameters
    ----------
    x : array_like
        Any dtype.
    axis : None, int or tuple of int
        All axes by default.
    keepdims : bool
        Whether the reduced axes stay, with length 1.

    Returns
    -------
    EagerTensor
        int64, untracked.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.count_nonzero([[0, 1], [2, 3]], axis=1)
    EagerTensor([1, 2], dtype=int64)
    """
    return truth(Op.COUNT_NONZERO, x, axis, keepdims, D_I64)


from .scan import argmax, argmin, cumprod, cumsum, diff  # no-cython-lint
