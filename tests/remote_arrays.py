"""A library of arrays in memory of its own, and an engine over it: what a device is, without a device.

The arrays are NumPy's underneath. They tell the host nothing unless they are downloaded, and their addresses are none:
whatever reads them as such crashes.
"""

import numpy as np

from tenferro._foreign.device import DeviceEngine, DeviceMemory

FAKE = 1 << 62
"""Added to addresses."""

counted = {"uploads": 0, "downloads": 0}
refusing = []
"""While there is something in it, no memory is to be had."""


class RemoteArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that the host cannot read."""

    def __init__(self, array):
        self.hidden = array

    shape = property(lambda self: self.hidden.shape)
    strides = property(lambda self: self.hidden.strides)
    dtype = property(lambda self: self.hidden.dtype)
    ndim = property(lambda self: self.hidden.ndim)
    size = property(lambda self: self.hidden.size)
    __iter__ = None

    def __array__(self, *args, **kwargs):
        raise TypeError("the host cannot read a remote array")

    __bool__ = __float__ = __int__ = __index__ = __complex__ = __array__

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return call(getattr(ufunc, method), *inputs, **kwargs)

    def __getitem__(self, index):
        return RemoteArray(self.hidden[unwrapped(index)])

    def __setitem__(self, index, value):
        self.hidden[unwrapped(index)] = unwrapped(value)


def unwrapped(x):
    """The hidden array; arrays of the host are refused."""
    if isinstance(x, RemoteArray):
        return x.hidden
    if isinstance(x, (tuple, list)):
        return type(x)(map(unwrapped, x))
    if isinstance(x, np.ndarray):
        raise TypeError("a host array reached the device")
    return x


def call(f, *args, **kwargs):
    """A function of NumPy on hidden arrays."""
    if refusing:
        raise MemoryError("the device is full")
    with np.errstate(all="ignore"):
        found = f(*map(unwrapped, args), **{k: unwrapped(v) for k, v in kwargs.items()})
    if isinstance(found, (tuple, list)):
        return type(found)(RemoteArray(np.asarray(a)) for a in found)
    return RemoteArray(np.asarray(found))


class Library:
    """NumPy's functions, over remote arrays."""

    __name__ = "remote"

    def __getattr__(self, name):
        f = getattr(np, name)
        if isinstance(f, type):
            return np.dtype(f)
        return (lambda *args, **kwargs: call(f, *args, **kwargs)) if callable(f) else f


class Memory(DeviceMemory):
    """The memory of device 0."""

    name = "remote:0"

    def upload(self, array):
        counted["uploads"] += 1
        return call(lambda: array.copy(order="K"))

    def download(self, array):
        counted["downloads"] += 1
        return array.hidden.copy(order="K")

    def pointer(self, array):
        return array.hidden.ctypes.data + FAKE

    def view(self, base, offset, shape, strides, dtype):
        whole = base.hidden
        flat = np.ndarray(whole.nbytes, np.uint8, _buffer(whole))
        return RemoteArray(np.ndarray(shape, dtype, flat, offset, strides) if 0 not in shape else np.empty(shape, dtype))

    def empty(self, shape, strides, dtype):
        size = int(np.prod(shape, dtype=int))
        return call(lambda: np.ndarray(shape, dtype, np.empty(size, dtype), 0, strides if size else None))


def _buffer(array):
    """The bytes of an array without gaps, in the order of memory."""
    order = sorted(range(array.ndim), key=lambda k: -array.strides[k])
    return array.transpose(order).reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)


MEMORY = Memory()


class RemoteEngine(DeviceEngine):
    """Engine over remote arrays."""

    def __init__(self):
        super().__init__(Library(), "remote", "remote", "remote:0", MEMORY)
