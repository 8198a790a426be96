"""capture_trace: derivatives with respect to untracked and intermediate tensors."""

import numpy as np
import pytest

import tenferro as tfr
from tenferro import EagerRuntime, errors


@pytest.fixture
def rt():
    return EagerRuntime()


def test_derivatives_for_untracked_tensors(rt):
    x, a = rt.constant_from([1.0, 2.0]), rt.constant_from([3.0, 5.0])
    with rt.capture_trace():
        y = x * a
        z = tfr.sum(tfr.exp(y) * x)
    assert not (x.tracks_grad or y.tracks_grad or z.tracks_grad)
    n, m = x.numpy(), a.numpy()
    np.testing.assert_allclose(rt.vjp(z, x, 1.0).detach().numpy(), np.exp(n * m) * (1 + n * m))
    np.testing.assert_allclose(rt.vjp(z, y, 1.0).detach().numpy(), np.exp(n * m) * n)
    np.testing.assert_allclose(rt.jvp(z, a, [1.0, 0.0]).item(), (np.exp(n * m) * n * n)[0])


def test_a_detached_tensor(rt):
    x = rt.variable_from([2.0])
    d = x.detach()
    with rt.capture_trace():
        y = x * d
    assert y.tracks_grad and not d.tracks_grad
    assert rt.vjp(y, d, [1.0]).tolist() == [2.0] and rt.vjp(y, x, [1.0]).tolist() == [2.0]
    y.backward_with([1.0])
    assert x.grad.tolist() == [2.0] and d.grad is None


def test_exports_still_work(rt):
    x = rt.constant_from([1.0])
    with rt.capture_trace():
        y = x * x
    assert np.asarray(y).tolist() == [1.0] and np.asarray(x).tolist() == [1.0]


def test_outside_nothing_is_recorded(rt):
    x = rt.constant_from([3.0])
    with rt.capture_trace():
        y = x * x
    z = y * x
    with pytest.raises(errors.ValidationError, match="wrt"):
        rt.vjp(z, x, [1.0])
    assert rt.vjp(y, x, [1.0]).tolist() == [6.0]


def test_no_grad_wins(rt):
    x = rt.constant_from([3.0])
    with rt.capture_trace(), rt.no_grad():
        y = x * x
    with pytest.raises(errors.ValidationError, match="wrt"):
        rt.vjp(y, x, [1.0])


def test_backward_of_a_captured_result_names_the_way_out(rt):
    x = rt.constant_from(3.0)
    with rt.capture_trace():
        y = x * x
    with pytest.raises(errors.ValidationError, match="variable"):
        y.backward()


@pytest.mark.parametrize("order", [1, 2, 3])
def test_any_mixture_to_third_order(rt, order):
    """Reverse and forward mode alternate, through cotangent and tangent too."""
    x = rt.constant_from(0.7)
    with rt.capture_trace():
        y = tfr.exp(2.0 * x)
        for k in range(order):
            y = rt.vjp(y, x, 1.0) if k % 2 == 0 else rt.jvp(y, x, 1.0)
    np.testing.assert_allclose(y.item(), 2**order * np.exp(1.4), rtol=1e-13)


def test_through_the_cotangent_and_the_tangent(rt):
    x, c = rt.variable_from([1.0, 2.0]), rt.variable_from([3.0, 4.0])
    g = rt.vjp(x * x, x, c)
    np.testing.assert_allclose(rt.vjp(g, c, [1.0, 1.0]).detach().numpy(), 2 * x.detach().numpy())
    t = rt.jvp(x * x, x, c)
    np.testing.assert_allclose(rt.grad(tfr.sum(t), c).detach().numpy(), 2 * x.detach().numpy())
    np.testing.assert_allclose(rt.grad(tfr.sum(t), x).detach().numpy(), 2 * c.detach().numpy())


def test_several_outputs(rt):
    x = rt.variable_from([1.0, 2.0])
    u, v = x * x, tfr.exp(x)
    got = rt.vjp([u, v], x, [[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(got.detach().numpy(), [2.0, np.exp(2.0)])
