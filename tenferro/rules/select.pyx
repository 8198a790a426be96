"""Rules of selection and rounding. A selection is its own adjoint: VJP and JVP of an operand are one function."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor as T, scalar_like
from tenferro._core.optable cimport *
from tenferro._core.rule cimport Ctx, rule
from tenferro._ops.basic cimport equal, greater, greater_equal, less, less_equal, logical_and, logical_or, mul_s, where


cdef inline T where_only(T condition, T g):
    """g where the condition holds, else exactly zero."""
    return where(condition, g, scalar_like(g, 0.0))

cdef inline T unless(T condition, T g):
    return where(condition, scalar_like(g, 0.0), g)

cdef T nothing(Ctx c, T g):
    return None


cdef T where_x(Ctx c, T g):
    return where_only(c.arg(0), g)

cdef T where_y(Ctx c, T g):
    return unless(c.arg(0), g)

rule(Op.WHERE, 1, where_x, where_x, X0)
rule(Op.WHERE, 2, where_y, where_y, X0)


cdef T shared(T loses, T x, T y, T g):
    """g where an operand wins, half of it at a tie; both operands have it where the result is NaN."""
    return unless(loses, where(equal(x, y), mul_s(g, 0.5), g))

cdef T maximum_x(Ctx c, T g):
    cdef T x = c.arg(0), y = c.arg(1)
    return shared(less(x, y), x, y, g)

cdef T maximum_y(Ctx c, T g):
    cdef T x = c.arg(0), y = c.arg(1)
    return shared(less(y, x), x, y, g)

rule(Op.MAXIMUM, 0, maximum_x, maximum_x, X0 | X1)
rule(Op.MAXIMUM, 1, maximum_y, maximum_y, X0 | X1)
rule(Op.MINIMUM, 0, maximum_y, maximum_y, X0 | X1)
rule(Op.MINIMUM, 1, maximum_x, maximum_x, X0 | X1)


cdef T clamp_x(Ctx c, T g):
    """Strictly between the bounds."""
    cdef T x = c.arg(0)
    return where_only(logical_and(greater(x, c.arg(1)), less(x, c.arg(2))), g)

cdef T clamp_low(Ctx c, T g):
    cdef T low = c.arg(1)
    return where_only(logical_and(less_equal(c.arg(0), low), less(low, c.arg(2))), g)

cdef T clamp_high(Ctx c, T g):
    """Bounds that cross give the upper one."""
    cdef T high = c.arg(2)
    return where_only(logical_or(greater_equal(c.arg(0), high), greater_equal(c.arg(1), high)), g)

rule(Op.CLAMP, 0, clamp_x, clamp_x, X0 | X1 | X2)
rule(Op.CLAMP, 1, clamp_low, clamp_low, X0 | X1 | X2)
rule(Op.CLAMP, 2, clamp_high, clamp_high, X0 | X1 | X2)


for _op in (Op.FLOOR, Op.CEIL, Op.ROUND, Op.TRUNC):
    rule(_op, 0, nothing, nothing, 0)
