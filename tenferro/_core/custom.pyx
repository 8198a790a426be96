"""`custom_op`: an operation of the user's own."""

cimport cython

from .abi cimport *
from .custom_node cimport Rules, call_in, known_to, new_rules, outputs, recorded_call
from .eager cimport EagerTensor, alias, alias_in, as_operand, check, weak_scalar
from .state cimport EagerRuntime, ambient_runtime

import functools

from . import custom_rules          # no-cython-lint: registers the rules of custom operations
from ..errors import ContextMismatchError, ValidationError

cdef str REMEDY = "pass {transform}= to custom_op, or detach() its arguments"


cdef EagerRuntime runtime_of(tuple inputs):
    """That of the first eager tensor, else the ambient one."""
    for x in inputs:
        if isinstance(x, EagerTensor):
            check(<EagerTensor> x)
            return (<EagerTensor> x).rt
    return ambient_runtime()


cdef tuple operands(tuple inputs, EagerRuntime rt):
    """All inputs as tensors of one runtime; Python numbers take the dtype of the first tensor."""
    cdef list xs = []
    cdef int dtype = D_F64
    cdef EagerTensor t
    for x in inputs:
        if isinstance(x, EagerTensor):
            dtype = (<EagerTensor> x).v.meta.dtype
            break
    for x in inputs:
        if isinstance(x, EagerTensor):
            t = <EagerTensor> x
            check(t)
            if t.rt is not rt:
                raise ContextMismatchError("the operands belong to different runtimes; bring one over with "
                                           "detach_into(runtime)", lhs=rt.id, rhs=t.rt.id)
        else:
            t = weak_scalar(x, dtype)
            t = as_operand(x, rt) if t is None else alias_in(t, rt)
        xs.append(t)
    return tuple(xs)


@cython.final
cdef class Operation:
    """A function of tensors together with its rules; made by `custom_op`.

    Calling it runs the function without recording it, and records one node that has the rules.
    """
    cdef object function
    cdef Rules rules
    cdef dict __dict__

    def __init__(self, f, vjp=None, jvp=None, name=None):
        for what, g in (("f", f), ("vjp", vjp), ("jvp", jvp)):
            if not callable(g) and (g is not None or what == "f"):
                raise ValidationError(f"custom_op: {what} must be a function, not {type(g).__name__}", op="custom_op",
                                      argument=what)
        if name is not None and not isinstance(name, str):
            raise ValidationError(f"custom_op: the name must be a string, not {type(name).__name__}", op="custom_op",
                                  argument="name")
        functools.update_wrapper(self, f)
        self.function = f
        self.rules = new_rules(name or getattr(f, "__name__", type(f).__name__), vjp, jvp, REMEDY)

    @property
    def name(self):
        """The name in messages."""
        return self.rules.name

    @property
    def vjp(self):
        """The rule for reverse mode, or None."""
        return self.rules.vjp

    @property
    def jvp(self):
        """The rule for forward mode, or None."""
        return self.rules.jvp

    def __call__(self, *args, **params):
        return apply(self, args, params or None)

    def __repr__(self):
        return f"<custom operation {self.rules.name}>"


def apply(Operation operation not None, tuple inputs, dict params=None):
    """Run an operation on a tuple of tensors, numbers and arrays.

    Returns
    -------
    EagerTensor or tuple of EagerTensor
        As the operation's function returned one thing or a sequence. Tracked if an input is and recording is on.
    """
    cdef EagerRuntime rt = runtime_of(inputs)
    cdef tuple xs = operands(inputs, rt)
    cdef list values = [alias(<EagerTensor> x, NULL) for x in xs]
    result = call_in(rt, 1, operation.function, values, params)
    outs = outputs(rt, operation.rules, result)
    return recorded_call(rt, known_to(rt, operation.rules, None), params, xs, outs, isinstance(result, (tuple, list)))


def custom_op(f=None, vjp=None, jvp=None, name=None):
    """An operation with derivative rules of its own.

    `f` may compute by any means: with tensors, NumPy, or a library. It is called with untracked tensors and nothing
    that it does is recorded: what is to be differentiated must be an argument. Rules that are written with operations
    of this library (other custom operations included) can be differentiated again, to any order.

    Parameters
    ----------
    f : callable
        ``f(*args, **params)`` gives a tensor, array or number, or a tuple of them. `args` are tensors, `params` the
        keyword arguments of the call, which are not differentiated.
    vjp : callable, optional
        ``vjp(g, out, *args, **params)`` gives the cotangent of the argument, or a tuple of one for each; None is an
        exact zero. `g` is the cotangent of the output. With several outputs, `g` (whose entries may be None) and `out`
        are tuples. The rule is called once per call of the operation and sweep.
    jvp : callable, optional
        ``jvp(tangents, out, *args, **params)`` gives the tangent of the output (a tuple for several outputs).
        `tangents` is a tuple with one for each argument, None where it is zero.
    name : str, optional
        Name in messages, by default that of `f`. For a name such as ``"mylib.cube.v1"`` an `AdContext` can hold rules,
        which go before these.

    Returns
    -------
    Operation
        Takes tensors, arrays and numbers, and keyword arguments for `f` and the rules. Without `f`, a decorator.

    Raises
    ------
    ValidationError
        When a rule gives the wrong count, shape, dtype or type; the operation and what was expected are named. A
        cotangent may have a shape that the argument broadcasts to, and another floating or complex dtype: it is
        brought to those of the argument.
    UnsupportedAdRuleError
        When a rule is needed that was not given.

    Examples
    --------
    >>> import tenferro as tfr
    >>> @tfr.custom_op(vjp=lambda g, out, x: g * 3 * x**2, jvp=lambda tangents, out, x: tangents[0] * 3 * x**2)
    ... def cube(x):
    ...     return x**3
    >>> x = tfr.variable(2.0)
    >>> cube(x).backward()[x].item()
    12.0
    """
    if f is None:
        return functools.partial(custom_op, vjp=vjp, jvp=jvp, name=name)
    return Operation(f, vjp, jvp, name)
