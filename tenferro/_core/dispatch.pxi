# Elementwise operations (promotion, broadcasting, K order), and all others.
# Part of eager.pyx: one compilation unit, so that the forward step is inlined.

cdef int cannot_broadcast(int op, int n, Meta **m) except -1:
    shapes = [tuple([m[k].dims[i] for i in range(m[k].rank)]) for k in range(n)]
    raise ShapeMismatchError(f"{op_name(op)}: shapes {', '.join(map(str, shapes))} cannot be broadcast; align their axes with "
                             "reshape or expand_dims", op=op_name(op), argument="shape", expected=shapes[0],
                             actual=shapes[n - 1])


cdef inline Py_ssize_t operand_stride(Meta *m, int axis, int rank) noexcept:
    """Stride of one operand along an axis of the broadcast result."""
    cdef int k = axis - (rank - m.rank)
    if k < 0 or m.dims[k] == 1:
        return 0
    return -m.dims[m.rank + k] if m.dims[m.rank + k] < 0 else m.dims[m.rank + k]


cdef Meta *broadcast_meta(int op, int n, Meta **m, int dtype) except NULL:
    """Shape of the broadcast result, compact, its axes in the order of the operands' strides (NumPy's K order)."""
    cdef int rank = 0, i, j, k, c
    cdef int order[64]
    cdef Py_ssize_t a, b, d, step
    cdef Meta *out
    for k in range(n):
        rank = max(rank, m[k].rank)
    if rank == 0:
        return meta_scalar(dtype)
    out = meta_new(dtype, rank)
    for i in range(rank):
        d = 1
        for k in range(n):
            j = i - (rank - m[k].rank)
            if j >= 0 and m[k].dims[j] != 1:
                if d != 1 and d != m[k].dims[j]:
                    meta_free(out)
                    cannot_broadcast(op, n, m)
                d = m[k].dims[j]
        out.dims[i] = d
    for i in range(rank):               # insertion sort, slowest axis first
        j = i
        while j > 0:
            c = 0
            for k in range(n):
                a = operand_stride(m[k], order[j - 1], rank)
                b = operand_stride(m[k], i, rank)
                if a != 0 and b != 0:
                    c = 1 if a < b else -1
                    if a != b:
                        break
            if c != 1:
                break
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    step = out.itemsize
    for i in range(rank - 1, -1, -1):
        out.dims[rank + order[i]] = step
        step *= out.dims[order[i]] if out.dims[order[i]] > 0 else 1
    return meta_finish(out)


cdef EagerTensor computed_in(EagerTensor x, int dtype):
    """x in the dtype of a computation, not recorded."""
    cdef EagerTensor t
    if x.v.meta.dtype == dtype:
        return x
    t = unfilled(x.rt, meta_like(x.v.meta, dtype))
    execute(Op.CAST, default_runtime() if x.rt is None else x.rt, &x.v, 1, &t.v, NULL)
    return t


cdef enum:
    NOT_LOOKED_UP = -2              # OpDef.compute before the first use of an operation


cdef bint unchanged(int op, int dtype) noexcept:
    """Whether operands of a dtype are computed in it and give it; looks the loops up."""
    try:
        return resolve(op, dtype) == dtype and ops[op].result[dtype] == dtype
    except Exception:
        return False                    # raised again where it is reported


# ---- elementwise operations --------------------------------------------------------------------------------------------

cdef EagerTensor apply1(int op, EagerTensor x, Params *p=NULL):
    cdef OpDef *d = &ops[op]
    cdef EagerTensor t
    cdef Meta *m = x.v.meta
    if capturing:
        give_node(x)
    if m == NULL or p != NULL or not m.flags & DENSE:
        return apply1_general(op, x, p)
    if d.compute[m.dtype] != m.dtype or d.result[m.dtype] != m.dtype:
        if d.compute[m.dtype] != NOT_LOOKED_UP or not unchanged(op, m.dtype):
            return apply1_general(op, x, p)
    t = unfilled(x.rt, meta_ref(m))
    execute(op, x.rt, &x.v, 1, &t.v, NULL)
    if x.node != NULL and d.recorded and recording():
        record1(d, t, x, NULL)
    return t


