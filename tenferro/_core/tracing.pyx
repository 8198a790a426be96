"""Making a program: a `Tracer` watches a sweep, and `build` turns its log into steps over registers.

Values are recognised by the serial number of their buffer and the place in it. Only those that no operation of the sweep has
made are kept until the program is finished: they may be constants.
"""

from libc.stdlib cimport calloc

from .eager cimport EagerTensor, Watcher, unwatch, watch
from .memory cimport *
from .node cimport Node, saved_value
from .optable cimport Op
from .program cimport CUT, NONE, ZEROS, Expected, Input, Program, Step, is_one
from .state cimport EagerRuntime
from .sweep cimport Sweep

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident() nogil


cdef class Held:
    """A reference to parameters."""
    cdef Params *p

    def __dealloc__(self):
        params_drop(self.p)


cdef EagerTensor hold(const Value *v):
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    value_copy(&t.v, v)
    return t


cdef object key_of(const Value *v):
    """Values with equal keys are the same tensor."""
    return (v.buf.serial, v.data - v.buf.data, v.meta.dtype, tuple([v.meta.dims[i] for i in range(2 * v.meta.rank)]))


cdef EagerTensor hold_layout(const Value *v):
    """A tensor that keeps the metadata only."""
    cdef EagerTensor u = EagerTensor.__new__(EagerTensor)
    u.v.meta = meta_ref(v.meta)
    return u


cdef class Tracer(Watcher):
    """Log of the operations of one thread, which are not computed if the tracer is symbolic."""

    def __cinit__(self):
        self.thread = PyThread_get_thread_ident()
        self.log = []
        self.tensors = {}
        self.copies = {}
        watch(self)

    cdef int end(self) except -1:
        unwatch(self)
        return 0

    cdef int before(self, int op) except -1:
        return self.symbolic and PyThread_get_thread_ident() == self.thread

    cdef int after(self, int op, EagerRuntime rt, int n, const Value *ins, const Value *out, const Params *p,
                   bint view) except -1:
        cdef Held h = None
        cdef list xs = []
        cdef int i
        if PyThread_get_thread_ident() != self.thread:
            return 0
        if p != NULL:
            h = Held()
            h.p = params_ref(<Params *> p)
        for i in range(n):
            key = key_of(&ins[i])
            xs.append(key)
            if key not in self.tensors:
                self.tensors[key] = hold(&ins[i])
        key = key_of(out)
        if key not in self.tensors:
            self.tensors[key] = hold_layout(out)
        self.log.append((op, xs, key, h, view, out.data - ins[0].data if view else 0))
        return 0


# ---- building ----------------------------------------------------------------------------------------------------------

cdef class Builder:
    cdef dict regs              # key -> register
    cdef dict saved             # key -> places (node, place in it) of saved values
    cdef dict known             # key -> tensor, of the tracer
    cdef dict tensors           # register -> tensor that describes it
    cdef list constants
    cdef list inputs            # (node, place, register, same_as, tensor)
    cdef int n_regs

    cdef int new(self, object key, EagerTensor t) except -1:
        self.regs[key] = self.n_regs
        self.tensors[self.n_regs] = t
        self.n_regs += 1
        return self.n_regs - 1

    cdef int reg(self, object key) except -1:
        """Register of a value that a step reads."""
        cdef EagerTensor t
        r = self.regs.get(key)
        if r is not None:
            return r
        t = self.known[key]
        r = self.new(key, t)
        places = self.saved.get(key)
        if places is None:
            self.constants.append((r, t))
        else:
            first = len(self.inputs)
            for i, (node, place) in enumerate(places):
                self.inputs.append((node, place, r, first if i else -1, t))
        return r


