"""Derivatives of reductions and cumulative operations: differences, ties, zeros, constants, infinities."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from support import DIFF_DTYPES, REAL_DTYPES, const, layouts, leaf, sample, shapes, value

import tenferro as tfr
from tenferro.testing import check_grads

FOLDS = ("sum", "mean", "prod", "var", "std", "max", "min", "logsumexp")
REAL_ONLY = ("max", "min", "logsumexp")
SCANS = ("cumsum", "cumprod")

seeds = st.integers(0, 2**32 - 1)


def axes_of(rank):
    if rank == 0:
        return st.sampled_from([None, ()])
    one = st.integers(-rank, rank - 1)
    return st.one_of(st.none(), one, st.lists(one, unique_by=lambda k: k % rank).map(tuple))


def dtypes_of(name):
    return REAL_DTYPES if name in REAL_ONLY else DIFF_DTYPES


def draw_array(data, dtype, **kwargs):
    rng = np.random.default_rng(data.draw(seeds))
    shape = data.draw(shapes(max_dims=3, max_side=3, min_side=1, **kwargs))
    x = sample(rng, shape, dtype)
    if dtype.kind == "f":               # well apart, so that differences of extremes see no tie
        x = (rng.permutation(x.size).reshape(shape) * 0.3 - 1 + rng.uniform(0, 0.1, shape)).astype(dtype)
    return data.draw(layouts)(x)


def check_fold(name, dtype, data):
    x = draw_array(data, np.dtype(dtype))
    axis, keepdims = data.draw(axes_of(x.ndim)), data.draw(st.booleans())
    kwargs = {"correction": data.draw(st.sampled_from([0, 0.5]))} if name in ("var", "std") else {}
    if name == "std":
        assume(np.all(np.std(x, axis) > 0.05))
    check_grads(lambda x: getattr(tfr, name)(x, axis, keepdims, **kwargs), [x])


def gradient(f, x, cotangent=None):
    """VJP at x as an array, checked against the JVP: each is the other's transpose here."""
    x = leaf(np.asarray(x))
    y = f(x)
    c = np.ones(y.shape, y.dtype) if cotangent is None else np.asarray(cotangent, y.dtype)
    g = value(x.runtime.vjp(y, x, const(c)))
    for k in np.ndindex(*x.shape):
        t = np.zeros(x.shape, x.dtype)
        t[k] = 1
        tangent = value(x.runtime.jvp(y, x, const(t)))
        np.testing.assert_allclose(np.sum(c * tangent), g[k], rtol=1e-6, atol=1e-7)
    return g


def second(f, x, direction):
    """Derivative of the gradient along a direction, in both nestings."""
    x = leaf(np.asarray(x, float))
    d = const(np.asarray(direction, float))
    y = f(x)
    g = x.runtime.grad(y, x)
    one, two = (f(g, x, d) for f in (x.runtime.jvp_optional, x.runtime.vjp_optional))
    if one is None and two is None:
        return np.zeros(x.shape)
    one, two = value(one), value(two)
    np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)
    return one


# ---- differences -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", FOLDS)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_folds(name, data):
    check_fold(name, data.draw(st.sampled_from(dtypes_of(name))), data)


@pytest.mark.parametrize("name", SCANS)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_scans(name, data):
    x = draw_array(data, data.draw(st.sampled_from(DIFF_DTYPES)))
    axis = data.draw(st.none() if x.ndim == 0 else st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1)))
    check_grads(lambda x: getattr(tfr, name)(x, axis), [x])


@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_diff(data):
    x = draw_array(data, data.draw(st.sampled_from(DIFF_DTYPES)), min_dims=1)
    axis, n = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.integers(0, 2))
    check_grads(lambda x: tfr.diff(x, n, axis), [x])
    check_grads(lambda x, y: tfr.diff(x, n, axis, prepend=y), [x, x])


@pytest.mark.sweep
@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_sweep(name, dtype, data):
    if dtype in dtypes_of(name):
        check_fold(name, dtype, data)


@pytest.mark.parametrize("name", ["sum", "prod", "logsumexp", "cumprod"])
def test_third_order(name):
    x = np.array([[0.5, -1.5], [1.0, 0.7], [-0.8, 2.0]])
    check_grads(lambda x: getattr(tfr, name)(x, 0), [x], order=3, atol=1e-5)


# ---- products with zeros ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("zeros", [(0,), (1,), (3,), (0, 2), (1, 2, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_products_with_zeros(name, zeros, dtype):
    x = sample(np.random.default_rng(7), (4,), dtype) + np.array(0.2, dtype)
    x[list(zeros)] = 0
    check_grads(lambda x: getattr(tfr, name)(x, 0), [x])


