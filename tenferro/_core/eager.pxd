"""The eager tensor, and how an operation runs and is recorded."""

from .abi cimport *
from .memory cimport *
from .node cimport *
from .optable cimport OpDef, Op
from .state cimport EagerRuntime

cdef class EagerTensor:
    cdef Value v                    # v.meta is NULL once the handle is consumed
    cdef EagerRuntime rt
    cdef Node *node                 # NULL: not tracked
    cdef PyObject *next_handle      # of the same leaf
    cdef object __weakref__

# New tensors. `wrap` takes over the references of v and the node; None for a node that is not there.
cdef EagerTensor wrap(EagerRuntime rt, Value *v, Node *node)
cdef EagerTensor alias(EagerTensor x, Node *node)                   # another handle; takes over the node's reference
cdef EagerTensor scalar_like(EagerTensor x, double value)           # untracked 0-d constant of x's dtype
cdef EagerTensor as_operand(object x, EagerRuntime rt)              # constants become untracked tensors; checks the context
cdef EagerTensor as_eager(object x)                                 # the same in the ambient runtime
cdef EagerTensor real_scalar(double value, int dtype)               # the same, shared, without a runtime
cdef EagerTensor alias_in(EagerTensor x, EagerRuntime rt)           # untracked handle in a runtime
cdef int check(EagerTensor x) except -1                             # raises for a consumed handle
cdef EagerTensor fresh(EagerRuntime rt, Meta *m)                     # uninitialised memory; m is stolen
cdef EagerTensor constant_value(EagerRuntime rt, object x, int dtype, bint copy)

# Elementwise operations: promotion, broadcasting, K order.
cdef EagerTensor apply1(int op, EagerTensor x, Params *p=*)         # p is stolen
cdef EagerTensor apply2(int op, EagerTensor x, EagerTensor y)
cdef EagerTensor run2(int op, EagerTensor x, EagerTensor y)          # unchecked; one may be a real_scalar
cdef EagerTensor apply3(int op, EagerTensor x, EagerTensor y, EagerTensor z)

# Any other operation: `out` is the metadata of the result; it and p are stolen, also on error.
cdef EagerTensor emit1(int op, EagerTensor x, Params *p, Meta *out)
cdef EagerTensor emit2(int op, EagerTensor x, EagerTensor y, Params *p, Meta *out)
cdef EagerTensor emit_n(int op, tuple xs, Params *p, Meta *out)
# A view: `data` points into x's buffer.
cdef EagerTensor emit_view(int op, EagerTensor x, Params *p, Meta *out, char *data)

cdef EagerTensor computed_in(EagerTensor x, int dtype)              # not recorded; x itself if it has the dtype
cdef EagerTensor cast(EagerTensor x, int dtype)                     # recorded; x itself if it has the dtype
cdef EagerTensor binary(int op, object a, object b)
cdef EagerTensor unary(int op, object x)
cdef object operator(int op, object a, object b)                    # NotImplemented for foreign operands
cdef object power(object a, object b)
cdef bint is_array_like(object x)
cdef void drop_handle(EagerTensor x) noexcept                       # takes a handle off its leaf's list
cdef int retire(EagerTensor t) except -1                            # keeps t until no operation can be reading its value
cdef EagerTensor weak_scalar(object x, int dtype)                   # None if x is no Python scalar; without a runtime

cdef class Watcher:
    """Sees every operation that runs: profiles, anomaly detection, programs. Nothing is paid while there is none."""
    cdef int before(self, int op) except -1
    cdef int after(self, int op, EagerRuntime rt, int n, const Value *ins, const Value *out, const Params *p,
                   bint view) except -1

cdef int capture_more(int n) noexcept                               # open capture_trace guards of the process
cdef int watch(Watcher w) except -1
cdef int unwatch(Watcher w) except -1
cdef int show(int op, EagerTensor y, tuple xs) except -1            # tells watchers of a result that no kernel has computed
cdef bint watched_by_others() noexcept                              # somebody looks at every operation

ctypedef struct Hooks:              # operators whose operations live in modules above this one
    PyObject *getitem
    PyObject *matmul
    PyObject *reshape
    object (*to_float)(EagerTensor)
    object (*to_int)(EagerTensor)
    object (*to_index)(EagerTensor)
    object (*iterate)(EagerTensor)
    object (*represent)(EagerTensor)
    bint (*to_bool)(EagerTensor) except -1
    bint (*contains)(EagerTensor, object) except -1
    int (*export_buffer)(EagerTensor, Py_buffer *, int) except -1
    object (*update)(EagerTensor, int, object)
    int (*set_item)(EagerTensor, object, object) except -1
cdef Hooks hooks
