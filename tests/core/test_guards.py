"""Guards and sessions: what they do, their order, their threads, their ends."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tenferro as tfr
from tenferro import EagerRuntime, EagerSession, ExecutionEngine, errors
from tenferro_cpu import CpuEngine


@pytest.fixture
def rt():
    return EagerRuntime()


@pytest.fixture(autouse=True)
def nothing_is_left_open():
    yield
    assert recording()
    assert tfr.constant(1.0).runtime is tfr.default_runtime()


def recording():
    x = tfr.variable(1.0)
    return (x * x).tracks_grad


def on_another_thread(f):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(f).result()


# ---- no_grad ---------------------------------------------------------------------------------------------------------

def test_no_grad_records_nothing():
    x = tfr.variable([1.0, 2.0])
    with tfr.no_grad():
        y = x * x
        inside = tfr.variable([3.0])
        assert inside.tracks_grad
        assert not (inside * 2).tracks_grad
    assert not y.tracks_grad
    assert y.numpy().tolist() == [1, 4]
    assert (inside * 2).tracks_grad


def test_derivatives_inside_no_grad_are_untracked(rt):
    x = rt.variable_from(2.0)
    y = x * x * x
    with rt.no_grad():
        results = [rt.grad(y, x), rt.vjp(y, x, 1.0), rt.jvp(y, x, 1.0)]
    assert [r.tracks_grad for r in results] == [False] * 3
    assert [r.item() for r in results] == [12, 12, 12]
    assert rt.grad(y, x).tracks_grad


def test_no_grad_holds_for_all_runtimes_of_the_thread_only(rt):
    x = tfr.variable(1.0)
    with rt.no_grad():
        assert not (x * x).tracks_grad
        assert on_another_thread(recording)
    assert on_another_thread(recording)


def test_no_grad_nests():
    with tfr.no_grad():
        with tfr.no_grad():
            assert not recording()
        assert not recording()
    assert recording()


def test_no_grad_decorates():
    @tfr.no_grad
    def bare(x, *, times=2):
        """Doc."""
        return x * times, recording()

    @tfr.no_grad()
    def called(x):
        return x * x

    @EagerRuntime().no_grad()
    def failing():
        raise KeyError("mine")

    y, inside = bare(tfr.variable(3.0), times=3)
    assert (y.item(), y.tracks_grad, inside) == (9, False, False)
    assert (bare.__name__, bare.__doc__) == ("bare", "Doc.")
    assert not called(tfr.variable(1.0)).tracks_grad
    assert not called(tfr.variable(1.0)).tracks_grad
    with pytest.raises(KeyError, match="mine"):
        failing()
    assert recording()


def test_no_grad_ends_with_an_exception():
    with pytest.raises(ZeroDivisionError), tfr.no_grad():
        1 / 0
    assert recording()


# ---- guards ----------------------------------------------------------------------------------------------------------

GUARDS = {
    "no_grad": lambda rt: rt.no_grad(),
    "tfr.no_grad": lambda rt: tfr.no_grad(),
    "session": lambda rt: rt.session(),
    "tfr.session": lambda rt: tfr.session(CpuEngine.serial()),
}


@pytest.fixture(params=GUARDS)
def guard(request, rt):
    return GUARDS[request.param](rt)


def test_a_guard_acts_from_enter_only(rt):
    guards = [rt.no_grad(), rt.session()]
    assert recording()
    assert tfr.constant(1.0).runtime is tfr.default_runtime()
    with guards[0]:
        assert not recording()
    with guards[1]:
        assert tfr.constant(1.0).runtime is rt


def test_close_is_idempotent_and_ends_early(guard):
    with guard:
        guard.close()
        guard.close()
        assert recording()
        assert tfr.constant(1.0).runtime is tfr.default_runtime()
    guard.close()


def test_close_before_enter_does_nothing(guard):
    guard.close()
    with guard:
        pass


def test_a_guard_is_entered_once(guard):
    with guard, pytest.raises(errors.RuntimeStateError):
        guard.__enter__()
    with pytest.raises(errors.RuntimeStateError):
        guard.__enter__()


def test_closing_on_another_thread_raises(guard):
    with guard:
        with pytest.raises(errors.RuntimeStateError, match="thread") as e:
            on_another_thread(guard.close)
        assert e.value.op in ("no_grad", "session")
    on_another_thread(guard.close)          # it has ended: nothing to do


@pytest.mark.parametrize("outer", GUARDS)
@pytest.mark.parametrize("inner", GUARDS)
def test_closing_out_of_order_raises(rt, outer, inner):
    a, b = GUARDS[outer](rt), GUARDS[inner](rt)
    a.__enter__()
    b.__enter__()
    with pytest.raises(errors.RuntimeStateError, match="order"):
        a.close()
    assert recording() == ("no_grad" not in outer + inner)
    b.close()
    a.close()


def test_guards_work_with_exit_stacks(rt):
    with contextlib.ExitStack() as stack:
        stack.enter_context(rt.no_grad())
        s = stack.enter_context(rt.session())
        assert isinstance(s, EagerSession)
        assert not recording()


def test_many_threads_have_their_own_guards():
    barrier = threading.Barrier(4)

    def work(k):
        seen = []
        for _ in range(50):
            with tfr.no_grad() if k % 2 else contextlib.nullcontext():
                barrier.wait()
                seen.append(recording())
        return set(seen)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [{True}, {False}, {True}, {False}]


# ---- sessions --------------------------------------------------------------------------------------------------------

def test_session_is_ambient(rt):
    other = EagerRuntime()
    with rt.session() as s:
        assert s.runtime is rt
        assert tfr.variable(1.0).runtime is rt
        with other.session():
            assert tfr.constant([1.0]).runtime is other
            assert on_another_thread(lambda: tfr.constant(1.0).runtime) is tfr.default_runtime()
        assert tfr.constant([1.0]).runtime is rt
    assert tfr.constant([1.0]).runtime is tfr.default_runtime()


def test_with_eager_session_returns_what_f_returns(rt):
    engine = CpuEngine.serial()

    def f(s):
        assert (s.runtime, s.engine) == (rt, engine)
        return tfr.variable([1.0, 2.0]), s

    x, s = rt.with_eager_session(engine, f)
    assert x.runtime is rt
    assert rt.with_eager_session(lambda s: s.engine) is tfr.default_engine()
    assert "closed" in repr(s)


def test_the_exception_of_a_callback_comes_out_unchanged(rt):
    error = KeyError("mine")

    def f(s):
        raise error

    for call in (lambda: rt.with_eager_session(f), lambda: rt.with_eager_session(CpuEngine.serial(), f)):
        with pytest.raises(KeyError) as e:
            call()
        assert e.value is error
        assert e.value.__cause__ is e.value.__context__ is None
    with pytest.raises(KeyboardInterrupt):
        rt.with_eager_session(lambda s: (_ for _ in ()).throw(KeyboardInterrupt))


@pytest.mark.parametrize("args", [(), (1, 2, 3)])
def test_with_eager_session_arguments(rt, args):
    with pytest.raises(TypeError, match="with_eager_session"):
        rt.with_eager_session(*args)


def test_a_session_imports(rt):
    with rt.session() as s:
        a = np.array([1.0, 2.0])
        t = tfr.Tensor.from_numpy(a)
        found = [s.constant_from(a), s.constant_from_host(a), s.variable_from(a), s.constant_from(t)]
        a[:] = 0
    assert [x.tracks_grad for x in found] == [False, False, True, False]
    assert all(x.runtime is rt and x.tolist() == [1, 2] for x in found)
    with rt.session() as s, pytest.raises(errors.ValidationError):
        s.variable_from([1, 2])


@pytest.mark.parametrize("use", [
    lambda s: s.constant_from([1.0]), lambda s: s.constant_from_host([1.0]), lambda s: s.variable_from([1.0]),
])
def test_a_session_is_not_used_after_its_end(rt, use):
    with rt.session() as s:
        use(s)
    kept = [s, rt.with_eager_session(lambda s: s)]
    with pytest.raises(ZeroDivisionError):
        rt.with_eager_session(lambda s: kept.append(s) or 1 / 0)
    guard = rt.session()
    with guard as early:
        guard.close()
    for ended in (*kept, early):
        with pytest.raises(errors.RuntimeStateError, match="session"):
            use(ended)
        assert ended.runtime is rt


# ---- which engine ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("engine", ["cpu", NotImplemented, 1, CpuEngine], ids=str)
def test_foreign_engines(rt, engine):
    x = rt.variable_from(1.0)
    for call in (lambda: rt.with_eager_session(engine, lambda s: 1), lambda: rt.session(engine).__enter__(),
                 lambda: EagerRuntime(engine), lambda: rt.grad(x * x, x, engine=engine),
                 lambda: (x * x).backward(engine=engine), lambda: tfr.set_default_engine(engine)):
        with pytest.raises(errors.UnsupportedError) as e:
            call()
        assert isinstance(e.value, NotImplementedError)
    assert x.grad is None


def test_an_identity_conflict(rt):
    one, two = ExecutionEngine("gpu0", "gpu", 0), ExecutionEngine("gpu1", "gpu", 1)
    rt.with_eager_session(one, lambda s: None)
    with pytest.raises(errors.UnsupportedError) as e:
        rt.with_eager_session(two, lambda s: pytest.fail("the callback runs"))
    assert e.value.engine == "gpu1"
    rt.with_eager_session(one, lambda s: None)
    rt.with_eager_session(ExecutionEngine("again", "gpu", 0), lambda s: None)
    EagerRuntime().with_eager_session(two, lambda s: None)
    with pytest.raises(errors.UnsupportedError):
        rt.session(two).__enter__()


def test_fresh_cpu_engines_never_conflict(rt):
    for _ in range(3):
        assert rt.with_eager_session(CpuEngine.serial(), lambda s: tfr.constant(1.0) + 1).item() == 2


def lame(name):
    """An engine of host memory without kernels: whatever runs on it says so."""
    return ExecutionEngine(name)


def engine_of(f):
    with pytest.raises(errors.UnsupportedError) as e:
        f()
    return e.value.engine


def test_precedence_of_engines():
    rt, plain = EagerRuntime(lame("default of the runtime")), EagerRuntime()
    x, y = rt.variable_from(2.0), plain.variable_from(2.0)
    assert engine_of(lambda: x * x) == "default of the runtime"
    assert (y * y).item() == 4
    with rt.session(CpuEngine.serial()):
        z = x * x
        with rt.session(lame("inner session")):
            assert engine_of(lambda: x * x) == "inner session"
            assert (y * y).item() == 4                      # the session is another runtime's
            with plain.session(CpuEngine.serial()):
                assert engine_of(lambda: x * x) == "inner session"
            assert engine_of(lambda: rt.grad(z, x, engine=lame("argument"))) == "argument"
            assert rt.grad(z, x, engine=CpuEngine.serial()).item() == 4
            assert z.backward(engine=CpuEngine.serial())[x].item() == 4
        assert x.grad.item() == 4
    assert engine_of(lambda: rt.with_eager_session(lambda s: x * x)) == "default of the runtime"
    assert rt.with_eager_session(CpuEngine.serial(), lambda s: x * x).item() == 4


def test_default_engine_of_the_process():
    before = tfr.default_engine()
    engine = lame("default of the process")
    try:
        assert tfr.set_default_engine(engine) is before
        assert tfr.default_engine() is engine
        x = tfr.variable(2.0)
        assert engine_of(lambda: x * x) == "default of the process"
    finally:
        tfr.set_default_engine(before)
    assert (x * x).item() == 4
