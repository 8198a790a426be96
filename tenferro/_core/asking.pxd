"""What operations whose results depend on values ask of a device's engine."""

from .abi cimport *
from .eager cimport EagerTensor

cdef object asked(str method, EagerTensor x, tuple more, dict words)    # untracked int64 tensors, or a tuple of them
