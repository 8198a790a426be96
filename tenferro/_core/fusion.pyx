"""Groups of elementwise steps that an engine computes in one pass, block by block in the cache.

The steps of a program are put in another order: those of equal shape that can be neighbours form a group, what does not depend
on the group comes before it and what does comes after. Only values that somebody else reads leave the pass; all others live in
a few blocks ("slots") that are reused when their value is dead. What a group does is told to the engine as the parameters of
the operation FUSED: ``[steps, slots, results, then per step: operation, dtype, number of arguments, three argument registers,
result register]``, where registers are numbered inputs first, then results, then slots.

A group may end in sums of its values along the same axes. An operand of theirs that nobody else reads is made tile by tile: the
registers of tiles come before those of slots. Then follows ``[sums, then per sum: operation, operand register, keepdims; axes,
tiles, and of what is summed: dtype, rank, shape, strides]``; the sums come after the other results, and have no registers.
"""

from libc.stdlib cimport calloc

from .eager cimport EagerTensor
from .engine cimport missing
from .memory cimport *
from .optable cimport Op
from .program cimport MAX_GROUP_IN, MAX_GROUP_OUT, Program, Step

cdef enum:
    SMALLEST = 1024             # elements that pay for a pass
    SUMMED = 8192               # elements whose sum pays for its place in one
    SHORTEST = 64               # elements along the inner axis
    LONGEST = 60                # steps
    MAX_SLOTS = 16
    MAX_SUMS = 8


cdef class Schedule:
    """Order of the steps: integers are single steps, lists are groups."""
    cdef Prepared q
    cdef list order, group, sums, later
    cdef set made, tainted, read
    cdef Meta *meta             # of the group's results

    cdef bint fusable(self, int i):
        """Whether the engine can compute a step in a pass."""
        cdef Step *s = &self.q.program.steps[i]
        cdef int k
        if (s.view or s.params != NULL or s.n_in > 3 or s.meta.size < SMALLEST or not s.meta.flags & DENSE
                or self.q.table[s.op] != self.q.table[<int> Op.ELEMENTWISE]):
            return False
        for k in range(s.n_in):
            if not streams(self.q.metas[self.q.program.ints[s.args + k]], s.meta):
                return False
        return True

    cdef bint summable(self, int i):
        """Whether a step is a sum of what the open group makes or reads, along the axes of its other sums."""
        cdef Step *s = &self.q.program.steps[i]
        cdef Step *t
        cdef Meta *x
        cdef int r
        if not is_sum(s.op) or self.q.table[s.op] != self.q.table[<int> Op.SUMS] or self.q.table[s.op] == missing:
            return False
        r = self.q.program.ints[s.args]
        x = self.q.metas[r]
        if (r not in self.made and r not in self.read) or not same_order(x, self.meta) or x.size < SUMMED \
                or not is_inexact(x.dtype) or s.meta.dtype != x.dtype or not folds(x, s.meta, s.params) \
                or len(self.sums) == MAX_SUMS:
            return False
        if not self.sums:
            return True
        t = &self.q.program.steps[<int> self.sums[0]]
        if t.meta.dtype == s.meta.dtype and t.params.v[0] == s.params.v[0]:
            return True
        if r not in self.made or any([self.q.program.ints[self.q.program.steps[<int> k].args] in self.made for k in self.sums]):
            return False
        self.order.extend(self.sums)    # sums of what is only read give way to those of what is made
        self.sums.clear()
        return True

    cdef list sunk(self):
        """The steps in an order in which those that can be fused stand just before their first reader, to join its group, and
        sums of what cannot be fused just after another reader of it."""
        cdef Program p = self.q.program
        cdef int i, k
        cdef dict first = {}            # register -> place of its first reader
        cdef list places = []
        cdef set fused = {p.steps[i].out for i in range(p.n_steps) if self.fusable(i)}
        for i in range(p.n_steps - 1, -1, -1):
            place = i
            if p.steps[i].out in fused:
                place = first.get(p.steps[i].out, i)
            elif is_sum(p.steps[i].op) and p.ints[p.steps[i].args] not in fused:
                other = first.get(p.ints[p.steps[i].args], i)
                if other < first.get(p.steps[i].out, p.n_steps):
                    place = other + 0.5
            places.append((place, i))
            for k in range(p.steps[i].n_in):
                r = p.ints[p.steps[i].args + k]
                first[r] = min(place, first.get(r, place))
        return [i for _, i in sorted(places)]

    cdef bint joins(self, int i):
        """Whether a fusable step can be part of the open group."""
        cdef Step *s = &self.q.program.steps[i]
        cdef int k, r
        cdef bint related = False
        cdef set inputs = set(self.read)
        if not same_order(s.meta, self.meta) or len(self.group) == LONGEST:
            return False
        for k in range(s.n_in):
            r = self.q.program.ints[s.args + k]
            if r in self.tainted:
                return False
            if r not in self.made:
                inputs.add(r)
            else:
                related = True
        if len(inputs) > MAX_GROUP_IN or ((self.later or self.sums) and not related):
            return False
        self.read = inputs
        return True

    cdef int take(self, int i) except -1:
        """Next step of the program."""
        cdef Step *s = &self.q.program.steps[i]
        cdef int k, r
        cdef bint after = False
        if self.fusable(i):
            if self.group and not self.joins(i):
                self.close()
            if not self.group:
                self.meta = s.meta
                self.read = set()
                self.joins(i)
            self.group.append(i)
            self.made.add(s.out)
            return 0
        if self.group and self.summable(i):
            self.sums.append(i)
            self.tainted.add(s.out)
            return 0
        for k in range(s.n_in):
            r = self.q.program.ints[s.args + k]
            after = after or r in self.made or r in self.tainted
        if after:
            self.later.append(i)
            self.tainted.add(s.out)
        else:
            self.order.append(i)
        return 0

    cdef int close(self) except -1:
        if len(self.group) + len(self.sums) > 1:
            self.order.append(self.group + self.sums)
        else:
            self.order.extend(self.group)
        self.order.extend(self.later)
        self.open()
        return 0

    cdef int open(self) except -1:
        self.group, self.sums, self.later, self.made, self.tainted, self.read = [], [], [], set(), set(), set()
        return 0


