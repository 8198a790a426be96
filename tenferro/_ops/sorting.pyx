"""Sorting and selection. Orders are found on the host; values are gathered, so that they have derivatives."""

from collections import namedtuple

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor, as_eager, as_operand, constant_value
from tenferro._core.memory cimport *
from tenferro._core.optable cimport dtype_object
from tenferro._core.tensor cimport export_array
from .gathers cimport along, integers
from .structure cimport axis_of, reshape_dims, shape_tuple

import numpy as np

from tenferro.errors import DTypeMismatchError, PlacementError, ShapeMismatchError, ValidationError
from .composites import broadcast_arrays
from .index import take


cdef object on_host(EagerTensor x, str op):
    """Read-only array over a tensor's memory."""
    if x.v.buf.space != HOST_SPACE:
        raise PlacementError(f"{op} reads values on the host; bring them there with to_tensor()", op=op,
                             expected="host", actual=x.v.buf.space)
    return export_array(&x.v)


cdef EagerTensor positions(EagerTensor x, object found):
    return constant_value(x.rt, np.asarray(found, np.int64), -1, False)


cdef tuple with_axis(object a, object axis):
    """The operand, flattened for axis None, and the axis, counted from the start."""
    cdef EagerTensor x = as_eager(a)
    if axis is None:
        return reshape_dims(x, 1, &x.v.meta.size, False), 0
    return x, axis_of(axis, x.v.meta.rank)


cdef object order(object array, int axis, bint descending):
    """Stable in both directions; NaN counts as the largest."""
    if not descending:
        return np.argsort(array, axis, kind="stable")
    return array.shape[axis] - 1 - np.flip(np.argsort(np.flip(array, axis), axis, kind="stable"), axis)


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
        The tensor is not in host memory.
    """
    cdef EagerTensor t
    t, k = with_axis(x, axis)
    return positions(t, order(on_host(t, "argsort"), k, descending))


def sort(x, axis=-1, *, descending=False, stable=True):
    """Elements in increasing (decreasing) order along an axis.

    Parameters and errors are those of `argsort`.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype. Derivatives go with the elements, by the permutation that sorts.
    """
    cdef EagerTensor t
    t, k = with_axis(x, axis)
    return gathered(t, positions(t, order(on_host(t, "sort"), k, descending)), k)


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
        The tensor is not in host memory.
    """
    cdef EagerTensor t, idx
    cdef Py_ssize_t n = k
    t, a = with_axis(x, axis)
    if n < 0 or n > t.v.meta.dims[<int> a]:
        raise ValidationError(f"topk: k is {k}, but the axis has {t.v.meta.dims[<int> a]} elements; take at most these",
                              op="topk", argument="k")
    found = order(on_host(t, "topk"), a, largest)
    idx = positions(t, np.take(found, np.arange(n), a))
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
        A tensor is not in host memory.
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
    return positions(t, np.searchsorted(on_host(t, "searchsorted"), on_host(v, "searchsorted"), side))


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
        The tensor is not in host memory.
    """
    cdef EagerTensor t = as_eager(x), values
    if axis is not None:
        axis = axis_of(axis, t.v.meta.rank)
    _, index, inverse, counts = np.unique(on_host(t, "unique"), True, True, True, axis, equal_nan=equal_nan)
    values = take(t, index, axis)
    found = [positions(t, array) for array, wanted in ((index, return_index), (inverse, return_inverse),
                                                       (counts, return_counts)) if wanted]
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
        The mask is not in host memory.
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
        The tensor is not in host memory.
    """
    cdef EagerTensor t = as_eager(x)
    if t.v.meta.rank == 0:
        raise ValidationError("nonzero: a scalar has no positions; use atleast_1d first", op="nonzero", argument="x")
    return tuple([positions(t, k) for k in np.nonzero(on_host(t, "nonzero"))])


# ---- the array API standard's names ----------------------------------------------------------------------------------

UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCounts", "values counts")
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")


def unique_all(x):
    """`unique` elements, where they come first, which of them every element is, and their counts; no NaNs are equal."""
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x):
    """`unique` elements and their counts; no NaNs are equal."""
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x):
    """`unique` elements, and which of them every element is; no NaNs are equal."""
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x):
    """`unique` elements; no NaNs are equal."""
    return unique(x, equal_nan=False)
