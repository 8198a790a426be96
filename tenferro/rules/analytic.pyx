"""Analytic functions: local derivatives, in forms that neither overflow nor cancel on the way.

Some derivatives are operations of their own, whose derivatives in turn neither overflow nor cancel. Complex ones have
the branch cuts of the functions.
"""

from libc.math cimport M_2_SQRTPI, M_LN2, M_LOG10E, M_LOG2E

from tenferro._core.memory cimport params_new
from tenferro._core.rule cimport Ctx, derivative
from tenferro._core.optable cimport OUT, X0, X1
from tenferro._ops.basic cimport *


cdef inline bint complex_valued(T x):
    return is_complex(x.v.meta.dtype)

cdef inline T times_i(T z):
    return complex(neg(imag(z)), real(z))

cdef inline T sech2(T x):
    return apply1(Op.SECH2, x)

cdef inline T asin_slope(T x):
    """1 / sqrt(1 - x**2)"""
    return apply1(Op.ASIN_SLOPE, x)

cdef inline T acosh_slope(T x):
    """1 / sqrt(x**2 - 1)"""
    return apply1(Op.ACOSH_SLOPE, x)

cdef inline T atanh_slope(T x):
    """1 / (1 - x**2)"""
    return apply1(Op.ATANH_SLOPE, x)

cdef inline T direction(T x, T y):
    """x / hypot(x, y)"""
    return apply2(Op.DIRECTION, x, y)

cdef inline T inversion(T x, T y):
    """x / (x**2 + y**2)"""
    return apply2(Op.INVERSION, x, y)

cdef inline T share(T x, T y):
    """exp(x) / (exp(x) + exp(y))"""
    return apply2(Op.SHARE, x, y)

cdef T polygamma(Py_ssize_t n, T x):
    cdef Params *p = params_new(1)
    p.v[0] = n
    return apply1(Op.POLYGAMMA, x, p)


# ---- exponentials and logarithms -----------------------------------------------------------------------------------

cdef T exp_d(Ctx c):
    return c.out()

cdef T expm1_d(Ctx c):
    return exp(c.arg(0))

cdef T exp2_d(Ctx c):
    return mul_s(c.out(), M_LN2)

cdef T log_d(Ctx c):
    return reciprocal(c.arg(0))

cdef T log1p_d(Ctx c):
    return reciprocal(add_s(c.arg(0), 1.0))

cdef T log2_d(Ctx c):
    return s_div(M_LOG2E, c.arg(0))

cdef T log10_d(Ctx c):
    return s_div(M_LOG10E, c.arg(0))

cdef T logaddexp_x(Ctx c):
    return share(c.arg(0), c.arg(1))

cdef T logaddexp_y(Ctx c):
    return share(c.arg(1), c.arg(0))

cdef T share_x(Ctx c):
    return mul(c.out(), share(c.arg(1), c.arg(0)))

cdef T share_y(Ctx c):
    return neg(share_x(c))


# ---- roots ---------------------------------------------------------------------------------------------------------

cdef T sqrt_d(Ctx c):
    return s_div(0.5, c.out())

cdef T rsqrt_d(Ctx c):
    return div(mul_s(c.out(), -0.5), c.arg(0))

cdef T cbrt_d(Ctx c):
    cdef T y = c.out()
    return div(s_div(1.0 / 3.0, y), y)

cdef T hypot_x(Ctx c):
    return direction(c.arg(0), c.arg(1))

cdef T hypot_y(Ctx c):
    return direction(c.arg(1), c.arg(0))

cdef T direction_x(Ctx c):
    """y**2 / hypot**3, zero at the origin."""
    cdef T v = direction(c.arg(1), c.arg(0))
    return absorb_mul(v, div(v, hypot(c.arg(0), c.arg(1))))

cdef T direction_y(Ctx c):
    cdef T v = direction(c.arg(1), c.arg(0))
    return neg(absorb_mul(c.out(), div(v, hypot(c.arg(0), c.arg(1)))))


# ---- circular functions --------------------------------------------------------------------------------------------

cdef T sin_d(Ctx c):
    return cos(c.arg(0))

cdef T cos_d(Ctx c):
    return neg(sin(c.arg(0)))

cdef T tan_d(Ctx c):
    cdef T y = c.out()
    if complex_valued(y):
        return sech2(times_i(c.arg(0)))
    return add_s(square(y), 1.0)

cdef T asin_d(Ctx c):
    return asin_slope(c.arg(0))

cdef T acos_d(Ctx c):
    return neg(asin_slope(c.arg(0)))

cdef T asin_slope_d(Ctx c):
    """x / (1 - x**2)**(3/2)"""
    cdef T y = c.out()
    return mul(mul(absorb_mul(y, c.arg(0)), y), y)

cdef T atan_d(Ctx c):
    cdef T x = c.arg(0)
    if complex_valued(x):
        return atanh_slope(times_i(x))
    return square(inverse_hypot(x))

cdef T atan2_y(Ctx c):
    return inversion(c.arg(1), c.arg(0))

cdef T atan2_x(Ctx c):
    return neg(inversion(c.arg(0), c.arg(1)))

cdef T inversion_x(Ctx c):
    """(y**2 - x**2) / (x**2 + y**2)**2"""
    cdef T u = c.out(), v = inversion(c.arg(1), c.arg(0))
    return mul(sub(v, u), add(v, u))

