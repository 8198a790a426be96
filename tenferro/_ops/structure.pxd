from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor

cdef EagerTensor broadcast_like(EagerTensor x, const Meta *m)      # to m's shape, a view
cdef EagerTensor reshape_to(EagerTensor x, const Meta *m)          # to m's shape, row-major order of elements
