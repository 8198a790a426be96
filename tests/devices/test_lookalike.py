"""The look-alike of CuPy: as strict as CuPy where that can be seen without a device, and counting."""

import importlib.util
import inspect
import subprocess
import sys
import types

import cupy_lookalike
import numpy as np
import pytest
from cupy_lookalike.machine import HIGH

needs_cupy = pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed")
needs_compiler = pytest.mark.skipif(cupy_lookalike.COMPILER is None, reason="needs a C++ compiler")


@pytest.fixture
def x(cupy):
    return cupy.asarray(np.arange(6.0).reshape(2, 3))


# ---- what CuPy refuses -----------------------------------------------------------------------------------------------

REFUSED = {
    "asarray": np.asarray, "array": lambda x: np.array(x), "ufunc": np.exp, "function": np.sum,
    "binary": lambda x: np.add(x, 1),
    "mixed": lambda x: x + np.ones(3), "mixed reversed": lambda x: np.ones(3) * x, "0-d": lambda x: x + np.array(1.0),
    "assigned": lambda x: np.copyto(np.ones((2, 3)), x), "index": lambda x: x[np.array([0])], "list": list,
    "range": lambda x: range(x[0, 0].astype("i8")),
}


@pytest.mark.parametrize("how", REFUSED.values(), ids=REFUSED)
def test_host_arrays_and_conversions_are_refused(x, how):
    with pytest.raises(TypeError):
        how(x)


def test_implicit_conversion_says_what_cupy_says(x):
    with pytest.raises(TypeError, match=r"Please use `.get\(\)` to construct a NumPy array explicitly"):
        np.asarray(x)


def test_numbers_are_taken(x):
    np.testing.assert_array_equal((x * 2 + np.float64(1)).get(), np.arange(6.0).reshape(2, 3) * 2 + 1)
    assert (x.astype("f4") * 2.0).dtype == np.float32
    assert (np.float32(3) * x).dtype == np.float64


def test_functions_take_device_arrays_only(cupy, x):
    for f, args in ((cupy.exp, [np.ones(2)]), (cupy.sum, [np.ones(2)]), (cupy.matmul, [x, np.ones((3, 2))]),
                    (cupy.concatenate, [[x, np.ones((1, 3))]])):
        with pytest.raises(TypeError):
            f(*args)


def test_what_cupy_lacks_is_lacking(cupy, x):
    assert not hasattr(cupy, "cumulative_sum_of_everything")
    assert not hasattr(cupy, "nditer")
    with pytest.raises(TypeError):
        cupy.sum(x, where=True)
    with pytest.raises(TypeError):
        cupy.logical_and(x.astype("c16"), x)


# ---- memory ----------------------------------------------------------------------------------------------------------

def test_addresses_are_no_addresses_of_the_host(x):
    assert x.data.ptr & HIGH
    assert x[1:, ::-1].data.ptr - x.data.ptr == 5 * 8
    code = (f"import sys; sys.path[:0] = {sys.path!r}\nimport ctypes, numpy as np, cupy_lookalike\n"
            "cp = cupy_lookalike.modules()['cupy']\nctypes.c_double.from_address(cp.asarray(np.ones(2)).data.ptr).value")
    assert subprocess.run([sys.executable, "-c", code]).returncode < 0


def test_views_over_memory(cupy, x):
    view = cupy.ndarray((2, 3), "f8", memptr=x.data + 24, strides=(-24, 8))
    np.testing.assert_array_equal(view.get(), x.get()[::-1])
    view[...] = 7.0
    assert x.get().tolist() == [[7.0] * 3] * 2
    assert cupy.ndarray((4, 3), "f8", memptr=x.data, strides=(0, 8)).get().tolist() == [[7.0] * 3] * 4


def test_views_stay_within_their_memory(cupy, x):
    for shape, offset, strides in (((7,), 0, (8,)), ((2,), 48, (8,)), ((2,), 0, (-8,))):
        with pytest.raises(RuntimeError, match="illegal"):
            cupy.ndarray(shape, "f8", memptr=x.data + offset, strides=strides)


def test_functions_of_views_are_views(cupy, x, machine):
    before = len(machine.allocations)
    for y in (x.T, x[::-1], x.reshape(6), cupy.broadcast_to(x, (4, 2, 3)), cupy.flip(x, 0), x.real):
        assert y.data.mem is x.data.mem
    assert machine.allocations[before:] == []
    assert (x + 1).data.mem is not x.data.mem


def test_allocations_are_counted_and_fail_on_demand(cupy, x, machine):
    before = len(machine.allocations)
    x + 1
    assert machine.allocations[before:] == [48]
    machine.fail(1)
    x + 1
    with pytest.raises(MemoryError, match="Out of memory allocating 48 bytes") as e:
        x + 1
    assert isinstance(e.value, cupy.cuda.memory.OutOfMemoryError)
    x + 1


# ---- devices, streams, waiting -------------------------------------------------------------------------------------------

def test_arrays_of_another_device_are_refused(cupy, x):
    with cupy.cuda.Device(1):
        assert cupy.cuda.get_device_id() == 1
        assert x.T.device.id == 0
        with pytest.raises(ValueError, match="Array device must be same as the current device"):
            x + 1
        y = cupy.zeros(3)
    assert (y.device.id, cupy.cuda.get_device_id()) == (1, 0)
    with pytest.raises(ValueError, match="current = 0"):
        cupy.exp(y)


def test_devices_that_do_not_exist(cupy, machine):
    assert cupy.cuda.runtime.getDeviceCount() == 2
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="invalid device ordinal"):
        cupy.cuda.Device(2).use()
    machine.devices = 0
    assert not cupy.cuda.is_available()


