"""Devices, streams, memory and what is counted: what the look-alike has instead of a GPU.

Addresses on a "device" are those of host memory with a bit set that no host address has: whoever reads them crashes, as with a
real device.
"""

import ctypes
import threading
from contextlib import contextmanager

import numpy as np

HIGH = 1 << 62
"""The bit that tells addresses of a device from those of the host."""


class CUDARuntimeError(RuntimeError):
    """A failure that the runtime reports by number."""

    NAMES = {2: "cudaErrorMemoryAllocation: out of memory", 101: "cudaErrorInvalidDevice: invalid device ordinal",
             700: "cudaErrorIllegalAddress: an illegal memory access was encountered"}

    def __init__(self, status):
        self.status = status
        super().__init__(self.NAMES.get(status, f"error {status}"))


class OutOfMemoryError(MemoryError):
    """An allocation of device memory failed."""

    def __init__(self, size, total, limit=0):
        super().__init__(f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes).")


class DeviceSynchronizedError(RuntimeError):
    """Something waited in ``allow_synchronize(False)``."""


class Machine:
    """What there is and what happened.

    Attributes
    ----------
    devices : int
        Number of devices.
    syncs : list of str
        What made the host wait.
    allocations : list of int
        Sizes of everything that was allocated on devices.
    live : int
        Bytes that have not been freed.
    launches : list
        Name, device and stream of each computation.
    """

    def __init__(self):
        self.local = threading.local()
        self.start()

    def start(self, devices=2):
        """Forget everything."""
        self.devices = devices
        self.live, self.epoch = 0, object()
        self.syncs, self.allocations, self.launches, self.uploads = [], [], [], []
        self.failing = self.error = None
        self.linalg, self.may_wait, self.limit = "ignore", True, 0
        self.local.device, self.local.streams = 0, {}

    def fail(self, after, error=None):
        """Let an allocation fail, after some more that succeed; or any launch with an error of the runtime."""
        if error is None:
            self.failing = after
        else:
            self.error = [after, error]

    @property
    def device(self):
        """The current device of this thread."""
        return getattr(self.local, "device", 0)

    @device.setter
    def device(self, value):
        self.local.device = value

    @property
    def stream(self):
        """The current stream of this thread on its current device."""
        return getattr(self.local, "streams", {}).get(self.device) or Stream.null

    def waits(self, name):
        """Something makes the host wait for the device."""
        if not self.may_wait:
            raise DeviceSynchronizedError(name)
        self.syncs.append(name)

    def launch(self, name):
        """Something computes on the current device."""
        if self.error is not None:
            self.error[0] -= 1
            if self.error[0] < 0:
                raise self.error[1]
        self.launches.append((name, self.device, self.stream.ptr))

    def allocated(self, nbytes):
        """Memory is allocated on the current device."""
        if self.failing is not None:
            self.failing -= 1
            if self.failing < 0:
                self.failing = None
                raise OutOfMemoryError(nbytes, self.live)
        if self.limit and self.live + nbytes > self.limit:
            raise OutOfMemoryError(nbytes, self.live, self.limit)
        self.allocations.append(nbytes)
        self.live += nbytes

    @contextmanager
    def no_waiting(self):
        """Nothing in here may make the host wait."""
        before = len(self.syncs)
        yield
        assert self.syncs[before:] == [], f"the host waited for the device: {self.syncs[before:]}"


MACHINE = Machine()


# ---- devices and streams ---------------------------------------------------------------------------------------------

class Device:
    """A device, and the context in which it is the current one."""

    def __init__(self, device=None):
        self.id = MACHINE.device if device is None else int(device)

    def __int__(self):
        return self.id

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self):
        return hash(self.id)

    def __repr__(self):
        return f"<CUDA Device {self.id}>"

    def use(self):
        if not 0 <= self.id < MACHINE.devices:
            raise CUDARuntimeError(101)
        MACHINE.device = self.id

    def __enter__(self):
        self._stack = [*getattr(self, "_stack", ()), MACHINE.device]
        self.use()
        return self

    def __exit__(self, *unused):
        MACHINE.device = self._stack.pop()

    def synchronize(self):
        MACHINE.waits("Device.synchronize")

    @property
    def mem_info(self):
        return 1 << 33, 1 << 34


