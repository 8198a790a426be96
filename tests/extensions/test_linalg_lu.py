"""LU factors and the forms of QR: values against SciPy and NumPy, derivatives in both modes, singular input, errors."""

import numpy as np
import pytest
import scipy.linalg
from support import DIFF_DTYPES, assert_same, const, random_layout, sample, value

import tenferro as tfr
from tenferro import errors
from tenferro.testing import check_grads

la = tfr.linalg

dtypes = pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
SHAPES = [(3, 3), (5, 3), (2, 4), (2, 3, 3), (3, 1, 4, 2), (2, 2, 5), (1, 1), (1, 3), (3, 1)]
EMPTY = [(0, 0), (0, 3), (3, 0), (2, 0, 3), (0, 3, 3), (0, 2, 3)]


def tolerance(dtype):
    return {"rtol": 1e-3, "atol": 1e-5} if np.finfo(dtype).bits == 32 else {"rtol": 1e-10, "atol": 1e-13}


def draw(shape, dtype, seed=0):
    return sample(np.random.default_rng(seed), shape, dtype)


def layouts(a):
    return [const(random_layout(a, np.random.default_rng(k))) for k in range(4)]


def adjoint(x):
    return tfr.conj(tfr.swapaxes(x, -1, -2))


# ---- values ----------------------------------------------------------------------------------------------------------

@dtypes
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_lu(shape, dtype):
    a = draw(shape, dtype)
    p, low, up = scipy.linalg.lu(a)
    for x in layouts(a):
        found = la.lu(x)
        assert found._fields == ("P", "L", "U")
        assert_same(found.P, p.real.astype(np.finfo(dtype).dtype))
        assert_same(found.L, low, **tolerance(dtype))
        assert_same(found.U, up, **tolerance(dtype))
        np.testing.assert_allclose(value(found.P) @ value(found.L) @ value(found.U), a, **tolerance(dtype))
        pl, up_again = la.lu(x, permute_l=True)
        assert_same(pl, scipy.linalg.lu(a, permute_l=True)[0], **tolerance(dtype))
        assert_same(up_again, up, **tolerance(dtype))
        rows, low_again, _ = la.lu(x, p_indices=True)
        assert_same(rows, scipy.linalg.lu(a, p_indices=True)[0].astype(np.int64))
        assert_same(low_again, low, **tolerance(dtype))
        np.testing.assert_array_equal(value(found.L), np.tril(value(found.L)))


@dtypes
@pytest.mark.parametrize("shape", EMPTY, ids=str)
def test_lu_without_elements(shape, dtype):
    *batch, m, n = shape
    k = min(m, n)
    x = tfr.variable(np.zeros(shape, dtype))
    p, low, up = la.lu(x)
    assert_same(p, np.broadcast_to(np.eye(m), (*batch, m, m)).astype(np.finfo(dtype).dtype))
    assert_same(low, np.broadcast_to(np.eye(m, k), (*batch, m, k)).astype(dtype))
    assert_same(up, np.zeros((*batch, k, n), dtype))
    assert_same(la.lu(x, p_indices=True).P, np.broadcast_to(np.arange(m), (*batch, m)))
    assert_same(x.runtime.grad(tfr.sum(tfr.real(low)) + tfr.sum(tfr.real(up)), x), np.zeros(shape, dtype))


def test_lu_has_the_order_of_scipys_arguments():
    a = draw((3, 3), "f8")
    for found, expected in zip(la.lu(a, False, False, True, True), scipy.linalg.lu(a, False, False, True, True)):
        np.testing.assert_allclose(value(found), expected, rtol=1e-13)
    assert_same(la.lu([[1, 2], [3, 4]]).U, scipy.linalg.lu(np.array([[1.0, 2.0], [3.0, 4.0]]))[2])


@dtypes
@pytest.mark.parametrize("shape", [*SHAPES, *EMPTY], ids=str)
def test_complete_qr(shape, dtype):
    a = draw(shape, dtype)
    *batch, m, n = shape
    for x in layouts(a):
        q, r = la.qr(x, mode="complete")
        assert q.dtype == r.dtype == a.dtype
        assert (q.shape, r.shape) == ((*batch, m, m), (*batch, m, n))
        q, r = value(q), value(r)
        np.testing.assert_allclose(q @ r, a, **tolerance(dtype))
        unit = np.broadcast_to(np.eye(m), q.shape)
        np.testing.assert_allclose(q.swapaxes(-1, -2).conj() @ q, unit, rtol=0, atol=1e-5 if q.itemsize < 16 else 1e-13)
        np.testing.assert_array_equal(r, np.triu(r))
        k = min(m, n)
        np.testing.assert_array_equal(q[..., :k], value(la.qr(x).Q))


