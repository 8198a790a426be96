"""Every function of the array API standard against array-api-strict: values, shapes, dtypes, special values."""

import inspect

import array_api_strict as strict
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from standard_draws import Draw, check

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

quick = settings(max_examples=12)

UNARY = {
    "abs": "ifc", "acos": "fc", "acosh": "f", "asin": "fc", "asinh": "f", "atan": "f", "atanh": "f", "bitwise_invert": "?i",
    "ceil": "if", "conj": "ifc", "cos": "f", "cosh": "f", "exp": "f", "expm1": "f", "floor": "if", "imag": "c",
    "isfinite": "ifc", "isinf": "ifc", "isnan": "ifc", "log": "fc", "log10": "fc", "log1p": "f", "log2": "f",
    "logical_not": "?", "negative": "ifc", "positive": "ifc", "real": "ifc", "reciprocal": "f", "round": "ifc", "sign": "ifc",
    "signbit": "f", "sin": "f", "sinh": "f", "sqrt": "fc", "square": "ifc", "tan": "f", "tanh": "f", "trunc": "if",
}
FINITE = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log", "log10", "log1p", "log2",
          "sign", "sin", "sinh", "sqrt", "tan", "tanh")
"""Compared for complex numbers without infinities and NaN, where the libraries that NumPy is built with differ."""

BINARY = {
    "add": "ifc", "atan2": "f", "bitwise_and": "?i", "bitwise_or": "?i", "bitwise_xor": "?i", "copysign": "f", "divide": "f",
    "equal": "?ifc", "greater": "if", "greater_equal": "if", "hypot": "f", "less": "if", "less_equal": "if", "logaddexp": "f",
    "logical_and": "?", "logical_or": "?", "logical_xor": "?", "maximum": "if", "minimum": "if", "multiply": "ifc",
    "nextafter": "f", "not_equal": "?ifc", "pow": "f", "remainder": "f", "subtract": "ifc",
}


@pytest.mark.parametrize("name", UNARY)
@quick
@given(data=st.data())
def test_unary(name, data):
    draw = Draw(data)
    kinds = UNARY[name]
    dtype = draw.dtype(kinds)
    check(name, draw.array(dtype=dtype, special=dtype.kind != "c" or name not in FINITE), loose=10)


@pytest.mark.parametrize("name", FINITE)
@settings(max_examples=10)
@given(data=st.data())
def test_unary_complex(name, data):
    draw = Draw(data)
    x = draw.array("c", special=False, low=0.125)
    check(name, x, loose=30)


@pytest.mark.parametrize("name", BINARY)
@quick
@given(data=st.data())
def test_binary(name, data):
    check(name, *Draw(data).pair(BINARY[name]), loose=10)


@pytest.mark.parametrize("name", ["divide", "pow"])
@settings(max_examples=10)
@given(data=st.data())
def test_binary_complex(name, data):
    draw = Draw(data)
    x = draw.array("c", special=False, low=0.5)
    check(name, x, draw.array(shape=x.shape, dtype=x.dtype, special=False, low=0.5), loose=30)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "pow", "bitwise_left_shift", "bitwise_right_shift"])
@quick
@given(data=st.data())
def test_binary_integers(name, data):
    draw = Draw(data)
    x1, x2 = draw.array("i"), draw.integer(1, 3)
    check(name, x1, np.full(x1.shape, x2, x1.dtype))


@quick
@given(data=st.data())
def test_floor_divide(data):
    check("floor_divide", *Draw(data).pair("f", special=False))


def call_clip(d):
    x = d.array("if", special=False)
    low, high = sorted((d.integer(0, 3), d.integer(0, 3)))
    return x, d.choice({"min": low}, {"max": high}, {"min": low, "max": high}, {})


def call_take(d):
    x = d.array(least=1, side=1)
    axis = d.axis(x)
    indices = d.one(st.lists(st.integers(0, x.shape[axis] - 1), max_size=4))
    return x, np.array(indices, np.int64), {"axis": axis}


