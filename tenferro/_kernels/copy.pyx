"""Copies between strided layouts, and casts."""

from .parallel cimport CHUNK, PARALLEL_SIZE, parallel, threads_of
from .ufunc cimport Loop, NOGIL_SIZE, broadcast_strides, coalesce, loop_t, run_loop

cdef extern from "casts.h":
    loop_t tf_casts[13][13]

cdef extern from "permute.h":
    void tf_permute(int item, int rank, const Py_ssize_t *n, const char *src, const Py_ssize_t *s, char *dst,
                    const Py_ssize_t *d) noexcept nogil
    void tf_run(char *dst, const char *src, size_t n, bint stream) noexcept nogil
    void tf_fence() noexcept nogil
    enum: TF_STREAM_ROWS

cdef enum:
    SMALL = 64                          # elements up to which a plan of tiles costs more than it saves
    PIECES = 4                          # for each thread
    RUN = 1 << 20                       # bytes of a piece of memory that is copied as it is


cdef void run(int threads, const Value *src, Value *dst, Loop *loop) noexcept nogil:
    """dst = src, broadcast to dst's shape."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[2][64]
    cdef char *data[2]
    cdef int i, rank = dst.meta.rank
    cdef int *items = [src.meta.itemsize, dst.meta.itemsize]
    for i in range(rank):
        shape[i] = dst.meta.dims[i]
    broadcast_strides(src.meta, rank, strides[0])
    broadcast_strides(dst.meta, rank, strides[1])
    data[0] = src.data
    data[1] = dst.data
    rank = coalesce(2, rank, shape, data, strides)
    run_loop(threads, loop, 2, items, rank, shape, data, strides)


cdef void strided_copy(int itemsize, int rank, const Py_ssize_t *shape, const char *src, const Py_ssize_t *from_,
                       char *dst, const Py_ssize_t *to) noexcept nogil:
    tf_permute(itemsize, rank, shape, src, from_, dst, to)


ctypedef struct Shared:
    const char *src
    char *dst
    int item, rank, axis
    const Py_ssize_t *shape
    const Py_ssize_t *from_
    const Py_ssize_t *to
    Py_ssize_t each, total      # of the axis, or bytes


cdef void run_piece(void *arg, Py_ssize_t piece, int slot) noexcept nogil:
    cdef Shared *w = <Shared *> arg
    cdef Py_ssize_t first = piece * w.each
    cdef bint stream = w.total >= TF_STREAM_ROWS
    tf_run(w.dst + first, w.src + first, min(w.each, w.total - first), stream)
    if stream:
        tf_fence()


cdef void permute_piece(void *arg, Py_ssize_t piece, int slot) noexcept nogil:
    cdef Shared *w = <Shared *> arg
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t first = piece * w.each
    cdef int i
    for i in range(w.rank):
        shape[i] = w.shape[i]
    shape[w.axis] = min(w.each, w.total - first)
    tf_permute(w.item, w.rank, shape, w.src + first * w.from_[w.axis], w.from_, w.dst + first * w.to[w.axis], w.to)


cdef inline Py_ssize_t magnitude(Py_ssize_t x) noexcept nogil:
    return -x if x < 0 else x


cdef int slowest(int rank, const Py_ssize_t *shape, const Py_ssize_t *to, Py_ssize_t enough) noexcept nogil:
    """The axis of `enough` elements that is slowest in the destination, or else the longest one."""
    cdef int i, best = 0
    for i in range(1, rank):
        if shape[i] >= enough and shape[best] >= enough:
            if magnitude(to[i]) > magnitude(to[best]):
                best = i
        elif shape[i] > shape[best]:
            best = i
    return best


cdef void copy_shared(int threads, const Value *src, Value *dst) noexcept nogil:
    cdef Py_ssize_t strides[64]
    cdef Py_ssize_t pieces
    cdef Shared w
    w.src, w.dst, w.item, w.rank = src.data, dst.data, dst.meta.itemsize, dst.meta.rank
    if dst.meta.flags & DENSE and same_layout(src.meta, dst.meta):
        w.total = dst.meta.size * w.item
        w.each = RUN if threads > 1 else w.total
        parallel(threads, (w.total + w.each - 1) // w.each, run_piece, &w)
        return
    broadcast_strides(src.meta, w.rank, strides)
    w.shape, w.from_, w.to = dst.meta.dims, strides, dst.meta.dims + w.rank
    pieces = min(dst.meta.size // CHUNK, <Py_ssize_t> (PIECES * threads))
    if threads == 1 or pieces < 2:
        tf_permute(w.item, w.rank, w.shape, w.src, w.from_, w.dst, w.to)
        return
    w.axis = slowest(w.rank, w.shape, w.to, pieces)
    w.total = w.shape[w.axis]
    w.each = (w.total + pieces - 1) // pieces
    parallel(threads, (w.total + w.each - 1) // w.each, permute_piece, &w)


cdef void copy_value(const Value *src, Value *dst) noexcept nogil:
    copy_shared(1, src, dst)


cdef int copy(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef int threads
    if out.meta.size == 0:
        return 0
    if out.meta.size <= SMALL:
        return cast(engine, op, ins, n, out, params)
    if out.meta.size < NOGIL_SIZE:
        copy_value(&ins[0], out)
    else:
        threads = threads_of(engine) if out.meta.size >= PARALLEL_SIZE else 1
        with nogil:
            copy_shared(threads, &ins[0], out)
    return 0


cdef int cast(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef Loop loop
    cdef int threads
    if out.meta.size == 0:
        return 0
    loop.fn = tf_casts[ins[0].meta.dtype][out.meta.dtype]
    loop.data = NULL
    if out.meta.size < NOGIL_SIZE:
        run(1, &ins[0], out, &loop)
    else:
        threads = threads_of(engine) if out.meta.size >= PARALLEL_SIZE else 1
        with nogil:
            run(threads, &ins[0], out, &loop)
    return 0
