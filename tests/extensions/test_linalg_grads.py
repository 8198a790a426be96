"""Derivatives of linear algebra in both modes to second order, at all scales, and where values coincide."""

import numpy as np
import pytest
from support import DIFF_DTYPES, random_layout, sample, value

import tenferro as tfr
from tenferro import errors
from tenferro.testing import check_grads

la = tfr.linalg

dtypes = pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)


def adjoint(x):
    return tfr.conj(tfr.swapaxes(x, -1, -2))


def matrices(shape, dtype, seed=0):
    """Well-conditioned matrices with separate singular values, in a random layout."""
    rng = np.random.default_rng(seed)
    u, _, vh = np.linalg.svd(sample(rng, shape, np.result_type(dtype, "f8")), full_matrices=False)
    s = np.linspace(1.0, 2.0, min(shape[-2:]))[::-1]
    return random_layout(((u * s) @ vh).astype(dtype), rng)


def vectors(shape, dtype, seed=9):
    return sample(np.random.default_rng(seed), shape, dtype)


def check(f, *args):
    loose = {"atol": 5e-3, "rtol": 5e-3} if np.finfo(args[0].dtype).bits == 32 else {}
    check_grads(f, args, order=2, **loose)


def definite(a):
    return a @ adjoint(a) + np.eye(a.shape[-2], dtype=a.dtype)


def dominant(a):
    return a + 3 * np.eye(a.shape[-1], dtype=a.dtype)


def hermitian(a):
    return a + adjoint(a) + np.diag(np.arange(1.0, a.shape[-1] + 1) * 3).astype(a.dtype)


def spread(a):
    """Matrices with separate eigenvalues."""
    return a * 0.3 + np.diag(np.arange(1.0, a.shape[-1] + 1)).astype(a.dtype)


SQUARE = {
    "cholesky": lambda a: la.cholesky(definite(a)),
    "upper cholesky": lambda a: la.cholesky(definite(a), upper=True),
    "inv": la.inv,
    "det": la.det,
    "slogdet": la.slogdet,
    "eigvalsh": lambda a: la.eigvalsh(hermitian(a)),
    "eigenvalues of eigh": lambda a: la.eigh(hermitian(a))[0],
    "matrix_power": lambda a: [la.matrix_power(a, 3), la.matrix_power(a, -2), la.matrix_power(a, 0) * a],
    "eigvals": lambda a: la.eigvals(spread(a)),
    "expm": lambda a: la.expm(a * 0.5),
}


@dtypes
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2), (1, 1)], ids=str)
@pytest.mark.parametrize("name", SQUARE)
def test_square(name, shape, dtype):
    check(SQUARE[name], matrices(shape, dtype))


def eigh_function(a):
    w, v = la.eigh(hermitian(a))
    return [w, (v * tfr.sin(w)[..., None, :]) @ adjoint(v), tfr.abs(v)]


def vectors_of_eigh(a):
    v = la.eigh(hermitian(a)).eigenvectors
    return v[..., :, None, :] * tfr.conj(v)[..., None, :, :]


def eig_function(a):
    w, v = la.eig(spread(a))
    return [(v * tfr.sin(w)[..., None, :]) @ la.inv(v), tfr.abs(v)]


@dtypes
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2)], ids=str)
@pytest.mark.parametrize("f", [eigh_function, vectors_of_eigh, eig_function])
def test_what_does_not_depend_on_phases_of_eigenvectors(f, shape, dtype):
    check(f, matrices(shape, dtype))


def svd_function(a):
    u, s, vh = la.svd(a, full_matrices=False)
    return [s, (u * tfr.sin(s)[..., None, :]) @ vh, tfr.abs(u), tfr.abs(vh)]


def left(a):
    u = la.svd(a, full_matrices=False).U
    return u[..., :, None, :] * tfr.conj(u)[..., None, :, :]


def right(a):
    vh = la.svd(a, full_matrices=False).Vh
    return vh[..., :, None, :] * tfr.conj(vh)[..., :, :, None]


RECTANGULAR = {
    "svd": svd_function,
    "left vectors": left,
    "right vectors": right,
    "svdvals": la.svdvals,
    "qr": la.qr,
    "R alone": lambda a: la.qr(a, mode="r"),
    "pinv": la.pinv,
    "norms": lambda a: [*[la.matrix_norm(a, ord=k) for k in ("fro", 1, 2, "nuc", -2)],
                        la.vector_norm(a, axis=-1), la.vector_norm(a, ord=3, axis=0),
                        la.vector_norm(a, ord=np.inf, axis=-1), la.norm(a)],
}