def call_take_along_axis(d):
    x = d.array(least=1, side=1)
    axis = d.axis(x)
    shape = list(x.shape)
    shape[axis] = d.integer(0, 3)
    n = x.shape[axis]
    return x, np.random.default_rng(d.integer(0, 9)).integers(-n, n, shape), {"axis": axis}


def call_where(d):
    x1, x2 = d.pair("?ifc")
    shape = np.broadcast_shapes(np.shape(x1), np.shape(x2))
    return d.array("?", shape=shape), x1, x2, {}


def call_searchsorted(d):
    x1, x2 = d.array("if", special=False, least=1, most=1), d.array("f", special=False)
    order = {"sorter": np.argsort(x1)} if d.integer(0, 1) else {}
    x1 = x1.astype(x2.dtype)
    return x1 if order else np.sort(x1), x2, {"side": d.choice("left", "right"), **order}


def call_concat(d):
    x = d.array(least=1)
    return [x, d.array(shape=x.shape, dtype=x.dtype), x], {"axis": d.axis(x, none=True)}


def call_stack(d):
    x = d.array()
    return [x, d.array(shape=x.shape, dtype=x.dtype)], {"axis": d.integer(-x.ndim - 1, x.ndim)}


def call_moveaxis(d):
    x = d.array(least=1)
    return x, d.axis(x), d.axis(x), {}


def call_permute_dims(d):
    x = d.array()
    axes = d.one(st.permutations(range(x.ndim)))
    return x, tuple(a - x.ndim * d.integer(0, 1) for a in axes), {}


def call_reshape(d):
    x = d.array()
    return x, d.choice((-1,), (x.size,), (1, x.size)) if x.size else (x.size, 2), {"copy": d.choice(None, True)}


def call_roll(d):
    x = d.array()
    axis = d.axis(x, none=True) if x.ndim else None
    return x, d.integer(-4, 4), {"axis": axis}


def call_squeeze(d):
    return d.array()[None, ..., None], d.choice(0, -1, (0, -1)), {}


def call_expand_dims(d):
    x = d.array()
    return x, d.choice(0, -1, (0, 1), (-1, 0)), {}


def call_repeat(d):
    x = d.array(least=1)
    axis = d.axis(x)
    n = x.shape[axis]
    return x, d.choice(2, 0, np.arange(n)), {"axis": axis}


def call_diff(d):
    x = d.array("ifc", least=1, special=False)
    axis = d.axis(x)
    extra = {"prepend": np.ones_like(x)} if d.integer(0, 1) else {}
    return x, {"axis": axis, "n": d.integer(0, 2), **extra}


def along(kinds, *flags, **values):
    def call(d):
        x = d.array(kinds, **values)
        return x, {"axis": d.axes(x), **{f: d.flag() for f in flags}}
    return call


def position(d):
    x = d.array("if", side=1)
    return x, {"axis": d.axis(x, none=True) if x.ndim else None, "keepdims": d.flag()}


def spread(d):
    x = d.array("f", special=False)
    return x, {"axis": d.axes(x), "correction": d.choice(0, 1, 0.5), "keepdims": d.flag()}


def accumulate(d):
    x = d.array("ifc", special=False, least=1)
    axis = d.axis(x) if x.ndim > 1 else d.choice(None, 0)
    return x, {"axis": axis, "include_initial": d.flag(), "dtype": d.choice(None, np.dtype("c16"))}


def ordered(d):
    x = d.array("if", least=1)
    x[np.isnan(x)] = 1
    return x, {"axis": d.axis(x), "descending": d.flag()}


def totals(d):
    x = d.array("ifc", special=False)
    return x, {"axis": d.axes(x), "dtype": d.choice(None, np.dtype("c16")), "keepdims": d.flag()}


def plain(kinds="?ifc", **values):
    return lambda d: (d.array(kinds, **values), {})


def triangle(d):
    return d.array(least=2), {"k": d.integer(-2, 2)}


def call_isin(d):
    return *d.pair("i"), {}


