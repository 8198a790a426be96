"""One forward step: check the runtime, promote and broadcast, run the kernel, record a node, wrap the result.

Nothing on this path is a Python-level call, a dictionary or a lock. A node keeps the values that its rules ask for
(``OpDef.needs``) and edges to the nodes of its tracked inputs.
"""

cimport cython
from cpython.bool cimport PyBool_Check
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.string cimport memcmp

from .engine cimport ExecutionEngine
from .importing cimport compact, import_any
from .optable cimport (LINEAR, dtype_code, dtype_object, op_name, ops, promote, resolve)
from .state cimport ambient_runtime, default_runtime, engine_for, thread_state
from .tensor cimport Tensor

import numpy as np

from .state import seal
from ..errors import (ContextMismatchError, DTypeMismatchError, IntegerOverflowError, PlacementError, RuntimeStateError,
                      ShapeMismatchError, UnsupportedError)

cdef extern from "Python.h":
    tuple PyTuple_New(Py_ssize_t)
    void PyTuple_SET_ITEM(object, Py_ssize_t, object)
    PyObject *PyList_GET_ITEM(list, Py_ssize_t)

cdef object _ndarray = np.ndarray, _generic = np.generic

cdef extern from *:
    """
    /* Tensors have the garbage collector's header, but it does not see them: linking each of them costs time. */
    static PyObject *tf_tensor_alloc(PyTypeObject *type, Py_ssize_t n) {
        PyObject *o = PyObject_GC_New(PyObject, type);
        (void) n;
        if (o != NULL)
            memset((char *) o + sizeof(PyObject), 0, (size_t) type->tp_basicsize - sizeof(PyObject));
        return o;
    }
    static int tf_tensor_traverse(PyObject *o, visitproc visit, void *arg) {
        (void) o; (void) visit; (void) arg;
        return 0;
    }
    static void tf_tensor_gc(PyTypeObject *type) {
        type->tp_alloc = tf_tensor_alloc;
        type->tp_free = PyObject_GC_Del;
        type->tp_traverse = tf_tensor_traverse;
        type->tp_flags |= Py_TPFLAGS_HAVE_GC;
    }
    """
    void tf_tensor_gc(PyTypeObject *)

tf_tensor_gc(<PyTypeObject *> EagerTensor)      # before the first tensor is made


# ---- recording ---------------------------------------------------------------------------------------------------------

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
        value_copy(saved_values(node) + node.n_saved - 1, &t.v)
    t.node = node
    return 0


cdef int record1(OpDef *d, EagerTensor t, EagerTensor x, Params *p) except -1:
    cdef unsigned char saved = d.needs[0], captured = x.node.flags & CAPTURED
    cdef Node *node
    cdef EagerTensor a = x
    if captured and not thread_state().capture:
        return 0
    if saved & 1 and x.v.buf.flags & BORROWED:
        a = owned(x)
    node = node_new(d, 1, count(saved))
    if saved & 1:
        value_copy(saved_values(node), &a.v)
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
        value_copy(v, &a.v)
        v += 1
    if saved & 2:
        value_copy(v, &b.v)
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
                    value_copy(&copies[k], ins[i])
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


# ---- running -----------------------------------------------------------------------------------------------------------

cdef int misplaced(int op, ExecutionEngine engine, const Value *v) except -1:
    raise PlacementError(f"{op_name(op)}: the engine '{engine.name}' cannot reach this tensor's memory; transfer it first with "
                         "session.constant_from_host or to_tensor", expected=engine.space, actual=v.buf.space)


# Handles can be rebound while a kernel that has given up the GIL reads their old values. Those are kept until every operation
# that had begun by then has ended: operations are counted in two epochs, which take turns when the older one has run out.
ctypedef int (*quiet_kernel_t)(PyObject *, int, const Value *, int, Value *, const Params *) noexcept
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
    cdef ExecutionEngine engine = engine_for(rt)
    cdef int i
    for i in range(n):
        if ins[i].buf.space != engine.space:
            misplaced(op, engine, &ins[i])
    cdef int now = epoch, status
    running[now] += 1
    if watching:
        status = (<watched_t> watched)(engine, op, rt, ins, n, out, p)
    else:
        status = (<quiet_kernel_t> engine.kernels[op])(<PyObject *> engine, op, ins, n, out, p)
    running[now] -= 1
    return status


