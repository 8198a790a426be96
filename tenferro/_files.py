"""Containers of tensors in ``.npz`` files: memory orders kept, no pickle, replaced in one step."""

import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress

import numpy as np
from numpy.lib import format as npy

from ._core.eager import EagerTensor
from ._core.handles import constant
from ._core.tensor import Tensor
from .errors import DTypeMismatchError, HostAccessError, ValidationError

__all__ = ["load", "save"]

STRUCTURE = "__structure__"
SINGLE = "value"
KINDS = "biufc"
BROKEN = (zipfile.BadZipFile, zlib.error, ValueError, EOFError, LookupError, TypeError, AttributeError, RuntimeError)


def save(path, tree):
    """Write a container of tensors to an ``.npz`` file.

    Parameters
    ----------
    path : str or path-like
        Taken as it is: no suffix is added. A file that is there is replaced when the new one is complete, never before.
    tree : array_like, or container of array_like
        Mappings with strings as keys, lists, tuples and None to any depth around tensors, arrays and numbers. The names in
        the file are paths such as ``layers/0/weight``. Of a tracked tensor the value is written.

    Returns
    -------
    None

    Raises
    ------
    ValidationError
        A key is no string, or two paths are the same.
    DTypeMismatchError
        A leaf is not of numbers of a supported dtype.
    OSError
        The file cannot be written.

    Notes
    -----
    Any ``.npz`` reader gets at the arrays. Row-major and column-major arrays are written as such, others in row-major
    order. Mappings come back as dicts, named tuples as tuples.

    Examples
    --------
    >>> import os, tempfile
    >>> import tenferro as tfr
    >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> tfr.save(path, {"weights": [tfr.ones((2, 3)), tfr.zeros(3)], "scale": 0.5})
    >>> model = tfr.load(path)
    >>> model["weights"][0].shape, model["scale"].item()
    ((2, 3), 0.5)
    """
    arrays = {}
    structure = _outline(tree, "", arrays)
    entries = {name: _writable(name, array) for name, array in arrays.items()}
    target = os.path.realpath(os.fspath(path))
    folder, name = os.path.split(target)
    draft = os.path.join(folder, f".{name}.{secrets.token_hex(6)}.tmp")
    try:
        with open(draft, "xb") as file:
            _write(file, entries, structure)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


def load(path):
    """Read the container that `save` wrote, or the arrays of any ``.npz`` file as a dict.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    EagerTensor, or container of EagerTensor
        Constants of the ambient runtime, of the dtypes and in the memory orders that were written. Python numbers come
        back as tensors of shape ``()``.

    Raises
    ------
    FileNotFoundError, OSError
        The file cannot be read.
    ValidationError
        It is no ``.npz`` file, or a damaged one.
    DTypeMismatchError
        An array holds Python objects, text, or another dtype that tensors do not have. Nothing is ever unpickled.

    Examples
    --------
    >>> import os, tempfile
    >>> import tenferro as tfr
    >>> path = os.path.join(tempfile.mkdtemp(), "pair.npz")
    >>> tfr.save(path, (tfr.arange(3), None))
    >>> tfr.load(path)[0].tolist()
    [0, 1, 2]
    """
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                arrays = dict(_read(archive, member) for member in archive.namelist())
            outline = arrays.pop(STRUCTURE, None)
            tensors = {name: _tensor(name, array) for name, array in arrays.items()}
            return tensors if outline is None else _restored(json.loads(outline.item())[0], tensors)
        except ValidationError:
            raise
        except BROKEN as error:
            raise ValidationError(f"load: {os.fspath(path)!r} is no .npz file, or a damaged one: {error}", op="load",
                                  argument="path") from error


def on_host(x):
    """Array of the value of a tensor or array-like, downloaded if need be; the order of memory is kept."""
    if isinstance(x, EagerTensor):
        x = x.detach()
    elif not isinstance(x, Tensor):
        return np.asarray(x)
    try:
        return x.numpy()
    except HostAccessError:
        return _downloaded(x)


def _downloaded(x):
    """`to_tensor` writes columns; of the transpose they are the rows."""
    strides = (x.value() if isinstance(x, EagerTensor) else x).strides
    x = constant(x, copy=False)
    if list(strides) == sorted(strides):
        return x.to_tensor().numpy()
    return x.transpose().to_tensor().numpy().transpose()


def _outline(tree, path, arrays):
    """What JSON says of a container: a name for a leaf, a list that starts with the kind for anything else."""
    if tree is None:
        return ["none"]
    if isinstance(tree, Mapping):
        for key in tree:
            if not isinstance(key, str) or "\0" in key:
                raise ValidationError(f"save: keys are strings without NUL, not {key!r}{_at(path)}", op="save", argument="tree")
        return ["dict", {key: _outline(value, _join(path, key), arrays) for key, value in tree.items()}]
    if isinstance(tree, (tuple, list)):
        kind = "tuple" if isinstance(tree, tuple) else "list"
        return [kind, [_outline(value, _join(path, str(i)), arrays) for i, value in enumerate(tree)]]
    name = path or SINGLE
    if name in arrays or name == STRUCTURE:
        raise ValidationError(f"save: two tensors would have the name {name!r} in the file; use other keys", op="save",
                              argument="tree")
    arrays[name] = on_host(tree)
    return name


def _join(path, key):
    return f"{path}/{key}" if path else key


def _at(path):
    return f" at {path!r}" if path else ""


def _checked(name, array, op):
    if array.dtype.kind not in KINDS or array.dtype.newbyteorder("=").str[1:] in ("f2", "f16", "c32", "f12", "c24"):
        raise DTypeMismatchError(f"{op}: {name!r} is of {array.dtype}; tensors are of bool, integers, float32, float64, "
                                 "complex64 or complex128", op=op, argument=name, actual=array.dtype)
    return array


def _writable(name, array):
    return _checked(name, np.asarray(array), "save")


def _write(file, entries, structure):
    entries = {**entries, STRUCTURE: np.asarray(json.dumps([structure]))}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in entries.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                npy.write_array(entry, array, allow_pickle=False)


def _read(archive, member):
    """Name and array of a member of an archive."""
    name = member.removesuffix(".npy")
    if name == member:
        raise ValueError(f"{member!r} is no array")
    with archive.open(member) as entry:
        try:
            return name, npy.read_array(entry, allow_pickle=False)
        except ValueError as error:
            if "Object arrays" not in str(error):
                raise
            raise DTypeMismatchError(f"load: {name!r} holds Python objects, which are not read; store arrays of numbers",
                                     op="load", argument=name) from error


def _tensor(name, array):
    array = _checked(name, array, "load")
    return constant(array.astype(array.dtype.newbyteorder("="), order="K", copy=False), copy=False)


def _restored(outline, tensors):
    if isinstance(outline, str):
        return tensors[outline]
    kind, parts = outline[0], outline[-1]
    if kind == "dict":
        return {key: _restored(part, tensors) for key, part in parts.items()}
    if kind in ("list", "tuple"):
        found = [_restored(part, tensors) for part in parts]
        return tuple(found) if kind == "tuple" else found
    if kind == "none":
        return None
    raise ValueError(f"unknown container {kind!r}")
