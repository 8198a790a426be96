"""The sparse product of the example, as a function and as an extension module, against dense matrices."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import tenferro as tfr
from tenferro import errors
from tenferro.testing import check_grads

PATH = Path(__file__).resolve().parents[2] / "examples" / "sparse_matvec.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("sparse_matvec_example", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(params=["function", "module"])
def matvec(request, example):
    if request.param == "function":
        return example.matvec
    rt = tfr.default_runtime()
    rt.install_extension_module(example.SparseModule())
    return rt.extension(example.SparseModule.module_id).matvec


def case(example, dtype, shape=(4, 6), seed=3):
    """A pattern with an empty row, stored values, a vector for it, and the dense matrix."""
    rng = np.random.default_rng(seed)
    mask = rng.uniform(size=shape) < 0.5
    mask[1] = False
    pattern = example.Pattern(mask)
    draw = [rng.standard_normal(n) + 1j * rng.standard_normal(n) for n in (mask.sum(), *shape)]
    values, y, x = (d.astype(dtype) if np.dtype(dtype).kind == "c" else d.real.astype(dtype) for d in draw)
    dense = np.zeros(shape, dtype)
    dense[pattern.rows, pattern.columns] = values
    return pattern, values, x, y, dense


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_values(example, matvec, dtype):
    pattern, values, x, y, dense = case(example, dtype)
    tolerance = 1e-5 if np.dtype(dtype).itemsize < 16 and dtype != "f8" else 1e-12
    for found, expected in ((matvec(values, x, pattern=pattern), dense @ x),
                            (matvec(values, y, pattern=pattern, transposed=True), dense.T @ y)):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("transposed", [False, True])
def test_derivatives_to_second_order_in_both_modes(example, matvec, dtype, transposed):
    pattern, values, x, y, _ = case(example, dtype)
    args = [values, y if transposed else x]
    check_grads(lambda v, x: matvec(v, x, pattern=pattern, transposed=transposed), args, order=2)


def test_gradient_against_the_dense_product(example, matvec):
    pattern, values, x, _, dense = case(example, "f8")
    v, u = tfr.variable(values), tfr.variable(x)
    tfr.sum(tfr.sin(matvec(v, u, pattern=pattern))).backward()
    d, w = tfr.variable(dense), tfr.variable(x)
    tfr.sum(tfr.sin(d @ w)).backward()
    np.testing.assert_allclose(v.grad, np.asarray(d.grad)[pattern.rows, pattern.columns], rtol=1e-13)
    np.testing.assert_allclose(u.grad, w.grad, rtol=1e-13)


def test_hessian_product_against_the_dense_product(example, matvec):
    pattern, values, x, _, dense = case(example, "f8")
    rt, direction = tfr.default_runtime(), np.linspace(-1, 1, values.size)
    v = tfr.variable(values)
    gradient = rt.grad(tfr.sum(matvec(v, x, pattern=pattern) ** 4), v)
    r, c = pattern.rows, pattern.columns
    y = dense @ x
    change = np.zeros_like(dense)
    change[r, c] = direction
    expected = 12 * (y ** 2 * (change @ x))[r] * x[c]
    np.testing.assert_allclose(rt.jvp(gradient, v, direction).detach(), expected, rtol=1e-12)
    np.testing.assert_allclose(rt.vjp(gradient, v, direction).detach(), expected, rtol=1e-12)


def test_wrong_sizes_are_refused_by_the_module(example):
    rt = tfr.default_runtime()
    rt.install_extension_module(example.SparseModule())
    pattern, values, _, y, _ = case(example, "f8")
    with pytest.raises(ValueError, match="a vector of 6"):
        rt.extension(example.SparseModule.module_id).matvec(values, y, pattern=pattern)


def test_pattern_is_that_of_scipy(example):
    matrix = scipy.sparse.random_array((5, 7), density=0.4, rng=np.random.default_rng(1), format="csr")
    pattern = example.Pattern(matrix)
    assert (pattern.matrix(matrix.data) != matrix).nnz == 0


@pytest.mark.parametrize("way", ["module", "function"])
def test_conductances_are_found(example, capsys, way):
    assert example.main(["--quick", "--as", way]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "16 nodes, 24 unknown conductances, 16 recorded states"
    assert "largest relative error of a conductance" in lines[-1]


def test_network_assembles_the_laplacian(example):
    network = example.Network(3)
    conductance = np.arange(1.0, 1 + network.edge_count)
    dense = np.zeros((9, 9))
    for (a, b), c in zip(network.edges.T, conductance):
        dense[a, a] += c
        dense[b, b] += c
        dense[a, b] -= c
        dense[b, a] -= c
    np.testing.assert_allclose(network.pattern.matrix(network.assembly @ conductance).toarray(), dense, rtol=1e-14)


def test_missing_installation_is_named():
    with pytest.raises(errors.ValidationError, match="install_extension_module"):
        tfr.EagerRuntime().extension("example.sparse.v1")
