"""NumPy's inner loops, and iteration over strided operands around them.

The ``functions``/``types``/``data`` of a ufunc are documented C API and need no GIL. Their preconditions (aligned memory,
strides in whole elements, native byte order) hold for every tensor of this library, see ``import_array``.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_Occurred

from tenferro._core.optable cimport Op, dtype_object, ops
from .parallel cimport CHUNK, PARALLEL_SIZE, parallel, threads_of
from tenferro._core import optable

import numpy as np

cnp.import_array()

cdef extern from "numpy/ufuncobject.h":
    ctypedef struct PyUFuncObject:
        int nin, nout, nargs
        int ntypes
        char *types
        void **data
        loop_t *functions

cdef extern from "slabs.h":
    bint tf_run_slabs(loop_t fn, void *fn_data, int n_ops, const int *items, int rank, const Py_ssize_t *shape, char **data,
                      Py_ssize_t (*strides)[64]) noexcept nogil

cdef extern from *:
    """
    static int tf_import_ufunc(void);
    #include <numpy/ufuncobject.h>
    static int tf_import_ufunc(void) { import_umath1(-1); return 0; }
    """
    int tf_import_ufunc() except -1

tf_import_ufunc()

# dtype codes by NumPy type number
cdef dict _by_num = {d.num: code for code, d in enumerate(optable.DTYPES)}
_by_num.setdefault(np.dtype("longlong").num, _by_num[np.dtype("int64").num])
_by_num.setdefault(np.dtype("ulonglong").num, _by_num[np.dtype("uint64").num])
_by_num.setdefault(np.dtype("intc").num, _by_num[np.dtype("int32").num])
_by_num.setdefault(np.dtype("uintc").num, _by_num[np.dtype("uint32").num])
cdef int code_of[64]
for _k in range(64):
    code_of[_k] = _by_num.get(_k, -1)


cdef int set_loop(int op, int dtype, loop_t fn, void *data, int result) except -1:
    loops[op][dtype].fn = fn
    loops[op][dtype].data = data
    loops[op][dtype].result = result
    return 0


def lookup(int op):
    """Fill the loops and dtype rules of an operation from its ufunc; a dtype without one uses
    the first that takes it safely."""
    cdef PyUFuncObject *u
    cdef int t, k, j, n, code
    ufunc = optable.loop_source(op)
    u = <PyUFuncObject *> <PyObject *> ufunc
    n = u.nargs
    for t in range(u.ntypes):
        code = code_of[u.types[t * n]]
        for j in range(u.nin):
            if code_of[u.types[t * n + j]] != code:
                code = -1
        if code < 0 or code_of[u.types[t * n + n - 1]] < 0 or u.functions[t] == NULL:
            continue
        if loops[op][code].fn == NULL:
            set_loop(op, code, u.functions[t], NULL if u.data == NULL else u.data[t], code_of[u.types[t * n + n - 1]])
    for code in range(13):
        k = code if loops[op][code].fn != NULL else -1
        j = 0
        while k < 0 and j < 13:
            if loops[op][j].fn != NULL and np.can_cast(dtype_object(code), dtype_object(j)):
                k = j
            j += 1
        ops[op].compute[code] = k
        if k >= 0:
            ops[op].result[k] = loops[op][k].result


optable.set_lookup(lookup)


cdef Loop *find_loop(int op, int dtype) except NULL:
    if loops[op][dtype].fn == NULL:
        lookup(op)
    return &loops[op][dtype]


cdef void broadcast_strides(const Meta *m, int rank, Py_ssize_t *strides) noexcept nogil:
    """Strides of an operand along the axes of the broadcast result; 0 where it is repeated."""
    cdef int i, lead = rank - m.rank
    for i in range(lead):
        strides[i] = 0
    for i in range(m.rank):
        strides[lead + i] = 0 if m.dims[i] == 1 else m.dims[m.rank + i]


cdef inline Py_ssize_t absolute(Py_ssize_t x) noexcept nogil:
    return -x if x < 0 else x


cdef int coalesce(int n_ops, int rank, Py_ssize_t *shape, char **data, Py_ssize_t (*strides)[64]) noexcept nogil:
    cdef int i, j, k, r = 0
    cdef Py_ssize_t d
    cdef Py_ssize_t s[8]
    cdef bint merge
    for i in range(rank):               # insertion sort of the axes longer than one
        d = shape[i]
        if d == 1:
            continue
        for k in range(n_ops):
            s[k] = strides[k][i]
        if s[0] < 0:
            for k in range(n_ops):
                data[k] += (d - 1) * s[k]
                s[k] = -s[k]
        j = r
        while j > 0 and absolute(strides[n_ops - 1][j - 1]) < absolute(s[n_ops - 1]):
            shape[j] = shape[j - 1]
            for k in range(n_ops):
                strides[k][j] = strides[k][j - 1]
            j -= 1
        shape[j] = d
        for k in range(n_ops):
            strides[k][j] = s[k]
        r += 1
    if r == 0:
        return 0
    j = 0
    for i in range(1, r):
        merge = True
        for k in range(n_ops):
            if strides[k][j] != strides[k][i] * shape[i]:
                merge = False
        if merge:
            shape[j] *= shape[i]
        else:
            j += 1
            shape[j] = shape[i]
        for k in range(n_ops):
            strides[k][j] = strides[k][i]
    return j + 1


cdef void strided_loop(Loop *loop, int n_ops, int rank, const Py_ssize_t *shape, char **data,
                       Py_ssize_t (*strides)[64]) noexcept nogil:
    """Run a loop over all elements; the last axis is the inner one. Sizes are not zero."""
    cdef Py_ssize_t one = 1
    cdef Py_ssize_t inner[8]
    cdef Py_ssize_t at[64]
    cdef char *args[8]
    cdef int i, k
    for k in range(n_ops):
        args[k] = data[k]
        inner[k] = strides[k][rank - 1] if rank > 0 else 0
    if rank <= 1:
        loop.fn(args, shape if rank else &one, inner, loop.data)
        return
    for i in range(rank):
        at[i] = 0
    while True:
        for k in range(n_ops):
            args[k] = data[k]
        loop.fn(args, &shape[rank - 1], inner, loop.data)
        i = rank - 2
        while True:
            at[i] += 1
            for k in range(n_ops):
                data[k] += strides[k][i]
            if at[i] < shape[i]:
                break
            for k in range(n_ops):
                data[k] -= shape[i] * strides[k][i]
            at[i] = 0
            i -= 1
            if i < 0:
                return


ctypedef struct Shared:
    Loop *loop
    int n_ops, rank, axis
    const int *items
    const Py_ssize_t *shape
    char **data
    Py_ssize_t (*strides)[64]
    Py_ssize_t each             # of the axis, for one chunk


cdef void run_chunk(void *arg, Py_ssize_t chunk, int slot) noexcept nogil:
    cdef Shared *w = <Shared *> arg
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[8][64]
    cdef char *data[8]
    cdef Py_ssize_t first = chunk * w.each
    cdef int i, k
    for i in range(w.rank):
        shape[i] = w.shape[i]
    shape[w.axis] = min(w.each, w.shape[w.axis] - first)
    for k in range(w.n_ops):
        data[k] = w.data[k] + first * w.strides[k][w.axis]
        for i in range(w.rank):
            strides[k][i] = w.strides[k][i]
    run_loop(1, w.loop, w.n_ops, w.items, w.rank, shape, data, strides)


cdef int longest(int rank, const Py_ssize_t *shape, Py_ssize_t enough) noexcept nogil:
    """The first axis of `enough` elements, or else the longest one."""
    cdef int i, best = 0
    for i in range(rank):
        if shape[i] >= enough:
            return i
        if shape[i] > shape[best]:
            best = i
    return best


cdef void run_loop(int threads, Loop *loop, int n_ops, const int *items, int rank, const Py_ssize_t *shape, char **data,
                   Py_ssize_t (*strides)[64]) noexcept nogil:
    cdef Shared w
    cdef Py_ssize_t pieces = 1
    cdef int i
    if threads > 1 and rank:
        for i in range(rank):
            pieces *= shape[i]
        pieces //= CHUNK
        if rank > 1:                    # larger ones, whose own blocks still fit
            pieces = min(pieces, <Py_ssize_t> (PIECES * threads))
    if pieces < 2:
        if not tf_run_slabs(loop.fn, loop.data, n_ops, items, rank, shape, data, strides):
            strided_loop(loop, n_ops, rank, shape, data, strides)
        return
    w.loop, w.n_ops, w.rank, w.items, w.shape, w.data, w.strides = loop, n_ops, rank, items, shape, data, strides
    w.axis = longest(rank, shape, pieces)
    w.each = (shape[w.axis] + pieces - 1) // pieces
    if w.axis == rank - 1:
        w.each = (w.each + 63) // 64 * 64
    parallel(threads, (shape[w.axis] + w.each - 1) // w.each, run_chunk, &w)


cdef int general(int threads, Loop *loop, const Value *ins, int n, Value *out) noexcept nogil:
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[8][64]
    cdef char *data[8]
    cdef int items[8]
    cdef int k, rank = out.meta.rank
    for k in range(rank):
        shape[k] = out.meta.dims[k]
    for k in range(n + 1):
        broadcast_strides(ins[k].meta if k < n else out.meta, rank, strides[k])
        data[k] = ins[k].data if k < n else out.data
        items[k] = ins[k].meta.itemsize if k < n else out.meta.itemsize
    rank = coalesce(n + 1, rank, shape, data, strides)
    run_loop(threads, loop, n + 1, items, rank, shape, data, strides)
    return 0


cdef inline bint flat(const Value *ins, int n, const Meta *m) noexcept nogil:
    """Whether all operands run through their memory in the same order, or are scalars."""
    cdef int k
    if n == 2 and ins[0].meta == m and ins[1].meta == m:
        return m.flags & DENSE != 0
    if not m.flags & DENSE:
        return False
    for k in range(n):
        if ins[k].meta != m and ins[k].meta.rank and not (
                ins[k].meta.rank == m.rank and ins[k].meta.flags & DENSE and same_order(ins[k].meta, m)):
            return False
    return True


cdef inline int integer_power_failed(int op, int dtype) except -1:
    return -1 if op == Op.POW and dtype < D_F32 and PyErr_Occurred() != NULL else 0


cdef int elementwise(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef int dtype = ins[n - 1].meta.dtype, k
    if dtype == D_F64 and out.meta.size <= 16 and n == 2 and flat(ins, 2, out.meta) and tiny(op, ins, out, out.meta.size):
        return 0
    cdef Loop *loop = &loops[op][dtype]
    cdef Py_ssize_t size = out.meta.size
    cdef Py_ssize_t strides[8]
    cdef char *args[8]
    cdef int threads
    cdef bint ordered = True
    if loop.fn == NULL:
        loop = find_loop(op, dtype)
    if size == 0:
        return 0
    if flat(ins, n, out.meta):
        for k in range(n):
            args[k] = ins[k].data
            strides[k] = ins[k].meta.itemsize if ins[k].meta.rank else 0
        args[n] = out.data
        strides[n] = out.meta.itemsize
        if size < NOGIL_SIZE:
            loop.fn(args, &size, strides, loop.data)
            return integer_power_failed(op, dtype)
    elif size < NOGIL_SIZE:
        general(1, loop, ins, n, out)
        return integer_power_failed(op, dtype)
    else:
        ordered = False
    # integer powers leave an exception with the thread that meets one
    threads = threads_of(engine) if size >= PARALLEL_SIZE and not (op == Op.POW and dtype < D_F32) else 1
    with nogil:
        if ordered and threads == 1:
            loop.fn(args, &size, strides, loop.data)
        else:
            general(threads, loop, ins, n, out)
    return integer_power_failed(op, dtype)


cdef inline bint tiny(int op, const Value *ins, Value *out, Py_ssize_t n) noexcept nogil:
    """The commonest operations on a handful of numbers; gives the bits of NumPy's loops."""
    cdef const double *a = <const double *> ins[0].data
    cdef const double *b = <const double *> ins[1].data
    cdef double *c = <double *> out.data
    cdef Py_ssize_t sa = 1 if ins[0].meta.rank else 0, sb = 1 if ins[1].meta.rank else 0, _
    if op == Op.MUL:
        for _ in range(n):
            c[0] = a[0] * b[0]
            a += sa
            b += sb
            c += 1
    elif op == Op.ADD:
        for _ in range(n):
            c[0] = a[0] + b[0]
            a += sa
            b += sb
            c += 1
    elif op == Op.SUB:
        for _ in range(n):
            c[0] = a[0] - b[0]
            a += sa
            b += sb
            c += 1
    else:
        return False
    return True
