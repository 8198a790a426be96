"""Recurrences along one axis, and the position of the largest element along one.

A recurrence is a loop whose first operand is its own last result. It runs along the axis, or along the other axes with
the recurrence outside, whichever follows memory.
"""

from libc.string cimport memcpy, memset

from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from .copy cimport copy
from .parallel cimport CHUNK, PARALLEL_SIZE, current_threads, parallel, swap_threads, threads_of
from .reduce cimport maximum
from .ufunc cimport Loop, NOGIL_SIZE, coalesce, find_loop, loop_t, strided_loop

cdef extern from "running.h":
    loop_t tf_cumsums[13]
    loop_t tf_cumprods[13]

cdef extern from "earliest.h":
    Py_ssize_t tf_earliest(const Py_ssize_t *best) noexcept nogil
    void tf_found_at(Py_ssize_t *best, Py_ssize_t at) noexcept nogil

cdef enum:
    SHORT = 8           # an inner loop along other axes is longer than this

ctypedef struct Walk:
    int rank            # of the other axes
    Py_ssize_t shape[64]
    Py_ssize_t strides[5][64]
    char *data[5]


include "cuts.pxi"


# ---- moving elements -------------------------------------------------------------------------------------------------

cdef inline void move_sized(char **args, Py_ssize_t n, const Py_ssize_t *s, size_t size) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        memcpy(args[1] + i * s[1], args[0] + i * s[0], size)


cdef void move(char **args, const Py_ssize_t *n, const Py_ssize_t *s, void *data) noexcept nogil:
    cdef int size = (<int *> data)[0]
    if s[0] == size and s[1] == size:
        memcpy(args[1], args[0], n[0] * size)
    elif size == 8:
        move_sized(args, n[0], s, 8)
    elif size == 4:
        move_sized(args, n[0], s, 4)
    elif size == 16:
        move_sized(args, n[0], s, 16)
    else:
        move_sized(args, n[0], s, size)


cdef void move_all(int threads, Py_ssize_t size, int rank, const Py_ssize_t *shape, char **data, Py_ssize_t (*strides)[64],
                   int itemsize) noexcept nogil:
    """Operand 1 = operand 0."""
    cdef Loop loop
    loop.fn = move
    loop.data = &itemsize
    shared_loop(threads, size, &loop, 2, rank, shape, data, strides)


# ---- recurrences -----------------------------------------------------------------------------------------------------

cdef int others(Walk *w, int n_ops, const Value **v, int axis) noexcept nogil:
    """Operands over all axes but one, at the start of that one; memory order of the last operand."""
    cdef int i, k, r = 0, rank = v[0].meta.rank
    for i in range(rank):
        if i == axis:
            continue
        w.shape[r] = v[0].meta.dims[i]
        for k in range(n_ops):
            w.strides[k][r] = v[k].meta.dims[rank + i]
        r += 1
    for k in range(n_ops):
        w.data[k] = v[k].data
    w.rank = coalesce(n_ops, r, w.shape, w.data, w.strides)
    return w.rank


cdef inline Py_ssize_t absolute(Py_ssize_t x) noexcept nogil:
    return -x if x < 0 else x


ctypedef struct Recurrence:
    Loop *loop
    int n_ops, rank, itemsize
    Py_ssize_t n                # of the axis, which is the last one if `along`, else the first one
    bint along
    Py_ssize_t step[5]


cdef void recur_from(const Recurrence *g, Py_ssize_t *shape, char **data, Py_ssize_t (*strides)[64]) noexcept nogil:
    """The first elements along the axis are copied; `data` are the second ones, and the first one of operand 0."""
    cdef int others_at = 0 if g.along else 1, last = g.n_ops - 1
    cdef char *ends[2]
    ends[0] = data[last - 1] - g.step[last - 1]
    ends[1] = data[last] - g.step[last]
    move_all(1, 0, g.rank - 1, shape + others_at, ends, <Py_ssize_t (*)[64]> &strides[last - 1][others_at], g.itemsize)
    if g.n > 1:
        strided_loop(g.loop, g.n_ops, g.rank, shape, data, strides)


cdef void recur_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    cdef Cut *c = <Cut *> arg
    cdef Py_ssize_t shape[64]
    cdef char *data[8]
    cut_out(c, chunk, shape, data)
    recur_from(<Recurrence *> c.more, shape, data, c.strides)


cdef void recur(int threads, Loop *loop, int n_in, const Value **v, int axis, bint reverse) noexcept nogil:
    """out[0] = v[n_in - 1][0]; out[k] = loop(out[k - 1], v[0][k], ..., v[n_in - 1][k]). Sizes are not zero.

    out is v[n_in].
    """
    cdef Walk w
    cdef Cut c
    cdef Recurrence g
    cdef const Value *ops[5]
    cdef int i, k, n_ops = n_in + 2, r
    cdef Py_ssize_t chunks
    g.loop, g.n_ops, g.n, g.itemsize = loop, n_ops, v[0].meta.dims[axis], v[0].meta.itemsize
    ops[0] = v[n_in]
    for k in range(n_in + 1):
        ops[k + 1] = v[k]
    r = others(&w, n_ops, ops, axis)
    for k in range(n_ops):
        g.step[k] = ops[k].meta.dims[ops[k].meta.rank + axis]
        if reverse:
            w.data[k] += (g.n - 1) * g.step[k]
            g.step[k] = -g.step[k]
        if k:
            w.data[k] += g.step[k]
    g.along = (r == 0 or w.shape[r - 1] < SHORT
               or absolute(g.step[n_ops - 1]) < absolute(w.strides[n_ops - 1][r - 1]))
    if not g.along:
        for i in range(r, 0, -1):
            w.shape[i] = w.shape[i - 1]
            for k in range(n_ops):
                w.strides[k][i] = w.strides[k][i - 1]
    i = r if g.along else 0
    w.shape[i] = g.n - 1
    for k in range(n_ops):
        w.strides[k][i] = g.step[k]
    g.rank = r + 1
    chunks = cut(&c, threads, v[0].meta.size, n_ops, g.rank, w.shape, w.data, w.strides, 1ULL << i, APART)
    if chunks == 1:
        recur_from(&g, w.shape, w.data, w.strides)
        return
    c.more = &g
    parallel(threads, chunks, recur_chunk, &c)


