"""``__array_ufunc__``: NumPy's ufuncs and their methods, by a table from ufunc to function of this library."""

import math
import operator

import numpy as np

from .. import operations
from .._core.eager import EagerTensor
from .._core.tensor import Tensor
from ..errors import DTypeMismatchError
from .missing import closest, no_argument, no_counterpart

_P = operations.PUBLIC
_OPERANDS = (EagerTensor, int, float, complex, np.ndarray, np.generic, list, tuple, Tensor)


# ---- ufuncs without a function of the same name ----------------------------------------------------------------------

def tensors(*xs):
    """Operands, at least one of them a tensor, as tensors of its runtime; Python scalars are weak."""
    first = next(x for x in xs if isinstance(x, EagerTensor))
    return [x if isinstance(x, EagerTensor) else first.runtime.constant_from(_array(x, first.dtype)) for x in xs]


def _array(x, dtype):
    weak = isinstance(x, (int, float, complex)) and not isinstance(x, np.generic)
    return np.asarray(x, np.result_type(dtype, x) if weak else None)


def _operator(f):
    """An operator between tensors; with an array on the left it would come back to the ufunc."""
    return lambda *xs: f(*tensors(*xs))


def _real(x, op):
    """A real operand in a floating dtype."""
    if x.dtype.kind == "c":
        raise DTypeMismatchError(f"{op} is not defined for complex numbers; take the real or imaginary part", op=op,
                                 expected="real", actual=x.dtype)
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _fabs(x):
    return _P["abs"](_real(x, "fabs"))


def _degrees(x):
    return _P["scale"](_real(x, "degrees"), 180 / math.pi)


def _radians(x):
    return _P["scale"](_real(x, "radians"), math.pi / 180)


def _float_power(x, y):
    x, y = tensors(x, y)
    wide = np.complex128 if "c" in (x.dtype.kind, y.dtype.kind) else np.float64
    return _P["pow"](x.astype(wide), y.astype(wide))


def _divmod(x, y):
    return _P["floor_divide"](x, y), _P["remainder"](x, y)


def _modf(x):
    x = _real(x, "modf")
    return _P["where"](_P["isinf"](x), _P["sign"](x) * 0.0, _P["fmod"](x, 1.0)), _P["trunc"](x)


def _rint(x):
    return _P["round"](x if x.dtype.kind in "fc" else x.astype(np.float64))


def _signbit(x):
    return x.runtime.constant_from(np.signbit(x.detach().numpy()))


def _copysign(x, y):
    x, y = tensors(x, y)
    x = _real(x, "copysign")
    sign = _signbit(y)
    return _P["where"](_P["equal"](_signbit(x), sign), x, -x).astype(np.result_type(x.dtype, y.dtype))


def _heaviside(x, y):
    x, y = tensors(x, y)
    x, y = (_real(t.astype(np.result_type(x.dtype, y.dtype)), "heaviside") for t in (x, y))
    step = _P["where"](_P["isnan"](x), x, (x > 0).astype(x.dtype))
    return _P["where"](x == 0, y, step)


def _ignoring_nan(f):
    def extreme(x, y):
        x, y = tensors(x, y)
        where, isnan = _P["where"], _P["isnan"]
        return where(isnan(x), y, where(isnan(y), x, f(x, y)))

    return extreme


def _logaddexp2(x, y):
    return _P["scale"](_P["logaddexp"](x * math.log(2), y * math.log(2)), 1 / math.log(2))


def _matvec(a, x):
    a, x = tensors(a, x)
    return _P["squeeze"](_P["matmul"](a, x[..., None]), -1)


def _vecmat(x, a):
    x, a = tensors(x, a)
    return _P["squeeze"](_P["matmul"](_P["conj"](x)[..., None, :], a), -2)


SAME = """absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt ceil conjugate cos cosh divide equal exp exp2
    expm1 floor floor_divide fmod greater greater_equal hypot isfinite isinf isnan less less_equal log log10 log1p log2
    logaddexp logical_and logical_not logical_or logical_xor matmul maximum minimum multiply negative not_equal power reciprocal
    remainder sign sin sinh sqrt square subtract tan tanh trunc vecdot""".split()
"""Ufuncs whose counterpart has the same name."""

OTHERS = {
    "bitwise_and": _operator(operator.and_), "bitwise_or": _operator(operator.or_), "bitwise_xor": _operator(operator.xor),
    "copysign": _copysign, "deg2rad": _radians, "degrees": _degrees, "divmod": _divmod, "fabs": _fabs,
    "float_power": _float_power, "fmax": _ignoring_nan(_P["maximum"]), "fmin": _ignoring_nan(_P["minimum"]),
    "heaviside": _heaviside, "invert": _operator(operator.invert), "left_shift": _operator(operator.lshift),
    "logaddexp2": _logaddexp2, "matvec": _matvec, "modf": _modf, "positive": operator.pos, "rad2deg": _degrees,
    "radians": _radians, "right_shift": _operator(operator.rshift), "rint": _rint, "signbit": _signbit, "vecmat": _vecmat,
}
"""Ufuncs that are put together from several functions, or are operators."""

UFUNCS = {getattr(np, name): f for name, f in ({name: _P[name] for name in SAME} | OTHERS).items() if hasattr(np, name)}
"""Ufunc of NumPy -> function of this library."""

