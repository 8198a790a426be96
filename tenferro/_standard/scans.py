"""Running sums and products that can start with the neutral element."""

from .._core.eager import EagerTensor
from .._core.handles import constant
from .._ops.assembly import concatenate
from .._ops.scan import cumprod, cumsum
from ..errors import ValidationError

__all__ = ["cumulative_prod", "cumulative_sum"]


def cumulative_sum(x, *, axis=None, dtype=None, include_initial=False):
    """Cumulative sum along an axis.

    Parameters
    ----------
    x : array_like
        Any dtype, at least one axis.
    axis : int, optional
        Must be given for more than one axis.
    dtype : dtype, optional
        Of the computation and the result. By default that of `x`, int64 or uint64 for bool and smaller integers.
    include_initial : bool
        Whether 0 comes first, so that the result is longer by one.

    Returns
    -------
    EagerTensor

    Raises
    ------
    AxisError
        The axis is out of range.
    ValidationError
        No axis is given where there is more than one, or none.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.cumulative_sum([1.0, 2.0, 3.0], include_initial=True)
    EagerTensor([0., 1., 3., 6.], dtype=float64)
    """
    return _accumulated(cumsum, x, axis, dtype, include_initial, 0, "cumulative_sum")


def cumulative_prod(x, *, axis=None, dtype=None, include_initial=False):
    """Cumulative product along an axis.

    Parameters, result and errors are those of `cumulative_sum`, with 1 for 0.

    Parameters
    ----------
    x : array_like
        Any dtype, at least one axis.
    axis : int, optional
        Must be given for more than one axis.
    dtype : dtype, optional
        Of the computation and the result. By default that of `x`, int64 or uint64 for bool and smaller integers.
    include_initial : bool
        Whether 1 comes first, so that the result is longer by one.

    Returns
    -------
    EagerTensor

    Raises
    ------
    AxisError
        The axis is out of range.
    ValidationError
        No axis is given where there is more than one, or none.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.cumulative_prod([1.0, 2.0, 3.0], include_initial=True)
    EagerTensor([1., 1., 2., 6.], dtype=float64)
    """
    return _accumulated(cumprod, x, axis, dtype, include_initial, 1, "cumulative_prod")


def _accumulated(f, x, axis, dtype, include_initial, neutral, op):
    x = x if isinstance(x, EagerTensor) else constant(x, copy=False)
    if x.ndim == 0:
        raise ValidationError(f"{op}: a scalar has no axis; use atleast_1d first", op=op, argument="x")
    if axis is None:
        if x.ndim != 1:
            raise ValidationError(f"{op}: x has {x.ndim} axes; name the one to accumulate along", op=op, argument="axis")
        axis = 0
    found = f(x, axis=axis, dtype=dtype)
    if not include_initial:
        return found
    from .._creation import full

    shape = list(found.shape)
    shape[axis] = 1
    first = full(tuple(shape), neutral, found.dtype)
    return concatenate([first.detach_into(x.runtime) if first.runtime is not x.runtime else first, found], axis=axis)
