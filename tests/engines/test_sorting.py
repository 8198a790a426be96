"""Sorting, selection, cross and Kronecker products: values against NumPy's, derivatives to second order, errors."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from support import ALL_DTYPES, DIFF_DTYPES, assert_same, const, layouts, leaf, random_layout, sample, shapes, value

import tenferro as tfr
from tenferro.errors import AxisError, DTypeMismatchError, ShapeMismatchError, ValidationError
from tenferro.testing import check_grads

NAN = np.nan
seeds = st.integers(0, 2**32 - 1)


@st.composite
def arrays(draw, **kwargs):
    """Few different values, so that there are ties."""
    rng = np.random.default_rng(draw(seeds))
    a = sample(rng, draw(shapes(**kwargs)), draw(st.sampled_from(ALL_DTYPES)), -2, 2)
    if a.dtype.kind in "fc":
        a = np.asarray(np.round(a), a.dtype)
        a[rng.uniform(size=a.shape) < 0.1] = NAN
    return draw(layouts)(a)


def axes(rank):
    return st.one_of(st.none(), st.integers(-rank, rank - 1)) if rank else st.none()


def separated(rng, shape, dtype):
    """Different values, far enough apart for differences."""
    a = (rng.permutation(int(np.prod(shape))).reshape(shape) - 3.5) / 4
    return np.asarray(a + (1j * rng.uniform(-1, 1, shape) if np.dtype(dtype).kind == "c" else 0), dtype)


def reference_order(x, axis, descending):
    """Stable order by comparison of Python objects, NaN last, in reverse when descending."""
    def key(k):
        v = x[k]
        return (bool(np.isnan(v)), 0 if np.isnan(v) else v.real, 0 if np.isnan(v) else v.imag)
    return sorted(range(len(x)), key=lambda k: tuple(-p for p in key(k)) if descending else key(k))


# ---- sort, argsort, topk ---------------------------------------------------------------------------------------------

@settings(max_examples=60)
@given(data=st.data())
def test_sort_values(data):
    x = data.draw(arrays())
    axis = data.draw(axes(x.ndim))
    assert_same(tfr.sort(const(x), axis=axis), np.sort(x, axis=axis))
    assert_same(tfr.argsort(const(x), axis=axis), np.argsort(x, axis=axis, kind="stable"))


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d.kind != "c"], ids=str)
def test_descending_is_stable(dtype):
    x = sample(np.random.default_rng(1), 12, dtype, -2, 2)
    x = np.asarray(np.round(x), dtype) if dtype.kind == "f" else x
    wide = x.astype(float)
    expected = reference_order(wide, 0, True)
    assert_same(tfr.argsort(x, descending=True), np.array(expected))
    assert_same(tfr.sort(x, descending=True), x[expected])


def test_not_a_number_is_the_largest():
    x = np.array([1.0, NAN, -np.inf, np.inf])
    np.testing.assert_array_equal(value(tfr.sort(x)), [-np.inf, 1, np.inf, NAN])
    np.testing.assert_array_equal(value(tfr.sort(x, descending=True)), [NAN, np.inf, 1, -np.inf])
    np.testing.assert_array_equal(value(tfr.topk(x, 2)[1]), [1, 3])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("axis", [-1, 0, None])
@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
def test_sort_derivatives(dtype, axis, descending):
    rng = np.random.default_rng(2)
    x = random_layout(separated(rng, (3, 4), dtype), rng)
    check_grads(lambda t: tfr.square(tfr.sort(t, axis=axis, descending=descending)), [x], order=2)


def test_gradient_of_sort_goes_by_the_inverse_permutation():
    x = leaf(np.array([3.0, 1, 2, 1]))
    y = tfr.sort(x)
    g = x.runtime.vjp(y, x, np.array([10.0, 20, 30, 40]))
    np.testing.assert_array_equal(value(g), [40, 10, 30, 20])
    np.testing.assert_array_equal(value(x.runtime.jvp(y, x, np.array([1.0, 2, 3, 4]))), [2, 4, 3, 1])
    assert not tfr.argsort(x).tracks_grad


@settings(max_examples=30)
@given(data=st.data())
def test_topk_values(data):
    x = data.draw(arrays(min_dims=1))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    k = data.draw(st.integers(0, x.shape[axis]))
    for largest in (True, False):
        values, where = tfr.topk(const(x), k, axis=axis, largest=largest)
        expected = np.argsort(x, axis, kind="stable")
        if largest:
            expected = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        expected = np.take(expected, np.arange(k), axis)
        assert_same(where, expected)
        assert_same(values, np.take_along_axis(x, expected, axis))


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
def test_topk_derivatives(dtype):
    x = separated(np.random.default_rng(3), (3, 4), dtype)
    check_grads(lambda t: tfr.square(tfr.topk(t, 2, axis=0)[0]), [x], order=2)
    check_grads(lambda t: tfr.square(tfr.topk(t, 2, axis=0, largest=False)[0]), [x], order=2)


def test_topk_errors():
    for k in (-1, 4):
        with pytest.raises(ValidationError, match="topk"):
            tfr.topk([1, 2, 3], k)
    for f in (tfr.sort, tfr.argsort, lambda x, axis: tfr.topk(x, 1, axis)):
        with pytest.raises(AxisError):
            f([1, 2], axis=1)


# ---- searchsorted, unique --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("side", ["left", "right"])
@settings(max_examples=30)
@given(data=st.data())
def test_searchsorted_values(side, data):
    x, v = data.draw(arrays(min_dims=1, max_dims=1)), data.draw(arrays())
    np.testing.assert_array_equal(value(tfr.searchsorted(const(np.sort(x)), const(v), side=side)),
                                  np.searchsorted(np.sort(x), v, side))
    order = np.argsort(x, kind="stable")
    found = tfr.searchsorted(const(x), const(v), side, sorter=order)
    assert_same(found, np.asarray(np.searchsorted(x, v, side, order)))
    assert not found.tracks_grad


def test_searchsorted_errors():
    with pytest.raises(ValidationError, match="'left' or 'right'"):
        tfr.searchsorted([1.0], 1.0, side="middle")
    with pytest.raises(ShapeMismatchError, match="one-dimensional"):
        tfr.searchsorted([[1.0]], 1.0)
    with pytest.raises(ShapeMismatchError, match="sorter"):
        tfr.searchsorted([1.0, 2.0], 1.0, sorter=[0])
    with pytest.raises(DTypeMismatchError):
        tfr.searchsorted([1.0, 2.0], 1.0, sorter=[0.0, 1.0])


@settings(max_examples=60)
@given(data=st.data())
def test_unique_values(data):
    x = data.draw(arrays())
    for equal_nan in (True, False):
        found = tfr.unique(const(x), True, True, True, equal_nan=equal_nan)
        for f, e in zip(found, np.unique(x, True, True, True, equal_nan=equal_nan), strict=True):
            assert_same(f, e)
            assert not f.tracks_grad
    assert_same(tfr.unique(const(x)), np.unique(x))


def test_unique_along_an_axis():
    x = np.array([[1, 2, 1], [0, 3, 0]])
    for f, e in zip(tfr.unique(x, return_counts=True, axis=1), np.unique(x, return_counts=True, axis=1), strict=True):
        assert_same(f, e)
    with pytest.raises(AxisError):
        tfr.unique(x, axis=2)


def test_unique_elements_are_those_that_come_first():
    x = leaf(np.array([2.0, 1, 2, 1]))
    values, counts = tfr.unique(x, return_counts=True)
    assert not counts.tracks_grad
    np.testing.assert_array_equal(value(x.runtime.vjp(values, x, np.array([5.0, 7]))), [7, 5, 0, 0])
    np.testing.assert_array_equal(value(x.runtime.jvp(values, x, np.array([1.0, 2, 3, 4]))), [2, 1])


def test_names_of_the_array_api_standard():
    x = np.array([[2.0, NAN, 2], [1, 2, NAN]])
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        found, expected = getattr(tfr, name)(x), getattr(np, name)(x)
        assert found._fields == expected._fields
        for f, e in zip(found, expected, strict=True):
            assert_same(f, e)
    assert_same(tfr.unique_values(x), np.array([1, 2, NAN, NAN]))


# ---- masks -----------------------------------------------------------------------------------------------------------

@settings(max_examples=30)
@given(data=st.data())
def test_masked_select_and_nonzero(data):
    x = data.draw(arrays(min_dims=1))
    mask = np.random.default_rng(data.draw(seeds)).integers(0, 2, x.shape).astype(bool)
    assert_same(tfr.masked_select(const(x), mask), x[mask])
    found = tfr.nonzero(const(x))
    assert isinstance(found, tuple)
    for f, e in zip(found, np.nonzero(x), strict=True):
        assert_same(f, e)


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
def test_masked_select_broadcasts_and_has_derivatives(dtype):
    x, mask = sample(np.random.default_rng(4), (3, 1), dtype), np.array([[True, False], [False, False], [True, True]])
    assert_same(tfr.masked_select(x, mask), np.broadcast_to(x, (3, 2))[mask])
    assert_same(tfr.masked_select(np.arange(6).reshape(2, 3), [True, False, True]), np.array([0, 2, 3, 5]))
    check_grads(lambda t: tfr.square(tfr.masked_select(t, mask)), [x], order=2)


def test_errors_of_masks():
    with pytest.raises(DTypeMismatchError, match="bool"):
        tfr.masked_select([1.0, 2.0], [1, 0])
    with pytest.raises(ShapeMismatchError):
        tfr.masked_select([1.0, 2.0], [True] * 3)
    with pytest.raises(ValidationError, match="atleast_1d"):
        tfr.nonzero(1.0)


# ---- products --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d.kind != "b"], ids=str)
def test_cross_values(dtype):
    rng = np.random.default_rng(5)
    a, b = sample(rng, (2, 3, 4), dtype), sample(rng, (2, 3, 1), dtype)
    for axis in (1, -2):
        assert_same(tfr.cross(a, b, axis=axis), np.cross(a, b, axis=axis), rtol=1e-5, atol=1e-5)
    assert_same(tfr.cross(a[0, :, 0], a[1].T), np.cross(a[0, :, 0], a[1].T), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("sides", [((2,), (3,)), ((2, 3), (2,)), ((), (2, 2)), ((2, 1, 2), (3, 2, 1)),
                                   ((0, 2), (2, 2))])
def test_kron_values(sides, dtype):
    rng = np.random.default_rng(6)
    a, b = (random_layout(sample(rng, s, dtype), rng) for s in sides)
    assert_same(tfr.kron(const(a), const(b)), np.kron(a, b), rtol=1e-6)


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
def test_derivatives_of_products(dtype):
    rng = np.random.default_rng(7)
    check_grads(tfr.cross, [sample(rng, (2, 3), dtype), sample(rng, 3, dtype)], order=2)
    check_grads(lambda a, b: tfr.cross(a, b, axis=0), [sample(rng, (3, 2), dtype), sample(rng, (3, 1), dtype)], order=2)
    check_grads(tfr.kron, [sample(rng, (2, 3), dtype), sample(rng, 2, dtype)], order=2)


def test_errors_of_products():
    with pytest.raises(ShapeMismatchError, match="not 3"):
        tfr.cross([1.0, 2], [1.0, 2])
    with pytest.raises(AxisError):
        tfr.cross([1.0, 2, 3], [1.0, 2, 3], axis=1)
    with pytest.raises(ValidationError, match="32"):
        tfr.kron(np.ones((1,) * 33), 2.0)
