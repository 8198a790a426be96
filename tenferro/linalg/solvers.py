"""Linear systems, inverses and determinants."""

from typing import NamedTuple

import numpy as np

import tenferro as tfr

from .._core.eager import EagerTensor
from ..errors import ShapeMismatchError, ValidationError
from . import _checks
from .common import call, constant_in, matrix, value
from .solving import factored


class SlogdetResult(NamedTuple):
    """Sign (or phase) and logarithm of the absolute value of determinants."""

    sign: EagerTensor
    logabsdet: EagerTensor


class LstsqResult(NamedTuple):
    """Solution, sums of squared residuals, ranks and singular values."""

    solution: EagerTensor
    residuals: EagerTensor
    rank: EagerTensor
    singular_values: EagerTensor


def system(a, b, op, square=True):
    """Matrices and right-hand sides of one dtype; whether b is one vector."""
    a, b = matrix(a, op, square=square, like=b), matrix(b, op, "b", 1, like=a)
    vector = b.ndim == 1
    if vector:
        b = tfr.expand_dims(b, -1)
    if a.shape[-2] != b.shape[-2]:
        raise ShapeMismatchError(f"{op}: a has {a.shape[-2]} rows, but b has {b.shape[-2]}", op=op, argument="b",
                                 expected=a.shape[-2], actual=b.shape[-2])
    batch_shape(op, a, b)
    dtype = a.dtype if a.dtype == b.dtype else np.result_type(a.dtype, b.dtype)
    return with_dtype(a, dtype), with_dtype(b, dtype), vector


def finite(op, b):
    """Right-hand sides are checked here, and not again when derivatives are solved for."""
    _checks.finite(op, "b", value(b))


def batch_shape(op, a, b):
    """The axes before the matrices, broadcast."""
    if a.shape[:-2] == b.shape[:-2]:
        return a.shape[:-2]
    try:
        return np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeMismatchError(f"{op}: the stacks {a.shape[:-2]} of a and {b.shape[:-2]} of b do not broadcast",
                                 op=op, argument="b", expected=a.shape[:-2], actual=b.shape[:-2]) from None


def with_dtype(x, dtype):
    return x if x.dtype == dtype else tfr.cast(x, dtype)


def solve(a, b):
    """Solution x of ``a @ x = b``.

    The factors of `a` are kept for the derivative, which needs no other factorisation.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
    b : array_like, shape (N,) or (..., N, K)
        One vector, or a stack of matrices, as in NumPy 2.

    Returns
    -------
    EagerTensor, shape (..., N) or (..., N, K)

    Raises
    ------
    LinAlgError
        A matrix is exactly singular.
    ValidationError
        Shapes that do not fit, or elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 12.0])
    EagerTensor([1., 3.], dtype=float64)
    """
    a, b, vector = system(a, b, "solve")
    finite("solve", b)
    x = call("lu_solve", a, b, *factored(a, "solve"), adjoint=False)
    return tfr.squeeze(x, -1) if vector else x


