"""Arithmetic against NumPy: values, dtypes, derivatives to second order, corners and the range of floating numbers."""

import inspect
import operator
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from support import (
    ALL_DTYPES,
    DIFF_DTYPES,
    assert_same,
    broadcastable_shapes,
    const,
    layouts,
    leaf,
    random_layout,
    sample,
    shapes,
)

import tenferro as tfr
from tenferro._ops.elementwise import FUNCTIONS
from tenferro.errors import DTypeMismatchError, ShapeMismatchError, ValidationError
from tenferro.testing import check_grads

REAL = "?iuf"
UNARY = {  # name: NumPy's function, kinds of dtypes
    "neg": (np.negative, "iufc"), "abs": (np.abs, "?iufc"), "sign": (np.sign, "iufc"), "conj": (np.conj, "iufc"),
    "real": (np.real, "?iufc"), "imag": (np.imag, "?iufc"), "angle": (np.angle, "fc"), "square": (np.square, "?iufc"),
    "reciprocal": (np.reciprocal, "?iufc"),
}
BINARY = {
    "add": (np.add, "?iufc"), "sub": (np.subtract, "iufc"), "mul": (np.multiply, "?iufc"), "div": (np.divide, "?iufc"),
    "pow": (np.power, "?iufc"), "rem": (np.remainder, REAL), "floor_div": (np.floor_divide, REAL),
    "fmod": (np.fmod, REAL),
}
EXACT = {"neg", "conj", "real", "imag", "add", "sub"}
dtypes = st.sampled_from(ALL_DTYPES)
seeds = st.integers(0, 2**32 - 1)


def oracle(f, *arrays):
    """NumPy's result; float32 where it computes in float16."""
    with np.errstate(all="ignore"):
        y = np.asarray(f(*arrays))
        return np.asarray(f(*[a.astype("f4") for a in arrays])) if y.dtype == np.float16 else y


def tolerance(name, array):
    """NumPy's loops for powers and complex numbers differ in the last bits from layout to layout."""
    rounds = array.dtype.kind == "c" or name == "pow" or (name == "abs" and array.dtype.kind == "f")
    return 4 * np.finfo(array.dtype).eps if rounds and array.dtype.kind in "fc" and name not in EXACT else 0


def points(rng, shape, dtype):
    """Values of either sign, away from 0."""
    dtype = np.dtype(dtype)
    x = rng.uniform(0.4, 2.0, shape) * rng.choice([-1, 1], shape)
    if dtype.kind == "c":
        x = x + 1j * rng.uniform(0.4, 2.0, shape) * rng.choice([-1, 1], shape)
    return random_layout(np.asarray(x, dtype), rng)


def vjp(f, *arrays, cotangent=1.0):
    xs = [leaf(np.asarray(a)) for a in arrays]
    y = f(*xs)
    seed = np.full(y.shape, cotangent, y.dtype)
    found = y.runtime.vjp(y, xs, seed)
    return [np.asarray(g.detach()) for g in found]


def jvp(f, x, tangent=1.0):
    x = leaf(np.asarray(x))
    y = f(x)
    return np.asarray(x.runtime.jvp(y, x, np.full(x.shape, tangent, x.dtype)).detach())


def second(f, x):
    """Derivatives of sum(f') over x in the three nestings, for elementwise f of one real argument."""
    x = leaf(np.asarray(x))
    rt = x.runtime
    y = f(x)
    ones = np.ones(x.shape, x.dtype)
    reverse, forward = rt.vjp(y, x, ones), rt.jvp(y, x, ones)
    found = [rt.vjp(reverse, x, ones), rt.jvp(reverse, x, ones), rt.vjp(forward, x, ones)]
    return [np.asarray(t.detach()) for t in found]


# ---- values ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=40, deadline=None)
@given(shape=shapes(), dtype=dtypes, seed=seeds, layout=layouts)
def test_unary_values(name, shape, dtype, seed, layout):
    f, kinds = UNARY[name]
    x = layout(sample(np.random.default_rng(seed), shape, dtype))
    if dtype.kind not in kinds.replace("?", "b"):
        return
    expected = oracle(f, x)
    assert_same(FUNCTIONS[name](const(x)), expected, rtol=tolerance(name, expected))


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=60, deadline=None)
@given(sides=broadcastable_shapes(), pair=st.tuples(dtypes, dtypes), seed=seeds, layout=layouts)
def test_binary_values(name, sides, pair, seed, layout):
    f, kinds = BINARY[name]
    if not all(d.kind in kinds.replace("?", "b") for d in pair):
        return
    rng = np.random.default_rng(seed)
    x, y = (layout(sample(rng, s, d, 0 if name == "pow" else -2)) for s, d in zip(sides.input_shapes, pair))
    expected = oracle(f, x, y)
    assert_same(FUNCTIONS[name](const(x), const(y)), expected, rtol=tolerance(name, expected))


