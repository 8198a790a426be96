"""A library of arrays in memory of its own, and an engine over it: what a device is, without a device.

The arrays are NumPy's underneath. They tell the host nothing unless they are downloaded, and their addresses are none:
whatever reads them as such crashes.
"""

import numpy as np

from tenferro import DeviceEngine, DeviceMemory
from tenferro._core.optable import Op

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
    if isinstance(x, np.ndarray) and x.ndim:
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

    executors = {}
    """Operation of an extension module -> what computes it."""

    def executor(self, name):
        return self.executors.get(name)

    def unique(self, x, *, axis, equal_nan):
        return call(lambda a: np.unique(a, True, True, True, axis, equal_nan=equal_nan)[1:], x)

    def __init__(self):
        super().__init__(Library(), "remote", "remote", "remote:0", MEMORY)


class FusingEngine(RemoteEngine):
    """The same with passes over groups of operations, which it takes one by one."""

    fusable = ("add", "sub", "mul", "div", "neg", "exp", "sin", "cos", "tanh", "square", "absorb_mul")
    passes = 0

    def fused(self, program, arrays, outputs):
        type(self).passes += 1
        steps, _, results = program[:3]
        registers = {**dict(enumerate(arrays)), **{len(arrays) + k: y for k, y in enumerate(outputs)}}
        for k in range(3, 3 + 7 * steps, 7):
            op, _, n, *places = program[k:k + 7]
            y = getattr(self, op_name(op))(*[registers[i] for i in places[:n]])
            if len(arrays) <= places[3] < len(arrays) + results:
                registers[places[3]][...] = y
            else:
                registers[places[3]] = y


def op_name(number):
    """Name of an operation."""
    return Op(number).name.lower()
