"""Executors for engines of host memory: LAPACK by NumPy's batched loops and by pointers. All check their input."""

from functools import wraps
from math import prod

import numpy as np

from ..errors import LinAlgError, ShapeMismatchError, ValidationError
from . import _lapack


def matrices(op, a, argument="a", square=False):
    """Refuse what is no stack of finite (square) matrices."""
    if a.ndim < 2:
        raise ShapeMismatchError(f"{op}: {argument} has shape {a.shape}; at least two axes are needed", op=op,
                                 argument=argument, expected="(..., M, N)", actual=a.shape)
    if square and a.shape[-1] != a.shape[-2]:
        raise ShapeMismatchError(f"{op}: {argument} has shape {a.shape}; square matrices are needed", op=op,
                                 argument=argument, expected="(..., N, N)", actual=a.shape)
    _lapack.fits(op, *a.shape[-2:])
    if not np.isfinite(a).all():
        raise ValidationError(f"{op}: {argument} has elements that are infinite or not a number; remove them first",
                              op=op, argument=argument)


def hermitian(op, a):
    """Refuse matrices that differ from their adjoint by more than rounding does."""
    matrices(op, a, square=True)
    gap = np.abs(a - a.swapaxes(-1, -2).conj()).max(initial=0)
    if gap > np.sqrt(np.finfo(a.dtype).eps) * np.abs(a).max(initial=0):
        raise ValidationError(f"{op}: a is not Hermitian (a and its adjoint differ by {gap:.2g}); symmetrise it first, "
                              "(a + a.H) / 2", op=op, argument="a")


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


def singular(op, info):
    bad = np.flatnonzero(info)
    if bad.size:
        where = f" (matrix {bad[0]} of the stack)" if info.size > 1 else ""
        raise LinAlgError(f"{op}: the matrix is singular{where}; lstsq or pinv take such matrices", op=op)


def lu_factor(a, op="lu_factor", check=True):
    """Packed factors as (batch, columns, rows) and pivots."""
    matrices(op, a, square=True)
    lu = stack(a)
    piv, info = _lapack.getrf(lu)
    if check:
        singular(op, info)
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
    matrices("triangular_solve", a, square=True)
    matrices("triangular_solve", b, "b")
    x = stack(b)
    info = _lapack.trtrs(stack(a, fresh=False), x, "L" if lower else "U", trans, unit)
    singular("triangular_solve", info)
    return unstack(x, b.shape[:-2])


def cholesky(a):
    hermitian("cholesky", a)
    try:
        return np.linalg.cholesky(a)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"cholesky: {error}; add a multiple of the identity, or use eigh", op="cholesky") from error


def inv(a):
    matrices("inv", a, square=True)
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError as error:
        raise LinAlgError("inv: the matrix is singular; pinv takes such matrices", op="inv") from error


def cofactor(a):
    """Conjugated matrix of cofactors, det(a) * inv(a).H without division: singular matrices are no exception."""
    u, s, vh = np.linalg.svd(a)
    n = a.shape[-1]
    others = np.where(np.eye(n, dtype=bool), 1, s[..., None, :]).prod(-1)
    phase = np.linalg.det(u) * np.linalg.det(vh)
    return (u * (np.conj(phase)[..., None] * others)[..., None, :]) @ vh


def cofactor_change(a, e):
    """Derivative of the conjugated cofactors in direction e; exact for singular matrices.

    For a diagonal matrix s, with p[i, j] the product of all s but s[i] and s[j], the change of the adjugate is
    -e[i, j] p[i, j] off the diagonal and sum_k e[k, k] p[i, k] on it; the singular vectors bring any matrix to this.
    """
    u, s, vh = np.linalg.svd(a)
    n = a.shape[-1]
    one = np.eye(n, dtype=bool)
    left_out = one[:, None, :] | one[None, :, :]
    p = np.where(one, 0, np.where(left_out, 1, s[..., None, None, :]).prod(-1))
    f = (u.swapaxes(-1, -2).conj() @ e @ vh.swapaxes(-1, -2).conj()).swapaxes(-1, -2).conj()
    change = -p * f
    change[..., one] = (p @ np.diagonal(f, axis1=-2, axis2=-1)[..., None])[..., 0]
    phase = np.conj(np.linalg.det(u) * np.linalg.det(vh))
    return np.asarray(phase[..., None, None] * (u @ change @ vh), a.dtype)


def eigh(a):
    hermitian("eigh", a)
    return tuple(numpy_call("eigh", np.linalg.eigh, a))


def eigvalsh(a):
    hermitian("eigvalsh", a)
    return numpy_call("eigvalsh", np.linalg.eigvalsh, a)


def svd(a, full_matrices=False):
    matrices("svd", a)
    return tuple(numpy_call("svd", np.linalg.svd, a, full_matrices=full_matrices))


def svdvals(a):
    matrices("svdvals", a)
    return numpy_call("svdvals", np.linalg.svdvals, a)


def qr(a):
    matrices("qr", a)
    return tuple(numpy_call("qr", np.linalg.qr, a))


def pinv(a, rcond=None):
    matrices("pinv", a)
    if 0 in a.shape:
        return np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    return numpy_call("pinv", np.linalg.pinv, a, rcond)


def complexes(dtype):
    return np.result_type(dtype, np.complex64)


def eig(a):
    matrices("eig", a, square=True)
    return tuple(x.astype(complexes(a.dtype)) for x in numpy_call("eig", np.linalg.eig, a))


def eigvals(a):
    matrices("eigvals", a, square=True)
    return numpy_call("eigvals", np.linalg.eigvals, a).astype(complexes(a.dtype))


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
