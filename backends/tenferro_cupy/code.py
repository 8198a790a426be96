"""CUDA C++ of elementwise operations: what the steps of generated kernels are.

A row has the expressions of an operation by kind of the dtype of its last argument: ``b`` bool, ``i`` signed integers, ``u``
unsigned ones, ``f`` real numbers, ``c`` complex ones. In an expression ``x``, ``y`` and ``z`` are the arguments, ``T`` is the
type of the last one and ``R`` that of the result. Functions named ``tf_...`` are in ``functions.h``.
"""

from functools import cache
from pathlib import Path

import numpy as np

TYPES = {"bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
         "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
         "float32": "float", "float64": "double", "complex64": "complex<float>", "complex128": "complex<double>"}
"""Types by name of the dtype, as CuPy has them in kernels."""

_ZERO = "T(0)"
_COMPLEX_ZERO = "T(0, 0)"


def _elementary(name, c=None):
    return {"f": f"{name}(x)", "c": c or f"{name}(x)"}


def _absorbing(product, zero):
    f, c = product
    return {"f": f"{zero} ? T(0) : {f}", "c": f"{zero.replace('x == 0', '!tf_true_c(x)').replace('y == 0', '!tf_true_c(y)')} "
                                              f"? {_COMPLEX_ZERO} : {c}"}


def _compared(sign, c):
    return {"biuf": f"x {sign} y", "c": c}


def _truth(sign):
    return {"biuf": f"(x != 0) {sign} (y != 0)", "c": f"tf_true_c(x) {sign} tf_true_c(y)"}


def _rounded(name):
    return {"biu": "x", "f": f"{name}(x)"}


