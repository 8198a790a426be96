"""Uses constants, structures, inline functions and exported functions of tenferro."""

from tenferro._core.abi cimport D_C128, D_F64, ENGINE_ABI, Meta, is_complex, real_dtype, shape_of, strides_of
from tenferro._core.memory cimport meta_compact, meta_drop


def engine_abi():
    """Version of the engine interface that this module was compiled against."""
    return ENGINE_ABI


def complex_is_known():
    """Whether the inline functions know the dtype codes."""
    return is_complex(D_C128) and not is_complex(D_F64) and real_dtype(D_C128) == D_F64


def layout(Py_ssize_t rows, Py_ssize_t columns, bint row_major):
    """Shape, strides in bytes and size of a compact float64 matrix."""
    cdef Py_ssize_t[2] shape = [rows, columns]
    cdef Meta *meta = meta_compact(D_F64, 2, shape, row_major)
    cdef Py_ssize_t *dims = shape_of(meta)
    cdef Py_ssize_t *steps = strides_of(meta)
    try:
        return (dims[0], dims[1]), (steps[0], steps[1]), meta.size
    finally:
        meta_drop(meta)
