"""Bad input for every function of linear algebra: the error, its fields, and a runtime that goes on working."""

import numpy as np
import pytest
from support import sample, value

import tenferro as tfr
from tenferro import errors

la = tfr.linalg

A = np.array([[4.0, 1.0], [1.0, 3.0]])
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
VECTOR = np.ones(2)

NAMES = [name for name in la.__all__ if name not in ("GaugeWarning", "LinAlgError", "gauge_warnings")]

# Functions of matrices that are square; of matrices of any shape; and those that take what they get, as NumPy's do.
SQUARE = set("cholesky det eig eigh eigvals eigvalsh expm funm_hermitian inv matrix_power slogdet solve solve_sylvester "
             "solve_triangular sqrtm tensorinv tensorsolve triangular_solve".split())
ANY = set("cond householder_product low_rank lstsq lu matrix_rank pinv polar qr rsvd svd svdvals".split())
PLAIN = set("cross diagonal kron matmul matrix_norm matrix_transpose multi_dot norm outer tensordot trace vecdot "
            "vector_norm".split())
HERMITIAN = set("cholesky eigh eigvalsh funm_hermitian".split())
REGULAR = set("cholesky inv matrix_power solve solve_sylvester solve_triangular tensorinv tensorsolve "
              "triangular_solve".split())

MORE = {                                # arguments after the first
    "solve": (VECTOR,), "triangular_solve": (VECTOR,), "solve_triangular": (VECTOR,), "lstsq": (VECTOR,),
    "tensorsolve": (VECTOR,), "tensorinv": (1,), "matrix_power": (-1,), "householder_product": (VECTOR,),
    "funm_hermitian": (tfr.exp,), "low_rank": (1,), "rsvd": (1,), "solve_sylvester": (A, A), "kron": (A,),
    "matmul": (A,), "tensordot": (A,), "vecdot": (A,), "cross": (np.ones(3),), "outer": (VECTOR,),
}  # fmt: skip
INNER = {                               # what does the work for it, which may be named instead
    "solve_triangular": {"triangular_solve"},
}  # fmt: skip
FIRST = {"cond": "x", "householder_product": "A"}


def call(name, a, *more):
    more = more or MORE.get(name, ())
    return la.multi_dot([a, A]) if name == "multi_dot" else getattr(la, name)(a, *more)


def tensors(result):
    return list(result) if isinstance(result, tuple) else [result]


def works(rt):
    """A gradient, a tangent, and a factorisation of each kind."""
    x = rt.variable_from(A)
    y = la.slogdet(x).logabsdet + tfr.sum(la.svdvals(x)) + tfr.sum(la.solve(x, VECTOR))
    found, tangent = value(rt.grad(y, x)), rt.jvp(y, x, A).item()
    inverse = np.linalg.inv(A)
    expected = inverse.T + np.eye(2) - np.outer(inverse.T @ VECTOR, inverse @ VECTOR)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert tangent == pytest.approx(np.sum(expected * A))


def refused(name, a, kind, match, argument=None):
    """The call raises for tracked and untracked input, and leaves the runtime as it was."""
    rt = tfr.EagerRuntime()
    for x in (rt.variable_from(a), rt.constant_from(a)):
        with pytest.raises(kind, match=match) as caught:
            call(name, x)
        assert caught.value.op in {name, *INNER.get(name, ())}
        if argument is not None:
            assert caught.value.argument == argument
        works(rt)
    return caught.value


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def test_every_function_is_in_one_group(name):
    assert [name in group for group in (SQUARE, ANY, PLAIN)].count(True) == 1


@pytest.mark.parametrize("name", sorted(SQUARE))
def test_not_square(name):
    refused(name, np.ones((2, 3)), errors.ShapeMismatchError, r"\(2, 3\)", "a")


@pytest.mark.parametrize("name", sorted(SQUARE | ANY))
def test_one_axis(name):
    error = refused(name, VECTOR, errors.ShapeMismatchError, r"\(2,\)", FIRST.get(name, "a"))
    assert isinstance(error, ValueError)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, complex(0, np.nan)], ids=str)
