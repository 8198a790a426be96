"""Public functions that give views: another shape, other strides, the same memory."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor, as_eager, hooks
from .structure cimport *

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

from tenferro.errors import AxisError, ShapeMismatchError, ValidationError


cdef int new_shape(EagerTensor x, object shape, Py_ssize_t *dims) except -1:
    """A shape for x's elements, one size of which may be -1."""
    cdef int rank = shape_from(shape, dims), i, free = -1
    cdef Py_ssize_t known = 1, size = x.v.meta.size
    cdef bint fits = True
    for i in range(rank):
        if dims[i] == -1 and free < 0:
            free = i
        elif dims[i] < 0:
            raise ValidationError(f"reshape: {shape} has a negative size; one -1 stands for what is left", op="reshape",
                                  argument="shape")
        elif known and dims[i] > size // known and size:
            fits = False
        else:
            known *= dims[i]
    if free >= 0 and fits:
        fits = known > 0 and size % known == 0
        dims[free] = size // known if fits else 0
    elif fits:
        fits = known == size
    if not fits:
        raise ShapeMismatchError(f"reshape: {size} elements of shape {shape_tuple(x.v.meta)} have no shape {shape}; "
                                 "the number of elements must stay the same", op="reshape", argument="shape",
                                 expected=size, actual=shape)
    return rank


cdef bint fortran(object order, EagerTensor x, str op) except -1:
    if order == "C":
        return False
    if order == "F":
        return True
    if order == "A":
        return x.v.meta.flags & F_ORDER and not x.v.meta.flags & C_ORDER
    raise ValidationError(f"{op}: order is 'C', 'F' or 'A', not {order!r}", op=op, argument="order")


