"""Making eager tensors and taking values out of them."""

from .abi cimport *
from .eager cimport EagerTensor, constant_value, check, wrap
from .memory cimport *
from .node cimport Leaf, Node, leaf_new
from .optable cimport dtype_code
from .state cimport EagerRuntime, ambient_runtime, install
from .tensor cimport export_array, Tensor

cdef EagerTensor leaf_of(EagerTensor x):
    cdef Leaf *f = leaf_new(&x.v)
    x.node = &f.node
    f.handles = <PyObject *> x
    f.prev = &x.rt.leaves
    f.next = x.rt.leaves.next
    if f.next != NULL:
        f.next.prev = f
    x.rt.leaves.next = f
    return x

def variable(x, dtype=None, copy=True):
    return leaf_of(constant_value(ambient_runtime(), x, -1 if dtype is None else dtype_code(dtype), copy))

def constant(x, dtype=None, copy=True):
    return constant_value(ambient_runtime(), x, -1 if dtype is None else dtype_code(dtype), copy)

def numpy(EagerTensor self):
    check(self)
    return export_array(&self.v)

install(EagerTensor, "numpy", numpy)
