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


def compare(name, args):
    """The function on tensors beside the same on arrays."""
    found = autoray.do(name, *map(converted, args), like="tenferro")
    wanted = autoray.do(name if name != "linalg.expm" else "scipy.linalg.expm", *args, like="numpy")
    if name not in ("allclose", "size"):
        assert all(isinstance(x, tfr.EagerTensor) for x in (found if isinstance(found, tuple) else [found]))
    for f, w in zip(numbers(found), numbers(wanted), strict=True):
        assert f.shape == w.shape
        assert f.dtype == w.dtype
        np.testing.assert_allclose(f, w, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", SAME)
def test_functions_of_autoray(name):
    compare(name, SAME[name])


OF_COMPLEX = ("abs allclose arccos arcsin arctan astype complex conj copy cos count_nonzero cumprod cumsum diag diagonal equal "
              "exp flip imag isfinite isnan kron log log10 log2 matmul multiply outer prod ravel real round sign sin sqrt "
              "squeeze stack sum tan tanh tensordot trace transpose tril where zeros_like "
              "linalg.inv linalg.norm linalg.pinv").split()
"""Functions that take complex arguments as well."""


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_functions_of_complex_arguments(name):
    def turned(x):
        return x * (0.8 + 0.6j) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x
    args = [[turned(y) for y in x] if isinstance(x, list) else turned(x) for x in SAME[name]]
    if name == "astype":
        args[1] = "complex64"
    if name == "complex":
        args = SAME[name]
    compare(name, args)


def close(found, wanted):
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-11, atol=1e-13)


def factors_to(found, wanted, scaled=False):
    """Two factors, or three of a singular value decomposition, make the matrix again."""
    last = found[-1]
    close(found[0] * found[1] @ last if scaled else found[0] @ last, wanted)


def reduced_svd(name, x, *rank):
    found = autoray.do(name, tfr.constant(x), *rank)
    assert tuple(f.shape for f in found) == ((4, 3), (3,), (3, 3))
    factors_to(found, x, True)


def eigen(name, x):
    w, v = autoray.do(name, tfr.constant(x))
    np.testing.assert_allclose(x @ v.numpy(), v.numpy() * w.numpy(), rtol=1e-12, atol=1e-13)


def qr(name):
    for x in (C[:, :3], C[:3], A):
        factors_to(autoray.do(name, tfr.constant(x)), x)


def lu(name):
    p, low, up = autoray.do(name, tfr.constant(C))
    close(p @ low @ up, C)


def lstsq(name):
    close(autoray.do(name, tfr.constant(A), tfr.constant(V))[0], np.linalg.solve(A, V))


def householder_product(name):
    tau = 2.0 / (1.0 + np.sum(np.tril(A[:, :2], -1) ** 2, 0))
    q = autoray.do(name, tfr.constant(np.tril(A[:, :2], -1)), tfr.constant(tau)).numpy()
    wanted = np.eye(4)
    for k in range(2):
        v = np.concatenate([np.zeros(k), [1.0], A[k + 1:, k]])
        wanted = wanted @ (np.eye(4) - tau[k] * np.outer(v, v))
    np.testing.assert_allclose(q, wanted[:, :2], atol=1e-14)


def single():
    return tfr.variable(A.astype(np.float32))


def empty_like(name):
    made = autoray.do(name, single())
    assert made.shape == (4, 4)
    assert made.dtype == np.float32


def draws(name):
    lowest, highest = (5.0, 6.0) if name == "random.uniform" else (4.0, 7.0)
    drawn = autoray.do(name, 5.0, 6.0 if name == "random.uniform" else 1e-3, (2, 3), like=single())
    assert drawn.shape == autoray.do(name, size=(2, 3), like="tenferro").shape == (2, 3)
    assert np.all((drawn.numpy() >= lowest) & (drawn.numpy() < highest))


def stop_gradient(name):
    x = autoray.do(name, single())
    assert not x.tracks_grad
    np.testing.assert_array_equal(x.numpy(), A.astype(np.float32))


