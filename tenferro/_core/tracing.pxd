"""Making a program of one watched sweep."""

from .abi cimport *
from .eager cimport EagerTensor, Watcher
from .program cimport Program
from .state cimport EagerRuntime
from .sweep cimport Sweep

cdef class Tracer(Watcher):
    cdef unsigned long thread
    cdef list log               # (operation, inputs, output, parameters, whether it is a view)
    cdef dict copies            # Ctx.copies of the sweep

    cdef int end(self) except -1

cdef Program build(Sweep s, list outputs, list targets, list seeds, list results, Tracer tracer, bint bounded)
