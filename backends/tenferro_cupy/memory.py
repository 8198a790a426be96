"""The memory of a CUDA device, as CuPy has it."""

from functools import wraps

import numpy as np

from tenferro._foreign.device import DeviceMemory

CUDA = 2        # DLPack's number for it


def order_of(array):
    """Axes by descending stride, and how to get back."""
    order = tuple(sorted(range(array.ndim), key=lambda k: -abs(array.strides[k])))
    return order, tuple(sorted(range(array.ndim), key=order.__getitem__))


def _here(f):
    """Run a method with the device as the current one."""
    @wraps(f)
    def method(self, *args, **kwargs):
        if self.current() == self.number:
            return f(self, *args, **kwargs)
        with self.device:
            return f(self, *args, **kwargs)
    return method


class CupyMemory(DeviceMemory):
    """Memory of one device. Allocations are those of CuPy's current allocator, by default its memory pool.

    Parameters
    ----------
    cupy : module
    number : int
        The device.
    """

    def __init__(self, cupy, number):
        self.cupy, self.number = cupy, number
        self.name, self.dlpack_device = f"cuda:{number}", (CUDA, number)
        self.device, self.current = cupy.cuda.Device(number), cupy.cuda.get_device_id

    @_here
    def upload(self, array):
        """A fresh array on the current stream. CuPy copies the elements to pinned memory first, so nobody waits for the device,
        and the NumPy array may change afterwards."""
        if array.ndim < 2:
            return self.cupy.array(array, copy=True, order="C", blocking=False)
        order, back = order_of(array)
        packed = np.ascontiguousarray(array.transpose(order))
        return self.cupy.array(packed, copy=True, order="C", blocking=False).transpose(back)

    @_here
    def download(self, array):
        """A fresh NumPy array; waits for the work on the current stream."""
        if array.ndim < 2:
            return self.cupy.asnumpy(array)
        order, back = order_of(array)
        return self.cupy.asnumpy(array.transpose(order)).transpose(back)

    def pointer(self, array):
        return array.data.ptr

    @_here
    def view(self, base, offset, shape, strides, dtype):
        return self.cupy.ndarray(shape, dtype=dtype, memptr=base.data + offset, strides=strides)

    @_here
    def empty(self, shape, strides, dtype):
        nbytes = dtype.itemsize
        for n in shape:
            nbytes *= n
        return self.cupy.ndarray(shape, dtype=dtype, memptr=self.cupy.cuda.alloc(nbytes), strides=strides)

    @_here
    def fill(self, target, source):
        target[...] = source

    @_here
    def from_dlpack(self, obj):
        """The array over what another library has on this device; the current stream waits for what that has under way."""
        return self.cupy.from_dlpack(obj)

    @_here
    def to_dlpack(self, array, **options):
        return array.__dlpack__(**options)

    @_here
    def info(self):
        """Bytes in use by arrays, held by CuPy's pool, free and in total on the device."""
        pool = self.cupy.get_default_memory_pool()
        free, total = self.device.mem_info
        return {"used": pool.used_bytes(), "held": pool.total_bytes(), "free": free, "total": total}

    @_here
    def release(self):
        """Give what CuPy's pool holds without use back to the device."""
        self.cupy.get_default_memory_pool().free_all_blocks()
