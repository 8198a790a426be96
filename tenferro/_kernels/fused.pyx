"""One pass over a group of elementwise operations, block by block.

All operands are read and all results written once; what stays inside the group lives in a few blocks that fit the first-level
cache. Inner loops are those of the single operations, so a group gives their bits. Where it ends in sums, their order decides
which block comes when. How a group is described stands in ``tenferro/_core/fusion.pyx``.
"""

from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from .parallel cimport CHUNK, PARALLEL_SIZE, parallel, threads_of
from .reduce cimport folded_count, sum_made, tf_made, TF_MADE
from .ufunc cimport Loop, NOGIL_SIZE, broadcast_strides, find_loop

cdef enum:
    MAX_STEPS = 60
    MAX_EXTERNAL = 32           # inputs, results, tiles
    SCRATCH = 1 << 15           # bytes of all slots
    CACHED = 1 << 14            # bytes of one block of everything
    SHORTEST = 64               # elements of a block
    LONGEST = 1024

ctypedef struct Instruction:
    Loop *loop
    int n                       # operands, the result included
    int reg[4]
    Py_ssize_t stride[4]        # along the inner axis

ctypedef struct Pass:
    int n_steps, n_external, n_tiles, rank      # tiles are the last of the external ones
    Py_ssize_t block
    Py_ssize_t slot_bytes
    Instruction steps[MAX_STEPS]
    Py_ssize_t shape[64]
    Py_ssize_t strides[MAX_EXTERNAL][64]
    char *data[MAX_EXTERNAL]


