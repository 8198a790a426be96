"""Polar factor, functions of matrices, square root, low rank: values, and derivatives where factors are degenerate."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg
from support import DIFF_DTYPES, assert_same, const, random_layout, sample, value

import tenferro as tfr
from tenferro import errors
from tenferro.testing import check_grads

la = tfr.linalg

dtypes = pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
doubles = pytest.mark.parametrize("dtype", ["f8", "c16"])
RNG = np.random.default_rng(5)
WEIGHTS = RNG.standard_normal((6, 6)) + 1j * RNG.standard_normal((6, 6))


def draw(shape, dtype, seed=0):
    return sample(np.random.default_rng(seed), shape, dtype)


def adjoint(a):
    return a.swapaxes(-1, -2).conj()


def herm(a):
    return (a + adjoint(a)) / 2


def hermitian(x):
    return (x + tfr.conj(tfr.swapaxes(x, -1, -2))) * 0.5


def unitary(n, dtype, seed=2):
    return np.linalg.qr(draw((n, n), dtype, seed))[0]


def with_values(values, dtype, m=None, n=None):
    """A matrix with these singular values."""
    k = len(values)
    return (unitary(m or k, dtype)[:, :k] * np.array(values)) @ unitary(n or k, dtype, 3)[:k]


def with_eigenvalues(values, dtype):
    v = unitary(len(values), dtype)
    return herm((v * np.array(values)) @ adjoint(v))


def tolerance(dtype):
    return {"rtol": 1e-3, "atol": 1e-4} if np.finfo(dtype).bits == 32 else {"rtol": 1e-10, "atol": 1e-12}


def check(f, *args, order=2):
    loose = {"atol": 5e-3, "rtol": 5e-3} if np.finfo(args[0].dtype).bits == 32 else {}
    check_grads(f, args, order=order, **loose)


def definite(x):
    n = x.shape[-1]
    return x @ tfr.conj(tfr.swapaxes(x, -1, -2)) + np.eye(n, dtype=x.dtype)


# ---- values ----------------------------------------------------------------------------------------------------------

SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 2), (2, 1, 2, 3), (1, 1), (0, 0), (3, 0), (0, 2, 3)]


def each(f, a, *shapes):
    """A function of one matrix over a stack; empty results of given shapes."""
    if 0 in a.shape:
        return [np.zeros((*a.shape[:-2], *s), a.dtype) for s in shapes]
    found = [f(x) for x in a.reshape(-1, *a.shape[-2:])]
    return [np.stack(x).reshape(*a.shape[:-2], *s) for x, s in zip(zip(*found), shapes)]


@dtypes
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("side", ["right", "left"])
def test_polar_values(side, shape, dtype):
    a, (m, n) = draw(shape, dtype), shape[-2:]
    size = n if side == "right" else m
    u, p = each(lambda x: scipy.linalg.polar(x, side), a, (m, n), (size, size))
    for seed in range(3):
        found = la.polar(const(random_layout(a, np.random.default_rng(seed))), side)
        assert_same(found.U, u, **tolerance(dtype))
        assert_same(found.P, p, **tolerance(dtype))
        np.testing.assert_array_equal(value(found.P), adjoint(value(found.P)))


FUNCTIONS = {
    "exp": (tfr.exp, scipy.linalg.expm),
    "square": (lambda w: w * w, lambda a: a @ a),
    "cube": (lambda w: w**3, lambda a: a @ a @ a),
    "complex": (lambda w: tfr.exp(0.5j * w), lambda a: scipy.linalg.expm(0.5j * a)),
    "sine": (tfr.sin, scipy.linalg.sinm),
    "inverse": (lambda w: 1 / (w + 20), lambda a: np.linalg.inv(a + 20 * np.eye(len(a)))),
    "constant": (lambda w: tfr.ones_like(w) * 2, lambda a: 2 * np.eye(len(a))),
    "number": (lambda w: 3, lambda a: 3 * np.eye(len(a))),
}


@dtypes
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_of_functions_of_hermitian_matrices(name, dtype):
    f, oracle = FUNCTIONS[name]
    a = herm(draw((3, 4, 4), dtype))
    wanted = np.stack([oracle(x) for x in a])
    wanted = wanted.astype(np.result_type(dtype, "c8") if name == "complex" else dtype)
    assert_same(la.funm_hermitian(a, f), wanted, **tolerance(dtype))


@dtypes
def test_square_root_values(dtype):
    a = draw((2, 4, 4), dtype) * np.dtype(dtype).type(0.3) + 2 * np.eye(4, dtype=dtype)
    wanted = np.stack([scipy.linalg.sqrtm(x) for x in a]).astype(dtype)
    assert_same(la.sqrtm(a), wanted, **tolerance(dtype))
    assert_same(la.sqrtm(np.zeros((2, 2), dtype)), np.zeros((2, 2), dtype))
    assert_same(la.sqrtm(np.zeros((3, 0, 0), dtype)), np.zeros((3, 0, 0), dtype))
    low = np.outer([1, 2, 3], [1, 2, 3]).astype(dtype)
    root = value(la.sqrtm(low))
    np.testing.assert_allclose(root @ root, low, rtol=tolerance(dtype)["rtol"])


@dtypes
@pytest.mark.parametrize(("a", "b", "q"), [((3, 3), (2, 2), (3, 2)), ((2, 3, 3), (2, 2), (3, 2)), ((0, 0), (2, 2), (0, 2)),
                                           ((3, 3), (3, 3), (4, 3, 3)), ((2, 1, 2, 2), (3, 1, 1), (2, 1))], ids=str)
def test_sylvester_values(a, b, q, dtype):
    a, b, q = draw(a, dtype), draw(b, dtype, 1), draw(q, dtype, 2)
    a, b = a + 5 * np.eye(a.shape[-1], dtype=dtype), b + 5 * np.eye(b.shape[-1], dtype=dtype)
    x = la.solve_sylvester(a, b, q)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2])
    assert (x.shape, x.dtype) == ((*batch, *q.shape[-2:]), np.dtype(dtype))
    found = value(x)
    np.testing.assert_allclose(a @ found + found @ b, np.broadcast_to(q, found.shape), **tolerance(dtype))
    if found.ndim == 2 and found.size:
        assert_same(x, scipy.linalg.solve_sylvester(a, b, q), **tolerance(dtype))


def truncated(a, k):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u[..., :k] * s[..., None, :k]) @ vh[..., :k, :]


@dtypes
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_low_rank_values(shape, dtype):
    a = draw(shape, dtype)
    for k in range(min(shape[-2:]) + 1):
        wanted = truncated(a, k)
        assert_same(la.low_rank(a, k), wanted, **tolerance(dtype))
        left, right = la.low_rank(a, k, factors=True)
        assert left.shape == (*shape[:-1], k)
        assert right.shape == (*shape[:-2], k, shape[-1])
        np.testing.assert_allclose(value(left) @ value(right), wanted, **tolerance(dtype))


@dtypes
def test_tolerance_of_low_rank(dtype):
    a = np.stack([with_values([4, 2, 1], dtype), with_values([400, 2, 1], dtype)])
    wanted = np.stack([truncated(a[0], 2), truncated(a[1], 1)])
    assert_same(la.low_rank(a, tol=0.3), wanted, rtol=2e-3, atol=1e-3)
    assert_same(la.low_rank(np.zeros((2, 3), dtype), tol=0.1), np.zeros((2, 3), dtype))
    assert_same(la.low_rank(a, tol=0), a, rtol=1e-4, atol=1e-3)


@dtypes
@pytest.mark.parametrize(("m", "n"), [(20, 12), (12, 20), (12, 12)])
def test_randomised_decomposition_values(m, n, dtype):
    a = with_values(10.0 ** -np.arange(12), dtype, m, n).astype(dtype)
    u, s, vh = la.rsvd(a, 3, oversampling=4)
    assert (u.shape, s.shape, vh.shape) == ((m, 3), (3,), (3, n))
    np.testing.assert_allclose(value(s), [1, 0.1, 0.01], rtol=1e-4)
    np.testing.assert_allclose((value(u) * value(s)) @ value(vh), truncated(a, 3), atol=1e-6)
    again, other = la.rsvd(a, 3, oversampling=4), la.rsvd(a, 3, oversampling=4, seed=7)
    np.testing.assert_array_equal(value(u), value(again.U))
    assert (value(u) != value(other.U)).any()
    stack = la.rsvd(np.stack([a, a * 2]), 3)
    np.testing.assert_allclose(value(stack.S), np.outer([1, 2], value(s)), rtol=1e-4)


# ---- derivatives in both modes to second order -----------------------------------------------------------------------

GENERAL = {
    "polar": la.polar,
    "left polar": lambda a: la.polar(a, "left"),
    "low_rank": lambda a: la.low_rank(a, 1),
    "tol": lambda a: la.low_rank(a, tol=0.0),
}
SQUARE = {
    "exp": lambda a: la.funm_hermitian(hermitian(a), tfr.exp),
    "complex": lambda a: la.funm_hermitian(hermitian(a), lambda w: tfr.exp(1j * w)),
    "square root": lambda a: la.funm_hermitian(definite(a), tfr.sqrt),
    "own derivative": lambda a: la.funm_hermitian(hermitian(a), tfr.sin, tfr.cos),
    "sqrtm": lambda a: la.sqrtm(definite(a) + a * 0.3),
}


@dtypes
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("name", GENERAL)
def test_derivatives_of_any_matrices(name, shape, dtype):
    check(GENERAL[name], random_layout(draw(shape, dtype, 1), np.random.default_rng(1)))


@dtypes
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2), (1, 1)], ids=str)
@pytest.mark.parametrize("name", SQUARE)
def test_derivatives_of_square_matrices(name, shape, dtype):
    check(SQUARE[name], random_layout(draw(shape, dtype, 1), np.random.default_rng(1)))


@dtypes
def test_derivatives_of_low_rank_factors(dtype):
    def f(a):
        left, right = la.low_rank(a, 2, factors=True)
        return left @ tfr.sin(right)

    check(lambda a: (lambda x: x.left @ x.right)(la.low_rank(a, 2, factors=True)), draw((3, 4), dtype))
    x = tfr.variable(draw((3, 4), dtype))
    assert np.isfinite(value(tfr.sum(tfr.real(f(x))).backward()[x])).all()


@dtypes
@pytest.mark.parametrize(("m", "n"), [(3, 3), (4, 3), (3, 5)])
def test_derivatives_of_a_stack_of_different_ranks(m, n, dtype):
    a = np.stack([with_values(s, dtype, m, n).astype(dtype) for s in ([4, 2, 1], [8, 2, 2], [3, 3, 2.9], [4, 1, 0])])
    assert [np.linalg.matrix_rank(x, 0.1) for x in value(la.low_rank(a, tol=0.3))] == [2, 1, 3, 1]
    check(lambda a: la.low_rank(a, tol=0.3), a)


@dtypes
def test_derivatives_of_sylvester(dtype):
    a, b, q = (draw(s, dtype, k) for k, s in enumerate([(3, 3), (2, 2), (2, 3, 2)]))
    check(lambda a, b, q: la.solve_sylvester(a + 5 * np.eye(3), b + 5 * np.eye(2), q), a, b, q)


@dtypes
@pytest.mark.parametrize("shape", [(4, 3), (3, 4)], ids=str)
def test_derivatives_of_the_randomised_decomposition(shape, dtype):
    def f(a):
        u, s, vh = la.rsvd(a, 2, oversampling=0)
        return [s, tfr.abs(u), tfr.abs(vh)]

    check(f, with_values([3.0, 2.0, 0.5], dtype, *shape).astype(dtype), order=1)


@doubles
def test_second_derivatives_of_the_randomised_decomposition(dtype):
    check(lambda a: la.rsvd(a, 2).S, with_values([3.0, 2.0, 0.5], dtype))


@doubles
def test_third_derivatives_of_what_solves_sylvester_equations(dtype):
    check(lambda a: la.polar(a).U, draw((2, 2), dtype, 1), order=3)
    check(lambda a: la.sqrtm(definite(a)), draw((2, 2), dtype, 1), order=3)


def test_tensors_that_a_function_refers_to():
    """What they contribute is right or refused, never left out."""
    a, beta = tfr.variable(with_eigenvalues([1.0, 1.0, 2.0], "f8")), tfr.variable(0.5)
    rt, d = a.runtime, herm(draw((3, 3), "f8"))
    y = la.funm_hermitian(a, lambda w: tfr.exp(beta * w))
    np.testing.assert_allclose(value(y), scipy.linalg.expm(0.5 * value(a)), rtol=1e-13)
    tangent = rt.jvp(y, a, d)
    np.testing.assert_allclose(value(tangent), scipy.linalg.expm_frechet(0.5 * value(a), 0.5 * d)[1], rtol=1e-12)

    def changed(t):
        return scipy.linalg.expm_frechet((0.5 + t) * value(a), (0.5 + t) * d)[1]

    wanted = (8 * (changed(1e-3) - changed(-1e-3)) - (changed(2e-3) - changed(-2e-3))) / 12e-3
    np.testing.assert_allclose(value(rt.jvp(tangent, beta, 1.0)), wanted, rtol=1e-9, atol=1e-9)
    for transform, ask in (("vjp", lambda: rt.grad(tfr.sum(y), beta)), ("jvp", lambda: rt.jvp(y, beta, 1.0))):
        with pytest.raises(errors.UnsupportedAdRuleError, match="f refers to a tensor") as caught:
            ask()
        assert (caught.value.op, caught.value.transform) == ("funm_hermitian", transform)
    assert np.isfinite(value(rt.grad(tfr.sum(y), a))).all()


# ---- where values coincide -------------------------------------------------------------------------------------------

def real_loss(x):
    """A real function of a matrix: weights times elements, and squares of these."""
    y = tfr.real(x * WEIGHTS[:x.shape[-2], :x.shape[-1]])
    return tfr.sum(y + y * y)


def numeric(f):
    """First and second derivative at 0 by central differences, extrapolated."""
    h = [4e-2 / 2**k for k in range(5)]
    zero, sides = f(0), [(f(t), f(-t)) for t in h]
    found = []
    for d in ([(p - m) / (2 * t) for t, (p, m) in zip(h, sides)],
              [(p - 2 * zero + m) / t**2 for t, (p, m) in zip(h, sides)]):
        for k in range(1, len(h)):
            d = [(4**k * b - a) / (4**k - 1) for a, b in pairwise(d)]
        found.append(d[0])
    return found


def numpy_loss(x):
    y = np.real(x * WEIGHTS[:x.shape[-2], :x.shape[-1]])
    return np.sum(y + y * y)


def agree(f, oracle, a, d):
    """Both modes and all four nestings along d, against differences of another implementation."""
    one, two = numeric(lambda t: numpy_loss(oracle(a + t * d)))
    x = tfr.variable(a)
    rt, loss = x.runtime, real_loss(f(x))
    gradient, tangent = rt.grad(loss, x), rt.jvp(loss, x, d)
    size = max(np.linalg.norm(value(gradient)) * np.linalg.norm(d), 1)

    def along(g):
        return np.sum(np.conj(value(g)) * d).real

    assert along(gradient) == pytest.approx(one, abs=1e-9 * size)
    assert tangent.item() == pytest.approx(one, abs=1e-9 * size)
    nested = [along(rt.jvp(gradient, x, d)), along(rt.vjp(gradient, x, d)), along(rt.grad(tangent, x)),
              rt.jvp(tangent, x, d).item()]
    np.testing.assert_allclose(nested, two, rtol=0, atol=1e-6 * max(size, abs(two)))
    np.testing.assert_allclose(nested, nested[0], rtol=0, atol=1e-11 * max(size, abs(two)))


DEGENERATE = {
    "identity": lambda dtype: np.eye(3, dtype=dtype),
    "three times unitary": lambda dtype: 3 * unitary(3, dtype),
    "repeated": lambda dtype: with_values([2, 2, 1, 1], dtype),
    "nearly repeated": lambda dtype: with_values([2, 2 * (1 + 1e-9), 1, 1 + 1e-6], dtype),
    "tall": lambda dtype: 2 * unitary(4, dtype)[:, :2],
    "wide": lambda dtype: with_values([2, 2, 1], dtype, 3, 5),
}


@doubles
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("point", DEGENERATE)
def test_polar_where_singular_values_coincide(point, side, dtype):
    a = DEGENERATE[point](dtype)
    d = draw(a.shape, dtype, 7) / 4
    for k in range(2):
        agree(lambda x: la.polar(x, side)[k], lambda x: scipy.linalg.polar(x, side)[k], a, d)  # noqa: B023


@doubles
def test_polar_at_the_identity_in_closed_form(dtype):
    x, e = tfr.variable(np.eye(4, dtype=dtype)), draw((4, 4), dtype)
    u, p = la.polar(x)
    np.testing.assert_allclose(value(x.runtime.jvp(u, x, e)), (e - adjoint(e)) / 2, atol=1e-14)
    np.testing.assert_allclose(value(x.runtime.jvp(p, x, e)), herm(e), atol=1e-14)
    np.testing.assert_allclose(value(x.runtime.vjp(u, x, e)), (e - adjoint(e)) / 2, atol=1e-14)


LOW = {
    "kept ones equal": (lambda dtype: with_values([2, 2, 1], dtype), 2),
    "dropped ones equal": (lambda dtype: with_values([2, 1, 1], dtype), 1),
    "both": (lambda dtype: with_values([2, 2, 1, 1], dtype), 2),
    "tall": (lambda dtype: with_values([2, 2, 1], dtype, 5, 3), 2),
    "wide": (lambda dtype: with_values([3, 1, 1], dtype, 3, 5), 1),
    "rank deficient": (lambda dtype: with_values([2, 2, 0, 0], dtype), 2),
    "multiple of the identity": (lambda dtype: 3 * np.eye(3, dtype=dtype), 3),
    "nearly": (lambda dtype: with_values([2 + 1e-10, 2, 1 + 1e-7, 1], dtype), 2),
}


@doubles
@pytest.mark.parametrize("name", LOW)
def test_low_rank_where_singular_values_coincide(name, dtype):
    make, k = LOW[name]
    a = make(dtype)
    d = draw(a.shape, dtype, 7) / 8
    agree(lambda x: la.low_rank(x, k), lambda x: truncated(x, k), a, d)
    agree(lambda x: (lambda y: y.left @ y.right)(la.low_rank(x, k, factors=True)), lambda x: truncated(x, k), a, d)


POINTS = {
    "identity": lambda dtype: np.eye(3, dtype=dtype),
    "zero": lambda dtype: np.zeros((3, 3), dtype),
    "repeated": lambda dtype: with_eigenvalues([1, 1, 2, 2], dtype),
    "nearly": lambda dtype: with_eigenvalues([1, 1 + 1e-10, 1 + 1e-5, 2], dtype),
}


@doubles
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", [*FUNCTIONS, "square root"])
def test_functions_where_eigenvalues_coincide(name, point, dtype):
    f, oracle = FUNCTIONS.get(name, (tfr.sqrt, scipy.linalg.sqrtm))
    a = POINTS[point](dtype)
    if name == "square root":
        a = a + np.eye(len(a))
    d = herm(draw(a.shape, dtype, 7)) / 8
    agree(lambda x: la.funm_hermitian(x, f), oracle, a, d)


ROOTS = {
    "identity": lambda dtype: np.eye(3, dtype=dtype),
    "multiple": lambda dtype: 4 * np.eye(3, dtype=dtype),
    "repeated": lambda dtype: with_eigenvalues([1, 1, 2], dtype),
    "defective": lambda dtype: np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]], dtype),
}


@doubles
@pytest.mark.parametrize("point", ROOTS)
def test_square_root_where_eigenvalues_coincide(point, dtype):
    a = ROOTS[point](dtype)
    agree(la.sqrtm, scipy.linalg.sqrtm, a, draw(a.shape, dtype, 7) / 20)


def test_square_root_of_complex_matrices_with_negative_eigenvalues():
    a = np.array([[-4.0, 1.0], [0.0, -1.0]]) + 0.5j
    check(la.sqrtm, a)
    assert_same(la.sqrtm(-4 * np.eye(2, dtype="c16")), 2j * np.eye(2), rtol=1e-14)


# ---- between coincidence and separation ------------------------------------------------------------------------------

GAPS = [0.0, 1e-15, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 3.0, 30.0]
DIVIDED = {
    "square root": (tfr.sqrt, lambda x, y: 1 / (np.sqrt(x) + np.sqrt(y)),
                    lambda x, y, z: -1 / ((np.sqrt(x) + np.sqrt(y)) * (np.sqrt(y) + np.sqrt(z)) * (np.sqrt(x) + np.sqrt(z)))),
    "inverse": (lambda w: 1 / w, lambda x, y: -1 / (x * y), lambda x, y, z: 1 / (x * y * z)),
    "cube": (lambda w: w**3, lambda x, y: x * x + x * y + y * y, lambda x, y, z: x + y + z),
    "cube with its derivative": (lambda w: w * w * w,
                                 lambda x, y: x * x + x * y + y * y, lambda x, y, z: x + y + z),
}


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e9])
@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("name", DIVIDED)
def test_divided_differences_for_all_gaps(name, gap, scale):
    from tenferro.linalg.divided import Scalar, first, second

    f, one, two = DIVIDED[name]
    df = (lambda w: 3 * w * w) if "with" in name else None
    w = np.sort(np.array([1, 1 + gap, (1 + gap) * (1 + 1e-5), 2 + 3 * gap, 100])) * scale
    scalar = Scalar(f, df, tfr.default_runtime())
    np.testing.assert_allclose(value(first(scalar, w)), one(w[:, None], w), rtol=1e-14)
    np.testing.assert_allclose(second(scalar, w), two(w[:, None, None], w[:, None], w), rtol=2e-14)


@pytest.mark.parametrize("gap", GAPS)
def test_divided_differences_of_the_exponential(gap):
    from tenferro.linalg.divided import Scalar, first, second

    w = np.sort(np.array([-1, -1 + gap, -1 + 2 * gap]))
    half = (w[:, None] - w) / 2
    ratio = np.where(half == 0, 1, np.sinh(half) / np.where(half == 0, 1, half))
    scalar = Scalar(tfr.exp, None, tfr.default_runtime())
    np.testing.assert_allclose(value(first(scalar, w)), np.exp((w[:, None] + w) / 2) * ratio, rtol=2e-14)
    block = np.diag(w) + np.diag([1.0, 1.0], 1)
    np.testing.assert_allclose(second(scalar, w)[0, 1, 2], scipy.linalg.expm(block)[0, 2], rtol=1e-12)


@doubles
@pytest.mark.parametrize("gap", GAPS[:-2])
def test_square_root_and_polar_factor_for_all_gaps(gap, dtype):
    """First and second derivatives against equations that SciPy solves."""
    a = with_eigenvalues([1, 1 + gap, 2 + gap], dtype)
    e, r = herm(draw((3, 3), dtype, 3)), with_eigenvalues(np.sqrt([1, 1 + gap, 2 + gap]), dtype)
    one = scipy.linalg.solve_sylvester(r, r, e)
    two = scipy.linalg.solve_sylvester(r, r, -2 * one @ one)
    for f in (lambda x: la.funm_hermitian(x, tfr.sqrt), la.sqrtm):
        x = tfr.variable(a)
        t = x.runtime.jvp(f(x), x, e)
        np.testing.assert_allclose(value(t), one, atol=1e-13)
        np.testing.assert_allclose(value(x.runtime.jvp(t, x, e)), two, atol=1e-12)
    x, u, k = tfr.variable(unitary(3, dtype, 9) @ a), unitary(3, dtype, 9), draw((3, 3), dtype, 4)
    inner = adjoint(u) @ k
    wanted = u @ scipy.linalg.solve_sylvester(a, a, inner - adjoint(inner))
    np.testing.assert_allclose(value(x.runtime.jvp(la.polar(x).U, x, k)), wanted, atol=1e-13)


# ---- scales ----------------------------------------------------------------------------------------------------------

SCALED = {
    "polar": (lambda x: la.polar(x).U, 0),
    "positive factor": (lambda x: la.polar(x).P, 1),
    "low_rank": (lambda x: la.low_rank(x, 2), 1),
    "sqrtm": (la.sqrtm, 0.5),
    "funm": (lambda x: la.funm_hermitian(x, tfr.sqrt), 0.5),
    "rsvd": (lambda x: tfr.sum(la.rsvd(x, 2).S), 1),
}


@dtypes
@pytest.mark.parametrize("scale", [1e-8, 1e3, 1e9])
@pytest.mark.parametrize("name", SCALED)
def test_derivatives_scale(name, scale, dtype):
    """All are homogeneous: values and derivatives follow powers of the scale."""
    f, power = SCALED[name]
    a, d = with_eigenvalues([4.0, 4.0, 2.0, 1.0], dtype).astype(dtype), herm(draw((4, 4), dtype, 7))
    if name not in ("sqrtm", "funm"):
        turn = unitary(4, dtype, 5).astype(dtype)
        a, d = turn @ a, draw((4, 4), dtype, 7)
    rt = tfr.EagerRuntime()

    def derivatives(s):
        x = rt.variable_from(np.asarray(a * s, dtype))
        y = f(x)
        g = rt.vjp(y, x, np.ones(y.shape, y.dtype))
        t = rt.jvp(y, x, np.asarray(d * s, dtype))
        second = rt.jvp(t, x, np.asarray(d * s, dtype))
        return [value(v).astype(np.result_type(dtype, "f8")) for v in (y, g, t, second)]

    loose = 2e-3 if np.finfo(dtype).bits == 32 else 1e-11
    for k, (found, wanted) in enumerate(zip(derivatives(scale), derivatives(1.0))):
        wanted = wanted * scale ** (power - (k == 1))
        if name == "rsvd" and k == 3:
            assert np.isfinite(found).all()
            continue
        np.testing.assert_allclose(found, wanted, rtol=loose, atol=loose * np.abs(wanted).max())


# ---- finite where there is no derivative -----------------------------------------------------------------------------

DEFICIENT = {
    "zero": lambda dtype: np.zeros((3, 3), dtype),
    "rank one": lambda dtype: np.outer([1, 2, 3], [1, 1, 2]).astype(dtype),
    "tall": lambda dtype: np.outer([1, 2, 3, 4], [1, 2]).astype(dtype),
    "wide": lambda dtype: np.outer([1, 2], [1, 2, 3]).astype(dtype),
    "equal": lambda dtype: np.eye(3, dtype=dtype),
}
FINITE = {
    "polar": lambda a: real_loss(la.polar(a).U),
    "positive factor": lambda a: real_loss(la.polar(a, "left").P),
    "low_rank": lambda a: real_loss(la.low_rank(a, 1)),
    "low_rank of 2": lambda a: real_loss(la.low_rank(a, 2)),
    "tol": lambda a: real_loss(la.low_rank(a, tol=0.5)),
    "rsvd": lambda a: tfr.sum(la.rsvd(a, 1).S),
}


@dtypes
@pytest.mark.parametrize("point", DEFICIENT)
@pytest.mark.parametrize("name", FINITE)
def test_finite(name, point, dtype):
    x = tfr.variable(DEFICIENT[point](dtype))
    rt, d = x.runtime, draw(x.shape, dtype)
    loss = FINITE[name](x)
    gradient = rt.grad(loss, x)
    for found in (gradient, rt.jvp(loss, x, d)):
        assert np.isfinite(value(found)).all()
    if np.finfo(dtype).bits == 64:
        assert np.isfinite(value(rt.jvp(gradient, x, d))).all()


@doubles
def test_randomised_decomposition_of_deficient_matrices_is_exact(dtype):
    a, d = with_values([3.0, 2.0], dtype, 6, 5), draw((6, 5), dtype, 1)
    x = tfr.variable(a)
    s = la.rsvd(x, 2, oversampling=3).S
    u, _, vh = np.linalg.svd(a)
    wanted = np.diagonal(adjoint(u)[:2] @ d @ adjoint(vh)[:, :2]).real
    np.testing.assert_allclose(value(x.runtime.jvp(s, x, d)), wanted, atol=1e-12)
    agree(lambda x: (lambda r: r.U @ tfr.conj(tfr.swapaxes(r.U, -1, -2)))(la.rsvd(x, 2, oversampling=0)),
          lambda x: (lambda u: u @ adjoint(u))(np.linalg.svd(x)[0][:, :2]), a, a @ draw((5, 5), dtype, 3) / 20)


@doubles
@pytest.mark.parametrize(("power_iterations", "accuracy"), [(1, 1e-5), (2, 1e-9)])
def test_randomised_decomposition_tends_to_the_truncated_one(power_iterations, accuracy, dtype):
    a, d = with_values(5.0 ** -np.arange(12), dtype), draw((12, 12), dtype, 1) / 100
    x = tfr.variable(a)
    u, s, vh = la.rsvd(x, 3, oversampling=4, power_iterations=power_iterations)
    found, wanted = (value(x.runtime.jvp(y, x, d)) for y in ((u * s) @ vh, la.low_rank(x, 3)))
    assert np.abs(found - wanted).max() < accuracy * np.abs(wanted).max()


# ---- bad input -------------------------------------------------------------------------------------------------------

CALLS = {
    "polar": la.polar,
    "funm_hermitian": lambda a: la.funm_hermitian(a, tfr.exp),
    "sqrtm": la.sqrtm,
    "solve_sylvester": lambda a: la.solve_sylvester(a, np.eye(2), np.eye(2)),
    "low_rank": lambda a: la.low_rank(a, 1),
    "rsvd": lambda a: la.rsvd(a, 1),
}


def usable():
    assert_same(la.polar(2 * np.eye(2)).P, 2 * np.eye(2), rtol=1e-14)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite(name, bad):
    a = np.array([[1.0, bad], [bad, 1.0]])
    for x in (a, tfr.variable(a)):
        with pytest.raises(errors.ValidationError, match=f"{name}: a has elements that are infinite") as caught:
            CALLS[name](x)
        assert (caught.value.op, caught.value.argument) == (name, "a")
    usable()


@pytest.mark.parametrize("name", ["funm_hermitian", "sqrtm", "solve_sylvester"])
def test_not_square(name):
    with pytest.raises(errors.ShapeMismatchError, match=rf"{name}: a has shape \(2, 3\)") as caught:
        CALLS[name](np.ones((2, 3)))
    assert (caught.value.op, caught.value.argument) == (name, "a")
    usable()


@pytest.mark.parametrize(("call", "op", "argument"), [
    (lambda: la.polar(np.eye(2), "up"), "polar", "side"),
    (lambda: la.polar(np.ones(2)), "polar", "a"),
    (lambda: la.funm_hermitian(np.array([[1.0, 2.0], [0.0, 1.0]]), tfr.exp), "funm_hermitian", "a"),
    (lambda: la.funm_hermitian(np.eye(2), None), "funm_hermitian", "f"),
    (lambda: la.funm_hermitian(np.eye(2), tfr.exp, 3), "funm_hermitian", "df"),
    (lambda: la.funm_hermitian(np.eye(2), lambda w: w[..., :1]), "funm_hermitian", "f"),
    (lambda: la.solve_sylvester(np.eye(2), np.eye(3), np.eye(2)), "solve_sylvester", "q"),
    (lambda: la.solve_sylvester(np.eye(2), np.ones((2, 3)), np.eye(2)), "solve_sylvester", "b"),
    (lambda: la.solve_sylvester(np.ones((2, 1, 1)), np.ones((3, 1, 1)), np.eye(1)), "solve_sylvester", "q"),
    (lambda: la.low_rank(np.eye(2)), "low_rank", "k"),
    (lambda: la.low_rank(np.eye(2), 1, 0.1), "low_rank", "tol"),
    (lambda: la.low_rank(np.eye(2), 3), "low_rank", "k"),
    (lambda: la.low_rank(np.eye(2), -1), "low_rank", "k"),
    (lambda: la.low_rank(np.eye(2), 1.5), "low_rank", "k"),
    (lambda: la.low_rank(np.eye(2), tol=-0.1), "low_rank", "tol"),
    (lambda: la.low_rank(np.eye(2), tol=np.nan), "low_rank", "tol"),
    (lambda: la.low_rank(np.stack([np.eye(2), np.diag([1.0, 0.0])]), tol=0.1, factors=True), "low_rank", "tol"),
    (lambda: la.rsvd(np.eye(2), 3), "rsvd", "k"),
    (lambda: la.rsvd(np.eye(2), 0), "rsvd", "k"),
    (lambda: la.rsvd(np.eye(2), 1, oversampling=-1), "rsvd", "oversampling"),
    (lambda: la.rsvd(np.eye(2), 1, power_iterations=-1), "rsvd", "power_iterations"),
])
def test_arguments_that_do_not_fit(call, op, argument):
    with pytest.raises(errors.ValidationError) as caught:
        call()
    assert (caught.value.op, caught.value.argument) == (op, argument)
    usable()


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_square_root_of_real_matrices_with_negative_eigenvalues_names_the_remedy(kind):
    a = np.diag([1.0, -1.0]).astype(kind)
    wanted = np.result_type(kind, "c8")
    with pytest.raises(errors.NumericalError, match=f"sqrtm: .* cast it to {wanted}") as caught:
        la.sqrtm(a)
    assert caught.value.op == "sqrtm"
    assert_same(la.sqrtm(a.astype(wanted)), np.diag([1, 1j]).astype(wanted), rtol=1e-6)


def derivative(f, a):
    x = tfr.variable(a)
    return x.runtime.jvp(f(x), x, np.eye(2))


@pytest.mark.parametrize(("call", "op"), [
    (lambda: la.sqrtm(np.array([[0.0, 1.0], [0.0, 0.0]])), "sqrtm"),
    (lambda: derivative(la.sqrtm, np.zeros((2, 2))), "sqrtm"),
    (lambda: la.solve_sylvester(np.eye(2), -np.eye(2), np.eye(2)), "solve_sylvester"),
    (lambda: la.funm_hermitian(np.diag([1.0, -1.0]), tfr.sqrt), "funm_hermitian"),
    (lambda: la.funm_hermitian(np.diag([1.0, 0.0]), tfr.log), "funm_hermitian"),
    (lambda: derivative(lambda x: la.funm_hermitian(x, tfr.sqrt), np.diag([1.0, 0.0])), "funm_hermitian"),
    (lambda: la.low_rank(np.diag([1.0, 0.0]), 2, factors=True), "low_rank"),
])
def test_without_result(call, op):
    with pytest.raises(errors.LinAlgError) as caught:
        call()
    assert caught.value.op == op
    usable()


@pytest.mark.parametrize(("f", "op"), [(lambda x: la.funm_hermitian(x, tfr.exp), "funm_hermitian"),
                                       (lambda x: la.low_rank(x, 1), "low_rank")])
def test_third_derivatives_say_why_not(f, op):
    x = tfr.variable(np.diag([2.0, 1.0]))
    rt, d = x.runtime, np.ones((2, 2))
    second = rt.jvp(rt.jvp(f(x), x, d), x, d)
    with pytest.raises(errors.UnsupportedAdRuleError, match="beyond the second") as caught:
        rt.jvp(second, x, d)
    assert (caught.value.op, caught.value.transform) == (op, "jvp")
    with pytest.raises(errors.UnsupportedAdRuleError, match="beyond the second"):
        rt.grad(tfr.sum(second), x)


@pytest.mark.parametrize("name", ["polar", "low_rank"])
def test_dimensions_beyond_32_bits(name):
    f = {"polar": la.polar, "low_rank": lambda a: la.low_rank(a, 0)}[name]
    with pytest.raises(errors.IntegerOverflowError, match="the matrix dimension 2147483648") as caught:
        f(np.empty((2**31, 0)))
    assert (caught.value.op, caught.value.actual) == (name, 2**31)


@pytest.mark.parametrize("f", [lambda a: la.polar(a).U, lambda a: la.funm_hermitian(a, tfr.exp), la.sqrtm,
                               lambda a: la.low_rank(a, 0), lambda a: la.solve_sylvester(a, a, a)])
def test_empty(f):
    x = tfr.variable(np.zeros((2, 0, 0)))
    tfr.sum(f(x)).backward()
    assert x.grad is None or x.grad.shape == (2, 0, 0)


def test_runtime_of_the_operands():
    rt = tfr.EagerRuntime()
    a = rt.variable_from(np.eye(2) * 2)
    for y in (la.polar(a).U, la.funm_hermitian(a, tfr.exp), la.sqrtm(a), la.low_rank(a, 1), la.rsvd(a, 1).S,
              la.solve_sylvester(np.eye(2), np.eye(2), a), la.solve_sylvester(np.eye(2), a, np.eye(2))):
        assert y.runtime is rt


def test_results_are_constants_of_constants():
    a = tfr.constant(np.eye(2))
    for y in (la.polar(a).U, la.funm_hermitian(a, tfr.exp), la.sqrtm(a), la.low_rank(a, 1), la.rsvd(a, 1).S):
        assert not y.tracks_grad
