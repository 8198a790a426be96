"""One forward step: check the runtime, promote and broadcast, run the kernel, record a node, wrap the result.

Nothing on this path is a Python-level call, a dictionary or a lock. A node keeps the values that its rules ask for
(``OpDef.needs``) and edges to the nodes of its tracked inputs.
"""

cimport cython
from cpython.bool cimport PyBool_Check
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.string cimport memcmp

from .engine cimport ExecutionEngine, call_kernel, failed_silently, quiet_kernel_t
from .importing cimport compact, import_any
from .node cimport deferred
from .optable cimport ONE_FLOP, POLES, dtype_object, op_name, ops, promote, resolve
from .spaces cimport by_value, placeholder, placement, upload
from .state cimport ambient_runtime, default_runtime, engine_for, thread_state
from .tensor cimport Tensor

import numpy as np

from .state import seal
from ..errors import (ContextMismatchError, IntegerOverflowError, PlacementError, RuntimeStateError,
                      ShapeMismatchError, UnsupportedError)

cdef extern from "Python.h":
    tuple PyTuple_New(Py_ssize_t)
    void PyTuple_SET_ITEM(object, Py_ssize_t, object)
    PyObject *PyList_GET_ITEM(list, Py_ssize_t)

cdef object _ndarray = np.ndarray, _generic = np.generic

cdef extern from *:
    """
    /* Tensors have the garbage collector's header, but it does not see them: linking each of them costs time. */
    static PyObject *tf_tensor_alloc(PyTypeObject *type, Py_ssize_t n) {
        PyObject *o = PyObject_GC_New(PyObject, type);
        (void) n;
        if (o != NULL)
            memset((char *) o + sizeof(PyObject), 0, (size_t) type->tp_basicsize - sizeof(PyObject));
        return o;
    }
    static int tf_tensor_traverse(PyObject *o, visitproc visit, void *arg) {
        (void) o; (void) visit; (void) arg;
        return 0;
    }
    static void tf_tensor_gc(PyTypeObject *type) {
        type->tp_alloc = tf_tensor_alloc;
        type->tp_free = PyObject_GC_Del;
        type->tp_traverse = tf_tensor_traverse;
        type->tp_flags |= Py_TPFLAGS_HAVE_GC;
    }
    """
    void tf_tensor_gc(PyTypeObject *)

tf_tensor_gc(<PyTypeObject *> EagerTensor)      # before the first tensor is made


include "recording.pxi"
include "running.pxi"
include "dispatch.pxi"
include "constants.pxi"


# ---- the tensor --------------------------------------------------------------------------------------------------------

