"""The gradient checker accepts right derivatives and finds planted mistakes."""

import types

import numpy as np
import pytest
import support
from support import COMPLEX_DTYPES, DIFF_DTYPES, REAL_DTYPES

import tenferro as tfr
from tenferro.testing import check_grads, gradcheck

BOTH = ("rev", "fwd")


def frozen(x, f=lambda a: a):
    """A constant that is computed from x behind the trace's back."""
    return tfr.constant(np.asarray(f(support.value(x))))


def sample(shape, dtype, seed=0):
    return support.sample(np.random.default_rng(seed), shape, dtype)


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
def test_right_derivatives_pass(dtype):
    x, y = sample((3, 4), dtype), sample((4,), dtype, 1)
    check_grads(lambda x, y: x * y * x - y, (x[::-1, ::2], y[::2]))
    check_grads(lambda x, y: tfr.sum(x * x * y), (x, y), order=3)


@pytest.mark.parametrize("dtype", REAL_DTYPES, ids=str)
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("mode", BOTH)
def test_wrong_first_derivative(dtype, order, mode):
    with pytest.raises(AssertionError, match=rf"^{mode}: .*args\[0\] \({dtype}\[3\]\)"):
        check_grads(lambda x: x * frozen(x), (sample((3,), dtype),), order=order, modes=(mode,))


@pytest.mark.parametrize("mode", BOTH)
def test_the_wrong_argument_is_named(mode):
    with pytest.raises(AssertionError, match=r"args\[1\]"):
        check_grads(lambda x, y: x * y * frozen(y), (sample((2,), "f8"), sample((2,), "f8", 1)), modes=(mode,))


@pytest.mark.parametrize("mode", BOTH)
def test_an_omitted_derivative_is_found(mode):
    with pytest.raises(AssertionError, match=r"args\[0\]"):
        check_grads(lambda x, y: y + frozen(x), (sample((2,), "f8"), sample((2,), "f8", 1)), modes=(mode,))


@pytest.mark.parametrize("modes", [("rev",), ("fwd",), BOTH])
def test_wrong_second_derivative(modes):
    def f(x):
        d = frozen(x)
        return d * d + (d + d) * (x + frozen(x, np.negative))

    x = sample((3,), "f8")
    check_grads(f, (x,), order=1, modes=modes)
    with pytest.raises(AssertionError, match=f" over {modes[0]}: "):
        check_grads(f, (x,), order=2, modes=modes)


def test_wrong_third_derivative():
    def f(x):
        d = frozen(x)
        h = x + frozen(x, np.negative)
        return d * d * d + 3.0 * d * d * h + 3.0 * d * h * h

    x = sample((3,), "f8")
    check_grads(f, (x,), order=2, modes=("rev",))
    with pytest.raises(AssertionError, match="rev over rev over rev"):
        check_grads(f, (x,), order=3, modes=("rev",))


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize("dtype", COMPLEX_DTYPES, ids=str)
def test_a_missing_conjugate_is_found(dtype, mode):
    with pytest.raises(AssertionError, match=f"^{mode}: "):
        check_grads(lambda x: x * frozen(x, np.conj), (sample((3,), dtype),), order=1, modes=(mode,))


@pytest.mark.parametrize("mode", BOTH)
@pytest.mark.parametrize(("dtype", "error"), [("f4", 1e-3), ("f8", 1e-5)])
def test_small_errors_are_found(dtype, error, mode):
    """The derivative is a little too large, the value is not."""
    def f(x):
        return x * (1.0 + error) + frozen(x, lambda a: -error * a)

    with pytest.raises(AssertionError, match="is wrong"):
        check_grads(f, (sample((3,), dtype),), order=1, modes=(mode,))
    check_grads(f, (sample((3,), dtype),), order=1, modes=(mode,), atol=10 * error)


@pytest.mark.parametrize("mode", BOTH)
def test_nan_is_an_error(mode):
    with pytest.raises(AssertionError, match="nan"):
        check_grads(lambda x: x * np.nan, (sample((3,), "f8"),), modes=(mode,))


def test_wrong_shape_or_dtype_is_an_error():
    primal = np.zeros((2, 3), "f4")
    for wrong in (np.zeros((2, 1), "f4"), np.zeros((2, 3), "f8")):
        with pytest.raises(AssertionError, match="expected those of its primal"):
            gradcheck._same_kind(tfr.constant(wrong), primal, "here")
    assert gradcheck._same_kind(None, types.SimpleNamespace(shape=(2,), dtype="f4"), "here").shape == (2,)


def test_constants_and_inactive_arguments_and_outputs():
    x, y = sample((3,), "f8"), sample((3,), "f4", 1)
    check_grads(lambda x, k: x * k, (x, np.arange(3)))
    check_grads(lambda x, k: x * k, (x, [True, False, True]))
    check_grads(lambda x, y: [x * x, x, tfr.constant(2.0), tfr.constant(3)], (x, y))
    check_grads(lambda x: x * x, (0.5,))
    check_grads(lambda x: x * x, (tfr.constant(x),))
    check_grads(lambda x: x * x, (np.zeros((0, 3)),))


def test_nothing_to_check():
    with pytest.raises(ValueError, match="no argument"):
        check_grads(lambda k: k, (np.arange(3),))
    with pytest.raises(ValueError, match="no output"):
        check_grads(lambda x: tfr.constant(3), (1.0,))
    with pytest.raises(ValueError, match="modes"):
        check_grads(lambda x: x, (1.0,), modes=("reverse",))
    with pytest.raises(ValueError, match="modes"):
        check_grads(lambda x: x, (1.0,), modes=())
    with pytest.raises(ValueError, match="order"):
        check_grads(lambda x: x, (1.0,), order=0)


def test_the_layout_of_arguments_is_kept():
    a = np.arange(24.0).reshape(4, 6)[::-1, ::2].T
    seen = set()

    def f(x):
        seen.add(support.value(x).strides)
        return x * x

    check_grads(f, (a,))
    check_grads(f, (tfr.constant(a, copy=False),))
    assert a.strides in seen


def test_directions_are_reproducible():
    seen = []

    def f(x):
        seen[-1].append(support.value(x).copy())
        return x * x

    for rng in (None, None, 1, np.random.default_rng(1)):
        seen.append([])
        check_grads(f, (sample((3,), "f8"),), rng=rng)
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[2], seen[3])
    assert not np.array_equal(seen[0], seen[2])
