"""Creation functions: row-major constants in the runtime of this thread's innermost open session, else the default one."""

import numpy as np

from ._core.handles import constant
from ._ops.views import broadcast_to, reshape
from .errors import OutOfMemoryError

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


def asarray(obj, dtype=None, copy=None):
    """The same as `array`, but memory is shared where possible unless ``copy=True``."""
    return constant(obj, dtype=dtype, copy=bool(copy))


def _made(make, *args, **kwargs):
    """Constant of what a function of NumPy makes."""
    try:
        return constant(make(*args, **kwargs))
    except MemoryError as error:
        raise OutOfMemoryError(f"{make.__name__}: {error}; use a smaller size", engine="cpu") from error


def zeros(shape, dtype=np.float64):
    """Constant of the given shape, filled with zeros."""
    return full(shape, 0, dtype)


def ones(shape, dtype=np.float64):
    """Constant of the given shape, filled with ones."""
    return full(shape, 1, dtype)


def empty(shape, dtype=np.float64):
    """The same as `zeros`: tensors are immutable, so there is nothing to fill in later."""
    return zeros(shape, dtype)


def full(shape, fill_value, dtype=None):
    """Constant of the given shape, filled with one value."""
    wide = broadcast_to(constant(fill_value, dtype), shape)
    return reshape(wide, wide.shape, copy=True).detach()


def _like(x):
    x = x if hasattr(x, "shape") and hasattr(x, "dtype") else constant(x)
    return x.shape, x.dtype


def zeros_like(x, dtype=None):
    """Zeros with the shape and dtype of `x`."""
    shape, own = _like(x)
    return zeros(shape, own if dtype is None else dtype)


def ones_like(x, dtype=None):
    """Ones with the shape and dtype of `x`."""
    shape, own = _like(x)
    return ones(shape, own if dtype is None else dtype)


def empty_like(x, dtype=None):
    """The same as `zeros_like`."""
    return zeros_like(x, dtype)


def full_like(x, fill_value, dtype=None):
    """One value in the shape and dtype of `x`."""
    shape, own = _like(x)
    return full(shape, fill_value, own if dtype is None else dtype)


def eye(n, m=None, k=0, dtype=np.float64):
    """Matrix of shape ``(n, m)`` with ones on the `k`-th diagonal."""
    return _made(np.eye, n, m, k, dtype)


def identity(n, dtype=np.float64):
    """Identity matrix of shape ``(n, n)``."""
    return eye(n, dtype=dtype)


def arange(start, stop=None, step=1, dtype=None):
    """Evenly spaced values in ``[start, stop)``; with one argument in ``[0, start)``."""
    return _made(np.arange, start, dtype=dtype) if stop is None else _made(np.arange, start, stop, step, dtype)


def linspace(start, stop, num=50, dtype=None, endpoint=True):
    """`num` evenly spaced values from `start` to `stop`, which is left out with ``endpoint=False``."""
    return _made(np.linspace, start, stop, num, endpoint=endpoint, dtype=dtype)


def logspace(start, stop, num=50, dtype=None, endpoint=True, base=10.0):
    """`num` values from ``base**start`` to ``base**stop``, evenly spaced in the exponent."""
    return _made(np.logspace, start, stop, num, endpoint=endpoint, base=base, dtype=dtype)


def meshgrid(*arrays, indexing="xy"):
    """Coordinate tensors of a grid, one for each one-dimensional array, as a tuple of constants."""
    return tuple(constant(a) for a in np.meshgrid(*[np.asarray(a) for a in arrays], indexing=indexing))


def indices(dimensions, dtype=np.int64):
    """Indices of a grid: shape ``(len(dimensions), *dimensions)``."""
    return _made(np.indices, dimensions, dtype)
