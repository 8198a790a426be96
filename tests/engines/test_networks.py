"""Functions of neural networks: values against SciPy and NumPy, derivatives to second order, tails and masks."""

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from support import DIFF_DTYPES, REAL_DTYPES, assert_same, const, layouts, leaf, random_layout, sample, shapes, value

import tenferro as tfr
from tenferro.errors import AxisError, DTypeMismatchError, ShapeMismatchError, ValidationError
from tenferro.testing import check_grads

INF, NAN = np.inf, np.nan
TOLERANCE = {"float32": 2e-6, "complex64": 2e-6, "float64": 1e-14, "complex128": 1e-14}


def normal(x):
    return scipy.special.ndtr(x)


ELEMENTWISE = {
    "sigmoid": scipy.special.expit,
    "silu": lambda x: x * scipy.special.expit(x),
    "softplus": lambda x: np.logaddexp(x, 0),
    "gelu": lambda x: x * normal(x),
    "relu": lambda x: np.where(x > 0, x, 0),
}
NORMALISED = ("softmax", "log_softmax")


def cotangent(f, x, g):
    """VJP and the tangent along the same direction."""
    y = f(x)
    rt = x.runtime
    return value(rt.vjp(y, x, g)), value(rt.jvp(y, x, g))


# ---- elementwise -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", REAL_DTYPES)
@pytest.mark.parametrize("name", ELEMENTWISE)
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), shape=shapes(), layout=layouts)
def test_values(name, dtype, seed, shape, layout):
    x = layout(sample(np.random.default_rng(seed), shape, dtype, -6, 6))
    expected = ELEMENTWISE[name](np.asarray(x, np.float64)).astype(dtype)
    assert_same(getattr(tfr, name)(const(x)), expected, rtol=2 * TOLERANCE[dtype.name], atol=TOLERANCE[dtype.name])


@pytest.mark.parametrize("dtype", REAL_DTYPES)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_derivatives(name, dtype):
    x = random_layout(sample(np.random.default_rng(3), (3, 4), dtype, 0.2, 3), np.random.default_rng(4))
    x[0] *= -1
    check_grads(getattr(tfr, name), [x], order=2)


def test_derivatives_of_the_tanh_approximation():
    x = np.linspace(-3, 3, 9)
    expected = x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(value(tfr.gelu(x, "tanh")), expected, rtol=1e-13, atol=1e-16)
    check_grads(lambda t: tfr.gelu(t, approximate="tanh"), [x], order=2)


@pytest.mark.parametrize("name", ["sigmoid", "softplus"])
def test_tails(name):
    x = np.array([-1000.0, -700, -100, -40, 40, 100, 700, 1000])
    small = np.exp(-np.abs(x))
    slope = np.where(x < 0, small, 1 - small)
    t = leaf(x)
    y = getattr(tfr, name)(t)
    np.testing.assert_allclose(value(y), slope if name == "sigmoid" else np.where(x < 0, small, x + small), rtol=1e-15)
    first = t.runtime.vjp(y, t, np.ones(8))
    second = t.runtime.vjp(first, t, np.ones(8))
    bell = small if name == "sigmoid" else slope
    np.testing.assert_allclose(value(first), bell, rtol=1e-15)
    np.testing.assert_allclose(value(second), -np.sign(x) * small if name == "sigmoid" else small, rtol=1e-15)


def test_activations_at_a_thousand():
    x = leaf(np.array([-1e3, 1e3]))
    for name in ("silu", "gelu", "relu"):
        found, tangent = cotangent(getattr(tfr, name), x, np.ones(2))
        np.testing.assert_array_equal(value(getattr(tfr, name)(x)), [0, 1e3])
        np.testing.assert_array_equal(found, [0, 1])
        np.testing.assert_array_equal(tangent, [0, 1])


LIMITS = {                               # value at -inf and inf, derivative there
    "sigmoid": ([0, 1], [0, 0]),
    "silu": ([0, INF], [0, 1]),
    "gelu": ([0, INF], [0, 1]),
    "softplus": ([0, INF], [0, 1]),
}


