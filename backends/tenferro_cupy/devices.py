"""What devices there are, and why not more; CuPy is only asked where it is imported already."""

import ctypes
import importlib.util
import operator
import os
import sys

from tenferro.errors import UnsupportedError, ValidationError

INSTALL = "pip install 'tenferro[cuda13x]' (or 'tenferro[cuda12x]' for CUDA 12) installs it"


def missing():
    """Why there is no engine here, in one sentence, or None. It neither imports CuPy nor starts CUDA, which would not survive a
    fork, where the management library of the driver can be asked instead."""
    cupy = sys.modules.get("cupy")
    if cupy is None and importlib.util.find_spec("cupy") is None:
        return f"CuPy is not installed; {INSTALL}"
    if cupy is not None and hasattr(cupy, "cuda"):
        return why_none(cupy)
    if os.environ.get("CUDA_VISIBLE_DEVICES", "all").strip() in ("", "-1"):
        return "CUDA_VISIBLE_DEVICES hides all devices"
    count, reason = (managed() or driven())
    return reason if count == 0 else None


def managed():
    """Number of devices and why there are none, as NVML says it; None without NVML."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        if nvml.nvmlInit_v2():
            return None
        count = ctypes.c_uint()
        status = nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
        nvml.nvmlShutdown()
    except (OSError, AttributeError):
        return None
    return None if status else (count.value, "the NVIDIA driver finds no device")


def driven():
    """Number of devices and why there are none, as the driver says it."""
    try:
        cuda = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        status, count = cuda.cuInit(0), ctypes.c_int()
        status = status or cuda.cuDeviceGetCount(ctypes.byref(count))
    except (OSError, AttributeError):
        return 0, "no NVIDIA driver is installed (libcuda cannot be loaded)"
    if status:
        return 0, f"the NVIDIA driver reports error {status}, no usable device"
    return count.value, "the NVIDIA driver finds no device"


def why_none(cupy):
    """Why CuPy finds no device, or None."""
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:          # of the driver, the runtime, or a library that cannot be loaded
        return f"CuPy finds no usable device: {error}"
    return None if count else "CuPy finds no device"


def imported():
    """CuPy.

    Raises
    ------
    UnsupportedError
        It is not installed, or cannot be imported.
    """
    try:
        import cupy
    except ImportError as error:
        raise UnsupportedError(f"the engine 'cupy' needs CuPy, which cannot be imported ({error}); {INSTALL}", op="engine",
                               engine="cupy") from error
    return cupy


def chosen(cupy, device):
    """The number of a device that exists.

    Raises
    ------
    UnsupportedError
        There is no device at all.
    ValidationError
        There are others, but not this one.
    """
    reason = why_none(cupy)
    if reason is not None:
        raise UnsupportedError(f"the engine 'cupy' needs a CUDA device: {reason}; open the engine 'cpu' instead", op="engine",
                               engine="cupy")
    count = cupy.cuda.runtime.getDeviceCount()
    try:
        number = operator.index(device)
    except TypeError:
        number = -1
    if not 0 <= number < count:
        there = "device 0" if count == 1 else f"devices 0 to {count - 1}"
        raise ValidationError(f"there is no CUDA device {device!r}; this machine has {count}: {there}", op="CupyEngine.open",
                              argument="device")
    return number
