"""Tensors put together from others, in fresh memory: concatenation, padding, triangles, diagonals."""

from tenferro._core.eager cimport as_eager, as_operand, emit1, emit2, emit_n
from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op, promote
from tenferro._core.state cimport EagerRuntime, ambient_runtime
from .slicing cimport take_at
from .structure cimport axis_of, broadcast_dims, reshape_dims, shape_tuple, size_of

import numpy as np

from tenferro.errors import AxisError, DTypeMismatchError, ShapeMismatchError, ValidationError


# ---- concatenation ---------------------------------------------------------------------------------------------------

cdef tuple operands(object xs):
    cdef EagerRuntime rt = None
    if isinstance(xs, EagerTensor):
        xs = [take_at(<EagerTensor> xs, 0, i) for i in range(len(xs))]
    xs = list(xs)
    for x in xs:
        if isinstance(x, EagerTensor):
            rt = (<EagerTensor> x).rt
            break
    if rt is None:
        rt = ambient_runtime()
    return tuple([as_operand(x, rt) for x in xs])


cdef int differ(EagerTensor x, EagerTensor first, int i, str op) except -1:
    rule = "must be equal" if op == "stack" else "may differ along the axis only"
    shape, other = shape_tuple(first.v.meta), shape_tuple(x.v.meta)
    raise ShapeMismatchError(f"{op}: input {i} has shape {other}, input 0 {shape}; they {rule}", op=op,
                             argument="arrays", expected=shape, actual=other)


cdef int common_dtype(tuple xs) noexcept:
    """NumPy's: inexact dtypes first, so that small integers do not widen one another before they meet them."""
    cdef EagerTensor x
    cdef int dtype = -1, t
    cdef bint inexact
    for inexact in (True, False):
        for x in xs:
            t = x.v.meta.dtype
            if is_inexact(t) == inexact:
                dtype = t if dtype < 0 else promote[dtype][t]
    return dtype


cdef int check_inputs(tuple xs, int axis, bint stacked, bint *rows) except -1:
    """Shapes agree; the result is row-major if all that have an order are. Returns the dtype of the result."""
    cdef EagerTensor first = <EagerTensor> xs[0], x
    cdef int i, k
    rows[0] = True
    for i in range(len(xs)):
        x = <EagerTensor> xs[i]
        if x.v.meta.rank != first.v.meta.rank:
            differ(x, first, i, "stack" if stacked else "concatenate")
        for k in range(x.v.meta.rank):
            if x.v.meta.dims[k] != first.v.meta.dims[k] and (stacked or k != axis):
                differ(x, first, i, "stack" if stacked else "concatenate")
        if x.v.meta.rank >= 2 and not row_major(x.v.meta):
            rows[0] = False
    return common_dtype(xs)


cdef EagerTensor join(tuple xs, int axis, bint stacked):
    cdef EagerTensor first = <EagerTensor> xs[0], x
    cdef Py_ssize_t shape[65]
    cdef Py_ssize_t n = len(xs), i
    cdef int k, rank = first.v.meta.rank + stacked, dtype
    cdef bint rows
    cdef Meta *out
    cdef Params *p
    dtype = check_inputs(xs, axis, stacked, &rows)
    if n > 255:                 # more than one operation takes
        xs = tuple([join(xs[i:min(i + 255, n)], axis, stacked) for i in range(0, n, 255)])
        return join(xs, axis, False)
    for k in range(rank):
        shape[k] = first.v.meta.dims[k - 1 if stacked and k > axis else k] if not (stacked and k == axis) else n
    if not stacked:
        shape[axis] = 0
        for x in xs:
            shape[axis] += x.v.meta.dims[axis]
    out = meta_compact(dtype, rank, shape, rows)
    p = params_new(n + 3)
    p.v[0] = axis
    p.v[1] = stacked
    p.v[2] = 0
    for i in range(n):
        x = <EagerTensor> xs[i]
        p.v[3 + i] = p.v[2 + i] + (1 if stacked else x.v.meta.dims[axis])
    return emit_n(Op.CONCATENATE, xs, p, out)


cdef tuple some(object arrays, str op):
    cdef tuple xs = operands(arrays)
    if not xs:
        raise ValidationError(f"{op}: there is nothing to join; give at least one tensor", op=op, argument="arrays")
    return xs


def concatenate(arrays, axis=0):
    """Join tensors along an axis that they have.

    Parameters
    ----------
    arrays : sequence of array_like
        Equal shapes except along the axis; dtypes are promoted.
    axis : int or None
        None joins the flattened tensors.

    Returns
    -------
    EagerTensor

    Raises
    ------
    AxisError
        The axis is out of range.
    ShapeMismatchError
        The other axes differ.
    ValidationError
        Nothing is given.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.concatenate([[1.0, 2.0], [3.0]])
    EagerTensor([1., 2., 3.], dtype=float64)
    """
    cdef tuple xs = some(arrays, "concatenate")
    cdef EagerTensor x
    if axis is None:
        xs = tuple([reshape_dims(x, 1, &x.v.meta.size, False) for x in xs])
        axis = 0
    return join(xs, axis_of(axis, (<EagerTensor> xs[0]).v.meta.rank), False)