@dtypes
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2), (2, 2, 3)], ids=str)
@pytest.mark.parametrize("name", RECTANGULAR)
def test_rectangular(name, shape, dtype):
    check(RECTANGULAR[name], matrices(shape, dtype))


@dtypes
@pytest.mark.parametrize(("a", "b"), [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3, 1)), ((3, 3), (2, 3, 2)),
                                      ((2, 1, 2, 2), (3, 2, 1))], ids=str)
def test_solve(a, b, dtype):
    check(la.solve, matrices(a, dtype), vectors(b, dtype))


@dtypes
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("trans", ["N", "T", "C"])
def test_triangular_solve(dtype, lower, unit, trans):
    def f(a, b):
        return la.triangular_solve(dominant(a), b, lower=lower, trans=trans, unit_diagonal=unit)

    check(f, matrices((2, 3, 3), dtype) * 0.5, vectors((3, 2), dtype))


@dtypes
@pytest.mark.parametrize(("a", "b"), [((4, 2), (4,)), ((4, 2), (4, 2)), ((2, 3), (2, 2)), ((2, 4, 2), (2, 4, 1))],
                         ids=str)
def test_least_squares(a, b, dtype):
    check(lambda a, b: la.lstsq(a, b)[:2], matrices(a, dtype), vectors(b, dtype))


def test_real_and_complex_operands_together():
    check(la.solve, matrices((3, 3), "f8"), vectors((3, 2), "c16"))
    check(la.solve, matrices((3, 3), "c16"), vectors((3, 2), "f8"))


def test_gradients_of_hermitian_functions_are_hermitian():
    a = value(definite(tfr.constant(matrices((3, 3), "c16"))))
    for f in (la.cholesky, la.eigvalsh):
        x = tfr.variable(a)
        tfr.sum(tfr.abs(f(x)) ** 2).backward()
        g = value(x.grad)
        np.testing.assert_allclose(g, g.conj().T, rtol=1e-13, atol=1e-13)


# ---- scales ----------------------------------------------------------------------------------------------------------

WEIGHTS = np.random.default_rng(4).standard_normal((6, 6))


def weighted(x):
    return tfr.sum(tfr.real(x * WEIGHTS[:x.shape[-2], :x.shape[-1]]))


def svd_loss(a, scale):
    u, s, vh = la.svd(a, full_matrices=False)
    powers = (u * (s / scale)[..., None, :] ** 2) @ vh
    return weighted(powers) + tfr.sum(tfr.abs(u[:, 0]) ** 4) + tfr.sum(tfr.abs(vh[0]) ** 4)


def eigh_loss(a, scale):
    w, v = la.eigh(a + adjoint(a))
    return weighted((v * (w / scale)[..., None, :] ** 2) @ adjoint(v)) + tfr.sum(tfr.abs(v[:, 0]) ** 4)


def eig_loss(a, scale):
    w, v = la.eig(a)
    return tfr.sum(tfr.real(w / scale) ** 2) + tfr.sum(tfr.abs(v) ** 4)


def qr_loss(a, scale):
    q, r = la.qr(a)
    return weighted(q) + weighted((r / scale) ** 2)


def cholesky_loss(a, scale):
    h = (a / scale) @ adjoint(a / scale) * scale + np.eye(a.shape[0]) * scale
    return weighted((la.cholesky(h) / np.sqrt(scale)) ** 2)


LOSSES = {
    "svd": svd_loss,
    "eigh": eigh_loss,
    "eig": eig_loss,
    "qr": qr_loss,
    "cholesky": cholesky_loss,
    "pinv": lambda a, scale: weighted(la.pinv(a) * scale),
    "inv": lambda a, scale: weighted((la.inv(a) * scale) ** 2),
    "slogdet": lambda a, scale: la.slogdet(a)[1],
    "det": lambda a, scale: tfr.real(la.det(a / scale)),
    "solve": lambda a, scale: weighted(la.solve(a, WEIGHTS[:4, :2]) * scale),
    "norms": lambda a, scale: (la.norm(a) + la.norm(a, "nuc") + la.norm(a, 2)) / scale,
}
SHAPES = {name: [(4, 4), (5, 3), (3, 5)] if name in ("svd", "qr", "pinv", "norms") else [(4, 4)] for name in LOSSES}


