"""Work shared among threads: one pool for the process, which the engines of several threads use in turn.

Chunks do not depend on the number of threads, so own kernels give the same bits with any of them.
"""

import atexit
import ctypes

from libc.stdint cimport uintptr_t

cdef extern from "blas_threads.h":
    ctypedef void (*set_t "tf_set_t")(int) noexcept nogil
    ctypedef int (*get_t "tf_get_t")() noexcept nogil
    ctypedef struct Library:
        set_t set
        get_t get
    ctypedef struct Libraries:
        int count, usual, due
        Library library[4]
    Libraries tf_blas
    void tf_parallel(int threads, Py_ssize_t chunks, body_t body, void *arg) noexcept nogil
    int tf_pool_start() noexcept nogil
    void tf_pool_stop(int for_good) noexcept nogil
    int tf_pool_size() noexcept nogil
    void tf_blas_found(set_t set, get_t get) noexcept nogil
    void tf_blas_usual(int n) noexcept nogil
    void tf_blas_enter() noexcept nogil
    void tf_blas_leave() noexcept nogil

cdef extern from *:
    """
    #include "blas_threads.h"
    static _Thread_local int tf_threads_here = 1;
    #if defined(_WIN32)
    static int tf_at_fork(void) { return 0; }
    #else
    static int tf_at_fork(void) { return pthread_atfork(NULL, NULL, tf_blas_forked); }
    #endif
    """
    int tf_threads_here
    int tf_at_fork() noexcept nogil

cdef list opened = []           # thread counts of the threaded engines that are alive
cdef bint blas_known = False

SETTERS = ("scipy_openblas_set_num_threads", "scipy_openblas_set_num_threads64_", "openblas_set_num_threads",
           "openblas_set_num_threads64_", "openblas_set_num_threads_64", "MKL_Set_Num_Threads")


cdef void parallel(int threads, Py_ssize_t chunks, body_t body, void *arg) noexcept nogil:
    tf_parallel(threads, chunks, body, arg)


cdef int swap_threads(int threads) noexcept nogil:
    global tf_threads_here
    cdef int before = tf_threads_here
    tf_threads_here = threads
    return before


cdef int current_threads() noexcept nogil:
    return tf_threads_here


cdef void blas_alone() noexcept nogil:
    tf_blas_enter()


cdef void blas_again() noexcept nogil:
    tf_blas_leave()


def add_blas(library):
    """Let threaded engines set the thread count of a BLAS library.

    Parameters
    ----------
    library : ctypes.CDLL
        The library, or one that depends on it. Without a known function for the purpose nothing happens.
    """
    for name in SETTERS:
        setter = getattr(library, name, None)
        getter = getattr(library, name.replace("MKL_Set_Num", "MKL_Get_Max").replace("_set_", "_get_"), None)
        if setter is not None and getter is not None:
            tf_blas_found(<set_t> <uintptr_t> ctypes.cast(setter, ctypes.c_void_p).value,
                          <get_t> <uintptr_t> ctypes.cast(getter, ctypes.c_void_p).value)
            return


cdef int use_blas_threads() except -1:
    global blas_known
    if not blas_known:
        blas_known = True
        from . import blas
        add_blas(ctypes.CDLL(blas.blas_module().__file__))
        if blas.library_name() == "mkl":
            from . import mkl
            add_blas(mkl.library())
    if tf_blas.due:
        tf_blas_usual(tf_blas.usual)
    return 0


cdef int open_engine(int threads) except -1:
    """A threaded engine begins: its number is that of BLAS from now on."""
    opened.append(threads)
    tf_blas_usual(threads)
    return 0


cdef int close_engine(int threads) except -1:
    """It has ended; with the last one go the workers, and BLAS gets back the number that it had."""
    opened.remove(threads)
    tf_blas_usual(opened[len(opened) - 1] if opened else 0)
    if not opened:
        tf_pool_stop(False)
    return 0


def threads_here():
    """Threads that Python code on arrays, such as an executor of an extension, may use where it is called."""
    return tf_threads_here


def state():
    """Workers that exist, thread counts of the engines that are alive, and thread counts of the BLAS libraries."""
    return {"workers": tf_pool_size(), "engines": list(opened),
            "blas": [tf_blas.library[i].get() for i in range(tf_blas.count)]}


if tf_pool_start() or tf_at_fork():
    raise MemoryError
atexit.register(lambda: tf_pool_stop(True))
