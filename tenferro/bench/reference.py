"""Values and gradients of the models, derived by hand and written operation by operation with NumPy."""

from itertools import pairwise

import numpy as np
from scipy.linalg import solve_triangular


def chain_sum(p, c, length):
    x, a, b = p
    kept, ga, gb = [], np.zeros_like(a), np.zeros_like(b)
    for _ in range(length // 2):
        kept.append(x)
        x = x * a + b
    g = np.ones_like(x)
    for z in reversed(kept):
        gb += g
        ga += g * z
        g = g * a
    return x.sum(), [g, ga, gb]


def rosenbrock(p, c):
    loss, g = 0.0, [0.0] * len(p)
    for i, (x, y) in enumerate(pairwise(p)):
        u, v = y - x * x, 1.0 - x
        loss += 100.0 * (u * u) + v * v
        g[i] -= 400.0 * u * x + 2.0 * v
        g[i + 1] += 200.0 * u
    return loss, g


def uses(p, c, times):
    s = p[0] * c[0]
    for _ in range(times):
        s = s + p[0]
    gs = 2 * s
    g = gs * c[0]
    for _ in range(times):
        g += gs
    return (s * s).sum(), [g]


def mlp_parts(p, c):
    w1, b1, w2, b2 = p
    h = c[0] @ w1
    h += b1
    np.tanh(h, out=h)
    r = h @ w2
    r += b2
    r -= c[1]
    loss = np.mean(r * r)
    r *= 2 / r.size
    slope = h * h
    np.subtract(1, slope, out=slope)
    return loss, h, slope, r, r @ w2.T


def mlp(p, c):
    loss, h, slope, gr, gh = mlp_parts(p, c)
    gh *= slope
    return loss, [c[0].T @ gh, gh.sum(0), h.T @ gr, gr.sum(0)]


def mlp_hvp(p, c, v):
    """Tangents of the gradient: every quantity's derivative along v has a prime."""
    x, w2, (v1, u1, v2, u2) = c[0], p[2], v
    _, h, slope, gr, gh = mlp_parts(p, c)
    h_ = slope * (x @ v1 + u1)
    gr_ = (h_ @ w2 + h @ v2 + u2) * (2 / gr.size)
    gz_ = (gr_ @ w2.T + gr @ v2.T) * slope - 2 * h * h_ * gh
    return [x.T @ gz_, gz_.sum(0), h_.T @ gr + h.T @ gr_, gr_.sum(0)]


def elementwise(p, c):
    x = p[0]
    q = x * x
    e, s = np.exp(-q), np.sin(x)
    loss = (e * s + np.log1p(q)).sum()
    s *= x
    s *= -2
    s += np.cos(x)
    s *= e
    q += 1
    np.divide(x, q, out=q)
    q *= 2
    s += q
    return loss, [s]


def broadcast(p, c):
    h = p[0] + p[1]
    h += p[2]
    m = h.mean(axis=1)
    g = np.empty_like(h)
    g[:] = (m * (2 / h.shape[1]))[:, None]
    return m @ m, [g, g.sum(0), g.sum(1, keepdims=True)]


def flip(p, c):
    x, w = p
    view = x.T[::2, ::-1]
    g = np.zeros_like(x)
    g.T[::2, ::-1] = w
    return (view * w).sum(), [g, view.copy()]


def products(p, c):
    kept, y = [], p[0]
    for w in p[1:]:
        kept.append(y)
        y = y @ w
    loss, g, grads = y.sum(), np.ones_like(y), []
    for left, w in zip(reversed(kept), reversed(p[1:])):
        grads.append(np.swapaxes(left, -1, -2) @ g)
        g = g @ np.swapaxes(w, -1, -2)
    return loss, [g, *grads[::-1]]


def mps(p, c):
    sites, e, kept = len(p) // 2, c[0], []
    d = e.shape[0]
    for bra, ket in zip(p[:sites], p[sites:]):
        t = (e.T @ bra.conj().reshape(d, -1)).reshape(-1, d)                # rows (b, s), columns c
        kept.append((e, t))
        e = t.T @ ket.reshape(-1, d)
    loss, g = (e * c[1]).sum().real, c[1].conj()
    bras, kets = [], []
    for bra, ket, (e, t) in zip(p[sites - 1::-1], p[:sites - 1:-1], reversed(kept)):
        kets.append((t.conj() @ g).reshape(ket.shape))
        gt = (ket.conj().reshape(-1, d) @ g.T).reshape(d, -1)               # rows b, columns (s, c)
        bras.append((e.conj() @ gt).conj().reshape(bra.shape))
        g = bra.reshape(d, -1) @ gt.T
    return loss, [*bras[::-1], *kets[::-1]]


def svdvals(p, c):
    u, s, v = np.linalg.svd(p[0])
    return s @ c[0], [(u * c[0]) @ v]


def qr(p, c):
    q, r = np.linalg.qr(p[0])
    m = r @ np.triu(c[1]).T - c[0].T @ q
    m = np.tril(m) + np.tril(m, -1).T
    return (q * c[0]).sum() + (r * c[1]).sum(), [solve_triangular(r, (c[0] + q @ m).T).T]


def eigh(p, c):
    w, v = np.linalg.eigh(p[0])
    gap = w - w[:, None]
    np.fill_diagonal(gap, 1)
    k = v.T @ (2 * v * c[1]) / gap
    np.fill_diagonal(k, c[0])
    return w @ c[0] + (v * v * c[1]).sum(), [v @ k @ v.T]


def solve(p, c):
    x, g = np.linalg.solve(p[0], p[1]), np.linalg.solve(p[0].T, c[0])
    return (x * c[0]).sum(), [-g @ x.T, g]


def cholesky(p, c):
    low = np.linalg.cholesky(p[0])
    m = np.tril(low.T @ np.tril(c[0]))
    m[np.diag_indices_from(m)] /= 2
    t = solve_triangular(low, m, trans=1, lower=True)
    g = solve_triangular(low, t.T, trans=1, lower=True).T
    return (low * c[0]).sum(), [(g + g.T) / 2]
