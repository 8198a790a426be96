"""Derivatives of structures that return: run from a program, or swept and made into one.

The first time a structure is differentiated its rules run directly and only its hash is kept. The second time the sweep is
watched and becomes a program (AD-transform cache, shared through an AdContext), bound to the kernels of the engine (prepared
derivative, of one runtime). From the third time on no rule is called. A hit is confirmed node by node. Where values are large
the first sweep is followed without being computed, and its program runs: fused passes need less time and memory.

A gradient that could be differentiated again is then not recorded operation by operation: its node remembers what was asked
for, and is replaced by the recorded sweep when a sweep reaches it. A structure to which that happens is recorded at once the
next time.
"""

from .caches cimport CacheEntry, DerivativeCache, prepared, transforms
from .eager cimport watched_by_others
from .engine cimport ExecutionEngine
from .memory cimport *
from .node cimport HOOKED, IS_LAZY, IS_LEAF, mix, node_new, reserve, saved_values
from .optable cimport Op, ops
from .program cimport Prepared, is_one, prepare
from .spaces cimport device_copy
from .state cimport engine_for, thread_state
from .sweep cimport Sweep, backward, forward, held, hold_breath, lazy_hooks, one_like, reverse, start, zeros_of
from .tracing cimport Tracer, build

from libc.string cimport memcpy

from . import memory
from .sweep import NotSymbolic

cdef extern from "Python.h":
    int PyGC_Disable()
    int PyGC_Enable()

cdef enum:
    LONGEST = 100_000                   # nodes of a structure worth a program
    NEAREST = 64                        # nodes that are looked at for this
    ROOM = 1 << 30                      # places in the order of recording that a later recording may need


cdef unsigned long long key_of(int kind, bint traced, list outputs, list targets, list seeds) noexcept:
    cdef unsigned int a = kind * 2 + traced, b = 0
    cdef EagerTensor t
    for t in outputs:
        a = mix(a, t.node.hash if t.node != NULL else 7)
    for t in targets:
        b = mix(b, t.node.hash if t.node != NULL else 7)
    for t in seeds:
        b = mix(b, (t.node != NULL) + 2 * is_one(t))
    return (<unsigned long long> a << 32 | b) + 1


cdef list direct(Sweep s, int kind, list outputs, list targets, list seeds):
    return reverse(s, outputs, targets, seeds) if kind == REVERSE else forward(s, outputs, targets, seeds)


cdef list first_sweep(DerivativeCache cache, unsigned long long key, int kind, Sweep s, list outputs, list targets,
                      list seeds):
    """A direct sweep, after which it is known whether the structure can become a program at all."""
    cdef list found = direct(s, kind, outputs, targets, seeds)
    if not worth_keeping(s):
        cache.reject(key)
    return found


cdef int missed(EagerRuntime rt) except -1:
    cdef DerivativeCache cache = prepared(rt)
    cache.misses += 1
    return 0


cdef Prepared prepared_for(EagerRuntime rt, Program p):
    """The program bound to the kernels of the current engine."""
    cdef DerivativeCache cache = prepared(rt)
    cdef ExecutionEngine engine = engine_for(rt)
    cdef CacheEntry e
    cdef Prepared q
    for e in cache.buckets.get(p, ()):
        q = <Prepared> e.value
        if q.table == engine.kernels:
            cache.touch(e)
            return q
    cache.misses += 1
    q = prepare(p, engine)
    cache.add(p, q, q.nbytes)
    return q


cdef Program find(DerivativeCache cache, unsigned long long key, Node ***nodes, int space, list outputs, list targets,
                  list seeds):
    """A cached program that fits, with the nodes of this trace at its places (to be freed); None if there is none."""
    cdef CacheEntry e
    cdef Program p
    cdef Sweep s
    for e in cache.buckets.get(key, ()):
        p = <Program> e.value
        if p.space != space:
            continue
        s = start(None, False)
        if s.id == 0:
            return None
        nodes[0] = <Node **> block_alloc(max(1, p.n_nodes) * sizeof(Node *))
        if nodes[0] == NULL:
            raise MemoryError
        if p.fits(nodes[0], s.id, outputs, targets, seeds):
            cache.touch(e)
            return p
        block_free(nodes[0], max(1, p.n_nodes) * sizeof(Node *))
        nodes[0] = NULL
    return None