@pytest.mark.parametrize("dtype", REAL_DTYPES)
@pytest.mark.parametrize("name", [*LIMITS, "gelu tanh"])
def test_limits_at_infinity(name, dtype):
    """At infinities and so far out that the limit is reached: value, both first derivatives, and the second ones."""
    values, slopes = LIMITS[name.partition(" ")[0]]
    more = {"approximate": "tanh"} if " " in name else {}
    for x in (np.array([-INF, INF], dtype), np.array([-1e4, 1e4], dtype)):
        t, ones = leaf(x), np.ones(2, dtype)
        y = getattr(tfr, name.partition(" ")[0])(t, **more)
        np.testing.assert_array_equal(value(y), np.where(np.isinf(values), x, values))
        rt = t.runtime
        for first in (rt.vjp(y, t, ones), rt.jvp(y, t, ones)):
            np.testing.assert_array_equal(value(first), slopes)
            for second in (rt.vjp(first, t, ones), rt.jvp(first, t, ones)):
                np.testing.assert_array_equal(value(second), [0, 0])


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_nan_stays_and_touches_nothing_else(name):
    t = leaf(np.array([NAN, 0.5]))
    y = getattr(tfr, name)(t)
    assert np.isnan(value(y)).tolist() == [True, False]
    for found in cotangent(getattr(tfr, name), t, np.array([0.0, 1.0])):
        assert np.isfinite(found).all()


def test_relu_corners():
    x = leaf(np.array([-0.0, 0.0, -INF, INF, NAN]))
    np.testing.assert_array_equal(value(tfr.relu(x)), [0, 0, 0, INF, NAN])
    found, tangent = cotangent(tfr.relu, x, np.ones(5))
    np.testing.assert_array_equal(found[:4], [0, 0, 0, 1])
    np.testing.assert_array_equal(tangent[:4], [0, 0, 0, 1])
    assert_same(tfr.relu(np.array([-1, 2], np.int8)), np.array([0, 2], np.int8))


def test_integers_are_computed_in_float64():
    x = np.array([-1, 0, 2], np.int32)
    for name in ELEMENTWISE.keys() - {"relu"}:
        assert_same(getattr(tfr, name)(x), ELEMENTWISE[name](x.astype(float)), rtol=1e-14)
    assert_same(tfr.softmax(x), scipy.special.softmax(x.astype(float)), rtol=1e-14)


@pytest.mark.parametrize("name", [*ELEMENTWISE, *NORMALISED])
def test_complex_numbers_are_refused(name):
    with pytest.raises(DTypeMismatchError, match=name):
        getattr(tfr, name)(np.ones(2, complex))


def test_unknown_approximation():
    with pytest.raises(ValidationError, match="'none' or 'tanh'"):
        tfr.gelu(1.0, approximate="fast")


# ---- softmax ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", REAL_DTYPES)
@pytest.mark.parametrize("name", NORMALISED)
@settings(max_examples=20)
@given(data=st.data())
def test_softmax_values(name, dtype, data):
    shape = data.draw(shapes(min_dims=1, min_side=1))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    x = data.draw(layouts)(sample(rng, shape, dtype, -300, 300))
    axis = data.draw(st.one_of(st.none(), st.integers(-len(shape), len(shape) - 1), st.just(tuple(range(len(shape))))))
    expected = getattr(scipy.special, name)(np.asarray(x, np.float64), axis=axis).astype(dtype)
    assert_same(getattr(tfr, name)(const(x), axis=axis), expected, rtol=50 * TOLERANCE[dtype.name],
                atol=1e-44 if name == "softmax" else TOLERANCE[dtype.name])


@pytest.mark.parametrize("axis", [-1, 0, (0, 2), None])
@pytest.mark.parametrize("dtype", REAL_DTYPES)
@pytest.mark.parametrize("name", NORMALISED)
def test_softmax_derivatives(name, dtype, axis):
    x = random_layout(sample(np.random.default_rng(5), (2, 3, 2), dtype), np.random.default_rng(6))
    check_grads(lambda t: getattr(tfr, name)(t, axis=axis), [x], order=2)


@pytest.mark.parametrize("name", NORMALISED)
def test_empty(name):
    for shape, axis in (((0,), 0), ((2, 0), 1), ((2, 0), 0)):
        x = leaf(np.ones(shape))
        y = getattr(tfr, name)(x, axis=axis)
        assert y.shape == shape
        assert x.runtime.vjp(y, x, np.ones(shape)).shape == shape


