"""LU factors of rectangular matrices and products of reflectors, for stacks of matrices."""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from ._checks cimport all_finite, copied, fresh, fresh_vectors, item, numbers_finite, row_major, take
from ._routines cimport (GETRF, NOT_FINITE, ORGQR, Batch, asked_for, checked, kind_of, launch, not_finite, number_size, operand,
                         reserve, routine, start)

cnp.import_array()

cdef extern from "reflectors.h" nogil:
    void tf_reflectors_single_real(float *, Py_ssize_t, Py_ssize_t, Py_ssize_t, float *, float *)
    void tf_reflectors_double_real(double *, Py_ssize_t, Py_ssize_t, Py_ssize_t, double *, double *)
    void tf_reflectors_single_complex(float *, Py_ssize_t, Py_ssize_t, Py_ssize_t, float *, float *)
    void tf_reflectors_double_complex(double *, Py_ssize_t, Py_ssize_t, Py_ssize_t, double *, double *)
    void tf_transposed(const char *, char *, Py_ssize_t, Py_ssize_t, Py_ssize_t)

cdef enum:
    SMALL = 32                  # rows up to which products of reflectors are made without LAPACK; half for complex ones

ctypedef void (*getrf_t)(int *, int *, void *, int *, int *, int *) noexcept nogil
ctypedef void (*orgqr_t)(int *, int *, int *, void *, int *, void *, void *, int *, int *) noexcept nogil


# ---- LU --------------------------------------------------------------------------------------------------------------

cdef void upper_part(char *a, char *up, int m, int n, int k, Py_ssize_t size) noexcept nogil:
    """Columns of U, which may lie where they are, with zeros below the diagonal."""
    cdef Py_ssize_t j, length
    for j in range(n):
        length = min(j + 1, k)
        if up != a:
            memcpy(up + j * k * size, a + j * m * size, length * size)
        memset(up + (j * k + length) * size, 0, (k - length) * size)


cdef void lower_part(char *a, char *low, int m, int k, int kind) noexcept nogil:
    """Columns of L, which may lie where they are, with ones on the diagonal and zeros above it."""
    cdef Py_ssize_t j, size = number_size(kind)
    cdef char *column
    for j in range(k):
        column = low + j * m * size
        if low != a:
            memcpy(column + j * size, a + (j * m + j) * size, (m - j) * size)
        memset(column, 0, (j + 1) * size)
        if kind & 1:
            (<double *> (column + j * size))[0] = 1
        else:
            (<float *> (column + j * size))[0] = 1


cdef void row_places(int *pivots, int64_t *order, int64_t *places, int m, int k) noexcept nogil:
    """Row of L for every row of the matrix, from the exchanges."""
    cdef int64_t i
    for i in range(m):
        order[i] = i
    for i in range(k):
        order[i], order[pivots[i] - 1] = order[pivots[i] - 1], order[i]
    for i in range(m):
        places[order[i]] = i