def finfo(name):
    assert autoray.do(name, "float32", like="tenferro").eps == np.finfo(np.float32).eps


def to_numpy(name):
    found = autoray.do(name, single() * 2)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, A.astype(np.float32) * 2)


OTHERS = {
    "linalg.svd": lambda name: reduced_svd(name, C[:, :3]), "linalg.rsvd": lambda name: reduced_svd(name, C[:, :3], 3),
    "linalg.eigh": lambda name: eigen(name, S), "linalg.eig": lambda name: eigen(name, A), "linalg.qr": qr, "linalg.lu": lu,
    "linalg.lstsq": lstsq, "linalg.householder_product": householder_product, "empty_like": empty_like, "finfo": finfo,
    "random.normal": draws, "random.uniform": draws, "stop_gradient": stop_gradient, "to_numpy": to_numpy,
}
"""Function of autoray that is not compared to NumPy's -> its test."""


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions_of_autoray(name):
    OTHERS[name](name)


def test_all_names_that_are_looked_up_are_tested():
    assert set(tenferro.quimb.FUNCTIONS) <= {*SAME, *OTHERS}
    for name in (*SAME, *OTHERS):
        assert callable(autoray.get_lib_fn("tenferro", name))


def test_backends_dtypes_and_attributes():
    x = single()
    assert autoray.infer_backend(x) == "tenferro"
    assert autoray.get_dtype_name(x) == "float32"
    assert autoray.shape(x) == x.shape == (4, 4)
    assert autoray.ndim(x) == x.ndim == 2
    assert autoray.to_backend_dtype("complex64", like="tenferro") == np.complex64
    assert autoray.do("eye", 2, like=x).dtype == autoray.do("zeros", (2,), like=x).dtype == np.float32
    assert not any(hasattr(x, name) for name in ("align_axes", "align_to", "fuse", "unfuse", "blocks"))


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


def test_gradients_by_an_engine_with_memory_of_its_own():
    from remote_arrays import RemoteEngine

    def loss(arrays):
        x, y = arrays
        z = autoray.do("tensordot", x, autoray.do("conj", y), 1)
        return autoray.do("sum", autoray.do("real", z * z) ** 2)
    found = []
    for session in (tfr.session(), tfr.EagerRuntime().session(RemoteEngine())):
        with session:
            handler = tenferro.quimb.TenferroHandler()
            handler.setup_fn(loss)
            found.append([*handler.value_and_grad([A, C])[1], *handler.hessp([A, C], [B, C])])
    assert all(type(x) is np.ndarray for x in found[1])
    for x, y in zip(*found):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_nothing_is_left_to_load_for_the_first_gradient():
    found = run("import sys, autoray, numpy as np\n"
                "from tenferro.quimb import TenferroHandler\n"
                "def norm(x):\n"
                "    u, s, vh = autoray.do('linalg.svd', autoray.do('linalg.qr', x)[1])\n"
                "    return autoray.do('tensordot', u * s, vh, 1).sum()\n"
                "handler = TenferroHandler()\n"
                "handler.setup_fn(norm)\n"
                "before = {*sys.modules}\n"
                "assert handler.value_and_grad(np.diag([1.0, 2.0]))[1].shape == (2, 2)\n"
                "print({*sys.modules} - before)")
    assert found.stdout.strip() == "set()", found.stdout + found.stderr


def test_quimb_is_optional():
    found = run("import sys; sys.modules['quimb'] = None; import autoray, numpy, tenferro.quimb as q, tenferro as tfr\n"
                "assert autoray.do('linalg.svd', tfr.constant(numpy.ones((3, 2))))[0].shape == (3, 2)")
    assert found.returncode == 0, found.stderr


def test_the_error_without_autoray():
    found = run("import sys; sys.modules['autoray'] = None; import tenferro; import tenferro.quimb")
    assert "ImportError: tenferro.quimb needs autoray; install tenferro[quimb]" in found.stderr
