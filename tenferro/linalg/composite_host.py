"""Executors of the composites: polar factor, matrix functions, square root, low rank. All check their input."""

import warnings
from math import prod

import numpy as np

from ..errors import LinAlgError, NumericalError
from . import _routines, _schur, host


def adj(x):
    return x.swapaxes(-1, -2).conj()


def tolerance(n, dtype):
    return 10 * n * np.finfo(dtype).eps


def largest(x):
    """Largest absolute value along the last axis, 1 where all are zero."""
    m = np.abs(x).max(-1, keepdims=True, initial=0)
    return np.where(m == 0, m.dtype.type(1), m)


def broadened(d, tol):
    """1/d; where d is within `tol` of zero, d/(d**2 + tol)."""
    small = np.abs(d) <= tol
    return np.where(small, d / (d * d + tol), 1 / np.where(small, 1, d)).astype(d.dtype)


def thin_svd(a, op):
    host.matrices(op, a)
    return tuple(host.numpy_call(op, np.linalg.svd, a, full_matrices=False))


def hermitian_eigh(a, op):
    host.hermitian(op, a)
    return tuple(host.numpy_call(op, np.linalg.eigh, a))


# ---- polar factor ----------------------------------------------------------------------------------------------------

def polar(a, u, s, vh):
    return u @ vh


def hermitian_sylvester(p, q, w, v):
    """x with p @ x + x @ p = q, for p = v @ diag(w) @ v.H, w not negative; finite for singular p."""
    scale = largest(w)[..., None]
    sums = broadened((w[..., :, None] + w[..., None, :]) / scale, tolerance(w.shape[-1], w.dtype))
    return np.asarray(v @ (sums / scale * (adj(v) @ q @ v)) @ adj(v), q.dtype)


def hermitian_divide(b, p, w, v):
    """b @ inv(p), for p = v @ diag(w) @ v.H; finite for singular p."""
    scale = largest(w)
    inverse = broadened(w / scale, tolerance(w.shape[-1], w.dtype)) / scale
    return np.asarray((b @ (v * inverse[..., None, :])) @ adj(v), b.dtype)


# ---- functions of Hermitian matrices ---------------------------------------------------------------------------------

def with_kind(t, other):
    """The precision of one dtype, complex if either is."""
    return np.result_type(t, np.complex64) if other.kind == "c" else t


def funm(a, w, v, values, **params):
    bad = ~np.isfinite(values)
    if bad.any():
        raise LinAlgError(f"funm_hermitian: f is not finite at the eigenvalue {w[bad][0]:.3g}; shift the matrix or choose "
                          "another function", op="funm_hermitian")
    return np.asarray((v * values[..., None, :]) @ adj(v), with_kind(a.dtype, values.dtype))


def funm_change(a, e, w, v, divided, **params):
    """Derivative in direction e, of Daleckii and Krein (1965)."""
    if not np.isfinite(divided).all():
        raise LinAlgError("funm_hermitian (derivative): f has no finite derivative at an eigenvalue, or between equal "
                          "ones; shift the matrix or choose another function", op="funm_hermitian")
    return np.asarray(v @ (divided * (adj(v) @ e @ v)) @ adj(v), with_kind(e.dtype, divided.dtype))


def funm_second(a, e, h, w, v, divided):
    """Second derivative in directions e and h, by second divided differences."""
    if not np.isfinite(divided).all():
        raise LinAlgError("funm_hermitian (second derivative): f has no finite second derivative at an eigenvalue, or "
                          "between equal ones; shift the matrix or choose another function", op="funm_hermitian")
    e, h = (adj(v) @ x @ v for x in (e, h))
    core = sum(np.einsum("...ikj,...ik,...kj->...ij", divided, x, y) for x, y in ((e, h), (h, e)))
    dtype = with_kind(with_kind(np.result_type(e, h), v.dtype), divided.dtype)
    return np.asarray(v @ core @ adj(v), dtype)


