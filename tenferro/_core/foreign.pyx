"""Engines over somebody else's arrays: one kernel that calls a Python method per operation.

Inputs reach the method as arrays over the tensors' memory, parameters as keywords. What it returns is copied into the output,
or is the output where its memory can be. An operation without method, a dtype that the method does not take and the answer
``NotImplemented`` go to the kernels of the CPU engine: the memory is the host's.
"""

cimport cython
cimport numpy as cnp
from cpython.ref cimport Py_INCREF, Py_REFCNT
from libc.string cimport memmove

from .engine cimport ExecutionEngine, kernel_table
from .importing cimport bare_array
from .memory cimport *
from .optable cimport Op, dtype_code, dtype_object, op_name, op_number
from .tensor cimport borrow

from . import optable

import contextvars

import numpy as np

from ..errors import EngineError, OutOfMemoryError, TenferroError

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    int PyArray_SetBaseObject(cnp.ndarray, object) except -1
    int PyArray_CopyInto(cnp.ndarray dst, cnp.ndarray src) except -1

cdef enum:
    ADOPTED = 1 << 15               # bytes from which a result's memory is taken over

cdef kernel_t *table = kernel_table()
cdef kernel_t *host = NULL          # the CPU engine's
cdef object host_engine = None
cdef object errstate = np.errstate
cdef object error_state = None, silent = None       # the variable that np.errstate sets, and its value for ignoring all
cdef tuple views = (Op.LEAF, Op.ALIAS, Op.RESHAPE, Op.TRANSPOSE, Op.BROADCAST_TO, Op.SQUEEZE, Op.EXPAND_DIMS, Op.SLICE,
                    Op.REVERSE, Op.EXTRACT_DIAG, Op.UNREDUCE, Op.CUSTOM, Op.CUSTOM_OUTPUT, Op.LAZY, Op.FUSED, Op.ELEMENTWISE,
                    Op.SUMS, Op.N_OPS)

OPERATIONS = tuple([op.name.lower() for op in optable.Op if op not in views])
"""The operations that engines compute; the others of the table are views, or bring functions of their own."""


cdef extern from "Python.h":
    object PyContextVar_Set(object var, object value)
    int PyContextVar_Reset(object var, object token) except -1


def find_error_state():
    """Setting the variable itself takes a tenth of the time of np.errstate, which stays where there is no such variable."""
    global error_state, silent
    with np.errstate(all="ignore"):
        for var, value in contextvars.copy_context().items():
            if var.name == "numpy.ufunc.extobj":
                error_state, silent = var, value


find_error_state()


cdef int load_host() except -1:
    global host, host_engine
    from tenferro_cpu import CpuEngine
    host_engine = CpuEngine.serial()
    host = (<ExecutionEngine> host_engine).kernels
    return 0


cdef unsigned int mask(dtypes) except? 0:
    cdef unsigned int m = 0
    for d in dtypes:
        m |= 1u << dtype_code(d)
    return m


@cython.binding(False)
cdef class NamespaceKernels(ExecutionEngine):
    """What `NamespaceEngine` needs of the compiled core: its kernel, and the methods that this calls."""

    def __cinit__(self, *args, **kwargs):
        self.kernels = table
        self.calls = [None] * MAX_OPS
        self.last = [None] * MAX_OPS
        self.dtypes_ = ~0u

    def _prepare(self, str name, dtypes, bint quiet, bint writeable, from_host, to_host):
        """Name, dtypes that the library has, whether NumPy's warnings are to be silenced, and how arrays are converted."""
        self.name = name
        self.dtypes_ = mask(dtypes)
        self.quiet, self.writeable = quiet, writeable
        self.from_host_, self.to_host_ = from_host, to_host

    def _bind(self, str op, call, dtypes):
        """Compute an operation of some dtypes by a call."""
        cdef int k = op_number(op)
        self.calls[k] = call
        self.domains[k] = mask(dtypes)


# ---- arrays over tensors ---------------------------------------------------------------------------------------------

cdef object array_over(const Value *v, bint writeable):
    """An array that keeps the memory alive."""
    cdef object a = bare_array(v, v.meta.rank, shape_of(v.meta), strides_of(v.meta),
                               cnp.NPY_ARRAY_WRITEABLE if writeable else 0)
    owner = borrow(v)
    Py_INCREF(owner)
    PyArray_SetBaseObject(a, owner)
    return a


