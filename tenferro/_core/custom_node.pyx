"""Recording of operations that bring their own rules.

A call is one node, ``Op.CUSTOM``, that keeps the values of all inputs and of the output, and a `Record` as the owner of
one more saved value. A call with several results keeps them in a node without a value of its own, and every result is
an ``Op.CUSTOM_OUTPUT`` with an edge to it: cotangents are collected there until all have come, and the rule is called
once.
"""

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_REFCNT

from .eager cimport alias, alias_in, check, constant_value, real_scalar, weak_scalar, show, watched_by_others
from .garbage cimport watch
from .importing cimport compact, import_array
from .memory cimport *
from .node cimport CAPTURED, Leaf, leaf_new, mix, node_drop, node_new, saved_values
from .optable cimport Op, OUT, ops
from .state cimport EagerSession, TfThread, ambient_runtime, close_session, engine_for, open_session, thread_state
from .tensor cimport Tensor

import numpy as np

from ..errors import ContextMismatchError, DTypeMismatchError, UnsupportedError, ValidationError

cdef object _ndarray = np.ndarray, _generic = np.generic


# ---- nodes -----------------------------------------------------------------------------------------------------------

@cython.final
@cython.no_gc_clear                 # cycles are broken at the tensor
cdef class Rules:
    pass


@cython.final
@cython.no_gc_clear
cdef class Record:
    pass


cdef Rules new_rules(str name, object vjp, object jvp, str remedy):
    cdef Rules r = Rules.__new__(Rules)
    r.name = name
    r.vjp = vjp
    r.jvp = jvp
    r.remedy = remedy
    return r


cdef Rules known_to(EagerRuntime rt, Rules rules, str family):
    """The rules of an operation in a runtime: those of its AdContext, under its name or its family's, go first."""
    cdef object found = None
    if rt.ad is None:
        return rules
    for r in rt.ad.rules:
        if r.family_id == rules.name or r.family_id == family and found is None:
            found = r
    if found is None:
        return rules
    vjp, jvp = getattr(found, "vjp", None), getattr(found, "jvp", None)
    return new_rules(rules.name, rules.vjp if vjp is None else vjp, rules.jvp if jvp is None else jvp, rules.remedy)


cdef Record new_record(Rules rules, dict params, int n_out, int index):
    cdef Record r = Record.__new__(Record)
    r.rules = rules
    r.params = params
    r.n_out = n_out
    r.index = index
    return r


cdef Record record_of(Node *n):
    if n.op.id != <int> Op.CUSTOM and n.op.id != <int> Op.CUSTOM_OUTPUT:
        return None
    return <Record> <PyObject *> saved_values(n)[n.saved == OUT].data


cdef Node *custom_node(int op, Record record, Meta *meta, tuple outs, tuple xs) except NULL:
    """A node that keeps outs, xs and the record, its edges empty; `meta` is that of its output."""
    cdef int k = 0, single = record.n_out < 0 or op == <int> Op.CUSTOM_OUTPUT
    cdef Py_ssize_t n_in = len(xs) if op == <int> Op.CUSTOM else 1, n_saved = 1 + len(outs) + len(xs)
    cdef Buffer *owner
    cdef Node *node = NULL
    cdef Value *v
    cdef EagerTensor x
    if n_saved > 255:
        raise UnsupportedError(f"{record.rules.name}: a custom operation has at most 254 inputs and outputs; stack "
                               "some of them", op=record.rules.name, engine=None)
    owner = buffer_wrap(record, NULL, 0, 0) if single else buffer_new(0)
    try:
        node = node_new(&ops[op], n_in, n_saved)
    finally:
        if node == NULL:
            buffer_drop(owner)
    for k in range(n_in):
        node.ins[k] = NULL
    node.params = NULL
    node.meta = meta_ref(meta)
    node.saved = OUT if single else 0
    v = saved_values(node)
    if not single:
        set_record(v, owner, record)
        v += 1
    for x in outs:
        value_copy(v, &x.v)
        v += 1
    if single:
        set_record(v, owner, record)
        v += 1
    for x in xs:
        value_copy(v, &x.v)
        v += 1
    return node


cdef void set_record(Value *v, Buffer *owner, Record record) noexcept:
    v.meta = meta_scalar(D_BOOL)
    v.buf = owner
    v.data = <char *> <PyObject *> record


cdef EagerTensor owned(EagerTensor x):
    """x, or an untracked copy where somebody else may write to its memory."""
    cdef EagerTensor t
    if not x.v.buf.flags & BORROWED:
        return x
    t = EagerTensor.__new__(EagerTensor)
    t.rt = x.rt
    compact(&t.v, &x.v, row_major(x.v.meta))
    return t


cdef int connect(Node *node, tuple xs) except -1:
    cdef EagerTensor x
    cdef int k = 0
    for x in xs:
        if x.node != NULL and is_inexact(x.v.meta.dtype):
            x.node.refs += 1
            node.ins[k] = x.node
        k += 1
    complete(node)
    return 0


cdef void complete(Node *node) noexcept:
    """What follows from the edges: the hash, and whether only capture_trace has recorded what is used."""
    cdef unsigned int h = node.op.id
    cdef int k, flags = CAPTURED
    for k in range(node.n_in):
        h = mix(h, node.ins[k].hash if node.ins[k] != NULL else 1)
        if node.ins[k] != NULL:
            flags &= node.ins[k].flags
    node.hash = h
    node.flags |= flags


