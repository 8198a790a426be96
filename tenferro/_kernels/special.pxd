"""Own loops of the analytic functions that NumPy lacks."""

from tenferro._core.abi cimport *

# polygamma(n, x); params: n
cdef int polygamma(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
