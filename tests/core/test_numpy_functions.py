"""NumPy's functions on eager tensors (``__array_function__``): values, dtypes and derivatives over the whole table."""

import numpy as np
import pytest
from support import value

import tenferro as tfr
from tenferro import EagerTensor
from tenferro._numpy import signals, statistics
from tenferro._numpy import values as on_values
from tenferro._numpy.functions import FUNCTIONS
from tenferro.testing import check_grads

RNG = np.random.default_rng(3)
V, W = np.array([0.7, -1.2, 2.5, 0.4]), np.array([1.1, 0.3, -0.6, 0.9])
A, B = RNG.standard_normal((2, 3)), RNG.standard_normal((2, 3))
S = RNG.standard_normal((3, 3)) + 3 * np.eye(3)
P = S @ S.T
Z = RNG.standard_normal((3, 3)) + 1j * RNG.standard_normal((3, 3))
C = RNG.standard_normal((2, 3, 4))
N = np.array([[1.0, np.nan, -2.0], [0.5, 3.0, 4.0]])
I3 = np.array([2, 0, 1])
BITS = np.array([True, False, True, True])

CASES = []


def function(name):
    """The function of NumPy that a dotted name means; None if this NumPy is too old for it."""
    f = np
    for part in name.split("."):
        f = getattr(f, part, None)
    return f


def case(name, *args, of=None, **kwargs):
    """One call, where NumPy has the function; `of` picks what is unique of the results."""
    if function(name) is not None:
        CASES.append((name, args, kwargs, of))


for name in "all any argmax argmin argsort count_nonzero max min amax amin mean prod std sum var ptp average".split():
    case(name, A)
    case(name, A, 1)
    case(name, A, axis=0)
for name in "max min amax amin mean prod std sum var ptp average any all argmax count_nonzero".split():
    case(name, A, axis=-1, keepdims=True)
for name in "mean prod std sum var".split():
    case(name, np.float32(A), axis=0, dtype=np.float64)
for name in "mean prod sum".split():
    case(name, A, axis=0, dtype=np.complex128)
for name in "std var".split():
    case(name, A, ddof=1)
    case(name, A, axis=0, correction=1)
for name in "cumprod cumsum nancumprod nancumsum nanmax nanmean nanmin nanprod nansum".split():
    case(name, A)
    case(name, N if name.startswith("nan") else C, 1)
case("cumulative_sum", A, axis=1)
case("cumulative_prod", V)
case("average", A, weights=np.abs(B))
case("average", A, 1, np.array([1.0, 2.0, 3.0]))
case("average", A, axis=0, returned=True)
for name in "around round fix fliplr flipud flip ravel transpose permute_dims matrix_transpose copy nan_to_num".split():
    case(name, A * 3)
for name in "real imag angle iscomplex isreal iscomplexobj isrealobj real_if_close".split():
    case(name, A)
    case(name, Z)
case("angle", Z, deg=True)
case("real_if_close", A + 0j)
case("round", A * 100, 1)
case("copy", A, order="F")
case("nan_to_num", np.array([np.nan, np.inf, -np.inf, 1.0]))
case("nan_to_num", np.array([np.nan, np.inf, -np.inf, 1.0]), nan=2.0, posinf=3.0, neginf=4.0)
case("astype", A, np.float32)
case("clip", A, -0.5, 0.5)
case("clip", A, None, 0.5)
case("clip", A, a_max=0.1, a_min=None)
if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
    case("clip", A, min=-0.2)
    case("clip", A, max=0.2, min=-0.1)
case("where", A > 0, A, B)
case("where", A > 0)
case("where", A > 0, 0.0, B)
case("select", [A > 1, A > 0], [A, B * 2], 5.0)
case("diff", A)
case("diff", A, 2, 1)
case("diff", V, prepend=0.0, append=W)
case("ediff1d", A, to_end=W)
case("trapezoid", A)
case("trapezoid", A, dx=0.5, axis=0)
case("trapezoid", C, np.array([0.0, 1.0, 3.0]), axis=1)
case("trapezoid", V, np.cumsum(np.abs(W)))
case("polyval", W, A)
for name in "zeros_like ones_like empty_like".split():
    case(name, A, of=lambda r: r * 0)
    case(name, A, dtype=np.float32, of=lambda r: r * 0)
