"""Products that sum over axes of two tensors."""

from tenferro._core.eager cimport apply2, check, hooks
from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from .basic cimport conj
from .labels cimport contract_with, contraction, disagree, in_common, label_params, pair_of
from .structure cimport axis_of, reshape_dims

from tenferro.errors import AxisError, ShapeMismatchError, ValidationError
from .notation import einsum, einsum_path  # no-cython-lint: one namespace for the family

cdef enum:
    BATCH_LABEL = 3         # batch axes of matmul and vecdot, counted from the first of the result
    DETACHED = 128          # added to the label of an axis of length one that is broadcast


# ---- matmul and vecdot -----------------------------------------------------------------------------------------------

cdef int align(str op, EagerTensor x, const int *ax, int nx, EagerTensor y, const int *ay, int ny, Py_ssize_t *lx,
               Py_ssize_t *ly, Py_ssize_t *lo) except -1:
    """Label batch axes that broadcast against each other; returns their number in the result."""
    cdef int i, ix, iy, n = max(nx, ny)
    cdef Py_ssize_t dx, dy
    for i in range(n):
        ix = i - (n - nx)
        iy = i - (n - ny)
        lo[i] = BATCH_LABEL + i
        dx = x.v.meta.dims[ax[ix]] if ix >= 0 else 1
        dy = y.v.meta.dims[ay[iy]] if iy >= 0 else 1
        if dx != dy and dx != 1 and dy != 1:
            disagree(op, x, y, "batch axes are equal or one of them has length 1")
        if ix >= 0:
            lx[ax[ix]] = lo[i] + (DETACHED if dx == 1 and dy != 1 else 0)
        if iy >= 0:
            ly[ay[iy]] = lo[i] + (DETACHED if dy == 1 and dx != 1 else 0)
    return n


cdef Params *short_params[3][3]         # of operands with one or two axes


def _fill_short_params():
    cdef Py_ssize_t lx[2]
    cdef Py_ssize_t ly[2]
    cdef Py_ssize_t lo[2]
    cdef int nx, ny, no
    for nx in range(1, 3):
        for ny in range(1, 3):
            lx[0] = 1
            lx[nx - 1] = 0
            ly[0] = 0
            ly[1] = 2
            no = 0
            if nx == 2:
                lo[0] = 1
                no = 1
            if ny == 2:
                lo[no] = 2
                no += 1
            short_params[nx][ny] = label_params(lx, nx, ly, ny, lo, no)


_fill_short_params()


cdef EagerTensor matmul_(EagerTensor x, EagerTensor y):
    cdef Meta *a
    cdef Meta *b
    cdef int k
    if x.v.meta.dtype != y.v.meta.dtype:
        x, y = in_common(x, y), in_common(y, x)
    a = x.v.meta
    b = y.v.meta
    if a.rank == 0 or b.rank == 0:
        disagree("matmul", x, y, "a scalar has no axis to sum over; use mul")
    k = b.rank - 2 if b.rank > 1 else 0
    if a.dims[a.rank - 1] != b.dims[k]:
        disagree("matmul", x, y, f"axis {a.rank - 1} of the first and axis {k} of the second are summed")
    if a.rank <= 2 and b.rank <= 2:
        return contract_with(x, y, params_ref(short_params[a.rank][b.rank]))
    return matmul_batches(x, y)


cdef EagerTensor matmul_batches(EagerTensor x, EagerTensor y):
    cdef Py_ssize_t lx[64]
    cdef Py_ssize_t ly[64]
    cdef Py_ssize_t lo[66]
    cdef int axes[64]
    cdef int i, no, nx = x.v.meta.rank, ny = y.v.meta.rank
    for i in range(64):
        axes[i] = i
    no = align("matmul", x, axes, max(nx - 2, 0), y, axes, max(ny - 2, 0), lx, ly, lo)
    lx[nx - 1] = 0
    ly[ny - 2 if ny > 1 else 0] = 0
    if nx > 1:
        lx[nx - 2] = lo[no] = 1
        no += 1
    if ny > 1:
        ly[ny - 1] = lo[no] = 2
        no += 1
    return contraction(x, lx, nx, y, ly, ny, lo, no)


