"""One pass over a trace, backwards or forwards.

Nodes are visited through a heap that is ordered by their time of recording: inputs are older than what was computed from
them, so when the youngest node is taken all that depends on it has been dealt with. Only what is reachable from the output is
ever touched, there is no recursion, and accumulation follows the reverse order of recording. Where a node stands in a sweep is
written into the node; a sweep that starts while another one is marking nodes (in another thread, or inside a rule) uses a
dictionary instead.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from .eager cimport alias, apply1, apply2, cast, emit1, fresh, scalar_like, watched_by_others, wrap
from .engine cimport ExecutionEngine, call_kernel
from .memory cimport *
from .gradient_hooks cimport hooked_cotangent
from .node cimport CAPTURED, HOOKED, IS_LAZY, IS_LEAF
from .optable cimport Op
from .rule cimport apply_jvp, apply_vjp
from .spaces cimport device_one, device_zeros
from .state cimport engine_for, thread_state
from tenferro._ops.reduce cimport sum_to
from tenferro._ops.structure cimport broadcast_like

cdef Node *(*recorded_node)(Node *) except NULL     # what stands for a lazy node, see reuse.pyx
cdef Node *(*known_node)(Node *) noexcept


cdef int lazy_hooks(Node *(*recorded)(Node *) except NULL, Node *(*known)(Node *) noexcept) except -1:
    global recorded_node, known_node
    recorded_node = recorded
    known_node = known
    return 0


cdef extern from *:
    """
    static _Thread_local void *tf_rule_node = NULL;
    """
    Node *rule_node "tf_rule_node"


cdef Node *node_at_hand() noexcept:
    return rule_node


cdef unsigned int last_id = 0
cdef bint marking = False


cdef bint holding = False           # a sweep is followed without being computed; it does not give up the GIL


cdef int hold_breath(bint on) except -1:
    """While it is on, sweeps run no code but rules of this library: they raise `NotSymbolic` instead."""
    global holding
    holding = on
    return 0


class NotSymbolic(Exception):
    """A node whose rule is somebody's Python function, or that is recorded first."""


cdef int check_symbolic(Node *n) except -1:
    if n.flags & HOOKED or n.op.id >= <int> Op.CUSTOM:
        raise NotSymbolic
    return 0


cdef int breathe(Py_ssize_t beat, Py_ssize_t size) except -1:
    if holding:
        return 0
    if beat & 31 == 0 or size > 4096:
        PyErr_CheckSignals()
        if beat & 1023 == 512:
            with nogil:                 # lets waiting threads run
                pass
    return 0


cdef EagerTensor settled(EagerTensor t):
    if t.v.meta.flags & DENSE and not t.v.buf.flags & BORROWED:
        return t
    return emit1(Op.COPY, t, NULL, meta_like(t.v.meta, t.v.meta.dtype))


cdef EagerTensor result(PyObject *value):
    """What a sweep returns: a handle of its own, untracked inside no_grad."""
    cdef EagerTensor t = <EagerTensor> value, u
    if t.node != NULL and thread_state().no_grad:
        t = alias(t, NULL)
    u = settled(t)
    if u is not t or value.ob_refcnt == 2:      # the sweep's reference and t
        return u
    if t.node != NULL and t.node.flags & IS_LEAF:
        return emit1(Op.COPY, t, NULL, meta_like(t.v.meta, t.v.meta.dtype))
    if t.node != NULL:
        t.node.refs += 1
    return alias(t, t.node)


cdef list held(list outputs):
    """Handles of a sweep's own, so that its graph outlives whatever other code does to the caller's."""
    cdef EagerTensor y
    cdef list own = []
    for y in outputs:
        if y.node != NULL:
            y.node.refs += 1
        own.append(alias(y, y.node))
    return own


cdef EagerTensor conform(EagerTensor c, Meta *m):
    if c.v.meta == m or same_type(c.v.meta, m):
        return c
    if not same_shape(c.v.meta, m):
        c = sum_to(c, m)
    if c.v.meta.dtype != m.dtype:
        if is_complex(c.v.meta.dtype) and not is_complex(m.dtype):
            c = apply1(Op.REAL, c)
        c = cast(c, m.dtype)
    return c


cdef EagerTensor extend(EagerTensor t, Meta *m):
    """A tangent with the shape and dtype of its primal."""
    if t.v.meta == m or same_type(t.v.meta, m):
        return t
    if not same_shape(t.v.meta, m):
        t = broadcast_like(t, m)
    if t.v.meta.dtype != m.dtype:
        if is_complex(t.v.meta.dtype) and not is_complex(m.dtype):
            t = apply1(Op.REAL, t)
        t = cast(t, m.dtype)
    return t


