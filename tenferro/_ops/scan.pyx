"""Cumulative operations and differences along one axis, and positions of extremes."""

from tenferro._core.eager cimport apply2, as_eager, as_operand, cast, emit1, emit2
from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op, dtype_code, op_name
from .assembly cimport join
from .reduce cimport axis_mask, flag, sum_dtype
from .slicing cimport slice_axis
from .structure cimport broadcast_dims, reshape_dims

from tenferro.errors import AxisError, ValidationError


cdef inline Params *axis_params(Py_ssize_t axis, bint reverse, Py_ssize_t fill) except NULL:
    cdef Params *p = params_new(3)
    p.v[0] = axis
    p.v[1] = reverse
    p.v[2] = fill
    return p


cdef inline Meta *fresh_like(EagerTensor x) except NULL:
    return meta_compact(x.v.meta.dtype, x.v.meta.rank, x.v.meta.dims, row_major(x.v.meta))


cdef EagerTensor cumulate(int op, EagerTensor x, Py_ssize_t axis, bint reverse):
    cdef Meta *m = fresh_like(x)
    return emit1(op, x, axis_params(axis, reverse, 0), m)


cdef EagerTensor linear_scan(EagerTensor a, EagerTensor b, Py_ssize_t axis, bint reverse):
    cdef Meta *m = fresh_like(a)
    return emit2(Op.LINEAR_SCAN, a, b, axis_params(axis, reverse, 0), m)


cdef EagerTensor shift(EagerTensor x, Py_ssize_t axis, bint reverse, Py_ssize_t fill):
    cdef Meta *m = fresh_like(x)
    return emit1(Op.SHIFT, x, axis_params(axis, reverse, fill), m)


# ---- arguments -------------------------------------------------------------------------------------------------------

cdef EagerTensor flattened(EagerTensor x):
    cdef Py_ssize_t size = x.v.meta.size
    return x if x.v.meta.rank == 1 else reshape_dims(x, 1, &size, False)


cdef Py_ssize_t one_axis(EagerTensor x, object axis) except -1:
    cdef int rank = x.v.meta.rank
    cdef Py_ssize_t k
    if isinstance(axis, (tuple, list)):
        raise AxisError("this operation takes one axis, not several", argument="axis", expected="an integer",
                        actual=axis)
    k = axis
    axis_mask(x, axis)
    return k + rank if k < 0 else k


cdef EagerTensor accumulated(int op, object a, object axis, object dtype):
    cdef EagerTensor x = as_eager(a)
    if axis is None:
        x = flattened(x)
        axis = 0
    k = one_axis(x, axis)
    x = cast(x, sum_dtype(x.v.meta.dtype) if dtype is None else dtype_code(dtype))
    return cumulate(op, x, k, False)


cdef EagerTensor position(int op, object a, object axis, object keepdims):
    cdef EagerTensor x = as_eager(a)
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t k = -1 if axis is None else one_axis(x, axis)
    cdef bint keep = flag(keepdims)
    cdef int i, n = 0
    cdef Meta *m
    if x.v.meta.size == 0 and (k < 0 or x.v.meta.dims[k] == 0):
        name = op_name(op)
        raise ValidationError(f"{name} has no value for no elements; a zero-size tensor has positions along its "
                              "other axes only", op=name, argument="x")
    for i in range(x.v.meta.rank):
        if k >= 0 and i != k:
            shape[n] = x.v.meta.dims[i]
            n += 1
        elif keep:
            shape[n] = 1
            n += 1
    m = meta_compact(D_I64, n, shape, row_major(x.v.meta))
    return emit1(op, x, axis_params(k, keep, 0), m)


# ---- public ----------------------------------------------------------------------------------------------------------

def argmax(x, axis=None, keepdims=False):
    """Position of the largest element: the first of equal ones, the first NaN if there is one.

    Parameters
    ----------
    x : array_like
        Any dtype.
    axis : None or int
        Axis to search along. By default all elements, numbered in row-major order.
    keepdims : bool
        Whether the searched axes stay, with length 1.

    Returns
    -------
    EagerTensor
        int64, untracked.

    Raises
    ------
    AxisError
        The axis is out of range.
    ValidationError
        There are no elements to choose from.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.argmax([[1.0, 5.0], [3.0, 4.0]], axis=1)
    EagerTensor([1, 1], dtype=int64)
    """
    return position(Op.ARGMAX, x, axis, keepdims)


