"""Finding plugins: the entry points of the group ``tenferro.backends``, each loaded by itself.

Nothing here runs before somebody asks for engines. A plugin that fails is listed with its error and breaks nothing else.
``TENFERRO_PLUGINS`` and ``TENFERRO_TRACE_PLUGINS`` are read when plugins are looked for.
"""

import os
import re
import sys
import threading
import time
import traceback
from dataclasses import dataclass, replace
from importlib import metadata

import pluggy

from . import __version__, hookspecs
from .errors import RuntimeStateError, ValidationError
from .hookspecs import GROUP, PROJECT, EngineInfo

__all__ = ["Plugin", "discover", "forget"]


def __dir__():
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


OWN = {"cpu": "tenferro_cpu.plugin", "cupy": "tenferro_cupy.plugin"}
"""The entry points of this distribution, for a source tree that is used without being installed."""

FOREIGN_FAILURES = (Exception, SystemExit)
"""What code of a plugin may raise without consequences for anybody else."""

_known = None
_here = threading.local()


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A plugin as it was found.

    Parameters
    ----------
    name, value : str
        The entry point's.
    distribution, version : str
        Where it comes from; empty when that cannot be read.
    engines : tuple of EngineInfo
        What it offers.
    seconds : float
        How long importing and asking took.
    skipped : bool
        Whether ``TENFERRO_PLUGINS`` leaves it out, so that it was not imported.
    error : str, optional
        Why it offers nothing.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.plugins.discover()[0].own
    True

    Attributes
    ----------
    name, value : str
        The entry point's.
    distribution, version : str
        Where it comes from; empty when that cannot be read.
    engines : tuple of EngineInfo
        What it offers.
    seconds : float
        How long importing and asking took.
    skipped : bool
        Whether ``TENFERRO_PLUGINS`` leaves it out, so that it was not imported.
    error : str or None
        Why it offers nothing.
    """

    name: str
    value: str = ""
    distribution: str = ""
    version: str = ""
    engines: tuple[EngineInfo, ...] = ()
    seconds: float = 0.0
    skipped: bool = False
    error: str | None = None

    @property
    def own(self):
        """Whether it belongs to this distribution."""
        return canonical(self.distribution) == PROJECT


def canonical(name):
    """The name of a distribution as packaging tools compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def said(error):
    """An exception in one line or more."""
    return f"{type(error).__name__}: {error}"


def trace(text):
    """Tell what happens, if ``TENFERRO_TRACE_PLUGINS`` asks for it."""
    if os.environ.get("TENFERRO_TRACE_PLUGINS", "0") not in ("", "0"):
        sys.stderr.write(f"tenferro plugins: {text}\n")


def discover():
    """Every plugin that is installed, this distribution's first.

    Returns
    -------
    tuple of Plugin
        Looked for once per process; ``forget()`` makes the next call look again.

    Raises
    ------
    RuntimeStateError
        A plugin asks for engines while it is imported or asked itself.

    Examples
    --------
    >>> import tenferro as tfr
    >>> [info.name for info in tfr.plugins.discover()[0].engines]
    ['cpu', 'cpu-threads']
    """
    global _known
    if _known is None:
        if getattr(_here, "looking", False):
            raise RuntimeStateError("plugins are being looked for: a plugin must not ask for engines while it is imported or "
                                    "names its own", op="discover")
        _here.looking = True
        try:
            found = _discover()
        finally:
            _here.looking = False
        _known = found      # no lock is held while foreign code runs; of two threads that look at once, the last one wins
    return _known


def forget():
    """Let the next call look for plugins again, for example after one was installed.

    Returns
    -------
    None

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.plugins.forget()
    >>> tfr.plugins.discover()[0].name
    'cpu'
    """
    global _known
    _known = None


def _discover():
    start = time.perf_counter()
    entries = sorted(_installed(), key=lambda item: (not item[0].own, canonical(item[0].distribution), item[0].name))
    trace(f"entry points of group {GROUP}: {len(entries)}, found in {1000 * (time.perf_counter() - start):.1f} ms")
    entries, misspelt = _restricted(entries)
    return tuple(_without_repeats([_loaded(plugin, entry) for plugin, entry in entries] + misspelt))


