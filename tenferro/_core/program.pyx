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

from .eager cimport EagerTensor
from .engine cimport ExecutionEngine, call_kernel
from .fusion cimport fuse
from .memory cimport *
from .node cimport HOOKED, Node, saved_values
from .spaces cimport by_value, placement
from .state cimport EagerRuntime, engine_for

from ..errors import PlacementError


cdef inline bint equal_params(const Params *a, const Params *b) noexcept:
    return a == b or (a != NULL and b != NULL and a.n == b.n and memcmp(a.v, b.v, a.n * sizeof(Py_ssize_t)) == 0)


cdef inline bint equal_meta(const Meta *a, const Meta *b) noexcept:
    return a == b or (a.dtype == b.dtype and same_layout(a, b))


cdef bint is_one(EagerTensor t) noexcept:
    cdef const Value *v = &t.v
    if v.meta.rank or t.node != NULL:
        return False
    if v.buf.space != HOST_SPACE:
        return v.buf.flags & SHARED and is_inexact(v.meta.dtype) and not is_complex(v.meta.dtype)
    return (v.meta.dtype == D_F64 and (<const double *> v.data)[0] == 1) \
        or (v.meta.dtype == D_F32 and (<const float *> v.data)[0] == 1)


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
        if self.unit and not is_one(<EagerTensor> seeds[0]):
            return False
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
            if not equal_meta(v.meta, x.meta) or v.buf.flags & DEFERRED:
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
    q.steps, q.ints, q.n_steps = p.steps, p.ints, p.n_steps
    q.nbytes = fuse(q)
    q.kernels = <kernel_t *> calloc(max(1, q.n_steps), sizeof(kernel_t))
    if q.kernels == NULL:
        raise MemoryError
    for i in range(q.n_steps):
        q.kernels[i] = q.table[q.steps[i].op]
    q.nbytes += q.n_steps * sizeof(kernel_t) + p.n_regs * sizeof(Value) + 256
    return q


cdef int place_result(Value *out, Meta *m, const Value *dying, int space) except -1:
    """Memory for a result: that of a dying value if nobody else holds it, else fresh; engines of devices make their own."""
    if space != HOST_SPACE:
        out.meta = meta_ref(m)
        return 0
    if dying != NULL and dying.buf.refs == 1:
        out.meta = meta_ref(m)
        out.buf = dying.buf
        out.buf.refs += 1
        out.data = dying.data
        return 0
    return value_alloc(out, meta_ref(m))


@cython.final
cdef class Prepared:

    def __dealloc__(self):
        cdef int i
        if self.fused != NULL:
            for i in range(self.n_steps):
                if self.fused[i].n_out:
                    params_drop(self.fused[i].params)
        free(self.kernels)
        free(self.fused)
        free(self.fused_ints)
        free(self.metas)

    cdef list run(self, Node **nodes, EagerRuntime rt, list seeds):
        """Values of the results; a tensor without a value stands for zeros, None for an inactive target."""
        cdef Program p = self.program
        cdef Value *regs = <Value *> block_alloc(max(1, p.n_regs) * sizeof(Value))
        cdef list found = []
        cdef int i, r
        cdef EagerTensor t
        cdef ExecutionEngine engine = engine_for(rt)
        if regs == NULL:
            raise MemoryError
        memset(regs, 0, p.n_regs * sizeof(Value))
        try:
            for i in range(len(seeds)):
                check_reach(&(<EagerTensor> seeds[i]).v, engine)
                regs[i] = (<EagerTensor> seeds[i]).v
            for i in range(p.n_inputs):
                if p.inputs[i].same_as < 0:
                    check_reach(saved_values(nodes[p.inputs[i].node]) + p.inputs[i].place, engine)
                    regs[p.inputs[i].reg] = (saved_values(nodes[p.inputs[i].node]) + p.inputs[i].place)[0]
            for r, t in p.constants:
                regs[r] = t.v
            self.execute(regs, engine)
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

    cdef int execute(self, Value *regs, ExecutionEngine engine) except -1:
        cdef Program p = self.program
        cdef Value few[8]
        cdef Value *args
        cdef Step *s
        cdef Value *out
        cdef Value *x
        cdef int i, k
        for i in range(self.n_steps):
            s = &self.steps[i]
            out = &regs[s.out]
            if s.view:
                x = &regs[self.ints[s.args]]
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
                try:
                    for k in range(s.n_in):
                        args[k] = regs[self.ints[s.args + k]]
                    if s.n_out:
                        self.execute_group(i, args, regs, engine)
                    else:
                        place_result(out, s.meta, &regs[s.reuse] if s.reuse >= 0 else NULL, engine.space)
                        call_kernel(self.kernels[i], engine, s.op, args, s.n_in, out, s.params)
                finally:
                    if s.n_in > 8:
                        block_free(args, s.n_in * sizeof(Value))
            for k in range(s.n_drops):
                drop_owned(p, regs, self.ints[s.drops + k])
        return 0

    cdef int execute_group(self, int i, const Value *args, Value *regs, ExecutionEngine engine) except -1:
        cdef Step *s = &self.steps[i]
        cdef Value outs[MAX_GROUP_OUT]
        cdef int k, r, dying
        for k in range(s.n_out):
            r = self.ints[s.outs + 2 * k]
            dying = self.ints[s.outs + 2 * k + 1]
            place_result(&regs[r], self.metas[r], &regs[dying] if dying >= 0 else NULL, engine.space)
            outs[k] = regs[r]
        try:
            call_kernel(self.kernels[i], engine, s.op, args, s.n_in, outs, s.params)
        finally:
            for k in range(s.n_out):
                regs[self.ints[s.outs + 2 * k]] = outs[k]
        return 0


cdef int check_reach(const Value *v, ExecutionEngine engine) except -1:
    """Values of the trace lie where this engine computes, or are numbers."""
    if v.buf.space != engine.space and not by_value(v):
        raise PlacementError(f"the engine '{engine.name}' reaches {placement(engine.space)}, and a value of the trace lies in "
                             f"{placement(v.buf.space)}; differentiate with the engine that computed it",
                             expected=placement(engine.space), actual=placement(v.buf.space))
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