OTHERS = {
    "clip": call_clip, "take": call_take, "take_along_axis": call_take_along_axis, "where": call_where, "isin": call_isin,
    "searchsorted": call_searchsorted, "concat": call_concat, "stack": call_stack, "moveaxis": call_moveaxis,
    "permute_dims": call_permute_dims, "reshape": call_reshape, "roll": call_roll, "squeeze": call_squeeze,
    "expand_dims": call_expand_dims, "repeat": call_repeat, "diff": call_diff,
    "all": along("?ifc", "keepdims"), "any": along("?ifc", "keepdims"), "count_nonzero": along("?ifc", "keepdims"),
    "max": along("if", "keepdims", side=1), "min": along("if", "keepdims", side=1),
    "sum": totals, "prod": totals, "mean": along("fc", "keepdims", special=False), "std": spread, "var": spread,
    "argmax": position, "argmin": position, "cumulative_sum": accumulate, "cumulative_prod": accumulate,
    "sort": ordered, "argsort": ordered, "nonzero": plain(least=1), "flip": along("?ifc"),
    "unique_values": plain("if"), "unique_counts": plain("if"), "unique_inverse": plain("if"), "unique_all": plain("if"),
    "tril": triangle, "triu": triangle,
    "tile": lambda d: (d.array(), d.choice((), (2,), (0, 2), (2, 1, 2)), {}),
    "unstack": lambda d: ((x := d.array(least=1)), {"axis": d.axis(x)}),
    "matrix_transpose": plain(least=2), "broadcast_to": lambda d: ((x := d.array()), (2, *x.shape), {}),
    "broadcast_arrays": lambda d: (*[np.asarray(x) for x in d.pair("fi")], {}),
    "meshgrid": lambda d: (*[d.array(dtype=np.dtype("f4"), least=1, most=1) for _ in range(3)],
                           {"indexing": d.choice("xy", "ij")}),
    "zeros_like": plain(), "ones_like": plain(), "full_like": lambda d: (d.array("ifc"), 2, {}),
    "zeros": lambda d: (d.shape(), {"dtype": d.choice(None, np.dtype("i4"))}),
    "ones": lambda d: (d.shape(), {"dtype": d.choice(None, np.dtype("c8"))}),
    "full": lambda d: (d.shape(), d.choice(True, 2, 2.5, 1j), {}),
    "eye": lambda d: (d.integer(0, 4), d.choice(None, 2), {"k": d.integer(-3, 3), "dtype": d.choice(None, np.dtype("i2"))}),
    "arange": lambda d: (d.integer(-5, 5), {"stop": d.choice(None, 3, 4.5), "step": d.choice(1, 2, -1, 0.5)}),
    "linspace": lambda d: (d.integer(-5, 5), d.choice(2, 3.5, 1j), d.integer(1, 5), {"endpoint": d.flag()}),
    "asarray": lambda d: (d.array(), {"copy": d.choice(None, True)}),
    "astype": lambda d: (np.abs(d.array("if", special=False)), d.dtype("ifc"), {"copy": d.flag()}),
    "matmul": lambda d: ((x := d.matrix()), np.moveaxis(x, -1, -2), {}),
    "tensordot": lambda d: ((x := d.array("f", special=False)), x.T, {"axes": d.integer(0, 1) if x.ndim else 0}),
    "vecdot": lambda d: ((x := d.array("ifc", special=False, least=1)), x, {"axis": d.integer(-x.ndim, -1)}),
}