cdef inline bint is_sum(int op) noexcept:
    return op == Op.REDUCE_SUM or op == Op.REDUCE_MEAN


cdef bint folds(const Meta *x, const Meta *out, const Params *p) noexcept:
    """Whether a sum adds anything, and its results lie in the order of the axes that stay."""
    cdef Py_ssize_t size = out.itemsize
    cdef int axes[64]
    cdef int i, j, n = 0, to = 0
    for i in range(x.rank):
        if (p.v[0] >> i) & 1:
            to += p.v[1] != 0
            continue
        if x.dims[i] > 1:
            j = n
            while j > 0 and x.dims[x.rank + axes[j - 1] % 64] > x.dims[x.rank + i]:
                axes[j] = axes[j - 1]
                j -= 1
            axes[j] = i + 64 * to
            n += 1
        to += 1
    for j in range(n):                  # fastest first
        if out.dims[out.rank + axes[j] // 64] != size:
            return False
        size *= x.dims[axes[j] % 64]
    return out.size < x.size


cdef Py_ssize_t stride_along(const Meta *x, const Meta *out, int axis) noexcept:
    """Stride of an operand along an axis of the result, in elements; 0 where it is repeated."""
    cdef int k = axis - (out.rank - x.rank)
    return 0 if k < 0 or x.dims[k] == 1 else x.dims[x.rank + k] // x.itemsize


cdef bint streams(const Meta *x, const Meta *out) noexcept:
    """Whether an operand can be read along with the result: repeated or in steps of one element over a long inner axis."""
    cdef int axes[64]
    cdef int i, j, n = 0
    cdef Py_ssize_t inner, step, length
    if x.rank > out.rank:
        return False
    if x.size == 1 or same_order(x, out):
        return True
    for i in range(out.rank):           # axes in the order of the result's strides, fastest first
        if out.dims[i] == 1:
            continue
        j = n
        while j > 0 and out.dims[out.rank + axes[j - 1]] > out.dims[out.rank + i]:
            axes[j] = axes[j - 1]
            j -= 1
        axes[j] = i
        n += 1
    inner = stride_along(x, out, axes[0])
    length = out.dims[axes[0]]
    if inner != 0 and inner != 1:
        return False
    for i in range(n):
        step = stride_along(x, out, axes[i])
        if step < 0:
            return False
        if 0 < i and step == inner * length and length < SHORTEST:
            length *= out.dims[axes[i]]
        elif 0 < i and length < SHORTEST:
            return False
    return length >= SHORTEST


cdef int describe_registers(Prepared q) except -1:
    """Metadata of all registers."""
    cdef Program p = q.program
    cdef int i, r
    cdef EagerTensor t
    q.metas = <Meta **> calloc(max(1, p.n_regs), sizeof(Meta *))
    if q.metas == NULL:
        raise MemoryError
    for i in range(len(p.seeds)):
        q.metas[i] = (<EagerTensor> p.seeds[i]).v.meta
    for r, t in p.constants:
        q.metas[r] = t.v.meta
    for i in range(p.n_inputs):
        q.metas[p.inputs[i].reg] = p.inputs[i].meta
    for i in range(p.n_steps):
        q.metas[p.steps[i].out] = p.steps[i].meta
    return 0


cdef bint worth_it(Prepared q) noexcept:
    """Whether two steps at all could be in one group."""
    cdef Program p = q.program
    cdef int i, n = 0
    for i in range(p.n_steps):
        n += is_sum(p.steps[i].op) or (p.steps[i].meta.size >= SMALLEST and not p.steps[i].view)
    return n > 1 and q.table[<int> Op.FUSED] != missing


cdef Py_ssize_t fuse(Prepared q) except -1:
    cdef Schedule schedule = Schedule()
    cdef int i
    if not worth_it(q):
        return 0
    describe_registers(q)
    schedule.q = q
    schedule.order = []
    schedule.open()
    for i in schedule.sunk():
        schedule.take(i)
    schedule.close()
    if not any([type(x) is list for x in schedule.order]):
        return 0
    return assemble(q, schedule.order)


include "groups.pxi"
