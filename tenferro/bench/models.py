"""What is computed: functions of differentiated tensors p and constants c over the operations of a peer P, with their data."""

from itertools import pairwise

import numpy as np

F4, F8, C16 = np.float32, np.float64, np.complex128


# ---- functions -------------------------------------------------------------------------------------------------------

def chain(P, p, c, length):
    x, a, b = p
    for _ in range(length // 2):
        x = x * a
        x = x + b
    return x


def chain_sum(P, p, c, length):
    return P.sum(chain(P, p, c, length))


def rosenbrock(P, p, c):
    total = 0.0
    for x, y in pairwise(p):
        u, v = y - x * x, 1.0 - x
        total = total + (100.0 * (u * u) + v * v)
    return total


def uses(P, p, c, times):
    s = p[0] * c[0]
    for _ in range(times):
        s = s + p[0]
    return P.sum(s * s)


def mlp(P, p, c):
    r = P.tanh(c[0] @ p[0] + p[1]) @ p[2] + p[3] - c[1]
    return P.mean(r * r)


def elementwise(P, p, c):
    x = p[0]
    return P.sum(P.exp(-x * x) * P.sin(x) + P.log1p(x * x))


def broadcast(P, p, c):
    m = P.mean(p[0] + p[1] + p[2], axis=1)
    return P.sum(m * m)


def flip(P, p, c):
    return P.sum(P.flipped(p[0]) * p[1])


def permute(P, p, c, axes):
    return P.permuted(p[0], axes)


def products(P, p, c):
    y = p[0]
    for q in p[1:]:
        y = y @ q
    return P.sum(y)


def mps(P, p, c):
    """Inner product of two matrix product states, site by site."""
    sites, e = len(p) // 2, c[0]
    for bra, ket in zip(p[:sites], p[sites:]):
        e = P.einsum("bsc,bsd->cd", P.einsum("ab,asc->bsc", e, P.conj(bra)), ket)
    return P.real(P.sum(e * c[1]))


def svdvals(P, p, c):
    return P.sum(P.svdvals(p[0]) * c[0])


def qr(P, p, c):
    q, r = P.qr(p[0])
    return P.sum(q * c[0]) + P.sum(r * c[1])


def eigh(P, p, c):
    w, v = P.eigh(p[0])
    return P.sum(w * c[0]) + P.sum(v * v * c[1])


def solve(P, p, c):
    return P.sum(P.solve(p[0], p[1]) * c[0])


def cholesky(P, p, c):
    return P.sum(P.cholesky(p[0]) * c[0])


# ---- data: the arrays of p and of c ----------------------------------------------------------------------------------

def d_chain(rng, n):
    return [rng.uniform(0.5, 1, n), rng.uniform(0.5, 0.9, n), rng.uniform(0.1, 0.2, n)], []


def d_points(rng, n):
    return list(np.linspace(-0.5, 0.5, n)), []


def d_vectors(rng, n):
    return [rng.standard_normal(n)], [rng.standard_normal(n)]


def d_mlp(rng, batch, width, hidden, out, dtype=F8):
    shapes = (width, hidden), (hidden,), (hidden, out), (out,)
    p = [(rng.standard_normal(s) / np.sqrt(s[0])).astype(dtype) for s in shapes]
    return p, [rng.standard_normal((batch, n)).astype(dtype) for n in (width, out)]


def d_normal(rng, shapes, dtype=F8):
    return [rng.standard_normal(s).astype(dtype) for s in shapes], []


def d_matrices(rng, shape, count):
    return [rng.standard_normal(shape) / np.sqrt(shape[-1]) for _ in range(count)], []


def d_mps(rng, sites, bond, dtype):
    p = rng.standard_normal((2 * sites, bond, 2, bond)).astype(dtype)
    if dtype is C16:
        p = (p + 1j * rng.standard_normal(p.shape)) / np.sqrt(2)
    p /= np.sqrt(2 * bond)
    p[sites:] = 0.9 * p[:sites] + 0.1 * p[sites:]
    return list(p), [np.eye(bond, dtype=dtype), np.eye(bond, dtype=dtype) / bond]


def d_linalg(rng, n, kind):
    """Well conditioned matrices with values that lie apart."""
    u, v = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    w = rng.standard_normal((n, n))
    symmetric = kind in ("eigh", "cholesky")
    p = [(u * np.linspace(1, 2, n)) @ (u.T if symmetric else v)]
    return {"svdvals": (p, [w[0].copy()]), "qr": (p, [w, v.copy()]), "eigh": (p, [w[0].copy(), w]),
            "solve": ([*p, v.copy()], [w]), "cholesky": (p, [w])}[kind]
