"""Products of Householder reflectors: values against LAPACK and NumPy, derivatives in both modes, errors."""

import numpy as np
import pytest
import scipy.linalg
from support import DIFF_DTYPES, assert_same, const, random_layout, sample, value

import tenferro as tfr
from tenferro import errors
from tenferro.testing import check_grads

product = tfr.linalg.householder_product

dtypes = pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
SHAPES = [((3, 3), 3), ((5, 3), 3), ((5, 3), 2), ((2, 4, 2), 2), ((2, 1, 3, 3), 1), ((1, 1), 1), ((6, 1), 1),
          ((2, 33, 9), 7), ((2, 31, 9), 9)]
EMPTY = [((3, 3), 0), ((0, 0), 0), ((3, 0), 0), ((0, 3, 2), 2), ((2, 0, 0), 0)]


def tolerance(dtype):
    return {"rtol": 1e-4, "atol": 1e-4} if np.finfo(dtype).bits == 32 else {"rtol": 1e-11, "atol": 1e-12}


def draw(shape, dtype, seed=0):
    return sample(np.random.default_rng(seed), shape, dtype)


def layouts(a):
    return [const(random_layout(a, np.random.default_rng(k))) for k in range(4)]


def reflections(a, tau):
    """By definition, one reflection at a time."""
    if a.ndim > 2:
        found = [reflections(x, t) for x, t in zip(a, tau)]
        return np.stack(found) if found else np.zeros_like(a)
    m, n = a.shape
    q = np.eye(m, dtype=a.dtype)
    for i, t in enumerate(tau):
        v = np.concatenate([np.zeros(i), [1.0], a[i + 1:, i]])
        q = q - t * np.outer(q @ v, v.conj())
    return q[:, :n].astype(a.dtype)


@dtypes
@pytest.mark.parametrize(("shape", "k"), [*SHAPES, *EMPTY], ids=str)
def test_values(shape, k, dtype):
    a, tau = draw(shape, dtype), draw((*shape[:-2], k), dtype, 1)
    expected = reflections(a, tau)
    for x, t in zip(layouts(a), layouts(tau)):
        assert_same(product(x, t), expected, **tolerance(dtype))


@dtypes
@pytest.mark.parametrize("shape", [(4, 4), (7, 3)], ids=str)
def test_factors_of_lapack(shape, dtype):
    a = draw(shape, dtype)
    (packed, tau), _ = scipy.linalg.qr(a, mode="raw")
    generate = "ungqr" if np.dtype(dtype).kind == "c" else "orgqr"
    expected, _, info = scipy.linalg.get_lapack_funcs((generate,), (a,))[0](packed, tau)
    assert info == 0
    assert_same(product(packed, tau), expected, **tolerance(dtype))
    assert_same(product(packed, tau), scipy.linalg.qr(a, mode="economic")[0], **tolerance(dtype))


@dtypes
def test_what_is_not_read(dtype):
    a, tau = draw((4, 3), dtype), draw((2,), dtype, 1)
    other = np.tril(a, -1) + np.triu(draw((4, 3), dtype, 2))
    other[:, 2] = 7
    assert_same(product(other, tau), value(product(a, tau)))


@pytest.mark.parametrize(("a", "tau"), [((4, 2), (3, 2)), ((3, 4, 2), (2,)), ((2, 1, 4, 2), (3, 1))], ids=str)
def test_stacks_broadcast(a, tau):
    a, tau = draw(a, "f8"), draw(tau, "f8", 1)
    batch = np.broadcast_shapes(a.shape[:-2], tau.shape[:-1])
    expected = reflections(np.broadcast_to(a, (*batch, 4, 2)).reshape(-1, 4, 2),
                           np.broadcast_to(tau, (*batch, tau.shape[-1])).reshape(-1, tau.shape[-1]))
    assert_same(product(a, tau), expected.reshape(*batch, 4, 2), rtol=1e-11, atol=1e-12)
    check_grads(product, [a, tau], order=2)


def test_dtypes_are_promoted():
    a, tau = draw((3, 2), "f4"), draw((2,), "c16", 1)
    assert_same(product(a, tau), reflections(a.astype("c16"), tau), rtol=1e-12, atol=1e-12)
    check_grads(product, [a.astype("f8"), tau], order=2)
    assert_same(product([[1, 0], [2, 1]], [1, 0]), np.array([[0.0, -2.0], [-2.0, -3.0]]))


