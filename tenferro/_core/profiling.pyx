"""How long operations take: a table per operation, and events for a trace viewer."""

from .abi cimport *
from .eager cimport Watcher, unwatch, watch
from .node cimport Node
from .optable cimport Op, dtype_object, op_name
from .state cimport EagerRuntime, Guard, install
from .sweep cimport node_at_hand

import os
from collections import namedtuple
from operator import index
from time import perf_counter_ns

from ..errors import ValidationError

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident() nogil

cdef enum:
    DEPTH = 64                  # operations that run inside each other

Event = namedtuple("Event", "op start_us duration_us nbytes shape dtype rule_of")
Event.__doc__ = """One operation that ran.

`start_us` counts from the guard's entry; `nbytes` is the size of the result, 0 for a view; `rule_of` is the operation
whose derivative it computed, or None.
"""
Row = namedtuple("Row", "op calls total_us nbytes")
Row.__doc__ = "All calls of one operation."


cdef class ClockWatcher(Watcher):
    cdef EagerRuntime runtime
    cdef unsigned long thread
    cdef long long begin
    cdef long long starts[DEPTH]
    cdef int ops[DEPTH]
    cdef int depth
    cdef list events
    cdef Py_ssize_t limit
    cdef dict totals            # name -> [calls, nanoseconds, bytes]

    cdef int before(self, int op) except -1:
        if PyThread_get_thread_ident() != self.thread:
            return 0
        if self.depth == DEPTH:         # operations that raised have left theirs behind
            self.depth = 0
        self.ops[self.depth] = op
        self.depth += 1
        self.starts[self.depth - 1] = perf_counter_ns()
        return 0

    cdef int after(self, int op, EagerRuntime rt, int n, const Value *ins, const Value *out, const Params *p,
                   bint view) except -1:
        cdef long long now = perf_counter_ns(), nbytes
        cdef Node *node
        if PyThread_get_thread_ident() != self.thread or op == <int> Op.CUSTOM:
            return 0
        while self.depth > 0 and self.ops[self.depth - 1] != op:
            self.depth -= 1
        if self.depth == 0:             # it began before this guard
            return 0
        self.depth -= 1
        if rt is not self.runtime:
            return 0
        nbytes = 0 if view else out.meta.size * out.meta.itemsize
        node = node_at_hand()
        self.count(op_name(op), self.starts[self.depth], now, nbytes, out.meta,
                   None if node == NULL else op_name(node.op.id))
        return 0

    cdef int count(self, str name, long long start, long long end, long long nbytes, const Meta *m,
                   str rule_of) except -1:
        cdef list total = self.totals.get(name)
        if total is None:
            total = self.totals[name] = [0, 0, 0]
        total[0] += 1
        total[1] += end - start
        total[2] += nbytes
        if len(self.events) < self.limit:
            self.events.append(Event(name, (start - self.begin) / 1e3, (end - start) / 1e3, nbytes,
                                     tuple([m.dims[i] for i in range(m.rank)]), dtype_object(m.dtype).name, rule_of))
        return 0


cdef class Profile(Guard):
    """Guard of ``EagerRuntime.profile``, and what it has measured."""
    cdef ClockWatcher watcher

    def __init__(self, EagerRuntime runtime not None, max_events=100_000):
        cdef ClockWatcher w = ClockWatcher.__new__(ClockWatcher)
        try:
            w.limit = index(max_events)
        except TypeError:
            w.limit = -1
        if w.limit < 0:
            raise ValidationError(f"profile: max_events must be a non-negative integer, not {max_events!r}",
                                  op="profile", argument="max_events")
        w.runtime = runtime
        w.events, w.totals = [], {}
        self.watcher = w

    def _open(self):
        self.watcher.thread = PyThread_get_thread_ident()
        self.watcher.begin = perf_counter_ns()
        watch(self.watcher)
        return self

    def _close(self):
        unwatch(self.watcher)

    def _name(self):
        return "profile"

    @property
    def events(self):
        """List of `Event`, one for each operation in the order of their ends, up to the limit."""
        return list(self.watcher.events)

    def rows(self):
        """List of `Row`, one for each operation, the longest total time first."""
        rows = [Row(name, calls, ns / 1e3, nbytes) for name, (calls, ns, nbytes) in self.watcher.totals.items()]
        return sorted(rows, key=lambda row: -row.total_us)

    def table(self):
        """The rows as text: calls, total and mean time in microseconds, bytes of the results."""
        lines = [f"{'operation':<20}{'calls':>10}{'total us':>14}{'us/call':>12}{'bytes':>16}"]
        rows = self.rows()
        for op, calls, us, nbytes in rows:
            lines.append(f"{op:<20}{calls:>10}{us:>14.1f}{us / calls:>12.2f}{nbytes:>16}")
        lines.append(f"{'total':<20}{sum([r.calls for r in rows]):>10}{sum([r.total_us for r in rows]):>14.1f}{'':>12}"
                     f"{sum([r.nbytes for r in rows]):>16}")
        return "\n".join(lines)

    def chrome_trace(self, path):
        """Write the events as JSON for ``chrome://tracing`` and Perfetto.

        Parameters
        ----------
        path : str or path-like
        """
        pid, tid = os.getpid(), self.watcher.thread
        events = [{"name": e.op, "cat": "forward" if e.rule_of is None else f"derivative of {e.rule_of}", "ph": "X",
                   "ts": e.start_us, "dur": e.duration_us, "pid": pid, "tid": tid,
                   "args": {"shape": list(e.shape), "dtype": e.dtype, "bytes": e.nbytes}} for e in self.watcher.events]
        with open(path, "w", encoding="utf-8") as f:
            from json import dump         # not before it is needed: importing it takes a while
            dump({"traceEvents": events, "displayTimeUnit": "ms"}, f)

    def __str__(self):
        return self.table()

    def __repr__(self):
        return f"<profile of {sum([t[0] for t in self.watcher.totals.values()])} operations>"


def profile(EagerRuntime self, max_events=100_000):
    """Guard that measures every operation of this runtime on this thread, those of derivatives included.

    Parameters
    ----------
    max_events : int
        How many single events are kept; the table counts all.

    Returns
    -------
    Profile
        ``.table()`` is text, ``.rows()`` the same as data, ``.events`` the single operations, ``.chrome_trace(path)``
        a file for a trace viewer. Inside the guard derivatives are computed operation by operation, not from cached
        programs.

    Raises
    ------
    ValidationError
        `max_events` is negative.

    Examples
    --------
    >>> import tenferro as tfr
    >>> rt = tfr.default_runtime()
    >>> with rt.profile() as seen:
    ...     y = tfr.sin(0.5)
    >>> [row.op for row in seen.rows()]
    ['sin']
    """
    return Profile(self, max_events)


install(EagerRuntime, "profile", profile)
