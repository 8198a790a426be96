"""Batched LU factorisation and triangular solution through the LAPACK pointers that SciPy exports.

Arrays are C-contiguous with shape ``(batch, columns, rows)``: every item is a column-major matrix.
"""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer

import numpy as np
from scipy.linalg import cython_lapack

from tenferro.errors import IntegerOverflowError, UnsupportedError

cnp.import_array()

ctypedef void (*getrf_t)(int *, int *, void *, int *, int *, int *) noexcept nogil
ctypedef void (*getrs_t)(char *, int *, int *, void *, int *, int *, void *, int *, int *) noexcept nogil
ctypedef void (*trtrs_t)(char *, char *, char *, int *, int *, void *, int *, void *, int *, int *) noexcept nogil

cdef enum Routine:
    GETRF, GETRS, TRTRS

cdef tuple NAMES = ("getrf", "getrs", "trtrs")
cdef tuple ARGUMENTS = ("iixiii", "ciixiixii", "ccciixixii")
cdef str DTYPES = "fdFD"
cdef void *pointers[3][4]


cdef void *pointer(str full, str arguments) except NULL:
    """Pointer to one routine, its signature checked: ``i`` integer, ``c`` character, ``x`` number."""
    capsule = cython_lapack.__pyx_capi__[full]
    text = PyCapsule_GetName(capsule)
    kinds = [k.replace("*", "").strip() for k in text.decode().removesuffix(")").partition("(")[2].split(",")]
    if "".join([k[0] if k in ("int", "char") else "x" for k in kinds]) != arguments:
        raise UnsupportedError(f"SciPy exports {full} with an unknown signature; install a SciPy release whose LAPACK "
                               "has 32-bit integers", op=full, engine="cpu")
    return PyCapsule_GetPointer(capsule, text)


def fetch():
    """Fill the table."""
    cdef int k, p
    for k in range(3):
        for p in range(4):
            pointers[k][p] = pointer("sdcz"[p] + NAMES[k], ARGUMENTS[k])


fetch()


cdef inline void *routine(Routine which, cnp.ndarray a) except NULL:
    return pointers[<int> which][DTYPES.index(a.dtype.char)]


def fits(str op, *sizes):
    """Sizes that LAPACK's 32-bit integers hold, else `IntegerOverflowError`."""
    for n in sizes:
        if n > 2147483647:
            raise IntegerOverflowError(f"{op}: the matrix dimension {n} exceeds LAPACK's 32-bit integers", op=op,
                                       argument="a", expected=2147483647, actual=n)


def getrf(cnp.ndarray a not None):
    """Factorise in place; pivots and, per item, LAPACK's info."""
    cdef Py_ssize_t k, count = a.shape[0], step = a.strides[0]
    cdef int n = a.shape[1], lead = max(n, 1)
    cdef cnp.ndarray piv = np.empty((count, n), np.intc), info = np.zeros(count, np.intc)
    cdef getrf_t f = <getrf_t> routine(GETRF, a)
    cdef char *data = cnp.PyArray_BYTES(a)
    cdef int *p = <int *> cnp.PyArray_BYTES(piv)
    cdef int *i = <int *> cnp.PyArray_BYTES(info)
    if n:
        with nogil:
            for k in range(count):
                f(&n, &n, data + k * step, &lead, p + k * n, i + k)
    return piv, info


def getrs(cnp.ndarray lu not None, cnp.ndarray piv not None, cnp.ndarray b not None, str trans not None):
    """Solve in place of b, from the factors of `getrf`."""
    cdef Py_ssize_t k, count = lu.shape[0], step = lu.strides[0], step_b = b.strides[0]
    cdef int n = lu.shape[1], nrhs = b.shape[1], info = 0
    cdef char t = ord(trans)
    cdef getrs_t f = <getrs_t> routine(GETRS, lu)
    cdef char *data = cnp.PyArray_BYTES(lu)
    cdef char *rhs = cnp.PyArray_BYTES(b)
    cdef int *p = <int *> cnp.PyArray_BYTES(piv)
    if n and nrhs:
        with nogil:
            for k in range(count):
                f(&t, &n, &nrhs, data + k * step, &n, p + k * n, rhs + k * step_b, &n, &info)


def trtrs(cnp.ndarray a not None, cnp.ndarray b not None, str uplo not None, str trans not None, bint unit):
    """Solve with a triangle in place of b; the info of every item, positive where the triangle is singular."""
    cdef Py_ssize_t k, count = a.shape[0], step = a.strides[0], step_b = b.strides[0]
    cdef int n = a.shape[1], nrhs = b.shape[1]
    cdef char u = ord(uplo), t = ord(trans), d = ord("U") if unit else ord("N")
    cdef cnp.ndarray info = np.zeros(count, np.intc)
    cdef trtrs_t f = <trtrs_t> routine(TRTRS, a)
    cdef char *data = cnp.PyArray_BYTES(a)
    cdef char *rhs = cnp.PyArray_BYTES(b)
    cdef int *i = <int *> cnp.PyArray_BYTES(info)
    if n:
        with nogil:
            for k in range(count):
                f(&u, &t, &d, &n, &nrhs, data + k * step, &n, rhs + k * step_b, &n, i + k)
    return info