@pytest.mark.sweep
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("first", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("second", ALL_DTYPES, ids=str)
def test_binary_values_of_all_pairs(name, first, second):
    f, kinds = BINARY[name]
    if first.kind not in kinds.replace("?", "b") or second.kind not in kinds.replace("?", "b"):
        pytest.skip("not defined")
    rng = np.random.default_rng(3)
    for shape in ((), (0,), (3,), (2, 3, 4), (40, 300)):
        x, y = (random_layout(sample(rng, shape, d, 0 if name == "pow" else -9, 9), rng) for d in (first, second))
        expected = oracle(f, x, y)
        assert_same(FUNCTIONS[name](const(x), const(y)), expected, rtol=tolerance(name, expected))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "rem", "floor_div", "fmod"])
def test_special_values(name):
    values = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 3.0, np.inf, -np.inf, np.nan, 1e308, 5e-324])
    x, y = values[:, None], values
    expected = oracle(BINARY[name][0], x, y)
    if name == "floor_div":     # the array API standard's infinity where NumPy has NaN
        expected = np.where(np.isinf(x) & np.isfinite(y), oracle(np.divide, x, y), expected)
    assert_same(FUNCTIONS[name](const(x), const(y)), expected)
    assert np.array_equal(np.signbit(FUNCTIONS[name](const(x), const(y)).numpy()), np.signbit(expected))


def test_large_arrays_use_the_same_loops():
    rng = np.random.default_rng(0)
    for dtype in DIFF_DTYPES:
        x, y = (sample(rng, (150, 200), dtype) for _ in range(2))
        assert_same(tfr.mul(const(x), const(y.T.copy().T)), x * y)
        assert_same(tfr.real(const(x)) + 0, x.real)


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d.kind != "c"], ids=str)
def test_angle_of_reals(dtype):
    x = sample(np.random.default_rng(1), (7,), dtype)
    result = "f4" if dtype.itemsize < 4 or dtype == "f4" else "f8"
    assert_same(tfr.angle(const(x)), np.angle(x.astype("f8")).astype(result))
    assert np.array_equal(tfr.angle(const(np.array([-0.0, np.nan]))).numpy(), [np.pi, np.nan], equal_nan=True)


def test_integers_wrap():
    for dtype in (d for d in ALL_DTYPES if d.kind in "iu"):
        top = const(np.array([np.iinfo(dtype).max], dtype))
        one = const(np.array([1], dtype))
        assert int(tfr.add(top, one)[0]) == np.iinfo(dtype).min
        assert int(tfr.sub(top + one, one)[0]) == np.iinfo(dtype).max
        with np.errstate(all="ignore"):
            assert_same(tfr.mul(top, top), top.numpy() * top.numpy())
            assert_same(tfr.neg(top + one), -(top + one).numpy())
            assert_same(tfr.abs(top + one), np.abs((top + one).numpy()))


def test_integer_division_by_zero_is_numpys():
    x, zero = np.array([3, -3, 0]), np.zeros(3, int)
    for name in ("rem", "floor_div", "fmod", "div"):
        assert_same(FUNCTIONS[name](const(x), const(zero)), oracle(BINARY[name][0], x, zero))


@pytest.mark.parametrize("size", [1, 20_000])
def test_integer_to_negative_power(size):
    x, y = const(np.full(size, 2)), const(np.full(size, -1))
    with pytest.raises(ValidationError, match="astype") as caught:
        tfr.pow(x, y)
    assert caught.value.op == "pow"
    assert_same(tfr.pow(x, -1.0), np.full(size, 0.5))
    assert_same(tfr.pow(x, 3), np.full(size, 8))


def test_bool_has_a_sum_but_no_difference():
    a, b = const(np.array([True, True, False])), const(np.array([True, False, False]))
    assert_same(a + b, [True, True, False])
    assert_same(a * b, [True, False, False])
    for broken in (lambda: a - b, lambda: -a, lambda: tfr.sub(a, b), lambda: tfr.neg(a), lambda: tfr.sign(a)):
        with pytest.raises(DTypeMismatchError):
            broken()
    assert_same(a - np.array([1, 2, 3]), [0, -1, -3])


