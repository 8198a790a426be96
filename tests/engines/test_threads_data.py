"""Operations that move, search, scan and sort, on several threads: the bits of the serial engine, whatever their number."""

import platform

import numpy as np
import pytest

import tenferro as tfr
from tenferro.errors import AxisError
from tenferro_cpu import CpuEngine

COUNTS = (1, 2, 3, 7)
DTYPES = ["f8", "c16", "u1"]


@pytest.fixture(scope="module")
def engines():
    """The serial engine first; the one of one thread, which BLAS heeds, is opened last."""
    return [CpuEngine.serial(), *[CpuEngine.threaded(n) for n in COUNTS[::-1]][::-1]]


def same(x, y):
    """Whether two arrays have the same bits."""
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        return False
    return np.array_equal(*(np.ascontiguousarray(a).reshape(-1).view("u1") for a in (x, y)))


def same_bits(engines, f):
    """The result of the serial engine as an array; all others give it bit for bit."""
    want = None
    for engine in engines:
        with tfr.session(engine):
            found = f().detach().numpy()
        want = found if want is None else want
        assert same(found, want), f"{engine!r} differs from the serial engine"
    return want


def values(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.9, 1.1, shape) * rng.choice([-1, 1], shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.uniform(-0.1, 0.1, shape)
    return np.asarray(x if np.dtype(dtype).kind in "fc" else 100 * np.abs(x), dtype)


# A million elements or two each, enough for every threshold, in odd extents and orders; and too few.
LAYOUTS = {
    "flat": lambda dtype: values(1_100_003, dtype),
    "plane": lambda dtype: values((1103, 2003), dtype, 1),
    "columns": lambda dtype: np.asfortranarray(values((2003, 1103), dtype, 1)),
    "transposed": lambda dtype: values((37, 173, 191), dtype, 2).transpose(2, 0, 1),
    "stepped": lambda dtype: values((1103, 2019), dtype, 3)[::-1, ::-2],
    "tall": lambda dtype: values((350_003, 3), dtype, 4),
    "wide": lambda dtype: values((3, 350_003), dtype, 5),
    "repeated": lambda dtype: np.broadcast_to(values((1103, 1), dtype, 6), (1103, 1009)),
    "empty": lambda dtype: values((0, 7), dtype),
    "small": lambda dtype: values((3, 5), dtype),
}


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


@pytest.mark.parametrize("dtype", ["f4", *DTYPES])
def test_running_sums_and_products(engines, dtype, layout):
    a = LAYOUTS[layout](dtype)
    x = tfr.constant(a)
    kind = {"f4": "f8", "u1": "u8", "i4": "i8"}.get(dtype, dtype)
    for axis in {0, a.ndim - 1}:
        got = same_bits(engines, lambda axis=axis: tfr.cumsum(x, axis=axis))
        limit = {"f4": 1e-3, "f8": 1e-12, "c16": 1e-12}.get(dtype, 0) * (1 + np.sqrt(a.shape[axis]))
        assert np.all(np.abs(got - np.cumsum(a, axis=axis, dtype=kind)) <= limit)
        got = same_bits(engines, lambda axis=axis: tfr.cumprod(x, axis=axis))
        with np.errstate(all="ignore"):
            want = np.cumprod(a, axis=axis, dtype=None if got.dtype.kind in "fc" else got.dtype)
        if got.dtype.kind in "iu":
            np.testing.assert_array_equal(got, want)
        else:
            first = (slice(None),) * axis + (slice(50),)
            np.testing.assert_allclose(got[first], want[first], rtol=1e-5 if dtype == "f4" else 1e-13)


@pytest.mark.parametrize("shape", [(1103, 2003), (37, 173, 191), (350_003, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["f8", "c8"])
def test_gradients_of_running_products(engines, dtype, shape):
    """These run linear recurrences and shifts, from both ends."""
    a = values(shape, dtype)
    for axis in {0, len(shape) - 1}:
        def f(axis=axis):
            x = tfr.variable(a)
            tfr.sum(tfr.real(tfr.cumprod(x, axis=axis))).backward()
            return x.grad
        got = same_bits(engines, f)
        if axis and dtype == "f8":
            p = np.cumprod(a, axis=axis)
            want = np.flip(np.cumsum(np.flip(p, axis), axis=axis), axis) / a
            np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_of_extremes(engines, dtype, layout):
    a = LAYOUTS[layout](dtype).copy()
    if a.size == 0:
        return
    if dtype != "c16" and layout != "repeated":
        a.reshape(-1)[a.size // 2:: a.size // 5 + 1] = 120      # equal ones, far apart
    x = tfr.constant(a)
    for axis in {None, 0, a.ndim - 1}:
        np.testing.assert_array_equal(same_bits(engines, lambda axis=axis: tfr.argmax(x, axis=axis)), np.argmax(a, axis=axis))
        np.testing.assert_array_equal(same_bits(engines, lambda axis=axis: tfr.argmin(x, axis=axis)), np.argmin(a, axis=axis))
    if a.dtype.kind == "f":
        a[(a.shape[0] - 1,) * a.ndim if layout == "flat" else (0,) * a.ndim] = np.nan
        y = tfr.constant(a)
        for axis in (None, 0):
            np.testing.assert_array_equal(same_bits(engines, lambda axis=axis: tfr.argmax(y, axis=axis)),
                                          np.argmax(a, axis=axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_gathers(engines, dtype, layout):
    a = LAYOUTS[layout](dtype)
    rng = np.random.default_rng(7)
    x = tfr.constant(a)
    for axis in {0, a.ndim - 1}:
        n = a.shape[axis]
        for shape in ((2 * n // 3 + 5,), (7, n // 5 + 1), (3,), ()):
            rows = rng.integers(-n, n, shape) if n else np.zeros(0, int)
            got = same_bits(engines, lambda axis=axis, rows=rows: tfr.take(x, tfr.constant(rows), axis=axis))
            np.testing.assert_array_equal(got, np.take(a, rows, axis=axis))
        where = rng.integers(-n, n, a.shape) if n else np.zeros((0, *a.shape[1:]), int)
        got = same_bits(engines, lambda axis=axis, where=where: tfr.take_along_axis(x, tfr.constant(where), axis=axis))
        np.testing.assert_array_equal(got, np.take_along_axis(a, where, axis=axis))
    if a.size:
        i = tuple(rng.integers(-n, n, 700_001) for n in a.shape)
        np.testing.assert_array_equal(same_bits(engines, lambda: x[tuple(map(tfr.constant, i))]), a[i])


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_adjoints_of_gathers_add_in_the_order_of_the_indices(engines, dtype, layout):
    a = LAYOUTS[layout](dtype)
    rng = np.random.default_rng(8)
    for axis in {0, a.ndim - 1}:
        n = a.shape[axis]
        rows = rng.integers(-n, n, n // 2 + 3) if n else np.zeros(0, int)
        where = rng.integers(-n, n, a.shape) if n else np.zeros((0, *a.shape[1:]), int)
        for g, index in ((tfr.take, rows), (tfr.take_along_axis, where)):
            def f(g=g, index=index, axis=axis):
                x = tfr.variable(a)
                y = g(x, tfr.constant(index), axis=axis)
                y.backward_with(values(y.shape, dtype, 9))
                return x.grad
            got = same_bits(engines, f)
            seeds = values(np.take(a, rows, axis=axis).shape if g is tfr.take else a.shape, dtype, 9)
            want = np.zeros(a.shape, dtype)
            if g is tfr.take:
                np.add.at(want, (slice(None),) * axis + (rows,), seeds)
            else:
                i = list(np.indices(a.shape, sparse=True))
                i[axis] = where
                np.add.at(want, tuple(i), seeds)
            np.testing.assert_allclose(got, want, rtol=1e-4 if dtype == "f4" else 1e-11, atol=1e-3 if dtype == "f4" else 1e-10)


def test_scatters_keep_the_order_of_the_updates(engines):
    a, u = values((1009, 2103), "f8"), values((3, 400, 2103), "f8", 1)
    rows = np.random.default_rng(2).integers(-1009, 1009, (3, 400))
    x = tfr.constant(a)
    last, total = a.copy(), a.copy()
    for i, v in zip(rows.ravel(), u.reshape(-1, 2103), strict=True):
        last[i] = v
        total[i] += v
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.scatter(x, rows, u)), last)
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.scatter_add(x, rows, u)), total)
    window = a.copy()
    window[3:-5, ::-2] = 7
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.index_set(x, np.s_[3:-5, ::-2], 7.0)), window)


def test_the_first_index_out_of_range_is_named(engines):
    x = tfr.constant(values((1103, 1009), "f8"))
    rows = np.zeros(1_100_000, int)
    rows[700_000], rows[900_000] = 5000, -6000
    along = np.zeros((1103, 1009), int)
    along[700, 5], along[900, 5] = 5000, -6000
    for engine in engines:
        for f in (lambda: tfr.take(x[:, 0], tfr.constant(rows)), lambda: tfr.take_along_axis(x, tfr.constant(along), axis=1),
                  lambda: x[tfr.constant(rows), tfr.constant(rows)]):
            with tfr.session(engine), pytest.raises(AxisError, match="index 5000 is out of bounds"):
                f()


@pytest.mark.parametrize("dtype", ["f8", "u1"])
def test_joined_tensors(engines, dtype, layout):
    a = LAYOUTS[layout](dtype)
    x, half = tfr.constant(a), tfr.constant(a[: a.shape[0] // 3])
    for axis in {0, a.ndim - 1}:
        got = same_bits(engines, lambda axis=axis: tfr.concat([x, x[:0] if axis == 0 else x, x], axis=axis))
        np.testing.assert_array_equal(got, np.concatenate([a, a[:0] if axis == 0 else a, a], axis=axis))
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.stack([x, x], axis=1)), np.stack([a, a], axis=1))
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.concat([half, x, half])),
                                  np.concatenate([a[: len(a) // 3], a, a[: len(a) // 3]]))


def test_many_joined_tensors_and_large_ones(engines):
    parts = [values((1 + k % 7, 401), "f8", k) for k in range(900)]
    xs = [tfr.constant(p) for p in parts]
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.concat(xs)), np.concatenate(parts))
    same = [p[:1] for p in parts]
    ys = [x[:1] for x in xs]
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.stack(ys, axis=1)), np.stack(same, axis=1))
    mixed = [tfr.constant(parts[0].astype("f4")), *xs]
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.concat(mixed)),
                                  np.concatenate([parts[0].astype("f4"), *parts]))
    long = values(4_500_001, "f8")
    z = tfr.constant(long)
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.concat([z, z])), np.concatenate([long, long]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_windows(engines, dtype, layout):
    a = LAYOUTS[layout](dtype)
    x = tfr.constant(a)
    if a.size:
        widths = [(k + 1, 2) for k in range(a.ndim)]
        np.testing.assert_array_equal(same_bits(engines, lambda: tfr.pad(x, widths, constant_values=3)),
                                      np.pad(a, widths, constant_values=3))
    if a.ndim >= 2:
        for k in (0, -2, 10**6, -10**6):
            np.testing.assert_array_equal(same_bits(engines, lambda k=k: tfr.tril(x, k)), np.tril(a, k))
            np.testing.assert_array_equal(same_bits(engines, lambda k=k: tfr.triu(x, k)), np.triu(a, k))
    d = a.reshape(-1)[:1051]
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.diag(tfr.constant(d), -2)), np.diag(d, -2))