def matmul(a, b):
    """Matrix product, batched over leading axes: ``a @ b``.

    Parameters
    ----------
    a, b : array_like
        Shapes ``(..., m, k)`` and ``(..., k, n)``; leading axes broadcast. An operand with one axis is a row (first) or
        a column (second), and its axis is absent from the result. Dtypes are promoted.

    Returns
    -------
    EagerTensor
        Shape ``(..., m, n)``. For bool the product is "and" and the sum "or"; integers wrap around.

    Raises
    ------
    ShapeMismatchError
        The summed axes differ, batch axes do not broadcast, or an operand is a scalar.
    IntegerOverflowError
        A matrix dimension exceeds 2**31 - 1.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.matmul([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])
    EagerTensor([3., 7.], dtype=float64)
    """
    cdef tuple pair
    if type(a) is EagerTensor and type(b) is EagerTensor:
        check(<EagerTensor> a)
        check(<EagerTensor> b)
        return matmul_(<EagerTensor> a, <EagerTensor> b)
    pair = pair_of(a, b)
    return matmul_(<EagerTensor> pair[0], <EagerTensor> pair[1])


cdef object _matmul = matmul
hooks.matmul = <PyObject *> _matmul


def vecdot(a, b, axis=-1):
    """Dot products along one axis, the first operand conjugated; other axes broadcast.

    Parameters
    ----------
    a, b : array_like
        Operands with equal lengths along `axis`.
    axis : int
        Axis of each operand that is summed.

    Returns
    -------
    EagerTensor
        ``sum(conj(a) * b, axis)``.

    Raises
    ------
    ShapeMismatchError
        The lengths along the axis differ, or the other axes do not broadcast.
    AxisError
        The axis is out of range.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.vecdot([1j, 2.0], [1j, 3.0])
    EagerTensor(7.+0.j, dtype=complex128)
    """
    cdef Py_ssize_t lx[64]
    cdef Py_ssize_t ly[64]
    cdef Py_ssize_t lo[64]
    cdef int ax[64]
    cdef int ay[64]
    cdef int i, kx, ky, nx = 0, ny = 0, no
    cdef EagerTensor x, y
    x, y = pair_of(a, b)
    x, y = in_common(conj(x), y), in_common(y, x)
    kx = axis_of(axis, x.v.meta.rank)
    ky = axis_of(axis, y.v.meta.rank)
    if x.v.meta.dims[kx] != y.v.meta.dims[ky]:
        disagree("vecdot", x, y, f"axis {axis} is summed")
    for i in range(x.v.meta.rank):
        if i != kx:
            ax[nx] = i
            nx += 1
    for i in range(y.v.meta.rank):
        if i != ky:
            ay[ny] = i
            ny += 1
    lx[kx] = ly[ky] = 0
    no = align("vecdot", x, ax, nx, y, ay, ny, lx, ly, lo)
    return contraction(x, lx, nx + 1, y, ly, ny + 1, lo, no)


# ---- axes by number --------------------------------------------------------------------------------------------------

cdef int axis_list(object axes, int rank, int *out) except -1:
    """One axis or a sequence of distinct ones; returns their number."""
    cdef int n = 0
    cdef unsigned long long seen = 0
    for axis in (axes if isinstance(axes, (tuple, list)) else (axes,)):
        k = axis_of(axis, rank)
        if (seen >> <int> k) & 1:
            raise AxisError(f"axis {axis} is named twice in {axes}; name each axis once", argument="axes",
                            expected=rank, actual=axes)
        seen |= 1ULL << <int> k
        out[n] = k
        n += 1
    return n


