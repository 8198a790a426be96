"""Elementwise operations for which NumPy has no inner loops, and those that have to look at their values first."""

from tenferro._core.abi cimport *

cdef int power(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int convert(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
