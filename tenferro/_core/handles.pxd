"""Making and unmaking handles."""

from .eager cimport EagerTensor
from .state cimport EagerRuntime

cdef EagerTensor leaf_of(EagerTensor x)             # makes an untracked, unshared handle a tracked leaf
cdef EagerTensor untracked_alias(EagerTensor x)     # a fresh handle on the same value
cdef EagerTensor imported(EagerRuntime rt, object x, object dtype, bint copy)       # anything as a fresh untracked handle
cdef EagerRuntime home(object owner, str op)        # the runtime that a runtime or an open session imports into
