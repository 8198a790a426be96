"""The engine contract: an engine runs one operation at a time on the memory that it reaches."""

cimport cython
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from weakref import WeakKeyDictionary

from ..errors import EngineError, UnsupportedError
from .optable cimport Op, op_name, op_number


cdef int missing(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    name = (<ExecutionEngine> engine).name
    raise UnsupportedError(f"the engine '{name}' has no kernel for {op_name(op)}; pass another engine",
                           op=op_name(op), engine=name)


cdef extern from "Python.h":
    PyObject *PyErr_Occurred()


cdef int failed_silently(ExecutionEngine engine, int op) except -1:
    if PyErr_Occurred() == NULL:
        raise EngineError(f"{op_name(op)}: a kernel of the engine '{engine.name}' failed without an exception; let it raise "
                          "one before it returns -1", engine=engine.name)
    return -1


faults = WeakKeyDictionary()            # broken engine -> what broke it


cdef int broken(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    name = (<ExecutionEngine> engine).name
    cause = faults.get(<object> engine)
    raise EngineError(f"{op_name(op)}: the engine '{name}' is broken since an earlier failure ({cause}); open a new one: "
                      "tensors and the runtime are as they were", engine=name) from cause


cdef kernel_t *kernel_table() except NULL:
    """A table without kernels; lives as long as the process."""
    cdef kernel_t *t = <kernel_t *> malloc(MAX_OPS * sizeof(kernel_t))
    if t == NULL:
        raise MemoryError
    for i in range(MAX_OPS):
        t[i] = missing
    return t


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class ExecutionEngine:
    """ExecutionEngine(name="host", kind="host", context_id="host")\n--\n\nBase class of engines.

    An engine has a ``name``, a ``kind`` and a ``context_id`` that identifies its memory space. A runtime accepts one
    identity per kind; all engines of host memory share theirs. A compiled engine registers a C function for each operation
    (signature ``kernel_t`` in ``tenferro/_core/abi.pxd``); an operation without one raises ``UnsupportedError``.

    Parameters
    ----------
    name, kind : str
        "host" is the kind of all engines of host memory.
    context_id : hashable
        Identity of the memory space.

    Examples
    --------
    >>> import tenferro as tfr
    >>> engine = tfr.ExecutionEngine("mine")
    >>> engine.name, engine.kind
    ('mine', 'host')
    """

    def __cinit__(self, *args, **kwargs):
        self.space = HOST_SPACE
        self.name = "host"
        self.kind = "host"
        self.context_id = "host"
        self.kernels = _empty
        self.threads = 1

    def __init__(self, str name not None="host", str kind not None="host", context_id="host"):
        self.name = name
        self.kind = kind
        self.context_id = context_id

    def __dealloc__(self):
        if self.private:
            free(self.kernels)

    cdef int register(self, int op, kernel_t fn, int abi) except -1:
        """Register a kernel for this engine alone."""
        cdef kernel_t *table
        if abi != ENGINE_ABI:
            raise EngineError(f"the engine '{self.name}' was built for engine ABI {abi}, this tenferro has {ENGINE_ABI}; "
                              "rebuild the engine against the installed tenferro", engine=self.name)
        if not self.private:
            table = kernel_table()
            memcpy(table, self.kernels, MAX_OPS * sizeof(kernel_t))
            self.kernels = table
            self.private = True
        self.kernels[op] = fn
        return 0

    def register_kernel(self, op, kernel, int abi):
        """Register a C function for one operation of this engine.

        Parameters
        ----------
        op : str
            Name of the operation.
        kernel : capsule
            ``PyCapsule`` named ``"tenferro.kernel"`` around a function of type ``kernel_t``.
        abi : int
            The ``ENGINE_ABI`` that the function was compiled with.

        Returns
        -------
        None

        Raises
        ------
        EngineError
            The ABI is not that of this library; the message names both.
        ValidationError
            There is no such operation.

        Examples
        --------
        >>> import tenferro as tfr
        >>> engine = tfr.ExecutionEngine("mine")
        >>> try:
        ...     engine.register_kernel("exp", None, -1)
        ... except (TypeError, ValueError, tfr.errors.EngineError) as error:
        ...     print("refused")
        refused
        """
        cdef int k = op_number(op)
        self.register(k, <kernel_t> PyCapsule_GetPointer(kernel, "tenferro.kernel"), abi)

    def mark_broken(self, error not None):
        """Declare a failure fatal: every later operation on this engine raises `EngineError`, with the failure as its cause.

        For engines whose device or connection is lost. Runtimes and tensors are not touched; pass another engine to go on.

        Parameters
        ----------
        error : BaseException
            The failure.

        Returns
        -------
        None

        Raises
        ------
        TypeError
            No exception is given.

        Examples
        --------
        >>> import tenferro as tfr
        >>> engine = tfr.ExecutionEngine("mine")
        >>> engine.mark_broken(OSError("the device is gone"))
        >>> engine.fault
        OSError('the device is gone')
        """
        cdef kernel_t *table
        cdef int i
        faults[self] = error
        if not self.private:
            table = kernel_table()
            self.kernels = table
            self.private = True
        for i in range(MAX_OPS):
            self.kernels[i] = broken
        self.kernels[<int> Op.FUSED] = missing

    @property
    def fault(self):
        """What broke this engine; None while it works."""
        return faults.get(self)

    def __repr__(self):
        return f"<{type(self).__name__} {self.name!r}>"


cdef kernel_t *_empty = kernel_table()
