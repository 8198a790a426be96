"""Linear algebra by cuSOLVER and cuBLAS: the operations of ``tenferro.linalg``.

They check what they are given and whether they succeeded, as the executors of host memory do, and wait for the device to see
it. Every function takes CuPy's module, then arrays.
"""

import warnings
from contextlib import contextmanager
from importlib import import_module
from math import prod

import numpy as np

from tenferro.errors import LinAlgError, ShapeMismatchError, ValidationError

# ---- checks ----------------------------------------------------------------------------------------------------------

def shaped(op, a, argument="a", square=False):
    """Refuse what is no stack of (square) matrices."""
    if a.ndim < 2 or (square and a.shape[-1] != a.shape[-2]):
        what = "square matrices are needed" if a.ndim >= 2 else "at least two axes are needed"
        raise ShapeMismatchError(f"{op}: {argument} has shape {a.shape}; {what}", op=op, argument=argument,
                                 expected="(..., N, N)" if square else "(..., M, N)", actual=a.shape)


def finite(cp, op, a, argument="a"):
    if a.size and not bool(cp.isfinite(a).all()):
        raise ValidationError(f"{op}: {argument} has elements that are infinite or not a number; remove them first", op=op,
                              argument=argument)


def checked(cp, op, a, argument="a", square=False):
    """Refuse what is no stack of finite (square) matrices."""
    shaped(op, a, argument, square)
    finite(cp, op, a, argument)


def hermitian(cp, op, a):
    """Refuse matrices that differ from their adjoint by more than the root of the rounding."""
    checked(cp, op, a, square=True)
    if a.size:
        gap, size = cp.abs(a - adj(cp, a)).max(axis=(-2, -1)), cp.abs(a).max(axis=(-2, -1))
        if bool((gap > np.sqrt(np.finfo(a.dtype).eps) * size).any()):
            raise ValidationError(f"{op}: a is not Hermitian; symmetrise it first, (a + a.H) / 2", op=op, argument="a")


def refuse(op, bad, failure, remedy=""):
    """Raise if a matrix of a stack failed, and say which."""
    if bad.size and bool(bad.any()):
        k = int(bad.reshape(-1).argmax())
        place = [int(i) for i in np.unravel_index(k, bad.shape)] if bad.ndim else []
        where = f" (matrix {place[0] if len(place) == 1 else tuple(place)} of the stack)" if place else ""
        raise LinAlgError(f"{op}: {failure}{where}{remedy}", op=op)


@contextmanager
def reported(cp, op):
    """What cuSOLVER reports, as errors of this library."""
    try:
        with import_module(f"{cp.__name__}x").errstate(linalg="raise"):
            yield
    except np.linalg.LinAlgError as error:
        if isinstance(error, LinAlgError):
            raise
        raise LinAlgError(f"{op}: {error}", op=op) from error


def adj(cp, x):
    x = x.swapaxes(-1, -2)
    return cp.conj(x) if x.dtype.kind == "c" else x


def diagonal(x):
    return x.diagonal(0, -2, -1)


# ---- solving ---------------------------------------------------------------------------------------------------------
# cuSOLVER's factors of one matrix are kept. Those of a stack cannot be had from CuPy: the stack itself takes their place.

SINGULAR = ("the matrix is singular", "; lstsq or pinv take such matrices")


def functions(cp):
    """``cupyx.scipy.linalg``."""
    return import_module(f"{cp.__name__}x.scipy.linalg")


