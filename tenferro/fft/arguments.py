"""Arguments of Fourier transforms: operands, axes, lengths, and bringing operands to these lengths."""

from operator import index

import numpy as np

from .._core.eager import EagerTensor
from .._core.handles import constant
from .._core.transfers import placed
from ..errors import AxisError, DTypeMismatchError, ShapeMismatchError, ValidationError
from ..operations import OPERATIONS

_NORMS = ("backward", "ortho", "forward")


def tensor(x):
    return x if isinstance(x, EagerTensor) else placed(constant(x))


def as_complex(x):
    """Complex operand; float32 becomes complex64, integers complex128."""
    x = tensor(x)
    if x.dtype.kind == "c":
        return x
    return OPERATIONS["cast"](x, np.complex64 if x.dtype == np.float32 else np.complex128)


def as_real(x, op):
    x = tensor(x)
    if x.dtype.kind == "c":
        raise DTypeMismatchError(f"{op} takes real numbers; use the complex transform, or take real() first", op=op,
                                 argument="x", expected="a real dtype", actual=x.dtype)
    return x if x.dtype.kind == "f" else OPERATIONS["cast"](x, np.float64)


def checked_norm(norm, op):
    if norm is None:
        return "backward"
    if norm not in _NORMS:
        raise ValidationError(f"{op}: norm is 'backward', 'ortho' or 'forward', not {norm!r}", op=op, argument="norm")
    return norm


def one_axis(x, axis, op):
    k = index(axis)
    if not -x.ndim <= k < x.ndim:
        raise AxisError(f"{op}: axis {axis} is out of range for a tensor with {x.ndim} axes", op=op, argument="axis",
                        expected=f"-{x.ndim} <= axis < {x.ndim}", actual=axis)
    return k % x.ndim


def length(n, op, argument="n"):
    try:
        k = index(n)
    except TypeError:
        raise ValidationError(f"{op}: {argument} is an integer, not {n!r}", op=op, argument=argument) from None
    if k < 1:
        raise ValidationError(f"{op}: a transform has at least 1 point, not {k}; give a larger {argument}", op=op,
                              argument=argument)
    return k


def _sequence(values):
    return tuple(values) if np.iterable(values) else (values,)


def axes_and_lengths(x, s, axes, op):
    """Axes counted from the start, and the length along each that was asked for, or None."""
    s = None if s is None else _sequence(s)
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    axes = tuple(one_axis(x, k, op) for k in _sequence(axes))
    if len(set(axes)) != len(axes):
        raise AxisError(f"{op}: an axis is named twice in {axes}; name each axis once", op=op, argument="axes",
                        expected="distinct axes", actual=axes)
    if s is not None and len(s) != len(axes):
        raise ShapeMismatchError(f"{op}: {len(s)} lengths for {len(axes)} axes; give one for each", op=op, argument="s",
                                 expected=len(axes), actual=len(s))
    if s is None:
        return axes, [None] * len(axes)
    return axes, [x.shape[k] if n == -1 else length(n, op, "s") for n, k in zip(s, axes, strict=True)]


def fitted(x, axes, sizes, op):
    """x cut or padded with zeros at the ends of axes; a length of None stays what it is."""
    widths = [(0, 0)] * x.ndim
    cuts = [slice(None)] * x.ndim
    for k, n in zip(axes, sizes, strict=True):
        have = x.shape[k]
        n = length(have if n is None else n, op)
        if n < have:
            cuts[k] = slice(n)
        widths[k] = (0, max(n - have, 0))
    if any(c != slice(None) for c in cuts):
        x = x[tuple(cuts)]
    if any(w != (0, 0) for w in widths):
        x = OPERATIONS["pad"](x, widths)
    return x
