"""Arithmetic."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor as T, apply1, apply2
from tenferro._core.optable cimport *
from tenferro._core.rule cimport Ctx, rule, derivative


cdef inline T mul(T a, T b):
    return apply2(Op.MUL, a, b)


cdef inline T conj(T a):
    return apply1(Op.CONJ, a) if is_complex(a.v.meta.dtype) else a


cdef T same(Ctx c, T g):
    return g

cdef T negated(Ctx c, T g):
    return apply1(Op.NEG, g)

cdef T mul_x(Ctx c, T g):
    return mul(g, conj(c.arg(1)))

cdef T mul_y(Ctx c, T g):
    return mul(g, conj(c.arg(0)))

cdef T mul_dx(Ctx c, T t):
    return mul(t, c.arg(1))

cdef T mul_dy(Ctx c, T t):
    return mul(t, c.arg(0))

rule(Op.ADD, 0, same, same, 0)
rule(Op.ADD, 1, same, same, 0)
rule(Op.SUB, 0, same, same, 0)
rule(Op.SUB, 1, negated, negated, 0)
rule(Op.MUL, 0, mul_x, mul_dx, X1)
rule(Op.MUL, 1, mul_y, mul_dy, X0)
