"""Parameters and gradients as lists of tensors."""

from .._core.eager import EagerTensor
from .._core.gradients import Gradients
from .._core.handles import constant
from .._tree import flatten, match, paths, unflatten
from ..errors import DTypeMismatchError, ShapeMismatchError, ValidationError
from ..operations import PUBLIC

real, imag, sqrt, total, absolute, vecdot = (PUBLIC[name] for name in ("real", "imag", "sqrt", "sum", "abs", "vecdot"))


def tensor(x):
    """A tensor of an array-like."""
    return x if isinstance(x, EagerTensor) else constant(x)


def is_complex(t):
    return t.dtype.kind == "c"


def parameters(params, op):
    """``(tensors, structure)`` of the parameters."""
    leaves, structure = flatten(params)
    leaves = [tensor(leaf) for leaf in leaves]
    for k, leaf in enumerate(leaves):
        if leaf.dtype.kind not in "fc":
            raise ValidationError(f"{op}: params at {paths(structure)[k]} are of {leaf.dtype}, not of floating or complex "
                                  "numbers; convert them with dtype=float", op=op, argument="params")
    return leaves, structure


def gradients(grads, leaves, structure, op):
    """The gradient of each parameter, None where there is none."""
    if isinstance(grads, Gradients):
        found = [grads.get(leaf) for leaf in leaves]
    else:
        found = match(structure, grads, "grads")
    return [g if g is None or _fits(g, p) else _checked(tensor(g), p, k, structure, op)
            for k, (g, p) in enumerate(zip(found, leaves))]


def _fits(g, p):
    return type(g) is EagerTensor and g.dtype is p.dtype and g.shape == p.shape


def _checked(g, p, k, structure, op):
    if g.shape != p.shape:
        raise ShapeMismatchError(f"{op}: grads at {paths(structure)[k]} have shape {g.shape}, the parameter {p.shape}", op=op,
                                 argument="grads", expected=p.shape, actual=g.shape)
    if g.dtype != p.dtype:
        if is_complex(g) and not is_complex(p):
            raise DTypeMismatchError(f"{op}: grads at {paths(structure)[k]} are complex, the parameter is real; take their "
                                     "real part", op=op, argument="grads", expected=p.dtype, actual=g.dtype)
        return g.astype(p.dtype)
    return g


def as_variables(leaves, structure):
    """The container of new leaves, tracked."""
    return unflatten(structure, [leaf.runtime.variable_from(leaf) for leaf in leaves])


def non_negative(op, **numbers):
    for name, value in numbers.items():
        if not value >= 0:
            raise ValidationError(f"{op}: {name} is a number of at least 0, not {value!r}", op=op, argument=name)