@cython.final
@cython.no_gc
@cython.freelist(4)
cdef class Sweep:

    def __cinit__(self):
        global last_id, marking
        if not marking:
            marking = True
            last_id += 1
            if last_id == 0:
                last_id = 1
            self.id = last_id
        else:
            self.slots = {}

    def __dealloc__(self):
        global marking
        cdef Py_ssize_t i
        if self.id:
            marking = False
        for i in range(self.n):
            if self.items[i].value != NULL:
                Py_DECREF(<object> self.items[i].value)
        free(self.items)
        free(self.heap)

    cdef Py_ssize_t find(self, Node *p):
        """Place of a node in this sweep, or -1."""
        if p.flags & IS_LAZY:
            p = known_node(p)
            if p == NULL:
                return -1
        if self.id:
            if p.sweep == self.id and p.slot < self.n and self.items[p.slot].node == p:
                return p.slot
            return -1
        return self.slots.get(<size_t> p, -1)

    cdef Py_ssize_t visit(self, Node *p) except -1:
        """Place of a node; queued if it is new."""
        cdef Py_ssize_t slot, k, up
        cdef void *grown
        if p.flags & IS_LAZY:
            if holding:
                raise NotSymbolic
            p = recorded_node(p)
        slot = self.find(p)
        if slot >= 0:
            return slot
        slot = self.n
        if slot == self.capacity:
            grown = realloc(self.items, max(32, 2 * slot) * sizeof(Item))
            if grown == NULL:
                raise MemoryError
            self.items = <Item *> grown
            self.capacity = max(32, 2 * slot)
        if self.heap_n == self.heap_capacity:
            grown = realloc(self.heap, max(32, 2 * self.heap_n) * sizeof(Entry))
            if grown == NULL:
                raise MemoryError
            self.heap = <Entry *> grown
            self.heap_capacity = max(32, 2 * self.heap_n)
        self.items[slot].node = p
        self.items[slot].value = NULL
        self.items[slot].active = 0
        self.n += 1
        if self.id and slot < 0xffffffff:
            p.sweep = self.id
            p.slot = <unsigned int> slot
        elif not self.id:
            self.slots[<size_t> p] = slot
        k = self.heap_n
        self.heap_n += 1
        while k > 0:
            up = (k - 1) >> 1
            if self.heap[up].seq >= p.seq:
                break
            self.heap[k] = self.heap[up]
            k = up
        self.heap[k].seq = p.seq
        self.heap[k].slot = slot
        return slot

    cdef Py_ssize_t pop(self) noexcept:
        """Take the youngest queued node."""
        cdef Py_ssize_t slot = self.heap[0].slot, k = 0, child
        cdef Entry last
        self.heap_n -= 1
        last = self.heap[self.heap_n]
        while True:
            child = 2 * k + 1
            if child >= self.heap_n:
                break
            if child + 1 < self.heap_n and self.heap[child + 1].seq > self.heap[child].seq:
                child += 1
            if self.heap[child].seq <= last.seq:
                break
            self.heap[k] = self.heap[child]
            k = child
        self.heap[k] = last
        return slot

    cdef EagerTensor take(self, Py_ssize_t slot):
        """Move a node's cotangent out."""
        cdef PyObject *v = self.items[slot].value
        if v == NULL:
            return None
        self.items[slot].value = NULL
        t = <EagerTensor> v
        Py_DECREF(t)
        return t

    cdef int put(self, Py_ssize_t slot, EagerTensor c) except -1:
        """Give a node another value."""
        self.take(slot)
        Py_INCREF(c)
        self.items[slot].value = <PyObject *> c
        return 0

    cdef int accumulate(self, Py_ssize_t slot, EagerTensor c) except -1:
        """Add to a node's value, in place when its memory is this sweep's alone."""
        cdef EagerTensor have
        cdef ExecutionEngine engine
        cdef Value args[2]
        cdef PyObject *v = self.items[slot].value
        if v == NULL:
            Py_INCREF(c)
            self.items[slot].value = <PyObject *> c
            return 0
        if (not self.pure and v.ob_refcnt == 1 and (<EagerTensor> v).node == NULL and c.node == NULL
                and (<EagerTensor> v).v.buf.refs == 1
                and (<EagerTensor> v).v.buf.owner == NULL and (<EagerTensor> v).v.meta.flags & DENSE
                and (<EagerTensor> v).v.meta.dtype == c.v.meta.dtype and same_layout((<EagerTensor> v).v.meta, c.v.meta)):
            have = <EagerTensor> v
            args[0] = have.v
            args[1] = c.v
            engine = engine_for(self.rt)
            call_kernel(engine.kernels[<int> Op.ADD], engine, Op.ADD, args, 2, &have.v, NULL)
            return 0
        have = apply2(Op.ADD, <EagerTensor> v, c)
        Py_INCREF(have)
        self.items[slot].value = <PyObject *> have
        Py_DECREF(<object> v)
        return 0

    cdef list tangents_of(self, Node *n):
        """Tangents of all inputs of a node, None for an exact zero."""
        cdef list found = []
        cdef Py_ssize_t slot
        cdef int k
        for k in range(n.n_in):
            slot = self.find(n.ins[k]) if n.ins[k] != NULL else -1
            found.append(None if slot < 0 or self.items[slot].value == NULL else <object> self.items[slot].value)
        return found

    cdef int pull_back(self, Node *n, EagerTensor g, bint active_only) except -1:
        """Hand a node's cotangent on to its inputs."""
        cdef Ctx ctx = self.ctx
        cdef Node *p
        cdef EagerTensor c
        cdef Py_ssize_t slot
        cdef int i
        if holding:
            check_symbolic(n)
        for i in range(n.n_in):
            p = n.ins[i]
            if p == NULL or not is_inexact(p.meta.dtype):
                continue
            slot = self.find(p) if active_only else self.visit(p)
            if active_only and (slot < 0 or not self.items[slot].active):
                continue
            ctx.node = n
            ctx.i = i
            if self.watched:
                self.hand_on_watched(slot, g)
                continue
            c = apply_vjp(ctx, g)
            if c is not None:
                self.accumulate(slot, conform(c, p.meta))
        return 0

    cdef int hand_on_watched(self, Py_ssize_t slot, EagerTensor g) except -1:
        """One step of `pull_back`, while watchers may ask which node it belongs to."""
        cdef Node *before = rule_node
        cdef Node *p = self.ctx.node.ins[self.ctx.i]
        cdef EagerTensor c
        global rule_node
        rule_node = self.ctx.node
        try:
            c = apply_vjp(self.ctx, g)
            if c is not None:
                self.accumulate(slot, conform(c, p.meta))
        finally:
            rule_node = before
        return 0

    cdef int collect(self, list outputs, list targets) except -1:
        """Visit all that leads from the outputs back to the targets, youngest first, and mark what is active."""
        cdef unsigned long long oldest = ~<unsigned long long> 0
        cdef EagerTensor t
        cdef Node *p
        cdef Py_ssize_t i, slot
        cdef int k
        for t in targets:
            if t.node != NULL and t.node.seq < oldest:
                oldest = t.node.seq
        for t in outputs:
            if t.node != NULL and t.node.seq >= oldest:
                self.visit(t.node)
        while self.heap_n:
            p = self.items[self.pop()].node
            for k in range(p.n_in):
                if p.ins[k] != NULL and p.ins[k].seq >= oldest:
                    self.visit(p.ins[k])
        self.sort()
        for t in targets:
            if t.node != NULL:
                slot = self.find(t.node)
                if slot >= 0:
                    self.items[slot].active = 1
        for i in range(self.n - 1, -1, -1):
            p = self.items[i].node
            for k in range(p.n_in):
                if p.ins[k] != NULL and not self.items[i].active:
                    slot = self.find(p.ins[k])
                    if slot >= 0 and self.items[slot].active:
                        self.items[i].active = 1
        return 0

    cdef int sort(self) except -1:
        """Order the visited nodes by age, youngest first, and renumber them."""
        cdef Py_ssize_t i
        qsort(self.items, self.n, sizeof(Item), by_age)
        for i in range(self.n):
            if self.id:
                self.items[i].node.slot = <unsigned int> i
            else:
                self.slots[<size_t> self.items[i].node] = i
        return 0