@pytest.mark.parametrize("index", [np.s_[3:-5, ::-2], np.s_[::3], np.s_[7], np.s_[:, 11], np.s_[-1:2:-7, 5:900]], ids=str)
def test_adjoints_of_slices(engines, index):
    for a in (values((1103, 1009), "f8"), np.asfortranarray(values((1103, 1009), "c16"))):
        def f(a=a):
            x = tfr.variable(a)
            y = x[index]
            y.backward_with(values(y.shape, a.dtype, 1))
            return x.grad
        want = np.zeros_like(a)
        want[index] = values(a[index].shape, a.dtype, 1)
        np.testing.assert_array_equal(same_bits(engines, f), want)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_variances_and_sums_of_exponentials(engines, dtype, layout):
    a = LAYOUTS[layout](dtype)
    if a.size == 0:
        return
    x, exact = tfr.constant(a), a.astype("c16" if a.dtype.kind == "c" else "f8")
    rtol = 3e-6 if a.real.dtype == "f4" else 1e-12
    for axis in {None, 0, a.ndim - 1}:
        got = same_bits(engines, lambda axis=axis: tfr.var(x, axis=axis, keepdims=True))
        np.testing.assert_allclose(got, np.var(exact, axis=axis, keepdims=True), rtol=rtol, atol=rtol * 1e-3)
        if a.dtype.kind == "f":
            got = same_bits(engines, lambda axis=axis: tfr.logsumexp(x, axis=axis))
            np.testing.assert_allclose(got, np.log(np.sum(np.exp(exact), axis=axis)), rtol=rtol, atol=rtol)


