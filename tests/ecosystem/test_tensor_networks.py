"""autoray, opt_einsum and cotengra on tensors: values against NumPy, gradients against central differences."""

import subprocess
import sys

import numpy as np
import pytest

import tenferro as tfr

autoray = pytest.importorskip("autoray")
oe = pytest.importorskip("opt_einsum")

import tenferro.quimb  # noqa: E402

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 4, 4))
S, V, U = A @ A.T + 4 * np.eye(4), RNG.normal(size=4), np.array([0.1, 0.5, 0.7])
C = A + 1j * B

ONE = ("abs conj cos diagonal exp flip imag isfinite isnan max min prod ravel real round sign sin squeeze sum tan tanh trace "
       "transpose tril triu zeros_like count_nonzero copy diag size").split()

SAME = {
    **dict.fromkeys(ONE, (A,)),
    **dict.fromkeys("arccos arcsin arctan log log2 log10 sqrt".split(), (U,)),
    **dict.fromkeys("argmax argmin argsort cumprod cumsum array".split(), (V,)),
    **dict.fromkeys("add allclose complex equal isclose kron matmul maximum minimum multiply subtract".split(), (A, B)),
    "astype": (A, "complex128"), "clip": (A, -0.5, 0.5), "concatenate": ([A, B],), "stack": ([A, B],), "arange": (5,),
    "einsum": ("ij,jk->ik", A, C), "expand_dims": (A, 0), "eye": (3,), "indices": ((2, 3),), "ones": ((2, 3),),
    "zeros": ((2, 3),), "outer": (V, V), "pad": (A, [[0, 1], [0, 2]], "constant"), "reshape": (A, (2, 8)),
    "swapaxes": (A, 0, 1), "take": (A, np.array([2, 0]), 0), "take_along_axis": (A, np.argsort(A, 0), 0),
    "tensordot": (A, C, 1), "where": (A > 0, A, B), "linalg.cholesky": (S,), "linalg.inv": (S,), "linalg.norm": (C,),
    "linalg.pinv": (A[:, :2],), "linalg.solve": (S, V), "linalg.expm": (A,), "scipy.linalg.expm": (C,),
    "scipy.linalg.solve_triangular": (np.triu(S), V), "scipy.linalg.lu": (C,), "linalg.eigvalsh": (S,),
}
"""Function of autoray -> arguments."""


def converted(x):
    if isinstance(x, np.ndarray):
        return tfr.constant(x)
    if isinstance(x, list) and isinstance(x[0], np.ndarray):
        return [tfr.constant(a) for a in x]
    return x


def numbers(x):
    return [np.asarray(a) for a in (x if isinstance(x, tuple) else (x,))]


@pytest.mark.parametrize("name", SAME)
def test_functions_of_autoray(name):
    args = SAME[name]
    found = autoray.do(name, *map(converted, args), like="tenferro")
    wanted = autoray.do(name if name != "linalg.expm" else "scipy.linalg.expm", *args, like="numpy")
    if name not in ("allclose", "size"):
        assert all(isinstance(x, tfr.EagerTensor) for x in (found if isinstance(found, tuple) else [found]))
    for f, w in zip(numbers(found), numbers(wanted), strict=True):
        assert f.shape == w.shape
        assert f.dtype == w.dtype
        np.testing.assert_allclose(f, w, rtol=1e-12, atol=1e-14)


def test_factorisations_of_autoray():
    x = tfr.constant(C[:, :3])
    do = autoray.do
    u, s, vh = do("linalg.svd", x)
    assert (u.shape, s.shape, vh.shape) == ((4, 3), (3,), (3, 3))
    np.testing.assert_allclose(((u * s) @ vh).numpy(), C[:, :3], rtol=1e-12)
    q, r = do("linalg.qr", x)
    np.testing.assert_allclose((q @ r).numpy(), C[:, :3], rtol=1e-12)
    w, v = do("linalg.eigh", tfr.constant(S))
    np.testing.assert_allclose(S @ v.numpy(), v.numpy() * w.numpy(), rtol=1e-12, atol=1e-13)
    w, v = do("linalg.eig", tfr.constant(A))
    np.testing.assert_allclose(A @ v.numpy(), v.numpy() * w.numpy(), rtol=1e-12, atol=1e-13)
    u, s, vh = do("linalg.rsvd", tfr.constant(C), 4)
    np.testing.assert_allclose(((u * s) @ vh).numpy(), C, rtol=1e-12)
    found = do("linalg.lstsq", tfr.constant(A), tfr.constant(V))[0]
    np.testing.assert_allclose(A @ found.numpy(), V, rtol=1e-11, atol=1e-13)
    tau = 2.0 / (1.0 + np.sum(np.tril(A[:, :2], -1) ** 2, 0))
    q = do("linalg.householder_product", tfr.constant(np.tril(A[:, :2], -1)), tfr.constant(tau)).numpy()
    np.testing.assert_allclose(q.T @ q, np.eye(2), atol=1e-14)


