"""Derivative programs: hits call no rule, give the numbers of the direct sweep, and are confirmed, bounded and shared."""

import threading
from functools import partial

import numpy as np
import pytest

import tenferro as tfr
from tenferro import AdContext, CacheLimits, EagerRuntime
from tenferro._core.rule import applied_rules

RNG = np.random.default_rng(5)


@pytest.fixture
def rt():
    return EagerRuntime()


def rules_in(f):
    before = applied_rules()
    result = f()
    return applied_rules() - before, result


def model(x, w, b):
    h = tfr.tanh(x @ w + b)
    return tfr.mean(h * h * 2.5 + tfr.exp(-h))


def data(rt, rows=3):
    x = rt.constant_from(RNG.standard_normal((rows, 4)))
    return x, rt.variable_from(RNG.standard_normal((4, 5))), rt.variable_from(RNG.standard_normal(5))


def fresh_copy(*tensors):
    """The same values in a runtime whose caches are empty."""
    rt = EagerRuntime()
    return rt, [(rt.variable_from if t.tracks_grad else rt.constant_from)(t.detach().numpy()) for t in tensors]


def modes(rt):
    """Derivatives by every call, as functions of the output and the leaves."""
    def no_grad(f):
        def call(*args):
            with rt.no_grad():
                return f(*args)
        return call

    def backward(y, w, b):
        rt = y.runtime
        rt.clear_grads()
        y.backward()
        return [w.grad, b.grad]

    def reverse(y, w, b):
        return y.runtime.grad(y, [w, b])

    def forward(y, w, b):
        return [y.runtime.jvp(y, [w, b], [np.ones(w.shape), np.ones(b.shape)])]

    return {"backward": backward, "grad": reverse, "jvp": forward, "grad, no_grad": no_grad(reverse),
            "jvp, no_grad": no_grad(forward)}


@pytest.mark.parametrize("mode", ["backward", "grad", "jvp", "grad, no_grad", "jvp, no_grad"])
def test_from_the_third_time_on_no_rule_is_called_and_the_numbers_are_the_same(rt, mode):
    derive = modes(rt)[mode]
    for time in range(5):
        x, w, b = data(rt)
        y = model(x, w, b)
        count, got = rules_in(partial(derive, y, w, b))
        assert (count == 0) == (time >= 2)
        _, (x2, w2, b2) = fresh_copy(x, w, b)
        for g, e in zip(got, derive(model(x2, w2, b2), w2, b2), strict=True):
            np.testing.assert_array_equal(g.detach().numpy(), e.detach().numpy())
    stats = rt.cache_stats()
    for cache in (stats.ad_transforms, stats.prepared_derivatives):
        assert cache.entries == 1 and cache.hits == 3 and cache.misses == 2 and cache.retained_bytes > 0


def test_both_caches_hold_a_structure_from_the_second_time_on(rt):
    x, w, b = data(rt)
    entries = []
    for _ in range(3):
        model(x, w, b).backward()
        stats = rt.cache_stats()
        entries.append((stats.ad_transforms.entries, stats.prepared_derivatives.entries))
    assert entries == [(0, 0), (1, 1), (1, 1)]


def test_scalars_and_index_arrays_are_inputs(rt):
    x = rt.variable_from(np.arange(1.0, 7.0))
    for k in range(6):
        scalar, index = 1.0 + k, np.array([k % 3, 5 - k, 2])
        y = tfr.sum(tfr.take(x * scalar * x, index, axis=0) ** (2.0 + k))
        g = rt.grad(y, x).detach().numpy()
        n = x.detach().numpy()
        expected = np.zeros(6)
        np.add.at(expected, index, ((2 + k) * (scalar * n**2) ** (1 + k) * 2 * scalar * n)[index])
        np.testing.assert_allclose(g, expected, rtol=1e-12)
    assert rt.cache_stats().ad_transforms.hits > 0


def test_a_user_scalar_that_equals_a_rules_own_constant(rt):
    """The first programs see 2.0 and 1.0 both as data and inside rules."""
    x = rt.variable_from([0.5, 0.25])
    for k in (2.0, 2.0, 2.0, 3.0, 1.0, 0.5):
        g = rt.grad(tfr.sum(tfr.square(x) * k + tfr.tanh(x) * k), x).detach().numpy()
        n = x.detach().numpy()
        np.testing.assert_allclose(g, 2 * k * n + k / np.cosh(n) ** 2, rtol=1e-13)


def test_seeds_are_inputs(rt):
    x = rt.variable_from([1.0, 2.0])
    for k in (1.0, 1.0, 1.0, 5.0, -2.0):
        y = tfr.sum(x * x)
        np.testing.assert_allclose(rt.vjp(y, x, k).detach().numpy(), 2 * k * x.detach().numpy())