cdef void lu_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Positive info tells of a pivot that is zero, which is no failure here."""
    cdef Py_ssize_t i, size = number_size(b.kind)
    cdef char *a
    cdef char *low
    cdef char *up
    for i in range(first, last):
        a, low, up = b.x[0] + i * b.step[0], b.x[1] + i * b.step[1], b.x[2] + i * b.step[2]
        if b.source != NULL:
            tf_transposed(b.source + i * b.bytes, a, b.m, b.n, size)
        if not numbers_finite(a, b.step[0], b.kind):
            b.info[i] = NOT_FINITE
            continue
        (<getrf_t> b.f)(&b.m, &b.n, a, &b.m, <int *> (work + b.at[0]), b.info + i)
        if b.info[i] < 0:
            continue
        b.info[i] = 0
        if up != a:
            upper_part(a, up, b.m, b.n, b.k, size)
            lower_part(a, low, b.m, b.k, b.kind)
        else:
            lower_part(a, low, b.m, b.k, b.kind)
            upper_part(a, up, b.m, b.n, b.k, size)
        row_places(<int *> (work + b.at[0]), <int64_t *> (work + b.at[1]), <int64_t *> (b.x[3] + i * b.step[3]), b.m, b.k)


def lu(str op not None, cnp.ndarray a not None):
    """``(p, l, u)`` with ``a = l[p] @ u``, of stacks without empty axes whose sizes fit."""
    cdef Batch b
    cdef int axes = cnp.PyArray_NDIM(a), t = cnp.PyArray_TYPE(a)
    cdef bint rows = cnp.PyArray_IS_C_CONTIGUOUS(a)
    cdef cnp.ndarray x, p, low, up
    x = fresh(a, t, cnp.PyArray_DIM(a, axes - 2), cnp.PyArray_DIM(a, axes - 1), False) if rows else copied(a, False)
    start(&b, x)
    if rows:
        b.source = cnp.PyArray_BYTES(a)
        b.bytes = cnp.PyArray_DIM(a, axes - 2) * cnp.PyArray_DIM(a, axes - 1) * cnp.PyArray_ITEMSIZE(a)
    b.m = cnp.PyArray_DIM(x, axes - 2)
    b.n = cnp.PyArray_DIM(x, axes - 1)
    b.k = min(b.m, b.n)
    p = fresh_vectors(x, cnp.NPY_INT64, b.m)
    low = x if b.n <= b.m else fresh(x, t, b.m, b.k, False)
    up = x if b.n > b.m else fresh(x, t, b.k, b.n, False)
    b.f = routine(GETRF, b.kind)
    operand(&b, 0, x, 2)
    operand(&b, 1, low, 2)
    operand(&b, 2, up, 2)
    operand(&b, 3, p, 1)
    reserve(&b, op, 0, b.k, sizeof(int))
    reserve(&b, op, 1, b.m, sizeof(int64_t))
    launch(&b, lu_range)
    checked(&b, op, a, "no factorisation", "")
    return p, low, up


# ---- reflectors ------------------------------------------------------------------------------------------------------

cdef void product_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(first, last):
        (<orgqr_t> b.f)(&b.m, &b.n, &b.k, b.x[0] + i * b.step[0], &b.m, b.x[1] + i * b.step[1], work + b.at[0], &b.lwork,
                        b.info + i)


cdef void small_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t i
    cdef char *a
    cdef char *t
    for i in range(first, last):
        a, t = item(b, work, i), b.x[1] + i * b.step[1]
        if a == NULL:
            continue
        if b.kind == 0:
            tf_reflectors_single_real(<float *> a, b.m, b.n, b.k, <float *> t, <float *> work)
        elif b.kind == 1:
            tf_reflectors_double_real(<double *> a, b.m, b.n, b.k, <double *> t, <double *> work)
        elif b.kind == 2:
            tf_reflectors_single_complex(<float *> a, b.m, b.n, b.k, <float *> t, <float *> work)
        else:
            tf_reflectors_double_complex(<double *> a, b.m, b.n, b.k, <double *> t, <double *> work)


def reflectors(str op not None, cnp.ndarray a not None, cnp.ndarray tau not None):
    """Products of reflectors, for stacks of one shape, without empty matrices, whose sizes fit."""
    cdef Batch b
    cdef int axes = cnp.PyArray_NDIM(a), info = 0
    cdef uint64_t answer[8]
    cdef bint small = cnp.PyArray_DIM(a, axes - 2) <= SMALL >> (kind_of(a) >> 1) and row_major(a)
    cdef cnp.ndarray x, t = cnp.PyArray_NewCopy(tau, cnp.NPY_CORDER)
    start(&b, a)
    x = take(&b, a, True, True) if small else copied(a, False)
    if not small:
        all_finite(op, "A", x)
    all_finite(op, "tau", t)
    b.m = cnp.PyArray_DIM(x, axes - 2)
    b.n = cnp.PyArray_DIM(x, axes - 1)
    b.k = cnp.PyArray_DIM(t, axes - 2)
    operand(&b, 0, x, 2)
    operand(&b, 1, t, 1)
    if small:
        reserve(&b, op, 0, b.n, number_size(b.kind))
        launch(&b, small_range)
        if b.code == NOT_FINITE:
            not_finite(op, "A")
        return x
    b.lwork = -1
    b.f = routine(ORGQR, b.kind)
    (<orgqr_t> b.f)(&b.m, &b.n, &b.k, answer, &b.m, answer, answer, &b.lwork, &info)
    b.lwork = reserve(&b, op, 0, asked_for(op, answer, b.kind, b.n), number_size(b.kind))
    launch(&b, product_range)
    checked(&b, op, a, "no product", "")
    return x
