"""Functions that look at cotangents on their way: ``x.register_hook(f)``.

A hooked node has a flag, and its functions stand in a table until the node is freed. Nothing else pays for them.
"""

from .abi cimport *
from .eager cimport EagerTensor, alias, alias_in, check, constant_value, weak_scalar
from .hook_cycles cimport watch_cycles
from .memory cimport *
from .node cimport CAPTURED, HOOKED, IS_LAZY, Node, hooked, mix, node_new
from .optable cimport Op, ops
from .state cimport install
from .tensor cimport Tensor

import numpy as np

from ..errors import ContextMismatchError, DTypeMismatchError, RuntimeStateError, ShapeMismatchError, ValidationError


cdef enum:
    OTHER_STRUCTURE = 0x9e3779b9        # in the hash of a hooked node: it has no place in a program


cdef class HookHandle:
    """A registered hook, as returned by ``register_hook``. As a context manager it removes the hook at the end."""
    cdef readonly object function
    cdef size_t node            # address; alive as long as the table has this hook there

    def remove(self):
        """Take the hook away; idempotent. A sweep that has passed the tensor is not affected."""
        cdef Node *n = <Node *> self.node
        functions = hooked.get(self.node, ())
        if self not in functions:
            return
        functions.remove(self)
        if not functions:
            del hooked[self.node]
            n.flags &= ~HOOKED
            n.hash ^= OTHER_STRUCTURE

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()
        return False


cdef EagerTensor handle(EagerTensor g):
    """A handle of its own, so that nothing done to it in place reaches the sweep."""
    if g.node != NULL:
        g.node.refs += 1
    return alias(g, g.node)


cdef EagerTensor hooked_cotangent(Node *n, EagerTensor g, bint traced):
    for h in list(hooked.get(<size_t> n, ())):
        found = (<HookHandle> h).function(handle(g))
        if found is not None:
            g = replacement(found, g)
            if g.node != NULL and not traced:
                g = alias(g, NULL)
    return g


cdef EagerTensor replacement(object found, EagerTensor g):
    """What a hook has returned, as a tensor that can stand in for the cotangent."""
    cdef EagerTensor t
    if isinstance(found, EagerTensor):
        t = <EagerTensor> found
        check(t)
        if t.rt is not g.rt:
            raise ContextMismatchError("register_hook: the hook returned a tensor of another runtime; bring it over "
                                       "with detach_into(runtime)", lhs=g.rt.id, rhs=t.rt.id)
        t = handle(t)
    elif isinstance(found, (int, float, complex)) and not isinstance(found, np.generic):
        t = alias_in(weak_scalar(found, g.v.meta.dtype), g.rt)
    elif isinstance(found, (np.ndarray, np.generic, Tensor)):
        t = constant_value(g.rt, found, -1, True)
    else:
        raise ValidationError(f"register_hook: the hook returned {type(found).__name__}; return a tensor in the place "
                              "of the cotangent, or None to keep it", op="register_hook", argument="hook")
    if not same_shape(t.v.meta, g.v.meta):
        raise ShapeMismatchError(f"register_hook: the hook returned shape {t.shape}, the cotangent has {g.shape}; "
                                 "return a tensor of its shape, or None to keep it", op="register_hook",
                                 argument="hook", expected=g.shape, actual=t.shape)
    if t.v.meta.dtype != g.v.meta.dtype:
        raise DTypeMismatchError(f"register_hook: the hook returned dtype {t.dtype}, the cotangent has {g.dtype}; "
                                 "use astype()", op="register_hook", argument="hook", expected=g.dtype, actual=t.dtype)
    return t


cdef int stand_behind(EagerTensor x) except -1:
    """Put an identity node between a handle and its node."""
    cdef Node *n = node_new(&ops[<int> Op.ALIAS], 1, 0)
    n.meta = meta_ref(x.v.meta)
    n.params = NULL
    n.saved = 0
    n.hash = mix(<int> Op.ALIAS, x.node.hash)
    n.ins[0] = x.node                   # the handle's reference
    x.node = n
    return 0


def register_hook(EagerTensor self, hook):
    """Call ``hook(g)`` with the cotangent of this tensor whenever a reverse sweep reaches it.

    The hook is called once in a sweep (``backward``, ``grad``, ``vjp``), when all contributions have come; for a leaf
    before its gradient slot is added to. It may return a tensor of the same shape and dtype, which then takes the
    place of the cotangent, or None. Several hooks are called in the order of their registration, each with what the
    one before has made. When derivatives are recorded, `g` is tracked, and what the hook does with it is recorded as
    well. An exception in a hook ends the sweep and leaves every gradient slot as it was. Forward mode knows no hooks.

    Register a hook before the tensor is used. Handles from ``copy.copy`` share it. It goes with the tensor and its
    traces; if it refers to its own tensor, with the next full run of the cycle collector.

    Parameters
    ----------
    hook : callable
        ``hook(g)`` gives a tensor or None.

    Returns
    -------
    HookHandle
        ``handle.remove()`` takes the hook away; so does leaving a ``with`` block on the handle.

    Raises
    ------
    RuntimeStateError
        The tensor is not tracked.
    ValidationError
        `hook` is not callable; in a sweep, the hook has returned something of another type, shape or dtype.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable(3.0)
    >>> with x.register_hook(lambda g: 10.0 * g):
    ...     g = (x * x).backward()[x]
    >>> g
    EagerTensor(60., dtype=float64)
    """
    cdef HookHandle h
    check(self)
    if self.node == NULL or self.node.flags & CAPTURED:
        raise RuntimeStateError("register_hook: this tensor is not tracked, so that no cotangent reaches it; make it "
                                "with variable()", op="register_hook")
    if not callable(hook):
        raise ValidationError(f"register_hook: the hook must be callable, not {type(hook).__name__}",
                              op="register_hook", argument="hook")
    if self.node.flags & IS_LAZY:
        stand_behind(self)
    h = HookHandle.__new__(HookHandle)
    h.function = hook
    h.node = <size_t> self.node
    hooked.setdefault(h.node, []).append(h)
    watch_cycles()
    if not self.node.flags & HOOKED:
        self.node.flags |= HOOKED
        self.node.hash ^= OTHER_STRUCTURE
    return h


install(EagerTensor, "register_hook", register_hook)
