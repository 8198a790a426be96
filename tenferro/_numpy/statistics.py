"""Statistics of `numpy`: reductions with ``where`` and ``initial``, order statistics, covariances."""

import math

import numpy as np

from .. import operations
from .missing import no_argument
from .ufuncs import tensors

_P = operations.PUBLIC
MISSING = np._NoValue


def given(x):
    """Whether NumPy was handed an argument."""
    return x is not None and x is not MISSING


def flag(keepdims):
    return keepdims is not MISSING and bool(keepdims)


def refuse(function, **arguments):
    for name, value in arguments.items():
        if given(value):
            raise no_argument(function, name)


def floating(a, dtype=None):
    if given(dtype):
        return a.astype(dtype)
    return a if a.dtype.kind in "fc" else a.astype(np.float64)


# ---- reductions over a part --------------------------------------------------------------------------------------------

NEUTRAL = {"sum": 0, "prod": 1, "any": False, "all": True}
COMBINE = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}


def masked(a, where, fill):
    """a where the mask is true, else a number; the shape is that of both together."""
    a, where = tensors(a, where)
    return _P["where"](where.astype(bool), a, fill)


def partial_reduction(function, plain, name):
    """A reduction of NumPy that takes ``where`` and ``initial``; `plain` computes it without them."""
    neutral = NEUTRAL.get(name)

    def reduction(a, *args, initial=MISSING, where=MISSING, **kwargs):
        start, part = initial is not MISSING, where is not MISSING and where is not True
        if not start and not part:
            return plain(a, *args, **kwargs)
        if start and name not in COMBINE:
            raise no_argument(function, "initial")
        if part and neutral is None and not start:
            raise ValueError(f"numpy.{name}: there is no largest or smallest of nothing; with where= give initial=, too")
        if part:
            a = masked(a, where, initial if neutral is None else neutral)
        found = plain(a, *args, **kwargs)
        return _P[COMBINE[name]](found, initial) if start else found

    return reduction


def count(where, a, axis, keepdims):
    """How many elements of a broadcast mask are true, in a real dtype."""
    inside = _P["broadcast_to"](where, np.broadcast_shapes(where.shape, a.shape))
    return _P["count_nonzero"](inside, axis=axis, keepdims=keepdims).astype(a.real.dtype)


def masked_mean(a, where, axis, keepdims):
    a, where = tensors(floating(a), where)
    return _P["sum"](masked(a, where, 0), axis=axis, keepdims=keepdims) / count(where, a, axis, keepdims)


def masked_var(a, where, axis, ddof, keepdims):
    a, where = tensors(floating(a), where)
    d = masked(a, where, 0) - masked_mean(masked(a, where, 0), where, axis, True)
    d = masked(d, where, 0)
    squares = _P["square"](d.real) + _P["square"](d.imag) if d.dtype.kind == "c" else d * d
    return _P["sum"](squares, axis=axis, keepdims=keepdims) / (count(where, a, axis, keepdims) - ddof)


def partial_mean(plain):
    def mean(a, axis=None, dtype=None, out=None, keepdims=MISSING, *, where=MISSING):
        if not given(where) or where is True:
            return plain(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims)
        refuse(np.mean, out=out)
        return masked_mean(floating(a, dtype), where, axis, flag(keepdims))

    return mean


def partial_var(function, plain):
    def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=MISSING, *, where=MISSING, mean=MISSING, correction=MISSING):
        refuse(function, mean=mean)
        if not given(where) or where is True:
            more = {} if correction is MISSING else {"correction": correction}
            return plain(a, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, **more)
        refuse(function, out=out)
        found = masked_var(floating(a, dtype), where, axis, ddof if correction is MISSING else correction, flag(keepdims))
        return _P["sqrt"](found) if function is np.std else found

    return var


def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=MISSING, *, where=MISSING, mean=MISSING, correction=MISSING):
    refuse(np.nanvar, out=out, mean=mean)
    a = floating(a, dtype)
    there = _P["logical_not"](_P["isnan"](a))
    if given(where) and where is not True:
        there = _P["logical_and"](there, tensors(where, a)[0].astype(bool))
    return masked_var(a, there, axis, ddof if correction is MISSING else correction, flag(keepdims))


def nanstd(a, *args, **kwargs):
    return _P["sqrt"](nanvar(a, *args, **kwargs))


# ---- order statistics --------------------------------------------------------------------------------------------------

PLACES = {"linear": (1.0, 1.0), "weibull": (0.0, 0.0), "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
          "hazen": (0.5, 0.5), "interpolated_inverted_cdf": (0.0, 1.0)}
