"""Everyday names of NumPy beyond the array API standard, which programs for any library look up."""

import numpy as np

from .._core.eager import EagerTensor
from .._creation import asarray
from .._ops.assembly import embed_diag
from .._ops.views import diagonal
from ..errors import ShapeMismatchError, ValidationError
from .host import on_host

__all__ = ["allclose", "copy", "diag", "isclose"]


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements of two arrays agree within tolerances, ``abs(a - b) <= atol + rtol * abs(b)``.

    Parameters
    ----------
    a, b : array_like
        They broadcast.
    rtol, atol : float
        Relative and absolute tolerance.
    equal_nan : bool
        Whether NaN equals NaN.

    Returns
    -------
    bool
        Of Python, as from `numpy.allclose`.

    Raises
    ------
    ShapeMismatchError
        The shapes do not broadcast.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.allclose(tfr.constant([1.0, 2.0]), [1.0, 2.0 + 1e-12])
    True
    """
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan).numpy()))


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Which elements of two arrays agree within tolerances, ``abs(a - b) <= atol + rtol * abs(b)``.

    Parameters
    ----------
    a, b : array_like
        They broadcast.
    rtol, atol : float
        Relative and absolute tolerance.
    equal_nan : bool
        Whether NaN equals NaN.

    Returns
    -------
    EagerTensor
        A constant of bools.

    Raises
    ------
    ShapeMismatchError
        The shapes do not broadcast.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.isclose(tfr.constant([1.0, 2.0]), [1.0, 2.1]).tolist()
    [True, False]
    """
    return on_host("isclose", lambda x, y: np.isclose(*_together(x, y), rtol, atol, equal_nan), a, b)


def _together(x, y):
    """Operands that broadcast."""
    try:
        return np.broadcast_arrays(x, y)
    except ValueError:
        raise ShapeMismatchError(f"isclose: shapes {np.shape(x)}, {np.shape(y)} cannot be broadcast; align their axes with "
                                 "reshape or expand_dims", op="isclose", argument="b", expected=np.shape(x),
                                 actual=np.shape(y)) from None


def copy(a):
    """The same values in another tensor, tracked if `a` is.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    EagerTensor

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.copy([1.0, 2.0]).shape
    (2,)
    """
    return asarray(a, copy=True)


def diag(v, k=0):
    """The diagonal of a matrix, or the matrix with a vector on its diagonal, as `numpy.diag`.

    Parameters
    ----------
    v : array_like
        One or two axes.
    k : int
        0 is the main diagonal, positive ones lie to the right of it.

    Returns
    -------
    EagerTensor
        For a vector of length n a square matrix with ``n + abs(k)`` rows.

    Raises
    ------
    ValidationError
        `v` has no axis, or more than two.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.diag(tfr.diag(tfr.constant([1.0, 2.0]), 1), 1).tolist()
    [1.0, 2.0]
    """
    ndim = np.ndim(v) if not isinstance(v, EagerTensor) else v.ndim
    if ndim not in (1, 2):
        raise ValidationError(f"diag: v has {ndim} axes; use diagonal() for stacks of matrices", op="diag", argument="v")
    return embed_diag(v, offset=k) if ndim == 1 else diagonal(v, offset=k)
