"""checkpoint: the derivatives of the plain function, with less memory, and failures that leave nothing behind."""

import collections
import gc
import itertools
import threading

import numpy as np
import pytest
from support import live, sample, value

import tenferro as tfr
from tenferro import errors
from tenferro.testing import check_grads

Pair = collections.namedtuple("Pair", "left right")


def wave(x):
    return tfr.sin(x) * tfr.exp(x * x / 4) + x


def same(a, b):
    np.testing.assert_array_equal(value(a), value(b))
    assert a.dtype == b.dtype


@pytest.fixture
def x():
    return tfr.variable(sample(np.random.default_rng(0), (5,), float))


# ---- derivatives -----------------------------------------------------------------------------------------------------

def test_value_and_gradient_are_those_of_the_plain_function(x):
    plain, kept = wave(x), tfr.checkpoint(wave)(x)
    same(kept, plain)
    assert kept.tracks_grad
    rt = x.runtime
    c = np.arange(5.0)
    same(rt.vjp(kept, x, c), rt.vjp(plain, x, c))
    same(rt.jvp(kept, x, c), rt.jvp(plain, x, c))
    tfr.sum(kept).backward()
    same(x.grad, rt.grad(tfr.sum(plain), x))


def test_check_grads():
    rng = np.random.default_rng(1)
    a, b = sample(rng, (2, 3), float), sample(rng, (3,), float)
    check_grads(tfr.checkpoint(wave), (b,))
    check_grads(tfr.checkpoint(lambda a, b: tfr.tanh(tfr.matmul(a, b)) * tfr.sum(b)), (a, b))
    check_grads(tfr.checkpoint(lambda a, b: (a * b, tfr.sum(a * a))), (a, b))
    check_grads(tfr.checkpoint(lambda z: tfr.abs(z) ** 2 * z), (b + 1j,))


@pytest.mark.parametrize("names", list(itertools.product(("grad", "vjp", "jvp"), repeat=3)), ids="-".join)
def test_third_derivative(names):
    modes = {"grad": tfr.grad, "vjp": lambda f: lambda x: tfr.vjp(f, x)[1](1.0)[0],
             "jvp": lambda f: lambda x: tfr.jvp(f, (x,), (1.0,))[1]}
    f = tfr.checkpoint(lambda x: x ** 5)
    for name in names:
        f = modes[name](f)
    np.testing.assert_allclose(f(1.5).item(), 60 * 1.5 ** 2, rtol=1e-14)


def test_a_transform_inside_and_checkpoints_of_transforms():
    cube = tfr.checkpoint(lambda x: tfr.grad(lambda y: y ** 3 * x)(x))       # 3 x**3
    assert tfr.grad(cube)(2.0).item() == 36
    assert tfr.grad(tfr.checkpoint(tfr.grad(tfr.checkpoint(lambda x: x ** 3))))(2.0).item() == 12


def test_tracked_tensors_that_are_no_arguments():
    w, b = tfr.variable(3.0), tfr.variable(4.0)
    scaled = w * w                                  # no leaf, no argument

    def f(x):
        return tfr.sum(scaled * x * x) + b
    y = tfr.checkpoint(f)(np.array([1.0, 2.0]))
    assert y.item() == 9 * 5 + 4
    rt = w.runtime
    assert rt.grad(y, w).item() == 6 * 5
    assert rt.grad(y, scaled).item() == 5
    assert rt.grad(rt.grad(y, w), w).item() == 2 * 5
    assert rt.jvp(y, w, 1.0).item() == 6 * 5
    assert rt.jvp(y, [w, b], [1.0, 10.0]).item() == 6 * 5 + 10
    y.backward()
    assert (w.grad.item(), b.grad.item()) == (30, 1)
    outer = tfr.grad(lambda w: tfr.checkpoint(lambda x: w ** 3 * x)(2.0))
    assert outer(5.0).item() == 3 * 25 * 2
    assert tfr.grad(outer)(5.0).item() == 6 * 5 * 2


def test_the_same_tensor_as_argument_and_closure(x):
    y = tfr.checkpoint(lambda a, b: tfr.sum(a * b * x))(x, x)
    np.testing.assert_allclose(value(x.runtime.grad(y, x)), 3 * value(x) ** 2)


def test_results_that_are_arguments_or_closures(x):
    w = tfr.variable(2.0)
    a, b = tfr.checkpoint(lambda x: (x, w))(x)
    same(x.runtime.vjp(a, x, np.arange(5.0)), tfr.constant(np.arange(5.0)))
    assert x.runtime.grad(b, w).item() == 1


