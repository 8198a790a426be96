"""Making values of foreign data, and copies of values."""

cimport numpy as cnp
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF

from .memory cimport *
from .optable cimport Op, dtype_code, dtype_object
from tenferro._kernels cimport copy as copying

import operator

import numpy as np

from ..errors import DTypeMismatchError, IntegerOverflowError, ShapeMismatchError, ValidationError

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(PyTypeObject *cls, cnp.dtype descr, int nd, cnp.npy_intp *dims, cnp.npy_intp *strides,
                                void *data, int flags, PyObject *obj)
    int PyArray_CopyInto(cnp.ndarray dst, cnp.ndarray src) except -1

cdef object _ndarray = np.ndarray, _generic = np.generic


# ---- arrays over memory ----------------------------------------------------------------------------------------------

cdef object bare_array(const Value *v, int rank, Py_ssize_t *dims, Py_ssize_t *strides, int flags):
    cdef cnp.dtype descr = dtype_object(v.meta.dtype)
    Py_INCREF(descr)
    return PyArray_NewFromDescr(<PyTypeObject *> _ndarray, descr, rank, <cnp.npy_intp *> dims, <cnp.npy_intp *> strides,
                                v.data, flags, NULL)


cdef cnp.ndarray writable_over(const Value *v):
    """Array over memory that is being filled; lives no longer than the call."""
    return bare_array(v, v.meta.rank, shape_of(v.meta), strides_of(v.meta), cnp.NPY_ARRAY_WRITEABLE)


cdef cnp.ndarray flat_over(const Value *v):
    return bare_array(v, 1, <Py_ssize_t *> &v.meta.size, NULL, cnp.NPY_ARRAY_WRITEABLE)


# ---- copies ----------------------------------------------------------------------------------------------------------

cdef int copy_into(const Value *src, Value *dst) except -1:
    return copying.copy(NULL, Op.COPY, src, 1, dst, NULL)


cdef int copied_as(Value *out, const Value *v, Meta *m) except -1:
    """Fresh memory of metadata m (stolen) with v's elements."""
    value_alloc(out, m)
    try:
        copy_into(v, out)
    except BaseException:
        value_drop(out)
        raise
    return 0


cdef int compact(Value *out, const Value *v, bint rows) except -1:
    return copied_as(out, v, meta_compact(v.meta.dtype, v.meta.rank, shape_of(v.meta), rows))


cdef int duplicate(Value *out, const Value *v) except -1:
    return copied_as(out, v, meta_like(v.meta, v.meta.dtype))


# ---- import ----------------------------------------------------------------------------------------------------------

cdef bint usable(cnp.ndarray a):
    """Whether inner loops may run on this memory: native byte order, aligned, strides in whole elements."""
    cdef int i
    if not (cnp.PyArray_ISALIGNED(a) and cnp.PyArray_ISNOTSWAPPED(a)):
        return False
    for i in range(cnp.PyArray_NDIM(a)):
        if cnp.PyArray_STRIDE(a, i) % cnp.PyArray_ITEMSIZE(a):
            return False
    return True


cdef Meta *meta_of(cnp.ndarray a, int dtype) except NULL:
    cdef int i, n = cnp.PyArray_NDIM(a)
    cdef Meta *m
    if n == 0:
        return meta_scalar(dtype)
    m = meta_new(dtype, n)
    for i in range(n):
        m.dims[i] = cnp.PyArray_DIM(a, i)
        m.dims[n + i] = cnp.PyArray_STRIDE(a, i)
    return meta_finish(m)


cdef Py_ssize_t extent(const Meta *m) noexcept:
    """Bytes of the distinct elements of a strided layout."""
    cdef Py_ssize_t n = m.itemsize
    cdef int i
    for i in range(m.rank):
        if m.dims[i] == 0:
            return 0
        if m.dims[m.rank + i] != 0:
            n *= m.dims[i]
    return n


cdef cnp.ndarray plain(object array):
    """Subclasses as the base class; the elements that a mask hides have no value to import."""
    if type(array) is not _ndarray:
        if np.any(getattr(array, "mask", False)):
            raise ValidationError("a masked array cannot be imported while elements are masked; fill them with "
                                  "filled()", argument="array")
        array = np.asarray(array)
    return array


cdef int import_array(Value *out, object array, bint copy) except -1:
    """Make a value of an ndarray. Without `copy` the memory is shared where it can be used as it is."""
    cdef cnp.ndarray a = plain(array)
    cdef int dtype = dtype_code(a.dtype, "array")
    cdef Value src
    src.meta = meta_of(a, dtype)
    src.data = cnp.PyArray_BYTES(a)
    src.buf = NULL
    try:
        if not usable(a):
            value_alloc(out, meta_like(src.meta, dtype))
            PyArray_CopyInto(writable_over(out), a)
        elif copy:
            duplicate(out, &src)
        else:
            out.buf = buffer_wrap(a, src.data, extent(src.meta), BORROWED)
            out.meta = meta_ref(src.meta)
            out.data = src.data
    finally:
        meta_drop(src.meta)
    return 0


