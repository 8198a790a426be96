"""Methods of eager tensors that are operations, installed from the table of operations."""

from ._core.eager import EagerTensor
from ._core.session_ops import install_lazy_session_operations, install_methods, install_session_operations
from ._core.tensor import Tensor
from ._standard import dlpack, info
from .operations import OPERATIONS, PUBLIC

_METHODS = ("sum prod max min mean var std any all argmax argmin cumsum cumprod reshape ravel transpose squeeze swapaxes "
            "repeat take astype diagonal trace round clip tensordot outer").split()

LINEAR_ALGEBRA = ("cholesky qr svd svdvals eigh eigvalsh eig eigvals lu solve triangular_solve lstsq det slogdet inv pinv "
                  "matrix_rank matrix_power expm norm householder_product polar sqrtm funm_hermitian low_rank rsvd").split()
"""Functions of `tenferro.linalg` that sessions have; the module is loaded by the first of them."""


def _method(name):
    """A method that hands its arguments to the function of the same name."""
    f = PUBLIC[name]

    def method(self, *args, **kwargs):
        return f(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"EagerTensor.{name}"
    method.__doc__ = f"The same as ``tenferro.{name}(self, ...)``."
    return method


def _reshape(self, *shape, order="C"):
    """The same elements in another shape, given as a tuple or as separate integers; see `tenferro.reshape`."""
    return PUBLIC["reshape"](self, shape[0] if len(shape) == 1 else shape, order=order)


def _transpose(self, *axes):
    """Axes in another order, given as a tuple or as separate integers; reversed without arguments."""
    if not axes:
        return PUBLIC["transpose"](self)
    return PUBLIC["transpose"](self, axes[0] if len(axes) == 1 else axes)


def _flatten(self, order="C"):
    """One-dimensional tensor of the elements; the same as `ravel`."""
    return PUBLIC["ravel"](self, order=order)


def _conj(self):
    """Complex conjugate."""
    return OPERATIONS["conj"](self)


def _dot(self, other):
    """Product with another tensor; the same as ``self @ other``, or the scaled tensor for a scalar."""
    return self * other if self.ndim == 0 or getattr(other, "ndim", 0) == 0 else self @ other


def _matrix_transpose(self):
    """The last two axes exchanged."""
    return PUBLIC["swapaxes"](self, -1, -2)


def _hermitian(self):
    """The last two axes exchanged, conjugated."""
    return OPERATIONS["conj"](_matrix_transpose(self))


def _real(self):
    """Real part; the tensor itself if it is real."""
    return OPERATIONS["real"](self)


def _imag(self):
    """Imaginary part; zeros if the tensor is real."""
    return OPERATIONS["imag"](self)


def install():
    """Give `EagerTensor` and `EagerSession` their operations."""
    table = {name: _method(name) for name in _METHODS}
    table.update(reshape=_reshape, transpose=_transpose, flatten=_flatten, conj=_conj, conjugate=_conj, dot=_dot,
                 T=property(_transpose), mT=property(_matrix_transpose), H=property(_hermitian), real=property(_real),
                 imag=property(_imag))
    install_methods(EagerTensor, {**table, **info.MEMBERS, **dlpack.MEMBERS})
    install_methods(Tensor, dlpack.TENSOR_MEMBERS)
    install_lazy_session_operations("tenferro.linalg", LINEAR_ALGEBRA)
    install_session_operations({**PUBLIC, **OPERATIONS})
