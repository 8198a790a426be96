"""Sorting and selection. Orders are found by NumPy or by a device's engine; values are gathered, so they have derivatives."""

from collections import namedtuple

from tenferro._core.abi cimport *
from tenferro._core.asking cimport asked
from tenferro._core.eager cimport EagerTensor, as_eager, as_operand, constant_value
from tenferro._core.memory cimport *
from tenferro._core.optable cimport dtype_object
from tenferro._core.state cimport engine_for
from tenferro._core.tensor cimport export_array
from .gathers cimport along, integers
from .slicing cimport slice_axis
from .structure cimport axis_of, reshape_dims, shape_tuple

import numpy as np

from tenferro.errors import DTypeMismatchError, ShapeMismatchError, ValidationError
from .composites import broadcast_arrays
from .index import take
from .sorted_lines import argsort as in_threads

cdef enum:
    THREADED = 1 << 16          # elements; a Python thread starts in about a tenth of a millisecond


cdef inline bint far(EagerTensor x) noexcept:
    return x.v.buf.space != HOST_SPACE


cdef EagerTensor positions(EagerTensor x, object found):
    return constant_value(x.rt, np.asarray(found, np.int64), -1, False)


cdef tuple with_axis(object a, object axis):
    """The operand, flattened for axis None, and the axis, counted from the start."""
    cdef EagerTensor x = as_eager(a)
    if axis is None:
        return reshape_dims(x, 1, &x.v.meta.size, False), 0
    return x, axis_of(axis, x.v.meta.rank)


cdef object stable_order(EagerTensor x, object array, int axis):
    cdef int threads = engine_for(x.rt).threads if x.v.meta.size >= THREADED else 1
    return np.argsort(array, axis, kind="stable") if threads == 1 else in_threads(array, axis, threads)


cdef EagerTensor order(EagerTensor x, int axis, bint descending):
    """Positions that sort; stable in both directions, NaN counts as the largest."""
    if far(x):
        return asked("argsort", x, (), {"axis": axis, "descending": descending})
    array = export_array(&x.v)
    if not descending:
        return positions(x, stable_order(x, array, axis))
    return positions(x, array.shape[axis] - 1 - np.flip(stable_order(x, np.flip(array, axis), axis), axis))


cdef EagerTensor gathered(EagerTensor x, EagerTensor idx, int axis):
    cdef Py_ssize_t p[2]
    p[0], p[1] = axis, x.v.meta.dims[axis]
    return along(x, idx, p, row_major(x.v.meta))


def argsort(x, axis=-1, *, descending=False, stable=True):
    """Positions that sort along an axis.

    Parameters
    ----------
    x : array_like
        Any dtype; complex numbers are compared by real, then by imaginary part.
    axis : None or int
        The last one by default; None sorts the flattened tensor, in row-major order.
    descending : bool
        Whether the largest elements come first.
    stable : bool
        The order of equal elements is kept in any case.

    Returns
    -------
    EagerTensor
        int64, untracked. NaN counts as larger than every number.

    Raises
    ------
    AxisError
        The axis is out of range.
    PlacementError
        The engine does not reach the memory.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.argsort([3.0, 1.0, 2.0])
    EagerTensor([1, 2, 0], dtype=int64)
    """
    cdef EagerTensor t
    t, k = with_axis(x, axis)
    return order(t, k, descending)


def sort(x, axis=-1, *, descending=False, stable=True):
    """Elements in increasing (decreasing) order along an axis.

    Parameters
    ----------
    x : array_like
        Any dtype; complex numbers are compared by real, then by imaginary part.
    axis : None or int
        The last one by default; None sorts the flattened tensor, in row-major order.
    descending : bool
        Whether the largest elements come first.
    stable : bool
        The order of equal elements is kept in any case.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype. Derivatives go with the elements, by the permutation that sorts.

    Raises
    ------
    AxisError
        The axis is out of range.
    PlacementError
        The engine does not reach the memory.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.sort([3.0, 1.0, 2.0], descending=True)
    EagerTensor([3., 2., 1.], dtype=float64)
    """
    cdef EagerTensor t
    t, k = with_axis(x, axis)
    return gathered(t, order(t, k, descending), k)


