from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor

# A set of axes is a bit mask; x has the dtype of the computation.
cdef unsigned long long axis_mask(EagerTensor x, object axis) except *
cdef EagerTensor reduced(int op, EagerTensor x, unsigned long long axes, bint keepdims)
# REDUCE_SUM or REDUCE_PROD, as the user's call.
cdef EagerTensor reduce_op(int op, EagerTensor x, object axis, bint keepdims)
cdef EagerTensor sum_axes(EagerTensor x, unsigned long long axes, bint keepdims)
cdef EagerTensor truths(int op, EagerTensor x, unsigned long long axes, bint keepdims, int dtype)
cdef EagerTensor sum_to(EagerTensor x, const Meta *m)       # the adjoint of broadcasting to x's shape
cdef EagerTensor unreduce(EagerTensor x, const Meta *m, unsigned long long axes, bint keepdims)   # x repeated, a view
cdef Py_ssize_t count_along(const Meta *m, unsigned long long axes) noexcept
cdef int flag(object keepdims) except -1
cdef int sum_dtype(int dtype) noexcept                      # in which sums and products are computed
