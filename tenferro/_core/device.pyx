"""Engines of devices: kernels that call a Python method per operation with the device library's arrays.

The memory of results is the library's. Nothing runs on the host: an operation without a method raises `UnsupportedError`. A
number in host memory is handed over as a NumPy scalar, so that it travels with the launch and not as a copy.
"""

cimport cython

from .engine cimport kernel_table, missing
from .foreign cimport NamespaceKernels, as_promised, failed, words_of
from .importing cimport bare_array
from .memory cimport *
from .optable cimport Op, dtype_object, op_number
from .spaces cimport device_array, memory_of, place_array, space_of, upload

from .foreign import OPERATIONS

cdef kernel_t *table = kernel_table()


@cython.binding(False)
cdef class DeviceKernels(NamespaceKernels):
    """What `DeviceEngine` needs of the compiled core."""

    cdef dict programs                  # of fused passes: parameters as bytes -> tuple
    cdef object pass_                   # the method that runs one

    def _reach(self, str kind not None, context_id, memory not None):
        """Identity of the engine, and the memory that it computes on."""
        self.kind, self.context_id, self.memory = kind, context_id, memory
        self.space = space_of(memory)
        self.kernels = table
        self.programs = {}

    def _fuse(self, method, operations):
        """Let a method compute groups of elementwise operations, of which these names can be members."""
        self.pass_ = method
        for name in operations:
            self.register(op_number(name), elementwise, ENGINE_ABI)
        self.register(Op.ELEMENTWISE, elementwise, ENGINE_ABI)
        self.register(Op.FUSED, fused, ENGINE_ABI)


# ---- operands ----------------------------------------------------------------------------------------------------------

cdef object uploaded(DeviceKernels e, const Value *v):
    """An array of a number in host memory, whose axes, if there are any, repeat it."""
    cdef Value d
    upload(&d, e.space, v)
    try:
        return device_array(&d)
    finally:
        value_drop(&d)


cdef object scalar(const Value *v):
    return bare_array(v, 0, NULL, NULL, 0)[()]


cdef list operands(DeviceKernels e, const Value *ins, int n, const Meta *scalars):
    """The arrays of a call. Numbers stay what they are if the call is elementwise, its result has the shape of `scalars`, and
    one of the arrays has it, too."""
    cdef list found = []
    cdef bint beside = False
    cdef int k
    if scalars != NULL:
        for k in range(n):
            beside = beside or (ins[k].buf.space != HOST_SPACE and same_shape(ins[k].meta, scalars))
    for k in range(n):
        if ins[k].buf.space != HOST_SPACE:
            found.append(device_array(&ins[k]))
        elif beside:
            found.append(scalar(&ins[k]))
        else:
            found.append(uploaded(e, &ins[k]))
    return found


# ---- kernels -----------------------------------------------------------------------------------------------------------

cdef bint within(NamespaceKernels e, int op, const Value *ins, int n, const Value *out) noexcept:
    """Whether the method is for these dtypes, and the library has them."""
    cdef int k
    cdef unsigned int seen = 1u << out.meta.dtype
    for k in range(n):
        seen |= 1u << ins[k].meta.dtype
    return not seen & ~e.dtypes_ and (e.domains[op] >> (ins[n - 1].meta.dtype if n else out.meta.dtype)) & 1


cdef int compute(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef DeviceKernels e = <DeviceKernels> engine
    cdef object call = e.calls[op], result, memory = e.memory
    cdef dict words
    if call is not None and within(e, op, ins, n, out):
        try:
            words = words_of(e, op, out, params)
            arrays = operands(e, ins, n, out.meta if Op.ADD <= op <= Op.TRUNC else NULL)
            result = call(*arrays) if words is None else call(*arrays, **words)
            if result is not NotImplemented:
                _, shape, _, dtype = memory.layout(result)
                as_promised(e, op, shape, dtype, out.meta)
                return place_array(out, e.space, result)
        except Exception as error:
            failed(e, op, out, error)
    return missing(engine, op, ins, n, out, params)


cdef int elementwise(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """The same function under an address of its own: what a fused pass can have as a member."""
    return compute(engine, op, ins, n, out, params)


cdef tuple program_of(DeviceKernels e, const Params *p):
    cdef bytes key = (<char *> p.v)[:p.n * sizeof(Py_ssize_t)]
    cdef tuple program = e.programs.get(key)
    if program is None:
        program = tuple([p.v[k] for k in range(p.n)])
        e.programs[key] = program
    return program


cdef int fused(PyObject *engine, int op, const Value *ins, int n, Value *outs, const Params *params) except -1:
    """A group of elementwise operations in one pass."""
    cdef DeviceKernels e = <DeviceKernels> engine
    cdef int k, results = <int> params.v[2]
    cdef list made = []
    try:
        for k in range(results):
            made.append(memory_of(e.space).empty(tuple([outs[k].meta.dims[i] for i in range(outs[k].meta.rank)]),
                                                 tuple([outs[k].meta.dims[outs[k].meta.rank + i]
                                                        for i in range(outs[k].meta.rank)]), dtype_object(outs[k].meta.dtype)))
        arrays = [device_array(&ins[k]) if ins[k].buf.space != HOST_SPACE else scalar(&ins[k]) for k in range(n)]
        e.pass_(program_of(e, params), arrays, made)
        for k in range(results):
            place_array(&outs[k], e.space, made[k])
        return 0
    except Exception as error:
        failed(e, op, outs, error)
    return missing(engine, op, ins, n, outs, params)


cdef class Table:
    """The kernels of all engines of devices."""

    cdef int fill(self) except -1:
        for name in OPERATIONS:
            table[op_number(name)] = compute
        return 0


(<Table> Table()).fill()
