"""Self-description of the namespace, and the members that the standard gives arrays."""

import numpy as np

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
        return "cpu"

    def devices(self):
        """Tuple of the devices that the namespace makes tensors on."""
        return ("cpu",)

    def default_dtypes(self, *, device=None):
        """Dtypes of what is made from Python numbers, and of indices.

        Parameters
        ----------
        device : {None, "cpu"}

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
        device : {None, "cpu"}
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
    """What the namespace can do: an object with `capabilities`, `default_device`, `default_dtypes`, `devices`, `dtypes`."""
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
    """Where the memory is: "cpu"."""
    return self.value().placement


def _to_device(self, device, /, *, stream=None):
    """The tensor on a device: this very tensor if it is there.

    Parameters
    ----------
    device : str
    stream : None
        There are no streams on the host.

    Raises
    ------
    PlacementError
        A device that this tensor cannot be moved to.
    ValidationError
        A stream.
    """
    if stream is not None:
        raise ValidationError("to_device: the host has no streams; use stream=None", op="to_device", argument="stream")
    if device != _device(self):
        checked_device(device if device is not None else "None", "to_device")
    return self


MEMBERS = {"__array_namespace__": _array_namespace, "device": property(_device), "to_device": _to_device}
