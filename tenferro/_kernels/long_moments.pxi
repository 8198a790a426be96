
# A few results of many elements each: parts that depend on the shape alone, and what follows from them.

cdef extern from "partial_moments.h":
    ctypedef struct tf_folder:
        pass
    enum: TF_MOST_PARTS
    tf_folder tf_part_f32
    tf_folder tf_part_f64
    int tf_fold(const tf_folder *f, int rank, const Py_ssize_t *shape, const Py_ssize_t *xs, const Py_ssize_t *os,
                const char *x, char *out, Py_ssize_t parts, Py_ssize_t part, double mul, double div) noexcept nogil
    double tf_join_moments(const char *parts, Py_ssize_t step, Py_ssize_t count, double n, double rest) noexcept nogil

cdef enum:
    FEW = 64            # results

ctypedef struct Parts:
    const tf_folder *f
    int rank, axis, error
    Py_ssize_t shape[66]
    Py_ssize_t strides[3][64]   # of x, of the result, of x
    Py_ssize_t to[66]           # of what is known of a part
    char *data[3]
    char *memory
    Py_ssize_t each, count, step
    double inside               # elements of a part for one along the axis


cdef inline bint few_and_long(const Value *x, const Value *out) noexcept:
    return x.meta.size >= PARALLEL_SIZE and out.meta.size <= FEW


