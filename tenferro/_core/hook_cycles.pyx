"""Cycles through hooks: a hook that refers to a tensor on which it, or another hook, is registered.

Tensors and nodes are invisible to the cycle collector. Before a full collection the references among hooks, what they
refer to, and the nodes behind it are counted, as the collector does: hooks of nodes that nothing else leads to are
given up.
"""

from .eager cimport EagerTensor
from .node cimport Node, hooked

from cpython.object cimport PyObject

import gc
import sys
from types import ModuleType

cdef extern from "Python.h":
    PyObject *PyList_GET_ITEM(list, Py_ssize_t)

cdef enum:
    LARGEST = 100_000           # objects and nodes; beyond that nothing is given up

cdef bint watching = False


cdef class Graph:
    cdef list objects           # what hooks refer to; lists of hooks are the first
    cdef list inside            # references to them from among them
    cdef dict places            # id -> place in `objects`
    cdef dict nodes             # address -> references from the nodes and tensors here
    cdef set shared             # ids of namespaces, through which everything is reachable
    cdef set live

    def __cinit__(self):
        self.objects, self.inside, self.places, self.nodes, self.live = [], [], {}, {}, set()
        self.shared = {id(vars(m)) for m in list(sys.modules.values()) if isinstance(m, ModuleType)}

    cdef Py_ssize_t add(self, object o) except -1:
        k = self.places.get(id(o))
        if k is None:
            k = self.places[id(o)] = len(self.objects)
            self.objects.append(o)
            self.inside.append(0)
        return k

    cdef list referents(self, Py_ssize_t k):
        o = self.objects[k]
        if id(o) in self.shared or isinstance(o, (type, ModuleType)):
            return []
        return gc.get_referents(o)

    cdef bint explore(self) except -1:
        """Count references; False if there is nothing to be found."""
        cdef Py_ssize_t i = 0, k
        cdef bint tensors = False
        for k in [self.add(functions) for functions in hooked.values()]:
            self.inside[k] = 1          # the table's
        while i < len(self.objects):
            for o in self.referents(i):
                k = self.add(o)
                self.inside[k] += 1
            if isinstance(self.objects[i], EagerTensor):
                tensors = True
                self.reach((<EagerTensor> self.objects[i]).node)
            if len(self.objects) > LARGEST or len(self.nodes) > LARGEST:
                return False
            i += 1
        return tensors

    cdef int reach(self, Node *n) except -1:
        """Count one reference to a node, and those of nodes that are reached for the first time."""
        cdef list stack = [<size_t> n]
        cdef int k
        while stack:
            address = stack.pop()
            if not address:
                continue
            if address in self.nodes:
                self.nodes[address] += 1
                continue
            self.nodes[address] = 1
            n = <Node *> <size_t> address
            for k in range(n.n_in):
                stack.append(<size_t> n.ins[k])
            if len(self.nodes) > LARGEST:
                return 0
        return 0

    cdef int mark(self) except -1:
        """Everything that is referred to from elsewhere, and what that leads to."""
        cdef list stack = [("node", a) for a in hooked if a not in self.nodes]
        cdef Node *n
        cdef Py_ssize_t k
        cdef int j
        for k in range(len(self.objects)):
            if PyList_GET_ITEM(self.objects, k).ob_refcnt - 1 > <Py_ssize_t> self.inside[k]:
                stack.append(("object", k))
        for a, count in self.nodes.items():
            if (<Node *> <size_t> a).refs > <Py_ssize_t> count:
                stack.append(("node", a))
        while stack:
            item = stack.pop()
            if item in self.live:
                continue
            self.live.add(item)
            if item[0] == "object":
                k = item[1]
                stack.extend([("object", self.places[id(o)]) for o in self.referents(k)])
                if isinstance(self.objects[k], EagerTensor) and (<EagerTensor> self.objects[k]).node != NULL:
                    stack.append(("node", <size_t> (<EagerTensor> self.objects[k]).node))
            else:
                n = <Node *> <size_t> item[1]
                for j in range(n.n_in):
                    if n.ins[j] != NULL:
                        stack.append(("node", <size_t> n.ins[j]))
                if item[1] in hooked:
                    stack.append(("object", self.places[id(hooked[item[1]])]))
        return 0


cdef list unreachable():
    """Addresses of hooked nodes that only hooks lead to."""
    cdef Graph g = Graph()
    if not g.explore():
        return []
    g.mark()
    return [a for a in hooked if ("node", a) not in g.live]


def before_collection(phase, info):
    if phase == "start" and info["generation"] == 2 and hooked:
        for address in unreachable():
            hooked.pop(address, None)


cdef int watch_cycles() except -1:
    """From now on, look for such cycles before full collections."""
    global watching
    if not watching:
        watching = True
        gc.callbacks.append(before_collection)
    return 0