cdef EagerTensor own_memory(EagerTensor t):
    """The same tensor over memory that nothing else refers to, so that its value is recognised."""
    cdef EagerTensor u = EagerTensor.__new__(EagerTensor)
    u.rt = t.rt
    if t.v.buf.space != HOST_SPACE:
        device_copy(&u.v, &t.v, meta_like(t.v.meta, t.v.meta.dtype))
        u.v.buf.flags |= t.v.buf.flags & SHARED
    elif t.v.meta.flags & DENSE:
        value_alloc(&u.v, meta_ref(t.v.meta))
        memcpy(u.v.data, t.v.data, t.v.meta.size * t.v.meta.itemsize)
    else:
        return None
    if t.node != NULL:
        t.node.refs += 1
        u.node = t.node
    return u


cdef bint worth_keeping(Sweep s) noexcept:
    cdef Py_ssize_t i
    if s.n > LONGEST or s.id == 0:
        return False
    for i in range(s.n):
        if s.items[i].node.op.id >= <int> Op.CUSTOM or s.items[i].node.flags & HOOKED:
            return False                # its rule is somebody's Python function
    return True


cdef Tracer observe(Sweep s):
    """Watch a sweep that must not write into its values."""
    cdef Tracer tracer
    s.pure = True
    s.ctx.copies, s.ctx.again = {}, []
    tracer = Tracer()
    tracer.copies = s.ctx.copies
    return tracer


cdef list capture(DerivativeCache cache, unsigned long long key, int kind, EagerRuntime rt, list outputs, list targets,
                  list seeds):
    """Sweep under observation, and keep the program."""
    cdef Sweep s
    cdef Tracer tracer
    cdef Program p = None
    cdef list found, own = [own_memory(t) for t in seeds]
    s = start(rt, thread_state().no_grad == 0)
    if None in own:
        return direct(s, kind, outputs, targets, seeds)
    tracer = observe(s)
    try:
        found = direct(s, kind, outputs, targets, own)
    finally:
        tracer.end()
    if worth_keeping(s):
        p = build(s, outputs, targets, own, found, tracer, True)
    if not keep(cache, key, rt, p):
        cache.reject(key)
    return found


cdef bint has_large(list outputs) noexcept:
    """Whether one of the first values on the way back from the outputs is large."""
    cdef Node *queue[NEAREST]
    cdef Node *n
    cdef int i = 0, k, count = 0
    cdef EagerTensor t
    for t in outputs:
        if t.node != NULL and count < NEAREST:
            queue[count] = t.node
            count += 1
    while i < count:
        n = queue[i]
        i += 1
        if n.meta.size >= LARGE:
            return True
        for k in range(n.n_in):
            if n.ins[k] != NULL and count < NEAREST:
                queue[count] = n.ins[k]
                count += 1
    return False


cdef Program followed(int kind, EagerRuntime rt, list outputs, list targets, list seeds):
    """The program of a sweep that is followed without being computed; None if it cannot be made.

    Rules do not look at values, or no program could stand for them.
    """
    cdef Sweep s = start(rt, kind != BACKWARD and thread_state().no_grad == 0)
    cdef Tracer tracer
    cdef Program p = None
    cdef list found, leaves = [], own = [own_memory(t) for t in seeds]
    if None in own or s.id == 0:
        return None
    tracer = observe(s)
    tracer.symbolic = True
    try:
        if kind == BACKWARD:
            leaves, found = backward(s, (<EagerTensor> outputs[0]).node, <EagerTensor> own[0])
        else:
            found = direct(s, kind, outputs, targets, own)
    except NotSymbolic:
        return None
    finally:
        tracer.end()
    if not worth_keeping(s):
        return None
    if kind == BACKWARD:
        s.sort()
    p = build(s, outputs, targets, own, found, tracer, kind != BACKWARD)
    if p is not None and kind == BACKWARD:
        p.leaves = [s.find(<Node *> <size_t> address) for address in leaves]
    return p


cdef Program undisturbed(int kind, EagerRuntime rt, list outputs, list targets, list seeds):
    """The same, while no finaliser may run, and past the pool of memory."""
    cdef int collecting = PyGC_Disable()
    hold_breath(True)
    memory.bypass_pool(True)
    try:
        return followed(kind, rt, outputs, targets, seeds)
    finally:
        memory.bypass_pool(False)
        hold_breath(False)
        if collecting:
            PyGC_Enable()


cdef Program follow(DerivativeCache cache, unsigned long long key, int kind, EagerRuntime rt, list outputs, list targets,
                    list seeds):
    """The program of a first sweep, kept in the caches; None if there can be none."""
    cdef Program p = undisturbed(kind, rt, outputs, targets, seeds)
    if not keep(cache, key, rt, p):
        cache.reject(key)
        return None
    return p


