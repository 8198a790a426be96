"""An engine for tenferro that computes with PyTorch on the CPU. Importing ``tenferro_torch.engine`` imports PyTorch."""
