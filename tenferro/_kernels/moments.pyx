"""Reductions of differences from a value per slice: variances and log-sum-exp."""

from libc.math cimport isfinite, log, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from .reduce cimport deviations, divide, fold, folded_count, maximum, reduce
from .parallel cimport CHUNK, PARALLEL_SIZE, current_threads, parallel, swap_threads, threads_of
from .ufunc cimport Loop, NOGIL_SIZE, coalesce, find_loop

cdef enum:
    BLOCK = 128

ctypedef fused real_t:
    float
    double


cdef inline void transform(real_t *d, Py_ssize_t n, Loop *exp) noexcept nogil:
    cdef char *args[2]
    cdef Py_ssize_t strides[2]
    args[0] = args[1] = <char *> d
    strides[0] = strides[1] = sizeof(real_t)
    exp.fn(args, &n, strides, exp.data)


cdef inline real_t block_sum(const real_t *d, Py_ssize_t n) noexcept nogil:
    cdef real_t r[8]
    cdef real_t total = 0
    cdef Py_ssize_t i = 0, j
    if n >= 8:
        for j in range(8):
            r[j] = d[j]
        i = 8
        while i + 8 <= n:
            for j in range(8):
                r[j] += d[i + j]
            i += 8
        total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
    while i < n:
        total += d[i]
        i += 1
    return total


cdef real_t pairwise(const real_t *x, Py_ssize_t step, Py_ssize_t n, real_t m, Loop *f) noexcept nogil:
    """Sum of exp(x - m) over n elements that are `step` elements apart."""
    cdef real_t d[BLOCK]
    cdef Py_ssize_t i, half
    if n > BLOCK:
        half = n // 2
        half -= half % 8
        return pairwise(x, step, half, m, f) + pairwise(x + half * step, step, n - half, m, f)
    if step == 1:
        for i in range(n):
            d[i] = x[i] - m
    else:
        for i in range(n):
            d[i] = x[i * step] - m
    transform(d, n, f)
    return block_sum(d, n)


cdef inline void across(real_t *out, Py_ssize_t so, const real_t *x, Py_ssize_t sx, const real_t *m, Py_ssize_t sm,
                        Py_ssize_t n, Loop *f) noexcept nogil:
    """out += exp(x - m), elementwise."""
    cdef real_t d[BLOCK]
    cdef Py_ssize_t i, k, start = 0
    while start < n:
        k = n - start if n - start < BLOCK else BLOCK
        for i in range(k):
            d[i] = x[(start + i) * sx] - m[(start + i) * sm]
        transform(d, k, f)
        for i in range(k):
            out[(start + i) * so] += d[i]
        start += k


