"""Fourier transforms by cuFFT: the operations of ``tenferro.fft``."""

from functools import lru_cache

import numpy as np

from tenferro.fft.trigonometric import run


def c2c(cupy, x, *, axes, inverse, norm):
    return (cupy.fft.ifftn if inverse else cupy.fft.fftn)(x, axes=axes, norm=norm)


def r2c(cupy, x, *, axis, norm):
    return cupy.fft.rfft(x, axis=axis, norm=norm)


def c2r(cupy, x, *, axis, n, norm):
    return cupy.fft.irfft(x, n=n, axis=axis, norm=norm)


@lru_cache(maxsize=32)
def matrix(n, dtype, sine, kind, norm, orthogonal):
    """The matrix of a cosine or sine transform, in host memory."""
    return run(np.eye(n, dtype=dtype), axis=0, sine=sine, kind=kind, norm=norm, orthogonal=orthogonal)


def trigonometric(cupy, x, *, axis, sine, kind, norm, orthogonal):
    """By a product with the transform's matrix."""
    m = cupy.asarray(matrix(x.shape[axis], cupy.real(x).dtype.name, sine, kind, norm, orthogonal))
    y = cupy.matmul(cupy.moveaxis(x, axis, -1), m.T.astype(x.dtype, copy=False))
    return cupy.moveaxis(y, -1, axis)


TRANSFORMS = {f.__name__: f for f in (c2c, r2c, c2r, trigonometric)}
"""Operation -> function."""
