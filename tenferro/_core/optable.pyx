"""The operation table. A row: the operation, its number of inputs, its kind, and the NumPy or SciPy function whose inner
loops compute it. The kind says how dtypes go: ``like`` a ufunc's own loops, ``float`` for own functions of inexact numbers,
``same`` for operations that only move values, ``bool``/``index`` for results of that dtype."""

import numpy as np

from ..errors import DTypeMismatchError, ValidationError

DTYPES = tuple(np.dtype(t) for t in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"))
"""The dtypes of this library, indexed by code."""

cdef dict _codes = {d: i for i, d in enumerate(DTYPES)}
cdef tuple _dtypes = DTYPES

ROWS = (
    # op, inputs, kind, loops, flags
    (Op.LEAF, 0, "same", None, 0), (Op.ALIAS, 1, "same", None, LINEAR),
    (Op.ADD, 2, "like", "add", LINEAR | ONE_FLOP), (Op.SUB, 2, "like", "subtract", LINEAR | ONE_FLOP),
    (Op.MUL, 2, "like", "multiply", ONE_FLOP),
    (Op.DIV, 2, "like", "divide", POLES), (Op.POW, 2, "like", "power", POLES), (Op.REM, 2, "like", "remainder", 0),
    (Op.FLOOR_DIV, 2, "like", "floor_divide", 0), (Op.FMOD, 2, "like", "fmod", 0),
    (Op.NEG, 1, "like", "negative", LINEAR | ONE_FLOP),
    (Op.ABS, 1, "like", "absolute", 0), (Op.SIGN, 1, "like", "sign", 0), (Op.CONJ, 1, "like", "conjugate", LINEAR),
    (Op.REAL, 1, "real", None, LINEAR), (Op.IMAG, 1, "real", None, LINEAR), (Op.COMPLEX, 2, "complex", None, LINEAR),
    (Op.ANGLE, 1, "angle", None, 0), (Op.RECIPROCAL, 1, "like", "reciprocal", POLES),
    (Op.SQUARE, 1, "like", "square", ONE_FLOP),
    (Op.ABSORB_MUL, 2, "float", None, 0), (Op.ABSORB_BOTH, 2, "float", None, 0), (Op.ABSORB_DIV, 2, "float", None, 0),
    (Op.EXP, 1, "like", "exp", POLES), (Op.EXPM1, 1, "like", "expm1", POLES), (Op.EXP2, 1, "like", "exp2", POLES),
    (Op.LOG, 1, "like", "log", POLES), (Op.LOG1P, 1, "like", "log1p", POLES), (Op.LOG2, 1, "like", "log2", POLES),
    (Op.LOG10, 1, "like", "log10", POLES), (Op.SQRT, 1, "like", "sqrt", POLES), (Op.RSQRT, 1, "float", None, POLES),
    (Op.CBRT, 1, "like", "cbrt", POLES), (Op.SIN, 1, "like", "sin", POLES), (Op.COS, 1, "like", "cos", POLES),
    (Op.TAN, 1, "like", "tan", POLES), (Op.ASIN, 1, "like", "arcsin", POLES), (Op.ACOS, 1, "like", "arccos", POLES),
    (Op.ATAN, 1, "like", "arctan", POLES), (Op.ATAN2, 2, "like", "arctan2", POLES), (Op.SINH, 1, "like", "sinh", POLES),
    (Op.COSH, 1, "like", "cosh", POLES), (Op.TANH, 1, "like", "tanh", POLES), (Op.ASINH, 1, "like", "arcsinh", POLES),
    (Op.ACOSH, 1, "like", "arccosh", POLES), (Op.ATANH, 1, "like", "arctanh", POLES),
    (Op.ERF, 1, "float", "special.erf", POLES), (Op.ERFC, 1, "float", "special.erfc", POLES),
    (Op.LGAMMA, 1, "float", "special.loggamma", POLES), (Op.DIGAMMA, 1, "float", "special.digamma", POLES),
    (Op.POLYGAMMA, 1, "float", None, POLES), (Op.LOGADDEXP, 2, "like", "logaddexp", POLES),
    (Op.HYPOT, 2, "like", "hypot", POLES),
    (Op.SECH2, 1, "float", None, POLES), (Op.ASIN_SLOPE, 1, "float", None, POLES),
    (Op.ACOSH_SLOPE, 1, "float", None, POLES), (Op.ATANH_SLOPE, 1, "float", None, POLES),
    (Op.DIRECTION, 2, "float", None, POLES), (Op.INVERSION, 2, "float", None, POLES), (Op.SHARE, 2, "float", None, POLES),
    (Op.EQUAL, 2, "like", "equal", ZERO), (Op.NOT_EQUAL, 2, "like", "not_equal", ZERO), (Op.LESS, 2, "like", "less", ZERO),
    (Op.LESS_EQUAL, 2, "like", "less_equal", ZERO), (Op.GREATER, 2, "like", "greater", ZERO),
    (Op.GREATER_EQUAL, 2, "like", "greater_equal", ZERO), (Op.LOGICAL_AND, 2, "like", "logical_and", ZERO),
    (Op.LOGICAL_OR, 2, "like", "logical_or", ZERO), (Op.LOGICAL_XOR, 2, "like", "logical_xor", ZERO),
    (Op.LOGICAL_NOT, 1, "like", "logical_not", ZERO), (Op.ISFINITE, 1, "like", "isfinite", ZERO),
    (Op.ISNAN, 1, "like", "isnan", ZERO), (Op.ISINF, 1, "like", "isinf", ZERO),
    (Op.MAXIMUM, 2, "like", "maximum", 0), (Op.MINIMUM, 2, "like", "minimum", 0), (Op.WHERE, 3, "same", None, 0),
    (Op.CLAMP, 3, "same", None, 0), (Op.FLOOR, 1, "like", "floor", ZERO), (Op.CEIL, 1, "like", "ceil", ZERO),
    (Op.ROUND, 1, "like", "rint", ZERO), (Op.TRUNC, 1, "like", "trunc", ZERO),
    (Op.CAST, 1, "same", None, LINEAR), (Op.CONVERT, 1, "same", None, LINEAR),
    (Op.REDUCE_SUM, 1, "same", None, LINEAR), (Op.REDUCE_PROD, 1, "same", None, 0), (Op.REDUCE_MAX, 1, "same", None, 0),
    (Op.REDUCE_MIN, 1, "same", None, 0), (Op.REDUCE_MEAN, 1, "float", None, LINEAR), (Op.REDUCE_VAR, 1, "float", None, 0),
    (Op.REDUCE_STD, 1, "float", None, 0), (Op.LOGSUMEXP, 1, "float", None, 0), (Op.ANY, 1, "bool", None, ZERO),
    (Op.ALL, 1, "bool", None, ZERO), (Op.ARGMAX, 1, "index", None, ZERO), (Op.ARGMIN, 1, "index", None, ZERO),
    (Op.COUNT_NONZERO, 1, "index", None, ZERO), (Op.CUMSUM, 1, "same", None, LINEAR), (Op.CUMPROD, 1, "same", None, 0),
    (Op.RESHAPE, 1, "same", None, LINEAR), (Op.TRANSPOSE, 1, "same", None, LINEAR),
    (Op.BROADCAST_TO, 1, "same", None, LINEAR), (Op.SQUEEZE, 1, "same", None, LINEAR),
    (Op.EXPAND_DIMS, 1, "same", None, LINEAR), (Op.SLICE, 1, "same", None, LINEAR), (Op.UNSLICE, 1, "same", None, LINEAR),
    (Op.DYNAMIC_SLICE, 2, "same", None, 0), (Op.DYNAMIC_UNSLICE, 2, "same", None, 0), (Op.PAD, 2, "same", None, LINEAR),
    (Op.CONCATENATE, -1, "same", None, LINEAR), (Op.REVERSE, 1, "same", None, LINEAR), (Op.TRIL, 1, "same", None, LINEAR),
    (Op.TRIU, 1, "same", None, LINEAR), (Op.EXTRACT_DIAG, 1, "same", None, LINEAR),
    (Op.EMBED_DIAG, 1, "same", None, LINEAR), (Op.COPY, 1, "same", None, LINEAR),
    (Op.FLAT_INDEX, -1, "index", None, ZERO), (Op.SCATTER, 3, "same", None, 0), (Op.SCATTER_ADD, 3, "same", None, 0),
    (Op.INDEX_SET, 2, "same", None, 0), (Op.TAKE, 2, "same", None, 0), (Op.TAKE_ADD, 2, "same", None, 0),
    (Op.TAKE_ALONG_AXIS, 2, "same", None, 0), (Op.ALONG_AXIS_ADD, 2, "same", None, 0),
    (Op.CONTRACT, 2, "same", None, 0),
    (Op.UNREDUCE, 1, "same", None, LINEAR), (Op.LINEAR_SCAN, 2, "same", None, 0), (Op.SHIFT, 1, "same", None, LINEAR),
    (Op.CUSTOM, -1, "same", None, 0), (Op.CUSTOM_OUTPUT, 1, "same", None, 0),
    (Op.LAZY, 0, "same", None, 0),
)


cdef int float_for(int dtype) noexcept:
    """Where NumPy would compute small integers in float16, float32 is used."""
    return dtype if dtype >= D_F32 else (D_F32 if dtype in (D_BOOL, D_I8, D_U8, D_I16, D_U16) else D_F64)


def _fill_row(op, int n_in, str kind, str loops or None, int flags):
    cdef OpDef *d = &ops[op]
    cdef int t
    d.id = op
    d.n_in = n_in
    d.flags = flags
    d.recorded = not flags & ZERO
    name = op.name.lower()
    _names.append(name)
    d.name = <PyObject *> name
    for t in range(13):
        d.compute[t] = -2 if kind == "like" else t
        d.result[t] = t
        if kind in ("float", "angle", "complex"):
            d.compute[t] = float_for(t)
        if kind in ("real", "angle"):
            d.result[t] = real_dtype(t)
        elif kind == "complex":
            d.result[t] = complex_dtype(t)
            if t >= D_C64:
                d.compute[t] = -1
        elif kind == "bool":
            d.result[t] = D_BOOL
        elif kind == "index":
            d.result[t] = D_I64
    _loops[int(op)] = loops


cdef list _names = []
cdef dict _loops = {}


def loop_source(int op):
    """The ufunc whose inner loops compute an operation, or None."""
    name = _loops[op]
    if name is None:
        return None
    if name.startswith("special."):
        import scipy.special
        return getattr(scipy.special, name[8:])
    return getattr(np, name)


def set_result(int op, int dtype, int computing, int result):
    """Called by the kernels when they have looked the loops of an operation up."""
    ops[op].compute[dtype] = computing
    ops[op].result[computing if computing >= 0 else dtype] = result


cdef object _lookup = None


def set_lookup(f):
    """``f(op)`` finds the inner loops of an operation; installed by the kernels."""
    global _lookup
    _lookup = f


cdef int resolve(int op, int dtype) except -2:
    cdef int t = ops[op].compute[dtype]
    if t == -2:
        _lookup(op)
        t = ops[op].compute[dtype]
    if t < 0:
        raise DTypeMismatchError(f"{op_name(op)} is not defined for {_dtypes[dtype]}; convert the operand with astype()",
                                 op=op_name(op), expected="a supported dtype", actual=_dtypes[dtype])
    return t


cdef object op_name(int op):
    return <object> ops[op].name


cdef int op_number(str name) except -1:
    if name not in _names:
        raise ValidationError(f"there is no operation {name!r}; operations are named as in tenferro.operations", argument="op")
    return _names.index(name)


cdef int dtype_code(object dtype, str argument="dtype") except -1:
    try:
        code = _codes.get(dtype)
    except TypeError:                   # the specification of a structured dtype
        code = None
    if code is not None:
        return code
    try:
        d = np.dtype(dtype)
    except TypeError:
        d = dtype
    else:
        code = _codes.get(d.newbyteorder("=") if d.byteorder in "<>" else d)
        if code is not None:
            return code
    raise DTypeMismatchError(
        f"dtype {d} is not supported; use bool, int8-64, uint8-64, float32, float64, complex64 or complex128",
        argument=argument, expected="a numeric dtype of at most 64 (complex: 128) bits", actual=d)


cdef object dtype_object(int code):
    return _dtypes[code]


for _row in ROWS:
    _fill_row(*_row)
for _i in range(13):
    for _j in range(13):
        promote[_i][_j] = _codes[np.promote_types(_dtypes[_i], _dtypes[_j])]
