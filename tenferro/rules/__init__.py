"""Gradient rules: VJP and JVP side by side, one module per family."""

from importlib import import_module

FAMILIES = ("arithmetic", "analytic", "select", "reduce", "scan", "structure", "index", "contraction")


def load():
    """Register the rules of every family."""
    for family in FAMILIES:
        import_module(f"{__name__}.{family}")
