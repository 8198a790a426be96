"""Rules of the QR factors, the pseudo-inverse and the matrix exponential."""

import numpy as np

import tenferro as tfr

from .common import adj, call, cols, diag, diag_matrix, eps, mm, plus, rows, value
from .solving import tsolve


def right_divide(x, r):
    """x @ inv(r)."""
    return adj(tsolve(r, adj(x), False, "C"))


# With C = Q.H dA and a skew-Hermitian W: dR = C - W R, dQ = Q W + (1 - Q Q.H) dA inv(R1), R1 the leading square of R. Below
# its diagonal W is that of C inv(R1), so that dR is triangular; on it, the imaginary part. A column that depends on those
# before it leaves its column of W free: it is zero, its row and column of R1 are not used, and dR is not triangular there.
# What does not depend on the choice of Q has its derivative then, too, if Q is square.


def leading(r):
    """R1, without what belongs to dependent columns, and a vector with 0 for these and 1 for others, or None."""
    r1 = r if r.shape[-1] == r.shape[-2] else r[..., :r.shape[-2]]
    size = tfr.abs(r.detach())
    if size.size == 0:
        return r1, None
    small = diag(size) <= 10 * r.shape[-1] * eps(r) * tfr.max(size, axis=(-2, -1), keepdims=True)[..., 0]
    if not tfr.any(small):
        return r1, None
    kept = tfr.cast(tfr.logical_not(small), r.dtype)
    return r1 * rows(kept) * cols(kept) + diag_matrix(1 - kept), kept


def turning(x):
    """The skew-Hermitian matrix that is below the diagonal what x is."""
    low = tfr.tril(x, -1)
    w = low - adj(low)
    return w + diag_matrix(1j * tfr.imag(diag(x))) if x.dtype.kind == "c" else w


def qr_vjp(g, out, a):
    """Adjoint of `qr_jvp`."""
    q, r = out
    gq, gr = g
    r1, kept = leading(r)
    p = None if gq is None else mm(adj(q), gq)
    s = None if gr is None else mm(gr, adj(r))
    m = plus(p, None if s is None else -s)
    low = tfr.tril(m - adj(m), -1)
    core = low + diag_matrix(1j * tfr.imag(diag(m))) if m.dtype.kind == "c" else low
    core = plus(core, None if p is None else -p)
    whole = kept is None and r1 is r
    x = plus(mm(q, plus(core, s) if whole else core), gq)
    if kept is not None:
        x = x * cols(kept)
    ga = adj(tsolve(r1, adj(x), False))
    if r1.shape[-1] < r.shape[-1]:
        ga = tfr.concatenate([ga, tfr.zeros_like(r[..., r1.shape[-1]:])], axis=-1)
    return ga if whole or gr is None else ga + mm(q, gr)


def qr_jvp(tangents, out, a):
    q, r = out
    t = tangents[0]
    r1, kept = leading(r)
    b = right_divide(t[..., :r1.shape[-1]], r1)
    if kept is not None:
        b = b * cols(kept)
    c = mm(adj(q), b)
    w = turning(c)
    return b - mm(q, c - w), mm(adj(q), t) - mm(w, r)


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
