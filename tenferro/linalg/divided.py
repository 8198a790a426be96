"""Divided differences of functions that are given as operations on tensors, without cancellation.

A quotient f[x, y] = (f(y) - f(x))/(y - x) cancels for a small gap, where the mean of f' between x and y (its integral by
the rule of Gauss) is exact to rounding. Both are formed; the mean is taken where two orders of the rule agree. All is
computed in double precision.
"""

import numpy as np

import tenferro as tfr

from .._core.eager import EagerTensor
from ..errors import ShapeMismatchError
from .common import constant_in, value

EPS = np.finfo(np.float64).eps


def gauss(count):
    t, weights = np.polynomial.legendre.leggauss(count)
    return (1 + t) / 2, weights / 2


COARSE, FINE = gauss(6), gauss(10)


class Scalar:
    """A function of real numbers and its derivatives, at arrays of points."""

    def __init__(self, f, df, rt):
        self.f, self.df, self.rt = f, df, rt

    def checked(self, y, x, name):
        if not isinstance(y, EagerTensor):
            y = constant_in(self.rt, np.asarray(y))
        if y.dtype.kind not in "fc" or y.dtype.itemsize < 8 * (1 + (y.dtype.kind == "c")):
            y = tfr.cast(y, np.complex128 if y.dtype.kind == "c" else np.float64)
        if y.shape == x.shape:
            return y
        if y.shape == ():
            return tfr.broadcast_to(y, x.shape)
        raise ShapeMismatchError(f"funm_hermitian: {name} gave shape {y.shape} for eigenvalues of shape {x.shape}; it has to "
                                 "act element by element", op="funm_hermitian", argument=name, expected=x.shape,
                                 actual=y.shape)

    def __call__(self, points, order=0):
        """The derivative of an order; a constant, unless f depends on tensors that are differentiated."""
        known = order > 0 and self.df is not None
        f, name = (self.df, "df") if known else (self.f, "f")
        constant = self.checked(f(constant_in(self.rt, points)), points, name)
        if order == known:
            return constant
        x = self.rt.variable_from(points)
        y = self.checked(f(x), x, name)
        ones = constant_in(self.rt, np.ones(points.shape))
        for _ in range(order - known):
            found = self.rt.jvp_optional([y], [x], [ones])[0]
            y = tfr.zeros_like(y) if found is None else found
        return y if constant.tracks_grad else y.detach()


def integral(df, x, y, rule, weight):
    """Of weight(t) df(x + t (y - x)) over t from 0 to 1."""
    t, weights = rule
    points = x[..., None] + t * (y - x)[..., None]
    return tfr.sum(df(points) * (weights * weight(t)), axis=-1)


def stable_quotient(top, size, x, y, df, weight):
    """top/(y - x), where `top` has terms as large as `size`, or the integral of df between x and y that it equals."""
    coarse, fine = (integral(df, x, y, rule, weight) for rule in (COARSE, FINE))
    gap = y - x
    with np.errstate(all="ignore"):
        lost = EPS * size / np.abs(gap)
        off = np.abs(value(fine) - value(coarse))
        smooth = (gap == 0) | (off <= np.maximum(lost, 8 * EPS * np.abs(value(fine))))
    return tfr.where(smooth, fine, top / np.where(smooth, 1, gap))


def first(f, w):
    """f[w_i, w_j]; the derivative for equal values."""
    n = w.shape[-1]
    low, high = np.triu_indices(n)
    fw = f(w)
    fx, fy = (tfr.take(fw, k, axis=-1) for k in (low, high))
    size = np.abs(value(fx)) + np.abs(value(fy))
    d = stable_quotient(fy - fx, size, w[..., low], w[..., high], lambda z: f(z, 1), np.ones_like)
    place = np.zeros((n, n), np.int64)
    place[low, high] = place[high, low] = np.arange(len(low))
    return tfr.take(d, place, axis=-1)


def second(f, w):
    """f[w_i, w_k, w_j] as an array, for ascending w.

    With y between x and z, f[x, y, z] is the mean of f[x, y, y] and f[z, y, y], weighted by y - x and z - y.
    """
    x, y = np.broadcast_arrays(w[..., :, None], w[..., None, :])
    slope, d = value(f(w, 1))[..., None, :], value(first(f, w))
    size = np.abs(slope) + np.abs(d)
    c = value(stable_quotient(constant_in(f.rt, slope - d), size, x, y, lambda z: f(z, 2).detach(), lambda t: t))
    n = w.shape[-1]
    low, middle, high = np.sort(np.indices((n, n, n)), axis=0)
    span = w[..., high] - w[..., low]
    share = np.where(span > 0, (w[..., middle] - w[..., low]) / np.where(span > 0, span, 1), 0.5)
    return share * c[..., low, middle] + (1 - share) * c[..., high, middle]
