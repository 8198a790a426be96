"""Nodes of the trace. Every function here needs the GIL."""

from .abi cimport *
from .memory cimport *
from .optable cimport OpDef

cdef enum:              # Node.flags
    IS_LEAF = 1
    CAPTURED = 2        # recorded by capture_trace only
    IS_LAZY = 4         # result of a derivative program, recorded in full only when it is differentiated
    HOOKED = 8          # functions look at its cotangent

cdef dict hooked        # address of a hooked node -> the list of its functions

ctypedef struct Node:
    Py_ssize_t refs
    unsigned long long seq      # order of recording
    OpDef *op
    Meta *meta                  # of the output
    Params *params
    unsigned int sweep          # the sweep that has visited this node last, and the node's place in it
    unsigned int slot
    unsigned char n_in
    unsigned char n_saved
    unsigned char saved         # bits of OpDef.needs: which values follow the edges
    unsigned char flags
    unsigned int hash           # of the operations that lead here; equal structures have equal hashes
    Node *ins[1]                # edges; NULL for what is not tracked; then the saved values

ctypedef struct Leaf:
    Node node
    Value value
    Value grad                  # grad.meta is NULL while there is none
    Leaf *prev                  # live leaves of one runtime
    Leaf *next
    PyObject *handles           # the eager tensors that stand for this leaf, linked through `next_handle`

cdef Buffer deferred            # stands for the memory of values that are computed again

cdef Node *node_new(OpDef *op, int n_in, int n_saved) except NULL
cdef Leaf *leaf_new(const Value *value) except NULL
cdef void node_kill(Node *n) noexcept
cdef unsigned long long recorded() noexcept
cdef unsigned long long reserve(unsigned long long n) noexcept      # first of n places in the order of recording

cdef inline unsigned int mix(unsigned int h, unsigned int x) noexcept:
    return h * <unsigned int> 2654435761U + x

cdef inline void node_drop(Node *n) noexcept:
    if n != NULL:
        n.refs -= 1
        if n.refs == 0:
            node_kill(n)

cdef inline Value *saved_values(Node *n) noexcept:
    return <Value *> (n.ins + n.n_in)

cdef inline Value *saved_value(Node *n, int bit) noexcept:
    """Where the value of one bit of OpDef.needs is kept, or NULL."""
    cdef unsigned int below = n.saved & (bit - 1)
    if not n.saved & bit:
        return NULL
    cdef int k = 0
    while below:
        below &= below - 1
        k += 1
    return saved_values(n) + k
