"""The engine contract: an engine runs one operation at a time on the memory that it reaches."""

from libc.stdlib cimport malloc
from libc.string cimport memset

from ..errors import EngineError, UnsupportedError
from .optable cimport op_name


cdef int missing(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    name = (<ExecutionEngine> engine).name
    raise UnsupportedError(f"the engine '{name}' has no kernel for {op_name(op)}; pass another engine",
                           op=op_name(op), engine=name)


cdef kernel_t *kernel_table() except NULL:
    """A table without kernels; lives as long as the process."""
    cdef kernel_t *t = <kernel_t *> malloc(MAX_OPS * sizeof(kernel_t))
    if t == NULL:
        raise MemoryError
    for i in range(MAX_OPS):
        t[i] = missing
    return t


cdef class ExecutionEngine:
    """Base class of engines.

    An engine has a ``name``, a ``kind`` and a ``context_id`` that identifies its memory space. A runtime accepts one
    identity per kind; all engines of host memory share theirs. A compiled engine registers a C function for each operation
    (signature ``kernel_t`` in ``tenferro/_core/abi.pxd``).
    """

    def __cinit__(self, *args, **kwargs):
        self.space = HOST_SPACE
        self.name = "host"
        self.kind = "host"
        self.context_id = "host"
        self.kernels = _empty

    cdef int register(self, int op, kernel_t fn, int abi) except -1:
        """Register a kernel in this engine's table, which its class must have made by ``kernel_table()``."""
        if abi != ENGINE_ABI:
            raise EngineError(f"the engine '{self.name}' was built for engine ABI {abi}, this tenferro has {ENGINE_ABI}; "
                              "rebuild the engine against the installed tenferro", engine=self.name)
        self.kernels[op] = fn
        return 0

    def __repr__(self):
        return f"<{type(self).__name__} {self.name!r}>"


cdef kernel_t *_empty = kernel_table()
