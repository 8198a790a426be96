"""Taking values out of eager tensors: Python scalars, lists, NumPy arrays, the buffer protocol, printing.

An export as an array needs an untracked tensor: a copy that silently leaves the trace is how derivatives get lost.
Python scalars, lists and printing always work.
"""

from .abi cimport *
from .eager cimport EagerTensor, check, hooks
from .importing cimport compact
from .memory cimport *
from .node cimport CAPTURED
from .state cimport install
from .spaces cimport on_host
from .tensor cimport (borrow, describe, export_array, host_array, export_as, export_buffer, export_scalar, export_slice,
                      wrap_tensor)

import numpy as np

from ..errors import RuntimeStateError


cdef inline bint tracked(EagerTensor x) noexcept:
    return x.node != NULL and not x.node.flags & CAPTURED


cdef int untracked(EagerTensor x, str op) except -1:
    check(x)
    if tracked(x):
        raise RuntimeStateError(f"{op}: this tensor is tracked; export x.detach(), or read x.value()", op=op)
    return 0


# ---- Python scalars --------------------------------------------------------------------------------------------------

cdef int single(EagerTensor x, str op) except -1:
    """Only one element makes a Python scalar."""
    check(x)
    if x.v.meta.size != 1:
        raise ValueError(f"{op}: a tensor of shape {x.shape} has {x.v.meta.size} elements; only one element makes a "
                         "Python scalar")
    return 0


cdef object to_float(EagerTensor x):
    if x.v.meta != NULL and x.v.meta.dtype == D_F64 and x.v.meta.size == 1 and x.v.buf.space == HOST_SPACE:
        return (<double *> x.v.data)[0]
    single(x, "float")
    return float(export_scalar(&x.v))


cdef object to_int(EagerTensor x):
    single(x, "int")
    return int(export_scalar(&x.v))


cdef object to_index(EagerTensor x):
    check(x)
    if x.v.meta.rank or is_inexact(x.v.meta.dtype) or x.v.meta.dtype == D_BOOL:
        raise TypeError(f"only a 0-d integer tensor can be an index, not {x.dtype} of shape {x.shape}")
    return export_scalar(&x.v)


cdef bint to_bool(EagerTensor x) except -1:
    check(x)
    if x.v.meta.size != 1:
        raise ValueError(f"the truth value of a tensor with {x.v.meta.size} elements is ambiguous; use any(), all() or "
                         ".size")
    return bool(export_scalar(&x.v))


def __complex__(EagerTensor self):
    single(self, "complex")
    return complex(export_scalar(&self.v))


def item(EagerTensor self, *index):
    """The element as a Python scalar; with an index as in ``numpy.ndarray.item``, that element.

    Parameters
    ----------
    *index : int
        One for each axis, or one in row-major order.

    Returns
    -------
    bool, int, float or complex

    Raises
    ------
    ValueError
        The tensor has more than one element, and no index is given.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant([[1.0, 2.0], [3.0, 4.0]]).item(1, 0)
    3.0
    """
    if index:
        check(self)
        return host_array(&self.v).item(*index)
    single(self, "item")
    return export_scalar(&self.v)


def tolist(EagerTensor self):
    """The elements as nested lists of Python scalars.

    Returns
    -------
    list
        A scalar for a tensor without axes.

    Raises
    ------
    RuntimeStateError
        The handle was consumed by `into_value`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.variable([[1.0, 2.0]]).tolist()
    [[1.0, 2.0]]
    """
    check(self)
    return host_array(&self.v).tolist()


# ---- containers ------------------------------------------------------------------------------------------------------

def rows(EagerTensor x, Py_ssize_t n):
    for i in range(n):
        yield x[i]


cdef object iterate(EagerTensor x):
    check(x)
    if x.v.meta.rank == 0:
        raise TypeError("iteration over a 0-d tensor")
    return rows(x, x.v.meta.dims[0])


