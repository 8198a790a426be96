"""Groups of elementwise steps that an engine computes in one pass, block by block in the cache.

The steps of a program are put in another order: those of equal shape that can be neighbours form a group, what does not depend
on the group comes before it and what does comes after. Only values that somebody else reads leave the pass; all others live in
a few blocks ("slots") that are reused when their value is dead. What a group does is told to the engine as the parameters of
the operation FUSED: ``[steps, slots, results, then per step: operation, dtype, number of arguments, three argument registers,
result register]``, where registers are numbered inputs first, then results, then slots.
"""

from libc.stdlib cimport calloc

from .eager cimport EagerTensor
from .engine cimport missing
from .memory cimport *
from .optable cimport Op
from .program cimport MAX_GROUP_IN, MAX_GROUP_OUT, Program, Step

cdef enum:
    SMALLEST = 1024             # elements that pay for a pass
    SHORTEST = 64               # elements along the inner axis
    LONGEST = 60                # steps
    MAX_SLOTS = 16


cdef class Schedule:
    """Order of the steps: integers are single steps, lists are groups."""
    cdef Prepared q
    cdef list order, group, later
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

    cdef list sunk(self):
        """The steps in an order in which those that can be fused stand just before their first reader, to join its group."""
        cdef Program p = self.q.program
        cdef int i, k
        cdef dict first = {}            # register -> place of its first reader
        cdef list places = []
        for i in range(p.n_steps - 1, -1, -1):
            place = first.get(p.steps[i].out, i) if self.fusable(i) else i
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
        if len(inputs) > MAX_GROUP_IN or (self.later and not related):
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
        if len(self.group) > 1:
            self.order.append(self.group)
        else:
            self.order.extend(self.group)
        self.order.extend(self.later)
        self.group, self.later, self.made, self.tainted, self.read = [], [], set(), set(), set()
        return 0


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
        n += p.steps[i].meta.size >= SMALLEST and not p.steps[i].view
    return n > 1 and q.table[<int> Op.FUSED] != missing


cdef Py_ssize_t fuse(Prepared q) except -1:
    cdef Schedule schedule = Schedule()
    cdef int i
    if not worth_it(q):
        return 0
    describe_registers(q)
    schedule.q = q
    schedule.order = []
    schedule.group, schedule.later, schedule.made, schedule.tainted, schedule.read = [], [], set(), set(), set()
    for i in schedule.sunk():
        schedule.take(i)
    schedule.close()
    if not any([type(x) is list for x in schedule.order]):
        return 0
    return assemble(q, schedule.order)


# ---- the new steps -----------------------------------------------------------------------------------------------------

cdef list arguments(Program p, int i):
    return [p.ints[p.steps[i].args + k] for k in range(p.steps[i].n_in)]


cdef class Group:
    """One group: its inputs, its results, and what the engine is told."""
    cdef Prepared q
    cdef list members, inputs, results, code
    cdef dict reads             # register -> place of the last member that reads it
    cdef dict writes            # register -> place of the member that makes it
    cdef dict numbers           # register -> its number for the engine, if it is an input or a result
    cdef dict slot_of           # register -> its slot, if it is neither
    cdef list spare             # slots whose values are dead
    cdef int slots

    cdef int find_borders(self, int here, dict last, set codes) except -1:
        cdef Program p = self.q.program
        cdef int i, r
        self.reads, self.writes = {}, {}
        for place, i in enumerate(self.members):
            for r in arguments(p, i):
                self.reads[r] = place
            self.writes[p.steps[i].out] = place
        self.inputs = [r for r in self.reads if r not in self.writes]
        self.results = [r for r in self.writes if r in codes or last.get(r, -1) > here]
        self.numbers = {r: k for k, r in enumerate(self.inputs + self.results)}
        return 0

    cdef int encode(self) except -1:
        cdef Program p = self.q.program
        cdef int i, r
        self.slot_of, self.spare, self.slots, self.code = {}, [], 0, []
        for place, i in enumerate(self.members):
            args = arguments(p, i)
            names = [self.name(r) for r in args]
            # a slot may be written while it is read if its elements are of one size
            dead = [r for r in dict.fromkeys(args) if r in self.slot_of and self.reads[r] == place]
            same = [r for r in dead if self.q.metas[r].itemsize == p.steps[i].meta.itemsize]
            self.spare.extend([self.slot_of[r] for r in same])
            self.give_slot(p.steps[i].out)
            self.spare.extend([self.slot_of[r] for r in dead if r not in same])
            r = args[len(args) - 1]
            self.code += [p.steps[i].op, self.q.metas[r].dtype, len(args), *names, *[0] * (3 - len(args)),
                          self.name(p.steps[i].out)]
        self.code = [len(self.members), self.slots, len(self.results), *self.code]
        return 0

    cdef int give_slot(self, int r) except -1:
        if r in self.numbers:
            return 0
        if self.spare:
            self.slot_of[r] = self.spare.pop()
        else:
            self.slot_of[r] = self.slots
            self.slots += 1
        return 0

    cdef int name(self, int r) except -1:
        return self.numbers[r] if r in self.numbers else len(self.numbers) + self.slot_of[r]


