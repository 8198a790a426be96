"""Concrete tensors, and their export to NumPy and the buffer protocol."""

cimport cython
cimport numpy as cnp
from cpython.buffer cimport (PyBUF_ANY_CONTIGUOUS, PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS, PyBUF_FORMAT, PyBUF_ND,
                             PyBUF_STRIDES, PyBUF_WRITABLE)
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from .importing cimport bare_array, duplicate, import_any, import_columns
from .memory cimport *
from .optable cimport dtype_code, dtype_object
from .spaces cimport device_copy, on_host, placement

import numpy as np

from ..errors import DTypeMismatchError, HostAccessError, NonContiguousError
from .state import seal

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    int PyArray_SetBaseObject(cnp.ndarray, object) except -1


# ---- export ----------------------------------------------------------------------------------------------------------

cdef object owned_by(object array, object owner):
    Py_INCREF(owner)
    PyArray_SetBaseObject(array, owner)
    return array


cdef int check_host(const Value *v, str op) except -1:
    if v.buf.space != HOST_SPACE:
        raise HostAccessError(f"{op}: the value lies in device memory; bring it to the host with to_tensor()", op=op,
                              expected="cpu", actual=placement_of(v))
    return 0


cdef str placement_of(const Value *v):
    return placement(v.buf.space)


cdef Tensor borrow(const Value *v):
    cdef Tensor t = Tensor.__new__(Tensor)
    value_copy(&t.v, v)
    return t


cdef object export_array(const Value *v):
    check_host(v, "numpy")
    return owned_by(bare_array(v, v.meta.rank, shape_of(v.meta), strides_of(v.meta), 0), borrow(v))


cdef object host_array(const Value *v):
    """Read-only ndarray of the elements; those of a device are downloaded."""
    cdef Value h
    on_host(&h, v)
    try:
        return export_array(&h)
    finally:
        value_drop(&h)


cdef object export_as(const Value *v, object dtype, object copy):
    return np.array(export_array(v), dtype=dtype, copy=copy)


cdef object export_slice(const Value *v, object dtype, str op):
    cdef int code = dtype_code(dtype)
    if code != v.meta.dtype:
        raise DTypeMismatchError(f"{op}: the elements are {dtype_object(v.meta.dtype)}, not {dtype_object(code)}; "
                                 "convert them first", op=op, argument="dtype", expected=dtype_object(v.meta.dtype),
                                 actual=dtype_object(code))
    check_host(v, op)
    if not v.meta.flags & F_ORDER:
        raise NonContiguousError(f"{op}: the elements do not lie in column-major order; copy them with to_tensor()",
                                 op=op, expected="column-major", actual=strides_tuple(v.meta))
    return owned_by(bare_array(v, 1, <Py_ssize_t *> &v.meta.size, NULL, 0), borrow(v))


cdef char *FORMATS[13]
FORMATS[:] = [b"?", b"b", b"h", b"i", b"q", b"B", b"H", b"I", b"Q", b"f", b"d", b"Zf", b"Zd"]
if sizeof(long) == 8:
    FORMATS[D_I64] = b"l"
    FORMATS[D_U64] = b"L"


cdef inline bint asks(int flags, int what) noexcept:
    return flags & what == what


cdef int export_buffer(const Value *v, Py_buffer *view, int flags) except -1:
    """The buffer protocol; the memory is read-only."""
    cdef const Meta *m = v.meta
    check_host(v, "buffer")
    if asks(flags, PyBUF_WRITABLE):
        raise BufferError("tensors are immutable: ask for a read-only buffer, or copy the value")
    if ((not asks(flags, PyBUF_STRIDES) or asks(flags, PyBUF_C_CONTIGUOUS)) and not m.flags & C_ORDER
            or asks(flags, PyBUF_F_CONTIGUOUS) and not m.flags & F_ORDER
            or asks(flags, PyBUF_ANY_CONTIGUOUS) and not m.flags & (C_ORDER | F_ORDER)):
        raise NonContiguousError("the elements do not lie in the memory order that was asked for; copy them first",
                                 op="buffer", expected="contiguous", actual=strides_tuple(m))
    view.obj = borrow(v)
    view.buf = v.data
    view.len = m.size * m.itemsize
    view.readonly = 1
    view.itemsize = m.itemsize
    view.format = FORMATS[m.dtype] if asks(flags, PyBUF_FORMAT) else NULL
    view.ndim = m.rank
    view.shape = shape_of(m) if asks(flags, PyBUF_ND) else NULL
    view.strides = strides_of(m) if asks(flags, PyBUF_STRIDES) else NULL
    view.suboffsets = NULL
    view.internal = NULL
    return 0


cdef object export_scalar(const Value *v):
    cdef Value h
    if v.buf.space == HOST_SPACE:
        return scalar_at(v)
    on_host(&h, v)
    try:
        return scalar_at(&h)
    finally:
        value_drop(&h)


cdef object scalar_at(const Value *v):
    cdef int t = v.meta.dtype
    cdef char *p = v.data
    if t == D_F64:
        return (<double *> p)[0]
    if t == D_F32:
        return <double> (<float *> p)[0]
    if t == D_C128:
        return complex((<double *> p)[0], (<double *> p)[1])
    if t == D_C64:
        return complex((<float *> p)[0], (<float *> p)[1])
    if t == D_BOOL:
        return (<uint8_t *> p)[0] != 0
    if t == D_I64:
        return (<int64_t *> p)[0]
    if t == D_I32:
        return (<int32_t *> p)[0]
    if t == D_I16:
        return (<int16_t *> p)[0]
    if t == D_I8:
        return (<int8_t *> p)[0]
    if t == D_U64:
        return (<uint64_t *> p)[0]
    if t == D_U32:
        return (<uint32_t *> p)[0]
    if t == D_U16:
        return (<uint16_t *> p)[0]
    return (<uint8_t *> p)[0]


