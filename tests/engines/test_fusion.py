"""Fused passes of derivative programs: the bits of the direct sweep for all shapes, orders and dtypes."""

import numpy as np
import pytest

import tenferro as tfr
from tenferro import errors
from tenferro._core import memory
from tenferro._core.rule import applied_rules

LARGE = 1 << 15
DTYPES = ["float32", "float64", "complex64", "complex128"]


def waves(a, b, c):
    return (tfr.exp(a * 0.1) * tfr.sin(b) + tfr.tanh(a * b) * c).sum()


def quotients(a, b, c):
    return ((a + b) * (a - b) / (2 + c * c) + tfr.sqrt(2 + tfr.abs(a))).sum()


def choices(a, b, c):
    return tfr.real(tfr.where(tfr.real(a) > 0, tfr.exp(-a * a) + b, tfr.log1p(b * b) * c)).sum()


def reductions(a, b, c):
    m = tfr.mean(tfr.tanh(a + b) * c, axis=0)
    return tfr.real(m * m).sum() + tfr.real(tfr.exp(c) * a).sum(axis=-1).sum()


def mixed(a, b, c):
    return (tfr.real(a) * tfr.imag(b * 1j) + tfr.abs(c) * tfr.real(b)).sum()


FUNCTIONS = [waves, quotients, choices, reductions, mixed]
SHAPES = [
    ((40, 50), (40, 50), (40, 50)),
    ((64, 100), (100,), (64, 1)),
    ((2000,), (2000,), ()),
    ((3, 70, 80), (70, 80), (3, 1, 80)),
    ((130, 131), (130, 1), (1, 131)),
    ((1025,), (1,), (1025,)),
    ((7, 9, 31), (9, 31), (7, 9, 1)),
]


def draw(shape, dtype, rng, order):
    a = rng.standard_normal(shape).astype(dtype)
    if a.dtype.kind == "c":
        a = a + 1j * rng.standard_normal(shape).astype(a.real.dtype)
    return np.asarray(a.astype(dtype), order=order)


def gradients(f, arrays, copy=True):
    xs = [tfr.variable(a, copy=copy) for a in arrays]
    y = f(*xs)
    return [g.detach().numpy() for g in tfr.default_runtime().grad(y, xs)]


def sweep_only(f, arrays):
    """Gradients by a sweep under a profile, which no program serves."""
    rt = tfr.default_runtime()
    with rt.profile():
        return gradients(f, arrays)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_programs_give_the_bits_of_the_sweep(f, shapes, dtype):
    rng = np.random.default_rng(len(str(shapes)))
    if f is mixed and dtype.startswith("float"):
        dtype = dtype.replace("float32", "complex64").replace("float64", "complex128")
    rt = tfr.default_runtime()
    rt.clear_caches()
    for k in range(4):
        order = "CF"[k % 2] if k > 1 else "C"
        arrays = [draw(s, dtype, rng, order) for s in shapes]
        for got, want in zip(gradients(f, arrays), sweep_only(f, arrays), strict=True):
            np.testing.assert_array_equal(got, want)


def elementwise(x):
    return (tfr.exp(-x * x) * tfr.sin(x) + tfr.log1p(x * x)).sum()


def elementwise_slope(x):
    e = np.exp(-x * x)
    return e * (np.cos(x) - 2 * x * np.sin(x)) + 2 * x / (1 + x * x)


def test_a_large_gradient_is_one_pass():
    x = tfr.variable(np.random.default_rng(1).standard_normal(LARGE))
    found = tfr.default_runtime().explain(elementwise(x))
    assert found.fused_groups == 1 and found.results == 1 and found.buffers == 1
    assert [i.kind for i in found.instructions] == ["fused"]
    assert found.inputs == 3 and found.peak_bytes == 8 * LARGE     # reads x, the exponential, the sine
    assert 4 * 8 * LARGE <= found.bytes_moved < 4 * 8 * LARGE + 64      # and a constant
    assert "fused  float64[32768]" in str(found)


