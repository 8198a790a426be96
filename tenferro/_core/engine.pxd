"""The engine contract."""

from .abi cimport *

cdef class ExecutionEngine:
    cdef kernel_t *kernels          # one per operation, shared by the engines of a class unless `private`
    cdef bint private               # this engine has registered kernels of its own
    cdef int space                  # the memory space that the kernels reach
    cdef readonly str name
    cdef readonly str kind
    cdef readonly object context_id
    cdef object __weakref__
    cdef readonly int threads       # that its kernels may use

    cdef int register(self, int op, kernel_t fn, int abi) except -1

cdef int missing(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef kernel_t *kernel_table() except NULL
