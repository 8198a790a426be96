"""Discrete Fourier transforms with SciPy's and NumPy's signatures.

The operations are those of an extension module, ``"tenferro.fft.v1"``, which is installed in the runtime of a tensor
when it is first used there. All transforms are linear and differentiable in both modes, to any order. SciPy is loaded
by the first transform.
"""

import numpy as np

from .._core.handles import constant
from .._core.session_ops import install_session_operations
from .._standard.host import checked_device
from ..errors import ValidationError
from ..operations import OPERATIONS
from .arguments import as_complex, as_real, axes_and_lengths, checked_norm, fitted, length, one_axis, tensor
from .module import ADJOINT, MODULE, MODULE_ID, call
from .trigonometric import dct, dst, idct, idst

__all__ = ["MODULE", "MODULE_ID", "dct", "dst", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "idct", "idst", "ifft",
           "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]


def _many(x, s, axes, norm, inverse, op):
    x, norm = as_complex(x), checked_norm(norm, op)
    axes, sizes = axes_and_lengths(x, s, axes, op)
    x = fitted(x, axes, sizes, op)
    return call("c2c", x, axes=axes, inverse=inverse, norm=norm) if axes else +x


def _one(x, n, axis, norm, inverse, op):
    x, norm = as_complex(x), checked_norm(norm, op)
    axis = one_axis(x, axis, op)
    return call("c2c", fitted(x, (axis,), (n,), op), axes=(axis,), inverse=inverse, norm=norm)


def _to_half(x, n, axis, norm, op):
    x = as_real(x, op)
    axis = one_axis(x, axis, op)
    return call("r2c", fitted(x, (axis,), (n,), op), axis=axis, norm=norm)


def _from_half(x, n, axis, norm, op):
    axis = one_axis(x, axis, op)
    n = length(2 * (x.shape[axis] - 1) if n is None else n, op)
    return call("c2r", fitted(x, (axis,), (n // 2 + 1,), op), axis=axis, n=n, norm=norm)


# ---- one axis --------------------------------------------------------------------------------------------------------

def fft(x, n=None, axis=-1, norm=None):
    """Discrete Fourier transform along one axis: ``sum(x[j] * exp(-2j * pi * j * k / n))`` over j.

    Parameters
    ----------
    x : array_like
        Any dtype; float32 is computed in complex64, integers in complex128.
    n : int, optional
        Number of points; `x` is cut or padded with zeros at the end of the axis.
    axis : int
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor 1/n is on the inverse transform (the default), the root of it on both, or it on this one.

    Returns
    -------
    EagerTensor
        Complex.

    Raises
    ------
    AxisError
        The axis is out of range.
    ValidationError
        There are no points, or another `norm`.
    """
    return _one(x, n, axis, norm, False, "fft")


def ifft(x, n=None, axis=-1, norm=None):
    """Inverse of `fft`, with the same parameters, result and errors."""
    return _one(x, n, axis, norm, True, "ifft")


def rfft(x, n=None, axis=-1, norm=None):
    """The first ``n // 2 + 1`` coefficients of `fft` of a real tensor, which determine the others.

    Parameters and errors are those of `fft`; complex numbers raise `DTypeMismatchError`.
    """
    return _to_half(x, n, axis, checked_norm(norm, "rfft"), "rfft")


def irfft(x, n=None, axis=-1, norm=None):
    """Inverse of `rfft`.

    Parameters
    ----------
    x : array_like
        The first ``n // 2 + 1`` coefficients, cut or padded to them. The imaginary parts of the first and, for even n,
        of the last one are ignored, with derivative 0.
    n : int, optional
        Number of points of the result; by default ``2 * (m - 1)`` for m coefficients.
    axis, norm
        As for `fft`.

    Returns
    -------
    EagerTensor
        Real.

    Raises
    ------
    AxisError, ValidationError
        As for `fft`.
    """
    return _from_half(as_complex(x), n, axis, checked_norm(norm, "irfft"), "irfft")


def hfft(x, n=None, axis=-1, norm=None):
    """Real `fft` of a tensor with Hermitian symmetry, given by its first ``n // 2 + 1`` elements.

    Parameters, result and errors are those of `irfft`.
    """
    norm = ADJOINT[checked_norm(norm, "hfft")]
    return _from_half(OPERATIONS["conj"](as_complex(x)), n, axis, norm, "hfft")


def ihfft(x, n=None, axis=-1, norm=None):
    """Inverse of `hfft`.

    Parameters, result and errors are those of `rfft`.
    """
    return OPERATIONS["conj"](_to_half(x, n, axis, ADJOINT[checked_norm(norm, "ihfft")], "ihfft"))


# ---- several axes ----------------------------------------------------------------------------------------------------

def fftn(x, s=None, axes=None, norm=None):
    """Discrete Fourier transform along several axes.

    Parameters
    ----------
    x : array_like
        Any dtype; float32 is computed in complex64, integers in complex128.
    s : int or sequence of int, optional
        Number of points along each of these axes; `x` is cut or padded with zeros at their ends. -1 is the length of
        `x`.
    axes : int or sequence of int, optional
        All by default, with `s` the last ``len(s)``.
    norm : {"backward", "ortho", "forward"}, optional
        As for `fft`.

    Returns
    -------
    EagerTensor
        Complex.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    ShapeMismatchError
        `s` and `axes` differ in length.
    ValidationError
        There are no points, or another `norm`.
    """
    return _many(x, s, axes, norm, False, "fftn")


def ifftn(x, s=None, axes=None, norm=None):
    """Inverse of `fftn`, with the same parameters, result and errors."""
    return _many(x, s, axes, norm, True, "ifftn")


def fft2(x, s=None, axes=(-2, -1), norm=None):
    """The same as `fftn`, by default along the last two axes."""
    return _many(x, s, axes, norm, False, "fft2")


def ifft2(x, s=None, axes=(-2, -1), norm=None):
    """The same as `ifftn`, by default along the last two axes."""
    return _many(x, s, axes, norm, True, "ifft2")


def _some_axis(axes, op):
    if not axes:
        raise ValidationError(f"{op} needs an axis; name at least one", op=op, argument="axes")


def _real_many(x, s, axes, norm, op):
    x, norm = as_real(x, op), checked_norm(norm, op)
    axes, sizes = axes_and_lengths(x, s, axes, op)
    _some_axis(axes, op)
    y = call("r2c", fitted(x, axes, sizes, op), axis=axes[-1], norm=norm)
    return call("c2c", y, axes=axes[:-1], inverse=False, norm=norm) if axes[1:] else y


def _many_real(x, s, axes, norm, op):
    x, norm = as_complex(x), checked_norm(norm, op)
    axes, sizes = axes_and_lengths(x, s, axes, op)
    _some_axis(axes, op)
    x = fitted(x, axes[:-1], sizes[:-1], op)
    if axes[1:]:
        x = call("c2c", x, axes=axes[:-1], inverse=True, norm=norm)
    return _from_half(x, sizes[-1], axes[-1], norm, op)


def rfftn(x, s=None, axes=None, norm=None):
    """`fftn` of a real tensor, without the coefficients along the last axis that the others determine.

    Parameters and errors are those of `fftn`; complex numbers raise `DTypeMismatchError`.
    """
    return _real_many(x, s, axes, norm, "rfftn")


def irfftn(x, s=None, axes=None, norm=None):
    """Inverse of `rfftn`: real, along the last axis as `irfft`.

    Parameters and errors are those of `fftn`; `s` is the shape of the result.
    """
    return _many_real(x, s, axes, norm, "irfftn")


def rfft2(x, s=None, axes=(-2, -1), norm=None):
    """The same as `rfftn`, by default along the last two axes."""
    return _real_many(x, s, axes, norm, "rfft2")


def irfft2(x, s=None, axes=(-2, -1), norm=None):
    """The same as `irfftn`, by default along the last two axes."""
    return _many_real(x, s, axes, norm, "irfft2")


# ---- frequencies -----------------------------------------------------------------------------------------------------

def fftfreq(n, d=1.0, dtype=None, device=None):
    """Frequencies of the coefficients of `fft`, in cycles per unit of the spacing `d` of the points.

    Parameters
    ----------
    n : int
        Number of points.
    d : float
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
    """
    checked_device(device, "fftfreq")
    return constant(np.fft.fftfreq(length(n, "fftfreq"), d), dtype=dtype)


def rfftfreq(n, d=1.0, dtype=None, device=None):
    """Frequencies of the coefficients of `rfft`; parameters, result and errors are those of `fftfreq`."""
    checked_device(device, "rfftfreq")
    return constant(np.fft.rfftfreq(length(n, "rfftfreq"), d), dtype=dtype)


def _rolled(x, axes, half, op):
    x = tensor(x)
    axes, _ = axes_and_lengths(x, None, axes, op)
    return OPERATIONS["roll"](x, [half(x.shape[k]) for k in axes], axes) if axes else +x


def fftshift(x, axes=None):
    """The coefficient of frequency 0 moved from the start to the middle of axes, by default of all.

    Parameters
    ----------
    x : array_like
        Any dtype.
    axes : int or sequence of int, optional

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    """
    return _rolled(x, axes, lambda n: n // 2, "fftshift")


def ifftshift(x, axes=None):
    """Inverse of `fftshift`, with the same parameters and errors."""
    return _rolled(x, axes, lambda n: -(n // 2), "ifftshift")


install_session_operations({name: globals()[name] for name in __all__ if not name.isupper()})
