"""Making and unmaking handles."""

from .eager cimport EagerTensor

cdef EagerTensor leaf_of(EagerTensor x)             # makes an untracked, unshared handle a tracked leaf
cdef EagerTensor untracked_alias(EagerTensor x)     # a fresh handle on the same value
