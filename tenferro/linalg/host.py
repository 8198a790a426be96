"""Executors for engines of host memory: LAPACK by pointers, one loop for a stack. All check their input."""

from functools import wraps
from math import prod

import numpy as np

from ..errors import LinAlgError, ShapeMismatchError
from . import _checks, _lapack, _routines, _spectral


def shaped(op, a, argument="a", square=False):
    """Refuse what is no stack of (square) matrices whose sizes LAPACK's integers hold."""
    shape = a.shape
    if len(shape) < 2:
        raise ShapeMismatchError(f"{op}: {argument} has shape {shape}; at least two axes are needed", op=op,
                                 argument=argument, expected="(..., M, N)", actual=shape)
    m, n = shape[-2:]
    if square and m != n:
        raise ShapeMismatchError(f"{op}: {argument} has shape {shape}; square matrices are needed", op=op,
                                 argument=argument, expected="(..., N, N)", actual=shape)
    _routines.fits(op, argument, m, n)


def matrices(op, a, argument="a", square=False):
    """Refuse what is no stack of finite (square) matrices."""
    shaped(op, a, argument, square)
    _checks.finite(op, argument, a)


def hermitian(op, a):
    """Refuse matrices that differ from their adjoint by more than rounding does."""
    matrices(op, a, square=True)
    _checks.hermitian(op, a)


def numpy_call(op, f, *args, **kwargs):
    """NumPy's function, its failures as errors of this library."""
    try:
        return f(*args, **kwargs)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"{op}: {error}", op=op) from error


def stack(x, fresh=True):
    """Items as column-major matrices, one after the other: shape (batch, columns, rows)."""
    x = x.swapaxes(-1, -2)
    return np.array(x, order="C", copy=True if fresh else None).reshape(prod(x.shape[:-2]), *x.shape[-2:])


def unstack(x, batch):
    return x.reshape(*batch, *x.shape[1:]).swapaxes(-1, -2)


def singular(op, k, batch):
    """Raise if a matrix of the stack, not -1, is singular."""
    if k >= 0:
        _routines.failed(op, 1, k, batch, "the matrix is singular", "; lstsq or pinv take such matrices")


def lu_factor(a, op="lu_factor", check=True):
    """Packed factors as (batch, columns, rows) and pivots."""
    shaped(op, a, square=True)
    lu = stack(a)
    _checks.finite(op, "a", lu)
    piv, k = _lapack.getrf(lu)
    if check:
        singular(op, k, a.shape[:-2])
    return lu, piv


def lu_solve(a, b, lu, piv, adjoint=False):
    """Solution by known factors; batch axes broadcast."""
    own, batch = a.shape[:-2], b.shape[:-2]
    if own != batch:
        batch = np.broadcast_shapes(own, batch)
        lu, piv = (spread(x, own, batch) for x in (lu, piv))
        b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    x = stack(b)
    _lapack.getrs(lu, piv, x, "C" if adjoint else "N")
    return unstack(x, batch)


def spread(x, own, batch):
    """Items of the axes `own` repeated for those of a larger batch."""
    x = np.broadcast_to(x.reshape(*own, *x.shape[1:]), (*batch, *x.shape[1:]))
    return np.ascontiguousarray(x).reshape(prod(batch), *x.shape[len(batch):])


def odd(piv):
    """Whether the pivots make an odd permutation."""
    return (piv != np.arange(1, piv.shape[-1] + 1)).sum(-1) % 2 == 1


def det(a, lu, piv):
    d = np.diagonal(lu, axis1=-2, axis2=-1).prod(-1)
    return np.where(odd(piv), -d, d).astype(a.dtype).reshape(a.shape[:-2])