def test_the_first_sweep_of_large_values_runs_from_a_program():
    rt = tfr.default_runtime()
    rt.clear_caches()
    a = np.random.default_rng(2).standard_normal(LARGE + 77)
    x = tfr.variable(a)
    loss = elementwise(x)
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), elementwise_slope(a), rtol=1e-12, atol=1e-14)
    assert rt.cache_stats().ad_transforms.entries == 1
    before = applied_rules()
    loss.backward()
    assert applied_rules() == before
    np.testing.assert_array_equal(x.grad.numpy(), 2 * tfr.default_runtime().grad(loss, x).detach().numpy())


@pytest.mark.parametrize("n", [LARGE - 1, LARGE, 4 * LARGE + 13])
def test_second_derivatives_of_large_values(n):
    a = np.random.default_rng(3).uniform(0.5, 2, n)
    v = np.random.default_rng(4).standard_normal(n)
    rt = tfr.default_runtime()
    for _ in range(3):
        x = tfr.variable(a)
        g = rt.grad((tfr.exp(x) * x).sum(), x)
        h = rt.vjp(g, x, tfr.constant(v))
        t = rt.jvp(g, x, tfr.constant(v))
        want = np.exp(a) * (2 + a) * v
        np.testing.assert_allclose(h.detach().numpy(), want, rtol=1e-13)
        np.testing.assert_allclose(t.detach().numpy(), want, rtol=1e-13)


def test_hooks_and_custom_operations_among_large_values():
    seen = []
    square = tfr.custom_op(lambda x: x.detach() * x.detach(), vjp=lambda g, y, x: 2 * x * g)
    a = np.random.default_rng(5).standard_normal(LARGE)
    for _ in range(3):
        x = tfr.variable(a)
        y = tfr.sin(x)
        y.register_hook(lambda g: seen.append(g.shape))
        (square(y) + y).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), (2 * np.sin(a) + 1) * np.cos(a), rtol=1e-12, atol=1e-14)
    assert seen == [(LARGE,)] * 3


def test_one_flop_operands_are_not_kept():
    a = np.random.default_rng(6).standard_normal(LARGE)
    x = tfr.variable(a)
    before = memory.live()[1]
    y = tfr.log1p(x * x)
    assert memory.live()[1] - before < 1.1 * 8 * LARGE
    z = tfr.sin(2.0 * x) + tfr.exp(-x)
    assert memory.live()[1] - before < 3.3 * 8 * LARGE             # y, the sum, and the exponential
    (y + z).sum().backward()
    want = 2 * a / (1 + a * a) + 2 * np.cos(2 * a) - np.exp(-a)
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-12, atol=1e-13)


def test_what_is_computed_again_is_from_the_values_of_its_time():
    a = np.random.default_rng(7).standard_normal(LARGE)
    x = tfr.variable(a)
    y = tfr.sin(x * x).sum()
    x.assign(np.zeros(LARGE))
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * a * np.cos(a * a), rtol=1e-12, atol=1e-14)


def test_an_intermediate_target_whose_operand_is_computed_again():
    a = np.random.default_rng(8).standard_normal(LARGE)
    rt = tfr.default_runtime()
    for k in range(4):
        x = tfr.variable(a * (k + 1))
        q = x * x
        r = tfr.sin(x)
        y = (q * r).sum()
        (g,) = rt.grad(y, [r])
        np.testing.assert_array_equal(g.detach().numpy(), (a * (k + 1)) ** 2)
        (g,) = rt.grad(tfr.log1p(q).sum(), [q])
        np.testing.assert_allclose(g.detach().numpy(), 1 / (1 + (a * (k + 1)) ** 2), rtol=1e-15)


