"""Contraction of two tensors: the axes are sorted into four groups, fused, and handed to a matrix product.

``batch`` axes are in a, b and the result, ``rows`` in a and the result, ``columns`` in b and the result, ``summed`` in
a and b. When each of the last three groups fuses into one axis, and every matrix runs through its memory one element at
a time in one direction, BLAS takes the operands as they are. Otherwise an operand is packed first, or more axes become
batch axes.
"""

from libc.string cimport memset

from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from .blas cimport gemm, gemv, load_blas, one, zero
from .copy cimport copy
from .groups cimport *
from .parallel cimport PARALLEL_SIZE, blas_again, blas_alone, parallel, threads_of, use_blas_threads
from .ufunc cimport Loop, coalesce, find_loop, run_loop

from tenferro.errors import IntegerOverflowError

cdef extern from "product.h":
    ctypedef void (*product_t "tf_product")(
        Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, const void *a, Py_ssize_t am, Py_ssize_t ak, const void *b,
        Py_ssize_t bk, Py_ssize_t bn, void *c, Py_ssize_t cm, Py_ssize_t cn) noexcept nogil
    product_t tf_products[13]

cdef enum:
    SMALL = 512                         # multiplications up to which an own loop beats a call of BLAS
    FEW = 4096                          # multiplications in all up to which nothing is packed for the sake of BLAS
    NOGIL_WORK = 32768
    SHARED_WORK = 1 << 18               # multiplications in all from which waking a thread pays
    ALONE = 1 << 22                     # multiplications of an item up to which BLAS gains little from threads of its own
    PIECES = 8                          # for each thread

cdef enum:
    LOOPS, VECTOR, MATRIX               # Job.mode

ctypedef struct Packed:                 # compact copy of an operand
    Value v
    Meta *view                          # the axes of the copy in the operand's own memory

ctypedef struct Job:                    # one matrix product; strides in elements
    int mode, dtype
    Py_ssize_t m, n, k, am, ak, bk, bn, cm, cn
    bint swap                           # the transposed product is computed: b'a' = (ab)'
    char ta, tb
    int im, in_, ik, lda, ldb, ldc


# ---- packing ---------------------------------------------------------------------------------------------------------

cdef int pack(PyObject *engine, Plan *plan, int operand, const Value *src, Packed *dst, bint fill) except -1:
    """Compact memory for an operand: batch axes first, then its two groups, the faster one last."""
    cdef Axis *axes[64]
    cdef Py_ssize_t shape[64]
    cdef Group *batch = &plan.g[BATCH]
    cdef Group *slow = &plan.g[ROWS if operand != B else COLUMNS]
    cdef Group *fast = &plan.g[SUMMED if operand != C else COLUMNS]
    cdef Value view
    cdef int i, r = 0
    if inner(slow, operand) != 0 and (inner(fast, operand) == 0
                                      or magnitude(inner(slow, operand)) < magnitude(inner(fast, operand))):
        slow, fast = fast, slow
    for i in range(batch.r):
        if batch.x[i].s[operand] != 0:  # an operand that is repeated along an axis stays so
            axes[r] = &batch.x[i]
            r += 1
    for i in range(slow.r):
        axes[r] = &slow.x[i]
        r += 1
    for i in range(fast.r):
        axes[r] = &fast.x[i]
        r += 1
    dst.view = meta_new(src.meta.dtype, r)
    for i in range(r):
        shape[i] = dst.view.dims[i] = axes[i].n
        dst.view.dims[r + i] = axes[i].s[operand]
    meta_finish(dst.view)
    value_alloc(&dst.v, meta_compact(src.meta.dtype, r, shape, True))
    if fill:
        view = src[0]
        view.meta = dst.view
        copy(engine, Op.COPY, &view, 1, &dst.v, NULL)
    for i in range(r):
        axes[i].s[operand] = dst.v.meta.dims[r + i]
    return 0


cdef int unpack(PyObject *engine, Packed *src, Value *out) except -1:
    cdef Value view = out[0]
    view.meta = src.view
    return copy(engine, Op.COPY, &src.v, 1, &view, NULL)


# ---- one product -----------------------------------------------------------------------------------------------------

