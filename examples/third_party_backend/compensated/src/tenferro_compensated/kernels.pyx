"""Compensated sums along any axes of tensors with any strides.

A. Neumaier, Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen, ZAMM 54 (1974) 39-51.
"""

from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New
from libc.math cimport fabs, isfinite
from tenferro._core.abi cimport D_F64, ENGINE_ABI, Params, Value, kernel_t, shape_of, strides_of
from tenferro._kernels.reduce cimport reduce

ABI = ENGINE_ABI

ctypedef struct Axes:           # that are walked together
    int n
    Py_ssize_t shape[64]
    Py_ssize_t at[64]
    Py_ssize_t step[2][64]      # strides in bytes of the input and of the result


cdef void add_axis(Axes *a, Py_ssize_t length, Py_ssize_t step, Py_ssize_t out_step) noexcept nogil:
    a.shape[a.n] = length
    a.at[a.n] = 0
    a.step[0][a.n] = step
    a.step[1][a.n] = out_step
    a.n += 1


cdef bint advance(Axes *a, const char **x, char **out) noexcept nogil:
    """Go to the next element; False, and back at the first one, after the last one."""
    cdef int k = a.n - 1
    while k >= 0:
        a.at[k] += 1
        x[0] += a.step[0][k]
        out[0] += a.step[1][k]
        if a.at[k] < a.shape[k]:
            return True
        x[0] -= a.shape[k] * a.step[0][k]
        out[0] -= a.shape[k] * a.step[1][k]
        a.at[k] = 0
        k -= 1
    return False


cdef double compensated(Axes *a, const char *x) noexcept nogil:
    """Sum over some axes."""
    cdef double total = 0, lost = 0, value, new
    cdef char *unused = NULL
    while True:
        value = (<const double *> x)[0]
        new = total + value
        lost += (total - new) + value if fabs(total) >= fabs(value) else (value - new) + total
        total = new
        if not advance(a, &x, &unused):
            return total + lost if isfinite(lost) else total


cdef int kernel(PyObject *engine, int op, const Value *ins, int n_in, Value *out, const Params *params) except -1:
    """A kernel of the operation ``reduce_sum``, whose parameters are the axes as bits and whether they are kept."""
    cdef const Value *x = ins
    cdef Axes kept, folded
    cdef Py_ssize_t count = 1
    cdef const char *source = x.data
    cdef char *target = out.data
    cdef int i, j = 0
    if x.meta.dtype != D_F64:
        return reduce(engine, op, ins, n_in, out, params)
    if out.meta.size == 0:
        return 0
    kept.n = folded.n = 0
    for i in range(x.meta.rank):
        if (<size_t> params.v[0] >> i) & 1:
            add_axis(&folded, shape_of(x.meta)[i], strides_of(x.meta)[i], 0)
            count *= shape_of(x.meta)[i]
            j += params.v[1]
        else:
            add_axis(&kept, shape_of(x.meta)[i], strides_of(x.meta)[i], strides_of(out.meta)[j])
            j += 1
    with nogil:
        while True:
            (<double *> target)[0] = compensated(&folded, source) if count else 0
            if not advance(&kept, &source, &target):
                return 0


def reduce_sum():
    """The kernel as the capsule that ``ExecutionEngine.register_kernel`` takes."""
    return PyCapsule_New(<void *> <kernel_t> kernel, "tenferro.kernel", NULL)
