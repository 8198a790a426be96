"""The engine: what the array API standard says of PyTorch, with one method of its own."""

import torch

from tenferro import NamespaceEngine


class TorchEngine(NamespaceEngine):
    """Engine on host memory that computes with PyTorch's CPU kernels.

    ``logsumexp`` is one function of PyTorch instead of the several that the standard needs.
    """

    xp = torch
    name = "torch"

    def logsumexp(self, x, *, axes, keepdims):
        """``torch.logsumexp``, which takes no empty ``axes``."""
        return torch.logsumexp(x, axes, keepdims) if axes else NotImplemented
