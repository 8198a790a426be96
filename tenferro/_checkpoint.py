"""Checkpoints: a function whose intermediate values are not kept but computed again when they are needed."""

import contextlib
import functools

import numpy as np

from ._core.capture import CaptureTrace
from ._core.custom import custom_op
from ._core.eager import EagerTensor
from ._core.identity import captured, capturing, identity, link, node_id, now, outer, recording, swept
from ._tree import flatten, unflatten
from .errors import RuntimeStateError, ValidationError

__all__ = ["checkpoint"]


def checkpoint(f):
    """A function that computes what `f` does and keeps its arguments instead of all between.

    When a derivative needs them, the intermediate values are computed again: memory for time, one more evaluation of
    `f` for each sweep. Derivatives of any order and of both modes are those of `f`, also with respect to tracked
    tensors that `f` refers to without having them as arguments.

    Parameters
    ----------
    f : callable
        Takes and returns containers of tensors; what is no tensor (numbers, arrays, anything) is handed on as it is. It
        must do the same every time: same operations, same tracked tensors, no random numbers of its own.

    Returns
    -------
    callable

    Raises
    ------
    RuntimeStateError
        While differentiating: `f` returned something else the second time, or used other tracked tensors. Tensors that
        change belong among its arguments.
    UnsupportedError
        More than 254 tensors are arguments, results, or tracked tensors that `f` refers to.

    Examples
    --------
    >>> import tenferro as tfr
    >>> block = tfr.checkpoint(lambda x: tfr.exp(tfr.sin(x)))
    >>> x = tfr.variable(0.0)
    >>> block(x).backward()[x].item()
    1.0
    """
    if not callable(f):
        raise ValidationError(f"checkpoint takes a function, not {type(f).__name__}", op="checkpoint", argument="f")

    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        if not recording():
            return f(*args, **kwargs)
        return Call(f, args, kwargs).results()
    return wrapped


class Call:
    """One call: how to make it again, and the outer tracked tensors that it used."""

    def __init__(self, f, args, kwargs):
        self.f = f
        self.leaves, self.structure = flatten((args, kwargs))
        self.places = [k for k, x in enumerate(self.leaves) if isinstance(x, EagerTensor)]
        self.leaves = [np.array(x) if isinstance(x, np.ndarray) else x for x in self.leaves]

    def results(self):
        """Evaluate, and record that as one operation on the arguments and the outer tensors."""
        xs = [self.leaves[k] for k in self.places]
        self.capturing = capturing()
        self.active = [x.dtype.kind in "fc" and (self.capturing or node_id(x) != 0) for x in xs]
        self.leaves = [None if isinstance(x, EagerTensor) else x for x in self.leaves]
        run = Run(self, xs)
        self.outer, self.signature = run.outer, run.signature
        values = [y.detach() for y in run.tensors]
        if self.capturing:
            xs = [identity(x)[1] if active else x for x, active in zip(xs, self.active)]
        if values and (xs or self.outer):
            operation = custom_op(lambda *_: tuple(values), vjp=self.vjp, jvp=self.jvp, name="checkpoint")
            values = operation(*xs, *self.outer)
        return run.container(values)

    def again(self, xs):
        """Evaluate again, on identity nodes of what the recorded operation was given, and check that it is the same."""
        run = Run(self, xs)
        if run.signature != self.signature:
            raise RuntimeStateError(f"checkpoint: the function returned {run.signature[1]} when evaluated again, "
                                    f"but {self.signature[1]} at first; it must do the same every time",
                                    op="checkpoint")
        if _tracked(run.outer) != _tracked(self.outer):
            raise RuntimeStateError("checkpoint: the function used other tracked tensors when it was evaluated again; "
                                    "pass those that change as arguments", op="checkpoint")
        return run

    def vjp(self, g, out, *xs):
        """Cotangents of the arguments and the outer tensors."""
        run = self.again(xs)
        found = iter(run.sweep("vjp", run.tensors, g, run.inputs + self.outer, xs))
        return (*(next(found) if active else None for active in self.active), *found)

    def jvp(self, tangents, out, *xs):
        """Tangents of the results."""
        run = self.again(xs)
        n = len(self.active)
        seeds = [t for t, active in zip(tangents, self.active) if active] + list(tangents[n:])
        return tuple(run.sweep("jvp", run.inputs + self.outer, seeds, run.tensors, xs))


def _tracked(outer):
    return {node_id(x) for x in outer if not captured(x)}


class Run:
    """One evaluation, recorded apart from the traces that its arguments belong to."""

    def __init__(self, call, xs):
        since = now()
        leaves = list(call.leaves)
        self.inputs, self.primals = [], []
        for k, x, active in zip(call.places, xs, call.active):
            leaves[k] = x.detach()
            if active:
                kept, leaves[k] = identity(leaves[k], linked=False)
                self.inputs.append(kept)
                self.primals.append(x)
        args, kwargs = unflatten(call.structure, leaves)
        with CaptureTrace() if call.capturing else contextlib.nullcontext():
            self.leaves, self.structure = flatten(call.f(*args, **kwargs))
        self.places = [k for k, y in enumerate(self.leaves) if isinstance(y, EagerTensor)]
        self.tensors = [self.leaves[k] for k in self.places]
        self.signature = self.structure, [(y.shape, y.dtype.name) for y in self.tensors]
        self.outer = outer(self.tensors[0].runtime, self.tensors, since, self.inputs) if self.tensors else []

    def container(self, values):
        """What the function returned, with other tensors."""
        for k, y in zip(self.places, values):
            self.leaves[k] = y
        return unflatten(self.structure, self.leaves)

    def sweep(self, op, ends, seeds, others, xs):
        """Derivatives from some ends to others, recorded if what the operation was given, or a seed, is."""
        pairs = [(x, s) for x, s in zip(ends, seeds) if s is not None and x.dtype.kind in "fc"]
        if not pairs or not others:
            return [None] * len(others)
        ends, seeds = (list(part) for part in zip(*pairs))
        traced = any(node_id(x) for x in (*xs, *seeds))
        outputs, wrt = (ends, others) if op == "vjp" else (others, ends)
        found = swept(ends[0].runtime, op, outputs, wrt, seeds, traced)
        if traced:                      # not before: an argument may be one of the outer tensors
            for own, x in zip(self.inputs, self.primals):
                link(own, x)
        return found