cdef int find_saved(Sweep s, Builder b, Tracer tracer) except -1:
    """All values that the visited nodes keep, by key."""
    cdef Py_ssize_t i
    cdef Node *n
    cdef int bit, place
    cdef EagerTensor c
    cdef Value *v
    for i in range(s.n):
        n = s.items[i].node
        place = 0
        for bit in (1, 2, 4, 8, 16, 32, 64, 128):
            if not n.saved & bit:
                continue
            v = saved_value(n, bit)
            c = tracer.copies.get((<size_t> n, bit))
            if c is not None:
                b.saved.setdefault(key_of(&c.v), []).append((i, place))
            if v.buf != NULL and not v.buf.flags & (SHARED | DEFERRED):
                b.saved.setdefault(key_of(v), []).append((i, place))
            place += 1
    return 0


cdef Program build(Sweep s, list outputs, list targets, list seeds, list results, Tracer tracer, bint bounded):
    """The program of a finished sweep, whose visited nodes are sorted."""
    cdef Builder b = Builder()
    cdef Program p = Program()
    cdef EagerTensor t
    cdef list steps = [], ints = []
    cdef int r
    b.regs, b.saved, b.tensors, b.constants, b.inputs, b.known = {}, {}, {}, [], [], tracer.tensors
    for address in s.ctx.again:
        if s.find(<Node *> <size_t> address) < 0:
            return None                 # its operands have no place in the trace that is compared
    find_saved(s, b, tracer)
    for t in seeds:
        if key_of(&t.v) in b.regs or key_of(&t.v) in b.saved:
            return None
        b.new(key_of(&t.v), t)
    ones = {b.regs[key_of(&t.v)] for t in seeds if len(seeds) == 1 and is_one(t)}
    p.unit = len(ones) == 1
    final = {key_of(&t.v) for t in results if t is not None}
    for op, xs, key, params, view, offset in tracer.log:
        args = [b.reg(x) for x in xs]
        same = factor(b, op, args, key, ones) if key not in final else -1
        if same >= 0:
            b.regs[key] = same
            continue
        if key in b.regs:
            if not view:
                return None
            continue
        r = b.new(key, tracer.tensors[key])
        if view and args[0] in ones:
            ones.add(r)
        steps.append([op, args, r, params, view, offset])
    codes = []
    for t in results:
        if t is None:
            codes.append(NONE)
            continue
        key = key_of(&t.v)
        if key in b.regs or key in b.saved:
            tracer.tensors.setdefault(key, t)
            codes.append(b.reg(key))
        else:
            codes.append(ZEROS)
    describe(p, s, outputs, targets, seeds, ints, bounded)
    p.results = codes
    p.tracked = [t is not None and t.node != NULL for t in results]
    assemble(p, b, live_steps(steps, codes), codes, ints)
    return p


cdef int factor(Builder b, int op, list args, object key, set ones) except -2:
    """Register of the factor that a product with ones is equal to; -1 if a step is no such product."""
    cdef EagerTensor x, y = b.known[key]
    if not ones or (op != <int> Op.MUL and op != <int> Op.ABSORB_MUL):
        return -1
    for r, other in ((args[1], args[0]), (args[0], args[1])):
        x = b.tensors[r]
        if other in ones and (op == <int> Op.MUL or other == args[0]) and x.v.meta.dtype == y.v.meta.dtype \
                and same_layout(x.v.meta, y.v.meta):
            return r
    return -1


cdef list live_steps(list steps, list codes):
    """Steps that a result depends on."""
    needed = {c for c in codes if c >= 0}
    kept = []
    for step in reversed(steps):
        if step[2] in needed:
            kept.append(step)
            needed.update(step[1])
    kept.reverse()
    return kept


cdef int describe(Program p, Sweep s, list outputs, list targets, list seeds, list ints, bint bounded) except -1:
    """What a fitting trace looks like."""
    cdef Py_ssize_t i
    cdef int k
    cdef Node *n
    cdef Expected *e
    cdef EagerTensor t
    p.bounded = bounded
    p.n_nodes = <int> s.n
    p.nodes = <Expected *> calloc(max(1, s.n), sizeof(Expected))
    if p.nodes == NULL:
        raise MemoryError
    for i in range(s.n):
        n = s.items[i].node
        e = &p.nodes[i]
        e.op = n.op
        e.params = params_ref(n.params)
        e.meta = meta_ref(n.meta)
        e.n_in = n.n_in
        e.saved = n.saved
        e.flags = n.flags
        e.children = <int> len(ints)
        for k in range(n.n_in):
            if n.ins[k] == NULL:
                ints.append(-1)
            else:
                place = s.find(n.ins[k])
                ints.append(CUT if place < 0 else place)
    p.roots = [s.find(t.node) if t.node != NULL else -1 for t in outputs]
    p.targets = [s.find(t.node) if t.node != NULL else -1 for t in targets]
    p.seeds = [hold_layout(&t.v) for t in seeds]
    p.seeds_tracked = [t.node != NULL for t in seeds]
    return 0


