"""Cholesky, LU, QR, singular value and eigenvalue decompositions."""

from typing import NamedTuple

import tenferro as tfr

from .._core.eager import EagerTensor
from ..errors import ValidationError
from .common import adj, call, matrix


class LUResult(NamedTuple):
    """Permutation P (or its indices), factors L and U."""

    P: EagerTensor
    L: EagerTensor
    U: EagerTensor


class QRResult(NamedTuple):
    """Factors Q and R."""

    Q: EagerTensor
    R: EagerTensor


class SVDResult(NamedTuple):
    """Left singular vectors, singular values, adjoint right singular vectors."""

    U: EagerTensor
    S: EagerTensor
    Vh: EagerTensor


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: EagerTensor
    eigenvectors: EagerTensor


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: EagerTensor
    eigenvectors: EagerTensor


def cholesky(a, *, upper=False):
    """Cholesky factor L of Hermitian, positive definite matrices, ``a = L @ L.H``.

    The derivative is that of the Hermitian part of `a`.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
    upper : bool
        Return the adjoint of L.

    Returns
    -------
    EagerTensor, shape (..., N, N)

    Raises
    ------
    LinAlgError
        Not positive definite.
    ValidationError
        Not square, not Hermitian, or not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    EagerTensor([[2., 0.],
                 [1., 2.]], dtype=float64)
    """
    low = call("cholesky", matrix(a, "cholesky", square=True))
    return adj(low) if upper else low


