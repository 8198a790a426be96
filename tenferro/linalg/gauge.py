"""Warnings about losses that depend on the phases of singular vectors and eigenvectors, which are arbitrary."""

import warnings
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from .common import value

_tolerance: ContextVar = ContextVar("tenferro.linalg.gauge", default=None)


class GaugeWarning(UserWarning):
    """The cotangent of complex vectors has a part along a change of their phases: the loss is not well defined.

    Examples
    --------
    >>> import tenferro as tfr
    >>> import warnings
    >>> with tfr.linalg.gauge_warnings(), warnings.catch_warnings():
    ...     warnings.simplefilter("error", tfr.linalg.GaugeWarning)
    ...     tfr.linalg.svdvals([[2.0]])
    EagerTensor([2.], dtype=float64)
    """


@contextmanager
def gauge_warnings(tol=1e-3):
    """Warn, while a derivative is computed, of losses that depend on the phases of vectors; off by default.

    Turning the phases of the columns of U and V together (of V alone for `eigh` and `eig`) gives a decomposition that is
    as good. The loss ignores it if the imaginary part of the diagonal of ``U.H @ gU + V.H @ gV`` is zero. Nothing is
    ever raised by this, and real vectors, which have signs but no phases, are not looked at.

    Parameters
    ----------
    tol : float or None
        What is allowed relative to the terms that make up the diagonal; None turns the check off again.

    Returns
    -------
    context manager

    Raises
    ------
    GaugeWarning
        Where warnings are turned into errors.

    Examples
    --------
    >>> import tenferro as tfr
    >>> import warnings
    >>> x = tfr.variable([[1.0, 2j], [0.0, 3.0]])
    >>> with tfr.linalg.gauge_warnings(), warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     g = tfr.imag(tfr.linalg.svd(x)[0][0, 0]).backward()
    >>> len(seen)
    1

    Warns
    -----
    GaugeWarning
    """
    token = _tolerance.set(tol)
    try:
        yield
    finally:
        _tolerance.reset(token)


def check(op, *pairs):
    """Look at vectors and their cotangents, which may be None."""
    tol = _tolerance.get()
    if tol is None or pairs[0][0].dtype.kind != "c":
        return
    turned = size = 0
    for vectors, g in pairs:
        if g is not None:
            terms = value(vectors).conj() * value(g)
            turned, size = turned + terms.sum(-2).imag, size + np.abs(terms).sum(-2)
    if np.any(np.abs(turned) > tol * np.max(size, axis=-1, keepdims=True, initial=0)):
        warnings.warn(f"{op}: the loss depends on the phases of the vectors, which are arbitrary; make it a function of "
                      "the values and of products in which the phases cancel, such as projectors", GaugeWarning,
                      stacklevel=2)
