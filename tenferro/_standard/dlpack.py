"""DLPack in both directions, through NumPy: memory is shared where its strides can be told."""

import ctypes

import numpy as np

from .._core.eager import EagerTensor
from .._core.handles import constant
from .._core.tensor import Tensor
from .host import checked_device

__all__ = ["from_dlpack"]

CPU = (1, 0)

VERSIONED = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
"""NumPy 2.0 knows neither versions nor keywords."""


def from_dlpack(x, /, *, device=None, copy=None):
    """Constant of an object that exports DLPack, such as a tensor of PyTorch.

    Parameters
    ----------
    x : object
        Has ``__dlpack__`` and ``__dlpack_device__``; its memory is the host's.
    device : {None, "cpu"}
    copy : bool, optional
        None and False share the memory, whose later changes are then not noticed; True copies it.

    Returns
    -------
    EagerTensor

    Raises
    ------
    BufferError
        The object cannot be exported, or not without a copy.
    DTypeMismatchError
        Its dtype is not supported.
    PlacementError
        Another device.
    """
    checked_device(device, "from_dlpack")
    return constant(imported(x, copy), copy=False)


def imported(x, copy):
    """Array over the memory of a DLPack exporter."""
    if isinstance(x, EagerTensor) and x.tracks_grad:
        raise BufferError("from_dlpack: this tensor is tracked; export x.detach()")
    if VERSIONED:
        return np.from_dlpack(x, copy=copy)
    array = np.from_dlpack(x)
    return array.copy(order="K") if copy else array


def _tensor_from_dlpack(obj, copy=None):
    """Tensor of an object that exports DLPack; errors are those of `tenferro.from_dlpack`."""
    return Tensor.from_numpy(imported(obj, copy), copy=False)


def _dlpack_device(self):
    """The device as DLPack's type and number: (1, 0), the host."""
    return CPU


def _dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """Capsule of the value for DLPack's consumers; read-only where the version can tell.

    Parameters
    ----------
    stream : None
        The host has no streams.
    max_version : tuple of int, optional
        Largest version that the consumer knows. Before 1.0 nothing says that memory is read-only: such a consumer gets a
        copy unless ``copy=False``, and must not write then.
    dl_device : tuple of int, optional
        (1, 0), the host.
    copy : bool, optional
        Whether to copy. By default where negative strides or the version ask for it.

    Raises
    ------
    BufferError
        The tensor is tracked, a copy is needed but ``copy=False``, another device, or a stream.
    """
    if isinstance(self, EagerTensor) and self.tracks_grad:
        raise BufferError("__dlpack__: this tensor is tracked; export x.detach()")
    if stream is not None:
        raise BufferError("__dlpack__: the host has no streams; use stream=None")
    if dl_device not in (None, CPU):
        raise BufferError(f"__dlpack__: the value is in host memory, (1, 0), and does not go to {dl_device}")
    array = self.numpy()
    versioned = VERSIONED and max_version is not None and max_version[0] >= 1
    turned = any(s < 0 for s in array.strides)
    if turned and copy is False:
        raise BufferError("__dlpack__: a negative stride needs a copy; use copy=None")
    if copy or turned or (copy is None and not versioned):
        array = array.copy(order="K") if not turned else np.array(array, order="C")
    elif not versioned:
        array = _writable(array)
    return array.__dlpack__(max_version=max_version) if VERSIONED else array.__dlpack__()


def _writable(array):
    """An array over the memory of a read-only one, which it keeps alive; NumPy exports no other to old consumers."""
    extent = sum((n - 1) * s for n, s in zip(array.shape, array.strides)) + array.itemsize if array.size else 0
    memory = (ctypes.c_char * extent).from_address(array.ctypes.data)
    memory.owner = array
    return np.ndarray(array.shape, array.dtype, memory, 0, array.strides if extent else None)


MEMBERS = {"__dlpack__": _dlpack, "__dlpack_device__": _dlpack_device}
TENSOR_MEMBERS = {**MEMBERS, "from_dlpack": staticmethod(_tensor_from_dlpack)}
