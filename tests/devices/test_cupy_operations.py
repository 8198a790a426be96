"""Operations of the CuPy engine over the look-alike, where they are more than a function of CuPy's."""

import cupy_lookalike
import numpy as np
import pytest

import tenferro as tfr
from tenferro.errors import AxisError, UnsupportedError, ValidationError
from tenferro.testing import check_engine, check_grads
from tenferro_cupy import CupyEngine

pytestmark = pytest.mark.skipif(cupy_lookalike.COMPILER is None, reason="needs a C++ compiler")
RNG = np.random.default_rng(5)
A = RNG.standard_normal((4, 5))


@pytest.fixture
def rt(engine):
    return tfr.EagerRuntime(engine=engine)


@pytest.fixture
def put(rt):
    """Puts an array on the device."""
    def put(a, tracked=False):
        with rt.session() as s:
            x = s.constant_from_host(np.asarray(a))
        return rt.variable_from(x) if tracked else x
    return put


def host(x):
    return x.to_tensor().numpy()


SOME = ["exp", "matmul", "logsumexp", "take", "scatter_add", "sort", "softmax", "cumsum", "where", "pad", "linalg.svd",
        "fft.rfft"]


@pytest.mark.parametrize("operations", [SOME, pytest.param(None, marks=pytest.mark.sweep)], ids=["some", "all"])
def test_conforms(engine, operations):
    dtypes = ["float64", "complex64", "int32", "bool"] if operations else None
    report = check_engine(engine, operations=operations, dtypes=dtypes)
    failed = [row.operation for row in report.rows if row.failures]
    assert failed == [], str(report)


# ---- index arrays --------------------------------------------------------------------------------------------------------

def test_indices_beyond_an_axis_stand_for_its_nearest_end(put, machine):
    x = put(A)
    with machine.no_waiting():
        y = tfr.take(x, put(np.array([-9, -1, 0, 4, 99])), axis=1)
    np.testing.assert_array_equal(host(y), A[:, [0, 4, 0, 4, 4]])


def test_nothing_can_be_taken_from_an_empty_axis(put):
    with pytest.raises(AxisError, match="empty"):
        tfr.take(put(np.ones((2, 0))), put(np.array([0])), axis=1)


@pytest.mark.parametrize("count", [20, 50])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int8", "int64", "uint16"])
def test_equal_indices_add_up_in_their_order(put, dtype, count):
    """The bits are those of a loop from the first index to the last, for few indices and for many."""
    g = (RNG.standard_normal((count, 3)) * 100).astype(dtype)
    at = RNG.integers(-7, 7, count)
    want = np.zeros((7, 3), dtype)
    for k, i in enumerate(at):
        want[i] += g[k]
    for _ in range(2):
        found = tfr.scatter_add(put(np.zeros((7, 3), dtype)), put(at), put(g), axis=0)
        np.testing.assert_array_equal(host(found), want)


def test_the_last_of_equal_indices_wins(put):
    x, at, updates = np.zeros((4, 3)), np.array([2, 0, 2, -2]), np.arange(12.0).reshape(4, 3)
    found = tfr.scatter(put(x), put(at), put(updates), axis=0)
    want = x.copy()
    for k, i in enumerate(at):
        want[i] = updates[k]
    np.testing.assert_array_equal(host(found), want)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gradients_of_gathers(engine, axis):
    a, at = RNG.standard_normal((3, 4, 2)), RNG.integers(0, 2, (2, 2))
    check_grads(lambda x: tfr.sum(tfr.take(x, at, axis=axis) ** 2), [a], engine=engine)
    along = RNG.integers(0, 2, (3, 4, 2))
    check_grads(lambda x: tfr.sum(tfr.take_along_axis(x, along, axis=axis) ** 2), [a], engine=engine)


@pytest.mark.parametrize("starts", [(0, 0), (1, 2), (-5, 99)])
def test_windows_are_moved_inside(put, starts, machine):
    x, at = put(A), put(np.array(starts))
    with machine.no_waiting():
        y = tfr.dynamic_slice(x, at, (2, 3))
    i, j = (min(max(s, 0), n - m) for s, n, m in zip(starts, A.shape, (2, 3), strict=True))
    np.testing.assert_array_equal(host(y), A[i:i + 2, j:j + 3])


# ---- what looks at values ------------------------------------------------------------------------------------------------

