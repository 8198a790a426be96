"""Derivatives over a recorded trace: backward, grad, vjp, jvp."""

from .abi cimport *
from .eager cimport EagerTensor, alias, as_operand, check, computed_in, constant_value, scalar_like
from .memory cimport *
from .node cimport CAPTURED, IS_LEAF, Leaf, Node, node_drop
from .gradients cimport Gradients, commit, moved, slot_tensor
from .reuse cimport FORWARD, REVERSE, derive, derive_backward
from .spaces cimport by_value
from .sweep cimport one_like
from .tensor cimport Tensor
from .state cimport EagerRuntime, EagerSession, as_engine, close_session, install, open_session

from ..errors import (ContextMismatchError, DTypeMismatchError, NonScalarGradError, ShapeMismatchError, ValidationError)


# ---- arguments ---------------------------------------------------------------------------------------------------------

cdef list tensors(object x, str argument, EagerRuntime rt):
    """One tensor or a sequence of them, all of this runtime."""
    cdef list xs = list(x) if isinstance(x, (list, tuple)) else [x]
    for t in xs:
        if not isinstance(t, EagerTensor):
            raise ValidationError(f"{argument} must be an eager tensor or a sequence of them, not {type(t).__name__}",
                                  argument=argument)
        check(<EagerTensor> t)
        if (<EagerTensor> t).rt is not rt:
            raise ContextMismatchError(f"{argument} belongs to another runtime; bring it over with detach_into(runtime)",
                                       lhs=rt.id, rhs=(<EagerTensor> t).rt.id)
    return xs


cdef EagerTensor matching(object c, EagerTensor y, str argument):
    """A cotangent or tangent for y: equal shape and dtype; Python numbers and lists of them are converted, arrays copied."""
    cdef EagerTensor t
    if isinstance(c, EagerTensor):
        t = as_operand(c, y.rt)
    elif y.v.meta.rank == 0 and (type(c) is float or type(c) is int):
        t = scalar_like(y, c)
    else:
        t = constant_value(y.rt, c, -1, True)
        if t.v.buf.space != y.v.buf.space and not isinstance(c, Tensor):
            t = moved(t, y.v.buf.space)
    if not same_shape(t.v.meta, y.v.meta):
        raise ShapeMismatchError(f"the {argument} has shape {t.shape}, but its primal has {y.shape}; reshape it",
                                 argument=argument, expected=y.shape, actual=t.shape)
    if t.v.meta.dtype != y.v.meta.dtype:
        if hasattr(c, "dtype") or is_complex(t.v.meta.dtype) and not is_complex(y.v.meta.dtype):
            raise DTypeMismatchError(f"the {argument} has dtype {t.dtype}, but its primal has {y.dtype}; use astype()",
                                     argument=argument, expected=y.dtype, actual=t.dtype)
        t = computed_in(t, y.v.meta.dtype)
    return t


cdef list all_matching(object cs, object like, list ys, str argument):
    """One for each tensor: a sequence where the tensors were given as one."""
    cdef list items = [cs]
    if isinstance(like, (list, tuple)):
        if not isinstance(cs, (list, tuple)):
            raise ValidationError(f"a sequence of tensors needs a sequence of {argument}s, one for each", argument=argument)
        items = list(cs)
    if len(items) != len(ys):
        raise ValidationError(f"{len(items)} {argument}s were given for {len(ys)} tensors; give one for each",
                              argument=argument)
    return [matching(c, <EagerTensor> y, argument) for c, y in zip(items, ys)]


cdef EagerTensor unit(EagerTensor y, str op):
    """The seed of a scalar's gradient."""
    if y.v.meta.rank != 0:
        raise NonScalarGradError(f"{op} needs a scalar of shape (), not {y.shape}; sum it, or give a cotangent "
                                 "(backward_with, vjp)", shape=y.shape)
    if not is_inexact(y.v.meta.dtype):
        raise ValidationError(f"{op} needs a floating or complex scalar, not {y.dtype}", op=op, argument="output")
    return one_like(y)


cdef int place_beside(list found, list like) except -1:
    """Derivatives lie where their primal does: numbers pass between host and device by value."""
    cdef EagerTensor t, y
    cdef Py_ssize_t i
    for i in range(len(found)):
        t, y = found[i], like[i]
        if t is not None and t.v.buf.space != y.v.buf.space and (y.v.buf.space != HOST_SPACE or (
                y.node != NULL and y.node.flags & IS_LEAF and by_value(&y.v))):
            found[i] = moved(t, y.v.buf.space)
    return 0


