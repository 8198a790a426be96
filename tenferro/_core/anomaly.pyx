"""The first NaN: which operation made it, and on which line of the user's code."""

from .abi cimport *
from .custom_node cimport record_of
from .eager cimport Watcher, unwatch, watch
from .node cimport Node, recorded
from .optable cimport op_name
from .state cimport EagerRuntime, Guard, install
from .sweep cimport node_at_hand
from .tensor cimport export_array

import linecache
import sys

import numpy as np

from ..errors import NumericalError

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident() nogil

cdef enum:
    REMEMBERED = 1_000_000      # operations whose lines are kept
    FRAMES = 3

cdef set _own = {"tenferro", "tenferro_cpu", "tenferro_cupy"}


cdef list user_frames():
    """File, line and function of the innermost frames outside this library."""
    cdef list found = []
    frame = sys._getframe(0)
    while frame is not None and len(found) < FRAMES:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _own:
            found.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return found


cdef str described(list frames):
    if not frames:
        return "an unknown line (enter the guard before the forward computation)"
    found = []
    for filename, line, function in frames:
        text = linecache.getline(filename, line).strip()
        found.append(f"{filename}:{line} in {function}" + (f": {text}" if text else ""))
    return "\n  called from ".join(found)


cdef bint has_nan(const Value *v) except -1:
    if not is_inexact(v.meta.dtype) or v.buf.space != HOST_SPACE:
        return False
    return bool(np.isnan(export_array(v)).any())


cdef class NanWatcher(Watcher):
    cdef EagerRuntime runtime
    cdef unsigned long thread
    cdef dict places            # number of the node that an operation would record -> the frames that called it

    cdef int after(self, int op, EagerRuntime rt, int n, const Value *ins, const Value *out, const Params *p,
                   bint view) except -1:
        cdef int i
        if rt is not self.runtime or PyThread_get_thread_ident() != self.thread:
            return 0
        frames = user_frames()
        if len(self.places) >= REMEMBERED:
            del self.places[next(iter(self.places))]
        self.places[recorded() + 1] = frames
        if view or not has_nan(out):
            return 0
        for i in range(n):
            if has_nan(&ins[i]):
                return 0
        return self.found(op, frames)

    cdef int found(self, int op, list frames) except -1:
        cdef Node *node = node_at_hand()
        name = op_name(op)
        if node == NULL:
            raise NumericalError(f"{name} made the first NaN; look at its operands. It was called at\n  "
                                 f"{described(frames)}", op=name)
        source = node_name(node)
        raise NumericalError(f"the derivative of {source} made the first NaN (in {name}). {source} was called at\n  "
                             f"{described(self.places.get(node.seq))}", op=source)


cdef str node_name(Node *n):
    record = record_of(n)
    return op_name(n.op.id) if record is None else record.rules.name


cdef class DetectAnomaly(Guard):
    """Guard of ``detect_anomaly``."""
    cdef NanWatcher watcher

    def __init__(self, EagerRuntime runtime not None):
        self.watcher = NanWatcher.__new__(NanWatcher)
        self.watcher.runtime = runtime
        self.watcher.places = {}

    def _open(self):
        self.watcher.thread = PyThread_get_thread_ident()
        watch(self.watcher)
        return self

    def _close(self):
        unwatch(self.watcher)
        self.watcher.places.clear()

    def _name(self):
        return "detect_anomaly"


def detect_anomaly(EagerRuntime self):
    """Guard inside which the first NaN that an operation of this runtime makes on this thread raises.

    An operation makes a NaN if its result has one and none of its operands has. In a derivative the operation is
    named whose rule made it, with the line that called that operation; this line is known if the guard was open by
    then. Every result in host memory is looked at, so this is for finding mistakes, not for production.

    Returns
    -------
    Guard
        For use in a ``with`` statement.

    Raises
    ------
    NumericalError
        Inside the guard; the field `op` is the operation, the message has the line.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable(-1.0)
    >>> with tfr.default_runtime().detect_anomaly():  # doctest: +ELLIPSIS
    ...     y = tfr.log(x)
    Traceback (most recent call last):
    tenferro.errors.NumericalError: log made the first NaN; ...
    """
    return DetectAnomaly(self)


install(EagerRuntime, "detect_anomaly", detect_anomaly)
