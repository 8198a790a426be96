"""The primitive behind every product that sums, told by a label for each axis.

An axis of the result has the label of an operand's axis; what both operands have and the result has not is summed.
"""

from tenferro._core.eager cimport as_eager, as_operand, cast, emit2
from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op, promote
from .structure cimport shape_tuple

from tenferro.errors import ShapeMismatchError, ValidationError


cdef Meta *result_meta(EagerTensor x, EagerTensor y, const Params *p) except NULL:
    """Column-major unless every operand with two axes or more is row-major."""
    cdef Py_ssize_t size[256]
    cdef Py_ssize_t shape[64]
    cdef Meta *a = x.v.meta
    cdef Meta *b = y.v.meta
    cdef const Py_ssize_t *la = p.v + 2
    cdef const Py_ssize_t *lb = la + a.rank
    cdef const Py_ssize_t *lo = lb + b.rank
    cdef int i, no = <int> p.n - 2 - a.rank - b.rank
    if no > MAX_RANK:
        raise ValidationError(f"the result would have {no} axes; a tensor has at most {MAX_RANK}", op="contract",
                              argument="shape")
    for i in range(no):
        size[lo[i]] = 1
    for i in range(a.rank):
        size[la[i]] = a.dims[i]
    for i in range(b.rank):
        size[lb[i]] = b.dims[i]
    for i in range(no):
        shape[i] = size[lo[i]]
    return meta_compact(a.dtype, no, shape, (a.rank < 2 or row_major(a)) and (b.rank < 2 or row_major(b)))


cdef EagerTensor contract_with(EagerTensor x, EagerTensor y, Params *p):
    """x and y have one dtype; p is stolen."""
    cdef Meta *m
    try:
        m = result_meta(x, y, p)
    except BaseException:
        params_drop(p)
        raise
    return emit2(Op.CONTRACT, x, y, p, m)


cdef Params *label_params(const Py_ssize_t *lx, int nx, const Py_ssize_t *ly, int ny, const Py_ssize_t *lo,
                          int no) except NULL:
    cdef Params *p = params_new(2 + nx + ny + no)
    cdef int i
    p.v[0] = nx
    p.v[1] = ny
    for i in range(nx):
        p.v[2 + i] = lx[i]
    for i in range(ny):
        p.v[2 + nx + i] = ly[i]
    for i in range(no):
        p.v[2 + nx + ny + i] = lo[i]
    return p


cdef EagerTensor contraction(EagerTensor x, const Py_ssize_t *lx, int nx, EagerTensor y, const Py_ssize_t *ly, int ny,
                             const Py_ssize_t *lo, int no):
    return contract_with(x, y, label_params(lx, nx, ly, ny, lo, no))


cdef tuple pair_of(object a, object b):
    """Two operands in one runtime."""
    cdef EagerTensor x
    if isinstance(a, EagerTensor):
        x = as_eager(a)
        return x, as_operand(b, x.rt)
    x = as_eager(b)
    return as_operand(a, x.rt), x


cdef EagerTensor in_common(EagerTensor x, EagerTensor y):
    """x in the dtype of the product."""
    return cast(x, promote[x.v.meta.dtype][y.v.meta.dtype])


cdef int disagree(str op, EagerTensor x, EagerTensor y, str what) except -1:
    cdef tuple a = shape_tuple(x.v.meta), b = shape_tuple(y.v.meta)
    raise ShapeMismatchError(f"{op}: shapes {a} and {b} do not match: {what}", op=op, argument="shape", expected=a,
                             actual=b)
