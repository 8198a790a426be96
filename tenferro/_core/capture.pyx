"""Traces of untracked tensors."""

from .eager cimport capture_more
from .state cimport EagerRuntime, Guard, install, thread_state


cdef class CaptureTrace(Guard):
    """Inside this guard operations on untracked tensors are recorded too."""

    def _open(self):
        thread_state().capture += 1
        capture_more(1)
        return self

    def _close(self):
        thread_state().capture -= 1
        capture_more(-1)

    def _name(self):
        return "capture_trace"


def capture_trace(EagerRuntime self not None):
    """Guard inside which operations on untracked tensors are recorded too, on this thread.

    Afterwards `vjp` and `jvp` with respect to an untracked or detached tensor work; results still say ``tracks_grad == False``,
    and ``backward`` reaches tracked leaves only. Inside `no_grad` nothing is recorded.
    """
    return CaptureTrace()


install(EagerRuntime, "capture_trace", capture_trace)
