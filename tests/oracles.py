"""NumPy's and SciPy's functions that are the oracles of operations, found by name or given here."""

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.special as special

import tenferro as tfr

CIRCLE = np.exp(2j * np.pi * np.arange(32) / 32)


def logsumexp(x, axis=None):
    return np.log(np.sum(np.exp(x), axis=axis))


def polygamma(n, x):
    """For complex numbers by Cauchy's formula on a circle."""
    if x.dtype.kind != "c":
        return special.polygamma(n, x)
    assert n == 1
    r = 0.25
    return np.mean(special.digamma(x[..., None] + r * CIRCLE) / (r * CIRCLE), axis=-1)


def descending(f):
    def g(x, axis=-1, descending=False):
        if not descending:
            return f(x, axis=axis)
        return np.flip(np.sort(x, axis=axis), axis) if f is np.sort else f(-x, axis=axis)
    return g


def scattered(at):
    def g(x, i, updates):
        y = x.copy()
        if at:
            np.add.at(y, i, updates)
        else:
            for k, u in zip(i, updates):
                y[k] = u
        return y
    return g


def index_set(x, i, v):
    y = x.copy()
    y[i] = v
    return y


def embed_diag(x):
    return x[..., :, None] * np.eye(x.shape[-1], dtype=x.dtype)


def layer_norm(x, weight, bias):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(np.mean(np.abs(x - mean) ** 2, -1, keepdims=True) + 1e-5) * weight + bias


def masked(f):
    def g(x, mask):
        return f(np.where(mask, x, -np.inf), -1)
    return g


def householder_product(a, tau):
    q = np.eye(a.shape[0], dtype=a.dtype)
    for k, t in enumerate(tau):
        v = np.where(np.arange(a.shape[0]) > k, a[:, k], np.arange(a.shape[0]) == k)
        q = q @ (np.eye(a.shape[0]) - t * np.outer(v, v.conj()))
    return q[:, :a.shape[1]]


def funm_hermitian(a, f):
    assert f is tfr.sin
    w, v = np.linalg.eigh(a)
    return v * np.sin(w) @ v.conj().T


def rsvd(a, k):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return u[:, :k], s[:k], vh[:k]


def low_rank(a, k):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return u[..., :k] * s[..., None, :k] @ vh[..., :k, :]


GIVEN = {
    "rem": np.remainder,
    "complex": lambda re, im: re + 1j * im,
    "scale": np.multiply,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "lgamma": special.loggamma,
    "polygamma": polygamma,
    "clamp": np.clip,
    "convert": lambda x, dtype: x.astype(dtype),
    "cast": lambda x, dtype: x.astype(dtype),
    "logsumexp": logsumexp,
    "reduce_var": np.var,
    "sort": descending(np.sort),
    "argsort": descending(np.argsort),
    "topk": lambda x, k: (np.flip(np.sort(x), -1)[..., :k], np.flip(np.argsort(x), -1)[..., :k]),
    "broadcast_in_dim": lambda x, shape, places: np.broadcast_to(x.T[:, None], shape),
    "slice": lambda x, a, b, c: x[a[0]:b[0]:c[0], a[1]:b[1]:c[1]],
    "dynamic_slice": lambda x, a, n: x[a[0]:a[0] + n[0], a[1]:a[1] + n[1]],
    "reverse": np.flip,
    "extract_diag": np.diagonal,
    "embed_diag": embed_diag,
    "gather": lambda x, i, axis: np.take(x, i, axis),
    "scatter": scattered(False),
    "scatter_add": scattered(True),
    "index_set": index_set,
    "index_select": lambda x, axis, i: np.take(x, i, axis),
    "masked_select": lambda x, mask: x[mask],
    "dot_general": lambda a, b, contracting, batch: np.einsum("bij,bki->bjk", a, b),
    "sigmoid": special.expit,
    "silu": lambda x: x * special.expit(x),
    "softplus": lambda x: np.logaddexp(x, 0),
    "gelu": lambda x: x * special.ndtr(x),
    "relu": lambda x: np.maximum(x, 0),
    "softmax": lambda x: special.softmax(x, -1),
    "log_softmax": lambda x: special.log_softmax(x, -1),
    "layer_norm": layer_norm,
    "rms_norm": lambda x, weight: x / np.sqrt(np.mean(np.abs(x) ** 2, -1, keepdims=True) + 1e-6) * weight,
    "masked_softmax": masked(special.softmax),
    "masked_log_softmax": masked(special.log_softmax),
    "linalg.triangular_solve": scipy.linalg.solve_triangular,
    "linalg.householder_product": householder_product,
    "linalg.funm_hermitian": funm_hermitian,
    "linalg.rsvd": rsvd,
    "linalg.low_rank": low_rank,
}


def oracle(name):
    """The function that gives the values of an operation, or None."""
    if name in GIVEN:
        return GIVEN[name]
    place, _, short = name.rpartition(".")
    names = [short, *(alias for alias, op in tfr.operations.ALIASES.items() if op == short)]
    homes = {"linalg": (np.linalg, scipy.linalg), "fft": (scipy.fft,), "": (np, special)}[place]
    return next((getattr(home, n) for home in homes for n in names if hasattr(home, n)), None)
