"""The engine contract."""

from .abi cimport *

cdef class ExecutionEngine:
    cdef kernel_t *kernels          # one per operation, shared by the engines of a class unless `private`
    cdef bint private               # this engine has registered kernels of its own
    cdef int space                  # the memory space that the kernels reach
    cdef readonly object memory     # what is known about it; None for host memory
    cdef readonly str name
    cdef readonly str kind
    cdef readonly object context_id
    cdef object __weakref__
    cdef readonly int threads       # that its kernels may use

    cdef int register(self, int op, kernel_t fn, int abi) except -1

ctypedef int (*quiet_kernel_t)(PyObject *, int, const Value *, int, Value *, const Params *) noexcept

cdef int failed_silently(ExecutionEngine engine, int op) except -1

cdef inline int call_kernel(kernel_t kernel, ExecutionEngine engine, int op, const Value *ins, int n, Value *out,
                            const Params *p) except -1:
    """Run a kernel; one that fails without saying how raises all the same."""
    if (<quiet_kernel_t> kernel)(<PyObject *> engine, op, ins, n, out, p) == -1:
        return failed_silently(engine, op)
    return 0

cdef int missing(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef kernel_t *kernel_table() except NULL
