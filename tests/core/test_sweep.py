"""The tape and its sweeps: depth, sharing, accumulation, several targets, threads, failures."""

import gc
import signal
import sys
import threading
import time
import traceback

import numpy as np
import pytest
from support import live, value

import tenferro as tfr
from tenferro.errors import (
    ContextMismatchError,
    DTypeMismatchError,
    NonScalarGradError,
    ShapeMismatchError,
    UnsupportedError,
    ValidationError,
)


def leaf(x):
    return tfr.variable(np.asarray(x, float))


def chain(x, n):
    y = x
    for _ in range(n):
        y = y + x
    return y


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# ---- depth and lifetime ---------------------------------------------------------------------------------------------


def test_a_million_nodes(no_collector):
    def use(n):
        x = leaf(1.0)
        before = live()[0]
        y = chain(x, n)
        assert live()[0] >= before + n
        y.backward()
        assert value(x.grad) == n + 1
        assert value(x.runtime.jvp(y, x, 2.0)) == 2.0 * (n + 1)
        assert value(x.runtime.vjp(y, x, 3.0)) == 3.0 * (n + 1)

    use(10)                             # constants like 2.0 are kept for reuse
    before = live()
    use(1_000_000)
    assert live() == before


def test_nothing_is_left_alive(no_collector):
    def use():
        x, y = leaf(np.ones((3, 4))), leaf(np.ones(4))
        rt = x.runtime
        z = tfr.sum(x * y * x)
        z.backward()
        z.backward()
        g = rt.grad(z, [x, y])
        h = rt.vjp(g, [x, y], [np.ones((3, 4)), np.ones(4)])
        rt.jvp(h[0], [x, y], [np.ones((3, 4)), np.ones(4)])
        with pytest.raises(ValidationError):
            rt.grad(z, leaf(1.0))
        with pytest.raises(UnsupportedError):
            z.backward(engine=tfr.ExecutionEngine())

    use()
    before = live()
    for _ in range(3):
        use()
    assert live() == before


def test_a_graph_lives_as_long_as_its_last_handle(no_collector):
    x = leaf(np.ones(100))
    before = live()
    y = x * x
    g = x.runtime.grad(tfr.sum(y), x)
    del y
    h = x.runtime.grad(tfr.sum(g), x)
    np.testing.assert_array_equal(value(h), np.full(100, 2.0))
    del g, h
    assert live() == before


# ---- sharing and accumulation ---------------------------------------------------------------------------------------


def test_diamonds_are_visited_once():
    x = leaf(1.0)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert value(x.grad) == 2.0**60
    assert value(x.runtime.jvp(y, x, 1.0)) == 2.0**60


def test_a_leaf_used_a_thousand_times():
    x = leaf([1.0, 2.0])
    y = x * 0.0
    for k in range(1000):
        y = y + x * float(k)
    s = tfr.sum(y)
    assert len(s.backward()) == 1
    np.testing.assert_array_equal(value(x.grad), [499500.0, 499500.0])


def test_gradients_accumulate_until_cleared():
    x, z = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = tfr.sum(x * z)
    assert x.grad is None
    for k in (1, 2, 3):
        y.backward()
        np.testing.assert_array_equal(value(x.grad), k * np.array([3.0, 4.0]))
    snapshot = x.grad
    tfr.sum(x).backward()
    np.testing.assert_array_equal(value(snapshot), [9.0, 12.0])
    np.testing.assert_array_equal(value(x.grad), [10.0, 13.0])
    assert not snapshot.tracks_grad
    x.clear_grad()
    assert x.grad is None
    np.testing.assert_array_equal(value(z.grad), [3.0, 6.0])
    y.runtime.clear_grads()
    assert z.grad is None


def test_leaves_that_share_a_cotangent():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    grads = (x + y).backward_with(np.array([5.0, 6.0]))
    (x + x + y).backward_with(np.array([1.0, 1.0]))
    np.testing.assert_array_equal(value(x.grad), [7.0, 8.0])
    np.testing.assert_array_equal(value(y.grad), [6.0, 7.0])
    assert grads[x] is not grads[y]
    np.testing.assert_array_equal(value(grads[x]), [5.0, 6.0])


