"""Creation functions: row-major constants in the runtime of this thread's innermost open session, else the default one.

They lie in the memory of the engine that computes at this moment, unless a device is named.
"""

import numpy as np

from ._core.eager import EagerTensor
from ._core.handles import constant
from ._core.tensor import Tensor
from ._core.transfers import placed
from ._ops.composites import broadcast_arrays
from ._ops.elementwise import cast
from ._ops.views import broadcast_to, reshape
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

    Returns
    -------
    EagerTensor
        Untracked.

    Raises
    ------
    DTypeMismatchError
        The dtype is not one of these.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.array([[1, 2], [3, 4]], dtype=float)
    EagerTensor([[1., 2.],
                 [3., 4.]], dtype=float64)
    """
    return placed(constant(obj, dtype=dtype, copy=copy))


def asarray(obj, dtype=None, device=None, copy=None):
    """Anything as a tensor: an eager tensor stays what it is, tracked or not; anything else becomes a constant.

    Parameters
    ----------
    obj : array_like, Tensor or EagerTensor
    dtype : dtype, optional
        By default that of `obj`. An eager tensor is converted by a recorded operation.
    device : str, optional
        By default the memory of the engine that computes at this moment, for an eager tensor its own.
    copy : bool, optional
        None shares memory where possible, True never; later writes to shared memory are not noticed. False raises where
        a copy is needed.

    Returns
    -------
    EagerTensor

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    ValidationError
        ``copy=False``, but a copy is needed.
    PlacementError
        Another device.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.asarray([1.0, 2.0])
    EagerTensor([1., 2.], dtype=float64)
    """
    if copy is False:
        _uncopied(obj, dtype)
    if isinstance(obj, EagerTensor):
        if device is not None:
            obj = placed(obj, device, "asarray")
        if dtype is None or obj.dtype == dtype:
            return +obj if copy else obj
        return cast(obj, dtype)
    return placed(constant(obj, dtype=dtype, copy=bool(copy)), device, "asarray")


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
    try:
        return placed(constant(Tensor.from_numpy(make(*args, **kwargs), copy=False)), device, make.__name__)
    except MemoryError as error:
        raise OutOfMemoryError(f"{make.__name__}: {error}; use a smaller size", engine="cpu") from error


def zeros(shape, dtype=None, device=None):
    """Constant of the given shape, filled with zeros.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype, optional
        float64 by default.
    device : str, optional
        By default the memory of the engine that computes at this moment, for an eager tensor its own.

    Returns
    -------
    EagerTensor
        Untracked.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    ValidationError
        A length is negative.
    PlacementError
        Another device.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.zeros((2, 2))
    EagerTensor([[0., 0.],
                 [0., 0.]], dtype=float64)
    """
    return full(shape, 0, np.float64 if dtype is None else dtype, device)


def ones(shape, dtype=None, device=None):
    """Constant of the given shape, filled with ones.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype, optional
        float64 by default.
    device : str, optional
        By default the memory of the engine that computes at this moment, for an eager tensor its own.

    Returns
    -------
    EagerTensor
        Untracked.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    ValidationError
        A length is negative.
    PlacementError
        Another device.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.ones(3, dtype=tfr.int64)
    EagerTensor([1, 1, 1], dtype=int64)
    """
    return full(shape, 1, np.float64 if dtype is None else dtype, device)


def empty(shape, dtype=None, device=None):
    """The same as `zeros`: tensors are immutable, so there is nothing to fill in later.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype, optional
        float64 by default.
    device : str, optional
        By default the memory of the engine that computes at this moment, for an eager tensor its own.

    Returns
    -------
    EagerTensor
        Untracked.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    ValidationError
        A length is negative.
    PlacementError
        Another device.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.empty((2, 3)).shape
    (2, 3)
    """
    return zeros(shape, dtype, device)


def full(shape, fill_value, dtype=None, device=None):
    """Constant of the given shape, filled with one value.

    Parameters
    ----------
    shape : int or tuple of int
    fill_value : array_like
        A scalar, or what broadcasts to the shape.
    dtype : dtype, optional
        That of the value by default.
    device : str, optional
        By default the memory of the engine that computes at this moment, for an eager tensor its own.

    Returns
    -------
    EagerTensor
        Untracked.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    ValidationError
        A length is negative.
    PlacementError
        Another device.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.full(2, 7.0)
    EagerTensor([7., 7.], dtype=float64)
    """
    wide = broadcast_to(constant(fill_value, dtype), shape)
    return placed(reshape(wide, wide.shape, copy=True).detach(), device, "full")


def _like(x, dtype, device):
    """Shape, dtype and device of what is made like x."""
    x = x if hasattr(x, "shape") and hasattr(x, "dtype") else constant(x)
    if device is None and isinstance(x, EagerTensor):
        device = x.value().placement
    return x.shape, x.dtype if dtype is None else dtype, device


def zeros_like(x, dtype=None, device=None):
    """Zeros with the shape and dtype of another tensor.

    Parameters
    ----------
    x : array_like
    dtype : dtype, optional
        That of `x` by default.
    device : str, optional
        By default the memory of the engine that computes at this moment, for an eager tensor its own.

    Returns
    -------
    EagerTensor
        Untracked.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    PlacementError
        Another device.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.zeros_like([1.0, 2.0])
    EagerTensor([0., 0.], dtype=float64)
    """
    return zeros(*_like(x, dtype, device))


def ones_like(x, dtype=None, device=None):
    """Ones with the shape and dtype of another tensor.

    Parameters
    ----------
    x : array_like
    dtype : dtype, optional
        That of `x` by default.
    device : str, optional
        By default the memory of the engine that computes at this moment, for an eager tensor its own.

    Returns
    -------
    EagerTensor
        Untracked.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    PlacementError
        Another device.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.ones_like([1.0, 2.0])
    EagerTensor([1., 1.], dtype=float64)
    """
    return ones(*_like(x, dtype, device))


def empty_like(x, dtype=None, device=None):
    """The same as `zeros_like`.

    Parameters
    ----------
    x : array_like
    dtype : dtype, optional
        That of `x` by default.
    device : str, optional
        By default the memory of the engine that computes at this moment, for an eager tensor its own.

    Returns
    -------
    EagerTensor
        Untracked.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    PlacementError
        Another device.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.empty_like([1.0, 2.0]).dtype
    dtype('float64')
    """
    return zeros_like(x, dtype, device)


def full_like(x, fill_value, dtype=None, device=None):
    """One value in the shape and dtype of another tensor.

    Parameters
    ----------
    x : array_like
    fill_value : array_like
        A scalar, or what broadcasts to the shape.
    dtype : dtype, optional
        That of `x` by default.
    device : str, optional
        By default the memory of the engine that computes at this moment, for an eager tensor its own.

    Returns
    -------
    EagerTensor
        Untracked.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    PlacementError
        Another device.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.full_like([1.0, 2.0], 7)
    EagerTensor([7., 7.], dtype=float64)
    """
    shape, dtype, device = _like(x, dtype, device)
    return full(shape, fill_value, dtype, device)


def eye(n, m=None, k=0, dtype=None, device=None):
    """Matrix with ones on a diagonal, zeros elsewhere.

    Parameters
    ----------
    n : int
        Number of rows.
    m : int, optional
        Number of columns, `n` by default.
    k : int
        Number of the diagonal: 0 is the main one, positive ones lie to the right of it.
    dtype : dtype, optional
        float64 by default.
    device : str, optional
        By default the memory of the engine that computes at this moment, for an eager tensor its own.

    Returns
    -------
    EagerTensor
        Untracked, shape ``(n, m)``.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    PlacementError
        Another device.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.eye(2)
    EagerTensor([[1., 0.],
                 [0., 1.]], dtype=float64)
    """
    return _made(np.eye, device, n, m, k, np.float64 if dtype is None else dtype)


def identity(n, dtype=None):
    """Identity matrix.

    Parameters
    ----------
    n : int
        Number of rows and columns.
    dtype : dtype, optional
        float64 by default.

    Returns
    -------
    EagerTensor
        Untracked, shape ``(n, n)``.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.identity(2)
    EagerTensor([[1., 0.],
                 [0., 1.]], dtype=float64)
    """
    return eye(n, dtype=dtype)


def arange(start, stop=None, step=1, dtype=None, device=None):
    """Evenly spaced values in ``[start, stop)``; without `stop` in ``[0, start)``.

    Parameters
    ----------
    start, stop : float or int
    step : float or int
        Distance of two values; may be negative.
    dtype : dtype, optional
        int64 for integers, else float64.
    device : str, optional
        By default the memory of the engine that computes at this moment, for an eager tensor its own.

    Returns
    -------
    EagerTensor
        Untracked, one-dimensional.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    PlacementError
        Another device.
    OutOfMemoryError
        There is no memory for so many.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.arange(2, 8, 2)
    EagerTensor([2, 4, 6], dtype=int64)
    """
    start, stop = (0, start) if stop is None else (start, stop)
    return _made(np.arange, device, start, stop, step, dtype)


def linspace(start, stop, num=50, dtype=None, device=None, endpoint=True):
    """Evenly spaced values of an interval.

    Parameters
    ----------
    start, stop : array_like
        Ends of the interval.
    num : int
        Number of values.
    dtype : dtype, optional
        float64 by default, complex128 for complex ends.
    device : str, optional
        By default the memory of the engine that computes at this moment, for an eager tensor its own.
    endpoint : bool
        Whether `stop` is the last value.

    Returns
    -------
    EagerTensor
        Untracked, one-dimensional.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.
    PlacementError
        Another device.
    OutOfMemoryError
        There is no memory for so many.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linspace(0.0, 1.0, 5)
    EagerTensor([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float64)
    """
    return _made(np.linspace, device, start, stop, num, endpoint=endpoint, dtype=dtype)


def logspace(start, stop, num=50, dtype=None, endpoint=True, base=10.0):
    """Values from ``base**start`` to ``base**stop``, evenly spaced in the exponent.

    Parameters
    ----------
    start, stop : array_like
        First and last exponent.
    num : int
        Number of values.
    dtype : dtype, optional
        float64 by default.
    endpoint : bool
        Whether ``base**stop`` is the last value.
    base : float

    Returns
    -------
    EagerTensor
        Untracked, one-dimensional.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.logspace(0, 2, 3)
    EagerTensor([  1.,  10., 100.], dtype=float64)
    """
    return _made(np.logspace, None, start, stop, num, endpoint=endpoint, base=base, dtype=dtype)


def meshgrid(*arrays, indexing="xy"):
    """Coordinates of a grid: one broadcast view for each vector.

    Parameters
    ----------
    *arrays : array_like
        One-dimensional.
    indexing : {"xy", "ij"}
        Whether the first two axes are exchanged, as for columns and rows of a picture.

    Returns
    -------
    tuple of EagerTensor
        Of shape ``(len(y), len(x), ...)`` for "xy", ``(len(x), len(y), ...)`` for "ij".

    Raises
    ------
    ValidationError
        Another `indexing`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x, y = tfr.meshgrid([1.0, 2.0, 3.0], [5.0, 6.0])
    >>> y
    EagerTensor([[5., 5., 5.],
                 [6., 6., 6.]], dtype=float64)
    """
    if indexing not in ("xy", "ij"):
        raise ValidationError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}", op="meshgrid", argument="indexing")
    n, places = len(arrays), list(range(len(arrays)))
    if indexing == "xy" and n > 1:
        places[:2] = 1, 0
    return broadcast_arrays(*[reshape(x, (1,) * k + (-1,) + (1,) * (n - 1 - k)) for x, k in zip(arrays, places)])


def indices(dimensions, dtype=np.int64):
    """Indices of a grid.

    Parameters
    ----------
    dimensions : sequence of int
        Shape of the grid.
    dtype : dtype

    Returns
    -------
    EagerTensor
        Untracked, shape ``(len(dimensions), *dimensions)``.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    return _made(np.indices, None, dimensions, dtype)
