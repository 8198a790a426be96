"""Triangular and orthogonal factorisations, inverses and triangular solution of stacks of matrices.

Arrays of `getrf`, `getrs` and `trtrs` are C-contiguous with shape ``(batch, columns, rows)``: every item is a
column-major matrix.
"""

cimport numpy as cnp
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from ._checks cimport fresh, item, row_major, take
from ._routines cimport (GECON, GEQRF, GETRF, GETRI, GETRS, ORGQR, POTRF, TRTRS, Batch, asked_for, checked, failed, kind_of,
                         launch, number_size, operand, range_t, real_size, reserve, routine, start)

import numpy as np

cnp.import_array()

ctypedef void (*getrf_t)(int *, int *, void *, int *, int *, int *) noexcept nogil
ctypedef void (*getrs_t)(char *, int *, int *, void *, int *, int *, void *, int *, int *) noexcept nogil
ctypedef void (*getri_t)(int *, void *, int *, int *, void *, int *, int *) noexcept nogil
ctypedef void (*gecon_t)(char *, int *, void *, int *, void *, void *, void *, void *, int *) noexcept nogil
ctypedef void (*trtrs_t)(char *, char *, char *, int *, int *, void *, int *, void *, int *, int *) noexcept nogil
ctypedef void (*potrf_t)(char *, int *, void *, int *, int *) noexcept nogil
ctypedef void (*geqrf_t)(int *, int *, void *, int *, void *, void *, int *, int *) noexcept nogil
ctypedef void (*orgqr_t)(int *, int *, int *, void *, int *, void *, void *, int *, int *) noexcept nogil


# ---- solution by given factors ---------------------------------------------------------------------------------------

cdef int start_stack(Batch *b, cnp.ndarray a) except -1:
    """A batch over the first axis."""
    start(b, a)
    b.n = cnp.PyArray_DIM(a, 1)
    b.m = max(b.n, 1)
    operand(b, 0, a, 2)
    return 0


cdef int run_stack(Batch *b, range_t f, str op) except -1:
    if b.n and b.count:
        launch(b, f)
        if b.code < 0:
            failed(op, b.code, 0, (), "", "")
    return 0


cdef void getrf_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(first, last):
        (<getrf_t> b.f)(&b.n, &b.n, b.x[0] + k * b.step[0], &b.m, <int *> (b.x[1] + k * b.step[1]), b.info + k)


def getrf(cnp.ndarray a not None):
    """Factorise in place; pivots, and the first matrix whose factor is singular or -1."""
    cdef Batch b
    start_stack(&b, a)
    cdef cnp.ndarray piv = np.empty((b.count, b.n), np.intc)
    operand(&b, 1, piv, 1)
    b.f = routine(GETRF, b.kind)
    run_stack(&b, getrf_range, "lu_factor")
    return piv, b.failed if b.code else -1


cdef void getrs_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(first, last):
        (<getrs_t> b.f)(&b.job, &b.n, &b.k, b.x[0] + k * b.step[0], &b.m, <int *> (b.x[1] + k * b.step[1]),
                        b.x[2] + k * b.step[2], &b.m, b.info + k)


def getrs(cnp.ndarray lu not None, cnp.ndarray piv not None, cnp.ndarray b not None, str trans not None):
    """Solve in place of b, from the factors of `getrf`."""
    cdef Batch batch
    start_stack(&batch, lu)
    operand(&batch, 1, piv, 1)
    operand(&batch, 2, b, 2)
    batch.job = ord(trans)
    batch.k = cnp.PyArray_DIM(b, 1)
    batch.f = routine(GETRS, batch.kind)
    if batch.k:
        run_stack(&batch, getrs_range, "lu_solve")


cdef void gecon_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t k
    cdef void *last_work = work + b.at[1]
    for k in range(first, last):
        (<gecon_t> b.f)(&b.job, &b.n, b.x[0] + k * b.step[0], &b.m, b.x[1] + k * b.step[1], b.x[2] + k * b.step[2],
                        work + b.at[0], last_work, b.info + k)


def gecon(cnp.ndarray lu not None, cnp.ndarray norms not None):
    """Reciprocal condition numbers (estimated, in the 1-norm) by the factors of `getrf` and the norms of the matrices."""
    cdef Batch b
    cdef cnp.ndarray out = np.ones_like(norms)
    start_stack(&b, lu)
    operand(&b, 1, norms, 1)
    operand(&b, 2, out, 1)
    b.step[1] = b.step[2] = real_size(b.kind)
    b.job = c"1"
    b.f = routine(GECON, b.kind)
    reserve(&b, "gecon", 0, 4.0 * b.n, number_size(b.kind))
    reserve(&b, "gecon", 1, 2.0 * b.n, sizeof(double))
    run_stack(&b, gecon_range, "gecon")
    return out


cdef void trtrs_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(first, last):
        (<trtrs_t> b.f)(&b.uplo, &b.job, &b.diagonal, &b.n, &b.k, b.x[0] + k * b.step[0], &b.m, b.x[1] + k * b.step[1],
                        &b.m, b.info + k)


def trtrs(cnp.ndarray a not None, cnp.ndarray b not None, str uplo not None, str trans not None, bint unit):
    """Solve with a triangle in place of b; the first matrix that is singular or -1."""
    cdef Batch batch
    start_stack(&batch, a)
    operand(&batch, 1, b, 2)
    batch.uplo, batch.job, batch.diagonal = ord(uplo), ord(trans), c"U" if unit else c"N"
    batch.k = cnp.PyArray_DIM(b, 1)
    batch.f = routine(TRTRS, batch.kind)
    run_stack(&batch, trtrs_range, "triangular_solve")
    return batch.failed if batch.code else -1


