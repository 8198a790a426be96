"""The CPU engines of tenferro."""

from .engine import CpuEngine

__all__ = ["CpuEngine"]
