"""quimb's programs: values against NumPy, gradients of its optimiser against central differences of the NumPy value."""

import functools
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

if "numba" not in sys.modules:
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")     # quimb would compile its NumPy functions for a minute
qtn = pytest.importorskip("quimb.tensor", exc_type=ImportError)

import autoray  # noqa: E402
import tensor_programs as programs  # noqa: E402

import tenferro as tfr  # noqa: E402
import tenferro.quimb  # noqa: E402


def optimizer(network, loss, **options):
    return qtn.TNOptimizer(network, loss, autodiff_backend="tenferro", progbar=False, **options)


def numpy_loss(opt, loss, x):
    """The loss of the network with parameters x, computed by NumPy alone."""
    opt.vectorizer.vector[:] = x
    network = opt.get_tn_opt()
    assert all(type(p) is np.ndarray for p in network.arrays)
    return float(loss(network))


def difference(f, x, d, h=1e-4):
    """Derivative of f at x along d by a central difference of fourth order."""
    return (8 * (f(x + h * d) - f(x - h * d)) - f(x + 2 * h * d) + f(x - 2 * h * d)) / (12 * h)


def check(network, loss, **options):
    opt = optimizer(network, loss, **options)
    x = opt.vectorizer.vector.copy()
    value, gradient = opt.vectorized_value_and_grad(x)
    gradient = gradient.copy()
    of_numpy = numpy_loss(opt, loss, x)
    assert value == pytest.approx(of_numpy, rel=1e-10)
    assert opt.vectorized_value(x) == pytest.approx(of_numpy, rel=1e-10)
    assert np.linalg.norm(gradient) > 1e-3 * abs(value)
    rng = np.random.default_rng(0)
    for _ in range(2):
        d = rng.normal(size=x.size)
        d /= np.linalg.norm(d)
        slope = difference(functools.partial(numpy_loss, opt, loss), x, d)
        assert gradient @ d == pytest.approx(slope, abs=1e-6 * np.linalg.norm(gradient))


def reflected(x, tau):
    """The first columns of a product of reflections, which autoray's NumPy does not have."""
    q = np.eye(len(x), dtype=x.dtype)
    for k in range(len(tau)):
        v = np.concatenate([np.zeros(k), [1.0], x[k + 1:, k]])
        q = q @ (np.eye(len(x)) - tau[k] * np.outer(v, v.conj()))
    return q[:, :len(tau)]


autoray.register_function("numpy", "linalg.householder_product", reflected)
cases = pytest.mark.parametrize("name", programs.CASES)


def case(name):
    make, options = programs.CASES[name]
    return *make(), options


@cases
def test_values_and_gradients(name):
    network, loss, options = case(name)
    check(network, loss, **options)


@pytest.mark.parametrize("name", programs.MORE)
def test_other_decompositions_and_boundaries(name):
    check(*programs.MORE[name]())


@cases
def test_products_with_the_hessian(name):
    network, loss, options = case(name)
    opt = optimizer(network, loss, **options)
    x = opt.vectorizer.vector.copy()
    p = np.random.default_rng(1).normal(size=x.size)
    p /= np.linalg.norm(p)
    product = opt.vectorized_hessp(x, p).copy()
    slope = difference(lambda x: opt.vectorized_value_and_grad(x)[1].copy(), x, p)
    np.testing.assert_allclose(product, slope, atol=1e-6 * np.linalg.norm(slope))


@cases
def test_a_few_steps(name):
    network, loss, options = case(name)
    start = loss(network)
    found = optimizer(network, loss, **options).optimize(4)
    assert all(type(x) is np.ndarray for x in found.arrays)
    assert loss(found) < start - 1e-4 * abs(start)


@cases
def test_steps_with_the_hessian(name):
    network, loss, options = case(name)
    start = loss(network)
    found = optimizer(network, loss, optimizer="newton-cg", **options).optimize(3, hessp=True)
    assert loss(found) < start


@pytest.mark.parametrize("method", ["L-BFGS-B", "adam"])
def test_optimisation_lowers_the_energy(method):
    network, loss = programs.matrix_product_energy("float64")
    opt = optimizer(network, loss, optimizer=method)
    found = opt.optimize(60)
    assert loss(found) < loss(network) - 0.5


def test_several_losses_and_constant_tensors():
    network, _ = programs.matrix_product_energy("float64")
    goal = qtn.MPS_rand_state(6, 3, seed=5)
    losses = [lambda psi, goal: -(psi.H @ goal) ** 2, lambda psi, goal: psi.H @ psi]
    opt = optimizer(network, losses, loss_constants={"goal": goal}, constant_tags=["I0"])
    value, gradient = opt.vectorized_value_and_grad(opt.vectorizer.vector.copy())
    assert value == pytest.approx(-(network.H @ goal) ** 2 + network.H @ network)
    assert gradient.size == sum(t.size for t in network if "I0" not in t.tags)


def test_networks_of_tracked_tensors():
    psi = qtn.MPS_rand_state(5, 3, seed=5)
    by_numpy = psi.copy()
    psi.apply_to_arrays(tfr.variable)
    norm = psi.H @ psi
    assert norm.item() == pytest.approx(by_numpy.H @ by_numpy)
    leaf = psi[2].data
    gradient = tfr.default_runtime().grad(norm, leaf)
    assert gradient.shape == leaf.shape
    assert (gradient * leaf).sum().item() == pytest.approx(2 * norm.item())


def test_trees_of_plain_arrays():
    start = {"a": np.ones((2, 3)), "b": [np.arange(3.0)]}
    opt = optimizer(start, lambda tree: (tree["a"] @ tree["b"][0]).sum())
    value, gradient = opt.vectorized_value_and_grad(opt.vectorizer.vector.copy())
    assert value == 6.0
    np.testing.assert_array_equal(gradient, [0, 1, 2, 0, 1, 2, 2, 2, 2])


def test_the_example_of_the_documentation():
    page = Path(__file__).parents[2] / "docs" / "tensor_networks.md"
    (block,) = re.findall(r"^```py\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    exec(compile(block, str(page), "exec"), {})


def test_the_handler_is_registered_once():
    from quimb.tensor.optimize import _BACKEND_HANDLERS

    tenferro.quimb.register()
    assert _BACKEND_HANDLERS["tenferro"] is tenferro.quimb.TenferroHandler
