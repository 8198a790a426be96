"""Guards that change what is recorded: traces of untracked tensors, traces that keep less."""

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

    Returns
    -------
    Guard

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.constant(3.0)
    >>> rt = tfr.default_runtime()
    >>> with rt.capture_trace():
    ...     y = x * x
    >>> rt.vjp(y, x, 1.0)
    EagerTensor(6., dtype=float64)
    """
    return CaptureTrace()


cdef class SaveMemory(Guard):
    """Inside this guard a trace keeps less and computes more again."""

    def _open(self):
        thread_state().thrifty += 1
        return self

    def _close(self):
        thread_state().thrifty -= 1

    def _name(self):
        return "save_memory"


def save_memory(EagerRuntime self not None):
    """Guard inside which a trace keeps less memory, on this thread; its derivative takes longer.

    Elementwise results of 32,768 elements or more that follow from a leaf, or from what the trace keeps anyway, by up to
    four operations are computed again when the derivative needs them. (Sums, differences, products, squares and negatives
    directly on leaves always are.) Values and derivatives are the same to the last bit.

    Returns
    -------
    Guard

    Examples
    --------
    >>> import tenferro as tfr
    >>> rt = tfr.EagerRuntime()
    >>> x = rt.variable_from([1.0, 2.0])
    >>> with rt.save_memory():
    ...     loss = tfr.sum(tfr.exp(-x * x))
    >>> loss.backward()[x]
    EagerTensor([-0.73575888, -0.07326256], dtype=float64)
    """
    return SaveMemory()


install(EagerRuntime, "capture_trace", capture_trace)
install(EagerRuntime, "save_memory", save_memory)
