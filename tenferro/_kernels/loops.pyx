"""Elementwise operations for which NumPy has no inner loops, and those that have to look at their values first."""

from libc.stdint cimport int64_t, uint64_t

from tenferro._core.optable cimport Op, dtype_object
from . cimport copy
from .ufunc cimport Loop, NOGIL_SIZE, coalesce, elementwise, find_loop, loop_t, set_loop, strided_loop

import numpy as np

from tenferro._core import optable
from tenferro.errors import ValidationError

cdef extern from "loops.h":
    loop_t tf_absorb_mul[13]
    loop_t tf_absorb_both[13]
    loop_t tf_absorb_div[13]
    loop_t tf_real[13]
    loop_t tf_imag[13]
    loop_t tf_angle[13]
    loop_t tf_complex[13]
    loop_t tf_isnan[13]
    loop_t tf_isinf[13]
    loop_t tf_isfinite[13]
    loop_t tf_where[13]
    loop_t tf_clamp[13]

cdef extern from "checks.h":
    enum: TF_INTEGER, TF_SINGLE, TF_DOUBLE
    ctypedef struct tf_search:
        int kind
        int with_imag
        int64_t lo
        uint64_t hi
        double end
        const char *bad
    loop_t tf_checks[13]
    int64_t tf_lo[9]
    uint64_t tf_hi[9]
    double tf_end[9]


cdef int set_loops(int op, loop_t *table, int kind) except -1:
    """Kind 0: the result has the dtype of the operands; -1: real; 1: complex; 2: bool."""
    cdef int t, to
    for t in range(13):
        if table[t] != NULL:
            to = D_BOOL if kind == 2 else complex_dtype(t) if kind == 1 else real_dtype(t) if kind < 0 else t
            set_loop(op, t, table[t], NULL, to)
    return 0


set_loops(Op.ABSORB_MUL, tf_absorb_mul, 0)
set_loops(Op.ABSORB_BOTH, tf_absorb_both, 0)
set_loops(Op.ABSORB_DIV, tf_absorb_div, 0)
set_loops(Op.REAL, tf_real, -1)
set_loops(Op.IMAG, tf_imag, -1)
set_loops(Op.ANGLE, tf_angle, -1)
set_loops(Op.COMPLEX, tf_complex, 1)
set_loops(Op.ISNAN, tf_isnan, 2)
set_loops(Op.ISINF, tf_isinf, 2)
set_loops(Op.ISFINITE, tf_isfinite, 2)
set_loops(Op.WHERE, tf_where, 0)
set_loops(Op.CLAMP, tf_clamp, 0)


def follow_resolvers():
    """Where the dtypes of a NumPy function are not those of its first fitting loop."""
    cdef int t
    for op in (Op.SUB, Op.NEG, Op.SIGN):
        find_loop(op, D_F64)
        optable.set_result(op, D_BOOL, -1, D_BOOL)
    find_loop(Op.DIV, D_F64)
    for t in range(D_F32):
        optable.set_result(Op.DIV, t, D_F64, D_F64)


follow_resolvers()


cdef int power(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    if ins[1].meta.dtype >= D_F32:
        return elementwise(engine, op, ins, n, out, params)
    try:
        return elementwise(engine, op, ins, n, out, params)
    except ValueError:
        raise ValidationError("pow: an integer to a negative integer power is no integer; convert one operand to a "
                              "floating dtype with astype()", op="pow", argument="y") from None


# ---- checked conversion ----------------------------------------------------------------------------------------------

cdef void search(const Value *x, Loop *loop) noexcept nogil:
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[1][64]
    cdef char *data[1]
    cdef int i, rank = x.meta.rank
    for i in range(rank):
        shape[i] = x.meta.dims[i]
        strides[0][i] = x.meta.dims[rank + i]
    data[0] = x.data
    rank = coalesce(1, rank, shape, data, strides)
    strided_loop(loop, 1, rank, shape, data, strides)


cdef const char *unfit(const Value *x, int dtype) noexcept:
    """A value of x that the dtype cannot hold, or NULL."""
    cdef tf_search s
    cdef Loop loop
    s.bad = NULL
    s.with_imag = is_complex(dtype)
    if is_inexact(dtype):
        s.kind = TF_SINGLE if real_dtype(dtype) == D_F32 else TF_DOUBLE
    else:
        s.kind = TF_INTEGER
        s.lo = tf_lo[dtype]
        s.hi = tf_hi[dtype]
        s.end = tf_end[dtype]
    loop.fn = tf_checks[x.meta.dtype]
    loop.data = &s
    if x.meta.size < NOGIL_SIZE:
        search(x, &loop)
    else:
        with nogil:
            search(x, &loop)
    return s.bad


cdef int convert(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    """A cast that refuses to change a value by more than rounding to single precision."""
    cdef const char *bad
    if out.meta.size:
        bad = unfit(&ins[0], out.meta.dtype)
        if bad != NULL:
            value = np.frombuffer(bad[:ins[0].meta.itemsize], dtype_object(ins[0].meta.dtype))[0]
            raise ValidationError(f"convert: {value} of {dtype_object(ins[0].meta.dtype)} cannot be represented in "
                                  f"{dtype_object(out.meta.dtype)}; use cast() to lose information on purpose",
                                  op="convert", argument="x")
    return copy.cast(engine, op, ins, n, out, params)
