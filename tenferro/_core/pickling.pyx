"""Pickling of values: dtype, shape, order of the axes in memory, elements, and whether it is a leaf."""

from .abi cimport *
from .eager cimport EagerTensor, check
from .handles cimport leaf_of
from .importing cimport duplicate, import_array
from .memory cimport *
from .node cimport CAPTURED, IS_LEAF
from .optable cimport dtype_object
from .state cimport default_runtime, install
from .tensor cimport Tensor, check_host, export_array, wrap_tensor

import pickle

import numpy as np

from ..errors import RuntimeStateError


cdef tuple described(const Value *v, int protocol):
    """dtype, shape, axes from the slowest to the fastest, and the elements in that order."""
    cdef Value dense
    cdef Tensor t
    cdef const Meta *m = v.meta
    check_host(v, "pickle")
    duplicate(&dense, v)
    t = wrap_tensor(&dense)
    a = export_array(&t.v)
    axes = sorted(range(m.rank), key=lambda k: (-a.strides[k], -a.shape[k]))
    flat = a.transpose(axes).reshape(-1)
    return (dtype_object(m.dtype).str, a.shape, tuple(axes),
            pickle.PickleBuffer(flat) if protocol >= 5 else flat.tobytes())


cdef int restored(Value *v, str dtype, tuple shape, tuple axes, object data) except -1:
    a = np.frombuffer(data, dtype).reshape([shape[k] for k in axes]).transpose(np.argsort(axes) if axes else ())
    return import_array(v, a, True)


def restore_tensor(dtype, shape, axes, data):
    """A `Tensor` from its pickled parts."""
    cdef Value v
    restored(&v, dtype, shape, axes, data)
    return wrap_tensor(&v)


def restore_eager(dtype, shape, axes, data, tracked):
    """An eager tensor of the default runtime from its pickled parts."""
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    t.rt = default_runtime()
    restored(&t.v, dtype, shape, axes, data)
    return leaf_of(t) if tracked else t


def __reduce_ex__(EagerTensor self, protocol):
    """Value, order and, for a leaf, tracking; gradients, hooks and the trace are left behind."""
    cdef bint tracked
    check(self)
    tracked = self.node != NULL and not self.node.flags & CAPTURED
    if tracked and not self.node.flags & IS_LEAF:
        raise RuntimeStateError("pickle: a trace cannot be pickled; pickle x.detach(), or a leaf", op="pickle")
    return restore_eager, (*described(&self.v, protocol), tracked)


def reduce_tensor(Tensor self, protocol):
    """Value and order."""
    return restore_tensor, described(&self.v, protocol)


install(EagerTensor, "__reduce_ex__", __reduce_ex__)
install(Tensor, "__reduce_ex__", reduce_tensor)
