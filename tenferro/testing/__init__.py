"""Checks for gradient rules, also those of extensions, and for engines."""

from .gradcheck import check_grads

_LAZY = {"check_engine": "conformance", "example": "examples"}

__all__ = ["check_engine", "check_grads", "example"]


def __getattr__(name):
    """What needs every operation, loaded at first use."""
    if name not in _LAZY:
        raise AttributeError(f"module 'tenferro.testing' has no attribute {name!r}")
    from importlib import import_module
    value = globals()[name] = getattr(import_module(f".{_LAZY[name]}", __name__), name)
    return value


def __dir__():
    return __all__