cdef object single(list found, object like):
    return found if isinstance(like, (list, tuple)) else found[0]


cdef int all_active(list found, str op) except -1:
    for i, t in enumerate(found):
        if t is None:
            what = f"output[{i}] depends on no wrt" if op == "jvp" else f"wrt[{i}] is inactive: no output depends on it"
            raise ValidationError(f"{op}: {what} through tracked operations; use {op}_optional to get None for it",
                                  op=op, argument="wrt")
    return 0


cdef class Borrowed:
    """The engine of one call, as a session of its own."""
    cdef EagerSession s

    def __cinit__(self, EagerRuntime rt, engine):
        if engine is not None:
            self.s = open_session(rt, as_engine(engine))

    cdef int end(self) except -1:
        if self.s is not None:
            close_session(self.s)
        return 0


# ---- methods of EagerRuntime -------------------------------------------------------------------------------------------

cdef object run_vjp(EagerRuntime rt, object output, object wrt, object cotangent, object engine, str op, bint optional):
    cdef list ys = tensors(output, "output", rt), xs = tensors(wrt, "wrt", rt), cs, found
    cdef Borrowed b
    if op == "grad":
        if len(ys) != 1:
            raise ValidationError("grad takes one scalar output", op=op, argument="output")
        cs = [unit(<EagerTensor> ys[0], op)]
    else:
        cs = all_matching(cotangent, output, ys, "cotangent")
    b = Borrowed(rt, engine)
    try:
        found = derive(REVERSE, rt, ys, xs, cs)
        place_beside(found, xs)
    finally:
        b.end()
    if not optional:
        all_active(found, op)
    return single(found, wrt)


cdef object run_jvp(EagerRuntime rt, object output, object wrt, object tangent, object engine, bint optional):
    cdef list ys = tensors(output, "output", rt), xs = tensors(wrt, "wrt", rt), ts, found
    cdef Borrowed b
    ts = all_matching(tangent, wrt, xs, "tangent")
    b = Borrowed(rt, engine)
    try:
        found = derive(FORWARD, rt, ys, xs, ts)
        place_beside(found, ys)
    finally:
        b.end()
    if not optional:
        all_active(found, "jvp")
    return single(found, output)


def grad(EagerRuntime self, output, wrt, engine=None):
    """Gradient of a scalar with respect to `wrt`, as ordinary eager tensors.

    Gradient slots are not touched. The result is traced when it depends on tracked values, so it can be differentiated again.

    Parameters
    ----------
    output : EagerTensor
        Tensor of shape ``()``. A complex one gives the gradient of its real part.
    wrt : EagerTensor or sequence of EagerTensor
        Leaves or intermediate tensors.
    engine : ExecutionEngine, optional
        Engine of this call.

    Returns
    -------
    EagerTensor or list of EagerTensor
        One gradient for each `wrt`, with its shape and dtype.

    Raises
    ------
    NonScalarGradError
        The shape of the output is not ``()``.
    ContextMismatchError
        A tensor belongs to another runtime.
    UnsupportedAdRuleError
        An operation has no rule; it is named.
    ValidationError
        With ``argument="wrt"``: the output does not depend on it.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable([1.0, 2.0])
    >>> tfr.default_runtime().grad(tfr.sum(x ** 3), x)
    EagerTensor([ 3., 12.], dtype=float64, tracks_grad=True)
    """
    return run_vjp(self, output, wrt, None, engine, "grad", False)


def grad_optional(EagerRuntime self, output, wrt, engine=None):
    """The same as `grad`, with None for each `wrt` that the output does not depend on.

    Parameters
    ----------
    output : EagerTensor
        Tensor of shape ``()``. A complex one gives the gradient of its real part.
    wrt : EagerTensor or sequence of EagerTensor
        Leaves or intermediate tensors.
    engine : ExecutionEngine, optional
        Engine of this call.

    Returns
    -------
    EagerTensor, None or list of these
        One gradient for each `wrt`, with its shape and dtype.

    Raises
    ------
    NonScalarGradError
        The shape of the output is not ``()``.
    ContextMismatchError
        A tensor belongs to another runtime.
    UnsupportedAdRuleError
        An operation has no rule; it is named.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x, y = tfr.variable(2.0), tfr.variable(3.0)
    >>> tfr.default_runtime().grad_optional(x * x, [x, y])
    [EagerTensor(4., dtype=float64, tracks_grad=True), None]
    """
    return run_vjp(self, output, wrt, None, engine, "grad", True)


