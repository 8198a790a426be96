"""Operations that only move elements: every rule is the operation itself or its adjoint."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor as T
from tenferro._core.optable cimport *
from tenferro._core.rule cimport Ctx, rule
from tenferro._ops.structure cimport *


cdef T same(Ctx c, T g):
    """Also for broadcasting: the sweep sums a cotangent, and broadcasts a tangent, to the shape that is due."""
    return g

rule(Op.COPY, 0, same, same, 0)
rule(Op.BROADCAST_TO, 0, same, same, 0)


cdef inline bint by_columns(Ctx c):
    return c.node.params != NULL and c.node.params.v[0]

cdef T reshape_x(Ctx c, T g):
    return reshape_to_f(g, c.meta(0)) if by_columns(c) else reshape_to(g, c.meta(0))

cdef T reshape_dx(Ctx c, T t):
    return reshape_to_f(t, c.node.meta) if by_columns(c) else reshape_to(t, c.node.meta)

rule(Op.RESHAPE, 0, reshape_x, reshape_dx, 0)


cdef T transpose_x(Ctx c, T g):
    cdef Py_ssize_t inverse[64]
    cdef int i
    for i in range(g.v.meta.rank):
        inverse[c.params()[i]] = i
    return permute(g, inverse)

cdef T transpose_dx(Ctx c, T t):
    return permute(t, c.params())

rule(Op.TRANSPOSE, 0, transpose_x, transpose_dx, 0)


cdef T expand_x(Ctx c, T g):
    return squeezed(g, <unsigned long long> c.params()[0])

cdef T expand_dx(Ctx c, T t):
    return expand(t, <unsigned long long> c.params()[0])

rule(Op.EXPAND_DIMS, 0, expand_x, expand_dx, 0)
rule(Op.SQUEEZE, 0, expand_dx, expand_x, 0)


cdef T reverse_x(Ctx c, T g):
    return reversed_along(g, <unsigned long long> c.params()[0])

rule(Op.REVERSE, 0, reverse_x, reverse_x, 0)
