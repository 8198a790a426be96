# Recording: the node of an operation keeps edges to its tracked inputs and the values that their rules ask for.
# Part of eager.pyx: one compilation unit, so that the forward step is inlined.

cdef inline int count(unsigned char saved) noexcept:
    return (saved & 1) + (saved >> 1 & 1) + (saved >> 2 & 1) + (saved >> 7) + (COUNT4[saved >> 3 & 15])


cdef char[16] COUNT4 = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4]


cdef inline EagerTensor owned(EagerTensor x):
    """x, or a copy where somebody else may write to its memory."""
    cdef EagerTensor t
    if not x.v.buf.flags & BORROWED:
        return x
    t = EagerTensor.__new__(EagerTensor)
    compact(&t.v, &x.v, row_major(x.v.meta))
    return t


cdef enum:
    DEEPEST = 4                     # operations that save_memory lets one value depend on


cdef inline bint kept_anyway(EagerTensor x, const Meta *m) noexcept:
    """Whether an operand of an operation with result m costs nothing to save: a leaf, a number, what is computed again."""
    if x.v.meta.rank == 0:
        return True
    if x.node == NULL or not same_type(x.v.meta, m) or not same_layout(x.v.meta, m) or x.v.buf.flags & BORROWED:
        return False
    return x.node.flags & IS_LEAF or (thread_state().thrifty and cheap(x.node, &x.v, DEEPEST - 1))


cdef inline bint computed_again(const OpDef *d) noexcept:
    return d.flags & ONE_FLOP or (d.flags & POLES and thread_state().thrifty)


cdef bint cheap(Node *n, const Value *x, int depth) noexcept:
    """Whether a large operand can be computed again from what its own node has saved."""
    cdef Value *v
    cdef int i
    if n == NULL or not computed_again(n.op) or n.params != NULL or n.n_saved != n.n_in + (n.saved >> 7) \
            or n.saved & 127 != (1 << n.n_in) - 1 or not x.meta.flags & DENSE or not same_type(n.meta, x.meta):
        return False
    v = saved_values(n)
    for i in range(n.n_in):
        if v[i].meta.dtype != x.meta.dtype or (v[i].meta.rank and not same_layout(v[i].meta, x.meta)):
            return False
        if v[i].buf.flags & DEFERRED and (depth == 0 or not cheap(n.ins[i], &v[i], depth - 1)):
            return False
    return True


cdef inline int defer(Value *dst, Meta *m) noexcept:
    """A note that a value is to be computed again."""
    dst.meta = meta_ref(m)
    dst.buf = &deferred
    dst.data = NULL
    deferred.refs += 1
    return 0


cdef inline int keep(Value *dst, Node *n, const Value *x) noexcept:
    """Save an operand, or a note that it is to be computed again."""
    if x.meta.size >= LARGE and cheap(n, x, DEEPEST - 1 if thread_state().thrifty else 0):
        defer(dst, x.meta)
    else:
        value_copy(dst, x)
    return 0


cdef inline bint lives(Node *n) noexcept:
    """Whether what is computed from a node's tensor is recorded: what capture_trace has recorded ends with it."""
    return n != NULL and not (n.flags & CAPTURED and not thread_state().capture)


cdef int capturing = 0              # open capture_trace guards of the process


cdef int capture_more(int n) noexcept:
    global capturing
    capturing += n
    return 0


cdef int give_node(EagerTensor x) except -1:
    """Inside capture_trace an untracked operand becomes a leaf, so that derivatives can be taken for it."""
    cdef Leaf *f
    if x.node == NULL and x.rt is not None and x.v.meta != NULL and is_inexact(x.v.meta.dtype) \
            and thread_state().capture and not thread_state().no_grad:
        f = leaf_new(&x.v)
        f.node.flags |= CAPTURED
        x.node = &f.node
        f.handles = <PyObject *> x
    return 0


cdef inline int attach(EagerTensor t, Node *node, unsigned char saved, Params *p) noexcept:
    """The last, infallible part of recording, but for the edges."""
    node.meta = meta_ref(t.v.meta)
    node.params = params_ref(p)
    node.saved = saved
    if saved & 128:
        if t.v.meta.size >= LARGE and thread_state().thrifty and cheap(node, &t.v, DEEPEST - 1):
            defer(saved_values(node) + node.n_saved - 1, t.v.meta)
        else:
            value_copy(saved_values(node) + node.n_saved - 1, &t.v)
    t.node = node
    return 0