cdef extern from "<stdlib.h>":
    void qsort(void *, size_t, size_t, int (*)(const void *, const void *) noexcept) noexcept


cdef int by_age(const void *a, const void *b) noexcept:
    cdef unsigned long long x = (<const Item *> a).node.seq, y = (<const Item *> b).node.seq
    return 1 if x < y else (-1 if x > y else 0)


cdef Sweep start(EagerRuntime rt, bint traced):
    cdef Sweep s = Sweep.__new__(Sweep)
    s.rt = rt
    s.ctx = Ctx.__new__(Ctx)
    s.ctx.rt = rt
    s.ctx.traced = traced
    s.watched = s.pure = watched_by_others()
    return s


cdef EagerTensor watched_jvp(Ctx ctx, EagerTensor t):
    global rule_node
    cdef Node *before = rule_node
    rule_node = ctx.node
    try:
        return apply_jvp(ctx, t)
    finally:
        rule_node = before


cdef tuple backward(Sweep s, Node *root, EagerTensor seed):
    """Addresses of all leaves that the root leads to, and their cotangents."""
    cdef Py_ssize_t slot, beat = 0
    cdef Node *n
    cdef EagerTensor g
    cdef list grads = [], leaves = []
    s.accumulate(s.visit(root), seed)
    while s.heap_n:
        slot = s.pop()
        n = s.items[slot].node
        g = s.take(slot)
        if g is None:
            continue
        if n.flags & HOOKED:
            if holding:
                raise NotSymbolic
            g = hooked_cotangent(n, g, s.ctx.traced)
        if n.flags & CAPTURED:
            continue
        if n.flags & IS_LEAF:
            leaves.append(<size_t> n)
            g = settled(g)
            grads.append(g if (<PyObject *> g).ob_refcnt == 1 else alias(g, NULL))
            continue
        beat += 1
        breathe(beat, g.v.meta.size)
        s.pull_back(n, g, False)
    return leaves, grads


