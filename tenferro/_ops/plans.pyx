"""Contraction plans, and the process's cache of them.

A plan is a list of products in pairs, as numbers of slots and labels. It depends on the expression and on shapes, but not
on dtypes or memory order.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_GetItem
from libc.stdlib cimport free, malloc

from tenferro._core.eager cimport cast
from tenferro._core.memory cimport *
from tenferro._core.optable cimport promote
from .labels cimport contract_with, in_common
from .reduce cimport sum_axes
from .structure cimport diagonal_of, permute, shape_tuple

from tenferro._core import caches
from . import paths
from .subscripts import parse

cdef extern from "Python.h":
    PyObject *PyList_GET_ITEM(list, Py_ssize_t)

cdef enum:
    OVERHEAD = 600                      # bytes of an entry beside what is counted


# ---- plans -----------------------------------------------------------------------------------------------------------

cdef class Plan:
    """One expression for operands of given ranks or shapes, ready to run."""

    def __cinit__(self, expression, shapes, optimize):
        cdef Product *p
        own, products, self.order = paths.plan(expression, shapes, optimize)
        self.n = len(own)
        self.own = [leaf if leaf[0] or leaf[1] else None for leaf in own]
        self.bare = not any(self.own)
        self.nbytes = OVERHEAD + 8 * self.n
        if shapes is None:
            self.set_pairs(expression.terms)
        self.products = <Product *> malloc(max(len(products), 1) * sizeof(Product))
        if self.products == NULL:
            raise MemoryError
        for x, y, lx, ly, lo in products:
            p = &self.products[self.n_products]
            p.x = x
            p.y = y
            p.params = params_of(lx, ly, lo)
            self.n_products += 1
            self.nbytes += sizeof(Product) + sizeof(Params) + 8 * p.params.n

    def __dealloc__(self):
        cdef int i
        for i in range(self.n_products):
            params_drop(self.products[i].params)
        free(self.products)
        free(self.pairs)

    cdef int set_pairs(self, list terms) except -1:
        cdef dict first = {}
        cdef int *p
        self.pairs = <int *> malloc(max(4 * sum(map(len, terms)), 1) * sizeof(int))
        if self.pairs == NULL:
            raise MemoryError
        for k, term in enumerate(terms):
            for axis, label in enumerate(term):
                if label not in first:
                    first[label] = (k, axis)
                    continue
                p = self.pairs + 4 * self.n_pairs
                p[0], p[1] = first[label]
                p[2] = k
                p[3] = axis
                self.n_pairs += 1
        return 0

    cdef bint agrees(self, EagerTensor x, EagerTensor y) noexcept:
        """Whether axes with one label have one length."""
        cdef int *p = self.pairs
        cdef int _
        cdef Meta *a
        cdef Meta *b
        for _ in range(self.n_pairs):
            a = y.v.meta if p[0] else x.v.meta
            b = y.v.meta if p[2] else x.v.meta
            if a.dims[p[1]] != b.dims[p[3]]:
                return False
            p += 4
        return True

    cdef EagerTensor bared(self, int k, EagerTensor x):
        """One operand without repeated labels and without those that are summed in it alone."""
        if self.own[k] is None:
            return x
        diagonals, mask, _ = self.own[k]
        for i, j in diagonals:
            x = diagonal_of(x, 0, i, j)
        return sum_axes(x, mask, False) if mask else x

    cdef EagerTensor run1(self, EagerTensor x):
        cdef Py_ssize_t perm[64]
        cdef int i = 0
        x = self.bared(0, x)
        for axis in self.order:
            perm[i] = axis
            i += 1
        return permute(x, perm)

    cdef EagerTensor run2(self, EagerTensor x, EagerTensor y):
        if x.v.meta.dtype != y.v.meta.dtype:
            x, y = in_common(x, y), in_common(y, x)
        if not self.bare:
            x = self.bared(0, x)
            y = self.bared(1, y)
        return contract_with(x, y, params_ref(self.products[0].params))

    cdef EagerTensor run(self, list xs):
        cdef int k
        cdef Product *p
        cdef EagerTensor x, y
        if self.n == 1:
            return self.run1(<EagerTensor> xs[0])
        unify(xs)
        if not self.bare:
            for k in range(self.n):
                xs[k] = self.bared(k, <EagerTensor> xs[k])
        for k in range(self.n_products):
            p = &self.products[k]
            x = <EagerTensor> PyList_GET_ITEM(xs, p.x)
            y = <EagerTensor> PyList_GET_ITEM(xs, p.y)
            xs[p.x] = xs[p.y] = None
            if x.v.meta.dtype != y.v.meta.dtype:
                x, y = in_common(x, y), in_common(y, x)
            x = contract_with(x, y, params_ref(p.params))
            xs[p.x] = x
        return x


cdef int common_dtype(list xs, bint *mixed) noexcept:
    """Dtype of the result; integers are promoted after all other operands, each on its own, as NumPy does."""
    cdef int first = (<EagerTensor> PyList_GET_ITEM(xs, 0)).v.meta.dtype, common = -1, turn, d, k
    mixed[0] = False
    for turn in range(2):
        for k in range(len(xs)):
            d = (<EagerTensor> PyList_GET_ITEM(xs, k)).v.meta.dtype
            if is_inexact(d) == (turn == 0):
                common = d if common < 0 else promote[common][d]
            if d != first:
                mixed[0] = True
        if turn == 0 and not mixed[0]:
            return first
    return common


cdef int unify(list xs) except -1:
    """Cast to the common dtype, but leave real what is real: it becomes complex where it meets a complex operand."""
    cdef bint mixed
    cdef int common = common_dtype(xs, &mixed), d, k
    if not mixed:
        return 0
    for k in range(len(xs)):
        d = (<EagerTensor> PyList_GET_ITEM(xs, k)).v.meta.dtype
        xs[k] = cast(<EagerTensor> xs[k], common if is_complex(d) else real_dtype(common))
    return 0


cdef Params *params_of(list lx, list ly, list lo) except NULL:
    cdef Params *p = params_new(2 + len(lx) + len(ly) + len(lo))
    cdef Py_ssize_t label
    cdef int i = 2
    p.v[0] = len(lx)
    p.v[1] = len(ly)
    for labels in (lx, ly, lo):
        for label in labels:
            p.v[i] = label
            i += 1
    return p


# ---- the cache -------------------------------------------------------------------------------------------------------

cdef dict plans = {}
cdef Py_ssize_t max_entries = 1024, max_bytes = 8 << 20, n_bytes = 0
cdef Py_ssize_t hits = 0, misses = 0, evictions = 0, clears = 0
cdef long long clock = 0


cdef inline Plan found(object key):
    global hits, clock
    cdef PyObject *p = PyDict_GetItem(plans, key)
    if p == NULL:
        return None
    hits += 1
    clock += 1
    (<Plan> p).used = clock
    return <Plan> p


cdef Plan made(object key, object subscripts, list ranks, object shapes, object optimize):
    """A new plan, kept unless the key is None."""
    global misses, n_bytes, clock
    cdef Plan plan, old
    misses += 1
    plan = Plan(parse(subscripts, ranks), shapes, optimize)
    if key is None:
        return plan
    plan.nbytes += key_bytes(key)
    clock += 1
    plan.used = clock
    old = <Plan> plans.get(key)         # another thread may have been faster
    if old is not None:
        n_bytes -= old.nbytes
    plans[key] = plan
    n_bytes += plan.nbytes
    evict()
    return plan


cdef Py_ssize_t key_bytes(object key) except -1:
    """Estimated size of a key."""
    if isinstance(key, tuple):
        return 56 + sum([8 + key_bytes(part) for part in <tuple> key])
    return 56 + len(key) if isinstance(key, (str, bytes)) else 0


cdef int evict() except -1:
    """Drop the least recently used plans until the limits hold."""
    global n_bytes, evictions
    cdef Plan plan, oldest
    while plans and (len(plans) > max_entries or n_bytes > max_bytes):
        oldest = None
        for key, value in plans.items():
            plan = <Plan> value
            if oldest is None or plan.used < oldest.used:
                oldest = plan
                oldest_key = key
        n_bytes -= oldest.nbytes
        evictions += 1
        del plans[oldest_key]
    return 0


cdef Plan plan_of_ranks(object subscripts, int rx, int ry):
    cdef tuple key = (subscripts, rx, ry)
    cdef Plan plan = found(key)
    return plan if plan is not None else made(key, subscripts, [rx] if ry < 0 else [rx, ry], None, "auto")


cdef bytes shape_key(list xs):
    """Ranks and lengths of axes."""
    cdef Py_ssize_t n = 0
    cdef Py_ssize_t *p
    cdef Meta *m
    cdef bytes key
    cdef int k, i
    for k in range(len(xs)):
        n += 1 + (<EagerTensor> PyList_GET_ITEM(xs, k)).v.meta.rank
    key = PyBytes_FromStringAndSize(NULL, n * sizeof(Py_ssize_t))
    p = <Py_ssize_t *> PyBytes_AS_STRING(key)
    for k in range(len(xs)):
        m = (<EagerTensor> PyList_GET_ITEM(xs, k)).v.meta
        p[0] = m.rank
        for i in range(m.rank):
            p[1 + i] = m.dims[i]
        p += 1 + m.rank
    return key


cdef Plan plan_of_shapes(object subscripts, list xs, object optimize):
    cdef tuple key = None
    cdef Plan plan
    if not callable(optimize):
        key = (subscripts, shape_key(xs), optimize)
        plan = found(key)
        if plan is not None:
            return plan
    shapes = [shape_tuple((<EagerTensor> x).v.meta) for x in xs]
    return made(key, subscripts, [len(shape) for shape in shapes], shapes, optimize)


def plan_stats():
    """``(entries, retained_bytes, hits, misses, evictions, clears)``"""
    return len(plans), n_bytes, hits, misses, evictions, clears


def clear_plans():
    global n_bytes, clears
    plans.clear()
    n_bytes = 0
    clears += 1


def set_plan_limits(Py_ssize_t entries, Py_ssize_t nbytes):
    """Set the limits of the cache, which evicts at once; returns the old ones."""
    global max_entries, max_bytes
    old = max_entries, max_bytes
    max_entries = entries
    max_bytes = nbytes
    evict()
    return old


caches.set_plan_cache(plan_stats, clear_plans)
