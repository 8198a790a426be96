"""Operations that only move elements: every rule is the operation itself or its adjoint."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor as T, constant_value, scalar_like
from tenferro._core.memory cimport row_major
from tenferro._core.optable cimport *
from tenferro._core.rule cimport Ctx, rule
from tenferro._ops.assembly cimport embed_into, pad_with, triangle_of
from tenferro._ops.basic cimport where
from tenferro._ops.slicing cimport *
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


cdef T slice_x(Ctx c, T g):
    return unslice_by(g, c.params(), c.meta(0).dims, row_major(c.meta(0)))

cdef T slice_dx(Ctx c, T t):
    return slice_by(t, c.params())

cdef T unslice_dx(Ctx c, T t):
    return unslice_by(t, c.params(), c.node.meta.dims, row_major(c.node.meta))

rule(Op.SLICE, 0, slice_x, slice_dx, 0)
rule(Op.UNSLICE, 0, slice_dx, unslice_dx, 0)


cdef T dynamic_slice_x(Ctx c, T g):
    return dynamic_unslice_by(g, c.arg(1), c.meta(0).dims, row_major(c.meta(0)))

cdef T dynamic_slice_dx(Ctx c, T t):
    return dynamic_slice_by(t, c.arg(1), c.node.meta.dims)

cdef T dynamic_unslice_x(Ctx c, T g):
    return dynamic_slice_by(g, c.arg(1), c.meta(0).dims)

cdef T dynamic_unslice_dx(Ctx c, T t):
    return dynamic_unslice_by(t, c.arg(1), c.node.meta.dims, row_major(c.node.meta))

rule(Op.DYNAMIC_SLICE, 0, dynamic_slice_x, dynamic_slice_dx, X1)
rule(Op.DYNAMIC_UNSLICE, 0, dynamic_unslice_x, dynamic_unslice_dx, X1)


# Parameters of concatenate: the axis, whether it is new, the place of each input along it.

cdef T concatenate_x(Ctx c, T g):
    cdef Py_ssize_t *p = c.params()
    if p[1]:
        return take_at(g, <int> p[0], c.i)
    return slice_axis(g, <int> p[0], p[2 + c.i], 1, p[3 + c.i] - p[2 + c.i])

cdef T concatenate_dx(Ctx c, T t):
    cdef Py_ssize_t *p = c.params()
    if p[1]:
        return untake_at(t, <int> p[0], c.i, c.node.meta)
    return unslice_axis(t, <int> p[0], p[2 + c.i], 1, c.node.meta)

rule(Op.CONCATENATE, 7, concatenate_x, concatenate_dx, 0)


cdef Py_ssize_t inner_index(Ctx c, Py_ssize_t *v) noexcept:
    """The index of what is padded, in the padded tensor."""
    cdef Py_ssize_t *p = c.params()
    cdef const Meta *m = c.node.meta
    cdef int i
    v[0] = v[1] = m.rank
    for i in range(m.rank):
        v[2 + 3 * i] = p[2 * i]
        v[3 + 3 * i] = 1
        v[4 + 3 * i] = m.dims[i] - p[2 * i] - p[2 * i + 1]
        v[2 + 3 * m.rank + i] = i
    return 0

cdef T pad_x(Ctx c, T g):
    cdef Py_ssize_t v[258]
    inner_index(c, v)
    return slice_by(g, v)

cdef T pad_dx(Ctx c, T t):
    cdef Py_ssize_t v[258]
    inner_index(c, v)
    return unslice_by(t, v, c.node.meta.dims, row_major(c.node.meta))

cdef T padded_around(Ctx c, T inside, T value):
    """The value around a constant."""
    cdef Py_ssize_t v[258]
    cdef Py_ssize_t shape[64]
    cdef int i
    inner_index(c, v)
    for i in range(c.node.meta.rank):
        shape[i] = v[4 + 3 * i]
    return pad_with(broadcast_dims(inside, c.node.meta.rank, shape), value, c.params())

cdef T pad_value(Ctx c, T g):
    return where(padded_around(c, constant_value(c.rt, False, -1, True), constant_value(c.rt, True, -1, True)), g,
                 scalar_like(g, 0.0))

cdef T pad_dvalue(Ctx c, T t):
    return padded_around(c, scalar_like(t, 0.0), t)

rule(Op.PAD, 0, pad_x, pad_dx, 0)
rule(Op.PAD, 1, pad_value, pad_dvalue, 0)


cdef T triangle_x(Ctx c, T g):
    return triangle_of(c.node.op.id, g, c.params()[0])

rule(Op.TRIL, 0, triangle_x, triangle_x, 0)
rule(Op.TRIU, 0, triangle_x, triangle_x, 0)


cdef T extract_diag_x(Ctx c, T g):
    cdef Py_ssize_t *p = c.params()
    return embed_into(g, p[0], <int> p[1], <int> p[2], c.meta(0).dims, row_major(c.meta(0)))

cdef T extract_diag_dx(Ctx c, T t):
    cdef Py_ssize_t *p = c.params()
    return diagonal_of(t, p[0], <int> p[1], <int> p[2])

cdef T embed_diag_dx(Ctx c, T t):
    cdef Py_ssize_t *p = c.params()
    return embed_into(t, p[0], <int> p[1], <int> p[2], c.node.meta.dims, row_major(c.node.meta))

rule(Op.EXTRACT_DIAG, 0, extract_diag_x, extract_diag_dx, 0)
rule(Op.EMBED_DIAG, 0, extract_diag_dx, embed_diag_dx, 0)
