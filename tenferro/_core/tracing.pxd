"""Making a program of one watched sweep."""

from .abi cimport *
from .eager cimport EagerTensor, Watcher
from .program cimport Program
from .state cimport EagerRuntime
from .sweep cimport Sweep

cdef class Tracer(Watcher):
    cdef unsigned long thread
    cdef bint symbolic
    cdef list log               # (operation, keys of the inputs, of the output, parameters, whether a view, its offset)
    cdef dict tensors           # key -> tensor: its layout if an operation has made it, with its value otherwise
    cdef dict copies            # Ctx.copies of the sweep

    cdef int end(self) except -1

cdef Program build(Sweep s, list outputs, list targets, list seeds, list results, Tracer tracer, bint bounded)
