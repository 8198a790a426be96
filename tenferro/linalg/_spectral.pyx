"""Singular values, eigenvalues and their vectors of stacks of matrices.

Row-major memory is the transposed matrix in column-major memory. What the transposed matrix answers as well is asked of
it, so that nothing is transposed; the results are row-major, too.
"""

cimport numpy as cnp
from libc.math cimport fabs, ilogb, ldexp
from libc.stdint cimport uint64_t

from ._checks cimport fresh, fresh_vectors, item, row_major, take
from ._routines cimport (GEEV, GESDD, SYEVD, Batch, asked_for, checked, kind_of, launch, number_size, operand, real_size,
                         reserve, routine, start, workspace)

import numpy as np

cnp.import_array()

ctypedef void (*gesdd_t)(char *, int *, int *, void *, int *, void *, void *, int *, void *, int *, void *, int *,
                         int *, int *) noexcept nogil
ctypedef void (*gesdd_complex_t)(char *, int *, int *, void *, int *, void *, void *, int *, void *, int *, void *, int *,
                                 void *, int *, int *) noexcept nogil
ctypedef void (*syevd_t)(char *, char *, int *, void *, int *, void *, void *, int *, int *, int *, int *) noexcept nogil
ctypedef void (*heevd_t)(char *, char *, int *, void *, int *, void *, void *, int *, void *, int *, int *, int *,
                         int *) noexcept nogil
ctypedef void (*geev_t)(char *, char *, int *, void *, int *, void *, void *, void *, int *, void *, int *, void *, int *,
                        int *) noexcept nogil
ctypedef void (*geev_complex_t)(char *, char *, int *, void *, int *, void *, void *, int *, void *, int *, void *, int *,
                                void *, int *) noexcept nogil

ctypedef fused real:
    float
    double


cdef int real_type(int kind) noexcept:
    return cnp.NPY_DOUBLE if kind & 1 else cnp.NPY_FLOAT


cdef int complex_type(int kind) noexcept:
    return cnp.NPY_CDOUBLE if kind & 1 else cnp.NPY_CFLOAT


# ---- singular values -------------------------------------------------------------------------------------------------

cdef void one_svd(Batch *b, char *a, char *s, char *u, char *vt, char *work, int lwork, int *info) noexcept nogil:
    cdef int ldu = b.m, ldvt = b.n if b.job == c"A" else b.k
    cdef int *iwork = <int *> (work + b.at[2])
    if b.kind & 2:
        (<gesdd_complex_t> b.f)(&b.job, &b.m, &b.n, a, &b.m, s, u, &ldu, vt, &ldvt, work + b.at[0], &lwork,
                                work + b.at[1], iwork, info)
    else:
        (<gesdd_t> b.f)(&b.job, &b.m, &b.n, a, &b.m, s, u, &ldu, vt, &ldvt, work + b.at[0], &lwork, iwork, info)


cdef void svd_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t k
    cdef char *a
    for k in range(first, last):
        a = item(b, work, k)
        if a == NULL:
            continue
        one_svd(b, a, b.x[1] + k * b.step[1], b.x[2] + k * b.step[2], b.x[3] + k * b.step[3], work,
                b.lwork, b.info + k)


cdef (double, double) svd_least(int kind, double low, double high, bint vectors) noexcept:
    """Shortest workspaces of numbers and of reals."""
    if kind & 2:
        return ((low * low + 3 * low + high, max(5 * low * low + 5 * low, 2 * low * (high + low) + low)) if vectors else
                (2 * low + high, 7 * low))
    return (4 * low * low + 7 * low + high if vectors else 3 * low + max(high, 7 * low), 1)


cdef int svd_workspace(Batch *b, str op, double least, double least_real) except -1:
    cdef uint64_t answer[256]
    cdef int info = 0
    one_svd(b, <char *> answer, <char *> answer, <char *> answer, <char *> answer, <char *> answer, -1, &info)
    b.lwork = reserve(b, op, 0, asked_for(op, answer, b.kind, least), number_size(b.kind))
    reserve(b, op, 1, least_real, real_size(b.kind))
    reserve(b, op, 2, 8.0 * b.k, sizeof(int))
    return 0


