"""Reductions by NumPy's inner loops."""

from tenferro._core.abi cimport *

cdef int reduce(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
