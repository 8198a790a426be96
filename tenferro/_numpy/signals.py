"""Sampled functions of `numpy`: differences, interpolation, convolution, phases, polynomials."""

import math

import numpy as np

from .. import operations
from .._core.eager import EagerTensor
from .._creation import asarray
from .statistics import floating, refuse
from .ufuncs import tensors

_P = operations.PUBLIC


def _at(a, axis, index):
    return a[(slice(None),) * axis + (index,)]


def _values(x):
    return x.detach().numpy() if isinstance(x, EagerTensor) else np.asarray(x)


# ---- differences -------------------------------------------------------------------------------------------------------

def _steps(spacing, a, axes):
    """For each axis a number, or the distances between coordinates, shaped to go along the axis."""
    spacing = list(spacing) or [1.0]
    if len(spacing) == 1 and np.ndim(spacing[0]) == 0:
        spacing *= len(axes)
    if len(spacing) != len(axes):
        raise TypeError(f"numpy.gradient: {len(spacing)} spacings were given for {len(axes)} axes")
    for k, h in zip(axes, spacing, strict=True):
        if getattr(h, "ndim", np.ndim(h)) == 0:
            yield h
        else:
            h, = tensors(h) if isinstance(h, EagerTensor) else tensors(np.asarray(h), a)[:1]
            if h.shape != (a.shape[k],):
                raise ValueError(f"numpy.gradient: axis {k} has {a.shape[k]} elements, its coordinates have shape {h.shape}")
            yield _P["diff"](floating(h)).reshape((-1,) + (1,) * (a.ndim - 1 - k))


def _inside(f, h, axis):
    """Second-order differences at the inner points."""
    left, mid, right = (_at(f, axis, s) for s in (slice(None, -2), slice(1, -1), slice(2, None)))
    if getattr(h, "ndim", 0) == 0:
        return (right - left) / (2.0 * h)
    p, q = h[:-1], h[1:]
    return -q / (p * (p + q)) * left + (q - p) / (p * q) * mid + p / (q * (p + q)) * right


def _edge(f, h, axis, order, sign):
    """One-sided differences at the first (sign 1) or last (sign -1) point."""
    where = [slice(0, 1), slice(1, 2), slice(2, 3)] if sign > 0 else [slice(-1, None), slice(-2, -1), slice(-3, -2)]
    x, y = (_at(f, axis, s) for s in where[:2])
    even = getattr(h, "ndim", 0) == 0
    p = h if even else h[:1] if sign > 0 else h[-1:]
    if order == 1:
        return (y - x) / p * sign
    z = _at(f, axis, where[2])
    q = h if even else h[1:2] if sign > 0 else h[-2:-1]
    return (-(2.0 * p + q) / (p * (p + q)) * x + (p + q) / (p * q) * y - p / (q * (p + q)) * z) * sign


def gradient(f, *varargs, axis=None, edge_order=1):
    """Differences of second order inside, of first or second at the edges, with NumPy's formulas."""
    f = floating(tensors(f)[0])
    axes = tuple(range(f.ndim)) if axis is None else tuple(k % f.ndim for k in np.atleast_1d(axis))
    if edge_order not in (1, 2):
        raise ValueError("numpy.gradient: edge_order is 1 or 2")
    found = []
    for k, h in zip(axes, _steps(varargs, f, axes), strict=True):
        if f.shape[k] < edge_order + 1:
            raise ValueError(f"numpy.gradient: axis {k} has {f.shape[k]} elements; at least {edge_order + 1} are needed")
        found.append(_P["concatenate"]([_edge(f, h, k, edge_order, 1), _inside(f, h, k), _edge(f, h, k, edge_order, -1)],
                                       axis=k))
    return found[0] if len(axes) == 1 else tuple(found)


# ---- interpolation -----------------------------------------------------------------------------------------------------

def interp(x, xp, fp, left=None, right=None, period=None):
    """Piecewise linear interpolation, differentiable in `x`, `xp` and `fp`; at a point the slope is that to its right."""
    x, xp, fp = tensors(x, xp, fp)
    x, xp, fp = floating(x), floating(xp), floating(fp)
    if xp.ndim != 1 or xp.shape != fp.shape or xp.shape[0] == 0:
        raise ValueError(f"numpy.interp: xp and fp are vectors of one length, not of shapes {xp.shape} and {fp.shape}")
    if period is not None:
        period = abs(period)
        x, xp = x % period, xp % period
        order = np.argsort(_values(xp))
        xp, fp = xp[order], fp[order]
        xp = _P["concatenate"]([xp[-1:] - period, xp, xp[:1] + period])
        fp = _P["concatenate"]([fp[-1:], fp, fp[:1]])
    n = xp.shape[0]
    if n == 1:
        found = _P["broadcast_to"](fp[0], x.shape)
    else:
        k = np.clip(np.searchsorted(_values(xp), _values(x), side="right") - 1, 0, n - 2)
        a, b = _P["take"](xp, k), _P["take"](fp, k)
        found = b + (x - a) * ((_P["take"](fp, k + 1) - b) / (_P["take"](xp, k + 1) - a))
    found = _P["where"](x < xp[0], fp[0] if left is None else left, found)
    return _P["where"](x > xp[-1], fp[-1] if right is None else right, found)


