"""Operations that bring their own rules as Python functions.

A call is one node, ``Op.CUSTOM``, that keeps the values of all inputs and of the output, and a `Record` as the owner of one
more saved value. A call with several results keeps them in a node without a value of its own, and every result is an
``Op.CUSTOM_OUTPUT`` with an edge to it: cotangents are collected there until all have come, and the rule is called once.
"""

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_REFCNT

from .eager cimport alias, alias_in, apply2, check, constant_value, real_scalar, weak_scalar, wrap
from .importing cimport compact, import_array
from .memory cimport *
from .node cimport node_drop, node_new, saved_values
from .optable cimport Op, OUT, dtype_object, ops
from .rule cimport Ctx, rule
from .state cimport TfThread, ambient_runtime, thread_state
from .tensor cimport Tensor

import functools

import numpy as np

from ..errors import (ContextMismatchError, DTypeMismatchError, ShapeMismatchError, UnsupportedAdRuleError, UnsupportedError,
                      ValidationError)

cdef object _ndarray = np.ndarray, _generic = np.generic
cdef str REMEDY = "pass {transform}= to custom_op, or detach() its arguments"


# ---- recording -------------------------------------------------------------------------------------------------------

cdef Rules new_rules(str name, object vjp, object jvp, str remedy):
    cdef Rules r = Rules.__new__(Rules)
    r.name = name
    r.vjp = vjp
    r.jvp = jvp
    r.remedy = remedy
    return r


cdef Rules known_to(EagerRuntime rt, Rules rules, str family):
    """The rules of an operation in a runtime: its AdContext may have better ones, under its name or that of its family."""
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
    return <Record> saved_values(n)[n.saved == OUT].buf.owner


cdef Node *custom_node(int op, Record record, Meta *meta, tuple outs, tuple xs) except NULL:
    """A node that keeps outs, xs and the record; `meta` is that of its output. The edges to the inputs are set by the caller."""
    cdef int k = 0, single = record.n_out < 0 or op == <int> Op.CUSTOM_OUTPUT
    cdef Py_ssize_t n_in = len(xs) if op == <int> Op.CUSTOM else 1, n_saved = 1 + len(outs) + len(xs)
    cdef Buffer *owner
    cdef Node *node = NULL
    cdef Value *v
    cdef EagerTensor x
    if n_saved > 255:
        raise UnsupportedError(f"{record.rules.name}: a custom operation has at most 254 inputs and outputs; stack some of them",
                               op=record.rules.name, engine=None)
    owner = buffer_wrap(record, NULL, 0, 0)
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
        set_owner(v, owner)
        v += 1
    for x in outs:
        value_copy(v, &x.v)
        v += 1
    if single:
        set_owner(v, owner)
        v += 1
    for x in xs:
        value_copy(v, &x.v)
        v += 1
    return node


cdef void set_owner(Value *v, Buffer *owner) noexcept:
    v.meta = meta_scalar(D_BOOL)
    v.buf = owner
    v.data = NULL


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
    return 0


cdef object recorded_call(EagerRuntime rt, Rules rules, dict params, tuple xs, object result):
    """The tensors that a call gives, from what its function returned; tracked if an input is."""
    cdef bint several = isinstance(result, (tuple, list)), track = False
    cdef tuple outs
    cdef EagerTensor x
    if several:
        outs = tuple([output(rt, rules, r, False) for r in result])
    else:
        outs = (output(rt, rules, result, Py_REFCNT(result) <= 1),)
    if thread_state().no_grad == 0:
        for x in xs:
            track = track or (x.node != NULL and is_inexact(x.v.meta.dtype))
    if track:
        attach(rt, new_record(rules, params, len(outs) if several else -1, 0), xs, outs)
    return outs if several else outs[0]


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
        return 0
    y = real_scalar(0.0, D_F64)
    node = custom_node(Op.CUSTOM, record, y.v.meta, outs, kept)
    connect(node, xs)
    try:
        for k, y in enumerate(outs):
            if is_inexact(y.v.meta.dtype):
                y.node = output_node(node, record, k, y)
    finally:
        node_drop(node)
    return 0


cdef Node *output_node(Node *call, Record record, int index, EagerTensor y) except NULL:
    """One result of a call with several."""
    cdef Node *node = custom_node(Op.CUSTOM_OUTPUT, new_record(record.rules, None, record.n_out, index), y.v.meta, (y,), ())
    call.refs += 1
    node.ins[0] = call
    return node


# ---- what user functions return --------------------------------------------------------------------------------------

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
        raise ValidationError(f"{what} is of type {type(x).__name__}; return a tensor, a NumPy array or a number", op=name,
                              argument="result")
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
        raise DTypeMismatchError(f"{what}: {e}", op=name, argument="result", expected=e.expected, actual=e.actual) from None


