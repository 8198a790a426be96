"""Derivatives of structures that return: run from a program, or swept and made into one."""

from .abi cimport *
from .eager cimport EagerTensor
from .node cimport Node
from .program cimport Program
from .state cimport EagerRuntime

cdef enum:
    REVERSE                     # cotangents of targets
    FORWARD                     # tangents of outputs
    BACKWARD                    # cotangents of all leaves

cdef list derive(int kind, EagerRuntime rt, list outputs, list targets, list seeds)
cdef tuple derive_backward(EagerRuntime rt, Node *root, EagerTensor seed)     # (addresses of leaves, their gradients)

cdef class Unrecorded:
    """A derivative whose values a program gave; recorded in full if it is differentiated."""
    cdef int kind
    cdef EagerRuntime rt
    cdef list outputs, targets, seeds, results
    cdef Program program
    cdef unsigned long long place

    cdef int expand(self) except -1
cdef Program program_of(EagerRuntime rt, EagerTensor output)
