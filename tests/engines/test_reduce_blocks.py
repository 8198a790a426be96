"""Reductions of arrays larger than one block, by every way through memory: sums against exact ones, corner values anywhere."""

import ctypes
import itertools
import math
import mmap

import numpy as np
import pytest
from support import ALL_DTYPES, COMPLEX_DTYPES, DIFF_DTYPES, INT_DTYPES, REAL_DTYPES, assert_same, const, random_layout, sample

import tenferro as tfr
from tenferro_cpu import CpuEngine

NAN, INF = np.nan, np.inf
SHAPES = [(4099,), (1031, 67), (67, 1031), (2500, 3), (3, 2500), (5, 4097), (33, 1, 5, 41), (9, 70, 11), (2, 3, 300, 2)]


def all_axes(rank):
    return [axes for n in range(rank + 1) for axes in itertools.combinations(range(rank), n)]


def layouts_of(a, rng):
    """Row-major, column-major, reversed, two others; `a` itself stays as it is."""
    yield a
    yield np.asfortranarray(a)
    yield a[tuple(slice(None, None, -1) for _ in a.shape)]
    yield random_layout(a, rng)
    yield random_layout(a, rng)


def wide(a):
    return a.astype(np.clongdouble if a.dtype.kind == "c" else np.longdouble)


def parts(a):
    """Real and imaginary parts side by side."""
    return np.stack([a.real, a.imag]) if a.dtype.kind == "c" else a[None]


