
# Folds by chunks, which depend on the shape alone: partial results of a few long folds, added pairwise in the end, and
# parts of many results, each as if it were alone.

cdef enum:
    FEW = 64            # results up to which a fold is cut along the axes that it folds
    PARTIAL = 64        # partial results of each
    WIDTH = 1024        # neighbouring results that are not cut

ctypedef struct Folding:
    const tf_folder *f
    int rank, axis
    const Py_ssize_t *shape
    const Py_ssize_t *xs
    const Py_ssize_t *os
    const char *x
    const tf_made *made         # x is made by a pass
    int sums                    # 1, or those of the pass
    char *out[TF_MADE]
    double div[TF_MADE]
    double mul
    Py_ssize_t parts, part, each, step
    int error


cdef int fold_range(Folding *w, const Py_ssize_t *shape, Py_ssize_t first, Py_ssize_t to) noexcept nogil:
    """From the byte `first` of x on, to the byte `to` of the results."""
    if w.made != NULL:
        return tf_fold_made(w.made, w.f, w.rank, shape, w.xs, w.os, first, w.out, to, w.parts, w.part, w.mul, w.div)
    return tf_fold(w.f, w.rank, shape, w.xs, w.os, w.x + first, w.out[0] + to, w.parts, w.part, w.mul, w.div[0])


cdef void fold_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    """A part of one axis; results of neighbouring parts are `step` bytes apart."""
    cdef Folding *w = <Folding *> arg
    cdef Py_ssize_t shape[66]
    cdef Py_ssize_t first = chunk * w.each
    cdef int i
    for i in range(w.rank):
        shape[i] = w.shape[i]
    shape[w.axis] = min(w.each, w.shape[w.axis] - first)
    if fold_range(w, shape, first * w.xs[w.axis], chunk * w.step):
        w.error = -1


cdef bint has_long_columns(const Folding *w) noexcept nogil:
    """Whether rows of neighbouring results, which are too few to be cut, are added up."""
    return (w.rank == 2 and w.os[0] == 0 and w.os[1] == w.xs[1] == w.part * 2 < w.xs[0] and w.shape[1] * w.parts >= 16
            and w.shape[1] < 2 * WIDTH and w.shape[0] >= 2 * TF_ROWS)


cdef int fold_rows(int threads, Folding *w) noexcept nogil:
    """Cut along the folded axis into parts of as many leaves as a power of two, which keeps the order of summation."""
    cdef Folding whole = w[0]
    cdef Py_ssize_t step = w.shape[1] * w.os[1], pieces
    cdef char *memory
    cdef int i
    w.axis, w.each, w.step, w.mul = 0, TF_ROWS, step, 1
    while w.each * w.shape[1] < CHUNK:
        w.each *= 2
    pieces = (w.shape[0] + w.each - 1) // w.each
    memory = <char *> malloc(w.sums * pieces * step)
    if memory == NULL:
        return -1
    for i in range(w.sums):
        w.out[i], w.div[i] = memory + i * pieces * step, 1
    parallel(threads, pieces, fold_chunk, w)
    for i in range(w.sums):
        if w.error == 0:
            tf_join(w.f, w.shape[1] * w.parts, w.out[i], step, w.shape[0] // w.each, pieces, whole.out[i], whole.mul,
                    whole.div[i])
    free(memory)
    return w.error


