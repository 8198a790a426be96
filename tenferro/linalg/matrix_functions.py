"""Functions of Hermitian matrices with derivatives that hold where eigenvalues coincide."""

import numpy as np

import tenferro as tfr

from ..errors import UnsupportedAdRuleError, ValidationError
from .common import adj, call, herm, matrix, mm, plus, value
from .divided import Scalar, first, second


def funm_hermitian(a, f, df=None):
    """Function of Hermitian matrices, ``f(a) = V @ diag(f(w)) @ V.H`` with eigenvalues w and eigenvectors V.

    First and second derivatives, in both modes, are those of Daleckii and Krein (1965), with divided differences that
    are exact to rounding for eigenvalues that coincide or nearly do. They are for the Hermitian part of `a`. Third
    ones raise.

    Parameters
    ----------
    a : array_like, shape (..., N, N)
    f : callable
        Takes a float64 tensor of any shape and acts on its elements by differentiable operations; real or complex. It
        is also called between the eigenvalues. Tensors that it refers to may not be differentiated themselves.
    df : callable, optional
        Its derivative, if that is not to be taken from `f`.

    Returns
    -------
    EagerTensor, shape (..., N, N)
        Complex if `a` or `f` is.

    Raises
    ------
    LinAlgError
        No convergence; `f`, or a derivative that is needed, is not finite at an eigenvalue.
    UnsupportedAdRuleError
        A third derivative is asked for, or one with respect to a tensor that `f` refers to.
    ValidationError
        Not square, not Hermitian, or not finite; `f` does not act on elements.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.linalg.funm_hermitian([[4.0, 0.0], [0.0, 9.0]], tfr.sqrt)
    EagerTensor([[2., 0.],
                 [0., 3.]], dtype=float64)
    """
    for g, name in ((f, "f"), (df, "df")):
        if not callable(g) and (g is not None or name == "f"):
            raise ValidationError(f"funm_hermitian: {name} must be a function, not {type(g).__name__}",
                                  op="funm_hermitian", argument=name)
    a = matrix(a, "funm_hermitian", square=True)
    w, v = call("hermitian_eigh", a.detach(), op="funm_hermitian")
    values = Scalar(f, df, a.runtime)(double(w))
    if values.tracks_grad:
        values = undifferentiated(values)
    return call("funm", a, w, v, values, f=f, df=df)


def double(w):
    return np.asarray(value(w), np.float64)


def differences(a, w, f, df):
    return first(Scalar(f, df, a.runtime), double(w))


def funm_vjp(g, out, a, w, v, values, f, df):
    d = differences(a, w, f, df)
    inner = conjugated(d)
    # Values that are no constant refuse whatever they are given.
    return herm(call("funm_change", a, g, w, v, inner, f=f, df=df, conjugate=True)), None, None, tfr.zeros_like(values)


def funm_jvp(tangents, out, a, w, v, values, f, df):
    d = differences(a, w, f, df)
    return call("funm_change", a, herm(tangents[0]), w, v, d, f=f, df=df, conjugate=False)


def second_differences(a, w, f, df, conjugate):
    d = second(Scalar(f, df, a.runtime), double(w))
    return d.conj() if conjugate else d


def funm_change_vjp(g, out, a, e, w, v, d, f, df, conjugate):
    inner = conjugated(d)
    ge = call("funm_change", a, g, w, v, inner, f=f, df=df, conjugate=not conjugate)
    ga = herm(call("funm_second", a, adj(e), g, w, v, second_differences(a, w, f, df, not conjugate)))
    gd = mm(adj(v), g, v) * conjugated(mm(adj(v), e, v))
    return ga, ge, None, None, gd


def conjugated(x):
    return tfr.conj(x) if x.dtype.kind == "c" else x


def funm_change_jvp(tangents, out, a, e, w, v, d, f, df, conjugate):
    ta, te, _, _, td = tangents
    found = None if te is None else call("funm_change", a, te, w, v, d, f=f, df=df, conjugate=conjugate)
    if ta is not None:
        t = second_differences(a, w, f, df, conjugate)
        found = plus(found, call("funm_second", a, e, herm(ta), w, v, t))
    return plus(found, None if td is None else mm(v, td * mm(adj(v), e, v), adj(v)))


def refused(what):
    """Rules of both kinds that raise."""
    def rule_of(transform):
        def rule(*args, **params):
            raise UnsupportedAdRuleError(f"funm_hermitian: {what}", op="funm_hermitian", transform=transform)
        return rule
    return rule_of("vjp"), rule_of("jvp")


_vjp, _jvp = refused("f refers to a tensor that is differentiated, which is not supported; let the matrix depend on it, or "
                     "write the function with eigh")
undifferentiated = tfr.custom_op(lambda values: values, vjp=_vjp, jvp=_jvp, name="funm_hermitian")

RULES = {
    "funm": (funm_vjp, funm_jvp),
    "funm_change": (funm_change_vjp, funm_change_jvp),
    "funm_second": refused("derivatives beyond the second are not supported"),
}
