"""Methods of eager tensors that are operations, installed from the table of operations."""

from ._core.caches import CacheLimits
from ._core.eager import EagerTensor
from ._core.engine import ExecutionEngine
from ._core.session_ops import install_lazy_session_operations, install_methods, install_session_operations
from ._core.state import ContextId, EagerRuntime, EagerSession
from ._core.tensor import Tensor
from ._standard import dlpack, info
from .operations import OPERATIONS, PUBLIC

# A method is the very function, which saves a call; those below differ from it in name or arguments.
_METHODS = ("sum prod max min mean var std any all argmax argmin cumsum cumprod ravel squeeze swapaxes repeat take astype "
            "trace round tensordot outer").split()

LINEAR_ALGEBRA = ("cholesky qr svd svdvals eigh eigvalsh eig eigvals lu solve triangular_solve lstsq det slogdet inv pinv "
                  "matrix_rank matrix_power expm norm householder_product polar sqrtm funm_hermitian low_rank rsvd").split()
"""Functions of `tenferro.linalg` that sessions have; the module is loaded by the first of them."""


def _reshape(self, *shape, order="C"):
    """The same elements in another shape; a view if the strides allow one, as in NumPy.

    Parameters
    ----------
    *shape : int or tuple of int
        One tuple, or its integers. One size may be -1: what is left.
    order : {"C", "F", "A"}
        As in `tenferro.reshape`.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ShapeMismatchError
        The number of elements would change.
    ValidationError
        A negative size, or an unknown order.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant([1.0, 2.0, 3.0, 4.0]).reshape(2, -1)
    EagerTensor([[1., 2.],
                 [3., 4.]], dtype=float64)
    """
    return PUBLIC["reshape"](self, shape[0] if len(shape) == 1 else shape, order=order)


def _transpose(self, *axes):
    """Axes in another order; a view.

    Parameters
    ----------
    *axes : int or tuple of int
        One tuple, or its integers: axis i of the result is axis ``axes[i]`` of the tensor. Reversed by default.

    Returns
    -------
    EagerTensor

    Raises
    ------
    AxisError
        `axes` is no permutation of the tensor's axes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.zeros((2, 3, 4)).transpose(2, 0, 1).shape
    (4, 2, 3)
    """
    if not axes:
        return PUBLIC["transpose"](self)
    return PUBLIC["transpose"](self, axes[0] if len(axes) == 1 else axes)


def _reversed_axes(self):
    """The axes in reversed order; a view. The same as ``transpose()``.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant([[1.0, 2.0], [3.0, 4.0]]).T
    EagerTensor([[1., 3.],
                 [2., 4.]], dtype=float64)
    """
    return PUBLIC["transpose"](self)


def _flatten(self, order="C"):
    """One-dimensional tensor of the elements; the same as `ravel`.

    Parameters
    ----------
    order : {"C", "F", "A"}
        As in `reshape`.

    Returns
    -------
    EagerTensor
        Shape ``(x.size,)``.

    Raises
    ------
    ValidationError
        An unknown order.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant([[1.0, 2.0], [3.0, 4.0]]).flatten()
    EagerTensor([1., 2., 3., 4.], dtype=float64)
    """
    return PUBLIC["ravel"](self, order=order)


def _clip(self, min=None, max=None):
    return OPERATIONS["clamp"](self, min, max)


def _diagonal(self, offset=0, axis1=0, axis2=1):
    return PUBLIC["diagonal"](self, offset, axis1, axis2)


def _conj(self):
    """Complex conjugate; the same value of a real tensor.

    Returns
    -------
    EagerTensor
        Of the tensor's dtype.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant([1 + 2j, 3.0]).conj()
    EagerTensor([1.-2.j, 3.-0.j], dtype=complex128)
    """
    return OPERATIONS["conj"](self)


def _dot(self, other):
    """Product with another tensor, as `tenferro.dot`; a scalar multiplies.

    Parameters
    ----------
    other : array_like

    Returns
    -------
    EagerTensor
        The other axes of this tensor, then those of `other`.

    Raises
    ------
    ShapeMismatchError
        The summed axes differ in length.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant([1.0, 2.0]).dot([3.0, 4.0])
    EagerTensor(11., dtype=float64)
    """
    return PUBLIC["dot"](self, other)


def _matrix_transpose(self):
    """The last two axes exchanged; a view.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.zeros((5, 2, 3)).mT.shape
    (5, 3, 2)
    """
    return PUBLIC["swapaxes"](self, -1, -2)


def _hermitian(self):
    """The last two axes exchanged, conjugated.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant([[1j, 2.0]]).H
    EagerTensor([[0.-1.j],
                 [2.-0.j]], dtype=complex128)
    """
    return OPERATIONS["conj"](_matrix_transpose(self))


def _real(self):
    """Real part, a view; the tensor itself if it is real.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant([1 + 2j, 3.0]).real
    EagerTensor([1., 3.], dtype=float64)
    """
    return OPERATIONS["real"](self)


def _imag(self):
    """Imaginary part, a view; zeros if the tensor is real.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant([1 + 2j, 3.0]).imag
    EagerTensor([2., 0.], dtype=float64)
    """
    return OPERATIONS["imag"](self)


def _described(cls, **texts):
    """Give fields and properties of an extension type docstrings."""
    for name, text in texts.items():
        old = vars(cls)[name]
        own = isinstance(old, property)
        new = property(old.fget, old.fset, old.fdel, text) if own else property(old.__get__, old.__set__, doc=text)
        install_methods(cls, {name: new})


def install():
    """Give `EagerTensor` and `EagerSession` their operations."""
    _clip.__doc__, _diagonal.__doc__ = OPERATIONS["clamp"].__doc__, PUBLIC["diagonal"].__doc__
    table = {name: PUBLIC[name] for name in _METHODS}
    table.update(reshape=_reshape, transpose=_transpose, flatten=_flatten, clip=_clip, diagonal=_diagonal, conj=_conj,
                 conjugate=_conj, dot=_dot, T=property(_reversed_axes), mT=property(_matrix_transpose),
                 H=property(_hermitian), real=property(_real), imag=property(_imag))
    install_methods(EagerTensor, {**table, **info.MEMBERS, **dlpack.MEMBERS})
    install_methods(Tensor, dlpack.TENSOR_MEMBERS)
    _described(EagerTensor, grad="Accumulated gradient, an untracked snapshot; None until a sweep reaches this leaf.")
    _described(EagerRuntime, id="Opaque, hashable, unique `ContextId`.",
               ad_transform_cache_limits="`CacheLimits` of the AD-transform cache, shared through the AdContext; lowering one "
                                         "evicts at once.",
               prepared_derivative_cache_limits="`CacheLimits` of the cache of prepared derivatives; lowering one evicts at "
                                                "once.")
    _described(CacheLimits, max_entries="Most objects that the cache keeps.",
               max_retained_bytes="Most bytes that they hold together.")
    _described(ContextId, number="Number of the runtime in this process.")
    _described(ExecutionEngine, name="Name for people and for `tenferro.engine`.",
               kind="Kind of memory; a runtime accepts one memory space of each kind.",
               context_id="Identity of the memory space.", threads="Number of threads that an operation uses.",
               memory="What is known about the memory of a device; None for host memory.")
    _described(EagerSession, runtime="The runtime of the session.", engine="The engine that operations run on.")
    install_lazy_session_operations("tenferro.linalg", LINEAR_ALGEBRA)
    install_session_operations({**PUBLIC, **OPERATIONS})
