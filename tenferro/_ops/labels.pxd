"""The primitive behind every product that sums, told by a label for each axis."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor

# Labels are below 256. None is twice in one tensor; one that only one of the three has is of an axis of length 1.
cdef EagerTensor contraction(EagerTensor x, const Py_ssize_t *lx, int nx, EagerTensor y, const Py_ssize_t *ly, int ny,
                             const Py_ssize_t *lo, int no)
cdef EagerTensor contract_with(EagerTensor x, EagerTensor y, Params *p)        # one dtype; p is stolen
cdef Params *label_params(const Py_ssize_t *lx, int nx, const Py_ssize_t *ly, int ny, const Py_ssize_t *lo,
                          int no) except NULL

cdef tuple pair_of(object a, object b)                                          # operands of one runtime
cdef EagerTensor in_common(EagerTensor x, EagerTensor y)                        # x in the dtype of the product
cdef int disagree(str op, EagerTensor x, EagerTensor y, str what) except -1