LINALG = {
    "cholesky": lambda d: ((x := d.matrix(square=True)) @ np.conj(np.moveaxis(x, -1, -2)), {"upper": d.flag()}),
    "cross": lambda d: ((x := d.array("ifc", shape=(2, 3), special=False)), x[::-1], {}),
    "det": lambda d: (d.matrix(square=True), {}), "inv": lambda d: (d.matrix(square=True), {}),
    "diagonal": lambda d: (d.matrix(), {"offset": d.integer(-1, 1)}),
    "eigvalsh": lambda d: ((x := d.matrix(square=True)) + np.conj(np.moveaxis(x, -1, -2)), {}),
    "matmul": lambda d: ((x := d.matrix()), np.moveaxis(x, -1, -2), {}),
    "matrix_norm": lambda d: (d.matrix(), {"ord": d.choice("fro", "nuc", 1, -1, 2, -2, np.inf), "keepdims": d.flag()}),
    "matrix_power": lambda d: (d.matrix(square=True), d.integer(-2, 3), {}),
    "matrix_rank": lambda d: (d.matrix(), {}), "matrix_transpose": lambda d: (d.matrix(), {}),
    "outer": lambda d: ((x := d.array("fc", least=1, most=1, special=False)), x, {}),
    "pinv": lambda d: (d.matrix(), {}), "slogdet": lambda d: (d.matrix(square=True), {}),
    "solve": lambda d: ((x := d.matrix(square=True)), x + 1, {}), "svdvals": lambda d: (d.matrix(), {}),
    "tensordot": lambda d: ((x := d.matrix()), x, {"axes": ((-1,), (-1,))}),
    "trace": lambda d: (d.array("fc", least=2, special=False), {"offset": d.integer(-1, 1)}),
    "vecdot": lambda d: ((x := d.matrix()), x, {"axis": -1}),
    "vector_norm": lambda d: ((x := d.array("f", special=False, side=1)),
                              {"axis": d.axes(x), "ord": d.choice(1, 2, np.inf, -np.inf, 0), "keepdims": d.flag()}),
}


def signal(kinds):
    def call(d):
        x = d.array(kinds, special=False, least=1, side=2)
        return x, {"n": d.choice(None, 2, 4), "axis": d.axis(x), "norm": d.choice("backward", "ortho", "forward")}
    return call


def signals(kinds):
    def call(d):
        x = d.array(kinds, special=False, least=1, side=2)
        return x, {"axes": d.choice(None, (-1,)), "norm": d.choice("backward", "ortho", "forward")}
    return call


FOURIER = {
    "fft": signal("c"), "ifft": signal("c"), "rfft": signal("f"), "irfft": signal("c"), "hfft": signal("c"),
    "ihfft": signal("f"), "fftn": signals("c"), "ifftn": signals("c"), "rfftn": signals("f"), "irfftn": signals("c"),
    "fftfreq": lambda d: (d.integer(1, 5), {"d": d.choice(1.0, 0.5), "dtype": d.choice(None, np.dtype("f4"))}),
    "rfftfreq": lambda d: (d.integer(1, 5), {"d": d.choice(1.0, 0.5)}),
    "fftshift": lambda d: (d.array("fc", least=1, special=False), {}),
    "ifftshift": lambda d: (d.array("fc", least=1, special=False), {}),
}
ALL = {**OTHERS, **{f"linalg.{k}": f for k, f in LINALG.items()}, **{f"fft.{k}": f for k, f in FOURIER.items()}}


@pytest.mark.parametrize("name", ALL)
@quick
@given(data=st.data())
def test_values(name, data):
    *args, kwargs = ALL[name](Draw(data))
    check(name, *args, loose=100 if "." in name or name in ("matmul", "std", "var", "linspace") else 10, **kwargs)


ELSEWHERE = {"broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype", "result_type", "from_dlpack", "empty", "empty_like",
             "bitwise_left_shift", "bitwise_right_shift", "floor_divide", "eig", "eigh", "eigvals", "qr", "svd"}
"""Tested by what they mean, in `test_array_api`."""


def test_no_function_is_forgotten():
    tested = {*UNARY, *BINARY, *OTHERS, *LINALG, *FOURIER, *ELSEWHERE}
    for module in (strict, strict.linalg, strict.fft):
        names = {n for n in module.__all__ if inspect.isfunction(getattr(module, n))}
        assert not {n for n in names if not n.startswith(("_", "set_", "get_", "reset_"))} - tested
