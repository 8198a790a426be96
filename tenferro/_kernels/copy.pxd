"""Copies between strided layouts, and casts."""

from tenferro._core.abi cimport *

cdef int copy(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int cast(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1

# Copy all elements of one strided layout into another; sizes are not zero, and the two do not overlap.
cdef void strided_copy(int itemsize, int rank, const Py_ssize_t *shape, const char *src, const Py_ssize_t *from_,
                       char *dst, const Py_ssize_t *to) noexcept nogil
cdef void copy_value(const Value *src, Value *dst) noexcept nogil