def test_unrelated_leaves_are_left_alone():
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    (b * b).backward()
    (a * c).backward()
    unused = c * b
    assert value(b.grad) == 4.0
    assert value(a.grad) == 3.0
    assert value(c.grad) == 1.0
    assert unused.grad is None


def test_gradients_mapping():
    x, y, z = leaf([1.0, 2.0]), leaf(3.0), leaf(4.0)
    grads = tfr.sum(x * y).backward()
    assert len(grads) == 2
    assert x in grads
    assert z not in grads
    assert tfr.constant(1.0) not in grads
    assert {id(t) for t in grads} == {id(x), id(y)}
    assert value(grads[y]) == 3.0
    assert grads.get(z) is None
    with pytest.raises(KeyError):
        grads[z]
    np.testing.assert_array_equal(value(grads.take(x)), [3.0, 3.0])
    assert x not in grads
    assert grads.take(x) is None


def test_a_leaf_is_its_own_gradient_target():
    x = leaf(2.0)
    x.backward()
    assert value(x.grad) == 1.0
    assert value(x.runtime.grad(x, x)) == 1.0
    assert value(x.runtime.jvp(x, x, 5.0)) == 5.0


def test_gradients_of_handles_that_are_gone():
    def graph():
        x = leaf([1.0, 2.0])
        return tfr.sum(x * x)

    y = graph()
    (x, g), = y.backward().items()
    np.testing.assert_array_equal(value(g), 2 * value(x))
    np.testing.assert_array_equal(value(x.grad), [2.0, 4.0])


# ---- several targets and outputs ------------------------------------------------------------------------------------


def test_a_target_that_depends_on_another():
    rng = np.random.default_rng(0)
    a, c, ta, tb = rng.normal(size=(4, 3))
    x = leaf(a)
    b = x * x
    y = b * x
    rt = x.runtime
    gx, gb = rt.vjp(y, [x, b], c)
    np.testing.assert_allclose(value(gb), c * a)
    np.testing.assert_allclose(value(gx), c * 3 * a * a)
    t = rt.jvp(y, [x, b], [ta, tb])
    np.testing.assert_allclose(value(t), 3 * a * a * ta + a * tb)
    np.testing.assert_allclose(c @ value(t), value(gx) @ ta + value(gb) @ tb)
    np.testing.assert_allclose(value(rt.vjp(y, b, c)), c * a)
    np.testing.assert_allclose(value(rt.jvp(y, b, tb)), a * tb)


def test_the_same_target_twice():
    x = leaf([1.0, 2.0])
    y = x * x
    rt = x.runtime
    first, second = rt.vjp(y, [x, x], np.ones(2))
    assert first is not second
    np.testing.assert_array_equal(value(first), [2.0, 4.0])
    np.testing.assert_array_equal(value(second), [2.0, 4.0])
    np.testing.assert_array_equal(value(rt.jvp(y, [x, x], [np.ones(2), np.ones(2)])), [4.0, 8.0])


def test_several_outputs():
    a, b = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    x, y = leaf(a), leaf(b)
    u = x * y
    v = u * x
    w = y * 2.0
    rt = x.runtime
    cu, cv, cw = np.array([[1.0, -1.0], [2.0, 3.0], [0.5, 7.0]])
    gx, gy = rt.vjp([u, v, w], [x, y], [cu, cv, cw])
    np.testing.assert_allclose(value(gx), cu * b + cv * 2 * a * b)
    np.testing.assert_allclose(value(gy), cu * a + cv * a * a + 2 * cw)
    np.testing.assert_allclose(value(rt.vjp([u, u], x, [cu, cv])), (cu + cv) * b)
    tu, tv, tw = rt.jvp_optional([u, v, w], [x], [cu])
    np.testing.assert_allclose(value(tu), b * cu)
    np.testing.assert_allclose(value(tv), 2 * a * b * cu)
    assert tw is None
    with pytest.raises(ValidationError):
        rt.jvp([u, v, w], [x], [cu])