cdef EagerTensor output(EagerRuntime rt, Rules rules, object x, bint sole):
    """A fresh untracked handle on a result of the operation's function."""
    cdef EagerTensor t = converted(rt, rules.name, x, f"{rules.name}: the result of its function", D_F64, sole)
    return alias(owned(t), NULL)


cdef tuple dims_of(const Meta *m):
    cdef int i
    return tuple([m.dims[i] for i in range(m.rank)])


cdef bint repeats(const Meta *small, const Meta *large) noexcept:
    """Whether broadcasting takes the first shape to the second."""
    cdef int i, lead = large.rank - small.rank
    if lead < 0:
        return False
    for i in range(small.rank):
        if small.dims[i] != large.dims[lead + i] and small.dims[i] != 1:
            return False
    return True


cdef EagerTensor derivative_of(Ctx c, str name, object x, const Meta *m, str what, bint cotangent):
    """A cotangent for, or a tangent of, something with metadata m; the sweep brings it to that shape and dtype."""
    cdef EagerTensor t = converted(c.rt, name, x, what, m.dtype, False)
    if not is_inexact(t.v.meta.dtype):
        raise DTypeMismatchError(f"{what} has dtype {dtype_object(t.v.meta.dtype)}, but {dtype_object(m.dtype)} is expected; "
                                 "return floating or complex numbers, or None for zero", op=name, argument="result",
                                 expected=dtype_object(m.dtype), actual=dtype_object(t.v.meta.dtype))
    if not (repeats(m, t.v.meta) if cotangent else repeats(t.v.meta, m)):
        raise ShapeMismatchError(f"{what} has shape {dims_of(t.v.meta)}, but {dims_of(m)} is expected"
                                 + (" (or a shape that this one broadcasts to)" if cotangent else ""), op=name,
                                 argument="result", expected=dims_of(m), actual=dims_of(t.v.meta))
    if t.node != NULL and not c.traced:
        t = alias(t, NULL)
    return t


cdef tuple sequence_of(str name, object found, Py_ssize_t n, str rule_name, str each):
    """What a rule returned as a tuple of n."""
    cdef tuple out
    if isinstance(found, (tuple, list)):
        out = tuple(found)
    elif n == 1:
        out = (found,)
    else:
        raise ValidationError(f"{name}: its {rule_name} returned {type(found).__name__}; a tuple of {n} is expected, one {each}, "
                              "None for zero", op=name, argument=rule_name)
    if len(out) != n:
        raise ValidationError(f"{name}: its {rule_name} returned {len(out)} values; {n} are expected, one {each}, None for zero",
                              op=name, argument=rule_name)
    return out


# ---- rules -----------------------------------------------------------------------------------------------------------

cdef object rule_call(Record r, object f, str transform, tuple args):
    """Call a user's rule; what it does is recorded where its arguments are tracked, also inside no_grad."""
    cdef TfThread *thread = thread_state()
    cdef int no_grad = thread.no_grad
    if f is None:
        raise UnsupportedAdRuleError(f"{r.rules.name} has no {transform} rule; "
                                     + r.rules.remedy.format(transform=transform), op=r.rules.name, transform=transform)
    thread.no_grad = 0
    try:
        return f(*args) if r.params is None else f(*args, **r.params)
    finally:
        thread.no_grad = no_grad


cdef EagerTensor saved_tensor(Ctx c, const Value *value, Node *edge):
    cdef Value v
    if not c.traced:
        edge = NULL
    if edge != NULL:
        edge.refs += 1
    value_copy(&v, value)
    return wrap(c.rt, &v, edge)


cdef list inputs_of(Ctx c):
    cdef Node *n = c.node
    cdef Value *v = saved_values(n) + n.n_saved - n.n_in
    return [saved_tensor(c, v + k, n.ins[k]) for k in range(n.n_in)]


cdef object outputs_of(Ctx c, Record r):
    """The output of a call, or the tuple of them."""
    cdef Value *v = saved_values(c.node)
    cdef EagerTensor y
    cdef list found = []
    cdef int k
    if r.n_out < 0:
        return saved_tensor(c, v, c.node)
    for k in range(r.n_out):
        y = saved_tensor(c, v + 1 + k, NULL)
        if c.traced and is_inexact(y.v.meta.dtype):
            y.node = output_node(c.node, r, k, y)
        found.append(y)
    return tuple(found)


cdef EagerTensor nothing(Ctx c):
    """The cotangent or tangent of a node without a value: that there is one."""
    return alias_in(real_scalar(0.0, D_F64), c.rt)


