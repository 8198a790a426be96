"""Derivatives as straight-line programs."""

from .abi cimport *
from .eager cimport EagerTensor
from .engine cimport ExecutionEngine
from .node cimport Node
from .optable cimport OpDef
from .state cimport EagerRuntime
from .sweep cimport Sweep

cdef enum:
    NONE = -1                   # the target is inactive
    ZEROS = -2                  # no cotangent arrives
    CUT = -2                    # an input that was not visited
    MAX_GROUP_IN = 16
    MAX_GROUP_OUT = 8

ctypedef struct Expected:       # what a node of a fitting trace must be
    OpDef *op
    Params *params
    Meta *meta
    int n_in
    int saved
    int flags
    int children                # where the places of its inputs start in Program.ints

ctypedef struct Input:          # a saved value
    int node
    int place                   # among the node's saved values
    int reg
    int same_as                 # an earlier input over the same memory, or -1
    Meta *meta

ctypedef struct Step:
    int op
    int n_in
    int args                    # where its registers start in Program.ints
    int out
    int reuse                   # a dying register whose memory may take the result, or -1
    int n_drops
    int drops                   # where the registers that die here start in Program.ints
    int view
    Py_ssize_t offset           # of a view's data
    Params *params
    Meta *meta                  # of the result
    int n_out                   # of a fused group: the number of its results, otherwise 0
    int outs                    # where they start in the integers: pairs (register, dying register or -1)

cdef class Program:
    cdef Expected *nodes
    cdef Input *inputs
    cdef Step *steps
    cdef int *ints
    cdef char *owned            # per register: whether a step fills it
    cdef int n_nodes, n_inputs, n_steps, n_ints, n_regs, n_constants
    cdef list seeds             # tensors with the layouts of the seeds; their registers come first
    cdef list constants         # tensors; their registers come next
    cdef list roots, targets    # places of the outputs and of the targets; -1 is none
    cdef list results           # registers; NONE, ZEROS
    cdef list leaves            # places of the leaves whose gradients the results are
    cdef list seeds_tracked
    cdef list tracked           # per result: whether it depends on tracked values
    cdef readonly Py_ssize_t nbytes
    cdef int space              # of the engine that it was made with: the constants lie there
    cdef bint unit              # made for the seed 1, by which nothing is multiplied
    cdef bint bounded           # nodes older than all targets are left out
    cdef bint expanded          # a result was differentiated again: better recorded at once

    cdef bint fits(self, Node **nodes, unsigned int mark, list outputs, list targets, list seeds)

cdef bint is_one(EagerTensor t) noexcept        # a real scalar of value 1


cdef class Prepared:
    """A program bound to the kernels of an engine, neighbouring elementwise steps fused."""
    cdef readonly Program program
    cdef kernel_t *kernels      # one per step
    cdef kernel_t *table
    cdef Step *steps            # the program's, or `fused`
    cdef int *ints
    cdef int n_steps
    cdef Step *fused            # owned
    cdef int *fused_ints
    cdef Meta **metas           # per register; borrowed from the program, set if anything is fused
    cdef readonly Py_ssize_t nbytes

    cdef list run(self, Node **nodes, EagerRuntime rt, list seeds)
    cdef int execute(self, Value *regs, ExecutionEngine engine) except -1
    cdef int execute_group(self, int i, const Value *args, Value *regs, ExecutionEngine engine) except -1

cdef Prepared prepare(Program p, object engine)