cdef void plan_axes(Pass *p, const Value *ins, int n, const Value *outs, const Meta *m) noexcept nogil:
    """Axes by descending stride of the results, which m describes, merged where that is possible in all operands."""
    cdef Py_ssize_t strides[64]
    cdef int order[64]
    cdef int i, j, k, r = 0, whole = p.n_external - p.n_tiles
    cdef bint merge
    for i in range(m.rank):
        if m.dims[i] == 1:
            continue
        j = r
        while j > 0 and m.dims[m.rank + order[j - 1]] < m.dims[m.rank + i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
        r += 1
    for k in range(whole):
        broadcast_strides(ins[k].meta if k < n else outs[k - n].meta, m.rank, strides)
        p.data[k] = ins[k].data if k < n else outs[k - n].data
        for i in range(r):
            p.strides[k][i] = strides[order[i]]
    p.rank = 0
    for i in range(r):
        p.shape[i] = m.dims[order[i]]
    for i in range(1, r):
        j = p.rank
        merge = True
        for k in range(whole):
            if p.strides[k][j] != p.strides[k][i] * p.shape[i]:
                merge = False
        if merge:
            p.shape[j] *= p.shape[i]
        else:
            j = p.rank = p.rank + 1
            p.shape[j] = p.shape[i]
        for k in range(whole):
            p.strides[k][j] = p.strides[k][i]
    if r == 0:
        p.shape[0] = 1
        for k in range(whole):
            p.strides[k][0] = 0
    p.rank += 1
    for k in range(whole, p.n_external):
        p.strides[k][p.rank - 1] = m.itemsize


cdef int plan(Pass *p, const Value *ins, int n, const Value *outs, const Meta *m, const Params *params,
              int tiles) except -1:
    cdef const Py_ssize_t *code = &params.v[3]
    cdef Py_ssize_t itemsizes[32]
    cdef Instruction *s
    cdef Py_ssize_t bytes_each = 0, largest = 1
    cdef int i, k, r, n_slots = <int> params.v[1]
    p.n_steps = <int> params.v[0]
    p.n_tiles = tiles
    p.n_external = n + <int> params.v[2] + tiles
    plan_axes(p, ins, n, outs, m)
    for k in range(p.n_external):
        if p.strides[k][p.rank - 1]:
            bytes_each += (ins[k].meta if k < n else outs[k - n].meta if k < p.n_external - tiles else m).itemsize
    for i in range(p.n_steps):
        s = &p.steps[i]
        s.loop = find_loop(<int> code[0], <int> code[1])
        s.n = <int> code[2] + 1
        for k in range(s.n):
            r = s.reg[k] = <int> code[6 if k == s.n - 1 else 3 + k]
            if r < p.n_external:
                s.stride[k] = p.strides[r][p.rank - 1]
                continue
            if k == s.n - 1:
                itemsizes[r - p.n_external] = itemsize_of(s.loop.result)
                largest = max(largest, <Py_ssize_t> itemsize_of(s.loop.result))
            s.stride[k] = itemsizes[r - p.n_external]
        code += 7
    bytes_each += n_slots * largest
    p.block = min(<Py_ssize_t> LONGEST, max(<Py_ssize_t> SHORTEST, CACHED // max(<Py_ssize_t> 1, bytes_each) // 64 * 64))
    p.slot_bytes = p.block * largest
    return 0


cdef void run_row(const Pass *p, char **base, char *scratch, Py_ssize_t length) noexcept nogil:
    """All instructions on one stretch of the inner axis."""
    cdef const Instruction *s
    cdef char *at[MAX_EXTERNAL]
    cdef char *args[4]
    cdef Py_ssize_t m
    cdef int i, k, r
    for k in range(p.n_external):
        at[k] = base[k]
    while length > 0:
        m = min(length, p.block)
        for i in range(p.n_steps):
            s = &p.steps[i]
            for k in range(s.n):
                r = s.reg[k]
                args[k] = at[r] if r < p.n_external else scratch + (r - p.n_external) * p.slot_bytes
            s.loop.fn(args, &m, s.stride, s.loop.data)
        for k in range(p.n_external):
            at[k] += m * p.strides[k][p.rank - 1]
        length -= m


cdef void run(const Pass *p, int axis, Py_ssize_t first, Py_ssize_t length) noexcept nogil:
    """The part from `first` on of one of the axes, and all of the others."""
    cdef char memory[SCRATCH + 64]
    cdef char *scratch = <char *> ((<size_t> memory + 63) & ~<size_t> 63)
    cdef char *base[MAX_EXTERNAL]
    cdef Py_ssize_t at[64]
    cdef Py_ssize_t n
    cdef int i, k, last = p.rank - 1
    for k in range(p.n_external):
        base[k] = p.data[k] + first * p.strides[k][axis]
    for i in range(p.rank):
        at[i] = 0
    while True:
        run_row(p, base, scratch, length if axis == last else p.shape[last])
        i = last - 1
        while i >= 0:
            at[i] += 1
            for k in range(p.n_external):
                base[k] += p.strides[k][i]
            n = length if i == axis else p.shape[i]
            if at[i] < n:
                break
            for k in range(p.n_external):
                base[k] -= n * p.strides[k][i]
            at[i] = 0
            i -= 1
        if i < 0:
            return


ctypedef struct Shared:
    const Pass *p
    int axis
    Py_ssize_t each             # of the axis, for one chunk


cdef void run_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    cdef Shared *w = <Shared *> arg
    cdef Py_ssize_t first = chunk * w.each
    run(w.p, w.axis, first, min(w.each, w.p.shape[w.axis] - first))


cdef void share(const Pass *p, Py_ssize_t size, int threads) noexcept nogil:
    """Chunks of about equal size along the outermost axis, or the longest one if that is too short."""
    cdef Shared w
    cdef Py_ssize_t n
    cdef int i
    w.p = p
    w.axis = 0
    if p.shape[0] < size // CHUNK:
        for i in range(1, p.rank):
            if p.shape[i] > p.shape[w.axis]:
                w.axis = i
    n = p.shape[w.axis]
    w.each = max(<Py_ssize_t> 1, CHUNK // (size // n))
    if w.axis == p.rank - 1:
        w.each = (w.each + p.block - 1) // p.block * p.block
    parallel(threads, (n + w.each - 1) // w.each, run_chunk, &w)


# ---- sums at the end -------------------------------------------------------------------------------------------------

cdef void make(const void *work, Py_ssize_t first, Py_ssize_t count, Py_ssize_t at, char **tiles,
               char *scratch) noexcept nogil:
    """`count` elements from `first` on in the order of memory, those of a tile from its element `at` on."""
    cdef const Pass *p = <const Pass *> work
    cdef char *base[MAX_EXTERNAL]
    cdef Py_ssize_t index[64]
    cdef Py_ssize_t n, rest = first
    cdef int i, k, last = p.rank - 1, whole = p.n_external - p.n_tiles
    for k in range(whole):
        base[k] = p.data[k]
    for k in range(whole, p.n_external):
        base[k] = tiles[k - whole] + at * p.strides[k][last]
    for i in range(last, -1, -1):
        index[i] = rest % p.shape[i]
        rest //= p.shape[i]
        for k in range(whole):
            base[k] += index[i] * p.strides[k][i]
    while True:
        n = min(count, p.shape[last] - index[last])
        run_row(p, base, scratch, n)
        count -= n
        if count == 0:
            return
        for k in range(whole):
            base[k] -= index[last] * p.strides[k][last]
        for k in range(whole, p.n_external):
            base[k] += n * p.strides[k][last]
        index[last] = 0
        i = last - 1
        while i >= 0:
            index[i] += 1
            for k in range(whole):
                base[k] += p.strides[k][i]
            if index[i] < p.shape[i]:
                break
            for k in range(whole):
                base[k] -= p.shape[i] * p.strides[k][i]
            index[i] = 0
            i -= 1


cdef Meta *summed_meta(const Py_ssize_t *code) except NULL:
    """What is summed: dtype, rank, shape, strides."""
    cdef Meta *m = meta_new(<int> code[0], <int> code[1])
    cdef int i
    for i in range(2 * m.rank):
        m.dims[i] = code[2 + i]
    return meta_finish(m)


cdef int fused_sums(PyObject *engine, const Value *ins, int n, Value *outs, const Params *params,
                    const Py_ssize_t *code) except -1:
    cdef Pass p
    cdef tf_made made
    cdef double div[TF_MADE]
    cdef int k, r, error, threads = 1, whole = n + <int> params.v[2]
    cdef const Py_ssize_t *common = code + 1 + 3 * code[0]
    cdef unsigned long long axes = <unsigned long long> common[0]
    cdef bint keepdims = code[3]
    cdef Meta *m = summed_meta(common + 2)
    try:
        plan(&p, ins, n, outs, m, params, <int> common[1])
        made.make, made.work, made.item, made.scratch = make, &p, m.itemsize, (params.v[1] * p.slot_bytes + 63) // 64 * 64
        made.sums, made.tiles = <int> code[0], p.n_tiles
        for k in range(made.sums):
            r = <int> code[2 + 3 * k]
            made.whole[k] = p.data[r] if r < whole else NULL
            made.tile[k] = r - whole
            div[k] = <double> folded_count(m, axes) if code[1 + 3 * k] == Op.REDUCE_MEAN else 1
        outs += params.v[2]
        if m.size < NOGIL_SIZE:
            error = sum_made(1, &made, m, outs, axes, keepdims, div)
        else:
            threads = threads_of(engine)
            with nogil:
                error = sum_made(threads, &made, m, outs, axes, keepdims, div)
    finally:
        meta_drop(m)
    if error:
        raise MemoryError
    return 0


cdef int fused(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef Pass p
    cdef Py_ssize_t size = out.meta.size, steps = 3 + 7 * params.v[0]
    cdef int threads
    if params.n > steps:
        return fused_sums(engine, ins, n, out, params, &params.v[steps])
    if size == 0:
        return 0
    plan(&p, ins, n, out, out.meta, params, 0)
    if size < NOGIL_SIZE:
        run(&p, 0, 0, p.shape[0])
        return 0
    threads = threads_of(engine) if size >= PARALLEL_SIZE else 1
    with nogil:
        if threads > 1:
            share(&p, size, threads)
        else:
            run(&p, 0, 0, p.shape[0])
    return 0
