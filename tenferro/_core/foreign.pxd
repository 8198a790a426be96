"""What the kernels of engines over libraries of arrays share."""

from .abi cimport *
from .engine cimport ExecutionEngine

cdef class NamespaceKernels(ExecutionEngine):
    cdef list calls                     # per operation, None for the host's kernel
    cdef list last                      # per operation: the last parameters as bytes, and as keywords
    cdef unsigned int[512] domains      # dtypes for which it is called
    cdef unsigned int dtypes_
    cdef bint quiet, writeable
    cdef object from_host_, to_host_

cdef dict words_of(NamespaceKernels e, int op, const Value *out, const Params *p)       # keywords of a method
cdef int failed(NamespaceKernels e, int op, const Value *out, object error) except -1   # reports what a method raised
cdef int as_promised(NamespaceKernels e, int op, object shape, object dtype, const Meta *m) except -1
cdef int reported(ExecutionEngine e, str op, object error, Py_ssize_t nbytes=*) except -1