def reshape(x, shape, order="C", copy=None):
    """The same elements in another shape; a view if the strides allow one, as in NumPy.

    Parameters
    ----------
    x : array_like
    shape : int or sequence of int
        One size may be -1: what is left.
    order : {"C", "F", "A"}
        Elements are read and placed row by row (last axis fastest), column by column, or column by column if that is
        x's order in memory.
    copy : bool, optional
        True always copies, False never does.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ShapeMismatchError
        The number of elements would change.
    ValidationError
        A negative size, an unknown order, or ``copy=False`` where a copy is needed.
    IntegerOverflowError

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.reshape([1.0, 2.0, 3.0, 4.0], (2, -1))
    EagerTensor([[1., 2.],
                 [3., 4.]], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x), y
    cdef Py_ssize_t dims[64]
    cdef int rank = new_shape(t, shape, dims)
    cdef bint by_columns = fortran(order, t, "reshape")
    if copy:
        t = copied(t, not by_columns)
    y = reshape_dims(t, rank, dims, by_columns)
    if copy is False and y.v.buf != t.v.buf:
        raise ValidationError("reshape: these strides need a copy; use copy=None", op="reshape", argument="copy")
    return y


hooks.reshape = <PyObject *> reshape
Py_INCREF(reshape)


def ravel(x, order="C"):
    """One-dimensional tensor of the elements; a view if the strides allow one.

    Parameters
    ----------
    x : array_like
    order : {"C", "F", "A"}
        As in `reshape`.

    Returns
    -------
    EagerTensor
        Shape ``(x.size,)``, of `x`'s dtype.

    Raises
    ------
    ValidationError
        An unknown order.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.ravel([[1.0, 2.0], [3.0, 4.0]], order="F")
    EagerTensor([1., 3., 2., 4.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    return reshape_dims(t, 1, &t.v.meta.size, fortran(order, t, "ravel"))


def transpose(x, axes=None):
    """Axes in another order; a view.

    Parameters
    ----------
    x : array_like
    axes : sequence of int, optional
        Axis i of the result is axis ``axes[i]`` of x; reversed by default.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    AxisError
        `axes` is no permutation of x's axes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.transpose([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor([[1., 3.],
                 [2., 4.]], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef Py_ssize_t perm[64]
    cdef int i, n = t.v.meta.rank
    if axes is None:
        for i in range(n):
            perm[i] = n - 1 - i
        return permute(t, perm)
    axes = tuple(axes) if hasattr(axes, "__iter__") else (axes,)
    if len(axes) != n:
        raise AxisError(f"transpose: {axes} does not name each of the {n} axes once", op="transpose", argument="axes",
                        expected=n, actual=axes)
    axes_of(axes, n)
    for i in range(n):
        perm[i] = axis_of(axes[i], n)
    return permute(t, perm)


def permute_dims(x, axes):
    """Axes in another order; a view. `transpose` with all axes named.

    Parameters
    ----------
    x : array_like
    axes : sequence of int
        Axis i of the result is axis ``axes[i]`` of x.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    AxisError
        `axes` is no permutation of x's axes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.permute_dims(tfr.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return transpose(x, axes)


def matrix_transpose(x):
    """The last two axes exchanged; a view.

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
        Fewer than two axes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.matrix_transpose([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor([[1., 3.],
                 [2., 4.]], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    if t.v.meta.rank < 2:
        raise AxisError(f"the matrix transpose needs at least 2 axes, not {t.v.meta.rank}", op="matrix_transpose",
                        argument="x", expected=2, actual=t.v.meta.rank)
    return swap_last(t)


mT = matrix_transpose


def swapaxes(x, axis1, axis2):
    """Two axes exchanged; a view.

    Parameters
    ----------
    x : array_like
    axis1, axis2 : int

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    AxisError
        An axis is out of range.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.swapaxes(tfr.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    cdef EagerTensor t = as_eager(x)
    cdef Py_ssize_t perm[64]
    cdef int i, a = axis_of(axis1, t.v.meta.rank), b = axis_of(axis2, t.v.meta.rank)
    for i in range(t.v.meta.rank):
        perm[i] = i
    perm[a] = b
    perm[b] = a
    return permute(t, perm)


def moveaxis(x, source, destination):
    """Axes moved to other places, the rest in their order; a view.

    Parameters
    ----------
    x : array_like
    source, destination : int or sequence of int
        Equally many.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    AxisError
        An axis out of range or named twice, or unequal numbers of axes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.moveaxis(tfr.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    cdef EagerTensor t = as_eager(x)
    cdef int rank = t.v.meta.rank, i
    cdef Py_ssize_t perm[64]
    cdef list places = [None] * rank
    axes_of(source, rank)
    axes_of(destination, rank)
    source = source if isinstance(source, (tuple, list)) else (source,)
    destination = destination if isinstance(destination, (tuple, list)) else (destination,)
    if len(source) != len(destination):
        raise AxisError(f"moveaxis: {source} and {destination} name unequal numbers of axes", op="moveaxis",
                        argument="destination", expected=len(source), actual=len(destination))
    source = [axis_of(a, rank) for a in source]
    for a, b in zip(source, destination):
        places[axis_of(b, rank)] = a
    rest = iter([a for a in range(rank) if a not in source])
    for i in range(rank):
        perm[i] = next(rest) if places[i] is None else places[i]
    return permute(t, perm)


cdef int cannot_broadcast(EagerTensor x, object shape, str op) except -1:
    raise ShapeMismatchError(f"{op}: shape {shape_tuple(x.v.meta)} does not broadcast to {shape}; each axis must have "
                             "length 1 or the new one", op=op, argument="shape", expected=shape,
                             actual=shape_tuple(x.v.meta))


def broadcast_to(x, shape):
    """Repeat along axes of length one and new leading axes; a view.

    Parameters
    ----------
    x : array_like
    shape : int or sequence of int

    Returns
    -------
    EagerTensor
        Shape `shape`, of `x`'s dtype.

    Raises
    ------
    ShapeMismatchError
        x does not broadcast to the shape.
    IntegerOverflowError
        The product of the shape is too large.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.broadcast_to([1.0, 2.0], (2, 2))
    EagerTensor([[1., 2.],
                 [1., 2.]], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef Py_ssize_t dims[64]
    cdef int rank = shape_from(shape, dims), i, lead = rank - t.v.meta.rank
    if lead < 0:
        cannot_broadcast(t, shape, "broadcast_to")
    for i in range(rank):
        if dims[i] < 0 or (i >= lead and t.v.meta.dims[i - lead] != dims[i] and t.v.meta.dims[i - lead] != 1):
            cannot_broadcast(t, shape, "broadcast_to")
    return broadcast_dims(t, rank, dims)


def broadcast_in_dim(x, shape, broadcast_dimensions):
    """Broadcast with the place of every axis given; a view.

    Parameters
    ----------
    x : array_like
    shape : sequence of int
    broadcast_dimensions : sequence of int
        For each axis of x its place in `shape`; x's length there is 1 or that of `shape`.

    Returns
    -------
    EagerTensor
        Shape `shape`, of `x`'s dtype.

    Raises
    ------
    AxisError
        A place out of range or named twice, or not one for each axis.
    ShapeMismatchError
        A length is neither 1 nor that of `shape`.
    IntegerOverflowError
        The product of the shape is too large.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.broadcast_in_dim([1.0, 2.0], (2, 3), (0,))
    EagerTensor([[1., 1., 1.],
                 [2., 2., 2.]], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef Py_ssize_t dims[64]
    cdef Py_ssize_t perm[64]
    cdef int rank = shape_from(shape, dims), i, k, n = t.v.meta.rank
    cdef object dimensions = broadcast_dimensions
    cdef tuple places = tuple(dimensions) if hasattr(dimensions, "__iter__") else (dimensions,)
    cdef unsigned long long mask = axes_of(places, rank)
    if len(places) != n:
        raise AxisError(f"broadcast_in_dim: give a place for each of the {n} axes, not {len(places)}",
                        op="broadcast_in_dim", argument="broadcast_dimensions", expected=n, actual=places)
    places = tuple([axis_of(a, rank) for a in places])
    for i in range(n):
        k = places[i]
        if dims[k] < 0 or (t.v.meta.dims[i] != dims[k] and t.v.meta.dims[i] != 1):
            cannot_broadcast(t, shape, "broadcast_in_dim")
    order = sorted(range(n), key=places.__getitem__)
    if order != list(range(n)):
        for i in range(n):
            perm[i] = order[i]
        t = permute(t, perm)
    if rank > n:
        t = expand(t, ~mask & (~<unsigned long long> 0 >> (64 - rank)))
    for i in range(rank):
        if dims[i] < 0:
            cannot_broadcast(t, shape, "broadcast_in_dim")
    return broadcast_dims(t, rank, dims)


def squeeze(x, axis=None):
    """Without axes of length one; a view.

    Parameters
    ----------
    x : array_like
    axis : int or tuple of int, optional
        All of length one by default.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    ShapeMismatchError
        An axis that is named has another length.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.squeeze([[1.0, 2.0]])
    EagerTensor([1., 2.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef unsigned long long mask = 0
    cdef int i
    if axis is not None:
        mask = axes_of(axis, t.v.meta.rank)
    for i in range(t.v.meta.rank):
        if axis is None and t.v.meta.dims[i] == 1:
            mask |= 1ULL << i
        elif (mask >> i) & 1 and t.v.meta.dims[i] != 1:
            raise ShapeMismatchError(f"squeeze: axis {i} of shape {shape_tuple(t.v.meta)} has not length 1; take an "
                                     "index of it instead", op="squeeze", argument="axis", expected=1,
                                     actual=t.v.meta.dims[i])
    return squeezed(t, mask)


def expand_dims(x, axis=0):
    """With new axes of length one; a view.

    Parameters
    ----------
    x : array_like
    axis : int or tuple of int
        Places of the new axes in the result.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    AxisError
        A place is out of range or named twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.expand_dims([1.0, 2.0], axis=1)
    EagerTensor([[1.],
                 [2.]], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef int n = len(axis) if isinstance(axis, (tuple, list)) else 1
    if n + t.v.meta.rank > MAX_RANK:
        raise ValidationError(f"a tensor has at most {MAX_RANK} axes, not {n + t.v.meta.rank}", op="expand_dims",
                              argument="axis")
    return expand(t, axes_of(axis, t.v.meta.rank + n))


def reverse(x, axis=None):
    """The order of elements reversed along one axis, several, or all; a view with negative strides.

    Parameters
    ----------
    x : array_like
    axis : int or tuple of int, optional
        All axes by default.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.flip([1.0, 2.0, 3.0])
    EagerTensor([3., 2., 1.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    return reversed_along(t, ~<unsigned long long> 0 if axis is None else axes_of(axis, t.v.meta.rank))


flip = reverse


def extract_diag(x, offset=0, axis1=0, axis2=1):
    """Diagonals over two axes, as the last axis of the result; a view.

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
        Of `x`'s dtype.

    Raises
    ------
    AxisError
        An axis out of range, or the same twice.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.diagonal([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor([1., 4.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef int n = t.v.meta.rank
    axes_of((axis1, axis2), n)
    return diagonal_of(t, max(-<Py_ssize_t> (1 << 61), min(<Py_ssize_t> (1 << 61), size_of(offset, "offset"))),
                       axis_of(axis1, n), axis_of(axis2, n))


diagonal = extract_diag