cdef EagerTensor general(str op, EagerTensor x, const int *cx, const int *cy, int nc, EagerTensor y, const int *bx,
                         const int *by, int nb):
    """Contracted and batch axes by number; the result has batch axes, then what is left of x, then of y."""
    cdef Py_ssize_t lx[64]
    cdef Py_ssize_t ly[64]
    cdef Py_ssize_t lo[192]
    cdef int i, no = nb
    x, y = in_common(x, y), in_common(y, x)
    for i in range(x.v.meta.rank):
        lx[i] = 128 + i
    for i in range(y.v.meta.rank):
        ly[i] = 192 + i
    for i in range(nc):
        if x.v.meta.dims[cx[i]] != y.v.meta.dims[cy[i]]:
            disagree(op, x, y, f"axis {cx[i]} of the first and axis {cy[i]} of the second are summed")
        lx[cx[i]] = ly[cy[i]] = i
    for i in range(nb):
        if x.v.meta.dims[bx[i]] != y.v.meta.dims[by[i]]:
            disagree(op, x, y, f"axis {bx[i]} of the first and axis {by[i]} of the second are one batch axis")
        if lx[bx[i]] < 128 or ly[by[i]] < 128:
            raise AxisError(f"{op}: batch axis {i} is also contracted, or named twice", op=op, argument="batch",
                            expected="distinct axes", actual=(bx[i], by[i]))
        lo[i] = lx[bx[i]] = ly[by[i]] = 64 + i
    for i in range(x.v.meta.rank):
        if lx[i] >= 128:
            lo[no] = lx[i]
            no += 1
    for i in range(y.v.meta.rank):
        if ly[i] >= 192:
            lo[no] = ly[i]
            no += 1
    return contraction(x, lx, x.v.meta.rank, y, ly, y.v.meta.rank, lo, no)


cdef int axis_pairs(str op, object pair, str argument, EagerTensor x, EagerTensor y, int *ax, int *ay) except -1:
    """``(axes of the first, axes of the second)``; returns how many there are."""
    cdef int n, m
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValidationError(f"{op}: {argument} is a pair (axes of the first, axes of the second), not {pair!r}",
                              op=op, argument=argument)
    n = axis_list(pair[0], x.v.meta.rank, ax)
    m = axis_list(pair[1], y.v.meta.rank, ay)
    if m != n:
        raise ShapeMismatchError(f"{op}: {argument} names {n} axes of the first and {m} of the second operand; name as "
                                 "many of each", op=op, argument=argument, expected=pair[0], actual=pair[1])
    return n


def dot_general(a, b, contracting, batch=((), ())):
    """Contraction with explicit batch axes.

    Parameters
    ----------
    a, b : array_like
    contracting : pair of sequences of int
        Axes of `a` and of `b` that are summed together.
    batch : pair of sequences of int
        Axes of `a` and of `b` that run together.

    Returns
    -------
    EagerTensor
        Batch axes in the order named, the other axes of `a`, the other axes of `b`.

    Raises
    ------
    ShapeMismatchError
        Axes that are summed or run together differ in length.
    AxisError
        An axis is out of range or named twice.
    ValidationError
        The axes named for the two operands differ in number.
    IntegerOverflowError
        A matrix dimension exceeds 2**31 - 1.

    Examples
    --------
    >>> import tenferro as tfr
    >>> a, b = tfr.ones((5, 2, 3)), tfr.ones((3, 5))
    >>> tfr.dot_general(a, b, ([2], [0]), ([0], [1])).shape
    (5, 2)
    """
    cdef int cx[64]
    cdef int cy[64]
    cdef int bx[64]
    cdef int by[64]
    cdef EagerTensor x, y
    x, y = pair_of(a, b)
    nc = axis_pairs("dot_general", contracting, "contracting", x, y, cx, cy)
    nb = axis_pairs("dot_general", batch, "batch", x, y, bx, by)
    return general("dot_general", x, cx, cy, nc, y, bx, by, nb)