# ---- general matrices ------------------------------------------------------------------------------------------------

def items(x):
    return x.reshape(prod(x.shape[:-2]), *x.shape[-2:])


def rooted(a):
    """Principal square root of one matrix; real for a real one."""
    from scipy.linalg import sqrtm

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = sqrtm(a)
        except np.linalg.LinAlgError as error:
            raise LinAlgError(f"sqrtm: {error}", op="sqrtm") from error
    y = np.asarray(found.real if a.dtype.kind == "f" else found, a.dtype)
    size = max(np.abs(a).max(), np.abs(y).max() ** 2 if np.isfinite(y).all() else 0)
    if np.isfinite(y).all() and np.abs(y @ y - a).max() <= 100 * tolerance(len(a), a.dtype) * size:
        return y
    if found.dtype.kind == "c" and a.dtype.kind == "f":
        wanted = np.result_type(a.dtype, np.complex64)
        raise NumericalError(f"sqrtm: a is real and has negative eigenvalues, so that its square root is complex; cast "
                             f"it to {wanted} first", op="sqrtm")
    raise LinAlgError("sqrtm: the matrix is singular and has no square root, or none that is accurate", op="sqrtm")


def sqrtm(a):
    host.matrices("sqrtm", a, square=True)
    if 0 in a.shape:
        return np.zeros_like(a)
    return np.stack([rooted(x) for x in items(a)]).reshape(a.shape)


SINGULAR = {
    "solve_sylvester": "a and -b have eigenvalues in common (to rounding), so that there is no solution or many",
    "sqrtm (derivative)": "the matrix is singular (to rounding), where its square root has no derivative",
}


def sylvester(a, b, q, op="solve_sylvester"):
    """Solution by Schur forms (Bartels and Stewart, 1972)."""
    host.matrices(op, a, "a", square=True)
    host.matrices(op, b, "b", square=True)
    host.matrices(op, q, "q")
    if 0 in q.shape:
        return np.empty(q.shape, q.dtype)
    r, u = _schur.schur(op, np.asarray(a, q.dtype))
    same = a.shape == b.shape and np.array_equal(a, b)
    s, v = (r, u) if same else _schur.schur(op, np.asarray(b, q.dtype))
    batch = q.shape[:-2]
    forms = (np.broadcast_to(t, (*batch, *t.shape[-2:])) for t in (r, s))
    y, scale, k = _schur.sylvester(*forms, adj(u) @ q @ v)
    if k >= 0:
        raise LinAlgError(f"{op}: {SINGULAR[op]}{_routines.place(k, batch)}", op=op.partition(" ")[0])
    return u @ (y / scale[..., None, None]) @ adj(v)


# ---- low rank --------------------------------------------------------------------------------------------------------
# f(s) is s for kept values and 0 for dropped ones. All derivatives hold only differences between kept and dropped ones.

def low_rank(a, u, s, vh, kept):
    return np.asarray((u * (s * kept)[..., None, :]) @ vh, a.dtype)


def across(kept):
    """Pairs of a kept and a dropped value."""
    return kept[..., :, None] & ~kept[..., None, :]


def low_rank_change(a, e, u, s, vh, kept):
    uh, v = adj(u), adj(vh)
    m = uh @ e @ v
    si, sj = s[..., :, None], s[..., None, :]
    pairs = across(kept) & (si > 0)
    size = np.where(pairs, si, 1)
    ratio = np.where(pairs, sj / size, 0)
    gap = broadened(np.where(pairs, (si - sj) / size, 1), tolerance(max(a.shape[-2:]), a.dtype)) / (1 + ratio)
    first, last = np.where(pairs, gap, 0), np.where(pairs, ratio * gap, 0)
    both = kept[..., :, None] & kept[..., None, :]
    core = (first + first.swapaxes(-1, -2) + both) * m + (last + last.swapaxes(-1, -2)) * adj(m)
    found = u @ core @ vh
    if a.shape[-2] > a.shape[-1]:
        found = found + ((e @ v - u @ m) * kept[..., None, :]) @ vh
    elif a.shape[-2] < a.shape[-1]:
        found = found + (u * kept[..., None, :]) @ (uh @ e - m @ vh)
    return np.asarray(found, np.result_type(a, e))


