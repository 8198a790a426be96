"""Index expressions that contain arrays."""

from tenferro._core.eager cimport EagerTensor

cdef EagerTensor advanced_getitem(EagerTensor x, tuple index)
