"""Nodes of operations that bring their own rules."""

from .abi cimport *
from .eager cimport EagerTensor
from .node cimport Node
from .state cimport EagerRuntime

cdef class Rules:
    """How one operation is differentiated; never changed, so that a node keeps what it was recorded with."""
    cdef readonly str name
    cdef readonly object vjp, jvp       # None where there is no rule
    cdef readonly str remedy            # what to do then, "{transform}" standing for the missing rule

cdef class Record:
    """What a node keeps beside its values: the payload of Op.CUSTOM and Op.CUSTOM_OUTPUT."""
    cdef readonly Rules rules
    cdef readonly dict params           # keyword arguments of the call, or None
    cdef int n_out                      # results of the call; -1: one that is no tuple
    cdef int index                      # which of them, for Op.CUSTOM_OUTPUT
    cdef Record call                    # then also that of the call, whose node only borrows it

cdef Rules new_rules(str name, object vjp, object jvp, str remedy)
cdef Rules known_to(EagerRuntime rt, Rules rules, str family)
cdef Record record_of(Node *n)          # None for a node of another operation
cdef Node *output_node(Node *call, Record record, int index, EagerTensor y) except NULL
cdef tuple outputs(EagerRuntime rt, Rules rules, object result)
cdef object recorded_call(EagerRuntime rt, Rules rules, dict params, tuple xs, tuple outs, bint several)
cdef EagerTensor converted(EagerRuntime rt, str name, object x, str what, int dtype, bint sole)
cdef tuple dims_of(const Meta *m)
cdef object call_in(EagerRuntime rt, int no_grad, object f, object args, dict params)
