"""Windows of a tensor (slices, diagonals) and the operations that fill them: a background, then strided copies."""

from libc.string cimport memcpy, memset

from tenferro._core.memory cimport meta_drop, meta_finish, meta_new
from tenferro._core.optable cimport Op
from .copy cimport cast, copy, strided_copy
from .parallel cimport CHUNK, parallel, threads_of
from .ufunc cimport Loop, NOGIL_SIZE, strided_loop

cdef extern from "window.h":
    ctypedef struct Window "tf_window":
        int rank, item
        Py_ssize_t n[64]
        Py_ssize_t d[64]
        Py_ssize_t start[64]
        Py_ssize_t step[64]
        Py_ssize_t count[64]
        Py_ssize_t s[64]
        const char *src
        const char *background
    ctypedef struct Division "tf_division":
        Py_ssize_t units, bytes
    bint tf_begin_embed(Window *w, char *dst, Division *v) noexcept nogil
    void tf_run(char *dst, const char *src, size_t n, bint stream) noexcept nogil
    void tf_fence() noexcept nogil
    enum: TF_STREAM_ROWS
    void tf_embed(const Window *w, const Division *v, char *dst, Py_ssize_t first, Py_ssize_t last) noexcept nogil

cdef enum:
    PART_BYTES = 262144         # of a result that is written by several copies
    JOINED_IN_PARTS = 64        # inputs up to which that is of use


include "cuts.pxi"


cdef int fill(PyObject *engine, const Value *src, Value *out, Meta *w, Py_ssize_t offset) except -1:
    """Copy src into the window w of out, in out's dtype; steals w."""
    cdef Value dst
    try:
        dst.meta = meta_finish(w)
        dst.buf = out.buf
        dst.data = out.data + offset
        if src.meta.dtype == w.dtype:
            copy(engine, Op.COPY, src, 1, &dst, NULL)
        else:
            cast(engine, Op.CAST, src, 1, &dst, NULL)
    finally:
        meta_drop(w)
    return 0


cdef void place(const Value *x, Value *out, int axis, bint stacked, Py_ssize_t at, int along, Py_ssize_t lo,
                Py_ssize_t hi) noexcept nogil:
    """Copy the part [lo, hi) of an input, along one axis of the result, to where it belongs."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t to[64]
    cdef int j, k = 0, r = out.meta.rank, q = x.meta.rank
    cdef const char *src = x.data
    cdef char *dst = out.data + at * out.meta.dims[r + axis]
    for j in range(r):
        if stacked and j == axis:
            continue
        shape[k] = x.meta.dims[k]
        to[k] = out.meta.dims[r + j]
        if j == along:
            shape[k] = hi - lo
            src += lo * x.meta.dims[q + k]
            dst += lo * to[k]
        k += 1
    strided_copy(out.meta.itemsize, k, shape, src, x.meta.dims + q, dst, to)


ctypedef struct Joined:
    const Value *ins
    int n, axis
    bint stacked
    Value *out
    const Py_ssize_t *at        # the place of each input along the axis
    int along                   # the axis that is cut
    Py_ssize_t each


cdef bint in_one_piece(const Joined *g, const Meta *x) noexcept nogil:
    """Whether the memory of an input becomes a piece of the result's, which is cut along its slowest axis."""
    cdef int i, r = x.rank
    if g.stacked or not x.flags & DENSE:
        return False
    for i in range(r):
        if x.dims[r + i] != g.out.meta.dims[r + i] or x.dims[r + i] > x.dims[r + g.axis]:
            return False
    return True


cdef void join_inputs(const Joined *g, Py_ssize_t lo, Py_ssize_t hi) noexcept nogil:
    """What of the inputs lies in [lo, hi) along the axis at which they meet."""
    cdef Py_ssize_t first, last, length, step = g.out.meta.dims[g.out.meta.rank + g.axis]
    cdef bint stream = g.out.meta.size >= TF_STREAM_ROWS // g.out.meta.itemsize
    cdef int i
    for i in range(g.n):
        length = 1 if g.stacked else g.ins[i].meta.dims[g.axis]
        first, last = max(lo - g.at[i], 0), min(hi - g.at[i], length)
        if first >= last or g.ins[i].meta.size == 0:
            continue
        if stream and in_one_piece(g, g.ins[i].meta):
            tf_run(g.out.data + (g.at[i] + first) * step, g.ins[i].data + first * step, (last - first) * step, True)
            tf_fence()
        else:
            place(&g.ins[i], g.out, g.axis, g.stacked, g.at[i], g.axis, first, last)


