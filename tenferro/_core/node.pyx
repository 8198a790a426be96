"""Nodes: C structures with reference counts. A chain of any length is torn down without recursion."""

from .optable cimport ops, Op

cdef unsigned long long counter = 0
cdef Node *dying = NULL
cdef bint tearing = False
hooked = {}
deferred.refs = 1
deferred.flags = DEFERRED


cdef inline size_t node_bytes(int n_in, int n_saved) noexcept:
    return sizeof(Node) + (n_in - 1) * <Py_ssize_t> sizeof(Node *) + n_saved * sizeof(Value)


cdef unsigned long long recorded() noexcept:
    return counter


cdef unsigned long long reserve(unsigned long long n) noexcept:
    global counter
    counter += n
    return counter - n + 1


cdef Node *node_new(OpDef *op, int n_in, int n_saved) except NULL:
    """A node whose edges, saved values, metadata and parameters are still to be set."""
    global counter
    cdef Node *n = <Node *> block_alloc(node_bytes(n_in, n_saved))
    if n == NULL:
        raise MemoryError
    counter += 1
    n.refs = 1
    n.seq = counter
    n.op = op
    n.sweep = 0
    n.n_in = n_in
    n.n_saved = n_saved
    n.flags = 0
    return n


cdef Leaf *leaf_new(const Value *value) except NULL:
    global counter
    cdef int i
    cdef Leaf *f = <Leaf *> block_alloc(sizeof(Leaf))
    if f == NULL:
        raise MemoryError
    counter += 1
    f.node.refs = 1
    f.node.seq = counter
    f.node.op = &ops[<int> Op.LEAF]
    f.node.meta = meta_ref(value.meta)
    f.node.params = NULL
    f.node.sweep = 0
    f.node.n_in = 0
    f.node.n_saved = 0
    f.node.saved = 0
    f.node.flags = IS_LEAF
    f.node.hash = value.meta.dtype
    for i in range(value.meta.rank):
        f.node.hash = mix(f.node.hash, <unsigned int> value.meta.dims[i])
    value_copy(&f.value, value)
    f.grad.meta = NULL
    f.grad.buf = NULL
    f.grad.data = NULL
    f.prev = NULL
    f.next = NULL
    f.handles = NULL
    return f


cdef void free_node(Node *n) noexcept:
    global dying
    cdef Leaf *f
    cdef Value *v = saved_values(n)
    cdef Node *p
    cdef int i
    if n.flags & HOOKED:
        _hooks = hooked.pop(<size_t> n, None)
    if n.flags & IS_LEAF:
        f = <Leaf *> n
        if f.prev != NULL:
            f.prev.next = f.next
        if f.next != NULL:
            f.next.prev = f.prev
        value_drop(&f.value)
        value_drop(&f.grad)
        meta_drop(n.meta)
        block_free(f, sizeof(Leaf))
        return
    for i in range(n.n_saved):
        value_drop(&v[i])
    for i in range(n.n_in):
        p = n.ins[i]
        if p != NULL:
            p.refs -= 1
            if p.refs == 0:
                p.seq = <unsigned long long> dying
                dying = p
    meta_drop(n.meta)
    params_drop(n.params)
    block_free(n, node_bytes(n.n_in, n.n_saved))


cdef void node_kill(Node *n) noexcept:
    """Queue a node without references; the outermost call works the queue off (freeing a value may run foreign code)."""
    global dying, tearing
    n.seq = <unsigned long long> dying
    dying = n
    if tearing:
        return
    tearing = True
    while dying != NULL:
        n = dying
        dying = <Node *> n.seq
        free_node(n)
    tearing = False
