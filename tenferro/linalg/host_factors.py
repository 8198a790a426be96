"""Executors for engines of host memory: LU factors, products of reflectors, complete orthonormal bases."""

import numpy as np

from . import _lu
from .host import matrices, numpy_call, shaped


def lu(a):
    """Row of L for every row of the matrix, L, U."""
    shaped("lu", a)
    if 0 not in a.shape:
        return _lu.lu("lu", a)
    *batch, m, n = a.shape
    k = min(m, n)
    return (np.broadcast_to(np.arange(m), (*batch, m)), np.broadcast_to(np.eye(m, k, dtype=a.dtype), (*batch, m, k)),
            np.zeros((*batch, k, n), a.dtype))


def permutation(p, single):
    """Matrices with ones at the places `p` of their rows."""
    out = np.zeros((*p.shape, p.shape[-1]), np.float32 if single else np.float64)
    out.reshape(-1)[np.arange(p.size) * p.shape[-1] + p.reshape(-1)] = 1
    return out


def null_space(a):
    """The columns of a complete Q that follow those of the reduced one."""
    matrices("qr", a)
    m, n = a.shape[-2:]
    if 0 in a.shape:
        return np.broadcast_to(np.eye(m, dtype=a.dtype), (*a.shape[:-2], m, m))[..., n:]
    return numpy_call("qr", np.linalg.qr, a, mode="complete")[0][..., n:]


def householder_product(a, tau):
    shaped("householder_product", a, "A")
    return np.zeros_like(a) if 0 in a.shape else _lu.reflectors("householder_product", a, tau)


def products_but_three(s):
    """Products of all numbers but three, for places that differ; else 0."""
    one = np.eye(s.shape[-1], dtype=bool)
    x = np.where(one[:, None, :] | one[None, :, :], 1, s[..., None, None, :])
    ones = np.ones_like(x[..., :1])
    before = np.concatenate([ones, x[..., :-1]], axis=-1).cumprod(-1)
    after = np.concatenate([ones, x[..., :0:-1]], axis=-1).cumprod(-1)[..., ::-1]
    return np.where(one[:, :, None] | one[:, None, :] | one[None, :, :], 0, before * after)


def cofactor_curvature(a, e, t):
    """Second derivative of the conjugated cofactors in two directions; exact for singular matrices.

    For a diagonal matrix s, the third derivative of its determinant in directions e, t and h is the sum, over all
    different i, j, k and permutations m of these, of p[i, j, k] sign(m) e[i, m(i)] t[j, m(j)] h[k, m(k)], with p the
    product of all s but three. What multiplies h, by permutations: identity and exchange of i and j on the diagonal;
    the other exchanges and both cycles off it.
    """
    u, s, vh = np.linalg.svd(a)
    p = products_but_three(s)
    left, right = u.swapaxes(-1, -2).conj(), vh.swapaxes(-1, -2).conj()
    e, t = left @ e @ right, left @ t @ right
    de, dt = np.diagonal(e, axis1=-2, axis2=-1), np.diagonal(t, axis1=-2, axis2=-1)
    cycles = np.einsum("...ijk,...ij,...jk->...ki", p, e, t) + np.einsum("...ijk,...ij,...jk->...ki", p, t, e)
    exchanges = (e * np.einsum("...ijk,...j->...ik", p, dt) + t * np.einsum("...ijk,...j->...ik", p, de))
    found = cycles - exchanges.swapaxes(-1, -2)
    found[..., np.eye(a.shape[-1], dtype=bool)] = (np.einsum("...ijk,...i,...j->...k", p, de, dt)
                                                   - np.einsum("...ijk,...ij,...ji->...k", p, e, t))
    phase = np.conj(np.linalg.det(u) * np.linalg.det(vh))
    return np.asarray(phase[..., None, None] * (u @ found.conj() @ vh), a.dtype)
