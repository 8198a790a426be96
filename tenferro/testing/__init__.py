"""Checks for gradient rules, also those of extensions."""

from .gradcheck import check_grads

__all__ = ["check_grads"]