def test_conversions_wait_and_refuse(engine, machine):
    cp, before = engine.cupy, len(machine.syncs)
    x = cp.asarray(np.array([1.0, 2.5, 3.0]))
    with pytest.raises(ValidationError, match=r"2\.5 of float64 cannot be represented in int32"):
        engine.convert(x, dtype=np.dtype("i4"))
    assert len(machine.syncs) > before
    assert engine.convert(cp.asarray(np.array([1.0, -2.0])), dtype=np.dtype("i4")).get().tolist() == [1, -2]


CONVERSIONS = [
    ([0, 255], "i8", "u1", True), ([0, 256], "i8", "u1", False), ([-1], "i8", "u8", False), ([2**63], "u8", "i8", False),
    ([2**63 - 1], "i8", "f8", False), ([2**53], "i8", "f8", True), ([2**24 + 1], "i4", "f4", False),
    ([1e300], "f8", "f4", False), ([2**31 - 1], "i4", "f8", True), ([2**63 + 1], "u8", "f8", False),
    ([0.1], "f8", "f4", True), ([np.inf, np.nan], "f8", "f4", True), ([np.nan], "f8", "i4", False), ([1e10], "f8", "i4", False),
    ([1 + 0j], "c16", "f4", True), ([1 + 1j], "c16", "f8", False), ([3 + 0j], "c8", "i2", True), ([2], "i4", "?", False),
    ([0, 1], "u2", "?", True), ([True], "?", "i1", True), ([2.0**63], "f8", "i8", False), ([-2.0**63], "f8", "i8", True),
    ([1e300 + 0j], "c16", "c8", False),
]


@pytest.mark.parametrize(("values", "given", "wanted", "fits"), CONVERSIONS)
def test_what_fits_a_dtype(engine, values, given, wanted, fits):
    a = np.array(values, given)
    x = engine.cupy.asarray(a)
    if fits:
        with np.errstate(all="ignore"):
            want = (a.real if a.dtype.kind == "c" and np.dtype(wanted).kind != "c" else a).astype(wanted)
        np.testing.assert_array_equal(engine.convert(x, dtype=np.dtype(wanted)).get(), want)
    else:
        with pytest.raises(ValidationError, match="cannot be represented"):
            engine.convert(x, dtype=np.dtype(wanted))


def test_integers_to_negative_powers(put):
    x = put(np.array([2, 3]))
    with pytest.raises(ValidationError, match="negative integer power"):
        x ** put(np.array([1, -1]))
    with pytest.raises(ValidationError, match="negative integer power"):
        x ** -1
    assert host(x ** put(np.array([3, 2]))).tolist() == [8, 9]


def test_positions_that_depend_on_values(put):
    a = np.array([3.0, np.nan, 1.0, 3.0, np.nan, -1.0])
    x = put(a)
    values, index, inverse, counts = tfr.unique(x, return_index=True, return_inverse=True, return_counts=True)
    want = np.unique(a, True, True, True)
    for found, wanted in zip((values, index, inverse, counts), want, strict=True):
        np.testing.assert_array_equal(host(found), wanted)
    np.testing.assert_array_equal(host(tfr.nonzero(x > 0)[0]), np.nonzero(a > 0)[0])
    np.testing.assert_array_equal(host(tfr.argsort(x)), np.argsort(a, kind="stable"))
    np.testing.assert_array_equal(host(tfr.sort(x, descending=True)), [np.nan, np.nan, 3, 3, 1, -1])


# ---- compositions ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5, 8, 13])
def test_linear_recurrences(engine, n, reverse):
    a, b = RNG.standard_normal((2, n)), RNG.standard_normal((2, n))
    y, previous = np.zeros((2, n)), np.zeros(2)
    for k in reversed(range(n)) if reverse else range(n):
        previous = y[:, k] = a[:, k] * previous + b[:, k]
    cp = engine.cupy
    found = engine.linear_scan(cp.asarray(a), cp.asarray(b), axis=1, reverse=reverse)
    np.testing.assert_allclose(found.get(), y, rtol=1e-12, atol=1e-12)


LABELS = {"ij,jk->ik": ((0, 1), (1, 2), (0, 2)), "ij,kj->": ((0, 1), (2, 1), ()), "i,j->ji": ((0,), (1,), (1, 0)),
          "bij,bj->ib": ((3, 0, 1), (3, 1), (0, 3)), "ij,->j": ((0, 1), (), (1,))}


@pytest.mark.parametrize("dtype", ["f8", "c8", "i2", "?"])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_contractions(engine, labels, dtype):
    size = {0: 3, 1: 4, 2: 2, 3: 5}
    a, b = ((RNG.standard_normal([size[k] for k in own]) * 2).astype(dtype) for own in labels[:2])
    found = engine.contract(engine.cupy.asarray(a), engine.cupy.asarray(b), labels=labels).get()
    wide = [x.astype("i8") if dtype == "?" else x for x in (a, b)]
    want = np.einsum(wide[0], list(labels[0]), wide[1], list(labels[1]), list(labels[2])).astype(dtype)
    assert found.dtype == want.dtype
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