def _installed():
    """Pairs of plugin and entry point; that of a distribution that cannot be read is None."""
    found, seen = [], set()
    for distribution in metadata.distributions():
        try:
            text = distribution.read_text("entry_points.txt")
            if not text or GROUP not in text:
                continue
            name, version = distribution.metadata["Name"] or "", distribution.metadata["Version"] or ""
            if canonical(name) in seen or (name and metadata.distribution(name).read_text("entry_points.txt") != text):
                continue        # another one of this name is earlier on the path
            seen.add(canonical(name))
            origin = {"distribution": name, "version": version}
            found += [(Plugin(name=e.name, value=e.value, **origin), e) for e in distribution.entry_points if e.group == GROUP]
        except FOREIGN_FAILURES as error:
            place = str(getattr(distribution, "_path", distribution))
            found.append((Plugin(name=place, error=f"its metadata cannot be read: {said(error)}"), None))
    if PROJECT not in seen:
        found += [(Plugin(name=name, value=value, distribution=PROJECT, version=__version__),
                   metadata.EntryPoint(name, value, GROUP)) for name, value in OWN.items()]
    return found


def _restricted(entries):
    """Leave out what ``TENFERRO_PLUGINS`` does not name; this distribution's own plugins stay."""
    text = os.environ.get("TENFERRO_PLUGINS")
    if text is None:
        return entries, []
    wanted = {canonical(name.strip()): name.strip() for name in text.split(",") if name.strip()}
    known, kept = set(), []
    for plugin, entry in entries:
        names = {canonical(plugin.distribution), canonical(plugin.name)}
        known |= names
        kept.append((plugin if plugin.own or names & wanted.keys() else replace(plugin, skipped=True), entry))
    return kept, [Plugin(name=name, error="TENFERRO_PLUGINS names it, but no installed distribution or plugin is called so")
                  for key, name in wanted.items() if key not in known]


def _loaded(plugin, entry):
    label = f"{plugin.name} = {plugin.value} ({plugin.distribution} {plugin.version})"
    if plugin.skipped:
        trace(f"{label}: left out by TENFERRO_PLUGINS")
    if plugin.skipped or plugin.error:
        return plugin
    start = time.perf_counter()
    try:
        plugin = replace(plugin, engines=_offers(entry.load(), plugin.name))
        outcome = f"engines {', '.join(info.name for info in plugin.engines) or 'none'}"
    except FOREIGN_FAILURES as error:
        plugin = replace(plugin, error=said(error))
        outcome = "failed\n" + traceback.format_exc().rstrip()
    seconds = time.perf_counter() - start
    trace(f"{label}: {1000 * seconds:.1f} ms, {outcome}")
    return replace(plugin, seconds=seconds)


def _offers(plugin, name):
    """The engines of one plugin, asked through a manager of its own."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin, name)
    manager.check_pending()
    if not manager.get_hookcallers(plugin):
        raise ValidationError(f"{plugin!r} implements no hook: mark a function named like one of tenferro.hookspecs with "
                              "tenferro.hookspecs.hookimpl", op="discover")
    answers = manager.hook.tenferro_engines() or [None]     # pluggy drops None
    offered = tuple(info for answer in answers for info in _checked(answer))
    names = [info.name for info in offered]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ValidationError(f"tenferro_engines() offers {', '.join(map(repr, twice))} twice", op="tenferro_engines")
    return offered


def _checked(answer):
    iterable = hasattr(answer, "__iter__")
    infos = list(answer) if iterable else []
    wrong = [type(info).__name__ for info in infos if not isinstance(info, EngineInfo)]
    if wrong or not iterable:
        raise TypeError("tenferro_engines() returns an iterable of tenferro.hookspecs.EngineInfo, not "
                        + (f"{type(answer).__name__} with {wrong[0]}" if wrong else type(answer).__name__))
    return infos


def _without_repeats(plugins):
    """Refuse a plugin that offers a name again that another one of its distribution offers."""
    taken = {}
    for plugin in plugins:
        keys = [(canonical(plugin.distribution), info.name) for info in plugin.engines]
        again = next((key for key in keys if key in taken), None)
        if again is None:
            taken.update(dict.fromkeys(keys, plugin.name))
            yield plugin
        else:
            yield replace(plugin, engines=(), error=f"the plugin {taken[again]!r} of the same distribution already offers an "
                                                    f"engine {again[1]!r}")