cdef list cotangents(Ctx c, Record r, EagerTensor g):
    cdef Node *n = c.node
    cdef Value *v = saved_values(n) + n.n_saved - n.n_in
    cdef object given = g
    cdef list found = []
    cdef int k
    if r.n_out >= 0:
        given = tuple(c.pending.pop(<size_t> n))
    xs = sequence_of(r.rules.name, rule_call(r, r.rules.vjp, "vjp", (given, outputs_of(c, r), *inputs_of(c))), n.n_in, "vjp",
                     "for each argument")
    for k in range(n.n_in):
        found.append(None if xs[k] is None or n.ins[k] == NULL else derivative_of(
            c, r.rules.name, xs[k], v[k].meta, f"{r.rules.name}: the cotangent of argument {k}, from its vjp,", True))
    return found


cdef EagerTensor custom_vjp(Ctx c, EagerTensor g):
    """The rule is called for the first argument that is asked for; the other cotangents wait in `c.pending`."""
    cdef tuple entry
    cdef EagerTensor t
    if c.pending is None:
        c.pending = {}
    entry = c.pending.get(0)
    if entry is None or entry[0] != <size_t> c.node or entry[1] != <size_t> <PyObject *> g:
        entry = <size_t> c.node, <size_t> <PyObject *> g, cotangents(c, record_of(c.node), g)
        c.pending[0] = entry
    t = (<list> entry[2])[c.i]
    (<list> entry[2])[c.i] = None
    return t


cdef EagerTensor output_vjp(Ctx c, EagerTensor g):
    """Keep the cotangent of one result for the call that all results come from."""
    cdef Record r = record_of(c.node)
    cdef list given
    if c.pending is None:
        c.pending = {}
    given = c.pending.setdefault(<size_t> c.node.ins[0], [None] * r.n_out)
    given[r.index] = g if given[r.index] is None else apply2(Op.ADD, <EagerTensor> given[r.index], g)
    return nothing(c)


cdef EagerTensor custom_jvp(Ctx c, EagerTensor t):
    """The rule takes the tangents of all inputs at once; it is called for the first of them."""
    cdef Node *n = c.node
    cdef Record r = record_of(n)
    cdef Value *v = saved_values(n)
    cdef object ts
    cdef list found = []
    cdef int k
    if c.tangents is None:
        c.tangents = [None] * n.n_in
        c.tangents[c.i] = t
    elif not len(c.tangents):
        return None
    ts = tuple(c.tangents)
    c.tangents = []
    given = rule_call(r, r.rules.jvp, "jvp", (ts, outputs_of(c, r), *inputs_of(c)))
    if r.n_out < 0:
        if given is None:
            return None
        return derivative_of(c, r.rules.name, given, n.meta, f"{r.rules.name}: the tangent of its output, from its jvp,", False)
    ts = sequence_of(r.rules.name, given, r.n_out, "jvp", "for each output")
    for k in range(r.n_out):
        found.append(None if ts[k] is None or not is_inexact(v[1 + k].meta.dtype) else derivative_of(
            c, r.rules.name, ts[k], v[1 + k].meta, f"{r.rules.name}: the tangent of output {k}, from its jvp,", False))
    if c.pending is None:
        c.pending = {}
    c.pending[<size_t> n] = found
    return nothing(c)


cdef EagerTensor output_jvp(Ctx c, EagerTensor t):
    return c.pending[<size_t> c.node.ins[0]][record_of(c.node).index]


rule(Op.CUSTOM, 7, custom_vjp, custom_jvp, 0)
rule(Op.CUSTOM_OUTPUT, 0, output_vjp, output_jvp, 0)


# ---- the user's side -------------------------------------------------------------------------------------------------

cdef EagerRuntime runtime_of(tuple inputs):
    """That of the first eager tensor, else the ambient one."""
    for x in inputs:
        if isinstance(x, EagerTensor):
            check(<EagerTensor> x)
            return (<EagerTensor> x).rt
    return ambient_runtime()


cdef tuple operands(tuple inputs, EagerRuntime rt):
    """All inputs as tensors of one runtime; Python numbers take the dtype of the first tensor."""
    cdef list xs = []
    cdef int dtype = D_F64
    cdef EagerTensor t
    for x in inputs:
        if isinstance(x, EagerTensor):
            dtype = (<EagerTensor> x).v.meta.dtype
            break
    for x in inputs:
        if isinstance(x, EagerTensor):
            t = <EagerTensor> x
            check(t)
            if t.rt is not rt:
                raise ContextMismatchError("the operands belong to different runtimes; bring one over with "
                                           "detach_into(runtime)", lhs=rt.id, rhs=t.rt.id)
        else:
            t = weak_scalar(x, dtype)
            t = constant_value(rt, x, -1, False) if t is None else alias_in(t, rt)
        xs.append(t)
    return tuple(xs)


