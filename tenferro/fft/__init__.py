"""Discrete Fourier transforms with SciPy's and NumPy's signatures.

The operations are those of an extension module, ``"tenferro.fft.v1"``, which is installed in the runtime of a tensor
when it is first used there. All transforms are linear and differentiable in both modes, to any order. SciPy is loaded
by the first transform.
"""

from .._core.session_ops import install_session_operations as _install
from ._frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from ._one_axis import fft, hfft, ifft, ihfft, irfft, rfft
from ._several_axes import fft2, fftn, ifft2, ifftn, irfft2, irfftn, rfft2, rfftn
from .module import MODULE as MODULE
from .module import MODULE_ID as MODULE_ID
from .trigonometric import dct, dst, idct, idst

__all__ = ["dct", "dst", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "idct", "idst", "ifft",
           "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]


def __dir__():
    return __all__


_install({name: globals()[name] for name in __all__})
