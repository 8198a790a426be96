"""Reductions of differences from a value per slice: variances and log-sum-exp; counting.

``f(x - m)`` is summed pairwise in blocks, where m belongs to the slice and f is the identity, the square or exp.
"""

from libc.math cimport isfinite, log, sqrt
from libc.string cimport memset

from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from .reduce cimport divide, fold, folded_count, maximum
from .ufunc cimport Loop, NOGIL_SIZE, find_loop

cdef enum:
    BLOCK = 128

cdef enum:              # what is summed
    DIFFERENCE, SQUARE, EXP

ctypedef struct Map:
    int kind
    Loop *exp

ctypedef fused real_t:
    float
    double


cdef inline void transform(real_t *d, Py_ssize_t n, Map *f) noexcept nogil:
    cdef char *args[2]
    cdef Py_ssize_t strides[2]
    cdef Py_ssize_t i
    if f.kind == SQUARE:
        for i in range(n):
            d[i] = d[i] * d[i]
    elif f.kind == EXP:
        args[0] = args[1] = <char *> d
        strides[0] = strides[1] = sizeof(real_t)
        f.exp.fn(args, &n, strides, f.exp.data)


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


cdef real_t pairwise(const real_t *x, Py_ssize_t step, Py_ssize_t n, real_t m, Map *f) noexcept nogil:
    """Sum of f(x - m) over n elements that are `step` elements apart."""
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
                        Py_ssize_t n, Map *f) noexcept nogil:
    """out += f(x - m), elementwise."""
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


