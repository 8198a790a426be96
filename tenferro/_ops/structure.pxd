"""Views: the same memory under another shape and other strides."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor

cdef EagerTensor broadcast_like(EagerTensor x, const Meta *m)      # to m's shape, a view
cdef EagerTensor reshape_to(EagerTensor x, const Meta *m)          # to m's shape, row-major order of elements
cdef EagerTensor reshape_to_f(EagerTensor x, const Meta *m)        # to m's shape, column-major order of elements
cdef EagerTensor reshape_dims(EagerTensor x, int rank, const Py_ssize_t *shape, bint fortran)
cdef EagerTensor broadcast_dims(EagerTensor x, int rank, const Py_ssize_t *shape)
cdef EagerTensor permute(EagerTensor x, const Py_ssize_t *perm)    # axis i of the result is axis perm[i] of x
cdef EagerTensor expand(EagerTensor x, unsigned long long axes)    # new axes of length 1, numbered in the result
cdef EagerTensor squeezed(EagerTensor x, unsigned long long axes)  # without these axes, all of length 1
cdef EagerTensor reversed_along(EagerTensor x, unsigned long long axes)
cdef EagerTensor swap_last(EagerTensor x)                          # matrix transpose
cdef EagerTensor diagonal_of(EagerTensor x, Py_ssize_t offset, int axis1, int axis2)   # moved to the last axis
cdef EagerTensor copied(EagerTensor x, bint rows)                  # fresh compact memory, recorded

# Arguments of public functions.
cdef int axis_of(object axis, int rank) except -1
cdef unsigned long long axes_of(object axes, int rank) except *    # one axis or a sequence
cdef Py_ssize_t size_of(object n, str argument) except? -1
cdef int shape_from(object shape, Py_ssize_t *dims) except -1      # one size or a sequence; returns the rank
cdef tuple shape_tuple(const Meta *m)