@pytest.mark.parametrize("name", sorted(SQUARE | ANY))
def test_not_finite(name, bad):
    """In the part of the matrix that every function reads."""
    a = A.astype(type(bad))
    a[1, 0] = a[0, 1] = bad
    refused(name, a, errors.ValidationError, "infinite", FIRST.get(name, "a"))


@pytest.mark.parametrize("ord", ["nuc", 2, -2])
@pytest.mark.parametrize("name", ["norm", "matrix_norm"])
def test_norms_of_singular_values_of_what_is_not_finite(name, ord):
    a = tfr.variable(np.array([[np.nan, 1], [1, 1]]))
    with pytest.raises(errors.ValidationError, match="infinite"):
        getattr(la, name)(a, ord=ord)
    works(a.runtime)


@pytest.mark.parametrize("name", ["norm", "matrix_norm", "vector_norm", "trace", "diagonal", "kron", "matmul", "outer"])
def test_functions_without_a_decomposition_take_what_is_not_finite(name):
    a = np.array([[np.nan, 1], [np.inf, 1]])
    a, more = (a[0], (VECTOR,)) if name == "outer" else (a, MORE.get(name, ()))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(value(call(name, a)), getattr(np.linalg, name, getattr(np, name, None))(a, *more))


@pytest.mark.parametrize("name", sorted(REGULAR))
def test_singular(name):
    a = SINGULAR
    if "triangular" in name:
        a = np.array([[1.0, 2.0], [0.0, 0.0]])
    elif name == "cholesky":
        a = np.diag([1.0, -1.0])
    elif name == "solve_sylvester":
        a = -A
    error = refused(name, a, errors.LinAlgError, "positive definite|singular|eigenvalue")
    assert isinstance(error, np.linalg.LinAlgError)
    assert isinstance(error, errors.NumericalError)
    if name not in ("solve_sylvester", "tensorsolve", "tensorinv", "matrix_power"):
        rt = tfr.EagerRuntime()
        with pytest.raises(errors.LinAlgError):
            call(name, rt.variable_from(np.stack([A, a])), *((np.ones((2, 2, 1)),) if "solve" in name else ()))
        works(rt)


@pytest.mark.parametrize("name", sorted((SQUARE | ANY) - REGULAR - {"householder_product"}))
def test_singular_matrices_are_no_exception_elsewhere(name):
    for x in tensors(call(name, SINGULAR)):
        assert not np.isnan(value(x)).any()


@pytest.mark.parametrize("name", sorted(HERMITIAN))
@pytest.mark.parametrize("a", [np.array([[2.0, 1.0], [0.5, 2.0]]), np.array([[2.0, 1.0j], [1.0j, 2.0]])],
                         ids=["real", "complex"])
def test_not_hermitian(name, a):
    refused(name, a, errors.ValidationError, "not Hermitian", "a")


def test_integers_are_promoted(name):
    """And bool; results that hold numbers are those of float64."""
    for a in (np.array([[4, 1], [1, 3]], np.int32), np.array([[4, 1], [1, 3]], np.uint8), np.eye(2, dtype=bool)):
        if name == "cross":
            a = np.ones((2, 3), a.dtype)
        elif name == "outer":
            a = a[0]
        found, expected = tensors(call(name, a)), tensors(call(name, a.astype(float)))
        for x, y in zip(found, expected, strict=True):
            if name not in PLAIN:
                assert x.dtype == y.dtype
            np.testing.assert_allclose(value(x), value(y), rtol=1e-14)


EMPTY = {                                # the result for a matrix without rows and columns, where NumPy's is an error
    "lu": [(0, 0)] * 3, "polar": [(0, 0)] * 2, "expm": [(0, 0)], "sqrtm": [(0, 0)], "funm_hermitian": [(0, 0)],
}


