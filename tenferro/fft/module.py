"""The extension module of Fourier transforms: linear operations, whose adjoints are such operations up to constants.

``c2c`` transforms complex tensors along any axes, ``r2c`` real ones along one axis, ``c2r`` is its inverse. Along an
axis of length n, ``norm`` puts the factor 1/n on the inverse transform ("backward"), on the forward one ("forward"),
or the root of it on both ("ortho"); an adjoint goes the other way with the factor at the other end.
"""

from functools import lru_cache

import numpy as np

from tenferro._kernels.parallel import threads_here

MODULE_ID = "tenferro.fft.v1"
LARGE = 1 << 17         # numbers from which threads pay
ADJOINT = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
_COMPLEX = {"float32": np.dtype("complex64"), "float64": np.dtype("complex128")}
_REAL = {"complex64": np.dtype("float32"), "complex128": np.dtype("float64")}


def call(name, x, **params):
    """Run an operation in the runtime of its tensor."""
    rt = x.runtime
    rt.install_extension_module(MODULE)
    return getattr(rt.extension(MODULE_ID), name)(x, **params)


@lru_cache(maxsize=64)
def _multiplicities(n, dtype):
    """How often each of the n // 2 + 1 coefficients that are kept occurs among all n: all but the real ones twice."""
    w = np.full(n // 2 + 1, 2, dtype)
    w[0] = 1
    if n % 2 == 0:
        w[-1] = 1
    return w


def _along(w, x, axis):
    """A vector as factors along one axis."""
    return w.reshape([-1 if k == axis else 1 for k in range(x.ndim)])


def _resized(shape, axis, n):
    return (*shape[:axis], n, *shape[axis + 1:])


# ---- executors -------------------------------------------------------------------------------------------------------

def ordered(run):
    """Give the result the order of axes in memory that the operand has."""
    def executor(x, **params):
        if x.ndim < 2 or x.flags.c_contiguous:
            return run(x, **params)
        last = x.ndim - 1
        params = {name: tuple(last - k for k in v) if name == "axes" else last - v if name == "axis" else v
                  for name, v in params.items()}
        return run(x.T, **params).T
    return executor


def shared(f, x, **params):
    """A transform of SciPy; the engine's threads take its lines where there are many numbers."""
    if x.size < LARGE:
        return f(x, **params)
    return f(x, workers=threads_here(), **params)


@ordered
def _run_c2c(x, axes, inverse, norm):
    import scipy.fft
    if len(axes) == 1:          # half the overhead
        return shared(scipy.fft.ifft if inverse else scipy.fft.fft, x, axis=axes[0], norm=norm)
    return shared(scipy.fft.ifftn if inverse else scipy.fft.fftn, x, axes=axes, norm=norm)


@ordered
def _run_r2c(x, axis, norm):
    import scipy.fft
    return shared(scipy.fft.rfft, x, axis=axis, norm=norm)


@ordered
def _run_c2r(x, axis, n, norm):
    import scipy.fft
    return shared(scipy.fft.irfft, x, n=n, axis=axis, norm=norm)


# ---- rules -----------------------------------------------------------------------------------------------------------

def _c2c_vjp(g, out, x, axes, inverse, norm):
    return call("c2c", g, axes=axes, inverse=not inverse, norm=ADJOINT[norm])


def _r2c_vjp(g, out, x, axis, norm):
    n = x.shape[axis]
    w = _multiplicities(n, x.dtype)
    return call("c2r", g * _along(1 / w, g, axis), axis=axis, n=n, norm=ADJOINT[norm])


def _c2r_vjp(g, out, x, axis, n, norm):
    return call("r2c", g, axis=axis, norm=ADJOINT[norm]) * _along(_multiplicities(n, g.dtype), x, axis)


def _linear(name):
    """The JVP of a linear operation: itself."""
    return lambda tangents, out, x, **params: call(name, tangents[0], **params)


class FourierModule:
    """Fourier transforms for runtimes; pocketfft, from SciPy, on engines of host memory."""

    module_id = MODULE_ID

    def configure(self, registrar):
        """Declare the operations."""
        registrar.operation("c2c", lambda x, axes, inverse, norm: x, lambda x, axes, inverse, norm: x)
        registrar.executor("c2c", "host", _run_c2c)
        registrar.rule("c2c", vjp=_c2c_vjp, jvp=_linear("c2c"))
        registrar.operation("r2c", lambda x, axis, norm: _resized(x, axis, x[axis] // 2 + 1),
                            lambda x, axis, norm: _COMPLEX[x.name])
        registrar.executor("r2c", "host", _run_r2c)
        registrar.rule("r2c", vjp=_r2c_vjp, jvp=_linear("r2c"))
        registrar.operation("c2r", lambda x, axis, n, norm: _resized(x, axis, n),
                            lambda x, axis, n, norm: _REAL[x.name])
        registrar.executor("c2r", "host", _run_c2r)
        registrar.rule("c2r", vjp=_c2r_vjp, jvp=_linear("c2r"))
        from .trigonometric import declare
        declare(registrar)


MODULE = FourierModule()
