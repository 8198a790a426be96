"""Dtypes: their kinds, limits and promotion, and conversion between them."""

from collections import namedtuple

import numpy as np

from .._core.eager import EagerTensor
from .._core.tensor import Tensor
from .._ops.elementwise import cast
from ..errors import ShapeMismatchError
from .host import checked_device

__all__ = ["astype", "broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]


class FloatInfo(namedtuple("FloatInfo", "bits eps max min smallest_normal dtype")):
    """Limits of a floating dtype: `bits`, `eps`, `max`, `min` and `smallest_normal` as Python numbers, and `dtype`."""

    __slots__ = ()
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype

    @property
    def tiny(self):
        """NumPy's name of `smallest_normal`."""
        return self.smallest_normal

    @property
    def resolution(self):
        """Approximate decimal resolution."""
        return float(np.finfo(self.dtype).resolution)


class IntegerInfo(namedtuple("IntegerInfo", "bits max min dtype")):
    """Limits of an integer dtype: `bits`, `max` and `min` as Python integers, and `dtype`."""

    __slots__ = ()

    bits: int
    max: int
    min: int
    dtype: np.dtype


def _dtype(x):
    return np.dtype(getattr(x, "dtype", x))


def finfo(type):
    """Limits of a floating or complex dtype.

    Parameters
    ----------
    type : dtype or tensor

    Returns
    -------
    FloatInfo
        ``bits``, ``eps``, ``max``, ``min``, ``smallest_normal``, ``dtype``: those of the real and imaginary part.

    Raises
    ------
    ValueError
        Another dtype.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.finfo(tfr.float32).bits
    32
    """
    found = np.finfo(_dtype(type))
    return FloatInfo(int(found.bits), float(found.eps), float(found.max), float(found.min), float(found.smallest_normal),
                     np.dtype(found.dtype))


def iinfo(type):
    """Limits of an integer dtype.

    Parameters
    ----------
    type : dtype or tensor

    Returns
    -------
    IntegerInfo
        ``bits``, ``max``, ``min``, ``dtype``.

    Raises
    ------
    ValueError
        Another dtype.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.iinfo(tfr.int8).max
    127
    """
    dtype = _dtype(type)
    found = np.iinfo(dtype)
    return IntegerInfo(int(found.bits), int(found.max), int(found.min), dtype)


def isdtype(dtype, kind):
    """Whether a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype
    kind : dtype, str or tuple of these
        ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``, ``"real floating"``,
        ``"complex floating"`` or ``"numeric"``; any of a tuple.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        An unknown kind.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.isdtype(tfr.float32, ("real floating", "complex floating"))
    True
    """
    return bool(np.isdtype(np.dtype(dtype), kind))


def result_type(*arrays_and_dtypes):
    """The dtype to which operands promote.

    Parameters
    ----------
    *arrays_and_dtypes : tensor, array, dtype or Python scalar
        Python scalars are weak: they adapt to the others.

    Returns
    -------
    dtype

    Raises
    ------
    ValueError
        No operand.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.result_type(tfr.float32, tfr.int64, 1.0)
    dtype('float64')
    """
    return np.result_type(*[x.dtype if isinstance(x, (EagerTensor, Tensor)) else x for x in arrays_and_dtypes])


def can_cast(from_, to, casting="safe"):
    """Whether a dtype can be converted to another one by promotion.

    Parameters
    ----------
    from_ : dtype or tensor
    to : dtype
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        As in NumPy.

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        What is no dtype.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.can_cast(tfr.int32, tfr.float32)
    False
    """
    return bool(np.can_cast(_dtype(from_), np.dtype(to), casting))


def astype(x, dtype, copy=True, device=None):
    """Values in another dtype, whatever is lost; see `cast`.

    Parameters
    ----------
    x : array_like
    dtype : dtype
    copy : bool
        False returns the very same tensor if it has the dtype.
    device : {None, "cpu"}

    Returns
    -------
    EagerTensor

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    PlacementError
        Another device.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.astype([1.75, -1.75], tfr.int64)
    EagerTensor([ 1, -1], dtype=int64)
    """
    checked_device(device, "astype")
    if not copy and isinstance(x, EagerTensor) and x.dtype == dtype:
        return x
    return cast(x, dtype)


def broadcast_shapes(*shapes):
    """The shape to which shapes broadcast.

    Parameters
    ----------
    *shapes : tuple of int

    Returns
    -------
    tuple of int

    Raises
    ------
    ShapeMismatchError
        They do not broadcast.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeMismatchError(f"broadcast_shapes: {shapes} do not broadcast; align their axes first",
                                 op="broadcast_shapes", argument="shapes", expected=shapes[0], actual=shapes[-1]) from None