@pytest.mark.parametrize("masking", [False, True])
def test_slices_of_minus_infinity(masking):
    """Value, both first derivatives and the second: zeros for the slice, and finite numbers elsewhere."""
    x = np.array([[1.0, 2, 3], [4, 5, 6], [-1, 0, 2]])
    gone = np.array([[False, False, True], [True, True, True], [False, False, False]])
    weights = np.array([[1.0, -2, 0.5], [3, 1, -1], [0.3, 2, 1]])
    if masking:
        x[gone] = [NAN, INF, -INF, 1e300]
        t, f = leaf(x), lambda t: tfr.masked_softmax(t, ~gone)
    else:
        x[gone] = -INF
        t, f = leaf(x), tfr.softmax
    with np.errstate(all="ignore"):
        e = np.where(gone, 0, np.exp(np.where(gone, 0, x)))
    p = e / np.maximum(e.sum(1, keepdims=True), 1e-300)
    y = f(t)
    np.testing.assert_allclose(value(y), p, rtol=1e-14, atol=0)
    rt = t.runtime
    first = rt.vjp(y, t, weights)
    slope = p * (weights - (p * weights).sum(1, keepdims=True))
    np.testing.assert_allclose(value(first), slope, atol=1e-15)
    np.testing.assert_allclose(value(rt.jvp(y, t, weights)), slope, atol=1e-15)
    for second in (rt.vjp(first, t, weights), rt.jvp(first, t, weights)):
        centred = weights - (p * weights).sum(1, keepdims=True)
        expected = slope * centred - p * (slope * weights).sum(1, keepdims=True)
        np.testing.assert_allclose(value(second), expected, atol=1e-14)
        np.testing.assert_array_equal(value(second)[gone], 0)


@pytest.mark.parametrize("masking", [False, True])
def test_logarithms_of_nothing(masking):
    x, mask = np.array([[-INF, -INF], [0.0, -INF]]), np.array([[False, False], [True, False]])
    f = (lambda t: tfr.masked_log_softmax(t, mask)) if masking else tfr.log_softmax
    t = leaf(np.full((2, 2), 7.0) if masking else x)
    np.testing.assert_array_equal(value(f(t)), [[-INF, -INF], [0, -INF]])
    found, tangent = cotangent(f, t, np.ones((2, 2)))
    np.testing.assert_array_equal(found, np.zeros((2, 2)) if masking else [[1, 1], [-1, 1]])
    assert np.isfinite(tangent).all()