def test_complex_has_no_remainder():
    z = const(np.array([1j]))
    for name in ("rem", "floor_div", "fmod"):
        with pytest.raises(DTypeMismatchError) as caught:
            FUNCTIONS[name](z, z)
        assert caught.value.op == name
    with pytest.raises(DTypeMismatchError):
        tfr.complex(z, z)


def test_shapes_that_do_not_broadcast():
    with pytest.raises(ShapeMismatchError) as caught:
        tfr.add(const(np.ones(3)), const(np.ones(4)))
    assert caught.value.op == "add"


# ---- dtypes ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("first", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("second", ALL_DTYPES, ids=str)
def test_promotion_is_numpys(first, second):
    x, y = const(np.ones(2, first)), const(np.ones(2, second))
    assert tfr.add(x, y).dtype == np.result_type(first, second)
    assert tfr.mul(x, y).dtype == np.result_type(first, second)
    assert tfr.div(x, y).dtype == np.divide(np.ones(1, first), np.ones(1, second)).dtype


def test_python_scalars_are_weak():
    for dtype in DIFF_DTYPES:
        x = const(np.ones(2, dtype))
        assert tfr.add(x, 2).dtype == tfr.mul(2.5, x).dtype == tfr.pow(x, 2).dtype == tfr.scale(x, 0.1).dtype == dtype
    assert tfr.add(const(np.ones(2, "f4")), 1j).dtype == "c8"
    assert tfr.add(const(np.ones(2, "i1")), 1).dtype == "i1"
    assert tfr.add(const(np.ones(2, "i1")), 1.0).dtype == "f8"
    assert tfr.add(2, 3).dtype == "i8"
    assert tfr.add([1, 2], 0.5).dtype == "f8"
    assert tfr.add(const(np.ones(2, "f4")), np.float64(1)).dtype == "f8"


@pytest.mark.parametrize(("re", "im", "result"), [("f4", "f4", "c8"), ("f4", "f8", "c16"), ("i8", "f4", "c16"),
                                                  ("i1", "i1", "c8")])
def test_complex_of_parts(re, im, result):
    x, y = np.array([[1, 2, 3]], re), np.array([[4], [5]], im)
    z = tfr.complex(const(x), const(y))
    assert_same(z, (x + 1j * y).astype(result))
    assert_same(tfr.complex(const(x), 0), x.astype("c8" if re in ("f4", "i1") else "c16"))


def test_parts_are_views():
    z = leaf(np.array([[1 + 2j, 3 + 4j, 5 + 6j]])[:, ::-1])
    for part in (tfr.real(z), tfr.imag(z)):
        assert np.shares_memory(np.asarray(part.detach()), np.asarray(z.detach()))
    x = leaf(np.array([1.0, 2.0]))
    assert np.shares_memory(np.asarray(tfr.real(x).detach()), np.asarray(x.detach()))
    assert tfr.real(x).tracks_grad
    assert tfr.conj(x).tracks_grad
    assert_same(tfr.imag(const(np.array([1, 2]))), [0, 0])


@pytest.mark.parametrize("factor", [3, 0.5, 2j, np.float64(4), np.array(4.0)])
def test_scale(factor):
    x = np.array([[1.0, 2.0]])
    assert_same(tfr.scale(const(x), factor), x * factor)


def test_scale_takes_one_number():
    with pytest.raises(ShapeMismatchError) as caught:
        tfr.scale(const(np.ones(2)), const(np.ones(2)))
    assert (caught.value.op, caught.value.argument) == ("scale", "factor")


# ---- functions -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_describe_themselves(name):
    f = FUNCTIONS[name]
    assert f.__name__ == name
    assert "Parameters\n----------" in f.__doc__ or "----------" in f.__doc__
    assert inspect.signature(f).parameters
    assert pickle.loads(pickle.dumps(f)) is f


def test_wrong_number_of_operands():
    for broken in (lambda: tfr.add(1.0), lambda: tfr.add(1.0, 2.0, 3.0), lambda: tfr.neg(), lambda: tfr.neg(1.0, 2.0)):
        with pytest.raises(TypeError):
            broken()