cdef int run(PyObject *engine, Loop *loop, int n_in, const Value *ins, const Value *out, int axis, bint reverse) except -1:
    cdef const Value *v[4]
    cdef int k, threads
    if out.meta.size == 0:
        return 0
    for k in range(n_in):
        v[k] = &ins[k]
    v[n_in] = out
    if out.meta.size < NOGIL_SIZE:
        recur(1, loop, n_in, v, axis, reverse)
    else:
        threads = threads_for(engine, out.meta.size, COMPUTED)
        with nogil:
            recur(threads, loop, n_in, v, axis, reverse)
    return 0


cdef int cumulate(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef Loop *loop = find_loop(Op.ADD if op == Op.CUMSUM else Op.MUL, out.meta.dtype)
    cdef Loop own
    own.fn = tf_cumsums[out.meta.dtype] if op == Op.CUMSUM else tf_cumprods[out.meta.dtype]
    own.data = loop
    return run(engine, loop if own.fn == NULL else &own, 1, ins, out, <int> params.v[0], params.v[1])


ctypedef fused inexact_t:
    float
    double
    float complex
    double complex


cdef inline void affine_loop(inexact_t *tag, char **args, Py_ssize_t n, const Py_ssize_t *s) noexcept nogil:
    """out = a * before + b; `before` may be the last element of out."""
    cdef Py_ssize_t i
    cdef inexact_t a, before
    for i in range(n):
        before = (<inexact_t *> (args[0] + i * s[0]))[0]
        a = (<inexact_t *> (args[1] + i * s[1]))[0]
        (<inexact_t *> (args[3] + i * s[3]))[0] = a * before + (<inexact_t *> (args[2] + i * s[2]))[0]


cdef void affine(char **args, const Py_ssize_t *n, const Py_ssize_t *s, void *data) noexcept nogil:
    cdef int dtype = (<int *> data)[0]
    if dtype == D_F64:
        affine_loop(<double *> NULL, args, n[0], s)
    elif dtype == D_F32:
        affine_loop(<float *> NULL, args, n[0], s)
    elif dtype == D_C64:
        affine_loop(<float complex *> NULL, args, n[0], s)
    else:
        affine_loop(<double complex *> NULL, args, n[0], s)


cdef int linear_scan(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """``out[k] = a[k] * out[k - 1] + b[k]``, starting from zero."""
    cdef Loop loop
    loop.fn = affine
    loop.data = &out.meta.dtype
    return run(engine, &loop, 2, ins, out, <int> params.v[0], params.v[1])


cdef void shift_run(int threads, const Value *x, const Value *out, int axis, bint reverse, char *fill) noexcept nogil:
    cdef Walk w
    cdef int i, k, rank = x.meta.rank
    cdef Py_ssize_t n = x.meta.dims[axis], step
    for i in range(rank):
        w.shape[i] = x.meta.dims[i]
        w.strides[0][i] = x.meta.dims[rank + i]
        w.strides[1][i] = out.meta.dims[rank + i]
    w.data[0] = x.data
    w.data[1] = out.data
    k = 0 if reverse else 1             # the operand that is one further along the axis
    w.data[k] += w.strides[k][axis]
    w.shape[axis] = n - 1
    if n > 1:
        i = coalesce(2, rank, w.shape, w.data, w.strides)
        move_all(threads, x.meta.size, i, w.shape, w.data, w.strides, x.meta.itemsize)
    step = out.meta.dims[rank + axis]
    for i in range(rank):
        w.shape[i] = 1 if i == axis else x.meta.dims[i]
        w.strides[0][i] = 0
        w.strides[1][i] = out.meta.dims[rank + i]
    w.data[0] = fill
    w.data[1] = out.data + ((n - 1) * step if reverse else 0)
    i = coalesce(2, rank, w.shape, w.data, w.strides)
    move_all(1, 0, i, w.shape, w.data, w.strides, x.meta.itemsize)


cdef int shift(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """``out[k] = x[k - 1]``, or ``x[k + 1]`` in reverse; at the end a given number, 0 or 1."""
    cdef double fill[2]
    cdef int threads
    if out.meta.size == 0:
        return 0
    fill[0] = <double> params.v[2]
    fill[1] = 0
    if real_dtype(out.meta.dtype) == D_F32:
        (<float *> fill)[0] = <float> params.v[2]
        (<float *> fill)[1] = 0
    if out.meta.size < NOGIL_SIZE:
        shift_run(1, ins, out, <int> params.v[0], params.v[1], <char *> fill)
    else:
        threads = threads_for(engine, out.meta.size, MOVED)
        with nogil:
            shift_run(threads, ins, out, <int> params.v[0], params.v[1], <char *> fill)
    return 0


include "positions.pxi"
