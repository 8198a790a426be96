"""History, progress bar and callbacks of a run."""

import inspect
from importlib import import_module

import numpy as np


class Watch:
    """Values of the objective in the order of evaluation, with a bar of tqdm's if asked for."""

    def __init__(self, op, progress):
        self.values = []
        self.bar = _bar(op) if progress else None

    def note(self, value):
        self.values.append(value)
        if self.bar is not None:
            self.bar.set_postfix_str(f"objective {value:.6g}", refresh=False)
            self.bar.update()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()


def _bar(op):
    try:
        tqdm = import_module("tqdm").tqdm
    except ImportError:
        raise ImportError(f"{op}: progress=True needs tqdm; install it, or leave progress out") from None
    return tqdm(desc=op, unit=" evaluations")


def finished(result, function, watch):
    """SciPy's result, with its vector as a container."""
    result.history = np.array(watch.values)
    result.x_flat = result.x
    result.x = function.space.restore(result.x)
    if function.has_aux:
        function.watch = None
        result.aux = function.auxiliary(result.x_flat)
    return result


def on_containers(callback, space):
    """A callback that gets containers where SciPy has vectors."""
    if callback is None:
        return None

    def of_result(intermediate_result):
        given = type(intermediate_result)(intermediate_result)
        given.x_flat, given.x = np.copy(given.x), space.restore(given.x)
        return callback(intermediate_result=given)

    def of_vector(x, *rest):
        return callback(space.restore(x), *rest)
    return of_result if _takes_result(callback) else of_vector


def _takes_result(callback):
    try:
        return set(inspect.signature(callback).parameters) == {"intermediate_result"}
    except (TypeError, ValueError):
        return False