# ---- Cholesky --------------------------------------------------------------------------------------------------------

cdef void cholesky_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t k, j, size = number_size(b.kind)
    cdef char *a
    for k in range(first, last):
        a = item(b, work, k)
        if a == NULL:
            continue
        (<potrf_t> b.f)(&b.uplo, &b.n, a, &b.n, b.info + k)
        for j in range(b.n):
            if b.uplo == c"L":
                memset(a + j * b.n * size, 0, j * size)
            else:
                memset(a + (j * b.n + j + 1) * size, 0, (b.n - j - 1) * size)


def cholesky(str op not None, cnp.ndarray a not None):
    """Lower factors of stacks of square matrices whose sizes fit; reads the lower triangle."""
    cdef Batch b
    cdef bint rows = row_major(a) and kind_of(a) < 2        # upper complex triangles are slower by half
    cdef cnp.ndarray x
    start(&b, a)
    x = take(&b, a, rows, True)
    b.n = cnp.PyArray_DIM(a, cnp.PyArray_NDIM(a) - 1)
    b.hermitian = True
    if b.n and b.count:
        b.f = routine(POTRF, b.kind)
        b.uplo = c"U" if rows else c"L"
        launch(&b, cholesky_range)
        checked(&b, op, a, "the matrix is not positive definite", "; add a multiple of the identity, or use eigh")
    return x


# ---- inverse ---------------------------------------------------------------------------------------------------------

cdef void inverse_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t k
    cdef char *a
    cdef int *pivots = <int *> (work + b.at[1])
    for k in range(first, last):
        a = item(b, work, k)
        if a == NULL:
            continue
        (<getrf_t> b.f)(&b.n, &b.n, a, &b.n, pivots, b.info + k)
        if b.info[k] == 0:
            (<getri_t> b.g)(&b.n, a, &b.n, pivots, work + b.at[0], &b.lwork, b.info + k)


def inverse(str op not None, cnp.ndarray a not None):
    """Inverses of stacks of square matrices whose sizes fit; those of transposed matrices are transposed."""
    cdef Batch b
    cdef cnp.ndarray x
    cdef uint64_t answer[8]
    cdef int info = 0
    start(&b, a)
    x = take(&b, a, row_major(a), True)
    b.n = cnp.PyArray_DIM(x, cnp.PyArray_NDIM(x) - 1)
    if b.n and b.count:
        b.f = routine(GETRF, b.kind)
        b.g = routine(GETRI, b.kind)
        b.lwork = -1
        (<getri_t> b.g)(&b.n, answer, &b.n, <int *> answer, answer, &b.lwork, &info)
        b.lwork = reserve(&b, op, 0, asked_for(op, answer, b.kind, b.n), number_size(b.kind))
        reserve(&b, op, 1, b.n, sizeof(int))
        launch(&b, inverse_range)
        checked(&b, op, a, "the matrix is singular", "; pinv takes such matrices")
    return x


# ---- QR --------------------------------------------------------------------------------------------------------------

cdef void qr_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """R lies on and above the diagonal of the factorised matrix, the reflections that make up Q below."""
    cdef Py_ssize_t k, j, len, size = number_size(b.kind)
    cdef char *a
    cdef char *q
    cdef char *r
    for k in range(first, last):
        a, q, r = item(b, work, k), b.x[1] + k * b.step[1], b.x[2] + k * b.step[2]
        if a == NULL:
            continue
        (<geqrf_t> b.f)(&b.m, &b.n, a, &b.m, work + b.at[1], work + b.at[0], &b.lwork, b.info + k)
        if b.info[k]:
            continue
        for j in range(b.n):
            len = min(j + 1, b.k)
            memcpy(r + j * b.k * size, a + j * b.m * size, len * size)
            memset(r + (j * b.k + len) * size, 0, (b.k - len) * size)
        if q != a:
            memcpy(q, a, size * b.m * b.k)
        (<orgqr_t> b.g)(&b.m, &b.k, &b.k, q, &b.m, work + b.at[1], work + b.at[0], &b.lwork, b.info + k)


cdef int qr_workspace(Batch *b, str op) except -1:
    cdef uint64_t answer[8]
    cdef int info = 0, query = -1, length
    (<geqrf_t> b.f)(&b.m, &b.n, answer, &b.m, answer, answer, &query, &info)
    length = asked_for(op, answer, b.kind, b.n)
    (<orgqr_t> b.g)(&b.m, &b.k, &b.k, answer, &b.m, answer, answer, &query, &info)
    b.lwork = reserve(b, op, 0, asked_for(op, answer, b.kind, length), number_size(b.kind))
    reserve(b, op, 1, b.k, number_size(b.kind))
    return 0


def qr(str op not None, cnp.ndarray a not None):
    """``(q, r)``, column-major, of stacks whose sizes fit."""
    cdef Batch b
    cdef int axes = cnp.PyArray_NDIM(a), t = cnp.PyArray_TYPE(a)
    cdef cnp.ndarray x, q, r
    start(&b, a)
    x = take(&b, a, False, True)
    b.m = cnp.PyArray_DIM(x, axes - 2)
    b.n = cnp.PyArray_DIM(x, axes - 1)
    b.k = min(b.m, b.n)
    q = x if b.n <= b.m else fresh(x, t, b.m, b.k, False)
    r = fresh(x, t, b.k, b.n, False)
    if b.k and b.count:
        b.f = routine(GEQRF, b.kind)
        b.g = routine(ORGQR, b.kind)
        operand(&b, 1, q, 2)
        operand(&b, 2, r, 2)
        qr_workspace(&b, op)
        launch(&b, qr_range)
        checked(&b, op, a, "no factorisation", "")
    return q, r
