"""Functions of `numpy` whose signature differs from that of their counterpart, or that are put together from several."""

import math

import numpy as np

from .. import operations
from .._core.eager import EagerTensor
from .._creation import asarray, ones_like, zeros_like
from .missing import no_argument
from .ufuncs import tensors

_P = operations.PUBLIC


def _tensor(x):
    return x if isinstance(x, EagerTensor) else asarray(x)


def _floating(x):
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def _refuse(function, **arguments):
    """Arguments that only NumPy has must be left out."""
    for name, value in arguments.items():
        if value is not None and value is not np._NoValue:
            raise no_argument(function, name)


# ---- values ----------------------------------------------------------------------------------------------------------

def angle(z, deg=False):
    phi = _P["angle"](_floating(z))
    return _P["scale"](phi, 180 / math.pi) if deg else phi


def real(val):
    return _P["real"](val)


def imag(val):
    return _P["imag"](val)


def copy(a, order="K", subok=False):
    if order not in ("K", "A"):
        return _P["reshape"](_P["ravel"](a, order=order), a.shape, order=order)
    return +a


def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, **kwargs):
    _refuse(np.clip, out=out, **kwargs)
    low, high = (a_min if min is None or min is np._NoValue else min), (a_max if max is None or max is np._NoValue else max)
    if isinstance(a, EagerTensor):
        return _P["clip"](a, *(None if v is np._NoValue else v for v in (low, high)))
    return _P["clip"](tensors(a, *(v for v in (low, high) if isinstance(v, EagerTensor)))[0], low, high)


def where(condition, x=None, y=None):
    if x is None and y is None:
        return _P["nonzero"](condition)
    return _P["where"](condition, x, y)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    if x.dtype.kind not in "fc":
        return +x
    if x.dtype.kind == "c":
        return _P["complex"](*(nan_to_num(part, nan=nan, posinf=posinf, neginf=neginf) for part in (x.real, x.imag)))
    limits = np.finfo(x.dtype)
    high, low = (float(limits.max) if posinf is None else posinf), (float(limits.min) if neginf is None else neginf)
    found = _P["where"](_P["isnan"](x), nan, x)
    return _P["where"](x == math.inf, high, _P["where"](x == -math.inf, low, found))


def select(condlist, choicelist, default=0):
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = _P["where"](condition, choice, result)
    return result


def real_if_close(a, tol=100):
    if a.dtype.kind != "c":
        return a
    limit = tol * np.finfo(a.dtype).eps if tol > 1 else tol
    return a.real if np.all(np.abs(a.imag.detach().numpy()) < limit) else a


# ---- reductions ------------------------------------------------------------------------------------------------------

def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    keepdims = keepdims is not np._NoValue and keepdims
    if weights is None:
        mean = _P["mean"](_floating(a), axis=axis, keepdims=keepdims)
        return (mean, ones_like(mean) * (a.size / max(mean.size, 1))) if returned else mean
    a, w = tensors(a, weights)
    if w.shape != a.shape and axis is not None:
        shape = [1] * a.ndim
        for k, n in zip(np.atleast_1d(axis), w.shape, strict=True):
            shape[k] = n
        w = w.reshape(shape)
    w = _P["broadcast_to"](w, a.shape)
    total = _P["sum"](w, axis=axis, keepdims=keepdims)
    mean = _P["sum"](a * w, axis=axis, keepdims=keepdims) / total
    return (mean, total) if returned else mean


def ptp(a, axis=None, out=None, keepdims=False):
    _refuse(np.ptp, out=out)
    keepdims = keepdims is not np._NoValue and keepdims
    return _P["max"](a, axis=axis, keepdims=keepdims) - _P["min"](a, axis=axis, keepdims=keepdims)


def _ignoring(name, neutral):
    """A reduction that takes NaN for its neutral element."""
    def reduction(a, axis=None, dtype=None, out=None, keepdims=False):
        _refuse(getattr(np, "nan" + name), out=out)
        a = a if dtype is None else a.astype(dtype)
        filled = _P["where"](_P["isnan"](a), neutral, a) if a.dtype.kind in "fc" else a
        more = {} if name.startswith("cum") else {"keepdims": keepdims is not np._NoValue and keepdims}
        return _P[name](filled, axis=axis, **more)

    return reduction