def test_an_intermediate_target_stops_nothing():
    """A target that is also passed through hands its cotangent on."""
    x = leaf([1.0, 2.0])
    m = x * 3.0
    y = m * m
    gm, gx, gy = x.runtime.vjp(y, [m, x, y], np.ones(2))
    np.testing.assert_array_equal(value(gy), [1.0, 1.0])
    np.testing.assert_array_equal(value(gm), [6.0, 12.0])
    np.testing.assert_array_equal(value(gx), [18.0, 36.0])


def test_inactive_targets():
    x, z = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    y, rt = x * x, x.runtime
    other = z * z
    constant = tfr.constant([1.0, 2.0])
    for wrt in (z, [x, z], constant, other, constant * 2.0):
        many = isinstance(wrt, list)
        with pytest.raises(ValidationError, match="inactive") as e:
            rt.vjp(y, wrt, np.ones(2))
        assert e.value.argument == "wrt"
        with pytest.raises(ValidationError) as e:
            rt.grad(tfr.sum(y), wrt)
        assert e.value.argument == "wrt"
        found = rt.vjp_optional(y, wrt, np.ones(2))
        assert found[1] is None if many else found is None
        found = rt.grad_optional(tfr.sum(y), wrt)
        assert found[1] is None if many else found is None
        if not many:
            with pytest.raises(ValidationError) as e:
                rt.jvp(y, wrt, np.ones(2))
            assert e.value.argument == "wrt"
            assert rt.jvp_optional(y, wrt, np.ones(2)) is None
    with pytest.raises(ValidationError):
        rt.grad(tfr.sum(constant), x)
    assert rt.jvp_optional([y, other], x, np.ones(2))[1] is None


def test_younger_targets_and_outputs():
    """A target recorded after the output is inactive; an output older than every target is skipped."""
    x = leaf(2.0)
    early = x * x
    late = early * x
    rt = x.runtime
    assert rt.vjp_optional(early, late, 1.0) is None
    assert rt.jvp_optional(early, late, 1.0) is None
    assert value(rt.vjp([early, late], early, [1.0, 1.0])) == 3.0


# ---- results --------------------------------------------------------------------------------------------------------


def dense(t):
    a = value(t)
    return a.flags.c_contiguous or a.flags.f_contiguous


def test_results_are_dense():
    x = leaf(np.arange(12.0).reshape(3, 4))
    s = tfr.sum(x)
    rt = x.runtime
    s.backward()
    assert dense(x.grad)
    assert dense(s.backward()[x])
    assert dense(rt.grad(s, x))
    assert dense(rt.vjp(x + 1.0, x, tfr.constant(np.ones((6, 8))[::2, ::-2], copy=False)))
    assert dense(rt.jvp(x + 1.0, x, tfr.constant(np.broadcast_to(1.0, (3, 4)), copy=False)))
    np.testing.assert_array_equal(value(x.grad), np.full((3, 4), 2.0))


def test_a_dense_result_is_still_differentiable():
    x = leaf([1.0, 2.0, 3.0])
    s = tfr.sum(x)
    g = x.runtime.grad(s * s, x)
    assert dense(g)
    np.testing.assert_array_equal(value(x.runtime.vjp(g, x, [1.0, 0.0, 0.0])), [2.0, 2.0, 2.0])


def test_results_do_not_share_foreign_memory():
    c = np.ones(1000)
    x = leaf(np.zeros(1000))
    y = x + 1.0
    rt = x.runtime
    results = [y.backward_with(c)[x], x.grad, rt.vjp(y, x, c), rt.jvp(y, x, c)]
    view = tfr.constant(c, copy=False)
    results += [rt.vjp(y, x, view), rt.jvp(y, x, view)]
    c[:] = 7.0
    for r in results:
        np.testing.assert_array_equal(value(r), np.ones(1000))


def test_results_are_handles_of_their_own():
    x, c = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x + 1.0
    rt = x.runtime
    for r in (rt.vjp(y, x, c), rt.jvp(y, x, c), rt.vjp(y, y, c)):
        assert r is not c
        assert r.tracks_grad
        assert r.grad is None
        np.testing.assert_array_equal(value(rt.vjp(r, c, [1.0, 5.0])), [1.0, 5.0])
        r.backward_with([1.0, 1.0])
        assert r.grad is None
    np.testing.assert_array_equal(value(c.grad), [3.0, 3.0])


