"""Tensor networks: what autoray calls on eager tensors, and gradients for quimb's ``TNOptimizer``.

Importing the module registers, for autoray's backend ``"tenferro"``, the functions that autoray would not find under
their names, and, where quimb is installed, the optimiser's ``autodiff_backend="tenferro"``.

Examples
--------
>>> import tenferro.quimb                                                                            # doctest: +SKIP
>>> quimb.tensor.TNOptimizer(psi, energy, autodiff_backend="tenferro").optimize(100)                 # doctest: +SKIP
"""

import functools
from importlib.util import find_spec

from ._files import on_host
from .linalg.common import operations
from .transforms import hvp, value_and_grad

try:
    import autoray
except ImportError as error:
    raise ImportError("tenferro.quimb needs autoray; install tenferro[quimb]") from error

__all__ = ["TenferroHandler"]

LOCATIONS = {
    "scipy.linalg.expm": "tenferro.linalg", "scipy.linalg.lu": "tenferro.linalg",
    "scipy.linalg.solve_triangular": "tenferro.linalg",
}
"""Function of autoray -> module that has it."""

FUNCTIONS = (
    "abs allclose arange arccos arcsin arctan argmax argmin argsort array astype clip complex concatenate conj copy cos "
    "count_nonzero cumprod cumsum diag diagonal einsum empty_like equal exp expand_dims eye finfo flip imag indices isfinite "
    "kron log log10 log2 matmul max min multiply ones outer pad prod ravel random.normal random.uniform real reshape round "
    "sign sin size sqrt squeeze stack stop_gradient sum swapaxes take take_along_axis tan tanh tensordot trace transpose "
    "tril where zeros zeros_like linalg.cholesky linalg.eig linalg.eigh linalg.expm linalg.householder_product linalg.inv "
    "linalg.lstsq linalg.lu linalg.norm linalg.pinv linalg.qr linalg.rsvd linalg.solve linalg.svd scipy.linalg.expm "
    "scipy.linalg.lu scipy.linalg.solve_triangular to_numpy").split()
"""What quimb, cotengra and autoray look up; found when the module is imported, so that the first call costs no more."""


def reduced(svd):
    """The singular value decomposition that tensor networks mean: without the vectors of an empty space."""
    return functools.partial(svd, full_matrices=False)


def open_engine():
    """Open the ambient runtime's engine and install the linear algebra now, and not in the first evaluation."""
    _, one = value_and_grad(lambda x: x * x * 0.5)(1.0)
    operations(one.runtime)


class TenferroHandler:
    """Values and derivatives of a function of a container of arrays, as quimb's ``TNOptimizer`` asks for them.

    Loss and gradient are NumPy arrays. The gradient with respect to a complex array is the derivative with respect to
    its real part plus i times the one with respect to its imaginary part; that of a complex loss is the gradient of its
    real part. Tensors are made in the runtime of the innermost open session of the thread, else in the default runtime.
    """

    def to_variable(self, x):
        """An array as a tensor that gradients can be taken of."""
        from . import asarray

        return asarray(x, copy=True)

    def to_constant(self, x):
        """An array as a constant."""
        return self.to_variable(x)

    def setup_fn(self, fn):
        """Set the function to evaluate and differentiate; nothing is compiled."""
        open_engine()
        self._fn = fn
        self._value_and_grad = value_and_grad(fn)
        self._hvp = hvp(fn)

    def value(self, arrays):
        """The function's value, a NumPy array of shape ``()``."""
        return on_host(self._fn(map_arrays(self.to_constant, arrays)))

    def value_and_grad(self, arrays):
        """The value, and the gradient in a container as `arrays` is."""
        loss, gradients = self._value_and_grad(map_arrays(self.to_constant, arrays))
        return on_host(loss), map_arrays(on_host, gradients)

    def hessp(self, primals, tangents):
        """The product of the Hessian with a direction, in a container as `primals` is."""
        product = self._hvp(map_arrays(self.to_constant, primals), map_arrays(self.to_constant, tangents))
        return map_arrays(on_host, product)


def map_arrays(f, tree):
    """A container with a function applied to its arrays."""
    return autoray.tree_map(f, tree)


def register():
    """Register what autoray and quimb look up; a second time changes nothing."""
    for name, module in LOCATIONS.items():
        autoray.register_function("tenferro", name, module=module)
    autoray.register_function("tenferro", "linalg.svd", wrapper=reduced)
    autoray.register_function("tenferro", "to_numpy", on_host)
    for name in FUNCTIONS:
        autoray.get_lib_fn("tenferro", name)
    if find_spec("quimb") is not None:
        from quimb.tensor import optimize

        optimize._BACKEND_HANDLERS["tenferro"] = TenferroHandler


register()
