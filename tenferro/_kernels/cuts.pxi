
# Loops over strided operands, cut along one axis into chunks that threads take. What is cut does not meet: the bits are those
# of one thread.

cdef enum:
    CUTS = 4                    # chunks for each thread
    APART = 256                 # neighbours that are not separated: a loop over fewer does not pay for its calls
    LINE = 64                   # and that a chunk has a multiple of
    COMPUTED = 1 << 18          # elements from which threads pay where each takes about a nanosecond
    MOVED = 1 << 20             # and where they are only moved
    ACROSS = 1 << 21            # and where the inner loops are cut, whose calls multiply

ctypedef struct Cut:
    int n_ops, rank, axis
    const Py_ssize_t *shape
    char **data
    Py_ssize_t (*strides)[64]
    Py_ssize_t each             # of the axis, for one chunk
    Loop *loop
    void *more                  # what else a chunk has to know


cdef Py_ssize_t cut(Cut *c, int threads, Py_ssize_t size, int n_ops, int rank, const Py_ssize_t *shape, char **data,
                    Py_ssize_t (*strides)[64], unsigned long long whole, Py_ssize_t least) noexcept nogil:
    """Number of chunks for work on `size` elements; the axes of `whole`, one bit each, are left in one piece.

    Chunks have `least` elements of the last axis or more; where that is more than one, there are as many as threads.
    """
    cdef Py_ssize_t pieces = min(size // CHUNK, <Py_ssize_t> (CUTS * threads))
    cdef int i
    c.n_ops, c.rank, c.shape, c.data, c.strides, c.axis = n_ops, rank, shape, data, strides, -1
    if threads < 2 or pieces < 2:
        return 1
    for i in range(rank):
        if (whole >> i) & 1:
            continue
        if c.axis < 0 or shape[i] > shape[c.axis]:
            c.axis = i
        if shape[i] >= pieces:
            break
    if c.axis < 0:
        return 1
    if c.axis == rank - 1 and least > 1:
        if size < ACROSS:
            return 1
        pieces = min(pieces, threads)
    c.each = (shape[c.axis] + pieces - 1) // pieces
    if c.axis == rank - 1:
        c.each = max(least, c.each if least == 1 else (c.each + LINE - 1) // LINE * LINE)
    return (shape[c.axis] + c.each - 1) // c.each


cdef void cut_out(const Cut *c, Py_ssize_t chunk, Py_ssize_t *shape, char **data) noexcept nogil:
    """Shape and places of a chunk; its strides are those of the whole."""
    cdef Py_ssize_t first = chunk * c.each
    cdef int i
    for i in range(c.rank):
        shape[i] = c.shape[i]
    shape[c.axis] = min(c.each, c.shape[c.axis] - first)
    for i in range(c.n_ops):
        data[i] = c.data[i] + first * c.strides[i][c.axis]


cdef void loop_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    cdef Cut *c = <Cut *> arg
    cdef Py_ssize_t shape[64]
    cdef char *data[8]
    cut_out(c, chunk, shape, data)
    strided_loop(c.loop, c.n_ops, c.rank, shape, data, c.strides)


cdef void shared_loop(int threads, Py_ssize_t size, Loop *loop, int n_ops, int rank, const Py_ssize_t *shape, char **data,
                      Py_ssize_t (*strides)[64]) noexcept nogil:
    """A loop whose elements do not depend on one another."""
    cdef Cut c
    cdef Py_ssize_t chunks = cut(&c, threads, size, n_ops, rank, shape, data, strides, 0, APART)
    if chunks == 1:
        strided_loop(loop, n_ops, rank, shape, data, strides)
        return
    c.loop = loop
    parallel(threads, chunks, loop_chunk, &c)


ctypedef struct Wiped:
    char *data
    Py_ssize_t bytes, each


cdef void wipe_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    cdef Wiped *w = <Wiped *> arg
    memset(w.data + chunk * w.each, 0, min(w.each, w.bytes - chunk * w.each))


cdef inline int threads_for(PyObject *engine, Py_ssize_t size, Py_ssize_t enough) noexcept:
    return threads_of(engine) if size >= enough else 1


cdef inline void wipe(PyObject *engine, Value *out) noexcept:
    """All bytes zero."""
    cdef Wiped w
    cdef int threads
    w.data = out.data
    w.bytes = out.meta.size * out.meta.itemsize
    if out.meta.size < NOGIL_SIZE:
        memset(w.data, 0, w.bytes)
        return
    threads = threads_for(engine, out.meta.size, MOVED)
    with nogil:
        w.each = (w.bytes // threads + LINE) // LINE * LINE     # long pieces do not go through the caches
        parallel(threads, (w.bytes + w.each - 1) // w.each, wipe_chunk, &w)
