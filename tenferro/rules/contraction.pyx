"""Rules of the contraction: it is bilinear, and every derivative of it is a contraction with permuted labels."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor as T
from tenferro._core.optable cimport *
from tenferro._core.rule cimport Ctx, rule
from tenferro._ops.basic cimport conj
from tenferro._ops.labels cimport contraction

ctypedef struct Labels:
    const Py_ssize_t *x
    const Py_ssize_t *y
    const Py_ssize_t *out
    int nx, ny, n_out


cdef inline Labels labels(Ctx c):
    cdef Py_ssize_t *p = c.params()
    cdef Labels s
    s.nx = <int> p[0]
    s.ny = <int> p[1]
    s.n_out = <int> (c.node.params.n - 2 - p[0] - p[1])
    s.x = p + 2
    s.y = s.x + s.nx
    s.out = s.y + s.ny
    return s


cdef T contract_x(Ctx c, T g):
    cdef Labels s = labels(c)
    return contraction(g, s.out, s.n_out, conj(c.arg(1)), s.y, s.ny, s.x, s.nx)

cdef T contract_y(Ctx c, T g):
    cdef Labels s = labels(c)
    return contraction(conj(c.arg(0)), s.x, s.nx, g, s.out, s.n_out, s.y, s.ny)

cdef T contract_dx(Ctx c, T t):
    cdef Labels s = labels(c)
    return contraction(t, s.x, s.nx, c.arg(1), s.y, s.ny, s.out, s.n_out)

cdef T contract_dy(Ctx c, T t):
    cdef Labels s = labels(c)
    return contraction(c.arg(0), s.x, s.nx, t, s.y, s.ny, s.out, s.n_out)

rule(Op.CONTRACT, 0, contract_x, contract_dx, X1)
rule(Op.CONTRACT, 1, contract_y, contract_dy, X0)
