"""Linear algebra by cuSOLVER and cuBLAS: the operations of ``tenferro.linalg``."""

EXECUTORS = {}
