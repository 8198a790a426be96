"""BLAS through the function pointers that SciPy exports, or MKL's with ``TENFERRO_BLAS=mkl``.

Loaded at the first product that needs it. Complex-valued functions are never used: how they return their value differs
between libraries.
"""

import os
import sys
import threading
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.stdint cimport uintptr_t

from tenferro._core.abi cimport D_C64, D_C128, D_F32, D_F64
from tenferro.errors import UnsupportedError

cdef float[2] one_f = [1, 0], zero_f = [0, 0]
cdef double[2] one_d = [1, 0], zero_d = [0, 0]
one[<int> D_F32] = one[<int> D_C64] = one_f
one[<int> D_F64] = one[<int> D_C128] = one_d
zero[<int> D_F32] = zero[<int> D_C64] = zero_f
zero[<int> D_F64] = zero[<int> D_C128] = zero_d

KINDS = {"s": ("float", "_s"), "d": ("double", "_d"), "c": ("float_complex",), "z": ("double_complex",)}
"""How the pointer types of a precision end in the signatures that SciPy writes into its capsules."""


def blas_module():
    """``scipy.linalg.cython_blas``, without the rest of ``scipy.linalg``, which takes three times as long."""
    name = "scipy.linalg.cython_blas"
    if name in sys.modules or "scipy.linalg" in sys.modules:
        return import_module(name)
    import scipy
    spec = PathFinder.find_spec(name, [os.path.join(p, "linalg") for p in scipy.__path__])
    if spec is None:
        return import_module(name)
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError:
        return import_module(name)
    sys.modules.pop(name, None)         # a later import gets the same module, and binds it in its package
    return module


def signature(text, precision):
    """``"cciiixx..."``: a letter for every argument (character, integer, number), ``?`` for others."""
    if not text.startswith("void (") or not text.endswith(")"):
        return "?"
    letters = ""
    for argument in text[6:len(text) - 1].split(","):
        kind = argument.strip().removesuffix("*").strip()
        if kind in ("char", "int"):
            letters += kind[0]
        else:
            letters += "x" if kind.endswith(KINDS[precision]) else "?"
    return letters


def library_name():
    """The library that ``TENFERRO_BLAS`` asks for."""
    name = os.environ.get("TENFERRO_BLAS") or "scipy"
    if name not in ("scipy", "mkl"):
        raise UnsupportedError(f"TENFERRO_BLAS is {name!r}; 'scipy' and 'mkl' are the ones that there are", op="matmul",
                               engine="cpu")
    return name


cdef void *exported(object module, str precision, str name, str expected) except NULL:
    """Pointer to one routine of SciPy's, its signature checked."""
    capsule = module.__pyx_capi__.get(precision + name)
    if capsule is not None:
        text = PyCapsule_GetName(capsule)
        if signature(text.decode(), precision) == expected:
            return PyCapsule_GetPointer(capsule, text)
    raise UnsupportedError(f"SciPy exports {precision}{name} not at all or with an unknown signature; install a SciPy "
                           "release whose BLAS has 32-bit integers", op="matmul", engine="cpu")


cdef void *routine(object module, str precision, str name, str expected) except NULL:
    """Pointer to one routine of SciPy's module or of a library that `mkl` loaded."""
    if hasattr(module, "__pyx_capi__"):
        return exported(module, precision, name, expected)
    from . import mkl
    return <void *> <uintptr_t> mkl.address(module, precision + name)


_lock = threading.Lock()


def fetch():
    """Fill the tables."""
    global loaded
    cdef int dtype
    if library_name() == "mkl":
        from . import mkl
        module = mkl.library()
    else:
        module = blas_module()
    for dtype, precision in ((D_F32, "s"), (D_F64, "d"), (D_C64, "c"), (D_C128, "z")):
        gemm[dtype] = <gemm_t> routine(module, precision, "gemm", "cciiixxixixxi")
        gemv[dtype] = <gemv_t> routine(module, precision, "gemv", "ciixxixixxi")
    loaded = True


cdef int load_blas() except -1:
    if not loaded:
        with _lock:
            fetch()
    return 0