cdef Node **places(Program p, list outputs, list targets, list seeds) except? NULL:
    """The nodes of the trace that a program was just made of (to be freed); NULL if it does not recognise them."""
    cdef Node **nodes = <Node **> block_alloc(max(1, p.n_nodes) * sizeof(Node *))
    cdef Sweep s = start(None, False)
    if nodes == NULL:
        raise MemoryError
    if s.id and p.fits(nodes, s.id, outputs, targets, seeds):
        return nodes
    block_free(nodes, max(1, p.n_nodes) * sizeof(Node *))
    return NULL


cdef bint keep(DerivativeCache cache, unsigned long long key, EagerRuntime rt, Program p) except -1:
    """Put a new program into both caches; False if it cannot be kept."""
    cdef DerivativeCache bound = prepared(rt)
    cdef ExecutionEngine engine = engine_for(rt)
    cdef Prepared q
    if p is None:
        return False
    p.space = engine.space
    if not cache.add(key, p, p.nbytes):
        return False
    q = prepare(p, engine)
    bound.add(p, q, q.nbytes)
    return True


cdef list derive(int kind, EagerRuntime rt, list outputs, list targets, list seeds):
    cdef bint traced = thread_state().no_grad == 0
    cdef DerivativeCache cache
    cdef unsigned long long key
    cdef Program p
    cdef Prepared q
    cdef Node **nodes = NULL
    cdef list found, like = targets if kind == REVERSE else outputs
    cdef bint seen
    cdef int i
    if watched_by_others():
        return direct(start(rt, traced), kind, outputs, targets, seeds)
    outputs = held(outputs)
    key = key_of(kind, traced, outputs, targets, seeds)
    cache = transforms(rt)
    p = find(cache, key, &nodes, engine_for(rt).space, outputs, targets, seeds)
    if p is None:
        cache.misses += 1
        missed(rt)
        seen = cache.seen_before(key)
        if has_large(outputs) and not cache.is_rejected(key):
            p = follow(cache, key, kind, rt, outputs, targets, seeds)
        elif seen:
            return capture(cache, key, kind, rt, outputs, targets, seeds)
        if p is not None:
            nodes = places(p, outputs, targets, seeds)
        if nodes == NULL:
            return first_sweep(cache, key, kind, start(rt, traced), outputs, targets, seeds)
    try:
        if traced and p.expanded:
            return direct(start(rt, True), kind, outputs, targets, seeds)
        q = prepared_for(rt, p)
        found = q.run(nodes, rt, seeds)
    finally:
        block_free(nodes, max(1, p.n_nodes) * sizeof(Node *))
    for i in range(len(found)):
        if found[i] is not None and (<EagerTensor> found[i]).v.meta == NULL:
            found[i] = zeros_of(<EagerTensor> like[i])
    if traced:
        remember(kind, rt, outputs, targets, seeds, p, found)
    return found


cdef tuple derive_backward(EagerRuntime rt, Node *root, EagerTensor seed):
    cdef EagerTensor y = EagerTensor.__new__(EagerTensor)
    cdef DerivativeCache cache
    cdef unsigned long long key
    cdef list outputs, found, leaves, own
    cdef Sweep s
    cdef Tracer tracer
    cdef Program p
    cdef Node **nodes = NULL
    cdef bint seen = False
    y.rt = rt
    y.node = root
    root.refs += 1
    if watched_by_others() or root.flags & (IS_LEAF | IS_LAZY):
        return backward(start(rt, False), root, seed)
    outputs = [y]
    key = key_of(BACKWARD, False, outputs, [], [])
    cache = transforms(rt)
    p = find(cache, key, &nodes, engine_for(rt).space, outputs, [], [seed])
    if p is None:
        cache.misses += 1
        missed(rt)
        seen = cache.seen_before(key)
        if has_large(outputs) and not cache.is_rejected(key):
            p = follow(cache, key, BACKWARD, rt, outputs, [], [seed])
            if p is not None:
                nodes = places(p, outputs, [], [seed])
    if nodes != NULL:
        try:
            found = prepared_for(rt, p).run(nodes, rt, [seed])
            leaves = [<size_t> nodes[<int> place] for place in p.leaves]
        finally:
            block_free(nodes, max(1, p.n_nodes) * sizeof(Node *))
        return leaves, found
    own = [own_memory(seed)]
    s = start(rt, False)
    if not seen or own[0] is None:
        leaves, found = backward(s, root, seed)
        if not worth_keeping(s):
            cache.reject(key)
        return leaves, found
    tracer = observe(s)
    try:
        leaves, found = backward(s, root, <EagerTensor> own[0])
    finally:
        tracer.end()
    p = None
    if worth_keeping(s):
        s.sort()
        p = build(s, outputs, [], own, found, tracer, False)
        if p is not None:
            p.leaves = [s.find(<Node *> <size_t> address) for address in leaves]
    if not keep(cache, key, rt, p):
        cache.reject(key)
    return leaves, found


