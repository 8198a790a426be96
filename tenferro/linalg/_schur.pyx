"""Schur forms of stacks of matrices, and Sylvester equations between such forms."""

cimport numpy as cnp
from libc.stdint cimport uint64_t

from ._checks cimport copied, fresh, item, take
from ._routines cimport (GEES, TRSYL, Batch, asked_for, checked, launch, number_size, operand, real_size, reserve,
                         routine, start)

import numpy as np

cnp.import_array()

ctypedef void (*gees_t)(char *, char *, void *, int *, void *, int *, int *, void *, void *, void *, int *, void *, int *,
                        void *, int *) noexcept nogil
ctypedef void (*gees_complex_t)(char *, char *, void *, int *, void *, int *, int *, void *, void *, int *, void *, int *,
                                void *, void *, int *) noexcept nogil
ctypedef void (*trsyl_t)(char *, char *, int *, int *, int *, void *, int *, void *, int *, void *, int *, void *,
                         int *) noexcept nogil


cdef void one_schur(Batch *b, char *a, char *v, char *work, int lwork, int *info) noexcept nogil:
    cdef char vectors = c"V", unsorted = c"N"
    cdef int none = 0
    cdef char *w = work + b.at[1]
    if b.kind & 2:
        (<gees_complex_t> b.f)(&vectors, &unsorted, NULL, &b.n, a, &b.n, &none, w, v, &b.n, work + b.at[0], &lwork,
                               work + b.at[2], NULL, info)
    else:
        (<gees_t> b.f)(&vectors, &unsorted, NULL, &b.n, a, &b.n, &none, w, w + b.n * real_size(b.kind), v, &b.n,
                       work + b.at[0], &lwork, NULL, info)


cdef void schur_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t k
    cdef char *a
    for k in range(first, last):
        a = item(b, work, k)
        if a != NULL:
            one_schur(b, a, b.x[1] + k * b.step[1], work, b.lwork, b.info + k)


def schur(str op not None, cnp.ndarray a not None):
    """``(t, v)`` with ``a = v @ t @ v.H``, column-major, of stacks whose sizes fit; real for real matrices."""
    cdef Batch b
    cdef int axes = cnp.PyArray_NDIM(a), info = 0
    cdef uint64_t answer[16]
    cdef cnp.ndarray x, v
    start(&b, a)
    x = take(&b, a, False, True)
    b.n = cnp.PyArray_DIM(a, axes - 1)
    v = fresh(a, cnp.PyArray_TYPE(a), b.n, b.n, False)
    if b.n and b.count:
        b.f = routine(GEES, b.kind)
        operand(&b, 1, v, 2)
        one_schur(&b, <char *> answer, <char *> answer, <char *> answer, -1, &info)
        b.lwork = reserve(&b, op, 0, asked_for(op, answer, b.kind, 3.0 * b.n), number_size(b.kind))
        reserve(&b, op, 1, 2.0 * b.n, number_size(b.kind))
        reserve(&b, op, 2, b.n, real_size(b.kind))
        launch(&b, schur_range)
        checked(&b, op, a, "no convergence", "")
    return x, v


cdef void trsyl_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t k
    cdef int plus = 1
    cdef char plain = c"N"
    for k in range(first, last):
        (<trsyl_t> b.f)(&plain, &plain, &plus, &b.m, &b.n, b.x[0] + k * b.step[0], &b.m, b.x[1] + k * b.step[1], &b.n,
                        b.x[2] + k * b.step[2], &b.m, b.x[3] + k * b.step[3], b.info + k)


def sylvester(cnp.ndarray r not None, cnp.ndarray s not None, cnp.ndarray f not None):
    """``(x, scale, k)`` with ``r @ x + x @ s = scale * f`` of stacks of one length; k, not -1, has no solution."""
    cdef Batch b
    cdef int axes = cnp.PyArray_NDIM(f)
    r, s, f = copied(r, False), copied(s, False), copied(f, False)
    start(&b, f)
    cdef cnp.ndarray scale = np.ones((<object> f).shape[:axes - 2], np.float64 if b.kind & 1 else np.float32)
    b.m = cnp.PyArray_DIM(f, axes - 2)
    b.n = cnp.PyArray_DIM(f, axes - 1)
    b.f = routine(TRSYL, b.kind)
    operand(&b, 0, r, 2)
    operand(&b, 1, s, 2)
    operand(&b, 2, f, 2)
    operand(&b, 3, scale, 0)
    if b.m and b.n and b.count:
        launch(&b, trsyl_range)
    return f, scale, b.failed if b.code else -1
