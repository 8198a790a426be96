"""Least squares and roots of tenferro.optimize against SciPy with Jacobians written by hand."""

import numpy as np
import pytest
import scipy.optimize as so

import tenferro as tfr
from tenferro.errors import ValidationError
from tenferro.optimize import least_squares, root
from tenferro.optimize._functions import Vector
from tenferro.optimize._space import Space

T = np.linspace(0.0, 2.0, 30)
Y = 2.0 * np.exp(-1.5 * T) + 0.3


def decay(p):
    return p["a"] * tfr.exp(-p["k"] * T) + p["c"] - Y


GUESS = {"a": 1.0, "k": 1.0, "c": np.zeros(())}


@pytest.mark.parametrize(("method", "tr_solver"), [("trf", None), ("trf", "lsmr"), ("dogbox", None), ("dogbox", "lsmr"),
                                                   ("lm", None), ("trf", "exact")])
def test_least_squares_walks_as_scipy(method, tr_solver):
    def matrix(x):
        e = np.exp(-x[1] * T)
        return np.stack([e, -x[0] * T * e, np.ones_like(T)], 1)
    expected = so.least_squares(lambda x: x[0] * np.exp(-x[1] * T) + x[2] - Y, [1.0, 1.0, 0.0], matrix, method=method,
                                tr_solver=tr_solver)
    found = least_squares(decay, GUESS, method=method, tr_solver=tr_solver)
    assert abs(found.nfev - expected.nfev) <= 1 and found.success
    np.testing.assert_allclose([found.x[k].item() for k in "akc"], [2.0, 1.5, 0.3], rtol=1e-6)
    np.testing.assert_allclose(found.history[-1], found.cost, atol=1e-12)
    if tr_solver != "lsmr":
        np.testing.assert_allclose(found.jac, matrix(found.x_flat), rtol=1e-12)


def test_large_jacobians_are_not_built(monkeypatch):
    monkeypatch.setattr("tenferro.optimize._solve.LARGE", 10)
    found = least_squares(decay, GUESS)
    assert not isinstance(found.jac, np.ndarray)
    assert found.x["k"].item() == pytest.approx(1.5)
    assert isinstance(least_squares(decay, GUESS, x_scale="jac").jac, np.ndarray)


@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (3, 3)])
def test_jacobians_of_complex_functions_are_those_of_pairs(shape):
    rng = np.random.default_rng(3)
    a = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    x = {"z": rng.normal(size=shape[1]) + 1j * rng.normal(size=shape[1]), "r": 0.3}
    f = Vector("root", lambda p: [tfr.matmul(a, p["z"]) * tfr.conj(p["z"][0]) * p["r"], abs(p["z"])], Space(x, "root"))
    start, eps = f.space.start, 1e-6
    differences = [(f.value(start + eps * e) - f.value(start - eps * e)) / (2 * eps) for e in np.eye(start.size)]
    np.testing.assert_allclose(f.jacobian(start), np.stack(differences, 1), atol=1e-7)
    operator = f.operator(start)
    np.testing.assert_allclose(operator @ np.eye(start.size), f.jacobian(start), atol=1e-13)
    np.testing.assert_allclose(operator.T @ np.eye(operator.shape[0]), f.jacobian(start).T, atol=1e-13)


def test_least_squares_bounds_scales_and_arguments():
    bounded = least_squares(decay, GUESS, bounds=({"a": 0, "k": 0, "c": None}, {"a": 9, "k": 1.2, "c": np.inf}))
    assert bounded.x["k"].item() == pytest.approx(1.2) and bounded.active_mask.tolist() == [0, 1, 0]
    assert least_squares(decay, GUESS, bounds=(0.0, np.array([9, 1.2, 9])), x_scale={"a": 1, "k": 2.0, "c": 3}).x["k"].item() \
        == pytest.approx(1.2)
    found = least_squares(lambda x, a, b=0: (x - a - b, 2.0), 0.0, args=(1.0,), kwargs={"b": 2.0}, has_aux=True,
                          loss="soft_l1")
    assert found.x.item() == pytest.approx(3.0) and found.aux == 2.0
    with pytest.raises(ValidationError) as error:
        least_squares(decay, GUESS, bounds=({"a": 0}, 1))
    assert error.value.argument == "bounds"
    assert least_squares(decay, GUESS, jac="3-point").x["k"].item() == pytest.approx(1.5)


def test_each_point_is_evaluated_once():
    for solve, method in ((least_squares, "trf"), (least_squares, "lm"), (root, "hybr")):
        calls = []

        def f(p, calls=calls):
            calls.append(p)
            return tfr.sin(p) + 2.0 * p - 1.0
        found = solve(f, np.zeros(3), method=method)
        assert len(calls) == len(found.history) <= found.nfev + 1


def test_complex_residuals():
    z = np.array([1 + 2j, 3 - 1j])
    found = least_squares(lambda p: p * p - z, np.array([1.0 + 1j, 1.0 - 1j]))
    np.testing.assert_allclose(found.x.numpy() ** 2, z)
    assert found.fun.shape == (4,) and found.jac.shape == (4, 4)


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov", "df-sane"])
def test_root(method):
    def f(p):
        return (p["x"] + 0.5 * (p["x"] - p["y"]) ** 3 - 1.0, tfr.reshape(0.5 * (p["y"] - p["x"]) ** 3 + p["y"], (1,)))
    found = root(f, {"x": 0.5, "y": 0.3}, method=method)
    assert found.success
    np.testing.assert_allclose(found.x_flat, [0.8411639, 0.1588361], atol=1e-5)
    if method == "hybr":
        assert found.njev == 1 and found.nfev < so.root(lambda v: np.array([
            v[0] + 0.5 * (v[0] - v[1]) ** 3 - 1.0, 0.5 * (v[1] - v[0]) ** 3 + v[1]]), [0.5, 0.3]).nfev + 1


def test_complex_roots():
    found = root(lambda z: z ** 3 - 1.0, np.array([-1 + 1j, -1 - 1j]))
    np.testing.assert_allclose(found.x, np.exp([2j * np.pi / 3, -2j * np.pi / 3]))
    with pytest.raises(ValidationError, match="as many equations"):
        root(lambda x: x[:1], np.ones(2))
