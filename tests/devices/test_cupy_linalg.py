"""Linear algebra and Fourier transforms of the CuPy engine over the look-alike, beside the executors of host memory."""

import cupy_lookalike
import numpy as np
import pytest
import scipy.linalg

import tenferro as tfr
from tenferro.errors import LinAlgError, ShapeMismatchError, TenferroError
from tenferro.linalg import module
from tenferro_cupy.executors import EXECUTORS

pytestmark = pytest.mark.skipif(cupy_lookalike.COMPILER is None, reason="needs a C++ compiler")
RNG = np.random.default_rng(3)


def executed(cupy, name, *arrays, **params):
    found = EXECUTORS[f"tenferro.linalg.{name}.v1"](cupy, *[cupy.asarray(a) for a in arrays], **params)
    return [y.get() for y in (found if isinstance(found, tuple) else [found])]


def on_the_host(name, *arrays, **params):
    found = module.OPERATIONS[name][2](*arrays, **params)
    return [np.asarray(y) for y in (found if isinstance(found, tuple) else [found])]


def same(cupy, name, *arrays, **params):
    """An executor gives what that of host memory gives."""
    found, want = executed(cupy, name, *arrays, **params), on_the_host(name, *arrays, **params)
    assert [(y.shape, y.dtype) for y in found] == [(y.shape, y.dtype) for y in want]
    for y, z in zip(found, want, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-8, atol=1e-8)


@pytest.fixture(params=["real", "complex"])
def draw(request):
    """Draws matrices."""
    def draw(*shape):
        a = RNG.standard_normal(shape)
        return a + 1j * RNG.standard_normal(shape) if request.param == "complex" else a
    return draw


def adj(x):
    return x.swapaxes(-1, -2).conj()


def rebuilt(factors):
    """What does not depend on phases."""
    if len(factors) == 2:
        return [factors[0] @ factors[1]]
    u, s, vh = factors
    return [s, (u[..., :s.shape[-1]] * s[..., None, :]) @ vh[..., :s.shape[-1], :]]


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (2, 5, 3), (2, 3, 5), (0, 3, 3), (3, 0)])
def test_orthogonal_factors(cupy, draw, shape):
    a = draw(*shape)
    for name in ("svd", "svd_full", "qr"):
        for x, y in zip(rebuilt(executed(cupy, name, a)), rebuilt(on_the_host(name, a)), strict=True):
            np.testing.assert_allclose(x, y, atol=1e-10)
    same(cupy, "svdvals", a)
    same(cupy, "lu", a)
    if shape[-2] > shape[-1] > 0:
        n = executed(cupy, "null_space", a)[0]
        np.testing.assert_allclose(adj(n) @ a, 0, atol=1e-12)
        np.testing.assert_allclose(adj(n) @ n, np.eye(n.shape[-1]) + np.zeros((*shape[:-2], 1, 1)), atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 2, 2), (0, 0)])
def test_square_matrices(cupy, draw, shape):
    a = draw(*shape) + 3 * np.eye(shape[-1])
    lu = on_the_host("lu_factor", a)
    same(cupy, "inv", a)
    same(cupy, "expm", a * 0.5)
    same(cupy, "det", a, *lu)
    same(cupy, "slogdet", a, *lu)
    same(cupy, "cholesky", a @ adj(a) + np.eye(shape[-1]))
    same(cupy, "eigvalsh", a + adj(a))
    w, v = executed(cupy, "eigh", a + adj(a))
    np.testing.assert_allclose((a + adj(a)) @ v, v * w[..., None, :], atol=1e-10)
    w, v = executed(cupy, "eig", a)
    np.testing.assert_allclose(a @ v, v * w[..., None, :], atol=1e-10)
    np.testing.assert_allclose(np.sort_complex(executed(cupy, "eigvals", a)[0]), np.sort_complex(w), atol=1e-10)


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("batch", [(), (1,), (2,), (3, 2)])
def test_systems_of_equations(cupy, draw, batch, adjoint):
    a, b = draw(*batch, 4, 4), draw(*batch, 4, 2)
    lu, piv = (cupy.asarray(x) for x in executed(cupy, "lu_factor", a))
    found = EXECUTORS["tenferro.linalg.lu_solve.v1"](cupy, cupy.asarray(a), cupy.asarray(b), lu, piv, adjoint=adjoint).get()
    np.testing.assert_allclose((adj(a) if adjoint else a) @ found, b, atol=1e-10)
    for lower in (False, True):
        same(cupy, "triangular_solve", a, b, lower=lower, trans="C" if adjoint else "N")


def test_right_sides_are_repeated(cupy, draw):
    a, b = draw(3, 1, 4, 4), draw(2, 4, 2)
    lu = executed(cupy, "lu_factor", a)
    found, = executed(cupy, "lu_solve", a, b, *lu)
    np.testing.assert_allclose(a @ found, np.broadcast_to(b, (3, 2, 4, 2)), atol=1e-10)


