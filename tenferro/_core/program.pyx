"""Derivatives as straight-line programs.

A program is made from one sweep: a `Tracer` sees which operations the rules run on which values, and `build` makes registers of
the values. Nothing of a rule is needed to run it again. It holds sizes and lifetimes but no data, except constants that a rule
made up, so it is re-entrant. Which values it reads is described by places in the trace: `fits` compares a trace node by node
(operations, parameters, edges, dtypes, layouts, and which saved values share memory) and finds the nodes at those places.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memset

from .eager cimport EagerTensor, Watcher, unwatch, watch
from .engine cimport ExecutionEngine
from .memory cimport *
from .node cimport HOOKED, Node, saved_value, saved_values
from .optable cimport Op
from .state cimport EagerRuntime, engine_for
from .sweep cimport Sweep

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident() nogil

cdef enum:
    NONE = -1                   # the target is inactive
    ZEROS = -2                  # no cotangent arrives
    CUT = -2                    # an input that was not visited


# ---- watching one sweep ------------------------------------------------------------------------------------------------

cdef class Held:
    """A reference to parameters."""
    cdef Params *p

    def __dealloc__(self):
        params_drop(self.p)


cdef EagerTensor hold(const Value *v):
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    value_copy(&t.v, v)
    return t


cdef class Tracer(Watcher):
    """Log of the operations that run on one thread, with their values."""

    def __cinit__(self):
        self.thread = PyThread_get_thread_ident()
        self.log = []
        self.copies = {}
        watch(self)

    cdef int end(self) except -1:
        unwatch(self)
        return 0

    cdef int after(self, int op, EagerRuntime rt, int n, const Value *ins, const Value *out, const Params *p,
                   bint view) except -1:
        cdef Held h = None
        cdef list xs
        if PyThread_get_thread_ident() != self.thread:
            return 0
        if p != NULL:
            h = Held()
            h.p = params_ref(<Params *> p)
        xs = [hold(&ins[i]) for i in range(n)]
        self.log.append((op, xs, hold(out), h, view))
        return 0


# ---- building ----------------------------------------------------------------------------------------------------------

cdef object key_of(const Value *v):
    """Values with equal keys are the same tensor while all of them are held."""
    return (<size_t> v.buf, <size_t> v.data, v.meta.dtype,
            tuple([v.meta.dims[i] for i in range(2 * v.meta.rank)]))


cdef class Builder:
    cdef dict regs              # key -> register
    cdef dict saved             # key -> places (node, place in it) of saved values
    cdef dict tensors           # register -> tensor that describes it
    cdef list constants
    cdef list inputs            # (node, place, register, same_as, tensor)
    cdef int n_regs

    cdef int new(self, object key, EagerTensor t) except -1:
        self.regs[key] = self.n_regs
        self.tensors[self.n_regs] = t
        self.n_regs += 1
        return self.n_regs - 1

    cdef int reg(self, EagerTensor t) except -1:
        """Register of a value that a step reads."""
        key = key_of(&t.v)
        r = self.regs.get(key)
        if r is not None:
            return r
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
            if v.buf != NULL and not v.buf.flags & SHARED:
                b.saved.setdefault(key_of(v), []).append((i, place))
            place += 1
    return 0


cdef Program build(Sweep s, list outputs, list targets, list seeds, list results, Tracer tracer, bint bounded):
    """The program of a finished sweep, whose visited nodes are sorted."""
    cdef Builder b = Builder()
    cdef Program p = Program()
    cdef EagerTensor t, out
    cdef list steps = [], ints = []
    cdef int r
    b.regs, b.saved, b.tensors, b.constants, b.inputs = {}, {}, {}, [], []
    find_saved(s, b, tracer)
    for t in seeds:
        if key_of(&t.v) in b.regs or key_of(&t.v) in b.saved:
            return None
        b.new(key_of(&t.v), t)
    for op, xs, out, params, view in tracer.log:
        args = [b.reg(t) for t in xs]
        key = key_of(&out.v)
        if key in b.regs:
            if not view:
                return None
            continue
        r = b.new(key, out)
        steps.append([op, args, r, params, view])
    codes = []
    for t in results:
        if t is None:
            codes.append(NONE)
        elif key_of(&t.v) in b.regs or key_of(&t.v) in b.saved:
            codes.append(b.reg(t))
        else:
            codes.append(ZEROS)
    describe(p, s, outputs, targets, seeds, ints, bounded)
    p.results = codes
    p.tracked = [t is not None and t.node != NULL for t in results]
    assemble(p, b, live_steps(steps, codes), codes, ints)
    return p


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
    p.seeds = [hold_layout(t) for t in seeds]
    p.seeds_tracked = [t.node != NULL for t in seeds]
    return 0


cdef EagerTensor hold_layout(EagerTensor t):
    """A tensor that keeps the metadata only."""
    cdef EagerTensor u = EagerTensor.__new__(EagerTensor)
    u.v.meta = meta_ref(t.v.meta)
    return u


cdef int assemble(Program p, Builder b, list steps, list codes, list ints) except -1:
    """C arrays, and where registers die."""
    cdef Step *step
    cdef EagerTensor t, x
    cdef int i, r
    cdef list used = [b.tensors[k] for k in range(b.n_regs)]
    last, owned = {}, {s[2] for s in steps if not s[4]}
    for i, (op, args, out, params, view) in enumerate(steps):
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
    for i, (op, args, out, params, view) in enumerate(steps):
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
        if view:
            x = <EagerTensor> used[args[0]]
            step.offset = t.v.data - x.v.data
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


# ---- running -----------------------------------------------------------------------------------------------------------

cdef inline bint equal_params(const Params *a, const Params *b) noexcept:
    return a == b or (a != NULL and b != NULL and a.n == b.n and memcmp(a.v, b.v, a.n * sizeof(Py_ssize_t)) == 0)


cdef inline bint equal_meta(const Meta *a, const Meta *b) noexcept:
    return a == b or (a.dtype == b.dtype and same_layout(a, b))


@cython.final
cdef class Program:

    def __dealloc__(self):
        cdef int i
        for i in range(self.n_nodes):
            params_drop(self.nodes[i].params)
            meta_drop(self.nodes[i].meta)
        for i in range(self.n_inputs):
            meta_drop(self.inputs[i].meta)
        for i in range(self.n_steps):
            params_drop(self.steps[i].params)
            meta_drop(self.steps[i].meta)
        free(self.nodes)
        free(self.inputs)
        free(self.steps)
        free(self.ints)
        free(self.owned)

    cdef bint fits(self, Node **nodes, unsigned int mark, list outputs, list targets, list seeds):
        """Whether a trace has this structure; `nodes` receives its nodes. `mark` is fresh and marks what was found."""
        cdef Py_ssize_t i
        cdef int k, place
        cdef Node *n
        cdef Node *p
        cdef Expected *e
        cdef EagerTensor t
        cdef Value *v
        cdef Value *w
        cdef Input *x
        cdef unsigned long long oldest = 0
        if len(outputs) != len(self.roots) or len(targets) != len(self.targets) or len(seeds) != len(self.seeds):
            return False
        for i in range(len(seeds)):
            t = <EagerTensor> seeds[i]
            if not equal_meta(t.v.meta, (<EagerTensor> self.seeds[i]).v.meta) or (t.node != NULL) != self.seeds_tracked[i]:
                return False
        if self.bounded:
            oldest = ~<unsigned long long> 0
            for t in targets:
                if t.node != NULL and t.node.seq < oldest:
                    oldest = t.node.seq
        memset(nodes, 0, self.n_nodes * sizeof(Node *))
        for i in range(len(outputs)):
            t = <EagerTensor> outputs[i]
            place = self.roots[i]
            if place < 0:
                if t.node != NULL and t.node.seq >= oldest:
                    return False
                continue
            if t.node == NULL or not settle(nodes, place, t.node, mark):
                return False
        for i in range(self.n_nodes):
            n = nodes[i]
            e = &self.nodes[i]
            if n == NULL or n.flags & HOOKED or n.op != e.op or n.n_in != e.n_in or n.saved != e.saved or n.flags != e.flags \
                    or not equal_meta(n.meta, e.meta) or not equal_params(n.params, e.params):
                return False
            for k in range(e.n_in):
                place = self.ints[e.children + k]
                p = n.ins[k]
                if place >= 0:
                    if p == NULL or not settle(nodes, place, p, mark):
                        return False
                elif place == -1:
                    if p != NULL:
                        return False
                elif p == NULL or (self.bounded and p.seq >= oldest):
                    return False
        for i in range(len(targets)):
            t = <EagerTensor> targets[i]
            place = self.targets[i]
            if place >= 0:
                if t.node != nodes[place]:
                    return False
            elif t.node != NULL and t.node.sweep == mark:
                return False
        for i in range(self.n_inputs):
            x = &self.inputs[i]
            v = saved_values(nodes[x.node]) + x.place
            if not equal_meta(v.meta, x.meta):
                return False
            if x.same_as >= 0:
                w = saved_values(nodes[self.inputs[x.same_as].node]) + self.inputs[x.same_as].place
                if v.buf != w.buf or v.data != w.data:
                    return False
        return True


cdef inline void drop_owned(Program p, Value *regs, int r) noexcept:
    """Release a register that a step has filled; the others are borrowed."""
    if p.owned[r] and regs[r].meta != NULL:
        value_drop(&regs[r])


cdef Prepared prepare(Program p, object engine):
    cdef Prepared q = Prepared.__new__(Prepared)
    cdef int i
    q.program = p
    q.table = (<ExecutionEngine> engine).kernels
    q.kernels = <kernel_t *> calloc(max(1, p.n_steps), sizeof(kernel_t))
    if q.kernels == NULL:
        raise MemoryError
    for i in range(p.n_steps):
        q.kernels[i] = q.table[p.steps[i].op]
    q.nbytes = p.n_steps * sizeof(kernel_t) + p.n_regs * sizeof(Value) + 256
    return q


@cython.final
cdef class Prepared:

    def __dealloc__(self):
        free(self.kernels)

    cdef list run(self, Node **nodes, EagerRuntime rt, list seeds):
        """Values of the results; a tensor without a value stands for zeros, None for an inactive target."""
        cdef Program p = self.program
        cdef Value *regs = <Value *> block_alloc(max(1, p.n_regs) * sizeof(Value))
        cdef list found = []
        cdef int i, r
        cdef EagerTensor t
        if regs == NULL:
            raise MemoryError
        memset(regs, 0, p.n_regs * sizeof(Value))
        try:
            for i in range(len(seeds)):
                regs[i] = (<EagerTensor> seeds[i]).v
            for i in range(p.n_inputs):
                if p.inputs[i].same_as < 0:
                    regs[p.inputs[i].reg] = (saved_values(nodes[p.inputs[i].node]) + p.inputs[i].place)[0]
            for r, t in p.constants:
                regs[r] = t.v
            self.execute(regs, engine_for(rt))
            for code in p.results:
                r = code
                if r == NONE:
                    found.append(None)
                    continue
                t = EagerTensor.__new__(EagerTensor)
                t.rt = rt
                if r >= 0:
                    value_copy(&t.v, &regs[r])
                found.append(t)
        finally:
            for i in range(p.n_steps):
                drop_owned(p, regs, p.steps[i].out)
            block_free(regs, max(1, p.n_regs) * sizeof(Value))
        return found

    cdef int execute(self, Value *regs, object engine) except -1:
        cdef Program p = self.program
        cdef Value few[8]
        cdef Value *args
        cdef Step *s
        cdef Value *out
        cdef Value *x
        cdef int i, k
        for i in range(p.n_steps):
            s = &p.steps[i]
            out = &regs[s.out]
            if s.view:
                x = &regs[p.ints[s.args]]
                out.meta = meta_ref(s.meta)
                out.buf = x.buf
                out.buf.refs += 1
                out.data = x.data + s.offset
            else:
                if i & 31 == 31 or s.meta.size > 4096:
                    PyErr_CheckSignals()
                args = &few[0]
                if s.n_in > 8:
                    args = many(s.n_in)
                for k in range(s.n_in):
                    args[k] = regs[p.ints[s.args + k]]
                if s.reuse >= 0 and regs[s.reuse].buf.refs == 1:
                    out.meta = meta_ref(s.meta)
                    out.buf = regs[s.reuse].buf
                    out.buf.refs += 1
                    out.data = regs[s.reuse].data
                else:
                    value_alloc(out, meta_ref(s.meta))
                try:
                    self.kernels[i](<PyObject *> engine, s.op, args, s.n_in, out, s.params)
                finally:
                    if s.n_in > 8:
                        block_free(args, s.n_in * sizeof(Value))
            for k in range(s.n_drops):
                drop_owned(p, regs, p.ints[s.drops + k])
        return 0


cdef Value *many(int n) except NULL:
    cdef Value *v = <Value *> block_alloc(n * sizeof(Value))
    if v == NULL:
        raise MemoryError
    return v


cdef inline bint settle(Node **nodes, int place, Node *p, unsigned int mark) noexcept:
    """Put a node at its place; False when that, or the node, is taken."""
    if nodes[place] == NULL:
        if p.sweep == mark:
            return False
        p.sweep = mark
        p.slot = <unsigned int> place
        nodes[place] = p
        return True
    return nodes[place] == p
