"""Structure."""

from tenferro._core.eager cimport emit_view
from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op


cdef EagerTensor broadcast_like(EagerTensor x, const Meta *m):
    cdef Meta *out = meta_new(x.v.meta.dtype, m.rank)
    cdef int i, lead = m.rank - x.v.meta.rank
    for i in range(m.rank):
        out.dims[i] = m.dims[i]
        out.dims[m.rank + i] = 0
        if i >= lead and x.v.meta.dims[i - lead] != 1:
            out.dims[m.rank + i] = x.v.meta.dims[x.v.meta.rank + i - lead]
    return emit_view(Op.BROADCAST_TO, x, NULL, meta_finish(out), x.v.data)


cdef EagerTensor reshape_to(EagerTensor x, const Meta *m):
    return emit_view(Op.RESHAPE, x, NULL, meta_compact(x.v.meta.dtype, m.rank, m.dims, True), x.v.data)