# ---- derivatives -----------------------------------------------------------------------------------------------------

def matrices(shape, dtype, seed=0):
    """Leading blocks far from singular and pivots far from each other, in a random layout."""
    rng = np.random.default_rng(seed)
    m, n = shape[-2:]
    a = 0.4 * sample(rng, shape, np.result_type(dtype, "f8")) + 4 * np.eye(m, n)
    return random_layout(a[..., rng.permutation(m), :].astype(dtype), rng)


def check(f, *args):
    loose = {"atol": 5e-3, "rtol": 5e-3} if np.finfo(args[0].dtype).bits == 32 else {}
    check_grads(f, args, order=2, **loose)


FUNCTIONS = {
    "factors": lambda a: la.lu(a)[1:],
    "L alone": lambda a: la.lu(a).L,
    "U alone": lambda a: la.lu(a).U,
    "permuted L": lambda a: la.lu(a, permute_l=True),
    "product": lambda a: la.lu(a).P @ la.lu(a).L @ la.lu(a).U,
    "R of complete QR": lambda a: la.qr(a, mode="complete").R,
}


@dtypes
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2), (2, 2, 3), (1, 1)], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name, shape, dtype):
    check(FUNCTIONS[name], matrices(shape, dtype))


@dtypes
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (2, 2, 3)], ids=str)
def test_complete_qr_that_adds_no_column(shape, dtype):
    check(lambda a: la.qr(a, mode="complete"), matrices(shape, dtype))


def numeric(f, h=1e-3):
    """Derivative at 0 by central differences, extrapolated twice."""
    d = [(f(t) - f(-t)) / (2 * t) for t in (h, h / 2, h / 4)]
    return (64 * d[2] - 20 * d[1] + d[0]) / 45


WEIGHTS = np.random.default_rng(4).standard_normal((6, 6))


def weighted(x):
    return tfr.sum(tfr.real(x * WEIGHTS[:x.shape[-2], :x.shape[-1]]))


def lu_loss(a, scale):
    _, low, up = la.lu(a)
    return weighted(low ** 2) + weighted((up / scale) ** 2)


def qr_loss(a, scale):
    q, r = la.qr(a, mode="complete" if a.shape[-2] <= a.shape[-1] else "reduced")
    return weighted(q) + weighted((r / scale) ** 2) + weighted((la.qr(a, mode="complete").R / scale) ** 2)


@pytest.mark.parametrize("kind", ["f8", "c16"])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)], ids=str)
@pytest.mark.parametrize("f", [lu_loss, qr_loss])
def test_directional_derivatives_at_all_scales(f, shape, scale, kind):
    a, d = value(tfr.constant(matrices(shape, kind))), draw(shape, kind, 1)
    x = tfr.variable(a * scale)
    loss, rt = f(x, scale), x.runtime
    expected = numeric(lambda t: f(tfr.constant((a + t * d) * scale), scale).item())
    assert np.sum(np.conj(value(rt.grad(loss, x))) * d * scale).real == pytest.approx(expected, rel=1e-7)
    assert rt.jvp(loss, x, d * scale).item() == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("kind", ["f8", "c16"])
@pytest.mark.parametrize("columns", [[1e-9, 1.0, 1e9], [1e9, 1.0, 1e-9], [1.0, 1e-30, 1.0]], ids=str)
@pytest.mark.parametrize("shape", [(3, 3), (5, 3)], ids=str)
def test_columns_of_very_different_sizes(shape, columns, kind):
    a, d = value(tfr.constant(matrices(shape, kind))), draw(shape, kind, 1)
    x = tfr.variable(a * columns)

    def loss(x):
        _, low, up = la.lu(x)
        return weighted(low) + weighted(up / columns)

    expected = numeric(lambda t: loss(tfr.constant((a + t * d) * columns)).item())
    assert np.sum(np.conj(value(x.runtime.grad(loss(x), x))) * d * columns).real == pytest.approx(expected, rel=1e-7)
    assert x.runtime.jvp(loss(x), x, d * columns).item() == pytest.approx(expected, rel=1e-7)


# ---- singular matrices -----------------------------------------------------------------------------------------------

