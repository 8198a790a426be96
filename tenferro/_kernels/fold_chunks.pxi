
# Folds by chunks, which depend on the shape alone: partial results of a few long folds, added pairwise in the end, and
# parts of many results, each as if it were alone.

cdef enum:
    FEW = 64            # results up to which a fold is cut along the axes that it folds
    PARTIAL = 64        # partial results of each

ctypedef struct Folding:
    const tf_folder *f
    int rank, axis
    const Py_ssize_t *shape
    const Py_ssize_t *xs
    const Py_ssize_t *os
    const char *x
    char *out
    Py_ssize_t parts, part, each, step
    double mul, div
    int error


cdef void fold_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    """A part of one axis; results of neighbouring parts are `step` bytes apart."""
    cdef Folding *w = <Folding *> arg
    cdef Py_ssize_t shape[66]
    cdef Py_ssize_t first = chunk * w.each
    cdef int i
    for i in range(w.rank):
        shape[i] = w.shape[i]
    shape[w.axis] = min(w.each, w.shape[w.axis] - first)
    if tf_fold(w.f, w.rank, shape, w.xs, w.os, w.x + first * w.xs[w.axis], w.out + chunk * w.step, w.parts, w.part, w.mul,
               w.div):
        w.error = -1


cdef int fold_many(int threads, Folding *w, Py_ssize_t size) noexcept nogil:
    """Cut along an axis that stays; the last one in pieces that are folded like the whole."""
    cdef int i, last = -1
    cdef Py_ssize_t pieces = min(size // CHUNK, <Py_ssize_t> (PIECES * threads)), least = 1
    w.axis = -1
    for i in range(w.rank):
        if w.os[i]:
            last = i
            if w.axis < 0 or w.shape[i] > w.shape[w.axis]:
                w.axis = i
    if w.axis < 0 or threads == 1 or pieces < 2:
        return tf_fold(w.f, w.rank, w.shape, w.xs, w.os, w.x, w.out, w.parts, w.part, w.mul, w.div)
    if w.axis == last:
        least = 1024
    w.each = max((w.shape[w.axis] + pieces - 1) // pieces, least)
    while w.axis == last and 0 < w.shape[w.axis] % w.each < 16 and w.each < w.shape[w.axis]:
        w.each += 16
    w.step = w.each * w.os[w.axis]
    parallel(threads, (w.shape[w.axis] + w.each - 1) // w.each, fold_chunk, w)
    return w.error


cdef int fold_few(int threads, Folding *w, const tf_folder *adder, Py_ssize_t item, Py_ssize_t results,
                  Py_ssize_t size) noexcept nogil:
    """Cut along a folded axis, for any number of threads alike."""
    cdef char memory[16 * FEW * PARTIAL]
    cdef Py_ssize_t shape[66]
    cdef Py_ssize_t xs[66]
    cdef Py_ssize_t os[66]
    cdef Py_ssize_t compact[64]
    cdef Py_ssize_t pieces = min(size // CHUNK, <Py_ssize_t> PARTIAL), step = item
    cdef int i
    cdef char *out = w.out
    cdef const Py_ssize_t *to = w.os
    cdef double mul = w.mul, div = w.div
    w.axis = -1
    for i in range(w.rank - 1, -1, -1):
        compact[i] = 0
        if w.os[i]:
            compact[i] = step
            step *= w.shape[i]
        elif w.axis < 0 or w.shape[i] >= w.shape[w.axis] or w.shape[i] >= pieces:
            w.axis = i
    if w.axis < 0 or w.shape[w.axis] < 2:
        return tf_fold(w.f, w.rank, w.shape, w.xs, w.os, w.x, w.out, w.parts, w.part, w.mul, w.div)
    w.each = (w.shape[w.axis] + pieces - 1) // pieces
    pieces = (w.shape[w.axis] + w.each - 1) // w.each
    w.step = step
    w.os, w.out, w.mul, w.div = compact, memory, 1, 1
    parallel(threads, pieces, fold_chunk, w)
    if w.error:
        return w.error
    shape[0], xs[0], os[0] = pieces, step, 0
    for i in range(w.rank):
        shape[i + 1] = w.shape[i] if to[i] else 1
        xs[i + 1] = compact[i]
        os[i + 1] = to[i]
    return add_partials(adder, w.rank + 1, shape, xs, os, memory, out, w.parts, w.part, mul, div)


cdef int add_partials(const tf_folder *adder, int rank, Py_ssize_t *shape, Py_ssize_t *xs, Py_ssize_t *os, const char *x,
                      char *out, Py_ssize_t parts, Py_ssize_t part, double mul, double div) noexcept nogil:
    """Axes of length one are left out."""
    cdef int i, r = 0
    for i in range(rank):
        if shape[i] > 1:
            shape[r], xs[r], os[r] = shape[i], xs[i], os[i]
            r += 1
    return tf_fold(adder, r, shape, xs, os, x, out, parts, part, mul, div)


cdef int fold_chunks(int threads, Folding *w, const tf_folder *adder, const Value *x, const Value *out) noexcept nogil:
    w.error = 0
    if x.meta.size < PARALLEL_SIZE:
        return tf_fold(w.f, w.rank, w.shape, w.xs, w.os, w.x, w.out, w.parts, w.part, w.mul, w.div)
    if out.meta.size <= FEW and adder != NULL:
        return fold_few(threads, w, adder, out.meta.itemsize, out.meta.size, x.meta.size)
    return fold_many(threads, w, x.meta.size)


# ---- inner loops -----------------------------------------------------------------------------------------------------

ctypedef struct Walking:
    Loop *loop
    const Walk *w
    int axis
    Py_ssize_t each


cdef void walk_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    cdef Walking *s = <Walking *> arg
    cdef Walk w = s.w[0]
    cdef Py_ssize_t first = chunk * s.each
    cdef int k
    w.shape[s.axis] = min(s.each, s.w.shape[s.axis] - first)
    for k in range(3):
        w.data[k] += first * w.strides[k][s.axis]
    walk(s.loop, &w)


cdef void walk_many(int threads, Loop *loop, Walk *w, Py_ssize_t size) noexcept nogil:
    """Cut along the longest axis that stays."""
    cdef Walking s
    cdef Py_ssize_t pieces = min(size // CHUNK, <Py_ssize_t> (PIECES * threads))
    cdef int i
    s.loop, s.w, s.axis = loop, w, -1
    for i in range(w.rank):
        if w.strides[0][i] and (s.axis < 0 or w.shape[i] > w.shape[s.axis]):
            s.axis = i
    if s.axis < 0 or threads == 1 or pieces < 2:
        walk(loop, w)
        return
    s.each = (w.shape[s.axis] + pieces - 1) // pieces
    if s.axis == w.rank - 1:
        s.each = (s.each + 63) // 64 * 64
    parallel(threads, (w.shape[s.axis] + s.each - 1) // s.each, walk_chunk, &s)


ctypedef struct Dense:
    Loop *loop
    char *x
    char *out
    Py_ssize_t size, each, item, to


cdef void dense_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    cdef Dense *w = <Dense *> arg
    fold_dense(w.loop, w.x + chunk * w.each * w.item, w.item, min(w.each, w.size - chunk * w.each), w.out + chunk * w.to)


cdef void fold_dense(Loop *loop, char *x, Py_ssize_t step, Py_ssize_t size, char *out) noexcept nogil:
    cdef char *args[3]
    cdef Py_ssize_t strides[3]
    args[0] = args[2] = out
    args[1] = x
    strides[0] = strides[2] = 0
    strides[1] = step
    loop.fn(args, &size, strides, loop.data)


cdef void fold_total(int threads, Loop *loop, Loop *join, const Value *x, Value *out) noexcept nogil:
    """One result of large memory without gaps, from partial results for any number of threads alike; it holds the start."""
    cdef char partial[16 * PARTIAL]
    cdef Dense w
    cdef Py_ssize_t pieces = min(x.meta.size // CHUNK, <Py_ssize_t> PARTIAL), i
    w.loop, w.x, w.out, w.item, w.to, w.size = loop, x.data, partial, x.meta.itemsize, out.meta.itemsize, x.meta.size
    w.each = (w.size + pieces - 1) // pieces
    pieces = (w.size + w.each - 1) // w.each
    for i in range(pieces):
        memcpy(partial + i * w.to, out.data, w.to)
    parallel(threads, pieces, dense_chunk, &w)
    fold_dense(join, partial, w.to, pieces, out.data)
