"""The gradient slots of leaves, and what a backward sweep returns."""

from .abi cimport *
from .eager cimport EagerTensor
from .node cimport Leaf
from .state cimport EagerRuntime

cdef class Gradients:
    cdef dict items_            # address of the leaf's node -> (handle, gradient)

cdef Gradients commit(EagerRuntime rt, list leaves, list grads)     # adds to the slots of leaves, given by their addresses
cdef EagerTensor moved(EagerTensor t, int space)                    # the same tensor in another memory
cdef EagerTensor slot_tensor(Leaf *f, EagerRuntime rt)              # snapshot of a slot; None while it is empty
