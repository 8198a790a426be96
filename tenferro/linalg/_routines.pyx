"""LAPACK's routines as pointers that SciPy exports, limits of their integers, and the loop over a stack of matrices."""

cimport numpy as cnp
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.math cimport INFINITY, nextafterf
from libc.string cimport memset

from tenferro._kernels.parallel cimport blas_again, blas_alone, current_threads, parallel, use_blas_threads

import numpy as np
from scipy.linalg import cython_lapack

from tenferro.errors import (DTypeMismatchError, EngineError, IntegerOverflowError, LinAlgError, OutOfMemoryError,
                             UnsupportedError, ValidationError)

cnp.import_array()

cdef enum:
    LARGEST = 2147483647
    PIECES = 8                  # per thread, so that all of them end at about the same time
    LITTLE = 1 << 17            # numbers times columns in all from which waking a thread pays
    ALONE = 256                 # columns up to which LAPACK gains nothing from threads of its own

# Arguments of the real and of the complex routine: i integer, c character, x number.
cdef dict SIGNATURES = {
    "getrf": ("iixiii",) * 2, "getrs": ("ciixiixii",) * 2, "getri": ("ixiixii",) * 2, "trtrs": ("ccciixixii",) * 2,
    "potrf": ("cixii",) * 2, "geqrf": ("iixixxii",) * 2, "orgqr": ("iiixixxii",) * 2,
    "gesdd": ("ciixixxixixiii", "ciixixxixixixii"), "syevd": ("ccixixxiiii", "ccixixxixiiii"),
    "geev": ("ccixixxxixixii", "ccixixxixixixi"), "gecon": ("cixixxxii", "cixixxxxi"),
    "gees": ("ccxixiixxxixiii", "ccxixiixxixixii"), "trsyl": ("cciiixixixixi",) * 2,
}
cdef dict COMPLEX_NAMES = {"orgqr": "ungqr", "syevd": "heevd"}
cdef void *pointers[13][4]


cdef void *pointer(str full, str arguments) except NULL:
    """Pointer to one routine, its signature checked."""
    capsule = cython_lapack.__pyx_capi__[full]
    text = PyCapsule_GetName(capsule)
    kinds = [k.replace("*", "").strip() for k in text.decode().removesuffix(")").partition("(")[2].split(",")]
    if "".join([k[0] if k in ("int", "char") else "x" for k in kinds]) != arguments:
        raise UnsupportedError(f"SciPy exports {full} with an unknown signature; install a SciPy release whose LAPACK "
                               "has 32-bit integers", op=full, engine="cpu")
    return PyCapsule_GetPointer(capsule, text)


cdef int fetch() except -1:
    """Fill the table."""
    cdef int k, p
    for k, (name, signatures) in enumerate(SIGNATURES.items()):
        for p in range(4):
            full = COMPLEX_NAMES.get(name, name) if p >= 2 else name
            pointers[k][p] = pointer("sdcz"[p] + full, signatures[p >= 2])
    return 0


fetch()


cdef void *routine(Routine which, int kind) except NULL:
    return pointers[<int> which][kind]


cdef int kind_of(cnp.ndarray a) except -1:
    cdef int t = cnp.PyArray_TYPE(a)
    if t == cnp.NPY_DOUBLE:
        return 1
    if t == cnp.NPY_FLOAT:
        return 0
    if t == cnp.NPY_CDOUBLE:
        return 3
    if t == cnp.NPY_CFLOAT:
        return 2
    raise DTypeMismatchError(f"LAPACK has no routines for {a.dtype}; cast to float64 or complex128", op="linalg",
                             argument="a", expected="float32, float64, complex64 or complex128", actual=a.dtype)


# ---- sizes -----------------------------------------------------------------------------------------------------------

def fits(str op not None, str argument not None, *sizes):
    """Sizes that LAPACK's 32-bit integers hold, else `IntegerOverflowError`."""
    for n in sizes:
        if n > LARGEST:
            raise IntegerOverflowError(f"{op}: the matrix dimension {n} exceeds LAPACK's 32-bit integers", op=op,
                                       argument=argument, expected=LARGEST, actual=n)


cpdef int workspace(str op, double elements) except -1:
    """Length of a workspace as the integer that LAPACK takes, else `IntegerOverflowError`."""
    if not elements <= LARGEST:
        raise IntegerOverflowError(f"{op}: LAPACK's workspace for matrices as large as a has {elements:.0f} elements, "
                                   "which exceeds its 32-bit integers; split the matrix", op=op, argument="a",
                                   expected=LARGEST, actual=int(elements) if elements < INFINITY else elements)
    return <int> elements


cdef int asked_for(str op, void *answer, int kind, double least) except -1:
    """Length that a query answered as a number; rounded up, for single precision holds no large integers."""
    cdef double n
    if kind & 1:
        n = (<double *> answer)[0]
    else:
        n = (<float *> answer)[0]
        if n > 16777216:
            n = nextafterf(<float> n, INFINITY)
    return workspace(op, max(n, least))


def queried(str op not None, answer not None, double least=1.0):
    """`asked_for` of a NumPy number."""
    a = np.atleast_1d(answer)
    return asked_for(op, cnp.PyArray_DATA(a), kind_of(a), least)


