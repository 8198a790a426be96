# The pool: free lists of small blocks in multiples of 64 bytes, and large blocks in size classes.
# Part of memory.pyx: one compilation unit, so that small blocks are allocated without a call.

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

    Examples
    --------
    >>> import tenferro as tfr
    >>> before = tfr.buffer_limit()
    >>> tfr.buffer_limit(before) == before
    True
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
