"""BLAS of Intel's oneMKL, from the ``mkl`` wheel (``tenferro[mkl]``), a conda environment or the loader's path."""

import ctypes
import os
import sys
from glob import glob
from importlib import metadata

from tenferro.errors import UnsupportedError

LP64 = 0        # 32-bit integers; bit 0 of the layer stands for 64-bit ones
NAMES = {"darwin": "libmkl_rt*.dylib"}
PLAIN = {"darwin": "libmkl_rt.dylib"}


def candidates():
    """Where the library may be: files of the installed wheel, the environment's ``lib``, what the loader finds."""
    pattern = NAMES.get(sys.platform, "libmkl_rt.so*")
    try:
        files = metadata.distribution("mkl").files or []
    except metadata.PackageNotFoundError:
        files = []
    yield from (os.path.realpath(file.locate()) for file in files if file.match(pattern))
    yield from sorted(glob(os.path.join(sys.prefix, "lib", pattern)), reverse=True)
    yield PLAIN.get(sys.platform, "libmkl_rt.so")


def library():
    """The loaded library, with 32-bit integers.

    Raises
    ------
    UnsupportedError
        It is not installed, cannot be loaded, or was set to 64-bit integers before.
    """
    reasons = []
    for path in dict.fromkeys(candidates()):
        try:
            mkl = ctypes.CDLL(path)
        except OSError as error:
            reasons.append(str(error))
            continue
        if mkl.MKL_Set_Interface_Layer(LP64) & 1:
            raise UnsupportedError("TENFERRO_BLAS=mkl: something in this process set MKL to 64-bit integers (ILP64) before; "
                                   "multiply before it does, or use TENFERRO_BLAS=scipy", op="matmul", engine="cpu")
        return mkl
    raise UnsupportedError("TENFERRO_BLAS=mkl, but the MKL library cannot be loaded: install it with "
                           "pip install 'tenferro[mkl]', or use TENFERRO_BLAS=scipy "
                           f"({'; '.join(reasons)})", op="matmul", engine="cpu")


def address(mkl, name):
    """Address of a Fortran routine."""
    return ctypes.cast(getattr(mkl, name + "_"), ctypes.c_void_p).value


def description():
    """The library's version and path."""
    mkl = library()
    text = ctypes.create_string_buffer(256)
    mkl.MKL_Get_Version_String(text, len(text))
    return {"version": " ".join(text.value.decode().split()), "path": mkl._name}
