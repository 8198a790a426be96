"""Products, traces and systems with several axes: the array API standard's and NumPy's, made of recorded operations."""

from itertools import pairwise
from math import prod
from operator import index

import numpy as np

import tenferro as tfr

from ..errors import AxisError, ShapeMismatchError, ValidationError
from .common import call, eye, matrix, ndim, value
from .decompositions import singular_values
from .functions import matrix_norm
from .host import matrices
from .solvers import system, triangular_solve
from .solving import factored, lu_solve


def diagonal(x, /, *, offset=0):
    """Diagonals of matrices in the last two axes; a view.

    Parameters
    ----------
    x : array_like, shape (..., M, N)
    offset : int
        0 is the main diagonal, positive ones lie to the right of it.

    Returns
    -------
    EagerTensor, shape (..., K)

    Raises
    ------
    AxisError
        Fewer than two axes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.diagonal([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor([1., 4.], dtype=float64)
    """
    return diagonals("diagonal", x, offset)


def trace(x, /, *, offset=0, dtype=None):
    """Sums along the diagonals of matrices in the last two axes.

    Parameters
    ----------
    x : array_like, shape (..., M, N)
    offset : int
        0 is the main diagonal, positive ones lie to the right of it.
    dtype : dtype, optional
        Of the sum and the result. By default that of `x`, int64 or uint64 for bool and smaller integers.

    Returns
    -------
    EagerTensor, shape (...)

    Raises
    ------
    AxisError
        Fewer than two axes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.trace([[1.0, 2.0], [3.0, 4.0]])
    EagerTensor(5., dtype=float64)
    """
    return tfr.sum(diagonals("trace", x, offset), axis=-1, dtype=dtype)


def diagonals(op, x, offset):
    if ndim(x) < 2:
        raise AxisError(f"{op}: x has {ndim(x)} axes; a matrix has two", op=op, argument="x", expected=2,
                        actual=ndim(x))
    return tfr.extract_diag(x, offset=offset, axis1=-2, axis2=-1)


def outer(x1, x2, /):
    """All products of elements of two vectors.

    Parameters
    ----------
    x1, x2 : array_like, shapes (M,) and (N,)

    Returns
    -------
    EagerTensor, shape (M, N)

    Raises
    ------
    ShapeMismatchError
        An operand is no vector.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.outer([1.0, 2.0], [3.0, 4.0])
    EagerTensor([[3., 4.],
                 [6., 8.]], dtype=float64)
    """
    for name, x in (("x1", x1), ("x2", x2)):
        if ndim(x) != 1:
            raise ShapeMismatchError(f"outer: {name} has {ndim(x)} axes, a vector has one; tenferro.outer flattens",
                                     op="outer", argument=name, expected=1, actual=ndim(x))
    return tfr.outer(x1, x2)


def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
    """`triangular_solve` with SciPy's signature.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
    b : array_like, shape (N,) or (..., N, K)
    trans : {0, 1, 2, "N", "T", "C"}
        Solve with `a`, its transpose, or its adjoint.
    lower, unit_diagonal : bool
    overwrite_b, check_finite : bool
        Without effect: input is never overwritten, and always checked.

    Returns
    -------
    EagerTensor, shape (..., N) or (..., N, K)

    Raises
    ------
    LinAlgError
        A diagonal element is zero.
    ValidationError
        Shapes that do not fit, an unknown `trans`, or elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.solve_triangular([[2.0, 0.0], [1.0, 4.0]], [2.0, 9.0], lower=True)
    EagerTensor([1., 2.], dtype=float64)
    """
    return triangular_solve(a, b, lower=lower, trans=trans, unit_diagonal=unit_diagonal)


