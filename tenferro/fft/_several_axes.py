"""Transforms along several axes."""

from ..errors import ValidationError
from ._one_axis import from_half
from .arguments import as_complex, as_real, axes_and_lengths, checked_norm, fitted
from .module import call


def _many(x, s, axes, norm, inverse, op):
    x, norm = as_complex(x), checked_norm(norm, op)
    axes, sizes = axes_and_lengths(x, s, axes, op)
    x = fitted(x, axes, sizes, op)
    return call("c2c", x, axes=axes, inverse=inverse, norm=norm) if axes else +x


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
        Whether the factor 1/n, n the product of the numbers of points, is on the inverse transform (the default), the root
        of it on both, or it on this one.

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

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.fftn([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor([[10.+0.j, -2.+0.j],
                 [-4.+0.j,  0.+0.j]], dtype=complex128)
    """
    return _many(x, s, axes, norm, False, "fftn")


def ifftn(x, s=None, axes=None, norm=None):
    """Inverse of `fftn`.

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
        Whether the factor 1/n, n the product of the numbers of points, is on this transform (the default), the root of it on
        both, or it on `fftn`.

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

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.ifftn([[10.0, -2.0], [-4.0, 0.0]])
    EagerTensor([[1.+0.j, 2.+0.j],
                 [3.+0.j, 4.+0.j]], dtype=complex128)
    """
    return _many(x, s, axes, norm, True, "ifftn")


def fft2(x, s=None, axes=(-2, -1), norm=None):
    """Discrete Fourier transform along two axes.

    Parameters
    ----------
    x : array_like
        Any dtype; float32 is computed in complex64, integers in complex128.
    s : int or sequence of int, optional
        Number of points along each of these axes; `x` is cut or padded with zeros at their ends. -1 is the length of
        `x`.
    axes : int or sequence of int, optional
        The last two by default.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor 1/n, n the product of the numbers of points, is on the inverse transform (the default), the root
        of it on both, or it on this one.

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

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.fft2([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor([[10.+0.j, -2.+0.j],
                 [-4.+0.j,  0.+0.j]], dtype=complex128)
    """
    return _many(x, s, axes, norm, False, "fft2")


def ifft2(x, s=None, axes=(-2, -1), norm=None):
    """Inverse of `fft2`.

    Parameters
    ----------
    x : array_like
        Any dtype; float32 is computed in complex64, integers in complex128.
    s : int or sequence of int, optional
        Number of points along each of these axes; `x` is cut or padded with zeros at their ends. -1 is the length of
        `x`.
    axes : int or sequence of int, optional
        The last two by default.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor 1/n, n the product of the numbers of points, is on this transform (the default), the root of it on
        both, or it on `fft2`.

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

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.ifft2([[10.0, -2.0], [-4.0, 0.0]])
    EagerTensor([[1.+0.j, 2.+0.j],
                 [3.+0.j, 4.+0.j]], dtype=complex128)
    """
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
    return from_half(x, sizes[-1], axes[-1], norm, op)


def rfftn(x, s=None, axes=None, norm=None):
    """`fftn` of a real tensor, without the coefficients along the last axis that the others determine.

    Parameters
    ----------
    x : array_like
        Real, any dtype; integers are computed in float64.
    s : int or sequence of int, optional
        Number of points along each of these axes; `x` is cut or padded with zeros at their ends. -1 is the length of
        `x`.
    axes : int or sequence of int, optional
        All by default, with `s` the last ``len(s)``.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor 1/n, n the product of the numbers of points, is on the inverse transform (the default), the root
        of it on both, or it on this one.

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
    DTypeMismatchError
        `x` is complex.
    ValidationError
        There are no points, no axes or another `norm`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.rfftn([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor([[10.+0.j, -2.+0.j],
                 [-4.+0.j,  0.+0.j]], dtype=complex128)
    """
    return _real_many(x, s, axes, norm, "rfftn")


def irfftn(x, s=None, axes=None, norm=None):
    """Inverse of `rfftn`.

    Parameters
    ----------
    x : array_like
        The coefficients; along the last axis the first ``n // 2 + 1``, as for `irfft`.
    s : int or sequence of int, optional
        Number of points of the result along each of these axes; by default those of `x`, and ``2 * (m - 1)`` for m
        coefficients along the last axis.
    axes : int or sequence of int, optional
        All by default, with `s` the last ``len(s)``.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor 1/n, n the product of the numbers of points, is on this transform (the default), the root of it on
        both, or it on `rfftn`.

    Returns
    -------
    EagerTensor
        Real.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    ShapeMismatchError
        `s` and `axes` differ in length.
    ValidationError
        There are no points, no axes or another `norm`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.irfftn([[10.0, -2.0], [-4.0, 0.0]])
    EagerTensor([[1., 2.],
                 [3., 4.]], dtype=float64)
    """
    return _many_real(x, s, axes, norm, "irfftn")


def rfft2(x, s=None, axes=(-2, -1), norm=None):
    """`fft2` of a real tensor, without the coefficients along the last axis that the others determine.

    Parameters
    ----------
    x : array_like
        Real, any dtype; integers are computed in float64.
    s : int or sequence of int, optional
        Number of points along each of these axes; `x` is cut or padded with zeros at their ends. -1 is the length of
        `x`.
    axes : int or sequence of int, optional
        The last two by default.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor 1/n, n the product of the numbers of points, is on the inverse transform (the default), the root
        of it on both, or it on this one.

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
    DTypeMismatchError
        `x` is complex.
    ValidationError
        There are no points, no axes or another `norm`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.rfft2([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor([[10.+0.j, -2.+0.j],
                 [-4.+0.j,  0.+0.j]], dtype=complex128)
    """
    return _real_many(x, s, axes, norm, "rfft2")


def irfft2(x, s=None, axes=(-2, -1), norm=None):
    """Inverse of `rfft2`.

    Parameters
    ----------
    x : array_like
        The coefficients; along the last axis the first ``n // 2 + 1``, as for `irfft`.
    s : int or sequence of int, optional
        Number of points of the result along each of these axes; by default those of `x`, and ``2 * (m - 1)`` for m
        coefficients along the last axis.
    axes : int or sequence of int, optional
        The last two by default.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor 1/n, n the product of the numbers of points, is on this transform (the default), the root of it on
        both, or it on `rfft2`.

    Returns
    -------
    EagerTensor
        Real.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    ShapeMismatchError
        `s` and `axes` differ in length.
    ValidationError
        There are no points, no axes or another `norm`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.irfft2([[10.0, -2.0], [-4.0, 0.0]])
    EagerTensor([[1., 2.],
                 [3., 4.]], dtype=float64)
    """
    return _many_real(x, s, axes, norm, "irfft2")
