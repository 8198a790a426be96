"""How operations that bring their own rules are differentiated: calling a user's rule and judging what it returns."""

from cpython.object cimport PyObject

from .abi cimport *
from .custom_node cimport Record, call_in, converted, dims_of, output_node, record_of
from .eager cimport EagerTensor, alias, alias_in, apply2, real_scalar, wrap
from .memory cimport *
from .node cimport Node, saved_values
from .optable cimport Op, dtype_object
from .rule cimport Ctx, rule
from .state cimport EagerRuntime

from ..errors import DTypeMismatchError, ShapeMismatchError, UnsupportedAdRuleError, ValidationError


# ---- what rules return -----------------------------------------------------------------------------------------------

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
        raise DTypeMismatchError(f"{what} has dtype {dtype_object(t.v.meta.dtype)}, but {dtype_object(m.dtype)} is "
                                 "expected; return floating or complex numbers, or None for zero", op=name,
                                 argument="result", expected=dtype_object(m.dtype), actual=dtype_object(t.v.meta.dtype))
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
        raise ValidationError(f"{name}: its {rule_name} returned {type(found).__name__}; a tuple of {n} is expected, "
                              f"one {each}, None for zero", op=name, argument=rule_name)
    if len(out) != n:
        raise ValidationError(f"{name}: its {rule_name} returned {len(out)} values; {n} are expected, one {each}, None "
                              "for zero", op=name, argument=rule_name)
    return out


# ---- rules -----------------------------------------------------------------------------------------------------------

cdef object rule_call(EagerRuntime rt, Record r, object f, str transform, tuple args):
    """Call a user's rule; what it does is recorded where its arguments are tracked, also inside no_grad."""
    if f is None:
        raise UnsupportedAdRuleError(f"{r.rules.name} has no {transform} rule; "
                                     + r.rules.remedy.format(transform=transform), op=r.rules.name, transform=transform)
    return call_in(rt, 0, f, args, r.params)


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
    given = rule_call(c.rt, r, r.rules.vjp, "vjp", (given, outputs_of(c, r), *inputs_of(c)))
    xs = sequence_of(r.rules.name, given, n.n_in, "vjp", "for each argument")
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
    given = rule_call(c.rt, r, r.rules.jvp, "jvp", (ts, outputs_of(c, r), *inputs_of(c)))
    if r.n_out < 0:
        if given is None:
            return None
        return derivative_of(c, r.rules.name, given, n.meta,
                             f"{r.rules.name}: the tangent of its output, from its jvp,", False)
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
