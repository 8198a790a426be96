"""Reductions and cumulative operations against NumPy: values, dtypes, accuracy, errors."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from support import (
    ALL_DTYPES,
    COMPLEX_DTYPES,
    INT_DTYPES,
    REAL_DTYPES,
    assert_same,
    const,
    layouts,
    random_layout,
    sample,
    shapes,
)

import tenferro as tfr
from tenferro.errors import AxisError, DTypeMismatchError, ValidationError

NAN, INF = np.nan, np.inf
SUMS = ("sum", "prod", "mean", "var", "std")
EXTREMES = ("max", "min")
TRUTHS = ("any", "all", "count_nonzero")
FOLDS = (*SUMS, *EXTREMES, *TRUTHS)
POSITIONS = ("argmax", "argmin")
SCANS = ("cumsum", "cumprod")

seeds = st.integers(0, 2**32 - 1)


def operation(name):
    """The function of this library and NumPy's."""
    return getattr(tfr, name), getattr(np, name)


def tolerance(dtype):
    return {"float32": 1e-5, "complex64": 1e-5, "float64": 1e-12, "complex128": 1e-12}.get(np.dtype(dtype).name, 0)


@st.composite
def arrays(draw, dtypes=ALL_DTYPES, **kwargs):
    rng = np.random.default_rng(draw(seeds))
    return draw(layouts)(sample(rng, draw(shapes(**kwargs)), draw(st.sampled_from(dtypes)), -3, 3))


def axes_of(rank):
    if rank == 0:
        return st.sampled_from([None, ()])
    one = st.integers(-rank, rank - 1)
    return st.one_of(st.none(), one, st.lists(one, unique_by=lambda k: k % rank).map(tuple))


def axis_of(rank):
    return st.one_of(st.none(), st.integers(-rank, rank - 1)) if rank else st.none()


def reference(name, x, *args, **kwargs):
    """NumPy's result, or the kind of error."""
    with np.errstate(all="ignore"):
        try:
            return np.asarray(getattr(np, name)(x, *args, **kwargs))
        except ValueError:
            return ValidationError


def compare(name, x, *args, **kwargs):
    expected = reference(name, x, *args, **kwargs)
    if expected is ValidationError:
        with pytest.raises(ValidationError, match="no elements"):
            getattr(tfr, name)(const(x), *args, **kwargs)
        return
    tol = max(tolerance(x.dtype), tolerance(expected.dtype)) * (1 + x.size / 50)
    assert_same(getattr(tfr, name)(const(x), *args, **kwargs), expected, rtol=tol, atol=tol)


# ---- values ----------------------------------------------------------------------------------------------------------

@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom", "ignore:invalid value")
@pytest.mark.parametrize("name", FOLDS)
@given(data=st.data())
def test_folds(name, data):
    x = data.draw(arrays())
    compare(name, x, axis=data.draw(axes_of(x.ndim)), keepdims=data.draw(st.booleans()))


@pytest.mark.parametrize("name", POSITIONS)
@given(data=st.data())
def test_positions(name, data):
    x = data.draw(arrays())
    axis = data.draw(axis_of(x.ndim))
    if axis is not None and x.size == 0 and x.shape[axis]:
        kept = np.argmax(np.zeros((1, *x.shape)), axis=axis % x.ndim + 1, keepdims=True)[0]
        assert_same(getattr(tfr, name)(const(x), axis, keepdims=True), kept)
        return
    compare(name, x, axis=axis, keepdims=data.draw(st.booleans()))


@pytest.mark.parametrize("name", SCANS)
@given(data=st.data())
def test_scans(name, data):
    x = data.draw(arrays())
    compare(name, x, axis=data.draw(axis_of(x.ndim)))


@given(arrays(min_dims=1), st.data())
def test_diff(x, data):
    compare("diff", x, n=data.draw(st.integers(0, 3)), axis=data.draw(st.integers(-x.ndim, x.ndim - 1)))


