"""Gathers and scatters are linear in everything but their index arrays, which have no derivative."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor as T, scalar_like
from tenferro._core.memory cimport row_major
from tenferro._core.optable cimport *
from tenferro._core.rule cimport Ctx, rule
from tenferro._ops.basic cimport where
from tenferro._ops.gathers cimport (along, along_add, scatter_at, set_window, take_add, take_axes, winners, zero_block,
                                    zero_window)
from tenferro._ops.slicing cimport slice_by, unslice_by
from tenferro._ops.structure cimport broadcast_like


cdef T none(Ctx c, T g):
    return None

cdef T same(Ctx c, T g):
    return g


# take

cdef T take_x(Ctx c, T g):
    return take_add(g, c.arg(1), c.params(), c.meta(0))

cdef T take_dx(Ctx c, T t):
    return take_axes(t, c.arg(1), c.params())

cdef T take_add_x(Ctx c, T g):
    return take_axes(g, c.arg(1), c.params())

cdef T take_add_dx(Ctx c, T t):
    return take_add(t, c.arg(1), c.params(), c.node.meta)

rule(Op.TAKE, 0, take_x, take_dx, X1)
rule(Op.TAKE, 1, none, none, 0)
rule(Op.TAKE_ADD, 0, take_add_x, take_add_dx, X1)
rule(Op.TAKE_ADD, 1, none, none, 0)


# along one axis

cdef T along_x(Ctx c, T g):
    return along_add(g, c.arg(1), c.params(), c.meta(0))

cdef T along_dx(Ctx c, T t):
    return along(t, c.arg(1), c.params(), row_major(t.v.meta))

cdef T along_add_x(Ctx c, T g):
    return along(g, c.arg(1), c.params(), row_major(g.v.meta))

cdef T along_add_dx(Ctx c, T t):
    return along_add(t, c.arg(1), c.params(), c.node.meta)

rule(Op.TAKE_ALONG_AXIS, 0, along_x, along_dx, X1)
rule(Op.TAKE_ALONG_AXIS, 1, none, none, 0)
rule(Op.ALONG_AXIS_ADD, 0, along_add_x, along_add_dx, X1)
rule(Op.ALONG_AXIS_ADD, 1, none, none, 0)


# scatter: a place that is set passes nothing on from the base; of several updates for one place the last one counts

cdef T add_updates(Ctx c, T g):
    return take_axes(g, c.arg(2), c.params())

cdef T add_dupdates(Ctx c, T t):
    return take_add(t, c.arg(2), c.params(), c.node.meta)

cdef T set_base(Ctx c, T g):
    cdef T idx = c.arg(2)
    return scatter_at(Op.SCATTER, g, zero_block(g, idx.v.meta, c.params()), idx, c.params(), row_major(g.v.meta))

cdef T set_updates(Ctx c, T g):
    cdef T idx = c.arg(2)
    cdef T u = take_axes(g, idx, c.params())
    return where(winners(idx, c.params(), g.v.meta), u, scalar_like(u, 0.0))

cdef T set_dupdates(Ctx c, T t):
    cdef T zeros = broadcast_like(scalar_like(t, 0.0), c.node.meta)
    return scatter_at(Op.SCATTER, zeros, t, c.arg(2), c.params(), row_major(c.node.meta))

rule(Op.SCATTER_ADD, 0, same, same, 0)
rule(Op.SCATTER_ADD, 1, add_updates, add_dupdates, X2)
rule(Op.SCATTER_ADD, 2, none, none, 0)
rule(Op.SCATTER, 0, set_base, set_base, X2)
rule(Op.SCATTER, 1, set_updates, set_dupdates, X2)
rule(Op.SCATTER, 2, none, none, 0)


# a window

cdef T window_x(Ctx c, T g):
    return set_window(g, zero_window(g, c.params()), c.params(), row_major(g.v.meta))

cdef T window_value(Ctx c, T g):
    return slice_by(g, c.params())

cdef T window_dvalue(Ctx c, T t):
    return unslice_by(t, c.params(), c.node.meta.dims, row_major(c.node.meta))

rule(Op.INDEX_SET, 0, window_x, window_x, 0)
rule(Op.INDEX_SET, 1, window_value, window_dvalue, 0)
