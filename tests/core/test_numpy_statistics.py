"""NumPy's statistics and functions of samples on eager tensors: NumPy's values, and derivatives by differences."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import tenferro as tfr
from tenferro._numpy import signals, statistics
from tenferro.testing import check_grads

rng = np.random.default_rng(7)
A = rng.normal(size=(4, 5))
Z = A + 1j * rng.normal(size=A.shape)
V = rng.normal(size=7)
MASK = np.array([[True, False, True, True, False]] * 3 + [[False, True, True, True, True]])
T = np.sort(rng.uniform(0, 3, 7))
HOLES = np.where(MASK, A, np.nan)

CASES = [
    (lambda x: np.sum(x, where=MASK), A), (lambda x: np.sum(x, axis=1, where=MASK, initial=2.0), A),
    (lambda x: np.sum(x, axis=0, initial=3), A), (lambda x: np.sum(x, where=MASK[0], keepdims=True), Z),
    (lambda x: np.prod(x, axis=1, where=MASK), A), (lambda x: np.prod(x, initial=0.5), A),
    (lambda x: np.max(x, axis=0, where=MASK, initial=-9.0), A), (lambda x: np.min(x, axis=1, where=MASK, initial=9.0), A),
    (lambda x: np.amax(x, initial=0.1), A), (lambda x: np.amin(x, axis=1, initial=-0.1), A),
    (lambda x: np.mean(x, where=MASK), A), (lambda x: np.mean(x, axis=0, where=MASK, keepdims=True), Z),
    (lambda x: np.var(x, axis=1, where=MASK), A), (lambda x: np.std(x, axis=1, where=MASK, ddof=1), A),
    (lambda x: np.var(x, where=MASK, ddof=1, keepdims=True), Z),
    (lambda x: np.nanvar(x, axis=1), A), (lambda x: np.nanstd(x, ddof=1), A),
    (np.median, A), (lambda x: np.median(x, axis=0), A), (lambda x: np.median(x, axis=(0, 1), keepdims=True), A),
    (lambda x: np.quantile(x, 0.3), A), (lambda x: np.quantile(x, [0.0, 0.25, 1.0], axis=1), A),
    (lambda x: np.quantile(x, [[0.1, 0.9]], axis=0, keepdims=True), A), (lambda x: np.percentile(x, [20, 80], axis=-1), A),
    *[(lambda x, m=m: np.quantile(x, [0.11, 0.5, 0.83], axis=1, method=m), A)
      for m in ("linear", "weibull", "median_unbiased", "normal_unbiased", "hazen", "interpolated_inverted_cdf", "lower",
                "higher", "nearest", "midpoint")],
    (np.cov, A), (np.cov, Z), (lambda x: np.cov(x, rowvar=False, bias=True), A), (lambda x: np.cov(x, ddof=0), V),
    (lambda x: np.cov(x[0], x[1]), A), (np.corrcoef, A), (lambda x: np.corrcoef(x[0], x[1]), Z),
    (np.gradient, V), (lambda x: np.stack(np.gradient(x)), A), (lambda x: np.gradient(x, 0.5, axis=1, edge_order=2), A),
    (lambda x: np.gradient(x, T), V), (lambda x: np.gradient(x, T, edge_order=2), V), (lambda x: np.gradient(x, axis=0), Z),
    (lambda x: np.stack(np.gradient(x, np.array([0.0, 1.0, 1.5, 4.0]), 2.0, edge_order=2)), A),
    (lambda x: np.interp(x, T, V), np.array([-1.0, 0.7, 1.3, 2.2, 5.0])),
    (lambda x: np.interp(np.array([-1.0, 0.7, 2.2]), T, x), V),
    (lambda x: np.interp(np.array([-1.0, 0.7, 9.0]), T, x, left=0.0, right=1.0), V),
    (lambda x: np.interp(np.array([-190.0, 190.0, 5.0, 365.0]), np.array([190.0, -190.0, 350.0, -350.0]), x, period=360),
     V[:4]),
    (lambda x: np.interp(1.25, [2.0], x), V[:1]),
    (lambda x: np.unwrap(x), np.array([0.1, 3.0, -3.0, -0.2, 2.9])), (lambda x: np.unwrap(x * 3, axis=0, period=4.0), A),
    *[(lambda x, m=m: np.convolve(x, V[:3], m), A[0]) for m in ("full", "same", "valid")],
    *[(lambda x, m=m: np.convolve(V[:3], x, m), Z[0]) for m in ("full", "same", "valid")],
    *[(lambda x, m=m: np.correlate(x, V[:4], m), A[0]) for m in ("full", "same", "valid")],
    *[(lambda x, m=m: np.correlate(Z[0, :2], x, m), Z[0]) for m in ("full", "same", "valid")],
    *[(lambda x, m=m: np.correlate(A[0, :4], x, m), V) for m in ("full", "same", "valid")],
    (np.sinc, V), (np.vander, V), (lambda x: np.vander(x, 3, increasing=True), V),
    (lambda x: np.polyfit(T, x, 2), V), (lambda x: np.polyfit(x, V, 1), T),
    (lambda x: np.polyfit(T, x, 2, w=np.arange(1.0, 8)), V),
]


@pytest.mark.parametrize(("f", "array"), CASES)
def test_values_and_derivatives(f, array):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = f(array)
    found = f(tfr.variable(array))
    assert found.shape == expected.shape and found.dtype == expected.dtype and found.tracks_grad
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-9, atol=1e-12)
    check_grads(f, [array], order=2)


def test_every_function_has_a_case():
    source = Path(__file__).read_text()
    assert [name for name in (*statistics.TABLE, *signals.TABLE) if f"np.{name}" not in source] == []


@pytest.mark.parametrize("f", [lambda x: np.nanvar(x, axis=1), lambda x: np.nanstd(x, axis=1, ddof=1),
                               lambda x: np.nanvar(x, where=np.arange(5) > 0)])
def test_nan_is_left_out(f):
    x = tfr.variable(HOLES)
    y = f(x)
    np.testing.assert_allclose(y.detach().numpy(), f(HOLES), rtol=1e-12)
    tfr.sum(y).backward()
    assert np.all(x.grad.numpy()[~MASK] == 0) and np.isfinite(x.grad.numpy()).all()


def test_a_quantile_with_nan_is_nan():
    x = np.array([[1.0, np.nan, 2.0], [1.0, 2.0, 3.0]])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.median(tfr.constant(x), axis=1).numpy(), [np.nan, 2.0])


def test_integers_and_bools():
    n = np.arange(12).reshape(3, 4)
    x = tfr.constant(n)
    assert np.sum(x, where=n > 3).item() == np.sum(n, where=n > 3)
    assert np.any(x > 10, where=n < 5).item() is False and np.all(x > 10, where=n > 10).item() is True
    assert np.median(x).item() == np.median(n)
    np.testing.assert_array_equal(np.convolve(x[0], [1, 2]).numpy(), np.convolve(n[0], [1, 2]))
    assert np.convolve(x[0], [1, 2]).dtype == np.convolve(n[0], [1, 2]).dtype


def test_a_long_convolution_goes_by_fourier_transforms():
    a, v = rng.normal(size=900), rng.normal(size=400)
    for x, y in ((a, v), (a + 1j, v)):
        found = np.convolve(tfr.variable(x), tfr.variable(y), "same")
        np.testing.assert_allclose(found.detach().numpy(), np.convolve(x, y, "same"), atol=1e-10)
    w = rng.normal(size=1299)
    xs = tfr.variable(a), tfr.variable(v)
    tfr.sum(np.convolve(*xs) * w).backward()
    np.testing.assert_allclose(xs[0].grad.numpy(), np.correlate(w, v, "valid"), atol=1e-10)


@pytest.mark.parametrize("k", range(1, 5))
def test_every_derivative_of_sinc_at_zero(k):
    """The coefficients of sin(pi x)/(pi x)."""
    f = np.sinc
    for _ in range(k):
        f = (lambda g: lambda x: tfr.jvp(g, (x,), (tfr.constant(1.0),))[1])(f)
    expected = {1: 0.0, 2: -np.pi ** 2 / 3, 3: 0.0, 4: np.pi ** 4 / 5}[k]
    assert float(f(tfr.variable(0.0))) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("f", "error"), [
    (lambda x: np.max(x, where=MASK), ValueError), (lambda x: np.any(x, initial=True), TypeError),
    (lambda x: np.quantile(x, 1.5), ValueError), (lambda x: np.quantile(x, 0.5, method="inverted_cdf"), ValueError),
    (lambda x: np.median(x[:0]), ValueError), (lambda x: np.gradient(x, edge_order=3), ValueError),
    (lambda x: np.gradient(x[:1]), ValueError), (lambda x: np.gradient(x, 1.0, 2.0, 3.0), TypeError),
    (lambda x: np.interp(1.0, x[0], x[1, :2]), ValueError), (lambda x: np.convolve(x, x), ValueError),
    (lambda x: np.convolve(x[0], x[0], "middle"), ValueError), (lambda x: np.cov(x, fweights=[1] * 5), TypeError),
    (lambda x: np.sum(x, where=np.ones(3, bool)), ValueError), (lambda x: np.median(x, out=x), TypeError),
    (lambda x: np.polyfit(x[0], x[1], 1, full=True), TypeError),
])
def test_what_is_refused_says_so(f, error):
    with pytest.raises(error, match=r"\w"):
        f(tfr.variable(A))