def cond(x, p=None):
    """Condition numbers, ``norm(x, p) * norm(inv(x), p)``: infinite for singular matrices.

    Parameters
    ----------
    x : array_like, shape (..., M, N)
        Square unless `p` is None, 2 or -2.
    p : {None, 2, -2, "fro", "nuc", 1, -1, inf, -inf}
        Norm, as in `matrix_norm`. None and 2 give the ratio of the largest singular value to the smallest, -2 its
        inverse.

    Returns
    -------
    EagerTensor, shape (...)

    Raises
    ------
    ValidationError
        No elements, not square, another `p`, or elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.cond([[2.0, 0.0], [0.0, 8.0]])
    EagerTensor(4., dtype=float64)
    """
    x = matrix(x, "cond", "x", square=p not in (None, 2, -2))
    if 0 in x.shape[-2:]:
        raise ShapeMismatchError(f"cond: x has shape {x.shape}; a matrix without elements has no condition number",
                                 op="cond", argument="x", expected="(..., M, N), M and N > 0", actual=x.shape)
    matrices("cond", value(x), "x")
    if p in (None, 2, -2):
        s = singular_values(x, "cond")
        return ratio(s[..., -1], s[..., 0]) if p == -2 else ratio(s[..., 0], s[..., -1])
    if p not in ("fro", "nuc", 1, -1, np.inf, -np.inf):
        raise ValidationError(f"cond: p={p!r} is not a norm of matrices; use None, 'fro', 'nuc', 1, -1, 2, -2, inf or "
                              "-inf", op="cond", argument="p")
    lu, _ = call("lu_factor", x.detach(), op="cond", check=False)
    singular = (np.diagonal(value(lu), axis1=-2, axis2=-1) == 0).any(-1).reshape(x.shape[:-2])
    if not singular.any():
        return matrix_norm(x, ord=p) * matrix_norm(call("inv", x, op="cond"), ord=p)
    x = tfr.where(singular[..., None, None], np.eye(x.shape[-1], dtype=x.dtype), x)
    return tfr.where(singular, np.inf, matrix_norm(x, ord=p) * matrix_norm(call("inv", x, op="cond"), ord=p))


def ratio(a, b):
    """a/b, infinite where b is zero."""
    zero = value(b) == 0
    return tfr.where(zero, np.inf, a / tfr.where(zero, 1, b)) if zero.any() else a / b


def multi_dot(arrays):
    """Product of two or more matrices in the order that takes the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array_like
        Matrices; the first may be a vector (a row), the last one, too (a column).

    Returns
    -------
    EagerTensor
        A matrix; without the axis of a vector that was given.

    Raises
    ------
    ShapeMismatchError
        The matrices do not fit together, or one has another number of axes.
    ValidationError
        Fewer than two matrices.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.multi_dot([[[1.0, 2.0]], [[3.0], [4.0]], [[5.0, 6.0]]])
    EagerTensor([[55., 66.]], dtype=float64)
    """
    arrays = [x if hasattr(x, "ndim") else np.asarray(x) for x in arrays]
    chained(arrays)
    first, last = arrays[0], arrays[-1]
    splits = best_splits([1 if first.ndim == 1 else first.shape[0], *(x.shape[0] for x in arrays[1:]),
                          1 if last.ndim == 1 else last.shape[1]])

    def product(i, j):
        return arrays[i] if i == j else tfr.matmul(product(i, splits[i, j]), product(splits[i, j] + 1, j))

    return product(0, len(arrays) - 1)


def chained(arrays):
    """Refuse matrices that have no product."""
    if len(arrays) < 2:
        raise ValidationError(f"multi_dot: {len(arrays)} matrices; at least two are needed", op="multi_dot",
                              argument="arrays")
    for k, x in enumerate(arrays):
        if x.ndim != 2 and not (x.ndim == 1 and k in (0, len(arrays) - 1)):
            raise ShapeMismatchError(f"multi_dot: arrays[{k}] has {x.ndim} axes; a matrix has two, and only the first "
                                     "and the last may be vectors", op="multi_dot", argument="arrays", expected=2,
                                     actual=x.ndim)
    for k, (x, y) in enumerate(pairwise(arrays)):
        if x.shape[-1] != y.shape[0]:
            raise ShapeMismatchError(f"multi_dot: arrays[{k}] has {x.shape[-1]} columns, but arrays[{k + 1}] has "
                                     f"{y.shape[0]} rows", op="multi_dot", argument="arrays", expected=x.shape[-1],
                                     actual=y.shape[0])


