"""The structures that kernels, engines and the tape share: the binary interface of this library."""

from cpython.object cimport PyObject

cdef enum:
    ENGINE_ABI = 1
    MAX_RANK = 64
    N_DTYPES = 13
    MAX_OPS = 512
    MAX_ARGS = 7        # operations with more inputs save none of them
    HOST_SPACE = 0
    LARGE = 1 << 15     # elements from which memory counts more than one operation on each

cdef enum:              # dtype codes
    D_BOOL, D_I8, D_I16, D_I32, D_I64, D_U8, D_U16, D_U32, D_U64, D_F32, D_F64, D_C64, D_C128

cdef enum:              # Meta.flags
    C_ORDER = 1         # row-major and compact
    F_ORDER = 2         # column-major and compact
    DENSE = 4           # positive strides that are a permutation of compact ones

cdef enum:              # Buffer.flags
    BORROWED = 1        # somebody else may write to it: copied before a trace keeps it
    READ_ONLY = 2
    SHARED = 4          # a constant that the library hands out more than once
    DEFERRED = 8        # no memory: a saved value that is computed again from what the node of that input has saved

ctypedef struct Meta:
    Py_ssize_t refs
    int dtype
    int rank
    int itemsize
    int flags
    Py_ssize_t size
    Py_ssize_t dims[2]  # shape[rank], then strides[rank] in bytes

ctypedef struct Buffer:
    Py_ssize_t refs
    char *data
    Py_ssize_t nbytes
    PyObject *owner     # keeps foreign or device memory alive; NULL for pool memory
    int space           # HOST_SPACE, or an engine's memory space
    int flags
    unsigned long long serial   # of no other buffer

ctypedef struct Value:  # a concrete strided tensor
    Meta *meta
    Buffer *buf
    char *data

ctypedef struct Params:  # what an operation is told beside its inputs; compared as bytes
    Py_ssize_t refs
    Py_ssize_t n
    Py_ssize_t v[1]

# Fills out->data; out->meta is set and, for an engine of host memory, out->buf allocated. For one of other memory out->buf may
# be NULL, and the kernel sets out->buf and out->data; an input of one element may then be the host's. Called with the GIL,
# which a kernel may release; a failure is a Python exception and -1.
ctypedef int (*kernel_t)(PyObject *engine, int op, const Value *ins, int n_in, Value *out,
                         const Params *params) except -1

cdef inline Py_ssize_t *shape_of(const Meta *m) noexcept nogil:
    return <Py_ssize_t *> m.dims

cdef inline Py_ssize_t *strides_of(const Meta *m) noexcept nogil:
    return <Py_ssize_t *> m.dims + m.rank

cdef inline int itemsize_of(int dtype) noexcept nogil:
    return (<const char *> b"\1\1\2\4\10\1\2\4\10\4\10\10\20")[dtype]

cdef inline bint is_complex(int dtype) noexcept nogil:
    return dtype >= D_C64

cdef inline bint is_inexact(int dtype) noexcept nogil:
    return dtype >= D_F32

cdef inline int real_dtype(int dtype) noexcept nogil:
    return dtype - 2 if dtype >= D_C64 else dtype

cdef inline int complex_dtype(int dtype) noexcept nogil:
    return dtype + 2 if D_F32 <= dtype < D_C64 else dtype

cdef inline bint same_shape(const Meta *a, const Meta *b) noexcept nogil:
    cdef int i
    if a.rank != b.rank:
        return False
    for i in range(a.rank):
        if a.dims[i] != b.dims[i]:
            return False
    return True

cdef inline bint same_type(const Meta *a, const Meta *b) noexcept nogil:
    """Equal shape and dtype, whatever the strides."""
    return a == b or (a.dtype == b.dtype and same_shape(a, b))

cdef inline bint same_layout(const Meta *a, const Meta *b) noexcept nogil:
    """Equal shape and strides, whatever the dtype's name (the item sizes must agree)."""
    cdef int i
    if a == b:
        return True
    if a.rank != b.rank or a.itemsize != b.itemsize:
        return False
    for i in range(2 * a.rank):
        if a.dims[i] != b.dims[i]:
            return False
    return True

cdef inline bint same_order(const Meta *a, const Meta *b) noexcept nogil:
    """Equal shapes, and strides that are equal in units of the element."""
    cdef int i
    if a == b:
        return True
    if a.rank != b.rank:
        return False
    for i in range(a.rank):
        if a.dims[i] != b.dims[i] or a.dims[a.rank + i] * b.itemsize != b.dims[b.rank + i] * a.itemsize:
            return False
    return True
