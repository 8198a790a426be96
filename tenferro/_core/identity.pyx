"""What function transforms stand on: identity nodes, recording inside no_grad, telling private traces from outer ones.

An identity node is recorded by every transform for each argument, also for an untracked one: it has no edge then, and no
gradient slot. What was recorded before the transform began is outer, and so are leaves; a result that reaches neither is
handed out without its trace.
"""

from .abi cimport *
from .eager cimport EagerTensor, alias, check, emit_view
from .memory cimport *
from .node cimport CAPTURED, IS_LEAF, Leaf, Node, mix, node_new, recorded
from .optable cimport Op, dtype_object, ops
from .state cimport EagerRuntime, Guard, TfThread, thread_state
from .sweep cimport Sweep, start, zeros_of

from libc.string cimport memset

from ..errors import ValidationError


cdef EagerTensor handle(EagerTensor x, Node *node):
    node.refs += 1
    return alias(x, node)


cdef unsigned int structure_hash(const Node *node) noexcept:
    cdef unsigned int h
    cdef int i
    if node.ins[0] != NULL:
        return mix(node.op.id, node.ins[0].hash)
    h = mix(node.op.id, node.meta.dtype)
    for i in range(node.meta.rank):
        h = mix(h, <unsigned int> node.meta.dims[i])
    return h


def identity(EagerTensor x not None, bint linked=True):
    """Two handles on one new identity node of a tensor: one to keep, one to give away.

    The node has an edge to the tensor's own node if the tensor is tracked and this thread is recording, unless it is not
    to be linked. Inside capture_trace an untracked tensor is captured.

    Raises
    ------
    ValidationError
        The dtype is an integer or bool.
    """
    cdef Node *node
    cdef EagerTensor kept
    cdef TfThread *thread = thread_state()
    check(x)
    if not is_inexact(x.v.meta.dtype):
        raise ValidationError(f"a tensor of {dtype_object(x.v.meta.dtype)} cannot be differentiated: derivatives need floating "
                              "or complex numbers; convert it, for example with dtype=float", argument="dtype")
    if linked and thread.capture and not thread.no_grad and (x.node == NULL or x.node.flags & CAPTURED):
        kept = emit_view(Op.ALIAS, x, NULL, meta_ref(x.v.meta), x.v.data)
        return kept, handle(kept, kept.node)
    node = node_new(&ops[<int> Op.ALIAS], 1, 0)
    node.meta = meta_ref(x.v.meta)
    node.params = NULL
    node.saved = 0
    node.ins[0] = NULL
    if linked and x.node != NULL and not x.node.flags & CAPTURED and not thread.no_grad:
        node.ins[0] = x.node
        x.node.refs += 1
    node.hash = structure_hash(node)
    kept = alias(x, node)
    return kept, handle(x, node)


def link(EagerTensor own not None, EagerTensor x not None):
    """Give an identity node that has no edge one to the node of x, if there is one."""
    if own.node.ins[0] == NULL and x.node != NULL:
        x.node.refs += 1
        own.node.ins[0] = x.node


def now():
    """The moment: nodes recorded later have a greater number."""
    return recorded()


def capturing():
    """Whether this thread records operations on untracked tensors, too."""
    return thread_state().capture != 0


def recording():
    """Whether this thread records."""
    return thread_state().no_grad == 0


cdef class Recording(Guard):
    """Inside this guard operations are recorded, whatever guards are around it."""
    cdef int before

    def _open(self):
        self.before = thread_state().no_grad
        thread_state().no_grad = 0

    def _close(self):
        thread_state().no_grad = self.before

    def _name(self):
        return "transform"