cdef T inversion_y(Ctx c):
    """-2 x y / (x**2 + y**2)**2"""
    return mul_s(mul(c.out(), inversion(c.arg(1), c.arg(0))), -2.0)


# ---- hyperbolic functions ------------------------------------------------------------------------------------------

cdef T sinh_d(Ctx c):
    return cosh(c.arg(0))

cdef T cosh_d(Ctx c):
    return sinh(c.arg(0))

cdef T tanh_d(Ctx c):
    return sech2(c.arg(0))

cdef T sech2_d(Ctx c):
    return mul_s(mul(c.out(), tanh(c.arg(0))), -2.0)

cdef T inverse_hypot(T x):
    """1 / sqrt(1 + x**2)"""
    if complex_valued(x):
        return asin_slope(times_i(x))
    return reciprocal(run2(Op.HYPOT, real_scalar(1.0, x.v.meta.dtype), x))

cdef T asinh_d(Ctx c):
    return inverse_hypot(c.arg(0))

cdef T acosh_d(Ctx c):
    return acosh_slope(c.arg(0))

cdef T acosh_slope_d(Ctx c):
    """-x / (x**2 - 1)**(3/2)"""
    return neg(asin_slope_d(c))

cdef T atanh_d(Ctx c):
    return atanh_slope(c.arg(0))

cdef T atanh_slope_d(Ctx c):
    """2 x / (1 - x**2)**2"""
    cdef T y = c.out()
    return mul(mul_s(absorb_mul(y, c.arg(0)), 2.0), y)


# ---- error and gamma functions -------------------------------------------------------------------------------------

cdef T gaussian(T x, double scale):
    return mul_s(exp(neg(square(x))), scale)

cdef T erf_d(Ctx c):
    return gaussian(c.arg(0), M_2_SQRTPI)

cdef T erfc_d(Ctx c):
    return gaussian(c.arg(0), -M_2_SQRTPI)

cdef T lgamma_d(Ctx c):
    return digamma(c.arg(0))

cdef T digamma_d(Ctx c):
    return polygamma(1, c.arg(0))

cdef T polygamma_d(Ctx c):
    return polygamma(c.params()[0] + 1, c.arg(0))


derivative(Op.EXP, 0, exp_d, OUT)
derivative(Op.EXPM1, 0, expm1_d, X0)
derivative(Op.EXP2, 0, exp2_d, OUT)
derivative(Op.LOG, 0, log_d, X0)
derivative(Op.LOG1P, 0, log1p_d, X0)
derivative(Op.LOG2, 0, log2_d, X0)
derivative(Op.LOG10, 0, log10_d, X0)
derivative(Op.LOGADDEXP, 0, logaddexp_x, X0 | X1)
derivative(Op.LOGADDEXP, 1, logaddexp_y, X0 | X1)
derivative(Op.SHARE, 0, share_x, X0 | X1 | OUT)
derivative(Op.SHARE, 1, share_y, X0 | X1 | OUT)
derivative(Op.SQRT, 0, sqrt_d, OUT)
derivative(Op.RSQRT, 0, rsqrt_d, X0 | OUT)
derivative(Op.CBRT, 0, cbrt_d, OUT)
derivative(Op.HYPOT, 0, hypot_x, X0 | X1)
derivative(Op.HYPOT, 1, hypot_y, X0 | X1)
derivative(Op.DIRECTION, 0, direction_x, X0 | X1)
derivative(Op.DIRECTION, 1, direction_y, X0 | X1 | OUT)
derivative(Op.SIN, 0, sin_d, X0)
derivative(Op.COS, 0, cos_d, X0)
derivative(Op.TAN, 0, tan_d, X0 | OUT)
derivative(Op.ASIN, 0, asin_d, X0)
derivative(Op.ASIN_SLOPE, 0, asin_slope_d, X0 | OUT)
derivative(Op.ACOS, 0, acos_d, X0)
derivative(Op.ATAN, 0, atan_d, X0)
derivative(Op.ATAN2, 0, atan2_y, X0 | X1)
derivative(Op.ATAN2, 1, atan2_x, X0 | X1)
derivative(Op.INVERSION, 0, inversion_x, X0 | X1 | OUT)
derivative(Op.INVERSION, 1, inversion_y, X0 | X1 | OUT)
derivative(Op.SINH, 0, sinh_d, X0)
derivative(Op.COSH, 0, cosh_d, X0)
derivative(Op.TANH, 0, tanh_d, X0)
derivative(Op.SECH2, 0, sech2_d, X0 | OUT)
derivative(Op.ASINH, 0, asinh_d, X0)
derivative(Op.ACOSH, 0, acosh_d, X0)
derivative(Op.ACOSH_SLOPE, 0, acosh_slope_d, X0 | OUT)
derivative(Op.ATANH, 0, atanh_d, X0)
derivative(Op.ATANH_SLOPE, 0, atanh_slope_d, X0 | OUT)
derivative(Op.ERF, 0, erf_d, X0)
derivative(Op.ERFC, 0, erfc_d, X0)
derivative(Op.LGAMMA, 0, lgamma_d, X0)
derivative(Op.DIGAMMA, 0, digamma_d, X0)
derivative(Op.POLYGAMMA, 0, polygamma_d, X0)
