"""Windows of a tensor (slices, diagonals) and the operations that fill them: a background, then strided copies."""

from libc.string cimport memset

from tenferro._core.memory cimport meta_drop, meta_finish, meta_new
from tenferro._core.optable cimport Op
from .copy cimport cast, copy, strided_copy
from .ufunc cimport NOGIL_SIZE

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
    void tf_embed(Window *w, char *dst) noexcept nogil

cdef enum:
    PART_BYTES = 262144         # of a result that is written by several copies
    JOINED_IN_PARTS = 64        # inputs up to which that is of use


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


cdef inline void clear(Value *out) noexcept:
    memset(out.data, 0, out.meta.size * out.meta.itemsize)


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


cdef void join(const Value *ins, int n, Value *out, int axis, bint stacked, const Py_ssize_t *at) noexcept nogil:
    """All inputs, part by part of the slowest axis: a line of the result is still near when the next input adds to it."""
    cdef int i, along = axis, r = out.meta.rank
    cdef Py_ssize_t lo = 0, hi, step, length = 1
    for i in range(r):
        if out.meta.dims[i] > 1 and out.meta.dims[r + i] > out.meta.dims[r + along]:
            along = i
    if along != axis:
        length = out.meta.dims[along]
    step = length
    if along != axis and n <= JOINED_IN_PARTS:
        step = min(length, max(1, PART_BYTES // out.meta.dims[r + along]))
    while lo < length:
        hi = min(length, lo + step)
        for i in range(n):
            if ins[i].meta.size:
                place(&ins[i], out, axis, stacked, at[i], -1 if along == axis else along, lo, hi)
        lo = hi


cdef int join_casting(const Value *ins, int n, Value *out, int axis, bint stacked, const Py_ssize_t *at) except -1:
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
        fill(NULL, &ins[i], out, w, at[i] * out.meta.dims[r + axis])
    return 0


cdef int concatenate(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """Parameters: the axis, whether it is new, the place of each input along it."""
    cdef int axis = <int> params.v[0], i
    for i in range(n):
        if ins[i].meta.dtype != out.meta.dtype:
            return join_casting(ins, n, out, axis, params.v[1], params.v + 2)
    if out.meta.size < NOGIL_SIZE:
        join(ins, n, out, axis, params.v[1], params.v + 2)
    else:
        with nogil:
            join(ins, n, out, axis, params.v[1], params.v + 2)
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


cdef void embed(Window *w, Value *out) noexcept:
    if out.meta.size < NOGIL_SIZE:
        tf_embed(w, out.data)
    else:
        with nogil:
            tf_embed(w, out.data)


cdef int unslice(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef const Py_ssize_t *axes = params.v + 2
    cdef Py_ssize_t r = params.v[0], q = params.v[1], k, j
    cdef Window w
    if out.meta.size == 0:
        return 0
    if ins[0].meta.size == 0:
        clear(out)
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
    embed(&w, out)
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
        clear(out)
        return 0
    begin(&w, &ins[0], out)
    for k in range(r):
        w.count[k] = ins[0].meta.dims[k]
        w.s[k] = ins[0].meta.dims[r + k]
        w.start[k] = start_at(&ins[1], k, w.n[k] - w.count[k])
    embed(&w, out)
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
    embed(&w, out)
    return 0


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


cdef int triangle(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """Row by row, or column by column if columns are contiguous; every other axis is copied along with a row."""
    cdef int r = out.meta.rank, across, along
    cdef Py_ssize_t k = params.v[0], length, i, lo, hi
    cdef bint lower = op == Op.TRIL, rows = out.meta.dims[2 * r - 1] <= out.meta.dims[2 * r - 2]
    cdef Value src, dst
    clear(out)
    if out.meta.size == 0:
        return 0
    across = r - 2 if rows else r - 1           # the axis that is stepped through
    along = r - 1 if rows else r - 2
    length = out.meta.dims[along]
    k = max(-out.meta.dims[r - 2], min(k, out.meta.dims[r - 1]))
    if not rows:
        k = -k
        lower = not lower
    src = ins[0]
    dst = out[0]
    src.meta = meta_new(out.meta.dtype, r - 1)
    try:
        dst.meta = meta_new(out.meta.dtype, r - 1)
        line_of(ins[0].meta, across, src.meta)
        line_of(out.meta, across, dst.meta)
        for i in range(out.meta.dims[across]):
            lo = 0 if lower else max(0, i + k)
            hi = min(length, i + k + 1) if lower else length
            if lo >= hi:
                continue
            src.meta.dims[r - 2] = dst.meta.dims[r - 2] = hi - lo
            src.data = ins[0].data + i * ins[0].meta.dims[r + across] + lo * ins[0].meta.dims[r + along]
            dst.data = out.data + i * out.meta.dims[r + across] + lo * out.meta.dims[r + along]
            cast(NULL, Op.CAST, &src, 1, &dst, NULL)
        meta_drop(dst.meta)
    finally:
        meta_drop(src.meta)
    return 0


cdef int embed_diag(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """Parameters: the offset and the two axes."""
    cdef Meta *w = meta_new(out.meta.dtype, out.meta.rank - 1)
    cdef Py_ssize_t offset = diagonal(out.meta, params.v[0], params.v[1], params.v[2], w)
    clear(out)
    return fill(engine, &ins[0], out, w, offset)
