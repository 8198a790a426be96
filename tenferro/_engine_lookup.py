"""The engines that plugins offer: which there are, which one a name means, and opening it."""

import difflib
import inspect
from dataclasses import dataclass

from ._core.engine import ExecutionEngine
from .errors import EngineError, TenferroError, UnsupportedError, ValidationError
from .plugins import FOREIGN_FAILURES, canonical, discover, said, trace


@dataclass(frozen=True, kw_only=True)
class EngineRecord:
    """What is known about one engine, or about a plugin that offers none.

    Attributes
    ----------
    name : str
        The engine's name; that of the plugin, if the plugin failed or was left out.
    kind, description : str or None
        As the plugin says.
    available : bool
        Whether it can be opened here.
    reason : str or None
        Why not.
    spec : str or None
        What ``tenferro.engine`` takes for it: the name, or ``"distribution:name"`` where others offer that name too.
    conflicts : tuple of str
        The other distributions that offer an engine of this name.
    plugin, distribution, version : str
        Where it comes from.
    error : str or None
        How the plugin failed.
    """

    name: str
    kind: str | None = None
    description: str | None = None
    available: bool
    reason: str | None = None
    spec: str | None = None
    conflicts: tuple[str, ...] = ()
    plugin: str
    distribution: str
    version: str
    error: str | None = None


def _offers():
    return [(plugin, info) for plugin in discover() for info in plugin.engines]


def _availability(info):
    """Why an engine is not available, or None, and how asking failed, or None."""
    try:
        reason = info.available()
    except FOREIGN_FAILURES as error:
        text = f"available() failed: {said(error)}"
        return text, text
    if reason is None or (isinstance(reason, str) and reason):
        return reason, None
    text = f"available() returned {reason!r}, neither None nor a reason"
    return text, text


def records():
    """One record per engine, and one per plugin that offers none."""
    return [record for plugin in discover() for record in _records(plugin)]


def _records(plugin):
    origin = {"plugin": plugin.name, "distribution": plugin.distribution, "version": plugin.version}
    if plugin.skipped:
        yield EngineRecord(name=plugin.name, available=False, reason="TENFERRO_PLUGINS leaves this plugin out", **origin)
    if plugin.error:
        yield EngineRecord(name=plugin.name, available=False, reason="its plugin failed", error=plugin.error, **origin)
    for info in plugin.engines:
        reason, error = _availability(info)
        others = tuple(p.distribution for p, other in _offers() if other.name == info.name and p is not plugin)
        yield EngineRecord(name=info.name, kind=info.kind, description=info.description, available=reason is None,
                           reason=reason, spec=f"{plugin.distribution}:{info.name}" if others and not plugin.own else info.name,
                           conflicts=others, error=error, **origin)


def find(spec, options):
    """Plugin, engine and options that belong to a name, if the engine is available."""
    if not isinstance(spec, str):
        raise ValidationError(f"an engine is named by a str, not by {type(spec).__name__}", op="engine", argument="spec")
    plugin, info, value = _choose(spec)
    options = _options(info, value, options)
    reason, _ = _availability(info)
    if reason is not None:
        raise UnsupportedError(f"the engine {info.name!r} cannot be used here: {reason}", op="engine", engine=info.name)
    return plugin, info, options


def _choose(spec):
    """Plugin, engine and the value after the colon, or None."""
    head, colon, rest = spec.partition(":")
    second, second_colon, value = rest.partition(":")
    for plugin, info in _offers():
        if info.name == second and canonical(plugin.distribution) == canonical(head):
            return plugin, info, value if second_colon else None
    found = [(plugin, info) for plugin, info in _offers() if info.name == head]
    found = [pair for pair in found if pair[0].own] or found
    if len(found) > 1:
        forms = " or ".join(repr(f"{plugin.distribution}:{head}") for plugin, _ in found)
        raise ValidationError(f"several distributions offer an engine {head!r}: say {forms}", op="engine", argument="spec")
    if not found:
        raise ValidationError(_unknown(head), op="engine", argument="spec")
    return *found[0], rest if colon else None


def _unknown(name):
    """The message for a name that no engine has."""
    names = sorted({info.name for _, info in _offers()})
    close = difflib.get_close_matches(name.lower(), names, 1)
    text = f"there is no engine {name!r}"
    text += f"; did you mean {close[0]!r}?" if close else "."
    text += f" There are: {', '.join(names)}." if names else ""
    for plugin in discover():
        label = f"plugin {plugin.name!r}" + (f" of {plugin.distribution}" if plugin.distribution else "")
        if plugin.error:
            text += f" The {label} failed: {plugin.error}."
        elif plugin.skipped:
            text += f" TENFERRO_PLUGINS leaves the {label} out."
    return text


def _options(info, value, options):
    """The options of an engine, with that after the colon."""
    if value is not None:
        if info.option is None:
            raise ValidationError(f"the engine {info.name!r} takes nothing after a colon, not {value!r}", op="engine",
                                  argument="spec")
        if not value or info.option in options:
            problem = f"{info.option} is given twice" if value else f"{info.option} is missing after the colon"
            raise ValidationError(f"the engine {info.name!r}: {problem}", op="engine", argument=info.option)
        options = {**options, info.option: int(value) if value.isascii() and value.isdecimal() else value}
    try:
        signature = inspect.signature(info.open)
    except (TypeError, ValueError):     # compiled functions need not have one
        return options
    try:
        signature.bind(**options)
    except TypeError as error:
        raise ValidationError(f"the engine {info.name!r}: {error}; its options are {signature}", op="engine",
                              argument="options") from None
    return options


def opened(plugin, info, options):
    """The engine that a plugin opens, checked."""
    try:
        engine = info.open(**options)
    except (TenferroError, MemoryError):
        raise
    except FOREIGN_FAILURES as error:
        raise EngineError(f"the engine {info.name!r} of {plugin.distribution} could not be opened: {said(error)}",
                          engine=info.name) from error
    if not isinstance(engine, ExecutionEngine):
        raise EngineError(f"the plugin {plugin.name!r} of {plugin.distribution} opened {type(engine).__name__} as engine "
                          f"{info.name!r}: it has to be a tenferro.ExecutionEngine", engine=info.name)
    if engine.name.partition(":")[0] != info.name or engine.kind != info.kind:
        raise EngineError(f"the plugin {plugin.name!r} of {plugin.distribution} offers the engine {info.name!r} of kind "
                          f"{info.kind!r}, but opened {engine.name!r} of kind {engine.kind!r}", engine=info.name)
    trace(f"engine {info.name} opened{' with ' + repr(options) if options else ''}")
    return engine