@pytest.mark.parametrize("dtype", REAL_DTYPES)
def test_logarithm_of_a_share_that_rounds_to_one(dtype):
    """The winner's is minus the sum of the others, to first order; ties and several slices are no exception."""
    x = np.array([[0.0, -40, -50], [900, 860, 850], [-30, 7, -32], [3, 3, 3], [3, 3, -60]], dtype)
    wide = x.astype(np.longdouble)
    wide -= wide.max(1, keepdims=True)
    others = np.where(wide == 0, 0, np.exp(wide)).sum(1, keepdims=True) + ((wide == 0).sum(1, keepdims=True) - 1)
    expected = np.float64(wide - np.log1p(others))
    assert (expected.max(1) < 0).all()
    np.testing.assert_allclose(value(tfr.log_softmax(x)), expected, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_allclose(value(tfr.masked_log_softmax(x, True)), expected, rtol=4 * np.finfo(dtype).eps)
    check_grads(tfr.log_softmax, [x], order=2)


@pytest.mark.parametrize("dtype", REAL_DTYPES)
def test_derivatives_of_logarithms_at_minus_infinity(dtype):
    """Those of elements so low that they do not count; a slice of nothing else has the derivatives of the identity."""
    x = np.array([[1, -INF, 2], [0, 1, 2], [-INF, -INF, -INF]], dtype)
    g = np.array([[1, -2, 3], [1, 0, 2], [0.5, 1, -1]], dtype)
    found, expected = [], []
    for results, a in ((found, x), (expected, np.maximum(x, -2000)[:2])):
        t, d = leaf(a), g[:len(a)]
        y, rt = tfr.log_softmax(t), t.runtime
        first = [rt.vjp(y, t, d), rt.jvp(y, t, d)]
        results += map(value, [*first, *[f(u, t, d) for u in first for f in (rt.vjp, rt.jvp)]])
    for a, b, last in zip(found, expected, [g[2], g[2], *[np.zeros(3)] * 4], strict=True):
        np.testing.assert_array_equal(a[:2], b)
        np.testing.assert_array_equal(a[2], last)


@pytest.mark.parametrize("dtype", REAL_DTYPES)
@pytest.mark.parametrize("name", ["masked_softmax", "masked_log_softmax"])
def test_masked_derivatives(name, dtype):
    x = sample(np.random.default_rng(7), (3, 4), dtype)
    mask = np.array([[1, 1, 0, 1], [0, 1, 1, 0], [1, 1, 1, 1]], bool)
    check_grads(lambda t: tfr.where(mask, getattr(tfr, name)(t, mask), 0.0), [x], order=2)
    whole = np.ones(4, bool)
    np.testing.assert_array_equal(value(getattr(tfr, name)(x, whole)), value(getattr(tfr, name[7:])(x)))


def test_masks_broadcast_and_are_checked():
    assert_same(tfr.masked_softmax(np.zeros(2), [[1, 0], [1, 1]]), np.array([[1, 0], [0.5, 0.5]]))
    with pytest.raises(DTypeMismatchError, match="bool"):
        tfr.masked_softmax(np.zeros(2), [1.0, 0.0])
    with pytest.raises(ShapeMismatchError):
        tfr.masked_softmax(np.zeros(2), np.ones(3, bool))
    with pytest.raises(AxisError):
        tfr.softmax(np.zeros(2), axis=1)


# ---- normalisation ---------------------------------------------------------------------------------------------------

def reference_norm(x, axis, eps, centre):
    x = x - x.mean(axis, keepdims=True) if centre else x
    return x / np.sqrt((abs(x) ** 2).mean(axis, keepdims=True) + eps)


@pytest.mark.parametrize("dtype", DIFF_DTYPES)
@pytest.mark.parametrize("axis", [-1, 0, (0, 1), None])
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_normalisation(name, axis, dtype):
    rng = np.random.default_rng(8)
    x, w = random_layout(sample(rng, (3, 4), dtype), rng), sample(rng, 4, dtype)
    f = getattr(tfr, name)
    wide = np.asarray(x, np.result_type(dtype, np.float64))
    for eps in (0.0, 1e-5, 0.5):
        expected = w * reference_norm(wide, axis, eps, name == "layer_norm")
        assert_same(f(const(x), w, axis=axis, eps=eps), expected.astype(dtype), rtol=10 * TOLERANCE[dtype.name],
                    atol=10 * TOLERANCE[dtype.name])
    check_grads(lambda t, u: f(t, u, axis=axis, eps=0.1), [x, w], order=2)


def test_bias_of_layer_norm():
    x, w, b = np.array([[1.0, 2], [5, 3]]), np.array([2.0, -1]), np.array([0.5, 7])
    assert_same(tfr.layer_norm(x, w, b), reference_norm(x, -1, 1e-5, True) * w + b, rtol=1e-13)
    check_grads(lambda *t: tfr.layer_norm(*t), [x, w, b], order=2)


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1e8, 1e200])
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_normalisation_at_all_scales(name, scale):
    x, g = np.array([1.0, -2, 4]), np.array([0.3, 1, -2])
    f = getattr(tfr, name)
    one, other = leaf(x), leaf(x * scale)
    np.testing.assert_allclose(value(f(other, eps=0)), value(f(one, eps=0)), rtol=1e-13, atol=1e-15)
    for found, expected in zip(cotangent(lambda t: f(t, eps=0), other, g * scale),
                               cotangent(lambda t: f(t, eps=0), one, g), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_normalisation_of_equal_elements():
    x = leaf(np.full(4, 3.0))
    np.testing.assert_array_equal(value(tfr.layer_norm(x)), np.zeros(4))
    found, tangent = cotangent(tfr.layer_norm, x, np.array([1.0, 0, 0, 0]))
    expected = np.array([0.75, -0.25, -0.25, -0.25]) / np.sqrt(1e-5)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(tangent, expected, rtol=1e-12)


def test_eps_is_checked():
    for f in (tfr.layer_norm, tfr.rms_norm):
        with pytest.raises(ValidationError, match="eps"):
            f([1.0], eps=-1)
        assert f(np.ones((0, 2))).shape == (0, 2)