def test_backward_is_untracked_whatever_the_cotangent():
    x, c = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    grads = (x * x).backward_with(c)
    assert not grads[x].tracks_grad
    assert not x.grad.tracks_grad
    assert c.grad is None


def test_nothing_is_recorded_in_no_grad():
    x, c = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y, rt = x * x, x.runtime
    with tfr.no_grad():
        results = [rt.vjp(y, x, c), rt.jvp(y, x, c), rt.vjp(y, y, c), rt.jvp(x, x, c)]
    assert not any(r.tracks_grad for r in results)
    assert rt.vjp(y, x, c).tracks_grad


def test_higher_orders():
    x = leaf(2.0)
    y = x * x * x * x
    rt = x.runtime
    derivatives = []
    for _ in range(5):
        y = rt.grad_optional(y, x)
        if y is None:
            break
        derivatives.append(float(value(y)))
    assert derivatives[:4] == [32.0, 48.0, 48.0, 24.0]
    assert all(d == 0 for d in derivatives[4:])


# ---- arguments ------------------------------------------------------------------------------------------------------


def test_wrong_cotangents():
    x = leaf([1.0, 2.0])
    y, rt = x * x, x.runtime
    for call in (lambda c: rt.vjp(y, x, c), lambda c: rt.jvp(y, x, c), y.backward_with):
        for wrong in (np.ones(3), np.ones((1, 2)), 1.0, [[1.0], [1.0]]):
            with pytest.raises(ShapeMismatchError) as e:
                call(wrong)
            assert e.value.expected == (2,)
            assert e.value.actual == np.shape(wrong)
        single = np.ones(2, "f4")
        for wrong in (single, tfr.constant(single), np.ones(2, int), np.ones(2, complex), [1j, 1.0]):
            with pytest.raises(DTypeMismatchError):
                call(wrong)
        call([1, 2])
        call(np.ones(2))
    with pytest.raises(ValidationError):
        rt.vjp([y, y], x, [np.ones(2)])
    with pytest.raises(ValidationError):
        rt.jvp(y, [x, x], [np.ones(2)])
    np.testing.assert_array_equal(value(x.grad), [4.0, 12.0])       # of the two calls of backward_with that were right


def test_scalars_only():
    x = leaf([1.0, 2.0])
    for f in ((x * x).backward, lambda: x.runtime.grad(x * x, x)):
        with pytest.raises(NonScalarGradError) as e:
            f()
        assert e.value.shape == (2,)
    with pytest.raises(NonScalarGradError):
        tfr.sum(x * x, axis=0, keepdims=True).backward()
    assert x.grad is None


def test_untracked_and_foreign_tensors():
    x = leaf(1.0)
    y = x * x
    with pytest.raises(ValidationError) as e:
        tfr.constant(1.0).backward()
    assert e.value.argument == "output"
    other = tfr.EagerRuntime()
    with pytest.raises(ContextMismatchError):
        other.grad(y, x)
    with pytest.raises(ValidationError):
        x.runtime.grad(y, 1.0)


def test_complex_scalar():
    z = tfr.variable(np.array([1 + 2j, 3 - 1j]))
    s = tfr.sum(z * z)
    s.backward()
    np.testing.assert_array_equal(value(z.grad), np.conj(2 * np.array([1 + 2j, 3 - 1j])))


# ---- failures -------------------------------------------------------------------------------------------------------


def test_a_failed_sweep_changes_no_slot():
    x = leaf([1.0, 2.0])
    m = x * x
    z = leaf([3.0, 4.0])                # reached before the multiplication fails
    y = tfr.sum(m + z)
    y.backward()
    (m + z).backward_with(np.ones(2))
    before = value(x.grad).copy(), value(z.grad).copy()
    for _ in range(2):
        with pytest.raises(UnsupportedError):
            (m + z).backward_with(np.ones(2), engine=tfr.ExecutionEngine())
    np.testing.assert_array_equal(value(x.grad), before[0])
    np.testing.assert_array_equal(value(z.grad), before[1])
    y.backward()
    np.testing.assert_array_equal(value(z.grad), before[1] + 1)