cdef bint watching = False
cdef tuple watchers = ()


cdef class Watcher:

    cdef int before(self, int op) except -1:
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
    for w in all_:
        w.before(op)
    engine.kernels[op](<PyObject *> engine, op, ins, n, out, p)
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


cdef EagerTensor fresh(EagerRuntime rt, Meta *m):
    """A tensor with memory of its own; steals m, also on error. From here on an exception releases everything."""
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    t.rt = rt
    t.v.meta = m
    t.v.buf = buffer_new(m.size * m.itemsize)
    t.v.data = t.v.buf.data
    return t


# ---- metadata of elementwise results -----------------------------------------------------------------------------------

cdef int cannot_broadcast(int op, int n, Meta **m) except -1:
    shapes = [tuple([m[k].dims[i] for i in range(m[k].rank)]) for k in range(n)]
    raise ShapeMismatchError(f"{op_name(op)}: shapes {', '.join(map(str, shapes))} cannot be broadcast; align their axes with "
                             "reshape or expand_dims", op=op_name(op), argument="shape", expected=shapes[0], actual=shapes[n - 1])


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
    t = fresh(x.rt, meta_like(x.v.meta, dtype))
    execute(Op.CAST, default_runtime() if x.rt is None else x.rt, &x.v, 1, &t.v, NULL)
    return t


# ---- elementwise operations --------------------------------------------------------------------------------------------

cdef EagerTensor apply1(int op, EagerTensor x, Params *p=NULL):
    cdef OpDef *d = &ops[op]
    cdef EagerTensor t
    cdef Meta *m = x.v.meta
    if capturing:
        give_node(x)
    if m == NULL or p != NULL or d.compute[m.dtype] != m.dtype or d.result[m.dtype] != m.dtype or not m.flags & DENSE:
        return apply1_general(op, x, p)
    t = fresh(x.rt, meta_ref(m))
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
        t = fresh(x.rt, meta_like(x.v.meta, ops[op].result[c]))
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
        return run2_general(op, x, y)
    t = fresh(y.rt if x.rt is None else x.rt, meta_ref(m))
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
    t = fresh(y.rt if x.rt is None else x.rt, broadcast_meta(op, 2, m, ops[op].result[c]))
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
    t = fresh(x.rt, broadcast_meta(op, 3, m, dtype))
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
        t = fresh(rt, out_meta)
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


# ---- constants ---------------------------------------------------------------------------------------------------------

cdef list recent = [None] * 64      # 0-d constants without a runtime, by the bits of their value and their dtype
cdef double recent_value[64]
cdef int recent_dtype[64]


cdef EagerTensor real_scalar(double value, int dtype):
    """A 0-d constant of an inexact dtype; the ones used last are shared."""
    cdef unsigned long long bits = (<unsigned long long *> &value)[0]
    cdef int k = <int> ((bits ^ (bits >> 52) ^ (bits >> 29) ^ <unsigned long long> dtype * 7) & 63)
    cdef object cached = <object> PyList_GET_ITEM(recent, k)
    cdef EagerTensor t
    if cached is not None and recent_dtype[k] == dtype and memcmp(&recent_value[k], &value, 8) == 0:
        return <EagerTensor> cached
    t = fresh(None, meta_scalar(dtype))
    t.v.buf.flags = SHARED
    if dtype == D_F64:
        (<double *> t.v.data)[0] = value
    elif dtype == D_F32:
        (<float *> t.v.data)[0] = <float> value
    elif dtype == D_C128:
        (<double *> t.v.data)[0] = value
        (<double *> t.v.data)[1] = 0
    else:
        (<float *> t.v.data)[0] = <float> value
        (<float *> t.v.data)[1] = 0
    recent[k] = t
    recent_value[k] = value
    recent_dtype[k] = dtype
    return t


