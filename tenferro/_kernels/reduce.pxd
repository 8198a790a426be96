"""Folding a tensor along some of its axes."""

from tenferro._core.abi cimport *
from .ufunc cimport Loop

# Run `loop` over (out, x, other) for every element of x; out and `other` are shaped as the result and stand still along
# the folded axes. NumPy's binary loops get out as `other`.
cdef void fold(Loop *loop, const Value *x, const Value *out, const Value *other, unsigned long long axes,
               bint keepdims) noexcept nogil
cdef Py_ssize_t folded_count(const Meta *m, unsigned long long axes) noexcept nogil
cdef int divide(Value *v, double count) except -1                   # v /= count
cdef int maximum(const Value *x, Value *out, unsigned long long axes, bint keepdims, int op) except -1

# Sums of abs(x - mean)**2, over div; the two parts of complex numbers separately, as parts of a complex result.
cdef int deviations(const Value *x, Value *out, unsigned long long axes, bint keepdims, double div) except -1

cdef int reduce(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