cdef bint same_strides(cnp.ndarray a, const Meta *m):
    cdef int i
    for i in range(m.rank):
        if m.dims[i] != 1 and m.dims[m.rank + i] != cnp.PyArray_STRIDE(a, i):
            return False
    return True


cdef bint apart(cnp.ndarray a, const Value *ins, int n):
    """Whether an array shares no memory with any input."""
    cdef char *lo = cnp.PyArray_BYTES(a)
    cdef char *hi = lo + cnp.PyArray_NBYTES(a)
    cdef int k
    for k in range(n):
        if lo < ins[k].buf.data + ins[k].buf.nbytes and ins[k].buf.data < hi:
            return False
    return True


cdef bint adoptable(cnp.ndarray a, object result, const Value *ins, int n, const Value *out):
    """Whether the output may be the result's memory: nobody else has it, and its layout is the promised one."""
    cdef int k
    if (out.buf.refs != 1 or out.buf.owner != NULL or not out.meta.flags & DENSE or not cnp.PyArray_ISWRITEABLE(a)
            or not cnp.PyArray_ISALIGNED(a) or not same_strides(a, out.meta)):
        return False
    if result is a:
        return cnp.PyArray_BASE(a) == NULL and Py_REFCNT(a) <= 3     # in compute, twice in place
    for k in range(n):
        if out.buf == ins[k].buf:
            return False
    return Py_REFCNT(result) <= 1 + (cnp.PyArray_BASE(a) == <PyObject *> result) and apart(a, ins, n)


cdef int as_promised(NamespaceKernels e, int op, object shape, object dtype, const Meta *m) except -1:
    """Check what a method gave."""
    if dtype is not dtype_object(m.dtype) and dtype != dtype_object(m.dtype):
        return differs(e, op, "dtype", dtype, dtype_object(m.dtype))
    if tuple(shape) != shape_tuple(m):
        return differs(e, op, "shape", tuple(shape), shape_tuple(m))
    return 0


cdef int differs(NamespaceKernels e, int op, str what, object got, object promised) except -1:
    raise EngineError(f"{op_name(op)} of the engine '{e.name}' gave the {what} {got} where {promised} was to be computed; "
                      f"correct the engine's method {op_name(op)}()", engine=e.name)


cdef tuple shape_tuple(const Meta *m):
    return tuple([m.dims[i] for i in range(m.rank)])


cdef int place(NamespaceKernels e, int op, object result, const Value *ins, int n, Value *out) except -1:
    """Make a result the value of the output."""
    cdef object made = result if e.to_host_ is None else e.to_host_(result)
    cdef cnp.ndarray a
    cdef object dst
    cdef Buffer *taken
    cdef const Meta *m = out.meta
    cdef int i
    if type(made) is not np.ndarray:
        made = np.asarray(made)
    a = made
    if a.dtype is not dtype_object(m.dtype) and a.dtype != dtype_object(m.dtype):
        return differs(e, op, "dtype", a.dtype, dtype_object(m.dtype))
    if cnp.PyArray_NDIM(a) != m.rank:
        return differs(e, op, "shape", made.shape, shape_tuple(m))
    for i in range(m.rank):
        if cnp.PyArray_DIM(a, i) != m.dims[i]:
            return differs(e, op, "shape", made.shape, shape_tuple(m))
    if m.size * m.itemsize >= ADOPTED and adoptable(a, result, ins, n, out):
        taken = buffer_wrap(a, cnp.PyArray_BYTES(a), m.size * m.itemsize, 0)
        buffer_drop(out.buf)
        out.buf = taken
        out.data = taken.data
    elif (m.flags & C_ORDER and cnp.PyArray_IS_C_CONTIGUOUS(a) or m.flags & F_ORDER and cnp.PyArray_IS_F_CONTIGUOUS(a)
          ) and cnp.PyArray_ISNOTSWAPPED(a):
        memmove(out.data, cnp.PyArray_BYTES(a), m.size * m.itemsize)
    else:
        dst = bare_array(out, m.rank, shape_of(m), strides_of(m), cnp.NPY_ARRAY_WRITEABLE)
        PyArray_CopyInto(dst, a)
    return 0