cdef Program program_of(EagerRuntime rt, EagerTensor output):
    """A program of a scalar's backward sweep; None if there can be none."""
    if output.node.flags & (IS_LEAF | IS_LAZY):
        return None
    return undisturbed(BACKWARD, rt, [output], [], [one_like(output)])


# ---- gradients that are recorded when they are differentiated ----------------------------------------------------------

cdef int remember(int kind, EagerRuntime rt, list outputs, list targets, list seeds, Program p, list found) except -1:
    """Give the results that depend on tracked values a node that can be recorded in full later."""
    cdef Unrecorded u = None
    cdef EagerTensor t
    cdef Node *n
    cdef Buffer *owner
    cdef int k
    for k in range(len(found)):
        t = <EagerTensor> found[k]
        if t is None or not p.tracked[k]:
            continue
        if u is None:
            u = Unrecorded()
            u.kind, u.rt, u.outputs, u.targets, u.seeds = kind, rt, outputs, held(targets), held(seeds)
            u.program = p
            u.place = reserve(ROOM)
        owner = buffer_wrap(u, NULL, 0, 0)
        try:
            n = node_new(&ops[<int> Op.LAZY], 0, 1)
        except BaseException:
            buffer_drop(owner)
            raise
        n.params = NULL
        n.saved = 0
        n.slot = 0
        n.hash = mix(0, k)
        n.flags = IS_LAZY
        n.meta = meta_ref(t.v.meta)
        saved_values(n)[0].meta = NULL
        saved_values(n)[0].buf = owner
        saved_values(n)[0].data = <char *> <size_t> k
        t.node = n
    return 0


cdef Node *recorded_node(Node *n) except NULL:
    """The node that stands for a lazy one; records the derivative now."""
    cdef Unrecorded u
    while n.flags & IS_LAZY:
        u = <Unrecorded> saved_values(n)[0].buf.owner
        if u.results is None:
            u.expand()
        n = (<EagerTensor> u.results[<int> <size_t> saved_values(n)[0].data]).node
    return n


cdef Node *known_node(Node *n) noexcept:
    """The same, or NULL while it is not recorded."""
    cdef Unrecorded u
    while n != NULL and n.flags & IS_LAZY:
        u = <Unrecorded> saved_values(n)[0].buf.owner
        if u.results is None:
            return NULL
        n = (<EagerTensor> u.results[<int> <size_t> saved_values(n)[0].data]).node
    return n


cdef class Unrecorded:

    cdef int expand(self) except -1:
        """Sweep again, recording; the new nodes take the place in the order of recording that was reserved."""
        cdef int before = thread_state().no_grad
        cdef unsigned long long first = reserve(1)
        self.program.expanded = True
        thread_state().no_grad = 0
        try:
            results = direct(start(self.rt, True), self.kind, self.outputs, self.targets, self.seeds)
        finally:
            thread_state().no_grad = before
        renumber(results, first, self.place)
        self.results = results
        self.outputs = self.targets = self.seeds = None
        return 0


cdef int renumber(list results, unsigned long long first, unsigned long long place) except -1:
    """Move the nodes recorded since `first` to the reserved places, in their order."""
    cdef dict new = {}
    cdef list stack = []
    cdef EagerTensor t
    cdef Node *n
    cdef int k
    for t in results:
        if t is not None and t.node != NULL:
            stack.append(<size_t> t.node)
    while stack:
        address = stack.pop()
        n = <Node *> <size_t> address
        if n.seq <= first or address in new or n.flags & IS_LEAF:
            continue
        new[address] = n.seq
        for k in range(n.n_in):
            if n.ins[k] != NULL:
                stack.append(<size_t> n.ins[k])
    for i, address in enumerate(sorted(new, key=new.get)):
        (<Node *> <size_t> address).seq = place + <unsigned long long> i
    return 0


lazy_hooks(recorded_node, known_node)
