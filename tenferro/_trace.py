"""A function evaluated on identity nodes of its arguments, and sweeps over what was recorded."""

from ._core.eager import EagerTensor
from ._core.handles import constant
from ._core.identity import Recording, identity, node_id, now, recording, released, swept, zeros
from ._core.transfers import placed
from ._tree import flatten, paths, unflatten
from .errors import ContextMismatchError, DTypeMismatchError, ValidationError


class Trace:
    """What a transform records of ``f(*args, **kwargs)``.

    `inputs` are the identity nodes of the leaves of ``args[i]`` for i in `wrt`, `outputs` the leaves of the result as
    tensors.
    """

    def __init__(self, f, args, kwargs, wrt, op, has_aux=False):
        self.op = op
        self.quiet = not recording()
        self.since = now()
        args = list(args)
        leaves, self.structure = flatten([args[i] for i in wrt])
        self.rt = _runtime(leaves, args, op)
        self.inputs = []
        given = []
        for k, leaf in enumerate(leaves):
            kept, other = _identity(self.rt, leaf, op, self.structure, wrt, k)
            self.inputs.append(kept)
            given.append(other)
        for i, arg in zip(wrt, unflatten(self.structure, given)):
            args[i] = arg
        out, self.aux = _evaluate(f, args, kwargs, op, has_aux)
        leaves, self.out_structure = flatten(out)
        self.outputs = [_output(self.rt, leaf, op, self.out_structure, k) for k, leaf in enumerate(leaves)]
        self.values = self.release(self.outputs)
        self.outer = any(map(_tracked, self.values))

    def release(self, tensors):
        """Tensors for the caller: traced only where they depend on something that the caller tracks."""
        if self.quiet:
            return [t if t is None else t.detach() for t in tensors]
        return released(tensors, self.since, self.inputs)

    def value(self):
        """What the function returned."""
        return unflatten(self.out_structure, self.values)

    def auxiliary(self):
        """The second thing that it returned."""
        leaves, structure = flatten(self.aux)
        where = [k for k, leaf in enumerate(leaves) if isinstance(leaf, EagerTensor)]
        if not where:
            return self.aux
        for k, t in zip(where, self.release([leaves[k] for k in where])):
            leaves[k] = t
        return unflatten(structure, leaves)

    def vjp(self, cotangents, wrt=None):
        """Cotangents of the inputs, None for an exact zero; a cotangent that is None is one, too."""
        return self._sweep("vjp", self.outputs, cotangents, self.inputs if wrt is None else wrt)

    def jvp(self, tangents):
        """Tangents of the outputs, None for an exact zero; a tangent that is None is one, too."""
        return self._sweep("jvp", self.inputs, tangents, self.outputs)

    def _sweep(self, op, ends, seeds, others):
        if not all(map(_counts, ends, seeds)):
            pairs = [pair for pair in zip(ends, seeds, strict=True) if _counts(*pair)]
            ends, seeds = [x for x, _ in pairs], [s for _, s in pairs]
        if not ends or not others:
            return [None] * len(others)
        traced = not self.quiet and (self.outer or any(map(_tracked, seeds)))
        outputs, wrt = (ends, others) if op == "vjp" else (others, ends)
        found = swept(self.rt, op, outputs, wrt, seeds, traced)
        return self.release(found) if traced else found


def _counts(tensor, seed):
    return seed is not None and tensor.dtype.kind in "fc"


def _tracked(x):
    return isinstance(x, EagerTensor) and node_id(x) != 0


def check_function(f, op):
    """Raise for what is no function; a tensor is the likely mistake."""
    if not callable(f):
        raise ValidationError(f"{op} takes a function, not {type(f).__name__}; to differentiate a recorded tensor use "
                              "runtime.grad(output, wrt)", op=op, argument="f")


def filled(found, primals):
    """Zeros in the place of None."""
    return [zeros(x) if t is None else t for t, x in zip(found, primals)]


def _runtime(leaves, args, op):
    """The runtime of the tensors among the leaves, else of those among all arguments, else the ambient one (None)."""
    rt = None
    for leaf in leaves:
        if isinstance(leaf, EagerTensor):
            if rt is not None and leaf.runtime is not rt:
                raise ContextMismatchError(f"{op}: the arguments belong to different runtimes; bring them into one "
                                           "with detach_into(runtime)", lhs=rt.id, rhs=leaf.runtime.id)
            rt = leaf.runtime
    if rt is None:
        rt = next((leaf.runtime for leaf in flatten(args)[0] if isinstance(leaf, EagerTensor)), None)
    return constant(0.0).runtime if rt is None else rt


def _identity(rt, leaf, op, structure, wrt, k):
    try:
        return identity(leaf if isinstance(leaf, EagerTensor) else placed(rt.constant_from(leaf)))
    except (DTypeMismatchError, ValidationError, TypeError, ValueError) as e:
        place = f"argument {_place(structure, wrt, k)}"
        raise ValidationError(f"{op}: {place} cannot be differentiated: {e}", op=op, argument=place) from e


def _place(structure, wrt, k):
    """Number of an argument and the path in it, for an error message."""
    path = paths(structure)[k].removeprefix("$[")
    number, rest = path.split("]", 1)
    return f"{wrt[int(number)]}{' at $' + rest if rest else ''}"


def _evaluate(f, args, kwargs, op, has_aux):
    if recording():
        out = f(*args, **kwargs)
    else:
        with Recording():
            out = f(*args, **kwargs)
    if not has_aux:
        return out, None
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise ValidationError(f"{op}: with has_aux=True the function returns a pair (output, auxiliary), not "
                              f"{type(out).__name__}", op=op, argument="has_aux")
    return out


def _output(rt, leaf, op, structure, k):
    if isinstance(leaf, EagerTensor):
        if leaf.runtime is not rt:
            raise ContextMismatchError(f"{op}: the function returned a tensor of another runtime; bring it over with "
                                       "detach_into(runtime)", lhs=rt.id, rhs=leaf.runtime.id)
        return leaf
    try:
        return placed(rt.constant_from(leaf))
    except (DTypeMismatchError, TypeError, ValueError) as e:
        place = paths(structure)[k]
        raise ValidationError(f"{op}: the function's result at {place} is no tensor but {type(leaf).__name__}; return "
                              "other things through has_aux=True", op=op, argument="f") from e
