"""Windows of a tensor (slices, diagonals) and the operations that fill them."""

from tenferro._core.abi cimport *

cdef int concatenate(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int unslice(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int dynamic_slice(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int dynamic_unslice(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int pad(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int triangle(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef int embed_diag(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1

# A basic index, as parameters: rank r of the indexed tensor, rank q of the result, (start, step, count) for each of the
# r axes, and for each of the q axes the one it comes from, -1 for a new one. Axes that nothing comes from are dropped.

cdef inline Py_ssize_t index_length(Py_ssize_t r, Py_ssize_t q) noexcept nogil:
    return 2 + 3 * r + q

cdef inline Py_ssize_t window(const Py_ssize_t *v, const Meta *m, Meta *w) noexcept nogil:
    """Shape and strides of the part of m that an index selects; returns its offset in bytes."""
    cdef Py_ssize_t r = v[0], q = v[1], k, j, offset = 0
    cdef const Py_ssize_t *axes = v + 2
    cdef const Py_ssize_t *source = axes + 3 * r
    for j in range(q):
        k = source[j]
        w.dims[j] = 1 if k < 0 else axes[3 * k + 2]
        w.dims[q + j] = w.itemsize if k < 0 else axes[3 * k + 1] * m.dims[r + k]
    for k in range(r):
        if axes[3 * k + 2] == 0:
            return 0
        offset += axes[3 * k] * m.dims[r + k]
    return offset

cdef inline Py_ssize_t diagonal(const Meta *m, Py_ssize_t offset, Py_ssize_t axis1, Py_ssize_t axis2,
                                Meta *w) noexcept nogil:
    """Shape and strides of a diagonal of m, moved to the last axis; returns its offset in bytes."""
    cdef Py_ssize_t first = -offset if offset < 0 else 0, second = offset if offset > 0 else 0
    cdef Py_ssize_t a = m.dims[axis1] - first, b = m.dims[axis2] - second
    cdef int i, k = 0, r = m.rank
    for i in range(r):
        if i != axis1 and i != axis2:
            w.dims[k] = m.dims[i]
            w.dims[r - 1 + k] = m.dims[r + i]
            k += 1
    if b < a:
        a = b
    w.dims[k] = a if a > 0 else 0
    w.dims[r - 1 + k] = m.dims[r + axis1] + m.dims[r + axis2]
    return first * m.dims[r + axis1] + second * m.dims[r + axis2] if a > 0 else 0
