"""Derivatives of decompositions at all scales, with small gaps, and where values coincide; and what they cost.

Losses are smooth in the matrix and do not depend on phases. Oracles are central differences of values, bordered linear
systems, and divided differences, none of which uses a rule.
"""

import numpy as np
import pytest
from support import DIFF_DTYPES, sample, value

import tenferro as tfr

la = tfr.linalg
dtypes = pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
kinds = pytest.mark.parametrize("kind", ["f8", "c16"])

WEIGHTS = np.random.default_rng(4).standard_normal((6, 6))


def adjoint(x):
    return tfr.conj(tfr.swapaxes(x, -1, -2))


def draw(shape, dtype, seed=0):
    return sample(np.random.default_rng(seed), shape, dtype)


def weighted(x):
    return tfr.sum(tfr.real(x * WEIGHTS[:x.shape[-2], :x.shape[-1]]))


def squares(x):
    return weighted(tfr.abs(x) ** 2)


# ---- losses, which are the same for a matrix and a multiple of it -----------------------------------------------------

def svd_loss(a, scale):
    u, s, vh = la.svd(a, full_matrices=False)
    s = s / scale
    return (weighted((u * tfr.sin(s)[..., None, :]) @ vh) + squares(u) + squares(vh) + tfr.sum(s ** 3)
            + weighted(u[:, :1] * s[:1] @ vh[:1]))


def vectors_loss(a, scale):
    """Of U alone and of Vh alone, which take other paths through the rules."""
    return squares(la.svd(a, full_matrices=False).U) + squares(la.svd(a, full_matrices=False).Vh)


def polar_loss(a, scale):
    u, s, vh = la.svd(a, full_matrices=False)
    return weighted(u @ vh) + weighted((adjoint(vh) * (s / scale)) @ vh)


def composite_loss(a, scale):
    """The same, by the operation of its own, from both sides."""
    u, p = la.polar(a)
    return weighted(u) + weighted(p / scale) + weighted(la.polar(a, side="left").P / scale)


def root_loss(a, scale):
    return weighted(la.sqrtm((a / scale) @ adjoint(a / scale) * scale + np.eye(4) * scale) / np.sqrt(scale))


def eigh_loss(a, scale):
    w, v = la.eigh(a + adjoint(a))
    return weighted((v * tfr.sin(w / scale)) @ adjoint(v)) + squares(v)


def eig_loss(a, scale):
    """For any order of the eigenvalues, which depends on rounding."""
    w, v = la.eig(a)
    return tfr.sum(tfr.real((w / scale) ** 3)) + tfr.sum(tfr.abs(v) ** 4 * WEIGHTS[:4, :1])


def qr_loss(a, scale):
    q, r = la.qr(a)
    return squares(q) + weighted(q) + weighted(r / scale) + squares(r / scale)


def pinv_loss(a, scale):
    y = la.pinv(a) * scale
    return weighted(y) + squares(y)


LOSSES = {
    "svd": svd_loss,
    "vectors": vectors_loss,
    "polar by svd": polar_loss,
    "polar": composite_loss,
    "low_rank": lambda a, scale: weighted(la.low_rank(a, 2) / scale),
    "sqrtm": root_loss,
    "funm_hermitian": lambda a, scale: weighted(la.funm_hermitian(a + adjoint(a), lambda w: tfr.sin(w / scale))),
    "eigh": eigh_loss,
    "eig": eig_loss,
    "qr": qr_loss,
    "pinv": pinv_loss,
    "values": lambda a, scale: tfr.sum((la.svdvals(a) / scale) ** 3),
    "eigenvalues": lambda a, scale: tfr.sum((la.eigvalsh(a + adjoint(a)) / scale) ** 3),
}
SQUARE = {"eigh", "eig", "eigenvalues", "sqrtm", "funm_hermitian"}
CASES = [(name, shape) for name in LOSSES for shape in ([(4, 4)] if name in SQUARE else [(4, 4), (5, 3), (3, 5)])]
cases = pytest.mark.parametrize(("name", "shape"), CASES, ids=str)


def numeric(f, h=1e-3):
    """Derivative at 0 by central differences, extrapolated twice."""
    d = [(f(t) - f(-t)) / (2 * t) for t in (h, h / 2, h / 4)]
    return (64 * d[2] - 20 * d[1] + d[0]) / 45


def inner(x, y):
    return np.sum(np.conj(x) * y).real