def by_timer(seconds):
    signal.setitimer(signal.ITIMER_REAL, seconds)


def by_thread(seconds):
    threading.Timer(seconds, signal.raise_signal, (signal.SIGALRM,)).start()


@pytest.fixture
def alarm():
    """Installs a handler of SIGALRM for the test."""
    old = signal.getsignal(signal.SIGALRM)
    yield lambda handler: signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)


def in_sweep(exception):
    return any("tenferro" in f.filename for f in traceback.extract_tb(exception.__traceback__))


@pytest.mark.parametrize("raise_later", [by_timer, by_thread])
def test_an_interrupt_during_a_long_sweep(alarm, raise_later, no_collector):     # whose callbacks may swallow interrupts
    alarm(signal.default_int_handler)
    x, z = leaf(1.0), leaf(1.0)
    y = chain(x, 500_000) + z
    y.backward()
    for _ in range(50):
        before = float(value(x.grad)), float(value(z.grad))
        finished = False
        try:
            raise_later(0.005)
            y.backward()
            finished = True
            deadline = time.monotonic() + 1
            while time.monotonic() < deadline:
                pass
        except KeyboardInterrupt as e:
            if not finished and in_sweep(e):
                break
    else:
        pytest.fail("every sweep ended before its interrupt")
    assert (value(x.grad), value(z.grad)) == before
    y.backward()
    assert (value(x.grad), value(z.grad)) == (before[0] + 500_001.0, before[1] + 1.0)


def test_a_sweep_inside_a_sweep(alarm):
    """The handler of a signal differentiates the graph that is being swept."""
    found = []
    x = leaf(1.0)
    y = chain(x, 200_000)

    def handler(signum, frame):
        y.backward()
        found.append(float(value(x.runtime.jvp(y, x, 1.0))))

    alarm(handler)
    sweeps = 0
    while len(found) < 3:
        by_timer(0.005)
        y.backward()
        sweeps += 1
        assert sweeps < 1000
    by_timer(0)
    assert found == [200_001.0] * len(found)
    assert value(x.grad) == 200_001.0 * (sweeps + len(found))


# ---- threads --------------------------------------------------------------------------------------------------------


@pytest.fixture
def hasty_switches():
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(old)


def run_threads(n, f):
    errors = []

    def guarded(k):
        try:
            f(k)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


@pytest.mark.parametrize("size", [1, 50_000])
def test_threads_with_common_leaves_lose_no_update(hasty_switches, size):
    rounds = 300 if size == 1 else 60
    own = [leaf(np.ones(size)) for _ in range(4)]
    x, z = leaf(np.ones(size)), leaf(np.ones(size))

    def work(k):
        for _ in range(rounds):
            own[k].clear_grad()
            (x * 1.0 + (z + x) * own[k]).backward_with(np.ones(size))

    run_threads(4, work)
    np.testing.assert_array_equal(value(x.grad), np.full(size, 4 * rounds * 2.0))
    np.testing.assert_array_equal(value(z.grad), np.full(size, 4 * rounds * 1.0))
    for y in own:
        np.testing.assert_array_equal(value(y.grad), np.full(size, 2.0))


@pytest.mark.parametrize("size", [1, 50_000])
def test_threads_sweeping_one_graph(hasty_switches, size):
    x = leaf(np.full(size, 2.0))
    y = x
    for _ in range(20):
        y = y * 1.0 + x
    rt = x.runtime
    rounds = 100 if size == 1 else 15

    def work(k):
        for _ in range(rounds):
            if k % 2:
                g = rt.vjp(y, x, np.ones(size))
            else:
                g = rt.jvp(y, x, np.ones(size))
            np.testing.assert_array_equal(value(g), np.full(size, 21.0))
            y.backward_with(np.ones(size))

    run_threads(4, work)
    np.testing.assert_array_equal(value(x.grad), np.full(size, 4 * rounds * 21.0))
