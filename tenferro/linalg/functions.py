"""Pseudo-inverse, rank, powers, exponential, norms."""

from operator import index

import numpy as np

import tenferro as tfr

from .._core.eager import EagerTensor
from .._files import on_host
from ..errors import AxisError, ShapeMismatchError, ValidationError
from .common import call, constant_in, eps, matrix, value
from .decompositions import singular_values


def relative_tolerance(a, rtol):
    return max(a.shape[-2:]) * eps(a) if rtol is None else rtol


def _beside(tolerance):
    """A tolerance, or one for each matrix of a stack, to go with the singular values."""
    tolerance = on_host(tolerance)
    return tolerance[..., None] if tolerance.ndim else tolerance


def pinv(a, rcond=None, hermitian=False, *, rtol=None):
    """Moore-Penrose pseudo-inverse. The derivative is that for constant rank.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
    rcond : float, optional
        Singular values below it, relative to the largest, are zero; by default ``max(M, N)`` times the precision.
    hermitian : bool
        Without effect: all matrices are taken as general ones.
    rtol : float, optional
        The standard's name of `rcond`.

    Returns
    -------
    EagerTensor, shape (..., N, M)

    Raises
    ------
    LinAlgError
        No convergence.
    ValidationError
        Elements that are not finite, or both `rcond` and `rtol`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.pinv([[2.0, 0.0], [0.0, 0.0]])
    EagerTensor([[0.5, 0. ],
                 [0. , 0. ]], dtype=float64)
    """
    a = matrix(a, "pinv")
    if rcond is not None and rtol is not None:
        raise ValidationError("pinv: rcond and rtol are names of one tolerance; give one of them", op="pinv",
                              argument="rtol")
    tolerance = relative_tolerance(a, rtol if rcond is None else rcond)
    return call("pinv", a, rcond=on_host(tolerance) if isinstance(tolerance, EagerTensor) else tolerance)


def matrix_rank(a, tol=None, hermitian=False, *, rtol=None):
    """Number of singular values above a tolerance: a constant.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
    tol : float or array_like, optional
        Absolute tolerance, instead of `rtol`; an array has one for each matrix of a stack.
    hermitian : bool
        Without effect: all matrices are taken as general ones.
    rtol : float or array_like, optional
        Tolerance relative to the largest singular value; by default ``max(M, N)`` times the precision.

    Returns
    -------
    EagerTensor of int64, shape (...)

    Raises
    ------
    ValidationError
        Elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]])
    EagerTensor(1, dtype=int64)
    """
    a = matrix(a, "matrix_rank")
    s = value(call("svdvals", a.detach(), op="matrix_rank"))
    bound = _beside(tol) if tol is not None else s.max(-1, keepdims=True, initial=0) * _beside(relative_tolerance(a, rtol))
    return constant_in(a.runtime, np.asarray((s > bound).sum(-1), np.int64))


def matrix_power(a, n):
    """Integer power of square matrices, by repeated squaring; of the inverse for negative n.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
    n : int

    Returns
    -------
    EagerTensor, shape (..., N, N)

    Raises
    ------
    LinAlgError
        A negative power of a singular matrix.
    ValidationError
        Not square.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.matrix_power([[1.0, 1.0], [0.0, 1.0]], 3)
    EagerTensor([[1., 3.],
                 [0., 1.]], dtype=float64)
    """
    a = matrix(a, "matrix_power", square=True)
    try:
        n = index(n)
    except TypeError:
        raise TypeError(f"matrix_power: n is an integer, not {n!r}; use funm_hermitian or sqrtm for roots") from None
    if n == 0:
        return tfr.broadcast_to(tfr.eye(a.shape[-1], dtype=a.dtype), a.shape)
    if n < 0:
        a, n = call("inv", a, op="matrix_power"), -n
    result = None
    while n:
        if n & 1:
            result = a if result is None else tfr.matmul(result, a)
        n >>= 1
        if n:
            a = tfr.matmul(a, a)
    return result


def expm(a):
    """Matrix exponential. Its derivatives are blocks of the exponential of a block matrix (Van Loan, 1978).

    Parameters
    ----------
    a : array_like, shape (..., N, N)

    Returns
    -------
    EagerTensor, shape (..., N, N)

    Raises
    ------
    ValidationError
        Not square, or not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.expm([[0.0, 1.0], [0.0, 0.0]])
    EagerTensor([[1., 1.],
                 [0., 1.]], dtype=float64)
    """
    return call("expm", matrix(a, "expm", square=True))


def euclidean(x, axis, keepdims):
    """Root of the sum of squares without overflow; its derivative at zero is zero."""
    size = np.abs(value(x)).max(axis=axis, keepdims=True, initial=0)
    size = np.where((size == 0) | ~np.isfinite(size), size.dtype.type(1), size)
    x = x / size
    total = tfr.sum(tfr.real(x * tfr.conj(x)), axis=axis, keepdims=keepdims)
    zero = value(total) == 0
    root = tfr.where(zero, 0, tfr.sqrt(tfr.where(zero, 1, total)))
    return root * (size if keepdims else size.reshape(root.shape))


