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
