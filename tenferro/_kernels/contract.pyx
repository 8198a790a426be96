"""Contraction of two tensors: the axes are sorted into four groups, fused, and handed to a matrix product.

``batch`` axes are in a, b and the result, ``rows`` in a and the result, ``columns`` in b and the result, ``summed`` in a and b.
When each of the last three groups fuses into one axis, and every matrix runs through its memory one element at a time in one
direction, BLAS takes the operands as they are. Otherwise an operand is packed first, or further axes become batch axes.
"""

from libc.string cimport memset

from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from .blas cimport gemm, gemv, load_blas, one, zero
from .copy cimport copy
from .ufunc cimport Loop, coalesce, find_loop, strided_loop

from tenferro.errors import IntegerOverflowError

cdef extern from "product.h":
    ctypedef void (*product_t "tf_product")(Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, const void *a, Py_ssize_t am, Py_ssize_t ak,
                                            const void *b, Py_ssize_t bk, Py_ssize_t bn, void *c, Py_ssize_t cm,
                                            Py_ssize_t cn) noexcept nogil
    product_t tf_products[13]

cdef enum:
    BATCH, ROWS, COLUMNS, SUMMED        # groups

cdef enum:
    A, B, C                             # operands

cdef enum:
    SMALL = 600                         # multiplications up to which an own loop beats a call of BLAS
    FEW = 4096                          # multiplications in all up to which nothing is packed for the sake of BLAS
    WORTHWHILE = 2048                   # multiplications per item from which a loop of BLAS calls needs no packing
    NOGIL_WORK = 32768
    INT_MAX = 0x7fffffff

cdef enum:
    LOOPS, VECTOR, MATRIX               # Job.mode

ctypedef struct Axis:
    Py_ssize_t n
    Py_ssize_t s[3]                     # strides in bytes in a, b and the result; 0 where an operand has no such axis

ctypedef struct Group:
    int r
    Axis x[64]

ctypedef struct Plan:
    Group g[4]

ctypedef struct Packed:                 # compact copy of an operand
    Value v
    Meta *view                          # the axes of the copy in the operand's own memory

ctypedef struct Job:                    # one matrix product; strides in elements
    int mode, dtype
    Py_ssize_t m, n, k, am, ak, bk, bn, cm, cn
    bint swap                           # the transposed product is computed: b'a' = (ab)'
    char ta, tb
    int im, in_, ik, lda, ldb, ldc


# ---- groups of axes ----------------------------------------------------------------------------------------------------

cdef inline void push(Group *g, Py_ssize_t n, Py_ssize_t a, Py_ssize_t b, Py_ssize_t c) noexcept nogil:
    cdef Axis *x = &g.x[g.r]
    x.n = n
    x.s[0] = a
    x.s[1] = b
    x.s[2] = c
    g.r += 1


cdef void collect(const Value *a, const Value *b, const Value *c, const Params *p, Plan *plan) noexcept nogil:
    """Sort the axes longer than one into groups. A label that only one operand or only the result has is one of length one."""
    cdef signed char at_a[256]
    cdef signed char at_b[256]
    cdef int na = <int> p.v[0], nb = <int> p.v[1], nc = <int> p.n - 2 - na - nb, i, ia, ib
    cdef const Py_ssize_t *la = p.v + 2
    cdef const Py_ssize_t *lb = la + na
    cdef const Py_ssize_t *lc = lb + nb
    cdef Py_ssize_t n
    memset(at_a, -1, 256)
    memset(at_b, -1, 256)
    for i in range(4):
        plan.g[i].r = 0
    for i in range(na):
        at_a[la[i]] = i
    for i in range(nb):
        at_b[lb[i]] = i
    for i in range(nc):
        n = c.meta.dims[i]
        ia = at_a[lc[i]]
        ib = at_b[lc[i]]
        at_a[lc[i]] = -1
        if n != 1:
            push(&plan.g[BATCH if ia >= 0 and ib >= 0 else (ROWS if ia >= 0 else COLUMNS)], n,
                 a.meta.dims[na + ia] if ia >= 0 else 0, b.meta.dims[nb + ib] if ib >= 0 else 0, c.meta.dims[nc + i])
    for i in range(na):
        if at_a[la[i]] >= 0 and a.meta.dims[i] != 1:
            ib = at_b[la[i]]
            push(&plan.g[SUMMED], a.meta.dims[i], a.meta.dims[na + i], b.meta.dims[nb + ib] if ib >= 0 else 0, 0)