cdef Group group_of(Prepared q, list members, int here, dict last, set codes):
    """A group, or None if it has more results or needs more slots than an engine takes."""
    cdef Group g = Group()
    g.q, g.members = q, members
    g.find_borders(here, last, codes)
    g.encode()
    return g if len(g.results) <= MAX_GROUP_OUT and g.slots <= MAX_SLOTS else None


cdef dict last_reads(Program p, list order):
    """Register -> last place in an order that reads it."""
    last = {}
    for place, x in enumerate(order):
        for i in (x if type(x) is list else [x]):
            for r in arguments(p, i):
                last[r] = place
    return last


cdef list flattened(Prepared q, list order, set codes):
    """The order without groups that an engine does not take."""
    found = []
    last = last_reads(q.program, order)
    for place, x in enumerate(order):
        if type(x) is list and group_of(q, x, place, last, codes) is None:
            found.extend(x)
        else:
            found.append(x)
    return found


cdef Py_ssize_t assemble(Prepared q, list order) except -1:
    cdef Program p = q.program
    cdef set codes = {c for c in p.results if c >= 0}
    cdef list ints = []
    cdef int place
    cdef dict last
    order = flattened(q, order, codes)
    last = last_reads(p, order)
    q.fused = <Step *> calloc(len(order), sizeof(Step))
    if q.fused == NULL:
        raise MemoryError
    for place, x in enumerate(order):
        dead = [r for r in dict.fromkeys(reads_of(p, x)) if last[r] == place and r not in codes]
        if type(x) is list:
            fill_group(&q.fused[place], group_of(q, x, place, last, codes), dead, ints)
        else:
            fill_step(&q.fused[place], p, <int> x, dead, ints)
        q.fused[place].drops = <int> len(ints)
        q.fused[place].n_drops = <int> len(dead)
        ints.extend(dead)
        q.n_steps = place + 1
    q.fused_ints = <int *> calloc(max(1, len(ints)), sizeof(int))
    if q.fused_ints == NULL:
        raise MemoryError
    for place in range(len(ints)):
        q.fused_ints[place] = ints[place]
    q.steps, q.ints = q.fused, q.fused_ints
    return len(order) * sizeof(Step) + len(ints) * sizeof(int)


cdef list reads_of(Program p, object x):
    return [r for i in x for r in arguments(p, i)] if type(x) is list else arguments(p, x)


cdef int fill_step(Step *s, Program p, int i, list dead, list ints) except -1:
    s[0] = p.steps[i]
    s.args = <int> len(ints)
    ints.extend(arguments(p, i))
    if s.reuse >= 0 and s.reuse not in dead:
        s.reuse = -1
    return 0


cdef int fill_group(Step *s, Group g, list dead, list ints) except -1:
    cdef Program p = g.q.program
    cdef int r
    cdef Py_ssize_t k
    s.op = Op.FUSED
    s.reuse = -1
    s.meta = p.steps[<int> g.members[0]].meta
    s.n_in = <int> len(g.inputs)
    s.args = <int> len(ints)
    ints.extend(g.inputs)
    s.n_out = <int> len(g.results)
    s.outs = <int> len(ints)
    s.out = g.results[0]
    free_inputs = [r for r in dead if r in g.inputs and p.owned[<int> r]]
    for r in g.results:
        dying = next((x for x in free_inputs if may_overwrite(g, x, r)), -1)
        if dying >= 0:
            free_inputs.remove(dying)
        ints += [r, dying]
    s.params = params_new(len(g.code))
    for k in range(len(g.code)):
        s.params.v[k] = g.code[k]
    return 0


cdef bint may_overwrite(Group g, int x, int r):
    """Whether a result may be written over a dying input: of the same layout, and read for the last time when it is made."""
    cdef Meta *a = g.q.metas[x]
    cdef Meta *b = g.q.metas[r]
    return a.flags & DENSE and a.dtype == b.dtype and same_layout(a, b) and g.reads[x] <= g.writes[r]