# ---- sums ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_are_accurate(shape, dtype):
    """Within a few roundings per doubling of the number of elements, along any axes of any layout."""
    rng = np.random.default_rng(1)
    x = sample(rng, shape, dtype)
    eps = np.finfo(dtype).eps
    for a in layouts_of(x, rng):
        for axes in all_axes(a.ndim):
            exact = parts(wide(a).sum(axes))
            bound = (4 + math.log2(1 + a.size)) * eps * np.abs(parts(wide(a))).sum(tuple(k + 1 for k in axes))
            for y in (tfr.sum(const(a), axes), tfr.mean(const(a), axes) * (a.size // max(exact[0].size, 1))):
                assert y.dtype == dtype
                assert np.all(np.abs(parts(y.numpy()) - exact) <= bound)


@pytest.mark.parametrize("dtype", REAL_DTYPES, ids=str)
@pytest.mark.parametrize(("shape", "axis"), [((1 << 16,), 0), ((3000, 40), 0), ((40, 3000), 1), ((20000, 3), 0),
                                             ((50, 8, 60), (0, 2))])
def test_sums_are_no_worse_than_numpys(shape, axis, dtype):
    rng = np.random.default_rng(2)
    ours = numpys = 0
    for _ in range(8):
        x = sample(rng, shape, dtype, 0, 1)
        exact = wide(x).sum(axis)
        ours += np.mean(np.square(tfr.sum(const(x), axis).numpy() / exact - 1))
        numpys += np.mean(np.square(np.sum(x, axis) / exact - 1))
    assert ours <= 2 * numpys + np.finfo(dtype).eps ** 2


@pytest.mark.parametrize("dtype", [np.dtype("?"), *INT_DTYPES], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_integers_are_exact(shape, dtype):
    rng = np.random.default_rng(3)
    x = np.asarray(rng.integers(0, 2, shape) if dtype.kind == "b" else rng.integers(
        np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True), dtype)
    for a in layouts_of(x, rng):
        for axes in all_axes(a.ndim):
            assert_same(tfr.sum(const(a), axes), np.sum(a, axes))
            assert_same(tfr.sum(const(a), axes, dtype=dtype), np.sum(a, axes, dtype=dtype))


@pytest.mark.parametrize("shape", [(4096, 70), (2049, 101), (10_001, 20), (70, 2047), (129, 1100), (8, 600, 64)], ids=str)
def test_sums_of_rows_with_any_number_of_threads(shape):
    for dtype in ("float32", "float64", "complex64", "complex128", "int64"):
        x = const(sample(np.random.default_rng(9), shape, dtype))
        want = tfr.sum(x, axis=-2).numpy()
        for count in (1, 2, 3, 8):
            with tfr.session(CpuEngine.threaded(count)):
                assert tfr.sum(const(x.numpy()), axis=-2).numpy().tobytes() == want.tobytes()


def test_elements_of_any_size():
    """No element is lost or counted twice, whatever the lengths."""
    for n in (*range(1, 40), 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 513, 1023, 1025, 8191, 8193):
        for dtype in ("f4", "f8", "c8", "c16"):
            assert tfr.sum(np.ones(n, dtype)).numpy() == n
            assert tfr.sum(const(np.ones((n, 2), dtype)[:, 1])).numpy() == n
        for m in (1, 2, 3, 15, 16, 17, 1025):
            for a in (np.ones((n, m)), np.ones((n, m), "c8")) if n * m < 100_000 else ():
                assert np.all(tfr.sum(const(a), 0).numpy() == n)
                assert np.all(tfr.sum(const(a.T), 1).numpy() == n)
                assert np.all(tfr.sum(const(np.asfortranarray(a)), 0).numpy() == n)
                assert np.all(tfr.var(const(a), 0).numpy() == 0)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("shape", [(700,), (300, 3), (70, 40), (3, 300)], ids=str)
def test_special_values_anywhere(shape, value):
    for dtype in REAL_DTYPES:
        for place in np.random.default_rng(4).integers(0, math.prod(shape), 20):
            x = np.ones(shape, dtype)
            x.flat[place] = value
            for axes in all_axes(len(shape)):
                for name in ("sum", "mean", "max", "min", "any", "all", "count_nonzero"):
                    assert_same(getattr(tfr, name)(const(x), axes), getattr(np, name)(x, axes), rtol=1e-6)
                with np.errstate(invalid="ignore"):
                    assert_same(tfr.var(const(x), axes), np.var(x, axes), rtol=1e-5)


@pytest.mark.parametrize("dtype", REAL_DTYPES, ids=str)
def test_subnormal_numbers_and_signed_zeros(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    for shape in [(5,), (1000,), (200, 3), (100, 40), (3, 500)]:
        for axes in all_axes(len(shape))[1:]:
            n = math.prod(shape[k] for k in axes)
            assert np.all(tfr.sum(const(np.full(shape, tiny)), axes).numpy() == n * tiny)
            assert np.all(np.signbit(tfr.sum(const(np.full(shape, dtype.type(-0.0))), axes).numpy()))
            assert tfr.any(const(np.full(shape, tiny)), axes).numpy().all()
            assert not tfr.any(const(np.full(shape, dtype.type(-0.0))), axes).numpy().any()


# ---- repeated elements -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["sum", "mean", "prod", "var", "std", "max", "min", "any", "all", "count_nonzero"])
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_broadcast_axes(name, dtype):
    rng = np.random.default_rng(5)
    low, high = (-3, 3) if name != "prod" else (1, 1) if dtype.kind in "iu" else (0.99, 1.01)
    for shape, steps in [((7, 1, 5), (7, 40, 5)), ((1, 6, 1), (30, 6, 4)), ((1, 1), (300, 50)), ((9, 1), (9, 1000)),
                         ((1, 900), (3, 900))]:
        a = np.broadcast_to(sample(rng, shape, dtype, low, high), steps)
        for axes in all_axes(a.ndim):
            if name == "prod" and dtype.kind in "fc" and math.prod(a.shape[k] for k in axes) > 60:
                continue                # overflows
            expected = np.asarray(getattr(np, name)(np.array(a), axes))
            tol = 2e-5 if expected.dtype.itemsize <= 4 + 4 * (expected.dtype.kind == "c") else 1e-12
            exact = expected.dtype.kind in "biu" or name in ("max", "min")
            scale = 1 if exact or name == "prod" else float(np.abs(a).max()) ** 2 * max(1, a.size // max(expected.size, 1))
            assert_same(getattr(tfr, name)(const(a), axes), expected, rtol=0 if exact else tol,
                        atol=0 if exact else tol * scale)


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
def test_repetitions_are_a_factor(dtype):
    x = sample(np.random.default_rng(6), (5, 1), dtype)
    n = 100_003
    a = np.broadcast_to(x, (5, n))
    assert_same(tfr.mean(const(a), 1), x[:, 0])
    for part in ("real", "imag"):
        expected = (getattr(x[:, 0], part).astype("f8") * n).astype(x.real.dtype)
        assert np.array_equal(getattr(tfr.sum(const(a), 1).numpy(), part), expected)


def test_sums_that_are_repeated_are_separate_memory():
    y = tfr.sum(const(np.broadcast_to(np.arange(6.0)[:, None], (6, 4))), 0).numpy()
    assert y.flags.owndata or y.strides == (8,)
    assert y.tolist() == [15] * 4


# ---- variances -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_variances(shape, dtype):
    rng = np.random.default_rng(7)
    eps = np.finfo(dtype).eps
    for offset in (0, 100):
        for a in layouts_of(sample(rng, shape, dtype) + dtype.type(offset), rng):
            for axes in all_axes(a.ndim)[1:]:
                exact = np.var(wide(a), axes)
                y = tfr.var(const(a), axes).numpy()
                assert y.dtype == a.real.dtype
                assert np.all(np.abs(y - exact) <= 32 * eps * exact + (offset * eps) ** 2)
            assert not tfr.var(const(a), ()).numpy().any()


@pytest.mark.parametrize("dtype", REAL_DTYPES, ids=str)
@pytest.mark.parametrize(("shape", "axis"), [((5000,), 0), ((1000, 5), 0), ((500, 40), 0), ((40, 500), 1)])
def test_variances_far_from_the_first_guess(shape, axis, dtype):
    """Elements from which the mean is guessed lie far from all others."""
    rng = np.random.default_rng(8)
    eps = np.finfo(dtype).eps
    n = shape[axis]
    for far in (10, 1e3, 1e6):
        x = sample(rng, shape, dtype)
        np.moveaxis(x, axis, 0)[[k * (n - 1) // 7 for k in range(8)]] += dtype.type(far)
        exact = np.var(wide(x), axis)
        assert np.all(np.abs(tfr.var(const(x), axis).numpy() - exact) <= 64 * eps * exact)


@pytest.mark.parametrize("values", [[1e308, -1e308], [1e200] * 50 + [-1e200] * 50, [INF, 1.0], [INF, -INF], [NAN, 1.0], [INF],
                                    [1e-200, 2e-200] * 40])
def test_variances_of_extreme_values(values):
    x = np.array(values)
    with np.errstate(all="ignore"):
        assert_same(tfr.var(const(x)), np.var(x))
        across = np.array([values] * 20).T
        assert_same(tfr.var(const(across), 0), np.var(across, 0))


# ---- truth -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["any", "all", "count_nonzero"])
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_truths(name, shape, dtype):
    rng = np.random.default_rng(9)
    for zeros in (0.5, 0.999, 0.001):
        x = sample(rng, shape, dtype, 1, 3) if dtype.kind != "b" else np.ones(shape, "?")
        x = x * (rng.random(shape) > zeros).astype(dtype)
        for a in layouts_of(x, rng):
            for axes in all_axes(a.ndim):
                assert_same(getattr(tfr, name)(const(a), axes), getattr(np, name)(a, axes))


@pytest.mark.parametrize("dtype", COMPLEX_DTYPES, ids=str)
def test_truth_of_complex_parts(dtype):
    x = np.array([0, 1j, 1, complex(0, NAN), complex(-0.0, -0.0), complex(NAN, 0)] * 60, dtype)
    assert_same(tfr.count_nonzero(const(x)), np.count_nonzero(x))
    assert tfr.any(const(x)[:, None] * 0 + x).numpy()
    for v in x[:6]:
        assert_same(tfr.any(const(np.full(300, v))), np.any(np.full(300, v)))


def test_truth_is_untracked():
    x = tfr.variable(np.ones(3))
    assert not tfr.any(x).tracks_grad
    assert not tfr.count_nonzero(x).tracks_grad


# ---- the end of memory -----------------------------------------------------------------------------------------------

@pytest.fixture
def page_end():
    """Arrays whose last byte is the last one before memory that cannot be read."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "mprotect"):
        pytest.skip("no mprotect")
    page = mmap.PAGESIZE
    size = 16 * page
    memory = mmap.mmap(-1, size + page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    last = ctypes.c_void_p(address + size)
    assert libc.mprotect(last, ctypes.c_size_t(page), mmap.PROT_NONE if hasattr(mmap, "PROT_NONE") else 0) == 0

    def array(shape, dtype):
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        return np.frombuffer(memory, np.uint8, nbytes, size - nbytes).view(dtype).reshape(shape)

    yield array
    assert libc.mprotect(last, ctypes.c_size_t(page), mmap.PROT_READ | mmap.PROT_WRITE) == 0


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_nothing_is_read_beyond_the_end(page_end, dtype):
    for shape in [(1,), (7,), (33,), (129,), (1001,), (61, 3), (3, 61), (37, 41), (5, 7, 9)]:
        x = page_end(shape, dtype)
        x[...] = 1
        for axes in all_axes(x.ndim):
            n = math.prod(shape[k] for k in axes)
            for name in ("sum", "count_nonzero"):
                assert np.all(getattr(tfr, name)(const(x), axes).numpy() == n)
            if dtype.kind in "fc":
                assert not tfr.var(const(x), axes).numpy().any()
            assert tfr.all(const(x), axes).numpy().all()
            assert np.all(tfr.max(const(x), axes).numpy() == 1)