def stack(arrays, axis=0):
    """Join tensors of equal shape along a new axis.

    Parameters
    ----------
    arrays : sequence of array_like
        Dtypes are promoted.
    axis : int
        Place of the new axis in the result.

    Returns
    -------
    EagerTensor

    Raises
    ------
    AxisError
        The axis is out of range.
    ShapeMismatchError
        The shapes differ.
    ValidationError
        Nothing is given.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.stack([[1.0, 2.0], [3.0, 4.0]], axis=1)
    EagerTensor([[1., 3.],
                 [2., 4.]], dtype=float64)
    """
    cdef tuple xs = some(arrays, "stack")
    return join(xs, axis_of(axis, (<EagerTensor> xs[0]).v.meta.rank + 1), True)


# ---- padding ---------------------------------------------------------------------------------------------------------

cdef EagerTensor pad_with(EagerTensor x, EagerTensor value, const Py_ssize_t *widths):
    cdef Py_ssize_t shape[64]
    cdef Meta *out
    cdef Params *p
    cdef int i, r = x.v.meta.rank
    for i in range(r):
        shape[i] = x.v.meta.dims[i] + widths[2 * i] + widths[2 * i + 1]
        if shape[i] < 0:
            shape[i] = (<Py_ssize_t> 1 << 62) - 1       # reported as an overflow
    out = meta_compact(x.v.meta.dtype, r, shape, row_major(x.v.meta))
    p = params_new(2 * r)
    for i in range(2 * r):
        p.v[i] = widths[i]
    return emit2(Op.PAD, x, value, p, out)


cdef object pad_widths(object pad_width, int rank):
    """(before, after) for each axis, as NumPy's broadcasting of the argument gives them."""
    if isinstance(pad_width, dict):
        table = np.zeros((rank, 2), np.int64)
        for axis, pair in pad_width.items():
            table[axis_of(axis, rank)] = pair
        pad_width = table
    widths = np.asarray(pad_width)
    try:
        widths = np.broadcast_to(widths, (rank, 2))
    except ValueError:
        raise ShapeMismatchError(f"pad: pad_width has shape {widths.shape}; give (before, after) for each of the "
                                 f"{rank} axes", op="pad", argument="pad_width", expected=(rank, 2),
                                 actual=widths.shape) from None
    if widths.dtype.kind not in "iu" and widths.size:
        raise DTypeMismatchError(f"pad: pad_width is {widths.dtype}, not an integer", op="pad", argument="pad_width",
                                 expected="an integer dtype", actual=widths.dtype)
    if widths.size and widths.min() < 0:
        raise ValidationError("pad: a width is negative; slice the tensor instead", op="pad", argument="pad_width")
    return widths.tolist()


cdef EagerTensor as_fill(object value, EagerTensor x):
    cdef EagerTensor v = as_operand(value, x.rt)
    if is_complex(v.v.meta.dtype) and not is_complex(x.v.meta.dtype):
        raise DTypeMismatchError(f"pad: a complex constant does not fit {x.dtype}; convert the tensor with astype()",
                                 op="pad", argument="constant_values", expected=x.dtype, actual=v.dtype)
    return v


