"""Rules of reductions along any axes."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor as T, alias, cast, scalar_like
from tenferro._core.optable cimport *
from tenferro._core.rule cimport Ctx, rule
from tenferro._ops.basic cimport *
from tenferro._ops.reduce cimport count_along, reduced, sum_axes, truths, unreduce
from tenferro._ops.scan cimport cumulate, shift

ctypedef unsigned long long axes_t


cdef inline axes_t axes_of(Ctx c):
    return <axes_t> c.params()[0]

cdef inline T unreduced(Ctx c, T g):
    """A tensor of the result's shape, repeated along the reduced axes."""
    return unreduce(g, c.meta(0), axes_of(c), c.params()[1])

cdef inline T summed(Ctx c, T t):
    return sum_axes(t, axes_of(c), c.params()[1])


# ---- linear ones -----------------------------------------------------------------------------------------------------

cdef T sum_x(Ctx c, T g):
    return unreduced(c, g)

cdef T sum_dx(Ctx c, T t):
    return summed(c, t)

cdef T mean_x(Ctx c, T g):
    return unreduced(c, div_s(g, <double> count_along(c.meta(0), axes_of(c))))

cdef T mean_dx(Ctx c, T t):
    return reduced(Op.REDUCE_MEAN, t, axes_of(c), c.params()[1])

cdef T unreduce_x(Ctx c, T g):
    return sum_axes(g, axes_of(c), c.params()[1])

cdef T unreduce_dx(Ctx c, T t):
    return unreduce(t, c.node.meta, axes_of(c), c.params()[1])


# ---- products --------------------------------------------------------------------------------------------------------

cdef T others_along(T x, int axis):
    """For every element the product of all others along one axis: of those before times of those after."""
    return mul(shift(cumulate(Op.CUMPROD, x, axis, False), axis, False, 1),
               shift(cumulate(Op.CUMPROD, x, axis, True), axis, True, 1))

cdef T others(T x, axes_t axes):
    """For every element the product of all others along the axes; never a quotient, so zeros do no harm."""
    cdef int axis = 0
    cdef axes_t rest
    while not (axes >> axis) & 1:
        axis += 1
    rest = axes & ~(1ULL << axis)
    if rest == 0:
        return others_along(x, axis)
    return mul(others_along(x, axis), others(reduced(Op.REDUCE_PROD, x, 1ULL << axis, True), rest))

cdef T prod_x(Ctx c, T g):
    if axes_of(c) == 0:
        return g
    return absorb_mul(unreduced(c, g), conj(others(c.arg(0), axes_of(c))))

cdef T prod_dx(Ctx c, T t):
    if axes_of(c) == 0:
        return t
    return summed(c, absorb_mul(t, others(c.arg(0), axes_of(c))))


# ---- extremes --------------------------------------------------------------------------------------------------------

cdef T winners(Ctx c):
    """Which elements equal the result; NaN wins where it is."""
    cdef T x = alias(c.arg(0), NULL)
    return logical_or(equal(x, unreduced(c, alias(c.out(), NULL))), not_equal(x, x))

cdef T count(Ctx c, T w, T like, bint keepdims):
    """Among how many winners a unit is shared equally."""
    return cast(truths(Op.COUNT_NONZERO, w, axes_of(c), keepdims, D_I64), like.v.meta.dtype)

cdef T extreme_x(Ctx c, T g):
    cdef T w = winners(c)
    return where(w, unreduced(c, div(g, count(c, w, g, c.params()[1]))), scalar_like(g, 0))

cdef T extreme_dx(Ctx c, T t):
    cdef T w = winners(c)
    return div(summed(c, where(w, t, scalar_like(t, 0))), count(c, w, t, c.params()[1]))


# ---- moments ---------------------------------------------------------------------------------------------------------

cdef T centred(Ctx c):
    cdef T x = c.arg(0)
    return sub(x, reduced(Op.REDUCE_MEAN, x, axes_of(c), True))

cdef double freedom(Ctx c):
    """One over the number that the sum of squares is divided by."""
    cdef double n = <double> (count_along(c.meta(0), axes_of(c)) - c.params()[2])
    return 1 / (n if n > 0 else 0.0)

cdef inline T projected(Ctx c, T t):
    """Sum of ``Re(conj(x - mean) * t)``."""
    return summed(c, real(mul(conj(centred(c)), t)))

cdef T var_x(Ctx c, T g):
    return mul(unreduced(c, mul_s(g, 2 * freedom(c))), centred(c))

cdef T var_dx(Ctx c, T t):
    return mul_s(projected(c, t), 2 * freedom(c))

cdef T over_std(Ctx c, T g):
    """g / (n std), 0 where std is."""
    cdef T std = c.out(), zero = equal_s(std, 0)
    g = div(mul_s(g, freedom(c)), where(zero, scalar_like(std, 1), std))
    return where(zero, scalar_like(g, 0), g)

cdef T std_x(Ctx c, T g):
    return mul(unreduced(c, over_std(c, g)), centred(c))

cdef T std_dx(Ctx c, T t):
    return over_std(c, projected(c, t))


# ---- log-sum-exp -----------------------------------------------------------------------------------------------------

cdef T softmax_weights(Ctx c):
    """``exp(x) / sum(exp(x))``; all 0 where every element is -inf."""
    cdef T x = c.arg(0), top, e, s
    top = reduced(Op.REDUCE_MAX, alias(x, NULL), axes_of(c), True)
    e = exp(sub(x, where(isfinite(top), top, scalar_like(top, 0))))
    s = sum_axes(e, axes_of(c), True)
    return div(e, where(equal_s(s, 0), scalar_like(s, 1), s))

cdef T logsumexp_x(Ctx c, T g):
    return absorb_mul(unreduced(c, g), softmax_weights(c))

cdef T logsumexp_dx(Ctx c, T t):
    return summed(c, absorb_mul(t, softmax_weights(c)))


rule(Op.REDUCE_SUM, 0, sum_x, sum_dx, 0)
rule(Op.REDUCE_MEAN, 0, mean_x, mean_dx, 0)
rule(Op.UNREDUCE, 0, unreduce_x, unreduce_dx, 0)
rule(Op.REDUCE_PROD, 0, prod_x, prod_dx, X0)
rule(Op.REDUCE_MAX, 0, extreme_x, extreme_dx, X0 | OUT)
rule(Op.REDUCE_MIN, 0, extreme_x, extreme_dx, X0 | OUT)
rule(Op.REDUCE_VAR, 0, var_x, var_dx, X0)
rule(Op.REDUCE_STD, 0, std_x, std_dx, X0 | OUT)
rule(Op.LOGSUMEXP, 0, logsumexp_x, logsumexp_dx, X0)
