"""Calls of operations that bring their own rules."""

from .eager cimport EagerTensor
from .state cimport EagerRuntime

cdef EagerRuntime runtime_of(tuple inputs)
cdef tuple operands(tuple inputs, EagerRuntime rt)      # as tensors of one runtime