def _nan_extreme(name, neutral):
    fill = _ignoring(name, neutral)

    def extreme(a, axis=None, out=None, keepdims=False):
        found = fill(a, axis, None, out, keepdims)
        if a.dtype.kind not in "fc":
            return found
        empty = _P["all"](_P["isnan"](a), axis=axis, keepdims=keepdims is not np._NoValue and keepdims)
        return _P["where"](empty, math.nan, found)

    return extreme


def nanmean(a, axis=None, dtype=None, out=None, keepdims=False):
    _refuse(np.nanmean, out=out)
    keepdims = keepdims is not np._NoValue and keepdims
    a = _floating(a if dtype is None else a.astype(dtype))
    count = _P["sum"](_P["logical_not"](_P["isnan"](a)), axis=axis, keepdims=keepdims)
    return _ignoring("sum", 0.0)(a, axis, keepdims=keepdims) / count.astype(a.real.dtype)


def trapezoid(y, x=None, dx=1.0, axis=-1):
    y, = tensors(y) if x is None else tensors(y, x)[:1]
    n = y.shape[axis]
    low, high = ((slice(None),) * (axis % y.ndim) + (s,) for s in (slice(0, n - 1), slice(1, n)))
    if x is not None:
        x = tensors(x, y)[0]
        dx = _P["diff"](x) if x.ndim == 1 else _P["diff"](x, axis=axis)
        if x.ndim == 1:
            dx = dx.reshape((-1,) + (1,) * (y.ndim - 1 - axis % y.ndim))
    return _P["sum"](dx * (y[low] + y[high]) / 2.0, axis=axis)


def ediff1d(ary, to_end=None, to_begin=None):
    parts = [to_begin, _P["diff"](_P["ravel"](ary)), to_end]
    return _P["concatenate"]([_P["ravel"](_tensor(p)) for p in parts if p is not None])


# ---- structure -------------------------------------------------------------------------------------------------------

def _each(name):
    def function(*arys):
        found = [_P[name](a) for a in arys]
        return found[0] if len(found) == 1 else tuple(found)

    return function


def _atleast_3d(a):
    a = _tensor(a)
    if a.ndim < 3:
        a = _P["expand_dims"](_P["atleast_2d"](a), -1) if a.ndim != 1 else a.reshape((1, -1, 1))
    return a


def atleast_3d(*arys):
    found = [_atleast_3d(a) for a in arys]
    return found[0] if len(found) == 1 else tuple(found)


def broadcast_arrays(*args, subok=False):
    return _P["broadcast_arrays"](*args)


def append(arr, values, axis=None):
    if axis is None:
        arr, values = (_P["ravel"](_tensor(a)) for a in (arr, values))
    return _P["concatenate"]([arr, values], axis=axis or 0)


def column_stack(tup):
    return _P["concatenate"]([a.reshape((-1, 1)) if a.ndim < 2 else a for a in map(_tensor, tup)], axis=1)


def dstack(tup):
    return _P["concatenate"]([_atleast_3d(a) for a in tup], axis=2)


def block(arrays):
    """Nested lists: the innermost are joined along the last axis, the next ones along the one before."""
    def depth(x):
        return 1 + max(map(depth, x)) if type(x) is list else 0

    def leaves(x):
        return [y for item in x for y in leaves(item)] if type(x) is list else [_tensor(x)]

    levels = depth(arrays)
    rank = max([levels, *(a.ndim for a in leaves(arrays))])

    def joined(x, level):
        if type(x) is not list:
            x = _tensor(x)
            return x.reshape((1,) * (rank - x.ndim) + x.shape)
        return _P["concatenate"]([joined(y, level - 1) for y in x], axis=-level)

    return joined(arrays, levels)


def hsplit(ary, indices_or_sections):
    return _P["split"](ary, indices_or_sections, axis=0 if ary.ndim == 1 else 1)


def vsplit(ary, indices_or_sections):
    return _P["split"](ary, indices_or_sections, axis=0)


