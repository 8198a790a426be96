"""Bits, signs and neighbours of numbers, and membership: the standard's elementwise functions that are no operations."""

import numpy as np

from .._core.eager import EagerTensor, set_bit_operators
from .._core.handles import constant
from .._ops.elementwise import FUNCTIONS
from ..errors import DTypeMismatchError
from .host import floating, on_host

__all__ = ["bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
           "copysign", "isin", "nextafter", "positive", "signbit"]


def bitwise_and(x1, x2):
    """Bits that are set in both operands; logical and of bools.

    Parameters
    ----------
    x1, x2 : array_like of int or bool
        They promote and broadcast; Python integers take the dtype of the other one.

    Returns
    -------
    EagerTensor
        A constant.

    Raises
    ------
    DTypeMismatchError
        An operand is not of integers or bools, or int64 meets uint64.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.bitwise_and([6, 5], 3)
    EagerTensor([2, 1], dtype=int64)
    """
    return on_host("bitwise_and", np.bitwise_and, x1, x2)


def bitwise_or(x1, x2):
    """Bits that are set in any operand; logical or of bools.

    Parameters
    ----------
    x1, x2 : array_like of int or bool
        They promote and broadcast; Python integers take the dtype of the other one.

    Returns
    -------
    EagerTensor
        A constant.

    Raises
    ------
    DTypeMismatchError
        An operand is not of integers or bools, or int64 meets uint64.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.bitwise_or([6, 5], 3)
    EagerTensor([7, 7], dtype=int64)
    """
    return on_host("bitwise_or", np.bitwise_or, x1, x2)


def bitwise_xor(x1, x2):
    """Bits that are set in one operand only.

    Parameters
    ----------
    x1, x2 : array_like of int or bool
        They promote and broadcast; Python integers take the dtype of the other one.

    Returns
    -------
    EagerTensor
        A constant.

    Raises
    ------
    DTypeMismatchError
        An operand is not of integers or bools, or int64 meets uint64.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.bitwise_xor([6, 5], 3)
    EagerTensor([5, 6], dtype=int64)
    """
    return on_host("bitwise_xor", np.bitwise_xor, x1, x2)


def bitwise_invert(x):
    """All bits flipped; logical not of bools.

    Parameters
    ----------
    x : array_like of int or bool

    Returns
    -------
    EagerTensor
        A constant.

    Raises
    ------
    DTypeMismatchError
        The operand is not of integers or bools.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.bitwise_invert([0, 5])
    EagerTensor([-1, -6], dtype=int64)
    """
    return on_host("bitwise_invert", np.bitwise_invert, x)


def bitwise_left_shift(x1, x2):
    """Bits moved to higher places, zeros follow. Shifts by negative numbers are undefined.

    Parameters
    ----------
    x1, x2 : array_like of int
        They promote and broadcast; Python integers take the dtype of the other one.

    Returns
    -------
    EagerTensor
        A constant.

    Raises
    ------
    DTypeMismatchError
        The operands are floating or complex, or both of bools, or int64 meets uint64.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.bitwise_left_shift([1, 3], 2)
    EagerTensor([ 4, 12], dtype=int64)
    """
    return on_host("bitwise_left_shift", _integers(np.left_shift), x1, x2)


def bitwise_right_shift(x1, x2):
    """Bits moved to lower places, the sign follows. Shifts by negative numbers are undefined.

    Parameters
    ----------
    x1, x2 : array_like of int
        They promote and broadcast; Python integers take the dtype of the other one.

    Returns
    -------
    EagerTensor
        A constant.

    Raises
    ------
    DTypeMismatchError
        The operands are floating or complex, or both of bools, or int64 meets uint64.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.bitwise_right_shift([8, -8], 2)
    EagerTensor([ 2, -2], dtype=int64)
    """
    return on_host("bitwise_right_shift", _integers(np.right_shift), x1, x2)


def _integers(f):
    """A shift of NumPy's that refuses bools."""
    def shift(x1, x2):
        if np.result_type(x1, x2).kind not in "iu":
            raise TypeError
        return f(x1, x2)
    return shift


