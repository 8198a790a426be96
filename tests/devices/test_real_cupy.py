"""What can be seen of CuPy itself without a device: dtypes of its functions, views, and that kernels compile with NVRTC."""

import ctypes
import importlib
from pathlib import Path

import numpy as np
import pytest

from tenferro._core.optable import DTYPES
from tenferro_cupy import code, fused, polygamma
from tenferro_cupy.elementwise import FUNCTIONS
from tenferro_cupy.memory import CupyMemory
from tenferro_cupy.scatters import Scatters

cupy = pytest.importorskip("cupy")


# ---- functions that are operations -----------------------------------------------------------------------------------------

ROWS = [(op, *row.split()) for op, row in FUNCTIONS.items() if op not in ("real", "imag")]


def loop(function, dtypes):
    """The result of the first loop that takes dtypes without losing anything."""
    for types in getattr(cupy, function).types:
        given, _, result = types.partition("->")
        if len(given) == len(dtypes) and all(np.can_cast(d, np.dtype(t)) for d, t in zip(dtypes, given, strict=True)):
            return np.dtype(result)
    return None


@pytest.mark.parametrize(("op", "kinds", "function"), ROWS, ids=[row[0] for row in ROWS])
def test_functions_take_the_dtypes_and_give_those_of_the_operation(op, kinds, function):
    for d in DTYPES:
        if d.kind in kinds:
            assert loop(function, (d,) * getattr(cupy, function).nin) == code.result_dtype(op, d), d


# ---- memory ----------------------------------------------------------------------------------------------------------------

@pytest.fixture
def device_array():
    """An array of CuPy over memory of the host, which nothing touches."""
    memory = (ctypes.c_char * 4096)()
    pointer = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(ctypes.addressof(memory), 4096, memory, 0), 0)
    return cupy.ndarray((4, 5, 6), dtype="f8", memptr=pointer)


@pytest.fixture
def memory(monkeypatch):
    made = CupyMemory(cupy, 0)
    monkeypatch.setattr(made, "current", lambda: 0)
    return made


@pytest.mark.parametrize(("offset", "shape", "strides"), [
    (0, (4, 5, 6), (240, 48, 8)), (40, (6, 4), (-8, 240)), (952, (2, 2), (-240, 0)), (8, (), ()), (0, (3, 7), (0, 0))])
def test_views(device_array, memory, offset, shape, strides):
    view = memory.view(device_array, offset, shape, strides, np.dtype("f8"))
    assert memory.layout(view) == (memory.pointer(device_array) + offset, shape, strides, np.dtype("f8"))


def test_parts_are_views(device_array, memory):
    first = memory.pointer(device_array)
    x = device_array
    for part, offset in ((x[1:, ::-1], 240 + 192), (x.transpose(2, 0, 1), 0), (cupy.flip(x, 2), 40),
                         (x.diagonal(0, -2, -1), 0), (x[..., None, 3], 24)):
        assert memory.pointer(part) == first + offset
    z = device_array.view("c16")
    assert (cupy.real(z).strides, memory.pointer(cupy.imag(z)) - first) == ((240, 48, 16), 8)


# ---- kernels ---------------------------------------------------------------------------------------------------------------

MODULE = """#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
{preamble}
extern "C" __global__ void {name}({parameters}, CIndexer<1> _ind) {{
    CUPY_FOR(i, _ind.size()) {{
        _ind.set(i);
        {bindings}
        {operation}
    }}
}}
"""


def module(inputs, results, operation, name, preamble=""):
    """A kernel's text, about as CuPy makes it."""
    parameters, bindings = [], []
    for text, const in [(t, "const ") for t in inputs.split(",")] + [(t, "") for t in results.split(",")]:
        *raw, dtype, variable = text.split()
        t = code.TYPES[dtype]
        parameters.append(f"CArray<{t}, 1, 1, 1> {'' if raw else '_raw_'}{variable}")
        if not raw:
            bindings.append(f"{const}{t} &{variable} = _raw_{variable}[_ind.get()];")
    return MODULE.format(preamble=preamble, name=name, parameters=", ".join(parameters), bindings=" ".join(bindings),
                         operation=operation)


@pytest.fixture(scope="module")
def compiles():
    """Compiles a text with NVRTC, or skips where there is none."""
    try:
        nvrtc = importlib.import_module("cupy_backends.cuda.libs.nvrtc")
        nvrtc.getVersion()
        headers = importlib.import_module("cuda.pathfinder").find_nvidia_header_directory("cudart")
    except Exception as error:          # of a library that is not there
        pytest.skip(f"no NVRTC: {error}")
    if headers is None:
        pytest.skip("no headers of CUDA")
    include = Path(cupy.__file__).parent / "_core" / "include"
    folders = [*(include / "cupy" / "_cccl" / name for name in ("cub", "thrust", "libcudacxx")), include, headers]
    options = ("--std=c++17", "-arch=compute_80", "-default-device", *fused.OPTIONS, *(f"-I{folder}" for folder in folders))

    def compiles(text):
        program = nvrtc.createProgram(text, "kernel.cu", (), ())
        try:
            nvrtc.compileProgram(program, options)
        except nvrtc.NVRTCError:
            pytest.fail(nvrtc.getProgramLog(program)[:3000])
        finally:
            nvrtc.destroyProgram(program)

    return compiles


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_expressions_compile(compiles, dtype):
    """All operations of a dtype in one kernel."""
    truth, arguments = np.dtype(bool), [(f"in{k}", dtype) for k in range(3)]
    lines, results = [], []
    for k, op in enumerate(op for op in code.EXPRESSIONS if code.expression(op, dtype) is not None):
        text, made = fused.step(f"v{k}", op, dtype, [("in3", truth), *arguments] if op == "where" else arguments)
        lines += [text, f"out{k} = v{k};"]
        results.append(f"{made.name} out{k}")
    inputs = f"{fused.parameters('in', (dtype,) * 3)}, bool in3"
    compiles(module(inputs, ", ".join(results), "\n".join(lines), "all_operations", code.preamble()))


class Recorder:
    """Has CuPy's place where a kernel is made."""

    def __init__(self):
        self.made = []

    def ElementwiseKernel(self, inputs, results, operation, name, preamble="", options=()):
        self.made.append((inputs, results, operation, name, preamble))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.kind in "fc"], ids=str)
def test_polygamma_compiles(compiles, dtype):
    recorder = Recorder()
    for n in (1, 2, 9):
        polygamma.kernel(recorder, n, dtype)
    for parts in recorder.made:
        compiles(module(*parts))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scatters_compile(compiles, dtype):
    recorder = Recorder()
    for few in (False, True):
        Scatters._sums(recorder, few, dtype)
        compiles(module(*recorder.made[-1]))