cdef tuple outputs(EagerRuntime rt, Rules rules, object result):
    """Fresh untracked handles on what the function of an operation returned: one thing, or a sequence of them."""
    if isinstance(result, (tuple, list)):
        return tuple([output(rt, rules, r, False) for r in result])
    return (output(rt, rules, result, Py_REFCNT(result) <= 1),)


cdef object recorded_call(EagerRuntime rt, Rules rules, dict params, tuple xs, tuple outs, bint several):
    """The results of a call, tracked if an input is; `several` if the function returned a sequence."""
    cdef TfThread *thread = thread_state()
    cdef bint track = False
    cdef EagerTensor x
    if thread.no_grad == 0:
        for x in xs:
            if x.node == NULL and thread.capture:
                capture(x)
            if x.node != NULL and is_inexact(x.v.meta.dtype) and (thread.capture or not x.node.flags & CAPTURED):
                track = True
    if watched_by_others():
        for x in outs:
            show(Op.CUSTOM, x, xs)
    if track:
        attach(rt, new_record(rules, params, len(outs) if several else -1, 0), xs, outs)
    return outs if several else outs[0]


cdef int capture(EagerTensor x) except -1:
    """Inside capture_trace an untracked argument becomes a leaf."""
    cdef Leaf *f
    if is_inexact(x.v.meta.dtype):
        f = leaf_new(&x.v)
        f.node.flags |= CAPTURED
        f.handles = <PyObject *> x
        x.node = &f.node
    return 0


cdef int attach(EagerRuntime rt, Record record, tuple xs, tuple outs) except -1:
    cdef tuple kept = tuple([owned(<EagerTensor> x) for x in xs])
    cdef EagerTensor y
    cdef Node *node
    cdef int k
    if record.n_out < 0:
        y = <EagerTensor> outs[0]
        if is_inexact(y.v.meta.dtype):
            node = custom_node(Op.CUSTOM, record, y.v.meta, outs, kept)
            connect(node, xs)
            y.node = node
            watch(y)
        return 0
    y = real_scalar(0.0, D_F64)
    node = custom_node(Op.CUSTOM, record, y.v.meta, outs, kept)
    connect(node, xs)
    try:
        for k, y in enumerate(outs):
            if is_inexact(y.v.meta.dtype):
                y.node = output_node(node, record, k, y)
                watch(y)
    finally:
        node_drop(node)
    return 0


cdef Node *output_node(Node *call, Record record, int index, EagerTensor y) except NULL:
    """One result of a call with several."""
    cdef Record own = new_record(record.rules, None, record.n_out, index)
    own.call = record
    cdef Node *node = custom_node(Op.CUSTOM_OUTPUT, own, y.v.meta, (y,), ())
    call.refs += 1
    node.ins[0] = call
    complete(node)
    return node


# ---- calling functions -----------------------------------------------------------------------------------------------

cdef object call_in(EagerRuntime rt, int no_grad, object f, object args, dict params):
    """Call a user's function with recording off or on, and what it creates in the runtime of its arguments."""
    cdef TfThread *thread = thread_state()
    cdef int outside = thread.no_grad
    cdef EagerSession s = None if ambient_runtime() is rt else open_session(rt, engine_for(rt))
    thread.no_grad = no_grad
    try:
        return f(*args) if params is None else f(*args, **params)
    finally:
        thread.no_grad = outside
        if s is not None:
            close_session(s)


# ---- what functions return -------------------------------------------------------------------------------------------

cdef EagerTensor converted(EagerRuntime rt, str name, object x, str what, int dtype, bint sole):
    """A tensor of the runtime; numbers take the dtype, an array that is ours alone is not copied."""
    cdef EagerTensor t
    if isinstance(x, EagerTensor):
        t = <EagerTensor> x
        check(t)
        if t.rt is not rt:
            raise ContextMismatchError(f"{what} belongs to another runtime; bring it over with detach_into(runtime)",
                                       lhs=rt.id, rhs=t.rt.id)
        return t
    if isinstance(x, (int, float, complex)) and not isinstance(x, _generic):
        return alias_in(weak_scalar(x, dtype), rt)
    if not isinstance(x, (_ndarray, _generic, Tensor)):
        raise ValidationError(f"{what} is of type {type(x).__name__}; return a tensor, a NumPy array or a number",
                              op=name, argument="result")
    try:
        if sole and type(x) is _ndarray and x.flags.owndata:
            t = EagerTensor.__new__(EagerTensor)
            t.rt = rt
            import_array(&t.v, x, False)
            if t.v.buf.owner == <PyObject *> x:
                t.v.buf.flags = 0
            return t
        return constant_value(rt, x, -1, True)
    except DTypeMismatchError as e:
        raise DTypeMismatchError(f"{what}: {e}", op=name, argument="result", expected=e.expected,
                                 actual=e.actual) from None


cdef EagerTensor output(EagerRuntime rt, Rules rules, object x, bint sole):
    """A fresh untracked handle on a result of the operation's function."""
    cdef EagerTensor t = converted(rt, rules.name, x, f"{rules.name}: the result of its function", D_F64, sole)
    return alias(owned(t), NULL)


cdef tuple dims_of(const Meta *m):
    cdef int i
    return tuple([m.dims[i] for i in range(m.rank)])
