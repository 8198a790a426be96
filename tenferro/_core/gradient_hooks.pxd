"""Functions that look at cotangents on their way."""

from .eager cimport EagerTensor
from .node cimport Node

cdef EagerTensor hooked_cotangent(Node *n, EagerTensor g, bint traced)      # what the functions of a node make of g
