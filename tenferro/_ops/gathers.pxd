"""Gathers and scatters. The parameters p of a gather or scatter are described in _kernels/index.pxd."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor

cdef enum:
    HEAD = 3 + 64               # longest parameters of a gather

cdef EagerTensor take_axes(EagerTensor x, EagerTensor idx, const Py_ssize_t *p)
# The adjoint: zeros of the given shape, to which the elements of g are added.
cdef EagerTensor take_add(EagerTensor g, EagerTensor idx, const Py_ssize_t *p, const Meta *like)
# op is SCATTER or SCATTER_ADD; the updates have the shape of take_axes(base, idx, p).
cdef EagerTensor scatter_at(int op, EagerTensor base, EagerTensor updates, EagerTensor idx, const Py_ssize_t *p,
                            bint rows)
cdef EagerTensor zero_block(EagerTensor g, const Meta *idx, const Py_ssize_t *p)
# Which updates a SCATTER lets through: of several for one place the last one. Broadcasts against the updates.
cdef EagerTensor winners(EagerTensor idx, const Py_ssize_t *p, const Meta *whole)

cdef EagerTensor along(EagerTensor x, EagerTensor idx, const Py_ssize_t *p, bint rows)
cdef EagerTensor along_add(EagerTensor g, EagerTensor idx, const Py_ssize_t *p, const Meta *like)
# v: parameters of a basic index, see _kernels/structure.pxd.
cdef EagerTensor set_window(EagerTensor x, EagerTensor value, const Py_ssize_t *v, bint rows)
cdef EagerTensor zero_window(EagerTensor g, const Py_ssize_t *v)

cdef int window_dims(const Py_ssize_t *v, Py_ssize_t *dims) noexcept     # the shape; returns the rank
cdef EagerTensor counting(EagerTensor like, const Meta *m)              # 0, 1, 2, ... in m's shape, row-major

# Arguments of public functions.
cdef EagerTensor array_operand(object obj, EagerTensor x)               # an index array, integers or bool
cdef EagerTensor integers(object obj, EagerTensor x, str op)            # int64
cdef EagerTensor operand_for(object value, EagerTensor x, str op, str argument)     # in x's dtype
cdef EagerTensor fitted(EagerTensor t, int rank, const Py_ssize_t *dims, str op, str argument)  # broadcast to a shape
cdef EagerTensor flat_index(list arrays, list sizes, list axes)         # one index over several axes
cdef EagerTensor mask_positions(EagerTensor mask)                       # row-major positions of what is true
# scatter_at for updates that are still to be broadcast
cdef EagerTensor scatter_op(int op, EagerTensor x, EagerTensor updates, EagerTensor idx, const Py_ssize_t *p,
                            bint rows, str name, str argument)
