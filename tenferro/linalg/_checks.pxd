"""Checks of matrices, and memory for them."""

cimport numpy as cnp

from ._routines cimport Batch

cdef bint row_major(cnp.ndarray a)
cdef cnp.ndarray fresh(cnp.ndarray like, int type_num, Py_ssize_t rows, Py_ssize_t columns, bint row_major)
cdef cnp.ndarray fresh_vectors(cnp.ndarray like, int type_num, Py_ssize_t length)
cdef cnp.ndarray take(Batch *b, cnp.ndarray a, bint row_major, bint keep)
cdef char *item(Batch *b, char *work, Py_ssize_t k) noexcept nogil
cdef cnp.ndarray copied(cnp.ndarray a, bint row_major)
cdef bint numbers_finite(const char *data, size_t size, int kind) noexcept nogil
cdef int all_finite(str op, str argument, cnp.ndarray a) except -1