def one_factored(cp, a):
    """Packed factors of one matrix, and its pivots from zero on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)         # of singular matrices
        return functions(cp).lu_factor(a, check_finite=False)


def lu_factor(cp, a, *, op="lu_factor", check=True):
    checked(cp, op, a, square=True)
    count, n = prod(a.shape[:-2]), a.shape[-1]
    stack = a.reshape(count, n, n)
    if count == 1 and n:
        lu, piv = one_factored(cp, stack[0])
        if check:
            refuse(op, (diagonal(lu) == 0).any().reshape(a.shape[:-2]), *SINGULAR)
        return lu.swapaxes(0, 1)[None], piv[None]
    if check and a.size:
        refuse(op, cp.linalg.slogdet(a)[0] == 0, *SINGULAR)
    return stack.swapaxes(-1, -2), cp.zeros((count, n), dtype=np.dtype(np.intc))


def lu_solve(cp, a, b, lu, piv, *, adjoint=False):
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    dtype = np.result_type(a.dtype, b.dtype)
    if 0 in b.shape or 0 in a.shape:
        return cp.zeros((*batch, *b.shape[-2:]), dtype=dtype)
    if lu.shape[0] == 1 and prod(batch) == 1:
        x = functions(cp).lu_solve((lu[0].swapaxes(0, 1).astype(dtype, copy=False), piv[0]),
                                   b.reshape(b.shape[-2:]).astype(dtype, copy=False), trans=2 if adjoint else 0,
                                   check_finite=False)
        return x.reshape((*batch, *b.shape[-2:]))
    a, b = (cp.broadcast_to(x, (*batch, *x.shape[-2:])).astype(dtype, copy=False) for x in (a, b))
    return cp.linalg.solve(adj(cp, a) if adjoint else a, b)


def det(cp, a, lu, piv):
    return cp.linalg.det(a) if a.size else cp.ones(a.shape[:-2], dtype=a.dtype)


def slogdet(cp, a, lu, piv):
    if a.size:
        return tuple(cp.linalg.slogdet(a))
    return cp.ones(a.shape[:-2], dtype=a.dtype), cp.zeros(a.shape[:-2], dtype=cp.real(a).dtype)


def inv(cp, a, *, op="inv"):
    n = a.shape[-1]
    lu, piv = lu_factor(cp, a, op=op)
    return lu_solve(cp, a, cp.broadcast_to(cp.eye(n, dtype=a.dtype), a.shape), lu, piv)


def triangular_solve(cp, a, b, *, lower=False, trans="N", unit=False):
    op = "triangular_solve"
    checked(cp, op, a, square=True)
    checked(cp, op, b, "b")
    if a.size and not unit:
        refuse(op, (diagonal(a) == 0).any(axis=-1), *SINGULAR)
    if 0 in b.shape:
        return b
    solve = functions(cp).solve_triangular
    number = {"N": 0, "T": 1, "C": 2}[trans]
    m, n = b.shape[-2:]
    found = [solve(x, y, trans=number, lower=lower, unit_diagonal=unit)
             for x, y in zip(items(a), items(b), strict=True)]
    return cp.stack(found).reshape((*b.shape[:-2], m, n))


def items(x):
    """The matrices of a stack."""
    stack = x.reshape((prod(x.shape[:-2]), *x.shape[-2:]))
    return [stack[k] for k in range(stack.shape[0])]


# ---- factorizations --------------------------------------------------------------------------------------------------

def cholesky(cp, a):
    checked(cp, "cholesky", a, square=True)
    if not a.size:
        return a
    hermitian(cp, "cholesky", a)
    try:
        with reported(cp, "cholesky"):
            found = cp.linalg.cholesky(a)
    except LinAlgError as error:
        raise LinAlgError("cholesky: the matrix is not positive definite", op="cholesky") from error
    refuse("cholesky", cp.logical_not(cp.isfinite(diagonal(found)).all(axis=-1)), "the matrix is not positive definite")
    return found


def qr(cp, a):
    checked(cp, "qr", a)
    *batch, m, n = a.shape
    if not a.size:
        k = min(m, n)
        return cp.broadcast_to(cp.eye(m, k, dtype=a.dtype), (*batch, m, k)), cp.zeros((*batch, k, n), dtype=a.dtype)
    with reported(cp, "qr"):
        return tuple(cp.linalg.qr(a))


def null_space(cp, a):
    """The columns of a complete Q that follow those of the reduced one."""
    checked(cp, "qr", a)
    *batch, m, n = a.shape
    if not a.size:
        return cp.broadcast_to(cp.eye(m, dtype=a.dtype), (*batch, m, m))[..., n:]
    with reported(cp, "qr"):
        return cp.linalg.qr(a, mode="complete")[0][..., n:]


def svd(cp, a, *, op="svd", full=False):
    checked(cp, op, a)
    *batch, m, n = a.shape
    if not a.size:
        k = min(m, n)
        rows, columns = (m, n) if full else (k, k)
        return (cp.broadcast_to(cp.eye(m, rows, dtype=a.dtype), (*batch, m, rows)),
                cp.zeros((*batch, k), dtype=cp.real(a).dtype),
                cp.broadcast_to(cp.eye(columns, n, dtype=a.dtype), (*batch, columns, n)))
    with reported(cp, op):
        return tuple(cp.linalg.svd(a, full_matrices=full))


def svd_full(cp, a):
    return svd(cp, a, full=True)


def svdvals(cp, a, *, op="svdvals"):
    checked(cp, op, a)
    if not a.size:
        return cp.zeros((*a.shape[:-2], min(a.shape[-2:])), dtype=cp.real(a).dtype)
    with reported(cp, op):
        return cp.linalg.svd(a, compute_uv=False)


def eigh(cp, a, *, op="eigh"):
    hermitian(cp, op, a)
    if not a.size:
        return cp.zeros(a.shape[:-1], dtype=cp.real(a).dtype), cp.zeros(a.shape, dtype=a.dtype)
    with reported(cp, op):
        return tuple(cp.linalg.eigh(a))


def eigvalsh(cp, a):
    hermitian(cp, "eigvalsh", a)
    if not a.size:
        return cp.zeros(a.shape[:-1], dtype=cp.real(a).dtype)
    with reported(cp, "eigvalsh"):
        return cp.linalg.eigvalsh(a)


def eig(cp, a, *, op="eig"):
    checked(cp, op, a, square=True)
    dtype = np.result_type(a.dtype, np.complex64)
    if not a.size:
        return cp.zeros(a.shape[:-1], dtype=dtype), cp.zeros(a.shape, dtype=dtype)
    with reported(cp, op):
        w, v = cp.linalg.eig(a)
    return w.astype(dtype, copy=False), v.astype(dtype, copy=False)


def eigvals(cp, a):
    checked(cp, "eigvals", a, square=True)
    dtype = np.result_type(a.dtype, np.complex64)
    if not a.size:
        return cp.zeros(a.shape[:-1], dtype=dtype)
    with reported(cp, "eigvals"):
        return cp.linalg.eigvals(a).astype(dtype, copy=False)


def lu(cp, a):
    """Row of L for every row of the matrix, L, U."""
    checked(cp, "lu", a)
    *batch, m, n = a.shape
    k = min(m, n)
    if not a.size:
        rows, low = cp.arange(m, dtype="int64"), cp.eye(m, k, dtype=a.dtype)
        return cp.broadcast_to(rows, (*batch, m)), cp.broadcast_to(low, (*batch, m, k)), cp.zeros((*batch, k, n), dtype=a.dtype)
    factors = [one_factored(cp, x) for x in items(a)]
    packed = cp.stack([f for f, _ in factors])
    low = cp.tril(packed[..., :k], k=-1) + cp.eye(m, k, dtype=a.dtype)
    rows = cp.asarray(np.stack([rows_of_pivots(cp.asnumpy(piv), m) for _, piv in factors]))
    return rows.reshape((*batch, m)), low.reshape((*batch, m, k)), cp.triu(packed[:, :k]).reshape((*batch, k, n))


def rows_of_pivots(piv, m):
    """The row of L for every row of a matrix whose rows were exchanged with pivots."""
    order = np.arange(m)
    for k, p in enumerate(piv):
        order[[k, p]] = order[[p, k]]
    return np.argsort(order)


def pinv(cp, a, *, rcond=None, op="pinv"):
    """By singular values; those below ``rcond`` times the largest count as zero."""
    u, s, vh = svd(cp, a, op=op)
    if rcond is None:
        rcond = 1e-15
    if not a.size:
        return cp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), dtype=a.dtype)
    kept = s > rcond * s.max(axis=-1, keepdims=True)
    inverse = cp.where(kept, 1 / cp.where(kept, s, cp.ones_like(s)), cp.zeros_like(s))
    return cp.matmul(adj(cp, vh) * inverse[..., None, :], adj(cp, u))


def lstsq_solve(cp, a, b, u, w, vh):
    x = cp.matmul(adj(cp, vh), w[..., None] * cp.matmul(adj(cp, u), b))
    return x.astype(np.result_type(a.dtype, b.dtype), copy=False)


def permutation(cp, p, *, single):
    """Matrices with ones at the places `p` of their rows."""
    dtype = np.dtype("f4" if single else "f8")
    return (p[..., None] == cp.arange(p.shape[-1], dtype=p.dtype)).astype(dtype)


FACTORS = {f.__name__: f for f in (
    lu_factor, lu_solve, det, slogdet, inv, triangular_solve, cholesky, qr, null_space, svd, svd_full, svdvals, eigh, eigvalsh,
    eig, eigvals, lu, pinv, lstsq_solve, permutation)}
"""Operation -> function."""
