"""Low-rank approximation and the randomised singular value decomposition."""

from operator import index
from typing import NamedTuple

import numpy as np

from .._core.eager import EagerTensor
from ..errors import LinAlgError, UnsupportedAdRuleError, ValidationError
from .common import adj, call, constant_in, matrix, mm, plus, value
from .decompositions import SVDResult, qr, svd
from .solvers import solve


class LowRankResult(NamedTuple):
    """Factors whose product is the approximation."""

    left: EagerTensor
    right: EagerTensor


def count(op, name, n, least, most=None):
    """An integer parameter within bounds."""
    try:
        n = index(n)
    except TypeError:
        raise ValidationError(f"{op}: {name} is an integer, not {n!r}", op=op, argument=name) from None
    if n < least or (most is not None and n > most):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValidationError(f"{op}: {name} is {n}; it has to be {bounds}", op=op, argument=name)
    return n


def kept_values(s, k, tol):
    """Which singular values are kept."""
    if tol is None:
        return np.broadcast_to(np.arange(s.shape[-1]) < k, s.shape)
    return s > tol * s.max(-1, keepdims=True, initial=0)


def low_rank(a, k=None, tol=None, *, factors=False):
    """Best approximation of lower rank, ``U[:, :k] @ diag(S[:k]) @ Vh[:k]`` of the singular value decomposition.

    The derivative has only differences between kept and dropped singular values, not among either: it is exact to
    second order wherever the last kept value is larger than the first dropped one, and finite elsewhere. What `tol`
    keeps is a constant. Third derivatives raise.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
    k : int, optional
        Rank, from 0 to min(M, N).
    tol : float, optional
        Instead of `k`: singular values above `tol` times the largest are kept, for each matrix of its own.
    factors : bool
        Return two factors, of shapes (..., M, k) and (..., k, N), for one k for all matrices. Whatever they are
        multiplied to is differentiated exactly; the first is the approximation times constant right vectors.

    Returns
    -------
    EagerTensor, shape (..., M, N), or LowRankResult

    Raises
    ------
    LinAlgError
        No convergence; factors of a rank that a matrix does not have.
    UnsupportedAdRuleError
        A third derivative is asked for.
    ValidationError
        Not one of `k` and `tol`, `k` out of range, negative `tol`, different ranks with `factors`, or elements that
        are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.round(tfr.linalg.low_rank([[3.0, 0.0], [0.0, 1.0]], k=1), 6)
    EagerTensor([[3., 0.],
                 [0., 0.]], dtype=float64)
    """
    a = matrix(a, "low_rank")
    if (k is None) == (tol is None):
        raise ValidationError("low_rank: give one of k and tol", op="low_rank", argument="k" if k is None else "tol")
    if k is not None:
        k = count("low_rank", "k", k, 0, min(a.shape[-2:]))
    elif not 0 <= tol < np.inf:
        raise ValidationError(f"low_rank: tol is {tol!r}; it has to be a number that is not negative", op="low_rank",
                              argument="tol")
    u, s, vh = call("thin_svd", a.detach(), op="low_rank")
    kept = kept_values(value(s), k, tol)
    x = call("low_rank", a, u, s, vh, kept)
    return factored(x, u, vh, kept, k) if factors else x


def factored(x, u, vh, kept, k):
    """x = (x r) inv(l.H x r) (l.H x) for the singular vectors l and r, kept constant, to any order."""
    ranks = kept.sum(-1)
    k = int(ranks.max(initial=0)) if k is None else k
    if (ranks != k).any():
        raise ValidationError("low_rank: tol keeps different ranks in the stack; factors need one, so use k",
                              op="low_rank", argument="tol")
    left = mm(x, adj(vh[..., :k, :]))
    lower = adj(u[..., :k])
    try:
        return LowRankResult(left, solve(mm(lower, left), mm(lower, x)))
    except LinAlgError as error:
        raise LinAlgError(f"low_rank: a matrix has a rank below {k}, so that there are no factors of that rank",
                          op="low_rank") from error


# The approximation is the gradient of half the sum of squares of the kept values: its derivatives are symmetric in all
# directions, for the real inner product, and each is its own adjoint.


def low_rank_vjp(g, x, a, *factors):
    return call("low_rank_change", a, g, *factors), *[None] * len(factors)


def low_rank_jvp(tangents, x, a, *factors):
    return None if tangents[0] is None else call("low_rank_change", a, tangents[0], *factors)


def low_rank_change_vjp(g, out, a, e, *factors):
    kept = factors[-1]
    return (call("low_rank_second", a, e, g, kept), call("low_rank_change", a, g, *factors),
            *[None] * len(factors))


def low_rank_change_jvp(tangents, out, a, e, *factors):
    ta, te = tangents[:2]
    found = None if ta is None else call("low_rank_second", a, e, ta, factors[-1])
    return plus(found, None if te is None else call("low_rank_change", a, te, *factors))


def third(transform):
    def rule(*args, **params):
        raise UnsupportedAdRuleError("low_rank: derivatives beyond the second are not supported", op="low_rank",
                                     transform=transform)
    return rule


def rsvd(a, k, *, oversampling=10, power_iterations=2, seed=0):
    """Largest singular values and their vectors by random sampling (Halko, Martinsson and Tropp, 2011).

    What is differentiated is the computation: samples of the range, power iterations, and a small decomposition, for
    random numbers that are constants. Its derivative tends to that of the truncated decomposition with the number of
    power iterations, one behind the values; without any, it does not. For a matrix of rank R with
    ``k <= R <= k + oversampling`` it is exact, if there is a power iteration. (`low_rank` has the derivative of the
    truncated decomposition.)
    Vectors are determined up to phases: a loss that depends on these has no derivative.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
    k : int
        How many, from 1 to min(M, N).
    oversampling : int
        More samples than `k`.
    power_iterations : int
        Products with ``a @ a.H``; more are needed the slower the values decay.
    seed : int or numpy.random.Generator
        Source of random numbers; the result is the same for the same integer.

    Returns
    -------
    SVDResult
        ``U`` (..., M, k), ``S`` (..., k) and ``Vh`` (..., k, N).

    Raises
    ------
    LinAlgError
        No convergence.
    ValidationError
        A parameter is out of range, or elements are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> u, s, vh = tfr.linalg.rsvd([[3.0, 0.0], [0.0, 1.0]], 1)
    >>> tfr.round(s, 6)
    EagerTensor([3.], dtype=float64)
    """
    a = matrix(a, "rsvd")
    most = min(a.shape[-2:])
    k = count("rsvd", "k", k, 1, most)
    samples = min(k + count("rsvd", "oversampling", oversampling, 0), most)
    power_iterations = count("rsvd", "power_iterations", power_iterations, 0)
    omega = random_matrix(np.random.default_rng(seed), (a.shape[-1], samples), a.dtype)
    # Without samples beyond the rank, which have no derivative.
    omega = omega[:, :max(k, call("sketch_rank", a.detach(), omega).item())]
    q, ah = qr(mm(a, constant_in(a.runtime, omega))).Q, adj(a)
    for _ in range(power_iterations):
        q = qr(mm(a, qr(mm(ah, q)).Q)).Q
    u, s, vh = svd(mm(adj(q), a), full_matrices=False)
    return SVDResult(mm(q, u[..., :k]), s[..., :k], vh[..., :k, :])


def random_matrix(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return np.asarray(x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x, dtype)


RULES = {
    "low_rank": (low_rank_vjp, low_rank_jvp),
    "low_rank_change": (low_rank_change_vjp, low_rank_change_jvp),
    "low_rank_second": (third("vjp"), third("jvp")),
}
