"""Rules of solutions, inverses, determinants and the Cholesky factor.

Factors (`lu`, `piv`) are constant inputs of an operation, given to its rules as residuals: only the matrix is
differentiated.
"""

import numpy as np

import tenferro as tfr

from ..errors import LinAlgError
from .common import adj, call, diag, diag_matrix, eps, eye, herm, mm, plus, scalar, value


def lu_solve(a, b, lu, piv, adjoint=False):
    return call("lu_solve", a, b, lu, piv, adjoint=adjoint)


def lu_solve_vjp(g, x, a, b, lu, piv, adjoint):
    w = lu_solve(a, g, lu, piv, not adjoint)
    ga = mm(x, adj(w)) if adjoint else mm(w, adj(x))
    return -ga, w, None, None


def lu_solve_jvp(tangents, x, a, b, lu, piv, adjoint):
    ta, tb = tangents[:2]
    if ta is not None:
        tb = plus(tb, -mm(adj(ta) if adjoint else ta, x))
    return None if tb is None else lu_solve(a, tb, lu, piv, adjoint)


def inv_vjp(g, y, a, op=None):
    yh = adj(y)
    return -mm(yh, g, yh)


def inv_jvp(tangents, y, a, op=None):
    return -mm(y, tangents[0], y)


def factored(a, op="solve", check=True):
    return call("lu_factor", a.detach(), op=op, check=check)


def inverse_adjoint(a, lu, piv):
    return lu_solve(a, eye(a.shape[-1], a.dtype), lu, piv, True)


def nearly_singular(lu, power=0.5):
    """Whether a factor's pivots are so unequal, or none, that the inverse is of no use."""
    pivots = np.abs(np.diagonal(value(lu), axis1=-2, axis2=-1))
    least = pivots.max(-1, initial=0) * eps(lu) ** power
    return (pivots <= least[..., None]).any()


def cofactors(d, a, lu, piv):
    """conj(d) * inv(a).H, which is finite for a singular matrix."""
    if nearly_singular(lu) or not np.isfinite(value(d)).all():
        return call("cofactor", a)
    return scalar(tfr.conj(d)) * inverse_adjoint(a, lu, piv)


def det_vjp(g, d, a, lu, piv):
    return scalar(g) * cofactors(d, a, lu, piv), None, None


def det_jvp(tangents, d, a, lu, piv):
    return None if tangents[0] is None else tfr.sum(tfr.conj(cofactors(d, a, lu, piv)) * tangents[0], axis=(-2, -1))


# The conjugated cofactors are the gradient of the real part of the determinant: their derivatives are symmetric in all
# directions, for the real inner product, and each is its own adjoint.


def cofactor_vjp(g, c, a):
    return call("cofactor_change", a, g)


def cofactor_jvp(tangents, c, a):
    return call("cofactor_change", a, tangents[0])


def cofactor_curvature(a, e, t):
    """Second derivative of the conjugated cofactors in two directions."""
    lu, piv = factored(a, "det", False)
    if nearly_singular(lu, 0.25):
        return call("cofactor_curvature", a, e, t)
    c, ze, zt = call("cofactor", a), lu_solve(a, e, lu, piv), lu_solve(a, t, lu, piv)
    dc = traced(zt) * c - mm(c, adj(zt))
    product = mm(zt, ze)
    return traced(ze) * dc - traced(product) * c - mm(dc, adj(ze)) + mm(c, adj(product))


def traced(z):
    """Conjugated traces, to scale matrices."""
    return scalar(tfr.conj(tfr.sum(diag(z), axis=-1)))


def cofactor_change_vjp(g, out, a, e):
    return cofactor_curvature(a, e, g), call("cofactor_change", a, g)


def cofactor_change_jvp(tangents, out, a, e):
    ta, te = tangents
    found = None if ta is None else cofactor_curvature(a, e, ta)
    return plus(found, None if te is None else call("cofactor_change", a, te))


def regular(sign):
    if (value(sign) == 0).any():
        raise LinAlgError("slogdet: the logarithm of a singular matrix's determinant has no derivative; use det",
                          op="slogdet")


def slogdet_vjp(g, out, a, lu, piv):
    sign = out[0]
    regular(sign)
    gs, z = g
    if gs is not None and sign.dtype.kind == "c":
        z = plus(z, -1j * tfr.imag(tfr.conj(gs) * sign))
    return None if z is None else scalar(z) * inverse_adjoint(a, lu, piv), None, None


def slogdet_jvp(tangents, out, a, lu, piv):
    if tangents[0] is None:
        return None, None
    sign = out[0]
    regular(sign)
    z = tfr.sum(diag(lu_solve(a, tangents[0], lu, piv)), axis=-1)
    return (sign * (1j * tfr.imag(z)) if z.dtype.kind == "c" else None), tfr.real(z)


def tsolve(a, b, lower, trans="N", unit=False):
    return call("triangular_solve", a, b, lower=lower, trans=trans, unit=unit)


def triangle(x, lower, unit):
    return tfr.tril(x, -int(unit)) if lower else tfr.triu(x, int(unit))


def triangular_solve_vjp(g, x, a, b, lower, trans, unit):
    w = tsolve(a, g, lower, "C" if trans == "N" else "N", unit)
    ga = mm(w, adj(x)) if trans == "N" else mm(x, adj(w))
    return -triangle(ga, lower, unit), w


def triangular_solve_jvp(tangents, x, a, b, lower, trans, unit):
    ta, tb = tangents
    if ta is not None:
        ta = triangle(ta, lower, unit)
        tb = plus(tb, -mm(ta if trans == "N" else adj(ta), x))
    return None if tb is None else tsolve(a, tb, lower, trans, unit)


def half_lower(x):
    """Lower triangle with half the diagonal."""
    return tfr.tril(x) - diag_matrix(diag(x)) * 0.5


def cholesky_vjp(g, low, a):
    """Of S. P. Smith (1995), in Hermitian form: herm(inv(L).H P inv(L)), P the half lower triangle of L.H g."""
    z = tsolve(low, half_lower(mm(adj(low), tfr.tril(g))), True, "C")
    return herm(tsolve(low, adj(z), True, "C"))


def cholesky_jvp(tangents, low, a):
    s = tsolve(low, adj(tsolve(low, herm(tangents[0]), True)), True)
    return mm(low, half_lower(s))


RULES = {
    "lu_solve": (lu_solve_vjp, lu_solve_jvp),
    "inv": (inv_vjp, inv_jvp),
    "det": (det_vjp, det_jvp),
    "cofactor": (cofactor_vjp, cofactor_jvp),
    "cofactor_change": (cofactor_change_vjp, cofactor_change_jvp),
    "slogdet": (slogdet_vjp, slogdet_jvp),
    "triangular_solve": (triangular_solve_vjp, triangular_solve_jvp),
    "cholesky": (cholesky_vjp, cholesky_jvp),
}
