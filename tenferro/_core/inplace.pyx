"""Item assignment and in-place operators: values are immutable, handles are not.

``x[i] = v`` and ``x += y`` compute a new value, recorded like any other, and make the handle stand for it. Other
handles and views keep the old value. A tracked leaf stays the leaf that it is: inside ``no_grad`` it is given the
value by `assign`, elsewhere the operation is refused.
"""

from .abi cimport *
from .eager cimport EagerTensor, alias, cast, check, drop_handle, hooks, is_array_like, operator, power, retire
from .memory cimport *
from .node cimport CAPTURED, IS_LEAF, Node
from .optable cimport Op, dtype_object, op_name
from .state cimport thread_state

from cpython.ref cimport Py_REFCNT

import numpy as np

from tenferro._ops.indexing import index_set
from ..errors import DTypeMismatchError, RuntimeStateError, ShapeMismatchError


cdef inline bint is_tracked_leaf(EagerTensor x) noexcept:
    return x.node != NULL and x.node.flags & (IS_LEAF | CAPTURED) == IS_LEAF


cdef int check_writable(EagerTensor x, str op) except -1:
    check(x)
    if is_tracked_leaf(x) and thread_state().no_grad == 0:
        raise RuntimeStateError(f"{op}: a tracked leaf cannot be changed in place while operations are recorded; give "
                                "it a value with assign(), work inside no_grad(), or write x = x + y for a new tensor",
                                op=op)
    return 0


cdef int rebind(EagerTensor x, EagerTensor t) except -1:
    """Make a handle stand for the value and the node of t, which the caller gives up."""
    cdef Value v = x.v
    cdef Node *node = x.node
    cdef EagerTensor own = t
    if Py_REFCNT(t) > 2:                # somebody else's handle
        if t.node != NULL:
            t.node.refs += 1
        own = alias(t, t.node)
    if node != NULL and node.flags & IS_LEAF:
        drop_handle(x)
        x.next_handle = NULL
    x.v, x.node = own.v, own.node
    own.v, own.node = v, node
    return retire(own)


cdef int mismatch(EagerTensor x, EagerTensor t, str op) except -1:
    if not same_shape(x.v.meta, t.v.meta):
        raise ShapeMismatchError(f"{op}: the result has shape {t.shape}, the tensor {x.shape}, which an operation in "
                                 "place keeps; write x = x + y for a tensor of another shape", op=op,
                                 argument="other", expected=x.shape, actual=t.shape)
    raise DTypeMismatchError(f"{op}: the result has dtype {t.dtype}, which cannot be put into a tensor of {x.dtype}; "
                             "convert one of the operands with astype(), or write x = x + y", op=op, argument="other",
                             expected=x.dtype, actual=t.dtype)


cdef EagerTensor fitting(EagerTensor x, EagerTensor t, str op):
    """t with the shape and dtype of x."""
    if same_type(x.v.meta, t.v.meta):
        return t
    if not same_shape(x.v.meta, t.v.meta) or not np.can_cast(dtype_object(t.v.meta.dtype), dtype_object(x.v.meta.dtype),
                                                             "same_kind"):
        mismatch(x, t, op)
    return cast(t, x.v.meta.dtype)


cdef int replace(EagerTensor x, EagerTensor t) except -1:
    if is_tracked_leaf(x):
        x.assign(t)
        return 0
    return rebind(x, t)


cdef object update(EagerTensor x, int op, object other):
    """``x op= other``"""
    cdef EagerTensor t
    if type(other) is not EagerTensor and not is_array_like(other):
        return NotImplemented
    check_writable(x, op_name(op))
    if op == <int> Op.POW:
        t = power(x, other)
    elif op == <int> Op.CONTRACT:
        t = (<object> hooks.matmul)(x, other)
    else:
        t = operator(op, x, other)
    t = fitting(x, t, op_name(op))
    replace(x, t)
    return x


cdef int set_item(EagerTensor x, object index, object value) except -1:
    cdef EagerTensor t
    check_writable(x, "setitem")
    t = index_set(x, index, value)
    t = fitting(x, t, "setitem")
    return replace(x, t)


hooks.update = update
hooks.set_item = set_item