def topk(x, k, axis=-1, *, largest=True):
    """The `k` largest (smallest) elements along an axis, in that order, and their positions.

    Parameters
    ----------
    x : array_like
        Any dtype.
    k : int
        At most the length of the axis.
    axis : None or int
        The last one by default; None takes the flattened tensor, in row-major order.
    largest : bool
        Whether the largest elements are wanted. NaN counts as larger than every number.

    Returns
    -------
    values : EagerTensor
        Of `x`'s dtype; derivatives go with the elements.
    positions : EagerTensor
        int64, untracked. Of equal elements the first ones are taken.

    Raises
    ------
    AxisError
        The axis is out of range.
    ValidationError
        `k` is negative or larger than the axis.
    PlacementError
        The engine does not reach the memory.

    Examples
    --------
    >>> import tenferro as tfr
    >>> values, positions = tfr.topk([3.0, 1.0, 2.0], 2)
    >>> values, positions
    (EagerTensor([3., 2.], dtype=float64), EagerTensor([0, 2], dtype=int64))
    """
    cdef EagerTensor t, idx
    cdef Py_ssize_t n = k
    t, a = with_axis(x, axis)
    if n < 0 or n > t.v.meta.dims[<int> a]:
        raise ValidationError(f"topk: k is {k}, but the axis has {t.v.meta.dims[<int> a]} elements; take at most these",
                              op="topk", argument="k")
    idx = slice_axis(order(t, a, largest), a, 0, 1, n)
    return gathered(t, idx, a), idx


def searchsorted(x1, x2, side="left", sorter=None):
    """Positions in a sorted vector before which elements are to be inserted to keep it sorted.

    Parameters
    ----------
    x1 : array_like
        One-dimensional, in increasing order (or put into it by `sorter`).
    x2 : array_like
        What is to be inserted, of any shape.
    side : {"left", "right"}
        Before or after the elements that are equal.
    sorter : integer array_like, optional
        Positions that sort `x1`, from `argsort`.

    Returns
    -------
    EagerTensor
        int64 of `x2`'s shape, untracked.

    Raises
    ------
    ShapeMismatchError
        `x1` is not one-dimensional, or `sorter` has not its length.
    ValidationError
        Another `side`.
    PlacementError
        The engine does not reach the memory.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.searchsorted([1.0, 2.0, 3.0], [0.5, 2.0, 9.0])
    EagerTensor([0, 1, 3], dtype=int64)
    """
    cdef EagerTensor t = as_eager(x1), v = as_operand(x2, t.rt), s = None
    if side not in ("left", "right"):
        raise ValidationError(f"searchsorted: side is 'left' or 'right', not {side!r}", op="searchsorted",
                              argument="side")
    if t.v.meta.rank != 1:
        raise ShapeMismatchError("searchsorted: x1 is not one-dimensional; search its rows one at a time",
                                 op="searchsorted", argument="x1", expected=1, actual=shape_tuple(t.v.meta))
    if sorter is not None:
        s = integers(sorter, t, "searchsorted")
        if not same_shape(s.v.meta, t.v.meta):
            raise ShapeMismatchError(f"searchsorted: sorter has shape {shape_tuple(s.v.meta)}, but x1 "
                                     f"{shape_tuple(t.v.meta)}", op="searchsorted", argument="sorter",
                                     expected=shape_tuple(t.v.meta), actual=shape_tuple(s.v.meta))
        t = take(t, s)
    if far(t) or far(v):
        return asked("searchsorted", t, (v,), {"side": side})
    return positions(t, np.searchsorted(export_array(&t.v), export_array(&v.v), side))


