"""Checks of matrices in one pass, and the one copy that LAPACK may overwrite."""

cimport numpy as cnp

from ._routines cimport kind_of, number_size, place

from tenferro.errors import ValidationError

cnp.import_array()

cdef extern from "checks.h" nogil:
    int tf_finite_single(const char *, size_t)
    int tf_finite_double(const char *, size_t)
    void tf_hermitian_single(const char *, Py_ssize_t, int, double *, double *)
    void tf_hermitian_double(const char *, Py_ssize_t, int, double *, double *)


cdef bint row_major(cnp.ndarray a):
    """Whether the rows of the matrices are closer in memory than the columns."""
    cdef int n = cnp.PyArray_NDIM(a)
    cdef Py_ssize_t row = abs(cnp.PyArray_STRIDE(a, n - 2)), column = abs(cnp.PyArray_STRIDE(a, n - 1))
    return column <= row


cdef cnp.ndarray fresh(cnp.ndarray like, int type_num, Py_ssize_t rows, Py_ssize_t columns, bint row_major):
    """Memory for matrices, one after the other, with the batch axes of `like`."""
    cdef cnp.npy_intp dims[64]
    cdef int k, n = cnp.PyArray_NDIM(like)
    for k in range(n - 2):
        dims[k] = cnp.PyArray_DIM(like, k)
    dims[n - 2] = rows if row_major else columns
    dims[n - 1] = columns if row_major else rows
    a = cnp.PyArray_EMPTY(n, dims, type_num, 0)
    return a if row_major else cnp.PyArray_SwapAxes(a, n - 2, n - 1)


cdef cnp.ndarray fresh_vectors(cnp.ndarray like, int type_num, Py_ssize_t length):
    cdef cnp.npy_intp dims[64]
    cdef int k, n = cnp.PyArray_NDIM(like)
    for k in range(n - 2):
        dims[k] = cnp.PyArray_DIM(like, k)
    dims[n - 2] = length
    return cnp.PyArray_EMPTY(n - 1, dims, type_num, 0)


cdef cnp.ndarray copied(cnp.ndarray a, bint row_major):
    """Copy with one matrix after the other."""
    cdef int n = cnp.PyArray_NDIM(a)
    if row_major:
        return cnp.PyArray_NewCopy(a, cnp.NPY_CORDER)
    return cnp.PyArray_SwapAxes(cnp.PyArray_NewCopy(cnp.PyArray_SwapAxes(a, n - 2, n - 1), cnp.NPY_CORDER), n - 2, n - 1)


cdef cnp.ndarray finite_copy(str op, cnp.ndarray a, bint row_major):
    """The copy that LAPACK may overwrite, its elements checked."""
    a = copied(a, row_major)
    all_finite(op, "a", a)
    return a


cdef int all_finite(str op, str argument, cnp.ndarray a) except -1:
    """Check memory without gaps."""
    cdef int kind = kind_of(a), good
    cdef size_t n = cnp.PyArray_SIZE(a) << (kind >> 1)
    cdef char *data = cnp.PyArray_BYTES(a)
    with nogil:
        good = tf_finite_double(data, n) if kind & 1 else tf_finite_single(data, n)
    if not good:
        raise ValidationError(f"{op}: {argument} has elements that are infinite or not a number; remove them first",
                              op=op, argument=argument)
    return 0


def finite(str op not None, str argument not None, cnp.ndarray a not None):
    """Refuse what is infinite or not a number."""
    if not (cnp.PyArray_IS_C_CONTIGUOUS(a) or cnp.PyArray_IS_F_CONTIGUOUS(a)):
        a = cnp.PyArray_NewCopy(a, cnp.NPY_KEEPORDER)
    all_finite(op, argument, a)


def hermitian(str op not None, cnp.ndarray a not None):
    """Refuse what is not Hermitian."""
    self_adjoint(op, a if cnp.PyArray_IS_C_CONTIGUOUS(a) else cnp.PyArray_NewCopy(a, cnp.NPY_CORDER))


cdef int self_adjoint(str op, cnp.ndarray a) except -1:
    """Refuse finite matrices, one after the other, that differ from their adjoint by more than rounding does."""
    cdef int kind = kind_of(a)
    cdef Py_ssize_t k, n = cnp.PyArray_DIM(a, cnp.PyArray_NDIM(a) - 1), step = n * n * number_size(kind), count
    cdef double gap = 0, size, tolerance = 1.4901161193847656e-08 if kind & 1 else 0.00034526698300124393
    cdef char *data = cnp.PyArray_BYTES(a)
    cdef bint bad = False
    if n == 0:
        return 0
    count = cnp.PyArray_SIZE(a) // (n * n)
    with nogil:
        for k in range(count):
            if kind & 1:
                tf_hermitian_double(data + k * step, n, 1 + (kind >> 1), &gap, &size)
            else:
                tf_hermitian_single(data + k * step, n, 1 + (kind >> 1), &gap, &size)
            if gap > tolerance * size:
                bad = True
                break
    if bad:
        where = place(k, (<object> a).shape[:cnp.PyArray_NDIM(a) - 2])
        raise ValidationError(f"{op}: a is not Hermitian{where}: it and its adjoint differ by {gap:.2g}; symmetrise it "
                              "first, (a + a.H) / 2", op=op, argument="a")
    return 0
