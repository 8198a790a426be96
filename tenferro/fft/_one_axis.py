"""Transforms along one axis."""

from ..operations import OPERATIONS
from .arguments import as_complex, as_real, checked_norm, fitted, length, one_axis
from .module import ADJOINT, call


def _one(x, n, axis, norm, inverse, op):
    x, norm = as_complex(x), checked_norm(norm, op)
    axis = one_axis(x, axis, op)
    return call("c2c", fitted(x, (axis,), (n,), op), axes=(axis,), inverse=inverse, norm=norm)


def _to_half(x, n, axis, norm, op):
    x = as_real(x, op)
    axis = one_axis(x, axis, op)
    return call("r2c", fitted(x, (axis,), (n,), op), axis=axis, norm=norm)


def from_half(x, n, axis, norm, op):
    axis = one_axis(x, axis, op)
    n = length(2 * (x.shape[axis] - 1) if n is None else n, op)
    return call("c2r", fitted(x, (axis,), (n // 2 + 1,), op), axis=axis, n=n, norm=norm)


def fft(x, n=None, axis=-1, norm=None):
    """Discrete Fourier transform along one axis: ``sum(x[j] * exp(-2j * pi * j * k / n))`` over j.

    Parameters
    ----------
    x : array_like
        Any dtype; float32 is computed in complex64, integers in complex128.
    n : int, optional
        Number of points; `x` is cut or padded with zeros at the end of the axis.
    axis : int
        The last one by default.
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

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.fft([1.0, 2.0, 3.0, 4.0])
    EagerTensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex128)
    """
    return _one(x, n, axis, norm, False, "fft")


def ifft(x, n=None, axis=-1, norm=None):
    """Inverse of `fft`: ``sum(x[k] * exp(2j * pi * j * k / n)) / n`` over k.

    Parameters
    ----------
    x : array_like
        Any dtype; float32 is computed in complex64, integers in complex128.
    n : int, optional
        Number of points; `x` is cut or padded with zeros at the end of the axis.
    axis : int
        The last one by default.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor 1/n is on this transform (the default), the root of it on both, or it on `fft`.

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

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.ifft([10.0, -2 + 2j, -2.0, -2 - 2j])
    EagerTensor([1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j], dtype=complex128)
    """
    return _one(x, n, axis, norm, True, "ifft")


def rfft(x, n=None, axis=-1, norm=None):
    """The first ``n // 2 + 1`` coefficients of `fft` of a real tensor, which determine the others.

    Parameters
    ----------
    x : array_like
        Real, any dtype; integers are computed in float64.
    n : int, optional
        Number of points; `x` is cut or padded with zeros at the end of the axis.
    axis : int
        The last one by default.
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
    DTypeMismatchError
        `x` is complex.
    ValidationError
        There are no points, or another `norm`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.rfft([1.0, 2.0, 3.0, 4.0])
    EagerTensor([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex128)
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
    axis : int
        The last one by default.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor 1/n is on this transform (the default), the root of it on both, or it on `rfft`.

    Returns
    -------
    EagerTensor
        Real.

    Raises
    ------
    AxisError
        The axis is out of range.
    ValidationError
        There are no points, or another `norm`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.irfft([10.0, -2 + 2j, -2.0])
    EagerTensor([1., 2., 3., 4.], dtype=float64)
    """
    return from_half(as_complex(x), n, axis, checked_norm(norm, "irfft"), "irfft")


def hfft(x, n=None, axis=-1, norm=None):
    """Real `fft` of a tensor with Hermitian symmetry, given by its first ``n // 2 + 1`` elements.

    Parameters
    ----------
    x : array_like
        The first ``n // 2 + 1`` elements, cut or padded to them. The imaginary parts of the first and, for even n,
        of the last one are ignored, with derivative 0.
    n : int, optional
        Number of points of the result; by default ``2 * (m - 1)`` for m elements.
    axis : int
        The last one by default.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor 1/n is on the inverse transform (the default), the root of it on both, or it on this one.

    Returns
    -------
    EagerTensor
        Real.

    Raises
    ------
    AxisError
        The axis is out of range.
    ValidationError
        There are no points, or another `norm`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.hfft([1.0, 2.0, 3.0])
    EagerTensor([ 8., -2.,  0., -2.], dtype=float64)
    """
    norm = ADJOINT[checked_norm(norm, "hfft")]
    return from_half(OPERATIONS["conj"](as_complex(x)), n, axis, norm, "hfft")


def ihfft(x, n=None, axis=-1, norm=None):
    """Inverse of `hfft`: the first ``n // 2 + 1`` elements.

    Parameters
    ----------
    x : array_like
        Real, any dtype; integers are computed in float64.
    n : int, optional
        Number of points; `x` is cut or padded with zeros at the end of the axis.
    axis : int
        The last one by default.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor 1/n is on this transform (the default), the root of it on both, or it on `hfft`.

    Returns
    -------
    EagerTensor
        Complex.

    Raises
    ------
    AxisError
        The axis is out of range.
    DTypeMismatchError
        `x` is complex.
    ValidationError
        There are no points, or another `norm`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.ihfft([12.0, -4.0, 0.0, -4.0])
    EagerTensor([1.-0.j, 3.-0.j, 5.-0.j], dtype=complex128)
    """
    return OPERATIONS["conj"](_to_half(x, n, axis, ADJOINT[checked_norm(norm, "ihfft")], "ihfft"))
