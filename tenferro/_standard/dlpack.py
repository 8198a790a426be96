"""DLPack in both directions, through NumPy or a device's library: memory is shared where its strides can be told."""

import copy as copying
import ctypes

import numpy as np

from .._core.eager import EagerTensor
from .._core.handles import constant
from .._core.spaces import known
from .._core.tensor import Tensor
from .._core.transfers import library_array, placed, tensor_over
from ..errors import PlacementError
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
        Has ``__dlpack__`` and ``__dlpack_device__``; its memory is the host's, or a device's that an engine was opened for.
    device : str, optional
        Where the constant is to lie; by default where the memory is.
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

    Examples
    --------
    >>> import tenferro as tfr
    >>> import numpy as np
    >>> tfr.from_dlpack(np.array([1.0, 2.0]))
    EagerTensor([1., 2.], dtype=float64)
    """
    checked_device(device, "from_dlpack")
    found = constant(imported(x, copy), copy=False)
    return found if device is None else placed(found, device, "from_dlpack")


def imported(x, copy):
    """Array or tensor over the memory of a DLPack exporter."""
    if isinstance(x, EagerTensor) and x.tracks_grad:
        raise BufferError("from_dlpack: this tensor is tracked; export x.detach()")
    where = tuple(x.__dlpack_device__()) if hasattr(x, "__dlpack_device__") else CPU
    if where[0] != CPU[0]:
        return _on_device(x, (int(where[0]), int(where[1])), copy)
    if VERSIONED:
        return np.from_dlpack(x, copy=copy)
    array = np.from_dlpack(x)
    return array.copy(order="K") if copy else array


def _on_device(x, where, copy):
    """Tensor over the memory of an exporter on a device."""
    memory = next((m for m in known() if m.dlpack_device == where), None)
    if memory is None:
        raise PlacementError(f"from_dlpack: the memory lies on DLPack's device {where}, for which no engine was opened; open "
                             "one first, such as tenferro.engine('cupy')", op="from_dlpack", expected=CPU, actual=where)
    tensor = tensor_over(memory, memory.from_dlpack(x))
    return copying.deepcopy(tensor) if copy else tensor


def _tensor_from_dlpack(obj, copy=None):
    """A tensor over the memory of an object that exports DLPack.

    Parameters
    ----------
    obj : object
        Has ``__dlpack__`` and ``__dlpack_device__``; its memory is the host's.
    copy : bool, optional
        None and False share the memory, whose later changes are then not noticed; True copies it.

    Returns
    -------
    Tensor

    Raises
    ------
    BufferError
        The object cannot be exported, or not without a copy.
    DTypeMismatchError
        Its dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> import numpy as np
    >>> tfr.Tensor.from_dlpack(np.array([1.0, 2.0])).shape
    (2,)
    """
    found = imported(obj, copy)
    return found if isinstance(found, Tensor) else Tensor.from_numpy(found, copy=False)


def _dlpack_device(self):
    """The device as DLPack's type and number; the host is (1, 0)."""
    memory, _ = library_array(self)
    return CPU if memory is None else memory.dlpack_device


def _dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """Capsule of the value for DLPack's consumers; read-only where the version can tell.

    Parameters
    ----------
    stream : int or None
        The consumer's stream of a device; the host has none.
    max_version : tuple of int, optional
        Largest version that the consumer knows. Before 1.0 nothing says that memory is read-only: such a consumer gets a
        copy unless ``copy=False``, and must not write then.
    dl_device : tuple of int, optional
        Where the consumer wants it; (1, 0) is the host.
    copy : bool, optional
        Whether to copy. By default where negative strides or the version ask for it.

    Raises
    ------
    BufferError
        The tensor is tracked, a copy is needed but ``copy=False``, another device, or a stream.
    """
    if isinstance(self, EagerTensor) and self.tracks_grad:
        raise BufferError("__dlpack__: this tensor is tracked; export x.detach()")
    memory, array = library_array(self)
    if memory is not None:
        return memory.to_dlpack(array, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
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
