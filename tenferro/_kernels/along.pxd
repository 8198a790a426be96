"""Gathers along one axis, windows, positions."""

from tenferro._core.abi cimport *
from .index cimport *

# Parameters. TAKE_ALONG_AXIS, ALONG_AXIS_ADD: v[0] = axis, v[1] = its size; all other axes of the inputs agree.
# INDEX_SET: a basic index, see structure.pxd.
# FLAT_INDEX: for each input the size of the axis that it indexes, and the axis that errors name.

cdef int along_axis(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int index_set(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int flat_index(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef Py_ssize_t count_true(const char *mask, Py_ssize_t n) noexcept nogil
cdef void true_positions(const char *mask, Py_ssize_t count, Py_ssize_t *out) noexcept nogil
