"""What gradient rules are written against."""

from .abi cimport *
from .eager cimport EagerTensor
from .node cimport Node
from .optable cimport OpDef
from .state cimport EagerRuntime

cdef class Ctx:
    """One node during a sweep: its saved values as tensors, its parameters, the argument at hand."""
    cdef Node *node
    cdef EagerRuntime rt
    cdef bint traced            # saved values carry their nodes, so that what a rule computes is recorded
    cdef int i                  # the argument for which a cotangent is asked, or whose tangent is given
    cdef list tangents          # of all inputs of a custom operation, whose rule takes them together
    cdef dict copies            # while a program is being made: private copies of constants that the library shares
    cdef list again             # while a program is being made: nodes whose values were computed again
    cdef dict pending           # what a custom operation's rule has given or been given beside the value at hand

    cdef EagerTensor arg(self, int k)       # value of input k
    cdef EagerTensor out(self)              # value of the output
    cdef Meta *meta(self, int k)            # of input k, which must be tracked
    cdef Py_ssize_t *params(self)

# The cotangent of argument c.i from that of the output; the tangent of the output that comes from that of argument c.i;
# the local derivative of a holomorphic elementwise function. None is an exact zero.
ctypedef EagerTensor (*rule_t)(Ctx c, EagerTensor g)
ctypedef EagerTensor (*local_t)(Ctx c)

cdef int rule(int op, int arg, rule_t vjp, rule_t jvp, int needs) except -1
cdef int derivative(int op, int arg, local_t d, int needs) except -1
cdef EagerTensor apply_vjp(Ctx c, EagerTensor g)
cdef EagerTensor apply_jvp(Ctx c, EagerTensor t)
