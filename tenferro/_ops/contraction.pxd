"""Products that sum over axes of two tensors."""

from tenferro._core.eager cimport EagerTensor

cdef EagerTensor matmul_(EagerTensor x, EagerTensor y)