def power_norm(x, p, axis, keepdims):
    """Root of a sum of powers, relative to the largest (for negative p, smallest) element."""
    x = tfr.abs(x)
    found = value(x)
    size = found.max(axis=axis, keepdims=True, initial=0) if p > 0 else found.min(axis=axis, keepdims=True)
    size = np.where((size == 0) | ~np.isfinite(size), size.dtype.type(1), size)
    total = tfr.sum((x / size) ** p, axis=axis, keepdims=keepdims)
    zero = value(total) == 0
    root = tfr.where(zero, 0, tfr.where(zero, 1, total) ** (1 / p))
    return root * (size if keepdims else size.reshape(root.shape))


def vector_norm(x, *, axis=None, keepdims=False, ord=2):
    """Norm of vectors: ``sum(abs(x)**ord)**(1/ord)``, the largest (smallest) element for ``ord=inf`` (``-inf``).

    Parameters
    ----------
    x : array_like
    axis : None, int or tuple of int
        Axes of a vector; all by default.
    keepdims : bool
    ord : float

    Returns
    -------
    EagerTensor

    Raises
    ------
    ValidationError
        `ord` is no number.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.vector_norm([3.0, -4.0], ord=1)
    EagerTensor(7., dtype=float64)
    """
    x = matrix(x, "vector_norm", "x", 0)
    return norm_of_vectors(x, known_axes("vector_norm", x, axis), keepdims, ord, "vector_norm")


def known_axes(op, x, axis):
    """Axes counted from the start; all for None."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = tuple(index(k) for k in (axis if np.iterable(axis) else (axis,)))
    for k in axes:
        if not -x.ndim <= k < x.ndim:
            raise AxisError(f"{op}: axis {k} is out of range for a tensor with {x.ndim} axes", op=op, argument="axis",
                            expected=f"-{x.ndim} <= axis < {x.ndim}", actual=k)
    axes = tuple(k % x.ndim for k in axes)
    if len(set(axes)) < len(axes):
        raise AxisError(f"{op}: axis={axis} names an axis twice", op=op, argument="axis")
    return axes


def norm_of_vectors(x, axis, keepdims, ord, op):
    if isinstance(ord, str):
        raise ValidationError(f"{op}: ord={ord!r} is not a norm of vectors; use a number", op=op, argument="ord")
    if ord == 2:
        return euclidean(x, axis, keepdims)
    if ord == np.inf:
        return tfr.max(tfr.abs(x), axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return tfr.min(tfr.abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return tfr.cast(tfr.count_nonzero(x, axis=axis, keepdims=keepdims), value(x).real.dtype)
    if ord == 1:
        return tfr.sum(tfr.abs(x), axis=axis, keepdims=keepdims)
    return power_norm(x, ord, axis, keepdims)


def matrix_norm(x, *, keepdims=False, ord="fro"):
    """Norm of the matrices in the last two axes.

    Parameters
    ----------
    x : array_like, shape (..., M, N)
    keepdims : bool
    ord : {"fro", "nuc", 1, -1, 2, -2, inf, -inf}
        Frobenius, sum of singular values, largest or smallest column sum, singular value, row sum.

    Returns
    -------
    EagerTensor, shape (...)

    Raises
    ------
    ValidationError
        Another `ord`, or elements that are not finite where singular values are needed.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]])
    EagerTensor(5., dtype=float64)
    """
    return norm_of_matrices(matrix(x, "matrix_norm", "x"), keepdims, ord, "matrix_norm")


def norm_of_matrices(x, keepdims, ord, op):
    if ord in ("fro", None):
        return euclidean(x, (-2, -1), keepdims)
    if ord not in ("nuc", 1, -1, 2, -2, np.inf, -np.inf):
        raise ValidationError(f"{op}: ord={ord!r} is not a norm of matrices; use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf",
                              op=op, argument="ord")
    if ord in ("nuc", 2, -2):
        s = singular_values(x, op)
        found = tfr.sum(s, axis=-1) if ord == "nuc" else s[..., 0 if ord == 2 else -1]
    else:
        sums = tfr.sum(tfr.abs(x), axis=-2 if abs(ord) == 1 else -1)
        found = (tfr.max if ord > 0 else tfr.min)(sums, axis=-1)
    return tfr.expand_dims(found, (-2, -1)) if keepdims else found


def norm(x, ord=None, axis=None, keepdims=False):
    """Norm of vectors or matrices, as ``numpy.linalg.norm``.

    Parameters
    ----------
    x : array_like
    ord : None, number, "fro" or "nuc"
        None is the 2-norm of all elements.
    axis : None, int or pair of int
        One axis for vectors, two for matrices; by default those that a vector or matrix has.
    keepdims : bool

    Returns
    -------
    EagerTensor

    Raises
    ------
    ValidationError
        `ord` and `axis` do not fit.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.norm([3.0, 4.0])
    EagerTensor(5., dtype=float64)
    """
    x = matrix(x, "norm", "x", 0)
    if axis is None and ord is None:
        return euclidean(x, tuple(range(x.ndim)), keepdims)
    axes = known_axes("norm", x, axis)
    if len(axes) == 1:
        return norm_of_vectors(x, axes, keepdims, 2 if ord is None else ord, "norm")
    if len(axes) != 2:
        raise ShapeMismatchError(f"norm: {len(axes)} axes; a vector has one and a matrix two", op="norm",
                                 argument="axis", expected=2, actual=len(axes))
    found = norm_of_matrices(tfr.moveaxis(x, axes, (-2, -1)), False, "fro" if ord is None else ord, "norm")
    return tfr.expand_dims(found, axes) if keepdims else found
