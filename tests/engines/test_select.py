"""Comparisons, selection and rounding against NumPy: values, dtypes, derivatives, ties and bounds."""

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
from tenferro.errors import ContextMismatchError, IntegerOverflowError, ShapeMismatchError
from tenferro.testing import check_grads

COMPARE = {"equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
           "greater": np.greater, "greater_equal": np.greater_equal, "logical_and": np.logical_and,
           "logical_or": np.logical_or, "logical_xor": np.logical_xor, "maximum": np.maximum, "minimum": np.minimum}
TEST = {"logical_not": np.logical_not, "isfinite": np.isfinite, "isnan": np.isnan, "isinf": np.isinf}
ROUNDING = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round}
SPECIAL = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 0.5, -1.5, 2.5])
dtypes = st.sampled_from(ALL_DTYPES)
seeds = st.integers(0, 2**32 - 1)


def vjp(f, *arrays):
    xs = [leaf(np.asarray(a)) for a in arrays]
    y = f(*xs)
    return [np.asarray(g.detach()) for g in y.runtime.vjp(y, xs, np.ones(y.shape, y.dtype))]


# ---- values ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", COMPARE)
@settings(max_examples=40, deadline=None)
@given(sides=broadcastable_shapes(), pair=st.tuples(dtypes, dtypes), seed=seeds, layout=layouts)
def test_binary_values(name, sides, pair, seed, layout):
    rng = np.random.default_rng(seed)
    x, y = (layout(sample(rng, s, d)) for s, d in zip(sides.input_shapes, pair))
    assert_same(FUNCTIONS[name](const(x), const(y)), COMPARE[name](x, y))


@pytest.mark.parametrize("name", [*TEST, *ROUNDING])
@settings(max_examples=30, deadline=None)
@given(shape=shapes(), dtype=dtypes, seed=seeds, layout=layouts)
def test_unary_values(name, shape, dtype, seed, layout):
    f = TEST.get(name) or ROUNDING[name]
    if name in ROUNDING and dtype.kind in ("c" if name != "round" else "b"):
        return
    x = layout(sample(np.random.default_rng(seed), shape, dtype))
    assert_same(FUNCTIONS[name](const(x)), f(x))


@pytest.mark.parametrize("name", [*COMPARE, *TEST, *ROUNDING])
def test_special_values(name):
    with np.errstate(all="ignore"):
        if name in COMPARE:
            x, y = SPECIAL[:, None], SPECIAL
            assert_same(FUNCTIONS[name](const(x), const(y)), COMPARE[name](x, y))
        else:
            assert_same(FUNCTIONS[name](const(SPECIAL)), (TEST.get(name) or ROUNDING[name])(SPECIAL))


@settings(max_examples=80, deadline=None)
@given(sides=broadcastable_shapes(3), pair=st.tuples(dtypes, dtypes), chosen=dtypes, seed=seeds, layout=layouts)
def test_where_values(sides, pair, chosen, seed, layout):
    rng = np.random.default_rng(seed)
    c, x, y = (layout(sample(rng, s, d)) for s, d in zip(sides.input_shapes, (chosen, *pair)))
    assert_same(tfr.where(const(c), const(x), const(y)), np.where(c, x, y))


@settings(max_examples=80, deadline=None)
@given(sides=broadcastable_shapes(3), triple=st.tuples(dtypes, dtypes, dtypes), seed=seeds, layout=layouts)
def test_clamp_values(sides, triple, seed, layout):
    rng = np.random.default_rng(seed)
    x, low, high = (layout(sample(rng, s, d)) for s, d in zip(sides.input_shapes, triple))
    expected = np.minimum(np.maximum(x, low), high)
    assert_same(tfr.clamp(const(x), const(low), const(high)), expected.astype(np.result_type(*triple)))


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_selection_of_large_arrays(dtype):
    rng = np.random.default_rng(5)
    x, y, z = (sample(rng, (130, 90), dtype, -50, 50) for _ in range(3))
    c = x.real > 0
    assert_same(tfr.where(const(c), const(x), const(y)), np.where(c, x, y))
    assert_same(tfr.where(const(c.T.copy().T), const(x), const(y[0])), np.where(c, x, y[0]))
    if dtype.kind == "b":
        assert_same(tfr.clamp(const(x), False, True), x)
    else:
        assert_same(tfr.clamp(const(x), const(y), const(z)), np.clip(x, y, z))


