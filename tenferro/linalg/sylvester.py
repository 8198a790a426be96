"""Sylvester equations and the square root of general matrices, whose derivatives are solutions of such equations."""

import numpy as np

import tenferro as tfr

from ..errors import ShapeMismatchError
from .common import adj, call, matrix, mm, plus
from .solvers import with_dtype


def solve_sylvester(a, b, q):
    """Solution x of the Sylvester equation ``a @ x + x @ b = q``. Derivatives are solutions of such equations, too.

    Parameters
    ----------
    a : array_like, shape (..., M, M)
    b : array_like, shape (..., N, N)
    q : array_like, shape (..., M, N)

    Returns
    -------
    EagerTensor, shape (..., M, N)

    Raises
    ------
    LinAlgError
        `a` and ``-b`` have eigenvalues in common.
    ValidationError
        Shapes that do not fit, or elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.solve_sylvester([[2.0]], [[3.0]], [[10.0]])
    EagerTensor([[2.]], dtype=float64)
    """
    op = "solve_sylvester"
    like = next((x for x in (a, b, q) if hasattr(x, "runtime")), None)
    a = matrix(a, op, square=True, like=like)
    b, q = matrix(b, op, "b", square=True, like=a), matrix(q, op, "q", like=a)
    want = (a.shape[-1], b.shape[-1])
    if q.shape[-2:] != want:
        raise ShapeMismatchError(f"{op}: q has shape {q.shape}; (..., {want[0]}, {want[1]}) is needed for these a and b",
                                 op=op, argument="q", expected=want, actual=q.shape)
    try:
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in (a, b, q)))
    except ValueError:
        raise ShapeMismatchError(f"{op}: the stacks {a.shape[:-2]} of a, {b.shape[:-2]} of b and {q.shape[:-2]} of q do "
                                 "not broadcast", op=op, argument="q") from None
    dtype = np.result_type(a.dtype, b.dtype, q.dtype)
    a, b, q = (with_dtype(x, dtype) for x in (a, b, q))
    q = q if q.shape[:-2] == batch else tfr.broadcast_to(q, (*batch, *want))
    return call("sylvester", a, b, q)


def sylvester_vjp(g, x, a, b, q, op="solve_sylvester"):
    w, xh = call("sylvester", adj(a), adj(b), g, op=op), adj(x)
    return -mm(w, xh), -mm(xh, w), w


def sylvester_jvp(tangents, x, a, b, q, op="solve_sylvester"):
    ta, tb, tq = tangents
    right = plus(tq, plus(None if ta is None else -mm(ta, x), None if tb is None else -mm(x, tb)))
    return None if right is None else call("sylvester", a, b, right, op=op)


def sqrtm(a):
    """Principal square root of matrices. Its derivatives solve Sylvester equations, also where eigenvalues coincide.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
        The root has the dtype of `a`: a real matrix with negative eigenvalues has to be cast to a complex dtype.

    Returns
    -------
    EagerTensor, shape (..., N, N)

    Raises
    ------
    NumericalError
        A real matrix has negative eigenvalues.
    LinAlgError
        A singular matrix has no square root, or is differentiated.
    ValidationError
        Not square, or not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]])
    EagerTensor([[2., 0.],
                 [0., 3.]], dtype=float64)
    """
    return call("sqrtm", matrix(a, "sqrtm", square=True))


DERIVATIVE = "sqrtm (derivative)"


def sqrtm_vjp(g, y, a):
    yh = adj(y)
    return call("sylvester", yh, yh, g, op=DERIVATIVE)


def sqrtm_jvp(tangents, y, a):
    return call("sylvester", y, y, tangents[0], op=DERIVATIVE)


RULES = {"sylvester": (sylvester_vjp, sylvester_jvp), "sqrtm": (sqrtm_vjp, sqrtm_jvp)}