@dtypes
@pytest.mark.parametrize("shape", [(3, 3), (3, 5)], ids=str)
def test_exact_where_the_last_pivot_alone_is_zero(shape, dtype):
    low = np.tril(0.3 * draw((3, 3), dtype), -1) + np.eye(3, dtype=dtype)
    up = np.triu(draw(shape, dtype, 1), 1) + 3 * np.eye(*shape, dtype=dtype)
    up[2, 2] = 0
    check(FUNCTIONS["factors"], (low @ up).astype(dtype))


POINTS = {
    "zero": lambda shape: np.zeros(shape),
    "rank one": lambda shape: np.outer(np.arange(1.0, shape[0] + 1), np.arange(2.0, shape[1] + 2)),
    "zero column": lambda shape: np.eye(*shape) * [0.0, *[1.0] * (shape[1] - 1)],
    "equal columns": lambda shape: np.ones(shape) + np.arange(shape[0])[:, None] * [0.0, *range(shape[1] - 1)],
}


@dtypes
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)], ids=str)
@pytest.mark.parametrize("point", POINTS)
def test_finite_for_singular_matrices(point, shape, dtype):
    x = tfr.variable(POINTS[point](shape).astype(dtype))
    rt, direction, loss = x.runtime, draw(shape, dtype, 2), lu_loss(x, 1.0)
    gradient = rt.grad(loss, x)
    for found in (gradient, rt.jvp(loss, x, direction), rt.jvp(gradient, x, direction)):
        assert np.isfinite(value(found)).all()


# ---- what has no derivative, and errors ------------------------------------------------------------------------------

def test_permutation_is_a_constant():
    x = tfr.variable(draw((3, 3), "f8"))
    assert not la.lu(x).P.tracks_grad
    assert not la.lu(x, p_indices=True).P.tracks_grad
    assert la.lu(x).L.tracks_grad


def test_added_columns_of_a_complete_q_say_why():
    x = tfr.variable(matrices((3, 2), "f8"))
    q = la.qr(x, mode="complete").Q
    with pytest.raises(errors.UnsupportedAdRuleError, match="basis of the null space is arbitrary") as caught:
        tfr.sum(q).backward()
    assert (caught.value.op, caught.value.transform) == ("qr", "vjp")
    with pytest.raises(errors.UnsupportedAdRuleError, match="null space") as caught:
        x.runtime.jvp(q, x, np.ones((3, 2)))
    assert (caught.value.op, caught.value.transform) == ("qr", "jvp")
    tfr.sum(la.qr(x).Q).backward()
    assert np.isfinite(value(x.grad)).all()


NAN = np.array([[1.0, np.nan], [0.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize(("call", "kind", "op", "argument", "message"), [
    (lambda: la.lu(np.ones(3)), errors.ShapeMismatchError, "lu", "a", r"shape \(3,\)"),
    (lambda: la.lu(NAN), errors.ValidationError, "lu", "a", "infinite or not a number"),
    (lambda: la.lu(tfr.variable(NAN)), errors.ValidationError, "lu", "a", "infinite or not a number"),
    (lambda: la.lu(np.empty((2**31, 0))), errors.IntegerOverflowError, "lu", "a", "2147483648"),
    (lambda: la.qr(NAN, mode="complete"), errors.ValidationError, "qr", "a", "infinite or not a number"),
    (lambda: la.qr(np.eye(2), mode="raw"), errors.ValidationError, "qr", "mode", "'raw'; LAPACK's packed form"),
    (lambda: la.qr(np.eye(2), mode="full"), errors.ValidationError, "qr", "mode", "not 'full'$"),
])
def test_bad_input(call, kind, op, argument, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert (caught.value.op, caught.value.argument) == (op, argument)
    assert_same(la.lu(np.eye(2)).U, np.eye(2))


def test_repeated_structures_with_other_values():
    """What rules read off values must not be kept for the next matrix."""
    def derivatives(rt, a):
        x = rt.variable_from(a)
        gradient = rt.grad(lu_loss(x, 1.0), x)
        return value(gradient), value(rt.jvp(gradient, x, WEIGHTS[:3, :3]))

    rt = tfr.EagerRuntime()
    for a in (np.eye(3), np.zeros((3, 3)), draw((3, 3), "f8"), draw((3, 3), "f8", 1), np.eye(3)[[2, 0, 1]]):
        for found, expected in zip(derivatives(rt, a), derivatives(tfr.EagerRuntime(), a)):
            np.testing.assert_array_equal(found, expected)