case("full_like", A, 2.5)
case("linspace", V, W, 5)
case("linspace", 0.0, V, 4, endpoint=False, axis=-1)

for name in "hstack vstack dstack column_stack block".split():
    case(name, [A, B])
case("column_stack", [V, W])
case("dstack", [V, W])
case("block", [[A, B], [B, A]])
case("block", [V, 1.0, W])
for name in "concat concatenate stack".split():
    case(name, [A, B])
    case(name, (A, B), 1)
    case(name, [A, B], axis=-1, dtype=np.complex128)
case("append", A, B)
case("append", A, B, axis=0)
case("split", C, 2)
case("split", C, [1, 3], 2)
case("array_split", V, 3)
case("hsplit", C, 3)
case("hsplit", V, 2)
case("vsplit", A, 2)
case("dsplit", C, 2)
case("unstack", A, axis=1)
case("reshape", A, (3, 2))
case("reshape", A, -1, order="F")
case("ravel", A, order="F")
case("transpose", C, (2, 0, 1))
case("permute_dims", C, axes=(1, 0, 2))
case("moveaxis", C, 0, -1)
case("rollaxis", C, 2)
case("swapaxes", C, 0, 2)
case("squeeze", A[None])
case("squeeze", A[None, :, None], axis=2)
case("expand_dims", A, (0, 2))
case("broadcast_to", V, (3, 4))
case("broadcast_arrays", A, A[:1], 2.0)
for name in "atleast_1d atleast_2d atleast_3d".split():
    case(name, np.float64(2.0) * np.ones(()))
    case(name, V)
    case(name, A, V)
case("meshgrid", V, W[:3])
case("meshgrid", V, W[:3], C[0, 0], indexing="ij", sparse=True)
case("flip", C, (0, 2))
case("roll", A, 1)
case("roll", A, (1, 2), (0, 1))
case("rot90", A)
case("rot90", C, 3, axes=(1, 2))
case("tile", A, (2, 1, 2))
case("repeat", A, 2)
case("repeat", A, [1, 2, 0], axis=1)
case("resize", A, (3, 4))
case("delete", A, 1, axis=1)
case("delete", V, [0, 2])
case("pad", A, 1)
case("pad", A, ((0, 1), (2, 0)), "constant", constant_values=2.0)
case("pad", A, 1, mode="reflect")
case("tril", S)
case("triu", S, 1)
case("diag", V)
case("diag", S, 1)
case("diagflat", A, -1)
case("diagonal", C, 1, 0, 2)
case("trace", S)
case("trace", C, 1, 1, 2)
case("take", A, I3[:2])
case("take", A, [0, 2], axis=1)
case("take_along_axis", A, I3[None] * np.ones((2, 1), int), axis=1)
case("compress", BITS, V)
case("compress", [True, False, True], A, axis=1)
case("extract", BITS, V)
case("sort", A)
case("sort", A, axis=None)
case("sort", A, kind="stable")
case("searchsorted", np.sort(V), W)
case("searchsorted", np.sort(V), 0.5, side="right")
case("nonzero", A > 0)
for name in "unique unique_all unique_counts unique_inverse unique_values".split():
    case(name, np.array([2.0, 1.0, 2.0, 3.0]))
case("unique", np.array([2.0, 1.0, 2.0]), return_counts=True)

case("dot", A, A.T.copy())
case("dot", V, W)
case("inner", A, B)
case("outer", V, W)
case("vdot", Z, Z * (1 + 1j))
case("kron", A, S)
case("cross", A, B)
case("cross", A.T.copy(), B, axisa=0)
case("tensordot", C, C, axes=([0, 2], [0, 2]))
case("tensordot", A, S, 1)
case("einsum", "ij,kj->ik", A, B)
case("einsum", A, [0, 1], B, [2, 1], [0, 2])
case("einsum", "ij,jk,kl->il", A, S, S, optimize=True)