def slogdet(a, lu, piv):
    d = np.diagonal(lu, axis1=-2, axis2=-1)
    size = np.abs(d)
    zero = (size == 0).any(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        sign = np.where(zero, 0, (d / size).prod(-1))
        log = np.log(size).sum(-1)
    sign = np.where(odd(piv), -sign, sign).astype(a.dtype)
    return sign.reshape(a.shape[:-2]), log.astype(size.dtype).reshape(a.shape[:-2])


def triangular_solve(a, b, lower=False, trans="N", unit=False):
    op = "triangular_solve"
    shaped(op, a, square=True)
    shaped(op, b, "b")
    low, x = stack(a, fresh=False), stack(b)
    _checks.finite(op, "a", low)
    _checks.finite(op, "b", x)
    singular(op, _lapack.trtrs(low, x, "L" if lower else "U", trans, unit), a.shape[:-2])
    return unstack(x, b.shape[:-2])


def cholesky(a):
    shaped("cholesky", a, square=True)
    return _lapack.cholesky("cholesky", a)


def inv(a, op="inv"):
    shaped(op, a, square=True)
    return _lapack.inverse(op, a)


def cofactor(a):
    """Conjugated matrix of cofactors, det(a) * inv(a).H without division: singular matrices are no exception."""
    u, s, vh = svd(a, op="cofactor")
    n = a.shape[-1]
    others = np.where(np.eye(n, dtype=bool), 1, s[..., None, :]).prod(-1)
    phase = np.linalg.det(u) * np.linalg.det(vh)
    return (u * (np.conj(phase)[..., None] * others)[..., None, :]) @ vh


def cofactor_change(a, e):
    """Derivative of the conjugated cofactors in direction e; exact for singular matrices.

    For a diagonal matrix s, with p[i, j] the product of all s but s[i] and s[j], the change of the adjugate is
    -e[i, j] p[i, j] off the diagonal and sum_k e[k, k] p[i, k] on it; the singular vectors bring any matrix to this.
    """
    u, s, vh = svd(a, op="cofactor")
    n = a.shape[-1]
    one = np.eye(n, dtype=bool)
    left_out = one[:, None, :] | one[None, :, :]
    p = np.where(one, 0, np.where(left_out, 1, s[..., None, None, :]).prod(-1))
    f = (u.swapaxes(-1, -2).conj() @ e @ vh.swapaxes(-1, -2).conj()).swapaxes(-1, -2).conj()
    change = -p * f
    change[..., one] = (p @ np.diagonal(f, axis1=-2, axis2=-1)[..., None])[..., 0]
    phase = np.conj(np.linalg.det(u) * np.linalg.det(vh))
    return np.asarray(phase[..., None, None] * (u @ change @ vh), a.dtype)


def eigh(a, op="eigh"):
    shaped(op, a, square=True)
    return _spectral.eigh(op, a, True)


def eigvalsh(a):
    shaped("eigvalsh", a, square=True)
    return _spectral.eigh("eigvalsh", a, False)


def svd(a, op="svd", full_matrices=False):
    shaped(op, a)
    return _spectral.svd(op, a, True, full_matrices)


def svdvals(a, op="svdvals"):
    shaped(op, a)
    return _spectral.svd(op, a, False, False)


def qr(a):
    shaped("qr", a)
    return _lapack.qr("qr", a)


def pinv(a, rcond=None, op="pinv"):
    matrices(op, a)
    if 0 in a.shape:
        return np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    return numpy_call(op, np.linalg.pinv, a, rcond)


def complexes(dtype):
    return np.result_type(dtype, np.complex64)


def eig(a, op="eig"):
    shaped(op, a, square=True)
    return _spectral.eig(op, a, True)


def eigvals(a):
    shaped("eigvals", a, square=True)
    return _spectral.eig("eigvals", a, False)


def expm(a):
    from scipy.linalg import expm as scipy_expm

    matrices("expm", a, square=True)
    return np.zeros_like(a) if 0 in a.shape else np.asarray(scipy_expm(a), a.dtype)


def owned(f):
    """Executor whose results are arrays of their own."""
    @wraps(f)
    def executor(*args, **kwargs):
        found = f(*args, **kwargs)
        return tuple(map(np.asarray, found)) if isinstance(found, tuple) else np.asarray(found)
    return executor