def svd(str op not None, cnp.ndarray a not None, bint vectors, bint full):
    """``(u, s, vh)`` or s of stacks whose sizes fit; what fails raises."""
    cdef Batch b
    cdef bint rows = row_major(a)
    cdef int axes = cnp.PyArray_NDIM(a), kind = kind_of(a), t = cnp.PyArray_TYPE(a)
    cdef int m = cnp.PyArray_DIM(a, axes - 2), n = cnp.PyArray_DIM(a, axes - 1), k = min(m, n)
    cdef cnp.ndarray s, u = None, vh = None
    cdef double least, least_real
    least, least_real = svd_least(kind, k, max(m, n), vectors)
    workspace(op, max(least, least_real))
    start(&b, a)
    _held = take(&b, a, rows, False)
    s = fresh_vectors(a, real_type(kind), k)
    if vectors:
        u = fresh(a, t, m, m if full else k, rows)
        vh = fresh(a, t, n if full else k, n, rows)
    if k == 0 and full and vectors:
        u[...] = np.eye(m)
        vh[...] = np.eye(n)
    elif k and b.count:
        b.f = routine(GESDD, kind)
        b.job = (c"A" if full else c"S") if vectors else c"N"
        b.m, b.n, b.k = (n, m, k) if rows else (m, n, k)
        operand(&b, 1, s, 1)
        if vectors:
            operand(&b, 2, vh if rows else u, 2)
            operand(&b, 3, u if rows else vh, 2)
        svd_workspace(&b, op, least, least_real)
        launch(&b, svd_range)
        checked(&b, op, a, "no convergence", "")
    return (u, s, vh) if vectors else s


# ---- Hermitian matrices ----------------------------------------------------------------------------------------------

cdef void one_eigh(Batch *b, char *a, char *w, char *work, int lwork, int lrwork, int liwork, int *info) noexcept nogil:
    cdef int *iwork = <int *> (work + b.at[2])
    if b.kind & 2:
        (<heevd_t> b.f)(&b.job, &b.uplo, &b.n, a, &b.n, w, work + b.at[0], &lwork, work + b.at[1], &lrwork, iwork,
                        &liwork, info)
    else:
        (<syevd_t> b.f)(&b.job, &b.uplo, &b.n, a, &b.n, w, work + b.at[0], &lwork, iwork, &liwork, info)


cdef void eigh_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t k
    cdef char *a
    for k in range(first, last):
        a = item(b, work, k)
        if a == NULL:
            continue
        one_eigh(b, a, b.x[1] + k * b.step[1], work, b.lwork, b.lrwork, b.liwork, b.info + k)


cdef (double, double) eigh_least(int kind, double n, bint vectors) noexcept:
    if kind & 2:
        return (2 * n + n * n, 1 + 5 * n + 2 * n * n) if vectors else (n + 1, n)
    return (1 + 6 * n + 2 * n * n if vectors else 2 * n + 1, 1)


cdef int eigh_workspace(Batch *b, str op, double least, double least_real) except -1:
    cdef uint64_t answer[32]
    cdef int info = 0
    b.at[1] = 64
    b.at[2] = 128
    one_eigh(b, <char *> answer, <char *> answer, <char *> answer, -1, -1, -1, &info)
    b.lwork = reserve(b, op, 0, asked_for(op, answer, b.kind, least), number_size(b.kind))
    b.lrwork = reserve(b, op, 1, least_real, real_size(b.kind))
    b.liwork = reserve(b, op, 2, 3 + 5.0 * b.n, sizeof(int))
    return 0


def eigh(str op not None, cnp.ndarray a not None, bint vectors):
    """``(w, v)`` or w of stacks of square matrices whose sizes fit; reads the lower triangle."""
    cdef Batch b
    cdef int axes = cnp.PyArray_NDIM(a), kind = kind_of(a), n = cnp.PyArray_DIM(a, axes - 1)
    cdef bint rows = row_major(a) and not (vectors and kind & 2)    # eigenvectors of a.T are conjugated
    cdef double least, least_real
    cdef cnp.ndarray x, w
    least, least_real = eigh_least(kind, n, vectors)
    workspace(op, max(least, least_real))
    start(&b, a)
    x = take(&b, a, rows, vectors)
    w = fresh_vectors(a, real_type(kind), n)
    if n and b.count:
        b.f = routine(SYEVD, kind)
        b.job = c"V" if vectors else c"N"
        b.uplo = c"U" if rows else c"L"
        b.n = n
        b.hermitian = True
        operand(&b, 1, w, 1)
        eigh_workspace(&b, op, least, least_real)
        launch(&b, eigh_range)
        checked(&b, op, a, "no convergence", "")
    if not vectors:
        return w
    # LAPACK leaves the vectors as columns of column-major memory.
    return w, cnp.PyArray_SwapAxes(x, axes - 2, axes - 1) if rows else x


# ---- general matrices ------------------------------------------------------------------------------------------------

cdef void one_eig(Batch *b, char *a, char *w, char *wi, char *v, char *work, int lwork, int *info) noexcept nogil:
    cdef char left = c"N"
    if b.kind & 2:
        (<geev_complex_t> b.f)(&left, &b.job, &b.n, a, &b.n, w, v, &b.n, v, &b.n, work + b.at[0], &lwork, work + b.at[1],
                               info)
    else:
        (<geev_t> b.f)(&left, &b.job, &b.n, a, &b.n, w, wi, v, &b.n, v, &b.n, work + b.at[0], &lwork, info)