def test_what_rules_are_made_of(cupy, draw):
    a, e, t = draw(2, 4, 4), draw(2, 4, 4), draw(2, 4, 4)
    same(cupy, "cofactor", a)
    same(cupy, "cofactor_change", a, e)
    same(cupy, "cofactor_curvature", a, e, t)
    p = a @ adj(a)
    w, v = np.linalg.eigh(p)
    d = RNG.standard_normal((2, 4, 4, 4))
    same(cupy, "hermitian_sylvester", p, e, w, v)
    same(cupy, "hermitian_divide", e, p, w, v)
    same(cupy, "funm", p, w, v, np.sin(w))
    same(cupy, "funm_change", p, e, w, v, d[..., 0])
    same(cupy, "funm_second", p, e, t, w, v, d)


@pytest.mark.parametrize("shape", [(2, 4, 4), (2, 5, 3), (2, 3, 5)])
def test_low_rank_and_least_squares(cupy, draw, shape):
    a, e, h = draw(*shape), draw(*shape), draw(*shape)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    kept = s > s[..., 1:2]
    same(cupy, "low_rank", a, u, s, vh, kept)
    same(cupy, "low_rank_change", a, e, u, s, vh, kept)
    same(cupy, "low_rank_second", a, e, h, kept)
    same(cupy, "sketch_rank", a, np.ones((shape[-1], 2)))
    same(cupy, "pinv", a)
    same(cupy, "pinv", a, rcond=0.5)
    same(cupy, "lstsq_solve", a, draw(*shape[:-1], 2), u, 1 / s, vh)


def test_reflectors_and_permutations(cupy, draw):
    (h, tau), _ = scipy.linalg.qr(draw(5, 3), mode="raw")
    same(cupy, "householder_product", h, tau)
    for single in (False, True):
        same(cupy, "permutation", np.array([[2, 0, 1], [0, 1, 2]]), single=single)


S = np.ones((2, 2, 2))
WRONG = [
    ("inv", [S], {}, LinAlgError), ("inv", [S[0]], {}, LinAlgError), ("lu_factor", [np.zeros((2, 3))], {}, ShapeMismatchError),
    ("cholesky", [-np.eye(2)], {}, LinAlgError), ("cholesky", [np.triu(S)], {}, TenferroError),
    ("eigh", [np.triu(S)], {}, TenferroError), ("svd", [np.array([[np.nan, 1.0]])], {}, TenferroError),
    ("triangular_solve", [np.triu(S, 1), S], {"lower": False}, LinAlgError), ("qr", [np.ones(3)], {}, ShapeMismatchError),
    ("expm", [np.ones((2, 3))], {}, ShapeMismatchError), ("eigvals", [np.array([[np.inf]])], {}, TenferroError),
]


@pytest.mark.parametrize(("name", "arrays", "params", "error"), WRONG)
def test_errors_are_those_of_the_host(cupy, name, arrays, params, error):
    with pytest.raises(error) as mine:
        executed(cupy, name, *arrays, **params)
    with pytest.raises(error) as theirs:
        on_the_host(name, *arrays, **params)
    assert type(mine.value) is type(theirs.value)
    assert mine.value.op == theirs.value.op


def test_executors_are_operations():
    from tenferro.fft.module import FourierModule

    class Registrar:
        names = set()

        def operation(self, name, *rest):
            self.names.add(f"tenferro.fft.{name}.v1")

        def executor(self, *rest, **words):
            pass

        rule = executor

    FourierModule().configure(Registrar())
    assert set(EXECUTORS) <= Registrar.names | {f"tenferro.linalg.{name}.v1" for name in module.OPERATIONS}


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["dct", "idst"])
def test_trigonometric_transforms(engine, name, kind, axis):
    a, rt = RNG.standard_normal((4, 6)) + 1j, tfr.EagerRuntime(engine=engine)
    for x in (a, a.real):
        with rt.session() as s:
            found = getattr(tfr.fft, name)(s.constant_from_host(x), type=kind, axis=axis)
        want = getattr(tfr.fft, name)(x, type=kind, axis=axis).numpy()
        np.testing.assert_allclose(found.to_tensor().numpy(), want, atol=1e-12)


@pytest.mark.parametrize("name", ["fft", "ifft2", "rfft", "irfft", "fftn"])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_fourier_transforms(engine, name, norm):
    a = RNG.standard_normal((4, 6))
    rt = tfr.EagerRuntime(engine=engine)
    with rt.session() as s:
        x = s.constant_from_host(a if name == "rfft" else a + 1j * a[::-1])
        found = getattr(tfr.fft, name)(x, norm=norm)
    want = getattr(np.fft, name)(a if name == "rfft" else a + 1j * a[::-1], norm=norm)
    np.testing.assert_allclose(found.to_tensor().numpy(), want, atol=1e-12)
