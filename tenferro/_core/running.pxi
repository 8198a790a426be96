# Running one operation on an engine, watchers, and the checks before it.
# Part of eager.pyx: one compilation unit, so that the forward step is inlined.

cdef int misplaced(int op, ExecutionEngine engine, const Value *v) except -1:
    if by_value(v):
        return 0
    remedy = ("bring it to the host with to_tensor(), or pass the engine of its device" if engine.space == HOST_SPACE else
              "bring it there with session.constant_from_host()")
    raise PlacementError(f"{op_name(op)}: the engine '{engine.name}' reaches {placement(engine.space)}, and this tensor lies "
                         f"in {placement(v.buf.space)}; {remedy}", op=op_name(op), expected=placement(engine.space),
                         actual=placement(v.buf.space))


# Handles can be rebound while a kernel that has given up the GIL reads their old values. Those are kept until every operation
# that had begun by then has ended: operations are counted in two epochs, which take turns when the older one has run out.
ctypedef int (*watched_t)(ExecutionEngine, int, EagerRuntime, const Value *, int, Value *, const Params *) noexcept
cdef Py_ssize_t running[2]
cdef int epoch = 0
cdef list retired = [], retired_before = []


cdef int retire(EagerTensor t) except -1:
    global epoch, retired, retired_before
    cdef list done
    if running[0] == 0 and running[1] == 0:
        if retired or retired_before:
            done = retired + retired_before
            retired, retired_before = [], []
        return 0
    retired.append(t)
    if running[1 - epoch] == 0:
        done, retired_before, retired = retired_before, retired, []
        epoch = 1 - epoch
    return 0


cdef inline int execute(int op, EagerRuntime rt, const Value *ins, int n, Value *out, const Params *p) except -1:
    """Run an operation on the engine of the moment; out.meta is set, the memory is allocated here or by the engine."""
    cdef ExecutionEngine engine = engine_for(rt)
    cdef int i
    for i in range(n):
        if ins[i].buf.space != engine.space:
            misplaced(op, engine, &ins[i])
    if engine.space == HOST_SPACE:
        out.buf = buffer_new(out.meta.size * out.meta.itemsize)
        out.data = out.buf.data
    cdef int now = epoch, status
    running[now] += 1
    if watching:
        status = (<watched_t> watched)(engine, op, rt, ins, n, out, p)
    else:
        status = (<quiet_kernel_t> engine.kernels[op])(<PyObject *> engine, op, ins, n, out, p)
    running[now] -= 1
    return failed_silently(engine, op) if status == -1 else 0


cdef bint watching = False
cdef tuple watchers = ()


cdef class Watcher:

    cdef int before(self, int op) except -1:
        """1 if the operation is not to be computed."""
        return 0

    cdef int after(self, int op, EagerRuntime rt, int n, const Value *ins, const Value *out, const Params *p,
                   bint view) except -1:
        return 0


cdef int watch(Watcher w) except -1:
    global watching, watchers
    watchers = watchers + (w,)
    watching = True
    return 0


cdef int unwatch(Watcher w) except -1:
    global watching, watchers
    watchers = tuple([v for v in watchers if v is not w])
    watching = len(watchers) > 0
    return 0


cdef int show(int op, EagerTensor y, tuple xs) except -1:
    cdef Value ins[MAX_ARGS]
    cdef int i, n = min(len(xs), MAX_ARGS)
    cdef Watcher w
    for i in range(n):
        ins[i] = (<EagerTensor> xs[i]).v
    for w in watchers:
        w.after(op, y.rt, n, ins, &y.v, NULL, False)
    return 0


cdef bint watched_by_others() noexcept:
    return watching


cdef int watched(ExecutionEngine engine, int op, EagerRuntime rt, const Value *ins, int n, Value *out,
                 const Params *p) except -1:
    cdef Watcher w
    cdef tuple all_ = watchers
    cdef int skip = 0
    for w in all_:
        skip |= w.before(op)
    if not skip:
        call_kernel(engine.kernels[op], engine, op, ins, n, out, p)
    elif out.buf == NULL:
        placeholder(out, engine.space)
    for w in all_:
        w.after(op, rt, n, ins, out, p, False)
    return 0


cdef int viewed(int op, EagerTensor x, EagerTensor t, Params *p) except -1:
    cdef Watcher w
    for w in watchers:
        w.before(op)
        w.after(op, x.rt, 1, &x.v, &t.v, p, True)
    return 0


cdef int foreign(EagerTensor x, EagerTensor y) except -1:
    check(x)
    check(y)
    raise ContextMismatchError("the operands belong to different runtimes; bring one over with detach_into(runtime)",
                               lhs=x.rt.id, rhs=y.rt.id)


cdef int consumed(EagerTensor x) except -1:
    raise RuntimeStateError("this handle was consumed by into_value(); use the value that it returned", op="EagerTensor")


cdef int check(EagerTensor x) except -1:
    if x is None:
        raise TypeError("expected a tensor, got None")
    if x.v.meta == NULL:
        return consumed(x)
    return 0


cdef inline int check2(EagerTensor x, EagerTensor y) except -1:
    if x.v.meta == NULL or y.v.meta == NULL or x.rt is not y.rt:
        return foreign(x, y)
    return 0


cdef EagerTensor wrap(EagerRuntime rt, Value *v, Node *node):
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    t.v = v[0]
    t.rt = rt
    t.node = node
    return t


cdef inline Node *node_ref(EagerTensor x) noexcept:
    if x.node != NULL:
        x.node.refs += 1
    return x.node


cdef EagerTensor alias(EagerTensor x, Node *node):
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    value_copy(&t.v, &x.v)
    t.rt = x.rt
    t.node = node
    return t


cdef int finish(int op, EagerTensor t, int n, Node **nodes, const Value **ins, Params *p) except -1:
    """Record if an input is tracked."""
    cdef int i
    for i in range(n):
        if lives(nodes[i]):
            if ops[op].recorded and recording() and is_inexact(t.v.meta.dtype):
                record(op, t, n, nodes, ins, p)
            return 0
    return 0


cdef inline EagerTensor unfilled(EagerRuntime rt, Meta *m):
    """A tensor that `execute` gives memory; steals m, also on error. From here on an exception releases everything."""
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    t.rt = rt
    t.v.meta = m
    return t


cdef EagerTensor fresh(EagerRuntime rt, Meta *m):
    """A tensor with host memory of its own."""
    cdef EagerTensor t = unfilled(rt, m)
    t.v.buf = buffer_new(m.size * m.itemsize)
    t.v.data = t.v.buf.data
    return t
