"""Decompositions of stacks against NumPy in every layout, what LAPACK's failures become, and limits of its integers."""

import numpy as np
import pytest
from support import DIFF_DTYPES, random_layout, sample, value

import tenferro as tfr
from tenferro import errors
from tenferro.linalg import _routines, _schur, host, host_factors

la = tfr.linalg

SHAPES = [(1, 1), (4, 4), (17, 17), (40, 40), (7, 3), (3, 9), (33, 5), (3, 5, 5), (2, 3, 4, 2), (2, 1, 3, 20), (0, 0),
          (4, 0), (0, 3), (0, 3, 3), (2, 0, 3), (2, 3, 0, 0), (3, 0, 2, 2)]
SQUARE = [s for s in SHAPES if s[-1] == s[-2]]
HERMITIAN = ("cholesky", "eigh", "eigvalsh")
GENERAL = ("inv", "eig", "eigvals", "svd", "svdvals", "qr")

dtypes = pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
squares = pytest.mark.parametrize("shape", SQUARE, ids=str)


def tolerance(dtype, n):
    eps = np.finfo(dtype).eps
    return {"rtol": 0, "atol": 60 * max(n, 4) * float(eps)}


def layouts(a):
    """Row- and column-major memory, reversed axes, gaps, and three layouts by chance."""
    wide = np.full((*a.shape[:-2], 2 * a.shape[-2], 3 * a.shape[-1]), np.nan, a.dtype)
    wide[..., ::2, ::3] = a
    yield np.ascontiguousarray(a)
    yield np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    yield np.array(a, order="F")
    yield np.ascontiguousarray(a[..., ::-1, ::-1])[..., ::-1, ::-1]
    yield wide[..., ::2, ::3]
    for k in range(3):
        yield random_layout(a, np.random.default_rng(k))


def draw(shape, dtype, seed=0):
    """Matrices whose elements are at most about 1."""
    return sample(np.random.default_rng(seed), shape, dtype, -1, 1)


def adjoint(a):
    return a.swapaxes(-1, -2).conj()


def definite(shape, dtype):
    a = draw(shape, dtype)
    a = a @ adjoint(a) / max(shape[-1], 1) + np.eye(shape[-1], dtype=dtype)
    return (a + adjoint(a)) / 2


def product(*xs):
    """In double precision: an oracle must not round as much as what it checks."""
    y = xs[0].astype(np.result_type(xs[0], np.float64))
    for x in xs[1:]:
        y = y @ x
    return y


def close(found, expected, dtype, n):
    np.testing.assert_allclose(found, expected, **tolerance(dtype, n))


def orthonormal(q, dtype):
    close(product(adjoint(q), q), np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])),
          dtype, q.shape[-2])


@dtypes
@shapes
@pytest.mark.parametrize("full", [False, True])
def test_singular_values(shape, dtype, full):
    a, n, k = draw(shape, dtype), max(shape[-2:]), min(shape[-2:])
    expected = np.linalg.svd(a, full_matrices=full)
    for x in layouts(a):
        u, s, vh = (np.asarray(y) for y in host.svd(x, full_matrices=full))
        assert [(y.shape, y.dtype) for y in (u, s, vh)] == [(y.shape, y.dtype) for y in expected]
        close(s, expected[1], dtype, n)
        close(product(u[..., :k] * s[..., None, :], vh[..., :k, :]), a, dtype, n)
        orthonormal(u, dtype)
        orthonormal(adjoint(vh), dtype)
        close(host.svdvals(x), expected[1], dtype, n)


@dtypes
@shapes
def test_orthogonal_factors(shape, dtype):
    a, n, k = draw(shape, dtype), max(shape[-2:]), min(shape[-2:])
    for x in layouts(a):
        q, r = host.qr(x)
        assert (q.shape, q.dtype) == ((*shape[:-1], k), a.dtype)
        assert (r.shape, r.dtype) == ((*shape[:-2], k, shape[-1]), a.dtype)
        close(product(q, r), a, dtype, n)
        orthonormal(q, dtype)
        np.testing.assert_array_equal(r, np.triu(r))


@dtypes
@squares
def test_hermitian_matrices(shape, dtype):
    a, n = definite(shape, dtype), shape[-1]
    values = np.linalg.eigvalsh(a)
    for x in layouts(a):
        w, v = host.eigh(x)
        assert (w.shape, w.dtype, v.shape, v.dtype) == (values.shape, values.dtype, a.shape, a.dtype)
        close(w, values, dtype, n)
        close(product(v * w[..., None, :], adjoint(v)), a, dtype, n)
        orthonormal(v, dtype)
        close(host.eigvalsh(x), values, dtype, n)
        low = host.cholesky(x)
        assert (low.shape, low.dtype) == (a.shape, a.dtype)
        np.testing.assert_array_equal(low, np.tril(low))
        close(product(low, adjoint(low)), a, dtype, n)


