from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor as T
from tenferro._core.optable cimport *
from tenferro._core.rule cimport Ctx, rule
from tenferro._ops.structure cimport broadcast_like
from tenferro._ops.reduce cimport sum_axes

cdef T sum_x(Ctx c, T g):
    return broadcast_like(g, c.meta(0))

cdef T sum_dx(Ctx c, T t):
    return sum_axes(t, c.params()[0], c.params()[1])

rule(Op.REDUCE_SUM, 0, sum_x, sum_dx, 0)
