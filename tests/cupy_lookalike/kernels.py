"""``ElementwiseKernel``: the CUDA C++ text is compiled for the host and run element by element."""

import atexit
import ctypes
import functools
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from .array import ndarray, on_current_device, wrapped
from .machine import MACHINE

CTYPES = {"bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long", "uint8": "unsigned char",
          "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long", "float32": "float",
          "float64": "double", "complex64": "complex<float>", "complex128": "complex<double>"}
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
SHIM = Path(__file__).with_name("cuda_shim.h")

LOOP = """#include "{shim}"
{preamble}
extern "C" void run(long _size, int _rank, const long *_shape, char **_data, const long *_strides) {{
    for (long i = 0; i < _size; i++) {{
        long _left = i, _at[{count} + 1] = {{0}};
        for (int _d = _rank - 1; _d >= 0; _d--) {{
            const long _k = _left % _shape[_d];
            _left /= _shape[_d];
            for (int _a = 0; _a < {count}; _a++) _at[_a] += _k * _strides[_a * _rank + _d];
        }}
{bindings}
        {{
{operation}
        }}
    }}
}}
"""


@functools.cache
def _folder():
    folder = tempfile.TemporaryDirectory(prefix="cupy-lookalike-")
    atexit.register(folder.cleanup)
    return folder


@functools.cache
def _header():
    """The shim, compiled once."""
    header = Path(_folder().name, SHIM.name)
    header.write_text(SHIM.read_text())
    subprocess.run([COMPILER, *OPTIONS, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)
    return header


OPTIONS = ("-std=c++17", "-O1", "-fPIC", "-ffp-contract=off", "-w")


@functools.cache
def compiled(source):
    """The function of a source text."""
    header = _header()
    path = Path(_folder().name, f"k{compiled.cache_info().currsize}")
    path.with_suffix(".cpp").write_text(source.replace("{shim}", header.name))
    done = subprocess.run([COMPILER, *OPTIONS, "-shared", path.with_suffix(".cpp"), "-o", path.with_suffix(".so")],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the kernel does not compile:\n{source}\n{done.stderr[:3000]}")
    return ctypes.CDLL(str(path.with_suffix(".so"))).run


class Parameter:
    """One parameter of a kernel: ``[raw] dtype name``."""

    def __init__(self, text):
        *words, dtype, self.name = text.split()
        self.raw = words == ["raw"]
        if dtype not in CTYPES or (words and not self.raw):
            raise ValueError(f"the look-alike knows parameters such as 'raw float64 x', not {text!r}")
        if self.name in ("i", "n") or self.name.startswith("_"):
            raise ValueError(f"Reserved name {self.name}")
        self.dtype = np.dtype(dtype)

    def binding(self, k, out):
        t = CTYPES[self.dtype.name]
        if self.raw:
            return f"        {t} *const {self.name} = ({t} *)_data[{k}];"
        return f"        {'' if out else 'const '}{t} &{self.name} = *({t} *)(_data[{k}] + _at[{k}]);"


class ElementwiseKernel:
    """A kernel of the user."""

    def __init__(self, in_params, out_params, operation, name="kernel", reduce_dims=True, preamble="", no_return=False,
                 return_tuple=False, **kwargs):
        if set(kwargs) - {"options", "doc", "loop_prep", "after_loop"}:
            raise TypeError(f"unexpected keywords {sorted(kwargs)}")
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"{name!r} is no name of a function")
        self.name, self.operation, self.preamble = name, operation, preamble
        self.ins, self.outs = ([Parameter(p) for p in text.split(",") if p.strip()] for text in (in_params, out_params))
        self.nin, self.nout = len(self.ins), len(self.outs)

    @property
    def source(self):
        bindings = "\n".join(p.binding(k, k >= self.nin) for k, p in enumerate([*self.ins, *self.outs]))
        return LOOP.format(shim="{shim}", preamble=self.preamble, bindings=bindings, operation=self.operation,
                           count=self.nin + self.nout)

    def __call__(self, *args, size=None):
        if len(args) not in (self.nin, self.nin + self.nout):
            raise TypeError(f"Wrong number of arguments for {self.name!r}. It must be either {self.nin} or "
                            f"{self.nin + self.nout}, but given {len(args)}.")
        hosts = [self._host(a, p) for a, p in zip(args, [*self.ins, *self.outs])]
        wide = [h for h, p in zip(hosts, self.ins) if not p.raw]
        if len(args) > self.nin:
            shape = hosts[self.nin].shape
            results = list(args[self.nin:])
        else:
            shape = (size,) if size is not None else np.broadcast_shapes(*(h.shape for h in wide))
            results = [wrapped(np.empty(shape, p.dtype)) for p in self.outs]
            hosts += [r._host for r in results]
        on_current_device([a for a in [*args, *results] if isinstance(a, ndarray)])
        MACHINE.launch(self.name)
        self._run(hosts, shape)
        return results[0] if self.nout == 1 else tuple(results)

    @staticmethod
    def _host(a, p):
        if isinstance(a, ndarray):
            if a.dtype != p.dtype:
                raise TypeError(f"Type is mismatched. {p.name} {a.dtype.type} {p.dtype.type}")
            if p.raw and not a._host.flags.c_contiguous:
                raise ValueError("the look-alike takes raw arrays in C order")
            return a._host
        if isinstance(a, np.ndarray) or p.raw:
            raise TypeError(f"Unsupported type {type(a)}")
        return np.asarray(a, p.dtype)

    def _run(self, hosts, shape):
        params = [*self.ins, *self.outs]
        spread = [h if p.raw else np.broadcast_to(h, shape, subok=False) if k < self.nin else h
                  for k, (h, p) in enumerate(zip(hosts, params))]
        rank = len(shape)
        strides = [s for h, p in zip(spread, params) for s in ((0,) * rank if p.raw else h.strides)]
        data = (ctypes.c_void_p * len(spread))(*[h.ctypes.data for h in spread])
        longs = (ctypes.c_long * max(len(strides), 1))(*strides)
        compiled(self.source)(ctypes.c_long(int(np.prod(shape))), rank, (ctypes.c_long * max(rank, 1))(*shape), data, longs)
