"""Concrete tensors and their border with NumPy."""

from .abi cimport *

cdef class Tensor:
    cdef Value v
    cdef object __weakref__

cdef Tensor wrap_tensor(Value *v)                                   # takes over v's references
cdef Tensor borrow(const Value *v)                                  # shares v's memory
cdef int import_any(Value *out, object x, int dtype, bint copy) except -1       # array-likes; dtype is a wish, or -1
cdef int import_array(Value *out, object array, bint copy) except -1
cdef int import_columns(Value *out, object shape, object data, object dtype) except -1
cdef object export_array(const Value *v)                            # read-only ndarray over the same memory
cdef int export_buffer(const Value *v, Py_buffer *view, int flags) except -1
cdef object export_slice(const Value *v, object dtype, str op)      # one-dimensional, in column-major order
cdef object export_as(const Value *v, object dtype, object copy)    # __array__
cdef object export_scalar(const Value *v)                           # Python scalar of the first element
cdef Py_ssize_t extent(const Meta *m) noexcept                      # bytes of the distinct elements
cdef int check_host(const Value *v, str op) except -1
cdef str describe(const Value *v, str name, str suffix)             # repr
cdef int compact(Value *out, const Value *v, bint rows) except -1   # fresh compact copy on the host
cdef int duplicate(Value *out, const Value *v) except -1            # fresh dense copy in the same order of axes
cdef int copy_into(const Value *src, Value *dst) except -1          # equal shapes and dtypes, any strides
