"""The axes of a contraction in four groups."""

from tenferro._core.abi cimport *

cdef enum:
    BATCH, ROWS, COLUMNS, SUMMED        # groups

cdef enum:
    A, B, C                             # operands

cdef enum:
    INT_MAX = 0x7fffffff

ctypedef struct Axis:
    Py_ssize_t n
    Py_ssize_t s[3]                     # strides in bytes in a, b and the result; 0 where an operand has no such axis

ctypedef struct Group:
    int r
    Axis x[64]

ctypedef struct Plan:
    Group g[4]

cdef void collect(const Value *a, const Value *b, const Value *c, const Params *p, Plan *plan) noexcept nogil
cdef void sort_by(Group *g, int operand) noexcept nogil
cdef void merge(Group *g) noexcept nogil

# Order the axes for own loops, or for BLAS; they return the operands that have to be packed, one bit each.
cdef int plan_loops(Plan *p) noexcept nogil
cdef int plan_blas(Plan *p, int item, Py_ssize_t k) noexcept nogil

cdef inline Py_ssize_t magnitude(Py_ssize_t x) noexcept nogil:
    return -x if x < 0 else x

cdef inline Py_ssize_t extent(const Group *g) noexcept nogil:
    cdef Py_ssize_t n = 1
    cdef int i
    for i in range(g.r):
        n *= g.x[i].n
    return n

cdef inline Py_ssize_t inner(const Group *g, int operand) noexcept nogil:
    return g.x[g.r - 1].s[operand] if g.r else 0

cdef inline void fuse(Group *g, int operand) noexcept nogil:
    if g.r > 1:
        sort_by(g, operand)
        merge(g)
