"""Rules of cumulative operations, all of them linear recurrences."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor as T
from tenferro._core.optable cimport *
from tenferro._core.rule cimport Ctx, rule
from tenferro._ops.basic cimport *
from tenferro._ops.scan cimport cumulate, linear_scan, shift


cdef inline Py_ssize_t axis_of(Ctx c):
    return c.params()[0]

cdef inline bint reverse(Ctx c):
    return c.params()[1]

cdef inline T back(Ctx c, T a, T g):
    """The adjoint of a recurrence with coefficients a: ``w[k] = g[k] + conj(a[k+1]) w[k+1]``."""
    return linear_scan(conj(shift(a, axis_of(c), not reverse(c), 0)), g, axis_of(c), not reverse(c))

cdef inline T before(Ctx c, T x, int fill):
    """``x[k-1]``."""
    return shift(x, axis_of(c), reverse(c), fill)


cdef T cumsum_x(Ctx c, T g):
    return cumulate(Op.CUMSUM, g, axis_of(c), not reverse(c))

cdef T cumsum_dx(Ctx c, T t):
    return cumulate(Op.CUMSUM, t, axis_of(c), reverse(c))

cdef T cumprod_x(Ctx c, T g):
    return mul(back(c, c.arg(0), g), conj(before(c, c.out(), 1)))

cdef T cumprod_dx(Ctx c, T t):
    return linear_scan(c.arg(0), mul(t, before(c, c.out(), 1)), axis_of(c), reverse(c))

cdef T scan_a(Ctx c, T g):
    return mul(back(c, c.arg(0), g), conj(before(c, c.out(), 0)))

cdef T scan_b(Ctx c, T g):
    return back(c, c.arg(0), g)

cdef T scan_da(Ctx c, T t):
    return linear_scan(c.arg(0), mul(t, before(c, c.out(), 0)), axis_of(c), reverse(c))

cdef T scan_db(Ctx c, T t):
    return linear_scan(c.arg(0), t, axis_of(c), reverse(c))

cdef T shift_x(Ctx c, T g):
    return shift(g, axis_of(c), not reverse(c), 0)

cdef T shift_dx(Ctx c, T t):
    return shift(t, axis_of(c), reverse(c), 0)


rule(Op.CUMSUM, 0, cumsum_x, cumsum_dx, 0)
rule(Op.CUMPROD, 0, cumprod_x, cumprod_dx, X0 | OUT)
rule(Op.LINEAR_SCAN, 0, scan_a, scan_da, X0 | OUT)
rule(Op.LINEAR_SCAN, 1, scan_b, scan_db, X0)
rule(Op.SHIFT, 0, shift_x, shift_dx, 0)
