"""Recurrences along one axis, and the position of the largest element along one."""

from tenferro._core.abi cimport *

# Params: axis, reverse. The shift has the number that is shifted in as its third.
cdef int cumulate(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int linear_scan(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int shift(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
# Params: axis (-1: all elements in row-major order), keepdims.
cdef int arg_extreme(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
