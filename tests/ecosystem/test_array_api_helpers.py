"""`array_api_compat` and `array_api_extra` on tensors, tracked ones included."""

import numpy as np
import pytest

import tenferro as tfr

compat = pytest.importorskip("array_api_compat")
extra = pytest.importorskip("array_api_extra")


def test_the_namespace_is_found():
    x = tfr.variable([1.0, 2.0])
    assert compat.array_namespace(x) is compat.array_namespace(x, x * 2) is tfr
    assert compat.is_array_api_obj(x)
    assert compat.is_writeable_array(x)
    assert not compat.is_numpy_array(x)
    assert compat.size(x) == 2
    assert compat.device(x) == "cpu"
    assert compat.to_device(x, "cpu") is x
    with pytest.raises(TypeError):
        compat.array_namespace(x, np.zeros(2))


def softmax(x):
    """A program that knows no library."""
    xp = compat.array_namespace(x)
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def test_a_program_for_any_library_is_differentiated():
    a = np.array([[0.5, -1.0, 2.0]])
    x = tfr.variable(a)
    y = softmax(x)
    np.testing.assert_allclose(y.detach().numpy(), softmax(a), rtol=1e-14)
    g = tfr.default_runtime().grad(y[0, 0], x).detach()
    p = softmax(a)[0]
    np.testing.assert_allclose(g.numpy()[0], p[0] * (np.array([1, 0, 0]) - p), rtol=1e-13, atol=1e-16)


A = np.array([[1.0, 2.0, 4.0], [3.0, -1.0, 0.5]])

CALLS = {
    "cov": lambda xp, a: extra.cov(a),
    "kron": lambda xp, a: extra.kron(a, a),
    "nunique": lambda xp, a: extra.nunique(a),
    "setdiff1d": lambda xp, a: extra.setdiff1d(a, a[0, :]),
    "pad": lambda xp, a: extra.pad(a, 2),
    "sinc": lambda xp, a: extra.sinc(a),
    "atleast_nd": lambda xp, a: extra.atleast_nd(a, ndim=3),
    "create_diagonal": lambda xp, a: extra.create_diagonal(a),
    "isclose": lambda xp, a: extra.isclose(a, a + 1e-9),
    "one_hot": lambda xp, a: extra.one_hot(xp.asarray([0, 2]), 3),
    "at": lambda xp, a: extra.at(xp.asarray(a, copy=True), (slice(None), 1)).add(5.0),
    "apply_where": lambda xp, a: extra.apply_where(a > 0, a, lambda v: xp.log(v), fill_value=0.0),
    "nan_to_num": lambda xp, a: extra.nan_to_num(a / (a - 1)),
    "argpartition": lambda xp, a: extra.argpartition(a, 1),
    "searchsorted": lambda xp, a: extra.searchsorted(xp.sort(a), a),
}


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("name", CALLS)
def test_array_api_extra(name):
    ours, theirs = CALLS[name](tfr, tfr.asarray(A)), CALLS[name](np, A)
    assert isinstance(ours, tfr.EagerTensor)
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-14)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
