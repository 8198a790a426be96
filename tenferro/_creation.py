"""Creation functions: row-major constants in the runtime of this thread's innermost open session, else the default one."""

import numpy as np

from ._core.eager import EagerTensor
from ._core.handles import constant
from ._core.tensor import Tensor
from ._ops.composites import broadcast_arrays
from ._ops.elementwise import cast
from ._ops.views import broadcast_to, reshape
from ._standard.host import checked_device
from .errors import OutOfMemoryError, ValidationError

__all__ = ["arange", "array", "asarray", "empty", "empty_like", "eye", "full", "full_like", "identity", "indices", "linspace",
           "logspace", "meshgrid", "ones", "ones_like", "zeros", "zeros_like"]


def array(obj, dtype=None, copy=True):
    """Constant of an array-like; the order of an array's axes is kept.

    Parameters
    ----------
    obj : array_like, Tensor or EagerTensor
    dtype : dtype, optional
        One of bool, int8-64, uint8-64, float32, float64, complex64, complex128; by default that of `obj`.
    copy : bool, default True
        Without it memory is shared where possible; later writes to it are not noticed.

    Raises
    ------
    DTypeMismatchError
        The dtype is not one of these.
    """
    return constant(obj, dtype=dtype, copy=copy)


def asarray(obj, dtype=None, device=None, copy=None):
    """Anything as a tensor: an eager tensor stays what it is, tracked or not; anything else becomes a constant.

    Parameters
    ----------
    obj : array_like, Tensor or EagerTensor
    dtype : dtype, optional
        By default that of `obj`. An eager tensor is converted by a recorded operation.
    device : {None, "cpu"}
    copy : bool, optional
        None shares memory where possible, True never; later writes to shared memory are not noticed. False raises where
        a copy is needed.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    ValidationError
        ``copy=False``, but a copy is needed.
    PlacementError
        Another device.
    """
    checked_device(device, "asarray")
    if copy is False:
        _uncopied(obj, dtype)
    if isinstance(obj, EagerTensor):
        if dtype is None or obj.dtype == dtype:
            return +obj if copy else obj
        return cast(obj, dtype)
    return constant(obj, dtype=dtype, copy=bool(copy))


def _uncopied(obj, dtype):
    """Refuse what cannot be shared."""
    own = getattr(obj, "dtype", None)
    if not isinstance(obj, (EagerTensor, Tensor)):
        try:
            own = np.asarray(obj, copy=False).dtype
        except ValueError as error:
            raise ValidationError(f"asarray: {error}; use copy=None", op="asarray", argument="copy") from None
    if dtype is not None and own != dtype:
        raise ValidationError(f"asarray: {own} becomes {np.dtype(dtype)} by a copy only; use copy=None", op="asarray",
                              argument="copy")


def _made(make, device, *args, **kwargs):
    """Constant of what a function of NumPy makes."""
    checked_device(device, make.__name__)
    try:
        return constant(Tensor.from_numpy(make(*args, **kwargs), copy=False))
    except MemoryError as error:
        raise OutOfMemoryError(f"{make.__name__}: {error}; use a smaller size", engine="cpu") from error


def zeros(shape, dtype=None, device=None):
    """Constant of the given shape, filled with zeros; float64 by default."""
    return full(shape, 0, np.float64 if dtype is None else dtype, device)


def ones(shape, dtype=None, device=None):
    """Constant of the given shape, filled with ones; float64 by default."""
    return full(shape, 1, np.float64 if dtype is None else dtype, device)


def empty(shape, dtype=None, device=None):
    """The same as `zeros`: tensors are immutable, so there is nothing to fill in later."""
    return zeros(shape, dtype, device)


def full(shape, fill_value, dtype=None, device=None):
    """Constant of the given shape, filled with one value; by default of its dtype."""
    checked_device(device, "full")
    wide = broadcast_to(constant(fill_value, dtype), shape)
    return reshape(wide, wide.shape, copy=True).detach()


def _like(x):
    x = x if hasattr(x, "shape") and hasattr(x, "dtype") else constant(x)
    return x.shape, x.dtype


def zeros_like(x, dtype=None, device=None):
    """Zeros with the shape and dtype of `x`."""
    shape, own = _like(x)
    return zeros(shape, own if dtype is None else dtype, device)


def ones_like(x, dtype=None, device=None):
    """Ones with the shape and dtype of `x`."""
    shape, own = _like(x)
    return ones(shape, own if dtype is None else dtype, device)


def empty_like(x, dtype=None, device=None):
    """The same as `zeros_like`."""
    return zeros_like(x, dtype, device)


def full_like(x, fill_value, dtype=None, device=None):
    """One value in the shape and dtype of `x`."""
    shape, own = _like(x)
    return full(shape, fill_value, own if dtype is None else dtype, device)


def eye(n, m=None, k=0, dtype=None, device=None):
    """Matrix of shape ``(n, m)`` with ones on the `k`-th diagonal; float64 by default."""
    return _made(np.eye, device, n, m, k, np.float64 if dtype is None else dtype)


def identity(n, dtype=None):
    """Identity matrix of shape ``(n, n)``; float64 by default."""
    return eye(n, dtype=dtype)


def arange(start, stop=None, step=1, dtype=None, device=None):
    """Evenly spaced values in ``[start, stop)``; without `stop` in ``[0, start)``."""
    start, stop = (0, start) if stop is None else (start, stop)
    return _made(np.arange, device, start, stop, step, dtype)


def linspace(start, stop, num=50, dtype=None, device=None, endpoint=True):
    """`num` evenly spaced values from `start` to `stop`, which is left out with ``endpoint=False``."""
    return _made(np.linspace, device, start, stop, num, endpoint=endpoint, dtype=dtype)


def logspace(start, stop, num=50, dtype=None, endpoint=True, base=10.0):
    """`num` values from ``base**start`` to ``base**stop``, evenly spaced in the exponent."""
    return _made(np.logspace, None, start, stop, num, endpoint=endpoint, base=base, dtype=dtype)


def meshgrid(*arrays, indexing="xy"):
    """Coordinate tensors of a grid, one for each one-dimensional tensor, as a tuple of broadcast views.

    Parameters
    ----------
    *arrays : array_like
        One-dimensional.
    indexing : {"xy", "ij"}
        Whether the first two axes are exchanged, as for columns and rows of a picture.

    Raises
    ------
    ValidationError
        Another `indexing`.
    """
    if indexing not in ("xy", "ij"):
        raise ValidationError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}", op="meshgrid", argument="indexing")
    n, places = len(arrays), list(range(len(arrays)))
    if indexing == "xy" and n > 1:
        places[:2] = 1, 0
    return broadcast_arrays(*[reshape(x, (1,) * k + (-1,) + (1,) * (n - 1 - k)) for x, k in zip(arrays, places)])


def indices(dimensions, dtype=np.int64):
    """Indices of a grid: shape ``(len(dimensions), *dimensions)``."""
    return _made(np.indices, None, dimensions, dtype)