cdef EagerTensor pad_constant(EagerTensor x, list widths, object values):
    cdef EagerTensor v = as_fill(values, x)
    cdef Py_ssize_t table[128]
    cdef Py_ssize_t shape[2]
    cdef int i, k, r = x.v.meta.rank
    for i in range(2 * r):
        table[i] = widths[i // 2][i % 2]
    if v.v.meta.rank == 0:
        return pad_with(x, v, table)
    shape[0] = r
    shape[1] = 2
    if v.v.meta.rank > 2 or (v.v.meta.dims[v.v.meta.rank - 1] not in (1, 2)) or (
            v.v.meta.rank == 2 and v.v.meta.dims[0] != 1 and v.v.meta.dims[0] != r):
        raise ShapeMismatchError(f"pad: constant_values has shape {shape_tuple(v.v.meta)}; give one number, or "
                                 f"(before, after) for each of the {r} axes", op="pad", argument="constant_values",
                                 expected=(r, 2), actual=shape_tuple(v.v.meta))
    v = broadcast_dims(v, 2, shape)
    for k in range(2 * r):
        table[k] = 0
    for k in range(2 * r):      # later axes own the corners
        table[k] = widths[k // 2][k % 2]
        if table[k]:
            x = pad_with(x, take_at(take_at(v, 0, k // 2), 0, k % 2), table)
        table[k] = 0
    return x


def pad(x, pad_width, mode="constant", constant_values=0):
    """Pad the ends of every axis.

    Parameters
    ----------
    x : array_like
    pad_width : int, (before, after), sequence of pairs, or dict from axis to pair
        Number of elements to add at the ends of every axis.
    mode : {"constant", "edge", "reflect", "symmetric", "wrap"}
        As NumPy's.
    constant_values : array_like
        One number, or (before, after) for each axis; may be tracked.

    Returns
    -------
    EagerTensor
        x's dtype, in fresh memory.

    Raises
    ------
    ValidationError
        A negative width, an unknown mode, or a mode that has nothing to repeat.
    ShapeMismatchError, DTypeMismatchError
        Malformed widths or constants.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.pad([1.0, 2.0], (1, 2), constant_values=9.0)
    EagerTensor([9., 1., 2., 9., 9.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef list widths = pad_widths(pad_width, t.v.meta.rank)
    if mode == "constant":
        return pad_constant(t, widths, constant_values)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise ValidationError(f"pad: mode {mode!r} is not supported; use constant, edge, reflect, symmetric or wrap",
                              op="pad", argument="mode")
    from .index import take
    y = t
    for axis, pair in enumerate(widths):
        if pair == [0, 0]:
            continue
        if t.v.meta.dims[axis] == 0:
            raise ValidationError(f"pad: axis {axis} is empty, mode {mode!r} has nothing to repeat; use "
                                  "mode='constant'", op="pad", argument="mode")
        y = take(y, np.pad(np.arange(t.v.meta.dims[axis]), pair, mode=mode), axis=axis)
    return y


# ---- triangles and diagonals -----------------------------------------------------------------------------------------

cdef EagerTensor triangle_of(int op, EagerTensor x, Py_ssize_t k):
    cdef Meta *out = meta_compact(x.v.meta.dtype, x.v.meta.rank, x.v.meta.dims, row_major(x.v.meta))
    cdef Params *p = params_new(1)
    p.v[0] = k
    return emit1(op, x, p, out)


cdef EagerTensor matrix(object x, str op):
    cdef EagerTensor t = as_eager(x)
    if t.v.meta.rank < 2:
        raise AxisError(f"{op} is defined for tensors with at least 2 axes, not {t.v.meta.rank}", op=op, argument="x",
                        expected=2, actual=t.v.meta.rank)
    return t


def tril(x, k=0):
    """Lower triangle of the matrices in the last two axes: zero above the k-th diagonal.

    Parameters
    ----------
    x : array_like, at least two axes
    k : int
        Number of the diagonal: 0 is the main one, positive ones lie to the right of it.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype and shape.

    Raises
    ------
    AxisError
        Fewer than two axes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.tril([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor([[1., 0.],
                 [3., 4.]], dtype=float64)
    """
    return triangle_of(Op.TRIL, matrix(x, "tril"), size_of(k, "k"))


def triu(x, k=0):
    """Upper triangle of the matrices in the last two axes: zero below the k-th diagonal.

    Parameters
    ----------
    x : array_like, at least two axes
    k : int
        Number of the diagonal: 0 is the main one, positive ones lie to the right of it.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype and shape.

    Raises
    ------
    AxisError
        Fewer than two axes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.triu([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor([[1., 2.],
                 [0., 4.]], dtype=float64)
    """
    return triangle_of(Op.TRIU, matrix(x, "triu"), size_of(k, "k"))


cdef EagerTensor embed_into(EagerTensor g, Py_ssize_t offset, int axis1, int axis2, const Py_ssize_t *shape, bint rows):
    cdef Meta *out = meta_compact(g.v.meta.dtype, g.v.meta.rank + 1, shape, rows)
    cdef Params *p = params_new(3)
    p.v[0] = offset
    p.v[1] = axis1
    p.v[2] = axis2
    return emit1(Op.EMBED_DIAG, g, p, out)


def embed_diag(x, offset=0, axis1=-2, axis2=-1):
    """Tensor whose diagonals over two axes are the vectors in x's last axis; zero elsewhere.

    Parameters
    ----------
    x : array_like, at least one axis
    offset : int
        0 is the main diagonal, positive ones lie to the right of it.
    axis1, axis2 : int
        The two axes in the result, of length ``x.shape[-1] + abs(offset)``.

    Returns
    -------
    EagerTensor

    Raises
    ------
    AxisError
        An axis out of range, equal axes, or no axis in x.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.embed_diag([1.0, 2.0])
    EagerTensor([[1., 0.],
                 [0., 2.]], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef Py_ssize_t shape[65]
    cdef Py_ssize_t d = size_of(offset, "offset")
    cdef int i, k = 0, r = t.v.meta.rank + 1, a, b
    if r == 1:
        raise AxisError("embed_diag is defined for tensors with at least one axis", op="embed_diag", argument="x",
                        expected=1, actual=0)
    a = axis_of(axis1, r)
    b = axis_of(axis2, r)
    if a == b:
        raise AxisError(f"embed_diag: axis1 and axis2 are both {a}; name two axes", op="embed_diag", argument="axis2",
                        expected=r, actual=(axis1, axis2))
    for i in range(r):
        if i == a or i == b:
            shape[i] = t.v.meta.dims[r - 2] + (-d if d < 0 else d)
        else:
            shape[i] = t.v.meta.dims[k]
            k += 1
    return embed_into(t, d, a, b, shape, row_major(t.v.meta))