@pytest.mark.parametrize("axis", [None, (0, 2), (0, 1), 1])
def test_product_over_several_axes_with_zeros(axis):
    x = np.random.default_rng(8).uniform(0.5, 1.5, (2, 2, 3))
    x[0, 1, 1] = x[1, 0, 2] = x[1, 1, 0] = 0
    for order in "CF":
        check_grads(lambda x: tfr.prod(x, axis), [np.array(x, order=order)])


def test_product_gradient_values():
    assert gradient(tfr.prod, [2.0, 0.0, 5.0]).tolist() == [0, 10, 0]
    assert gradient(tfr.prod, [2.0, 0.0, 0.0]).tolist() == [0, 0, 0]
    assert second(tfr.prod, [2.0, 0.0, 0.0], [0, 1, 0]).tolist() == [0, 0, 2]
    assert gradient(lambda x: tfr.cumprod(x), [2.0, 0.0, 5.0]).tolist() == [1, 12, 0]


def test_product_with_infinity():
    """A cotangent that is exactly zero contributes zero."""
    x = leaf(np.array([[np.inf, 2.0], [3.0, 4.0]]))
    g = value(x.runtime.vjp(tfr.prod(x, 1), x, np.array([0.0, 1.0])))
    assert g.tolist() == [[0, 0], [4, 3]]


# ---- ties ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
@pytest.mark.parametrize(("name", "sign"), [("max", 1), ("min", -1)])
def test_extremes_share_among_winners(name, sign, dtype):
    f = getattr(tfr, name)
    x = sign * np.array([[1, 3, 3], [2, 2, 2], [5, 1, 0]], dtype)
    np.testing.assert_allclose(gradient(lambda x: f(x, 1), x), [[0, 0.5, 0.5], [1 / 3] * 3, [1, 0, 0]], rtol=1e-6)
    np.testing.assert_allclose(gradient(lambda x: f(x, 0, True), x), [[0, 1, 1], [0, 0, 0], [1, 0, 0]])
    np.testing.assert_allclose(gradient(f, np.full((2, 2), 7, dtype)), np.full((2, 2), 0.25))


def test_extremes_have_no_second_derivative():
    assert not second(lambda x: tfr.sum(tfr.max(x) * 1.0), [1.0, 3.0, 3.0], [1, 2, 3]).any()
    assert second(lambda x: tfr.max(x) ** 2.0, [1.0, 3.0, 3.0], [1, 2, 4]).tolist() == [0, 3, 3]


def test_extremes_with_nan_and_infinity():
    assert gradient(tfr.max, [1.0, np.inf, 2.0, np.inf]).tolist() == [0, 0.5, 0, 0.5]
    x = leaf(np.array([1.0, np.nan, 2.0, np.nan]))
    assert value(x.runtime.grad(tfr.max(x), x)).tolist() == [0, 0.5, 0, 0.5]


def test_extremes_ignore_what_does_not_win():
    """Infinite cotangents and tangents leave elements alone that had no part in the result."""
    x = leaf(np.array([[1.0, 3.0, 3.0], [2.0, 1.0, 0.0]]))
    for f, expected in ((tfr.max, [[0, np.inf, np.inf], [0, 0, 0]]), (tfr.min, [[np.inf, 0, 0], [0, 0, 0]])):
        g = value(x.runtime.vjp(f(x, 1), x, np.array([np.inf, 0.0])))
        assert g.tolist() == expected
    t = np.array([[np.inf, 1.0, 2.0], [5.0, np.nan, np.inf]])
    assert value(x.runtime.jvp(tfr.max(x, 1), x, t)).tolist() == [1.5, 5]


def test_large_extremes():
    rng = np.random.default_rng(12)
    x = rng.integers(0, 50, (300, 400)).astype(float)
    for axis in (0, 1, None, (0, 1)):
        for order in "CF":
            v = leaf(np.array(x, order=order))
            for f, g in ((tfr.max, np.max), (tfr.min, np.min)):
                won = x == g(x, axis, keepdims=True)
                expected = won / won.sum(axis, keepdims=True)
                assert np.array_equal(value(v.runtime.grad(tfr.sum(f(v, axis)), v)), expected)


# ---- constants -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1,), (3,), (1000,)])
def test_std_of_a_constant_has_zero_derivatives(shape, dtype):
    x = leaf(np.full(shape, 0.1, dtype))
    y = tfr.std(x)
    g = x.runtime.grad(y, x)
    assert value(g).tolist() == [0] * x.size
    assert not value(x.runtime.vjp(g, x, np.ones(shape, dtype))).any()
    assert not value(x.runtime.jvp(g, x, np.arange(x.size).astype(dtype))).any()
    assert not value(x.runtime.jvp(y, x, np.arange(x.size).astype(dtype))).any()