cdef EagerTensor scalar_like(EagerTensor x, double value):
    return alias_in(real_scalar(value, x.v.meta.dtype if is_inexact(x.v.meta.dtype) else D_F64), x.rt)


cdef EagerTensor alias_in(EagerTensor x, EagerRuntime rt):
    cdef EagerTensor t = alias(x, NULL)
    t.rt = rt
    return t


cdef EagerTensor weak_scalar(object x, int dtype):
    """A Python scalar as an operand of a tensor of the given dtype: NumPy 2's weak promotion. None for other objects."""
    if PyFloat_CheckExact(x):
        return real_scalar(PyFloat_AS_DOUBLE(x), dtype if is_inexact(dtype) else D_F64)
    if PyLong_CheckExact(x):
        if is_inexact(dtype):
            return real_scalar(<double> x, dtype)
        target = dtype_object(D_I64 if dtype == D_BOOL else dtype)
        try:
            array = np.asarray(x, target)
        except OverflowError:
            raise IntegerOverflowError(f"Python integer {x} does not fit {target}; convert the tensor with astype()",
                                       argument="other", expected=target, actual=x) from None
        return constant_value(None, array, -1, True)
    if isinstance(x, _generic):
        return None
    if PyBool_Check(x):
        return constant_value(None, np.asarray(x), -1, True)
    if isinstance(x, complex):
        t = D_C64 if dtype in (D_F32, D_C64) else D_C128
        return constant_value(None, np.asarray(x, dtype_object(t)), -1, True)
    if isinstance(x, float):
        return weak_scalar(float(x), dtype)
    if isinstance(x, int):
        return weak_scalar(int(x), dtype)
    return None


cdef EagerTensor constant_value(EagerRuntime rt, object x, int dtype, bint copy):
    """Any array-like as an untracked tensor; dtype -1 keeps its own."""
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    t.rt = rt
    if isinstance(x, Tensor):
        value_copy(&t.v, &(<Tensor> x).v)
    else:
        import_any(&t.v, x, dtype, copy)
    return computed_in(t, dtype) if dtype >= 0 else t


cdef EagerTensor as_operand(object x, EagerRuntime rt):
    if isinstance(x, EagerTensor):
        check(<EagerTensor> x)
        if (<EagerTensor> x).rt is not rt:
            raise ContextMismatchError("the operands belong to different runtimes; bring one over with detach_into(runtime)",
                                       lhs=rt.id, rhs=(<EagerTensor> x).rt.id)
        return <EagerTensor> x
    return constant_value(rt, x, -1, False)


cdef EagerTensor as_eager(object x):
    if isinstance(x, EagerTensor):
        check(<EagerTensor> x)
        return <EagerTensor> x
    return constant_value(ambient_runtime(), x, -1, False)


cdef EagerTensor unary(int op, object x):
    return apply1(op, as_eager(x))


cdef EagerTensor other_operand(object b, EagerTensor x):
    """The second operand beside a tensor."""
    cdef EagerTensor y = weak_scalar(b, x.v.meta.dtype)
    return as_operand(b, x.rt) if y is None else y


cdef EagerTensor binary(int op, object a, object b):
    """A function of two operands, at least one of them usually a tensor; Python scalars are weak."""
    cdef EagerTensor x
    if type(a) is EagerTensor:
        x = <EagerTensor> a
        if type(b) is EagerTensor:
            return apply2(op, x, <EagerTensor> b)
        check(x)
        return run2(op, x, other_operand(b, x))
    if type(b) is EagerTensor:
        x = <EagerTensor> b
        check(x)
        return run2(op, other_operand(a, x), x)
    if isinstance(b, (int, float, complex)) and not isinstance(a, (int, float, complex)):
        return binary(op, as_eager(a), b)
    return binary(op, a, as_eager(b))


