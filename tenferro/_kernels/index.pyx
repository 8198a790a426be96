"""Gathers and scatters along index arrays.

An index array becomes two tables of byte offsets, one into the indexed tensor and one into the tensor that carries an
element (or a block of elements) for each index; what remains is moving or adding elements between the two.
"""

from libc.string cimport memcpy, memset

from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op, op_name
from . cimport copy as copies
from .parallel cimport CHUNK, parallel, threads_of
from .ufunc cimport Loop, NOGIL_SIZE, coalesce, strided_loop

from tenferro.errors import AxisError, OutOfMemoryError

cdef extern from "earliest.h":
    Py_ssize_t tf_earliest(const Py_ssize_t *best) noexcept nogil
    void tf_found_at(Py_ssize_t *best, Py_ssize_t at) noexcept nogil


include "cuts.pxi"


# Moves or adds n elements to dst from src, at the offsets of two tables or in two strides.
ctypedef void (*table_t)(char *dst, const char *src, Py_ssize_t n, const Py_ssize_t *to,
                         const Py_ssize_t *at) noexcept nogil
ctypedef void (*row_t)(char *dst, const char *src, Py_ssize_t n, Py_ssize_t to, Py_ssize_t at) noexcept nogil

ctypedef struct Mover:
    table_t table
    row_t row
    int itemsize

cdef int out_of_range(int op, Py_ssize_t index, Py_ssize_t size, Py_ssize_t axis) except -1:
    name = "index" if op == Op.FLAT_INDEX else op_name(op)
    where = "the flattened tensor" if axis < 0 else f"axis {axis}"
    legal = f"use -{size} to {size - 1}" if size else "nothing can be taken from an empty axis"
    raise AxisError(f"{name}: index {index} is out of bounds for {where} of size {size}; {legal}", op=name,
                    argument="indices", expected=f"-{size} <= index < {size}", actual=index)


# ---- elements --------------------------------------------------------------------------------------------------------

cdef void set_table(word *dst, const char *src, Py_ssize_t n, const Py_ssize_t *to,
                    const Py_ssize_t *at) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        (<word *> (<char *> dst + to[j]))[0] = (<const word *> (src + at[j]))[0]


cdef void set_row(word *dst, const char *src, Py_ssize_t n, Py_ssize_t to, Py_ssize_t at) noexcept nogil:
    cdef Py_ssize_t j
    if to == sizeof(word) and at == sizeof(word):
        memcpy(dst, src, n * sizeof(word))
        return
    for j in range(n):
        (<word *> (<char *> dst + j * to))[0] = (<const word *> (src + j * at))[0]


cdef void add_table(number *dst, const char *src, Py_ssize_t n, const Py_ssize_t *to,
                    const Py_ssize_t *at) noexcept nogil:
    cdef Py_ssize_t j
    cdef number *y
    for j in range(n):
        y = <number *> (<char *> dst + to[j])
        y[0] = y[0] + (<const number *> (src + at[j]))[0]


cdef void add_row(number *dst, const char *src, Py_ssize_t n, Py_ssize_t to, Py_ssize_t at) noexcept nogil:
    cdef Py_ssize_t j
    cdef number *y
    if to == sizeof(number) and at == sizeof(number):
        for j in range(n):
            dst[j] = dst[j] + (<const number *> src)[j]
        return
    for j in range(n):
        y = <number *> (<char *> dst + j * to)
        y[0] = y[0] + (<const number *> (src + j * at))[0]


cdef void or_table(char *dst, const char *src, Py_ssize_t n, const Py_ssize_t *to, const Py_ssize_t *at) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        dst[to[j]] = dst[to[j]] | src[at[j]]


cdef void or_row(char *dst, const char *src, Py_ssize_t n, Py_ssize_t to, Py_ssize_t at) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(n):
        dst[j * to] = dst[j * to] | src[j * at]


