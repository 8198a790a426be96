"""tenferro.optimize against SciPy with derivatives written by hand."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize as so

import tenferro as tfr
from tenferro.errors import NonScalarGradError, ShapeMismatchError, ValidationError
from tenferro.optimize import least_squares, minimize, root

START = np.array([1.3, 0.7, 0.8, 1.9, 1.2])


def rosenbrock(x):
    return tfr.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def split(p):
    return tfr.concatenate([p["a"], p["b"][0].reshape(-1), p["b"][1].reshape(-1)])


SPLIT = {"a": START[:2], "b": (START[2], tfr.variable(START[3:].reshape(1, 2)))}


GRADIENT = ("CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP")
PRODUCTS = ("Newton-CG", "trust-ncg", "trust-krylov", "trust-constr")
HESSIAN = ("trust-exact", "dogleg")


@pytest.mark.parametrize("method", [*GRADIENT, *PRODUCTS, *HESSIAN])
def test_same_path_as_with_derivatives_by_hand(method):
    start = 1.0 + 0.05 * START if method == "dogleg" else START         # where the Hessian is positive definite
    given = {"hess": so.rosen_hess} if method in HESSIAN else {"hessp": so.rosen_hess_prod} if method in PRODUCTS else {}
    expected = so.minimize(so.rosen, start, jac=so.rosen_der, method=method, **given)
    found = minimize(rosenbrock, start, method=method)
    assert found.success == expected.success
    np.testing.assert_allclose(found.x_flat, expected.x, atol=1e-5)
    assert abs(found.nfev - expected.nfev) <= 3
    for count in ("njev", "nhev"):
        if count in expected:
            assert abs(found[count] - expected[count]) <= 3
    if method not in GRADIENT:
        return
    assert found.nfev < so.minimize(so.rosen, start, method=method).nfev


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell", "COBYLA", "COBYQA"])
def test_methods_without_derivatives_get_none(method):
    found = minimize(lambda x: tfr.sum((x - 1.0) ** 2), np.zeros(2), method=method)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-3)


def test_a_container_comes_back():
    found = minimize(lambda p: rosenbrock(split(p)), SPLIT, method="trust-exact")
    assert list(found.x) == ["a", "b"] and type(found.x["b"]) is tuple
    assert found.x["b"][1].shape == (1, 2) and not found.x["b"][1].tracks_grad
    np.testing.assert_allclose(split(found.x), np.ones(5), atol=1e-5)
    np.testing.assert_array_equal(found.x_flat, split(found.x))
    assert found.jac.shape == (5,)


def test_value_and_gradient_take_one_evaluation():
    calls = []

    def f(x):
        calls.append(x)
        return rosenbrock(x)
    found = minimize(f, START, method="L-BFGS-B")
    assert found.nfev == found.njev == len(calls) == len(found.history)
    assert found.history[0] == pytest.approx(so.rosen(START)) and found.history[-1] == found.fun


def test_products_share_one_trace_of_the_gradient():
    calls = []

    def f(x):
        calls.append(x)
        return rosenbrock(x)
    found = minimize(f, START, method="trust-krylov")
    assert found.nhev > found.njev + 10
    assert len(calls) <= found.nfev + found.njev + 1


def test_single_precision_is_kept_outside():
    seen = []

    def f(p):
        seen.append(p[0].dtype)
        return tfr.sum((p[0] - 0.1) ** 2) + abs(p[1] - 2j) ** 2
    found = minimize(f, [np.zeros(3, "f4"), np.zeros((), "c8")])
    assert found.x[0].dtype == np.float32 and found.x[1].dtype == np.complex64 and set(seen) == {np.dtype("f8")}
    np.testing.assert_allclose(found.x[0], np.full(3, 0.1, "f4"))


def test_complex_numbers_are_pairs():
    a = np.array([[2.0, 1j], [-1j, 3.0]])
    b = np.array([1 + 1j, 2 - 1j])

    def f(z):
        return tfr.real(tfr.vecdot(z, a @ z)) - 2 * tfr.real(tfr.vecdot(b, z))
    for method in ("BFGS", "trust-exact", "trust-ncg", "Newton-CG"):
        found = minimize(f, np.zeros(2, complex), method=method, tol=1e-9)
        np.testing.assert_allclose(found.x, np.linalg.solve(a, b), atol=1e-6)
    assert minimize(f, np.zeros(2, complex), method="trust-exact").nit <= 3
    assert found.x_flat.shape == (4,) and found.x_flat[1] == found.x.numpy()[0].imag


def test_of_a_complex_objective_the_real_part():
    found = minimize(lambda x: (x - 1.0) ** 2 + 1j * x, 0.0)
    assert found.x.item() == pytest.approx(1.0) and isinstance(found.fun, float)


def test_arguments_and_auxiliary():
    def f(x, a, *, b):
        return (x - a) ** 2 + b, {"distance": x - a}
    found = minimize(f, 3.0, (1.0,), kwargs={"b": 5.0}, has_aux=True)
    assert found.x.item() == pytest.approx(1.0) and found.fun == pytest.approx(5.0)
    assert found.aux["distance"].item() == pytest.approx(0.0, abs=1e-6) and not found.aux["distance"].tracks_grad
    assert minimize(lambda x, a: (x - a) ** 2, 0.0, 2.0).x.item() == pytest.approx(2.0)


def test_variables_of_the_caller_stay_out_of_it():
    w = tfr.variable(2.0)
    found = minimize(lambda x: (x - w) ** 2, tfr.variable(0.0))
    assert found.x.item() == pytest.approx(2.0) and not found.x.tracks_grad and w.grad is None
    with tfr.no_grad():
        assert minimize(lambda x: (x - w) ** 2, 0.0).x.item() == pytest.approx(2.0)


def test_results_belong_to_the_runtime_of_the_start():
    rt = tfr.EagerRuntime()
    assert minimize(lambda x: x * x, rt.constant_from(1.0)).x.runtime is rt
    with rt.session():
        assert minimize(lambda x: x * x, 1.0).x.runtime is rt


def test_derivatives_of_ones_own():
    used = set()

    def jac(p):
        used.add("jac")
        return {"x": 2 * p["x"]}

    def hessp(p, v):
        used.add("hessp")
        return {"x": 2 * v["x"]}

    def hess(p):
        used.add("hess")
        return 2 * np.eye(2)
    for method, given in (("BFGS", {}), ("trust-ncg", {"hessp": hessp}), ("trust-exact", {"hess": hess})):
        found = minimize(lambda p: tfr.sum(p["x"] ** 2), {"x": np.ones(2)}, method=method, jac=jac, **given)
        np.testing.assert_allclose(found.x["x"], 0.0, atol=1e-6)
    assert used == {"jac", "hessp", "hess"}
    assert minimize(lambda x: x * x, 1.0, jac="2-point").x.item() == pytest.approx(0.0, abs=1e-6)
    assert minimize(lambda x: x * x, 1.0, method="trust-constr", hess=so.BFGS()).x.item() == pytest.approx(0.0, abs=1e-6)


def test_a_method_of_ones_own():
    def newton(fun, x0, args, jac, hessp, **rest):
        h = np.stack([hessp(x0, e) for e in np.eye(x0.size)])
        x = x0 - np.linalg.solve(h, jac(x0))
        return so.OptimizeResult(x=x, fun=fun(x), success=True)
    found = minimize(lambda p: tfr.sum((p[0] - 1.0) ** 2) + (p[1] - p[0][0]) ** 2, (np.zeros(2), 0.0), method=newton)
    np.testing.assert_allclose(found.x[0], 1.0)
    assert found.x[1].item() == 1.0


def square(p):
    return tfr.sum((p["x"] - 2.0) ** 2) + (p["y"] + 3.0) ** 2


AT_ORIGIN = {"x": np.zeros(2), "y": 0.0}


def test_callbacks_get_containers():
    seen, results, states = [], [], []
    minimize(square, AT_ORIGIN, callback=seen.append)
    assert seen and seen[-1]["x"].shape == (2,) and seen[-1]["y"].item() == pytest.approx(-3.0)

    def with_result(intermediate_result):
        results.append(intermediate_result)
    minimize(square, AT_ORIGIN, callback=with_result)
    assert results[-1].x["y"].item() == pytest.approx(-3.0) and results[-1].fun == pytest.approx(0.0, abs=1e-9)
    minimize(square, AT_ORIGIN, method="trust-constr", callback=lambda x, state: states.append((x["y"], state.nit)))
    assert states[-1][0].item() == pytest.approx(-3.0, abs=1e-4)


def test_a_callback_can_stop():
    def stop(p):
        raise StopIteration
    found = minimize(rosenbrock, START, callback=stop, method="BFGS")
    assert found.nit == 1 and not found.success


def test_progress_counts_evaluations(monkeypatch):
    class Bar:
        def __init__(self, **kwargs):
            self.n, self.closed, self.text = 0, False, ""
            bars.append(self)

        def update(self):
            self.n += 1

        def set_postfix_str(self, text, refresh):
            self.text = text

        def close(self):
            self.closed = True
    bars = []
    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=Bar))
    found = minimize(square, AT_ORIGIN, progress=True)
    assert bars[0].n == found.nfev and bars[0].closed and bars[0].text.startswith("objective")
    with pytest.raises(NonScalarGradError):
        minimize(lambda x: x, np.ones(2), progress=True)
    assert bars[1].closed
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match="tqdm"):
        root(lambda x: x, 1.0, progress=True)


@pytest.mark.parametrize(("f", "x0", "argument"), [
    (lambda x: tfr.log(x - 2.0), 1.0, "fun"),
    (lambda x: tfr.sqrt(x), 0.0, "fun"),
    (lambda x: x, np.nan, "x0"),
    (lambda x: x, np.arange(3), "x0"),
    (lambda x: x, {}, "x0"),
    (lambda x: tfr.sum(x), np.zeros((2, 0)), "x0"),
    (lambda x: x, "start", "x0"),
    (lambda x: x, True, "x0"),
    (lambda x: x, np.ones((), "f2"), "x0"),
    (1.0, 1.0, "fun"),
    (lambda x: [x], 1.0, "f"),
])
def test_errors_name_the_argument(f, x0, argument):
    with np.errstate(all="ignore"), pytest.raises(ValidationError) as error:
        minimize(f, x0)
    assert error.value.argument == argument


def test_more_errors():
    with pytest.raises(NonScalarGradError):
        minimize(lambda x: x, np.ones(2))
    with pytest.raises(ValidationError, match="leave jac out"):
        minimize(lambda x: x, 1.0, jac=True)
    with pytest.raises(ShapeMismatchError, match="jac"):
        minimize(lambda x: tfr.sum(x), np.ones(2), jac=lambda x: np.ones(3))
    with pytest.raises(ValidationError, match="structure"):
        minimize(square, AT_ORIGIN, jac=lambda p: {"x": np.ones(2)})
    with pytest.raises(ValueError, match="Unknown solver"):
        minimize(square, AT_ORIGIN, method="best")
    with pytest.raises(ValidationError, match="int64"):
        least_squares(lambda x: np.arange(3), 1.0)
    sizes = iter((3, 4))
    with pytest.raises(ShapeMismatchError, match="other shapes"):
        least_squares(lambda x: x * np.ones(next(sizes)), 1.0)
    with pytest.raises(ValidationError, match="finite"):
        least_squares(lambda x: x / 0.0, 1.0)
    assert minimize(lambda x: (x - 1.0) ** 2, 3).x.dtype == np.float64


def test_infinite_values_on_the_way_are_left_to_scipy():
    with np.errstate(all="ignore"):
        found = minimize(lambda x: tfr.where(x > 0.5, x - tfr.log(x), np.inf), 3.0, method="BFGS")
    assert found.x.item() == pytest.approx(1.0, abs=1e-4)
