"""Elementwise operations under their names, for gradient rules and composites: functions of tensors of one runtime."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor as T, apply1, apply2, apply3, real_scalar, run2
from tenferro._core.optable cimport Op

cdef inline T neg(T x):
    return apply1(Op.NEG, x)

cdef inline T abs(T x):
    return apply1(Op.ABS, x)

cdef inline T sign(T x):
    return apply1(Op.SIGN, x)

cdef inline T conj(T x):
    """x itself for real x."""
    return apply1(Op.CONJ, x) if is_complex(x.v.meta.dtype) else x

cdef inline T real(T x):
    """x itself for real x."""
    return apply1(Op.REAL, x) if is_complex(x.v.meta.dtype) else x

cdef inline T imag(T x):
    return apply1(Op.IMAG, x)

cdef inline T angle(T x):
    return apply1(Op.ANGLE, x)

cdef inline T reciprocal(T x):
    return apply1(Op.RECIPROCAL, x)

cdef inline T square(T x):
    return apply1(Op.SQUARE, x)

cdef inline T exp(T x):
    return apply1(Op.EXP, x)

cdef inline T expm1(T x):
    return apply1(Op.EXPM1, x)

cdef inline T exp2(T x):
    return apply1(Op.EXP2, x)

cdef inline T log(T x):
    return apply1(Op.LOG, x)

cdef inline T log1p(T x):
    return apply1(Op.LOG1P, x)

cdef inline T log2(T x):
    return apply1(Op.LOG2, x)

cdef inline T log10(T x):
    return apply1(Op.LOG10, x)

cdef inline T sqrt(T x):
    return apply1(Op.SQRT, x)

cdef inline T rsqrt(T x):
    return apply1(Op.RSQRT, x)

cdef inline T cbrt(T x):
    return apply1(Op.CBRT, x)

cdef inline T sin(T x):
    return apply1(Op.SIN, x)

cdef inline T cos(T x):
    return apply1(Op.COS, x)

cdef inline T tan(T x):
    return apply1(Op.TAN, x)

cdef inline T asin(T x):
    return apply1(Op.ASIN, x)

cdef inline T acos(T x):
    return apply1(Op.ACOS, x)

cdef inline T atan(T x):
    return apply1(Op.ATAN, x)

cdef inline T sinh(T x):
    return apply1(Op.SINH, x)

cdef inline T cosh(T x):
    return apply1(Op.COSH, x)

cdef inline T tanh(T x):
    return apply1(Op.TANH, x)

cdef inline T asinh(T x):
    return apply1(Op.ASINH, x)

cdef inline T acosh(T x):
    return apply1(Op.ACOSH, x)

cdef inline T atanh(T x):
    return apply1(Op.ATANH, x)

cdef inline T erf(T x):
    return apply1(Op.ERF, x)

cdef inline T erfc(T x):
    return apply1(Op.ERFC, x)

cdef inline T lgamma(T x):
    return apply1(Op.LGAMMA, x)

cdef inline T digamma(T x):
    return apply1(Op.DIGAMMA, x)

cdef inline T logical_not(T x):
    return apply1(Op.LOGICAL_NOT, x)

cdef inline T isfinite(T x):
    return apply1(Op.ISFINITE, x)

cdef inline T isnan(T x):
    return apply1(Op.ISNAN, x)

cdef inline T isinf(T x):
    return apply1(Op.ISINF, x)

cdef inline T floor(T x):
    return apply1(Op.FLOOR, x)

cdef inline T ceil(T x):
    return apply1(Op.CEIL, x)

cdef inline T round(T x):
    return apply1(Op.ROUND, x)

cdef inline T trunc(T x):
    return apply1(Op.TRUNC, x)

cdef inline T add(T x, T y):
    return apply2(Op.ADD, x, y)

cdef inline T sub(T x, T y):
    return apply2(Op.SUB, x, y)

cdef inline T mul(T x, T y):
    return apply2(Op.MUL, x, y)

cdef inline T div(T x, T y):
    return apply2(Op.DIV, x, y)

cdef inline T pow(T x, T y):
    return apply2(Op.POW, x, y)

cdef inline T rem(T x, T y):
    return apply2(Op.REM, x, y)

cdef inline T floor_div(T x, T y):
    return apply2(Op.FLOOR_DIV, x, y)

cdef inline T fmod(T x, T y):
    return apply2(Op.FMOD, x, y)

cdef inline T complex(T x, T y):
    return apply2(Op.COMPLEX, x, y)

cdef inline T atan2(T x, T y):
    return apply2(Op.ATAN2, x, y)

cdef inline T logaddexp(T x, T y):
    return apply2(Op.LOGADDEXP, x, y)

cdef inline T hypot(T x, T y):
    return apply2(Op.HYPOT, x, y)

cdef inline T absorb_mul(T g, T d):
    """g * d, exactly zero where g is exactly zero, whatever d is."""
    return apply2(Op.ABSORB_MUL, g, d)

cdef inline T equal(T x, T y):
    return apply2(Op.EQUAL, x, y)

cdef inline T not_equal(T x, T y):
    return apply2(Op.NOT_EQUAL, x, y)

cdef inline T less(T x, T y):
    return apply2(Op.LESS, x, y)

cdef inline T less_equal(T x, T y):
    return apply2(Op.LESS_EQUAL, x, y)

cdef inline T greater(T x, T y):
    return apply2(Op.GREATER, x, y)

cdef inline T greater_equal(T x, T y):
    return apply2(Op.GREATER_EQUAL, x, y)

cdef inline T logical_and(T x, T y):
    return apply2(Op.LOGICAL_AND, x, y)

cdef inline T logical_or(T x, T y):
    return apply2(Op.LOGICAL_OR, x, y)

cdef inline T logical_xor(T x, T y):
    return apply2(Op.LOGICAL_XOR, x, y)

cdef inline T maximum(T x, T y):
    return apply2(Op.MAXIMUM, x, y)

cdef inline T minimum(T x, T y):
    return apply2(Op.MINIMUM, x, y)

cdef inline T where(T condition, T x, T y):
    return apply3(Op.WHERE, condition, x, y)

# With a Python float, which is weak: the result has x's dtype.

cdef inline T add_s(T x, double s):
    return run2(Op.ADD, x, real_scalar(s, x.v.meta.dtype))

cdef inline T sub_s(T x, double s):
    return run2(Op.SUB, x, real_scalar(s, x.v.meta.dtype))

cdef inline T mul_s(T x, double s):
    return run2(Op.MUL, x, real_scalar(s, x.v.meta.dtype))

cdef inline T div_s(T x, double s):
    return run2(Op.DIV, x, real_scalar(s, x.v.meta.dtype))

cdef inline T pow_s(T x, double s):
    return run2(Op.POW, x, real_scalar(s, x.v.meta.dtype))

cdef inline T maximum_s(T x, double s):
    return run2(Op.MAXIMUM, x, real_scalar(s, x.v.meta.dtype))

cdef inline T minimum_s(T x, double s):
    return run2(Op.MINIMUM, x, real_scalar(s, x.v.meta.dtype))

cdef inline T equal_s(T x, double s):
    return run2(Op.EQUAL, x, real_scalar(s, x.v.meta.dtype))

cdef inline T not_equal_s(T x, double s):
    return run2(Op.NOT_EQUAL, x, real_scalar(s, x.v.meta.dtype))

cdef inline T less_s(T x, double s):
    return run2(Op.LESS, x, real_scalar(s, x.v.meta.dtype))

cdef inline T less_equal_s(T x, double s):
    return run2(Op.LESS_EQUAL, x, real_scalar(s, x.v.meta.dtype))

cdef inline T greater_s(T x, double s):
    return run2(Op.GREATER, x, real_scalar(s, x.v.meta.dtype))

cdef inline T greater_equal_s(T x, double s):
    return run2(Op.GREATER_EQUAL, x, real_scalar(s, x.v.meta.dtype))

cdef inline T s_sub(double s, T x):
    return run2(Op.SUB, real_scalar(s, x.v.meta.dtype), x)

cdef inline T s_div(double s, T x):
    return run2(Op.DIV, real_scalar(s, x.v.meta.dtype), x)

cdef inline T s_pow(double s, T x):
    return run2(Op.POW, real_scalar(s, x.v.meta.dtype), x)
