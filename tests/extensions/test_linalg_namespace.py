"""Products, condition numbers and tensor equations of the linalg namespace, against NumPy and SciPy."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg
from support import ALL_DTYPES, DIFF_DTYPES, assert_same, const, random_layout, sample, value

import tenferro as tfr
from tenferro import errors
from tenferro.testing import check_grads

la = tfr.linalg

dtypes = pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
all_dtypes = pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)

STANDARD = ("cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank "
            "matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm").split()


def tolerance(dtype):
    if np.dtype(dtype).kind not in "fc":
        return {}
    return {"rtol": 1e-3, "atol": 1e-4} if np.finfo(dtype).bits == 32 else {"rtol": 1e-9, "atol": 1e-11}


def draw(shape, dtype, seed=0):
    return sample(np.random.default_rng(seed), shape, dtype)


def layouts(a):
    return [const(random_layout(a, np.random.default_rng(k))) for k in range(3)]


def well(shape, dtype, seed=0):
    return (draw(shape, dtype, seed) + 6 * np.eye(*shape[-2:])).astype(dtype)


def check(f, *args):
    loose = {"atol": 5e-3, "rtol": 5e-3} if np.finfo(args[0].dtype).bits == 32 else {}
    check_grads(f, args, order=2, **loose)


def test_names_of_the_standard():
    missing = [name for name in STANDARD if name not in la.__all__ or not callable(getattr(la, name))]
    assert missing == []
    assert [name for name in la.__all__ if not hasattr(la, name)] == []


@pytest.mark.parametrize("name", ["cross", "kron", "matmul", "matrix_transpose", "tensordot", "vecdot"])
def test_the_same_functions_as_in_the_main_namespace(name):
    assert getattr(la, name) is getattr(tfr, name)


# ---- values ----------------------------------------------------------------------------------------------------------

@all_dtypes
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (2, 3, 4), (2, 1, 5, 2), (0, 3), (2, 0, 0)], ids=str)
@pytest.mark.parametrize("offset", [0, 1, -1, 7])
def test_diagonal_and_trace(shape, offset, dtype):
    a = draw(shape, dtype)
    for x in layouts(a):
        assert_same(la.diagonal(x, offset=offset), np.linalg.diagonal(a, offset=offset))
        assert_same(la.trace(x, offset=offset), np.linalg.trace(a, offset=offset), **tolerance(dtype))


@pytest.mark.parametrize(("dtype", "wanted"), [("i1", "i8"), ("i1", "f8"), ("u1", "u8"), ("f4", "f8"), ("f8", "c16"),
                                               ("?", "i4")])
def test_dtype_of_a_trace(dtype, wanted):
    a = np.full((2, 3, 3), 100).astype(dtype)
    assert_same(la.trace(a, dtype=wanted), np.linalg.trace(a, dtype=wanted))


def test_small_integers_do_not_overflow_in_a_trace():
    assert la.trace(np.full((3, 3), 100, "i1")).item() == 300
    assert la.trace(np.full((3, 3), 200, "u1")).dtype == np.uint64


@all_dtypes
def test_products_of_vectors_and_matrices(dtype):
    a, b = draw((3,), dtype), draw((4,), dtype, 1)
    for x, y in zip(layouts(a), layouts(b)):
        assert_same(la.outer(x, y), np.linalg.outer(a, b), **tolerance(dtype))
    assert la.outer(a, b[:0]).shape == (3, 0)
    m, n = draw((2, 3), dtype), draw((3, 2), dtype, 1)
    for x, y in zip(layouts(m), layouts(n)):
        assert_same(la.kron(x, y), np.kron(m, n), **tolerance(dtype))
        assert_same(la.matmul(x, y), np.linalg.matmul(m, n), **tolerance(dtype))
        assert_same(la.tensordot(x, y, axes=1), np.linalg.tensordot(m, n, axes=1), **tolerance(dtype))
        assert_same(la.matrix_transpose(x), np.linalg.matrix_transpose(m))
        if dtype.kind != "b":
            assert_same(la.cross(x, tfr.matrix_transpose(y)), np.linalg.cross(m, n.T), **tolerance(dtype))
            assert_same(la.vecdot(x, tfr.matrix_transpose(y)), np.linalg.vecdot(m, n.T), **tolerance(dtype))


CHAINS = [[(2, 3), (3, 4)], [(3,), (3, 2)], [(2, 3), (3,)], [(3,), (3,)], [(2, 5), (5, 3), (3, 4)],
          [(5,), (5, 3), (3,)], [(10, 2), (2, 9), (9, 1), (1, 6), (6, 3)], [(2, 3), (3, 0), (0, 4)]]


@dtypes
@pytest.mark.parametrize("shapes", CHAINS, ids=str)
def test_multi_dot(shapes, dtype):
    arrays = [draw(s, dtype, k) for k, s in enumerate(shapes)]
    rng = np.random.default_rng(0)
    found = la.multi_dot([const(random_layout(a, rng)) for a in arrays])
    assert_same(found, np.linalg.multi_dot(arrays), **tolerance(dtype))


def test_multi_dot_multiplies_in_the_best_order(monkeypatch):
    sizes, seen = [30, 35, 15, 5, 10, 20, 25], []

    def matmul(x, y, original=tfr.matmul):
        seen.append(x.shape[0] * x.shape[1] * y.shape[1])
        return original(x, y)

    monkeypatch.setattr(tfr, "matmul", matmul)
    la.multi_dot([np.ones(s) for s in pairwise(sizes)])
    assert sum(seen) == 15125


NORMS = [None, 2, -2, "fro", "nuc", 1, -1, np.inf, -np.inf]


@dtypes
@pytest.mark.parametrize("p", NORMS)
def test_condition_numbers(p, dtype):
    for shape in [(3, 3), (2, 3, 3), (1, 1), (0, 2, 2)] + ([(4, 2), (2, 4)] if p in (None, 2, -2) else []):
        a = well(shape, dtype)
        for x in layouts(a):
            assert_same(la.cond(x, p), np.linalg.cond(a, p), **tolerance(dtype))


@pytest.mark.parametrize("p", NORMS)
def test_condition_numbers_of_singular_matrices(p):
    a = np.stack([np.eye(2), np.diag([1.0, 0.0]), np.zeros((2, 2)), np.diag([1.0, 4.0])])
    with np.errstate(all="ignore"):
        expected = [np.inf if p == "nuc" and np.linalg.det(x) == 0 else np.linalg.cond(x, p) for x in a]
    assert_same(la.cond(a, p), expected, rtol=1e-14)
    x = tfr.variable(a)
    tfr.sum(la.cond(x, p)[::3]).backward()
    assert np.isfinite(value(x.grad)).all()


@dtypes
@pytest.mark.parametrize(("shape", "ind"), [((2, 3, 6), 2), ((6, 2, 3), 1), ((2, 2, 2, 2), 2), ((3, 3), 1)], ids=str)
def test_tensorinv(shape, ind, dtype):
    n = int(np.prod(shape[:ind]))
    a = well((n, n), dtype).reshape(shape)
    for x in layouts(a):
        assert_same(la.tensorinv(x, ind), np.linalg.tensorinv(a, ind), **tolerance(dtype))


@dtypes
@pytest.mark.parametrize(("a", "b", "axes"), [((2, 3, 6), (2, 3), None), ((2, 3, 3, 2), (2, 3), None),
                                              ((6, 2, 3), (6,), None), ((2, 6, 3), (2, 3), (1,)),
                                              ((3, 2, 6), (6,), (1, 0)), ((3, 3), (3,), None)], ids=str)
def test_tensorsolve(a, b, axes, dtype):
    a, b = draw(a, dtype), draw(b, dtype, 1)
    for x, y in zip(layouts(a), layouts(b)):
        assert_same(la.tensorsolve(x, y, axes), np.linalg.tensorsolve(a, b, axes), **tolerance(dtype))


def test_tensorsolve_promotes():
    a, b = well((4, 4), "f4").reshape(2, 2, 4), draw((2, 2), "c16")
    assert_same(la.tensorsolve(a, b), np.linalg.tensorsolve(a, b), rtol=1e-5)
    assert_same(la.tensorsolve([[2, 0], [0, 4]], [2, 2]), np.array([1.0, 0.5]))


@dtypes
@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
def test_solve_triangular(trans, dtype):
    a, b = well((3, 3), dtype), draw((3, 2), dtype, 1)
    for lower in (False, True):
        for unit in (False, True):
            expected = scipy.linalg.solve_triangular(a, b, trans, lower, unit, False, True)
            assert_same(la.solve_triangular(a, b, trans, lower, unit, False, True), expected, **tolerance(dtype))
            assert_same(la.solve_triangular(a, b[:, 0], trans=trans, lower=lower, unit_diagonal=unit),
                        scipy.linalg.solve_triangular(a, b[:, 0], trans=trans, lower=lower, unit_diagonal=unit),
                        **tolerance(dtype))


# ---- derivatives -----------------------------------------------------------------------------------------------------

@dtypes
def test_derivatives_of_traces_and_products(dtype):
    rng = np.random.default_rng(1)
    a, b = (random_layout(draw((2, 3, 3), dtype, k), rng) for k in range(2))
    check(lambda a: [la.diagonal(a, offset=1), la.trace(a, offset=-1), la.matrix_transpose(a)], a)
    check(lambda a, b: [la.cross(a, b), la.kron(a[0], b[0]), la.vecdot(a, b), la.tensordot(a[0], b[0], axes=2)], a, b)
    check(la.outer, a[0, 0], b[0, 0])


@dtypes
def test_derivatives_of_multi_dot(dtype):
    check(lambda *xs: la.multi_dot(xs), draw((2,), dtype), draw((2, 3), dtype, 1), draw((3, 2), dtype, 2))


@dtypes
@pytest.mark.parametrize("p", NORMS)
def test_derivatives_of_condition_numbers(p, dtype):
    rng = np.random.default_rng(3)
    u, _, vh = np.linalg.svd(sample(rng, (2, 3, 3), np.result_type(dtype, "f8")))
    a = ((u * [3.0, 2.0, 1.0]) @ vh).astype(dtype)
    check(lambda a: la.cond(a, p), random_layout(a, rng))


@dtypes
def test_derivatives_of_tensor_equations(dtype):
    a = well((4, 4), dtype).reshape(2, 2, 4)
    check(la.tensorinv, a)
    check(la.tensorsolve, a, draw((2, 2), dtype, 1))
    check(lambda a, b: la.solve_triangular(a, b, lower=True), well((3, 3), dtype), draw((3,), dtype, 1))


# ---- errors ----------------------------------------------------------------------------------------------------------

NAN = np.array([[1.0, np.nan], [0.0, 1.0]])
ONES = np.ones((2, 2))


@pytest.mark.parametrize(("call", "kind", "op", "argument", "message"), [
    (lambda: la.outer(np.eye(2), [1.0]), errors.ShapeMismatchError, "outer", "x1", "x1 has 2 axes"),
    (lambda: la.outer([1.0], 2.0), errors.ShapeMismatchError, "outer", "x2", "x2 has 0 axes"),
    (lambda: la.outer(tfr.variable(ONES), [1.0]), errors.ShapeMismatchError, "outer", "x1", "x1 has 2 axes"),
    (lambda: la.cond(np.ones(3)), errors.ShapeMismatchError, "cond", "x", r"shape \(3,\)"),
    (lambda: la.cond(np.ones((2, 3)), 1), errors.ShapeMismatchError, "cond", "x", r"\(..., N, N\) is needed"),
    (lambda: la.cond(np.ones((2, 0))), errors.ShapeMismatchError, "cond", "x", "without elements"),
    (lambda: la.cond(ONES, "x"), errors.ValidationError, "cond", "p", "p='x' is not a norm"),
    (lambda: la.cond(ONES, 3), errors.ValidationError, "cond", "p", "p=3 is not a norm"),
    (lambda: la.cond(NAN), errors.ValidationError, "cond", "x", "infinite or not a number"),
    (lambda: la.cond(NAN, 1), errors.ValidationError, "cond", "x", "infinite or not a number"),
    (lambda: la.multi_dot([ONES]), errors.ValidationError, "multi_dot", "arrays", "1 matrices"),
    (lambda: la.multi_dot([ONES, np.ones(2), ONES]), errors.ShapeMismatchError, "multi_dot", "arrays",
     r"arrays\[1\] has 1 axes"),
    (lambda: la.multi_dot([ONES, np.ones((3, 2))]), errors.ShapeMismatchError, "multi_dot", "arrays",
     r"arrays\[0\] has 2 columns, but arrays\[1\] has 3 rows"),
    (lambda: la.tensorinv(ONES, 0), errors.ValidationError, "tensorinv", "ind", "has to be positive"),
    (lambda: la.tensorinv(np.ones((2, 3)), 1), errors.ShapeMismatchError, "tensorinv", "a", "2 by 3 elements"),
    (lambda: la.tensorinv(NAN, 1), errors.ValidationError, "tensorinv", "a", "infinite or not a number"),
    (lambda: la.tensorsolve(ONES, np.ones(3)), errors.ShapeMismatchError, "tensorsolve", "b", r"b has shape \(3,\)"),
    (lambda: la.tensorsolve(np.ones((2, 3)), np.ones(2)), errors.ShapeMismatchError, "tensorsolve", "a",
     "2 by 3 elements"),
    (lambda: la.tensorsolve(ONES, np.ones(2), [2]), errors.AxisError, "tensorsolve", "axes", "a has 2 axes"),
    (lambda: la.tensorsolve(ONES, np.ones(2), [0, 0]), errors.AxisError, "tensorsolve", "axes", "twice"),
    (lambda: la.solve_triangular(ONES, np.ones(2), "X"), errors.ValidationError, "triangular_solve", "trans", "'X'"),
])
def test_bad_input(call, kind, op, argument, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert (caught.value.op, caught.value.argument) == (op, argument)
    assert la.cond(np.eye(2)).item() == 1.0


@pytest.mark.parametrize(("call", "op"), [(lambda: la.tensorinv(ONES, 1), "tensorinv"),
                                          (lambda: la.tensorsolve(ONES, np.ones(2)), "tensorsolve"),
                                          (lambda: la.solve_triangular(0 * ONES, np.ones(2)), "triangular_solve")])
def test_singular(call, op):
    with pytest.raises(errors.LinAlgError, match="singular") as caught:
        call()
    assert caught.value.op == op
    assert_same(la.tensorinv(np.eye(2), 1), np.eye(2))


@pytest.mark.parametrize("name", ["diagonal", "trace"])
def test_fewer_than_two_axes(name):
    with pytest.raises(errors.AxisError):
        getattr(la, name)(np.ones(3))


def test_runtime_of_the_operands():
    rt = tfr.EagerRuntime()
    a, b = rt.variable_from(np.eye(2)), np.ones(2)
    for found in (la.cond(a), la.cond(a, 1), la.tensorinv(a, 1), la.tensorsolve(a, b), la.multi_dot([np.eye(2), a]),
                  la.outer(b, a[0]), la.trace(a), la.solve_triangular(a, b)):
        assert found.runtime is rt