def unique(x, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True):
    """Different elements in increasing order.

    Parameters
    ----------
    x : array_like
        Any dtype.
    return_index, return_inverse, return_counts : bool
        Whether to return where the elements come first, which of them every element of `x` is, and how often they
        occur, too.
    axis : None or int
        None compares the elements; an axis, the slices along it.
    equal_nan : bool
        Whether NaNs are equal.

    Returns
    -------
    EagerTensor or tuple of EagerTensor
        Elements of `x`'s dtype, with the derivatives of those that come first; then what was asked for as untracked
        int64.

    Raises
    ------
    AxisError
        The axis is out of range.
    PlacementError
        The engine does not reach the memory.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.unique([3.0, 1.0, 3.0])
    EagerTensor([1., 3.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x), values
    if axis is not None:
        axis = axis_of(axis, t.v.meta.rank)
    if far(t):
        index, inverse, counts = asked("unique", t, (), {"axis": axis, "equal_nan": equal_nan})
    else:
        _, *found = np.unique(export_array(&t.v), True, True, True, axis, equal_nan=equal_nan)
        index, inverse, counts = [positions(t, array) for array in found]
    values = take(t, index, axis)
    found = [p for p, wanted in ((index, return_index), (inverse, return_inverse), (counts, return_counts)) if wanted]
    return (values, *found) if found else values


def masked_select(x, mask):
    """One-dimensional tensor of the elements where a mask is true, in row-major order.

    Parameters
    ----------
    x : array_like
        Any dtype.
    mask : array_like of bool
        Broadcasts against `x`, and `x` against it.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    ShapeMismatchError
        The shapes do not broadcast.
    DTypeMismatchError
        The mask is not bool.
    PlacementError
        The engine does not reach the memory.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.masked_select([1.0, 2.0, 3.0], [True, False, True])
    EagerTensor([1., 3.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x), m = as_operand(mask, t.rt)
    if m.v.meta.dtype != D_BOOL:
        raise DTypeMismatchError(f"masked_select: the mask is {dtype_object(m.v.meta.dtype)}, not bool; compare, as in "
                                 "mask > 0", op="masked_select", argument="mask", expected="bool",
                                 actual=dtype_object(m.v.meta.dtype))
    if not same_shape(t.v.meta, m.v.meta):
        t, m = broadcast_arrays(t, m)
    return t[m]


def nonzero(x):
    """Positions of the elements that are not zero, in row-major order.

    Parameters
    ----------
    x : array_like
        Any dtype, at least one axis.

    Returns
    -------
    tuple of EagerTensor
        One int64 vector for each axis, untracked.

    Raises
    ------
    ValidationError
        `x` has no axis.
    PlacementError
        The engine does not reach the memory.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.nonzero([0.0, 5.0, 7.0])
    (EagerTensor([1, 2], dtype=int64),)
    """
    cdef EagerTensor t = as_eager(x)
    if t.v.meta.rank == 0:
        raise ValidationError("nonzero: a scalar has no positions; use atleast_1d first", op="nonzero", argument="x")
    if far(t):
        return asked("nonzero", t, (), {})
    return tuple([positions(t, k) for k in np.nonzero(export_array(&t.v))])


# ---- the array API standard's names ----------------------------------------------------------------------------------

UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts", module=__name__)
UniqueCounts = namedtuple("UniqueCounts", "values counts", module=__name__)
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices", module=__name__)


def unique_all(x):
    """Different elements in increasing order, and all that `unique` knows of them. No NaNs are equal.

    Parameters
    ----------
    x : array_like
        Any dtype.

    Returns
    -------
    UniqueAll
        Named tuple of `values`, with the derivatives of the elements that come first, and untracked int64 tensors: `indices`,
        where each value comes first, `inverse_indices`, which value every element of `x` is, and `counts`.

    Raises
    ------
    PlacementError
        The engine does not reach the memory.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.unique_all([3.0, 1.0, 3.0]).inverse_indices
    EagerTensor([1, 0, 1], dtype=int64)
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x):
    """Different elements in increasing order, and how often they occur. No NaNs are equal.

    Parameters
    ----------
    x : array_like
        Any dtype.

    Returns
    -------
    UniqueCounts
        Named tuple of `values`, with the derivatives of the elements that come first, and `counts`, untracked int64.

    Raises
    ------
    PlacementError
        The engine does not reach the memory.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.unique_counts([3.0, 1.0, 3.0]).counts
    EagerTensor([1, 2], dtype=int64)
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x):
    """Different elements in increasing order, and which of them every element is. No NaNs are equal.

    Parameters
    ----------
    x : array_like
        Any dtype.

    Returns
    -------
    UniqueInverse
        Named tuple of `values`, with the derivatives of the elements that come first, and `inverse_indices`, untracked int64
        of `x`'s shape.

    Raises
    ------
    PlacementError
        The engine does not reach the memory.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.unique_inverse([3.0, 1.0, 3.0]).inverse_indices
    EagerTensor([1, 0, 1], dtype=int64)
    """
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x):
    """Different elements in increasing order. No NaNs are equal.

    Parameters
    ----------
    x : array_like
        Any dtype.

    Returns
    -------
    EagerTensor
        One-dimensional, of `x`'s dtype, with the derivatives of the elements that come first.

    Raises
    ------
    PlacementError
        The engine does not reach the memory.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.unique_values([3.0, 1.0, 3.0])
    EagerTensor([1., 3.], dtype=float64)
    """
    return unique(x, equal_nan=False)
