"""Executors for engines of host memory: LU factors, products of reflectors, complete orthonormal bases."""

from math import prod

import numpy as np

from . import _lapack
from .host import matrices, numpy_call, stack, unstack


def lu(a):
    """Row of L for every row of the matrix, L, U."""
    from scipy.linalg import lu as scipy_lu

    matrices("lu", a)
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    if 0 in a.shape:
        k = min(m, n)
        return (np.broadcast_to(np.arange(m), (*batch, m)), np.broadcast_to(np.eye(m, k, dtype=a.dtype), (*batch, m, k)),
                np.zeros((*batch, k, n), a.dtype))
    p, low, up = scipy_lu(a, p_indices=True, check_finite=False)
    return p.astype(np.int64), low, up


def null_space(a):
    """The columns of a complete Q that follow those of the reduced one."""
    matrices("qr", a)
    m, n = a.shape[-2:]
    if 0 in a.shape:
        return np.broadcast_to(np.eye(m, dtype=a.dtype), (*a.shape[:-2], m, m))[..., n:]
    return numpy_call("qr", np.linalg.qr, a, mode="complete")[0][..., n:]


def householder_product(a, tau):
    """Product of reflectors I - tau v v.H, in block form I - V T V.H.

    With N the strict upper triangle of V.H V, (I + diag(tau) N) T = diag(tau): Joffrain, Low, Quintana-Orti, van de
    Geijn, Van Zee (2006).
    """
    matrices("householder_product", a, "A")
    matrices("householder_product", tau[..., None], "tau")
    m, n = a.shape[-2:]
    k = tau.shape[-1]
    one = np.eye(m, n, dtype=a.dtype)
    if not prod(a.shape[:-1]) * n * k:
        return np.broadcast_to(one, a.shape)
    v = np.tril(a[..., :k], -1) + one[:, :k]
    vh = v.swapaxes(-1, -2).conj()
    x = stack(tau[..., None] * vh[..., :n])
    _lapack.trtrs(stack(tau[..., None] * np.triu(vh @ v, 1)), x, "U", "N", True)
    return one - v @ unstack(x, a.shape[:-2])