@given(arrays(min_dims=1, min_side=1), st.data())
def test_diff_with_ends(x, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    kwargs = {"axis": axis, "n": data.draw(st.integers(0, 2))}
    kwargs["prepend"] = data.draw(st.sampled_from([x, x.take([0], axis), x.dtype.type(1)]))
    kwargs["append"] = data.draw(st.sampled_from([x, x.take([0], axis), x.dtype.type(0)]))
    compare("diff", x, **kwargs)


@given(arrays(REAL_DTYPES + INT_DTYPES), st.data())
def test_logsumexp(x, data):
    axis, keepdims = data.draw(axes_of(x.ndim)), data.draw(st.booleans())
    dtype = x.dtype if x.dtype.kind == "f" else np.float64
    expected = np.logaddexp.reduce(x.astype(dtype), axis=axis, keepdims=keepdims)
    tol = tolerance(dtype)
    assert_same(tfr.logsumexp(const(x), axis, keepdims), expected, rtol=tol, atol=tol)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(20001,), (150, 151), (5000, 3), (3, 5000), (30, 31, 32)], ids=str)
def test_large(dtype, shape):
    rng = np.random.default_rng(5)
    for name in ("sum", "max", "min", "any", "all", "count_nonzero", "argmax", "argmin", "cumsum"):
        x = random_layout(sample(rng, shape, dtype, -3, 3), rng)
        for axis in (None, *range(len(shape))):
            expected = np.asarray(getattr(np, name)(x, axis=axis))
            tol = 50 * tolerance(expected.dtype) * (1 + np.abs(expected).max())
            assert_same(getattr(tfr, name)(const(x), axis), expected, rtol=0, atol=tol)


@pytest.mark.parametrize("dtype", REAL_DTYPES + COMPLEX_DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(20001,), (150, 151), (5000, 3), (3, 5000), (30, 31, 32)], ids=str)
def test_large_moments(dtype, shape):
    rng = np.random.default_rng(6)
    x = random_layout(sample(rng, shape, dtype), rng)
    for axis in (None, *range(len(shape))):
        expected = np.var(x.astype(np.result_type(x, np.float64)), axis).astype(x.real.dtype)
        assert_same(tfr.var(const(x), axis), expected, rtol=10 * tolerance(dtype))


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom", "ignore:invalid value")
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("name", FOLDS)
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_sweep(name, dtype, data):
    # Products of more elements may overflow on the way in one order and not in another.
    small = {"max_dims": 4, "max_side": 3} if name == "prod" else {"max_dims": 5, "max_side": 6}
    x = data.draw(arrays([dtype], **small))
    compare(name, x, axis=data.draw(axes_of(x.ndim)), keepdims=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "logsumexp"])
def test_rank_64(name):
    x = np.full((1,) * 60 + (2, 1, 1, 2), 2.0)
    y = getattr(tfr, name)(const(x), keepdims=True)
    assert y.shape == (1,) * 64
    assert float(y) == pytest.approx({"sum": 8, "prod": 16, "max": 2, "logsumexp": 2 + math.log(4)}[name])
    assert getattr(tfr, name)(const(x), (60, 63)).shape == (1,) * 62


# ---- dtypes ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["i2", "f4", "f8", "c16"])
def test_dtype_keyword(name, dtype):
    x = np.array([[1, 2, 3], [3, 2, 2]], "u1")
    assert_same(getattr(tfr, name)(x, axis=0, dtype=dtype), getattr(np, name)(x, axis=0, dtype=dtype))


def test_sum_in_bool_is_any():
    x = np.array([[0, 2], [0, 0]])
    assert_same(tfr.sum(x, 0, dtype=bool), x.sum(0, dtype=bool))
    assert_same(tfr.prod(x, 0, dtype=bool), x.prod(0, dtype=bool))


def test_integers_wrap():
    x = np.array([2**62, 2**62, 5])
    assert_same(tfr.sum(x), x.sum())
    assert_same(tfr.prod(x), x.prod())
    assert_same(tfr.sum(x.astype("u8") * 2), (x.astype("u8") * 2).sum())