def vjp(EagerRuntime self, output, wrt, cotangent, engine=None):
    """Vector-Jacobian product: reverse mode for outputs of any shape.

    Parameters
    ----------
    output : EagerTensor or sequence of EagerTensor
        Of any shape.
    wrt : EagerTensor or sequence of EagerTensor
        Leaves or intermediate tensors.
    cotangent : array_like or sequence
        One for each output, of its shape and dtype. The result can be differentiated through it.
    engine : ExecutionEngine, optional
        Engine of this call.

    Returns
    -------
    EagerTensor or list of EagerTensor
        One cotangent for each `wrt`.

    Raises
    ------
    ValidationError
        A cotangent has not the shape or dtype of its output; no output depends on a `wrt`.
    ContextMismatchError
        A tensor belongs to another runtime.
    UnsupportedAdRuleError
        An operation has no rule; it is named.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable([1.0, 2.0])
    >>> tfr.default_runtime().vjp(x * x, x, [1.0, 10.0])
    EagerTensor([ 2., 40.], dtype=float64, tracks_grad=True)
    """
    return run_vjp(self, output, wrt, cotangent, engine, "vjp", False)


def vjp_optional(EagerRuntime self, output, wrt, cotangent, engine=None):
    """The same as `vjp`, with None for each `wrt` that no output depends on.

    Parameters
    ----------
    output : EagerTensor or sequence of EagerTensor
        Of any shape.
    wrt : EagerTensor or sequence of EagerTensor
        Leaves or intermediate tensors.
    cotangent : array_like or sequence
        One for each output, of its shape and dtype. The result can be differentiated through it.
    engine : ExecutionEngine, optional
        Engine of this call.

    Returns
    -------
    EagerTensor, None or list of these
        One cotangent for each `wrt`.

    Raises
    ------
    ValidationError
        A cotangent has not the shape or dtype of its output; no output depends on a `wrt`.
    ContextMismatchError
        A tensor belongs to another runtime.
    UnsupportedAdRuleError
        An operation has no rule; it is named.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x, y = tfr.variable(2.0), tfr.variable(3.0)
    >>> tfr.default_runtime().vjp_optional(x * x, [x, y], 10.0)
    [EagerTensor(40., dtype=float64, tracks_grad=True), None]
    """
    return run_vjp(self, output, wrt, cotangent, engine, "vjp", True)


def jvp(EagerRuntime self, output, wrt, tangent, engine=None):
    """Jacobian-vector product: forward mode over the recorded trace.

    Parameters
    ----------
    output : EagerTensor or sequence of EagerTensor
        Of any shape.
    wrt : EagerTensor or sequence of EagerTensor
        Leaves or intermediate tensors.
    tangent : array_like or sequence
        One for each `wrt`, of its shape and dtype. The result can be differentiated through it.
    engine : ExecutionEngine, optional
        Engine of this call.

    Returns
    -------
    EagerTensor or list of EagerTensor
        One tangent for each output.

    Raises
    ------
    ValidationError
        A tangent has not the shape or dtype of its `wrt`; an output depends on no `wrt`.
    ContextMismatchError
        A tensor belongs to another runtime.
    UnsupportedAdRuleError
        An operation has no rule; it is named.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable([1.0, 2.0])
    >>> tfr.default_runtime().jvp(x * x, x, [1.0, 10.0])
    EagerTensor([ 2., 40.], dtype=float64, tracks_grad=True)
    """
    return run_jvp(self, output, wrt, tangent, engine, False)