def test_operands_that_are_no_numbers():
    for broken in (lambda: tfr.neg("text"), lambda: tfr.add(const(np.ones(1)), None), lambda: tfr.mul(object(), 1.0)):
        with pytest.raises((TypeError, ValueError)):
            broken()


# ---- derivatives -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary_derivatives(name, dtype):
    rng = np.random.default_rng(11)
    for shape in ((), (2, 3)):
        check_grads(FUNCTIONS[name], [points(rng, shape, dtype)])


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary_derivatives(name, dtype):
    if dtype.kind not in BINARY[name][1]:
        pytest.skip("not defined")
    rng = np.random.default_rng(12)
    for shape in ((2, 3), (3,), ()):
        x, y = points(rng, (2, 3), dtype), points(rng, shape, dtype)
        if name == "pow" and dtype.kind == "f":
            x = np.abs(x)
        check_grads(FUNCTIONS[name], [x, y])
        if name not in ("rem", "floor_div", "fmod", "pow"):
            check_grads(FUNCTIONS[name], [y, x])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow"])
@pytest.mark.parametrize("pair", [("f4", "f8"), ("f8", "c16"), ("c8", "f8"), ("f4", "c8"), ("f8", "i4"),
                                  ("i2", "c16")], ids=str)
def test_derivatives_with_unequal_dtypes(name, pair):
    rng = np.random.default_rng(13)
    x, y = (points(rng, (2,), d) if d[0] != "i" else np.array([1, 3], d) for d in pair)
    if name == "pow" and "c" not in pair[0] + pair[1]:
        x = np.abs(x)
    check_grads(FUNCTIONS[name], [x, y])


@pytest.mark.parametrize("name", ["rem", "fmod", "floor_div"])
def test_remainder_derivatives_at_all_signs(name):
    x, y = np.array([7.3, -7.3, 7.3, -7.3]), np.array([2.0, 2.0, -2.0, -2.0])
    dx, dy = vjp(FUNCTIONS[name], x, y)
    whole = {"rem": np.floor(x / y), "fmod": np.trunc(x / y), "floor_div": np.zeros(4)}[name]
    assert np.array_equal(dx, np.zeros(4) if name == "floor_div" else np.ones(4))
    assert np.array_equal(dy, -whole)


def test_fmod_counts_whole_quotients():
    x, y = np.array([0.3, 1e17, 0.7]), np.array([0.1, 3.0, 0.1])
    assert np.array_equal(vjp(tfr.fmod, x, y)[1], [-2.0, -np.floor(1e17 / 3), -6.0])


def test_floor_div_is_tracked_with_zero_gradient():
    x, y = leaf(np.array([3.5])), leaf(np.array([2.0]))
    z = tfr.floor_div(x, y)
    assert z.tracks_grad
    for g in z.runtime.vjp(z, [x, y], np.ones(1)):
        assert_same(g, [0.0])


def test_complex_parts_and_scale_derivatives():
    rng = np.random.default_rng(14)
    for dtype in ("f4", "f8"):
        check_grads(tfr.complex, [points(rng, (2, 3), dtype), points(rng, (3,), dtype)])
    for dtype in DIFF_DTYPES:
        check_grads(lambda x: tfr.scale(x, 1.5), [points(rng, (2,), dtype)])
        check_grads(tfr.scale, [points(rng, (2,), dtype), points(rng, (), dtype)])
        check_grads(lambda x: tfr.real(x) * tfr.imag(x) + tfr.angle(x), [points(rng, (2, 3), dtype)])


def test_hermitian_convention():
    z = leaf(np.array([1 + 2j, -3j]))
    loss = tfr.sum(tfr.abs(z) ** 2)
    assert_same(z.runtime.grad(loss, z), 2 * np.array([1 + 2j, -3j]), rtol=1e-15)
    w = leaf(np.array([1 + 2j]))
    assert_same(w.runtime.vjp(tfr.square(w), w, np.array([1 + 0j])), np.conj([2 + 4j]))


def test_third_order_of_a_power():
    x = leaf(np.array([0.7]))
    y = x ** 4 / (1 + x)
    for _ in range(3):
        y = x.runtime.vjp(y, x, np.ones(1))
    t = np.polynomial.Polynomial([1, -1, 1, -1])    # x**4 / (1 + x) = x**3 - x**2 + x - 1 + 1 / (1 + x)
    assert np.isclose(y.detach().numpy()[0], -t.deriv(3)(0.7) - 6 / 1.7 ** 4, rtol=1e-12)