def unwrap(p, discont=None, axis=-1, *, period=2 * math.pi):
    """Phases without jumps. What is added is piecewise constant, so derivatives are those of `p`."""
    values = _values(p)
    return p + (np.unwrap(values, discont, axis, period=period) - values)


# ---- convolution -------------------------------------------------------------------------------------------------------

DIRECT = 1 << 16
"""Products up to which sums are formed directly; beyond that by Fourier transforms."""


def convolve(a, v, mode="full"):
    """Discrete convolution of two vectors."""
    a, v = (_P["atleast_1d"](x) for x in tensors(a, v))
    if a.ndim != 1 or v.ndim != 1 or 0 in (a.size, v.size):
        raise ValueError(f"numpy.convolve: a and v are vectors with elements, not of shapes {a.shape} and {v.shape}")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"numpy.convolve: mode is 'full', 'same' or 'valid', not {mode!r}")
    if v.size > a.size:
        a, v = v, a
    n, m = a.size, v.size
    if n * m <= DIRECT or a.dtype.kind not in "fc" or v.dtype.kind not in "fc":
        padded = _P["pad"](a, (m - 1, m - 1))
        windows = _P["take"](padded, np.arange(n + m - 1)[:, None] + np.arange(m))
        full = _P["matmul"](windows, v[::-1])
    else:
        from .. import fft
        real = a.dtype.kind == v.dtype.kind == "f"
        to, back = (fft.rfft, fft.irfft) if real else (fft.fft, fft.ifft)
        full = back(to(a, n + m - 1) * to(v, n + m - 1), n + m - 1)
    first, length = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}[mode]
    return full[first:first + length]


def correlate(a, v, mode="valid"):
    """Cross-correlation of two vectors."""
    a, v = (_P["atleast_1d"](x) for x in tensors(a, v))
    if v.size > a.size:
        return _P["conj"](convolve(_P["conj"](a[::-1]), v, mode)[::-1]) if mode != "same" else _same(a, v)
    return convolve(a, _P["conj"](v[::-1]), mode)


def _same(a, v):
    """The middle part, as long as the longer vector v."""
    full = convolve(a, _P["conj"](v[::-1]), "full")
    first = a.size // 2
    return full[first:first + v.size]


# ---- functions and polynomials -------------------------------------------------------------------------------------------

def sinc(x):
    """``sin(pi x) / (pi x)``; by its series around 0, so that all derivatives are right there."""
    y = floating(tensors(x)[0]) * math.pi
    near = _P["abs"](y) < 0.5
    square = y * y
    series = 1.0
    for k in range(16, 0, -2):
        series = 1.0 - square / float(k * (k + 1)) * series
    safe = _P["where"](near, 1.0, y)
    return _P["where"](near, series, _P["sin"](safe) / safe)


def vander(x, N=None, increasing=False):
    """Vandermonde matrix of a vector."""
    x, = tensors(x)
    n = x.size if N is None else N
    columns = [x ** k for k in range(n)]
    return _P["stack"](columns if increasing else columns[::-1], axis=1)


def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """Coefficients of the polynomial that fits best, highest power first; the columns are scaled as NumPy does."""
    refuse(np.polyfit, full=full or None, cov=cov or None)
    from ..linalg import lstsq
    x, y = tensors(x, y)
    lhs, rhs = vander(floating(x), deg + 1), floating(y)
    if w is not None:
        w = asarray(w)
        lhs, rhs = lhs * w.reshape((-1, 1)), rhs * (w if rhs.ndim == 1 else w.reshape((-1, 1)))
    scale = _P["sqrt"](_P["sum"](lhs * lhs, axis=0))
    found = lstsq(lhs / scale, rhs, rcond=rcond)[0]
    return found / (scale if found.ndim == 1 else scale.reshape((-1, 1)))


TABLE = {f.__name__: f for f in (convolve, correlate, gradient, interp, polyfit, sinc, unwrap, vander)}
"""Name of the function in `numpy` -> callable with NumPy's signature."""