class Stream:
    """A queue of work."""

    null = None
    _count = 0

    def __init__(self, null=False, non_blocking=False, ptds=False, priority=None):
        Stream._count += 0 if null else 1
        self.ptr = 0 if null else Stream._count
        self.device_id = -1 if null else MACHINE.device

    def __repr__(self):
        return f"<Stream {self.ptr} (device {self.device_id})>"

    def use(self):
        if not hasattr(MACHINE.local, "streams"):
            MACHINE.local.streams = {}
        MACHINE.local.streams[MACHINE.device] = self
        return self

    def __enter__(self):
        self._stack = [*getattr(self, "_stack", ()), MACHINE.stream]
        return self.use()

    def __exit__(self, *unused):
        self._stack.pop().use()

    def synchronize(self):
        MACHINE.waits("Stream.synchronize")


Stream.null = Stream(null=True)


def get_current_stream(device_id=-1):
    return MACHINE.stream


def get_device_id():
    return MACHINE.device


def is_available():
    return MACHINE.devices > 0


# ---- memory ----------------------------------------------------------------------------------------------------------

class BaseMemory:
    """Memory of a device."""

    @property
    def device(self):
        return Device(self.device_id)


class Memory(BaseMemory):
    """Fresh memory of the current device, or that of a NumPy array that nobody else has."""

    def __init__(self, size, host=None):
        self.epoch = None
        MACHINE.allocated(size)
        self.epoch = MACHINE.epoch
        self._bytes = np.empty(max(size, 1), np.uint8) if host is None else host
        self.ptr, self.size, self.device_id = self._bytes.ctypes.data ^ HIGH, size, MACHINE.device

    def __del__(self):
        if self.epoch is MACHINE.epoch:
            MACHINE.live -= self.size


class UnownedMemory(BaseMemory):
    """Memory that somebody else owns."""

    def __init__(self, ptr, size, owner, device_id=-1):
        if not ptr & HIGH:
            raise CUDARuntimeError(700)
        self.ptr, self.size, self._owner = ptr, size, owner
        self.device_id = MACHINE.device if device_id < 0 else device_id


class MemoryPointer:
    """A place in memory."""

    def __init__(self, mem, offset):
        self.mem, self.ptr = mem, mem.ptr + offset

    @property
    def device(self):
        return self.mem.device

    @property
    def device_id(self):
        return self.mem.device_id

    def __int__(self):
        return self.ptr

    def __add__(self, offset):
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)

    def __sub__(self, offset):
        return self + -offset


def alloc(size):
    return MemoryPointer(Memory(size), 0)


def host_view(memptr, shape, strides, dtype):
    """The NumPy array over what a pointer points to; reaching out of its memory is an error."""
    low = sum(min(0, s * (n - 1)) for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
    high = sum(max(0, s * (n - 1)) for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
    size = 0 if 0 in shape else high - low + dtype.itemsize
    first = memptr.ptr + low - memptr.mem.ptr
    if size and (first < 0 or first + size > memptr.mem.size):
        raise CUDARuntimeError(700)
    memory = (ctypes.c_char * max(size, 1)).from_address((memptr.ptr + low) ^ HIGH)
    memory._owner = memptr.mem
    return np.ndarray(shape, dtype, memory, -low, strides)


class MemoryPool:
    """CuPy's pool, as far as it can be asked."""

    def __init__(self, allocator=None):
        self.freed = 0

    def used_bytes(self):
        return MACHINE.live

    def total_bytes(self):
        return MACHINE.live

    def set_limit(self, size=None, fraction=None):
        MACHINE.limit = size

    def free_all_blocks(self, stream=None):
        self.freed += 1


class PinnedMemoryPointer(bytearray):
    """Memory of the host from which devices copy while the host goes on."""


def alloc_pinned_memory(size):
    return PinnedMemoryPointer(size)
