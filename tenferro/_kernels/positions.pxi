
# Where along an axis, or among all elements, the largest or smallest one comes first.

ctypedef fused number_t:
    signed char
    short
    int
    long long
    unsigned char
    unsigned short
    unsigned int
    unsigned long long
    float
    double
    float complex
    double complex

ctypedef struct Find:
    int dtype
    Py_ssize_t n, step          # the axis; n is -1 when `k` is the position along it
    Py_ssize_t k


cdef inline void find_typed(number_t *tag, char **args, Py_ssize_t count, const Py_ssize_t *s, Find *f) noexcept nogil:
    """Operands x, the extreme value, its position. A NaN equals the value only if that is NaN, too."""
    cdef Py_ssize_t i, k
    cdef number_t a, b
    cdef char *x
    if f.n < 0:
        for i in range(count):
            a = (<number_t *> (args[0] + i * s[0]))[0]
            b = (<number_t *> (args[1] + i * s[1]))[0]
            if a == b or a != a:
                (<long long *> (args[2] + i * s[2]))[0] = f.k
        return
    for i in range(count):
        x = args[0] + i * s[0]
        b = (<number_t *> (args[1] + i * s[1]))[0]
        for k in range(f.n):
            a = (<number_t *> (x + k * f.step))[0]
            if a == b or a != a:
                (<long long *> (args[2] + i * s[2]))[0] = k
                break


cdef void find(char **args, const Py_ssize_t *n, const Py_ssize_t *s, void *data) noexcept nogil:
    cdef Find *f = <Find *> data
    if f.dtype == D_F64:
        find_typed(<double *> NULL, args, n[0], s, f)
    elif f.dtype == D_F32:
        find_typed(<float *> NULL, args, n[0], s, f)
    elif f.dtype == D_C64:
        find_typed(<float complex *> NULL, args, n[0], s, f)
    elif f.dtype == D_C128:
        find_typed(<double complex *> NULL, args, n[0], s, f)
    elif f.dtype == D_I64:
        find_typed(<long long *> NULL, args, n[0], s, f)
    elif f.dtype == D_I32:
        find_typed(<int *> NULL, args, n[0], s, f)
    elif f.dtype == D_I16:
        find_typed(<short *> NULL, args, n[0], s, f)
    elif f.dtype == D_I8:
        find_typed(<signed char *> NULL, args, n[0], s, f)
    elif f.dtype == D_U64:
        find_typed(<unsigned long long *> NULL, args, n[0], s, f)
    elif f.dtype == D_U32:
        find_typed(<unsigned int *> NULL, args, n[0], s, f)
    elif f.dtype == D_U16:
        find_typed(<unsigned short *> NULL, args, n[0], s, f)
    else:
        find_typed(<unsigned char *> NULL, args, n[0], s, f)


cdef void find_along(const Find *f, Loop *loop, int rank, const Py_ssize_t *shape, char **data,
                     Py_ssize_t (*strides)[64]) noexcept nogil:
    """Line by line, or all lines together from the end of the axis: the first position is written last."""
    cdef Find at = f[0]
    cdef char *moved[3]
    cdef Loop own = loop[0]
    own.data = &at
    if f.n >= 0:
        strided_loop(&own, 3, rank, shape, data, strides)
        return
    for at.k in range(f.k - 1, -1, -1):
        moved[0] = data[0] + at.k * f.step
        moved[1], moved[2] = data[1], data[2]
        strided_loop(&own, 3, rank, shape, moved, strides)


cdef void find_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    cdef Cut *c = <Cut *> arg
    cdef Py_ssize_t shape[64]
    cdef char *data[8]
    cut_out(c, chunk, shape, data)
    find_along(<Find *> c.more, c.loop, c.rank, shape, data, c.strides)


ctypedef struct Line:
    Find f
    char *x
    char *best
    Py_ssize_t first            # position that has been found


cdef void line_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    """Nothing is looked for behind what others have found."""
    cdef Line *w = <Line *> arg
    cdef Find f = w.f
    cdef Py_ssize_t one = 1, start = chunk * CHUNK
    cdef long long k = -1
    cdef char *args[3]
    cdef Py_ssize_t *strides = [0, 0, 0]
    if start >= tf_earliest(&w.first):
        return
    args[0], args[1], args[2] = w.x + start * f.step, w.best, <char *> &k
    f.n = min(<Py_ssize_t> CHUNK, f.n - start)
    find(args, &one, strides, &f)
    if k >= 0:
        tf_found_at(&w.first, start + k)