@kinds
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e3, 1e6, 1e9])
@cases
def test_directional_derivatives(name, shape, scale, kind):
    f = LOSSES[name]
    a, d = draw(shape, kind), draw(shape, kind, 1)
    expected = numeric(lambda t: f(tfr.constant((a + t * d) * scale), scale).item())
    x = tfr.variable(a * scale)
    loss, rt = f(x, scale), x.runtime
    assert inner(value(rt.grad(loss, x)), d * scale) == pytest.approx(expected, rel=1e-7)
    assert rt.jvp(loss, x, d * scale).item() == pytest.approx(expected, rel=1e-7)


@kinds
@pytest.mark.parametrize("scale", [1e-8, 1e9])
@cases
def test_second_derivatives(name, shape, scale, kind):
    """All four orders of the modes against differences of the gradient at scale 1."""
    f = LOSSES[name]
    a, d, e = draw(shape, kind), draw(shape, kind, 1), draw(shape, kind, 2)

    def slope(t):
        x = tfr.variable(a + t * d)
        return inner(value(x.runtime.grad(f(x, 1.0), x)), e)

    expected = pytest.approx(numeric(slope), rel=1e-7)
    x = tfr.variable(a * scale)
    loss, rt = f(x, scale), x.runtime
    gradient, tangent = rt.grad(loss, x), rt.jvp(loss, x, d * scale)
    assert inner(value(rt.vjp(gradient, x, e * scale)), d * scale) == expected
    assert inner(value(rt.jvp(gradient, x, d * scale)), e * scale) == expected
    assert inner(value(rt.grad(tangent, x)), e * scale) == expected
    assert rt.jvp(tangent, x, e * scale).item() == expected


# Beyond it, second derivatives underflow.
FAR = {"funm_hermitian": 400}


