"""Tensors put together from others, in fresh memory."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor

cdef tuple operands(object xs)                                      # array-likes of one runtime, as tensors
cdef EagerTensor join(tuple xs, int axis, bint stacked)             # concatenate, or stack along a new axis
cdef EagerTensor pad_with(EagerTensor x, EagerTensor value, const Py_ssize_t *widths)    # (before, after) for each axis
cdef EagerTensor triangle_of(int op, EagerTensor x, Py_ssize_t k)
cdef EagerTensor embed_into(EagerTensor g, Py_ssize_t offset, int axis1, int axis2, const Py_ssize_t *shape, bint rows)