def dilated(u, s, vh, kept):
    """Eigenvectors (both halves), eigenvalues and kept ones of [[0, a], [a.H, 0]]; u and vh are square."""
    v, root = adj(vh), np.sqrt(s.dtype.type(0.5))
    k, m, n = s.shape[-1], u.shape[-1], v.shape[-1]
    none = [np.zeros((*x.shape[:-1], other), x.dtype) for x, other in ((u, n - k), (v, m - k))]
    top = np.concatenate([u[..., :k] * root, u[..., :k] * root, u[..., k:], none[0]], -1)
    bottom = np.concatenate([v[..., :k] * root, -v[..., :k] * root, none[1], v[..., k:]], -1)
    rest = np.zeros((*s.shape[:-1], m + n - 2 * k), s.dtype)
    return top, bottom, np.concatenate([s, -s, rest], -1), np.concatenate([kept, kept, rest != 0], -1)


def low_rank_second(a, e, h, kept):
    """Second derivative: that of a function of the Hermitian matrix [[0, a], [a.H, 0]].

    Its divided differences are -y/((x - y)(z - y)) for two kept and one dropped value, x/((x - y)(x - z)) for one kept
    and two dropped ones, and zero for three of a kind.
    """
    u, s, vh = host.numpy_call("low_rank", np.linalg.svd, a, full_matrices=True)
    top, bottom, w, mask = dilated(u, s, vh, kept)
    scale = largest(w)
    w, one = w / scale, mask.astype(w.dtype)
    tol = tolerance(w.shape[-1], w.dtype)
    gap = np.where(across(mask), broadened(w[..., :, None] - w[..., None, :], tol), 0)
    parts = [adj(top) @ x @ bottom for x in (e, h)]
    e, h = (x + adj(x) for x in parts)
    x, y = (w * one), (w * (1 - one))
    core = second_core(e, h, gap, x, y, one) + second_core(h, e, gap, x, y, one)
    return np.asarray(top @ (core / scale[..., None]) @ adj(bottom), np.result_type(a, parts[0], parts[1]))


def second_core(e, h, gap, x, y, one):
    """Sum over k of f[w_i, w_k, w_j] e[i, k] h[k, j]; x holds kept values, y dropped ones."""
    def rows(z):
        return z[..., :, None]

    def cols(z):
        return z[..., None, :]

    back = gap.swapaxes(-1, -2)
    kept, dropped = one, 1 - one
    ekk, hkk = (z * rows(kept) * cols(kept) for z in (e, h))
    edd, hdd = (z * rows(dropped) * cols(dropped) for z in (e, h))
    ekd, edk, hkd, hdk = gap * e, back * e, gap * h, back * h
    return (-gap * (ekk @ hkd) * cols(y) - (ekd * cols(y)) @ hdk - rows(y) * back * (edk @ hkk)
            + rows(x) * gap * (ekd @ hdd) + (edk * cols(x)) @ hkd + back * (edd @ hdk) * cols(x))


# ---- randomised decomposition ----------------------------------------------------------------------------------------

def sketch_rank(a, omega):
    """Rank, to rounding, of the samples a @ omega; the largest of a stack."""
    host.matrices("rsvd", a)
    s = host.numpy_call("rsvd", np.linalg.svdvals, a @ omega)
    rank = (s > tolerance(max(a.shape[-2:]), a.dtype) * s.max(-1, keepdims=True, initial=0)).sum(-1)
    return np.asarray(rank.max(initial=0), np.int64)
