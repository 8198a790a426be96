"""Concrete tensors and their border with NumPy."""

cimport cython
cimport numpy as cnp
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_WRITABLE
from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF

from .engine cimport ExecutionEngine
from .memory cimport *
from .optable cimport Op, dtype_code, dtype_object
from .state cimport default_engine_

import numpy as np

from ..errors import DTypeMismatchError, NonContiguousError, ShapeMismatchError

cnp.import_array()


cdef int copy_into(const Value *src, Value *dst) except -1:
    cdef ExecutionEngine engine = default_engine_()
    engine.kernels[<int> Op.COPY](<PyObject *> engine, Op.COPY, src, 1, dst, NULL)
    return 0


cdef int compact(Value *out, const Value *v, bint rows) except -1:
    value_alloc(out, meta_compact(v.meta.dtype, v.meta.rank, shape_of(v.meta), rows))
    try:
        copy_into(v, out)
    except BaseException:
        value_drop(out)
        raise
    return 0


cdef bint usable(cnp.ndarray a):
    """Whether inner loops may run on this memory: native byte order, aligned, strides in whole elements."""
    cdef int i
    if not (cnp.PyArray_ISALIGNED(a) and cnp.PyArray_ISNOTSWAPPED(a)):
        return False
    for i in range(cnp.PyArray_NDIM(a)):
        if cnp.PyArray_STRIDE(a, i) % cnp.PyArray_ITEMSIZE(a):
            return False
    return True


cdef int import_array(Value *out, object array, bint copy) except -1:
    """Make a value of an ndarray. Without `copy` the memory is shared where it can be used as it is."""
    cdef cnp.ndarray a = array
    cdef int dtype = dtype_code(a.dtype), i, n
    cdef Meta *m
    if copy or not usable(a):
        a = np.array(a, dtype=dtype_object(dtype), order="K", copy=True, subok=False)
        flags = 0
    else:
        flags = BORROWED
    n = cnp.PyArray_NDIM(a)
    if n == 0:
        m = meta_scalar(dtype)
    else:
        m = meta_new(dtype, n)
        for i in range(n):
            m.dims[i] = cnp.PyArray_DIM(a, i)
            m.dims[n + i] = cnp.PyArray_STRIDE(a, i)
        m = meta_finish(m)
    out.meta = m
    out.buf = NULL
    if m.size * m.itemsize <= 1024 and flags == 0:
        try:
            small_copy(out, a)
        except BaseException:
            meta_drop(m)
            raise
        return 0
    try:
        out.buf = buffer_wrap(a, <char *> cnp.PyArray_DATA(a), cnp.PyArray_NBYTES(a), flags)
    except BaseException:
        meta_drop(m)
        raise
    out.data = out.buf.data
    return 0


cdef int small_copy(Value *out, cnp.ndarray a) except -1:
    """Small arrays go into a block of the pool, which is cheaper to keep than an ndarray; `a` is dense here."""
    out.buf = buffer_new(out.meta.size * out.meta.itemsize)
    out.data = out.buf.data
    memcpy(out.data, cnp.PyArray_DATA(a), out.meta.size * out.meta.itemsize)
    return 0


cdef extern from "<string.h>":
    void *memcpy(void *, const void *, size_t)

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(PyTypeObject *cls, object descr, int nd, cnp.npy_intp *dims, cnp.npy_intp *strides,
                                void *data, int flags, PyObject *obj)
    int PyArray_SetBaseObject(cnp.ndarray, object) except -1


cdef object array_over(object owner, const Value *v):
    """Read-only ndarray over v's memory that keeps `owner` alive."""
    descr = dtype_object(v.meta.dtype)
    Py_INCREF(descr)
    a = PyArray_NewFromDescr(<PyTypeObject *> np.ndarray, descr, v.meta.rank, <cnp.npy_intp *> shape_of(v.meta),
                             <cnp.npy_intp *> strides_of(v.meta), v.data, 0, NULL)
    Py_INCREF(owner)
    PyArray_SetBaseObject(a, owner)
    return a


cdef object export_array(const Value *v):
    cdef Tensor t = Tensor.__new__(Tensor)
    value_copy(&t.v, v)
    return array_over(t, &t.v)


cdef Tensor wrap_tensor(Value *v):
    cdef Tensor t = Tensor.__new__(Tensor)
    t.v = v[0]
    return t


@cython.final
cdef class Tensor:
    """A concrete, immutable, strided tensor: dtype, shape, strides and memory."""

    def __init__(self):
        raise TypeError("make tensors with Tensor.from_numpy or Tensor.from_vec_col_major")

    def __dealloc__(self):
        value_drop(&self.v)

    @staticmethod
    def from_numpy(array, copy=True):
        """A tensor of a NumPy array or array-like; keeps the order of its axes."""
        cdef Value v
        import_array(&v, np.asarray(array), copy)
        return wrap_tensor(&v)

    @property
    def dtype(self):
        return dtype_object(self.v.meta.dtype)

    @property
    def shape(self):
        return tuple([self.v.meta.dims[i] for i in range(self.v.meta.rank)])

    @property
    def strides(self):
        return tuple([self.v.meta.dims[self.v.meta.rank + i] for i in range(self.v.meta.rank)])

    def numpy(self):
        """Read-only ndarray over the same memory."""
        return export_array(&self.v)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numpy(), dtype=dtype, copy=copy)
