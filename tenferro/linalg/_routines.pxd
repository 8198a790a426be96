"""LAPACK's routines as pointers, and the loop over a stack of matrices."""

cimport numpy as cnp

cdef enum Routine:
    GETRF, GETRS, GETRI, TRTRS, POTRF, GEQRF, ORGQR, GESDD, SYEVD, GEEV, GECON, GEES,
    TRSYL

cdef enum:
    PARTS = 4
    SCRATCH = 3                 # the part that holds a copy of one matrix
    NOT_FINITE = 2147483647     # info of matrices that LAPACK is not given
    NOT_HERMITIAN = 2147483646

# One routine on every matrix of a stack. A workspace is one block of memory with up to PARTS parts.
cdef struct Batch:
    void *f
    void *g                     # a second routine, or NULL
    int kind                    # place of the dtype in "fdFD"
    Py_ssize_t count
    int m, n, k
    char job, uplo, diagonal
    char *source                # matrices to copy from, or NULL if operand 0 holds them
    Py_ssize_t bytes            # of one matrix
    bint hermitian              # whether to check that
    char *x[4]                  # operands: memory of the first matrix; NULL for operand 0: one by one in the workspace
    Py_ssize_t step[4]          # bytes to the next matrix
    int lwork, lrwork, liwork
    Py_ssize_t at[PARTS]
    Py_ssize_t size             # bytes of a workspace
    int *info                   # per matrix
    int code                    # info of the first matrix that failed, else 0
    Py_ssize_t failed           # which one that is

# Ranges of the same batch may run at the same time, each with a workspace of its own.
ctypedef void (*range_t)(Batch *b, char *work, Py_ssize_t first, Py_ssize_t last) noexcept nogil

cdef void *routine(Routine which, int kind) except NULL
cpdef int workspace(str op, double elements) except -1
cdef int not_finite(str op, str argument) except -1
cdef int checked(Batch *b, str op, cnp.ndarray a, str failure, str remedy) except -1
cpdef str place(Py_ssize_t k, tuple batch)
cpdef int failed(str op, int code, Py_ssize_t k, tuple batch, str failure, str remedy) except -1
cdef int kind_of(cnp.ndarray a) except -1
cdef int start(Batch *b, cnp.ndarray a) except -1
cdef int operand(Batch *b, int slot, cnp.ndarray x, int axes) except -1
cdef int reserve(Batch *b, str op, int part, double elements, Py_ssize_t size) except -1
cdef int asked_for(str op, void *answer, int kind, double least) except -1
cdef int launch(Batch *b, range_t f) except -1

cdef inline Py_ssize_t number_size(int kind) noexcept nogil:
    return 4 << (kind & 1) << (kind >> 1)

cdef inline Py_ssize_t real_size(int kind) noexcept nogil:
    return 4 << (kind & 1)
