"""Loops whose values at infinities and zeros are those of the array API standard, where NumPy has NaN."""

from tenferro._core.abi cimport *
from tenferro._core.optable cimport Op
from .ufunc cimport set_loop

cdef extern from "standard.h" nogil:
    void tf_floor_divide_f32(char **args, const Py_ssize_t *n, const Py_ssize_t *strides, void *data) noexcept
    void tf_floor_divide_f64(char **args, const Py_ssize_t *n, const Py_ssize_t *strides, void *data) noexcept
    void tf_expm1_c64(char **args, const Py_ssize_t *n, const Py_ssize_t *strides, void *data) noexcept
    void tf_expm1_c128(char **args, const Py_ssize_t *n, const Py_ssize_t *strides, void *data) noexcept


def install():
    """Put the loops into the loop table."""
    set_loop(Op.FLOOR_DIV, D_F32, tf_floor_divide_f32, NULL, D_F32)
    set_loop(Op.FLOOR_DIV, D_F64, tf_floor_divide_f64, NULL, D_F64)
    set_loop(Op.EXPM1, D_C64, tf_expm1_c64, NULL, D_C64)
    set_loop(Op.EXPM1, D_C128, tf_expm1_c128, NULL, D_C128)