cdef int fold_many(int threads, Folding *w, Py_ssize_t size) noexcept nogil:
    """Cut along an axis that stays; the last one in pieces that are folded like the whole."""
    cdef int i, last = -1
    cdef Py_ssize_t pieces = min(size // CHUNK, <Py_ssize_t> (PIECES * threads)), least = 1
    w.axis = -1
    for i in range(w.rank):
        if w.os[i]:
            last = i
    for i in range(last + 1):
        if w.os[i] and (w.axis < 0 or (w.shape[i] > w.shape[w.axis] and (i < last or w.shape[i] >= 2 * WIDTH))):
            w.axis = i
    if w.axis < 0 or threads == 1 or pieces < 2:
        return fold_range(w, w.shape, 0, 0)
    if w.axis == last:
        least = WIDTH
    w.each = max((w.shape[w.axis] + pieces - 1) // pieces, least)
    while w.axis == last and 0 < w.shape[w.axis] % w.each < 16 and w.each < w.shape[w.axis]:
        w.each += 16
    w.step = w.each * w.os[w.axis]
    parallel(threads, (w.shape[w.axis] + w.each - 1) // w.each, fold_chunk, w)
    return w.error


cdef int fold_few(int threads, Folding *w, const tf_folder *adder, Py_ssize_t item, Py_ssize_t size) noexcept nogil:
    """Cut along a folded axis, for any number of threads alike."""
    cdef char few[16 * FEW * PARTIAL]
    cdef char *memory = few
    cdef Py_ssize_t compact[64]
    cdef Py_ssize_t pieces = min(size // CHUNK, <Py_ssize_t> PARTIAL), step = item
    cdef Folding whole = w[0]
    cdef int i
    w.axis = -1
    for i in range(w.rank - 1, -1, -1):
        compact[i] = 0
        if w.os[i]:
            compact[i] = step
            step *= w.shape[i]
        elif w.axis < 0 or w.shape[i] >= w.shape[w.axis] or w.shape[i] >= pieces:
            w.axis = i
    if w.axis < 0 or w.shape[w.axis] < 2:
        return fold_range(w, w.shape, 0, 0)
    w.each = (w.shape[w.axis] + pieces - 1) // pieces
    pieces = (w.shape[w.axis] + w.each - 1) // w.each
    if w.sums * pieces * step > <Py_ssize_t> sizeof(few):
        memory = <char *> malloc(w.sums * pieces * step)
        if memory == NULL:
            return -1
    w.step, w.os, w.mul = step, compact, 1
    for i in range(w.sums):
        w.out[i], w.div[i] = memory + i * pieces * step, 1
    parallel(threads, pieces, fold_chunk, w)
    for i in range(w.sums):
        if w.error == 0:
            w.error = add_partials(adder, &whole, i, pieces, step, compact, w.out[i])
    if memory != few:
        free(memory)
    return w.error


cdef int add_partials(const tf_folder *adder, const Folding *w, int k, Py_ssize_t pieces, Py_ssize_t step,
                      const Py_ssize_t *compact, const char *x) noexcept nogil:
    """The k-th results, from partial ones that are `step` bytes apart; axes of length one are left out."""
    cdef Py_ssize_t shape[66]
    cdef Py_ssize_t xs[66]
    cdef Py_ssize_t os[66]
    cdef int i, r = 0
    if pieces > 1:
        shape[0], xs[0], os[0] = pieces, step, 0
        r = 1
    for i in range(w.rank):
        if w.os[i] and w.shape[i] > 1:
            shape[r], xs[r], os[r] = w.shape[i], compact[i], w.os[i]
            r += 1
    return tf_fold(adder, r, shape, xs, os, x, w.out[k], w.parts, w.part, w.mul, w.div[k])


cdef int fold_chunks(int threads, Folding *w, const tf_folder *adder, const Meta *x, const Meta *out) noexcept nogil:
    w.error = 0
    if x.size < PARALLEL_SIZE:
        return fold_range(w, w.shape, 0, 0)
    if out.size <= FEW and adder != NULL:
        return fold_few(threads, w, adder, out.itemsize, x.size)
    if threads > 1 and w.f == adder and has_long_columns(w):
        return fold_rows(threads, w)
    return fold_many(threads, w, x.size)


cdef int lay(Lay *w, const Value *x, const Value *out, unsigned long long axes, bint keepdims) noexcept nogil:
    """Axes of a sum: folded ones have stride 0 in the result, and those along which x is repeated only count."""
    cdef int i, j = 0, rank = x.meta.rank, m = out.meta.rank
    w.repeats = 1
    for i in range(rank):
        w.shape[i] = x.meta.dims[i]
        w.strides[0][i] = w.strides[2][i] = x.meta.dims[rank + i]
        if (axes >> i) & 1:
            w.strides[1][i] = 0
            j += keepdims
            if w.strides[0][i] == 0:
                w.repeats *= w.shape[i]
                w.shape[i] = 1
        else:
            w.strides[1][i] = out.meta.dims[m + j]
            if w.strides[0][i] == 0:
                w.shape[i] = 1
            j += 1
    w.data[0] = w.data[2] = x.data
    w.data[1] = out.data
    return coalesce(3, rank, w.shape, w.data, w.strides)


cdef int fold_blocks(const tf_folder *f, const Value *x, const Value *out, unsigned long long axes, bint keepdims,
                     int how, double div) noexcept nogil:
    cdef Lay w
    cdef int rank = lay(&w, x, out, axes, keepdims)
    cdef Py_ssize_t parts = 2 if how & PARTS else 1
    cdef Py_ssize_t half = x.meta.itemsize // 2
    cdef Folding g
    g.f, g.rank, g.shape, g.xs, g.os, g.x = f, rank, w.shape, w.strides[0], w.strides[1], w.data[0]
    g.made, g.sums, g.out[0] = NULL, 1, w.data[1]
    g.parts, g.part, g.mul, g.div[0] = parts, half, <double> w.repeats, div
    if how & MEAN:                      # repetitions cancel
        g.mul, g.div[0] = 1, div / w.repeats
    return fold_chunks(current_threads(), &g, NULL if f == tf_moments[x.meta.dtype] else tf_sums[out.meta.dtype], x.meta,
                       out.meta)


cdef int sum_made(int threads, const tf_made *made, const Meta *x, const Value *outs, unsigned long long axes, bint keepdims,
                  const double *div) noexcept nogil:
    cdef Lay w
    cdef Folding g
    cdef Value v
    cdef int k
    v.meta, v.buf, v.data = <Meta *> x, NULL, NULL
    g.rank = lay(&w, &v, outs, axes, keepdims)
    g.f, g.shape, g.xs, g.os, g.x = tf_sums[x.dtype], w.shape, w.strides[0], w.strides[1], NULL
    g.made, g.sums, g.mul = made, made.sums, 1
    g.parts, g.part = 2 if is_complex(x.dtype) else 1, x.itemsize // 2
    for k in range(g.sums):
        g.out[k], g.div[k] = outs[k].data, div[k]
    return fold_chunks(threads, &g, tf_sums[x.dtype], x, outs.meta)


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
    if s.axis == w.rank - 1:            # inner loops are called as often for a narrow piece as for a wide one
        pieces = min(pieces, <Py_ssize_t> threads)
    s.each = (w.shape[s.axis] + pieces - 1) // pieces
    if s.axis == w.rank - 1:
        s.each = max((s.each + 63) // 64 * 64, <Py_ssize_t> WIDTH)
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