# ---- corners ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("name", ["abs", "sign", "angle"])
def test_no_gradient_at_zero_to_second_order(name, dtype):
    x = np.zeros(3, dtype)
    assert np.array_equal(vjp(FUNCTIONS[name], x)[0], x)
    assert np.all(jvp(FUNCTIONS[name], x) == 0)
    x = leaf(x)
    y = FUNCTIONS[name](x)
    g = tfr.mul(x.runtime.vjp(y, x, np.ones(3, y.dtype)), x)
    assert_same(x.runtime.vjp(g, x, np.ones(3, dtype)), np.zeros(3, dtype))
    assert_same(x.runtime.jvp(g, x, np.ones(3, dtype)), np.zeros(3, dtype))


def test_powers_at_corners():
    x = np.array([0.0, 0.0, 0.0, 0.0, -2.0, -2.0, 0.0, np.inf, 0.0, np.nan])
    y = np.array([0.0, 1.0, 2.0, 3.0, 3.0, -2.0, 0.5, 0.0, -1.0, 0.0])
    dx = vjp(lambda x: tfr.pow(x, y), x)[0]
    assert np.array_equal(dx, [0, 1, 0, 0, 12, 0.25, np.inf, 0, -np.inf, 0])
    dy = vjp(lambda y: tfr.pow(x[:4], y), y[:4])[0]
    assert np.array_equal(dy, np.zeros(4))
    assert vjp(lambda y: tfr.pow(0.0, y), -1.0)[0] == 0
    assert np.isnan(vjp(lambda y: tfr.pow(-2.0, y), 0.5)[0])


@pytest.mark.parametrize(("exponent", "derivative"), [(0.0, 0.0), (1.0, 0.0), (2.0, 2.0), (3.0, 0.0), (4.0, 0.0)])
def test_second_derivative_of_powers_at_zero(exponent, derivative):
    for found in second(lambda x: tfr.pow(x, exponent), [0.0]):
        assert np.array_equal(found, [derivative])


def test_mixed_second_derivative_of_a_power_of_zero():
    x, y = leaf(np.array([0.0])), leaf(np.array([2.0]))
    rt = x.runtime
    dx, dy = rt.vjp(tfr.pow(x, y), [x, y], np.ones(1))
    for first in (dx, dy):
        for found in rt.vjp_optional(first, [x, y], np.ones(1)):
            assert np.isfinite(found.detach().numpy()).all()


def test_complex_powers_at_zero():
    z = np.zeros(4, complex)
    y = np.array([0, 1, 2, 3], complex)
    dz, dy = vjp(tfr.pow, z, y)
    assert np.array_equal(dz, [0, 1, 0, 0])
    assert np.array_equal(dy, np.zeros(4))


POLES = {
    "div": lambda x: 1.0 / x,
    "reciprocal": tfr.reciprocal,
    "pow": lambda x: tfr.pow(x, -1.5),
    "sqrt": lambda x: x ** 0.5,
    "mul": lambda x: x * tfr.log(x),
    "quotient": lambda x: x / (x * x),
    "nested": lambda x: tfr.log(tfr.sqrt(x)) / x,
    "complex": lambda x: tfr.real(tfr.reciprocal(tfr.complex(x, x))),
}


@pytest.mark.parametrize("name", POLES)
def test_zero_cotangents_are_absorbed_to_third_order(name):
    f = POLES[name]

    def guarded(x):
        return tfr.where(x > 0, f(x), 0)

    x = np.array([0.0, 0.5])
    assert vjp(guarded, x)[0][0] == 0
    assert np.isclose(vjp(guarded, x)[0][1], vjp(f, x[1:])[0][0], rtol=1e-14)
    for found, expected in zip(second(guarded, x), second(f, x[1:])):
        assert found[0] == 0
        assert np.isclose(found[1], expected[0], rtol=1e-12)
    x = leaf(x)
    y = guarded(x)
    for _ in range(3):
        y = x.runtime.vjp(y, x, np.ones(2))
    assert y.detach().numpy()[0] == 0
    assert np.isfinite(y.detach().numpy()[1])


