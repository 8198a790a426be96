"""Products of tensors that are made of elementwise ones."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor, as_eager, as_operand
from .basic cimport mul, sub
from .structure cimport axis_of, reshape_dims

from tenferro.errors import ShapeMismatchError, ValidationError
from .composites import roll
from .views import moveaxis


cdef EagerTensor vectors(EagerTensor x, object axis):
    """The axis of three components last."""
    cdef int k = axis_of(axis, x.v.meta.rank)
    if x.v.meta.dims[k] != 3:
        raise ShapeMismatchError(f"cross: axis {axis} has length {x.v.meta.dims[k]}, not 3; name the axis of the "
                                 "vector components", op="cross", argument="axis", expected=3, actual=x.v.meta.dims[k])
    return x if k == x.v.meta.rank - 1 else moveaxis(x, k, -1)


def cross(x1, x2, axis=-1):
    """Cross product of vectors of three components.

    Parameters
    ----------
    x1, x2 : array_like
        Any dtype; the other axes broadcast.
    axis : int
        Of the components, in either operand and in the result.

    Returns
    -------
    EagerTensor
        Three components along the axis.

    Raises
    ------
    AxisError
        The axis is out of range.
    ShapeMismatchError
        There are not three components, or the other axes do not broadcast.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    EagerTensor([0., 0., 1.], dtype=float64)
    """
    cdef EagerTensor a = as_eager(x1), b = as_operand(x2, a.rt), y
    a, b = vectors(a, axis), vectors(b, axis)
    y = sub(mul(roll(a, -1, -1), roll(b, -2, -1)), mul(roll(a, -2, -1), roll(b, -1, -1)))
    return y if axis == -1 else moveaxis(y, -1, axis)


cdef EagerTensor interleaved(EagerTensor x, int rank, bint second):
    """Axes of length 1 between those of x, which is brought to a rank first."""
    cdef Py_ssize_t dims[64]
    cdef int i, lead = rank - x.v.meta.rank
    for i in range(rank):
        dims[2 * i + second] = x.v.meta.dims[i - lead] if i >= lead else 1
        dims[2 * i + 1 - second] = 1
    return reshape_dims(x, 2 * rank, dims, False)


def kron(x1, x2):
    """Kronecker product: every element of the first tensor times the second one.

    Parameters
    ----------
    x1, x2 : array_like
        Any dtype. The one with fewer axes gets leading ones.

    Returns
    -------
    EagerTensor
        Along every axis as long as the product of the operands' lengths.

    Raises
    ------
    ValidationError
        More than 32 axes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.kron([1.0, 10.0], [1.0, 2.0])
    EagerTensor([ 1.,  2., 10., 20.], dtype=float64)
    """
    cdef EagerTensor a = as_eager(x1), b = as_operand(x2, a.rt), y
    cdef Py_ssize_t dims[64]
    cdef int i, rank = max(a.v.meta.rank, b.v.meta.rank)
    if 2 * rank > MAX_RANK:
        raise ValidationError(f"kron: {rank} axes are too many; use at most {MAX_RANK // 2}", op="kron", argument="x1")
    y = mul(interleaved(a, rank, False), interleaved(b, rank, True))
    for i in range(rank):
        dims[i] = y.v.meta.dims[2 * i] * y.v.meta.dims[2 * i + 1]
    return reshape_dims(y, rank, dims, False)