for name in "array_equal array_equiv allclose isclose shares_memory".split():
    if name != "shares_memory":
        case(name, A, B)
        case(name, A, A.copy())
for name in "argwhere flatnonzero isneginf isposinf ndim shape size min_scalar_type array_str array2string".split():
    case(name, A)
case("size", A, 1)
case("result_type", A, np.float32)
case("common_type", A, Z)
case("can_cast", A.dtype, np.float32)
case("argpartition", V, 2)
case("nanargmax", N, axis=1)
case("nanargmin", N)
case("bincount", I3)
case("digitize", V, np.array([0.0, 1.0, 2.0]))
case("histogram", V, bins=3)
case("histogram_bin_edges", V)
case("isin", V, W)
case("ix_", I3, I3)
case("lexsort", (V, W))
case("packbits", BITS)
case("unpackbits", np.array([3, 7], np.uint8))
case("ravel_multi_index", (I3, I3), (4, 4))
case("unravel_index", I3, (2, 2))
case("tril_indices_from", S)
case("triu_indices_from", S)

case("linalg.cholesky", P)
case("linalg.cholesky", P, upper=True)
case("linalg.cond", S)
case("linalg.cross", A, B)
case("linalg.det", S)
case("linalg.diagonal", C, offset=1)
case("linalg.eig", S, of=lambda r: np.sum(r[0]))
case("linalg.eigvals", S, of=np.sum)
case("linalg.eigh", P, of=lambda r: r.eigenvalues)
case("linalg.eigh", P, "U", of=lambda r: r[0])
case("linalg.eigvalsh", P)
case("linalg.inv", S)
case("linalg.lstsq", np.vstack([S, A]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]), of=lambda r: r[0])
case("linalg.matmul", A, S)
case("linalg.matrix_norm", A)
case("linalg.matrix_norm", A, ord=2, keepdims=True)
case("linalg.matrix_power", S, 3)
case("linalg.matrix_rank", S)
case("linalg.matrix_transpose", C)
case("linalg.multi_dot", [A, S, S])
case("linalg.norm", A)
case("linalg.norm", A, 2)
case("linalg.norm", A, axis=1, ord=3)
case("linalg.outer", V, W)
case("linalg.pinv", A)
case("linalg.qr", S, of=lambda r: np.abs(r.R))
case("linalg.qr", S, mode="r", of=np.abs)
case("linalg.slogdet", S)
case("linalg.solve", S, A.T.copy())
case("linalg.svd", A, full_matrices=False, of=lambda r: (r.U * r.S) @ r.Vh)
case("linalg.svd", A, compute_uv=False)
case("linalg.svdvals", A)
case("linalg.tensordot", A, B, axes=2)
case("linalg.tensorinv", np.eye(24).reshape(4, 6, 2, 3, 4) + 0.1 * RNG.standard_normal((4, 6, 2, 3, 4)))
case("linalg.tensorsolve", np.eye(6).reshape(2, 3, 6) + 0.1 * RNG.standard_normal((2, 3, 6)), A)
case("linalg.trace", S, offset=1)
case("linalg.vecdot", A, B)
case("linalg.vector_norm", A, axis=0)

for name in "fft fft2 fftn ifft ifft2 ifftn".split():
    case("fft." + name, A + 1j * B)
    case("fft." + name, A, norm="ortho")
for name in "rfft rfft2 rfftn ihfft fftshift ifftshift".split():
    case("fft." + name, A)
for name in "irfft irfft2 irfftn hfft".split():
    case("fft." + name, Z)
case("fft.fft", A, 4, 0)
case("fft.rfftn", C, s=(4, 3), axes=(0, 2))


def replaced(args, change):
    """Arguments with every array in them replaced."""
    if isinstance(args, np.ndarray):
        return change(args)
    if isinstance(args, (list, tuple)):
        return type(args)(replaced(a, change) for a in args)
    return args


def flat(result):
    """The single results of a call."""
    return [y for r in result for y in flat(r)] if isinstance(result, (tuple, list)) else [result]


