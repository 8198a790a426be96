"""Structure operations that are made of others, and the place where the family's public functions meet."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor, as_eager
from tenferro._core.optable cimport Op
from .assembly cimport join, operands
from .reduce cimport reduce_op
from .slicing cimport slice_axis, take_at
from .structure cimport *

import numpy as np

from tenferro.errors import DTypeMismatchError, ShapeMismatchError, ValidationError
from .assembly import concatenate, embed_diag, pad, stack, tril, triu  # no-cython-lint
from .builder import SliceBuilder  # no-cython-lint
from .slicing import dynamic_slice, slice  # no-cython-lint
from .views import broadcast_in_dim, broadcast_to, diagonal, expand_dims, extract_diag, flip  # no-cython-lint
from .views import mT, matrix_transpose, moveaxis, permute_dims, ravel, reshape, reverse  # no-cython-lint
from .views import squeeze, swapaxes, transpose  # no-cython-lint

concat = concatenate


cdef list cut_places(object where, Py_ssize_t n, bint equal):
    """Starts of the parts of an axis of length n, and its end."""
    cdef Py_ssize_t parts, i
    if hasattr(where, "__iter__") or getattr(where, "ndim", 0) > 0:
        ends = [size_of(k, "indices_or_sections") for k in where]
        return [0] + [max(0, k + n) if k < 0 else min(k, n) for k in ends] + [n]
    parts = size_of(where, "indices_or_sections")
    if not 1 <= parts <= 1 << 31:
        raise ValidationError(f"split: the number of parts is {parts}; use at least 1 and at most 2**31", op="split",
                              argument="indices_or_sections")
    if equal and n % parts:
        raise ShapeMismatchError(f"split: an axis of length {n} has no {parts} equal parts; give the places to cut, or "
                                 "use array_split", op="split", argument="indices_or_sections",
                                 expected=f"a divisor of {n}", actual=parts)
    return [i * (n // parts) + min(i, n % parts) for i in range(parts + 1)]


cdef list cut(EagerTensor x, object where, object axis, bint equal):
    cdef int k = axis_of(axis, x.v.meta.rank)
    cdef list at = cut_places(where, x.v.meta.dims[k], equal)
    return [slice_axis(x, k, at[i], 1, max(0, at[i + 1] - at[i])) for i in range(len(at) - 1)]


def split(x, indices_or_sections, axis=0):
    """Split along an axis; a list of views.

    Parameters
    ----------
    x : array_like
    indices_or_sections : int or sequence of int
        Number of equal parts, or the places to cut at.
    axis : int

    Returns
    -------
    list of EagerTensor

    Raises
    ------
    AxisError
        The axis is out of range.
    ShapeMismatchError
        The axis has no so many equal parts.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.split([1.0, 2.0, 3.0, 4.0], 2)
    [EagerTensor([1., 2.], dtype=float64), EagerTensor([3., 4.], dtype=float64)]
    """
    return cut(as_eager(x), indices_or_sections, axis, True)


def array_split(x, indices_or_sections, axis=0):
    """Split along an axis into parts whose lengths may differ by one; a list of views.

    Parameters
    ----------
    x : array_like
    indices_or_sections : int or sequence of int
        Number of equal parts, or the places to cut at.
    axis : int

    Returns
    -------
    list of EagerTensor

    Raises
    ------
    AxisError
        The axis is out of range.

    Examples
    --------
    >>> import tenferro as tfr
    >>> [part.shape for part in tfr.array_split([1.0, 2.0, 3.0], 2)]
    [(2,), (1,)]
    """
    return cut(as_eager(x), indices_or_sections, axis, False)


def unstack(x, axis=0):
    """The parts ``x[i]`` along an axis, without it; views.

    Parameters
    ----------
    x : array_like
    axis : int
        The axis to take apart.

    Returns
    -------
    tuple of EagerTensor

    Raises
    ------
    AxisError
        The axis is out of range, or `x` has none.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.unstack([[1.0, 2.0], [3.0, 4.0]])
    (EagerTensor([1., 2.], dtype=float64), EagerTensor([3., 4.], dtype=float64))
    """
    cdef EagerTensor t = as_eager(x)
    cdef int k = axis_of(axis, t.v.meta.rank)
    return tuple([take_at(t, k, i) for i in range(t.v.meta.dims[k])])


cdef EagerTensor rolled(EagerTensor x, int axis, object shift):
    """One axis: two slices, exchanged."""
    cdef Py_ssize_t n = x.v.meta.dims[axis], k
    k = shift % n if n else 0
    if k == 0:
        return +x
    return join((slice_axis(x, axis, n - k, 1, k), slice_axis(x, axis, 0, 1, n - k)), axis, False)


def roll(x, shift, axis=None):
    """Shift elements along axes; what leaves at the end comes back at the start.

    Parameters
    ----------
    x : array_like
    shift : int or tuple of int
    axis : int or tuple of int, optional
        The flattened tensor is rolled by default. An axis may be named several times.

    Returns
    -------
    EagerTensor
        x's shape.

    Raises
    ------
    AxisError
        An axis is out of range.
    ShapeMismatchError
        The numbers of shifts and axes differ.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.roll([1.0, 2.0, 3.0], 1)
    EagerTensor([3., 1., 2.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x), y
    if axis is None:
        y = reshape_dims(t, 1, &t.v.meta.size, False)
        for s in (shift if isinstance(shift, (tuple, list)) else (shift,)):
            y = rolled(y, 0, s)
        return reshape_to(y, t.v.meta)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    shifts = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,)
    if len(shifts) != len(axes) and len(shifts) != 1 and len(axes) != 1:
        raise ShapeMismatchError(f"roll: {len(shifts)} shifts for {len(axes)} axes; give one for each", op="roll",
                                 argument="shift", expected=len(axes), actual=len(shifts))
    n = max(len(axes), len(shifts)) if axes and shifts else 0
    y = t
    for i in range(n):
        y = rolled(y, axis_of(axes[i if len(axes) > 1 else 0], t.v.meta.rank), shifts[i if len(shifts) > 1 else 0])
    return +t if y is t else y


