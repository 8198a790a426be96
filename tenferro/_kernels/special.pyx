"""Own loops of the analytic functions that NumPy lacks.

Of the functions that SciPy has only complex arguments and digamma are left to it; its loops are looked up at first use.
"""

from tenferro._core.optable cimport Op, ops
from .ufunc cimport (Loop, NOGIL_SIZE, broadcast_strides, coalesce, find_loop, loop_t, set_loop, strided_loop)

from tenferro.errors import ValidationError

cdef extern from "special.h" nogil:
    loop_t tf_rsqrt_f, tf_rsqrt_d, tf_rsqrt_c, tf_rsqrt_z
    loop_t tf_sech2_f, tf_sech2_d, tf_sech2_c, tf_sech2_z
    loop_t tf_asin_slope_f, tf_asin_slope_d, tf_asin_slope_c, tf_asin_slope_z
    loop_t tf_acosh_slope_f, tf_acosh_slope_d, tf_acosh_slope_c, tf_acosh_slope_z
    loop_t tf_atanh_slope_f, tf_atanh_slope_d, tf_atanh_slope_c, tf_atanh_slope_z
    loop_t tf_share_f, tf_share_d, tf_direction_f, tf_direction_d, tf_inversion_f, tf_inversion_d
    loop_t tf_erf_f, tf_erf_d, tf_erfc_f, tf_erfc_d, tf_lgamma_f, tf_lgamma_d
    loop_t tf_log1p_c, tf_log1p_z

cdef extern from "polygamma.h" nogil:
    enum:
        TF_MAX_POLYGAMMA
    ctypedef struct tf_polygamma_order:
        pass
    void tf_polygamma_set(tf_polygamma_order *o, int n)
    loop_t tf_polygamma_f, tf_polygamma_d, tf_polygamma_c, tf_polygamma_z


cdef int polygamma(PyObject *engine, int op, const Value *ins, int n, Value *out, const Params *params) except -1:
    cdef loop_t *own = [tf_polygamma_f, tf_polygamma_d, tf_polygamma_c, tf_polygamma_z]
    cdef tf_polygamma_order order
    cdef Loop loop
    if not 0 <= params.v[0] <= TF_MAX_POLYGAMMA:
        raise ValidationError(f"polygamma is computed for orders from 0 to {TF_MAX_POLYGAMMA}, not {params.v[0]}",
                              op="polygamma", argument="n")
    if params.v[0] == 0:
        loop = find_loop(Op.DIGAMMA, out.meta.dtype)[0]
    else:
        tf_polygamma_set(&order, <int> params.v[0])
        loop.fn = own[out.meta.dtype - D_F32]
        loop.data = &order
    if out.meta.size == 0:
        return 0
    if out.meta.size < NOGIL_SIZE // 16:
        run(&loop, ins, out)
    else:
        with nogil:
            run(&loop, ins, out)
    return 0


cdef void run(Loop *loop, const Value *x, Value *out) noexcept nogil:
    """out = loop(x), element by element."""
    cdef Py_ssize_t shape[64]
    cdef Py_ssize_t strides[2][64]
    cdef char *data[2]
    cdef int i, rank = out.meta.rank
    for i in range(rank):
        shape[i] = out.meta.dims[i]
    broadcast_strides(x.meta, rank, strides[0])
    broadcast_strides(out.meta, rank, strides[1])
    data[0] = x.data
    data[1] = out.data
    rank = coalesce(2, rank, shape, data, strides)
    strided_loop(loop, 2, rank, shape, data, strides)


cdef Loop *rsqrt_chain[2][2]

cdef int install(int op, int dtype, loop_t fn, void *data) except -1:
    return set_loop(op, dtype, fn, data, dtype)


cdef int install_loops() except -1:
    cdef int k
    for k in range(2):
        rsqrt_chain[k][0] = find_loop(Op.SQRT, D_C64 + k)
        rsqrt_chain[k][1] = find_loop(Op.RECIPROCAL, D_C64 + k)
    install(Op.RSQRT, D_F32, tf_rsqrt_f, NULL)
    install(Op.RSQRT, D_F64, tf_rsqrt_d, NULL)
    install(Op.RSQRT, D_C64, tf_rsqrt_c, rsqrt_chain[0])
    install(Op.RSQRT, D_C128, tf_rsqrt_z, rsqrt_chain[1])
    install(Op.SECH2, D_F32, tf_sech2_f, find_loop(Op.EXP, D_F32))
    install(Op.SECH2, D_F64, tf_sech2_d, find_loop(Op.EXP, D_F64))
    install(Op.SECH2, D_C64, tf_sech2_c, NULL)
    install(Op.SECH2, D_C128, tf_sech2_z, NULL)
    install(Op.ASIN_SLOPE, D_F32, tf_asin_slope_f, NULL)
    install(Op.ASIN_SLOPE, D_F64, tf_asin_slope_d, NULL)
    install(Op.ASIN_SLOPE, D_C64, tf_asin_slope_c, NULL)
    install(Op.ASIN_SLOPE, D_C128, tf_asin_slope_z, NULL)
    install(Op.ACOSH_SLOPE, D_F32, tf_acosh_slope_f, NULL)
    install(Op.ACOSH_SLOPE, D_F64, tf_acosh_slope_d, NULL)
    install(Op.ACOSH_SLOPE, D_C64, tf_acosh_slope_c, NULL)
    install(Op.ACOSH_SLOPE, D_C128, tf_acosh_slope_z, NULL)
    install(Op.ATANH_SLOPE, D_F32, tf_atanh_slope_f, NULL)
    install(Op.ATANH_SLOPE, D_F64, tf_atanh_slope_d, NULL)
    install(Op.ATANH_SLOPE, D_C64, tf_atanh_slope_c, NULL)
    install(Op.ATANH_SLOPE, D_C128, tf_atanh_slope_z, NULL)
    install(Op.SHARE, D_F32, tf_share_f, find_loop(Op.EXP, D_F32))
    install(Op.SHARE, D_F64, tf_share_d, find_loop(Op.EXP, D_F64))
    install(Op.DIRECTION, D_F32, tf_direction_f, NULL)
    install(Op.DIRECTION, D_F64, tf_direction_d, NULL)
    install(Op.INVERSION, D_F32, tf_inversion_f, NULL)
    install(Op.INVERSION, D_F64, tf_inversion_d, NULL)
    install(Op.LOG1P, D_C64, tf_log1p_c, NULL)
    install(Op.LOG1P, D_C128, tf_log1p_z, NULL)
    install(Op.ERF, D_F32, tf_erf_f, NULL)
    install(Op.ERF, D_F64, tf_erf_d, NULL)
    install(Op.ERFC, D_F32, tf_erfc_f, NULL)
    install(Op.ERFC, D_F64, tf_erfc_d, NULL)
    install(Op.LGAMMA, D_F32, tf_lgamma_f, NULL)
    install(Op.LGAMMA, D_F64, tf_lgamma_d, NULL)
    for op in (Op.DIRECTION, Op.INVERSION, Op.SHARE):
        ops[<int> op].compute[D_C64] = ops[<int> op].compute[D_C128] = -1
    return 0


install_loops()
