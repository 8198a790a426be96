"""Polar decomposition with derivatives that hold where singular values coincide."""

from typing import NamedTuple

from .._core.eager import EagerTensor
from ..errors import ValidationError
from .common import adj, call, herm, matrix, mm, plus


class PolarResult(NamedTuple):
    """Factor with orthonormal columns or rows, and positive semidefinite factor."""

    U: EagerTensor
    P: EagerTensor


def polar(a, side="right"):
    """Polar decomposition, ``a = U @ P`` or, for ``side="left"``, ``a = P @ U``.

    The derivative solves the Sylvester equation of ``a.H @ a`` (tall matrices) or ``a @ a.H`` (wide ones) for the
    change of `U`; it is exact where singular values coincide, to any order. For matrices that have not full rank, where
    there is none, it is finite.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
    side : {"right", "left"}

    Returns
    -------
    PolarResult
        ``U`` (..., M, N) with orthonormal columns (rows if M < N) and ``P`` (..., N, N), or (..., M, M) on the left.

    Raises
    ------
    LinAlgError
        No convergence.
    ValidationError
        Another side, or elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> u, p = tfr.linalg.polar([[-2.0, 0.0], [0.0, 3.0]])
    >>> p
    EagerTensor([[2., 0.],
                 [0., 3.]], dtype=float64)
    """
    if side not in ("right", "left"):
        raise ValidationError(f"polar: side is 'right' or 'left', not {side!r}", op="polar", argument="side")
    a = matrix(a, "polar")
    wide = a.shape[-2] < a.shape[-1]
    tall = adj(a) if wide else a
    u = call("polar", tall, *call("thin_svd", tall.detach(), op="polar"))
    u = adj(u) if wide else u
    return PolarResult(u, herm(mm(adj(u), a) if side == "right" else mm(a, adj(u))))


# With p = u.H a: u.H du =: x solves p x + x p = u.H da - da.H u, and the part of du outside the columns of u is that of
# da inv(p). The derivative is its own adjoint for the real inner product: u is the gradient of the sum of the singular
# values.


def change(e, u, a, s, vh):
    p, v, inner = herm(mm(adj(u), a)), adj(vh), mm(adj(u), e)
    found = mm(u, call("hermitian_sylvester", p, inner - adj(inner), s, v))
    if a.shape[-2] == a.shape[-1]:
        return found
    return found + call("hermitian_divide", e - mm(u, inner), p, s, v)


def polar_vjp(g, u, a, w, s, vh):
    return change(g, u, a, s, vh), None, None, None


def polar_jvp(tangents, u, a, w, s, vh):
    return None if tangents[0] is None else change(tangents[0], u, a, s, vh)


def hermitian_sylvester_vjp(g, x, p, q, w, v):
    z = call("hermitian_sylvester", p, g, w, v)
    xh = adj(x)
    return -mm(z, xh) - mm(xh, z), z, None, None


def hermitian_sylvester_jvp(tangents, x, p, q, w, v):
    tp, tq = tangents[:2]
    right = plus(tq, None if tp is None else -mm(tp, x) - mm(x, tp))
    return None if right is None else call("hermitian_sylvester", p, right, w, v)


def hermitian_divide_vjp(g, x, b, p, w, v):
    z = call("hermitian_divide", g, p, w, v)
    return z, -mm(adj(x), z), None, None


def hermitian_divide_jvp(tangents, x, b, p, w, v):
    tb, tp = tangents[:2]
    right = plus(tb, None if tp is None else -mm(x, tp))
    return None if right is None else call("hermitian_divide", right, p, w, v)


RULES = {
    "polar": (polar_vjp, polar_jvp),
    "hermitian_sylvester": (hermitian_sylvester_vjp, hermitian_sylvester_jvp),
    "hermitian_divide": (hermitian_divide_vjp, hermitian_divide_jvp),
}
