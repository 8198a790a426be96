"""What the rules and composites of ``tenferro.linalg`` are made of: matrix products around diagonal factors.

Every function takes CuPy's module, then arrays.
"""

import numpy as np

from tenferro.errors import LinAlgError

from .linalg import adj, checked, diagonal, eigh, refuse, svd, svdvals


def tolerance(n, dtype):
    return 10 * n * float(np.finfo(dtype).eps)


def largest(cp, x):
    """Largest absolute value along the last axis, 1 where all are zero."""
    m = cp.abs(x).max(axis=-1, keepdims=True)
    return cp.where(m == 0, cp.ones_like(m), m)


def broadened(cp, d, tol):
    """1/d; where d is within `tol` of zero, d/(d**2 + tol)."""
    small = cp.abs(d) <= tol
    return cp.where(small, d / (d * d + tol), 1 / cp.where(small, cp.ones_like(d), d))


def product(cp, *xs):
    """Product of matrices from the left."""
    y = xs[0]
    for x in xs[1:]:
        y = cp.matmul(y, x)
    return y


def as_kind(x, *others):
    """x in the dtype that it and others have together."""
    return x.astype(np.result_type(*[o.dtype for o in others]), copy=False)


def thin_svd(cp, a, *, op):
    return svd(cp, a, op=op)


def hermitian_eigh(cp, a, *, op):
    return eigh(cp, a, op=op)


def polar(cp, a, u, s, vh):
    return cp.matmul(u, vh)


def hermitian_sylvester(cp, p, q, w, v):
    """x with p @ x + x @ p = q, for p = v @ diag(w) @ v.H, w not negative; finite for singular p."""
    scale = largest(cp, w)[..., None]
    sums = broadened(cp, (w[..., :, None] + w[..., None, :]) / scale, tolerance(w.shape[-1], w.dtype))
    return as_kind(product(cp, v, sums / scale * product(cp, adj(cp, v), q, v), adj(cp, v)), p, q)


def hermitian_divide(cp, b, p, w, v):
    """b @ inv(p), for p = v @ diag(w) @ v.H; finite for singular p."""
    scale = largest(cp, w)
    inverse = broadened(cp, w / scale, tolerance(w.shape[-1], w.dtype)) / scale
    return as_kind(product(cp, b, v * inverse[..., None, :], adj(cp, v)), p, b)


def finite_or(cp, values, text):
    refuse("funm_hermitian", cp.logical_not(cp.isfinite(values)).any(), text, "; shift the matrix or choose another function")


def funm(cp, a, w, v, values, **params):
    finite_or(cp, values, "f is not finite at an eigenvalue")
    return with_kind(cp.matmul(v * values[..., None, :], adj(cp, v)), a, values)


def with_kind(x, like, other):
    """x in the precision of an array, complex if the other is."""
    return x.astype(np.result_type(like.dtype, np.complex64) if other.dtype.kind == "c" else like.dtype, copy=False)


def funm_change(cp, a, e, w, v, divided, **params):
    """Derivative in direction e, of Daleckii and Krein (1965)."""
    finite_or(cp, divided, "(derivative): f has no finite derivative at an eigenvalue, or between equal ones")
    vh = adj(cp, v)
    return as_kind(product(cp, v, divided * product(cp, vh, e, v), vh), e, v, divided)


# ---- cofactors -------------------------------------------------------------------------------------------------------

def factored(cp, a):
    """Singular vectors and values, and the conjugated phase of the determinant."""
    u, s, vh = svd(cp, a, op="cofactor")
    phase = cp.conj(cp.linalg.det(u) * cp.linalg.det(vh))
    return u, s, vh, phase


def cofactor(cp, a):
    """Conjugated matrix of cofactors, det(a) * inv(a).H without division: singular matrices are no exception."""
    u, s, vh, phase = factored(cp, a)
    one = cp.eye(a.shape[-1], dtype="bool")
    others = cp.where(one, cp.ones((), dtype=s.dtype), s[..., None, :]).prod(axis=-1)
    return cp.matmul(u * (phase[..., None] * others)[..., None, :], vh)


