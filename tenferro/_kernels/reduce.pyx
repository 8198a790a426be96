"""Reductions: sums by loops of their own, others by inner loops ``out = loop(out, x)`` whose output stands still along the
folded axes.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from .copy cimport copy
from .parallel cimport CHUNK, PARALLEL_SIZE, current_threads, parallel, swap_threads, threads_of
from .ufunc cimport Loop, NOGIL_SIZE, PIECES, coalesce, find_loop, loop_t, strided_loop

cdef extern from "folds.h":
    ctypedef struct tf_folder:
        void (*rows)(void *acc, Py_ssize_t plane, const char *x, Py_ssize_t sj, Py_ssize_t m, Py_ssize_t sn, Py_ssize_t n,
                     const void *c) noexcept nogil
        int (*finish)(void *acc, Py_ssize_t plane, Py_ssize_t m, char *out, Py_ssize_t so, double n, double mul, double div,
                      void *c, int again) noexcept nogil
    enum: TF_ROWS
    void tf_join(const tf_folder *f, Py_ssize_t m, char *parts, Py_ssize_t step, Py_ssize_t full, Py_ssize_t all,
                 char *out, double mul, double div) noexcept nogil
    int tf_fold(const tf_folder *f, int rank, const Py_ssize_t *shape, const Py_ssize_t *xs, const Py_ssize_t *os,
                const char *x, char *out, Py_ssize_t parts, Py_ssize_t part, double mul, double div) noexcept nogil

cdef extern from "made_folds.h":
    int tf_fold_made(const tf_made *s, const tf_folder *f, int rank, const Py_ssize_t *shape, const Py_ssize_t *xs,
                     const Py_ssize_t *os, Py_ssize_t x, char **out, Py_ssize_t to, Py_ssize_t parts, Py_ssize_t part,
                     double mul, const double *div) noexcept nogil

cdef extern from "sums.h":
    const tf_folder *tf_sums[13]

cdef extern from "deviations.h":
    const tf_folder *tf_moments[13]

cdef extern from "chains.h":
    loop_t tf_chains[13]

cdef extern from "truths.h":
    loop_t tf_any_loops[13]
    loop_t tf_all_loops[13]
    const tf_folder *tf_counts[13]

cdef enum:
    MEAN = 1            # repeated elements cancel against the divisor
    PARTS = 2           # an element is two numbers
    WIDE = 2048         # results that are folded at a time
    SHORT = 16          # an inner loop of fewer elements does not pay for its call

ctypedef struct Lay:    # operands x, out, x
    Py_ssize_t shape[64]
    Py_ssize_t strides[3][64]
    char *data[3]
    Py_ssize_t repeats  # of every element along folded axes

ctypedef struct Walk:   # operands out, x, other
    int rank
    Py_ssize_t shape[64]
    Py_ssize_t strides[4][64]
    char *data[4]


cdef Py_ssize_t folded_count(const Meta *m, unsigned long long axes) noexcept nogil:
    """Number of elements that go into one element of the result."""
    cdef int i
    cdef Py_ssize_t n = 1
    for i in range(m.rank):
        if (axes >> i) & 1:
            n *= m.dims[i]
    return n


cdef void lengthen(Walk *w) noexcept nogil:
    """Where the inner axis is short, exchange it with the longest one."""
    cdef int i, k, best = w.rank - 1
    cdef Py_ssize_t t
    if w.rank < 2 or w.shape[best] >= SHORT:
        return
    for i in range(w.rank - 2, -1, -1):
        if w.shape[i] > 2 * w.shape[best]:
            best = i
    i = w.rank - 1
    if best == i:
        return
    t = w.shape[i]
    w.shape[i] = w.shape[best]
    w.shape[best] = t
    for k in range(3):
        t = w.strides[k][i]
        w.strides[k][i] = w.strides[k][best]
        w.strides[k][best] = t


cdef void plan(Walk *w, const Value *x, const Value *out, const Value *other, unsigned long long axes,
               bint keepdims) noexcept nogil:
    cdef int i, j = 0, rank = x.meta.rank, m = out.meta.rank
    cdef char *p
    for i in range(rank):
        w.shape[i] = x.meta.dims[i]
        w.strides[0][i] = w.strides[3][i] = x.meta.dims[rank + i]
        if (axes >> i) & 1:
            w.strides[1][i] = w.strides[2][i] = 0
            j += keepdims
        else:
            w.strides[1][i] = out.meta.dims[m + j]
            w.strides[2][i] = other.meta.dims[m + j]
            j += 1
    w.data[0] = w.data[3] = x.data
    w.data[1] = out.data
    w.data[2] = other.data
    w.rank = coalesce(4, rank, w.shape, w.data, w.strides)
    for i in range(w.rank):
        w.strides[0][i] = w.strides[1][i]
        w.strides[1][i] = w.strides[3][i]
    p = w.data[0]
    w.data[0] = w.data[1]
    w.data[1] = p
    lengthen(w)


cdef void walk(Loop *loop, Walk *w) noexcept nogil:
    cdef Py_ssize_t left
    cdef int k, last = w.rank - 1
    if last < 1 or w.strides[0][last] == 0 or w.shape[last] <= 2 * WIDE:
        strided_loop(loop, 3, w.rank, w.shape, w.data, w.strides)
        return
    left = w.shape[last]
    while left > 0:                     # a part of the results at a time stays in the cache
        w.shape[last] = WIDE if left > WIDE else left
        strided_loop(loop, 3, w.rank, w.shape, w.data, w.strides)
        for k in range(3):
            w.data[k] += WIDE * w.strides[k][last]
        left -= WIDE


cdef void fold(Loop *loop, const Value *x, const Value *out, const Value *other, unsigned long long axes,
               bint keepdims) noexcept nogil:
    cdef Walk w
    cdef char *args[3]
    cdef Py_ssize_t strides[3]
    if x.meta.size == 0:
        return
    if out.meta.size == 1 and x.meta.flags & DENSE:
        args[0] = out.data
        args[1] = x.data
        args[2] = other.data
        strides[0] = strides[2] = 0
        strides[1] = x.meta.itemsize
        loop.fn(args, &x.meta.size, strides, loop.data)
        return
    plan(&w, x, out, other, axes, keepdims)
    if x.meta.size < PARALLEL_SIZE:
        walk(loop, &w)
    else:
        walk_many(current_threads(), loop, &w, x.meta.size)


cdef void set_one(char *p, int dtype) noexcept nogil:
    """Write the number one."""
    if dtype == D_F64:
        (<double *> p)[0] = 1
    elif dtype == D_F32:
        (<float *> p)[0] = 1
    elif dtype == D_C128:
        (<double *> p)[0] = 1
        (<double *> p)[1] = 0
    elif dtype == D_C64:
        (<float *> p)[0] = 1
        (<float *> p)[1] = 0
    elif dtype == D_I64 or dtype == D_U64:
        (<long long *> p)[0] = 1
    elif dtype == D_I32 or dtype == D_U32:
        (<int *> p)[0] = 1
    elif dtype == D_I16 or dtype == D_U16:
        (<short *> p)[0] = 1
    else:
        p[0] = 1


cdef void set_ones(Value *out) noexcept nogil:
    cdef Py_ssize_t k, size = out.meta.itemsize
    for k in range(out.meta.size):
        set_one(out.data + k * size, out.meta.dtype)


cdef int set_first(const Value *x, Value *out, unsigned long long axes, bint keepdims) except -1:
    """Start from the first elements along the folded axes: what has no identity is idempotent."""
    cdef Value first
    cdef Meta *m
    cdef int i, j = 0, rank = x.meta.rank
    if x.meta.size == 0:
        return 0
    if out.meta.size == 1:
        memcpy(out.data, x.data, x.meta.itemsize)
        return 0
    m = meta_new(x.meta.dtype, out.meta.rank)
    for i in range(rank):
        if not (axes >> i) & 1:
            m.dims[j] = x.meta.dims[i]
            m.dims[m.rank + j] = x.meta.dims[rank + i]
            j += 1
        elif keepdims:
            m.dims[j] = 1
            m.dims[m.rank + j] = x.meta.itemsize
            j += 1
    first.meta = meta_finish(m)
    first.buf = x.buf
    first.data = x.data
    copy(NULL, Op.COPY, &first, 1, out, NULL)
    meta_drop(m)
    return 0


cdef int divide(Value *v, double count) except -1:
    cdef int dtype = v.meta.dtype
    cdef Loop *loop = find_loop(Op.DIV, dtype)
    cdef double number[2]
    cdef char *args[3]
    cdef Py_ssize_t strides[3]
    number[0] = count
    number[1] = 0
    if real_dtype(dtype) == D_F32:
        (<float *> number)[0] = <float> count
        (<float *> number)[1] = 0
    args[0] = args[2] = v.data
    args[1] = <char *> number
    strides[0] = strides[2] = v.meta.itemsize
    strides[1] = 0
    if v.meta.size:
        loop.fn(args, &v.meta.size, strides, loop.data)
    return 0


cdef int maximum(const Value *x, Value *out, unsigned long long axes, bint keepdims, int op) except -1:
    """Fold by MAXIMUM or MINIMUM."""
    cdef Loop *loop = find_loop(op, x.meta.dtype)
    set_first(x, out, axes, keepdims)
    return fold_once(loop, loop, x, out, axes, keepdims)


cdef int fold_once(Loop *loop, Loop *join, const Value *x, Value *out, unsigned long long axes, bint keepdims) except -1:
    """A fold for which repeated elements make no difference."""
    cdef Value once = x[0]
    cdef Meta *m
    cdef int i, rank = x.meta.rank
    cdef unsigned long long repeats = 0
    for i in range(rank):
        if (axes >> i) & 1 and x.meta.dims[rank + i] == 0 and x.meta.dims[i] > 1:
            repeats |= 1ULL << i
    if repeats == 0 or x.meta.size == 0:
        return fold_plain(loop, join, x, out, axes, keepdims)
    m = meta_new(x.meta.dtype, rank)
    memcpy(m.dims, x.meta.dims, 2 * rank * sizeof(Py_ssize_t))
    for i in range(rank):
        if (repeats >> i) & 1:
            m.dims[i] = 1
    once.meta = meta_finish(m)
    try:
        fold_plain(loop, join, &once, out, axes, keepdims)
    finally:
        meta_drop(m)
    return 0


include "fold_chunks.pxi"


# ---- sums ------------------------------------------------------------------------------------------------------------

cdef int repeat(const Value *x, Value *out, unsigned long long axes, bint keepdims) except -1:
    """Where x is repeated along axes that stay, copy the results that were computed once."""
    cdef Value once
    cdef Meta *m
    cdef int i, j = 0, rank = x.meta.rank
    cdef bint wanted = False
    for i in range(rank):
        if not (axes >> i) & 1 and x.meta.dims[i] > 1 and x.meta.dims[rank + i] == 0:
            wanted = True
    if not wanted:
        return 0
    m = meta_new(out.meta.dtype, out.meta.rank)
    memcpy(m.dims, out.meta.dims, 2 * m.rank * sizeof(Py_ssize_t))
    for i in range(rank):
        if (axes >> i) & 1:
            j += keepdims
        else:
            if x.meta.dims[rank + i] == 0:
                m.dims[m.rank + j] = 0
            j += 1
    once.meta = meta_finish(m)
    once.buf = out.buf
    once.data = out.data
    try:
        copy(NULL, Op.COPY, &once, 1, out, NULL)
    finally:
        meta_drop(m)
    return 0


cdef int fold_with(const tf_folder *f, const Value *x, Value *out, unsigned long long axes, bint keepdims, int how,
                   double div) except -1:
    """Blocked, pairwise folds."""
    cdef int error
    if out.meta.size == 0:
        return 0
    if x.meta.size < NOGIL_SIZE:
        error = fold_blocks(f, x, out, axes, keepdims, how, div)
    else:
        with nogil:
            error = fold_blocks(f, x, out, axes, keepdims, how, div)
    if error:
        raise MemoryError
    return repeat(x, out, axes, keepdims)


cdef int deviations(const Value *x, Value *out, unsigned long long axes, bint keepdims, double div) except -1:
    return fold_with(tf_moments[x.meta.dtype], x, out, axes, keepdims, PARTS if is_complex(x.meta.dtype) else 0, div)


cdef int add_up(int op, const Value *x, Value *out, unsigned long long axes, bint keepdims) except -1:
    """Sum or mean."""
    cdef bint mean = op == Op.REDUCE_MEAN
    cdef double count = <double> folded_count(x.meta, axes) if mean else 1
    cdef int dtype = out.meta.dtype
    cdef const tf_folder *f = tf_sums[x.meta.dtype]
    if x.meta.size == 0:
        memset(out.data, 0, out.meta.size * out.meta.itemsize)
        return divide(out, count) if mean else 0
    if dtype == D_BOOL or (dtype < D_F32 and out.meta.itemsize < 8):
        memset(out.data, 0, out.meta.size * out.meta.itemsize)
        return fold_plain(find_loop(Op.ADD, dtype), find_loop(Op.ADD, dtype), x, out, axes, keepdims)
    if out.meta.size == 1 and x.meta.flags & DENSE and not is_complex(dtype) and x.meta.size < NOGIL_SIZE:
        f.rows(out.data, 0, x.data, 0, 1, x.meta.itemsize, x.meta.size, NULL)
        if mean:
            f.finish(out.data, 0, 1, out.data, 0, count, 1, count, NULL, 1)
        return 0
    return fold_with(f, x, out, axes, keepdims, mean | (PARTS if is_complex(dtype) else 0), count)


cdef int fold_plain(Loop *loop, Loop *join, const Value *x, Value *out, unsigned long long axes, bint keepdims) except -1:
    """`join` folds partial results."""
    if out.meta.size == 1 and x.meta.flags & DENSE and x.meta.size >= PARALLEL_SIZE:
        with nogil:
            fold_total(current_threads(), loop, join, x, out)
    elif x.meta.size < NOGIL_SIZE:
        fold(loop, x, out, out, axes, keepdims)
    else:
        with nogil:
            fold(loop, x, out, out, axes, keepdims)
    return 0


cdef int multiply_up(const Value *x, Value *out, unsigned long long axes, bint keepdims) except -1:
    cdef Loop loop
    loop.fn = tf_chains[out.meta.dtype]
    loop.data = NULL
    set_ones(out)
    if loop.fn == NULL:
        loop = find_loop(Op.MUL, out.meta.dtype)[0]
    return fold_plain(&loop, &loop, x, out, axes, keepdims)


cdef int truth(int op, const Value *x, Value *out, unsigned long long axes, bint keepdims) except -1:
    """ANY, ALL and COUNT_NONZERO of any dtype."""
    cdef Loop loop
    cdef Loop join
    if op == Op.COUNT_NONZERO and x.meta.size == 0:
        memset(out.data, 0, out.meta.size * out.meta.itemsize)
        return 0
    if op == Op.COUNT_NONZERO:
        return fold_with(tf_counts[x.meta.dtype], x, out, axes, keepdims, 0, 1)
    loop.data = NULL
    loop.fn = tf_all_loops[x.meta.dtype] if op == Op.ALL else tf_any_loops[x.meta.dtype]
    memset(out.data, op == Op.ALL, out.meta.size)
    join.data = NULL
    join.fn = tf_all_loops[<int> D_BOOL] if op == Op.ALL else tf_any_loops[<int> D_BOOL]
    return fold_once(&loop, &join, x, out, axes, keepdims)


cdef int reduce(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef int before
    if ins.meta.size < PARALLEL_SIZE:
        return reduce_here(op, ins, out, params)
    before = swap_threads(threads_of(engine))
    try:
        return reduce_here(op, ins, out, params)
    finally:
        swap_threads(before)


cdef int reduce_here(int op, const Value *ins, Value *out, const Params *params) except -1:
    cdef unsigned long long axes = <unsigned long long> params.v[0]
    cdef bint keepdims = params.v[1]
    if op == Op.REDUCE_SUM or op == Op.REDUCE_MEAN:
        return add_up(op, ins, out, axes, keepdims)
    if op == Op.REDUCE_MAX:
        return maximum(ins, out, axes, keepdims, Op.MAXIMUM)
    if op == Op.REDUCE_MIN:
        return maximum(ins, out, axes, keepdims, Op.MINIMUM)
    if op == Op.REDUCE_PROD:
        return multiply_up(ins, out, axes, keepdims)
    return truth(op, ins, out, axes, keepdims)