cdef EagerTensor apply1_general(int op, EagerTensor x, Params *p):
    cdef EagerTensor t, y
    cdef int c
    try:
        check(x)
        c = resolve(op, x.v.meta.dtype)
        y = computed_in(x, c)
        t = unfilled(x.rt, meta_like(x.v.meta, ops[op].result[c]))
        execute(op, x.rt, &y.v, 1, &t.v, p)
        if x.node != NULL and ops[op].recorded and recording() and is_inexact(t.v.meta.dtype):
            record1(&ops[op], t, x, p)
        return t
    finally:
        params_drop(p)


cdef EagerTensor run2(int op, EagerTensor x, EagerTensor y):
    """A binary operation on checked operands, of which at most one is a shared scalar without a runtime."""
    cdef OpDef *d = &ops[op]
    cdef EagerTensor t
    cdef Value args[2]
    cdef Meta *m = x.v.meta
    cdef int dtype = m.dtype
    if capturing:
        give_node(x)
        give_node(y)
    if m != y.v.meta or not m.flags & DENSE:
        if dtype != y.v.meta.dtype:
            return run2_general(op, x, y)
        if y.v.meta.rank == 0 and m.flags & DENSE:
            pass
        elif m.rank == 0 and y.v.meta.flags & DENSE:
            m = y.v.meta
        elif not (m.flags & DENSE and same_layout(m, y.v.meta)):
            return run2_general(op, x, y)
    if d.compute[dtype] != dtype or d.result[dtype] != dtype:
        if d.compute[dtype] != NOT_LOOKED_UP or not unchanged(op, dtype):
            return run2_general(op, x, y)
    t = unfilled(y.rt if x.rt is None else x.rt, meta_ref(m))
    args[0] = x.v
    args[1] = y.v
    execute(op, t.rt, args, 2, &t.v, NULL)
    if (x.node != NULL or y.node != NULL) and d.recorded and recording():
        record2(d, t, x, y)
    return t


cdef EagerTensor run2_general(int op, EagerTensor x, EagerTensor y):
    cdef int c = resolve(op, promote[x.v.meta.dtype][y.v.meta.dtype])
    cdef EagerTensor a = computed_in(x, c), b = computed_in(y, c), t
    cdef Value args[2]
    cdef Meta *m[2]
    cdef const Value *ins[2]
    cdef Node *nodes[2]
    args[0] = a.v
    args[1] = b.v
    m[0] = a.v.meta
    m[1] = b.v.meta
    t = unfilled(y.rt if x.rt is None else x.rt, broadcast_meta(op, 2, m, ops[op].result[c]))
    execute(op, t.rt, args, 2, &t.v, NULL)
    ins[0] = &x.v
    ins[1] = &y.v
    nodes[0] = x.node
    nodes[1] = y.node
    finish(op, t, 2, nodes, ins, NULL)
    return t


cdef EagerTensor apply2(int op, EagerTensor x, EagerTensor y):
    check2(x, y)
    return run2(op, x, y)


cdef EagerTensor apply3(int op, EagerTensor x, EagerTensor y, EagerTensor z):
    """``where(condition, a, b)`` and ``clamp(x, low, high)``: the operands that are not conditions share a dtype."""
    cdef EagerTensor a, b, c, t
    cdef Value args[3]
    cdef Meta *m[3]
    cdef const Value *ins[3]
    cdef Node *nodes[3]
    cdef int dtype, i
    check2(x, y)
    check2(x, z)
    if capturing:
        give_node(x)
        give_node(y)
        give_node(z)
    dtype = promote[y.v.meta.dtype][z.v.meta.dtype]
    if op != Op.WHERE:
        dtype = promote[x.v.meta.dtype][dtype]
    a = computed_in(x, D_BOOL if op == Op.WHERE else dtype)
    b = computed_in(y, dtype)
    c = computed_in(z, dtype)
    args[0] = a.v
    args[1] = b.v
    args[2] = c.v
    for i in range(3):
        m[i] = args[i].meta
    t = unfilled(x.rt, broadcast_meta(op, 3, m, dtype))
    execute(op, x.rt, args, 3, &t.v, NULL)
    ins[0] = &x.v
    ins[1] = &y.v
    ins[2] = &z.v
    nodes[0] = x.node if op != Op.WHERE else NULL
    nodes[1] = y.node
    nodes[2] = z.node
    finish(op, t, 3, nodes, ins, NULL)
    return t


