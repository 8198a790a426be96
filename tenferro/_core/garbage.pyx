"""Cycles through what custom rules refer to, such as the operation's own output.

The garbage collector does not know about tensors, which cost less so: nothing that they refer to could refer back. A node
with a Python object on it can. The handle that such a node was recorded on is shown to the collector, and tells it
what it alone keeps alive: the runtime and, through nodes that have no other user, the objects on them. What has other users
is not told, which is safe: the collector then takes it to be in use.
"""

from cpython.object cimport PyObject

from .abi cimport *
from .node cimport IS_LEAF, Node, node_drop, saved_values
from .optable cimport Op, OUT

cdef extern from "Python.h":
    ctypedef int (*visitproc)(PyObject *, void *) noexcept
    ctypedef struct CType "PyTypeObject":
        int (*tp_traverse)(PyObject *, visitproc, void *) noexcept
        int (*tp_clear)(PyObject *) noexcept
        void (*tp_dealloc)(PyObject *) noexcept
    void PyObject_GC_Track(PyObject *)
    void PyObject_GC_UnTrack(PyObject *)
    int PyObject_GC_IsTracked(PyObject *)

cdef enum:
    PENDING = 64            # nodes that a walk remembers; it leaves out what is beyond

cdef CType *tensor_type = <CType *> EagerTensor
cdef void (*free_tensor)(PyObject *) noexcept
free_tensor = tensor_type.tp_dealloc


cdef int traverse(PyObject *o, visitproc visit, void *arg) noexcept:
    cdef Node *pending[PENDING]
    cdef Node *n = (<EagerTensor> o).node
    cdef Node *p
    cdef Value *v
    cdef int k, found, count = 0
    found = visit(<PyObject *> (<EagerTensor> o).rt, arg)
    if found or n == NULL or n.refs != 1:
        return found
    pending[0] = n
    count = 1
    while count:
        count -= 1
        n = pending[count]
        if n.op.id == <int> Op.CUSTOM or n.op.id == <int> Op.CUSTOM_OUTPUT:
            v = saved_values(n) + (n.saved == OUT)
            if v.buf.refs == 1 and v.buf.owner != NULL:
                found = visit(v.buf.owner, arg)
                if found:
                    return found
        for k in range(n.n_in):
            p = n.ins[k]
            if p != NULL and p.refs == 1 and count < PENDING:
                pending[count] = p
                count += 1
    return 0


cdef int clear(PyObject *o) noexcept:
    cdef Node *n = (<EagerTensor> o).node
    if n != NULL and not n.flags & IS_LEAF:
        (<EagerTensor> o).node = NULL
        node_drop(n)
    return 0


cdef void dealloc(PyObject *o) noexcept:
    PyObject_GC_UnTrack(o)
    free_tensor(o)


cdef int watch(EagerTensor t) except -1:
    tensor_type.tp_traverse = traverse
    tensor_type.tp_clear = clear
    tensor_type.tp_dealloc = dealloc
    if not PyObject_GC_IsTracked(<PyObject *> t):
        PyObject_GC_Track(<PyObject *> t)
    return 0
