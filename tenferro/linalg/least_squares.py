"""Least squares by kept singular values and vectors; rules of Golub and Pereyra (1973), for constant rank.

The factors are constant inputs of the operation, given to its rules as residuals: the pseudo-inverse, and that of the adjoint,
are applied by them, so that a derivative of any order needs no other decomposition.
"""

import numpy as np

from .common import adj, call, mm, plus, value


def factors(a, tolerance):
    """Rank, s, and (U, 1/s, V.H), with 0 for the reciprocals of what a tolerance, relative to the largest, makes zero."""
    u, s, vh = call("svd", a.detach(), op="lstsq")
    found = value(s)
    kept = found > tolerance * found.max(-1, keepdims=True, initial=0)
    inverse = np.where(kept, 1 / np.where(kept, found, 1), 0).astype(found.dtype)
    return kept.sum(-1), s, (u, inverse, vh)


def lstsq_solve(a, b, u, w, vh):
    """Executor: the solution by singular vectors."""
    x = vh.swapaxes(-1, -2).conj() @ (w[..., None] * (u.swapaxes(-1, -2).conj() @ b))
    return x.astype(np.result_type(a, b), copy=False)


def pseudo(a, b, u, w, vh):
    """pinv(a) @ b."""
    return call("lstsq_solve", a, b, u, w, vh)


def pseudo_adjoint(a, g, u, w, vh):
    """pinv(a).H @ g."""
    return call("lstsq_solve", adj(a), g, adj(vh), w, adj(u))


def solve_vjp(g, x, a, b, u, w, vh):
    p = pseudo_adjoint(a, g, u, w, vh)              # pinv(a).H g
    outside = g - mm(adj(a), p)                     # what is orthogonal to the rows of a
    residual = b - mm(a, x)
    ga = mm(residual, adj(pseudo(a, p, u, w, vh))) - mm(p, adj(x)) + mm(pseudo_adjoint(a, x, u, w, vh), adj(outside))
    return ga, p, None, None, None


def solve_jvp(tangents, x, a, b, u, w, vh):
    ta, tb = tangents[:2]
    found = None if tb is None else pseudo(a, tb, u, w, vh)
    if ta is not None:
        th = adj(ta)
        inner = mm(th, pseudo_adjoint(a, x, u, w, vh))
        inner = inner - pseudo(a, mm(a, inner), u, w, vh)
        residual = pseudo_adjoint(a, mm(th, b - mm(a, x)), u, w, vh)
        found = plus(found, pseudo(a, residual - mm(ta, x), u, w, vh) + inner)
    return found


RULES = {"lstsq_solve": (solve_vjp, solve_jvp)}