cdef Mover setter(int itemsize) noexcept:
    cdef Mover m
    m.itemsize = itemsize
    if itemsize == 1:
        m.table, m.row = <table_t> set_table[uint8_t], <row_t> set_row[uint8_t]
    elif itemsize == 2:
        m.table, m.row = <table_t> set_table[uint16_t], <row_t> set_row[uint16_t]
    elif itemsize == 4:
        m.table, m.row = <table_t> set_table[uint32_t], <row_t> set_row[uint32_t]
    elif itemsize == 8:
        m.table, m.row = <table_t> set_table[uint64_t], <row_t> set_row[uint64_t]
    else:
        m.table, m.row = <table_t> set_table[Pair], <row_t> set_row[Pair]
    return m


cdef Mover adder(const Meta *meta) noexcept:
    """Integers are added as unsigned ones, which wrap."""
    cdef Mover m
    m.itemsize = meta.itemsize
    if meta.dtype == D_BOOL:
        m.table, m.row = or_table, or_row
    elif meta.dtype == D_F32:
        m.table, m.row = <table_t> add_table[float], <row_t> add_row[float]
    elif meta.dtype == D_F64:
        m.table, m.row = <table_t> add_table[double], <row_t> add_row[double]
    elif meta.dtype == D_C64:
        m.table, m.row = <table_t> add_table[floatcomplex], <row_t> add_row[floatcomplex]
    elif meta.dtype == D_C128:
        m.table, m.row = <table_t> add_table[doublecomplex], <row_t> add_row[doublecomplex]
    elif meta.itemsize == 1:
        m.table, m.row = <table_t> add_table[uint8_t], <row_t> add_row[uint8_t]
    elif meta.itemsize == 2:
        m.table, m.row = <table_t> add_table[uint16_t], <row_t> add_row[uint16_t]
    elif meta.itemsize == 4:
        m.table, m.row = <table_t> add_table[uint32_t], <row_t> add_row[uint32_t]
    else:
        m.table, m.row = <table_t> add_table[uint64_t], <row_t> add_row[uint64_t]
    return m


# ---- several axes indexed by one array -------------------------------------------------------------------------------

ctypedef struct Plan:
    int k                           # indexed axes, merged where possible
    Py_ssize_t size                 # product of their sizes
    Py_ssize_t dims[64]
    Py_ssize_t steps[64]
    int rank                        # axes that are left
    Py_ssize_t shape[64]
    Py_ssize_t strides[2][64]       # of the source, of the destination
    char *data[2]


cdef void make_plan(Plan *p, const Value *whole, const Value *block, int idx_rank, const Params *params,
                    bint to_block) noexcept nogil:
    cdef int rank = whole.meta.rank, k = <int> params.v[1], pos = <int> params.v[0], i, j, a
    cdef unsigned long long named = 0
    cdef int w = 0 if to_block else 1
    p.k = 0
    p.size = 1
    for i in range(k):
        a = <int> params.v[2 + i]
        named |= 1ULL << a
        p.size *= whole.meta.dims[a]
        if p.k and p.steps[p.k - 1] == whole.meta.dims[a] * whole.meta.dims[rank + a]:
            p.dims[p.k - 1] *= whole.meta.dims[a]
        else:
            p.dims[p.k] = whole.meta.dims[a]
            p.k += 1
        p.steps[p.k - 1] = whole.meta.dims[rank + a]
    j = 0
    for i in range(rank):
        if not (named >> i) & 1:
            p.shape[j] = whole.meta.dims[i]
            p.strides[w][j] = whole.meta.dims[rank + i]
            a = j if j < pos else j + idx_rank
            p.strides[1 - w][j] = block.meta.dims[block.meta.rank + a]
            j += 1
    p.data[w] = whole.data
    p.data[1 - w] = block.data
    p.rank = coalesce(2, j, p.shape, p.data, p.strides)