cdef int record1(OpDef *d, EagerTensor t, EagerTensor x, Params *p) except -1:
    cdef unsigned char saved = d.needs[0], captured = x.node.flags & CAPTURED
    cdef Node *node
    cdef EagerTensor a = x
    if captured and not thread_state().capture:
        return 0
    if t.v.meta.size >= LARGE and computed_again(d) and kept_anyway(x, t.v.meta):
        saved |= 1
    if saved & 1 and x.v.buf.flags & BORROWED:
        a = owned(x)
    node = node_new(d, 1, count(saved))
    if saved & 1:
        keep(saved_values(node), a.node, &a.v)
    x.node.refs += 1
    node.ins[0] = x.node
    node.flags = captured
    node.hash = mix(d.id, x.node.hash)
    return attach(t, node, saved, p)


cdef int record2(OpDef *d, EagerTensor t, EagerTensor x, EagerTensor y) except -1:
    cdef unsigned char saved = 0, captured = CAPTURED
    cdef unsigned int h1 = 1, h2 = 1
    cdef Node *node
    cdef Value *v
    cdef EagerTensor a = x, b = y
    if x.node != NULL:
        saved = d.needs[0]
        captured = x.node.flags & CAPTURED
        h1 = x.node.hash
    if y.node != NULL:
        saved |= d.needs[1]
        captured &= y.node.flags
        h2 = y.node.hash
    if captured and not thread_state().capture:
        return 0
    if t.v.meta.size >= LARGE and computed_again(d) and (saved & 1 or kept_anyway(x, t.v.meta)) \
            and (saved & 2 or kept_anyway(y, t.v.meta)):
        saved |= 3
    if saved & 1 and x.v.buf.flags & BORROWED:
        a = owned(x)
    if saved & 2 and y.v.buf.flags & BORROWED:
        b = owned(y)
    node = node_new(d, 2, count(saved))
    node.ins[0] = x.node
    node.ins[1] = y.node
    if x.node != NULL:
        x.node.refs += 1
    if y.node != NULL:
        y.node.refs += 1
    node.flags = captured
    node.hash = mix(mix(d.id, h1), h2)
    v = <Value *> (node.ins + 2)
    if saved & 1:
        keep(v, a.node, &a.v)
        v += 1
    if saved & 2:
        keep(v, b.node, &b.v)
    return attach(t, node, saved, NULL)


cdef int record(int op, EagerTensor t, int n, Node **nodes, const Value **ins, Params *p) except -1:
    """The node of an operation with a tracked input and any number of inputs."""
    cdef OpDef *d = &ops[op]
    cdef unsigned char saved = 0
    cdef int i, k = 0
    cdef Node *node
    cdef Value *v
    cdef Value copies[7]
    cdef bint done = False
    if d.n_in >= 0:
        for i in range(n):
            if nodes[i] != NULL:
                saved |= d.needs[i]
    else:
        saved = d.needs[7]
    try:
        for i in range(min(n, 7)):
            if saved & (1 << i):
                if ins[i].buf.flags & BORROWED:
                    compact(&copies[k], ins[i], row_major(ins[i].meta))
                else:
                    keep(&copies[k], nodes[i], ins[i])
                k += 1
        for i in range(n, 7):
            saved &= ~(1 << i)
        node = node_new(d, n, k + (saved >> 7))
        done = True
    finally:
        if not done:
            for i in range(k):
                value_drop(&copies[i])
    v = <Value *> (node.ins + n)
    for i in range(k):
        v[i] = copies[i]
    node.hash = d.id
    node.flags = CAPTURED
    for i in range(n):
        node.ins[i] = nodes[i]
        if nodes[i] != NULL:
            nodes[i].refs += 1
            node.hash = mix(node.hash, nodes[i].hash)
            node.flags &= nodes[i].flags
        else:
            node.hash = mix(node.hash, 1)
    return attach(t, node, saved, p)


cdef inline bint recording() noexcept:
    return thread_state().no_grad == 0