# ---- batches ---------------------------------------------------------------------------------------------------------

cdef int start(Batch *b, cnp.ndarray a) except -1:
    """A batch without operands for the matrices of `a`."""
    cdef int k
    memset(b, 0, sizeof(Batch))
    b.kind = kind_of(a)
    b.count = 1
    for k in range(cnp.PyArray_NDIM(a) - 2):
        b.count *= cnp.PyArray_DIM(a, k)
    return 0


cdef int operand(Batch *b, int slot, cnp.ndarray x, int axes) except -1:
    """Compact memory whose last `axes` axes belong to one item."""
    cdef int k, ndim = cnp.PyArray_NDIM(x)
    b.x[slot] = cnp.PyArray_BYTES(x)
    b.step[slot] = cnp.PyArray_ITEMSIZE(x)
    for k in range(ndim - axes, ndim):
        b.step[slot] *= cnp.PyArray_DIM(x, k)
    return 0


cdef int reserve(Batch *b, str op, int part, double elements, Py_ssize_t size) except -1:
    """Make room in the workspace; the number of elements."""
    cdef int n = max(1, workspace(op, elements))
    b.at[part] = b.size
    b.size += (n * size + 63) // 64 * 64
    return n


ctypedef struct Shared:
    Batch *b
    range_t f
    char *work
    Py_ssize_t each


cdef void run_piece(void *arg, Py_ssize_t piece, int slot) noexcept nogil:
    cdef Shared *w = <Shared *> arg
    cdef Py_ssize_t first = piece * w.each
    w.f(w.b, w.work + slot * w.b.size, first, min(w.b.count, first + w.each))


cdef int threads_for(const Batch *b) noexcept nogil:
    """Threads among which the matrices are shared; 1 if they are few, or large enough for LAPACK's own threads."""
    cdef int threads = current_threads()
    cdef Py_ssize_t rows = max(b.m, b.n), columns = min(b.m, b.n) if b.m else b.n
    if threads == 1 or b.count < 2 or b.count * (rows * columns * columns + 512) < LITTLE:
        return 1
    return <int> min(<Py_ssize_t> threads, b.count) if columns <= ALONE or b.count >= 4 * threads else 1


cdef int launch(Batch *b, range_t f) except -1:
    """Run the whole batch without the GIL, then look at what is said of every matrix."""
    cdef Py_ssize_t k, n = (b.count * sizeof(int) + 63) // 64 * 64
    cdef Shared w
    cdef int threads = threads_for(b)
    if current_threads() > 1:
        use_blas_threads()
    if b.source != NULL and b.x[0] == NULL:
        b.at[SCRATCH] = b.size
        b.size += (b.bytes + 63) // 64 * 64
    cdef char *memory = <char *> PyMem_RawMalloc(n + threads * b.size)
    if memory == NULL:
        raise OutOfMemoryError(f"no memory for a workspace of {n + threads * b.size} bytes", engine="cpu",
                               nbytes=n + threads * b.size)
    memset(memory, 0, n)
    b.info = <int *> memory
    w.b, w.f, w.work = b, f, memory + n
    w.each = max(<Py_ssize_t> 1, b.count // (threads * PIECES))
    with nogil:
        if threads > 1:
            blas_alone()
            parallel(threads, (b.count + w.each - 1) // w.each, run_piece, &w)
            blas_again()
        else:
            f(b, memory + n, 0, b.count)
        for k in range(b.count):
            if b.info[k] and (b.code == 0 or b.info[k] >= NOT_HERMITIAN and b.info[k] > b.code):
                b.code = b.info[k]
                b.failed = k
    PyMem_RawFree(memory)
    b.info = NULL
    return 0


cdef int not_finite(str op, str argument) except -1:
    raise ValidationError(f"{op}: {argument} has elements that are infinite or not a number; remove them first", op=op,
                          argument=argument)


cdef int checked(Batch *b, str op, cnp.ndarray a, str failure, str remedy) except -1:
    """Raise what was found."""
    cdef tuple batch = (<object> a).shape[:cnp.PyArray_NDIM(a) - 2]
    if b.code == NOT_FINITE:
        not_finite(op, "a")
    if b.code == NOT_HERMITIAN:
        raise ValidationError(f"{op}: a is not Hermitian{place(b.failed, batch)}; symmetrise it first, (a + a.H) / 2",
                              op=op, argument="a")
    if b.code:
        failed(op, b.code, b.failed, batch, failure, remedy)
    return 0


cpdef str place(Py_ssize_t k, tuple batch):
    """Which matrix of a stack, for messages; nothing where there is but one."""
    if not batch:
        return ""
    i = [int(x) for x in np.unravel_index(k, batch)]
    return f" (matrix {i[0] if len(i) == 1 else tuple(i)} of the stack)"


cpdef int failed(str op, int code, Py_ssize_t k, tuple batch, str failure, str remedy) except -1:
    """Raise the error of matrix `k`, for a code that is not zero."""
    where = place(k, batch)
    if code < 0:
        raise EngineError(f"{op}: LAPACK refuses its argument {-code}{where}; this is a defect of the library",
                          engine="cpu")
    raise LinAlgError(f"{op}: {failure}{where}{remedy}", op=op)