def cofactor_change(cp, a, e):
    """Derivative of the conjugated cofactors in direction e; exact for singular matrices.

    For a diagonal matrix s, with p[i, j] the product of all s but s[i] and s[j], the change of the adjugate is
    -e[i, j] p[i, j] off the diagonal and sum_k e[k, k] p[i, k] on it; the singular vectors bring any matrix to this.
    """
    u, s, vh, phase = factored(cp, a)
    one = cp.eye(a.shape[-1], dtype="bool")
    left_out = one[:, None, :] | one[None, :, :]
    p = cp.where(left_out, cp.ones((), dtype=s.dtype), s[..., None, None, :]).prod(axis=-1)
    p = cp.where(one, cp.zeros((), dtype=s.dtype), p)
    f = adj(cp, product(cp, adj(cp, u), e, adj(cp, vh)))
    on = cp.matmul(p.astype(f.dtype), diagonal(f)[..., None])
    change = cp.where(one, on, -p * f)
    return as_kind(phase[..., None, None] * product(cp, u, change, vh), a)


# ---- low rank --------------------------------------------------------------------------------------------------------

def low_rank(cp, a, u, s, vh, kept):
    return as_kind(cp.matmul(u * (s * kept)[..., None, :], vh), a)


def low_rank_change(cp, a, e, u, s, vh, kept):
    """Derivative in direction e; it holds only differences between kept and dropped values."""
    uh, v, none = adj(cp, u), adj(cp, vh), cp.zeros((), dtype=s.dtype)
    m = product(cp, uh, e, v)
    si, sj = s[..., :, None], s[..., None, :]
    pairs = kept[..., :, None] & cp.logical_not(kept)[..., None, :] & (si > 0)
    size = cp.where(pairs, si, cp.ones((), dtype=s.dtype))
    ratio = cp.where(pairs, sj / size, none)
    gap = broadened(cp, cp.where(pairs, (si - sj) / size, cp.ones((), dtype=s.dtype)),
                    tolerance(max(a.shape[-2:]), a.dtype)) / (1 + ratio)
    first, last = cp.where(pairs, gap, none), cp.where(pairs, ratio * gap, none)
    both = (kept[..., :, None] & kept[..., None, :]).astype(s.dtype)
    core = (first + first.swapaxes(-1, -2) + both) * m + (last + last.swapaxes(-1, -2)) * adj(cp, m)
    found = product(cp, u, core, vh)
    if a.shape[-2] > a.shape[-1]:
        found = found + cp.matmul((cp.matmul(e, v) - cp.matmul(u, m)) * kept[..., None, :], vh)
    elif a.shape[-2] < a.shape[-1]:
        found = found + cp.matmul(u * kept[..., None, :], cp.matmul(uh, e) - cp.matmul(m, vh))
    return as_kind(found, a, e)


def sketch_rank(cp, a, omega):
    """Rank, to rounding, of the samples a @ omega; the largest of a stack."""
    checked(cp, "rsvd", a)
    s = svdvals(cp, cp.matmul(a, omega), op="rsvd")
    if not s.size:
        return cp.zeros((), dtype="int64")
    rank = (s > tolerance(max(a.shape[-2:]), a.dtype) * s.max(axis=-1, keepdims=True)).sum(axis=-1)
    return rank.max().astype("int64")


def householder_product(cp, a, tau):
    """The first columns of the product of reflectors, the last one first."""
    m, n = a.shape[-2:]
    q = cp.broadcast_to(cp.eye(m, n, dtype=a.dtype), a.shape).copy()
    rows = cp.arange(m)
    for k in reversed(range(tau.shape[-1])):
        v = cp.where(rows > k, a[..., k], (rows == k).astype(a.dtype))[..., None]
        q = q - tau[..., k, None, None] * cp.matmul(v, cp.matmul(adj(cp, v), q))
    return q


def expm(cp, a):
    """By scaling and squaring a Taylor polynomial of degree 18, of matrices of norm at most 1/2."""
    checked(cp, "expm", a, square=True)
    if not a.size:
        return a
    norm = float(cp.abs(a).sum(axis=-2).max())
    if not np.isfinite(norm):
        raise LinAlgError("expm: the matrix is too large", op="expm")
    halvings = max(0, int(np.ceil(np.log2(norm))) + 1) if norm > 0 else 0
    x = a * float(2.0 ** -halvings)
    one = cp.broadcast_to(cp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    y = one
    for k in range(18, 0, -1):
        y = one + cp.matmul(x, y) / float(k)
    for _ in range(halvings):
        y = cp.matmul(y, y)
    return as_kind(y, a)


COMPOSITES = {f.__name__: f for f in (
    thin_svd, hermitian_eigh, polar, hermitian_sylvester, hermitian_divide, funm, funm_change, cofactor, cofactor_change,
    low_rank, low_rank_change, sketch_rank, householder_product, expm)}
"""Operation -> function."""