def test_large_and_small_reflectors():
    """Unit reflectors of vectors of any size: the product stays orthonormal."""
    a = draw((60, 40), "f8")
    for scale in (1e-8, 1.0, 1e9):
        (packed, tau), _ = scipy.linalg.qr(a * scale, mode="raw")
        q = value(product(packed, tau))
        np.testing.assert_allclose(q.T @ q, np.eye(40), atol=1e-13)


# ---- derivatives -----------------------------------------------------------------------------------------------------

def check(f, *args):
    loose = {"atol": 5e-3, "rtol": 5e-3} if np.finfo(args[0].dtype).bits == 32 else {}
    check_grads(f, args, order=2, **loose)


@dtypes
@pytest.mark.parametrize(("shape", "k"), [((3, 3), 3), ((4, 2), 2), ((4, 3), 2), ((2, 3, 2), 1), ((1, 1), 1),
                                          ((3, 2), 0)], ids=str)
def test_derivatives(shape, k, dtype):
    rng = np.random.default_rng(3)
    check(product, random_layout(draw(shape, dtype), rng), random_layout(draw((*shape[:-2], k), dtype, 1), rng))


@dtypes
def test_derivative_of_one_argument(dtype):
    a, tau = draw((4, 2), dtype), draw((2,), dtype, 1)
    check(lambda a: product(a, tau), a)
    check(lambda tau: product(a, tau), tau)


@dtypes
def test_derivative_at_identity(dtype):
    check(product, np.zeros((3, 2), dtype), np.zeros(2, dtype))


def test_what_is_not_read_has_gradient_zero():
    x = tfr.variable(draw((4, 3), "f8"))
    tfr.sum(product(x, draw((2,), "f8", 1)) ** 2).backward()
    g = value(x.grad)
    np.testing.assert_array_equal(g[:, 2], np.zeros(4))
    np.testing.assert_array_equal(g, np.tril(g, -1))
    assert np.count_nonzero(g) == 5


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e9])
def test_derivative_with_reflectors_of_very_different_sizes(scale):
    """v and tau of a reflector that is unitary for any length of v; the loss does not change with that length."""
    v, d = draw((4, 2), "c16"), draw((4, 2), "c16", 5)
    weights = draw((4, 2), "c16", 6)

    def loss(v):
        a = v * scale
        tail = tfr.sum(tfr.real(tfr.tril(a, -1) * tfr.conj(tfr.tril(a, -1))), axis=0)
        return tfr.sum(tfr.real(product(a, 2 / (1 + tail)) * weights))

    def numeric(h=1e-3):
        q = [(loss(tfr.constant(v + t * d)).item() - loss(tfr.constant(v - t * d)).item()) / (2 * t)
             for t in (h, h / 2, h / 4)]
        return (64 * q[2] - 20 * q[1] + q[0]) / 45

    x = tfr.variable(v)
    expected = numeric()
    found = np.sum(np.conj(value(x.runtime.grad(loss(x), x))) * d).real
    size = np.abs(value(x.runtime.grad(loss(x), x))).max()
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-7 * size)
    assert x.runtime.jvp(loss(x), x, d).item() == pytest.approx(expected, rel=1e-7, abs=1e-7 * size)


# ---- errors ----------------------------------------------------------------------------------------------------------

NAN = np.full((3, 2), np.nan)


@pytest.mark.parametrize(("a", "tau", "kind", "argument", "message"), [
    (np.ones((2, 3)), np.ones(2), errors.ShapeMismatchError, "A", "at least as many rows"),
    (np.ones(3), np.ones(1), errors.ShapeMismatchError, "A", r"shape \(3,\)"),
    (np.ones((3, 2)), np.ones(3), errors.ShapeMismatchError, "tau", "3 factors tau"),
    (np.ones((3, 2)), 1.0, errors.ShapeMismatchError, "tau", r"shape \(\)"),
    (np.ones((2, 3, 2)), np.ones((3, 2)), errors.ShapeMismatchError, "tau", "do not broadcast"),
    (NAN, np.ones(2), errors.ValidationError, "A", "infinite or not a number"),
    (np.ones((3, 2)), NAN[0], errors.ValidationError, "tau", "infinite or not a number"),
])
def test_bad_input(a, tau, kind, argument, message):
    with pytest.raises(kind, match=message) as caught:
        product(a, tau)
    assert (caught.value.op, caught.value.argument) == ("householder_product", argument)
    assert_same(product(np.eye(2), np.zeros(2)), np.eye(2))
    with pytest.raises(kind):
        product(tfr.variable(a), tau)


def test_dimensions_beyond_32_bits():
    with pytest.raises(errors.IntegerOverflowError, match="householder_product: the matrix dimension 2147483648"):
        product(np.empty((2**31, 0)), np.ones(0))
