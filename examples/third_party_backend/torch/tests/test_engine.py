"""The engine as users meet it: values and derivatives, the overridden operation, conformance."""

import numpy as np
import pytest
from scipy import special

torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")

import tenferro as tfr  # noqa: E402
from tenferro.testing import check_engine, check_grads  # noqa: E402
from tenferro.testing.drift import drift  # noqa: E402
from tenferro_cpu import CpuEngine  # noqa: E402

pytestmark = pytest.mark.torch
A = np.random.default_rng(1).standard_normal((3, 4, 5))


@pytest.fixture
def engine():
    return tfr.engine("torch")


@pytest.fixture
def calls(monkeypatch):
    """The arguments of every call of ``torch.logsumexp``."""
    seen = []

    def watched(x, *args, original=torch.logsumexp):
        seen.append((type(x), *args))
        return original(x, *args)

    monkeypatch.setattr(torch, "logsumexp", watched)
    return seen


def model(x, w, b):
    h = tfr.tanh(x @ w + b)
    return tfr.sum(tfr.logsumexp(h, axis=1) + tfr.mean(h * h, axis=1))


def test_what_was_opened(engine):
    from tenferro_torch.engine import TorchEngine
    assert isinstance(engine, TorchEngine)
    assert (engine.name, engine.kind, engine.context_id) == ("torch", "host", CpuEngine.serial().context_id)
    assert {"logsumexp": "own", "exp": "native", "contract": "composed", "scatter": "host"}.items() <= engine.support().items()
    assert [op for op, who in engine.support().items() if who == "own"] == ["logsumexp"]
    assert drift(engine, base=tfr.NamespaceEngine) == []


@pytest.mark.parametrize(("f", "expected"), [
    (lambda x: tfr.exp(x), np.exp(A)),
    (lambda x: tfr.sum(x, axis=(0, 2)), A.sum((0, 2))),
    (lambda x: tfr.einsum("ijk,ljk->il", x, x), np.einsum("ijk,ljk->il", A, A)),
    (lambda x: tfr.sort(x, axis=1), np.sort(A, axis=1)),
    (lambda x: x[::-1, 1:3], A[::-1, 1:3]),
], ids=["exp", "sum", "einsum", "sort", "index"])
def test_values(engine, f, expected):
    with tfr.session(engine):
        np.testing.assert_allclose(f(tfr.constant(A)).numpy(), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, (0, 2), None])
def test_the_override_computes(engine, calls, axis, keepdims):
    with tfr.session(engine):
        y = tfr.logsumexp(A, axis=axis, keepdims=keepdims)
    axes = (0, 1, 2) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    assert calls == [(torch.Tensor, axes, keepdims)]
    np.testing.assert_allclose(y.numpy(), special.logsumexp(A, axis=axis, keepdims=keepdims), rtol=1e-14)


def test_the_override_declines_what_pytorch_does_not_take(engine, calls):
    with tfr.session(engine):
        np.testing.assert_allclose(tfr.logsumexp(A, axis=()).numpy(), A, rtol=1e-14)
    assert calls == []


def test_other_engines_do_not_call_it(calls):
    with tfr.session(tfr.engine("cpu")):
        tfr.logsumexp(A)
    with tfr.session(tfr.NamespaceEngine(torch)):
        tfr.logsumexp(A)
    assert calls == []


def test_derivatives(engine, calls):
    with tfr.session(engine):
        check_grads(model, [A[0], A[1].T[:, :2], A[2, 0, :2]], order=2)
    assert calls


def gradients(rt, engine, k):
    """Loss and gradients at the k-th of several points."""
    arrays = [a * (1 + k / 16) for a in (A[0], A[1].T[:, :2], A[2, 0, :2])]
    with rt.session(engine):
        leaves = [rt.variable_from(a) for a in arrays]
        loss = model(*leaves)
        return [t.detach().numpy() for t in (loss, *rt.grad(loss, leaves))]


def test_programs_give_the_bits_of_the_sweep(engine):
    rt = tfr.EagerRuntime()
    found = [gradients(rt, engine, k) for k in range(4)]
    assert rt.cache_stats().ad_transforms.hits >= 2
    for k, got in enumerate(found):
        direct = tfr.EagerRuntime()
        with direct.profile():          # no program serves what is profiled
            expected = gradients(direct, engine, k)
        assert direct.cache_stats().ad_transforms.hits == 0
        for a, b, c in zip(got, expected, gradients(tfr.EagerRuntime(), tfr.engine("cpu"), k), strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_allclose(a, c, rtol=1e-12, atol=1e-13)


def test_engines_take_turns(engine):
    rt = tfr.EagerRuntime()
    x = rt.variable_from(A[0])
    with rt.session(tfr.engine("cpu")) as s:
        y = s.exp(x)
    with rt.session(engine) as s:
        loss = s.sum(s.logsumexp(y, axis=0))
    expected = special.softmax(np.exp(A[0]), axis=0) * np.exp(A[0])
    for e in (engine, tfr.engine("cpu")):
        np.testing.assert_allclose(rt.grad(loss, x, engine=e).detach().numpy(), expected, rtol=1e-13)


def test_it_conforms(engine):
    check_engine(engine, operations=["exp", "logsumexp", "softmax", "matmul", "take"], raise_on_failure=True)
