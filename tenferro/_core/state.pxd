"""Per-thread state, runtimes, sessions."""

from .abi cimport *
from .engine cimport ExecutionEngine
from .node cimport Leaf

cdef extern from *:
    """
    #ifndef TENFERRO_TLS
    #define TENFERRO_TLS
    typedef struct { int no_grad; int capture; PyObject *session; PyObject *guard; int thrifty; } TfThread;
    #endif
    """
    ctypedef struct TfThread:
        int no_grad
        int capture
        PyObject *session       # innermost open session; borrowed: whoever opened it holds it
        PyObject *guard         # innermost guard
        int thrifty             # open save_memory guards

cdef TfThread *thread_state() noexcept

cdef class ContextId:
    cdef readonly unsigned long long number

cdef class EagerRuntime:
    cdef ExecutionEngine engine         # default engine, or None
    cdef readonly ContextId id
    cdef Leaf leaves                    # head of the list of live leaves
    cdef dict identities                # kind of engine -> its one context identity
    cdef ExecutionEngine last_engine    # the engine that was registered last
    cdef object ad                      # AdContext
    cdef object caches                  # limits and counters of this runtime's own caches
    cdef object extensions              # installed extension modules
    cdef object __weakref__

    cdef int accept(self, ExecutionEngine engine) except -1

cdef class EagerSession:
    cdef readonly EagerRuntime runtime
    cdef readonly ExecutionEngine engine
    cdef bint closed
    cdef PyObject *outer

cdef class Guard:
    cdef unsigned long thread
    cdef int state                      # 0 fresh, 1 open, 2 closed
    cdef PyObject *outer

cdef ExecutionEngine default_engine_()
cdef ExecutionEngine engine_for(EagerRuntime rt)
cdef EagerSession open_session(EagerRuntime rt, ExecutionEngine engine)
cdef int close_session(EagerSession s) except -1
cdef EagerRuntime ambient_runtime()
cpdef EagerRuntime default_runtime()
cdef int install(object cls, str name, object f) except -1
cdef ExecutionEngine as_engine(object engine)