cdef void prepare(Job *j, const Plan *p, int dtype, int item, bint loops) noexcept nogil:
    cdef int shift = (item > 1) + (item > 2) + (item > 4) + (item > 8)
    j.dtype = dtype
    j.m = extent(&p.g[ROWS])
    j.n = extent(&p.g[COLUMNS])
    j.k = extent(&p.g[SUMMED])
    j.am = inner(&p.g[ROWS], A) >> shift
    j.ak = inner(&p.g[SUMMED], A) >> shift
    j.bk = inner(&p.g[SUMMED], B) >> shift
    j.bn = inner(&p.g[COLUMNS], B) >> shift
    j.cm = inner(&p.g[ROWS], C) >> shift
    j.cn = inner(&p.g[COLUMNS], C) >> shift
    if loops:
        j.mode = LOOPS
        j.swap = j.n == 1 or (j.m > 1 and magnitude(j.cm) < magnitude(j.cn))
    elif j.m == 1 or j.n == 1:
        j.mode = VECTOR
        j.swap = j.m == 1
    else:
        j.mode = MATRIX
        j.swap = j.cm != 1
    if j.swap:
        j.m, j.n = j.n, j.m
        j.am, j.bn = j.bn, j.am
        j.ak, j.bk = j.bk, j.ak
        j.cm, j.cn = j.cn, j.cm
    if loops:
        return
    j.im = <int> j.m
    j.in_ = <int> j.n
    j.ik = <int> j.k
    j.ta = c"N" if j.am == 1 and j.ak >= j.m else c"T"
    j.lda = <int> (j.ak if j.ta == c"N" else j.am)
    if j.mode == VECTOR:
        j.ldb = <int> j.bk
        j.ldc = <int> j.cm
        if j.ta == c"T":
            j.im, j.ik = j.ik, j.im
        return
    j.tb = c"N" if j.bk == 1 and j.bn >= j.k else c"T"
    j.ldb = <int> (j.bn if j.tb == c"N" else j.bk)
    j.ldc = <int> j.cn


cdef void clear_vector(char *c, Py_ssize_t n, Py_ssize_t step, int item) noexcept nogil:
    cdef Py_ssize_t i
    if step == item:
        memset(c, 0, n * item)
        return
    for i in range(n):
        memset(c + i * step, 0, item)


cdef inline void product(Job *j, char *a, char *b, char *c, int item) noexcept nogil:
    if j.swap:
        a, b = b, a
    if j.mode == MATRIX:
        gemm[j.dtype](&j.ta, &j.tb, &j.im, &j.in_, &j.ik, one[j.dtype], a, &j.lda, b, &j.ldb, zero[j.dtype], c, &j.ldc)
    elif j.mode == VECTOR:              # some libraries scale by beta = 0, which keeps NaN: start from zeros
        clear_vector(c, j.m, j.cm * item, item)
        gemv[j.dtype](&j.ta, &j.im, &j.ik, one[j.dtype], a, &j.lda, b, &j.ldb, one[j.dtype], c, &j.ldc)
    else:
        tf_products[j.dtype](j.m, j.n, j.k, a, j.am, j.ak, b, j.bk, j.bn, c, j.cm, j.cn)


cdef void run(Job *j, const Group *g, char *a, char *b, char *c, int item, Py_ssize_t first, Py_ssize_t count) noexcept nogil:
    """Some items of the batch."""
    cdef Py_ssize_t at[128]
    cdef Py_ssize_t i, n
    cdef int k, last = g.r - 1
    cdef const Axis *x = &g.x[last]
    if last < 0:
        product(j, a, b, c, item)
        return
    for k in range(last, -1, -1):
        at[k] = first % g.x[k].n if first else 0
        first = first // g.x[k].n if first else 0
        a += at[k] * g.x[k].s[0]
        b += at[k] * g.x[k].s[1]
        c += at[k] * g.x[k].s[2]
    a -= at[last] * x.s[0]
    b -= at[last] * x.s[1]
    c -= at[last] * x.s[2]
    i = at[last]
    while True:
        n = min(x.n, i + count)
        count -= n - i
        while i < n:
            product(j, a + i * x.s[0], b + i * x.s[1], c + i * x.s[2], item)
            i += 1
        if count == 0:
            return
        i = 0
        k = last - 1
        while k >= 0:
            at[k] += 1
            a += g.x[k].s[0]
            b += g.x[k].s[1]
            c += g.x[k].s[2]
            if at[k] < g.x[k].n:
                break
            a -= g.x[k].n * g.x[k].s[0]
            b -= g.x[k].n * g.x[k].s[1]
            c -= g.x[k].n * g.x[k].s[2]
            at[k] = 0
            k -= 1


ctypedef struct Shared:
    Job *job
    const Group *batch
    char *data[3]
    int item
    Py_ssize_t each, count


cdef void run_piece(void *arg, Py_ssize_t piece, int slot) noexcept nogil:
    cdef Shared *w = <Shared *> arg
    cdef Py_ssize_t first = piece * w.each
    run(w.job, w.batch, w.data[A], w.data[B], w.data[C], w.item, first, min(w.each, w.count - first))