def test_single_elements_are_repeated_in_contractions(engine):
    a, b = RNG.standard_normal((3, 1)), RNG.standard_normal((4, 2))
    found = engine.contract(engine.cupy.asarray(a), engine.cupy.asarray(b), labels=((0, 1), (1, 2), (0, 2)))
    np.testing.assert_allclose(found.get(), np.broadcast_to(a, (3, 4)) @ b, rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_polygamma(put, n, dtype):
    a = np.array([0.3, 2.5, 17.0, -0.5, -3.7])
    a = a + 1j * np.array([0.5, 0, -2, 0.1, 4]) if dtype == "complex128" else a
    np.testing.assert_allclose(host(tfr.polygamma(n, put(a))), tfr.polygamma(n, a).numpy(), rtol=1e-11)


def test_complex_gamma_functions(put):
    a = A + 1j * A.T[:4, :4].mean()
    np.testing.assert_allclose(host(tfr.lgamma(put(a))), tfr.lgamma(a).numpy(), rtol=1e-11)
    np.testing.assert_allclose(host(tfr.digamma(put(a))), tfr.digamma(a).numpy(), rtol=1e-11)


def test_what_cupy_has_nothing_for(put):
    with pytest.raises(UnsupportedError, match="erf") as e:
        tfr.erf(put(A + 0j))
    assert (e.value.engine, e.value.op) == ("cupy", "erf")


def test_memory_order_is_that_of_the_cpu_engine(put):
    for a in (np.asfortranarray(A), A, A[:, ::-1], A.T):
        x, y = put(a), tfr.constant(a.copy(order="K"))
        for f in (tfr.exp, tfr.sign, tfr.sigmoid, lambda t: tfr.sum(t[..., None] * t[:, None], axis=-1), tfr.matrix_transpose):
            assert f(x).value().strides == f(y).value().strides


# ---- groups of operations ------------------------------------------------------------------------------------------------

def loss(x, w):
    h = tfr.tanh(x * w + 1.0)
    return tfr.sum(h * h / (1.0 + tfr.exp(-h)))


@pytest.mark.parametrize("rows", [40, 1])
def test_derivatives_run_in_fewer_launches_with_the_same_bits(rt, put, machine, rows):
    a, b = RNG.standard_normal((40, 50)), RNG.standard_normal((rows, 50))
    x, w = put(a, True), put(b, True)
    grads, launches = [], []
    for _ in range(4):
        y = loss(x, w)
        before = len(machine.launches)
        grads.append([host(g) for g in rt.grad(y, [x, w])])
        launches.append([name for name, *_ in machine.launches[before:]])
    for found in grads[1:]:
        for g, first in zip(found, grads[0], strict=True):
            np.testing.assert_array_equal(g, first)
    assert len(launches[-1]) < len(launches[0]) / 2
    assert any(name.startswith("tenferro_") and name.count("_") > 3 for name in launches[-1])
    xs = tfr.variable(a), tfr.variable(b)
    loss(*xs).backward()
    for g, t in zip(grads[0], xs, strict=True):
        np.testing.assert_allclose(g, t.grad.numpy(), rtol=1e-12)


# ---- other libraries -----------------------------------------------------------------------------------------------------

def test_dlpack_without_copies(engine, rt, put):
    cp = engine.cupy
    x = put(A)
    assert x.__dlpack_device__() == (2, 0)
    y = cp.from_dlpack(x)
    np.testing.assert_array_equal(y.get(), A)
    mine = cp.asarray(A.copy())
    with rt.session():
        t = tfr.from_dlpack(mine)
        assert t.device == "cuda:0"
        mine[0, 0] = 7.0
        assert host(t)[0, 0] == 7.0


def test_a_subclass_may_compute_otherwise(cupy, machine):
    class Mine(CupyEngine):
        def exp(self, x):
            return self.cupy.exp2(x * 1.4426950408889634)

    engine = Mine(cupy, 1)
    assert engine.support()["exp"] == "own"
    with tfr.EagerRuntime().session(engine) as s:
        np.testing.assert_allclose(host(s.exp(s.constant_from_host(A))), np.exp(A), rtol=1e-14)
    assert {device for name, device, _ in machine.launches if name == "exp2"} == {1}
