"""Basic indexing and its adjoint."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor

# Along one axis: count elements from start on; one element, dropping the axis.
cdef EagerTensor slice_axis(EagerTensor x, int axis, Py_ssize_t start, Py_ssize_t step, Py_ssize_t count)
cdef EagerTensor take_at(EagerTensor x, int axis, Py_ssize_t i)
# The adjoints: zeros of the given shape with g in the window; in row-major order or not.
cdef EagerTensor unslice_axis(EagerTensor g, int axis, Py_ssize_t start, Py_ssize_t step, const Meta *like)
cdef EagerTensor untake_at(EagerTensor g, int axis, Py_ssize_t i, const Meta *like)

# With the parameters of a recorded index, see _kernels/structure.pxd.
cdef EagerTensor slice_by(EagerTensor x, const Py_ssize_t *v)
cdef EagerTensor unslice_by(EagerTensor g, const Py_ssize_t *v, const Py_ssize_t *shape, bint rows)

cdef EagerTensor dynamic_slice_by(EagerTensor x, EagerTensor starts, const Py_ssize_t *sizes)
cdef EagerTensor dynamic_unslice_by(EagerTensor g, EagerTensor starts, const Py_ssize_t *shape, bint rows)
