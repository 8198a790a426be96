"""Engines take turns in one runtime, are shared by threads, refuse foreign memory, and fail without harm to the runtime."""

import threading

import numpy as np
import pytest
from broken import Broken, Failing, elementwise
from installed import ENGINES
from support import value

import tenferro as tfr
from tenferro import EagerRuntime, ExecutionEngine, errors

A = np.linspace(-1, 1, 6).reshape(2, 3)
PAIRS = [(a, b) for a in ENGINES for b in ENGINES]


def loss_and_gradient():
    return np.sum(np.exp(A) * np.sin(A)), np.exp(A) * (np.sin(A) + np.cos(A))


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_successive_calls(first, second):
    """Every operation of a trace by another engine than the one before, and derivatives by either."""
    rt, engines = EagerRuntime(), (ENGINES[first](), ENGINES[second]())
    x = rt.variable_from(A)
    with rt.session(engines[0]) as s:
        e = s.exp(x)
    with rt.session(engines[1]) as s:
        y = s.mul(e, s.sin(x))
    with rt.session(engines[0]) as s:
        y = s.sum(y)
    loss, gradient = loss_and_gradient()
    np.testing.assert_allclose(value(y), loss, rtol=1e-12)
    for engine in engines:
        np.testing.assert_allclose(value(rt.grad(y, x, engine=engine)), gradient, rtol=1e-12)
        np.testing.assert_allclose(value(rt.jvp(y, x, np.ones_like(A), engine=engine)), gradient.sum(), rtol=1e-12)


def test_the_engine_that_is_asked_computes():
    """Not the one that computed last, and not the one that recorded."""
    negated = Broken("exp", elementwise(lambda a: -np.exp(a)))
    cpu, rt = tfr.engine("cpu"), EagerRuntime()
    x = rt.variable_from(A)
    for engine, sign in ((cpu, 1), (negated, -1), (cpu, 1), (negated, -1)):
        with rt.session(engine) as s:
            np.testing.assert_allclose(value(s.exp(x)), sign * np.exp(A), rtol=1e-14)
    with rt.session(cpu), rt.session(negated) as inner:
        assert value(inner.exp(x)).max() < 0


@pytest.mark.parametrize("times", [1, 5])
def test_the_engine_that_is_asked_differentiates(times):
    """Also when a program of the derivative has been made."""
    rt, cpu, negated = EagerRuntime(), tfr.engine("cpu"), Broken("cos", elementwise(lambda a: -np.cos(a)))
    for _ in range(times):
        x = rt.variable_from(A)
        y = tfr.sum(tfr.sin(x) * 2)
        np.testing.assert_allclose(value(rt.grad(y, x, engine=cpu)), 2 * np.cos(A), rtol=1e-14)
        np.testing.assert_allclose(value(rt.grad(y, x, engine=negated)), -2 * np.cos(A), rtol=1e-14)


# ---- identities ------------------------------------------------------------------------------------------------------

def refusal(rt, engine, call):
    with pytest.raises(errors.UnsupportedError) as e:
        call(rt, engine)
    assert (e.value.op, e.value.engine) == ("session", engine.name)
    assert "use a second runtime" in str(e.value)
    return e.value


CALLS = {
    "session": lambda rt, engine: rt.session(engine).__enter__(),
    "with_eager_session": lambda rt, engine: rt.with_eager_session(engine, lambda s: None),
}


@pytest.mark.parametrize("name", CALLS)
def test_another_identity_is_refused(name):
    rt = EagerRuntime()
    x = rt.variable_from(A)
    with rt.session(ExecutionEngine("one", "device", 0)):
        pass
    error = refusal(rt, ExecutionEngine("two", "device", 1), CALLS[name])
    assert "0" in str(error) and "1" in str(error)
    with rt.session(ExecutionEngine("another", "device", 0)):
        pass
    with rt.session(tfr.engine("cpu")) as s:
        np.testing.assert_allclose(value(s.exp(x)), np.exp(A), rtol=1e-14)
    with EagerRuntime().session(ExecutionEngine("two", "device", 1)) as s:
        assert s.engine.context_id == 1


