"""An engine for tenferro that adds float64 numbers with compensation."""

from .engine import CompensatedEngine

__all__ = ["CompensatedEngine"]
