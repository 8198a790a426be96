"""The axes of a contraction in four groups: how they fuse, and which operands have to be packed for that."""

from libc.string cimport memset

cdef enum:
    WORTHWHILE = 2048                   # multiplications per item from which a loop of BLAS calls needs no packing


cdef inline void push(Group *g, Py_ssize_t n, Py_ssize_t a, Py_ssize_t b, Py_ssize_t c) noexcept nogil:
    cdef Axis *x = &g.x[g.r]
    x.n = n
    x.s[0] = a
    x.s[1] = b
    x.s[2] = c
    g.r += 1


cdef void collect(const Value *a, const Value *b, const Value *c, const Params *p, Plan *plan) noexcept nogil:
    """Sort the axes longer than one into groups; a label that only one of the three tensors has is of length one."""
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


cdef void spill(Plan *p) noexcept nogil:
    """Leave one axis of the rows and one of the columns; the others become batch axes.

    The longest one stays, or the fastest of the result if it is not much shorter.
    """
    cdef int which, i, best
    cdef Group *g
    for which in range(ROWS, COLUMNS + 1):
        g = &p.g[which]
        best = g.r - 1
        for i in range(g.r - 1):
            if g.x[i].n > (4 * g.x[best].n if best == g.r - 1 else g.x[best].n):
                best = i
        for i in range(g.r):
            if i != best:
                p.g[BATCH].x[p.g[BATCH].r] = g.x[i]
                p.g[BATCH].r += 1
        if g.r:
            g.x[0] = g.x[best]
            g.r = 1


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