def compare(found, expected):
    found, expected = flat(found), flat(expected)
    assert len(found) == len(expected)
    for x, a in zip(found, expected, strict=True):
        if not isinstance(x, EagerTensor):
            assert type(x) is type(a)
            assert x == a or (isinstance(a, np.ndarray) and x.shape == a.shape)
            continue
        a = np.asarray(a)
        assert (x.dtype, x.shape) == (a.dtype, a.shape)
        np.testing.assert_allclose(value(x), a, rtol=1e-12, atol=1e-13)


IDS = [f"{name}-{i}" for i, (name, *_) in enumerate(CASES)]


@pytest.mark.parametrize("make", [tfr.constant, tfr.variable], ids=["constant", "variable"])
@pytest.mark.parametrize(("name", "args", "kwargs", "of"), CASES, ids=IDS)
def test_values(name, args, kwargs, of, make):
    f = function(name)
    tensors, words = (replaced(x, lambda a: make(a) if a.dtype.kind in "fc" else tfr.constant(a))
                      for x in (args, list(kwargs.values())))
    expected, found = f(*args, **kwargs), f(*tensors, **dict(zip(kwargs, words, strict=True)))
    if of is not None:
        expected, found = of(expected), of(found)
    compare(found, expected)


def inexact(args, kwargs):
    """The arguments that derivatives are taken for, in order."""
    found = []
    replaced([list(args), list(kwargs.values())], lambda a: found.append(a) if a.dtype.kind in "fc" else None)
    return found


NO_DERIVATIVE = {*on_values.TABLE, "zeros_like", "ones_like", "empty_like", "full_like"}
NO_DERIVATIVE |= {name for name, *_ in CASES if name.startswith("unique")} | {"real_if_close", "astype"}
HERMITIAN = ("linalg.cholesky", "linalg.eigh", "linalg.eigvalsh")


def differentiable(name, args, kwargs, of):
    """Whether a case has a derivative to compare with differences."""
    arrays = inexact(args, kwargs)
    if name in NO_DERIVATIVE or not arrays or not all(np.isfinite(a).all() for a in arrays):
        return False
    result = function(name)(*args, **kwargs)
    return any(np.asarray(r).dtype.kind in "fc" for r in flat(result if of is None else of(result)))


DIFFERENTIABLE = [(c, i) for c, i in zip(CASES, IDS, strict=True) if differentiable(*c)]


@pytest.mark.parametrize(("name", "args", "kwargs", "of"), [c for c, _ in DIFFERENTIABLE], ids=[i for _, i in DIFFERENTIABLE])
def test_derivatives(name, args, kwargs, of):
    f = function(name)

    def run(*xs):
        xs = iter([(x + x.mT) / 2 for x in xs] if name in HERMITIAN else xs)
        tensors, words = (replaced(x, lambda a: next(xs) if a.dtype.kind in "fc" else a)
                          for x in (args, list(kwargs.values())))
        result = f(*tensors, **dict(zip(kwargs, words, strict=True)))
        return [r for r in flat(result if of is None else of(result)) if isinstance(r, EagerTensor)]

    check_grads(run, inexact(args, kwargs), order=1, rtol=1e-5, atol=1e-5)


def test_every_function_has_a_case():
    named = {function(name) for name, *_ in CASES}
    other = {function(name) for name in (*on_values.EXPORTS, *on_values.WRITES, "array_repr", "einsum_path",
                                         *statistics.TABLE, *signals.TABLE)}          # in test_numpy_statistics
    assert set(FUNCTIONS) - named - other == set()


def test_single_functions():
    path = np.einsum_path("ij,jk,kl->il", tfr.variable(A), S, S)
    assert sorted(k for pair in path[0][1:] for k in pair) == [0, 0, 1, 1]
    x = tfr.variable(A)
    assert np.array_repr(x) == repr(x)
    y = np.astype(x, np.complex64)
    assert (y.dtype, y.tracks_grad) == (np.complex64, True)
    z = tfr.variable([1.0 + 1e-20j, 2.0])
    assert np.real_if_close(z).dtype == np.float64
    assert np.real_if_close(z).tracks_grad