@pytest.mark.parametrize("correction", [0, 1, 2, 0.5])
def test_correction(correction):
    x = np.random.default_rng(0).normal(size=(5, 4))
    assert_same(tfr.var(x, 0, correction=correction), np.var(x, 0, ddof=correction), rtol=1e-14)
    assert_same(tfr.std(x, 1, ddof=correction), np.std(x, 1, ddof=correction), rtol=1e-14)


@pytest.mark.parametrize("correction", [3, 4])
def test_no_degrees_of_freedom_left(correction):
    assert math.isinf(float(tfr.var([1.0, 2.0, 4.0], correction=correction)))
    assert math.isnan(float(tfr.std([1.0, 1.0, 1.0], correction=correction)))


def test_results_keep_the_order():
    rows = np.ones((3, 4, 5))
    assert tfr.sum(const(rows), 0).numpy().flags.c_contiguous
    assert tfr.max(const(np.asfortranarray(rows)), 0).numpy().flags.f_contiguous
    assert tfr.cumsum(const(np.asfortranarray(rows)), 0).numpy().flags.f_contiguous


# ---- accuracy --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("dtype", "eps"), [("f4", 2.0**-24), ("f8", 2.0**-53)])
def test_sums_are_pairwise(dtype, eps):
    rng = np.random.default_rng(3)
    n = 1 << 18
    x = rng.uniform(0, 1, (n, 2)).astype(dtype)
    for a in (x[:, 0], np.ascontiguousarray(x[:, 1]), x[::-1, 1]):
        exact = math.fsum(a.tolist())
        assert abs(float(tfr.sum(const(a))) - exact) <= 32 * eps * exact
        m = exact / n
        exact = math.fsum((v - m) ** 2 for v in a.tolist()) / n
        assert abs(float(tfr.var(const(a))) - exact) <= 64 * eps * exact
    assert np.all(np.abs(tfr.sum(const(x), 0).numpy() - [math.fsum(c) for c in x.T.tolist()]) <= 32 * eps * n)


def test_logsumexp_is_pairwise():
    n = 1 << 16
    x = np.random.default_rng(4).uniform(-1, 1, n)
    assert float(tfr.logsumexp(x)) == pytest.approx(math.log(math.fsum(map(math.exp, x.tolist()))), rel=1e-15)


def test_variance_far_from_zero():
    x = 1e9 + np.array([4.0, 7.0, 13.0, 16.0])
    assert float(tfr.var(x, correction=1)) == 30


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_variance_of_equal_elements_is_zero(dtype):
    for v in (0.1, 1 / 3, -1e10 / 7, 1e-30):
        for shape, axis in [((3,), None), ((1000,), 0), ((7, 9), 0), ((7, 9), 1), ((40, 50), (0, 1))]:
            x = np.full(shape, v, dtype)
            assert not tfr.std(const(x), axis).numpy().any()
            assert not tfr.var(const(x), axis).numpy().any()


# ---- corner values ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("values", "expected"), [
    ([-INF, -INF], -INF), ([], -INF), ([INF, 0.0], INF), ([INF, -INF], INF), ([NAN, INF], NAN),
    ([1000.0, 1000.0], 1000 + math.log(2)),
    ([-1e5, -1e5 - 800], -1e5), ([-INF, 3.0], 3.0),
])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_logsumexp_corners(values, expected, dtype):
    y = tfr.logsumexp(np.array(values, dtype))
    assert y.dtype == dtype
    assert float(y) == pytest.approx(expected, rel=1e-7, nan_ok=True)
    across = tfr.logsumexp(const(np.array([values, values] * 8, dtype).T), 0)
    np.testing.assert_allclose(across.numpy(), np.full(16, expected), rtol=1e-7)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "sum", "any", "all"])
def test_nan_and_infinity(name):
    f, g = operation(name)
    for x in ([1, NAN, 3, NAN], [NAN, 1], [INF, -INF, INF], [-0.0, 0.0], [0.0, -0.0], [NAN, NAN], [0, NAN]):
        with np.errstate(invalid="ignore"):
            assert_same(f(np.array(x)), g(np.array(x)))
            assert_same(f(const(np.array([x] * 20).T), 0), g(np.array([x] * 20).T, 0))