def test_clamp_special_values():
    x = SPECIAL[:, None, None]
    with np.errstate(all="ignore"):
        assert_same(tfr.clamp(const(x), const(SPECIAL[:, None]), const(SPECIAL)), np.clip(x, SPECIAL[:, None], SPECIAL))
        z = x + 1j * SPECIAL[3]
        assert_same(tfr.clamp(const(z), -1, 1), np.clip(z, -1, 1))


def test_clamp_with_one_bound_or_none():
    x = np.array([-3.0, 0.5, 7.0])
    assert_same(tfr.clamp(const(x), min=0), np.maximum(x, 0))
    assert_same(tfr.clamp(const(x), max=1), np.minimum(x, 1))
    assert_same(tfr.clamp(const(x)), x)
    for dtype in ALL_DTYPES:
        x = sample(np.random.default_rng(0), 5, dtype)
        assert_same(tfr.clamp(const(x), min=const(x)), x)
        assert_same(tfr.clamp(const(x), max=const(x)), x)


def test_clamp_promotes_three_operands_at_once():
    x, low, high = np.ones(2, "f4"), np.zeros(2, "i2"), np.full(2, 3, "u2")
    assert_same(tfr.clamp(const(x), const(low), const(high)), np.clip(x, low, high))
    check_grads(lambda x: tfr.clamp(x, low, high), [np.array([0.5, 4.0], "f4")])


def test_clamp_bounds_outside_the_dtype():
    x = const(np.array([0, 100, 255], "u1"))
    assert_same(tfr.clamp(x, -5, 300), np.array([0, 100, 255], "u1"))
    with pytest.raises(IntegerOverflowError):
        tfr.clamp(x, 300, 400)


def test_python_scalars_are_weak():
    x, n = const(np.ones(3, "f4")), const(np.ones(3, "i2"))
    assert tfr.where(x > 0, x, 0).dtype == tfr.where(x > 0, 2.5, x).dtype == tfr.clamp(x, 0, 1.5).dtype == np.float32
    assert tfr.where(x > 0, n, 7).dtype == tfr.clamp(n, 0, 9).dtype == np.int16
    assert tfr.where(x > 0, n, 0.5).dtype == tfr.clamp(n, 0.5).dtype == np.float64
    assert tfr.where(x > 0, x, 1j).dtype == np.complex64
    assert_same(tfr.where(x > 0, 1, 0), np.ones(3, int))
    assert_same(tfr.where([True, False], 1.0, [2, 3]), [1.0, 3.0])
    assert_same(tfr.where(True, 2.0, 3.0), 2.0)
    assert tfr.where(x > 0, x, np.float64(1)).dtype == np.float64


@pytest.mark.parametrize(("x", "decimals"), [([0.125, 2.675, -1.25], 2), ([1234.0, -55.0, 25.0], -1),
                                             ([2.5 + 3.5j, -0.5j], 0), ([1.26 - 7.77j], 1),
                                             ([15, 25, -34], -1), ([15, 25], 3)])
def test_round_to_decimals(x, decimals):
    x = np.asarray(x)
    assert_same(tfr.round(const(x), decimals), np.round(x, decimals))
    assert_same(tfr.round(const(x), decimals=decimals), np.round(x, decimals))


def test_comparisons_are_untracked():
    x = leaf(np.array([1.0, 2.0]))
    for name in (*COMPARE, *TEST):
        y = FUNCTIONS[name](x, x) if name in COMPARE else FUNCTIONS[name](x)
        assert y.tracks_grad == (name in ("maximum", "minimum"))
        assert y.dtype == (x.dtype if y.tracks_grad else np.dtype(bool))


def test_operands_that_do_not_fit():
    x = const(np.ones(3))
    with pytest.raises(ShapeMismatchError) as caught:
        tfr.where(const(np.ones(2, bool)), x, x)
    assert caught.value.op == "where"
    with pytest.raises(ShapeMismatchError):
        tfr.clamp(x, const(np.ones(2)), 1.0)
    other = tfr.EagerRuntime().constant_from(tfr.Tensor.from_numpy(np.ones(3)))
    for broken in (lambda: tfr.where(x > 0, x, other), lambda: tfr.clamp(x, other)):
        with pytest.raises(ContextMismatchError):
            broken()


# ---- derivatives -----------------------------------------------------------------------------------------------------

