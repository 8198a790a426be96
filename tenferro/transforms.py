"""Function transforms: derivatives of functions of nested containers.

Every transform evaluates its function on identity nodes of the arguments and sweeps over what was recorded. An
argument that is tracked keeps its connection to the caller's trace, so transforms nest, and what a function closes
over is differentiated by the transform around it. A result that depends on nothing that the caller tracks is
untracked. Inside ``no_grad`` the transforms work, and nothing that they return is tracked.

Arguments are tensors, arrays and Python floats, or tuples, lists, dicts and named tuples of them to any depth; lists
are containers, not arrays.
"""

import functools
import operator

from ._core.eager import EagerTensor
from ._trace import Trace, check_function, filled
from ._tree import LEAF, map_tree, match, unflatten
from .errors import NonScalarGradError, ValidationError

__all__ = ["grad", "hvp", "jvp", "stop_gradient", "value_and_grad", "vjp"]


def grad(f, argnums=0, has_aux=False):
    """A function that returns the gradient of a scalar function.

    Parameters
    ----------
    f : callable
        Returns a scalar, or ``(scalar, auxiliary)`` if `has_aux`. For a complex scalar the gradient is that of its
        real part.
    argnums : int or sequence of int
        Which positional arguments to differentiate with respect to; negative numbers count from the last one. The other
        arguments, and keyword arguments, are handed on as they are.
    has_aux : bool
        Whether `f` returns a second thing that is not differentiated.

    Returns
    -------
    callable
        Takes the arguments of `f`; returns the gradient, with the structure, shapes and dtypes of the argument (a
        tuple of gradients for a sequence of `argnums`), or ``(gradient, auxiliary)``. Python floats count as float64
        scalars; where the result does not depend on the argument the gradient is zero.

    Raises
    ------
    NonScalarGradError
        The shape of the result is not ``()``.
    ValidationError
        An argument is of integers or no array (pass ``dtype=float``), `argnums` is out of range, `f` returns a
        container.
    ContextMismatchError
        Arguments belong to different runtimes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.grad(lambda x: x * x * x)(2.0).item()
    12.0
    """
    both = _both(f, argnums, has_aux, "grad")

    @functools.wraps(f)
    def gradient(*args, **kwargs):
        value, g = both(*args, **kwargs)
        return (g, value[1]) if has_aux else g
    return gradient


def value_and_grad(f, argnums=0, has_aux=False):
    """A function that returns the value and the gradient of a scalar function.

    Parameters
    ----------
    f : callable
        Returns a scalar, or ``(scalar, auxiliary)`` if `has_aux`. For a complex scalar the gradient is that of its
        real part.
    argnums : int or sequence of int
        Which positional arguments to differentiate with respect to; negative numbers count from the last one. The other
        arguments, and keyword arguments, are handed on as they are.
    has_aux : bool
        Whether `f` returns a second thing that is not differentiated.

    Returns
    -------
    callable
        Takes the arguments of `f`; returns ``(value, gradient)``, or ``((value, auxiliary), gradient)``, with the gradient
        that `grad` gives.

    Raises
    ------
    NonScalarGradError
        The shape of the result is not ``()``.
    ValidationError
        An argument is of integers or no array (pass ``dtype=float``), `argnums` is out of range, `f` returns a
        container.
    ContextMismatchError
        Arguments belong to different runtimes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> value, gradient = tfr.value_and_grad(lambda x: x * x * x)(2.0)
    >>> value.item(), gradient.item()
    (8.0, 12.0)
    """
    return _both(f, argnums, has_aux, "value_and_grad")


def _both(f, argnums, has_aux, op):
    """The function that `value_and_grad` returns; `op` is what errors name."""
    check_function(f, op)

    @functools.wraps(f)
    def both(*args, **kwargs):
        wrt = positions(argnums, len(args), op)
        trace = Trace(f, args, kwargs, wrt, op, has_aux)
        gradients = filled(trace.vjp([_seed(trace)]), trace.inputs)
        value = (trace.value(), trace.auxiliary()) if has_aux else trace.value()
        return value, by_argument(trace, argnums, gradients)
    return both


def vjp(f, *primals, has_aux=False):
    """Value of a function and its pullback (reverse mode).

    Parameters
    ----------
    f : callable
        Returns a tensor or a container of tensors, or ``(that, auxiliary)`` if `has_aux`.
    *primals : container of array_like
        Arguments of `f`.
    has_aux : bool

    Returns
    -------
    out : container of EagerTensor
    pullback : callable
        Takes a cotangent with the structure, shapes and dtypes of `out` and returns a tuple with the cotangent of every
        primal. It can be called repeatedly, and differentiated through the cotangent. None in the place of a tensor
        stands for zero.
    auxiliary
        Only if `has_aux`.

    Raises
    ------
    ValidationError
        A primal is of integers; the cotangent has another structure (the path is named), shape or dtype.

    Examples
    --------
    >>> import tenferro as tfr
    >>> out, pullback = tfr.vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> [g.item() for g in pullback(10.0)]
    [30.0, 20.0]
    """
    check_function(f, "vjp")
    trace = Trace(f, primals, {}, range(len(primals)), "vjp", has_aux)

    def pullback(cotangent):
        seeds = match(trace.out_structure, cotangent, "cotangent")
        return tuple(unflatten(trace.structure, filled(trace.vjp(seeds), trace.inputs)))
    return (trace.value(), pullback, trace.auxiliary()) if has_aux else (trace.value(), pullback)


