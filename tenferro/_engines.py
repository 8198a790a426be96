"""Engines by name. Plugins are looked for only when another one than ``"cpu"`` is asked for."""

import threading

from .errors import RuntimeStateError, TenferroError

_here = threading.local()


def engines():
    """Every engine that is installed, and every plugin that is broken.

    Plugins are looked for at the first call. Nothing is opened.

    Returns
    -------
    list of EngineRecord
        This distribution's engines first.

    Examples
    --------
    >>> import tenferro as tfr
    >>> [record.name for record in tfr.engines() if record.name == "cpu"]
    ['cpu']
    """
    from ._engine_lookup import records
    return records()


def engine(spec, /, **options):
    """Open an engine by name.

    Parameters
    ----------
    spec : str
        ``"cpu"``, ``"cpu-threads"`` or the name of any other engine in ``tenferro.engines()``. A colon and a value may follow:
        ``"cpu-threads:8"``. ``"distribution:name"`` chooses between distributions that offer the same name.
    **options
        For the engine; the value after the colon is short for the one that matters most.

    Returns
    -------
    ExecutionEngine
        A new one at every call, unless the engine says otherwise.

    Raises
    ------
    ValidationError
        No engine has this name, several have it, or an option is unknown.
    UnsupportedError
        The engine cannot be used here; the message says why.
    EngineError
        The plugin failed to open it; the failure is chained.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.engine("cpu").name
    'cpu'
    """
    if spec == "cpu" and not options:
        from tenferro_cpu import CpuEngine
        return CpuEngine.serial()
    from ._engine_lookup import find, opened
    return opened(*find(spec, options))


def from_environment(spec):
    """The engine that ``TENFERRO_ENGINE`` names; errors say that it does."""
    if getattr(_here, "opening", False):
        raise RuntimeStateError(f"TENFERRO_ENGINE={spec!r}: the default engine is asked for while it is being opened; a "
                                "plugin must not compute before", op="default_engine")
    _here.opening = True
    try:
        return engine(spec)
    except TenferroError as error:
        error.args = (f"TENFERRO_ENGINE={spec!r}: {error}",)
        raise
    finally:
        _here.opening = False