def triangular_solve(a, b, *, lower=False, trans="N", unit_diagonal=False):
    """Solution of a triangular system; the other triangle of `a` is not read.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
    b : array_like, shape (N,) or (..., N, K)
    lower : bool
    trans : {0, 1, 2, "N", "T", "C"}
        Solve with `a`, its transpose, or its adjoint.
    unit_diagonal : bool
        Take the diagonal as ones, and do not read it.

    Returns
    -------
    EagerTensor, shape (..., N) or (..., N, K)

    Raises
    ------
    LinAlgError
        A diagonal element is zero.
    ValidationError
        Shapes that do not fit, an unknown `trans`, or elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.triangular_solve([[2.0, 0.0], [1.0, 4.0]], [2.0, 9.0], lower=True)
    EagerTensor([1., 2.], dtype=float64)
    """
    a, b, vector = system(a, b, "triangular_solve")
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValidationError(f"triangular_solve: trans is 0, 1, 2, 'N', 'T' or 'C', not {trans!r}",
                              op="triangular_solve", argument="trans")
    if trans in (1, "T"):
        a, trans = tfr.conj(a), "C"
    batch = batch_shape("triangular_solve", a, b)
    a, b = (x if x.shape[:-2] == batch else tfr.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    x = call("triangular_solve", a, b, lower=bool(lower), trans="N" if trans in (0, "N") else "C",
             unit=bool(unit_diagonal))
    return tfr.squeeze(x, -1) if vector else x


def inv(a):
    """Inverse matrices.

    Parameters
    ----------
    a : array_like, shape (..., N, N)

    Returns
    -------
    EagerTensor, shape (..., N, N)

    Raises
    ------
    LinAlgError
        A matrix is exactly singular.
    ValidationError
        Not square, or not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
    EagerTensor([[ 0.5 ,  0.  ],
                 [-0.  ,  0.25]], dtype=float64)
    """
    return call("inv", matrix(a, "inv", square=True))


def det(a):
    """Determinants. Derivatives of (nearly) singular matrices exist to third order, of others to any.

    Parameters
    ----------
    a : array_like, shape (..., N, N)

    Returns
    -------
    EagerTensor, shape (...)

    Raises
    ------
    ValidationError
        Not square, or not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.det([[2.0, 1.0], [0.0, 3.0]])
    EagerTensor(6., dtype=float64)
    """
    a = matrix(a, "det", square=True)
    return call("det", a, *factored(a, "det", False))


def slogdet(a):
    """Sign (for complex matrices, phase) and logarithm of the absolute value of determinants.

    Parameters
    ----------
    a : array_like, shape (..., N, N)

    Returns
    -------
    SlogdetResult
        ``sign`` and ``logabsdet``, shape (...); 0 and -inf for a singular matrix.

    Raises
    ------
    LinAlgError
        When a singular matrix is differentiated.
    ValidationError
        Not square, or not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> sign, logarithm = tfr.linalg.slogdet([[-1.0, 0.0], [0.0, 1.0]])
    >>> sign, logarithm
    (EagerTensor(-1., dtype=float64), EagerTensor(0., dtype=float64))
    """
    a = matrix(a, "slogdet", square=True)
    return SlogdetResult(*call("slogdet", a, *factored(a, "slogdet", False)))


def lstsq(a, b, rcond=None):
    """Least-squares solution of smallest norm, by the singular value decomposition; also for stacks.

    The factors are kept for the derivative, which needs no other decomposition. It is that for constant rank.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
    b : array_like, shape (M,) or (..., M, K)
    rcond : float, optional
        Singular values below it, relative to the largest, are zero; by default ``max(M, N)`` times the precision.

    Returns
    -------
    LstsqResult
        ``solution``; ``residuals``, empty unless every matrix has full column rank and M > N; ``rank`` and
        ``singular_values``, which are constants.

    Raises
    ------
    ValidationError
        Shapes that do not fit, or elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> solution, residuals, rank, singular_values = tfr.linalg.lstsq([[1.0], [1.0]], [1.0, 3.0])
    >>> tfr.round(solution, 6)
    EagerTensor([2.], dtype=float64)
    """
    from .functions import relative_tolerance
    from .least_squares import factors

    a, b, vector = system(a, b, "lstsq", square=False)
    finite("lstsq", b)
    m, n = a.shape[-2:]
    rank, s, kept = factors(a, relative_tolerance(a, rcond))
    x = call("lstsq_solve", a, b, *kept)
    if m > n and (rank == n).all():
        residuals = tfr.sum(tfr.real((r := b - tfr.matmul(a, x)) * tfr.conj(r)), axis=-2)
    else:
        residuals = tfr.zeros((0,), s.dtype)
    rank = constant_in(a.runtime, np.asarray(rank))
    return LstsqResult(tfr.squeeze(x, -1) if vector else x, residuals, rank, s)