def test_variances_of_a_few_long_lines_are_accurate(engines):
    for dtype, rtol in (("f8", 1e-7), ("f4", 1e-5)):
        a = (np.arange(3 * 400_001).reshape(3, -1) % 7 + (1e9 if dtype == "f8" else 1e5)).astype(dtype)
        want = np.var(a.astype("f8") - float(a[0, 0]), axis=1)
        np.testing.assert_allclose(same_bits(engines, lambda a=a: tfr.var(tfr.constant(a), axis=1)), want, rtol=rtol)
    a = values((2, 300_007), "f8")
    a[0, 299_999], a[1, 5] = np.inf, np.nan
    assert np.isnan(same_bits(engines, lambda: tfr.var(tfr.constant(a), axis=1))).all()
    assert same_bits(engines, lambda: tfr.var(tfr.full((300_007,), 0.1))) == 0


def test_sums_of_exponentials_of_infinite_numbers(engines):
    a = np.full((3, 300_007), -np.inf)
    a[1, 77] = 2.0
    a[2, 200_000] = np.inf
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.logsumexp(tfr.constant(a), axis=1)), [-np.inf, 2.0, np.inf])


@pytest.mark.parametrize("dtype", ["f8", "c8", "i4"])
def test_sorted_lines(engines, dtype, layout):
    a = np.round(LAYOUTS[layout](dtype), 1)
    if a.dtype.kind == "f" and a.ndim > 1 and a.size:
        a[-1, ::3] = np.nan
    x = tfr.constant(a)
    for axis in {0, a.ndim - 1}:
        got = same_bits(engines, lambda axis=axis: tfr.argsort(x, axis=axis))
        np.testing.assert_array_equal(got, np.argsort(a, axis=axis, kind="stable"))
        got = same_bits(engines[::3], lambda axis=axis: tfr.sort(x, axis=axis, descending=True))
        np.testing.assert_array_equal(got, np.flip(np.sort(a, axis=axis), axis))


