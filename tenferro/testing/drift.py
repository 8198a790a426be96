"""Whether engines keep to the operations that there are."""

import inspect

from .._core.optable import Op
from ..operations import PUBLIC

OPERATIONS = {*PUBLIC, *(op.name.lower() for op in Op)}
"""Every name under which an operation is known."""


def _shape(function):
    """Names, kinds and defaults of parameters, or None for a function that does not tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [(p.name, p.kind, p.default) for p in parameters if p.name != "self"]


def library_base(engine):
    """The class of this library that an engine's class is made from."""
    return next(c for c in type(engine).__mro__ if c.__module__.startswith("tenferro."))


def drift(engine, base=None):
    """How the class of an engine departs from its base class.

    An engine computes the operations of the table, with the signatures of the base class. It neither adds one, nor changes what
    one is called with: programs would run on that engine alone.

    Parameters
    ----------
    engine : ExecutionEngine
        The engine.
    base : type, optional
        The class that says what engines have, by default the nearest base class that this library has.

    Returns
    -------
    list of str
        One line per departure.
    """
    base, found = base or library_base(engine), []
    for name in sorted(n for n in dir(type(engine)) if not n.startswith("_")):
        own, common = getattr(type(engine), name), getattr(base, name, None)
        if own is common or not callable(own):
            continue
        if common is None:
            if name in OPERATIONS:
                found.append(f"{name}: an operation that {base.__name__} does not have as a method")
        elif _shape(own) != _shape(common):
            found.append(f"{name}: the signature differs from that of {base.__name__}")
    return found
