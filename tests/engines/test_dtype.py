"""Casts, which lose what does not fit, and conversions, which refuse to."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from support import ALL_DTYPES, DIFF_DTYPES, assert_same, const, layouts, leaf, sample, shapes

import tenferro as tfr
from tenferro.errors import DTypeMismatchError, ValidationError
from tenferro.testing import check_grads

dtypes = st.sampled_from(ALL_DTYPES)
INF, NAN = float("inf"), float("nan")
CORNERS = [0, 1, -1, 2, 127, 128, -128, -129, 255, 256, 2**24, 2**24 + 1, 2**31 - 1, 2**31, -2**31, -2**31 - 1,
           2**32 - 1, 2**32, 2**53, 2**53 + 1, 2**62 + 2**30, 2**63 - 1, -2**63, 2**63, 2**64 - 1, 2**64 - 2**11,
           0.5, -0.5, 1.5, 0.1, 1e10, 1e30, 1e39, -1e39, 1e300, 3.4028235677973366e38, INF, -INF, NAN,
           1j, 1 + 0j, 0.5 + 2j, 1e39j, complex(2, NAN), complex(NAN, 0)]


def fits(x, dtype):
    """Whether a Python number can be represented; rounding of floats is allowed, overflow is not."""
    if isinstance(x, complex):
        if dtype.kind != "c" and x.imag != 0:
            return False
        return fits(x.real, dtype) and (dtype.kind != "c" or fits(x.imag, dtype))
    if dtype.kind in "biu":
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return math.isfinite(x) and x == int(x) and low <= int(x) <= high
    real = np.float32 if dtype in ("f4", "c8") else np.float64
    with np.errstate(over="ignore"):
        if isinstance(x, int):
            return int(real(x)) == x
        return bool(np.isinf(x) or not np.isinf(real(x)))


def held(source):
    """The corner values that a dtype can hold, as Python numbers of that dtype's values."""
    with np.errstate(all="ignore"):
        return [np.asarray(x if source.kind == "c" else x.real).astype(source).item()
                for x in CORNERS if fits(x, source)]


@pytest.mark.parametrize("target", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("source", ALL_DTYPES, ids=str)
def test_conversion_checks_every_value(source, target):
    for x in held(source):
        array = np.array([1, x, 1], source)
        if fits(x, target):
            assert_same(tfr.convert(const(array), target), (array if target.kind == "c" else array.real).astype(target))
        else:
            with pytest.raises(ValidationError, match="cannot be represented") as caught:
                tfr.convert(const(array), target)
            assert (caught.value.op, caught.value.argument) == ("convert", "x")


@settings(max_examples=100, deadline=None)
@given(shape=shapes(), source=dtypes, target=dtypes, seed=st.integers(0, 2**32 - 1), layout=layouts)
def test_values(shape, source, target, seed, layout):
    x = layout(sample(np.random.default_rng(seed), shape, source, 0))
    expected = (x.real if source.kind == "c" and target.kind in "iuf" else x).astype(target)
    assert_same(tfr.cast(const(x), target), expected)
    whole = np.floor(x.real).astype(source)
    assert_same(tfr.cast(const(whole), source), whole)
    if target.kind != "b":
        assert_same(tfr.convert(const(layout(whole)), target), whole.real.astype(target))


@pytest.mark.parametrize("size", [5, 20_000])
def test_conversion_of_large_and_strided_arrays(size):
    x = np.arange(2.0 * size)[::-2]
    assert_same(tfr.convert(const(x), "i4"), x.astype("i4"))
    x[size // 2] += 0.5
    with pytest.raises(ValidationError, match=str(x[size // 2])):
        tfr.convert(const(x), "i4")


def test_conversion_of_nothing():
    assert_same(tfr.convert(const(np.zeros((0, 3))), bool), np.zeros((0, 3), bool))


def test_casts_lose():
    assert_same(tfr.cast(const(np.array([1.7, -1.7])), "i4"), np.array([1, -1], "i4"))
    assert_same(tfr.cast(const(np.array([300, -1])), "u1"), np.array([44, 255], "u1"))
    assert_same(tfr.cast(const(np.array([1e300])), "f4"), np.array([np.inf], "f4"))
    assert_same(tfr.cast(const(np.array([1 + 2j, 2j])), "f8"), [1.0, 0.0])
    assert_same(tfr.cast(const(np.array([0.1, 0.0, np.nan])), bool), [True, False, True])
    assert_same(tfr.cast([1, 2], "c8"), np.array([1, 2], "c8"))


@pytest.mark.parametrize("target", DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("source", DIFF_DTYPES, ids=str)
def test_derivatives(source, target):
    x = sample(np.random.default_rng(2), (2, 3), source)[:, ::-1]
    functions = [tfr.cast] if source.kind == "c" and target.kind != "c" else [tfr.cast, tfr.convert]
    for f in functions:
        if target in ("f8", "c16"):
            check_grads(lambda x: f(x * x, target), [x])    # noqa: B023
        else:
            check_grads(lambda x: f(x * x, target), [x], order=1, eps=1e-2, atol=1e-3, rtol=1e-3)   # noqa: B023


def test_second_derivative_through_single_precision():
    x = leaf(np.array([0.5, -2.0]))
    y = tfr.cast(x * x, "f4") * x
    g = x.runtime.vjp(y, x, np.ones(2))
    assert_same(g, [0.75, 12.0])
    assert_same(x.runtime.vjp(g, x, np.ones(2)), [3.0, -12.0])
    assert_same(x.runtime.jvp(g, x, np.ones(2)), [3.0, -12.0])


@pytest.mark.parametrize("f", [tfr.cast, tfr.convert])
def test_integers_are_untracked(f):
    x = leaf(np.array([1.0, 2.0]))
    assert not f(x, "i8").tracks_grad
    assert not f(x, bool if f is tfr.cast else "u1").tracks_grad
    assert f(x, "f4").tracks_grad
    assert f(x, "f8").tracks_grad
    assert f(x, "f8") is not x
    y = f(x, "i8") * x
    assert_same(x.runtime.vjp(y, x, np.ones(2)), [1.0, 2.0])


@pytest.mark.parametrize("f", [tfr.cast, tfr.convert])
@pytest.mark.parametrize("dtype", ["f2", "U3", "O", "M8[s]", "longdouble"])
def test_unsupported_dtypes(f, dtype):
    with pytest.raises(DTypeMismatchError):
        f(const(np.ones(1)), dtype)


def test_byte_order_is_native():
    assert tfr.cast(const(np.ones(1)), ">f4").dtype.isnative
