"""Recurrences along one axis, and the position of the largest element along one.

A recurrence is a loop whose first operand is its own last result. It runs along the axis, or along the other axes with
the recurrence outside, whichever follows memory.
"""

from libc.string cimport memcpy

from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from .copy cimport copy
from .reduce cimport maximum
from .ufunc cimport Loop, NOGIL_SIZE, coalesce, find_loop, loop_t, strided_loop

cdef extern from "running.h":
    loop_t tf_cumsums[13]
    loop_t tf_cumprods[13]

cdef enum:
    SHORT = 8           # an inner loop along other axes is longer than this

ctypedef struct Walk:
    int rank            # of the other axes
    Py_ssize_t shape[64]
    Py_ssize_t strides[5][64]
    char *data[5]


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


cdef void move_all(int rank, Py_ssize_t *shape, char **data, Py_ssize_t (*strides)[64], int itemsize) noexcept nogil:
    """Operand 1 = operand 0."""
    cdef Loop loop
    loop.fn = move
    loop.data = &itemsize
    strided_loop(&loop, 2, rank, shape, data, strides)


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


cdef void recur(Loop *loop, int n_in, const Value **v, int axis, bint reverse) noexcept nogil:
    """out[0] = v[n_in - 1][0]; out[k] = loop(out[k - 1], v[0][k], ..., v[n_in - 1][k]). Sizes are not zero.

    out is v[n_in].
    """
    cdef Walk w
    cdef const Value *ops[5]
    cdef Py_ssize_t step[5]
    cdef Py_ssize_t (*last)[64]
    cdef char *data[5]
    cdef int i, k, n_ops = n_in + 2, r
    cdef Py_ssize_t n = v[0].meta.dims[axis]
    cdef bint along
    ops[0] = v[n_in]
    for k in range(n_in + 1):
        ops[k + 1] = v[k]
    r = others(&w, n_ops, ops, axis)
    for k in range(n_ops):
        step[k] = ops[k].meta.dims[ops[k].meta.rank + axis]
        if reverse:
            w.data[k] += (n - 1) * step[k]
            step[k] = -step[k]
    last = &w.strides[n_ops - 2]
    data[0] = w.data[n_ops - 2]
    data[1] = w.data[n_ops - 1]
    move_all(r, w.shape, data, last, ops[0].meta.itemsize)
    if n == 1:
        return
    for k in range(1, n_ops):
        w.data[k] += step[k]
    along = r == 0 or w.shape[r - 1] < SHORT or absolute(step[n_ops - 1]) < absolute(w.strides[n_ops - 1][r - 1])
    if not along:
        for i in range(r, 0, -1):
            w.shape[i] = w.shape[i - 1]
            for k in range(n_ops):
                w.strides[k][i] = w.strides[k][i - 1]
    i = r if along else 0
    w.shape[i] = n - 1
    for k in range(n_ops):
        w.strides[k][i] = step[k]
    strided_loop(loop, n_ops, r + 1, w.shape, w.data, w.strides)


cdef int run(Loop *loop, int n_in, const Value *ins, const Value *out, int axis, bint reverse) except -1:
    cdef const Value *v[4]
    cdef int k
    if out.meta.size == 0:
        return 0
    for k in range(n_in):
        v[k] = &ins[k]
    v[n_in] = out
    if out.meta.size < NOGIL_SIZE:
        recur(loop, n_in, v, axis, reverse)
    else:
        with nogil:
            recur(loop, n_in, v, axis, reverse)
    return 0


cdef int cumulate(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef Loop *loop = find_loop(Op.ADD if op == Op.CUMSUM else Op.MUL, out.meta.dtype)
    cdef Loop own
    own.fn = tf_cumsums[out.meta.dtype] if op == Op.CUMSUM else tf_cumprods[out.meta.dtype]
    own.data = loop
    return run(loop if own.fn == NULL else &own, 1, ins, out, <int> params.v[0], params.v[1])


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
    return run(&loop, 2, ins, out, <int> params.v[0], params.v[1])


cdef void shift_run(const Value *x, const Value *out, int axis, bint reverse, char *fill) noexcept nogil:
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
        move_all(i, w.shape, w.data, w.strides, x.meta.itemsize)
    step = out.meta.dims[rank + axis]
    for i in range(rank):
        w.shape[i] = 1 if i == axis else x.meta.dims[i]
        w.strides[0][i] = 0
        w.strides[1][i] = out.meta.dims[rank + i]
    w.data[0] = fill
    w.data[1] = out.data + ((n - 1) * step if reverse else 0)
    i = coalesce(2, rank, w.shape, w.data, w.strides)
    move_all(i, w.shape, w.data, w.strides, x.meta.itemsize)


cdef int shift(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """``out[k] = x[k - 1]``, or ``x[k + 1]`` in reverse; at the end a given number, 0 or 1."""
    cdef double fill[2]
    if out.meta.size == 0:
        return 0
    fill[0] = <double> params.v[2]
    fill[1] = 0
    if real_dtype(out.meta.dtype) == D_F32:
        (<float *> fill)[0] = <float> params.v[2]
        (<float *> fill)[1] = 0
    if out.meta.size < NOGIL_SIZE:
        shift_run(ins, out, <int> params.v[0], params.v[1], <char *> fill)
    else:
        with nogil:
            shift_run(ins, out, <int> params.v[0], params.v[1], <char *> fill)
    return 0


# ---- positions -------------------------------------------------------------------------------------------------------

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


cdef void positions(const Value *x, const Value *best, const Value *out, int axis, bint keepdims) noexcept nogil:
    """Write where along the axis x first equals `best`."""
    cdef Walk w
    cdef Find f
    cdef Loop loop
    cdef char *data[3]
    cdef int i, k, r, j = 0, rank = x.meta.rank, m = out.meta.rank
    cdef Py_ssize_t step = x.meta.dims[rank + axis], n = x.meta.dims[axis]
    r = 0
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
    loop.data = &f
    f.dtype = x.meta.dtype
    f.n = n
    f.step = step
    if r == 0 or w.shape[r - 1] < SHORT or absolute(step) < absolute(w.strides[0][r - 1]):
        strided_loop(&loop, 3, r, w.shape, w.data, w.strides)
        return
    f.n = -1
    for k in range(3):
        data[k] = w.data[k]
    for f.k in range(n - 1, -1, -1):    # the first position is written last
        w.data[0] = data[0] + f.k * step
        w.data[1] = data[1]
        w.data[2] = data[2]
        strided_loop(&loop, 3, r, w.shape, w.data, w.strides)


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
    value_alloc(&best, meta_like(out.meta, x.meta.dtype))
    try:
        maximum(x, &best, 1ULL << axis, keepdims, op)
        if x.meta.size < NOGIL_SIZE:
            positions(x, &best, out, axis, keepdims)
        else:
            with nogil:
                positions(x, &best, out, axis, keepdims)
    finally:
        value_drop(&best)
    return 0


cdef int arg_extreme(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
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