def test_launches_know_their_stream(cupy, x, machine):
    s = cupy.cuda.Stream(non_blocking=True)
    with s:
        x + 1
    x + 1
    assert machine.launches[-2:] == [("add", 0, s.ptr), ("add", 0, 0)]


WAITING = {"get": lambda cp, x: x.get(), "asnumpy": lambda cp, x: cp.asnumpy(x), "item": lambda cp, x: x[0, 0].item(),
           "bool": lambda cp, x: bool(x[0, 0] > 0), "float": lambda cp, x: float(x[0, 0]), "int": lambda cp, x: int(x[0, 0]),
           "nonzero": lambda cp, x: x.nonzero(), "mask": lambda cp, x: x[x > 0], "tolist": lambda cp, x: x.tolist(),
           "device": lambda cp, x: cp.cuda.Device().synchronize(), "stream": lambda cp, x: cp.cuda.Stream().synchronize()}


@pytest.mark.parametrize("how", WAITING.values(), ids=WAITING)
def test_what_waits_is_counted(cupy, x, machine, how):
    with pytest.raises(AssertionError, match="waited"), machine.no_waiting():
        how(cupy, x)


def test_computing_and_uploading_do_not_wait(cupy, machine):
    with machine.no_waiting():
        x = cupy.array(np.ones((2, 3)))
        cupy.sum(cupy.exp(x)[1:] @ x.T, axis=0)
        x[0] = 2.0
    assert machine.uploads == [(48, True)]


def test_errors_of_the_runtime(cupy, x, machine):
    machine.fail(0, cupy.cuda.runtime.CUDARuntimeError(700))
    with pytest.raises(RuntimeError, match="illegal memory access") as e:
        x + 1
    assert e.value.status == 700


# ---- kernels, DLPack ---------------------------------------------------------------------------------------------------

@needs_compiler
def test_kernels_run_their_text(cupy, x, machine):
    k = cupy.ElementwiseKernel("float64 x, complex64 y", "float64 z, bool w", "z = f(x) + y.real(); w = x > 2;",
                               preamble="__device__ double f(double x) { return isnan(x) ? 0 : x * x; }")
    z, w = k(x, cupy.ones((3,), "c8"))
    np.testing.assert_array_equal(z.get(), np.arange(6.0).reshape(2, 3) ** 2 + 1)
    assert w.get().tolist() == [[False] * 3, [True] * 3]
    out = cupy.empty((3, 2), "f8").T, cupy.empty((2, 3), "?")
    assert k(x, cupy.ones((3,), "c8"), *out)[0] is out[0]
    np.testing.assert_array_equal(out[0].get(), z.get())
    with pytest.raises(TypeError, match="mismatched"):
        k(x.astype("f4"), cupy.ones((3,), "c8"))


@needs_compiler
def test_raw_parameters(cupy, x):
    k = cupy.ElementwiseKernel("raw float64 x, int64 last", "float64 y", "y = x[last - i];")
    y = cupy.empty((6,))
    k(x, 5, y)
    assert y.get().tolist() == [5, 4, 3, 2, 1, 0]


@needs_compiler
def test_kernels_that_do_not_compile(cupy, x):
    with pytest.raises(RuntimeError, match="does not compile"):
        cupy.ElementwiseKernel("float64 x", "float64 y", "y = there_is_no_such_function(x);")(x)


def test_dlpack(cupy, x):
    assert x.__dlpack_device__() == (2, 0)
    y = cupy.from_dlpack(x[:, ::2])
    assert (y.data.ptr, y.strides) == (x.data.ptr, (24, 16))
    y[0, 0] = 9.0
    assert x.get()[0, 0] == 9.0
    with pytest.raises(TypeError, match="CPU arrays"):
        cupy.from_dlpack(np.ones(2))


# ---- beside the real one -------------------------------------------------------------------------------------------------

def real(name):
    return importlib.import_module(name)


def public(module):
    return {name: f for name, f in vars(module).items() if not name.startswith("_") and not isinstance(f, types.ModuleType)}


@needs_cupy
@pytest.mark.parametrize("name", ["cupy", "cupy.cuda", "cupy.cuda.runtime", "cupy.cuda.memory", "cupy.linalg", "cupy.fft",
                                  "cupyx", "cupyx.scipy.special"])
def test_names_and_signatures_are_those_of_cupy(name):
    mine, theirs = cupy_lookalike.modules()[name], real(name)
    for key, f in public(mine).items():
        assert hasattr(theirs, key), f"{name} has no {key}"
        if isinstance(f, types.FunctionType) and isinstance(getattr(theirs, key), types.FunctionType):
            want = inspect.signature(getattr(theirs, key)).parameters.values()
            have = inspect.signature(f).parameters.values()
            assert [(p.name, p.kind, p.default) for p in have] == [(p.name, p.kind, p.default) for p in want], key


@needs_cupy
def test_methods_are_those_of_cupy():
    mine = {name for name in vars(cupy_lookalike.modules()["cupy"].ndarray) if not name.startswith("_")}
    assert mine <= set(dir(real("cupy").ndarray))


@needs_cupy
def test_dtypes_are_those_of_cupy():
    """The look-alike's functions take no dtype that CuPy's do not take."""
    mine, cupy, special = cupy_lookalike.modules(), real("cupy"), real("cupyx.scipy.special")
    for name, f in public(mine["cupy"]).items():
        if hasattr(f, "nin"):
            taken = {t[:f.nin] for t in getattr(cupy, name).types}
            assert f.complex == ("D" * f.nin in taken) or not _numpy_takes(name, "D" * f.nin), name
    for name, chars in cupy_lookalike.functions.SPECIAL.items():
        assert set(chars) <= {t[0] for t in getattr(special, name).types}, name


def _numpy_takes(name, types):
    return types in {t[:len(types)] for t in getattr(np, name).types}
