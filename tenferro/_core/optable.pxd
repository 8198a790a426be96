"""The operations: one name each here, one row each in optable.pyx."""

from .abi cimport *

cpdef enum Op:
    LEAF, ALIAS
    # arithmetic
    ADD, SUB, MUL, DIV, POW, REM, FLOOR_DIV, FMOD, NEG, ABS, SIGN, CONJ, REAL, IMAG, COMPLEX, ANGLE, RECIPROCAL, SQUARE
    ABSORB_MUL, ABSORB_BOTH, ABSORB_DIV
    # analytic
    EXP, EXPM1, EXP2, LOG, LOG1P, LOG2, LOG10, SQRT, RSQRT, CBRT, SIN, COS, TAN, ASIN, ACOS, ATAN, ATAN2, SINH, COSH, TANH
    ASINH, ACOSH, ATANH, ERF, ERFC, LGAMMA, DIGAMMA, POLYGAMMA, LOGADDEXP, HYPOT
    SECH2, ASIN_SLOPE, ACOSH_SLOPE, ATANH_SLOPE, DIRECTION, INVERSION, SHARE        # derivatives without a name
    # compare, select, rounding
    EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR, LOGICAL_NOT
    ISFINITE, ISNAN, ISINF, MAXIMUM, MINIMUM, WHERE, CLAMP, FLOOR, CEIL, ROUND, TRUNC
    # dtype
    CAST, CONVERT
    # reduce
    REDUCE_SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_MEAN, REDUCE_VAR, REDUCE_STD, LOGSUMEXP, ANY, ALL
    ARGMAX, ARGMIN, COUNT_NONZERO, CUMSUM, CUMPROD
    # structure
    RESHAPE, TRANSPOSE, BROADCAST_TO, SQUEEZE, EXPAND_DIMS, SLICE, UNSLICE, DYNAMIC_SLICE, DYNAMIC_UNSLICE, PAD
    CONCATENATE, REVERSE, TRIL, TRIU, EXTRACT_DIAG, EMBED_DIAG, COPY
    # index
    FLAT_INDEX, SCATTER, SCATTER_ADD, INDEX_SET, TAKE, TAKE_ADD, TAKE_ALONG_AXIS, ALONG_AXIS_ADD
    # contraction
    CONTRACT
    # inverse shapes and recurrences that the rules of reductions are made of
    UNREDUCE, LINEAR_SCAN, SHIFT
    # operations that bring their own rules
    CUSTOM, CUSTOM_OUTPUT
    LAZY
    # what an engine may offer: a pass over a group of the operations that its kernel ELEMENTWISE computes, and sums and means
    # of these at its end, in the order of summation of its kernel SUMS
    FUSED, ELEMENTWISE, SUMS
    N_OPS

cdef enum:              # OpDef.flags
    LINEAR = 1          # the derivative needs no value
    POLES = 2           # the local derivative may be infinite: an exactly zero cotangent absorbs it
    ZERO = 4            # differentiable with derivative zero everywhere (comparisons, rounding)
    ONE_FLOP = 8        # cheaper to compute again than to keep, where an operand is kept anyway

cdef enum:              # bits of OpDef.needs
    X0 = 1
    X1 = 2
    X2 = 4
    OUT = 128

ctypedef struct OpDef:
    int id
    int n_in            # -1: any number
    int flags
    int recorded                    # results of tracked inputs are tracked
    signed char compute[13]         # dtype in which inputs of a dtype are computed; -1: not defined
    signed char result[13]          # dtype of the result for a *computing* dtype
    unsigned char needs[8]          # saved values that the rules for argument i use (argument 7: all of an n-ary one)
    void *vjp[8]
    void *jvp[8]
    void *local[8]                  # local derivative, from which both modes follow for holomorphic functions
    PyObject *name

cdef OpDef ops[512]
cdef signed char promote[13][13]
cdef Py_ssize_t ufunc_ready[512]

cdef object op_name(int op)
cdef int op_number(str name) except -1
cdef int dtype_code(object dtype, str argument=*) except -1
cdef object dtype_object(int code)
cdef int resolve(int op, int dtype) except -2         # computing dtype, looking the loops up at first use