cdef void fill_tables(Plan *p, const Value *idx, const Value *block, int pos, Py_ssize_t first, Py_ssize_t last,
                      Py_ssize_t *whole_at, Py_ssize_t *block_at, Bad *bad) noexcept nogil:
    """Byte offsets for indices first to last - 1, in row-major order of the index array."""
    cdef int rank = idx.meta.rank, i
    cdef const Py_ssize_t *d = idx.meta.dims
    cdef const Py_ssize_t *s = idx.meta.dims + rank
    cdef const Py_ssize_t *b = block.meta.dims + block.meta.rank + pos
    cdef Py_ssize_t at[64]
    cdef const char *q = idx.data
    cdef Py_ssize_t j, f, offset, o = 0
    if rank == 1 and p.k == 1:
        for j in range(first, last):
            f = wrapped(q + j * s[0], p.size, bad)
            whole_at[j] = f * p.steps[0]
            block_at[j] = j * b[0]
        return
    j = first
    for i in range(rank - 1, -1, -1):
        at[i] = j % d[i]
        q += at[i] * s[i]
        o += at[i] * b[i]
        j //= d[i]
    for j in range(first, last):
        f = (<const int64_t *> q)[0]
        if f < 0:
            f += p.size
        if f < 0 or f >= p.size:
            bad.found = True
            bad.index = (<const int64_t *> q)[0]
            return
        offset = 0
        for i in range(p.k - 1, 0, -1):
            offset += f % p.dims[i] * p.steps[i]
            f //= p.dims[i]
        whole_at[j] = offset + f * p.steps[0] if p.k else 0
        block_at[j] = o
        for i in range(rank - 1, -1, -1):
            at[i] += 1
            q += s[i]
            o += b[i]
            if at[i] < d[i]:
                break
            at[i] = 0
            q -= s[i] * d[i]
            o -= b[i] * d[i]


cdef void move(Plan *p, Mover *m, Py_ssize_t n, const Py_ssize_t *to, const Py_ssize_t *at) noexcept nogil:
    """For every index all elements of its block: block by block where blocks are long rows, else index by index."""
    cdef int rank = p.rank, outer, i
    cdef Py_ssize_t length = p.shape[rank - 1] if rank else 1
    cdef Py_ssize_t count[64]
    cdef char *src = p.data[0]
    cdef char *dst = p.data[1]
    cdef Py_ssize_t j, sa = 0, sb = 0
    cdef bint rows = rank > 0 and length > n
    if rank:
        sa = p.strides[0][rank - 1]
        sb = p.strides[1][rank - 1]
        rows = rows or (length * m.itemsize >= 32 and sa == m.itemsize and sb == m.itemsize)
    outer = rank - 1 if rows else rank
    memset(count, 0, sizeof(count))
    while True:
        if rows:
            for j in range(n):
                m.row(dst + to[j], src + at[j], length, sb, sa)
        else:
            m.table(dst, src, n, to, at)
        i = outer - 1
        while i >= 0:
            count[i] += 1
            src += p.strides[0][i]
            dst += p.strides[1][i]
            if count[i] < p.shape[i]:
                break
            src -= p.strides[0][i] * p.shape[i]
            dst -= p.strides[1][i] * p.shape[i]
            count[i] = 0
            i -= 1
        if i < 0:
            return


cdef enum:
    PER_INDEX = 4               # what an index costs, in elements that are moved

ctypedef struct Shared:
    Plan *p
    Mover *m
    const Value *idx
    const Value *block
    int pos, axis
    Py_ssize_t n, each
    Py_ssize_t *to
    Py_ssize_t *at
    Py_ssize_t bad              # a place before which no index is out of range


cdef void indices_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    """All elements for some of the indices."""
    cdef Shared *w = <Shared *> arg
    cdef Py_ssize_t first = chunk * w.each, last = min(w.n, first + w.each)
    cdef Bad bad
    bad.found = False
    fill_tables(w.p, w.idx, w.block, w.pos, first, last, w.at, w.to, &bad)
    if bad.found:
        tf_found_at(&w.bad, first)
    else:
        move(w.p, w.m, last - first, w.to + first, w.at + first)


cdef void elements_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    """Some of the elements for all indices, in their order."""
    cdef Shared *w = <Shared *> arg
    cdef Plan p = w.p[0]
    cdef Py_ssize_t first = chunk * w.each
    p.shape[w.axis] = min(w.each, w.p.shape[w.axis] - first)
    p.data[0] += first * p.strides[0][w.axis]
    p.data[1] += first * p.strides[1][w.axis]
    move(&p, w.m, w.n, w.to, w.at)


cdef inline Py_ssize_t absolute(Py_ssize_t x) noexcept nogil:
    return -x if x < 0 else x


