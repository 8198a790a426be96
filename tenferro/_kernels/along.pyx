"""Gathers along one axis by an index array that has the other axes too; windows; positions from indices and masks."""

from libc.string cimport memset

from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from . cimport copy as copies
from .parallel cimport CHUNK, parallel, threads_of
from .structure cimport window
from .ufunc cimport Loop, NOGIL_SIZE, broadcast_strides, coalesce, strided_loop

cdef extern from "earliest.h":
    Py_ssize_t tf_earliest(const Py_ssize_t *best) noexcept nogil
    void tf_found_at(Py_ssize_t *best, Py_ssize_t at) noexcept nogil


include "cuts.pxi"


# ---- along one axis --------------------------------------------------------------------------------------------------

ctypedef struct Along:
    Py_ssize_t size                 # of the axis
    Py_ssize_t step                 # of the indexed tensor along it
    int dtype
    int itemsize
    Bad bad


cdef void along_get(word *y, char **args, Py_ssize_t n, const Py_ssize_t *s, Along *a) noexcept nogil:
    cdef Py_ssize_t j, f
    for j in range(n):
        f = wrapped(args[0] + j * s[0], a.size, &a.bad)
        if f < 0:
            return
        (<word *> (<char *> y + j * s[2]))[0] = (<word *> (args[1] + j * s[1] + f * a.step))[0]


cdef void along_sum(number *x, char **args, Py_ssize_t n, const Py_ssize_t *s, Along *a) noexcept nogil:
    cdef Py_ssize_t j, f
    cdef number *y
    for j in range(n):
        f = wrapped(args[0] + j * s[0], a.size, &a.bad)
        if f < 0:
            return
        y = <number *> (args[2] + j * s[2] + f * a.step)
        y[0] = y[0] + (<number *> (<char *> x + j * s[1]))[0]


cdef void along_or(char **args, Py_ssize_t n, const Py_ssize_t *s, Along *a) noexcept nogil:
    cdef Py_ssize_t j, f
    cdef char *y
    for j in range(n):
        f = wrapped(args[0] + j * s[0], a.size, &a.bad)
        if f < 0:
            return
        y = args[2] + j * s[2] + f * a.step
        y[0] = y[0] | args[1][j * s[1]]


cdef void get_loop(char **args, const Py_ssize_t *n, const Py_ssize_t *s, void *data) noexcept nogil:
    cdef Along *a = <Along *> data
    if a.bad.found:
        return
    if a.itemsize == 1:
        along_get(<uint8_t *> args[2], args, n[0], s, a)
    elif a.itemsize == 2:
        along_get(<uint16_t *> args[2], args, n[0], s, a)
    elif a.itemsize == 4:
        along_get(<uint32_t *> args[2], args, n[0], s, a)
    elif a.itemsize == 8:
        along_get(<uint64_t *> args[2], args, n[0], s, a)
    else:
        along_get(<Pair *> args[2], args, n[0], s, a)


cdef void sum_loop(char **args, const Py_ssize_t *n, const Py_ssize_t *s, void *data) noexcept nogil:
    cdef Along *a = <Along *> data
    if a.bad.found:
        return
    if a.dtype == D_BOOL:
        along_or(args, n[0], s, a)
    elif a.dtype == D_F32:
        along_sum(<float *> args[1], args, n[0], s, a)
    elif a.dtype == D_F64:
        along_sum(<double *> args[1], args, n[0], s, a)
    elif a.dtype == D_C64:
        along_sum(<float complex *> args[1], args, n[0], s, a)
    elif a.dtype == D_C128:
        along_sum(<double complex *> args[1], args, n[0], s, a)
    elif a.itemsize == 1:
        along_sum(<uint8_t *> args[1], args, n[0], s, a)
    elif a.itemsize == 2:
        along_sum(<uint16_t *> args[1], args, n[0], s, a)
    elif a.itemsize == 4:
        along_sum(<uint32_t *> args[1], args, n[0], s, a)
    else:
        along_sum(<uint64_t *> args[1], args, n[0], s, a)


ctypedef struct Shared:
    Along *a
    Py_ssize_t bad              # 0 once an index has been out of range


cdef void checked_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    cdef Cut *c = <Cut *> arg
    cdef Shared *w = <Shared *> c.more
    cdef Along a = w.a[0]
    cdef Loop loop = c.loop[0]
    cdef Py_ssize_t shape[64]
    cdef char *data[8]
    loop.data = &a
    cut_out(c, chunk, shape, data)
    strided_loop(&loop, c.n_ops, c.rank, shape, data, c.strides)
    if a.bad.found:
        tf_found_at(&w.bad, 0)