cdef inline void real_loop(real_t *out, char **args, Py_ssize_t n, const Py_ssize_t *s, Map *f) noexcept nogil:
    cdef const real_t *x = <const real_t *> args[1]
    cdef const real_t *m = <const real_t *> args[2]
    cdef Py_ssize_t size = sizeof(real_t)
    if s[0] == 0:
        out[0] += pairwise(x, s[1] // size, n, m[0], f)
    else:
        across(out, s[0] // size, x, s[1] // size, m, s[2] // size, n, f)


cdef inline void complex_loop(real_t *out, char **args, Py_ssize_t n, const Py_ssize_t *s, Map *f) noexcept nogil:
    """The same for the two parts of complex numbers; squares of both parts go into one real result."""
    cdef const real_t *x = <const real_t *> args[1]
    cdef const real_t *m = <const real_t *> args[2]
    cdef Py_ssize_t size = sizeof(real_t), part = 0 if f.kind == SQUARE else 1
    if s[0] == 0:
        out[0] += pairwise(x, s[1] // size, n, m[0], f)
        out[part] += pairwise(x + 1, s[1] // size, n, m[1], f)
    else:
        across(out, s[0] // size, x, s[1] // size, m, s[2] // size, n, f)
        across(out + part, s[0] // size, x + 1, s[1] // size, m + 1, s[2] // size, n, f)


cdef void loop_f32(char **args, const Py_ssize_t *n, const Py_ssize_t *s, void *data) noexcept nogil:
    real_loop(<float *> args[0], args, n[0], s, <Map *> data)


cdef void loop_f64(char **args, const Py_ssize_t *n, const Py_ssize_t *s, void *data) noexcept nogil:
    real_loop(<double *> args[0], args, n[0], s, <Map *> data)


cdef void loop_c64(char **args, const Py_ssize_t *n, const Py_ssize_t *s, void *data) noexcept nogil:
    complex_loop(<float *> args[0], args, n[0], s, <Map *> data)


cdef void loop_c128(char **args, const Py_ssize_t *n, const Py_ssize_t *s, void *data) noexcept nogil:
    complex_loop(<double *> args[0], args, n[0], s, <Map *> data)


cdef int fold_map(int kind, const Value *x, Value *out, const Value *m, unsigned long long axes,
                  bint keepdims) except -1:
    """out = sum of f(x - m)."""
    cdef Map f
    cdef Loop loop
    cdef int dtype = x.meta.dtype
    f.kind = kind
    f.exp = find_loop(Op.EXP, dtype) if kind == EXP else NULL
    loop.fn = loop_f64
    if dtype == D_F32:
        loop.fn = loop_f32
    elif dtype == D_C64:
        loop.fn = loop_c64
    elif dtype == D_C128:
        loop.fn = loop_c128
    loop.data = &f
    memset(out.data, 0, out.meta.size * out.meta.itemsize)
    if x.meta.size < NOGIL_SIZE:
        fold(&loop, x, out, m, axes, keepdims)
    else:
        with nogil:
            fold(&loop, x, out, m, axes, keepdims)
    return 0


cdef int add_to(Value *v, const Value *w) except -1:
    cdef Loop *loop = find_loop(Op.ADD, v.meta.dtype)
    cdef char *args[3]
    cdef Py_ssize_t strides[3]
    args[0] = args[2] = v.data
    args[1] = w.data
    strides[0] = strides[1] = strides[2] = v.meta.itemsize
    if v.meta.size:
        loop.fn(args, &v.meta.size, strides, loop.data)
    return 0


cdef int mean_of(const Value *x, Value *mean, Value *error, unsigned long long axes, bint keepdims) except -1:
    """The mean, corrected by the mean of the deviations from it: exact for constant slices."""
    cdef double count = <double> folded_count(x.meta, axes)
    memset(error.data, 0, error.meta.size * error.meta.itemsize)
    fold_map(DIFFERENCE, x, mean, error, axes, keepdims)
    divide(mean, count)
    fold_map(DIFFERENCE, x, error, mean, axes, keepdims)
    divide(error, count)
    return add_to(mean, error)


cdef void take_roots(Value *v) noexcept nogil:
    cdef Py_ssize_t k
    if v.meta.dtype == D_F64:
        for k in range(v.meta.size):
            (<double *> v.data)[k] = sqrt((<double *> v.data)[k])
    else:
        for k in range(v.meta.size):
            (<float *> v.data)[k] = <float> sqrt((<float *> v.data)[k])


cdef int variance(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """Params: axes, keepdims, correction."""
    cdef unsigned long long axes = <unsigned long long> params.v[0]
    cdef bint keepdims = params.v[1]
    cdef Py_ssize_t left = folded_count(ins.meta, axes) - params.v[2]
    cdef Value mean, error
    mean.meta = error.meta = NULL
    mean.buf = error.buf = NULL
    try:
        value_alloc(&mean, meta_like(out.meta, ins.meta.dtype))
        value_alloc(&error, meta_like(out.meta, ins.meta.dtype))
        mean_of(ins, &mean, &error, axes, keepdims)
        fold_map(SQUARE, ins, out, &mean, axes, keepdims)
    finally:
        value_drop(&mean)
        value_drop(&error)
    divide(out, <double> (left if left > 0 else 0))
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
        fold_map(EXP, ins, out, &m, axes, keepdims)
        if double_:
            add_log(<double *> out.data, <double *> m.data, m.meta.size)
        else:
            add_log(<float *> out.data, <float *> m.data, m.meta.size)
    finally:
        value_drop(&m)
    return 0


cdef void count_loop(char **args, const Py_ssize_t *n, const Py_ssize_t *s, void *data) noexcept nogil:
    cdef const unsigned char *x = <const unsigned char *> args[1]
    cdef Py_ssize_t i, total = 0, step = s[1]
    if s[0] == 0 and step == 1:
        for i in range(n[0]):
            total += x[i] != 0
        (<long long *> args[0])[0] += total
    elif s[0] == 0:
        for i in range(n[0]):
            total += x[i * step] != 0
        (<long long *> args[0])[0] += total
    else:
        for i in range(n[0]):
            (<long long *> (args[0] + i * s[0]))[0] += x[i * step] != 0


cdef int count_nonzero(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """Number of true elements of a bool tensor."""
    cdef Loop loop
    loop.fn = count_loop
    loop.data = NULL
    memset(out.data, 0, out.meta.size * out.meta.itemsize)
    if ins.meta.size < NOGIL_SIZE:
        fold(&loop, ins, out, out, <unsigned long long> params.v[0], params.v[1])
    else:
        with nogil:
            fold(&loop, ins, out, out, <unsigned long long> params.v[0], params.v[1])
    return 0
