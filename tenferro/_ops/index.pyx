"""Indexing by arrays: the public functions."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor, as_eager, binary
from tenferro._core.memory cimport row_major
from tenferro._core.optable cimport Op
from .gathers cimport *
from .structure cimport axis_of, shape_tuple

from . import indexing
from tenferro.errors import AxisError, ShapeMismatchError, ValidationError

index_set = indexing.index_set


cdef EagerTensor gather_index(EagerTensor x, object indices, object axis, Py_ssize_t *p, str op):
    """The index arrays of a gather or scatter as one, and its parameters."""
    cdef int a, rank = x.v.meta.rank
    cdef Py_ssize_t i
    cdef unsigned long long named = 0
    cdef list arrays = [integers(k, x, op) for k in (indices if isinstance(indices, tuple) else (indices,))]
    axes = range(len(arrays)) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    if len(axes) != len(arrays):
        raise ValidationError(f"{op}: {len(arrays)} index arrays for {len(axes)} axes; give one for each axis", op=op,
                              argument="axis")
    axes = [axis_of(k, rank) for k in axes]
    p[0], p[1] = 0, len(axes)
    for i in range(len(axes)):
        a = axes[i]
        if (named >> a) & 1:
            raise AxisError(f"{op}: axis {a} is named twice; name each axis once", op=op, argument="axis",
                            expected="distinct axes", actual=tuple(axes))
        named |= 1ULL << a
        p[2 + i] = a
    for i in range(p[2] if axes else 0):
        p[0] += not (named >> i) & 1
    p[2 + p[1]] = axes[0] if len(axes) == 1 else -1
    if len(arrays) == 1:
        return <EagerTensor> arrays[0]
    return flat_index(arrays, [x.v.meta.dims[<Py_ssize_t> k] for k in axes], axes)


def gather(x, indices, axis=None):
    """Elements at places that integer arrays name.

    ``gather(x, i)`` is ``x[i]``, ``gather(x, (i, j))`` is ``x[i, j]``, ``gather(x, i, axis=1)`` is ``x[:, i]``: the
    index arrays are broadcast together, and their axes take the place of the first axis named; the other axes named
    disappear.

    Parameters
    ----------
    x : array_like
        Tensor of any shape and dtype.
    indices : integer array_like or tuple of them
        One index array for each axis; negative indices count from the end.
    axis : int or tuple of int, optional
        The axes that they index, by default the leading ones.

    Returns
    -------
    EagerTensor
        The dtype of `x`.

    Raises
    ------
    AxisError
        An index or an axis is out of range, or an axis named twice.
    ShapeMismatchError
        The index arrays cannot be broadcast.
    DTypeMismatchError
        An index array does not hold integers.

    Notes
    -----
    The adjoint of ``gather(x, indices, axis)`` is ``scatter_add(zeros_like(x), indices, g, axis)``.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.gather([[1.0, 2.0], [3.0, 4.0]], ([0, 1], [1, 0]))
    EagerTensor([2., 3.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef Py_ssize_t p[HEAD]
    cdef EagerTensor idx = gather_index(t, indices, axis, p, "gather")
    return take_axes(t, idx, p)


cdef EagerTensor scatter_into(int op, str name, object x, object indices, object updates, object axis):
    cdef EagerTensor t = as_eager(x)
    cdef Py_ssize_t p[HEAD]
    cdef EagerTensor idx = gather_index(t, indices, axis, p, name)
    cdef EagerTensor u = operand_for(updates, t, name, "updates")
    cdef bint rows = row_major(t.v.meta) and row_major(u.v.meta) and row_major(idx.v.meta)
    return scatter_op(op, t, u, idx, p, rows, name, "updates")


def scatter(x, indices, updates, axis=None):
    """A copy of a tensor with new values at the places that integer arrays name.

    ``y = x.copy(); y[i, j] = updates`` is ``scatter(x, (i, j), updates)``; see `gather` for `indices` and `axis`.

    Parameters
    ----------
    x : array_like
        Tensor of any shape and dtype.
    indices : integer array_like or tuple of them
        One index array for each axis. Of several updates for one place the last one counts.
    updates : array_like
        Broadcast to the shape of ``gather(x, indices, axis)``; of a dtype that converts to x's within its kind.
    axis : int or tuple of int, optional
        The axes that are indexed, by default the leading ones.

    Returns
    -------
    EagerTensor
        Shape and dtype of `x`.

    Raises
    ------
    AxisError, ShapeMismatchError, DTypeMismatchError
        As in `gather`, and for updates that do not fit.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.scatter([0.0, 0.0, 0.0], [2, 0], [5.0, 7.0])
    EagerTensor([7., 0., 5.], dtype=float64)
    """
    return scatter_into(Op.SCATTER, "scatter", x, indices, updates, axis)


def scatter_add(x, indices, updates, axis=None):
    """A copy of a tensor with values added at the places that integer arrays name.

    ``y = x.copy(); numpy.add.at(y, (i, j), updates)`` is ``scatter_add(x, (i, j), updates)``; see `gather` for
    `indices` and `axis`.

    Parameters
    ----------
    x : array_like
        Tensor of any shape and dtype.
    indices : integer array_like or tuple of them
        One index array for each axis. Several updates for one place are all added, in row-major order of the indices.
    updates : array_like
        Broadcast to the shape of ``gather(x, indices, axis)``; of a dtype that converts to x's within its kind.
    axis : int or tuple of int, optional
        The axes that are indexed, by default the leading ones.

    Returns
    -------
    EagerTensor
        Shape and dtype of `x`.

    Raises
    ------
    AxisError, ShapeMismatchError, DTypeMismatchError
        As in `gather`, and for updates that do not fit.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.scatter_add([0.0, 0.0, 0.0], [2, 2], [5.0, 7.0])
    EagerTensor([ 0.,  0., 12.], dtype=float64)
    """
    return scatter_into(Op.SCATTER_ADD, "scatter_add", x, indices, updates, axis)


cdef EagerTensor in_range(EagerTensor idx, Py_ssize_t size, object mode):
    """Indices as the mode of `take` reads them."""
    if mode == "raise":
        return idx
    if mode not in ("wrap", "clip"):
        raise ValidationError(f"mode {mode!r} is unknown; use 'raise', 'wrap' or 'clip'", op="take", argument="mode")
    if size == 0:
        return idx
    if mode == "wrap":
        return binary(Op.REM, idx, size)
    return binary(Op.MINIMUM, binary(Op.MAXIMUM, idx, 0), size - 1)


cdef EagerTensor take_flat(EagerTensor t, EagerTensor idx):
    """Elements of the flattened tensor, which is not made."""
    cdef Py_ssize_t p[HEAD]
    cdef int i
    p[0], p[1] = 0, t.v.meta.rank
    for i in range(t.v.meta.rank):
        p[2 + i] = i
    p[2 + t.v.meta.rank] = -1
    return take_axes(t, idx, p)


cdef EagerTensor take_axis(EagerTensor t, EagerTensor idx, int axis):
    cdef Py_ssize_t p[4]
    p[0], p[1], p[2], p[3] = axis, 1, axis, axis
    return take_axes(t, idx, p)


def take(x, indices, axis=None, mode="raise"):
    """Elements along an axis.

    Parameters
    ----------
    x : array_like
        Tensor of any shape and dtype.
    indices : integer array_like
        Any shape; negative indices count from the end.
    axis : int, optional
        The axis to take along; by default the tensor is flattened, in row-major order.
    mode : {'raise', 'wrap', 'clip'}
        What happens to indices that are out of range. 'clip' also sets negative ones to 0.

    Returns
    -------
    EagerTensor
        The dtype of `x`; its axis is replaced by the axes of `indices`.

    Raises
    ------
    AxisError
        An index or the axis is out of range.
    DTypeMismatchError
        `indices` does not hold integers.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.take([1.0, 2.0, 3.0], [2, 0])
    EagerTensor([3., 1.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x), idx = integers(indices, t, "take")
    cdef int a
    if axis is None:
        return take_flat(t, in_range(idx, t.v.meta.size, mode))
    a = axis_of(axis, t.v.meta.rank)
    return take_axis(t, in_range(idx, t.v.meta.dims[a], mode), a)


def index_select(x, axis, index):
    """The entries of one axis that an index vector names.

    Parameters
    ----------
    x : array_like
        Tensor of any shape and dtype.
    axis : int
        The axis to select along.
    index : integer array_like
        One-dimensional; negative indices count from the end.

    Returns
    -------
    EagerTensor
        Rank and dtype of `x`.

    Raises
    ------
    AxisError
        An index or the axis is out of range.
    ShapeMismatchError
        `index` is not one-dimensional.
    DTypeMismatchError
        `index` does not hold integers.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.index_select([[1.0, 2.0], [3.0, 4.0]], 1, [1])
    EagerTensor([[2.],
                 [4.]], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x), idx = integers(index, t, "index_select")
    cdef int a = axis_of(axis, t.v.meta.rank)
    if idx.v.meta.rank != 1:
        raise ShapeMismatchError("index_select: index is not one-dimensional; flatten it, or use take",
                                 op="index_select", argument="index", expected=1, actual=shape_tuple(idx.v.meta))
    return take_axis(t, idx, a)


def take_along_axis(x, indices, axis=-1):
    """Elements along an axis by an index array that has the tensor's other axes too, such as a result of `argmax`.

    Parameters
    ----------
    x : array_like
        Tensor of any shape and dtype.
    indices : integer array_like
        As many axes as `x`; along the others the two are broadcast. Negative indices count from the end.
    axis : int or None
        The axis to take along. None: both are one-dimensional, `x` after flattening in row-major order.

    Returns
    -------
    EagerTensor
        The dtype of `x`, the shape of `indices` after broadcasting.

    Raises
    ------
    AxisError
        An index or the axis is out of range.
    ShapeMismatchError
        The ranks differ, or the other axes cannot be broadcast.
    DTypeMismatchError
        `indices` does not hold integers.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.take_along_axis([[1.0, 5.0], [3.0, 2.0]], [[1], [0]])
    EagerTensor([[5.],
                 [3.]], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x), idx = integers(indices, t, "take_along_axis")
    cdef Py_ssize_t p[2]
    cdef Py_ssize_t dims[64]
    cdef const Meta *m = t.v.meta
    cdef const Meta *n = idx.v.meta
    cdef bint rows = row_major(m) and row_major(n), fits
    cdef int i
    if axis is None:
        if n.rank == 1:
            return take_flat(t, idx)
        fits = False
    else:
        p[0] = axis_of(axis, m.rank)
        fits = m.rank == n.rank
        for i in range(m.rank if fits else 0):
            fits = fits and (i == p[0] or m.dims[i] == n.dims[i] or m.dims[i] == 1 or n.dims[i] == 1)
    if not fits:
        raise ShapeMismatchError(f"take_along_axis: indices of shape {shape_tuple(n)} do not fit a tensor of shape "
                                 f"{shape_tuple(m)}; they have its axes, of any length along `axis`",
                                 op="take_along_axis", argument="indices", expected=shape_tuple(m),
                                 actual=shape_tuple(n))
    p[1] = m.dims[p[0]]
    for i in range(m.rank):
        dims[i] = n.dims[i] if m.dims[i] == 1 else m.dims[i]
    dims[p[0]] = p[1]
    t = fitted(t, m.rank, dims, "take_along_axis", "x")
    dims[p[0]] = n.dims[p[0]]
    idx = fitted(idx, n.rank, dims, "take_along_axis", "indices")
    return along(t, idx, p, rows)