def test_constants_that_coincide_once(rt):
    """Two operands are the same tensor while the program is made, and differ later."""
    x = rt.variable_from([1.0, 2.0])
    same = rt.constant_from([3.0, 4.0])
    other = rt.constant_from([5.0, 7.0])
    for a, b in ((same, same), (same, same), (same, same), (same, other), (other, same), (other, other)):
        g = rt.grad(tfr.sum(tfr.exp(x * a) + tfr.sin(x * b)), x).detach().numpy()
        n, p, q = x.detach().numpy(), a.numpy(), b.numpy()
        np.testing.assert_allclose(g, p * np.exp(n * p) + q * np.cos(n * q), rtol=1e-12)


def test_sharing_is_part_of_the_structure(rt):
    """Equal hashes: the same leaf twice, against two leaves of one shape."""
    u, v = rt.variable_from([1.0, 2.0]), rt.variable_from([3.0, 5.0])
    for a, b in ((u, v), (u, v), (u, v), (u, u), (u, u), (u, u), (u, v), (v, u)):
        y = tfr.sum(a * b)
        g = rt.grad_optional(y, [u, v])
        if a is b:
            np.testing.assert_allclose(g[0].detach().numpy(), 2 * u.detach().numpy())
            assert g[1] is None
        else:
            np.testing.assert_allclose(g[0].detach().numpy(), v.detach().numpy())
            np.testing.assert_allclose(g[1].detach().numpy(), u.detach().numpy())


def test_parameters_are_part_of_the_structure(rt):
    """Equal hashes: only axes, slices and exponents differ."""
    x = rt.variable_from(RNG.uniform(1, 2, (3, 3)))
    n = x.detach().numpy()
    for _ in range(4):
        for axis in (0, 1):
            y = tfr.sum(tfr.square(tfr.sum(x, axis=axis)))
            np.testing.assert_allclose(rt.grad(y, x).detach().numpy(),
                                       2 * np.broadcast_to(n.sum(axis, keepdims=True), n.shape))
        for i in range(3):
            expected = np.zeros((3, 3))
            expected[i] = 2 * n[i]
            np.testing.assert_allclose(rt.grad(tfr.sum(x[i] * x[i]), x).detach().numpy(), expected)
        for k in (2, 3):
            np.testing.assert_allclose(rt.grad(tfr.sum(x**k), x).detach().numpy(), k * n ** (k - 1))


def test_shapes_dtypes_and_orders_that_alternate(rt):
    for _ in range(4):
        for dtype in ("f4", "f8", "c16"):
            for shape in ((2, 3), (3, 2), (1, 3)):
                for order in "CF":
                    n = np.asarray(RNG.standard_normal(shape), dtype, order=order)
                    x = rt.variable_from(tfr.Tensor.from_numpy(n))
                    g = rt.grad(tfr.real(tfr.sum(x.T * x.T * x.T)), x).detach().numpy()
                    assert g.dtype == dtype
                    np.testing.assert_allclose(g, np.conj(3 * n * n), rtol=1e-5)


def test_targets_are_part_of_the_key(rt):
    for _ in range(4):
        x, w, b = data(rt)
        h = x @ w
        y = tfr.sum(tfr.tanh(h + b))
        s = 1 / np.cosh(h.detach().numpy() + b.detach().numpy()) ** 2
        np.testing.assert_allclose(rt.grad(y, b).detach().numpy(), s.sum(0))
        np.testing.assert_allclose(rt.grad(y, h).detach().numpy(), s)
        both = rt.grad(y, [w, h])
        np.testing.assert_allclose(both[0].detach().numpy(), x.numpy().T @ s)
        np.testing.assert_allclose(both[1].detach().numpy(), s)


def test_higher_orders_after_hits(rt):
    def third(x):
        g = rt.grad(tfr.sum(tfr.exp(x) * x), x)
        h = rt.grad(tfr.sum(g * g), x)
        return rt.jvp(h, x, np.ones(x.shape))

    for _ in range(6):
        x = rt.variable_from(RNG.uniform(0.1, 1, 4))
        n = x.detach().numpy()
        f1, f2, f3 = (n + 1) * np.exp(n), (n + 2) * np.exp(n), (n + 3) * np.exp(n)
        np.testing.assert_allclose(third(x).detach().numpy(), 2 * (f2 * f2 + f1 * f3), rtol=1e-12)


def test_a_lazily_recorded_gradient_is_expanded_under_no_grad(rt):
    for _ in range(4):
        x = rt.variable_from([1.0, 2.0])
        g = rt.grad(tfr.sum(x * x * x), x)
        with rt.no_grad():
            h = rt.vjp(g, x, [1.0, 1.0])
        np.testing.assert_allclose(h.numpy(), 6 * x.detach().numpy())
        assert not h.tracks_grad and g.tracks_grad


def test_backward_through_a_gradient(rt):
    for _ in range(5):
        x = rt.variable_from([1.0, 2.0])
        penalty = tfr.sum(tfr.square(rt.grad(tfr.sum(x * x * x), x)))
        penalty.backward()
        np.testing.assert_allclose(x.grad.numpy(), 36 * x.detach().numpy() ** 3)


