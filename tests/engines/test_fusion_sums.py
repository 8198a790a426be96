"""Fused passes that end in sums: the bits of the direct sweep for all axes, layouts, dtypes and numbers of threads."""

import ctypes
import functools
import itertools

import numpy as np
import pytest

import tenferro as tfr
from tenferro.errors import EngineError
from tenferro_cpu import CpuEngine

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [                                  # of an operand, and of what is broadcast against it and so summed over
    ((100, 90), (90,)),
    ((100, 90), (100, 1)),
    ((100, 90), ()),
    ((13, 2500), (2500,)),                  # more columns than there is room for rows
    ((9, 5000), (5000,)),
    ((3, 40_001), (3, 1)),                  # a row is longer than a tile
    ((16_397,), (1,)),
    ((40, 3, 80), (3, 1)),                  # around an axis that stays
    ((5, 6, 5, 65), (6, 1, 65)),
    ((5, 6, 5, 65), (5, 1, 5, 1)),
    ((3000, 3), (3,)),                       # a few results side by side
    ((601, 20), (20,)),
    ((7, 300, 5), (300, 1)),
    ((7, 11, 60, 2), (11, 1, 2)),
    ((5100, 2), (2,)),
    ((2, 5100, 1), (5100, 1)),
    ((400, 500), (500,)),                   # shared among threads
    ((400, 500), (400, 1)),
    ((200_003,), ()),                       # partial results
    ((70_001, 3), (3,)),
    ((3, 70_001), (3, 1)),
    ((130, 33, 40), (33, 1)),
]


def shifted(x, b):
    return tfr.real(tfr.tanh(x * 0.3 + b) * x).sum()


def scaled(x, s, b):
    return tfr.real(tfr.tanh(x * s + b) * x).sum()


def averages(axis, keepdims, x, b):
    return tfr.mean(tfr.exp(x) * b, axis, keepdims)


def totals(axis, keepdims, x, b):
    return tfr.sum(tfr.sin(x) / (2 + b * b), axis, keepdims)


def draw(shape, dtype, rng, order):
    a = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal(shape)
    return np.asarray(a.astype(dtype), order=order)


def layouts(shapes, dtype):
    """Arguments in row-major, column-major and another order."""
    rng = np.random.default_rng(len(str(shapes)))
    for order in "CF":
        yield [draw(s, dtype, rng, order) for s in shapes]
    first = draw(shapes[0], dtype, rng, "C")
    yield [np.asarray(first.swapaxes(0, -1), order="C").swapaxes(0, -1), *[draw(s, dtype, rng, "C") for s in shapes[1:]]]


def gradients(f, arrays):
    xs = [tfr.variable(a, copy=False) for a in arrays]
    return [g.detach().numpy() for g in tfr.default_runtime().grad(f(*xs), xs)]


def tangent(f, arrays):
    rt = tfr.default_runtime()
    xs = [tfr.variable(a, copy=False) for a in arrays]
    return [rt.jvp(f(*xs), xs, xs).detach().numpy()]