cdef void checked_loop(int threads, Py_ssize_t size, Loop *loop, int n_ops, int rank, const Py_ssize_t *shape, char **data,
                       Py_ssize_t (*strides)[64]) noexcept nogil:
    """A loop with an `Along`. An axis along which the result stands still is one piece: what is added keeps its order."""
    cdef Cut c
    cdef Shared w
    cdef unsigned long long still = 0
    cdef Py_ssize_t chunks
    cdef int i
    for i in range(rank):
        if strides[n_ops - 1][i] == 0:
            still |= 1ULL << i
    chunks = cut(&c, threads, size, n_ops, rank, shape, data, strides, still, APART)
    if chunks > 1:
        w.a, w.bad = <Along *> loop.data, 1
        c.loop, c.more = loop, &w
        parallel(threads, chunks, checked_chunk, &c)
        if tf_earliest(&w.bad):
            return
    strided_loop(loop, n_ops, rank, shape, data, strides)   # in order: of the indices out of range the first one is named


cdef int along_axis(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """``out[.., i, ..] = x[.., idx[.., i, ..], ..]``, or its adjoint into zeros."""
    cdef Along a
    cdef Loop loop
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[3][64]
    cdef char *data[3]
    cdef const Value *v[3]
    cdef const Value *whole = out if op == Op.ALONG_AXIS_ADD else &ins[0]
    cdef int i, k, threads, rank = ins[1].meta.rank
    v[0], v[1], v[2] = &ins[1], &ins[0], out
    for k in range(3):
        data[k] = v[k].data
        for i in range(rank):
            strides[k][i] = 0 if v[k] == whole and i == params.v[0] else v[k].meta.dims[rank + i]
    for i in range(rank):
        shape[i] = ins[1].meta.dims[i]
    a.size = params.v[1]
    a.step = whole.meta.dims[rank + params.v[0]]
    a.dtype = out.meta.dtype
    a.itemsize = out.meta.itemsize
    a.bad.found = False
    loop.fn = get_loop
    loop.data = &a
    if op == Op.ALONG_AXIS_ADD:
        wipe(engine, out)
        loop.fn = sum_loop
    if ins[1].meta.size == 0:
        return 0
    rank = coalesce(3, rank, shape, data, strides)
    if ins[1].meta.size < NOGIL_SIZE:
        strided_loop(&loop, 3, rank, shape, data, strides)
    else:
        threads = threads_for(engine, ins[1].meta.size, COMPUTED)
        with nogil:
            checked_loop(threads, ins[1].meta.size, &loop, 3, rank, shape, data, strides)
    if a.bad.found:
        return out_of_range(op, a.bad.index, a.size, params.v[0])
    return 0


# ---- windows, positions ----------------------------------------------------------------------------------------------

cdef int index_set(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """``out = x; out[index] = value``."""
    cdef Value part = out[0]
    cdef Meta *m
    copies.copy(engine, Op.COPY, ins, 1, out, NULL)
    if ins[1].meta.size == 0:
        return 0
    m = meta_new(out.meta.dtype, <int> params.v[1])
    part.data += window(params.v, out.meta, m)
    part.meta = meta_finish(m)
    try:
        return copies.copy(engine, Op.COPY, ins + 1, 1, &part, NULL)
    finally:
        meta_drop(part.meta)


cdef void digit_loop(char **args, const Py_ssize_t *n, const Py_ssize_t *s, void *data) noexcept nogil:
    cdef Along *a = <Along *> data
    cdef Py_ssize_t j, f
    cdef int64_t *y
    for j in range(n[0]):
        f = wrapped(args[0] + j * s[0], a.size, &a.bad)
        y = <int64_t *> (args[1] + j * s[1])
        y[0] = y[0] * a.size + f


cdef int flat_index(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """Row-major position over several axes from an index for each; checked and not negative."""
    cdef Along a
    cdef Loop loop
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[2][64]
    cdef char *data[2]
    cdef int i, k, rank, threads
    cdef Py_ssize_t unused = 0
    cdef bint empty = out.meta.size == 0
    cdef Meta *over                     # an index that is broadcast to nothing is checked all the same
    wipe(engine, out)
    loop.fn = digit_loop
    loop.data = &a
    for k in range(n):
        over = ins[k].meta if empty else out.meta
        if over.size == 0:
            continue
        rank = over.rank
        a.size = params.v[2 * k]
        a.bad.found = False
        for i in range(rank):
            shape[i] = over.dims[i]
            strides[1][i] = 0
        broadcast_strides(ins[k].meta, rank, strides[0])
        data[0] = ins[k].data
        data[1] = <char *> &unused
        if not empty:
            broadcast_strides(out.meta, rank, strides[1])
            data[1] = out.data
        rank = coalesce(2, rank, shape, data, strides)
        if out.meta.size < NOGIL_SIZE:
            strided_loop(&loop, 2, rank, shape, data, strides)
        else:
            threads = threads_for(engine, out.meta.size, COMPUTED)
            with nogil:
                checked_loop(threads, out.meta.size, &loop, 2, rank, shape, data, strides)
        if a.bad.found:
            return out_of_range(op, a.bad.index, a.size, params.v[2 * k + 1])
    return 0


cdef Py_ssize_t count_true(const char *mask, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t j, count = 0
    for j in range(n):
        count += mask[j] != 0
    return count


cdef void true_positions(const char *mask, Py_ssize_t count, Py_ssize_t *out) noexcept nogil:
    cdef Py_ssize_t j = 0, k = 0
    while k < count:
        out[k] = j
        k += mask[j] != 0
        j += 1