@kinds
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("power", [30, 660])
@cases
def test_derivatives_do_not_depend_on_the_scale(name, shape, power, sign, kind):
    """A power of two changes rounding nowhere in a rule, and no intermediate leaves the range."""
    f, scale = LOSSES[name], 2.0 ** (sign * min(power, FAR.get(name, power)))
    a, d = draw(shape, kind), draw(shape, kind, 1)

    def derivatives(scale):
        x = tfr.variable(a * scale)
        loss, rt = f(x, scale), x.runtime
        gradient = rt.grad(loss, x)
        return [value(gradient) * scale, value(rt.jvp(loss, x, d * scale)),
                value(rt.jvp(gradient, x, d * scale)) * scale]

    for found, expected in zip(derivatives(scale), derivatives(1.0), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize(("dtype", "power"), [("f4", 100), ("c8", 100), ("f8", 900), ("c16", 900)])
def test_eigenvalues_do_not_depend_on_the_scale(dtype, power):
    a = draw((3, 4, 4), dtype)
    a[1] *= 0.5
    w, v = (value(x) for x in la.eig(a))
    tol = 100 * np.finfo(dtype).eps
    for sign in (-1, 1):
        factor = np.array(2.0 ** (sign * power), w.real.dtype)
        found = la.eig(a * factor)
        np.testing.assert_allclose(value(found.eigenvalues) / factor, w, rtol=tol)
        np.testing.assert_allclose(value(found.eigenvectors), v, atol=tol)
        alone = np.sort_complex(value(la.eigvals(a * factor)) / factor)
        np.testing.assert_allclose(alone, np.sort_complex(w), rtol=tol)


# ---- small gaps ------------------------------------------------------------------------------------------------------

def orthonormal(n, dtype, seed):
    return np.linalg.qr(draw((n, n), dtype, seed))[0]


def divided_sines(w):
    """(sin(w[i]) - sin(w[j])) / (w[i] - w[j]) without cancellation, and the derivative on the diagonal."""
    half, mean = (w[:, None] - w) / 2, (w[:, None] + w) / 2
    return np.cos(mean) * np.sinc(half / np.pi)


def vector_changes(h, change, w, v):
    """Derivatives of eigenvectors by Nelson's bordered systems, one for each vector."""
    n = len(h)
    out = np.empty_like(v)
    for k in range(len(w)):
        x = v[:, k:k + 1]
        system = np.block([[h - w[k] * np.eye(n), -x], [x.conj().T, np.zeros((1, 1))]])
        out[:, k] = np.linalg.solve(system, np.append(-change @ x[:, 0], 0))[:n]
    return out


@kinds
@pytest.mark.parametrize("scale", [1.0, 1e9])
@pytest.mark.parametrize("gap", [1e-2, 1e-6, 1e-9])
def test_eigenvectors_of_close_eigenvalues(gap, scale, kind):
    """No broadening: the loss |V|**2 changes with 1/gap, functions of the matrix do not."""
    w, v = np.array([0.5, 1.0, 1.0 + gap, 2.0]), orthonormal(4, kind, 3)
    d = draw((4, 4), kind, 1)
    d = d + d.conj().T
    h = (v * w) @ v.conj().T
    h = (h + h.conj().T) / 2
    x = tfr.variable(h * scale)
    rt = x.runtime
    values, vectors = la.eigh(x)
    losses = [squares(vectors), weighted((vectors * tfr.sin(values / scale)) @ adjoint(vectors))]
    weights = WEIGHTS[:4, :4]
    inside = divided_sines(w) * (v.conj().T @ d @ v)
    expected = [np.sum(2 * weights * (v.conj() * vector_changes(h, d, w, v)).real),
                np.sum(weights * (v @ inside @ v.conj().T).real)]
    for loss, wanted in zip(losses, expected, strict=True):
        rel = 2e-14 / gap
        assert inner(value(rt.grad(loss, x)), d * scale) == pytest.approx(wanted, rel=rel)
        assert rt.jvp(loss, x, d * scale).item() == pytest.approx(wanted, rel=rel)


@kinds
@pytest.mark.parametrize("scale", [1.0, 1e9])
@pytest.mark.parametrize("gap", [1e-2, 1e-6, 1e-9])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
def test_singular_vectors_of_close_values(shape, gap, scale, kind):
    """The vectors are the eigenvectors of [[0, A], [A.H, 0]], for the eigenvalue s."""
    m, n = shape
    s = np.array([2.0, 1.0 + gap, 1.0])
    u, v = orthonormal(m, kind, 3)[:, :3], orthonormal(n, kind, 5)[:, :3]
    a, d = (u * s) @ v.conj().T, draw(shape, kind, 1)
    both = np.concatenate([u, v]) / np.sqrt(2)
    h, change = (np.block([[np.zeros((m, m)), b], [b.conj().T, np.zeros((n, n))]]) for b in (a, d))
    moved = np.sqrt(2) * vector_changes(h, change, s, both)
    expected = (np.sum(2 * WEIGHTS[:m, :3] * (u.conj() * moved[:m]).real)
                + np.sum(2 * WEIGHTS[:3, :n] * (v.conj() * moved[m:]).real.T))
    x = tfr.variable(a * scale)
    found = la.svd(x, full_matrices=False)
    loss, rt, rel = squares(found.U) + squares(found.Vh), x.runtime, 4e-14 / gap
    assert inner(value(rt.grad(loss, x)), d * scale) == pytest.approx(expected, rel=rel)
    assert rt.jvp(loss, x, d * scale).item() == pytest.approx(expected, rel=rel)


# ---- where values coincide -------------------------------------------------------------------------------------------

def of_rank_one(shape, dtype):
    return np.outer(np.arange(1, shape[0] + 1), np.arange(2, shape[1] + 2)).astype(dtype)


def isometry(shape, dtype):
    m, n = shape
    return orthonormal(max(m, n), dtype, 2)[:m, :n]


def repeated(shape, dtype):
    """Singular values 2, 2, 1 (and eigenvalues where the matrix is square), at a large scale."""
    s = np.zeros(shape, dtype)
    s[range(3), range(3)] = 2e9, 2e9, 1e9
    return s


POINTS = {
    "isometry": isometry,
    "diagonal": lambda shape, dtype: np.eye(*shape, dtype=dtype),
    "tiny": lambda shape, dtype: np.eye(*shape, dtype=dtype) * 1e-8,
    "zero": np.zeros,
    "rank one": of_rank_one,
    "repeated": repeated,
}
OUTPUTS = {
    "U": lambda a: la.svd(a, full_matrices=False).U,
    "S": lambda a: la.svd(a, full_matrices=False).S,
    "Vh": lambda a: la.svd(a, full_matrices=False).Vh,
    "svdvals": la.svdvals,
    "Q": lambda a: la.qr(a).Q,
    "R": lambda a: la.qr(a).R,
    "pinv": la.pinv,
    "eigenvalues": lambda a: la.eigh(a + adjoint(a)).eigenvalues,
    "eigenvectors": lambda a: la.eigh(a + adjoint(a)).eigenvectors,
    "eigvalsh": lambda a: la.eigvalsh(a + adjoint(a)),
    "polar": lambda a: (lambda u, s, vh: u @ vh)(*la.svd(a, full_matrices=False)),
}


@dtypes
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)], ids=str)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", OUTPUTS)
def test_every_output_has_finite_derivatives(name, point, shape, dtype):
    """Also with cotangents that depend on phases; to second order in all orders of the modes."""
    if name.startswith("eig") and shape != (3, 3):
        shape = (3, 3)
    x = tfr.variable(POINTS[point](shape, dtype))
    y, rt, d = OUTPUTS[name](x), x.runtime, draw(shape, dtype)
    g = draw(y.shape, y.dtype, 1)
    first = [rt.vjp(y, x, g), rt.jvp(y, x, d)]
    for found in first:
        assert np.isfinite(value(found)).all()
    for k, found in enumerate(first):
        if found.tracks_grad:
            assert np.isfinite(value(rt.jvp(found, x, d))).all()
            assert np.isfinite(value(rt.vjp(found, x, d if k == 0 else g))).all()