@pytest.mark.parametrize("name", sorted(EMPTY))
def test_empty_shapes(name):
    x = tfr.variable(np.zeros((0, 0)))
    found = tensors(call(name, x))
    assert [y.shape for y in found] == EMPTY[name]
    works(x.runtime)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 2, 2), (0, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("name", ["cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "pinv", "qr", "slogdet",
                                  "svd", "svdvals", "norm", "matrix_norm"])
def test_empty_as_numpy(name, shape):
    """Values as NumPy's where it has any, else an error; except that the pseudo-inverse has all shapes."""
    a = np.zeros(shape)
    if name in HERMITIAN | {"inv", "eig", "eigvals"} and shape[:1] == (0,) and len(shape) == 3:
        a = np.broadcast_to(np.eye(2), shape)
    try:
        expected = getattr(np.linalg, name)(a)
    except ValueError as error:
        if isinstance(error, np.linalg.LinAlgError) or name in ("norm", "matrix_norm"):
            with pytest.raises(errors.ValidationError):
                call(name, a)
        return
    for x, y in zip(tensors(call(name, a)), tensors(expected), strict=True):
        assert x.shape == y.shape
        assert (value(x) == y).all()


# ---- other arguments -------------------------------------------------------------------------------------------------

OTHER = [
    ("solve", (A, np.ones(3)), "b"), ("solve", (A, np.ones((3, 2))), "b"), ("lstsq", (A, np.ones(3)), "b"),
    ("triangular_solve", (A, np.ones(3)), "b"), ("qr", (A, "raw"), "mode"), ("eigh", (A, "X"), "UPLO"),
    ("eigvalsh", (A, "X"), "UPLO"), ("norm", (A, "x"), "ord"), ("solve_sylvester", (A, A, np.ones((3, 3))), "q"),
    ("householder_product", (A, np.ones(3)), "tau"), ("low_rank", (A, 3), "k"), ("low_rank", (A, -1), "k"),
    ("low_rank", (A, 1.5), "k"), ("rsvd", (A, 0), "k"), ("rsvd", (A, 3), "k"), ("polar", (A, "up"), "side"),
    ("tensorinv", (A, 0), "ind"), ("solve", (A, np.array([np.nan, 1])), "b"), ("lstsq", (A, np.array([np.nan, 1])), "b"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "argument"), OTHER, ids=lambda x: x if isinstance(x, str) else "")
def test_other_arguments(name, args, argument):
    rt = tfr.EagerRuntime()
    x = rt.variable_from(args[0])
    with pytest.raises(errors.ValidationError) as caught:
        getattr(la, name)(x, *args[1:])
    assert caught.value.op in {name, *INNER.get(name, ())}
    assert caught.value.argument == argument
    works(rt)


def test_tensors_of_two_runtimes():
    a, b = tfr.EagerRuntime().variable_from(A), tfr.EagerRuntime().variable_from(VECTOR)
    with pytest.raises(errors.ContextMismatchError, match="detach_into"):
        la.solve(a, b)
    works(a.runtime)
    works(b.runtime)


# ---- Fourier transforms ----------------------------------------------------------------------------------------------

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")
FOURIER = [
    *[(name, how, argument) for name in ONE for how, argument in (
        ({"n": 0}, "n"), ({"n": -1}, "n"), ({"n": 1.5}, "n"), ({"axis": 2}, "axis"), ({"axis": -3}, "axis"),
        ({"norm": "unit"}, "norm"))],
    *[(name, how, argument) for name in SEVERAL for how, argument in (
        ({"s": (2, 0)}, "s"), ({"s": (2, -2)}, "s"), ({"s": (2,), "axes": (0, 1)}, "s"), ({"axes": (0, 0)}, "axes"),
        ({"axes": (0, 2)}, "axis"), ({"norm": "unit"}, "norm"))],
]


@pytest.mark.parametrize(("name", "how", "argument"), FOURIER, ids=str)
def test_fourier(name, how, argument):
    """What SciPy refuses is refused, with the operation and argument, and derivatives can be taken afterwards."""
    import scipy.fft

    a = sample(np.random.default_rng(0), (2, 4), "f8")
    if name not in ("irfft", "hfft"):       # which take n=0 for 1
        with pytest.raises((ValueError, IndexError, RuntimeError, TypeError)):
            getattr(scipy.fft, name)(a, **how)
    rt = tfr.EagerRuntime()
    x = rt.variable_from(a)
    with pytest.raises(errors.ValidationError) as caught:
        getattr(tfr.fft, name)(x, **how)
    assert (caught.value.op, caught.value.argument) == (name, argument)
    y = getattr(tfr.fft, name)(x)
    total = tfr.sum(tfr.real(y * tfr.conj(y)))
    assert np.sum(value(rt.grad(total, x)) * a) == pytest.approx(2 * total.item())      # homogeneous of degree 2


# ---- axes and names ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("name", "how"), [("norm", {"axis": 2}), ("norm", {"axis": (0, -3)}), ("norm", {"axis": (0, -2)}),
                                           ("vector_norm", {"axis": -3}), ("vector_norm", {"axis": (1, 1)})])
