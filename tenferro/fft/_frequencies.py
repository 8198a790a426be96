"""Frequencies of coefficients, and their order."""

import numpy as np

from .._core.handles import constant
from .._core.transfers import placed
from ..operations import OPERATIONS
from .arguments import axes_and_lengths, length, tensor


def fftfreq(n, d=1.0, dtype=None, device=None):
    """Frequencies of the coefficients of `fft`, in cycles per unit of the spacing of the points.

    Parameters
    ----------
    n : int
        Number of points.
    d : float
        Distance of two points; its inverse is the unit of the result.
    dtype : floating dtype, optional
        float64 by default.
    device : {None, "cpu"}

    Returns
    -------
    EagerTensor
        One-dimensional constant.

    Raises
    ------
    ValidationError
        There are no points.
    PlacementError
        Another device.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.fftfreq(4, d=0.5)
    EagerTensor([ 0. ,  0.5, -1. , -0.5], dtype=float64)
    """
    return placed(constant(np.fft.fftfreq(length(n, "fftfreq"), d), dtype=dtype), device, "fftfreq")


def rfftfreq(n, d=1.0, dtype=None, device=None):
    """Frequencies of the coefficients of `rfft`, in cycles per unit of the spacing of the points.

    Parameters
    ----------
    n : int
        Number of points.
    d : float
        Distance of two points; its inverse is the unit of the result.
    dtype : floating dtype, optional
        float64 by default.
    device : {None, "cpu"}

    Returns
    -------
    EagerTensor
        One-dimensional constant.

    Raises
    ------
    ValidationError
        There are no points.
    PlacementError
        Another device.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.rfftfreq(4, d=0.5)
    EagerTensor([0. , 0.5, 1. ], dtype=float64)
    """
    return placed(constant(np.fft.rfftfreq(length(n, "rfftfreq"), d), dtype=dtype), device, "rfftfreq")


def _rolled(x, axes, half, op):
    x = tensor(x)
    axes, _ = axes_and_lengths(x, None, axes, op)
    return OPERATIONS["roll"](x, [half(x.shape[k]) for k in axes], axes) if axes else +x


def fftshift(x, axes=None):
    """The coefficient of frequency 0 moved from the start to the middle of axes.

    Parameters
    ----------
    x : array_like
        Any dtype.
    axes : int or sequence of int, optional
        All by default.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype and shape.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.fftshift([0.0, 1.0, -2.0, -1.0])
    EagerTensor([-2., -1.,  0.,  1.], dtype=float64)
    """
    return _rolled(x, axes, lambda n: n // 2, "fftshift")


def ifftshift(x, axes=None):
    """Inverse of `fftshift`: the coefficient of frequency 0 moved from the middle to the start of axes.

    Parameters
    ----------
    x : array_like
        Any dtype.
    axes : int or sequence of int, optional
        All by default.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype and shape.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.ifftshift([-2.0, -1.0, 0.0, 1.0])
    EagerTensor([ 0.,  1., -2., -1.], dtype=float64)
    """
    return _rolled(x, axes, lambda n: -(n // 2), "ifftshift")
