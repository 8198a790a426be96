"""Reference-counted blocks, buffers, metadata and parameters. Every function here needs the GIL."""

from .abi cimport *

cdef void *block_alloc(size_t nbytes) noexcept
cdef void block_free(void *p, size_t nbytes) noexcept

cdef Buffer *buffer_new(Py_ssize_t nbytes) except NULL
cdef Buffer *buffer_wrap(object owner, char *data, Py_ssize_t nbytes, int flags) except NULL
cdef void buffer_free(Buffer *b) noexcept

cdef Meta *meta_new(int dtype, int rank) except NULL            # dims are not set
cdef Meta *meta_finish(Meta *m) except NULL                     # size and flags from shape and strides
cdef Meta *meta_compact(int dtype, int rank, const Py_ssize_t *shape, bint row_major) except NULL
cdef Meta *meta_like(const Meta *m, int dtype) except NULL      # the same shape in the same order of axes, compact
cdef Meta *meta_scalar(int dtype) noexcept                      # shared; returns a new reference
cdef void meta_free(Meta *m) noexcept
cdef bint row_major(const Meta *m) noexcept                     # axes in descending order of stride

cdef Params *params_new(Py_ssize_t n) except NULL
cdef void params_free(Params *p) noexcept

cdef inline Meta *meta_ref(Meta *m) noexcept:
    m.refs += 1
    return m

cdef inline void meta_drop(Meta *m) noexcept:
    if m != NULL:
        m.refs -= 1
        if m.refs == 0:
            meta_free(m)

cdef inline void buffer_drop(Buffer *b) noexcept:
    if b != NULL:
        b.refs -= 1
        if b.refs == 0:
            buffer_free(b)

cdef inline Params *params_ref(Params *p) noexcept:
    if p != NULL:
        p.refs += 1
    return p

cdef inline void params_drop(Params *p) noexcept:
    if p != NULL:
        p.refs -= 1
        if p.refs == 0:
            params_free(p)

cdef inline void value_copy(Value *dst, const Value *src) noexcept:
    """dst becomes a new reference to what src refers to."""
    dst[0] = src[0]
    dst.meta.refs += 1
    if dst.buf != NULL:
        dst.buf.refs += 1

cdef inline void value_drop(Value *v) noexcept:
    cdef Meta *m = v.meta
    cdef Buffer *b = v.buf
    v.meta = NULL
    v.buf = NULL
    v.data = NULL
    meta_drop(m)
    buffer_drop(b)          # may run foreign code: the value is empty by then

cdef inline int value_alloc(Value *v, Meta *m) except -1:
    """Fresh memory for the (dense) metadata m, whose reference is stolen, also on error."""
    v.meta = m
    v.buf = NULL
    try:
        v.buf = buffer_new(m.size * m.itemsize)
    except BaseException:
        v.meta = NULL
        meta_drop(m)
        raise
    v.data = v.buf.data
    return 0
