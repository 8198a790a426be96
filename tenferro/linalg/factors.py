"""Rules of the QR factors, the pseudo-inverse and the matrix exponential."""

import numpy as np

import tenferro as tfr

from .common import adj, call, diag, diag_matrix, eps, mm, plus, scale_of, value
from .solving import tsolve


def right_divide(x, r):
    """x @ inv(r)."""
    return adj(tsolve(r, adj(x), False, "C"))


def regular(r):
    """R with the largest diagonal element instead of those that are zero to rounding: results are finite."""
    d = diag(r.detach())
    scale = scale_of(d)
    small = tfr.abs(d) <= 10 * r.shape[-1] * eps(r) * scale
    return r + diag_matrix(tfr.cast(tfr.where(small, scale, 0), r.dtype)) if tfr.any(small) else r


def qr_vjp(g, out, a):
    """Adjoint of `qr_jvp`, for at least as many rows as columns."""
    q, r = out
    gq, gr = g
    m = plus(None if gr is None else mm(gr, adj(r)), None if gq is None else -mm(adj(q), gq))
    upper = tfr.triu(m, 1)
    x = mm(q, upper + adj(upper) + diag_matrix(tfr.real(diag(m))))
    return adj(tsolve(regular(r), adj(x if gq is None else x + gq), False))


def qr_jvp(tangents, out, a):
    """dR inv(R) is the upper triangle of C + C.H with half the diagonal, C = Q.H dA inv(R); dQ follows."""
    q, r = out
    b = right_divide(tangents[0], regular(r))
    c = mm(adj(q), b)
    upper = tfr.triu(c + adj(c), 1) + diag_matrix(tfr.real(diag(c)))
    return b - mm(q, upper), mm(upper, r)


def pinv_jvp(tangents, y, a, rcond, op=None):
    """Of Golub and Pereyra (1973), for constant rank."""
    t, yh, th = tangents[0], adj(y), adj(tangents[0])
    first = mm(y, mm(yh, th))
    last = mm(mm(th, yh), y)
    return first - mm(first, a, y) + last - mm(y, mm(a, last)) - mm(y, t, y)


def pinv_vjp(g, y, a, rcond, op=None):
    yh, gh = adj(y), adj(g)
    right = mm(gh, y, yh)
    left = mm(yh, mm(y, gh))
    return right - mm(mm(a, y), right) + left - mm(left, mm(y, a)) - mm(yh, g, yh)


def frechet(a, e):
    """Derivative of the exponential at `a` in direction `e`: a block of the exponential of [[a, e], [0, a]]."""
    n = a.shape[-1]
    size = np.abs(value(e)).max((-1, -2), keepdims=True, initial=0)
    size = np.where(size == 0, size.dtype.type(1), size)
    top = tfr.concatenate([a, e / size], axis=-1)
    bottom = tfr.concatenate([tfr.zeros_like(a), a], axis=-1)
    return call("expm", tfr.concatenate([top, bottom], axis=-2))[..., :n, n:] * size


def expm_vjp(g, out, a):
    return frechet(adj(a), g)


def expm_jvp(tangents, out, a):
    return frechet(a, tangents[0])


RULES = {"qr": (qr_vjp, qr_jvp), "pinv": (pinv_vjp, pinv_jvp), "expm": (expm_vjp, expm_jvp)}