# ---- other operations --------------------------------------------------------------------------------------------------

cdef EagerTensor emit(int op, EagerRuntime rt, int n, Node **nodes, const Value **ins, Params *p, Meta *out_meta):
    cdef EagerTensor t
    cdef Value few[4]
    cdef Value *args = few
    cdef int i
    try:
        t = unfilled(rt, out_meta)
        if n > 4:
            args = <Value *> block_alloc(n * sizeof(Value))
            if args == NULL:
                raise MemoryError
        for i in range(n):
            args[i] = ins[i][0]
        execute(op, rt, args, n, &t.v, p)
        finish(op, t, n, nodes, ins, p)
        return t
    finally:
        params_drop(p)
        if args != few and args != NULL:
            block_free(args, n * sizeof(Value))


cdef EagerTensor emit1(int op, EagerTensor x, Params *p, Meta *out):
    cdef const Value *a = &x.v
    if capturing:
        give_node(x)
    return emit(op, x.rt, 1, &x.node, &a, p, out)


cdef EagerTensor emit2(int op, EagerTensor x, EagerTensor y, Params *p, Meta *out):
    cdef const Value *ins[2]
    cdef Node *nodes[2]
    if x.rt is not y.rt or x.v.meta == NULL or y.v.meta == NULL:
        params_drop(p)
        meta_drop(out)
        foreign(x, y)
    if capturing:
        give_node(x)
        give_node(y)
    ins[0] = &x.v
    ins[1] = &y.v
    nodes[0] = x.node
    nodes[1] = y.node
    return emit(op, x.rt, 2, nodes, ins, p, out)


cdef EagerTensor emit_n(int op, tuple xs, Params *p, Meta *out):
    cdef int n = len(xs), i
    cdef EagerTensor x, first = <EagerTensor> xs[0]
    cdef const Value **ins = NULL
    cdef Node **nodes
    cdef size_t nbytes = 2 * n * sizeof(void *)
    for x in xs:
        if x.rt is not first.rt or x.v.meta == NULL:
            params_drop(p)
            meta_drop(out)
            foreign(first, x)
    if n <= 255:
        ins = <const Value **> block_alloc(nbytes)
    if ins == NULL:
        params_drop(p)
        meta_drop(out)
        raise UnsupportedError(f"{op_name(op)} takes at most 255 tensors at once", op=op_name(op), engine=None)
    nodes = <Node **> (ins + n)
    try:
        for i in range(n):
            x = <EagerTensor> xs[i]
            if capturing:
                give_node(x)
            ins[i] = &x.v
            nodes[i] = x.node
        return emit(op, first.rt, n, nodes, ins, p, out)
    finally:
        block_free(ins, nbytes)


cdef EagerTensor emit_view(int op, EagerTensor x, Params *p, Meta *out_meta, char *data):
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    cdef const Value *a = &x.v
    t.rt = x.rt
    t.v.meta = out_meta
    t.v.buf = x.v.buf
    t.v.buf.refs += 1
    t.v.data = data
    try:
        if capturing:
            give_node(x)
        if watching:
            viewed(op, x, t, p)
        finish(op, t, 1, &x.node, &a, p)
        return t
    finally:
        params_drop(p)


cdef EagerTensor cast(EagerTensor x, int dtype):
    if x.v.meta.dtype == dtype:
        return x
    return emit1(Op.CAST, x, NULL, meta_like(x.v.meta, dtype))