SPECIAL = {"cbrt": "cbrt", "erf": "erf", "erfc": "erfc", "exp2": "exp2", "expit": "sigmoid", "expm1": "expm1",
           "gammaln": "lgamma", "log1p": "log1p", "psi": "digamma"}
"""Names of ufuncs of `scipy.special` -> operation. NumPy and SciPy tell apart only which object it is."""

_REDUCE = {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min", np.logical_and: "all",
           np.logical_or: "any", np.logaddexp: "logsumexp"}
_ACCUMULATE = {np.add: "cumsum", np.multiply: "cumprod"}
_DEFAULTS = {"out": None, "where": True, "casting": "same_kind", "order": "K", "subok": True, "dtype": None, "signature": None,
             "initial": np._NoValue}
_ADVICE = {"out": "tensors are immutable: use the result", "where": "use tenferro.where on the result",
           "initial": "combine the result with it"}


# ---- calls -----------------------------------------------------------------------------------------------------------

def array_ufunc(self, ufunc, method, *inputs, **kwargs):
    """NumPy's ufuncs: ``np.exp(x)``, ``array * x``, ``np.add.reduce(x)``."""
    for x in inputs:
        if type(x) is not EagerTensor and not isinstance(x, _OPERANDS):
            return NotImplemented
    if not kwargs and method == "__call__":
        return (UFUNCS.get(ufunc) or _other(ufunc))(*inputs)
    out = kwargs.get("out")
    if out is not None or method == "at":
        return _into_arrays(ufunc, method, inputs, out, kwargs)
    options = {k: v for k, v in kwargs.items() if k not in _DEFAULTS or not _is_default(k, v)}
    return _METHODS[method](ufunc, *inputs, **options)


def _other(ufunc):
    """The function for a ufunc that is not NumPy's."""
    if ufunc.__name__ not in SPECIAL or getattr(np, ufunc.__name__, None) is ufunc:
        raise no_counterpart(ufunc)
    return _P[SPECIAL[ufunc.__name__]]


def _is_default(name, value):
    return value is _DEFAULTS[name] or (isinstance(value, (str, bool)) and value == _DEFAULTS[name])


def _into_arrays(ufunc, method, inputs, out, kwargs):
    """Results that are written into NumPy's arrays: nothing tracks them, so the operands must be untracked."""
    targets = inputs[:1] if method == "at" else out
    name = "at" if method == "at" else "out="
    if any(isinstance(t, EagerTensor) for t in targets):
        advice = "tenferro.scatter_add" if method == "at" else "x = x + y, or x += y on a result"
        raise TypeError(f"numpy.{ufunc.__name__}: {name} cannot write into an eager tensor, which is immutable; use {advice}")
    if any(isinstance(x, EagerTensor) and x.tracks_grad for x in inputs):
        raise TypeError(f"numpy.{ufunc.__name__}: {name} would lose the trace of a tracked tensor in a NumPy array; use the "
                        "result, or pass x.detach()")
    where = kwargs.get("where")
    if isinstance(where, EagerTensor):
        kwargs["where"] = where.detach().numpy()
    return getattr(ufunc, method)(*[x.numpy() if isinstance(x, EagerTensor) else x for x in inputs], **kwargs)


def _call(ufunc, *inputs, dtype=None, **options):
    f = UFUNCS.get(ufunc) or _other(ufunc)
    if ufunc is np.vecdot and "axis" in options:
        return f(*inputs, axis=options["axis"])
    for name in options:
        raise no_argument(ufunc, name, _ADVICE.get(name, "leave it out"))
    if dtype is not None:
        inputs = [x.astype(dtype) for x in tensors(*inputs)]
    return f(*inputs)


def _reduce(ufunc, x, axis=0, keepdims=False, dtype=None, **options):
    if ufunc not in _REDUCE:
        raise _no_method(ufunc, "reduce", "those of " + ", ".join(f.__name__ for f in _REDUCE))
    for name in options:
        raise no_argument(ufunc.reduce, name, _ADVICE.get(name, "leave it out"))
    x, = tensors(x)
    return _P[_REDUCE[ufunc]](x if dtype is None else x.astype(dtype), axis=axis, keepdims=keepdims)


def _accumulate(ufunc, x, axis=0, dtype=None, **options):
    if ufunc not in _ACCUMULATE:
        raise _no_method(ufunc, "accumulate", "tenferro.cumsum and tenferro.cumprod")
    for name in options:
        raise no_argument(ufunc.accumulate, name)
    return _P[_ACCUMULATE[ufunc]](x, axis=axis, dtype=dtype)


def _outer(ufunc, x, y, **options):
    x, y = tensors(x, y)
    return _call(ufunc, _P["reshape"](x, x.shape + (1,) * y.ndim), y, **options)


def _reduceat(ufunc, *inputs, **options):
    raise _no_method(ufunc, "reduceat", "tenferro.scatter_add into zeros")


def _no_method(ufunc, method, instead):
    if method == "reduce" and ufunc not in UFUNCS:
        instead = closest(ufunc.__name__)
    return TypeError(f"numpy.{ufunc.__name__}.{method} has no counterpart for eager tensors; what comes closest is {instead}")


_METHODS = {"__call__": _call, "reduce": _reduce, "accumulate": _accumulate, "outer": _outer, "reduceat": _reduceat}