def argmin(x, axis=None, keepdims=False):
    """Position of the smallest element: the first of equal ones, the first NaN if there is one.

    Parameters
    ----------
    x : array_like
        Any dtype.
    axis : None or int
        Axis to search along. By default all elements, numbered in row-major order.
    keepdims : bool
        Whether the searched axes stay, with length 1.

    Returns
    -------
    EagerTensor
        int64, untracked.

    Raises
    ------
    AxisError
        The axis is out of range.
    ValidationError
        There are no elements to choose from.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.argmin([[1.0, 5.0], [3.0, 4.0]], axis=1)
    EagerTensor([0, 0], dtype=int64)
    """
    return position(Op.ARGMIN, x, axis, keepdims)


def cumsum(x, axis=None, dtype=None):
    """Cumulative sum along an axis.

    Parameters
    ----------
    x : array_like
        Any dtype.
    axis : None or int
        By default `x` is flattened in row-major order.
    dtype : dtype, optional
        Of the computation and the result. By default that of `x`, int64 or uint64 for bool and smaller integers.

    Returns
    -------
    EagerTensor
        Of `x`'s shape, or one-dimensional.

    Raises
    ------
    AxisError
        The axis is out of range.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.cumsum([1.0, 2.0, 3.0])
    EagerTensor([1., 3., 6.], dtype=float64)
    """
    return accumulated(Op.CUMSUM, x, axis, dtype)


def cumprod(x, axis=None, dtype=None):
    """Cumulative product along an axis. Derivatives are linear recurrences, never quotients, so that they are right at zeros.

    Parameters
    ----------
    x : array_like
        Any dtype.
    axis : None or int
        By default `x` is flattened in row-major order.
    dtype : dtype, optional
        Of the computation and the result. By default that of `x`, int64 or uint64 for bool and smaller integers.

    Returns
    -------
    EagerTensor
        Of `x`'s shape, or one-dimensional.

    Raises
    ------
    AxisError
        The axis is out of range.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.cumprod([1.0, 2.0, 3.0])
    EagerTensor([1., 2., 6.], dtype=float64)
    """
    return accumulated(Op.CUMPROD, x, axis, dtype)


cdef EagerTensor beside(object value, EagerTensor x, int axis):
    """What is put before or after x: a tensor, or a number for every slice."""
    cdef EagerTensor t = as_operand(value, x.rt)
    cdef Py_ssize_t shape[64]
    cdef int i
    if t.v.meta.rank:
        return t
    for i in range(x.v.meta.rank):
        shape[i] = x.v.meta.dims[i]
    shape[axis] = 1
    return broadcast_dims(t, x.v.meta.rank, shape)


def diff(x, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along an axis, repeated `n` times.

    Parameters
    ----------
    x : array_like
        Any dtype; for bool the difference is "not equal".
    n : int
        Number of repetitions; 0 returns `x` as it is.
    axis : int
        The last one by default.
    prepend, append : array_like, optional
        Joined to `x` along the axis first; a scalar stands for a slice of length 1.

    Returns
    -------
    EagerTensor
        Shorter by `n` along the axis.

    Raises
    ------
    AxisError
        The axis is out of range.
    ShapeMismatchError
        `prepend` or `append` does not fit.
    ValidationError
        `n` is negative.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.diff([1.0, 4.0, 9.0])
    EagerTensor([3., 5.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef int k = <int> one_axis(t, axis)
    cdef Py_ssize_t times = n, m
    if times < 0:
        raise ValidationError(f"diff: n is the number of repetitions, 0 or more, not {n}", op="diff", argument="n")
    if times == 0:
        return +t
    if prepend is not None:
        t = join((beside(prepend, t, k), t), k, False)
    if append is not None:
        t = join((t, beside(append, t, k)), k, False)
    for _ in range(min(times, t.v.meta.dims[k])):       # nothing is left after that
        m = t.v.meta.dims[k]
        m = m - 1 if m > 0 else 0
        t = apply2(Op.NOT_EQUAL if t.v.meta.dtype == D_BOOL else Op.SUB, slice_axis(t, k, 1 if m else 0, 1, m),
                   slice_axis(t, k, 0, 1, m))
    return +t if t is x else t