def tile(x, reps):
    """Repeat the whole tensor along axes.

    Parameters
    ----------
    x : array_like
    reps : int or sequence of int
        Repeats for the last axes; more of them than axes make new leading axes.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    ValidationError
        A negative number, or too many axes to repeat at once.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.tile([1.0, 2.0], 2)
    EagerTensor([1., 2., 1., 2.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef Py_ssize_t n[64]
    cdef Py_ssize_t wide[128]
    cdef Py_ssize_t shape[64]
    cdef int k = shape_from(reps, n), rank = max(k, t.v.meta.rank), i, q = 0
    cdef Py_ssize_t d, r
    cdef Py_ssize_t split_shape[128]
    for i in range(k):
        if n[i] < 0:
            raise ValidationError(f"tile: {reps} has a negative number of repeats", op="tile", argument="reps")
    for i in range(rank):
        d = t.v.meta.dims[i - (rank - t.v.meta.rank)] if i >= rank - t.v.meta.rank else 1
        r = n[i - (rank - k)] if i >= rank - k else 1
        if r != 1:
            split_shape[q] = 1
            wide[q] = r
            q += 1
        if d != 1 or r == 1:
            split_shape[q] = d
            wide[q] = d
            q += 1
        shape[i] = checked_product(d, r, "reps")
    if q > MAX_RANK:
        raise ValidationError(f"tile: more than {MAX_RANK} axes on the way; repeat fewer axes at once", op="tile",
                              argument="reps")
    return reshape_dims(broadcast_dims(reshape_dims(t, q, split_shape, False), q, wide), rank, shape, False)


cdef Py_ssize_t checked_product(Py_ssize_t a, Py_ssize_t b, str argument) except -1:
    return size_of((<object> a) * b, argument)


cdef EagerTensor repeat_each(EagerTensor x, Py_ssize_t n, int axis):
    """Every element n times in a row."""
    cdef Py_ssize_t shape[65]
    cdef int i, r = x.v.meta.rank
    cdef EagerTensor y = expand(x, 1ULL << (axis + 1)) if r < MAX_RANK else None
    if y is None:
        raise ValidationError(f"repeat: {MAX_RANK} axes are too many; reshape first", op="repeat", argument="x")
    for i in range(r + 1):
        shape[i] = n if i == axis + 1 else y.v.meta.dims[i]
    y = broadcast_dims(y, r + 1, shape)
    for i in range(r):
        shape[i] = x.v.meta.dims[i]
    shape[axis] = checked_product(shape[axis], n, "repeats")
    return reshape_dims(y, r, shape, False)


def repeat(x, repeats, axis=None):
    """Repeat elements along an axis.

    Parameters
    ----------
    x : array_like
    repeats : int or integer array_like
        One number, or one for each index of the axis.
    axis : int, optional
        The flattened tensor is used by default.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    AxisError
        The axis is out of range.
    ValidationError
        A negative number of repeats.
    ShapeMismatchError
        The number of repeats is neither 1 nor the length of the axis.
    DTypeMismatchError
        Repeats that are not integers.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.repeat([1.0, 2.0], [1, 2])
    EagerTensor([1., 2., 2.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef int k = 0
    if axis is None:
        t = reshape_dims(t, 1, &t.v.meta.size, False)
    else:
        k = axis_of(axis, t.v.meta.rank)
    counts = np.asarray(repeats)
    if counts.dtype.kind not in "iu" and counts.size:
        raise DTypeMismatchError(f"repeat: repeats is {counts.dtype}, not an integer", op="repeat", argument="repeats",
                                 expected="an integer dtype", actual=counts.dtype)
    if counts.size and counts.min() < 0:
        raise ValidationError("repeat: a number of repeats is negative", op="repeat", argument="repeats")
    if counts.size == 1:
        return repeat_each(t, size_of(int(counts.reshape(())), "repeats"), k)
    if counts.shape != (t.v.meta.dims[k],):
        raise ShapeMismatchError(f"repeat: repeats has shape {counts.shape}; give one number, or {t.v.meta.dims[k]}",
                                 op="repeat", argument="repeats", expected=(t.v.meta.dims[k],), actual=counts.shape)
    from .index import take
    return take(t, np.repeat(np.arange(t.v.meta.dims[k]), counts.astype(np.int64)), axis=k)


def trace(x, offset=0, axis1=0, axis2=1):
    """Sum along diagonals over two axes.

    Parameters
    ----------
    x : array_like, at least two axes
    offset : int
        0 is the main diagonal, positive ones lie to the right of it.
    axis1, axis2 : int
        Rows and columns.

    Returns
    -------
    EagerTensor
        `x`'s other axes.

    Raises
    ------
    AxisError
        An axis out of range, or the same twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.trace([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor(5., dtype=float64)
    """
    return reduce_op(Op.REDUCE_SUM, <EagerTensor> extract_diag(x, offset, axis1, axis2), -1, False)


def broadcast_arrays(*arrays):
    """Tensors broadcast to their common shape; views.

    Parameters
    ----------
    *arrays : array_like

    Returns
    -------
    tuple of EagerTensor

    Raises
    ------
    ShapeMismatchError
        The shapes do not broadcast.

    Examples
    --------
    >>> import tenferro as tfr
    >>> [x.shape for x in tfr.broadcast_arrays([[1.0], [2.0]], [1.0, 2.0, 3.0])]
    [(2, 3), (2, 3)]
    """
    cdef tuple xs = operands(arrays)
    try:
        shape = np.broadcast_shapes(*[x.shape for x in xs])
    except ValueError:
        shapes = [x.shape for x in xs]
        raise ShapeMismatchError(f"broadcast_arrays: shapes {shapes} do not broadcast; align their axes first",
                                 op="broadcast_arrays", argument="arrays", expected=shapes[0],
                                 actual=shapes[len(shapes) - 1]) from None
    return tuple([broadcast_to(x, shape) for x in xs])


def atleast_1d(x):
    """The tensor with one axis if it has none.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.atleast_1d(5.0)
    EagerTensor([5.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    return expand(t, 1) if t.v.meta.rank == 0 else +t


def atleast_2d(x):
    """The tensor with new leading axes if it has fewer than two.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.atleast_2d([1.0, 2.0])
    EagerTensor([[1., 2.]], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    return +t if t.v.meta.rank > 1 else expand(t, 3 if t.v.meta.rank == 0 else 1)


def hstack(arrays):
    """Join along the second axis, vectors along their only one.

    Parameters
    ----------
    arrays : sequence of array_like
        Equal shapes except along that axis; dtypes are promoted. Scalars count as vectors.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ShapeMismatchError
        The other axes differ.
    ValidationError
        Nothing is given.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.hstack([[1.0, 2.0], [3.0]])
    EagerTensor([1., 2., 3.], dtype=float64)
    """
    cdef list xs = [atleast_1d(x) for x in operands(arrays)]
    return concatenate(xs, 0 if xs and xs[0].ndim == 1 else 1)


def vstack(arrays):
    """Join along the first axis; vectors are rows.

    Parameters
    ----------
    arrays : sequence of array_like
        Equal shapes except along the first axis; dtypes are promoted.

    Returns
    -------
    EagerTensor
        At least two axes.

    Raises
    ------
    ShapeMismatchError
        The other axes differ.
    ValidationError
        Nothing is given.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.vstack([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor([[1., 2.],
                 [3., 4.]], dtype=float64)
    """
    return concatenate([atleast_2d(x) for x in operands(arrays)], 0)


def fliplr(x):
    """The order reversed along the second axis; a view.

    Parameters
    ----------
    x : array_like, at least two axes

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    AxisError
        There is no second axis.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fliplr([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor([[2., 1.],
                 [4., 3.]], dtype=float64)
    """
    return reverse(x, 1)


def flipud(x):
    """The order reversed along the first axis; a view.

    Parameters
    ----------
    x : array_like, at least one axis

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    AxisError
        There is no axis.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.flipud([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor([[3., 4.],
                 [1., 2.]], dtype=float64)
    """
    return reverse(x, 0)