def test_masked_gradients_are_absorbed():
    """An infinite gradient that is masked afterwards does not spoil the second derivative."""
    x = leaf(np.array([0.0, 0.5]))
    rt = x.runtime
    g = rt.vjp(tfr.log(tfr.sqrt(x)), x, np.ones(2))
    assert np.isinf(g.detach().numpy()[0])
    assert_same(rt.vjp(tfr.where(x > 0, g, 0), x, np.ones(2)), [0.0, -2.0], rtol=1e-14)


def test_infinite_factor_without_cotangent():
    x = np.array([1.0, np.inf])
    assert np.array_equal(vjp(lambda x: tfr.where(x < 2, x * x, 0), x)[0], [2.0, 0.0])
    assert np.array_equal(vjp(lambda x: tfr.where(x < 2, tfr.square(x), 0), x)[0], [2.0, 0.0])


# ---- range -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("scale", [1e200, 1e-200, 1.0])
def test_modulus_and_angle_at_all_scales(scale):
    z = np.array([3 + 4j, -4 + 3j]) * scale
    unit = np.array([0.6 + 0.8j, -0.8 + 0.6j])
    assert np.allclose(vjp(tfr.abs, z)[0], unit, rtol=1e-15)
    assert np.allclose(vjp(tfr.angle, z)[0], 1j * unit / 5 / scale, rtol=1e-15, atol=0)
    assert np.allclose(jvp(tfr.abs, z, scale), unit.real * scale, rtol=1e-15, atol=0)
    assert np.allclose(jvp(tfr.angle, z, 1j * scale), unit.real / 5, rtol=1e-15, atol=0)
    assert np.allclose(vjp(tfr.sign, z, cotangent=1j)[0], 1j * unit * unit.real / 5 / scale, rtol=1e-15, atol=0)


@pytest.mark.parametrize(("x", "y", "g"), [(3e200, 2e200, 1), (3e-200, 2e-200, 1), (1e-300, 1e200, 1e300),
                                           (3e200, 2e-50, 1e-60), (1.0, 1e-200, 1e-200), (1.0, 1e200, 1e200),
                                           (2e300, 3e250, 1e250)])
def test_quotients_at_all_scales(x, y, g):
    wide = np.longdouble
    expected = [wide(g) / wide(y), -wide(g) * wide(x) / wide(y) / wide(y)]
    found = vjp(tfr.div, x, y, cotangent=g)
    assert np.allclose(found, np.array(expected, float), rtol=1e-15, atol=0)
    turned = vjp(tfr.div, x * (1 + 0j), y * 1j, cotangent=g)
    assert np.allclose(np.abs(turned), np.abs(np.array(expected, float)), rtol=1e-15, atol=0)


@pytest.mark.parametrize(("x", "g"), [(2e-200, 1e-200), (2e200, 1e200), (5e-1, 1)])
def test_reciprocals_at_all_scales(x, g):
    expected = float(-np.longdouble(g) / np.longdouble(x) / np.longdouble(x))
    assert np.isclose(vjp(tfr.reciprocal, x, cotangent=g)[0], expected, rtol=1e-15, atol=0)
    assert np.isclose(jvp(tfr.reciprocal, x, g), expected, rtol=1e-15, atol=0)


def test_squares_and_powers_at_all_scales():
    assert np.isclose(vjp(tfr.square, 1.5e308, cotangent=1e-10)[0], 3e298, rtol=1e-15)
    assert np.isclose(vjp(lambda x: tfr.pow(x, 2.0), 1e-200)[0], 2e-200, rtol=1e-15, atol=0)
    assert np.isclose(vjp(lambda x: tfr.pow(x, -0.5), 1e-200)[0], -0.5e300, rtol=1e-14)


def test_single_precision_has_its_own_range():
    z = np.array([3e30 + 4e30j, 3e-30 + 4e-30j], "c8")
    assert np.allclose(vjp(tfr.abs, z)[0], np.complex64(0.6 + 0.8j), rtol=1e-6)
    assert np.isclose(vjp(tfr.div, np.float32(3e-30), np.float32(2e-30))[1], np.float32(-7.5e29), rtol=1e-6)


def test_operators_are_the_functions():
    x, y = const(np.array([5.0, -7.0])), const(np.array([2.0, 3.0]))
    for op, name in ((operator.add, "add"), (operator.sub, "sub"), (operator.mul, "mul"), (operator.truediv, "div"),
                     (operator.floordiv, "floor_div"), (operator.mod, "rem"), (operator.pow, "pow")):
        assert_same(op(x, y), FUNCTIONS[name](x, y).numpy())
