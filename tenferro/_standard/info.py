"""Self-description of the namespace, and the members that the standard gives arrays."""

import numpy as np

from .._core.spaces import known
from .._core.state import default_engine, default_runtime
from .._core.transfers import placed
from ..errors import ValidationError
from .host import checked_device

VERSION = "2025.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", VERSION)

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


class ArrayNamespaceInfo:
    """What the namespace can do: the standard's inspection functions."""

    def capabilities(self):
        """Optional features: boolean indexing, shapes that depend on data, the largest number of axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """The device that new tensors are on."""
        engine = default_runtime().default_engine or default_engine()
        return "cpu" if engine.memory is None else engine.memory.name

    def devices(self):
        """Tuple of the devices that the namespace makes tensors on."""
        return ("cpu", *(memory.name for memory in known()))

    def default_dtypes(self, *, device=None):
        """Dtypes of what is made from Python numbers, and of indices.

        Parameters
        ----------
        device : str, optional

        Raises
        ------
        PlacementError
            Another device.
        """
        checked_device(device, "default_dtypes")
        return {"real floating": np.dtype("float64"), "complex floating": np.dtype("complex128"),
                "integral": np.dtype("int64"), "indexing": np.dtype("int64")}

    def dtypes(self, *, device=None, kind=None):
        """Supported dtypes by name.

        Parameters
        ----------
        device : str, optional
        kind : str or tuple of str, optional
            As in `tenferro.isdtype`; all dtypes by default.

        Raises
        ------
        PlacementError
            Another device.
        ValidationError
            An unknown kind.
        """
        checked_device(device, "dtypes")
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        if unknown := [k for k in kinds if k not in _KINDS]:
            raise ValidationError(f"dtypes: the kind {unknown[0]!r} is unknown; it is one of {', '.join(_KINDS)}",
                                  op="dtypes", argument="kind")
        return {name: np.dtype(name) for k in kinds for name in _KINDS[k]}


def array_namespace_info():
    """What the namespace can do.

    Returns
    -------
    ArrayNamespaceInfo
        Has the methods `capabilities`, `default_device`, `default_dtypes`, `devices` and `dtypes` of the array API standard.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.__array_namespace_info__().default_dtypes()["indexing"]
    dtype('int64')
    """
    return ArrayNamespaceInfo()


# ---- members of tensors ----------------------------------------------------------------------------------------------

def _array_namespace(self, *, api_version=None):
    """The module `tenferro`.

    Parameters
    ----------
    api_version : str, optional
        Version of the array API standard.

    Raises
    ------
    ValidationError
        A version that is not supported.
    """
    import tenferro

    if api_version not in (None, *VERSIONS):
        raise ValidationError(f"version {api_version!r} of the array API is not supported; use one of "
                              f"{', '.join(VERSIONS)}", op="__array_namespace__", argument="api_version")
    return tenferro


def _device(self):
    """Where the memory is: "cpu".

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant(1.0).device
    'cpu'
    """
    return self.value().placement


def _to_device(self, device, /, *, stream=None):
    """The tensor in the memory of a device: this very tensor if it is there, else an untracked copy.

    Parameters
    ----------
    device : str
        ``"cpu"``, or the placement of an engine that was opened, such as ``"cuda:0"``.
    stream : None
        The engine uses its library's current stream.

    Returns
    -------
    EagerTensor
        This very tensor if it is there.

    Raises
    ------
    PlacementError
        There is no such memory.
    RuntimeStateError
        The tensor is tracked and lies elsewhere.
    ValidationError
        A stream.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.constant([1.0, 2.0])
    >>> x.to_device("cpu") is x
    True
    """
    if stream is not None:
        raise ValidationError("to_device: transfers go by the library's current stream; use stream=None", op="to_device",
                              argument="stream")
    if device == _device(self):
        return self
    checked_device("None" if device is None else device, "to_device")
    return placed(self, device)


MEMBERS = {"__array_namespace__": _array_namespace, "device": property(_device), "to_device": _to_device}