cdef int assemble(Program p, Builder b, list steps, list codes, list ints) except -1:
    """C arrays, and where registers die."""
    cdef Step *step
    cdef EagerTensor t, x
    cdef int i, r
    cdef list used = [b.tensors[k] for k in range(b.n_regs)]
    last, owned = {}, {s[2] for s in steps if not s[4]}
    for i, (op, args, out, params, view, offset) in enumerate(steps):
        for r in args:
            last[r] = i
    read = set(last) | {c for c in codes if c >= 0}
    p.constants = [(r, t) for r, t in b.constants if r in read]
    p.steps = <Step *> calloc(max(1, len(steps)), sizeof(Step))
    p.inputs = <Input *> calloc(max(1, len(b.inputs)), sizeof(Input))
    if p.steps == NULL or p.inputs == NULL:
        raise MemoryError
    for node, place, r, same_as, t in b.inputs:
        if r in read:
            p.inputs[p.n_inputs].node = node
            p.inputs[p.n_inputs].place = place
            p.inputs[p.n_inputs].reg = r
            p.inputs[p.n_inputs].same_as = -1 if same_as < 0 else first_of(p, r)
            p.inputs[p.n_inputs].meta = meta_ref(t.v.meta)
            p.n_inputs += 1
    for i, (op, args, out, params, view, offset) in enumerate(steps):
        step = &p.steps[i]
        t = <EagerTensor> used[out]
        step.op = op
        step.n_in = <int> len(args)
        step.args = <int> len(ints)
        ints.extend(args)
        step.out = out
        step.view = view
        step.reuse = -1
        step.params = params_ref((<Held> params).p) if params is not None else NULL
        step.meta = meta_ref(t.v.meta)
        step.offset = offset
        dead = sorted({r for r in args if last[r] == i and r not in codes})
        if not view:
            for r in dead:
                x = <EagerTensor> used[r]
                if r in owned and elementwise(op) and x.v.meta.flags & DENSE and x.v.meta.dtype == t.v.meta.dtype \
                        and same_layout(x.v.meta, t.v.meta):
                    step.reuse = r
        step.drops = <int> len(ints)
        step.n_drops = <int> len(dead)
        ints.extend(dead)
        p.n_steps = i + 1
    p.n_regs = b.n_regs
    p.owned = <char *> calloc(max(1, b.n_regs), 1)
    if p.owned == NULL:
        raise MemoryError
    for step_ in steps:
        p.owned[<int> step_[2]] = 1
    p.n_ints = <int> len(ints)
    p.ints = <int *> calloc(max(1, len(ints)), sizeof(int))
    if p.ints == NULL:
        raise MemoryError
    for i in range(p.n_ints):
        p.ints[i] = ints[i]
    p.nbytes = (p.n_nodes * (sizeof(Expected) + 64) + p.n_steps * (sizeof(Step) + 64) + p.n_inputs * sizeof(Input)
                + p.n_ints * sizeof(int) + 1024)
    for _, t in p.constants:
        p.nbytes += t.v.buf.nbytes + 128
    return 0


cdef int first_of(Program p, int r) noexcept:
    for i in range(p.n_inputs):
        if p.inputs[i].reg == r:
            return i
    return -1


cdef bint elementwise(int op):
    """Operations whose kernels may write over an input of the same layout."""
    return op in (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG, Op.CONJ, Op.SQUARE, Op.EXP, Op.SIN, Op.COS, Op.TANH, Op.SQRT, Op.LOG,
                  Op.RECIPROCAL)
