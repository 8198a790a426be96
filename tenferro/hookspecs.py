"""The contract of plugins: what an installed distribution tells this library.

A distribution names a module or an object of its own in the entry-point group ``tenferro.backends``. It is imported when
somebody asks for engines, not before, and has to be light: whatever is heavy is imported by ``EngineInfo.open``. In it,
functions that are marked with `hookimpl` and named like the functions below are called.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pluggy

from ._core.engine import ExecutionEngine
from .errors import ValidationError

__all__ = ["GROUP", "PROJECT", "EngineInfo", "hookimpl", "hookspec", "tenferro_engines"]

PROJECT = "tenferro"
"""Name of the project whose markers these are."""

GROUP = "tenferro.backends"
"""The entry-point group of plugins."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin as the implementation of the hook of its name."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?")


def _always():
    return None


@dataclass(frozen=True, kw_only=True)
class EngineInfo:
    """An engine that a plugin offers.

    Parameters
    ----------
    name : str
        What users call it: lower-case letters, digits, ``.``, ``_`` and ``-``. The engine's own ``name`` is this, or this with
        a colon and more behind it.
    kind : str
        The engine's ``kind``, that of its memory: ``"host"`` for whatever computes on host memory.
    description : str
        One line for lists.
    open : callable
        ``open(**options)`` returns an ``ExecutionEngine``. Whatever is heavy is imported here. Options have defaults.
    option : str, optional
        The option of `open` that is set by what follows a colon: with ``option="device"``, ``tenferro.engine("name:1")`` is
        ``open(device=1)``. A decimal number comes as an int, anything else as a str.
    available : callable, optional
        ``available()`` returns None, or in one sentence why the engine cannot be opened here. It is called whenever
        somebody asks, so it is quick and does not raise.

    Raises
    ------
    ValidationError
        A field is not what it has to be.

    Examples
    --------
    >>> import tenferro as tfr
    >>> from tenferro.hookspecs import EngineInfo
    >>> info = EngineInfo(name="mine", kind="host", description="My engine.", open=lambda: tfr.ExecutionEngine("mine"))
    >>> info.open().name
    'mine'
    """

    name: str
    kind: str
    description: str
    open: Callable[..., ExecutionEngine]
    option: str | None = None
    available: Callable[[], str | None] = _always

    def __post_init__(self):
        def need(condition, argument, what):
            if not condition:
                raise ValidationError(f"EngineInfo.{argument} is {what}, not {getattr(self, argument)!r}", op="EngineInfo",
                                      argument=argument)

        need(isinstance(self.name, str) and _NAME.fullmatch(self.name), "name", "lower-case letters, digits, '.', '_', '-'")
        for field in ("kind", "description"):
            value = getattr(self, field)
            need(isinstance(value, str) and value and value.isprintable(), field, "one line of text")
        need(self.option is None or (isinstance(self.option, str) and self.option.isidentifier()), "option", "a keyword")
        for field in ("open", "available"):
            need(callable(getattr(self, field)), field, "a function")


@hookspec
def tenferro_engines() -> Iterable[EngineInfo]:
    """The engines that this plugin offers, whether or not they can be opened here.

    Called once per process, when somebody first asks for engines other than ``"cpu"``; again after
    ``tenferro.plugins.forget()``. It neither imports anything heavy nor looks for devices.

    Returns
    -------
    iterable of EngineInfo
        Their names differ.

    Raises
    ------
    NotImplementedError
        The specification itself was called.

    Examples
    --------
    >>> import tenferro as tfr
    >>> from tenferro.hookspecs import EngineInfo, hookimpl
    >>> @hookimpl
    ... def tenferro_engines():
    ...     return [EngineInfo(name="mine", kind="host", description="My engine.", open=lambda: tfr.ExecutionEngine("mine"))]
    >>> tenferro_engines()[0].name
    'mine'
    """
    raise NotImplementedError


def __dir__():
    return __all__