EXPRESSIONS = {
    "add": {"b": "x || y", "iufc": "x + y"},
    "sub": {"iufc": "x - y"},
    "mul": {"b": "x && y", "iuf": "x * y", "c": "tf_mul_c(x, y)"},
    "div": {"f": "x / y", "c": "tf_div_c(x, y)"},
    "pow": {"iu": "tf_power_i(x, y)", "f": "pow(x, y)", "c": "tf_power_c(x, y)"},
    "rem": {"u": "tf_rem_u(x, y)", "i": "tf_rem_i(x, y)", "f": "tf_rem_f(x, y)"},
    "floor_div": {"u": "tf_floor_div_u(x, y)", "i": "tf_floor_div_i(x, y)", "f": "tf_floor_div_f(x, y)"},
    "fmod": {"u": "tf_rem_u(x, y)", "i": "tf_fmod_i(x, y)", "f": "fmod(x, y)"},
    "neg": {"iufc": "-x"},
    "abs": {"bu": "x", "i": "x < 0 ? -x : x", "f": "fabs(x)", "c": "hypot(x.real(), x.imag())"},
    "sign": {"i": "(x > 0) - (x < 0)", "u": "x > 0", "f": "tf_sign_f(x)", "c": "tf_sign_c(x)"},
    "conj": {"biuf": "x", "c": "conj(x)"},
    "real": {"biuf": "x", "c": "x.real()"},
    "imag": {"biuf": "R(0)", "c": "x.imag()"},
    "complex": {"f": "R(x, y)"},
    "angle": {"f": "atan2(T(0), x)", "c": "atan2(x.imag(), x.real())"},
    "reciprocal": {"u": "x == 1", "i": "x == 1 ? 1 : x == -1 ? -1 : 0", "f": "1 / x", "c": "tf_reciprocal_c(x)"},
    "square": {"b": "x", "iuf": "x * x", "c": "tf_mul_c(x, x)"},
    "absorb_mul": _absorbing(("x * y", "tf_mul_c(x, y)"), "(x == 0)"),
    "absorb_both": _absorbing(("x * y", "tf_mul_c(x, y)"), "(x == 0 || y == 0)"),
    "absorb_div": _absorbing(("x / y", "tf_div_c(x, y)"), "(x == 0)"),
    "exp": _elementary("exp"),
    "expm1": _elementary("expm1", "tf_expm1_c(x)"),
    "exp2": {"f": "exp2(x)", "c": "exp(tf_scaled_c(x, decltype(x.real())(0.693147180559945309417232121458)))"},
    "log": _elementary("log"),
    "log1p": _elementary("log1p", "tf_log1p_c(x)"),
    "log2": _elementary("log2", "tf_scaled_c(T(log(x)), decltype(x.real())(1.44269504088896340735992468100189))"),
    "log10": _elementary("log10", "tf_scaled_c(T(log(x)), decltype(x.real())(0.434294481903251827651128918916605))"),
    "sqrt": _elementary("sqrt"),
    "rsqrt": {"f": "1 / sqrt(x)", "c": "tf_rsqrt_c(x)"},
    "cbrt": {"f": "cbrt(x)"},
    "sin": _elementary("sin"), "cos": _elementary("cos"), "tan": _elementary("tan"),
    "asin": _elementary("asin"), "acos": _elementary("acos"), "atan": _elementary("atan"),
    "sinh": _elementary("sinh"), "cosh": _elementary("cosh"), "tanh": _elementary("tanh"),
    "asinh": _elementary("asinh"), "acosh": _elementary("acosh"), "atanh": _elementary("atanh"),
    "atan2": {"f": "atan2(x, y)"},
    "erf": {"f": "erf(x)"},
    "erfc": {"f": "erfc(x)"},
    "lgamma": {"f": "lgamma(x)"},
    "logaddexp": {"f": "tf_logaddexp_f(x, y)"},
    "hypot": {"f": "hypot(x, y)"},
    "sech2": {"f": "tf_sech2_f(x)", "c": "tf_sech2_c(x)"},
    "asin_slope": {"f": "1 / sqrt((1 - x) * (1 + x))", "c": "tf_asin_slope_c(x)"},
    "acosh_slope": {"f": "1 / sqrt(x - 1) / sqrt(x + 1)", "c": "tf_acosh_slope_c(x)"},
    "atanh_slope": {"f": "1 / ((1 - x) * (1 + x))", "c": "tf_atanh_slope_c(x)"},
    "direction": {"f": "T(tf_direction(x, y))"},
    "inversion": {"f": "T(tf_direction(x, y) / hypot(double(x), double(y)))"},
    "share": {"f": "tf_share_f(x, y)"},
    "equal": _compared("==", "x.real() == y.real() && x.imag() == y.imag()"),
    "not_equal": _compared("!=", "x.real() != y.real() || x.imag() != y.imag()"),
    "less": _compared("<", "tf_less_c(x, y)"),
    "less_equal": _compared("<=", "tf_less_equal_c(x, y)"),
    "greater": _compared(">", "tf_less_c(y, x)"),
    "greater_equal": _compared(">=", "tf_less_equal_c(y, x)"),
    "logical_and": _truth("&&"),
    "logical_or": _truth("||"),
    "logical_xor": _truth("!="),
    "logical_not": {"biuf": "x == 0", "c": "!tf_true_c(x)"},
    "isfinite": {"biu": "true", "f": "isfinite(x)", "c": "isfinite(x.real()) && isfinite(x.imag())"},
    "isnan": {"biu": "false", "f": "x != x", "c": "tf_nan_c(x)"},
    "isinf": {"biu": "false", "f": "isinf(x)", "c": "isinf(x.real()) || isinf(x.imag())"},
    "maximum": {"b": "x || y", "iu": "x > y ? x : y", "f": "tf_maximum_f(x, y)", "c": "tf_maximum_c(x, y)"},
    "minimum": {"b": "x && y", "iu": "x < y ? x : y", "f": "tf_minimum_f(x, y)", "c": "tf_minimum_c(x, y)"},
    "where": {"biufc": "x ? y : z"},
    "clamp": {"biu": "(x > y ? x : y) < z ? (x > y ? x : y) : z", "f": "tf_clamp_f(x, y, z)", "c": "tf_clamp_c(x, y, z)"},
    "floor": _rounded("floor"), "ceil": _rounded("ceil"), "trunc": _rounded("trunc"),
    "round": {**_rounded("rint"), "c": "T(rint(x.real()), rint(x.imag()))"},
}

TRUTHS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
                    "logical_xor", "logical_not", "isfinite", "isnan", "isinf"})
"""Operations whose results are bool."""

REAL = frozenset({"abs", "real", "imag", "angle"})
"""Operations whose results are real numbers."""


@cache
def expression(op, dtype):
    """The expression of an operation whose last argument has a dtype, or None."""
    kind = dtype.kind
    for kinds, text in EXPRESSIONS.get(op, {}).items():
        if kind in kinds:
            return text
    return None


@cache
def result_dtype(op, dtype):
    """The dtype of a result, from that of the last argument."""
    if op in TRUTHS:
        return np.dtype(bool)
    if op in REAL and dtype.kind == "c":
        return np.dtype(f"f{dtype.itemsize // 2}")
    if op == "complex":
        return np.dtype(f"c{dtype.itemsize * 2}")
    return dtype


@cache
def preamble():
    """The functions that expressions call."""
    return Path(__file__).with_name("functions.h").read_text(encoding="utf-8")
