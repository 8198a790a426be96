"""A strict look-alike of ``cupy`` for machines without a GPU.

Its arrays are NumPy's, on memory whose addresses crash whoever reads them from the host. It refuses what CuPy refuses
(``__array__``, arrays of the host in computations, arrays of a device that is not the current one), counts what makes the host
wait and what is allocated, fails on demand, and has no function or keyword that CuPy 14.2 lacks.

``install(monkeypatch)`` puts it into ``sys.modules``; ``MACHINE`` is what is counted.
"""

import sys
from types import ModuleType

import numpy as np

from . import functions, machine
from .array import ndarray
from .dlpack import from_dlpack
from .kernels import COMPILER, ElementwiseKernel
from .machine import MACHINE

__all__ = ["COMPILER", "MACHINE", "install", "modules"]

DTYPES = ("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
          "complex128")


def _module(name, **members):
    module = ModuleType(name)
    module.__dict__.update(members, __version__="14.2.0", __spec__=None)
    if name.count(".") == 0:
        module.__path__ = []
    return module


def _runtime():
    def get_device_count():
        if MACHINE.devices == 0:
            raise machine.CUDARuntimeError(100)
        return MACHINE.devices

    return _module("cupy.cuda.runtime", getDeviceCount=get_device_count, getDevice=machine.get_device_id,
                   CUDARuntimeError=machine.CUDARuntimeError)


def modules():
    """The modules by name, made anew."""
    MACHINE.start()
    pool = machine.MemoryPool()
    memory = _module("cupy.cuda.memory", OutOfMemoryError=machine.OutOfMemoryError, MemoryPool=machine.MemoryPool,
                     UnownedMemory=machine.UnownedMemory, MemoryPointer=machine.MemoryPointer)
    runtime = _runtime()
    shared = {name: getattr(machine, name) for name in (
        "Device", "Stream", "MemoryPointer", "UnownedMemory", "MemoryPool", "alloc", "alloc_pinned_memory",
        "get_current_stream", "get_device_id", "is_available")}
    cuda = _module("cupy.cuda", runtime=runtime, memory=memory, **shared)
    linalg = _module("cupy.linalg", **functions.LINALG_FUNCTIONS)
    fft = _module("cupy.fft", **functions.FFT_FUNCTIONS)
    main = functions.numpy_functions()
    functions.install_operators(main)
    cupy = _module("cupy", ndarray=ndarray, ElementwiseKernel=ElementwiseKernel, from_dlpack=from_dlpack, cuda=cuda,
                   linalg=linalg, fft=fft, get_default_memory_pool=lambda: pool, nan=np.nan, inf=np.inf, pi=np.pi,
                   newaxis=None, bool=np.bool_, **main, **{d: getattr(np, d) for d in DTYPES})
    special = _module("cupyx.scipy.special", **functions.SPECIAL_FUNCTIONS)
    linear = _module("cupyx.scipy.linalg", solve_triangular=functions.solve_triangular,
                     lu_factor=functions.lu_factor, lu_solve=functions.lu_solve)
    scipy = _module("cupyx.scipy", special=special, linalg=linear)
    cupyx = _module("cupyx", scipy=scipy, scatter_add=functions.scatter_add, empty_pinned=functions.empty_pinned,
                    errstate=functions.errstate, allow_synchronize=functions.allow_synchronize)
    return {m.__name__: m for m in (cupy, cuda, runtime, memory, linalg, fft, cupyx, scipy, special, linear)}


def install(monkeypatch):
    """Let ``import cupy`` find the look-alike; returns its module."""
    made = modules()
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)
    return made["cupy"]