cdef bint is_array_like(object x):
    return isinstance(x, (int, float, complex, _ndarray, _generic, list, tuple, Tensor))


cdef object operator(int op, object a, object b):
    if type(a) is EagerTensor and type(b) is EagerTensor:
        return apply2(op, <EagerTensor> a, <EagerTensor> b)
    if (type(a) is EagerTensor or is_array_like(a)) and (type(b) is EagerTensor or is_array_like(b)):
        return binary(op, a, b)
    return NotImplemented


cdef object power(object a, object b):
    if type(a) is EagerTensor and PyLong_CheckExact(b) and b == 2:
        return apply1(Op.SQUARE, <EagerTensor> a)
    return operator(Op.POW, a, b)


cdef object call1(PyObject *f, object a):
    return (<object> f)(a)


# ---- the tensor --------------------------------------------------------------------------------------------------------

@cython.final
@cython.no_gc
@cython.freelist(256)
@cython.c_api_binop_methods(True)
cdef class EagerTensor:
    """A concrete tensor of a runtime, tracked (it takes part in derivatives) or not.

    Eager tensors are made by `tenferro.variable`, `tenferro.constant`, `EagerRuntime.variable_from`, ... and by operations.
    """

    __array_ufunc__ = None              # NumPy's operators leave mixed expressions to this class
    __array_priority__ = 1000.0

    def __init__(self, *args, **kwargs):
        raise TypeError("make eager tensors with tenferro.variable, tenferro.constant or a runtime")

    def __dealloc__(self):
        if self.node != NULL:
            if self.node.flags & IS_LEAF:
                drop_handle(self)
            node_drop(self.node)
        meta_drop(self.v.meta)
        buffer_drop(self.v.buf)

    def __add__(a, b):
        return operator(Op.ADD, a, b)

    def __sub__(a, b):
        return operator(Op.SUB, a, b)

    def __mul__(a, b):
        return operator(Op.MUL, a, b)

    def __truediv__(a, b):
        return operator(Op.DIV, a, b)

    def __floordiv__(a, b):
        return operator(Op.FLOOR_DIV, a, b)

    def __mod__(a, b):
        return operator(Op.REM, a, b)

    def __pow__(a, b, modulo):
        return power(a, b) if modulo is None else NotImplemented

    def __matmul__(a, b):
        if (type(a) is EagerTensor or is_array_like(a)) and (type(b) is EagerTensor or is_array_like(b)):
            return (<object> hooks.matmul)(a, b)
        return NotImplemented

    def __and__(a, b):
        return operator(Op.LOGICAL_AND, as_bool(a), as_bool(b))

    def __or__(a, b):
        return operator(Op.LOGICAL_OR, as_bool(a), as_bool(b))

    def __xor__(a, b):
        return operator(Op.LOGICAL_XOR, as_bool(a), as_bool(b))

    def __invert__(self):
        return apply1(Op.LOGICAL_NOT, as_bool(self))

    def __iadd__(self, other):
        return hooks.update(self, Op.ADD, other)

    def __isub__(self, other):
        return hooks.update(self, Op.SUB, other)

    def __imul__(self, other):
        return hooks.update(self, Op.MUL, other)

    def __itruediv__(self, other):
        return hooks.update(self, Op.DIV, other)

    def __ifloordiv__(self, other):
        return hooks.update(self, Op.FLOOR_DIV, other)

    def __imod__(self, other):
        return hooks.update(self, Op.REM, other)

    def __ipow__(self, other):
        return hooks.update(self, Op.POW, other)

    def __imatmul__(self, other):
        return hooks.update(self, Op.CONTRACT, other)

    def __iand__(self, other):
        return hooks.update(<EagerTensor> as_bool(self), Op.LOGICAL_AND, as_bool(other))

    def __ior__(self, other):
        return hooks.update(<EagerTensor> as_bool(self), Op.LOGICAL_OR, as_bool(other))

    def __ixor__(self, other):
        return hooks.update(<EagerTensor> as_bool(self), Op.LOGICAL_XOR, as_bool(other))

    def __neg__(self):
        return apply1(Op.NEG, self)

    def __pos__(self):
        return same(self)

    def __abs__(self):
        return apply1(Op.ABS, self)

    def __lt__(self, other):
        return operator(Op.LESS, self, other)

    def __le__(self, other):
        return operator(Op.LESS_EQUAL, self, other)

    def __gt__(self, other):
        return operator(Op.GREATER, self, other)

    def __ge__(self, other):
        return operator(Op.GREATER_EQUAL, self, other)

    def __eq__(self, other):
        return operator(Op.EQUAL, self, other)

    def __ne__(self, other):
        return operator(Op.NOT_EQUAL, self, other)

    def __hash__(self):
        return <Py_hash_t> (<size_t> <PyObject *> self >> 4)

    def __getitem__(self, index):
        check(self)
        return (<object> hooks.getitem)(self, index)

    def __setitem__(self, index, value):
        hooks.set_item(self, index, value)

    def __len__(self):
        check(self)
        if self.v.meta.rank == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.v.meta.dims[0]

    def __float__(self):
        return hooks.to_float(self)

    def __int__(self):
        return hooks.to_int(self)

    def __index__(self):
        return hooks.to_index(self)

    def __bool__(self):
        return hooks.to_bool(self)

    def __iter__(self):
        return hooks.iterate(self)

    def __contains__(self, value):
        return hooks.contains(self, value)

    def __repr__(self):
        return hooks.represent(self)

    def __getbuffer__(self, Py_buffer *view, int flags):
        hooks.export_buffer(self, view, flags)

    @property
    def dtype(self):
        """NumPy dtype of the elements."""
        check(self)
        return dtype_object(self.v.meta.dtype)

    @property
    def shape(self):
        """Tuple of dimensions."""
        check(self)
        cdef Meta *m = self.v.meta
        cdef tuple out = PyTuple_New(m.rank)
        cdef object n
        cdef int i
        for i in range(m.rank):
            n = m.dims[i]
            Py_INCREF(n)
            PyTuple_SET_ITEM(out, i, n)
        return out

    @property
    def ndim(self):
        """Number of axes."""
        check(self)
        return self.v.meta.rank

    @property
    def size(self):
        """Number of elements."""
        check(self)
        return self.v.meta.size

    @property
    def tracks_grad(self):
        """Whether this tensor takes part in derivatives."""
        check(self)
        return self.node != NULL and not self.node.flags & CAPTURED

    @property
    def runtime(self):
        """The runtime that this tensor belongs to."""
        check(self)
        return self.rt

    @property
    def ctx_id(self):
        """Identity of the runtime."""
        check(self)
        return self.rt.id


cdef EagerTensor same(EagerTensor x):
    """A tensor of its own with the value of x."""
    check(x)
    return emit_view(Op.ALIAS, x, NULL, meta_ref(x.v.meta), x.v.data)


cdef object as_bool(object x):
    """Operands of ``& | ^ ~`` are bool tensors; integers have no bitwise operations here."""
    if isinstance(x, EagerTensor):
        check(<EagerTensor> x)
        if (<EagerTensor> x).v.meta.dtype != D_BOOL:
            raise DTypeMismatchError("& | ^ ~ are defined for bool tensors; compare first, or use logical_and and its like",
                                     op="logical", expected="bool", actual=x.dtype)
    return x


cdef void drop_handle(EagerTensor x) noexcept:
    """Take a handle off its leaf's list."""
    cdef PyObject **p = &(<Leaf *> x.node).handles
    while p[0] != NULL:
        if p[0] == <PyObject *> x:
            p[0] = x.next_handle
            return
        p = &(<EagerTensor> p[0]).next_handle


seal(EagerTensor)
