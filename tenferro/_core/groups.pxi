# Groups of steps, and the steps that they become.
# Part of fusion.pyx: one compilation unit.

cdef list arguments(Program p, int i):
    return [p.ints[p.steps[i].args + k] for k in range(p.steps[i].n_in)]


cdef class Group:
    """One group: its inputs, its results, and what the engine is told."""
    cdef Prepared q
    cdef list members, inputs, results, code
    cdef list sums              # the last of the members
    cdef list tiles             # registers of operands of sums that nobody else reads
    cdef dict reads             # register -> place of the last member that reads it
    cdef dict writes            # register -> place of the member that makes it
    cdef dict numbers           # register -> its number for the engine, if it is an input, a result, or in a tile
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
        self.sums = [i for i in self.members if is_sum(p.steps[<int> i].op)]
        sums = [p.steps[<int> i].out for i in self.sums]
        self.inputs = [r for r in self.reads if r not in self.writes]
        self.results = [r for r in self.writes if r not in sums and (r in codes or last.get(r, -1) > here)]
        self.numbers = {r: k for k, r in enumerate(self.inputs + self.results)}
        self.tiles = [r for r in dict.fromkeys([arguments(p, i)[0] for i in self.sums]) if r not in self.numbers]
        self.numbers.update({r: len(self.numbers) + k for k, r in enumerate(self.tiles)})
        self.results += sums
        return 0

    cdef int encode(self) except -1:
        cdef Program p = self.q.program
        cdef int i, r
        self.slot_of, self.spare, self.slots, self.code = {}, [], 0, []
        for place, i in enumerate(self.members[:len(self.members) - len(self.sums)]):
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
        self.code = [len(self.members) - len(self.sums), self.slots, len(self.results) - len(self.sums), *self.code]
        if self.sums:
            self.encode_sums()
        return 0

    cdef int encode_sums(self) except -1:
        cdef Program p = self.q.program
        cdef Meta *m = self.q.metas[p.ints[p.steps[<int> self.sums[0]].args]]
        cdef int i
        self.code.append(len(self.sums))
        for i in self.sums:
            self.code += [p.steps[i].op, self.name(p.ints[p.steps[i].args]), p.steps[i].params.v[1]]
        self.code += [p.steps[<int> self.sums[0]].params.v[0], len(self.tiles), m.dtype, m.rank]
        self.code += [m.dims[i] for i in range(2 * m.rank)]
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
    return (a.flags & DENSE and a.dtype == b.dtype and same_layout(a, b) and g.reads[x] <= g.writes[r]
            and g.writes[r] < len(g.members) - len(g.sums))