@dtypes
@squares
def test_general_matrices(shape, dtype):
    n = shape[-1]
    a = draw(shape, dtype) + 2 * n * np.eye(n, dtype=dtype)
    for x in layouts(a):
        found = host.inv(x)
        assert (found.shape, found.dtype) == (a.shape, a.dtype)
        close(product(found, a), np.broadcast_to(np.eye(n), a.shape), dtype, n)
        w, v = host.eig(x)
        assert w.dtype == v.dtype == np.result_type(dtype, np.complex64)
        np.testing.assert_allclose(product(a, v), v * w[..., None, :], rtol=0, atol=60 * n * tolerance(dtype, n)["atol"])
        np.testing.assert_allclose(np.linalg.norm(v, axis=-2), 1, **tolerance(dtype, n))
        np.testing.assert_allclose(np.sort(host.eigvals(x).real), np.sort(w.real), rtol=0,
                                   atol=60 * n * tolerance(dtype, n)["atol"])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_conjugated_pairs_of_eigenvalues(dtype):
    turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 3]], dtype)
    w, v = host.eig(np.stack([turn, turn.T]))
    np.testing.assert_allclose(np.sort_complex(w), [[-1j, 1j, 3]] * 2, atol=1e-6)
    np.testing.assert_allclose(np.stack([turn, turn.T]) @ v, v * w[:, None, :], atol=1e-6)


def test_inputs_stay_as_they_are():
    for order in "CF":
        a = np.array(definite((5, 5), "f8"), order=order)
        before = a.copy()
        for name in HERMITIAN + GENERAL:
            getattr(host, name)(a)
            np.testing.assert_array_equal(a, before)


def test_only_the_lower_triangle_is_read():
    """Whatever the layout, so that a result does not depend on it even within rounding of Hermitian."""
    a = definite((6, 6), "f8")
    b = a + 1e-9 * np.triu(draw((6, 6), "f8"), 1)
    for x in layouts(b):
        np.testing.assert_allclose(host.cholesky(x), host.cholesky(a), atol=1e-14)
        np.testing.assert_allclose(host.eigvalsh(x), host.eigvalsh(a), atol=1e-14)
        np.testing.assert_allclose(host.eigh(x)[0], host.eigh(a)[0], atol=1e-14)


def test_many_small_matrices():
    a = draw((1024, 16, 16), "f8")
    u, s, vh = map(value, la.svd(a))
    np.testing.assert_allclose((u * s[:, None, :]) @ vh, a, atol=1e-12)


# ---- what cannot be computed -----------------------------------------------------------------------------------------

def usable():
    np.testing.assert_array_equal(value(la.inv(np.eye(3))), np.eye(3))


@dtypes
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (18, 18), (40, 40), (2, 5, 5)], ids=str)
def test_an_element_that_is_not_finite_is_found_anywhere(shape, dtype):
    rng = np.random.default_rng(0)
    bad = (np.nan, np.inf, -np.inf) + ((1j * np.inf, 1j * np.nan) if np.dtype(dtype).kind == "c" else ())
    places = [rng.integers(0, shape) for _ in range(40)]
    places += [np.zeros(len(shape), int), np.array(shape) - 1]
    for k, place in enumerate(places):
        a = np.zeros(shape, dtype)
        a[tuple(place)] = bad[k % len(bad)]
        name = (HERMITIAN + GENERAL)[k % 9]
        for x in layouts(a):
            with pytest.raises(errors.ValidationError, match=f"{name}: a has elements that are infinite"):
                getattr(host, name)(x)
    largest = np.full(shape, np.finfo(dtype).max, dtype)
    host.matrices("test", largest)
    usable()


@dtypes
@pytest.mark.parametrize("n", [2, 5, 16, 17, 40])
def test_a_pair_that_is_not_hermitian_is_found_anywhere(n, dtype):
    rng = np.random.default_rng(n)
    for k in range(60):
        a = definite((3, n, n), dtype)
        m, i, j = rng.integers(3), rng.integers(n), rng.integers(n)
        if i == j and np.dtype(dtype).kind != "c":
            continue
        a[m, i, j] += 0.25j if np.dtype(dtype).kind == "c" and (i == j or k % 2) else 0.25
        name = HERMITIAN[k % 3]
        with pytest.raises(errors.ValidationError, match=rf"{name}: a is not Hermitian \(matrix {m} of the stack\)"):
            getattr(la, name)(a)
    usable()


def test_hermitian_is_measured_by_the_matrix_itself():
    large, small = np.eye(2) * 1e9, np.array([[1.0, 0.1], [0.0, 1.0]])
    with pytest.raises(errors.ValidationError, match="matrix 1 of the stack"):
        la.eigh(np.stack([large, small]))
    large[0, 1] = 1e-3
    la.eigh(np.stack([large, np.eye(2)]))


@dtypes
@pytest.mark.parametrize(("name", "text"), [("cholesky", "not positive definite"), ("inv", "singular"),
                                            ("solve", "singular"), ("triangular_solve", "singular")])
