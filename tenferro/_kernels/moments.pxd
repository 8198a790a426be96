"""Reductions of differences from a value per slice: variances and log-sum-exp."""

from tenferro._core.abi cimport *

cdef int variance(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int logsumexp(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int count_nonzero(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