cdef bint by_indices(const Plan *p, const Value *idx, const Value *block, int pos, Py_ssize_t pieces) noexcept nogil:
    """Whether the indices are what runs slowest in the block."""
    cdef Py_ssize_t step = block.meta.dims[block.meta.rank + pos] if idx.meta.rank else 0
    if idx.meta.size < pieces:
        return False
    return p.rank == 0 or p.shape[0] < pieces or absolute(step) > absolute(p.strides[1][0])


cdef void run(int threads, Plan *p, Mover *m, const Value *idx, const Value *block, int pos, Py_ssize_t *table,
              bint to_block, Bad *bad) noexcept nogil:
    cdef Cut c
    cdef Shared w
    cdef Py_ssize_t n = idx.meta.size, size = n + block.meta.size, chunks
    cdef Py_ssize_t pieces = min(size // CHUNK, <Py_ssize_t> (CUTS * threads))
    w.p, w.m, w.idx, w.block, w.pos, w.n, w.bad = p, m, idx, block, pos, n, n
    w.at = table if to_block else table + n
    w.to = table + n if to_block else table
    if to_block and threads > 1 and pieces > 1 and block.meta.size and by_indices(p, idx, block, pos, pieces):
        w.each = (n + pieces - 1) // pieces
        parallel(threads, (n + w.each - 1) // w.each, indices_chunk, &w)
        if tf_earliest(&w.bad) < n:     # which one comes first?
            fill_tables(p, idx, block, pos, tf_earliest(&w.bad), n, w.at, w.to, bad)
        return
    fill_tables(p, idx, block, pos, 0, n, table, table + n, bad)
    if bad.found or block.meta.size == 0:
        return
    chunks = cut(&c, threads, size, 2, p.rank, p.shape, p.data, p.strides, 0, APART)
    if chunks == 1:
        move(p, m, n, w.to, w.at)
        return
    w.axis, w.each = c.axis, c.each
    parallel(threads, chunks, elements_chunk, &w)


cdef int indexed(PyObject *engine, int op, const Value *whole, const Value *block, const Value *idx, const Params *params,
                 bint to_block, Mover m) except -1:
    """Move between a tensor and a block for every index."""
    cdef Plan p
    cdef Bad bad
    cdef Py_ssize_t n = idx.meta.size
    cdef Py_ssize_t *table
    cdef int threads
    if n == 0:
        return 0
    table = <Py_ssize_t *> block_alloc(2 * n * sizeof(Py_ssize_t))
    if table == NULL:
        raise OutOfMemoryError(f"{op_name(op)}: cannot allocate the offsets of {n} indices; use fewer at a time",
                               engine="cpu", nbytes=2 * n * sizeof(Py_ssize_t))
    bad.found = False
    make_plan(&p, whole, block, idx.meta.rank, params, to_block)
    if n + block.meta.size < NOGIL_SIZE:
        run(1, &p, &m, idx, block, <int> params.v[0], table, to_block, &bad)
    else:
        threads = threads_for(engine, PER_INDEX * n + block.meta.size, MOVED)
        with nogil:
            run(threads, &p, &m, idx, block, <int> params.v[0], table, to_block, &bad)
    block_free(table, 2 * n * sizeof(Py_ssize_t))
    if bad.found:
        return out_of_range(op, bad.index, p.size, params.v[2 + params.v[1]])
    return 0


cdef int take(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """``out[.., i, ..] = x[.., idx[i], ..]``."""
    return indexed(engine, op, &ins[0], out, &ins[1], params, True, setter(out.meta.itemsize))


cdef int take_add(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """``out = 0; out[.., idx[i], ..] += g[.., i, ..]``."""
    wipe(engine, out)
    return indexed(engine, op, out, &ins[0], &ins[1], params, False, adder(out.meta))


cdef int scatter(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """``out = base``, then set or add the updates in row-major order of the index array."""
    copies.copy(engine, Op.COPY, ins, 1, out, NULL)
    return indexed(engine, op, out, &ins[1], &ins[2], params, False,
                   adder(out.meta) if op == Op.SCATTER_ADD else setter(out.meta.itemsize))
