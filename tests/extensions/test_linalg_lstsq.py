"""Least squares: values, derivatives for all shapes and ranks, one decomposition."""

import numpy as np
import pytest

import tenferro as tfr
from tenferro.testing import check_grads

SHAPES = [((5, 3), (5, 2)), ((3, 5), (3, 2)), ((4, 4), (4, 1)), ((2, 5, 3), (2, 5, 2)), ((5, 3), (5,)),
          ((2, 1, 5, 3), (3, 5, 2))]


def draw(shape, dtype, rng):
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape) if dtype == "complex128" else a).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(("of_a", "of_b"), SHAPES, ids=str)
def test_values_and_derivatives(of_a, of_b, dtype):
    rng = np.random.default_rng(len(of_a))
    a, b = draw(of_a, dtype, rng), draw(of_b, dtype, rng)
    found = tfr.linalg.lstsq(a, b)
    if len(of_a) == 2:
        x, residuals, rank, s = np.linalg.lstsq(a, b, rcond=None)
        np.testing.assert_allclose(found.solution.numpy(), x, rtol=1e-10)
        assert int(found.rank) == rank
        np.testing.assert_allclose(found.singular_values.numpy(), s, rtol=1e-13)
        np.testing.assert_allclose(found.residuals.numpy(), residuals, rtol=1e-9)
    check_grads(lambda a, b: tfr.linalg.lstsq(a, b).solution, (a, b), order=2)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("scale", [1e-8, 1, 1e9])
def test_derivatives_for_constant_rank(dtype, scale):
    rng = np.random.default_rng(3)
    u, v, b = (draw(s, dtype, rng) for s in ((5, 2), (2, 4), (5, 2)))
    x = tfr.linalg.lstsq(scale * u @ v, b).solution
    np.testing.assert_allclose(x.numpy(), np.linalg.pinv(scale * u @ v) @ b, rtol=1e-9)
    check_grads(lambda u, v, b: tfr.linalg.lstsq(scale * (u @ v), b).solution * scale, (u, v, b), order=2)


def test_the_derivative_decomposes_nothing(monkeypatch):
    from tenferro.linalg import least_squares

    rng = np.random.default_rng(4)
    a, b = tfr.variable(draw((6, 3), "float64", rng)), tfr.variable(draw((6,), "float64", rng))
    x = tfr.linalg.lstsq(a, b).solution
    names, call = [], least_squares.call
    monkeypatch.setattr(least_squares, "call", lambda name, *args, **params: names.append(name) or call(name, *args, **params))
    rt = tfr.default_runtime()
    (g, _) = rt.grad((x * x).sum(), [a, b])
    rt.grad((g * g).sum(), [a])
    assert set(names) == {"lstsq_solve"}
