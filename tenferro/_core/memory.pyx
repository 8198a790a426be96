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

cdef enum:
    LINE = 64
    SMALL_CLASSES = 64              # up to 4 KiB
    CHUNK = 1 << 18
    LARGE_CLASSES = 8 * 52          # eight steps per power of two
    HEADER = 48
    HUGE_PAGE = 1 << 21
    HUGE_BLOCK = 1 << 22            # from here on blocks lie on huge pages

ctypedef struct Free:
    Free *next

ctypedef struct Spare:              # a free large block, in the list of its class and in that of all
    Spare *next                     # freed before, of this class
    Spare *previous
    Spare *older                    # freed before, of any class
    Spare *younger
    size_t size
    int size_class

cdef Free *small[SMALL_CLASSES + 1]
cdef Spare *large[LARGE_CLASSES]
cdef Spare *oldest = NULL
cdef Spare *youngest = NULL
cdef char *chunk = NULL
cdef size_t chunk_left = 0
cdef Py_ssize_t live_blocks = 0, live_bytes = 0
cdef Py_ssize_t chunk_bytes = 0
cdef Py_ssize_t pool_limit = 1 << 30
cdef Py_ssize_t pool_entries = 0, pool_bytes = 0, pool_hits = 0, pool_misses = 0, pool_evictions = 0, pool_clears = 0