cdef void join_parts(const Joined *g, Py_ssize_t lo, Py_ssize_t length) noexcept nogil:
    """All inputs, part by part of another axis: a line of the result is still near when the next input adds to it."""
    cdef Py_ssize_t hi, step = length - lo
    cdef int i
    if g.n <= JOINED_IN_PARTS:
        step = max(1, PART_BYTES // g.out.meta.dims[g.out.meta.rank + g.along])
    while lo < length:
        hi = min(length, lo + step)
        for i in range(g.n):
            if g.ins[i].meta.size:
                place(&g.ins[i], g.out, g.axis, g.stacked, g.at[i], g.along, lo, hi)
        lo = hi


cdef void join_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    cdef Joined *g = <Joined *> arg
    cdef Py_ssize_t lo = chunk * g.each, hi = min(g.out.meta.dims[g.along], lo + g.each)
    if g.along == g.axis:
        join_inputs(g, lo, hi)
    else:
        join_parts(g, lo, hi)


cdef void join(int threads, Joined *g) noexcept nogil:
    """Cut along the slowest axis of the result, or, for threads, along the slowest one that is long enough."""
    cdef Py_ssize_t *n = g.out.meta.dims
    cdef Py_ssize_t *step = n + g.out.meta.rank
    cdef Py_ssize_t pieces = 1 if threads == 1 else min(g.out.meta.size // CHUNK, <Py_ssize_t> (CUTS * threads))
    cdef int i
    g.along = g.axis
    for i in range(g.out.meta.rank):
        if n[i] >= pieces and n[g.along] >= pieces:
            if n[i] > 1 and step[i] > step[g.along]:
                g.along = i
        elif n[i] > n[g.along]:
            g.along = i
    g.each = n[g.along]
    if pieces == 1:
        join_chunk(g, 0, 0)
        return
    g.each = (g.each + pieces - 1) // pieces
    parallel(threads, (n[g.along] + g.each - 1) // g.each, join_chunk, g)


cdef int join_casting(PyObject *engine, const Value *ins, int n, Value *out, int axis, bint stacked,
                      const Py_ssize_t *at) except -1:
    """As join, for inputs of other dtypes than the result's."""
    cdef int i, j, k, r = out.meta.rank, q = r - 1 if stacked else r
    cdef Meta *w
    for i in range(n):
        if ins[i].meta.size == 0:
            continue
        w = meta_new(out.meta.dtype, q)
        k = 0
        for j in range(r):
            if j == axis and q < r:
                continue
            w.dims[k] = ins[i].meta.dims[k]
            w.dims[q + k] = out.meta.dims[r + j]
            k += 1
        fill(engine, &ins[i], out, w, at[i] * out.meta.dims[r + axis])
    return 0


cdef int concatenate(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """Parameters: the axis, whether it is new, the place of each input along it."""
    cdef int axis = <int> params.v[0], i, threads
    cdef Joined g
    for i in range(n):
        if ins[i].meta.dtype != out.meta.dtype:
            return join_casting(engine, ins, n, out, axis, params.v[1], params.v + 2)
    if out.meta.size == 0:
        return 0
    g.ins, g.n, g.axis, g.stacked, g.out = ins, n, axis, params.v[1], out
    g.at = params.v + 2
    if out.meta.size < NOGIL_SIZE:
        join(1, &g)
    else:
        threads = threads_for(engine, out.meta.size, MOVED)
        with nogil:
            join(threads, &g)
    return 0


cdef void begin(Window *w, const Value *src, const Value *out) noexcept:
    """A window of one element; its axes are to be filled in."""
    cdef int k, r = out.meta.rank
    w.rank = r
    w.item = out.meta.itemsize
    w.src = src.data
    w.background = NULL
    for k in range(r):
        w.n[k] = out.meta.dims[k]
        w.d[k] = out.meta.dims[r + k]
        w.start[k] = 0
        w.step[k] = 1
        w.count[k] = 1
        w.s[k] = 0


ctypedef struct Embedded:
    const Window *w
    Division v
    char *dst
    Py_ssize_t each


cdef void embed_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    cdef Embedded *g = <Embedded *> arg
    tf_embed(g.w, &g.v, g.dst, chunk * g.each, min(g.v.units, (chunk + 1) * g.each))


cdef void embed_all(int threads, Window *w, Value *out) noexcept nogil:
    cdef Embedded g
    cdef Py_ssize_t pieces = min(out.meta.size // CHUNK, <Py_ssize_t> (CUTS * threads))
    if not tf_begin_embed(w, out.data, &g.v):
        return
    if threads == 1 or pieces < 2:
        tf_embed(w, &g.v, out.data, 0, g.v.units)
        return
    g.w, g.dst = w, out.data
    g.each = (g.v.units + pieces - 1) // pieces
    parallel(threads, (g.v.units + g.each - 1) // g.each, embed_chunk, &g)


cdef void embed(PyObject *engine, Window *w, Value *out) noexcept:
    cdef int threads
    if out.meta.size < NOGIL_SIZE:
        embed_all(1, w, out)
    else:
        threads = threads_for(engine, out.meta.size, MOVED)
        with nogil:
            embed_all(threads, w, out)


cdef int unslice(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef const Py_ssize_t *axes = params.v + 2
    cdef Py_ssize_t r = params.v[0], q = params.v[1], k, j
    cdef Window w
    if out.meta.size == 0:
        return 0
    if ins[0].meta.size == 0:
        wipe(engine, out)
        return 0
    begin(&w, &ins[0], out)
    for k in range(r):
        w.start[k] = axes[3 * k]
        w.step[k] = axes[3 * k + 1]
        w.count[k] = axes[3 * k + 2]
        if w.step[k] == 0:
            w.step[k] = 1
    for j in range(q):
        k = axes[3 * r + j]
        if k >= 0:
            w.s[k] = ins[0].meta.dims[q + j]
    embed(engine, &w, out)
    return 0


cdef Py_ssize_t start_at(const Value *starts, int i, Py_ssize_t limit) noexcept:
    """The i-th start, clamped so that the window fits; starts are int64 or uint64."""
    cdef const char *p = starts.data + i * starts.meta.dims[1]
    if starts.meta.dtype == D_U64:
        return <Py_ssize_t> min((<const unsigned long long *> p)[0], <unsigned long long> limit)
    return max(0, min((<const Py_ssize_t *> p)[0], limit))


cdef Meta *window_at(const Value *starts, const Meta *m, const Py_ssize_t *sizes, Py_ssize_t *offset) except NULL:
    cdef int i, r = m.rank
    cdef Meta *w = meta_new(m.dtype, r)
    offset[0] = 0
    for i in range(r):
        w.dims[i] = sizes[i]
        w.dims[r + i] = m.dims[r + i]
        offset[0] += start_at(starts, i, m.dims[i] - sizes[i]) * m.dims[r + i]
    return w


cdef int dynamic_slice(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef Py_ssize_t offset
    cdef Value src = ins[0]
    if out.meta.size == 0:
        return 0
    src.meta = window_at(&ins[1], ins[0].meta, out.meta.dims, &offset)
    src.data += offset
    try:
        meta_finish(src.meta)
        return copy(engine, Op.COPY, &src, 1, out, NULL)
    finally:
        meta_drop(src.meta)


cdef int dynamic_unslice(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef int k, r = out.meta.rank
    cdef Window w
    if out.meta.size == 0:
        return 0
    if ins[0].meta.size == 0:
        wipe(engine, out)
        return 0
    begin(&w, &ins[0], out)
    for k in range(r):
        w.count[k] = ins[0].meta.dims[k]
        w.s[k] = ins[0].meta.dims[r + k]
        w.start[k] = start_at(&ins[1], k, w.n[k] - w.count[k])
    embed(engine, &w, out)
    return 0


cdef int pad(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """Parameters: the widths before and after, axis by axis."""
    cdef int k, r = out.meta.rank
    cdef Window w
    cdef Value value
    cdef double cell[2]
    if out.meta.size == 0:
        return 0
    if ins[0].meta.size == 0:
        return cast(engine, Op.CAST, &ins[1], 1, out, NULL)
    value.meta = meta_finish(meta_new(out.meta.dtype, 0))
    value.buf = NULL
    value.data = <char *> cell
    try:
        cast(NULL, Op.CAST, &ins[1], 1, &value, NULL)
    finally:
        meta_drop(value.meta)
    begin(&w, &ins[0], out)
    for k in range(r):
        w.count[k] = ins[0].meta.dims[k]
        w.s[k] = ins[0].meta.dims[r + k]
        w.start[k] = params.v[2 * k]
    w.background = <char *> cell
    embed(engine, &w, out)
    return 0


include "triangles.pxi"


cdef int embed_diag(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """Parameters: the offset and the two axes."""
    cdef Meta *w = meta_new(out.meta.dtype, out.meta.rank - 1)
    cdef Py_ssize_t offset = diagonal(out.meta, params.v[0], params.v[1], params.v[2], w)
    wipe(engine, out)
    return fill(engine, &ins[0], out, w, offset)
