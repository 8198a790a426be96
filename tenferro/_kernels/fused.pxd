"""One pass over a group of elementwise operations, block by block."""

from tenferro._core.abi cimport *

cdef int fused(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
