"""What tenferro learns about this distribution; imports neither the engine nor PyTorch."""

from importlib.util import find_spec

from tenferro.hookspecs import EngineInfo, hookimpl

NEEDED = {"torch": "torch", "array_api_compat": "array-api-compat"}
"""Modules that the engine imports, and the distributions that have them."""


def _installed(module):
    return getattr(find_spec(module), "origin", None) is not None       # a mere folder of that name has no origin


def _available():
    missing = [name for module, name in NEEDED.items() if not _installed(module)]
    return f"not installed: {', '.join(missing)}; run pip install {' '.join(missing)}" if missing else None


def _open():
    from .engine import TorchEngine
    return TorchEngine()


@hookimpl
def tenferro_engines():
    return [EngineInfo(name="torch", kind="host", description="PyTorch's CPU kernels", open=_open, available=_available)]
