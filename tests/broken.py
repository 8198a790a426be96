"""Engines that are wrong on purpose: the CPU engine with one kernel that is a Python function over NumPy arrays."""

import ctypes

import numpy as np
from support import ALL_DTYPES

from tenferro import ExecutionEngine
from tenferro_cpu import CpuEngine

ABI = 1
KERNEL = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
                           ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Meta(ctypes.Structure):
    """What precedes shape and strides."""

    _fields_ = [("refs", ctypes.c_ssize_t), ("dtype", ctypes.c_int), ("rank", ctypes.c_int), ("itemsize", ctypes.c_int),
                ("flags", ctypes.c_int), ("size", ctypes.c_ssize_t)]


class Value(ctypes.Structure):
    _fields_ = [("meta", ctypes.c_void_p), ("buf", ctypes.c_void_p), ("data", ctypes.c_void_p)]

    @property
    def dims(self):
        """Shape, then strides; those of the value itself, to read and to change."""
        rank = Meta.from_address(self.meta).rank
        return (ctypes.c_ssize_t * (2 * rank)).from_address(self.meta + ctypes.sizeof(Meta))

    def array(self):
        """A NumPy array over the memory."""
        meta, dims = Meta.from_address(self.meta), list(self.dims)
        shape, strides = dims[:meta.rank], dims[meta.rank:]
        dtype = ALL_DTYPES[meta.dtype]
        if not meta.size:
            return np.empty(shape, dtype)
        spans = [(n - 1) * s for n, s in zip(shape, strides)]
        low, high = sum(min(0, s) for s in spans), sum(max(0, s) for s in spans)
        memory = (ctypes.c_char * (high - low + dtype.itemsize)).from_address(self.data + low)
        return np.ndarray(shape, dtype, memory, -low, strides)

    def replace_meta(self, change):
        """Other metadata than was promised; it is never freed."""
        meta = Meta.from_address(self.meta)
        size = ctypes.sizeof(Meta) + ctypes.sizeof(self.dims)
        copy = ctypes.create_string_buffer(ctypes.string_at(self.meta, size), size)
        kept.append(copy)
        address = ctypes.addressof(copy)
        Meta.from_address(address).refs = 1 << 40
        change(Meta.from_address(address), (ctypes.c_ssize_t * (2 * meta.rank)).from_address(address + ctypes.sizeof(Meta)))
        self.meta = address


kept = []


class Broken(CpuEngine):
    """The CPU engine, except for one operation.

    Parameters
    ----------
    op : str
        The operation.
    f : callable
        ``f(out, *ins)`` gets `Value` objects.
    """

    def __init__(self, op, f):
        ExecutionEngine.__init__(self, "broken")

        def kernel(engine, number, ins, n, out, params):
            with np.errstate(all="ignore"):
                f(Value.from_address(out), *(Value * n).from_address(ins))
            return 0

        self.kernel = KERNEL(kernel)
        register(self, op, self.kernel)


class Failing(CpuEngine):
    """The CPU engine, except that one operation raises an exception.

    Its kernel is ``PyObject_Size``, which is called with the engine first and gives -1 for what ``__len__`` raises.
    """

    def __init__(self, op, error):
        ExecutionEngine.__init__(self, "failing")
        self.error = error
        register(self, op, ctypes.pythonapi.PyObject_Size)

    def __len__(self):
        raise self.error


def register(engine, op, function):
    """Register a C function as the kernel of an operation."""
    engine.register_kernel(op, new_capsule(ctypes.cast(function, ctypes.c_void_p), b"tenferro.kernel", None), ABI)


def elementwise(f):
    """A kernel that computes ``f(*arrays)``."""
    def kernel(out, *ins):
        out.array()[...] = f(*(x.array() for x in ins))
    return kernel
