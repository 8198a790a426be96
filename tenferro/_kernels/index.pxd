"""Gathers and scatters along index arrays, which are int64."""

from tenferro._core.abi cimport *

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

ctypedef struct Pair:
    uint64_t a
    uint64_t b

ctypedef fused word:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    Pair

ctypedef fused number:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float
    double
    float complex
    double complex

ctypedef struct Bad:            # the first index that is out of range
    bint found
    Py_ssize_t index

cdef int out_of_range(int op, Py_ssize_t index, Py_ssize_t size, Py_ssize_t axis) except -1

cdef inline Py_ssize_t wrapped(const char *p, Py_ssize_t size, Bad *bad) noexcept nogil:
    """The index at p in 0..size-1, or -1 if it is out of range."""
    cdef Py_ssize_t f = (<const int64_t *> p)[0]
    if f < 0:
        f += size
    if f < 0 or f >= size:
        if not bad.found:
            bad.found = True
            bad.index = (<const int64_t *> p)[0]
        return -1
    return f

# Parameters of TAKE, TAKE_ADD, SCATTER and SCATTER_ADD. The k named axes of the indexed tensor, taken together in
# row-major order, are indexed by one integer; the axes of the index array stand at `pos` among the axes that are left.
#   v[0] = pos, v[1] = k, v[2:2+k] = axes, v[2+k] = axis that errors name (-1: the flattened tensor)
#   TAKE_ADD: then the sizes of the k axes

cdef int take(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int take_add(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int scatter(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