cdef int mark_outer(Sweep s, unsigned long long since) except -1:
    """Visit what the queued nodes reach since a moment, then mark, oldest first, what leads further back or to a leaf."""
    cdef Py_ssize_t i = 0, slot
    cdef Node *n
    cdef int k
    while i < s.n:
        n = s.items[i].node
        if n.seq > since:
            for k in range(n.n_in):
                if n.ins[k] != NULL and n.ins[k].seq > since:
                    s.visit(n.ins[k])
        i += 1
    s.sort()
    for i in range(s.n - 1, -1, -1):
        n = s.items[i].node
        if s.items[i].active == 2:
            s.items[i].active = linked(n)
        elif n.seq <= since or n.flags & IS_LEAF or not linked(n):
            s.items[i].active = 1
        else:
            for k in range(n.n_in):
                if n.ins[k] == NULL:
                    continue
                slot = s.find(n.ins[k])
                if slot < 0 or s.items[slot].active:
                    s.items[i].active = 1
                    break
    return 0


cdef bint linked(Node *n) noexcept:
    """Whether a node has an edge; one without belongs to a leaf or to the argument of some transform."""
    cdef int k
    for k in range(n.n_in):
        if n.ins[k] != NULL:
            return True
    return False


def released(list tensors, unsigned long long since, list own):
    """The tensors, without their trace if it reaches nothing but the identity nodes `own`; the rest as they are."""
    cdef Sweep s = start(None, False)
    cdef EagerTensor t
    cdef list found = []
    for t in own:
        s.items[s.visit(t.node)].active = 2
    for t in tensors:
        if t is not None and t.node != NULL:
            s.visit(t.node)
    mark_outer(s, since)
    for t in tensors:
        if t is not None and t.node != NULL and not s.items[s.find(t.node)].active:
            t = alias(t, NULL)
        found.append(t)
    return found


cdef EagerTensor stand_in(EagerRuntime rt, Node *n):
    """A handle on a node; unless the node is a leaf, its value is one element that repeats and means nothing."""
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    cdef int i
    t.rt = rt
    if n.flags & IS_LEAF:
        value_copy(&t.v, &(<Leaf *> n).value)
    else:
        t.v.meta = meta_new(n.meta.dtype, n.meta.rank)
        for i in range(n.meta.rank):
            t.v.meta.dims[i] = n.meta.dims[i]
            t.v.meta.dims[n.meta.rank + i] = 0
        meta_finish(t.v.meta)
        t.v.buf = buffer_new(n.meta.itemsize)
        t.v.data = t.v.buf.data
        memset(t.v.data, 0, n.meta.itemsize)
    n.refs += 1
    t.node = n
    return t


def outer(EagerRuntime rt not None, list tensors, unsigned long long since, list own):
    """Handles on the nodes recorded before a moment, and on captured leaves, that the traces of the tensors end in.

    The traces are not followed beyond the nodes of `own`. The handles are for use as ``wrt``: where they have no value to
    show, it is zero.
    """
    cdef Sweep s = start(None, False)
    cdef EagerTensor t
    cdef list found = []
    cdef Node *n
    cdef Py_ssize_t i = 0
    cdef int k
    for t in own:
        s.items[s.visit(t.node)].active = 2
    for t in tensors:
        if t.node != NULL:
            s.visit(t.node)
    while i < s.n:
        n = s.items[i].node
        if s.items[i].active != 2:
            if n.seq <= since or n.flags & CAPTURED and n.flags & IS_LEAF:
                found.append(stand_in(rt, n))
            else:
                for k in range(n.n_in):
                    if n.ins[k] != NULL:
                        s.visit(n.ins[k])
        i += 1
    return found


def node_id(EagerTensor x not None):
    """A number for the node of a tensor, the same for all its handles; 0 if there is none."""
    return <size_t> x.node


def captured(EagerTensor x not None):
    """Whether the node of a tensor was recorded by capture_trace only."""
    return x.node != NULL and x.node.flags & CAPTURED != 0


def zeros(EagerTensor x not None):
    """Untracked zeros with the shape and dtype of a tensor."""
    return zeros_of(x)


def swept(EagerRuntime rt not None, str op, list outputs, list wrt, list seeds, bint traced):
    """``rt.vjp_optional`` or ``rt.jvp_optional``, recorded only if asked for; None for whatever is inactive."""
    f = rt.vjp_optional if op == "vjp" else rt.jvp_optional
    if traced:
        return f(outputs, wrt, seeds)
    thread_state().no_grad += 1
    try:
        return f(outputs, wrt, seeds)
    finally:
        thread_state().no_grad -= 1