cdef void share(int threads, Job *j, const Group *g, char **data, int item) noexcept nogil:
    """The batch among threads, if its items are many or small; else one by one, with BLAS on its own threads."""
    cdef Shared w
    cdef int i
    w.count = extent(g)
    w.job, w.batch, w.item = j, g, item
    for i in range(3):
        w.data[i] = data[i]
    if w.count == 1 or (w.count < 4 * threads and j.m * j.n * j.k > ALONE):
        run(j, g, data[A], data[B], data[C], item, 0, w.count)
        return
    w.each = max(<Py_ssize_t> 1, w.count // (threads * PIECES))
    if j.mode != LOOPS:
        blas_alone()
    parallel(threads, (w.count + w.each - 1) // w.each, run_piece, &w)
    if j.mode != LOOPS:
        blas_again()


# ---- the kernel ------------------------------------------------------------------------------------------------------

cdef int multiply(PyObject *engine, const Plan *p, const Value *ins, Value *out) except -1:
    """Nothing is summed: a broadcast multiplication."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[3][64]
    cdef char *data[3]
    cdef int items[3]
    cdef int which, i, k, threads, r = 0
    cdef Loop *loop
    for which in range(SUMMED):
        for i in range(p.g[which].r):
            shape[r] = p.g[which].x[i].n
            for k in range(3):
                strides[k][r] = p.g[which].x[i].s[k]
            r += 1
    data[0] = ins[0].data
    data[1] = ins[1].data
    data[2] = out.data
    loop = find_loop(Op.MUL, out.meta.dtype)
    r = coalesce(3, r, shape, data, strides)
    for k in range(3):
        items[k] = out.meta.itemsize
    threads = threads_of(engine) if out.meta.size >= PARALLEL_SIZE else 1
    if out.meta.size < NOGIL_WORK:
        run_loop(1, loop, 3, items, r, shape, data, strides)
    else:
        with nogil:
            run_loop(threads, loop, 3, items, r, shape, data, strides)
    return 0


cdef int too_long(const Plan *p) except -1:
    raise IntegerOverflowError(
        f"matrix dimensions ({extent(&p.g[ROWS])}, {extent(&p.g[SUMMED])}, {extent(&p.g[COLUMNS])}) exceed 2**31 - 1, "
        "the limit of BLAS with 32-bit integers; contract in parts", op="contract", argument="shape", expected=INT_MAX,
        actual=max(extent(&p.g[ROWS]), extent(&p.g[SUMMED]), extent(&p.g[COLUMNS])))


cdef int contract(PyObject *engine, int op, const Value *ins, int n_in, Value *out, const Params *params) except -1:
    cdef Plan p
    cdef Job job
    cdef Packed packed[3]
    cdef char *data[3]
    cdef int dtype = out.meta.dtype, item = out.meta.itemsize, mask, i, threads = threads_of(engine)
    cdef Py_ssize_t m, n, k
    cdef double work
    cdef bint loops
    if out.meta.size == 0:
        return 0
    collect(&ins[0], &ins[1], out, params, &p)
    if p.g[SUMMED].r == 0:
        return multiply(engine, &p, ins, out)
    k = extent(&p.g[SUMMED])
    if k == 0:
        memset(out.data, 0, out.meta.size * item)
        return 0
    fuse(&p.g[BATCH], C)
    fuse(&p.g[ROWS], C)
    fuse(&p.g[COLUMNS], C)
    fuse(&p.g[SUMMED], A)
    m = extent(&p.g[ROWS])
    n = extent(&p.g[COLUMNS])
    work = <double> out.meta.size * <double> k
    loops = dtype < D_F32 or work <= FEW and (p.g[ROWS].r > 1 or p.g[COLUMNS].r > 1) or (
        <double> m * <double> n * <double> k <= SMALL or (m == 1 and n == 1))
    if loops:
        mask = plan_loops(&p)
    else:
        if m > INT_MAX or n > INT_MAX or k > INT_MAX:
            too_long(&p)
        load_blas()
        if threads > 1:
            use_blas_threads()
        mask = plan_blas(&p, item, k)
    for i in range(3):
        data[i] = out.data if i == C else ins[i].data
        packed[i].v.meta = NULL
        packed[i].v.buf = NULL
        packed[i].view = NULL
    try:
        if mask:
            for i in range(3):
                if mask & (1 << i):
                    pack(engine, &p, i, out if i == C else &ins[i], &packed[i], i != C)
                    data[i] = packed[i].v.data
            for i in range(4):
                merge(&p.g[i])
        prepare(&job, &p, dtype, item, loops)
        if work < NOGIL_WORK:
            run(&job, &p.g[BATCH], data[A], data[B], data[C], item, 0, extent(&p.g[BATCH]))
        else:
            with nogil:
                if threads > 1 and work >= SHARED_WORK:
                    share(threads, &job, &p.g[BATCH], data, item)
                else:
                    run(&job, &p.g[BATCH], data[A], data[B], data[C], item, 0, extent(&p.g[BATCH]))
        if mask & (1 << C):
            unpack(engine, &packed[C], out)
    finally:
        if mask:
            for i in range(3):
                value_drop(&packed[i].v)
                meta_drop(packed[i].view)
    return 0