def copysign(x1, x2):
    """Absolute values of `x1` with the signs of `x2`, those of zeros included.

    Parameters
    ----------
    x1, x2 : array_like
        Real; they promote and broadcast, integers become float64.

    Returns
    -------
    EagerTensor
        The derivative by `x1` is 1 or -1, that by `x2` is 0.

    Raises
    ------
    DTypeMismatchError
        An operand is complex.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.copysign([1.0, 2.0], [-0.0, 3.0])
    EagerTensor([-1.,  2.], dtype=float64)
    """
    x1, x2 = floating("copysign", x1, x2)
    same = FUNCTIONS["equal"](signbit(x1), signbit(x2))
    return FUNCTIONS["where"](same, x1, FUNCTIONS["neg"](x1))


def nextafter(x1, x2):
    """The next floating-point number after `x1` in the direction of `x2`, as a constant.

    Parameters
    ----------
    x1, x2 : array_like
        Real; they promote and broadcast, integers become float64.

    Returns
    -------
    EagerTensor
        A constant.

    Raises
    ------
    DTypeMismatchError
        An operand is complex.

    Examples
    --------
    >>> import tenferro as tfr
    >>> (tfr.nextafter(1.0, 2.0) - 1.0).item() == tfr.finfo(tfr.float64).eps
    True
    """
    return on_host("nextafter", np.nextafter, *floating("nextafter", x1, x2))


def signbit(x):
    """Whether the sign bit is set, as it is for -0.0, too; untracked bools.

    Parameters
    ----------
    x : array_like
        Real.

    Returns
    -------
    EagerTensor
        Untracked bools.

    Raises
    ------
    DTypeMismatchError
        Complex numbers.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.signbit([-0.0, 1.0])
    EagerTensor([ True, False], dtype=bool)
    """
    return on_host("signbit", np.signbit, x)


def positive(x):
    """The same values; another handle on them.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    EagerTensor
        Of `x`'s dtype and shape.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.positive([-1.0, 2.0])
    EagerTensor([-1.,  2.], dtype=float64)
    """
    return +(x if isinstance(x, EagerTensor) else constant(x, copy=False))


def isin(x1, x2, *, assume_unique=False, invert=False, kind=None):
    """Whether elements of one tensor occur in another.

    Parameters
    ----------
    x1 : array_like
        What is looked for, of any shape.
    x2 : array_like
        Where it is looked for. NaN equals nothing.
    assume_unique, kind
        As in NumPy: hints for speed.
    invert : bool
        Whether the answers are negated.

    Returns
    -------
    EagerTensor
        Untracked bools of `x1`'s shape.

    Raises
    ------
    ValueError
        Another `kind` than NumPy's "sort" and "table".

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.isin([1, 2, 3], [2, 5])
    EagerTensor([False,  True, False], dtype=bool)
    """
    def member(a, b):
        return np.isin(*_together(a, b), assume_unique=assume_unique, invert=invert, kind=kind)
    return on_host("isin", member, x1, x2)


def _together(a, b):
    """Operands that compare as numbers; NumPy compares int64 with uint64 as float64."""
    a, b = np.asarray(a), np.asarray(b)
    if {a.dtype.kind, b.dtype.kind} == {"i", "u"} and np.result_type(a, b).kind == "f":
        top = np.iinfo(np.int64).max
        signed, unsigned = (a, b) if a.dtype.kind == "i" else (b, a)
        fits = unsigned[unsigned <= top].astype(np.int64)
        if unsigned is b:
            return signed, fits
        return unsigned, signed[signed >= 0].astype(np.uint64)
    return a, b


# ---- operators -------------------------------------------------------------------------------------------------------

_BINARY = {"and_": bitwise_and, "or_": bitwise_or, "xor": bitwise_xor, "lshift": bitwise_left_shift,
           "rshift": bitwise_right_shift}


def _in_place(f):
    """``x op= other``: the handle stands for the new value."""
    def update(x, other):
        found = f(x, other)
        if found.dtype.kind != x.dtype.kind:
            raise DTypeMismatchError(f"{f.__name__}: the result has dtype {found.dtype}, which cannot be put into a tensor of "
                                     f"{x.dtype}; write x = x & y", op=f.__name__, argument="other", expected=x.dtype,
                                     actual=found.dtype)
        x[...] = found
        return x
    return update


set_bit_operators({**_BINARY, "invert": bitwise_invert,
                   **{"i" + name.rstrip("_"): _in_place(f) for name, f in _BINARY.items()}})
