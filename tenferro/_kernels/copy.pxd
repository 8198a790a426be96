"""Copies between strided layouts, and casts."""

from tenferro._core.abi cimport *

cdef int copy(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int cast(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
