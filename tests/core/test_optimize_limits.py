"""Bounds and constraints of tenferro.optimize over containers."""

import numpy as np
import pytest
import scipy.optimize as so

import tenferro as tfr
from tenferro.errors import ValidationError
from tenferro.optimize import minimize
from tenferro.optimize._functions import Vector
from tenferro.optimize._space import Space


def square(p):
    return tfr.sum((p["x"] - 2.0) ** 2) + (p["y"] + 3.0) ** 2


AT_ORIGIN = {"x": np.zeros(2), "y": 0.0}
IN_BOUNDS = [0.5, 1.0, -1.0]


@pytest.mark.parametrize("bounds", [
    {"x": [(0.0, 0.5), (None, 1.0)], "y": (-1.0, None)},
    {"x": (None, np.array([0.5, 1.0])), "y": (-1, np.inf)},
    {"x": (-9.0, tfr.constant([0.5, 1.0])), "y": [(-1.0, 5.0)]},
    so.Bounds([-9.0, -9.0, -1.0], [0.5, 1.0, 9.0]),
])
@pytest.mark.parametrize("method", [None, "SLSQP", "trust-constr"])
def test_bounds(bounds, method):
    found = minimize(square, AT_ORIGIN, bounds=bounds, method=method)
    np.testing.assert_allclose(found.x_flat, IN_BOUNDS, atol=1e-3)


def test_bounds_like_scipys():
    found = minimize(lambda x: tfr.sum((x - 2.0) ** 2), np.zeros(2), bounds=[(0, 1), (0, 3)])
    np.testing.assert_allclose(found.x, [1.0, 2.0], atol=1e-6)
    found = minimize(lambda x: tfr.sum((x - 2.0) ** 2), np.zeros(3), bounds=(0, 1))
    np.testing.assert_array_equal(found.x, np.ones(3))
    found = minimize(lambda p: (p[0] - 2.0) ** 2 + (p[1] - 2.0) ** 2, [0.0, 0.0], bounds=[(0, 1), None])
    np.testing.assert_allclose(found.x_flat, [1.0, 2.0], atol=1e-6)


@pytest.mark.parametrize("method", ["SLSQP", "TNC", "L-BFGS-B"])
def test_numbers_fixed_by_their_bounds(method):
    found = minimize(square, AT_ORIGIN, bounds={"x": [(0.5, 0.5), (None, 1.0)], "y": None}, method=method)
    np.testing.assert_allclose(found.x_flat, [0.5, 1.0, -3.0], atol=1e-5)


def test_bounds_of_matrices():
    found = minimize(lambda x: tfr.sum((x - 2.0) ** 2), np.zeros((2, 2)), bounds=[(0, 1)] * 3 + [(None, None)])
    np.testing.assert_allclose(found.x, [[1.0, 1.0], [1.0, 2.0]], atol=1e-6)
    found = minimize(lambda x: tfr.sum((x - 2.0) ** 2), np.zeros((2, 2)), bounds=(0, [[1.0, 3.0], [0.5, 1.0]]))
    np.testing.assert_allclose(found.x, [[1.0, 2.0], [0.5, 1.0]], atol=1e-6)


def test_bounds_of_complex_numbers():
    found = minimize(lambda z: tfr.sum(abs(z - (3 + 3j)) ** 2), np.zeros(2, complex), bounds=(None, 1 + 2j))
    np.testing.assert_allclose(found.x, [1 + 2j] * 2)
    with pytest.raises(ValidationError, match="complex") as error:
        minimize(lambda z: tfr.sum(abs(z) ** 2), np.zeros(2, complex), bounds=(0.0, None))
    assert error.value.argument == "bounds"


@pytest.mark.parametrize("bounds", [
    {"x": (0, 1)}, [(0, 1)] * 3, {"x": (0, 1), "y": 1.0}, {"x": (0, 1, 2), "y": (0, 1)}, {"x": (0, [1, 2, 3]), "y": (0, 1)},
    {"x": (0, "high"), "y": None}, {"x": (1, 0), "y": None}, {"x": (np.nan, 0), "y": None}, so.Bounds([0, 0], [1, 1]),
    {"x": (0, 1j), "y": None},
])
def test_bad_bounds_name_the_argument(bounds):
    with pytest.raises(ValidationError) as error:
        minimize(square, AT_ORIGIN, bounds=bounds)
    assert error.value.argument == "bounds"


# ---- constraints ---------------------------------------------------------------------------------------------------------


def on_circle(p):
    return tfr.sum(p["x"] ** 2) + p["y"] ** 2


def on_line(p):
    return {"sum": tfr.sum(p["x"]) + p["y"]}


def towards(p):
    return -(p["x"][0] + 2.0 * p["x"][1] + 2.0 * p["y"])


AIM = {"x": np.array([0.5, 0.6]), "y": 0.4}
ON_CIRCLE = np.array([1.0, 2.0, 2.0]) / 3.0


@pytest.mark.parametrize(("method", "constraint"), [
    ("SLSQP", {"type": "eq", "fun": lambda p: on_circle(p) - 1.0}),
    ("SLSQP", [{"type": "ineq", "fun": lambda p, r: r - on_circle(p), "args": (1.0,)}]),
    ("SLSQP", so.NonlinearConstraint(on_circle, -np.inf, 1.0)),
    ("trust-constr", so.NonlinearConstraint(on_circle, 1.0, 1.0)),
    ("trust-constr", {"type": "eq", "fun": lambda p: on_circle(p) - 1.0}),
    ("COBYQA", so.NonlinearConstraint(on_circle, -np.inf, 1.0)),
])
def test_nonlinear_constraints(method, constraint):
    found = minimize(towards, AIM, method=method, constraints=constraint)
    assert found.success
    np.testing.assert_allclose(found.x_flat, ON_CIRCLE, atol=1e-4)


def test_linear_constraints():
    for method in ("SLSQP", "trust-constr"):
        found = minimize(on_circle, AIM, method=method, constraints=so.LinearConstraint([1.0, 1.0, 1.0], 3.0, 3.0))
        np.testing.assert_allclose(found.x_flat, np.ones(3), atol=1e-5)
    found = minimize(on_circle, AIM, method="trust-constr", constraints=[so.NonlinearConstraint(on_line, 3.0, 3.0)])
    np.testing.assert_allclose(found.x_flat, np.ones(3), atol=1e-5)


def test_constraints_take_no_differences():
    calls = []

    def f(p):
        calls.append(p)
        return on_circle(p)
    found = minimize(towards, AIM, method="SLSQP", constraints={"type": "eq", "fun": lambda p: f(p) - 1.0})
    assert len(calls) <= found.nfev + 1


def test_curvature_of_constraints_is_exact():
    space = Space(AIM, "minimize")
    f = Vector("minimize", lambda p: (p["x"] ** 3, p["y"] * p["x"][0]), space)
    h = f.curvature(space.start, np.array([2.0, 1.0, 5.0])) @ np.eye(3)
    np.testing.assert_allclose(h, [[6.0, 0.0, 5.0], [0.0, 3.6, 0.0], [5.0, 0.0, 0.0]])
    with_own = so.NonlinearConstraint(on_circle, 1.0, 1.0, jac=lambda p: 2 * np.append(p["x"], p["y"])[None],
                                      hess=lambda p, v: 2 * v[0] * np.eye(3))
    np.testing.assert_allclose(minimize(towards, AIM, method="trust-constr", constraints=with_own).x_flat, ON_CIRCLE,
                               atol=1e-5)
