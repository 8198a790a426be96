"""What rules and functions share: calling the module's operations, adjoints, safe reciprocals."""

import numpy as np

import tenferro as tfr

from .._core.eager import EagerTensor
from .._core.transfers import placed
from ..errors import HostAccessError, ShapeMismatchError, ValidationError

MODULE_ID = "tenferro.linalg.v1"
MODULE: list = []               # the one instance, put there by the module itself


def operations(rt):
    """The module's operations in a runtime, where it is installed if none of its id is."""
    try:
        return rt.extension(MODULE_ID)
    except ValidationError:
        rt.install_extension_module(MODULE[0])
        return rt.extension(MODULE_ID)


def constant_in(runtime, array):
    """A constant where the engine of the moment computes."""
    return placed(runtime.constant_from(array))


def call(name, *tensors, **params):
    """Run an operation of the module in the runtime of its tensors."""
    x = tensors[0]
    if not isinstance(x, EagerTensor):
        x = next(x for x in tensors if isinstance(x, EagerTensor))
    return operations(x.runtime).__getattr__(name)(*tensors, **params)


def matrix(x, op, argument="a", least=2, square=False, like=None):
    """Operand as an inexact tensor with enough axes, in the runtime of `like` if that is a tensor."""
    if not isinstance(x, EagerTensor):
        x = constant_in(like.runtime, np.asarray(x)) if isinstance(like, EagerTensor) else tfr.asarray(x)
    if x.dtype.kind not in "fc":
        x = tfr.cast(x, np.float64)
    if x.ndim < least or (square and x.shape[-1] != x.shape[-2]):
        want = "(..., N, N)" if square else "(..., M, N)" if least == 2 else "(..., N)"
        raise ShapeMismatchError(f"{op}: {argument} has shape {x.shape}; {want} is needed", op=op, argument=argument,
                                 expected=want, actual=x.shape)
    return x


def adj(x):
    """Adjoint matrices."""
    x = tfr.swapaxes(x, -1, -2)
    return tfr.conj(x) if x.dtype.kind == "c" else x


def herm(x):
    return (x + adj(x)) * 0.5


def skew(x):
    return (x - adj(x)) * 0.5


def mm(*xs):
    """Product of matrices from the left."""
    y = xs[0]
    for x in xs[1:]:
        y = tfr.matmul(y, x)
    return y


def diag(x):
    """Diagonals of matrices."""
    return tfr.extract_diag(x, axis1=-2, axis2=-1)


def diag_matrix(x):
    return tfr.embed_diag(x)


def cols(x):
    """Vector that scales the columns of a matrix."""
    return tfr.expand_dims(x, -2)


def rows(x):
    """Vector that scales the rows of a matrix."""
    return tfr.expand_dims(x, -1)


def scalar(x):
    """Number that scales a matrix."""
    return tfr.expand_dims(x, (-1, -2))


def eps(x):
    return float(np.finfo(x.dtype).eps)


def value(x):
    """Elements as a NumPy array; those of a device are downloaded."""
    try:
        return x.detach().numpy()
    except HostAccessError:
        return x.to_tensor().numpy()


def scale_of(s):
    """Largest absolute value along the last axis as a constant, 1 where all are zero."""
    if s.shape[-1] == 0:
        return tfr.ones((*s.shape[:-1], 1), value(s).real.dtype)
    m = tfr.max(tfr.abs(s.detach()), axis=-1, keepdims=True)
    return tfr.where(m == 0, 1, m)


def reciprocal(d, scale, tol):
    """1/d; where |d| is below `tol` relative to a scale, the constant conj(d)/(|d|**2 + tol), at most about 1."""
    if not tfr.any(tfr.abs(d.detach()) / scale <= tol):
        return 1 / d
    r = value(d) / value(scale)
    small = np.abs(r) <= tol
    broad = np.where(small, r.conj() / (np.abs(r) ** 2 + tol) / value(scale), 0).astype(d.dtype)
    return tfr.where(small, broad, 1 / tfr.where(small, 1, d))


def ndim(x):
    return x.ndim if hasattr(x, "ndim") else np.ndim(x)


def eye(n, dtype):
    return np.eye(n, dtype=dtype)


def plus(a, b):
    """Sum of terms that may be None."""
    return b if a is None else a if b is None else a + b