def distinct(rng, shape, dtype):
    """Values away from each other and from integers, so that no difference quotient crosses a kink."""
    size = int(np.prod(shape))
    x = (rng.permutation(size) - size // 2) * 0.31 + 0.12
    x = x.reshape(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.uniform(-1, 1, shape)
    return random_layout(np.asarray(x, dtype), rng)


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremum_derivatives(name, dtype):
    rng = np.random.default_rng(6)
    for side in ((2, 3), (3,), ()):
        x, y = distinct(rng, (2, 3), dtype), distinct(rng, side, dtype) + np.asarray(0.15, dtype)
        check_grads(FUNCTIONS[name], [x, y])


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
def test_where_derivatives(dtype):
    rng = np.random.default_rng(7)
    c = random_layout(np.array([[True], [False]]), rng)
    check_grads(lambda x, y: tfr.where(c, x * x, y), [distinct(rng, (2, 3), dtype), distinct(rng, (3,), dtype)])
    check_grads(lambda x: tfr.where(c, x, 0), [distinct(rng, (), dtype)])
    check_grads(lambda x: tfr.where(c, 1.5, x), [distinct(rng, (2, 1), dtype)])
    check_grads(lambda x, y: tfr.where(c, x, y), [distinct(rng, (3,), dtype), distinct(rng, (2, 1), "c16")])


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
def test_clamp_derivatives(dtype):
    rng = np.random.default_rng(8)
    x = distinct(rng, (3, 4), dtype)
    low, high = np.asarray([-1.1, -0.7, 0.3, 2.0], dtype), np.asarray([[1.1], [0.4], [-0.2]], dtype)
    check_grads(tfr.clamp, [x, low, high])
    check_grads(lambda x: tfr.clamp(x * x, -1, 1), [x])


@pytest.mark.parametrize("dtype", DIFF_DTYPES[:2], ids=str)
@pytest.mark.parametrize("name", ROUNDING)
def test_rounding_has_zero_derivative(name, dtype):
    x = leaf(np.array([0.2, -1.7], dtype))
    y = FUNCTIONS[name](x)
    assert y.tracks_grad
    assert_same(x.runtime.vjp(y, x, np.ones(2, dtype)), np.zeros(2, dtype))
    assert_same(x.runtime.jvp(y, x, np.ones(2, dtype)), np.zeros(2, dtype))
    check_grads(lambda x: FUNCTIONS[name](x) * x, [np.array([0.2, -1.7], dtype)])


def test_ties_share_the_gradient():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    for f, dx in ((tfr.maximum, [0.5, 0, 1]), (tfr.minimum, [0.5, 1, 0])):
        found = vjp(f, x, y)
        assert np.array_equal(found, [dx, np.subtract(1, dx)])
    t = leaf(x)
    tie = tfr.maximum(t, x)
    assert_same(t.runtime.jvp(tie, t, np.ones(3)), np.full(3, 0.5))
    assert_same(t.runtime.vjp(tfr.maximum(t, t), t, np.ones(3)), np.ones(3))


def test_extrema_of_nan():
    x, y = np.array([np.nan, 1.0]), np.array([1.0, np.nan])
    for f in (tfr.maximum, tfr.minimum):
        assert np.isnan(f(const(x), const(y)).numpy()).all()
        assert np.array_equal(vjp(f, x, y), np.ones((2, 2)))


def test_unselected_values_have_no_gradient():
    x = np.array([np.nan, np.inf, 2.0])
    c = np.array([False, False, True])
    assert np.array_equal(vjp(lambda x: tfr.where(c, x * x, 0), x)[0], [0, 0, 4])
    assert np.array_equal(vjp(lambda x: tfr.where(c, x, x[::-1]), x)[0], [0, 1, 2])
    t = leaf(np.array([1.0, 0.0]))
    assert_same(t.runtime.vjp(tfr.where(t, t, 5.0), t, np.ones(2)), [1.0, 0.0])


def test_clamp_has_no_gradient_at_its_bounds():
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    assert np.array_equal(vjp(lambda x: tfr.clamp(x, -1, 1), x)[0], [0, 0, 1, 0, 0])
    assert np.array_equal(vjp(lambda x: tfr.clamp(x, min=-1), x)[0], [0, 0, 1, 1, 1])
    assert np.array_equal(vjp(lambda x: tfr.clamp(x, max=1), x)[0], [1, 1, 1, 0, 0])
    dx, low, high = vjp(tfr.clamp, x, np.full(5, -1.0), np.full(5, 1.0))
    assert np.array_equal([dx, low, high], [[0, 0, 1, 0, 0], [1, 1, 0, 0, 0], [0, 0, 0, 1, 1]])
    dx, low, high = vjp(tfr.clamp, x, np.full(5, 1.0), np.full(5, -1.0))     # crossed: the upper bound acts
    assert np.array_equal([dx, low, high], [np.zeros(5), np.zeros(5), np.ones(5)])