def test_containers_and_other_things():
    rng = np.random.default_rng(2)
    x, y = tfr.variable(sample(rng, (3,), float)), tfr.variable(sample(rng, (3,), float))
    seen = []

    def f(pair, scale, *, options):
        seen.append((scale, options["name"], options["n"].dtype))
        return {"sum": pair.left * scale + pair.right, "rest": [tfr.sum(pair.left * pair.right),
                tfr.argmax(pair.left), "text", None]}
    arguments = Pair(x, y), 2.0
    options = {"options": {"name": "n", "n": tfr.constant([1, 2])}}
    found, plain = tfr.checkpoint(f)(*arguments, **options), f(*arguments, **options)
    assert found.keys() == plain.keys()
    assert found["rest"][1].item() == plain["rest"][1].item()
    assert not found["rest"][1].tracks_grad
    assert found["rest"][2:] == ["text", None]
    rt = x.runtime
    for out in (lambda d: d["sum"], lambda d: d["rest"][0]):
        c = np.ones(out(plain).shape)
        for a, b in zip(rt.vjp(out(found), [x, y], c), rt.vjp(out(plain), [x, y], c)):
            same(a, b)
    t = [np.ones(3), np.arange(3.0)]
    both = (rt.jvp([d["sum"], d["rest"][0]], [x, y], t) for d in (found, plain))
    for a, b in zip(*both):
        same(a, b)
    assert set(seen) == {(2.0, "n", np.dtype("int64"))}


def test_untracked_arguments_are_kept_apart_from_later_writes():
    w = tfr.variable(np.ones(2))
    a = np.array([1.0, 2.0])
    y = tfr.checkpoint(lambda w, a: tfr.sum(w * a))(w, a)
    a[:] = 7
    assert value(w.runtime.grad(y, w)).tolist() == [1, 2]


def test_gradients_of_untracked_arguments_are_not_computed():
    w, x = tfr.variable(2.0), tfr.constant(3.0)
    seen = []

    @tfr.custom_op(vjp=lambda g, out, x: seen.append("x") or g)
    def watched(x):
        return x
    y = tfr.checkpoint(lambda w, x: w * watched(x))(w, x)
    assert w.runtime.grad(y, w).item() == 3
    assert not seen


def test_dtypes_are_those_of_the_plain_function():
    rng = np.random.default_rng(3)
    x, z = tfr.variable(sample(rng, (3,), np.float32)), tfr.variable(sample(rng, (3,), complex))

    def f(x, z):
        return x * 2, tfr.abs(z) * x
    rt = x.runtime
    seeds = [np.ones(3, np.float32), np.ones(3)]
    for a, b in zip(rt.vjp(tfr.checkpoint(f)(x, z), [x, z], seeds), rt.vjp(f(x, z), [x, z], seeds)):
        same(a, b)


# ---- what it saves ---------------------------------------------------------------------------------------------------

def test_memory():
    n, depth, blocks = 1000, 8, 5

    def block(x):
        for _ in range(depth):
            x = tfr.sin(x) * x              # keeps two values
        return x

    def held(block):
        gc.collect()
        x = tfr.variable(np.linspace(0.5, 1.0, n))
        before = live()[1]
        y = x
        for _ in range(blocks):
            y = block(y)
        bytes_held = live()[1] - before
        return bytes_held, value(x.runtime.vjp(y, x, np.ones(n)))

    held(tfr.checkpoint(block))             # constants are kept for reuse
    plain, expected = held(block)
    kept, found = held(tfr.checkpoint(block))
    np.testing.assert_array_equal(found, expected)
    assert plain >= 2 * depth * blocks * n * 8
    assert blocks * n * 8 <= kept <= blocks * (n * 8 + 4096)


def test_one_evaluation_for_each_sweep():
    count = 0

    def f(x, y):
        nonlocal count
        count += 1
        return x * y, x + y, tfr.sin(x)
    x, y = tfr.variable(1.0), tfr.variable(2.0)
    outs = tfr.checkpoint(f)(x, y)
    assert count == 1
    x.runtime.vjp(outs, [x, y], [1.0, 1.0, 1.0])
    assert count == 2
    x.runtime.jvp(outs, [x, y], [1.0, 1.0])
    assert count == 3


