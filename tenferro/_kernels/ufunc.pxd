"""NumPy's inner loops, and iteration over strided operands around them."""

from tenferro._core.abi cimport *

# NumPy's signature of an inner loop over n elements.
ctypedef void (*loop_t)(char **args, const Py_ssize_t *n, const Py_ssize_t *strides, void *data) noexcept nogil

ctypedef struct Loop:
    loop_t fn
    void *data
    int result          # dtype of the result

cdef enum:
    PIECES = 16         # chunks for each thread of what has several axes
    NOGIL_SIZE = 8192   # below this many elements giving up the GIL costs more than it frees

cdef Loop loops[512][13]                                        # by operation and computing dtype; fn is NULL if there is none
cdef int set_loop(int op, int dtype, loop_t fn, void *data, int result) except -1
cdef Loop *find_loop(int op, int dtype) except NULL             # looked up at first use
cdef int elementwise(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1
cdef void strided_loop(Loop *loop, int n_ops, int rank, const Py_ssize_t *shape, char **data,
                       Py_ssize_t (*strides)[64]) noexcept nogil

# The same by blocks where that is of use, and by chunks on several threads; what `coalesce` left. `items` are item sizes.
cdef void run_loop(int threads, Loop *loop, int n_ops, const int *items, int rank, const Py_ssize_t *shape, char **data,
                   Py_ssize_t (*strides)[64]) noexcept nogil
# The first axis of enough elements, or the longest one.
cdef int longest(int rank, const Py_ssize_t *shape, Py_ssize_t enough) noexcept nogil

# Drops axes of length one, flips axes on which operand 0 runs backwards, sorts axes by descending stride of the last operand
# and merges those that are contiguous in every operand. Returns the new rank.
cdef int coalesce(int n_ops, int rank, Py_ssize_t *shape, char **data, Py_ssize_t (*strides)[64]) noexcept nogil
cdef void broadcast_strides(const Meta *m, int rank, Py_ssize_t *strides) noexcept nogil
