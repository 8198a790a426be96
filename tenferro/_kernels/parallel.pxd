"""Work shared among threads."""

from tenferro._core.abi cimport *
from tenferro._core.engine cimport ExecutionEngine

# One chunk; slot numbers the threads of a region from 0. Failures are left in `arg`.
ctypedef void (*body_t)(void *arg, Py_ssize_t chunk, int slot) noexcept nogil

cdef enum:
    CHUNK = 1 << 15             # elements of an elementwise chunk
    PARALLEL_SIZE = 1 << 17     # elements from which waking a thread pays

# Run body(arg, 0..chunks-1) on at most `threads` threads, the calling one among them. Returns when all chunks are done.
cdef void parallel(int threads, Py_ssize_t chunks, body_t body, void *arg) noexcept nogil

# Threads that an operation of Python code on arrays, such as an executor of an extension, may use on this thread.
cdef int swap_threads(int threads) noexcept nogil       # returns those before
cdef int current_threads() noexcept nogil

# Around regions whose chunks call BLAS or LAPACK: these get one thread.
cdef void blas_alone() noexcept nogil
cdef void blas_again() noexcept nogil
cdef int use_blas_threads() except -1                   # once BLAS is loaded: let it have the engines' number of threads

cdef int open_engine(int threads) except -1
cdef int close_engine(int threads) except -1

cdef inline int threads_of(PyObject *engine) noexcept:
    return current_threads() if engine == NULL else (<ExecutionEngine> engine).threads