def test_axes_of_norms(name, how):
    with pytest.raises(errors.AxisError, match=f"{name}: ax") as caught:
        getattr(la, name)(A, **how)
    assert (caught.value.op, caught.value.argument) == (name, "axis")


@pytest.mark.parametrize("name", ["trace", "diagonal"])
def test_a_vector_has_no_diagonal(name):
    with pytest.raises(errors.AxisError, match=f"{name}: x has 1 axes") as caught:
        getattr(la, name)([1.0, 2.0])
    assert (caught.value.op, caught.value.argument) == (name, "x")


def test_arguments_with_numpys_names():
    h = A + A.T
    np.testing.assert_allclose(value(la.pinv(h, hermitian=True)), np.linalg.pinv(h, hermitian=True))
    np.testing.assert_allclose(value(la.pinv(h, rtol=0.5)), np.linalg.pinv(h, rtol=0.5), atol=1e-14)
    assert la.matrix_rank(h, hermitian=True).item() == np.linalg.matrix_rank(h, hermitian=True)
    np.testing.assert_allclose(value(la.svd(h, hermitian=True).S), np.linalg.svd(h, hermitian=True).S)
    np.testing.assert_allclose(value(la.norm(h, axis=[0, 1], keepdims=True)), [[np.linalg.norm(h)]])
    with pytest.raises(errors.ValidationError, match="pinv: rcond and rtol"):
        la.pinv(h, 0.1, rtol=0.1)
    with pytest.raises(TypeError, match="matrix_power: n is an integer"):
        la.matrix_power(h, 0.5)


# ---- defective matrices ----------------------------------------------------------------------------------------------

JORDAN = np.array([[1.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e9])
@pytest.mark.parametrize(("name", "output"), [("eig", 0), ("eig", 1), ("eigvals", None)])
def test_defective_matrices_have_eigenvalues_without_derivatives(name, output, scale, dtype):
    a = (np.stack([A, JORDAN]) * scale).astype(dtype)
    rt = tfr.EagerRuntime()
    x = rt.variable_from(a)
    y = getattr(la, name)(x)
    y = y if output is None else y[output]
    for derivative in (lambda: rt.vjp(y, x, np.ones(y.shape, y.dtype)), lambda: rt.jvp(y, x, a)):
        with pytest.raises(errors.LinAlgError, match=r"defective \(to rounding\) \(matrix 1 of the stack\)") as caught:
            derivative()
        assert caught.value.op == name
    works(rt)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_equal_eigenvalues_alone_are_no_defect(dtype):
    rt = tfr.EagerRuntime()
    x = rt.variable_from(np.diag([2.0, 2.0, 1.0]).astype(dtype))
    y = tfr.sum(tfr.real(la.eigvals(x) ** 2))
    np.testing.assert_allclose(value(rt.grad(y, x)), np.diag([4.0, 4.0, 2.0]), atol=1e-14)


def test_values_captured_without_vectors_name_themselves():
    rt = tfr.EagerRuntime()
    x = rt.constant_from(JORDAN)
    with rt.capture_trace():
        y = la.eigvals(x)
    for derivative in (lambda: rt.vjp(y, x, np.ones(2, "c16")), lambda: rt.jvp(y, x, JORDAN)):
        with pytest.raises(errors.LinAlgError, match=r"eigvals \(derivative\): the matrix is defective") as caught:
            derivative()
        assert caught.value.op == "eigvals"