cdef void join(real *parts, real *pairs, Py_ssize_t n, bint vectors, real *w, real *v) noexcept nogil:
    """Complex numbers from LAPACK's real and imaginary parts; of conjugated pairs it gives one vector in two columns."""
    cdef Py_ssize_t i, j
    cdef real *x
    for j in range(n):
        w[2 * j] = parts[j]
        w[2 * j + 1] = parts[n + j]
        if not vectors:
            continue
        x = pairs + j * n
        for i in range(n):
            if parts[n + j] == 0:
                v[2 * (j * n + i)] = x[i]
                v[2 * (j * n + i) + 1] = 0
            elif parts[n + j] > 0:
                v[2 * (j * n + i)] = x[i]
                v[2 * (j * n + i) + 1] = x[n + i]
            else:
                v[2 * (j * n + i)] = x[i - n]
                v[2 * (j * n + i) + 1] = -x[i]


cdef int far_exponent(real *x, Py_ssize_t count, int usual) noexcept nogil:
    """Exponent of the largest part, or 0 if it is not far from 1."""
    cdef Py_ssize_t i
    cdef double size, largest = 0
    cdef int exponent
    for i in range(count):
        size = fabs(x[i])
        if size > largest:
            largest = size
    if largest == 0:
        return 0
    exponent = ilogb(largest)
    return exponent if abs(exponent) > usual else 0


cdef void times_power(real *x, Py_ssize_t count, int exponent) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        x[i] = <real> ldexp(x[i], exponent)


cdef int normalised(Batch *b, char *a) noexcept nogil:
    """Take out a power of two where LAPACK would scale, which not every LAPACK undoes; the exponent."""
    cdef Py_ssize_t count = <Py_ssize_t> b.n * b.n * (1 + (b.kind >> 1))
    cdef int exponent
    if b.kind & 1:
        exponent = far_exponent[double](<double *> a, count, 400)
        if exponent:
            times_power[double](<double *> a, count, -exponent)
    else:
        exponent = far_exponent[float](<float *> a, count, 30)
        if exponent:
            times_power[float](<float *> a, count, -exponent)
    return exponent


cdef void restore(Batch *b, char *w, int exponent) noexcept nogil:
    """Put it back into the eigenvalues."""
    if exponent and b.kind & 1:
        times_power[double](<double *> w, 2 * b.n, exponent)
    elif exponent:
        times_power[float](<float *> w, 2 * b.n, exponent)


cdef void eig_range(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t k
    cdef int exponent
    cdef char *a
    cdef char *w
    cdef char *v
    cdef char *parts = work + b.at[1]
    cdef char *pairs = work + b.at[2]
    for k in range(first, last):
        a, w, v = item(b, work, k), b.x[1] + k * b.step[1], b.x[2] + k * b.step[2]
        if a == NULL:
            continue
        exponent = normalised(b, a)
        if b.kind & 2:
            one_eig(b, a, w, NULL, v, work, b.lwork, b.info + k)
            restore(b, w, exponent)
            continue
        one_eig(b, a, parts, parts + b.n * real_size(b.kind), pairs, work, b.lwork, b.info + k)
        if b.info[k]:
            continue
        if b.kind:
            join[double](<double *> parts, <double *> pairs, b.n, b.job == c"V", <double *> w, <double *> v)
        else:
            join[float](<float *> parts, <float *> pairs, b.n, b.job == c"V", <float *> w, <float *> v)
        restore(b, w, exponent)


cdef int eig_workspace(Batch *b, str op, bint vectors) except -1:
    cdef uint64_t answer[8]
    cdef int info = 0
    cdef char *p = <char *> answer
    one_eig(b, p, p, p, p, p, -1, &info)
    b.lwork = reserve(b, op, 0, asked_for(op, answer, b.kind, 4.0 * b.n), number_size(b.kind))
    reserve(b, op, 1, 2.0 * b.n, real_size(b.kind))
    if vectors and not b.kind & 2:
        reserve(b, op, 2, b.n, b.n * real_size(b.kind))
    return 0


def eig(str op not None, cnp.ndarray a not None, bint vectors):
    """``(w, v)`` or w, complex, of stacks of square matrices whose sizes fit."""
    cdef Batch b
    cdef bint rows = not vectors and row_major(a)
    cdef int axes = cnp.PyArray_NDIM(a), kind = kind_of(a), n = cnp.PyArray_DIM(a, axes - 1)
    cdef cnp.ndarray w, v
    workspace(op, 4.0 * n)
    start(&b, a)
    _held = take(&b, a, rows, False)
    w = fresh_vectors(a, complex_type(kind), n)
    v = fresh(a, complex_type(kind), n, n, False) if vectors else None
    if n and b.count:
        b.f = routine(GEEV, kind)
        b.job = c"V" if vectors else c"N"
        b.n = n
        operand(&b, 1, w, 1)
        if vectors:
            operand(&b, 2, v, 2)
        eig_workspace(&b, op, vectors)
        launch(&b, eig_range)
        checked(&b, op, a, "no convergence", "")
    return (w, v) if vectors else w
