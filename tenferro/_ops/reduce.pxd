from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor

cdef EagerTensor reduce_op(int op, EagerTensor x, object axis, bint keepdims)
cdef EagerTensor sum_axes(EagerTensor x, unsigned long long axes, bint keepdims)
cdef EagerTensor sum_to(EagerTensor x, const Meta *m)       # the adjoint of broadcasting to x's shape
