"""Making values of foreign data, and copies of values."""

from .abi cimport *

cdef int import_any(Value *out, object x, int dtype, bint copy) except -1       # array-likes; dtype is a wish, or -1
cdef int import_array(Value *out, object array, bint copy) except -1
cdef int import_columns(Value *out, object shape, object data, object dtype) except -1
cdef int compact(Value *out, const Value *v, bint rows) except -1               # fresh compact copy on the host
cdef int duplicate(Value *out, const Value *v) except -1                        # fresh dense copy in the same order
cdef int copy_into(const Value *src, Value *dst) except -1                      # equal shapes and dtypes, any strides
cdef Py_ssize_t extent(const Meta *m) noexcept                                  # bytes of the distinct elements
cdef object bare_array(const Value *v, int rank, Py_ssize_t *dims, Py_ssize_t *strides, int flags)
cdef int adopt(Value *out, object array) except -1                                 # an ndarray that nobody else refers to
