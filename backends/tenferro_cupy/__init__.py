"""The engine of tenferro over CuPy. CuPy is imported when an engine is opened."""

__all__ = ["CupyEngine"]


def __getattr__(name):
    if name == "CupyEngine":
        from .engine import CupyEngine
        return CupyEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
