"""What gradient rules are written against, and how one is applied."""

cimport cython

from libc.string cimport memcpy

from .eager cimport apply1, apply2, wrap
from .memory cimport *
from .node cimport saved_value, saved_values
from .optable cimport Op, POLES, ZERO, op_name, ops
from .spaces cimport device_copy

from ..errors import UnsupportedAdRuleError
from .optable import ROWS


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class Ctx:

    cdef EagerTensor arg(self, int k):
        cdef Value v
        cdef Node *edge = NULL
        value_copy(&v, saved_value(self.node, 1 << k))
        if v.buf.flags & DEFERRED:
            value_drop(&v)
            compute_again(self, self.node.ins[k], &v)
        if self.traced:
            edge = self.node.ins[k]
            if edge != NULL:
                edge.refs += 1
        if self.copies is not None and v.buf.flags & SHARED:
            make_private(self.copies, self.node, 1 << k, &v)
        return wrap(self.rt, &v, edge)

    cdef EagerTensor out(self):
        cdef Value v
        value_copy(&v, saved_value(self.node, 128))
        if v.buf.flags & DEFERRED:
            value_drop(&v)
            compute_again(self, self.node, &v)
        if self.traced:
            self.node.refs += 1
        return wrap(self.rt, &v, self.node if self.traced else NULL)

    cdef Meta *meta(self, int k):
        return self.node.ins[k].meta

    cdef Py_ssize_t *params(self):
        return self.node.params.v


cdef int compute_again(Ctx c, Node *n, Value *v) except -1:
    """The value of a node whose operands are all saved."""
    cdef EagerTensor x = saved_tensor(c, n, 0), y
    if n.n_in == 1:
        y = apply1(n.op.id, x)
    else:
        y = apply2(n.op.id, x, saved_tensor(c, n, 1))
    if c.copies is not None:
        c.again.append(<size_t> n)
    value_copy(v, &y.v)
    return 0


cdef EagerTensor saved_tensor(Ctx c, Node *n, int k):
    """Operand k of a node that has saved all of them, without an edge."""
    cdef Value v
    value_copy(&v, saved_values(n) + k)
    if v.buf.flags & DEFERRED:
        value_drop(&v)
        compute_again(c, n.ins[k], &v)
    if c.copies is not None and v.buf.flags & SHARED:
        make_private(c.copies, n, 1 << k, &v)
    return wrap(c.rt, &v, NULL)


cdef int make_private(dict copies, Node *n, int bit, Value *v) except -1:
    """A saved constant that the library shares looks like the same constant inside a rule: give it memory of its own."""
    cdef EagerTensor c = copies.get((<size_t> n, bit))
    if c is None:
        c = EagerTensor.__new__(EagerTensor)
        if v.buf.space != HOST_SPACE:
            device_copy(&c.v, v, meta_ref(v.meta))
        else:
            value_alloc(&c.v, meta_ref(v.meta))
            memcpy(c.v.data, v.data, v.meta.itemsize)
        copies[(<size_t> n, bit)] = c
    value_drop(v)
    value_copy(v, &c.v)
    return 0


cdef int rule(int op, int arg, rule_t vjp, rule_t jvp, int needs) except -1:
    """Set both rules of one argument; `needs` has a bit for every saved value that they use."""
    ops[op].vjp[arg] = <void *> vjp
    ops[op].jvp[arg] = <void *> jvp
    ops[op].needs[arg] = needs
    ops[op].recorded = 1
    return 0


cdef int derivative(int op, int arg, local_t d, int needs) except -1:
    """Set the local derivative of a holomorphic elementwise function, from which both modes follow."""
    ops[op].local[arg] = <void *> d
    ops[op].needs[arg] = needs
    ops[op].recorded = 1
    return 0


cdef int no_rule(Ctx c, str transform) except -1:
    name = op_name(c.node.op.id)
    raise UnsupportedAdRuleError(f"{name} has no {transform} rule for argument {c.i}; detach() the argument, or give the "
                                 "operation a rule", op=name, transform=transform)


def table():
    """Which rules there are: rows ``(operation, argument, VJP, JVP)``; argument 7 stands for all of an n-ary operation."""
    cdef OpDef *d
    rows = []
    for op, *_ in ROWS:
        d = &ops[<int> op]
        for i in (range(d.n_in) if d.n_in >= 0 else (7,)):
            rows.append((op_name(op), i, d.vjp[i] != NULL or d.local[i] != NULL or d.flags & ZERO != 0,
                         d.jvp[i] != NULL or d.local[i] != NULL or d.flags & ZERO != 0))
    return rows


cdef Py_ssize_t applied = 0


def applied_rules():
    """How many rules were looked up since the process started."""
    return applied


cdef EagerTensor apply_vjp(Ctx c, EagerTensor g):
    global applied
    cdef OpDef *d = c.node.op
    cdef int i = c.i if d.n_in >= 0 else 7
    cdef EagerTensor local
    applied += 1
    if d.vjp[i] != NULL:
        return (<rule_t> d.vjp[i])(c, g)
    if d.local[i] != NULL:
        local = (<local_t> d.local[i])(c)
        if local.v.meta.dtype >= D_C64:
            local = apply1(Op.CONJ, local)
        return apply2(Op.ABSORB_MUL if d.flags & POLES else Op.MUL, g, local)
    if d.flags & ZERO:
        return None
    no_rule(c, "vjp")


cdef EagerTensor apply_jvp(Ctx c, EagerTensor t):
    global applied
    cdef OpDef *d = c.node.op
    cdef int i = c.i if d.n_in >= 0 else 7
    applied += 1
    if d.jvp[i] != NULL:
        return (<rule_t> d.jvp[i])(c, t)
    if d.local[i] != NULL:
        return apply2(Op.ABSORB_MUL if d.flags & POLES else Op.MUL, t, (<local_t> d.local[i])(c))
    if d.flags & ZERO:
        return None
    no_rule(c, "jvp")