def test_the_matrix_that_fails_is_named(name, text, dtype):
    extra = (np.ones((4, 1), dtype),) if "solve" in name else ()
    a = np.stack([np.eye(4, dtype=dtype)] * 6)
    a[4, 2, 2] = 0
    for order in "CF":
        with pytest.raises(errors.LinAlgError, match=rf"{name}.*{text} \(matrix 4 of the stack\)") as caught:
            getattr(la, name)(np.array(a, order=order), *extra)
        assert caught.value.op == name
        assert isinstance(caught.value, (errors.NumericalError, np.linalg.LinAlgError))
        with pytest.raises(errors.LinAlgError, match=r"\(matrix \(1, 1\) of the stack\)"):
            getattr(la, name)(np.array(a.reshape(2, 3, 4, 4), order=order), *extra)
    with pytest.raises(errors.LinAlgError, match=f"{text};"):
        getattr(la, name)(a[4], *extra)
    usable()


def test_what_lapack_reports():
    with pytest.raises(errors.LinAlgError, match=r"svd: no convergence \(matrix \(1, 2\) of the stack\)"):
        _routines.failed("svd", 3, 5, (2, 3), "no convergence", "")
    with pytest.raises(errors.EngineError, match="eigh: LAPACK refuses its argument 4; this is a defect"):
        _routines.failed("eigh", -4, 0, (), "no convergence", "")


# ---- integers of 32 bits ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["svd", "svdvals", "qr"])
@pytest.mark.parametrize("shape", [(2**31, 1), (1, 2**31), (2, 2**31, 1)])
def test_dimensions_beyond_32_bits(name, shape):
    with pytest.raises(errors.IntegerOverflowError, match=f"{name}: the matrix dimension 2147483648") as caught:
        getattr(host, name)(np.broadcast_to(np.zeros(1), shape))
    assert (caught.value.op, caught.value.argument, caught.value.actual) == (name, "a", 2**31)
    usable()


def test_reflectors_beyond_32_bits():
    with pytest.raises(errors.IntegerOverflowError, match="householder_product: the matrix dimension") as caught:
        host_factors.householder_product(np.broadcast_to(np.zeros(1), (2**31, 1)), np.zeros(1))
    assert (caught.value.op, caught.value.argument) == ("householder_product", "A")
    usable()


def test_no_array_is_a_square_matrix_of_that_size():
    _routines.fits("inv", "a", 2**31 - 1, 0)
    with pytest.raises(errors.IntegerOverflowError, match="inv: the matrix dimension 2147483648") as caught:
        _routines.fits("inv", "A", 1, 2**31)
    assert caught.value.argument == "A"


@pytest.mark.parametrize(("name", "dtype", "n"), [("svd", "f8", 30000), ("svd", "c16", 30000), ("eigh", "f4", 40000),
                                                  ("eigh", "c8", 40000)])
def test_workspaces_beyond_32_bits(name, dtype, n):
    with pytest.raises(errors.IntegerOverflowError, match=f"{name}: LAPACK's workspace") as caught:
        getattr(host, name)(np.broadcast_to(np.zeros(1, dtype), (n, n)))
    assert (caught.value.op, caught.value.argument, caught.value.expected) == (name, "a", 2**31 - 1)
    assert caught.value.actual > 2**31 - 1
    usable()


def test_lengths_that_queries_answer():
    assert _routines.workspace("svd", 2.0**31 - 1) == 2**31 - 1
    assert _routines.queried("svd", np.float64(7)) == 7
    assert _routines.queried("svd", np.complex64(9), 12) == 12
    assert _routines.queried("svd", np.float32(2**25)) > 2**25       # float32 may have rounded it down
    for length in (np.float64(2**31), np.float32(2**31), np.float64(np.inf)):
        with pytest.raises(errors.IntegerOverflowError, match="svd: LAPACK's workspace"):
            _routines.queried("svd", length)


# ---- Schur forms -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (7, 4, 4), (2, 0, 3, 3), (2, 3, 2, 2), (0, 0)], ids=str)
def test_schur_forms(shape, dtype):
    a = sample(np.random.default_rng(0), shape, dtype)
    for x in (a, np.asfortranarray(a)):
        t, v = _schur.schur("schur", x)
        tol = 100 * np.finfo(dtype).eps
        np.testing.assert_allclose(v @ t @ v.conj().swapaxes(-1, -2), a, rtol=tol, atol=tol)
        np.testing.assert_allclose(v.conj().swapaxes(-1, -2) @ v, np.broadcast_to(np.eye(shape[-1]), shape), atol=tol)
        np.testing.assert_array_equal(np.tril(t, -2 if t.dtype.kind == "f" else -1), 0)


def test_which_sylvester_equation_has_no_solution():
    a = np.stack([np.eye(2), np.diag([1.0, -2.0]), np.eye(2)])
    with pytest.raises(errors.LinAlgError, match=r"eigenvalues in common .* \(matrix 1 of the stack\)") as caught:
        tfr.linalg.solve_sylvester(a, [[2.0]], np.ones((3, 2, 1)))
    assert caught.value.op == "solve_sylvester"
    usable()