cdef tuple shape_tuple(const Meta *m):
    return tuple([m.dims[i] for i in range(m.rank)])


cdef tuple strides_tuple(const Meta *m):
    return tuple([m.dims[m.rank + i] for i in range(m.rank)])


cdef str describe(const Value *v, str name, str suffix):
    """NumPy's way of printing, with the dtype, and with the shape where the elements do not show it."""
    cdef Meta *m = v.meta
    parts = [np.array2string(host_array(v), prefix=name + "(", separator=", ")]
    if (m.size == 0 and m.rank > 1) or m.size > np.get_printoptions()["threshold"]:
        parts.append(f"shape={shape_tuple(m)}")
    if v.buf.space != HOST_SPACE:
        parts.append(f"placement={placement_of(v)!r}")
    parts.append(f"dtype={dtype_object(m.dtype)}")
    return f"{name}({', '.join(parts)}{suffix})"


cdef int copy_of(Value *out, const Value *v) except -1:
    """Fresh dense memory in the same place and order of axes."""
    if v.buf.space == HOST_SPACE:
        return duplicate(out, v)
    return device_copy(out, v, meta_like(v.meta, v.meta.dtype))


# ---- the class -------------------------------------------------------------------------------------------------------

cdef Tensor wrap_tensor(Value *v):
    cdef Tensor t = Tensor.__new__(Tensor)
    t.v = v[0]
    return t


@cython.binding(False)
@cython.embedsignature.format("clinic")
@cython.final
cdef class Tensor:
    """A concrete, immutable, strided tensor: dtype, shape, strides and memory.

    Made by `from_vec_col_major`, `from_numpy`, and by the members of eager tensors that hand out their value.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.Tensor.from_vec_col_major((2, 2), [1.0, 2.0, 3.0, 4.0])
    >>> x.shape, x.strides
    ((2, 2), (8, 16))
    """

    def __init__(self, *args, **kwargs):
        raise TypeError("make tensors with Tensor.from_numpy or Tensor.from_vec_col_major")

    def __dealloc__(self):
        value_drop(&self.v)

    @staticmethod
    def from_vec_col_major(shape, data, dtype=None):
        """A tensor of compact column-major data (the first axis varies fastest), which is copied.

        Parameters
        ----------
        shape : tuple of int
        data : array_like
            One-dimensional, as many elements as the shape has.
        dtype : dtype, optional
            By default that of the data.

        Returns
        -------
        Tensor

        Raises
        ------
        ShapeMismatchError
            The length of the data is not the product of the shape.
        IntegerOverflowError
            The product of the shape is too large.
        DTypeMismatchError
            The dtype is not supported.

        Examples
        --------
        >>> import tenferro as tfr
        >>> tfr.Tensor.from_vec_col_major((2, 2), [1.0, 2.0, 3.0, 4.0]).numpy().tolist()
        [[1.0, 3.0], [2.0, 4.0]]
        """
        cdef Value v
        import_columns(&v, shape, data, dtype)
        return wrap_tensor(&v)

    @staticmethod
    def from_numpy(array, copy=True):
        """A tensor of a NumPy array or array-like; keeps the order of its axes.

        Parameters
        ----------
        array : array_like
        copy : bool
            False shares the memory where it can be used as it is (aligned, native byte order, strides in whole
            elements). Later writes to the array are then seen or not; a trace that saves the value copies it.

        Returns
        -------
        Tensor

        Raises
        ------
        DTypeMismatchError
            The dtype is not supported.

        Examples
        --------
        >>> import tenferro as tfr
        >>> import numpy as np
        >>> tfr.Tensor.from_numpy(np.ones((2, 3), order="F")).strides
        (8, 16)
        """
        cdef Value v
        import_any(&v, array, -1, copy)
        return wrap_tensor(&v)

    @property
    def dtype(self):
        """NumPy dtype of the elements."""
        return dtype_object(self.v.meta.dtype)

    @property
    def shape(self):
        """Tuple of dimensions."""
        return shape_tuple(self.v.meta)

    @property
    def strides(self):
        """Tuple of strides in bytes; they may be zero or negative."""
        return strides_tuple(self.v.meta)

    @property
    def ndim(self):
        """Number of axes."""
        return self.v.meta.rank

    @property
    def size(self):
        """Number of elements."""
        return self.v.meta.size

    @property
    def placement(self):
        """Where the memory is: ``"cpu"``, or a device."""
        return placement_of(&self.v)

    def as_slice(self, dtype):
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
        >>> tfr.Tensor.from_vec_col_major((2, 2), [1, 2, 3, 4]).as_slice(int).tolist()
        [1, 2, 3, 4]
        """
        return export_slice(&self.v, dtype, "as_slice")

    def numpy(self):
        """Read-only ndarray over the same memory.

        Returns
        -------
        ndarray

        Raises
        ------
        HostAccessError
            The memory is a device's.

        Examples
        --------
        >>> import tenferro as tfr
        >>> tfr.Tensor.from_numpy([1.0, 2.0]).numpy().tolist()
        [1.0, 2.0]
        """
        return export_array(&self.v)

    def __array__(self, dtype=None, copy=None):
        return export_as(&self.v, dtype, copy)

    def __getbuffer__(self, Py_buffer *view, int flags):
        export_buffer(&self.v, view, flags)

    def __copy__(self):
        return borrow(&self.v)

    def __deepcopy__(self, memo):
        cdef Value v
        copy_of(&v, &self.v)
        memo[id(self)] = t = wrap_tensor(&v)
        return t

    def __repr__(self):
        return describe(&self.v, "Tensor", "")


seal(Tensor)
