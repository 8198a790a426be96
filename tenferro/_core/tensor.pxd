"""Concrete tensors and their border with NumPy."""

from .abi cimport *

cdef class Tensor:
    cdef Value v
    cdef object __weakref__

cdef Tensor wrap_tensor(Value *v)                                   # takes over v's references
cdef int import_array(Value *out, object array, bint copy) except -1
cdef object export_array(const Value *v)                            # read-only ndarray over the same memory
cdef int compact(Value *out, const Value *v, bint rows) except -1   # fresh compact copy on the host
cdef int copy_into(const Value *src, Value *dst) except -1          # equal shapes and dtypes, any strides