cdef void *refill(size_t nbytes) noexcept:
    """Carve a block off the current chunk; the rest of an exhausted chunk is handed to the free lists."""
    global chunk, chunk_left, chunk_bytes
    cdef void *p = NULL
    cdef Free *f
    if chunk_left < nbytes:
        if chunk_left:
            f = <Free *> chunk
            f.next = small[chunk_left // LINE]
            small[chunk_left // LINE] = f
            chunk_left = 0
        if posix_memalign(&p, LINE, CHUNK) != 0:
            return NULL
        chunk = <char *> p
        chunk_left = CHUNK
        chunk_bytes += CHUNK
    p = chunk
    chunk += nbytes
    chunk_left -= nbytes
    return p


cdef int size_class(size_t nbytes, size_t *rounded) noexcept:
    """Index and size of the class that holds nbytes: steps of an eighth of a power of two."""
    cdef int e = 0
    cdef size_t n = (nbytes - 1) >> 12, step
    while n > 0:
        n >>= 1
        e += 1
    step = (<size_t> 1 << (e + 11)) >> 3 if e > 0 else 512
    if step < 64:
        step = 64
    rounded[0] = (nbytes + step - 1) // step * step
    return 8 * e + <int> ((rounded[0] - 1) // step) % 8


cdef void *system_alloc(size_t size) noexcept:
    cdef void *p = NULL
    if posix_memalign(&p, LINE if size < HUGE_BLOCK else HUGE_PAGE, size) != 0:
        return NULL
    if size >= HUGE_BLOCK:
        tf_huge_pages(p, size)
    return p


cdef void unlink(Spare *s) noexcept:
    """Take a block out of both lists."""
    global oldest, youngest, pool_entries, pool_bytes
    if s.previous != NULL:
        s.previous.next = s.next
    else:
        large[s.size_class] = s.next
    if s.next != NULL:
        s.next.previous = s.previous
    if s.older != NULL:
        s.older.younger = s.younger
    else:
        oldest = s.younger
    if s.younger != NULL:
        s.younger.older = s.older
    else:
        youngest = s.older
    pool_entries -= 1
    pool_bytes -= s.size


cdef void link_spare(Spare *s, size_t size, int c) noexcept:
    global oldest, youngest, pool_entries, pool_bytes
    s.size = size
    s.size_class = c
    s.previous = NULL
    s.next = large[c]
    if s.next != NULL:
        s.next.previous = s
    large[c] = s
    s.younger = NULL
    s.older = youngest
    if youngest != NULL:
        youngest.younger = s
    else:
        oldest = s
    youngest = s
    pool_entries += 1
    pool_bytes += size


cdef void shrink(Py_ssize_t limit) noexcept:
    """Give blocks back, those freed longest ago first, until the pool holds no more than a limit."""
    global pool_evictions
    cdef Spare *s
    while oldest != NULL and pool_bytes > limit:
        s = oldest
        unlink(s)
        pool_evictions += 1
        free(s)


cdef bint bypassed = False


def bypass_pool(bint on):
    """Take large blocks from the system and give them back to it: for values that nobody will touch."""
    global bypassed
    bypassed = on


cdef void *large_alloc(size_t nbytes) noexcept:
    global pool_hits, pool_misses
    cdef size_t size
    cdef void *p
    cdef int c = size_class(nbytes, &size)
    cdef Spare *s = large[c]
    if bypassed:
        return NULL if posix_memalign(&p, LINE, size) != 0 else p
    if s != NULL:
        unlink(s)
        pool_hits += 1
        return s
    pool_misses += 1
    p = system_alloc(size)
    if p == NULL:
        shrink(0)
        p = system_alloc(size)
    return p


cdef void large_free(void *p, size_t nbytes) noexcept:
    global pool_evictions
    cdef size_t size
    cdef int c = size_class(nbytes, &size)
    if bypassed:
        free(p)
        return
    if <Py_ssize_t> size > pool_limit:
        pool_evictions += 1
        free(p)
        return
    shrink(pool_limit - <Py_ssize_t> size)
    link_spare(<Spare *> p, size, c)


cdef void *block_alloc(size_t nbytes) noexcept:
    global live_blocks, live_bytes
    cdef size_t k = (nbytes + LINE - 1) // LINE
    cdef Free *f
    cdef void *p
    if k <= SMALL_CLASSES:
        f = small[k]
        if f != NULL:
            small[k] = f.next
            p = f
        else:
            p = refill(k * LINE)
    else:
        p = large_alloc(nbytes)
    if p != NULL:
        live_blocks += 1
        live_bytes += nbytes
    return p


cdef void block_free(void *p, size_t nbytes) noexcept:
    global live_blocks, live_bytes
    cdef size_t k = (nbytes + LINE - 1) // LINE
    cdef Free *f
    live_blocks -= 1
    live_bytes -= nbytes
    if k <= SMALL_CLASSES:
        f = <Free *> p
        f.next = small[k]
        small[k] = f
    else:
        large_free(p, nbytes)


def clear_buffers():
    """Give the free blocks of the large-buffer pool back to the system."""
    global pool_clears, pool_evictions
    cdef Py_ssize_t before = pool_evictions
    pool_clears += 1
    shrink(0)
    pool_evictions = before


def buffer_limit(nbytes=None):
    """Set the bytes of free blocks that the pool keeps, if a number is given, and return the limit.

    Parameters
    ----------
    nbytes : int, optional
        Bytes, 0 or more; a smaller limit than before is kept at once.

    Returns
    -------
    int
        The limit in bytes: 2**30, or what the environment variable ``TENFERRO_POOL_BYTES`` said, unless it was set.

    Raises
    ------
    ValidationError
        A negative number.
    """
    global pool_limit
    if nbytes is not None:
        if nbytes < 0:
            raise ValidationError(f"buffer_limit: {nbytes} is negative; give a number of bytes, 0 keeps none",
                                  op="buffer_limit", argument="nbytes")
        pool_limit = nbytes
        shrink(pool_limit)
    return pool_limit


def limit_from_environment():
    """Read ``TENFERRO_POOL_BYTES``."""
    text = os.environ.get("TENFERRO_POOL_BYTES", "")
    if text:
        if not text.isdigit():
            raise ValidationError(f"TENFERRO_POOL_BYTES is {text!r}; give a number of bytes", op="import",
                                  argument="TENFERRO_POOL_BYTES")
        buffer_limit(int(text))


limit_from_environment()


def buffer_stats():
    """``(entries, retained_bytes, hits, misses, evictions, clears)`` of the pool of large blocks."""
    return pool_entries, pool_bytes, pool_hits, pool_misses, pool_evictions, pool_clears


def live():
    """``(blocks, bytes)`` that tensors, nodes and metadata hold at this moment."""
    return live_blocks, live_bytes


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


cdef int[13] ITEMSIZE = [1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16]
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
    m.itemsize = ITEMSIZE[dtype]
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
    scalars[_d].itemsize = ITEMSIZE[_d]
    scalars[_d].size = 1
    scalars[_d].flags = C_ORDER | F_ORDER | DENSE