@kinds
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e9])
def test_sums_over_equal_values_are_exact(scale, kind):
    """Sums over all singular values of a unitary matrix, and over all eigenvalues of a multiple of one, are smooth."""
    a, d = orthonormal(3, kind, 2), draw((3, 3), kind, 1)
    x = tfr.variable(a * scale)
    rt = x.runtime
    for loss, expected in ((tfr.sum(la.svdvals(x)), np.trace(a.conj().T @ d).real),
                           (tfr.sum(la.svdvals(x) ** 2) / scale, 2 * np.trace(a.conj().T @ d).real)):
        assert inner(value(rt.grad(loss, x)), d) == pytest.approx(expected, rel=1e-12)
        assert rt.jvp(loss, x, d).item() == pytest.approx(expected, rel=1e-12)
    x = tfr.variable(np.eye(3, dtype=kind) * scale)
    loss = tfr.sum(la.eigvalsh(x) ** 2) / scale
    np.testing.assert_allclose(value(rt.grad(loss, x)), 2 * np.eye(3), atol=1e-12)
    assert rt.jvp(loss, x, d).item() == pytest.approx(2 * np.trace(d).real, rel=1e-12)


# ---- what derivatives cost -------------------------------------------------------------------------------------------

def products(rt, f):
    """Matrix products and decompositions that a derivative takes."""
    with rt.profile() as profile:
        f()
    names = [event.op for event in profile.events]
    return names.count("contract"), names.count("custom")


@kinds
def test_only_what_is_asked_for_is_computed(kind):
    """The gradient of values alone takes one product, with no reciprocal of a gap; that of U alone fewer than of all."""
    x = tfr.variable(draw((5, 3), kind))
    rt = x.runtime
    for y in (la.svdvals(x), la.svd(x, full_matrices=False).S, la.eigvalsh(x[:3] + adjoint(x[:3]))):
        g = np.ones(3)
        with rt.profile() as profile:
            rt.vjp(y, x, g)
        names = [event.op for event in profile.events]
        assert (names.count("contract"), names.count("custom"), names.count("div")) == (1, 0, 0)
    u, s, vh = la.svd(x, full_matrices=False)
    alone = [products(rt, lambda y=y: rt.vjp(y, x, np.ones(y.shape, y.dtype))) for y in (u, vh)]
    together = products(rt, lambda: rt.vjp([u, s, vh], x, [np.ones(y.shape, y.dtype) for y in (u, s, vh)]))
    assert max(alone) < together
    assert together[1] == 0


@kinds
def test_values_computed_without_vectors(kind):
    """Captured values decompose once more when they are differentiated, in both modes."""
    a, d = draw((4, 4), kind), draw((4, 4), kind, 1)
    h = a + a.conj().T
    rt = tfr.EagerRuntime()
    for f, m in ((la.svdvals, a), (la.eigvalsh, h), (la.eigvals, a)):
        x = rt.constant_from(m)
        with rt.capture_trace():
            y = f(x)
        t = tfr.variable(m)
        z = f(t)
        g, e = draw((4,), y.dtype, 2), d + d.conj().T if f is la.eigvalsh else d
        np.testing.assert_allclose(value(rt.jvp(y, x, e)), value(t.runtime.jvp(z, t, e)), rtol=1e-11)
        np.testing.assert_allclose(value(rt.vjp(y, x, g)), value(t.runtime.vjp(z, t, g)), rtol=1e-11)
