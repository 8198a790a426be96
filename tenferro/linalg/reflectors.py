"""Products of Householder reflectors and their rules."""

import numpy as np

import tenferro as tfr

from ..errors import ShapeMismatchError
from .common import adj, call, eye, matrix, mm, plus, rows
from .solving import tsolve

# Q = E - V X with (I + D N) X = D V1.H: D = diag(tau), N the strict upper triangle of V.H V, E the first columns of the
# identity and V1 the rows of V that these select. Its derivative takes the same triangular system.


def householder_product(A, tau):
    """First N columns of the product of Householder reflectors, ``H[0] @ H[1] @ ...``: LAPACK's ``orgqr``, ``ungqr``.

    ``H[i] = I - tau[i] * outer(v, conj(v))``, where ``v`` is zero before element i, one there, and ``A[i + 1:, i]``
    after it. Nothing else of `A` is read. Differentiable for any `tau`, also where H is not unitary.

    Parameters
    ----------
    A : array_like, shape (..., M, N)
        N is at most M.
    tau : array_like, shape (..., K)
        K is at most N. The leading axes of the two broadcast.

    Returns
    -------
    EagerTensor, shape (..., M, N)

    Raises
    ------
    ValidationError
        Shapes that do not fit, or elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.householder_product([[1.0], [1.0]], [1.0])
    EagerTensor([[ 0.],
                 [-1.]], dtype=float64)
    """
    op = "householder_product"
    a, tau = matrix(A, op, "A", like=tau), matrix(tau, op, "tau", 1, like=A)
    m, n = a.shape[-2:]
    if n > m:
        raise ShapeMismatchError(f"{op}: A has shape {a.shape}; it needs at least as many rows as columns", op=op,
                                 argument="A", expected="(..., M, N), M >= N", actual=a.shape)
    if tau.shape[-1] > n:
        raise ShapeMismatchError(f"{op}: {tau.shape[-1]} factors tau, but A has {n} columns", op=op, argument="tau",
                                 expected=n, actual=tau.shape[-1])
    try:
        batch = np.broadcast_shapes(a.shape[:-2], tau.shape[:-1])
    except ValueError:
        raise ShapeMismatchError(f"{op}: the stacks {a.shape[:-2]} of A and {tau.shape[:-1]} of tau do not broadcast",
                                 op=op, argument="tau", expected=a.shape[:-2], actual=tau.shape[:-1]) from None
    dtype = np.result_type(a.dtype, tau.dtype)
    a, tau = tfr.broadcast_to(a, (*batch, m, n)), tfr.broadcast_to(tau, (*batch, tau.shape[-1]))
    return call(op, *(x if x.dtype == dtype else tfr.cast(x, dtype) for x in (a, tau)))


def system(a, tau):
    """V, diag(tau) N, N, X."""
    (m, n), k = a.shape[-2:], tau.shape[-1]
    v = tfr.tril(a[..., :k], -1) + eye(m, a.dtype)[:, :k]
    upper = tfr.triu(mm(adj(v), v), 1)
    scaled = rows(tau) * upper
    x = tsolve(unit(scaled), rows(tau) * adj(v[..., :n, :]), False, unit=True)
    return v, scaled, upper, x


def unit(x):
    return x + eye(x.shape[-1], x.dtype)


def householder_product_jvp(tangents, out, a, tau):
    (n, k), (ta, tt) = (a.shape[-1], tau.shape[-1]), tangents
    v, scaled, upper, x = system(a, tau)
    right, first = None, None
    if tt is not None:
        right = rows(tt) * (adj(v[..., :n, :]) - mm(upper, x))
    if ta is not None:
        dv = tfr.tril(ta[..., :k], -1)
        change = mm(adj(dv), v)
        right = plus(right, rows(tau) * (adj(dv[..., :n, :]) - mm(tfr.triu(change + adj(change), 1), x)))
        first = -mm(dv, x)
    return None if right is None else plus(first, -mm(v, tsolve(unit(scaled), right, False, unit=True)))


def householder_product_vjp(g, out, a, tau):
    m, n = a.shape[-2:]
    v, scaled, upper, x = system(a, tau)
    z = tsolve(unit(scaled), -mm(adj(v), g), False, "C", True)
    y = rows(tfr.conj(tau)) * z
    change = -tfr.triu(mm(y, adj(x)), 1)
    gv = -mm(g, adj(x)) + mm(v, change + adj(change))
    gv = tfr.tril(gv + padded(adj(y), m, -2), -1)
    return padded(gv, n, -1), tfr.sum(z * tfr.conj(adj(v[..., :n, :]) - mm(upper, x)), axis=-1)


def padded(x, size, axis):
    """Zeros after the elements of one of the last two axes."""
    if x.shape[axis] == size:
        return x
    shape = list(x.shape)
    shape[axis] = size - x.shape[axis]
    return tfr.concatenate([x, tfr.zeros(tuple(shape), x.dtype)], axis=axis)


RULES = {"householder_product": (householder_product_vjp, householder_product_jvp)}