def same_bits(found, wanted):
    for got, want in zip(found, wanted, strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype
        assert got.tobytes() == want.tobytes()


def check(f, arrays, derivative=gradients):
    """What a program gives, after the one that is followed, is what a direct sweep gives."""
    rt = tfr.default_runtime()
    rt.clear_caches()
    found = [derivative(f, arrays) for _ in range(4)]
    with rt.profile():                      # no program serves it
        want = derivative(f, arrays)
    for got in found:
        same_bits(got, want)
    return found[0]


def groups(f, arrays):
    found = tfr.default_runtime().explain(f(*[tfr.variable(a) for a in arrays]))
    return [i.operations for i in found.instructions if i.kind == "fused"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_sums_of_cotangents(shapes, dtype):
    for arrays in layouts(shapes, dtype):
        if dtype.startswith("float") or arrays[0].flags.c_contiguous:       # else the cotangent has another layout
            assert any("reduce_sum" in names for names in groups(shifted, arrays))
        check(shifted, arrays)
        check(scaled, [*arrays, arrays[1]])


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("shape", [(100, 90), (7, 30, 40), (400, 350), (3, 50_001), (16_397,)], ids=str)
def test_sums_and_means_of_tangents(shape, dtype):
    for arrays in layouts([shape, shape], dtype):
        for axis, keepdims in itertools.product({0, -1, None}, [False, True]):
            check(functools.partial(averages, axis, keepdims), arrays, tangent)
            check(functools.partial(totals, axis, keepdims), arrays, tangent)


def test_values_that_are_not_finite():
    x = np.random.default_rng(1).standard_normal((120, 70))
    x[3, 4], x[5, 6], x[7, 8], x[:, 9], x[10] = np.inf, -np.inf, np.nan, -0.0, 0.0
    for shape in ((70,), (120, 1), ()):
        with np.errstate(all="ignore"):
            check(lambda x, b: (tfr.exp(x) * b * x).sum(), [x, np.ones(shape)])


def test_gradients_of_a_layer():
    rng = np.random.default_rng(2)
    x, s, b, t = [rng.standard_normal(shape) for shape in ((300, 200), (200,), (200,), (300, 200))]
    found = check(lambda x, s, b: (tfr.tanh(x * s + b) * t).sum(), [x, s, b])
    d = t * (1 - np.tanh(x * s + b) ** 2)
    for got, want in zip(found, [d * s, (d * x).sum(0), d.sum(0)], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)


def normalised(x, gain, bias):
    centred = x - tfr.mean(x, axis=-1, keepdims=True)
    scale = tfr.sqrt(tfr.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)
    return centred / scale * gain + bias


@pytest.mark.parametrize("shape", [(64, 128), (5, 300, 70), (2000, 100)], ids=str)
def test_normalisation(shape):
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(shape), rng.standard_normal(shape[-1]), rng.standard_normal(shape[-1])]
    check(lambda *xs: (tfr.sin(normalised(*xs)) * 0.1).sum(), arrays)
    rt = tfr.default_runtime()
    xs = [tfr.variable(a) for a in arrays]
    found = rt.explain((normalised(*xs) * tfr.constant(rng.standard_normal(shape))).sum())
    assert ("absorb_mul", "reduce_sum", "reduce_sum") in [i.operations for i in found.instructions]
    assert found.peak_bytes < 1.5 * arrays[0].nbytes


def test_nothing_of_full_size_is_written():
    x, t = np.random.default_rng(4).standard_normal((2, 500, 400))
    s, b = tfr.variable(np.ones(400)), tfr.variable(np.zeros(400))
    found = tfr.default_runtime().explain((tfr.tanh(tfr.constant(x) * s + b) * t).sum())
    (only,) = [i for i in found.instructions if i.kind != "view"]
    assert only.kind == "fused" and only.operations.count("reduce_sum") == 2
    assert only.shape == (500, 400) and only.written == 2 * 8 * 400
    assert found.peak_bytes == 2 * 8 * 400
    assert "reduce_sum reduce_sum  reads" in str(found)


def test_sums_along_other_axes_stay_outside():
    a = np.random.default_rng(5).standard_normal((110, 80))
    arrays = [a, a[0], a[:, :1]]
    for names in groups(lambda x, b, c: (tfr.tanh(x + b + c) * x).sum(), arrays):
        assert names.count("reduce_sum") < 2
    check(lambda x, b, c: (tfr.tanh(x + b + c) * x).sum(), arrays)


def test_an_operand_that_dies_is_not_overwritten_by_a_sum():
    rng = np.random.default_rng(6)
    for shape in ((300,), (1, 300), ()):
        arrays = [rng.standard_normal((40, 300)), rng.standard_normal(shape), rng.standard_normal(shape)]
        check(lambda x, s, b: (tfr.sin(x * tfr.exp(s)) * tfr.tanh(x + tfr.exp(b) * s)).sum(), arrays)


@pytest.mark.parametrize("shapes", [((1100, 150), (150,)), ((137, 1500), (1500,)), ((400, 500), (400, 1)),
                                    ((200_003,), ()), ((70_001, 3), (3,)), ((3, 70_001), (3, 1)), ((64, 33, 100), (33, 1)),
                                    ((30, 7000), (7000,))], ids=str)
def test_any_number_of_threads(shapes):
    for dtype in ("float64", "complex64"):
        arrays = next(layouts(shapes, dtype))
        want = check(shifted, arrays)
        for count in (1, 2, 5):
            rt = tfr.EagerRuntime(engine=CpuEngine.threaded(count))
            xs = [rt.variable_from(a) for a in arrays]
            for _ in range(3):
                same_bits([g.detach().numpy() for g in rt.grad(shifted(*xs), xs)], want)


def test_sums_of_an_engine_of_another_kind_stay_its_own():
    kernel_t = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
                                 ctypes.c_void_p)
    failing = kernel_t(lambda *args: -1)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object

    class Engine(CpuEngine):
        def __init__(self):
            tfr.ExecutionEngine.__init__(self, "own sums")
            self.register_kernel("reduce_sum", new(ctypes.cast(failing, ctypes.c_void_p), ctypes.c_char_p(b"tenferro.kernel"),
                                                   None), 1)

    rt, engine = tfr.EagerRuntime(engine=CpuEngine.serial()), Engine()
    x = rt.constant_from(np.random.default_rng(7).standard_normal((100, 90)))
    b = rt.variable_from(np.zeros(90))
    for _ in range(4):
        y = (tfr.tanh(x + b) * x).sum()
        with pytest.raises(EngineError, match="reduce_sum"):
            rt.grad(y, b, engine=engine)
        rt.grad(y, b)
