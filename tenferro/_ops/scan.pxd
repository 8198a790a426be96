from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor

cdef EagerTensor cumulate(int op, EagerTensor x, Py_ssize_t axis, bint reverse)     # CUMSUM or CUMPROD
# z[k] = a[k] z[k-1] + b[k]
cdef EagerTensor linear_scan(EagerTensor a, EagerTensor b, Py_ssize_t axis, bint reverse)
# y[k] = x[k-1]
cdef EagerTensor shift(EagerTensor x, Py_ssize_t axis, bint reverse, Py_ssize_t fill)