def test_a_failure_in_a_sorting_thread_is_raised(monkeypatch, engines):
    from tenferro._ops import sorted_lines
    real = np.argsort

    def refusing(a, *args, **kwargs):
        if a.shape[0] < 1000 and np.isnan(a[-1, -1]):
            raise MemoryError("no memory for this piece")
        return real(a, *args, **kwargs)

    monkeypatch.setattr(sorted_lines.np, "argsort", refusing)
    a = values((1103, 1009), "f8")
    a[-1, -1] = np.nan
    with tfr.session(engines[2]), pytest.raises(MemoryError, match="this piece"):
        tfr.argsort(tfr.constant(a), axis=1)


@pytest.mark.parametrize("shape", [(1103, 1009), (37, 173, 191), (3, 350_000)], ids=str)
def test_fourier_transforms(engines, shape):
    """Their lines are SciPy's work; with instructions that round products away it may pair lines in another way."""
    exact = platform.machine().lower() in ("x86_64", "amd64")
    a = values(shape, "c16")
    cases = [(lambda: tfr.fft.fft(tfr.constant(a), axis=0), np.fft.fft(a, axis=0)),
             (lambda: tfr.fft.ifft(tfr.constant(a)), np.fft.ifft(a)),
             (lambda: tfr.fft.fft2(tfr.constant(a)), np.fft.fft2(a)),
             (lambda: tfr.fft.rfft(tfr.constant(a.real)), np.fft.rfft(a.real)),
             (lambda: tfr.fft.irfft(tfr.constant(a), axis=0), np.fft.irfft(a, axis=0))]
    for f, want in cases:
        if exact:
            got = same_bits(engines, f)
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9 * np.max(np.abs(want)))
            continue
        for engine in engines:
            with tfr.session(engine):
                np.testing.assert_allclose(f().numpy(), want, rtol=1e-9, atol=1e-9 * np.max(np.abs(want)))
    x = a.real
    if exact:
        same_bits(engines, lambda: tfr.fft.dct(tfr.constant(x)))
