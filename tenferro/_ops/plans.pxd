"""Contraction plans, and the process's cache of them."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor

ctypedef struct Product:
    int x, y                            # slots; the result goes to x
    Params *params

cdef class Plan:
    cdef int n, n_products, n_pairs
    cdef Product *products
    cdef int *pairs                     # (operand, axis, operand, axis) of equal length, where shapes are not known
    cdef list own                       # for each operand None, or what it loses before the first product
    cdef bint bare                      # no operand loses anything
    cdef list order                     # the permutation of a single operand
    cdef long long used                 # time of the last use
    cdef Py_ssize_t nbytes

    cdef int set_pairs(self, list terms) except -1
    cdef EagerTensor bared(self, int k, EagerTensor x)
    cdef bint agrees(self, EagerTensor x, EagerTensor y) noexcept
    cdef EagerTensor run1(self, EagerTensor x)
    cdef EagerTensor run2(self, EagerTensor x, EagerTensor y)
    cdef EagerTensor run(self, list xs)             # empties the list

cdef Plan plan_of_ranks(object subscripts, int rx, int ry)                      # ry is -1 for a single operand
cdef Plan plan_of_shapes(object subscripts, list xs, object optimize)
