"""Memory: a pool of small blocks in multiples of 64 bytes, and a pool of large ones in size classes.

Freed large blocks are kept up to a limit, because the system's fresh pages cost more than the arithmetic on them; what was
freed longest ago goes first. From 4 MiB on blocks lie on huge pages where the system has them.
"""

import os

from cpython.ref cimport Py_INCREF, Py_DECREF
from libc.stdlib cimport free

from ..errors import IntegerOverflowError, OutOfMemoryError, ValidationError

cdef extern from "<stdlib.h>" nogil:
    int posix_memalign(void **p, size_t align, size_t size)

cdef extern from *:
    """
    #include <stddef.h>
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif
    static void tf_huge_pages(void *p, size_t size) {
    #if defined(MADV_HUGEPAGE)
        (void)madvise(p, size, MADV_HUGEPAGE);
    #endif
    }
    """
    void tf_huge_pages(void *p, size_t size) noexcept nogil

include "pool.pxi"


cdef unsigned long long serial = 0


cdef Buffer *buffer_new(Py_ssize_t nbytes) except NULL:
    global serial
    cdef Buffer *b = NULL
    if nbytes <= (<Py_ssize_t> 1 << 62):
        b = <Buffer *> block_alloc(nbytes + (HEADER if nbytes <= 1024 else LINE))
    if b == NULL:
        raise OutOfMemoryError(f"cannot allocate {nbytes} bytes; free tensors or call clear_caches()",
                               engine="cpu", nbytes=nbytes)
    b.refs = 1
    b.data = <char *> b + (HEADER if nbytes <= 1024 else LINE)
    b.nbytes = nbytes
    b.owner = NULL
    b.space = HOST_SPACE
    b.flags = 0
    serial += 1
    b.serial = serial
    return b


cdef Buffer *buffer_wrap(object owner, char *data, Py_ssize_t nbytes, int flags) except NULL:
    global serial
    cdef Buffer *b = <Buffer *> block_alloc(HEADER)
    if b == NULL:
        raise MemoryError
    b.refs = 1
    b.data = data
    b.nbytes = nbytes
    Py_INCREF(owner)
    b.owner = <PyObject *> owner
    b.space = HOST_SPACE
    b.flags = flags
    serial += 1
    b.serial = serial
    return b


cdef void buffer_free(Buffer *b) noexcept:
    cdef PyObject *owner = b.owner
    if owner != NULL:
        block_free(b, HEADER)
        Py_DECREF(<object> owner)
    else:
        block_free(b, b.nbytes + (HEADER if b.nbytes <= 1024 else LINE))


cdef Meta scalars[13]


cdef inline size_t meta_bytes(int rank) noexcept:
    return sizeof(Meta) + 2 * sizeof(Py_ssize_t) * (rank - 1 if rank > 0 else 0)


cdef Meta *meta_new(int dtype, int rank) except NULL:
    cdef Meta *m
    if rank > MAX_RANK:
        raise ValidationError(f"a tensor has at most {MAX_RANK} axes, not {rank}", argument="shape")
    m = <Meta *> block_alloc(meta_bytes(rank))
    if m == NULL:
        raise MemoryError
    m.refs = 1
    m.dtype = dtype
    m.rank = rank
    m.itemsize = itemsize_of(dtype)
    m.flags = 0
    m.size = 0
    return m


cdef void meta_free(Meta *m) noexcept:
    block_free(m, meta_bytes(m.rank))


cdef Meta *overflow(Meta *m) except NULL:
    shape = tuple([m.dims[i] for i in range(m.rank)])
    meta_free(m)
    raise IntegerOverflowError(f"the number of bytes of shape {shape} exceeds 2**63 - 1; use smaller dimensions",
                               argument="shape", expected="< 2**63 bytes", actual=shape)


