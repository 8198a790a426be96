"""tenferro.optimize.curve_fit against SciPy's with Jacobians written by hand."""

import numpy as np
import pytest
import scipy.optimize as so

import tenferro as tfr
from tenferro.errors import ValidationError
from tenferro.optimize import curve_fit

# NIST StRD, problem Misra1a: certified 238.94212918 and 0.00055015643181 with deviations 2.7070075241 and 7.2668688436e-6.
X = np.array([77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0])
Y = np.array([10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78])
CERTIFIED = [238.94212918, 0.00055015643181]
DEVIATIONS = [2.7070075241, 7.2668688436e-6]
STARTS = [(500.0, 0.0001), (250.0, 0.0005)]


def model(x, a, k):
    return a * (1.0 - tfr.exp(-k * x))


def plain(x, a, k):
    return a * (1.0 - np.exp(-k * x))


def plain_jacobian(x, a, k):
    e = np.exp(-k * x)
    return np.stack([1.0 - e, a * x * e], 1)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("method", ["lm", "trf"])
def test_certified_parameters(start, method):
    scale = {} if method == "lm" else {"x_scale": "jac"}
    popt, pcov = curve_fit(model, X, Y, start, method=method, ftol=1e-15, xtol=1e-15, gtol=1e-15, **scale)
    np.testing.assert_allclose(popt, CERTIFIED, rtol=1e-7)
    np.testing.assert_allclose(np.sqrt(np.diag(pcov)), DEVIATIONS, rtol=1e-6)
    assert popt.shape == (2,) and isinstance(pcov, np.ndarray)


@pytest.mark.parametrize("method", ["lm", "trf", "dogbox"])
@pytest.mark.parametrize("sigma", [None, 0.1 + 0.01 * np.arange(14.0), np.diag(0.1 + 0.01 * np.arange(14.0))])
def test_walks_as_scipy_with_a_jacobian_by_hand(method, sigma):
    rest = {"sigma": sigma, "absolute_sigma": sigma is not None, "method": method, "full_output": True}
    if method != "lm":
        rest["x_scale"] = "jac"
    expected = so.curve_fit(plain, X, Y, STARTS[1], jac=plain_jacobian, **rest)
    found = curve_fit(model, tfr.constant(X), tfr.constant(Y), STARTS[1], **rest)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)
    assert abs(found[2]["nfev"] - expected[2]["nfev"]) <= 1 and found[4] == expected[4]


def test_containers_of_parameters():
    x = np.linspace(-1.0, 1.0, 20)
    w = np.array([0.5, -1.0, 2.0])

    def peaks(x, weights, centre):
        return weights[0] + weights[1] * x + weights[2] * tfr.exp(-10.0 * (x - centre["at"]) ** 2)
    y = peaks(x, w, {"at": 0.25})
    popt, pcov = curve_fit(peaks, x, y, {"weights": np.ones(3, "f4"), "centre": {"at": 0.0}})
    assert popt["weights"].dtype == np.float32 and pcov.shape == (4, 4)
    np.testing.assert_allclose(popt["weights"], w, rtol=1e-6)
    popt, _ = curve_fit(peaks, x, y, [np.ones(3), {"at": 0.0}], bounds=([-5.0, {"at": 0.0}], [5.0, {"at": 1.0}]))
    assert popt[1]["at"].item() == pytest.approx(0.25)


def test_number_of_parameters_from_the_model():
    popt, _ = curve_fit(lambda x, a, b: a * x + b, [0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0])
    np.testing.assert_allclose(popt, [2.0, 1.0])
    popt, _ = curve_fit(lambda x, a, b: a * x + b, [0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0], bounds=(0, [1.5, np.inf]))
    np.testing.assert_allclose(popt, [1.5, 1.75], rtol=1e-5)
    with pytest.raises(ValidationError, match="give p0"):
        curve_fit(lambda x, *p: p[0] * x, X, Y)


def test_integers_to_start_from():
    for start in ([1, 1], np.array([1, 1])):
        popt, _ = curve_fit(lambda x, a, b: a * x + b, [0, 1, 2, 3], [1, 3, 5, 7], start)
        np.testing.assert_allclose(popt, [2.0, 1.0])


def test_missing_data():
    y = Y.copy()
    y[3] = np.nan
    popt, _ = curve_fit(model, X, y, STARTS[1], nan_policy="omit")
    keep = np.arange(14) != 3
    np.testing.assert_allclose(popt, so.curve_fit(plain, X[keep], Y[keep], STARTS[1])[0], rtol=1e-5)


def test_missing_data_in_tensors():
    y = Y.copy()
    y[3] = np.nan
    found, _ = curve_fit(model, tfr.constant(X), tfr.constant(y), STARTS[1], nan_policy="omit")
    np.testing.assert_array_equal(found, curve_fit(model, X, y, STARTS[1], nan_policy="omit")[0])


def test_each_point_is_evaluated_once():
    calls = []

    def f(x, a, k):
        calls.append(x)
        return model(x, a, k)
    _, _, info, _, _ = curve_fit(f, X, Y, STARTS[0], full_output=True)
    assert len(calls) == info["nfev"]


def test_complex_data_and_parameters():
    x = np.linspace(0.0, 3.0, 15)

    def wave(x, a, k):
        return a * tfr.exp(1j * k * x)
    y = wave(x, 2.0 + 1j, 1.3)
    popt, pcov = curve_fit(wave, x, y, [np.array(1.0 + 0j), 1.0], sigma=np.full(15, 0.5), absolute_sigma=True)
    assert popt[0].item() == pytest.approx(2.0 + 1j) and popt[1].item() == pytest.approx(1.3) and pcov.shape == (3, 3)
    real, _ = curve_fit(lambda x, a: a * x, x, 2.0 * x + 0j, [1.0])
    assert real.tolist() == pytest.approx([2.0])
    z = np.array([1.0 + 1j, 2.0 - 1j, 3j])
    assert curve_fit(lambda z, a: a * z, z, (2.0 - 1j) * z, [1j])[0].tolist() == pytest.approx([2.0 - 1j])
    with pytest.raises(ValidationError, match="ydata is real"):
        curve_fit(wave, x, x, [1.0, 1.0])
    with pytest.raises(ValidationError, match="sigma"):
        curve_fit(wave, x, y, [1.0, 1.0], sigma=np.eye(15))


def test_own_jacobian_and_scipys_errors():
    popt, _ = curve_fit(model, X, Y, STARTS[1], jac=lambda x, a, k: plain_jacobian(x, a.item(), k.item()))
    np.testing.assert_allclose(popt, CERTIFIED, rtol=1e-6)
    with pytest.raises(RuntimeError, match="not found"):
        curve_fit(model, X, Y, STARTS[0], method="lm", maxfev=2)
    with pytest.raises(ValidationError, match="p0 holds") as error:
        curve_fit(model, X, Y, [np.nan, 1.0])
    assert error.value.argument == "p0"
