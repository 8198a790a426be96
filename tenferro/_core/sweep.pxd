"""One pass over a trace, backwards or forwards."""

from .abi cimport *
from .eager cimport EagerTensor
from .node cimport Node
from .rule cimport Ctx
from .state cimport EagerRuntime

ctypedef struct Item:           # one visited node
    Node *node
    PyObject *value             # cotangent, or tangent; NULL is an exact zero
    int active                  # whether it leads to a tensor that is asked for

ctypedef struct Entry:
    unsigned long long seq
    Py_ssize_t slot

cdef class Sweep:
    cdef EagerRuntime rt
    cdef Ctx ctx
    cdef Item *items
    cdef Entry *heap
    cdef Py_ssize_t n, capacity, heap_n, heap_capacity
    cdef unsigned int id        # marks the nodes visited by this sweep; 0: another sweep is marking, `slots` is used
    cdef dict slots
    cdef bint pure              # nothing is added in place: a program is being made
    cdef bint watched           # somebody looks at every operation

    cdef Py_ssize_t find(self, Node *p)
    cdef Py_ssize_t visit(self, Node *p) except -1
    cdef Py_ssize_t pop(self) noexcept
    cdef int put(self, Py_ssize_t slot, EagerTensor c) except -1
    cdef int accumulate(self, Py_ssize_t slot, EagerTensor c) except -1
    cdef EagerTensor take(self, Py_ssize_t slot)
    cdef list tangents_of(self, Node *n)
    cdef int pull_back(self, Node *n, EagerTensor g, bint active_only) except -1
    cdef int hand_on_watched(self, Py_ssize_t slot, EagerTensor g) except -1
    cdef int collect(self, list outputs, list targets) except -1
    cdef int sort(self) except -1

cdef int breathe(Py_ssize_t beat, Py_ssize_t size) except -1     # between two nodes: signals, other threads
cdef EagerTensor conform(EagerTensor c, Meta *m)        # a cotangent with the shape and dtype of its primal

cdef Sweep start(EagerRuntime rt, bint traced)
cdef EagerTensor settled(EagerTensor t)                 # a result that outlives the sweep: dense memory of this library
cdef list reverse(Sweep s, list outputs, list targets, list cotangents)
cdef list forward(Sweep s, list outputs, list targets, list tangents)
cdef EagerTensor zeros_of(EagerTensor y)
cdef EagerTensor one_like(EagerTensor y)        # the seed of a gradient, beside y
cdef Node *node_at_hand() noexcept                      # whose rule runs on this thread; only for watchers
cdef tuple backward(Sweep s, Node *root, EagerTensor seed)
cdef list held(list outputs)
cdef int lazy_hooks(Node *(*recorded)(Node *) except NULL, Node *(*known)(Node *) noexcept) except -1
cdef int hold_breath(bint on) except -1