cdef inline Py_ssize_t magnitude(Py_ssize_t x) noexcept nogil:
    return -x if x < 0 else x


cdef inline Py_ssize_t extent(const Group *g) noexcept nogil:
    cdef Py_ssize_t n = 1
    cdef int i
    for i in range(g.r):
        n *= g.x[i].n
    return n


cdef inline Py_ssize_t inner(const Group *g, int operand) noexcept nogil:
    return g.x[g.r - 1].s[operand] if g.r else 0


cdef void sort_by(Group *g, int operand) noexcept nogil:
    """Slowest axis of one operand first."""
    cdef int i, j
    cdef Axis x
    for i in range(1, g.r):
        x = g.x[i]
        j = i
        while j > 0 and magnitude(g.x[j - 1].s[operand]) < magnitude(x.s[operand]):
            g.x[j] = g.x[j - 1]
            j -= 1
        g.x[j] = x


cdef bint chained(Group *g, int operand) noexcept nogil:
    """Whether the axes are one run through an operand's memory, in whose order they are left."""
    cdef int i
    sort_by(g, operand)
    for i in range(1, g.r):
        if g.x[i - 1].s[operand] != g.x[i].s[operand] * g.x[i].n:
            return False
    return True


cdef void merge(Group *g) noexcept nogil:
    """Merge neighbours that continue one another in all operands."""
    cdef int i, j = 0
    cdef Py_ssize_t n
    for i in range(1, g.r):
        n = g.x[i].n
        if (g.x[j].s[0] == g.x[i].s[0] * n and g.x[j].s[1] == g.x[i].s[1] * n and g.x[j].s[2] == g.x[i].s[2] * n):
            n *= g.x[j].n
        else:
            j += 1
        g.x[j] = g.x[i]
        g.x[j].n = n
    if g.r:
        g.r = j + 1


cdef inline void fuse(Group *g, int operand) noexcept nogil:
    if g.r > 1:
        sort_by(g, operand)
        merge(g)


cdef void spill(Plan *p) noexcept nogil:
    """Leave one axis of the rows and one of the columns, the longest; the others become batch axes."""
    cdef int which, i, best
    cdef Group *g
    for which in range(ROWS, COLUMNS + 1):
        g = &p.g[which]
        best = 0
        for i in range(1, g.r):
            if g.x[i].n > g.x[best].n:
                best = i
        for i in range(g.r):
            if i != best:
                p.g[BATCH].x[p.g[BATCH].r] = g.x[i]
                p.g[BATCH].r += 1
        if g.r:
            g.x[0] = g.x[best]
            g.r = 1


# ---- what has to be packed ---------------------------------------------------------------------------------------------

cdef inline bint one_way(Py_ssize_t n1, Py_ssize_t s1, Py_ssize_t n2, Py_ssize_t s2, int item) noexcept nogil:
    """Whether a matrix has adjacent elements along its first axis, and BLAS can step along the second."""
    if n1 == 1:
        return s2 >= item and s2 <= <Py_ssize_t> INT_MAX * item
    if n2 == 1:
        return s1 == item
    return s1 == item and s2 >= n1 * item and s2 <= <Py_ssize_t> INT_MAX * item


cdef inline bint usable(const Group *g, const Group *h, int operand, int item) noexcept nogil:
    cdef Py_ssize_t n1 = extent(g), n2 = extent(h), s1 = inner(g, operand), s2 = inner(h, operand)
    return one_way(n1, s1, n2, s2, item) or one_way(n2, s2, n1, s1, item)


cdef int pack_sums(Plan *p, int mask) noexcept nogil:
    """Find an order of the summed axes; returns the operands to pack."""
    cdef Group *k = &p.g[SUMMED]
    cdef bint a, b
    if k.r < 2:
        return mask
    b = chained(k, B)
    if b and mask & (1 << A):
        return mask
    a = chained(k, A)
    if a and mask & (1 << B):
        return mask
    if a and b and extent(&p.g[ROWS]) < extent(&p.g[COLUMNS]):
        chained(k, B)
        return mask | 1 << A
    if a:
        return mask | 1 << B
    if b:
        chained(k, B)
        return mask | 1 << A
    return mask | 1 << A | 1 << B


cdef int pack_side(Group *g, int operand, int mask) noexcept nogil:
    """The same for the rows or the columns: an operand, the result, or both."""
    if g.r < 2:
        return mask
    if mask & (1 << C) and chained(g, operand):
        return mask
    if chained(g, C):
        return mask | 1 << operand
    if chained(g, operand):
        return mask | 1 << C
    return mask | 1 << operand | 1 << C