cdef void find_in_line(int threads, const Find *f, char **data) noexcept nogil:
    cdef Line w
    w.f, w.x, w.best, w.first = f[0], data[0], data[1], f.n
    parallel(threads, (f.n + CHUNK - 1) // CHUNK, line_chunk, &w)
    (<long long *> data[2])[0] = w.first


cdef void positions(int threads, const Value *x, const Value *best, const Value *out, int axis,
                    bint keepdims) noexcept nogil:
    """Write where along the axis x first equals `best`."""
    cdef Walk w
    cdef Cut c
    cdef Find f
    cdef Loop loop
    cdef int i, r = 0, j = 0, rank = x.meta.rank, m = out.meta.rank
    cdef Py_ssize_t chunks
    for i in range(rank):
        if i == axis:
            j += keepdims
            continue
        w.shape[r] = x.meta.dims[i]
        w.strides[0][r] = w.strides[3][r] = x.meta.dims[rank + i]
        w.strides[1][r] = best.meta.dims[m + j]
        w.strides[2][r] = out.meta.dims[m + j]
        r += 1
        j += 1
    w.data[0] = w.data[3] = x.data
    w.data[1] = best.data
    w.data[2] = out.data
    r = coalesce(4, r, w.shape, w.data, w.strides)
    loop.fn = find
    f.dtype, f.n, f.step = x.meta.dtype, x.meta.dims[axis], x.meta.dims[rank + axis]
    if r == 0 and threads > 1:
        find_in_line(threads, &f, w.data)
        return
    if r and w.shape[r - 1] >= SHORT and absolute(f.step) >= absolute(w.strides[0][r - 1]):
        f.k = f.n
        f.n = -1
    chunks = 1 if threads == 1 else cut(&c, threads, x.meta.size, 3, r, w.shape, w.data, w.strides, 0,
                                        1 if f.n >= 0 else APART)
    if chunks == 1:
        find_along(&f, &loop, r, w.shape, w.data, w.strides)
        return
    c.loop, c.more = &loop, &f
    parallel(threads, chunks, find_chunk, &c)


cdef int flat(Value *out, const Value *x) except -1:
    """x as one axis, in row-major order; a copy unless memory has that order."""
    cdef Value rows
    cdef Py_ssize_t size = x.meta.size
    if x.meta.flags & C_ORDER:
        value_copy(&rows, x)
    else:
        value_alloc(&rows, meta_compact(x.meta.dtype, x.meta.rank, x.meta.dims, True))
        copy(NULL, Op.COPY, x, 1, &rows, NULL)
    meta_drop(rows.meta)
    rows.meta = meta_compact(x.meta.dtype, 1, &size, True)
    out[0] = rows
    return 0


cdef int extreme(const Value *x, Value *out, int axis, bint keepdims, int op) except -1:
    cdef Value best
    cdef int threads
    value_alloc(&best, meta_like(out.meta, x.meta.dtype))
    try:
        maximum(x, &best, 1ULL << axis, keepdims, op)
        if x.meta.size < NOGIL_SIZE:
            positions(1, x, &best, out, axis, keepdims)
        else:
            threads = current_threads() if x.meta.size >= COMPUTED else 1
            with nogil:
                positions(threads, x, &best, out, axis, keepdims)
    finally:
        value_drop(&best)
    return 0


cdef int arg_extreme(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef int before
    if ins.meta.size < PARALLEL_SIZE:
        return arg_extreme_here(op, ins, out, params)
    before = swap_threads(threads_of(engine))
    try:
        return arg_extreme_here(op, ins, out, params)
    finally:
        swap_threads(before)


cdef int arg_extreme_here(int op, const Value *ins, Value *out, const Params *params) except -1:
    cdef int axis = <int> params.v[0]
    cdef Value line, one
    op = Op.MAXIMUM if op == Op.ARGMAX else Op.MINIMUM
    if ins.meta.size == 0:
        return 0
    if axis >= 0:
        return extreme(ins, out, axis, params.v[1], op)
    flat(&line, ins)
    one = out[0]                        # its data, seen as a scalar
    one.meta = meta_scalar(D_I64)
    try:
        extreme(&line, &one, 0, False, op)
    finally:
        value_drop(&line)
        meta_drop(one.meta)
    return 0