def test_nothing_is_recorded_without_need():
    calls = []

    def f(x):
        calls.append(x)
        return x * 2.0
    x = tfr.variable(1.0)
    with tfr.no_grad():
        assert not tfr.checkpoint(f)(x).tracks_grad
    assert calls[0] is x
    assert not tfr.checkpoint(f)(3.0 + 0 * x.detach()).tracks_grad
    assert tfr.checkpoint(lambda x: 7)(x) == 7


def test_nothing_is_leaked():
    def use():
        x, w = tfr.variable(np.ones(3)), tfr.variable(2.0)
        f = tfr.checkpoint(lambda x: {"a": tfr.sum(wave(x)) * w, "b": x * w})
        out = f(x)
        x.runtime.grad(x.runtime.grad(out["a"], w), x)
        x.runtime.jvp(out["b"], x, np.ones(3))
        out["a"].backward()
    use()
    gc.collect()
    gc.disable()
    try:
        before = live()
        use()
        assert live() == before
    finally:
        gc.enable()


# ---- failures --------------------------------------------------------------------------------------------------------

class Mine(Exception):
    pass


def test_an_exception_in_the_first_evaluation_leaves_everything_as_before(x):
    def f(x):
        wave(x)
        raise Mine
    gc.collect()
    before = live()
    for _ in range(2):
        with pytest.raises(Mine):
            tfr.checkpoint(f)(x)
        gc.collect()
    assert live() == before
    assert (x * 2.0).tracks_grad


def test_an_exception_in_a_later_evaluation_leaves_everything_as_before(x):
    fail = False

    def f(x):
        if fail:
            raise Mine
        return tfr.sum(wave(x))
    y = tfr.checkpoint(f)(x) + tfr.sum(x * 2.0)
    tfr.sum(x * 3.0).backward()
    rt = x.runtime
    fail = True
    for call in (y.backward, lambda: rt.grad(y, x), lambda: rt.jvp(y, x, np.ones(5))):
        with pytest.raises(Mine):
            call()
        with tfr.no_grad():
            with pytest.raises(Mine):
                call()
            assert not (x * 2.0).tracks_grad
        assert (x * 2.0).tracks_grad
        assert value(x.grad).tolist() == [3] * 5
    fail = False
    y.backward()
    np.testing.assert_allclose(value(x.grad), 5 + value(rt.grad(tfr.sum(wave(x)), x)))


def test_a_function_that_returns_something_else_the_second_time(x):
    outs = iter([lambda x: x, lambda x: tfr.sum(x)])
    y = tfr.checkpoint(lambda x: next(outs)(x))(x)
    with pytest.raises(errors.RuntimeStateError, match=r"\(\), 'float64'.*\(5,\), 'float64'") as e:
        x.runtime.vjp(y, x, np.ones(5))
    assert e.value.op == "checkpoint"


def test_a_rebound_closure_is_found():
    w = tfr.variable(2.0)
    x = tfr.variable(3.0)
    y = tfr.checkpoint(lambda x: w * x)(x)
    w = tfr.variable(5.0)
    with pytest.raises(errors.RuntimeStateError, match="other tracked tensors"):
        x.runtime.grad(y, x)


def test_what_is_no_function():
    with pytest.raises(errors.ValidationError, match="takes a function"):
        tfr.checkpoint(3.0)


def test_other_runtimes(x):
    there = tfr.EagerRuntime().variable_from(2.0)
    with pytest.raises(errors.ContextMismatchError):
        tfr.checkpoint(lambda a, b: a * 2.0)(x, there)


def test_many_threads():
    w = tfr.variable(np.arange(1.0, 5.0))
    f = tfr.checkpoint(lambda x: tfr.sum(x ** 3 * w))
    results = []

    def work():
        for k in range(1, 20):
            g = tfr.grad(f)(np.full(4, float(k)))
            results.append(np.array_equal(value(g), 3.0 * k * k * np.arange(1.0, 5.0)))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4 * 19
    assert all(results)


# ---- capture_trace ---------------------------------------------------------------------------------------------------

def test_inside_capture_trace():
    x, c = tfr.constant(2.0), tfr.constant(3.0)
    rt = x.runtime

    def f(x):
        return x ** 3 * c + tfr.constant(1.0)
    with rt.capture_trace():
        y = tfr.checkpoint(f)(x)
    assert rt.vjp(y, x, 1.0).item() == 36
    assert rt.vjp(y, c, 1.0).item() == 8
    assert [g.item() for g in rt.vjp(y, [c, x], 1.0)] == [8, 36]
    assert rt.jvp(y, x, 1.0).item() == 36
