"""Losses that depend on arbitrary phases give a warning on request, and never an error."""

import warnings

import numpy as np
import pytest
from support import sample

import tenferro as tfr

la = tfr.linalg


def matrices(dtype="c16"):
    a = sample(np.random.default_rng(0), (2, 4, 4), dtype)
    return a, a + a.swapaxes(-1, -2).conj()


def of_phases(x):
    return tfr.sum(tfr.real(x) ** 3 * np.arange(1.0, 5.0))


def eigh_phases(a):
    return of_phases(la.eigh(a)[1])


def svd_phases(a):
    return of_phases(la.svd(a)[0])


def eig_phases(a):
    return of_phases(la.eig(a)[1])


def eig_projector(a):
    v = la.eig(a)[1]
    return of_phases(v[..., :2] @ tfr.conj(tfr.swapaxes(v[..., :2], -1, -2))) + tfr.sum(tfr.abs(v) ** 4)


def eigh_projector(a):
    v = la.eigh(a)[1][..., :2]
    return of_phases(v @ tfr.conj(tfr.swapaxes(v, -1, -2)))


def svd_projector(a):
    u, s, vh = la.svd(a)
    return of_phases(u[..., :2] @ vh[..., :2, :]) + tfr.sum(s)


def slope(f, a):
    return tfr.grad(f)(a)


@pytest.mark.parametrize(("f", "which"), [(svd_phases, 0), (eigh_phases, 1), (eig_phases, 0)])
def test_a_loss_of_phases_warns_on_request_only(f, which):
    a = matrices()[which]
    slope(f, a)
    with la.gauge_warnings(), pytest.warns(la.GaugeWarning, match="depends on the phases"):
        slope(f, a * 1e-9)
    with la.gauge_warnings(), la.gauge_warnings(None):
        slope(f, a)
    slope(f, a)


@pytest.mark.parametrize(("f", "which"), [(svd_projector, 0), (eigh_projector, 1), (eig_projector, 0)])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_a_loss_without_phases_does_not_warn(f, which, scale):
    with la.gauge_warnings(), warnings.catch_warnings():
        warnings.simplefilter("error")
        slope(f, matrices()[which] * scale)


@pytest.mark.parametrize(("f", "which"), [(svd_phases, 0), (eigh_phases, 1)])
def test_real_vectors_have_no_phases(f, which):
    with la.gauge_warnings(), warnings.catch_warnings():
        warnings.simplefilter("error")
        slope(f, matrices("f8")[which])
