"""Folding a tensor along some of its axes."""

from tenferro._core.abi cimport *
from .ufunc cimport Loop

cdef extern from "made.h":
    enum: TF_MADE
    ctypedef struct tf_made:
        void (*make)(const void *work, Py_ssize_t first, Py_ssize_t count, Py_ssize_t at, char **tiles,
                     char *scratch) noexcept nogil
        const void *work
        Py_ssize_t item, scratch
        int sums, tiles
        int tile[8]
        const char *whole[8]

# Run `loop` over (out, x, other) for every element of x; out and `other` are shaped as the result and stand still along
# the folded axes. NumPy's binary loops get out as `other`.
cdef void fold(Loop *loop, const Value *x, const Value *out, const Value *other, unsigned long long axes,
               bint keepdims) noexcept nogil
cdef Py_ssize_t folded_count(const Meta *m, unsigned long long axes) noexcept nogil
cdef int divide(Value *v, double count) except -1                   # v /= count
cdef int maximum(const Value *x, Value *out, unsigned long long axes, bint keepdims, int op) except -1

# Sums of abs(x - mean)**2, over div; the two parts of complex numbers separately, as parts of a complex result.
cdef int deviations(const Value *x, Value *out, unsigned long long axes, bint keepdims, double div) except -1

# Sums, over div, along one set of axes of dense operands that a pass makes: the bits of `reduce` with any number of threads. x
# describes all operands, and the results have one layout. -1: no memory.
cdef int sum_made(int threads, const tf_made *made, const Meta *x, const Value *outs, unsigned long long axes, bint keepdims,
                  const double *div) noexcept nogil

cdef int reduce(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