cdef list reverse(Sweep s, list outputs, list targets, list cotangents):
    """Cotangents of the targets; None for one that no output depends on."""
    cdef Py_ssize_t i, slot
    cdef EagerTensor y, c, g
    cdef Node *n
    cdef list found = []
    outputs = held(outputs)
    s.collect(outputs, targets)
    for y, c in zip(outputs, cotangents):
        slot = s.find(y.node) if y.node != NULL else -1
        if slot >= 0 and s.items[slot].active:
            s.accumulate(slot, c)
    for y in targets:
        if y.node != NULL and s.find(y.node) >= 0:
            s.items[s.find(y.node)].active = 2
    for i in range(s.n):
        n = s.items[i].node
        if not s.items[i].active or s.items[i].value == NULL:
            continue
        g = <EagerTensor> s.items[i].value if s.items[i].active == 2 else s.take(i)
        if n.flags & HOOKED:
            if holding:
                raise NotSymbolic
            g = hooked_cotangent(n, g, s.ctx.traced)
            if s.items[i].active == 2:
                s.put(i, g)
        if n.n_in:
            breathe(i, g.v.meta.size)
            s.pull_back(n, g, True)
    g = c = None
    for y in targets:
        slot = s.find(y.node) if y.node != NULL else -1
        if slot < 0:
            found.append(None)
        elif s.items[slot].value == NULL:
            found.append(zeros_of(y))
        else:
            found.append(result(s.items[slot].value))
    return found


cdef list forward(Sweep s, list outputs, list targets, list tangents):
    """Tangents of the outputs, replayed along the trace; None for one that depends on no target."""
    cdef Py_ssize_t i, slot
    cdef EagerTensor y, t, total
    cdef Node *n
    cdef int k
    cdef Ctx ctx = s.ctx
    cdef list found = []
    outputs = held(outputs)
    s.collect(outputs, targets)
    for y, t in zip(targets, tangents):
        slot = s.find(y.node) if y.node != NULL else -1
        if slot >= 0:
            s.accumulate(slot, t)
    for i in range(s.n - 1, -1, -1):
        n = s.items[i].node
        if not s.items[i].active:
            continue
        if not is_inexact(n.meta.dtype):
            continue
        breathe(i, n.meta.size)
        if holding:
            check_symbolic(n)
        total = None
        ctx.tangents = s.tangents_of(n) if n.op.id == <int> Op.CUSTOM else None
        for k in range(n.n_in):
            slot = s.find(n.ins[k]) if n.ins[k] != NULL else -1
            if slot < 0 or s.items[slot].value == NULL:
                continue
            ctx.node = n
            ctx.i = k
            t = <EagerTensor> s.items[slot].value
            t = watched_jvp(ctx, t) if s.watched else apply_jvp(ctx, t)
            if t is not None:
                total = t if total is None else apply2(Op.ADD, total, t)
        if total is not None:
            s.accumulate(i, extend(total, n.meta))
    t = total = None
    for y in outputs:
        slot = s.find(y.node) if y.node != NULL else -1
        if slot < 0 or not s.items[slot].active:
            found.append(None)
        elif s.items[slot].value == NULL:
            found.append(zeros_of(y))
        else:
            found.append(result(s.items[slot].value))
    return found


cdef EagerTensor zeros_of(EagerTensor y):
    """Zeros with the shape and dtype of y."""
    cdef Meta *m = meta_like(y.v.meta, y.v.meta.dtype)
    cdef EagerTensor t
    cdef Value v
    if y.v.buf.space != HOST_SPACE:
        device_zeros(&v, y.v.buf.space, m)
        return wrap(y.rt, &v, NULL)
    t = fresh(y.rt, m)
    memset(t.v.data, 0, m.size * m.itemsize)
    return t


cdef EagerTensor one_like(EagerTensor y):
    """The number 1 of y's dtype where y lies."""
    cdef EagerTensor t = scalar_like(y, 1.0)
    cdef Value v
    if y.v.buf.space == HOST_SPACE:
        return t
    device_one(&v, y.v.buf.space, &t.v)
    return wrap(y.rt, &v, NULL)