def test_limits_evict_at_once_the_least_recently_used(rt):
    def sweep(n):
        x = rt.variable_from(np.ones(n))
        for _ in range(3):
            tfr.sum(x * x).backward()

    for n in (2, 3, 4):
        sweep(n)
    assert rt.cache_stats().ad_transforms.entries == 3
    sweep(2)
    rt.ad_transform_cache_limits = CacheLimits(max_entries=2)
    assert rt.cache_stats().ad_transforms.entries == 2
    assert rt.cache_stats().ad_transforms.evictions == 1
    x = rt.variable_from(np.ones(2))
    assert rules_in(tfr.sum(x * x).backward)[0] == 0
    x = rt.variable_from(np.ones(3))
    assert rules_in(tfr.sum(x * x).backward)[0] > 0
    rt.prepared_derivative_cache_limits = CacheLimits(max_entries=1)
    assert rt.cache_stats().prepared_derivatives.entries == 1


def test_limits_of_one(rt):
    rt.ad_transform_cache_limits = rt.prepared_derivative_cache_limits = CacheLimits(max_entries=1)
    for _ in range(5):
        for n in (2, 3):
            x = rt.variable_from(np.arange(1.0, n + 1))
            tfr.sum(x * x).backward()
            np.testing.assert_array_equal(x.grad.numpy(), 2 * np.arange(1.0, n + 1))
    assert rt.cache_stats().ad_transforms.entries == rt.cache_stats().prepared_derivatives.entries == 1


def test_what_exceeds_the_byte_limit_is_not_kept(rt):
    rt.ad_transform_cache_limits = CacheLimits(max_retained_bytes=10)
    x = rt.variable_from([1.0, 2.0])
    for _ in range(4):
        assert rules_in(tfr.sum(x * x).backward)[0] > 0
    assert rt.cache_stats().ad_transforms.entries == 0


def test_clearing(rt):
    x = rt.variable_from([1.0, 2.0])

    def sweep():
        tfr.sum(x * x).backward()

    for _ in range(3):
        sweep()
    rt.clear_prepared_derivative_cache()
    stats = rt.cache_stats()
    assert stats.prepared_derivatives.entries == 0 and stats.ad_transforms.entries == 1
    assert rules_in(sweep)[0] == 0                     # bound again, without a rule
    rt.clear_ad_transform_caches()
    assert rt.cache_stats().ad_transforms.entries == 0
    assert rules_in(sweep)[0] > 0
    assert rt.cache_stats().ad_transforms.clears == 1


def test_runtimes_of_one_context_share_transforms():
    ad = AdContext()
    first, second = EagerRuntime.with_ad_context(ad), EagerRuntime.with_ad_context(ad)
    for _ in range(2):
        x = first.variable_from([1.0, 2.0])
        tfr.sum(x * x).backward()
    y = second.variable_from([3.0, 4.0])
    assert rules_in(tfr.sum(y * y).backward)[0] == 0
    assert y.grad.tolist() == [6.0, 8.0]
    assert second.cache_stats().ad_transforms.entries == 1


def test_many_structures_seen_once_leave_nothing_behind(rt):
    x = rt.variable_from(np.ones(3))
    for n in range(1, 200):
        y = x
        for _ in range(n):
            y = y * x
        tfr.sum(y).backward()
    assert rt.cache_stats().ad_transforms.entries == 0


def test_two_threads_on_one_key(rt):
    errors = []

    def work(seed):
        rng = np.random.default_rng(seed)
        try:
            for _ in range(200):
                n = rng.standard_normal(2000)
                x = rt.variable_from(n)
                g = rt.grad(tfr.sum(tfr.exp(x) * x), x)
                np.testing.assert_allclose(g.detach().numpy(), np.exp(n) * (n + 1), rtol=1e-12, atol=1e-13)
                y = tfr.sum(tfr.exp(x) * x)
                with rt.no_grad():
                    g, = rt.grad(y, [x])
                np.testing.assert_allclose(g.numpy(), np.exp(n) * (n + 1), rtol=1e-12, atol=1e-13)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_a_failing_program_leaves_slots_as_they_were(rt):
    x = rt.variable_from([1.0, 2.0])
    for _ in range(3):
        x.clear_grad()
        tfr.sum(tfr.exp(x)).backward()
    before = x.grad.tolist()
    y = tfr.sum(tfr.exp(x))
    with pytest.raises(tfr.errors.UnsupportedError):
        y.backward(engine=tfr.ExecutionEngine())
    assert x.grad.tolist() == before
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.array(before))


def test_results_do_not_alias_the_program(rt):
    kept = []
    for k in range(6):
        x = rt.variable_from([1.0 + k, 2.0])
        kept.append((rt.grad(tfr.sum(x * x), x), 2 * x.detach().numpy()))
    for g, e in kept:
        np.testing.assert_array_equal(g.detach().numpy(), e)


def test_long_chains_are_not_kept(rt):
    x = rt.variable_from(1.0)
    for _ in range(3):
        y = x
        for _ in range(120_000):
            y = y * 1.0
        y.backward()
    assert rt.cache_stats().ad_transforms.entries == 0
    assert x.grad.item() == 3.0