cdef inline void real_loop(real_t *out, char **args, Py_ssize_t n, const Py_ssize_t *s, Loop *f) noexcept nogil:
    cdef const real_t *x = <const real_t *> args[1]
    cdef const real_t *m = <const real_t *> args[2]
    cdef Py_ssize_t size = sizeof(real_t)
    if s[0] == 0:
        out[0] += pairwise(x, s[1] // size, n, m[0], f)
    else:
        across(out, s[0] // size, x, s[1] // size, m, s[2] // size, n, f)


include "long_moments.pxi"


cdef void loop_f32(char **args, const Py_ssize_t *n, const Py_ssize_t *s, void *data) noexcept nogil:
    real_loop(<float *> args[0], args, n[0], s, <Loop *> data)


cdef void loop_f64(char **args, const Py_ssize_t *n, const Py_ssize_t *s, void *data) noexcept nogil:
    real_loop(<double *> args[0], args, n[0], s, <Loop *> data)


cdef int exp_sums(const Value *x, Value *out, const Value *m, unsigned long long axes, bint keepdims) except -1:
    """out = sum of exp(x - m)."""
    cdef Loop loop
    loop.fn = loop_f32 if x.meta.dtype == D_F32 else loop_f64
    loop.data = find_loop(Op.EXP, x.meta.dtype)
    if few_and_long(x, out) and long_sums(&loop, x, out, m, axes, keepdims):
        return 0
    memset(out.data, 0, out.meta.size * out.meta.itemsize)
    if x.meta.size < NOGIL_SIZE:
        fold(&loop, x, out, m, axes, keepdims)
    else:
        with nogil:
            fold(&loop, x, out, m, axes, keepdims)
    return 0


cdef void take_roots(Value *v) noexcept nogil:
    cdef Py_ssize_t k
    if v.meta.dtype == D_F64:
        for k in range(v.meta.size):
            (<double *> v.data)[k] = sqrt((<double *> v.data)[k])
    else:
        for k in range(v.meta.size):
            (<float *> v.data)[k] = <float> sqrt((<float *> v.data)[k])


cdef inline void add_parts(real_t *out, const real_t *parts, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        out[k] = parts[2 * k] + parts[2 * k + 1]


cdef int complex_variance(const Value *x, Value *out, unsigned long long axes, bint keepdims, double div) except -1:
    """The sum of the variances of both parts."""
    cdef Value parts
    value_alloc(&parts, meta_like(out.meta, x.meta.dtype))
    try:
        deviations(x, &parts, axes, keepdims, div)
        if out.meta.dtype == D_F64:
            add_parts(<double *> out.data, <double *> parts.data, out.meta.size)
        else:
            add_parts(<float *> out.data, <float *> parts.data, out.meta.size)
    finally:
        value_drop(&parts)
    return 0


cdef int variance(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef int before
    if ins.meta.size < PARALLEL_SIZE:
        return variance_here(op, ins, out, params)
    before = swap_threads(threads_of(engine))
    try:
        return variance_here(op, ins, out, params)
    finally:
        swap_threads(before)


cdef int variance_here(int op, const Value *ins, Value *out, const Params *params) except -1:
    """Params: axes, keepdims, correction."""
    cdef unsigned long long axes = <unsigned long long> params.v[0]
    cdef bint keepdims = params.v[1]
    cdef Py_ssize_t left = folded_count(ins.meta, axes) - params.v[2]
    cdef double div = <double> (left if left > 0 else 0)
    if ins.meta.size == 0:
        memset(out.data, 0, out.meta.size * out.meta.itemsize)
        divide(out, div)
    elif few_and_long(ins, out) and long_deviations(ins, out, axes, keepdims, div):
        pass
    elif is_complex(ins.meta.dtype):
        complex_variance(ins, out, axes, keepdims, div)
    else:
        deviations(ins, out, axes, keepdims, div)
    if op == Op.REDUCE_STD:
        take_roots(out)
    return 0


cdef inline void clear_infinite(real_t *m, Py_ssize_t n) noexcept nogil:
    """Differences from an infinite maximum are not defined; from zero they give the right sums."""
    cdef Py_ssize_t k
    for k in range(n):
        if not isfinite(m[k]):
            m[k] = 0


cdef inline void add_log(real_t *out, const real_t *m, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        out[k] = m[k] + <real_t> log(out[k])


cdef int logsumexp(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef int before
    if ins.meta.size < PARALLEL_SIZE:
        return logsumexp_here(op, ins, out, params)
    before = swap_threads(threads_of(engine))
    try:
        return logsumexp_here(op, ins, out, params)
    finally:
        swap_threads(before)


cdef int logsumexp_here(int op, const Value *ins, Value *out, const Params *params) except -1:
    """``m + log(sum(exp(x - m)))`` with the maximum m."""
    cdef unsigned long long axes = <unsigned long long> params.v[0]
    cdef bint keepdims = params.v[1], double_ = out.meta.dtype == D_F64
    cdef Value m
    value_alloc(&m, meta_like(out.meta, out.meta.dtype))
    try:
        memset(m.data, 0, m.meta.size * m.meta.itemsize)
        maximum(ins, &m, axes, keepdims, Op.MAXIMUM)
        if double_:
            clear_infinite(<double *> m.data, m.meta.size)
        else:
            clear_infinite(<float *> m.data, m.meta.size)
        exp_sums(ins, out, &m, axes, keepdims)
        if double_:
            add_log(<double *> out.data, <double *> m.data, m.meta.size)
        else:
            add_log(<float *> out.data, <float *> m.data, m.meta.size)
    finally:
        value_drop(&m)
    return 0


cdef int count_nonzero(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    return reduce(engine, op, ins, n, out, params)
