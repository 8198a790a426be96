"""Giving leaves new values."""

from .abi cimport *
from .eager cimport EagerTensor, check, retire, wrap
from .handles cimport imported
from .memory cimport *
from .node cimport IS_LEAF, Leaf
from .spaces cimport placement
from .state cimport install

from numpy import generic

from ..errors import ContextMismatchError, DTypeMismatchError, PlacementError, RuntimeStateError, ShapeMismatchError


cdef EagerTensor assignable(EagerTensor x, object value):
    """An untracked value of x's shape and dtype; Python numbers and lists of them take the dtype."""
    cdef EagerTensor t
    if isinstance(value, EagerTensor) and (<EagerTensor> value).v.meta != NULL and (<EagerTensor> value).rt is not x.rt:
        raise ContextMismatchError(lhs=x.rt.id, rhs=(<EagerTensor> value).rt.id)
    t = imported(x.rt, value, x.dtype if isinstance(value, (int, float, complex, list, tuple))
                 and not isinstance(value, generic) else None, True)
    if not same_shape(t.v.meta, x.v.meta):
        raise ShapeMismatchError(f"assign: the value has shape {t.shape}, the leaf {x.shape}; broadcast or reshape the "
                                 "value", op="assign", argument="value", expected=x.shape, actual=t.shape)
    if t.v.meta.dtype != x.v.meta.dtype:
        raise DTypeMismatchError(f"assign: the value has dtype {t.dtype}, the leaf {x.dtype}; use astype()",
                                 op="assign", argument="value", expected=x.dtype, actual=t.dtype)
    if t.v.buf.space != x.v.buf.space:
        raise PlacementError(f"assign: the value lies in {placement(t.v.buf.space)}, the leaf in {placement(x.v.buf.space)}; "
                             "transfer the value first with session.constant_from_host() or to_tensor()", op="assign",
                             expected=placement(x.v.buf.space), actual=placement(t.v.buf.space))
    return t


def assign(EagerTensor self, value):
    """Give a tracked leaf a new value of equal shape and dtype. Not recorded; existing traces keep the old value.

    Every handle of the leaf sees the new value.

    Parameters
    ----------
    value : array_like
        Of the leaf's shape and dtype.

    Returns
    -------
    None

    Raises
    ------
    ValidationError
        Shape or dtype differ.
    RuntimeStateError
        This tensor is no tracked leaf.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable([1.0, 2.0])
    >>> x.assign([3.0, 4.0])
    >>> x
    EagerTensor([3., 4.], dtype=float64, tracks_grad=True)
    """
    cdef EagerTensor t
    cdef Leaf *f
    cdef Value old
    cdef PyObject *p
    check(self)
    if self.node == NULL or not self.node.flags & IS_LEAF:
        raise RuntimeStateError("assign: only a tracked leaf, made by variable(), can be given a new value",
                                op="assign")
    t = assignable(self, value)
    f = <Leaf *> self.node
    value_copy(&old, &f.value)          # nothing is freed before all handles agree
    give(&f.value, &t.v)
    give(&self.v, &t.v)
    p = f.handles
    while p != NULL:
        give(&(<EagerTensor> p).v, &t.v)
        p = (<EagerTensor> p).next_handle
    retire(wrap(self.rt, &old, NULL))


cdef inline void give(Value *dst, const Value *src) noexcept:
    cdef Value old = dst[0]
    value_copy(dst, src)
    value_drop(&old)


install(EagerTensor, "assign", assign)