@cython.final
cdef class Operation:
    """A function of tensors together with its rules; made by `custom_op`.

    Calling it runs the function without recording it, and records one node that has the rules.
    """
    cdef object function
    cdef Rules rules
    cdef dict __dict__

    def __init__(self, f, vjp=None, jvp=None, name=None):
        for what, g in (("f", f), ("vjp", vjp), ("jvp", jvp)):
            if not callable(g) and (g is not None or what == "f"):
                raise ValidationError(f"custom_op: {what} must be a function, not {type(g).__name__}", op="custom_op",
                                      argument=what)
        if name is not None and not isinstance(name, str):
            raise ValidationError(f"custom_op: the name must be a string, not {type(name).__name__}", op="custom_op",
                                  argument="name")
        functools.update_wrapper(self, f)
        self.function = f
        self.rules = new_rules(name or getattr(f, "__name__", type(f).__name__), vjp, jvp, REMEDY)

    @property
    def name(self):
        """The name in messages."""
        return self.rules.name

    @property
    def vjp(self):
        """The rule for reverse mode, or None."""
        return self.rules.vjp

    @property
    def jvp(self):
        """The rule for forward mode, or None."""
        return self.rules.jvp

    def __call__(self, *args, **params):
        return apply(self, args, params or None)

    def __repr__(self):
        return f"<custom operation {self.rules.name}>"


def apply(Operation operation not None, tuple inputs, dict params=None):
    """Run an operation on a tuple of tensors, numbers and arrays.

    Returns
    -------
    EagerTensor or tuple of EagerTensor
        As the operation's function returned one thing or a sequence. Tracked if an input is and recording is on.
    """
    cdef EagerRuntime rt = runtime_of(inputs)
    cdef tuple xs = operands(inputs, rt)
    cdef list values = [alias(<EagerTensor> x, NULL) for x in xs]
    cdef TfThread *thread = thread_state()
    f = operation.function
    thread.no_grad += 1
    try:
        result = f(*values) if params is None else f(*values, **params)
    finally:
        thread.no_grad -= 1
    del values
    return recorded_call(rt, known_to(rt, operation.rules, None), params, xs, result)


def custom_op(f=None, vjp=None, jvp=None, name=None):
    """An operation with derivative rules of its own.

    `f` may compute by any means: with tensors, NumPy, or a library. It is called with untracked tensors and nothing that it
    does is recorded: what is to be differentiated must be an argument. Rules that are written with operations of this
    library (other custom operations included) can be differentiated again, to any order.

    Parameters
    ----------
    f : callable
        ``f(*args, **params)`` gives a tensor, array or number, or a tuple of them. `args` are tensors, `params` the keyword
        arguments of the call, which are not differentiated.
    vjp : callable, optional
        ``vjp(g, out, *args, **params)`` gives the cotangent of the argument, or a tuple of one for each; None is an exact
        zero. `g` is the cotangent of the output. With several outputs, `g` (whose entries may be None) and `out` are tuples.
        The rule is called once per call of the operation and sweep.
    jvp : callable, optional
        ``jvp(tangents, out, *args, **params)`` gives the tangent of the output (a tuple for several outputs). `tangents` is a
        tuple with one for each argument, None where it is zero.
    name : str, optional
        Name in messages, by default that of `f`. Under a name such as ``"mylib.cube.v1"`` an `AdContext` can hold its rules.

    Returns
    -------
    Operation
        Takes tensors, arrays and numbers, and keyword arguments for `f` and the rules. Without `f`, a decorator.

    Raises
    ------
    ValidationError
        When a rule gives the wrong count, shape, dtype or type; the operation and what was expected are named. A cotangent
        may have a shape that the argument broadcasts to, and other precision: it is brought to that of the argument.
    UnsupportedAdRuleError
        When a rule is needed that was not given.

    Examples
    --------
    >>> import tenferro as tfr
    >>> @tfr.custom_op(vjp=lambda g, out, x: g * 3 * x**2, jvp=lambda tangents, out, x: tangents[0] * 3 * x**2)
    ... def cube(x):
    ...     return x**3
    >>> x = tfr.variable(2.0)
    >>> cube(x).backward()[x].item()
    12.0
    """
    if f is None:
        return functools.partial(custom_op, vjp=vjp, jvp=jvp, name=name)
    return Operation(f, vjp, jvp, name)
