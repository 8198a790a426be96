"""Concrete tensors, and their export to NumPy and the buffer protocol."""

from .abi cimport *

cdef class Tensor:
    cdef Value v
    cdef object __weakref__

cdef Tensor wrap_tensor(Value *v)                                   # takes over v's references
cdef Tensor borrow(const Value *v)                                  # shares v's memory
cdef object export_array(const Value *v)                            # read-only ndarray over the same memory
cdef object host_array(const Value *v)                              # the same, of a device's memory a copy
cdef int export_buffer(const Value *v, Py_buffer *view, int flags) except -1
cdef object export_slice(const Value *v, object dtype, str op)      # one-dimensional, in column-major order
cdef object export_as(const Value *v, object dtype, object copy)    # __array__
cdef object export_scalar(const Value *v)                           # Python scalar of the first element
cdef int check_host(const Value *v, str op) except -1
cdef str describe(const Value *v, str name, str suffix)             # repr
cdef int copy_of(Value *out, const Value *v) except -1              # fresh dense copy in the same memory and order of axes
