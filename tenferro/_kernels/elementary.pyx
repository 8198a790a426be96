"""Vectorised loops of float32 and float64: elementary functions, and products that a zero absorbs.

They are those of the best build that this processor runs.

``TENFERRO_CPU`` names another build: ``baseline``, ``avx2`` or ``avx512``. Within a process there is one, so a value does not
depend on position, strides or chunks; between the builds with and without fused multiply-add the last bits differ.
"""

import os

from tenferro._core.abi cimport *
from .ufunc cimport loop_t, set_loop

from tenferro._core.optable import Op

cdef extern from "vector/elementary.h" nogil:
    enum: TF_VECTOR_FUNCTIONS, TF_BASELINE, TF_AVX2, TF_AVX512, TF_VARIANTS
    bint tf_variant_runs(int variant)
    loop_t tf_variant_loop(int variant, int function, int wide)

VARIANTS = ("baseline", "avx2", "avx512")

# in the order of variant.h
NAMES = ("exp2", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "asin", "acos",
         "atan", "cbrt", "exp", "sin", "cos", "tan")
LOOPS = (*NAMES, "absorb_mul")


def choose(str wanted, list available):
    """The build to use of those available, and what to say about a wish that is not granted."""
    best = available[len(available) - 1] if available else None
    if not wanted or wanted in available:
        return wanted or best, None
    fault = "this processor or this build of the package lacks it" if wanted in VARIANTS else "there is no such build"
    return best, f"TENFERRO_CPU={wanted} is ignored: {fault}; available: {', '.join(available) or 'none'}"


def info():
    """Which build of the vectorised loops is used, and which this processor runs."""
    facts = {"loops": chosen or "numpy", "available": ", ".join(available)}
    if fault is not None:
        facts["note"] = fault
    return facts


available = [name for k, name in enumerate(VARIANTS) if tf_variant_runs(k)]
chosen, fault = choose(os.environ.get("TENFERRO_CPU", ""), available)


def install():
    """Put the loops of the chosen build into the loop table."""
    cdef int variant, k, wide, dtype
    if chosen is None:
        return
    if len(LOOPS) != TF_VECTOR_FUNCTIONS:
        raise SystemError("the vectorised functions and their names are out of step")
    variant = VARIANTS.index(chosen)
    for k in range(TF_VECTOR_FUNCTIONS):
        for wide in range(2):
            dtype = D_F64 if wide else D_F32
            set_loop(Op[LOOPS[k].upper()], dtype, tf_variant_loop(variant, k, wide), NULL, dtype)


def loop_address(str variant, str name, bint wide):
    """Address of a loop of an available build, with the signature of NumPy's inner loops."""
    if variant not in available:
        raise ValueError(f"the build {variant!r} does not run here; available: {', '.join(available)}")
    return <size_t> tf_variant_loop(VARIANTS.index(variant), NAMES.index(name), wide)