def jvp(f, primals, tangents, has_aux=False):
    """Value of a function and its derivative along a direction (forward mode).

    Parameters
    ----------
    f : callable
        Returns a tensor or a container of tensors, or ``(that, auxiliary)`` if `has_aux`.
    primals : sequence
        Arguments of `f`.
    tangents : sequence
        One for each primal, with its structure, shapes and dtypes. None in the place of a tensor stands for zero.
    has_aux : bool

    Returns
    -------
    out, tangent : container of EagerTensor
        Both of the structure that `f` returns; the tangent of an integer result is zero.
    auxiliary
        Only if `has_aux`.

    Raises
    ------
    ValidationError
        A primal is of integers; the tangents have another structure (the path is named), shape or dtype.

    Examples
    --------
    >>> import tenferro as tfr
    >>> out, tangent = tfr.jvp(tfr.sin, (0.0,), (2.0,))
    >>> tangent.item()
    2.0
    """
    check_function(f, "jvp")
    for argument, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise ValidationError(f"jvp: {argument} is a tuple with one entry for each argument of the function, not "
                                  f"{type(given).__name__}", op="jvp", argument=argument)
    trace = Trace(f, primals, {}, range(len(primals)), "jvp", has_aux)
    found = trace.jvp(match(trace.structure, tangents, "tangents"))
    tangent = unflatten(trace.out_structure, filled(found, trace.outputs))
    return (trace.value(), tangent, trace.auxiliary()) if has_aux else (trace.value(), tangent)


def hvp(f):
    """A function that multiplies the Hessian of a scalar function by a vector.

    The gradient is differentiated forwards, at about four times the cost of `f`.

    Parameters
    ----------
    f : callable
        ``f(x, *args, **kwargs)`` returns a scalar.

    Returns
    -------
    callable
        ``product(x, v, *args, **kwargs)``; `v` has the structure, shapes and dtypes of `x`, and so has the result. For complex
        `x` it is the derivative of the gradient along `v`.

    Raises
    ------
    NonScalarGradError, ValidationError
        As `grad` and `jvp`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.hvp(lambda x: x ** 3)(2.0, 10.0).item()
    120.0
    """
    gradient = grad(f)

    def product(x, v, *args, **kwargs):
        return jvp(lambda x: gradient(x, *args, **kwargs), (x,), (v,))[1]
    return product


def stop_gradient(x):
    """The tensors of a container without their trace; no transform sees through.

    Parameters
    ----------
    x : container of EagerTensor
        What is no tensor stays.

    Returns
    -------
    container of EagerTensor
        With the structure of `x`.

    Raises
    ------
    RuntimeStateError
        A handle was consumed by `into_value`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.grad(lambda x: x * tfr.stop_gradient(x))(3.0).item()
    3.0
    """
    return map_tree(lambda leaf: leaf.detach() if isinstance(leaf, EagerTensor) else leaf, x)


# ---- shared by the transforms ----------------------------------------------------------------------------------------

def positions(argnums, n, op):
    """The positional arguments to differentiate with respect to, as numbers from 0."""
    if type(argnums) is int and 0 <= argnums < n:
        return (argnums,)
    try:
        wanted = [operator.index(k) for k in (argnums if isinstance(argnums, (tuple, list)) else (argnums,))]
    except TypeError:
        raise ValidationError(f"{op}: argnums is an int or a sequence of ints, not {argnums!r}", op=op,
                              argument="argnums") from None
    for k in wanted:
        if not -n <= k < n:
            raise ValidationError(f"{op}: argnums names argument {k}, but the function was called with {n} positional "
                                  "arguments", op=op, argument="argnums")
    wanted = [k % n for k in wanted]
    if len(set(wanted)) != len(wanted) or not wanted:
        what = "an argument twice" if wanted else "no argument"
        raise ValidationError(f"{op}: argnums {argnums!r} names {what}", op=op, argument="argnums")
    return wanted


def by_argument(trace, argnums, leaves):
    """A container with the structure of the arguments asked for."""
    parts = unflatten(trace.structure, leaves)
    return tuple(parts) if isinstance(argnums, (tuple, list)) else parts[0]


def _seed(trace):
    """The cotangent of a scalar result."""
    if trace.out_structure is not LEAF:
        raise ValidationError(f"{trace.op} needs one scalar, but the function returned a container: return one "
                              "tensor, and the rest through has_aux=True", op=trace.op, argument="f")
    y = trace.outputs[0]
    if y.shape != ():
        raise NonScalarGradError(f"{trace.op} needs a scalar of shape (), not {y.shape}; sum the result, or use vjp "
                                 "with a cotangent, or jacobian", shape=y.shape)
    if y.dtype.kind not in "fc":
        raise ValidationError(f"{trace.op} needs a floating or complex scalar, but the function returned {y.dtype}",
                              op=trace.op, argument="f")
    return 1.0