cdef int adopt(Value *out, object array) except -1:
    """Make a value of an ndarray that nobody else refers to."""
    cdef Py_ssize_t nbytes = cnp.PyArray_NBYTES(array)
    import_array(out, array, nbytes <= 1024)
    if out.buf.owner == <PyObject *> array:
        out.buf.flags = 0
    return 0


cdef bint only_integers(object x, object a) except -1:
    """Integers of which some exceed int64 become float64 in NumPy, unless the dtype is given."""
    return a.dtype.kind == "f" and all([isinstance(n, int) for n in np.asarray(x, object).flat]) and a.size > 0


cdef object to_array(object x, int dtype):
    """Lists may hold untracked tensors of any kind that NumPy can read."""
    try:
        a = np.asarray(x)
        if dtype >= 0 and (a.dtype.kind == "O" or (dtype in (D_I64, D_U64) and only_integers(x, a))):
            return np.asarray(x, dtype_object(dtype))
        return a
    except OverflowError as e:
        raise IntegerOverflowError(f"cannot make a tensor of {type(x).__name__}: {e}", argument="x",
                                   expected=dtype_object(dtype), actual=x) from None
    except (TypeError, ValueError) as e:
        raise DTypeMismatchError(f"cannot make a tensor of {type(x).__name__}: {e}", argument="x",
                                 expected="numbers in a rectangular list, an array or a Python scalar",
                                 actual=type(x).__name__) from None


cdef int import_any(Value *out, object x, int dtype, bint copy) except -1:
    if PyFloat_CheckExact(x):
        value_alloc(out, meta_scalar(D_F64))
        (<double *> out.data)[0] = PyFloat_AS_DOUBLE(x)
        return 0
    if isinstance(x, _ndarray):
        return import_array(out, x, copy)
    if not copy and isinstance(x, (list, tuple, int, float, complex, _generic)):
        return adopt(out, to_array(x, dtype))
    return import_array(out, to_array(x, dtype), copy)


cdef Meta *columns_meta(object shape, int dtype) except NULL:
    """Column-major compact metadata of a shape that a caller gave."""
    cdef Py_ssize_t dims[64]
    cdef int i
    try:
        ns = [operator.index(n) for n in shape] if isinstance(shape, (tuple, list)) else [operator.index(shape)]
    except TypeError:
        raise ValidationError(f"a shape is a tuple of integers, not {shape!r}", argument="shape") from None
    if len(ns) > MAX_RANK:
        raise ValidationError(f"a tensor has at most {MAX_RANK} axes, not {len(ns)}", argument="shape")
    for i, n in enumerate(ns):
        if n < 0:
            raise ValidationError(f"negative dimension in the shape {tuple(ns)}", argument="shape")
        if n > <Py_ssize_t> ((~<size_t> 0) >> 1):
            raise IntegerOverflowError(f"the number of bytes of shape {tuple(ns)} exceeds 2**63 - 1; use smaller "
                                       "dimensions", argument="shape", expected="< 2**63 bytes", actual=tuple(ns))
        dims[i] = n
    return meta_compact(dtype, len(ns), dims, False)


cdef int import_columns(Value *out, object shape, object data, object dtype) except -1:
    cdef int want = -1 if dtype is None else dtype_code(dtype)
    cdef cnp.ndarray a = plain(data if isinstance(data, _ndarray) else to_array(data, want))
    if cnp.PyArray_SIZE(a) == 0 and not isinstance(data, _ndarray) and want < 0:
        want = D_F64
    if want < 0:
        want = dtype_code(a.dtype, "data")
    else:
        lossless_kind(dtype_code(a.dtype, "data"), want, "data")
    cdef Meta *m = columns_meta(shape, want)
    if cnp.PyArray_NDIM(a) != 1 or cnp.PyArray_DIM(a, 0) != m.size:
        n, found = m.size, (<object> a).shape
        meta_drop(m)
        raise ShapeMismatchError(f"shape {shape} takes a one-dimensional sequence of {n} elements in column-major "
                                 f"order, not one of shape {found}", argument="data", expected=n,
                                 actual=found[0] if len(found) == 1 else found)
    value_alloc(out, m)
    try:
        if m.size:
            PyArray_CopyInto(flat_over(out), a)
    except BaseException:
        value_drop(out)
        raise
    return 0


cdef int lossless_kind(int have, int want, str argument) except -1:
    """Complex numbers do not become real ones silently."""
    if is_complex(have) and not is_complex(want):
        raise DTypeMismatchError(f"complex {argument} cannot become {dtype_object(want)}; take its real or imaginary "
                                 "part first", argument=argument, expected=dtype_object(want),
                                 actual=dtype_object(have))
    return 0
