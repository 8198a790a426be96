"""Values of linear algebra against NumPy and SciPy, and what bad input raises."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
from support import DIFF_DTYPES, assert_same, const, random_layout, sample, value

import tenferro as tfr
from tenferro import errors

la = tfr.linalg

SHAPES = [(3, 3), (5, 3), (2, 4), (2, 3, 3), (3, 1, 4, 2), (1, 1), (0, 0), (0, 3, 3), (4, 0), (2, 0, 3)]
SQUARE = [s for s in SHAPES if s[-1] == s[-2]]

dtypes = pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
squares = pytest.mark.parametrize("shape", SQUARE, ids=str)


def tolerance(dtype):
    return {"rtol": 2e-3, "atol": 2e-4} if np.finfo(dtype).bits == 32 else {"rtol": 1e-9, "atol": 1e-11}


def draw(shape, dtype, seed=0):
    return sample(np.random.default_rng(seed), shape, dtype)


def layouts(a):
    return [const(random_layout(a, np.random.default_rng(k))) for k in range(4)]


def definite(a):
    return a @ a.swapaxes(-1, -2).conj() + np.eye(a.shape[-1], dtype=a.dtype)


def well(a):
    return a + 8 * np.eye(a.shape[-1], dtype=a.dtype)


@dtypes
@squares
def test_square_functions(shape, dtype):
    a = well(draw(shape, dtype))
    for x in layouts(a):
        assert_same(la.inv(x), np.linalg.inv(a), **tolerance(dtype))
        assert_same(la.det(x), np.linalg.det(a), **tolerance(dtype))
        sign, log = la.slogdet(x)
        assert_same(sign, np.linalg.slogdet(a)[0], **tolerance(dtype))
        assert_same(log, np.linalg.slogdet(a)[1], **tolerance(dtype))
        assert_same(la.matrix_power(x, 3), np.linalg.matrix_power(a, 3), **tolerance(dtype))
        assert_same(la.matrix_power(x, -2), np.linalg.matrix_power(a, -2), **tolerance(dtype))
        assert_same(la.matrix_power(x, 0), np.linalg.matrix_power(a, 0))


@dtypes
@squares
def test_exponential(shape, dtype):
    a = draw(shape, dtype) * np.dtype(dtype).type(0.5)
    expected = np.zeros_like(a) if 0 in shape else scipy.linalg.expm(a)
    assert_same(la.expm(a), expected, **tolerance(dtype))


@dtypes
@squares
def test_hermitian_functions(shape, dtype):
    a = definite(draw(shape, dtype))
    for x in layouts(a):
        assert_same(la.cholesky(x), np.linalg.cholesky(a), **tolerance(dtype))
        assert_same(la.cholesky(x, upper=True), np.linalg.cholesky(a, upper=True), **tolerance(dtype))
        w, v = la.eigh(x)
        assert_same(w, np.linalg.eigvalsh(a), **tolerance(dtype))
        assert_same(la.eigvalsh(x), np.linalg.eigvalsh(a), **tolerance(dtype))
        assert v.dtype == a.dtype
        np.testing.assert_allclose(a @ value(v), value(v) * value(w)[..., None, :], **tolerance(dtype))


@dtypes
@shapes
def test_factors(shape, dtype):
    a = draw(shape, dtype)
    k = min(shape[-2:])
    for x in layouts(a):
        q, r = la.qr(x)
        assert q.shape == (*shape[:-1], k)
        assert r.shape == (*shape[:-2], k, shape[-1])
        np.testing.assert_allclose(value(q) @ value(r), a, **tolerance(dtype))
        np.testing.assert_allclose(value(q).swapaxes(-1, -2).conj() @ value(q),
                                   np.broadcast_to(np.eye(k), (*shape[:-2], k, k)), **tolerance(dtype))
        np.testing.assert_array_equal(value(r), np.triu(value(r)))
        assert_same(la.svdvals(x), np.linalg.svdvals(a), **tolerance(dtype))
        assert_same(la.svd(x, compute_uv=False), np.linalg.svdvals(a), **tolerance(dtype))
        for full in (True, False):
            u, s, vh = map(value, la.svd(x, full_matrices=full))
            for found, expected in zip((u, s, vh), np.linalg.svd(a, full_matrices=full)):
                assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, **tolerance(dtype))


@dtypes
@shapes
def test_pseudo_inverse_and_rank(shape, dtype):
    a = draw(shape, dtype)
    expected = np.zeros((*shape[:-2], shape[-1], shape[-2]), dtype) if 0 in shape else np.linalg.pinv(a)
    assert_same(la.pinv(a), expected, **tolerance(dtype))
    if 0 not in shape[-2:]:
        assert_same(la.matrix_rank(a), np.linalg.matrix_rank(a))


def test_rank_of_deficient_matrices():
    a = np.outer([1.0, 2.0, 3.0], [1.0, 1.0])
    assert la.matrix_rank(a).item() == 1
    assert la.matrix_rank(np.zeros((2, 3))).item() == 0
    assert la.matrix_rank(np.diag([1.0, 1e-3]), tol=0.1).item() == 1
    assert la.matrix_rank(np.diag([10.0, 0.5]), rtol=0.1).item() == 1
    np.testing.assert_allclose(value(la.pinv(a)), np.linalg.pinv(a, rcond=1e-10), rtol=1e-12)


@dtypes
@pytest.mark.parametrize(("a", "b"), [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 2)),
                                      ((3, 3), (2, 3, 4)), ((2, 1, 3, 3), (5, 3, 1)), ((0, 0), (0, 2)),
                                      ((3, 3), (3, 0)), ((0, 3, 3), (3, 1))], ids=str)
def test_solve(a, b, dtype):
    a, b = well(draw(a, dtype)), draw(b, dtype, 1)
    expected = np.linalg.solve(a, b)
    for x, y in zip(layouts(a), layouts(b)):
        assert_same(la.solve(x, y), expected, **tolerance(dtype))


def test_solve_promotes():
    a, b = well(draw((3, 3), "f4")), draw((3,), "c16")
    assert_same(la.solve(a, b), np.linalg.solve(a, b), rtol=1e-5, atol=1e-6)
    assert_same(la.solve([[2, 0], [0, 4]], [2, 2]), np.array([1.0, 0.5]))


@dtypes
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("trans", [0, "T", "C"])
def test_triangular_solve(dtype, lower, unit, trans):
    a, b = well(draw((3, 4, 4), dtype)), draw((4, 2), dtype, 1)
    expected = np.stack([scipy.linalg.solve_triangular(m, b, trans=trans, lower=lower, unit_diagonal=unit) for m in a])
    for x, y in zip(layouts(a), layouts(b)):
        found = la.triangular_solve(x, y, lower=lower, trans=trans, unit_diagonal=unit)
        assert_same(found, expected, **tolerance(dtype))


@dtypes
@pytest.mark.parametrize(("a", "b"), [((5, 3), (5,)), ((5, 3), (5, 2)), ((2, 4), (2, 3)), ((3, 3), (3, 1))], ids=str)
def test_least_squares(a, b, dtype):
    a, b = draw(a, dtype), draw(b, dtype, 1)
    x, residuals, rank, s = la.lstsq(a, b)
    expected = np.linalg.lstsq(a, b, rcond=None)
    assert_same(x, expected[0], **tolerance(dtype))
    np.testing.assert_allclose(value(residuals), expected[1], **tolerance(dtype))
    assert rank.item() == expected[2]
    assert_same(s, expected[3], **tolerance(dtype))


def test_least_squares_of_a_stack():
    a, b = draw((2, 5, 3), "f8"), draw((2, 5, 2), "f8", 1)
    expected = np.stack([np.linalg.lstsq(m, y, rcond=None)[0] for m, y in zip(a, b)])
    assert_same(la.lstsq(a, b).solution, expected, rtol=1e-10)


@dtypes
@squares
def test_eigenvalues(shape, dtype):
    a = draw(shape, dtype)
    w, v = la.eig(a)
    assert w.dtype == v.dtype == np.result_type(dtype, np.complex64)
    np.testing.assert_allclose(a @ value(v), value(v) * value(w)[..., None, :], **tolerance(dtype))
    np.testing.assert_allclose(np.sort_complex(value(la.eigvals(a))),
                               np.sort_complex(np.linalg.eigvals(a).astype(w.dtype)), **tolerance(dtype))


@dtypes
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms(dtype, keepdims):
    a = draw((3, 4), dtype)
    for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        assert_same(la.norm(a, order, keepdims=keepdims), np.linalg.norm(a, order, keepdims=keepdims),
                    **tolerance(dtype))
        b = draw((2, 3, 4), dtype)
        expected = np.linalg.norm(b, order, axis=(0, 2), keepdims=keepdims)
        assert_same(la.norm(b, order, axis=(0, 2), keepdims=keepdims), expected, **tolerance(dtype))
    for order in (None, 0, 1, 2, 3, 0.5, -1, -2, np.inf, -np.inf):
        for axis in (0, 1, -1):
            assert_same(la.norm(a, order, axis=axis, keepdims=keepdims),
                        np.linalg.norm(a, order, axis=axis, keepdims=keepdims), **tolerance(dtype))
    assert_same(la.vector_norm(a, keepdims=keepdims), np.linalg.vector_norm(a, keepdims=keepdims), **tolerance(dtype))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_norms_neither_overflow_nor_underflow(scale):
    a = np.array([3.0, 4.0]) * scale
    assert la.norm(a).item() == pytest.approx(5 * scale, rel=1e-14)
    assert la.norm(a, 3).item() == pytest.approx(91 ** (1 / 3) * scale, rel=1e-14)


def test_determinant_of_singular_matrices():
    assert_same(la.det(np.zeros((2, 2))), np.array(0.0))
    sign, log = la.slogdet(np.zeros((2, 2)))
    assert (sign.item(), log.item()) == (0.0, -np.inf)
    assert la.det([[0.0, 1.0], [1.0, 0.0]]).item() == -1.0


NAN = np.array([[1.0, np.nan], [0.0, 1.0]])
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "slogdet", "eigh", "eigvalsh", "eig", "eigvals", "expm",
                                  "matrix_power"])
def test_not_square(name):
    extra = (2,) if name == "matrix_power" else ()
    with pytest.raises(errors.ShapeMismatchError, match=rf"{name}: a has shape \(2, 3\)") as caught:
        getattr(la, name)(np.ones((2, 3)), *extra)
    assert (caught.value.op, caught.value.argument) == (name, "a")
    assert la.det(np.eye(2)).item() == 1.0


@pytest.mark.parametrize("name", ["cholesky", "inv", "det", "slogdet", "eigh", "eigvalsh", "eig", "eigvals", "expm",
                                  "svd", "svdvals", "qr", "pinv"])
def test_not_finite(name):
    with pytest.raises(errors.ValidationError, match=f"{name}: a has elements that are infinite") as caught:
        getattr(la, name)(NAN)
    assert (caught.value.op, caught.value.argument) == (name, "a")
    with pytest.raises(errors.ValidationError, match="infinite"):
        getattr(la, name)(tfr.variable(NAN))


@pytest.mark.parametrize("name", ["cholesky", "eigh", "eigvalsh"])
def test_not_hermitian(name):
    for a in (np.array([[2.0, 1.0], [0.5, 2.0]]), np.array([[2.0, 1.0j], [1.0j, 2.0]])):
        with pytest.raises(errors.ValidationError, match=f"{name}: a is not Hermitian"):
            getattr(la, name)(a)


@pytest.mark.parametrize("f", [lambda a: la.inv(a), lambda a: la.solve(a, np.ones(2)), lambda a: la.matrix_power(a, -1),
                               lambda a: la.solve(np.stack([np.eye(2), a]), np.ones((2, 1))),
                               lambda a: la.triangular_solve(a * 0, np.ones(2)), lambda a: la.cholesky(a - np.eye(2))])
def test_singular(f):
    with pytest.raises(errors.LinAlgError) as caught:
        f(SINGULAR)
    assert isinstance(caught.value, np.linalg.LinAlgError)
    assert caught.value.op in ("inv", "solve", "matrix_power", "triangular_solve", "cholesky")
    assert_same(la.solve(np.eye(2), np.ones(2)), np.ones(2))


@pytest.mark.parametrize(("call", "argument"), [
    (lambda: la.solve(np.eye(2), np.ones(3)), "b"), (lambda: la.solve(np.ones((3, 2, 2)), np.ones((2, 2, 1))), "b"),
    (lambda: la.lstsq(np.ones((3, 2)), np.ones(2)), "b"), (lambda: la.qr(np.eye(2), mode="raw"), "mode"),
    (lambda: la.triangular_solve(np.eye(2), np.ones(2), trans="X"), "trans"), (lambda: la.eigh(np.eye(2), "X"), "UPLO"),
    (lambda: la.norm(np.eye(2), "x"), "ord"), (lambda: la.norm(np.ones(3), "fro"), "ord"),
    (lambda: la.norm(np.ones((2, 2, 2)), 1), "axis"), (lambda: la.svd(np.ones(3)), "a")])
def test_arguments_that_do_not_fit(call, argument):
    with pytest.raises(errors.ValidationError) as caught:
        call()
    assert caught.value.argument == argument


@pytest.mark.parametrize("name", ["svd", "svdvals", "qr", "pinv", "matrix_rank"])
def test_dimensions_beyond_32_bits(name):
    with pytest.raises(errors.IntegerOverflowError, match="the matrix dimension 2147483648") as caught:
        getattr(la, name)(np.empty((2**31, 0)))
    assert caught.value.actual == 2**31


def test_runtime_of_the_operands():
    rt = tfr.EagerRuntime()
    a = rt.variable_from(np.eye(2) * 2)
    assert la.solve(a, [2.0, 4.0]).runtime is rt
    assert la.solve([[2.0, 0.0], [0.0, 2.0]], rt.variable_from([2.0, 4.0])).runtime is rt
    assert la.matrix_rank(a).runtime is rt


def test_a_module_of_the_same_id_is_not_replaced():
    from tenferro.linalg.module import LinalgModule

    class Doubled(LinalgModule):
        def configure(self, registrar):
            registrar.operation("inv", lambda a: a, lambda t: t)
            registrar.executor("inv", "host", lambda a: 2 * np.linalg.inv(a))

    rt = tfr.EagerRuntime()
    rt.install_extension_module(Doubled())
    assert_same(la.inv(rt.constant_from(np.eye(2))), 2 * np.eye(2))
    assert_same(la.inv(np.eye(2)), np.eye(2))


def test_loaded_at_first_use():
    code = ("import sys, tenferro; assert not [m for m in sys.modules if m.startswith(('scipy', 'tenferro.linalg'))]; "
            "tenferro.linalg.inv([[2.0]]); assert 'linalg' in dir(tenferro)")
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("make", [tfr.constant, np.asarray])
def test_a_tolerance_for_each_matrix_of_a_stack(make):
    a = np.stack([np.diag([1.0, 0.5, 0.01])[:2], np.diag([1.0, 0.2, 0.01])[:2]])
    for name, tolerance in (("rtol", [0.4, 0.4]), ("tol", [0.6, 0.1])):
        found = tfr.linalg.matrix_rank(a, **{name: make(np.array(tolerance))})
        assert found.tolist() == np.linalg.matrix_rank(a, **{name: np.array(tolerance)}).tolist()
    for name in ("rtol", "rcond"):
        found = tfr.linalg.pinv(a, **{name: make(np.array([0.6, 0.1]))})
        np.testing.assert_allclose(found.numpy(), np.linalg.pinv(a, np.array([0.6, 0.1])), atol=1e-15)