def lu(a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    """Factors of Gaussian elimination with partial pivoting, ``a = P @ L @ U``, with SciPy's signature.

    P does not change with `a` as long as no pivot does: it is a constant, through which nothing is differentiated. L and
    U are differentiable where the first ``min(M, N)`` pivots are not zero, for ``M <= N`` also where the last one is;
    elsewhere the result is finite, but means nothing.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
    permute_l : bool
        Return ``P @ L`` and U alone.
    overwrite_a, check_finite : bool
        Without effect: input is never overwritten, and always checked.
    p_indices : bool
        Return for P the integers (..., M) with ``a = L[P] @ U``.

    Returns
    -------
    LUResult
        ``P`` (..., M, M), real; ``L`` (..., M, K), with ones on the diagonal; ``U`` (..., K, N), K = min(M, N). With
        `permute_l`, a pair.

    Raises
    ------
    ValidationError
        Elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> p, l, u = tfr.linalg.lu([[1.0, 2.0], [4.0, 5.0]])
    >>> u
    EagerTensor([[4.  , 5.  ],
                 [0.  , 0.75]], dtype=float64)
    """
    a = matrix(a, "lu")
    p, low, up = call("lu", a)
    p = p.detach()
    if permute_l:
        return tfr.take_along_axis(low, tfr.expand_dims(p, -1), axis=-2), up
    if not p_indices:
        p = call("permutation", p, single=a.dtype.char in "fF")
    return LUResult(p, low, up)


def qr(a, mode="reduced"):
    """Orthonormal Q and upper triangular R with ``a = Q @ R``.

    Differentiable where the first ``min(M, N)`` columns are linearly independent. Where they are not, Q is arbitrary in
    part; for ``M <= N`` the derivative of what does not depend on this choice is exact, and everything else is finite, but
    means nothing.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
    mode : {"reduced", "complete", "r"}
        For ``"complete"`` and M > N, Q is square: R is differentiable, but not Q. NumPy's ``"raw"`` is not offered.

    Returns
    -------
    QRResult
        ``Q`` of shape (..., M, K) and ``R`` of shape (..., K, N), K = min(M, N), or M for ``"complete"``; R alone for
        ``"r"``.

    Raises
    ------
    ValidationError
        Another mode, or elements that are not finite.
    UnsupportedAdRuleError
        When a complete Q with M > N is differentiated: the basis of the null space is arbitrary.

    Examples
    --------
    >>> import tenferro as tfr
    >>> q, r = tfr.linalg.qr([[0.0, 1.0], [1.0, 2.0]])
    >>> tfr.allclose(q @ r, [[0.0, 1.0], [1.0, 2.0]])
    True
    """
    if mode not in ("reduced", "complete", "r"):
        hint = "; LAPACK's packed form is not offered" if mode == "raw" else ""
        raise ValidationError(f"qr: mode is 'reduced', 'complete' or 'r', not {mode!r}{hint}", op="qr", argument="mode")
    a = matrix(a, "qr")
    m, n = a.shape[-2:]
    q, r = call("qr", a)
    if mode == "complete" and m > n:
        q = tfr.concatenate([q, call("null_space", a)], axis=-1)
        r = tfr.concatenate([r, tfr.zeros((*a.shape[:-2], m - n, n), a.dtype)], axis=-2)
    return r if mode == "r" else QRResult(q, r)


def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """Singular value decomposition, ``a = U @ diag(S) @ Vh``.

    Vectors are determined up to phases: a loss that depends on these has no derivative.

    Parameters
    ----------
    a : array_like, shape (..., M, N)
    full_matrices : bool
        Square U and Vh, as is NumPy's default; differentiable for square matrices only.
    compute_uv : bool
        False gives S alone.
    hermitian : bool
        Without effect: all matrices are taken as general ones.

    Returns
    -------
    SVDResult
        ``U`` (..., M, K), ``S`` (..., K) and ``Vh`` (..., K, N), K = min(M, N) without `full_matrices`.

    Raises
    ------
    UnsupportedAdRuleError
        When full matrices that are not square are differentiated: the basis of the null space is arbitrary.
    LinAlgError
        No convergence.
    ValidationError
        Elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> u, s, vh = tfr.linalg.svd([[3.0, 0.0], [0.0, -2.0]])
    >>> s
    EagerTensor([3., 2.], dtype=float64)
    """
    if not compute_uv:
        return svdvals(a)
    a = matrix(a, "svd")
    full = full_matrices and a.shape[-1] != a.shape[-2]
    return SVDResult(*call("svd_full" if full else "svd", a))


def svdvals(a):
    """Singular values, largest first.

    Parameters
    ----------
    a : array_like, shape (..., M, N)

    Returns
    -------
    EagerTensor, shape (..., min(M, N))

    Raises
    ------
    LinAlgError
        No convergence.
    ValidationError
        Elements that are not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.svdvals([[3.0, 0.0], [0.0, -2.0]])
    EagerTensor([3., 2.], dtype=float64)
    """
    return singular_values(matrix(a, "svdvals"), "svdvals")


def singular_values(a, op):
    return call("svd", a, op=op)[1] if a.tracks_grad else call("svdvals", a, op=op)


def triangle_checked(op, uplo):
    if uplo not in ("L", "U", "l", "u"):
        raise ValidationError(f"{op}: UPLO is 'L' or 'U', not {uplo!r}", op=op, argument="UPLO")


def eigh(a, UPLO="L"):
    """Eigenvalues, smallest first, and eigenvectors of Hermitian matrices.

    The derivative is that of the Hermitian part of `a`. Vectors are determined up to phases: a loss that depends on
    these has no derivative.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
    UPLO : {"L", "U"}
        Without effect, since matrices have to be Hermitian.

    Returns
    -------
    EighResult
        ``eigenvalues`` (..., N), real, and ``eigenvectors`` (..., N, N).

    Raises
    ------
    LinAlgError
        No convergence.
    ValidationError
        Not square, not Hermitian, or not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> w, v = tfr.linalg.eigh([[2.0, 1.0], [1.0, 2.0]])
    >>> tfr.round(w, 6)
    EagerTensor([1., 3.], dtype=float64)
    """
    triangle_checked("eigh", UPLO)
    return EighResult(*call("eigh", matrix(a, "eigh", square=True)))


def eigvalsh(a, UPLO="L"):
    """Eigenvalues of Hermitian matrices, smallest first; see `eigh`.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
    UPLO : {"L", "U"}

    Returns
    -------
    EagerTensor, shape (..., N)

    Raises
    ------
    LinAlgError
        No convergence.
    ValidationError
        Not square, not Hermitian, or not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.round(tfr.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]), 6)
    EagerTensor([1., 3.], dtype=float64)
    """
    triangle_checked("eigvalsh", UPLO)
    a = matrix(a, "eigvalsh", square=True)
    return call("eigh", a, op="eigvalsh")[0] if a.tracks_grad else call("eigvalsh", a)


def eig(a):
    """Eigenvalues and right eigenvectors of norm 1, always complex.

    Vectors are determined up to phases: a loss that depends on these has no derivative.

    Parameters
    ----------
    a : array_like, shape (..., N, N)

    Returns
    -------
    EigResult
        ``eigenvalues`` (..., N) and ``eigenvectors`` (..., N, N).

    Raises
    ------
    LinAlgError
        No convergence, or a defective matrix is differentiated.
    ValidationError
        Not square, or not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> w, v = tfr.linalg.eig([[0.0, 1.0], [-1.0, 0.0]])
    >>> tfr.imag(w)
    EagerTensor([ 1., -1.], dtype=float64)
    """
    return EigResult(*call("eig", matrix(a, "eig", square=True)))


def eigvals(a):
    """Eigenvalues, always complex.

    Parameters
    ----------
    a : array_like, shape (..., N, N)

    Returns
    -------
    EagerTensor, shape (..., N)

    Raises
    ------
    LinAlgError
        No convergence, or a defective matrix is differentiated.
    ValidationError
        Not square, or not finite.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.imag(tfr.linalg.eigvals([[0.0, 1.0], [-1.0, 0.0]]))
    EagerTensor([ 1., -1.], dtype=float64)
    """
    a = matrix(a, "eigvals", square=True)
    return call("eig", a, op="eigvals")[0] if a.tracks_grad else call("eigvals", a)