def tensordot(a, b, axes=2):
    """Sum over pairs of axes.

    Parameters
    ----------
    a, b : array_like
        Dtypes are promoted.
    axes : int or pair of (int or sequence of int)
        That many last axes of `a` and first axes of `b`, or the axes of each.

    Returns
    -------
    EagerTensor
        The other axes of `a`, then those of `b`.

    Raises
    ------
    ShapeMismatchError
        Axes that are summed or run together differ in length.
    AxisError
        An axis is out of range or named twice.
    ValidationError
        The axes named for the two operands differ in number.
    IntegerOverflowError
        A matrix dimension exceeds 2**31 - 1.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.tensordot(tfr.ones((2, 3, 4)), tfr.ones((4, 3)), axes=([2, 1], [0, 1]))
    EagerTensor([12., 12.], dtype=float64)
    """
    cdef int cx[64]
    cdef int cy[64]
    cdef int i, n
    cdef EagerTensor x, y
    x, y = pair_of(a, b)
    if isinstance(axes, int):
        n = min(x.v.meta.rank, y.v.meta.rank)
        if not 0 <= axes <= n:
            raise AxisError(f"tensordot: axes={axes} for operands with {x.v.meta.rank} and {y.v.meta.rank} axes; use "
                            "at most as many as both have", op="tensordot", argument="axes", expected=n,
                            actual=axes)
        n = axes
        for i in range(n):
            cx[i] = x.v.meta.rank - n + i
            cy[i] = i
    else:
        n = axis_pairs("tensordot", axes, "axes", x, y, cx, cy)
    return general("tensordot", x, cx, cy, n, y, NULL, NULL, 0)


cdef EagerTensor over_one_axis(str op, object a, object b, int from_end):
    """Sum over the last axis of the first operand and one axis of the second; a scalar multiplies."""
    cdef int cx, cy
    cdef EagerTensor x, y
    x, y = pair_of(a, b)
    if x.v.meta.rank == 0 or y.v.meta.rank == 0:
        return apply2(Op.MUL, x, y)
    cx = x.v.meta.rank - 1
    cy = max(y.v.meta.rank - from_end, 0)
    return general(op, x, &cx, &cy, 1, y, NULL, NULL, 0)


def dot(a, b):
    """Sum over the last axis of `a` and the last but one (or only) axis of `b`; a scalar multiplies.

    Parameters
    ----------
    a, b : array_like
        Dtypes are promoted.

    Returns
    -------
    EagerTensor
        The other axes of `a`, then those of `b`.

    Raises
    ------
    ShapeMismatchError
        The summed axes differ in length.
    IntegerOverflowError
        A matrix dimension exceeds 2**31 - 1.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.dot([1.0, 2.0], [3.0, 4.0])
    EagerTensor(11., dtype=float64)
    """
    return over_one_axis("dot", a, b, 2)


def inner(a, b):
    """Sum over the last axes of `a` and `b`; a scalar multiplies.

    Parameters
    ----------
    a, b : array_like
        Dtypes are promoted.

    Returns
    -------
    EagerTensor
        The other axes of `a`, then those of `b`.

    Raises
    ------
    ShapeMismatchError
        The summed axes differ in length.
    IntegerOverflowError
        A matrix dimension exceeds 2**31 - 1.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.inner([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0])
    EagerTensor([21., 43.], dtype=float64)
    """
    return over_one_axis("inner", a, b, 1)


cdef EagerTensor flat(EagerTensor x):
    return x if x.v.meta.rank == 1 else reshape_dims(x, 1, &x.v.meta.size, False)


def outer(a, b):
    """All products of an element of `a` and an element of `b`, both flattened in row-major order.

    Parameters
    ----------
    a, b : array_like
        Dtypes are promoted.

    Returns
    -------
    EagerTensor
        Shape ``(a.size, b.size)``.

    Raises
    ------
    DTypeMismatchError
        A dtype is not supported.
    IntegerOverflowError
        The size of the result is too large.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.outer([1.0, 2.0], [3.0, 4.0])
    EagerTensor([[3., 4.],
                 [6., 8.]], dtype=float64)
    """
    x, y = pair_of(a, b)
    return general("outer", flat(<EagerTensor> x), NULL, NULL, 0, flat(<EagerTensor> y), NULL, NULL, 0)
