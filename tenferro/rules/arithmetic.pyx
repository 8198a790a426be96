"""Rules of arithmetic. Complex functions that are not holomorphic follow from ``<a, b> = Re sum(conj(a) * b)``."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor as T, apply2, cast, scalar_like
from tenferro._core.optable cimport *
from tenferro._core.rule cimport Ctx, derivative, rule
from tenferro._ops.basic cimport (absorb_mul, abs, complex, conj, equal_s, floor_div, imag, log, mul_s, neg, pow, real,
                                  round, sign, sub, sub_s, div, where)


cdef inline T absorb_both(T a, T b):
    """a * b, exactly zero where one of them is exactly zero."""
    return apply2(Op.ABSORB_BOTH, a, b)

cdef inline T absorb_div(T g, T d):
    """g / d, exactly zero where g is exactly zero."""
    return apply2(Op.ABSORB_DIV, g, d)

cdef inline T computed(Ctx c, int k):
    """Input k in the dtype of the computation."""
    return cast(c.arg(k), c.node.meta.dtype)

cdef inline T times_i(T x):
    """i x for real x."""
    return complex(scalar_like(x, 0.0), x)

cdef T same(Ctx c, T g):
    return g

cdef T negated(Ctx c, T g):
    return neg(g)

cdef T nothing(Ctx c, T g):
    return None


rule(Op.ALIAS, 0, same, same, 0)
rule(Op.ADD, 0, same, same, 0)
rule(Op.ADD, 1, same, same, 0)
rule(Op.SUB, 0, same, same, 0)
rule(Op.SUB, 1, negated, negated, 0)
rule(Op.NEG, 0, negated, negated, 0)


# ---- products and quotients ------------------------------------------------------------------------------------------

cdef T mul_x(Ctx c, T g):
    return absorb_mul(g, conj(c.arg(1)))

cdef T mul_y(Ctx c, T g):
    return absorb_mul(g, conj(c.arg(0)))

cdef T mul_dx(Ctx c, T t):
    return absorb_mul(t, c.arg(1))

cdef T mul_dy(Ctx c, T t):
    return absorb_mul(t, c.arg(0))

rule(Op.MUL, 0, mul_x, mul_dx, X1)
rule(Op.MUL, 1, mul_y, mul_dy, X0)
rule(Op.ABSORB_MUL, 0, mul_x, mul_dx, X1)


cdef T both_x(Ctx c, T g):
    return absorb_both(g, conj(c.arg(1)))

cdef T both_y(Ctx c, T g):
    return absorb_both(g, conj(c.arg(0)))

cdef T both_dx(Ctx c, T t):
    return absorb_both(t, c.arg(1))

cdef T both_dy(Ctx c, T t):
    return absorb_both(t, c.arg(0))

rule(Op.ABSORB_MUL, 1, both_y, both_dy, X0)
rule(Op.ABSORB_BOTH, 0, both_x, both_dx, X1)
rule(Op.ABSORB_BOTH, 1, both_y, both_dy, X0)


cdef T div_x(Ctx c, T g):
    return absorb_div(g, conj(c.arg(1)))

cdef T div_dx(Ctx c, T t):
    return absorb_div(t, c.arg(1))

cdef T div_y(Ctx c, T g):
    """-(g / y) (x / y): never y squared."""
    return neg(absorb_mul(absorb_div(g, conj(c.arg(1))), conj(c.out())))

cdef T div_dy(Ctx c, T t):
    return neg(absorb_mul(absorb_div(t, c.arg(1)), c.out()))

cdef T absorb_div_y(Ctx c, T g):
    return neg(absorb_both(absorb_div(g, conj(c.arg(1))), conj(c.out())))

cdef T absorb_div_dy(Ctx c, T t):
    return neg(absorb_both(absorb_div(t, c.arg(1)), c.out()))

rule(Op.DIV, 0, div_x, div_dx, X1)
rule(Op.DIV, 1, div_y, div_dy, X1 | OUT)
rule(Op.ABSORB_DIV, 0, div_x, div_dx, X1)
rule(Op.ABSORB_DIV, 1, absorb_div_y, absorb_div_dy, X1 | OUT)


cdef T reciprocal_x(Ctx c, T g):
    """-(g / x) / x, so that no square leaves the range."""
    cdef T w = conj(c.out())
    return neg(absorb_mul(absorb_mul(g, w), w))

cdef T reciprocal_dx(Ctx c, T t):
    return neg(absorb_mul(absorb_mul(t, c.out()), c.out()))

rule(Op.RECIPROCAL, 0, reciprocal_x, reciprocal_dx, OUT)


cdef T square_x(Ctx c, T g):
    return absorb_mul(mul_s(g, 2.0), conj(c.arg(0)))

cdef T square_dx(Ctx c, T t):
    return absorb_mul(mul_s(t, 2.0), c.arg(0))

rule(Op.SQUARE, 0, square_x, square_dx, X0)


cdef T pow_x(Ctx c):
    """y x**(y - 1), exactly zero where y is."""
    cdef T y = computed(c, 1)
    return absorb_mul(y, pow(computed(c, 0), sub_s(y, 1.0)))

cdef T pow_y(Ctx c):
    """x**y log(x), and zero where x is."""
    cdef T x = computed(c, 0)
    return absorb_both(c.out(), log(where(equal_s(x, 0.0), scalar_like(x, 1.0), x)))

derivative(Op.POW, 0, pow_x, X0 | X1)
derivative(Op.POW, 1, pow_y, X0 | OUT)


cdef T rem_y(Ctx c, T g):
    return neg(absorb_mul(g, floor_div(c.arg(0), c.arg(1))))

cdef T fmod_y(Ctx c, T g):
    """-g trunc(x / y); x minus the remainder is a multiple of y, so that rounding cannot miss the integer."""
    return neg(absorb_mul(g, round(div(sub(c.arg(0), c.out()), c.arg(1)))))

rule(Op.REM, 0, same, same, 0)
rule(Op.REM, 1, rem_y, rem_y, X0 | X1)
rule(Op.FMOD, 0, same, same, 0)
rule(Op.FMOD, 1, fmod_y, fmod_y, X0 | X1 | OUT)
rule(Op.FLOOR_DIV, 0, nothing, nothing, 0)
rule(Op.FLOOR_DIV, 1, nothing, nothing, 0)


# ---- absolute value, sign, angle -------------------------------------------------------------------------------------

cdef T modulus(T z):
    """|z|, and 1 where it is zero."""
    cdef T r = abs(z)
    return where(equal_s(r, 0.0), scalar_like(r, 1.0), r)

cdef T turn(T t, T s, T z):
    """Im(conj(s) t) / |z|: how fast the direction s of z turns."""
    return absorb_div(imag(absorb_mul(t, conj(s))), modulus(z))


cdef T abs_x(Ctx c, T g):
    return absorb_mul(g, sign(c.arg(0)))

cdef T abs_dx(Ctx c, T t):
    return real(absorb_mul(t, conj(sign(c.arg(0)))))

rule(Op.ABS, 0, abs_x, abs_dx, X0)


cdef T sign_x(Ctx c, T g):
    """i s Im(conj(s) g) / |z| for s = z / |z|, which is its own adjoint; zero at zero."""
    if not is_complex(c.node.meta.dtype):
        return None
    cdef T s = c.out()
    return absorb_mul(times_i(turn(g, s, c.arg(0))), s)

rule(Op.SIGN, 0, sign_x, sign_x, X0 | OUT)


cdef T angle_x(Ctx c, T g):
    """i g z / |z|**2, and zero at zero."""
    if not is_complex(c.meta(0).dtype):
        return None
    cdef T z = c.arg(0)
    return absorb_mul(times_i(absorb_div(g, modulus(z))), sign(z))

cdef T angle_dx(Ctx c, T t):
    if not is_complex(c.meta(0).dtype):
        return None
    cdef T z = c.arg(0)
    return turn(t, sign(z), z)

rule(Op.ANGLE, 0, angle_x, angle_dx, X0)


# ---- parts of complex numbers ----------------------------------------------------------------------------------------

cdef T conj_x(Ctx c, T g):
    return conj(g)

cdef T real_dx(Ctx c, T t):
    return real(t)

cdef T imag_x(Ctx c, T g):
    return times_i(g) if is_complex(c.meta(0).dtype) else None

cdef T imag_dx(Ctx c, T t):
    return imag(t) if is_complex(c.meta(0).dtype) else None

cdef T complex_re(Ctx c, T g):
    return real(g)

cdef T complex_im(Ctx c, T g):
    return imag(g)

cdef T complex_dim(Ctx c, T t):
    return times_i(t)

rule(Op.CONJ, 0, conj_x, conj_x, 0)
rule(Op.REAL, 0, same, real_dx, 0)
rule(Op.IMAG, 0, imag_x, imag_dx, 0)
rule(Op.COMPLEX, 0, complex_re, same, 0)
rule(Op.COMPLEX, 1, complex_im, complex_dim, 0)


# ---- dtype: what a rule returns is cast centrally --------------------------------------------------------------------

cdef T recast(Ctx c, T g):
    return g if is_inexact(c.node.meta.dtype) else None

rule(Op.CAST, 0, recast, recast, 0)
rule(Op.CONVERT, 0, recast, recast, 0)