"""Method of Hyndman and Fan (1996) -> alpha and beta of the place ``n q + alpha + q (1 - alpha - beta) - 1``."""

STEPS = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}


def places(q, n, method):
    """The two places in a sorted axis of n elements that a quantile lies between, and how far it is from the first."""
    if method in PLACES:
        alpha, beta = PLACES[method]
        v = np.clip(n * q + alpha + q * (1 - alpha - beta) - 1, 0, n - 1)
    elif method in STEPS:
        v = STEPS[method](q * (n - 1))
    elif method == "midpoint":
        v = q * (n - 1)
        v = (np.floor(v) + np.ceil(v)) / 2
    else:
        raise ValueError(f"numpy.quantile: the method {method!r} is not supported for eager tensors; use one of "
                         f"{', '.join([*PLACES, *STEPS, 'midpoint'])}")
    low = np.floor(v).astype(np.int64)
    return low, np.minimum(low + 1, n - 1), v - low


def last_axis(a, axis):
    """The axes of a reduction as one, the last; and the shape of the others with ones."""
    axes = tuple(range(a.ndim)) if axis is None else tuple(k % a.ndim for k in np.atleast_1d(axis))
    left = [k for k in range(a.ndim) if k not in axes]
    shape = tuple(1 if k in axes else a.shape[k] for k in range(a.ndim))
    return _P["transpose"](a, (*left, *axes)).reshape((*(a.shape[k] for k in left), -1)), shape


def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
             interpolation=None):
    """Quantiles; derivatives go with the sorted elements. NaN where a NaN is among them."""
    refuse(np.quantile, out=out, weights=weights)
    q = np.asarray(q, np.float64)
    if not np.all((q >= 0) & (q <= 1)):
        raise ValueError("numpy.quantile: quantiles lie in the range [0, 1]")
    a, = tensors(a)
    a = floating(a)
    rows, shape = last_axis(a, axis)
    if rows.shape[-1] == 0:
        raise ValueError("numpy.quantile: nothing has no quantiles; the axis has no elements")
    ordered = _P["sort"](rows, axis=-1)
    low, high, part = places(q, rows.shape[-1], interpolation if given(interpolation) else method)
    x, y = (_P["take"](ordered, k.reshape(-1), axis=-1) for k in (low, high))
    part = part.reshape(-1).astype(a.real.dtype)
    found = x + (y - x) * part if part.any() else x
    found = _P["where"](_P["isnan"](ordered[..., -1:]), math.nan, found)
    found = _P["moveaxis"](found, -1, 0)
    return found.reshape(q.shape + (shape if flag(keepdims) else found.shape[1:]))


def percentile(a, q, *args, **kwargs):
    return quantile(a, np.asarray(q, np.float64) / 100, *args, **kwargs)


def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    refuse(np.median, out=out)
    return quantile(a, 0.5, axis, keepdims=keepdims)


# ---- covariances -------------------------------------------------------------------------------------------------------

def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """Covariance matrix of variables in rows."""
    refuse(np.cov, fweights=fweights, aweights=aweights)
    parts = [x if x.ndim == 2 else x.reshape((1, -1)) for x in tensors(*([m] if y is None else [m, y]))]
    parts = [floating(x if rowvar or x.shape[0] == 1 else x.T, dtype) for x in parts]
    x = _P["concatenate"](parts, axis=0) if len(parts) > 1 else parts[0]
    x = x - _P["mean"](x, axis=1, keepdims=True)
    c = _P["matmul"](x, _P["conj"](x.T)) / (x.shape[1] - ((0 if bias else 1) if ddof is None else ddof))
    return c.reshape(()) if c.shape == (1, 1) else c


def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    """Correlation coefficients of variables in rows."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = _P["sqrt"](_P["diagonal"](c).real)
    return c / spread / spread.reshape((-1, 1))


TABLE = {f.__name__: f for f in (corrcoef, cov, median, nanstd, nanvar, percentile, quantile)}
"""Name of the function in `numpy` -> callable with NumPy's signature."""


def reductions(calls):
    """The reductions that take ``where`` and ``initial``, over those that do not."""
    names = {"sum": "sum", "prod": "prod", "max": "max", "amax": "max", "min": "min", "amin": "min", "any": "any", "all": "all"}
    table = {getattr(np, n): partial_reduction(getattr(np, n), calls[getattr(np, n)], k) for n, k in names.items()}
    table[np.mean] = partial_mean(calls[np.mean])
    table.update({f: partial_var(f, calls[f]) for f in (np.var, np.std)})
    return table