@cython.final
@cython.no_gc
@cython.freelist(256)
@cython.c_api_binop_methods(True)
cdef class EagerTensor:
    """A concrete tensor of a runtime, tracked (it takes part in derivatives) or not.

    Eager tensors are made by `tenferro.variable`, `tenferro.constant`, `EagerRuntime.variable_from`, ... and by operations.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable([1.0, 2.0])
    >>> y = tfr.sum(x * x)
    >>> y.backward()[x]
    EagerTensor([2., 4.], dtype=float64)
    """

    __array_priority__ = 1000.0

    def __init__(self, *args, **kwargs):
        raise TypeError("make eager tensors with tenferro.variable, tenferro.constant or a runtime")

    def __dealloc__(self):
        if self.node != NULL:
            if self.node.flags & IS_LEAF:
                drop_handle(self)
            node_drop(self.node)
        meta_drop(self.v.meta)
        buffer_drop(self.v.buf)

    def __add__(a, b):
        return operator(Op.ADD, a, b)

    def __sub__(a, b):
        return operator(Op.SUB, a, b)

    def __mul__(a, b):
        return operator(Op.MUL, a, b)

    def __truediv__(a, b):
        return operator(Op.DIV, a, b)

    def __floordiv__(a, b):
        return operator(Op.FLOOR_DIV, a, b)

    def __mod__(a, b):
        return operator(Op.REM, a, b)

    def __divmod__(a, b):
        quotient = operator(Op.FLOOR_DIV, a, b)
        return quotient if quotient is NotImplemented else (quotient, operator(Op.REM, a, b))

    def __pow__(a, b, modulo):
        return power(a, b) if modulo is None else NotImplemented

    def __matmul__(a, b):
        if (type(a) is EagerTensor or is_array_like(a)) and (type(b) is EagerTensor or is_array_like(b)):
            return (<object> hooks.matmul)(a, b)
        return NotImplemented

    def __and__(a, b):
        return operator(Op.LOGICAL_AND, a, b) if is_bool(a) and is_bool(b) else by_bits("and_", a, b)

    def __or__(a, b):
        return operator(Op.LOGICAL_OR, a, b) if is_bool(a) and is_bool(b) else by_bits("or_", a, b)

    def __xor__(a, b):
        return operator(Op.LOGICAL_XOR, a, b) if is_bool(a) and is_bool(b) else by_bits("xor", a, b)

    def __lshift__(a, b):
        return by_bits("lshift", a, b)

    def __rshift__(a, b):
        return by_bits("rshift", a, b)

    def __invert__(self):
        return apply1(Op.LOGICAL_NOT, self) if is_bool(self) else by_bits("invert", self)

    def __iadd__(self, other):
        return hooks.update(self, Op.ADD, other)

    def __isub__(self, other):
        return hooks.update(self, Op.SUB, other)

    def __imul__(self, other):
        return hooks.update(self, Op.MUL, other)

    def __itruediv__(self, other):
        return hooks.update(self, Op.DIV, other)

    def __ifloordiv__(self, other):
        return hooks.update(self, Op.FLOOR_DIV, other)

    def __imod__(self, other):
        return hooks.update(self, Op.REM, other)

    def __ipow__(self, other):
        return hooks.update(self, Op.POW, other)

    def __imatmul__(self, other):
        return hooks.update(self, Op.CONTRACT, other)

    def __iand__(self, other):
        if is_bool(self) and is_bool(other):
            return hooks.update(self, Op.LOGICAL_AND, other)
        return by_bits("iand", self, other)

    def __ior__(self, other):
        if is_bool(self) and is_bool(other):
            return hooks.update(self, Op.LOGICAL_OR, other)
        return by_bits("ior", self, other)

    def __ixor__(self, other):
        if is_bool(self) and is_bool(other):
            return hooks.update(self, Op.LOGICAL_XOR, other)
        return by_bits("ixor", self, other)

    def __ilshift__(self, other):
        return by_bits("ilshift", self, other)

    def __irshift__(self, other):
        return by_bits("irshift", self, other)

    def __neg__(self):
        return apply1(Op.NEG, self)

    def __pos__(self):
        return same(self)

    def __abs__(self):
        return apply1(Op.ABS, self)

    def __lt__(self, other):
        return operator(Op.LESS, self, other)

    def __le__(self, other):
        return operator(Op.LESS_EQUAL, self, other)

    def __gt__(self, other):
        return operator(Op.GREATER, self, other)

    def __ge__(self, other):
        return operator(Op.GREATER_EQUAL, self, other)

    def __eq__(self, other):
        return operator(Op.EQUAL, self, other)

    def __ne__(self, other):
        return operator(Op.NOT_EQUAL, self, other)

    def __hash__(self):
        return <Py_hash_t> (<size_t> <PyObject *> self >> 4)

    def __getitem__(self, index):
        check(self)
        return (<object> hooks.getitem)(self, index)

    def __setitem__(self, index, value):
        hooks.set_item(self, index, value)

    def __len__(self):
        check(self)
        if self.v.meta.rank == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.v.meta.dims[0]

    def __float__(self):
        return hooks.to_float(self)

    def __int__(self):
        return hooks.to_int(self)

    def __index__(self):
        return hooks.to_index(self)

    def __bool__(self):
        return hooks.to_bool(self)

    def __iter__(self):
        return hooks.iterate(self)

    def __contains__(self, value):
        return hooks.contains(self, value)

    def __repr__(self):
        return hooks.represent(self)

    def __getbuffer__(self, Py_buffer *view, int flags):
        hooks.export_buffer(self, view, flags)

    @property
    def dtype(self):
        """NumPy dtype of the elements."""
        check(self)
        return dtype_object(self.v.meta.dtype)

    @property
    def shape(self):
        """Tuple of dimensions."""
        check(self)
        cdef Meta *m = self.v.meta
        cdef tuple out = PyTuple_New(m.rank)
        cdef object n
        cdef int i
        for i in range(m.rank):
            n = m.dims[i]
            Py_INCREF(n)
            PyTuple_SET_ITEM(out, i, n)
        return out

    @property
    def ndim(self):
        """Number of axes."""
        check(self)
        return self.v.meta.rank

    @property
    def size(self):
        """Number of elements."""
        check(self)
        return self.v.meta.size

    @property
    def tracks_grad(self):
        """Whether this tensor takes part in derivatives."""
        check(self)
        return self.node != NULL and not self.node.flags & CAPTURED

    @property
    def runtime(self):
        """The runtime that this tensor belongs to."""
        check(self)
        return self.rt

    @property
    def ctx_id(self):
        """Identity of the runtime."""
        check(self)
        return self.rt.id


cdef EagerTensor same(EagerTensor x):
    """A tensor of its own with the value of x."""
    check(x)
    return emit_view(Op.ALIAS, x, NULL, meta_ref(x.v.meta), x.v.data)


cdef bint is_bool(object x) except -1:
    """Operands of ``& | ^ ~`` that are bools: the operators are then logical ones."""
    if isinstance(x, EagerTensor):
        check(<EagerTensor> x)
        return (<EagerTensor> x).v.meta.dtype == D_BOOL
    return x is True or x is False or (isinstance(x, (_ndarray, _generic)) and x.dtype.kind == "b")


cdef dict _bit_operators = {}


def set_bit_operators(dict table):
    """Register the operators ``& | ^ ~ << >>`` of integers and their in-place forms, by the names of `operator`."""
    _bit_operators.update(table)


cdef object by_bits(str name, object a, object b=None):
    if name == "invert":
        return _bit_operators[name](a)
    if (type(a) is EagerTensor or is_array_like(a)) and (type(b) is EagerTensor or is_array_like(b)):
        return _bit_operators[name](a, b)
    return NotImplemented


cdef void drop_handle(EagerTensor x) noexcept:
    """Take a handle off its leaf's list."""
    cdef PyObject **p = &(<Leaf *> x.node).handles
    while p[0] != NULL:
        if p[0] == <PyObject *> x:
            p[0] = x.next_handle
            return
        p = &(<EagerTensor> p[0]).next_handle


seal(EagerTensor)