def dsplit(ary, indices_or_sections):
    return _P["split"](ary, indices_or_sections, axis=2)


def diag(v, k=0):
    return _P["embed_diag"](v, offset=k) if v.ndim == 1 else _P["diagonal"](v, offset=k)


def diagflat(v, k=0):
    return _P["embed_diag"](_P["ravel"](_tensor(v)), offset=k)


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    n = len(xi)
    xi = tensors(*xi)
    open_grid = [_P["ravel"](x).reshape((1,) * k + (-1,) + (1,) * (n - 1 - k)) for k, x in enumerate(xi)]
    if indexing == "xy" and n > 1:
        open_grid = [_P["swapaxes"](x, 0, 1) for x in open_grid]
    return tuple(open_grid) if sparse else tuple(_P["broadcast_arrays"](*open_grid))


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    _refuse(np.linspace, retstep=retstep or None, device=device)
    start, stop = (_floating(x) for x in tensors(start, stop))
    wide = max(start.ndim, stop.ndim)
    t = tensors(np.linspace(0.0, 1.0, num, endpoint=endpoint).reshape((-1,) + (1,) * wide), start)[0]
    found = start + (stop - start) * t.astype(np.result_type(start.real.dtype, stop.real.dtype))
    found = _P["moveaxis"](found, 0, axis)
    return found if dtype is None else found.astype(dtype)


def _moved(function):
    """A function that only moves elements: NumPy tells where they go, by the numbers of their places."""
    def call(a, *args, **kwargs):
        places = function(np.arange(a.size).reshape(a.shape), *args, **kwargs)
        return _P["take"](_P["ravel"](a), places)

    return call


def _masked(condition, a):
    return _P["masked_select"](_P["ravel"](_tensor(a)), _P["ravel"](_tensor(condition)).astype(bool))


def compress(condition, a, axis=None, out=None):
    _refuse(np.compress, out=out)
    kept = np.flatnonzero(condition.detach().numpy() if isinstance(condition, EagerTensor) else condition)
    return _P["take"](_P["ravel"](a) if axis is None else a, kept, axis=axis or 0)


# ---- products --------------------------------------------------------------------------------------------------------

def einsum(*operands, out=None, optimize=False, dtype=None, order="K", casting="safe"):
    _refuse(np.einsum, out=out)
    found = _P["einsum"](*operands, **({"optimize": optimize} if isinstance(optimize, (list, tuple)) else {}))
    return found if dtype is None else found.astype(dtype)


def einsum_path(*operands, optimize="greedy", einsum_call=False):
    return _P["einsum_path"](*operands)


def vdot(a, b):
    a, b = tensors(a, b)
    return _P["vecdot"](_P["ravel"](a), _P["ravel"](b))


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = (_P["moveaxis"](x, k, -1) for x, k in zip(tensors(a, b), (axisa, axisb), strict=True))
    return _P["moveaxis"](_P["cross"](a, b), -1, axisc)


def polyval(p, x):
    p, x = tensors(p, x)
    result = zeros_like(x)
    for coefficient in p:
        result = result * x + coefficient
    return result


TABLE = {f.__name__: f for f in (
    angle, append, atleast_3d, average, block, broadcast_arrays, clip, column_stack, compress, copy, cross, diag, diagflat,
    dsplit, dstack, ediff1d, einsum, einsum_path, hsplit, imag, linspace, meshgrid, nan_to_num, nanmean, polyval, ptp, real,
    real_if_close, select, trapezoid, vdot, vsplit, where)}
"""Name of the function in `numpy` -> callable with NumPy's signature."""

TABLE |= {name: _each(name) for name in ("atleast_1d", "atleast_2d")}
TABLE |= {name: _moved(getattr(np, name)) for name in ("delete", "resize", "rollaxis", "rot90")}
TABLE |= {"extract": _masked, "nansum": _ignoring("sum", 0), "nanprod": _ignoring("prod", 1),
          "nancumsum": _ignoring("cumsum", 0), "nancumprod": _ignoring("cumprod", 1), "nanmax": _nan_extreme("max", -math.inf),
          "nanmin": _nan_extreme("min", math.inf)}