def best_splits(sizes):
    """Where each product of matrices i to j is split (T. H. Cormen et al., Introduction to Algorithms, 15.2)."""
    n = len(sizes) - 1
    cost, splits = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], splits[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))
    return splits


def tensorinv(a, ind=2):
    """Inverse for `tensordot`: ``tensordot(tensorinv(a, ind), a, ind)`` is the identity.

    Parameters
    ----------
    a : array_like
        The first `ind` axes have as many elements as the others.
    ind : int

    Returns
    -------
    EagerTensor, shape ``a.shape[ind:] + a.shape[:ind]``

    Raises
    ------
    LinAlgError
        The tensor is singular.
    ValidationError
        `ind` is not positive, the axes do not fit, or elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.tensorinv(tfr.reshape(tfr.eye(6), (2, 3, 6))).shape
    (6, 2, 3)
    """
    a, ind = matrix(a, "tensorinv", least=0), index(ind)
    if ind <= 0:
        raise ValidationError(f"tensorinv: ind={ind}; it has to be positive", op="tensorinv", argument="ind")
    left, right = a.shape[:ind], a.shape[ind:]
    square = as_square(a, prod(left), prod(right), "tensorinv")
    inverse = lu_solve(square, eye(prod(left), a.dtype), *factored(square, "tensorinv"))
    return tfr.reshape(inverse, (*right, *left))


def as_square(a, rows, columns, op):
    if rows != columns:
        raise ShapeMismatchError(f"{op}: a has shape {a.shape}, of which {rows} by {columns} elements are no square "
                                 "matrix", op=op, argument="a", expected=rows, actual=columns)
    return tfr.reshape(a, (rows, columns))


def moved_last(a, axes):
    """`a` with some axes after the others."""
    if not all(-a.ndim <= k < a.ndim for k in axes):
        raise AxisError(f"tensorsolve: axes={axes}, but a has {a.ndim} axes", op="tensorsolve", argument="axes")
    last = [index(k) % a.ndim for k in axes]
    if len(set(last)) < len(last):
        raise AxisError(f"tensorsolve: axes={axes} names an axis twice", op="tensorsolve", argument="axes")
    return tfr.permute_dims(a, (*(k for k in range(a.ndim) if k not in last), *last))


def tensorsolve(a, b, axes=None):
    """Solution x of ``tensordot(a, x, x.ndim) = b``.

    Parameters
    ----------
    a : array_like
        Its first axes are those of `b`, its others have as many elements.
    b : array_like
    axes : sequence of int, optional
        Axes of `a` that are moved to the end first.

    Returns
    -------
    EagerTensor, shape ``a.shape[b.ndim:]``

    Raises
    ------
    LinAlgError
        The tensor is singular.
    ValidationError
        Shapes that do not fit, or elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.tensorsolve(2.0 * tfr.reshape(tfr.eye(4), (4, 2, 2)), [2.0, 4.0, 6.0, 8.0])
    EagerTensor([[1., 2.],
                 [3., 4.]], dtype=float64)
    """
    a, b = matrix(a, "tensorsolve", least=0, like=b), matrix(b, "tensorsolve", "b", least=0, like=a)
    if axes is not None:
        a = moved_last(a, axes)
    shape = a.shape[b.ndim:]
    if prod(a.shape[:b.ndim]) != prod(b.shape):
        raise ShapeMismatchError(f"tensorsolve: b has shape {b.shape}, but the first axes of a {a.shape[:b.ndim]}",
                                 op="tensorsolve", argument="b", expected=a.shape[:b.ndim], actual=b.shape)
    square = as_square(a, prod(b.shape), prod(shape), "tensorsolve")
    square, column, _ = system(square, tfr.reshape(b, (prod(b.shape),)), "tensorsolve")
    return tfr.reshape(lu_solve(square, column, *factored(square, "tensorsolve")), shape)