def numeric(f, h=1e-3):
    """Derivative at 0 by central differences, extrapolated twice."""
    d = [(f(t) - f(-t)) / (2 * t) for t in (h, h / 2, h / 4)]
    return (64 * d[2] - 20 * d[1] + d[0]) / 45


@pytest.mark.parametrize("kind", ["f8", "c16"])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name in LOSSES for shape in SHAPES[name]], ids=str)
def test_directional_derivatives_at_all_scales(name, shape, scale, kind):
    f = LOSSES[name]
    a, d = vectors(shape, kind, 0), vectors(shape, kind, 1)
    x = tfr.variable(a * scale)
    loss, rt = f(x, scale), x.runtime
    expected = numeric(lambda t: f(tfr.constant((a + t * d) * scale), scale).item())
    assert np.sum(np.conj(value(rt.grad(loss, x))) * d * scale).real == pytest.approx(expected, rel=1e-7)
    assert rt.jvp(loss, x, d * scale).item() == pytest.approx(expected, rel=1e-7)


# ---- where values coincide -------------------------------------------------------------------------------------------

def unitary(dtype):
    return np.linalg.qr(sample(np.random.default_rng(2), (3, 3), dtype))[0]


POINTS = {
    "identity": lambda dtype: np.eye(3, dtype=dtype),
    "zero": lambda dtype: np.zeros((3, 3), dtype),
    "rank one": lambda dtype: np.outer([1, 2, 3], [1, 1, 2]).astype(dtype),
    "unitary": unitary,
    "repeated": lambda dtype: np.diag([1e9, 1e9, 1.0]).astype(dtype),
}
FINITE = {
    "svd": lambda a: svd_loss(a, 1.0),
    "svdvals": lambda a: tfr.sum(la.svdvals(a) ** 2),
    "eigh": lambda a: eigh_loss(a, 1.0),
    "qr": lambda a: qr_loss(a, 1.0),
    "pinv": lambda a: weighted(la.pinv(a)),
    "lstsq": lambda a: tfr.sum(tfr.abs(la.lstsq(a, WEIGHTS[:3, :2])[0]) ** 2),
    "norm": la.norm,
    "nuclear norm": lambda a: la.norm(a, "nuc"),
    "3-norms": lambda a: tfr.sum(la.norm(a, 3, axis=1)),
}


@dtypes
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", FINITE)
def test_finite_where_values_coincide(name, point, dtype):
    a = tfr.variable(POINTS[point](dtype))
    rt, direction = a.runtime, vectors((3, 3), dtype)
    loss = FINITE[name](a)
    gradient = rt.grad(loss, a)
    for found in (gradient, rt.jvp(loss, a, direction)):
        assert np.isfinite(value(found)).all()
    if np.finfo(dtype).bits == 64 and point != "repeated":
        assert np.isfinite(value(rt.jvp(gradient, a, direction))).all()


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_polar_factor_of_a_unitary_matrix(dtype):
    """All singular values coincide; the polar factor is smooth there."""
    a, d = unitary(dtype), vectors((3, 3), dtype)

    def polar(x):
        u, _, vh = la.svd(x)
        return weighted(u @ vh)

    x = tfr.variable(a)
    expected = numeric(lambda t: polar(tfr.constant(a + t * d)).item())
    assert np.sum(np.conj(value(x.runtime.grad(polar(x), x))) * d).real == pytest.approx(expected, rel=1e-7)


def test_repeated_structures_with_other_values():
    """What rules read off values must not be kept for the next matrix."""
    def derivatives(rt, a):
        x = rt.variable_from(a)
        gradient = rt.grad(eigh_loss(x, 1.0) + qr_loss(x, 1.0) + weighted(la.expm(x)), x)
        return value(gradient), value(rt.jvp(gradient, x, WEIGHTS[:3, :3]))

    rt = tfr.EagerRuntime()
    for a in (np.eye(3), np.eye(3), np.eye(3), vectors((3, 3), "f8"), vectors((3, 3), "f8", 1) / 8, np.eye(3)):
        for found, expected in zip(derivatives(rt, a), derivatives(tfr.EagerRuntime(), a)):
            np.testing.assert_array_equal(found, expected)


def test_gradient_of_norms_at_zero_is_zero():
    for f in (la.norm, lambda x: la.norm(x, 3), lambda x: la.norm(x, 1)):
        x = tfr.variable(np.zeros(3))
        f(x).backward()
        np.testing.assert_array_equal(value(x.grad), np.zeros(3))


