"""What the derivative program of a trace holds, for looking at."""

from .eager cimport EagerTensor, check
from .memory cimport *
from .optable cimport dtype_object, op_name
from .program cimport Prepared, Program, Step, prepare
from .reuse cimport program_of
from .state cimport EagerRuntime, engine_for, install

from ..errors import ContextMismatchError, NonScalarGradError, ValidationError


cdef Py_ssize_t touched(const Meta *m) noexcept:
    """Bytes that a pass over a value reads: what is repeated counts once."""
    cdef int i
    cdef Py_ssize_t n = m.itemsize
    for i in range(m.rank):
        if m.dims[m.rank + i] != 0 or m.dims[i] == 0:
            n *= m.dims[i]
    return n


cdef dict metas_of(Prepared q):
    """Register -> address of its metadata."""
    cdef Program p = q.program
    cdef EagerTensor t
    cdef dict found = {}
    for i in range(len(p.seeds)):
        found[i] = <size_t> (<EagerTensor> p.seeds[i]).v.meta
    for r, t in p.constants:
        found[r] = <size_t> t.v.meta
    for i in range(p.n_inputs):
        found[p.inputs[i].reg] = <size_t> p.inputs[i].meta
    for i in range(p.n_steps):
        found[p.steps[i].out] = <size_t> p.steps[i].meta
    return found


cdef tuple names_of(Step *s):
    if not s.n_out:
        return (op_name(s.op),)
    cdef Py_ssize_t end = 3 + 7 * s.params.v[0]
    cdef list names = [op_name(<int> s.params.v[k]) for k in range(3, end, 7)]
    if s.params.n > end:                # sums
        names += [op_name(<int> s.params.v[end + 1 + 3 * k]) for k in range(s.params.v[end])]
    return tuple(names)


cdef list results_of(Prepared q, Step *s):
    return [q.ints[s.outs + 2 * k] for k in range(s.n_out)] if s.n_out else [s.out]


cdef object instruction(Prepared q, Step *s, dict metas):
    from .._explanation import Instruction
    cdef Meta *m = s.meta
    cdef Py_ssize_t read = 0, written = 0
    if not s.view:
        for r in dict.fromkeys([q.ints[s.args + k] for k in range(s.n_in)]):
            read += touched(<Meta *> <size_t> metas[r])
        for r in results_of(q, s):
            written += touched(<Meta *> <size_t> metas[r])
    return Instruction("fused" if s.n_out else "view" if s.view else "kernel", names_of(s),
                       tuple([m.dims[k] for k in range(m.rank)]), dtype_object(m.dtype).name, read, written)


cdef tuple buffers(Prepared q, dict metas):
    """Number of values that get memory, and the most bytes that they hold at a time (a reused one counts once)."""
    cdef Step *s
    cdef Py_ssize_t now = 0, most = 0
    cdef int i, k, count = 0
    holds = {}
    for i in range(q.n_steps):
        s = &q.steps[i]
        if s.view:
            continue
        taken = {q.ints[s.outs + 2 * k + 1] for k in range(s.n_out)} if s.n_out else {s.reuse}
        for r in results_of(q, s):
            holds[r] = (<Meta *> <size_t> metas[r]).size * (<Meta *> <size_t> metas[r]).itemsize
            now += holds[r]
            count += 1
        for r in taken:
            now -= holds.pop(r, 0)
        most = max(most, now)
        for k in range(s.n_drops):
            now -= holds.pop(q.ints[s.drops + k], 0)
    return count, most


def explain(EagerRuntime self, EagerTensor output not None):
    """What the program of a scalar's derivative holds: instructions, fused groups, bytes moved, buffers.

    It is the program that `EagerTensor.backward` runs on the current engine when the structure returns, and at once where
    values are large. Nothing is computed or kept for it.

    Parameters
    ----------
    output : EagerTensor
        A tracked scalar.

    Returns
    -------
    Explanation
        Its text is a table; the fields are those of the table.

    Raises
    ------
    NonScalarGradError
        Not a scalar.
    ContextMismatchError
        The tensor belongs to another runtime.
    ValidationError
        An untracked tensor, or a structure for which no program is kept: one with custom operations, linear algebra or Fourier
        transforms, hooks, or more than 100,000 nodes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable([1.0, 2.0])
    >>> explanation = x.runtime.explain(tfr.sum(tfr.exp(-x * x)))
    >>> type(explanation).__name__
    'Explanation'
    """
    from .._explanation import Explanation
    cdef Program p
    cdef Prepared q
    check(output)
    if output.rt is not self:
        raise ContextMismatchError("explain: the tensor belongs to another runtime; call explain of its runtime", lhs=self.id,
                                   rhs=output.rt.id)
    if output.v.meta.rank:
        raise NonScalarGradError(f"explain: the output has shape {output.shape}; sum it first", shape=output.shape)
    if output.node == NULL:
        raise ValidationError("explain: the tensor is not tracked; compute it from a variable", op="explain", argument="output")
    p = program_of(self, output)
    if p is None:
        raise ValidationError("explain: no program is kept for this structure; custom operations, hooks, and more than 100,000 "
                              "nodes are swept directly", op="explain", argument="output")
    q = prepare(p, engine_for(self))
    metas = metas_of(q)
    count, most = buffers(q, metas)
    return Explanation(p.n_nodes, tuple([instruction(q, &q.steps[i], metas) for i in range(q.n_steps)]),
                       sum([p.inputs[i].same_as < 0 for i in range(p.n_inputs)]),
                       sum([touched(p.inputs[i].meta) for i in range(p.n_inputs) if p.inputs[i].same_as < 0]),
                       len(p.results), count, most)


install(EagerRuntime, "explain", explain)
