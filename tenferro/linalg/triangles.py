"""Rules of the LU factors with partial pivoting, for all shapes.

With B = P.T A = L U, k = min(M, N), L1 and U1 the square triangles in the first k rows and columns: for
G = inv(L1) dB[:k], S the strict lower triangle of G[:, :k] inv(U1): dL1 = L1 S and dU = G - S U, where the last column
of S is zero, so that the last pivot of a square or wide matrix is not divided by; and L[k:] U1 = B[k:].
"""

import numpy as np

import tenferro as tfr

from ..errors import UnsupportedAdRuleError
from .common import adj, diag_matrix, eps, mm, plus, value
from .factors import right_divide
from .solving import tsolve


def regular(u):
    """The square triangle U with pivots that are zero, relative to their columns, replaced: results are finite."""
    k = u.shape[-2]
    size = np.abs(value(u))[..., :k]
    pivots = np.diagonal(size, axis1=-2, axis2=-1)
    columns = size.max(-2, initial=0)
    small = pivots <= 10 * k * eps(u) * columns
    if not small.any():
        return u[..., :k]
    whole = size.max((-1, -2), initial=0)[..., None]
    fill = np.where(columns > 0, columns, np.where(whole > 0, whole, 1))
    return u[..., :k] + diag_matrix(tfr.asarray(np.where(small, fill, 0).astype(u.dtype)))


def permuted(x, rows):
    """Rows of matrices in the order of an index array."""
    return tfr.take_along_axis(x, tfr.asarray(rows[..., None]), axis=-2)


def lu_jvp(tangents, out, a):
    p, low, up = out
    k = up.shape[-2]
    tangent = permuted(tangents[0], np.argsort(value(p), axis=-1))
    tops, square = low[..., :k, :], regular(up)
    g = tsolve(tops, tangent[..., :k, :], True, unit=True)
    s = tfr.tril(right_divide(g[..., :k], square), -1)
    d_up = tfr.triu(g - mm(s, up))
    d_low = mm(tops, s)
    if low.shape[-2] > k:
        rest = tangent[..., k:, :] - mm(low[..., k:, :], d_up)
        d_low = tfr.concatenate([d_low, right_divide(rest, square)], axis=-2)
    return None, d_low, d_up


def lu_vjp(g, out, a):
    p, low, up = out
    _, g_low, g_up = g
    k, tall = up.shape[-2], low.shape[-2] > up.shape[-2]
    tops, square = low[..., :k, :], regular(up)
    rest = None
    if tall and g_low is not None:
        rest = adj(tsolve(square, adj(g_low[..., k:, :]), False))
        g_up = plus(g_up, -mm(adj(low[..., k:, :]), rest))
    y = None if g_up is None else tfr.triu(g_up)
    s = plus(None if y is None else -mm(y, adj(up)), None if g_low is None else mm(adj(tops), g_low[..., :k, :]))
    s = adj(tsolve(square, adj(tfr.tril(s, -1)), False))
    if up.shape[-1] > k:
        s = tfr.concatenate([s, tfr.zeros_like(up[..., k:])], axis=-1)
    found = tsolve(tops, plus(y, s), True, "C", True)
    if tall:
        rest = tfr.zeros_like(low[..., k:, :]) if rest is None else rest
        found = tfr.concatenate([found, rest], axis=-2)
    return permuted(found, value(p))


def arbitrary_basis(transform):
    def rule(*args, **params):
        raise UnsupportedAdRuleError("qr: the columns of Q that mode='complete' adds have no derivative, because this "
                                     "basis of the null space is arbitrary; use mode='reduced'", op="qr",
                                     transform=transform)
    return rule


RULES = {"lu": (lu_vjp, lu_jvp), "null_space": (arbitrary_basis("vjp"), arbitrary_basis("jvp"))}