def test_std_with_a_constant_row():
    x = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 4.0]])
    g = gradient(lambda x: tfr.std(x, 1), x)
    assert not g[0].any()
    np.testing.assert_allclose(g[1], (x[1] - x[1].mean()) / (3 * x[1].std()), rtol=1e-13)
    h = second(lambda x: tfr.sum(tfr.std(x, 1)), x, np.ones((2, 3)) * [1, 2, 3])
    assert not h[0].any()
    assert h[1].any()


def test_var_of_a_constant():
    h = second(tfr.var, [2.0, 2.0], [1.0, 0.0])
    assert gradient(tfr.var, [2.0, 2.0]).tolist() == [0, 0]
    np.testing.assert_allclose(h, [0.5, -0.5])


# ---- log-sum-exp -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", REAL_DTYPES, ids=str)
def test_logsumexp_of_nothing_but_minus_infinity(dtype):
    x = leaf(np.array([[-np.inf, -np.inf], [0.0, np.log(3)], [-np.inf, 1.0]], dtype))
    y = tfr.logsumexp(x, 1)
    g = x.runtime.vjp(y, x, np.ones(3, dtype))
    np.testing.assert_allclose(value(g), [[0, 0], [0.25, 0.75], [0, 1]], rtol=1e-6)
    h = value(x.runtime.vjp(g, x, np.array([[1, 2], [1, 0], [3, 4]], dtype)))
    np.testing.assert_allclose(h, [[0, 0], [3 / 16, -3 / 16], [0, 0]], rtol=1e-5, atol=1e-7)
    assert value(x.runtime.jvp(y, x, np.ones((3, 2), dtype))).tolist() == pytest.approx([0, 1, 1])


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e8, 1e300])
def test_logsumexp_weights_do_not_depend_on_the_offset(offset):
    x = np.array([0.0, 0.0, 0.0, -64.0]) + offset
    np.testing.assert_allclose(gradient(tfr.logsumexp, x)[:3], 1 / 3 if offset < 1e300 else 0.25, rtol=1e-14)


def test_logsumexp_absorbs():
    x = leaf(np.array([[np.inf, np.inf], [0.0, 0.0]]))
    assert value(x.runtime.vjp(tfr.logsumexp(x, 1), x, np.array([0.0, 1.0]))).tolist() == [[0, 0], [0.5, 0.5]]


# ---- sizes -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize(("shape", "axis"), [((0, 3), 1), ((0,), None), ((2, 0), 1)])
def test_zero_size(name, shape, axis):
    if name in ("max", "min") and shape != (0, 3):
        return
    x = tfr.variable(np.zeros(shape))
    y = getattr(tfr, name)(x, axis)
    g = x.runtime.vjp(y, x, np.ones(y.shape))
    assert g.shape == shape
    t = x.runtime.jvp(y, x, np.zeros(shape))
    assert t.shape == y.shape
    assert not value(t).any() or name in ("mean", "var", "std")


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_zero_size_scans(name):
    x = tfr.variable(np.zeros((2, 0)))
    y = getattr(tfr, name)(x, 1)
    assert x.runtime.vjp(y, x, np.zeros((2, 0))).shape == (2, 0)
    assert x.runtime.jvp(y, x, np.zeros((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "prod"])
def test_large(name, axis, order):
    """Along each axis the derivatives are those of the slices."""
    x = np.array(np.random.default_rng(2).uniform(0.9, 1.1, (30, 20, 25)), order=order)
    c = np.random.default_rng(3).normal(size=x.shape)
    c = c.take(0, axis) if name == "prod" else c
    f = getattr(tfr, name)
    v = leaf(x)
    g = value(v.runtime.vjp(f(v, axis), v, c))
    t = value(v.runtime.jvp(f(v, axis), v, x))
    for i, j in [(0, 0), (3, 7), (19, 5)]:
        at = [i, j]
        at.insert(axis, slice(None))
        row = leaf(x[tuple(at)].copy())
        cut = c[tuple(at)] if name != "prod" else c[i, j]
        expected = value(row.runtime.vjp(f(row, 0), row, np.array(cut)))
        np.testing.assert_allclose(g[tuple(at)], expected, rtol=1e-12, atol=1e-13)
        expected = value(row.runtime.jvp(f(row, 0), row, x[tuple(at)].copy()))
        np.testing.assert_allclose(t[tuple(at)] if name != "prod" else t[i, j], expected, rtol=1e-12)