@pytest.mark.parametrize("name", ["max", "argmax", "argmin"])
def test_complex_order(name):
    f, g = operation(name)
    for x in ([1 + 2j, 1 + 3j, 0], [1, complex(0, NAN), complex(NAN, 0)], [2j, 2j, -2j]):
        assert_same(f(np.array(x)), g(np.array(x)))


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_first_of_equal_elements_wins(name, dtype):
    f, g = operation(name)
    for order in "CF":
        x = np.array(sample(np.random.default_rng(1), (12, 20, 9), dtype, 0, 1).round(), dtype, order=order)
        for axis in (None, 0, 1, 2):
            assert_same(f(const(x), axis), g(x, axis))


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("axis", [(), 0, (0, 2), None])
def test_zero_size(name, axis):
    x = np.zeros((2, 3, 0))
    f, g = operation(name)
    if name in EXTREMES and axis in ((0, 2), None):
        with pytest.raises(ValidationError, match="no elements") as error:
            f(x, axis)
        assert error.value.op == f"reduce_{name}"
        return
    if name in ("mean", "var", "std") and axis in ((0, 2), None):
        assert np.isnan(f(x, axis).numpy()).all()
        assert f(x, axis).shape == x.sum(axis).shape
        return
    assert_same(f(x, axis), g(x, axis))


@pytest.mark.parametrize("name", POSITIONS)
def test_no_position(name):
    for shape, axis in [((0,), None), ((2, 0), 1), ((0,), 0)]:
        with pytest.raises(ValidationError, match="no elements"):
            getattr(tfr, name)(np.zeros(shape), axis)
    assert getattr(tfr, name)(np.zeros((2, 0)), 0).shape == (0,)


# ---- tracking --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", [*TRUTHS, *POSITIONS])
def test_counts_and_positions_are_untracked(name):
    x = tfr.variable([1.0, 2.0])
    assert not getattr(tfr, name)(x).tracks_grad
    assert tfr.max(x).tracks_grad


# ---- errors ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", [*FOLDS, "logsumexp", *POSITIONS, *SCANS, "diff"])
@pytest.mark.parametrize("axis", [2, -3, 2**40])
def test_axis_out_of_range(name, axis):
    with pytest.raises(AxisError, match="out of range") as error:
        getattr(tfr, name)(np.ones((2, 3)), axis=axis)
    assert error.value.argument == "axis"
    assert error.value.actual == axis


@pytest.mark.parametrize("name", [*FOLDS, "logsumexp"])
@pytest.mark.parametrize("axis", [(0, 0), (1, -1), [0, 1, 0]])
def test_axis_named_twice(name, axis):
    with pytest.raises(AxisError, match="named twice") as error:
        getattr(tfr, name)(np.ones((2, 3)), axis)
    assert error.value.argument == "axis"


@pytest.mark.parametrize("name", [*POSITIONS, *SCANS, "diff"])
def test_several_axes(name):
    with pytest.raises(AxisError, match="one axis"):
        getattr(tfr, name)(np.ones((2, 3)), axis=(0, 1))


@pytest.mark.parametrize("name", [*FOLDS, "logsumexp", "argmax"])
def test_bad_keepdims(name):
    with pytest.raises(ValidationError, match="keepdims"):
        getattr(tfr, name)(np.ones(2), 0, np.float32)


@pytest.mark.parametrize("name", FOLDS)
def test_axis_is_no_integer(name):
    with pytest.raises(TypeError):
        getattr(tfr, name)(np.ones(2), 0.0)


def test_bad_arguments():
    with pytest.raises(DTypeMismatchError, match="real numbers"):
        tfr.logsumexp(np.ones(2, complex))
    with pytest.raises(DTypeMismatchError):
        tfr.sum([1.0], dtype="f2")
    with pytest.raises(ValidationError, match="correction"):
        tfr.var([1.0, 2.0], correction=INF)
    with pytest.raises(ValidationError, match="repetitions"):
        tfr.diff([1.0, 2.0], -1)
    with pytest.raises(AxisError):
        tfr.diff(1.0)
