"""Fourier transforms by cuFFT: the operations of ``tenferro.fft``."""

def c2c(cupy, x, *, axes, inverse, norm):
    return (cupy.fft.ifftn if inverse else cupy.fft.fftn)(x, axes=axes, norm=norm)


def r2c(cupy, x, *, axis, norm):
    return cupy.fft.rfft(x, axis=axis, norm=norm)


def c2r(cupy, x, *, axis, n, norm):
    return cupy.fft.irfft(x, n=n, axis=axis, norm=norm)


TRANSFORMS = {f.__name__: f for f in (c2c, r2c, c2r)}
"""Operation -> function."""