def of_rank(k, dtype, n=3):
    rng = np.random.default_rng(k)
    return sample(rng, (n, k), dtype) @ sample(rng, (k, n), dtype)


@dtypes
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_determinant_of_singular_matrices_to_second_order(rank, dtype):
    check(la.det, of_rank(rank, dtype))


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_determinant_of_a_stack_with_singular_matrices_to_second_order(dtype):
    check(la.det, np.stack([of_rank(k, dtype) for k in (0, 1, 2, 3)]))


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_third_derivative_of_the_determinant(dtype):
    from tenferro.linalg.common import call

    check(lambda a: call("cofactor", a), matrices((3, 3), dtype))
    check(la.det, matrices((4, 4), dtype))


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_third_derivative_of_the_determinant_of_singular_matrices(rank, dtype):
    """Second derivatives of cubic polynomials are linear: their differences are exact for any step."""
    a, e, t, h = of_rank(rank, dtype), *(vectors((3, 3), dtype, k) for k in range(3))

    def second(x):
        return x.runtime.jvp(x.runtime.grad(tfr.real(la.det(x)), x), x, e)

    x = tfr.variable(a)
    expected = (value(second(tfr.variable(a + t))) - value(second(tfr.variable(a - t)))) / 2
    np.testing.assert_allclose(value(x.runtime.jvp(second(x), x, t)), expected, rtol=1e-9, atol=1e-10)
    found = x.runtime.vjp(second(x), x, h)
    assert np.sum(np.conj(value(found)) * t).real == pytest.approx(np.sum(np.conj(h) * expected).real, rel=1e-9)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_third_derivative_of_singular_matrices_continues_that_of_regular_ones(n, dtype):
    from tenferro.linalg.common import call
    from tenferro.linalg.solving import cofactor_curvature

    a, e, t = (tfr.constant(vectors((2, n, n), dtype, k)) for k in range(3))
    np.testing.assert_allclose(value(call("cofactor_curvature", a, e, t)), value(cofactor_curvature(a, e, t)),
                               rtol=1e-8, atol=1e-9)


def test_fourth_derivative_of_the_determinant_needs_regular_matrices():
    x, rt, ones = tfr.variable(np.zeros((3, 3))), tfr.default_runtime(), np.ones((3, 3))
    third = rt.jvp(rt.jvp(rt.grad(la.det(x), x), x, ones), x, ones)
    with pytest.raises(errors.UnsupportedAdRuleError, match="cofactor_curvature"):
        rt.grad(tfr.sum(third), x)


# ---- what has no derivative ------------------------------------------------------------------------------------------

def test_null_space_says_why():
    x = tfr.variable(matrices((3, 2), "f8"))
    u = la.svd(x).U
    with pytest.raises(errors.UnsupportedAdRuleError, match="null space") as caught:
        tfr.sum(u).backward()
    assert (caught.value.op, caught.value.transform) == ("svd", "vjp")
    with pytest.raises(errors.UnsupportedAdRuleError, match="null space"):
        x.runtime.jvp(u, x, np.ones((3, 2)))


def test_logarithm_of_a_singular_determinant():
    x = tfr.variable(np.zeros((2, 2)))
    with pytest.raises(errors.LinAlgError, match="slogdet"):
        la.slogdet(x).logabsdet.backward()
    la.det(x).backward()
    np.testing.assert_array_equal(value(x.grad), np.zeros((2, 2)))


def test_rank_is_a_constant():
    assert not la.matrix_rank(tfr.variable(np.eye(2))).tracks_grad


def test_captured_values_are_differentiated():
    a = matrices((3, 3), "f8")
    rt = tfr.EagerRuntime()
    x = rt.constant_from(a)
    with rt.capture_trace():
        s = la.svdvals(x)
    u, _, vh = np.linalg.svd(a)
    np.testing.assert_allclose(value(rt.vjp(s, x, np.ones(3))), u @ vh, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("f", [la.inv, la.det, la.svdvals, la.eigvalsh, la.pinv, la.expm, lambda a: la.qr(a).R,
                               lambda a: la.solve(a, a), la.cholesky])
def test_empty(f):
    x = tfr.variable(np.zeros((2, 0, 0)))
    tfr.sum(f(x)).backward()
    assert x.grad is None or x.grad.shape == (2, 0, 0)