# ---- parameters ------------------------------------------------------------------------------------------------------

cdef tuple bits(unsigned long long mask):
    return tuple([i for i in range(64) if (mask >> i) & 1])


cdef tuple ints(const Py_ssize_t *v, Py_ssize_t n):
    return tuple([v[i] for i in range(n)])


cdef dict window(const Params *p):
    cdef Py_ssize_t r = p.v[0], q = p.v[1], k
    return {"index": tuple([(p.v[2 + 3 * k], p.v[3 + 3 * k], p.v[4 + 3 * k]) for k in range(r)]),
            "source": ints(p.v + 2 + 3 * r, q)}


cdef dict along(const Params *p):
    return {"axis": p.v[0], "reverse": bool(p.v[1])}


cdef dict decode(int op, const Value *out, const Params *p):
    """What a method is told beside its arrays."""
    cdef dict d
    cdef Py_ssize_t na, nb
    if op == Op.CAST or op == Op.CONVERT:
        return {"dtype": dtype_object(out.meta.dtype)}
    if op == Op.DYNAMIC_SLICE or op == Op.DYNAMIC_UNSLICE:
        return {"shape": shape_tuple(out.meta)}
    if p == NULL:
        return None
    if op == Op.ARGMAX or op == Op.ARGMIN:
        return {"axis": None if p.v[0] < 0 else p.v[0], "keepdims": bool(p.v[1])}
    if Op.REDUCE_SUM <= op <= Op.COUNT_NONZERO:
        d = {"axes": bits(<unsigned long long> p.v[0]), "keepdims": bool(p.v[1])}
        if op == Op.REDUCE_VAR or op == Op.REDUCE_STD:
            d["correction"] = p.v[2]
        elif op == Op.REDUCE_SUM or op == Op.REDUCE_PROD:
            d["dtype"] = dtype_object(out.meta.dtype)
        return d
    if op == Op.CUMSUM or op == Op.CUMPROD or op == Op.LINEAR_SCAN:
        return along(p)
    if op == Op.SHIFT:
        return {**along(p), "fill": p.v[2]}
    if op == Op.CONTRACT:
        na, nb = p.v[0], p.v[1]
        return {"labels": (ints(p.v + 2, na), ints(p.v + 2 + na, nb), ints(p.v + 2 + na + nb, p.n - 2 - na - nb))}
    if op == Op.TAKE or op == Op.SCATTER or op == Op.SCATTER_ADD:
        return {"position": p.v[0], "axes": ints(p.v + 2, p.v[1])}
    if op == Op.TAKE_ADD:
        return {"position": p.v[0], "axes": ints(p.v + 2, p.v[1]), "shape": shape_tuple(out.meta)}
    if op == Op.INDEX_SET:
        return window(p)
    if op == Op.UNSLICE:
        return {**window(p), "shape": shape_tuple(out.meta)}
    if op == Op.CONCATENATE:
        return {"axis": p.v[0], "stacked": bool(p.v[1]), "dtype": dtype_object(out.meta.dtype)}
    if op == Op.PAD:
        return {"widths": tuple([(p.v[2 * i], p.v[2 * i + 1]) for i in range(out.meta.rank)])}
    if op == Op.TRIL or op == Op.TRIU:
        return {"k": p.v[0]}
    if op == Op.EMBED_DIAG:
        return {"offset": p.v[0], "axes": (p.v[1], p.v[2]), "shape": shape_tuple(out.meta)}
    if op == Op.TAKE_ALONG_AXIS:
        return {"axis": p.v[0]}
    if op == Op.ALONG_AXIS_ADD:
        return {"axis": p.v[0], "shape": shape_tuple(out.meta)}
    if op == Op.FLAT_INDEX:
        return {"sizes": tuple([p.v[2 * i] for i in range(p.n // 2)])}
    if op == Op.POLYGAMMA:
        return {"n": p.v[0]}
    return None


cdef dict words_of(NamespaceKernels e, int op, const Value *out, const Params *p):
    """As decode; the last parameters of an operation are kept if they say everything."""
    cdef tuple last
    cdef bytes key
    cdef dict words
    if p == NULL or not (Op.REDUCE_SUM <= op <= Op.CUMPROD or op == Op.CONTRACT or op == Op.TAKE):
        return decode(op, out, p)
    last = e.last[op]
    key = (<char *> p.v)[:p.n * sizeof(Py_ssize_t)]
    if last is not None and <bytes> last[0] == key and <int> last[1] == out.meta.dtype:
        return <dict> last[2]
    words = decode(op, out, p)
    e.last[op] = (key, out.meta.dtype, words)
    return words


# ---- the kernel ------------------------------------------------------------------------------------------------------

cdef object ask(NamespaceKernels e, object call, int op, const Value *ins, int n, Value *out, const Params *p):
    """The method's answer."""
    cdef dict words = words_of(e, op, out, p)
    cdef list arrays
    if n == 1:
        x = array_over(&ins[0], e.writeable)
        if e.from_host_ is not None:
            x = e.from_host_(x)
        return call(x) if words is None else call(x, **words)
    if n == 2 and words is None:
        x, y = array_over(&ins[0], e.writeable), array_over(&ins[1], e.writeable)
        if e.from_host_ is not None:
            x, y = e.from_host_(x), e.from_host_(y)
        return call(x, y)
    arrays = [array_over(&ins[k], e.writeable) for k in range(n)]
    if e.from_host_ is not None:
        arrays = [e.from_host_(x) for x in arrays]
    return call(*arrays) if words is None else call(*arrays, **words)


cdef object ask_quietly(NamespaceKernels e, object call, int op, const Value *ins, int n, Value *out, const Params *p):
    """Without NumPy's warnings of overflow and undefined values."""
    if error_state is None:
        with errstate(all="ignore"):
            return ask(e, call, op, ins, n, out, p)
    token = PyContextVar_Set(error_state, silent)
    try:
        return ask(e, call, op, ins, n, out, p)
    finally:
        PyContextVar_Reset(error_state, token)


cdef int failed(NamespaceKernels e, int op, const Value *out, object error) except -1:
    """Report what a method raised; NotImplementedError is an answer."""
    if isinstance(error, NotImplementedError) and not isinstance(error, TenferroError):
        return 0
    return reported(e, op_name(op), error, out.meta.size * out.meta.itemsize)


cdef int reported(ExecutionEngine e, str op, object error, Py_ssize_t nbytes=0) except -1:
    """What a library raised, as an error of this one."""
    if isinstance(error, TenferroError):
        raise error
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or "allocate memory" in str(error):
        raise OutOfMemoryError(f"{op}: the engine '{e.name}' has no memory for it; free tensors or call clear_caches()",
                               engine=e.name, nbytes=nbytes) from error
    raise EngineError(f"{op}: the engine '{e.name}' failed with {type(error).__name__}: {error}; the engine stays usable",
                      engine=e.name) from error


def report(ExecutionEngine engine not None, str op not None, error not None):
    """Raise what a library raised as an error of this one."""
    reported(engine, op, error)


cdef bint taken(NamespaceKernels e, int op, const Value *ins, int n, const Value *out) noexcept:
    """Whether the method is for these dtypes. What has no elements is left to the host."""
    cdef int k
    cdef unsigned int seen = 1u << out.meta.dtype
    for k in range(n):
        seen |= 1u << ins[k].meta.dtype
        if ins[k].meta.size == 0:
            return False
    return (out.meta.size > 0 and not seen & ~e.dtypes_
            and (e.domains[op] >> (ins[n - 1].meta.dtype if n else out.meta.dtype)) & 1)


cdef int compute(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef NamespaceKernels e = <NamespaceKernels> engine
    cdef object call = e.calls[op], result
    if call is not None and taken(e, op, ins, n, out):
        try:
            if e.quiet:
                result = ask_quietly(e, call, op, ins, n, out, params)
            else:
                result = ask(e, call, op, ins, n, out, params)
            if result is not NotImplemented:
                return place(e, op, result, ins, n, out)
        except Exception as error:
            failed(e, op, out, error)
    if host == NULL:
        load_host()
    return host[op](<PyObject *> host_engine, op, ins, n, out, params)


cdef class Table:
    """The kernels of all engines over namespaces."""

    cdef int fill(self) except -1:
        for name in OPERATIONS:
            table[op_number(name)] = compute
        return 0


(<Table> Table()).fill()
