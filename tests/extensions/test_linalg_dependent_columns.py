"""Derivatives through QR of matrices whose leading columns are linearly dependent."""

import numpy as np
import pytest
from support import value

import tenferro as tfr

la = tfr.linalg
RNG = np.random.default_rng(12)
WEIGHTS = RNG.normal(size=(4, 7))


def zero_column(a):
    a[..., 0] = 0


def zero_columns(a):
    a[..., :2] = 0


def equal_columns(a):
    a[..., 1] = 2 * a[..., 0]


def zero_in_the_middle(a):
    a[..., 1] = 0


def noise(a):
    a[..., :2] *= 1e-17


POINTS = {f.__name__: f for f in (zero_column, zero_columns, equal_columns, zero_in_the_middle, noise)}
SHAPES = [(3, 3), (3, 5), (2, 7), (3, 4, 6)]


def draw(shape, dtype):
    x = np.random.default_rng(3).normal(size=(2, *shape))
    return x[0] + 1j * x[1] if dtype == "c16" else x[0]


def weighted(x):
    return (abs(x) ** 2 * WEIGHTS[:x.shape[-2], :x.shape[-1]]).sum() + (x.real * WEIGHTS[:x.shape[-2], :x.shape[-1]]).sum()


def of_factors(a, rank):
    """A function of the best approximation of a rank, by way of Q and R."""
    q, r = la.qr(a)
    u, s, vh = la.svd(r, full_matrices=False)
    return weighted((q @ u[..., :rank] * s[..., None, :rank]) @ vh[..., :rank, :])


def by_numpy(a, rank):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return weighted((u[..., :rank] * s[..., None, :rank]) @ vh[..., :rank, :])


def slope(f, h=1e-4):
    return (8 * (f(h) - f(-h)) - f(2 * h) + f(-2 * h)) / (12 * h)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("point", POINTS)
def test_exact_for_what_does_not_depend_on_the_basis(point, shape, dtype):
    a, d = draw(shape, dtype), draw(shape, dtype)[::-1] / 3
    POINTS[point](a)
    rank = min(int(np.linalg.matrix_rank(a).min()), 2)
    x = tfr.variable(a)
    gradient = tfr.grad(lambda x: of_factors(x, rank))(x)
    wanted = slope(lambda h: by_numpy(a + h * d, rank))
    assert np.sum(value(gradient).conj() * d).real == pytest.approx(wanted, rel=1e-7)
    assert tfr.jvp(lambda x: of_factors(x, rank), (x,), (d,))[1].item() == pytest.approx(wanted, rel=1e-7)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("shape", [(3, 5), (3, 4, 6)], ids=str)
@pytest.mark.parametrize("point", ["zero_column", "equal_columns"])
def test_exact_to_second_order(point, shape, dtype):
    a, d = draw(shape, dtype), draw(shape, dtype)[::-1] / 3
    POINTS[point](a)
    product = tfr.hvp(lambda x: of_factors(x, 2))(tfr.constant(a), tfr.constant(d))
    twice = slope(lambda h: slope(lambda k: by_numpy(a + (h + k) * d, 2), 1e-3), 1e-3)
    assert np.sum(value(product).conj() * d).real == pytest.approx(twice, rel=1e-6)


@pytest.mark.parametrize("shape", [(3, 3), (3, 5)], ids=str)
def test_matrices_without_dependent_columns_keep_their_rule_in_a_stack(shape):
    """A loss that depends on the basis, of the regular matrix in a stack with a singular one."""
    a = np.stack([draw(shape, "f8"), draw(shape, "f8")])
    zero_columns(a[1])

    def loss(a):
        q, r = la.qr(a)
        return weighted(q[0]) + weighted(r[0])
    alone = tfr.grad(lambda x: loss(tfr.expand_dims(x, 0)))(tfr.constant(a[0]))
    np.testing.assert_allclose(value(tfr.grad(loss)(tfr.constant(a))[0]), value(alone), rtol=1e-11)
    tangents = [tfr.jvp(loss, (x,), (x,))[1].item() for x in (a, a[:1])]
    assert tangents[0] == pytest.approx(tangents[1], rel=1e-11)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("point", POINTS)
def test_finite_for_more_rows_than_columns(point, dtype):
    a = draw((5, 3), dtype)
    POINTS[point](a)
    x = tfr.variable(a)
    q, r = la.qr(x)
    loss = weighted(q[:4]) + weighted(r)
    gradient = x.runtime.grad(loss, x)
    for found in (gradient, x.runtime.jvp(loss, x, a), x.runtime.jvp(gradient, x, a)):
        assert np.isfinite(value(found)).all()


def test_the_last_column_alone():
    """The last column of a square Q follows from the others: nothing is arbitrary but its sign."""
    a = draw((4, 4), "f8")
    a[:, 3] = a[:, :3] @ [1.0, -2.0, 0.5]
    d = draw((4, 4), "f8")[::-1] / 3

    def loss(qr, a):
        return weighted(qr(a)[0][..., :3]) + weighted(abs(qr(a)[0][..., 3:]))
    wanted = slope(lambda h: loss(np.linalg.qr, a + h * d))
    gradient = tfr.grad(lambda x: loss(la.qr, x))(tfr.constant(a))
    assert np.sum(value(gradient) * d) == pytest.approx(wanted, rel=1e-7)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3)], ids=str)
def test_empty(shape):
    x = tfr.variable(np.zeros(shape))
    q, r = la.qr(x)
    (tfr.sum(q) + tfr.sum(r)).backward()
    assert x.grad.shape == shape