def test_what_a_later_group_needs_is_computed_there():
    rng = np.random.default_rng(10)
    rt = tfr.default_runtime()
    w = [tfr.variable(rng.standard_normal(s)) for s in ((64, 64), (64,), (64, 64), (64,))]
    x, y = tfr.constant(rng.standard_normal((128, 64))), tfr.constant(rng.standard_normal((128, 64)))
    r = tfr.tanh(x @ w[0] + w[1]) @ w[2] + w[3] - y
    found = rt.explain(tfr.mean(r * r))
    groups = [i.operations for i in found.instructions if i.kind == "fused"]
    assert groups == [("absorb_mul", "absorb_mul", "add", "reduce_sum"), ("sech2", "absorb_mul", "reduce_sum")]


def test_explain_refuses_what_has_no_program():
    rt = tfr.default_runtime()
    x = tfr.variable([1.0, 2.0])
    with pytest.raises(errors.NonScalarGradError):
        rt.explain(x * 2)
    with pytest.raises(errors.ValidationError, match="not tracked"):
        rt.explain(tfr.constant(1.0))
    with pytest.raises(errors.ContextMismatchError):
        tfr.EagerRuntime().explain((x * x).sum())
    square = tfr.custom_op(lambda x: x.detach() * x.detach(), vjp=lambda g, y, x: 2 * x * g)
    with pytest.raises(errors.ValidationError, match="no program"):
        rt.explain(square(x).sum())


def test_explain_changes_nothing():
    rt = tfr.default_runtime()
    rt.clear_caches()
    x = tfr.variable(np.ones(3))
    y = (tfr.exp(x) * x).sum()
    before = rt.cache_stats()
    assert rt.explain(y).fused_groups == 0
    assert x.grad is None and rt.cache_stats().ad_transforms == before.ad_transforms


def deep(x):
    return (tfr.tanh(tfr.exp(-x * x) / (2 + tfr.sin(x))) * tfr.log1p(x * x)).sum()


def test_save_memory_keeps_less_and_gives_the_same_bits():
    rt = tfr.default_runtime()
    a = np.random.default_rng(9).standard_normal(LARGE)
    x = tfr.variable(a)
    rt.clear_caches()
    before = memory.live()[1]
    y = deep(x)
    usual = memory.live()[1] - before
    want = rt.grad(y, x).detach().numpy()
    del y
    before = memory.live()[1]
    for _ in range(3):
        with rt.save_memory():
            y = deep(x)
        less = memory.live()[1] - before
        got = rt.grad(y, x)
        np.testing.assert_array_equal(got.detach().numpy(), want)
        with rt.profile():                          # a direct sweep
            np.testing.assert_array_equal(rt.grad(y, x).detach().numpy(), want)
        del y, got
    assert less < 0.5 * usual
    with rt.save_memory():
        y = deep(x)
    h = rt.vjp(rt.grad(y, x), x, tfr.ones(LARGE)).detach().numpy()
    np.testing.assert_array_equal(h, rt.vjp(rt.grad(deep(x), x), x, tfr.ones(LARGE)).detach().numpy())
    t = rt.jvp(y, x, tfr.ones(LARGE))
    np.testing.assert_allclose(float(t), want.sum(), rtol=1e-9)


def test_save_memory_is_a_guard():
    rt = tfr.default_runtime()
    guard = rt.save_memory()
    with guard:
        pass
    with pytest.raises(errors.RuntimeStateError):
        guard.__enter__()


@pytest.mark.parametrize("n", [3, 300])
def test_cotangents_of_another_order_have_a_program_of_their_own(n):
    rng = np.random.default_rng(11)
    rt = tfr.default_runtime()
    rt.clear_caches()
    a = rng.standard_normal((n, n))
    g = rng.standard_normal((n, n))
    x = tfr.variable(a)
    y = tfr.sin(x) * x
    want = g * (np.cos(a) * a + np.sin(a))
    for order in "CCCFFFCF":
        got = rt.vjp(y, x, tfr.constant(np.asarray(g, order=order)))
        np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-13, atol=1e-14)
