"""Checks of matrices in one pass, and the one copy that LAPACK may overwrite."""

cimport numpy as cnp

from libc.string cimport memcpy

from ._routines cimport NOT_FINITE, NOT_HERMITIAN, SCRATCH, checked, kind_of, launch, not_finite, operand, start

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


cdef cnp.ndarray take(Batch *b, cnp.ndarray a, bint row_major, bint keep):
    """Let operand 0 be a copy of `a` with one matrix after the other, made by `item`.

    The result is what LAPACK overwrites, or `a` itself: without `keep`, one matrix at a time is copied, while it is in
    the cache.
    """
    cdef int n = cnp.PyArray_NDIM(a)
    cdef Py_ssize_t rows = cnp.PyArray_DIM(a, n - 2), columns = cnp.PyArray_DIM(a, n - 1)
    cdef cnp.ndarray view = a if row_major else cnp.PyArray_SwapAxes(a, n - 2, n - 1), x
    b.bytes = rows * columns * cnp.PyArray_ITEMSIZE(a)
    if not cnp.PyArray_IS_C_CONTIGUOUS(view):
        x = copied(a, row_major)
    else:
        b.source = cnp.PyArray_BYTES(a)
        if not keep:
            return a
        x = fresh(a, cnp.PyArray_TYPE(a), rows, columns, row_major)
    operand(b, 0, x, 2)
    return x


cdef char *item(Batch *b, char *work, Py_ssize_t k) noexcept nogil:
    """Matrix `k` for LAPACK to overwrite, or NULL if LAPACK must not have it."""
    cdef char *a = work + b.at[SCRATCH] if b.x[0] == NULL else b.x[0] + k * b.step[0]
    if b.source != NULL:
        memcpy(a, b.source + k * b.bytes, b.bytes)
    if not numbers_finite(a, b.bytes, b.kind):
        b.info[k] = NOT_FINITE
        return NULL
    if b.hermitian and distance(a, b.n, b.kind) > 0:
        b.info[k] = NOT_HERMITIAN
        return NULL
    return a


cdef bint numbers_finite(const char *data, size_t size, int kind) noexcept nogil:
    return tf_finite_double(data, size // 8) if kind & 1 else tf_finite_single(data, size // 4)


cdef double distance(const char *data, Py_ssize_t n, int kind) noexcept nogil:
    """Largest element of a - a.H if that is more than rounding, else 0."""
    cdef double gap, size
    if kind & 1:
        tf_hermitian_double(data, n, 1 + (kind >> 1), &gap, &size)
        return gap if gap > 1.4901161193847656e-08 * size else 0
    tf_hermitian_single(data, n, 1 + (kind >> 1), &gap, &size)
    return gap if gap > 0.00034526698300124393 * size else 0


cdef cnp.ndarray copied(cnp.ndarray a, bint row_major):
    """Copy with one matrix after the other."""
    cdef int n = cnp.PyArray_NDIM(a)
    if row_major:
        return cnp.PyArray_NewCopy(a, cnp.NPY_CORDER)
    return cnp.PyArray_SwapAxes(cnp.PyArray_NewCopy(cnp.PyArray_SwapAxes(a, n - 2, n - 1), cnp.NPY_CORDER), n - 2, n - 1)


cdef int all_finite(str op, str argument, cnp.ndarray a) except -1:
    """Refuse what is infinite or not a number, in memory without gaps."""
    cdef int kind = kind_of(a)
    cdef bint good
    with nogil:
        good = numbers_finite(cnp.PyArray_BYTES(a), cnp.PyArray_NBYTES(a), kind)
    if not good:
        not_finite(op, argument)
    return 0


def finite(str op not None, str argument not None, cnp.ndarray a not None):
    """Refuse what is infinite or not a number."""
    if not (cnp.PyArray_IS_C_CONTIGUOUS(a) or cnp.PyArray_IS_F_CONTIGUOUS(a)):
        a = cnp.PyArray_NewCopy(a, cnp.NPY_KEEPORDER)
    all_finite(op, argument, a)


def hermitian(str op not None, cnp.ndarray a not None):
    """Refuse finite square matrices that differ from their adjoint by more than rounding does."""
    cdef Batch b
    start(&b, a)
    if not cnp.PyArray_IS_C_CONTIGUOUS(a):
        a = cnp.PyArray_NewCopy(a, cnp.NPY_CORDER)
    b.n = cnp.PyArray_DIM(a, cnp.PyArray_NDIM(a) - 1)
    b.hermitian = True
    operand(&b, 0, a, 2)
    launch(&b, item_range)
    checked(&b, op, a, "", "")


cdef void item_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(first, last):
        item(b, work, k)
