"""Contraction of two tensors."""

from tenferro._core.abi cimport *

cdef int contract(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