cdef bint contains(EagerTensor x, object value) except -1:
    check(x)
    if isinstance(value, EagerTensor):
        check(<EagerTensor> value)
        value = host_array(&(<EagerTensor> value).v)
    elif isinstance(value, (str, bytes)):
        return False
    return bool(np.any(np.equal(host_array(&x.v), value)))


# ---- arrays ----------------------------------------------------------------------------------------------------------

def numpy(EagerTensor self):
    """Read-only NumPy array over the same memory.

    Returns
    -------
    ndarray

    Raises
    ------
    RuntimeStateError
        The tensor is tracked: use ``x.detach().numpy()``.
    HostAccessError
        The memory is a device's.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.variable([1.0, 2.0]).detach().numpy()
    array([1., 2.])
    """
    untracked(self, "numpy")
    return export_array(&self.v)


def __array__(EagerTensor self, dtype=None, copy=None):
    untracked(self, "__array__")
    return export_as(&self.v, dtype, copy)


cdef int expose(EagerTensor x, Py_buffer *view, int flags) except -1:
    check(x)
    if tracked(x):
        raise BufferError("this tensor is tracked; export x.detach(), or read x.value()")
    return export_buffer(&x.v, view, flags)


def as_slice(EagerTensor self, dtype):
    """One-dimensional read-only NumPy view in column-major order, without copying.

    Parameters
    ----------
    dtype : dtype
        The tensor's.

    Returns
    -------
    ndarray

    Raises
    ------
    DTypeMismatchError
        The elements have another dtype.
    NonContiguousError
        The memory is not column-major and compact.
    HostAccessError
        The memory is a device's.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.EagerTensor.from_vec_col_major_in((2, 2), [1, 2, 3, 4], tfr.EagerRuntime()).as_slice(int)
    array([1, 2, 3, 4])
    """
    check(self)
    return export_slice(&self.v, dtype, "as_slice")


def value(EagerTensor self):
    """The concrete value, a read-only borrow: nothing is copied or downloaded.

    Returns
    -------
    Tensor
        Shares the memory; while it lives, `into_value` raises.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.variable([1.0, 2.0]).value().numpy().tolist()
    [1.0, 2.0]
    """
    check(self)
    return borrow(&self.v)


def tensor_read(EagerTensor self):
    """Read view of the value as engines take it: borrowed, possibly strided.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.variable([[1.0, 2.0], [3.0, 4.0]]).T.tensor_read().strides
    (8, 16)
    """
    check(self)
    return borrow(&self.v)


def to_tensor(EagerTensor self):
    """An owned, compact, column-major copy on the host, downloaded from a device if need be.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.variable([[1.0, 2.0], [3.0, 4.0]]).to_tensor().as_slice(float).tolist()
    [1.0, 3.0, 2.0, 4.0]
    """
    cdef Value h, v
    check(self)
    on_host(&h, &self.v)
    try:
        compact(&v, &h, False)
    finally:
        value_drop(&h)
    return wrap_tensor(&v)


# ---- printing --------------------------------------------------------------------------------------------------------

cdef object represent(EagerTensor x):
    if x.v.meta == NULL:
        return "<EagerTensor, consumed by into_value()>"
    return describe(&x.v, "EagerTensor", ", tracks_grad=True" if tracked(x) else "")


def __format__(EagerTensor self, spec):
    check(self)
    if not isinstance(spec, str):
        raise TypeError(f"a format is a str, not {type(spec).__name__}")
    if self.v.meta.rank == 0:
        return format(export_scalar(&self.v), spec)
    return object.__format__(self, spec)


hooks.to_float = to_float
hooks.to_int = to_int
hooks.to_index = to_index
hooks.to_bool = to_bool
hooks.iterate = iterate
hooks.contains = contains
hooks.represent = represent
hooks.export_buffer = expose
for _f in (__complex__, item, tolist, numpy, __array__, as_slice, value, tensor_read, to_tensor, __format__):
    install(EagerTensor, _f.__name__, _f)