cdef int fit(Plan *p, int item) noexcept nogil:
    """Order the axes for BLAS; returns the operands that have to be packed, one bit each."""
    cdef int mask = pack_side(&p.g[COLUMNS], B, pack_side(&p.g[ROWS], A, 0))
    mask = pack_sums(p, mask)
    if not mask & (1 << A) and not usable(&p.g[ROWS], &p.g[SUMMED], A, item):
        mask |= 1 << A
    if not mask & (1 << B) and not usable(&p.g[COLUMNS], &p.g[SUMMED], B, item):
        mask |= 1 << B
    if not mask & (1 << C) and not usable(&p.g[ROWS], &p.g[COLUMNS], C, item):
        mask |= 1 << C
    return mask


cdef int pack(PyObject *engine, Plan *plan, int operand, const Value *src, Packed *dst, bint fill) except -1:
    """Compact memory for an operand: batch axes first, then its two groups, the one that is faster in its memory last."""
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


# ---- one product -------------------------------------------------------------------------------------------------------

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


cdef void run(Job *j, const Group *g, char *a, char *b, char *c, int item) noexcept nogil:
    """All items of the batch."""
    cdef Py_ssize_t at[128]
    cdef Py_ssize_t i
    cdef int k, last = g.r - 1
    cdef const Axis *x = &g.x[last]
    if last < 0:
        product(j, a, b, c, item)
        return
    for k in range(last):
        at[k] = 0
    while True:
        for i in range(x.n):
            product(j, a + i * x.s[0], b + i * x.s[1], c + i * x.s[2], item)
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
        if k < 0:
            return


# ---- the kernel --------------------------------------------------------------------------------------------------------

cdef int multiply(const Plan *p, const Value *ins, Value *out) except -1:
    """Nothing is summed: a broadcast multiplication."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[3][64]
    cdef char *data[3]
    cdef int which, i, k, r = 0
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
    if out.meta.size < NOGIL_WORK:
        strided_loop(loop, 3, r, shape, data, strides)
    else:
        with nogil:
            strided_loop(loop, 3, r, shape, data, strides)
    return 0


cdef int too_long(const Plan *p) except -1:
    raise IntegerOverflowError(
        f"matrix dimensions ({extent(&p.g[ROWS])}, {extent(&p.g[SUMMED])}, {extent(&p.g[COLUMNS])}) exceed 2**31 - 1, the limit of "
        "BLAS with 32-bit integers; contract in parts", op="contract", argument="shape", expected=INT_MAX,
        actual=max(extent(&p.g[ROWS]), extent(&p.g[SUMMED]), extent(&p.g[COLUMNS])))


cdef int plan_loops(Plan *p) noexcept nogil:
    """For own loops only the sum has to be one axis."""
    spill(p)
    return pack_sums(p, 0)


cdef int plan_blas(Plan *p, int item, Py_ssize_t k) noexcept nogil:
    cdef Plan trial
    if p.g[ROWS].r > 1 or p.g[COLUMNS].r > 1:
        trial = p[0]
        spill(&trial)
        if extent(&trial.g[ROWS]) * extent(&trial.g[COLUMNS]) * k >= WORTHWHILE and fit(&trial, item) == 0:
            p[0] = trial
            return 0
    return fit(p, item)


cdef int contract(PyObject *engine, int op, const Value *ins, int n_in, Value *out, const Params *params) except -1:
    cdef Plan p
    cdef Job job
    cdef Packed packed[3]
    cdef char *data[3]
    cdef int dtype = out.meta.dtype, item = out.meta.itemsize, mask, i
    cdef Py_ssize_t m, n, k
    cdef double work
    cdef bint loops
    if out.meta.size == 0:
        return 0
    collect(&ins[0], &ins[1], out, params, &p)
    if p.g[SUMMED].r == 0:
        return multiply(&p, ins, out)
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
            run(&job, &p.g[BATCH], data[A], data[B], data[C], item)
        else:
            with nogil:
                run(&job, &p.g[BATCH], data[A], data[B], data[C], item)
        if mask & (1 << C):
            unpack(engine, &packed[C], out)
    finally:
        if mask:
            for i in range(3):
                value_drop(&packed[i].v)
                meta_drop(packed[i].view)
    return 0