def jvp_optional(EagerRuntime self, output, wrt, tangent, engine=None):
    """The same as `jvp`, with None for each output that depends on no `wrt`.

    Parameters
    ----------
    output : EagerTensor or sequence of EagerTensor
        Of any shape.
    wrt : EagerTensor or sequence of EagerTensor
        Leaves or intermediate tensors.
    tangent : array_like or sequence
        One for each `wrt`, of its shape and dtype. The result can be differentiated through it.
    engine : ExecutionEngine, optional
        Engine of this call.

    Returns
    -------
    EagerTensor, None or list of these
        One tangent for each output.

    Raises
    ------
    ValidationError
        A tangent has not the shape or dtype of its `wrt`; an output depends on no `wrt`.
    ContextMismatchError
        A tensor belongs to another runtime.
    UnsupportedAdRuleError
        An operation has no rule; it is named.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x, y = tfr.variable(2.0), tfr.variable(3.0)
    >>> tfr.default_runtime().jvp_optional([x * x, y * y], x, 1.0)
    [EagerTensor(4., dtype=float64, tracks_grad=True), None]
    """
    return run_jvp(self, output, wrt, tangent, engine, True)


# ---- methods of EagerTensor --------------------------------------------------------------------------------------------

cdef Gradients run_backward(EagerTensor y, EagerTensor seed):
    """Sweep from y, then commit to the slots of all reached leaves at once."""
    cdef Node *root = y.node
    root.refs += 1                      # other code may rebind the handle meanwhile
    try:
        leaves, grads = derive_backward(y.rt, root, seed)
        return commit(y.rt, leaves, grads)
    finally:
        node_drop(root)


cdef Gradients swept(EagerTensor y, EagerTensor seed, object engine):
    cdef Borrowed b
    if y.node == NULL or y.node.flags & CAPTURED:
        raise ValidationError("backward needs a tracked tensor; make its inputs with variable()", op="backward",
                              argument="output")
    b = Borrowed(y.rt, engine)
    try:
        return run_backward(y, seed)
    finally:
        b.end()


def backward(EagerTensor self, engine=None):
    """Reverse sweep from a scalar; accumulates into the gradient slot of every reachable tracked leaf.

    All or nothing: when it raises, every slot is as it was.

    Parameters
    ----------
    engine : ExecutionEngine, optional
        Engine of this call.

    Returns
    -------
    Gradients
        Mapping from leaf to the gradient of this sweep.

    Raises
    ------
    NonScalarGradError
        The shape is not ``()``; use `backward_with`.
    UnsupportedAdRuleError
        An operation has no rule; it is named.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable(3.0)
    >>> grads = (x * x).backward()
    >>> x.grad
    EagerTensor(6., dtype=float64)
    """
    check(self)
    return swept(self, unit(self, "backward"), engine)


def backward_with(EagerTensor self, cotangent, engine=None):
    """Reverse sweep from any shape; accumulates into the gradient slot of every reachable tracked leaf.

    All or nothing: when it raises, every slot is as it was.

    Parameters
    ----------
    cotangent : array_like
        Of this tensor's shape and dtype.
    engine : ExecutionEngine, optional
        Engine of this call.

    Returns
    -------
    Gradients
        Mapping from leaf to the gradient of this sweep.

    Raises
    ------
    ValidationError
        The cotangent has another shape or dtype.
    ContextMismatchError
        The cotangent belongs to another runtime.
    UnsupportedAdRuleError
        An operation has no rule; it is named.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable([1.0, 2.0])
    >>> (x * x).backward_with([1.0, 10.0])[x]
    EagerTensor([ 2., 40.], dtype=float64)
    """
    check(self)
    return swept(self, alias(matching(cotangent, self, "cotangent"), NULL), engine)


def clear_grad(EagerTensor self):
    """Set this tensor's gradient slot back to None.

    Returns
    -------
    None

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable(3.0)
    >>> grads = (x * x).backward()
    >>> x.clear_grad()
    >>> x.grad is None
    True
    """
    check(self)
    if self.node != NULL and self.node.flags & IS_LEAF:
        value_drop(&(<Leaf *> self.node).grad)


def get_grad_(EagerTensor self):
    """Accumulated gradient, an untracked snapshot; None until a sweep reaches this leaf."""
    check(self)
    if self.node == NULL or not self.node.flags & IS_LEAF:
        return None
    return slot_tensor(<Leaf *> self.node, self.rt)


for _f in (grad, grad_optional, vjp, vjp_optional, jvp, jvp_optional):
    install(EagerRuntime, _f.__name__, _f)
for _f in (backward, backward_with, clear_grad):
    install(EagerTensor, _f.__name__, _f)
install(EagerTensor, "grad", property(get_grad_))
