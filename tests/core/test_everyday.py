"""Everyday names of NumPy: values against NumPy, derivatives of those that have them."""

import numpy as np
import pytest

import tenferro as tfr

A = np.array([[1.0, np.nan], [np.inf, 1e-9]])


@pytest.mark.parametrize("options", [{}, {"equal_nan": True}, {"rtol": 0.0, "atol": 0.5}, {"atol": 1e-12}])
@pytest.mark.parametrize("b", [A, A + 1e-9, A * 1.2, 1.0, [1.0, 2.0], A.astype(complex)], ids=range(6))
def test_closeness(b, options):
    found = tfr.isclose(tfr.constant(A), b, **options)
    assert not found.tracks_grad
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found.numpy(), np.isclose(A, b, **options))
        assert tfr.allclose(tfr.variable(A), b, **options) is np.allclose(A, b, **options)
        assert tfr.allclose(b, tfr.constant(A), **options) is np.allclose(b, A, **options)


def test_closeness_of_other_things():
    for other in ("text", object(), ["a"]):
        with pytest.raises(tfr.errors.DTypeMismatchError, match="isclose"):
            tfr.allclose(tfr.constant(A), other)


@pytest.mark.parametrize("k", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize("shape", [(3,), (0,), (3, 4), (4, 2)])
def test_diagonals(shape, k):
    a = np.arange(float(np.prod(shape))).reshape(shape)
    np.testing.assert_array_equal(tfr.diag(a, k).numpy(), np.diag(a, k))
    np.testing.assert_array_equal(tfr.diag(a.tolist(), k).numpy() if a.size else np.diag(a, k), np.diag(a, k))


@pytest.mark.parametrize("bad", [1.0, np.zeros((2, 2, 2))])
def test_a_diagonal_of_one_or_two_axes(bad):
    with pytest.raises(tfr.errors.ValidationError, match="diagonal"):
        tfr.diag(bad)


def test_copies():
    x = tfr.variable([1.0, 2.0])
    y = tfr.copy(x)
    assert y is not x
    assert y.tracks_grad
    host = np.array([1.0, 2.0])
    z = tfr.copy(host)
    host[0] = 5.0
    assert z.tolist() == [1.0, 2.0]


def test_derivatives():
    def f(x):
        return tfr.sum(tfr.diag(tfr.copy(x) ** 3, 1) @ tfr.diag(tfr.outer(x, x) @ np.ones((3, 4)), 1)[[0, 1, 2, 2]])
    tfr.testing.check_grads(f, (np.array([0.5, -1.0, 2.0]),), order=2)