def test_creation_draws_and_conversion_of_autoray():
    x = tfr.variable(A.astype(np.float32))
    do = autoray.do
    assert do("eye", 2, like=x).dtype == do("zeros", (2,), like=x).dtype == np.float32
    assert do("empty_like", x).shape == (4, 4)
    assert do("random.normal", 0.0, 1.0, (2, 3), like=x).shape == do("random.uniform", size=(2, 3), like=x).shape == (2, 3)
    assert autoray.get_dtype_name(x) == "float32"
    assert autoray.infer_backend(x) == "tenferro"
    assert do("finfo", "float32", like="tenferro").eps == np.finfo(np.float32).eps
    assert autoray.to_backend_dtype("complex64", like="tenferro") == np.complex64
    assert type(autoray.to_numpy(x)) is np.ndarray
    np.testing.assert_array_equal(autoray.to_numpy(x * 2), x.detach().numpy() * 2)
    assert not do("stop_gradient", x).tracks_grad


def check(f, *arrays):
    """Value of f against NumPy, gradient of its real part against central differences."""
    value, gradients = tfr.value_and_grad(f, argnums=tuple(range(len(arrays))))(*map(tfr.constant, arrays))
    np.testing.assert_allclose(value.detach().numpy(), f(*arrays), rtol=1e-12)
    rng = np.random.default_rng(1)
    draw = [rng.normal(size=a.shape) + (1j * rng.normal(size=a.shape) if a.dtype.kind == "c" else 0) for a in arrays]
    h = 1e-5
    ahead, back = (f(*[a + s * h * d for a, d in zip(arrays, draw)]) for s in (1, -1))
    along = sum(np.sum(g.detach().numpy().conj() * d).real for g, d in zip(gradients, draw))
    np.testing.assert_allclose(along, np.real(ahead - back) / (2 * h), rtol=1e-6)


def ring(dtype, n=5):
    """A closed chain of n matrices with a leg of length 2 each, contracted with itself."""
    rng = np.random.default_rng(2)
    arrays = [rng.normal(size=(3, 2, 3)) + (1j * rng.normal(size=(3, 2, 3)) if dtype == "complex128" else 0) for _ in range(n)]
    ket = [(f"a{i}", f"p{i}", f"a{(i + 1) % n}") for i in range(n)]
    bra = [(f"b{i}", f"p{i}", f"b{(i + 1) % n}") for i in range(n)]
    return arrays, ket, bra


def letters(inputs):
    """Index names as one letter each, in an equation without result indices."""
    names = {name: chr(97 + k) for k, name in enumerate(dict.fromkeys(i for term in inputs for i in term))}
    return ",".join("".join(names[i] for i in term) for term in inputs) + "->"


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_opt_einsum(dtype):
    arrays, ket, bra = ring(dtype)
    equation = letters(ket + bra)
    expression = oe.contract_expression(equation, *[a.shape for a in arrays * 2])

    def whole(*xs):
        return oe.contract(equation, *xs, *[x.conj() for x in xs]) / 100

    def compiled(*xs):
        return expression(*xs, *[x.conj() for x in xs]) / 100
    check(whole, *arrays)
    check(compiled, *arrays)


@pytest.mark.parametrize("sliced", [False, True])
@pytest.mark.parametrize("stripped", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_cotengra(dtype, stripped, sliced):
    ctg = pytest.importorskip("cotengra")
    arrays, ket, bra = ring(dtype)
    sizes = {i: n for term, a in zip(ket + bra, arrays * 2) for i, n in zip(term, a.shape)}
    tree = ctg.array_contract_tree(ket + bra, (), sizes, optimize="greedy")
    if sliced:
        tree.slice_(target_slices=2)

    def logarithm(*xs):
        found = tree.contract([*xs, *[x.conj() for x in xs]], strip_exponent=stripped)
        mantissa, exponent = found if stripped else (found, 0.0)
        return autoray.do("log10", abs(mantissa)) + exponent
    check(logarithm, *arrays)


def test_contraction_functions_of_cotengra():
    ctg = pytest.importorskip("cotengra")
    check(lambda x, y: ctg.einsum("ij,jk,ki->", x, y, x), A, B)
    found = ctg.array_contract([tfr.constant(A), tfr.constant(C)], [("i", "j"), ("j", "k")], ("k", "i"))
    np.testing.assert_allclose(found.numpy(), (A @ C).T, rtol=1e-12)


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_quimb_is_optional():
    found = run("import sys; sys.modules['quimb'] = None; import autoray, numpy, tenferro.quimb as q, tenferro as tfr\n"
                "assert autoray.do('linalg.svd', tfr.constant(numpy.ones((3, 2))))[0].shape == (3, 2)")
    assert found.returncode == 0, found.stderr


def test_the_error_without_autoray():
    found = run("import sys; sys.modules['autoray'] = None; import tenferro; import tenferro.quimb")
    assert "ImportError: tenferro.quimb needs autoray; install tenferro[quimb]" in found.stderr
