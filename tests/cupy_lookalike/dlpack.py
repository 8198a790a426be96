"""Capsules of DLPack: NumPy's, in which the device and the address are changed."""

import ctypes

import numpy as np

from .array import ndarray
from .machine import HIGH, MACHINE, MemoryPointer, UnownedMemory

CPU, CUDA = 1, 2
_NAMES = {b"dltensor": 0, b"dltensor_versioned": 32}        # where the description of the array starts

_api = ctypes.pythonapi
_api.PyCapsule_GetName.restype, _api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
_api.PyCapsule_GetPointer.restype, _api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Description(ctypes.Structure):
    """The first fields of a ``DLTensor``."""

    _fields_ = [("data", ctypes.c_uint64), ("device", ctypes.c_int32), ("number", ctypes.c_int32)]


def _description(capsule):
    name = _api.PyCapsule_GetName(capsule)
    return Description.from_address(_api.PyCapsule_GetPointer(capsule, name) + _NAMES[name])


def exported(array, max_version):
    """A capsule for an array of a device."""
    words = {} if max_version is None else {"max_version": max_version}
    capsule = array._host.__dlpack__(**words)
    d = _description(capsule)
    d.data, d.device, d.number = d.data ^ HIGH, CUDA, array._mem.device_id
    return capsule


class _AsHost:
    """What NumPy imports, made of a capsule for a device."""

    def __init__(self, capsule):
        d = _description(capsule)
        d.data, d.device, d.number = d.data ^ HIGH, CPU, 0
        self.capsule = capsule

    def __dlpack_device__(self):
        return CPU, 0

    def __dlpack__(self, **unused):
        return self.capsule


def from_dlpack(array, *, device=None, copy=None):
    """An array over the memory of another library's on a device."""
    kind, number = array.__dlpack_device__()
    if kind != CUDA:
        raise TypeError("CPU arrays cannot be directly imported to CuPy. Use `cupy.array(numpy.from_dlpack(input))` instead.")
    host = np.from_dlpack(_AsHost(array.__dlpack__(stream=MACHINE.stream.ptr or 1)))
    low, high = np.lib.array_utils.byte_bounds(host)
    memory = UnownedMemory(low ^ HIGH, high - low, host, number)
    first = host.__array_interface__["data"][0] - low
    return ndarray(host.shape, host.dtype, MemoryPointer(memory, first), host.strides)