cdef Meta *meta_finish(Meta *m) except NULL:
    cdef int i, j, k, flags = C_ORDER | F_ORDER
    cdef Py_ssize_t *shape = m.dims
    cdef Py_ssize_t *strides = m.dims + m.rank
    cdef Py_ssize_t size = 1, c = m.itemsize, f = m.itemsize, limit = <Py_ssize_t> ((~<size_t> 0) >> 1) // m.itemsize
    cdef bint empty = False
    cdef unsigned long long left
    for i in range(m.rank):
        if shape[i] == 0:
            empty = True
    for i in range(m.rank):
        if shape[i] != 0:
            if size > limit // shape[i]:
                return overflow(m)
            size *= shape[i]
    m.size = 0 if empty else size
    if m.size <= 1:
        m.flags = C_ORDER | F_ORDER | DENSE
        return m
    for i in range(m.rank):
        j = m.rank - 1 - i
        if shape[i] != 1:
            if strides[i] != f:
                flags &= ~F_ORDER
            f *= shape[i]
        if shape[j] != 1:
            if strides[j] != c:
                flags &= ~C_ORDER
            c *= shape[j]
    if flags:
        m.flags = flags | DENSE
        return m
    # Dense: from the item size upwards there is always an axis that continues where the last ended.
    left = 0
    for i in range(m.rank):
        if shape[i] != 1:
            left |= 1ULL << i
    c = m.itemsize
    while left:
        k = -1
        for i in range(m.rank):
            if (left >> i) & 1 and strides[i] == c:
                k = i
                break
        if k < 0:
            break
        c *= shape[k]
        left &= ~(1ULL << k)
    m.flags = 0 if left else DENSE
    return m


cdef Meta *meta_compact(int dtype, int rank, const Py_ssize_t *shape, bint rows) except NULL:
    cdef Meta *m
    cdef int i, k
    cdef Py_ssize_t step
    if rank == 0:
        return meta_scalar(dtype)
    m = meta_new(dtype, rank)
    step = m.itemsize
    for i in range(rank):
        k = rank - 1 - i if rows else i
        m.dims[k] = shape[k]
        m.dims[rank + k] = step
        step = <Py_ssize_t> (<size_t> step * <size_t> (shape[k] if shape[k] > 0 else 1))
    return meta_finish(m)


cdef Meta *meta_like(const Meta *src, int dtype) except NULL:
    cdef Meta *m
    cdef int i, j, n = src.rank
    cdef int order[64]
    cdef Py_ssize_t step
    cdef Py_ssize_t *s = strides_of(src)
    if src.flags & C_ORDER or n < 2:
        return meta_compact(dtype, n, src.dims, True)
    if src.flags & F_ORDER:
        return meta_compact(dtype, n, src.dims, False)
    for i in range(n):                      # axes by descending stride; ties stay in row-major order
        j = i
        while j > 0 and abs_(s[order[j - 1]]) < abs_(s[i]) and s[i] != 0:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    m = meta_new(dtype, n)
    step = m.itemsize
    for i in range(n):
        j = order[n - 1 - i]
        m.dims[j] = src.dims[j]
        m.dims[n + j] = step
        step *= src.dims[j] if src.dims[j] > 0 else 1
    return meta_finish(m)


cdef inline Py_ssize_t abs_(Py_ssize_t x) noexcept:
    return -x if x < 0 else x


cdef bint row_major(const Meta *m) noexcept:
    cdef int i
    cdef Py_ssize_t last = 0
    cdef Py_ssize_t *s = strides_of(m)
    if m.flags & C_ORDER:
        return True
    for i in range(m.rank - 1, -1, -1):
        if m.dims[i] != 1:
            if abs_(s[i]) < last:
                return False
            last = abs_(s[i])
    return True


cdef Meta *meta_scalar(int dtype) noexcept:
    scalars[dtype].refs += 1
    return &scalars[dtype]


cdef Params *params_new(Py_ssize_t n) except NULL:
    cdef Params *p = <Params *> block_alloc(sizeof(Params) + sizeof(Py_ssize_t) * n)
    if p == NULL:
        raise MemoryError
    p.refs = 1
    p.n = n
    return p


cdef void params_free(Params *p) noexcept:
    block_free(p, sizeof(Params) + sizeof(Py_ssize_t) * p.n)


cdef int _d
for _d in range(N_DTYPES):
    scalars[_d].refs = 1
    scalars[_d].dtype = _d
    scalars[_d].rank = 0
    scalars[_d].itemsize = itemsize_of(_d)
    scalars[_d].size = 1
    scalars[_d].flags = C_ORDER | F_ORDER | DENSE
