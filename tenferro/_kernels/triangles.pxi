
# Upper and lower triangles, line by line.

cdef inline void line_of(const Meta *m, int axis, Meta *w) noexcept:
    """Shape and strides of m without the axis."""
    cdef int i, k = 0, q = m.rank - 1
    w.size = 1
    for i in range(m.rank):
        if i != axis:
            w.dims[k] = m.dims[i]
            w.dims[q + k] = m.dims[m.rank + i]
            w.size *= m.dims[i]
            k += 1


ctypedef struct Triangle:
    const Value *x
    Value *out
    int across, along           # rows, or columns, are contiguous along an axis; the other one is stepped through
    bint lower
    Py_ssize_t k, each


cdef void triangle_line(const Triangle *g, Py_ssize_t i, const char *src, char *dst) noexcept nogil:
    cdef const Meta *m = g.out.meta
    cdef Py_ssize_t n = m.dims[g.along], lo = 0, hi = n, item = m.itemsize, count
    if g.lower:
        hi = max(0, min(n, i + g.k + 1))
    else:
        lo = min(n, max(0, i + g.k))
    memset(dst, 0, lo * item)
    count = hi - lo
    if count > 0 and g.x.meta.dims[m.rank + g.along] == item:
        memcpy(dst + lo * item, src + lo * item, count * item)
    elif count > 0:
        strided_copy(m.itemsize, 1, &count, src + lo * g.x.meta.dims[m.rank + g.along], g.x.meta.dims + m.rank + g.along,
                     dst + lo * item, &item)
    memset(dst + hi * item, 0, (n - hi) * item)


cdef void triangle_lines(const Triangle *g, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef const Py_ssize_t *n = g.out.meta.dims
    cdef const Py_ssize_t *to = n + g.out.meta.rank
    cdef const Py_ssize_t *at = g.x.meta.dims + g.out.meta.rank
    cdef Py_ssize_t line, i, j, left
    cdef const char *src
    cdef char *dst
    cdef int a
    for line in range(first, last):
        i = line % n[g.across]
        left = line // n[g.across]
        src = g.x.data + i * at[g.across]
        dst = g.out.data + i * to[g.across]
        for a in range(g.out.meta.rank - 3, -1, -1):
            j = left % n[a]
            left //= n[a]
            src += j * at[a]
            dst += j * to[a]
        triangle_line(g, i, src, dst)


cdef void triangle_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    cdef Triangle *g = <Triangle *> arg
    triangle_lines(g, chunk * g.each, min(g.out.meta.size // g.out.meta.dims[g.along], (chunk + 1) * g.each))


cdef void triangle_shared(int threads, Triangle *g) noexcept nogil:
    cdef Py_ssize_t size = g.out.meta.size, lines = size // g.out.meta.dims[g.along]
    cdef Py_ssize_t pieces = min(size // CHUNK, <Py_ssize_t> (CUTS * threads))
    if threads == 1 or pieces < 2:
        triangle_lines(g, 0, lines)
        return
    g.each = (lines + pieces - 1) // pieces
    parallel(threads, (lines + g.each - 1) // g.each, triangle_chunk, g)


cdef int triangle(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """Row by row, or column by column if columns are contiguous."""
    cdef int r = out.meta.rank, threads
    cdef bint rows = out.meta.dims[2 * r - 1] <= out.meta.dims[2 * r - 2]
    cdef Py_ssize_t k = max(-out.meta.dims[r - 2], min(params.v[0], out.meta.dims[r - 1]))
    cdef Triangle g
    if out.meta.size == 0:
        return 0
    g.x, g.out, g.lower, g.k = ins, out, op == Op.TRIL, k
    g.across = r - 2 if rows else r - 1
    g.along = r - 1 if rows else r - 2
    if not rows:
        g.k = -k
        g.lower = not g.lower
    if ins.meta.dtype != out.meta.dtype or out.meta.dims[r + g.along] != out.meta.itemsize:
        return triangle_copies(engine, &g)
    if out.meta.size < NOGIL_SIZE:
        triangle_shared(1, &g)
    else:
        threads = threads_for(engine, out.meta.size, MOVED)
        with nogil:
            triangle_shared(threads, &g)
    return 0


cdef int triangle_copies(PyObject *engine, const Triangle *g) except -1:
    """Where other axes run faster: these are copied along with a line."""
    cdef const Meta *m = g.out.meta
    cdef const Value *x = g.x
    cdef int r = m.rank
    cdef Py_ssize_t i, lo, hi, length = m.dims[g.along]
    cdef Value src = x[0], dst = g.out[0]
    wipe(engine, g.out)
    src.meta = meta_new(x.meta.dtype, r - 1)
    try:
        dst.meta = meta_new(m.dtype, r - 1)
        line_of(x.meta, g.across, src.meta)
        line_of(m, g.across, dst.meta)
        for i in range(m.dims[g.across]):
            lo = 0 if g.lower else max(0, i + g.k)
            hi = min(length, i + g.k + 1) if g.lower else length
            if lo >= hi:
                continue
            src.meta.dims[r - 2] = dst.meta.dims[r - 2] = hi - lo
            src.meta.size = dst.meta.size = m.size // m.dims[g.across] // length * (hi - lo)
            src.data = x.data + i * x.meta.dims[r + g.across] + lo * x.meta.dims[r + g.along]
            dst.data = g.out.data + i * m.dims[r + g.across] + lo * m.dims[r + g.along]
            cast(engine, Op.CAST, &src, 1, &dst, NULL)
        meta_drop(dst.meta)
    finally:
        meta_drop(src.meta)
    return 0