cdef bint lay_parts(Parts *g, const Value *x, const Value *out, unsigned long long axes, bint keepdims) noexcept nogil:
    """Whether x repeats no elements; the numbers of a complex one stand along one more axis."""
    cdef int i, j = 0, rank = x.meta.rank, m = out.meta.rank, numbers = 2 if is_complex(x.meta.dtype) else 1
    cdef Py_ssize_t size = 16 * numbers, pieces = min(x.meta.size // CHUNK, <Py_ssize_t> TF_MOST_PARTS)
    for i in range(rank):
        g.shape[i] = x.meta.dims[i]
        g.strides[0][i] = g.strides[2][i] = x.meta.dims[rank + i]
        if g.strides[0][i] == 0 and g.shape[i] > 1:
            return False
        if (axes >> i) & 1:
            g.strides[1][i] = 0
            j += keepdims
        else:
            g.strides[1][i] = out.meta.dims[m + j]
            j += 1
    g.data[0] = g.data[2] = x.data
    g.data[1] = out.data
    g.rank = coalesce(3, rank, g.shape, g.data, g.strides)
    g.axis, g.inside = -1, 1
    for i in range(g.rank - 1, -1, -1):
        g.to[i] = 0
        if g.strides[1][i]:
            g.to[i] = size
            size *= g.shape[i]
            continue
        g.inside *= <double> g.shape[i]
        if g.axis < 0 or g.shape[i] >= g.shape[g.axis] or g.shape[i] >= pieces:
            g.axis = i
    if g.axis < 0:
        return False
    g.inside /= <double> g.shape[g.axis]
    g.each = (g.shape[g.axis] + pieces - 1) // pieces
    g.count = (g.shape[g.axis] + g.each - 1) // g.each
    g.step = size
    g.to[g.rank] = 0
    if numbers == 2:
        g.shape[g.rank], g.strides[0][g.rank], g.to[g.rank] = 2, x.meta.itemsize // 2, 16
    return True


cdef void part_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    cdef Parts *g = <Parts *> arg
    cdef Py_ssize_t shape[66]
    cdef Py_ssize_t first = chunk * g.each
    cdef int i, rank = g.rank + (g.to[g.rank] != 0)
    for i in range(rank):
        shape[i] = g.shape[i]
    shape[g.axis] = min(g.each, g.shape[g.axis] - first)
    if tf_fold(g.f, rank, shape, g.strides[0], g.to, g.data[0] + first * g.strides[0][g.axis], g.memory + chunk * g.step,
               1, 0, 1, 1):
        g.error = -1


cdef void join_part(const Parts *g, const char *part, char *out, int dtype, double div) noexcept nogil:
    cdef Py_ssize_t last = g.shape[g.axis] - (g.count - 1) * g.each
    cdef double n = <double> g.each * g.inside, rest = <double> last * g.inside
    cdef double v = tf_join_moments(part, g.step, g.count, n, rest)
    if g.to[g.rank]:
        v += tf_join_moments(part + 16, g.step, g.count, n, rest)
    if dtype == D_F64:
        (<double *> out)[0] = v / div
    else:
        (<float *> out)[0] = <float> (v / div)


cdef void join_all(const Parts *g, int dtype, double div) noexcept nogil:
    """Result by result."""
    cdef Py_ssize_t at[64]
    cdef const char *part = g.memory
    cdef char *out = g.data[1]
    cdef int i
    for i in range(g.rank):
        at[i] = 0
    while True:
        join_part(g, part, out, dtype, div)
        i = g.rank - 1
        while i >= 0:
            if g.to[i]:
                at[i] += 1
                part += g.to[i]
                out += g.strides[1][i]
                if at[i] < g.shape[i]:
                    break
                part -= g.shape[i] * g.to[i]
                out -= g.shape[i] * g.strides[1][i]
                at[i] = 0
            i -= 1
        if i < 0:
            return


cdef int long_deviations(const Value *x, Value *out, unsigned long long axes, bint keepdims, double div) except -1:
    """Variances; 1 if they were computed."""
    cdef Parts g
    cdef int threads = current_threads()
    if x.meta.rank > 62 or not lay_parts(&g, x, out, axes, keepdims):
        return 0
    g.f, g.error = &tf_part_f64 if out.meta.dtype == D_F64 else &tf_part_f32, 0
    g.memory = <char *> malloc(g.count * g.step)
    if g.memory == NULL:
        raise MemoryError
    with nogil:
        parallel(threads, g.count, part_chunk, &g)
        if g.error == 0:
            join_all(&g, out.meta.dtype, div)
    free(g.memory)
    if g.error:
        raise MemoryError
    return 1


# ---- sums of exponentials --------------------------------------------------------------------------------------------

cdef int long_axis(const Value *x, unsigned long long axes, Py_ssize_t pieces) noexcept:
    """The slowest folded axis of enough elements, or else the longest one."""
    cdef int i, best = -1, rank = x.meta.rank
    cdef const Py_ssize_t *n = x.meta.dims
    for i in range(rank):
        if not (axes >> i) & 1:
            continue
        if best < 0:
            best = i
        elif n[i] >= pieces and n[best] >= pieces:
            if n[rank + i] * n[rank + i] > n[rank + best] * n[rank + best]:
                best = i
        elif n[i] > n[best]:
            best = i
    return best


cdef Meta *parted(const Meta *m, Py_ssize_t parts, Py_ssize_t step, int axis, Py_ssize_t length) except NULL:
    """m with a leading axis of parts; one of its own axes gets another length."""
    cdef Meta *w = meta_new(m.dtype, m.rank + 1)
    cdef int i
    w.dims[0], w.dims[w.rank] = parts, step
    for i in range(m.rank):
        w.dims[1 + i] = length if i == axis else m.dims[i]
        w.dims[w.rank + 1 + i] = m.dims[m.rank + i]
    return meta_finish(w)


cdef int fold_parts(Loop *loop, const Value *x, const Value *out, const Value *m, unsigned long long axes, bint keepdims,
                    int axis, Py_ssize_t parts, Py_ssize_t each) except -1:
    """Sums of parts of x, the first of which is at its data, into neighbouring blocks of out."""
    cdef Value v[3]
    cdef int i
    v[0], v[1], v[2] = x[0], out[0], m[0]
    v[0].meta = v[1].meta = v[2].meta = NULL
    try:
        v[0].meta = parted(x.meta, parts, each * x.meta.dims[x.meta.rank + axis], axis, each)
        v[1].meta = parted(out.meta, parts, out.meta.size * out.meta.itemsize, -1, 0)
        v[2].meta = parted(m.meta, parts, 0, -1, 0)
        with nogil:
            fold(loop, &v[0], &v[1], &v[2], axes << 1, keepdims)
    finally:
        for i in range(3):
            if v[i].meta != NULL:
                meta_drop(v[i].meta)
    return 0


cdef inline void add_blocks(real_t *out, const real_t *parts, Py_ssize_t size, Py_ssize_t count) noexcept nogil:
    cdef real_t column[TF_MOST_PARTS + 1]
    cdef Py_ssize_t i, k
    for k in range(size):
        for i in range(count):
            column[i] = parts[i * size + k]
        out[k] = block_sum(column, count)


cdef int long_sums(Loop *loop, const Value *x, Value *out, const Value *m, unsigned long long axes, bint keepdims) except -1:
    """Sums of a fold that starts from zero; 1 if they were computed."""
    cdef Py_ssize_t parts = min(x.meta.size // CHUNK, <Py_ssize_t> TF_MOST_PARTS), each, rest, bytes
    cdef int axis = long_axis(x, axes, parts)
    cdef Value v = x[0], to = out[0]
    if axis < 0 or x.meta.rank > 62:
        return 0
    parts = min(parts, x.meta.dims[axis])
    each = x.meta.dims[axis] // parts
    rest = x.meta.dims[axis] - parts * each
    bytes = (parts + 1) * out.meta.size * out.meta.itemsize
    to.data = <char *> malloc(bytes)
    if to.data == NULL:
        raise MemoryError
    try:
        memset(to.data, 0, bytes)
        fold_parts(loop, x, &to, m, axes, keepdims, axis, parts, each)
        if rest:
            v.data += parts * each * x.meta.dims[x.meta.rank + axis]
            to.data += parts * out.meta.size * out.meta.itemsize
            fold_parts(loop, &v, &to, m, axes, keepdims, axis, 1, rest)
            to.data -= parts * out.meta.size * out.meta.itemsize
        if out.meta.dtype == D_F64:
            add_blocks(<double *> out.data, <double *> to.data, out.meta.size, parts + (rest > 0))
        else:
            add_blocks(<float *> out.data, <float *> to.data, out.meta.size, parts + (rest > 0))
    finally:
        free(to.data)
    return 1