def test_a_gradient_with_another_identity_is_refused():
    rt = EagerRuntime(tfr.engine("cpu"))
    x = rt.variable_from(A)
    y = tfr.sum(x * x)
    refusal(rt, ExecutionEngine("elsewhere", "host", "elsewhere"), lambda rt, engine: rt.grad(y, x, engine=engine))
    np.testing.assert_allclose(value(rt.grad(y, x)), 2 * A)


def test_a_refused_engine_leaves_no_trace():
    rt = EagerRuntime(tfr.engine("cpu"))
    refusal(rt, ExecutionEngine("elsewhere", "host", "elsewhere"), CALLS["session"])
    assert rt.default_engine.name == "cpu"
    with rt.session() as s:
        assert s.engine is rt.default_engine


# ---- threads ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("shared", [True, False])
def test_threads_share_an_engine(name, shared):
    """With one runtime or with their own; every thread gets its own numbers."""
    engine, common, wrong = ENGINES[name](), EagerRuntime(), []
    start = threading.Barrier(4)

    def work(k):
        rt = common if shared else EagerRuntime()
        a = A + k / 8
        start.wait()
        for _ in range(30):
            x = rt.variable_from(a)
            with rt.session(engine) as s:
                y = s.sum(s.mul(s.exp(x), s.sin(x)))
            g = rt.grad(y, x, engine=engine)
            if not np.allclose(value(g), np.exp(a) * (np.sin(a) + np.cos(a)), rtol=1e-12):
                wrong.append((k, value(g)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# ---- failures --------------------------------------------------------------------------------------------------------

def failing(op="exp"):
    return Failing(op, errors.EngineError("the driver is gone", engine="failing"))


def test_a_failure_leaves_runtime_and_engine_usable():
    rt, engine = EagerRuntime(), failing()
    x = rt.variable_from(A)
    with rt.session(engine) as s:
        before = s.mul(x, x)
        with pytest.raises(errors.EngineError, match="driver") as e:
            s.exp(x)
        y = s.sum(s.mul(s.sin(x), before))
    assert e.value.engine == "failing"
    np.testing.assert_allclose(value(rt.grad(y, x, engine=engine)), np.cos(A) * A * A + 2 * A * np.sin(A), rtol=1e-12)


def test_a_failing_engine_is_replaced_in_the_same_runtime():
    """Nothing that it has computed is lost: another engine continues and differentiates."""
    rt, engine = EagerRuntime(), failing()
    x = rt.variable_from(A)
    with rt.session(engine) as s:
        half = s.mul(x, x)
        with pytest.raises(errors.EngineError):
            s.exp(half)
    with rt.session(tfr.engine("cpu")) as s:
        y = s.sum(s.exp(half))
    with pytest.raises(errors.EngineError), rt.session(engine):
        tfr.exp(half)
    np.testing.assert_allclose(value(rt.grad(y, x, engine=tfr.engine("cpu"))), 2 * A * np.exp(A * A), rtol=1e-12)
    assert value(x.detach()).tolist() == A.tolist()


@pytest.mark.parametrize("times", [1, 4])
def test_a_failure_in_a_sweep_leaves_gradients_as_they_were(times):
    """Also when a program of the derivative has been made."""
    rt, cpu = EagerRuntime(), tfr.engine("cpu")
    x = rt.variable_from(A)
    with rt.session(cpu) as s:
        y = s.sum(s.sin(x))
    for _ in range(times):
        y.backward(engine=cpu)
    with pytest.raises(errors.EngineError, match="driver"):
        y.backward(engine=failing("cos"))
    np.testing.assert_allclose(value(x.grad), times * np.cos(A), rtol=1e-14)
    y.backward(engine=cpu)
    np.testing.assert_allclose(value(x.grad), (times + 1) * np.cos(A), rtol=1e-14)
