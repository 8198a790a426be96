"""Extension modules: installing and replacing, their operations, executors per kind of engine, and their rules."""

import gc
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import tenferro as tfr
from tenferro import errors
from tenferro.testing import check_grads


class Module:
    """``scaled(x, factor=2)`` multiplies; what else it declares is up to the test."""

    def __init__(self, module_id="test.scale.v1", rule=True, more=lambda registrar: None, gain=1.0):
        self.module_id, self.rule, self.more, self.gain = module_id, rule, more, gain
        self.configured = 0

    def configure(self, registrar):
        self.configured += 1
        gain = self.gain
        registrar.operation("scaled", lambda x, factor=2: x, lambda x, factor=2: x)
        registrar.executor("scaled", "host", lambda x, factor=2: x * x.dtype.type(factor * gain))
        if self.rule:
            registrar.rule("scaled", vjp=lambda g, out, x, factor=2: g * (factor * gain),
                           jvp=lambda ts, out, x, factor=2: ts[0] * (factor * gain))
        self.more(registrar)


class OtherEngine(tfr.ExecutionEngine):
    """An engine of another kind that has no kernels."""

    def __init__(self):
        super().__init__("other", "otherkind", "other memory")


@pytest.fixture
def rt():
    return tfr.EagerRuntime()


def use(rt, **how):
    return rt.extension("test.scale.v1").scaled(rt.variable_from([1.0, 2.0]), **how)


# ---- calling ---------------------------------------------------------------------------------------------------------


def test_operation_and_its_derivatives(rt):
    rt.install_extension_module(Module())
    x = rt.variable_from([1.0, 2.0])
    y = rt.extension("test.scale.v1").scaled(x, factor=3)
    assert y.tolist() == [3.0, 6.0]
    assert rt.vjp(y, x, [1.0, 10.0]).tolist() == [3.0, 30.0]
    assert rt.jvp(y, x, [1.0, 10.0]).tolist() == [3.0, 30.0]
    assert not rt.extension("test.scale.v1").scaled(np.ones(2)).tracks_grad


def test_second_order():
    rt = tfr.default_runtime()

    class Powers:
        module_id = "test.power.v1"

        def configure(self, registrar):
            for name, n in (("square", 2), ("cube", 3)):
                registrar.operation(name, lambda x: x, lambda x: x)
                registrar.executor(name, "host", lambda x, n=n: x ** n)
            registrar.rule("square", lambda g, out, x: g * 2 * x, lambda ts, out, x: ts[0] * 2 * x)
            registrar.rule("cube", lambda g, out, x: g * 3 * x.runtime.extension(self.module_id).square(x),
                           lambda ts, out, x: ts[0] * 3 * x.runtime.extension(self.module_id).square(x))

    rt.install_extension_module(Powers())
    check_grads(lambda x: x.runtime.extension("test.power.v1").cube(x), [np.array([0.5, 1.5])], order=3)


def test_several_outputs(rt):
    def more(registrar):
        registrar.operation("ends", lambda x: [(), (1,)], lambda x: [x, x])
        registrar.executor("ends", "host", lambda x: (x[0], x[-1:]))
        registrar.rule("ends", lambda g, out, x: tfr.concatenate([g[0].reshape(1), tfr.zeros(x.size - 2), g[1]]))

    rt.install_extension_module(Module(more=more))
    x = rt.variable_from([1.0, 2.0, 3.0])
    first, last = rt.extension("test.scale.v1").ends(x)
    assert (first.item(), last.tolist()) == (1.0, [3.0])
    assert rt.grad(tfr.sum(first * last), x).tolist() == [3.0, 0.0, 1.0]


def test_inputs_of_host_executors_are_read_only_arrays(rt):
    seen = []
    rt.install_extension_module(Module(more=lambda r: (
        r.operation("look", lambda *xs: (), lambda *xs: "f8"),
        r.executor("look", "host", lambda *xs: seen.extend(xs) or 0.0))))
    rt.extension("test.scale.v1").look(rt.variable_from([1.0]), np.ones(2), [3, 4])
    assert [type(x) for x in seen] == [np.ndarray] * 3
    assert [x.tolist() for x in seen] == [[1.0], [1.0, 1.0], [3, 4]]
    assert not any(x.flags.writeable for x in seen)


def test_nothing_is_recorded_inside_an_executor(rt):
    inside = []

    def run(x):
        u = rt.variable_from(x)
        inside.append((u * u).tracks_grad)
        return x

    rt.install_extension_module(Module(more=lambda r: (
        r.operation("look", lambda x: x, lambda x: x), r.executor("look", "host", run))))
    rt.extension("test.scale.v1").look(rt.variable_from([1.0]))
    assert inside == [False]


def test_no_executor_for_the_kind_of_engine(rt):
    rt.install_extension_module(Module())
    text = r"test\.scale\.scaled\.v1.*'otherkind'.*'host'"
    with rt.session(OtherEngine()), pytest.raises(errors.UnsupportedError, match=text) as caught:
        use(rt)
    assert (caught.value.op, caught.value.engine) == ("test.scale.scaled.v1", "other")


def test_executors_are_chosen_by_the_engine_of_the_session(rt):
    rt.install_extension_module(Module(more=lambda r: r.executor("scaled", "otherkind", lambda x, factor=2: x)))
    with rt.session(OtherEngine()) as session:
        assert use(rt).tolist() == [1.0, 2.0]
        with rt.session(tfr.default_engine()):
            assert use(rt).tolist() == [2.0, 4.0]
            assert session.extension("test.scale.v1").scaled([1.0]).tolist() == [1.0]
        bound = session.extension("test.scale.v1").scaled
    with pytest.raises(errors.RuntimeStateError, match="session has ended"):
        bound([1.0])
    with pytest.raises(errors.RuntimeStateError, match="session has ended"):
        session.extension("test.scale.v1")


@pytest.mark.parametrize(("result", "shape", "dtype", "error", "text"), [
    (np.zeros(3), (2,), "f8", errors.ShapeMismatchError, r"gave shape \(3,\), but its shape_rule \(2,\)"),
    (np.zeros(2), (2,), "f4", errors.DTypeMismatchError, "gave dtype float64, but its dtype_rule float32"),
    ("zeros", (2,), "f8", errors.ValidationError, "type str"),
    ((np.zeros(2),), (2,), "f8", errors.ValidationError, "gave tuple; one array is expected"),
    (np.zeros(2), [(2,)], ["f8"], errors.ValidationError, "gave ndarray; a tuple of arrays is expected"),
    ((np.zeros(2),), [(2,), ()], ["f8", "f8"], errors.ValidationError, "gave 1 outputs, but its shape_rule 2"),
    (np.zeros(2), "ab", "f8", errors.ValidationError, "shape_rule gave 'ab'"),
    (np.zeros(2), [(2,)], "f8", errors.ValidationError, "dtype_rule gave 'f8'"),
], ids=["shape", "dtype", "type", "tuple", "no tuple", "count", "shape rule", "dtype rule"])
def test_what_the_rules_promise_is_checked(rt, result, shape, dtype, error, text):
    rt.install_extension_module(Module(more=lambda r: (
        r.operation("odd", lambda: shape, lambda: dtype), r.executor("odd", "host", lambda: result))))
    with rt.session(), pytest.raises(error, match=rf"test\.scale\.odd\.v1.*{text}") as caught:
        rt.extension("test.scale.v1").odd()
    assert caught.value.op == "test.scale.odd.v1"


def test_unknown_names(rt):
    with pytest.raises(errors.ValidationError, match="install_extension_module"):
        rt.extension("test.scale.v1")
    rt.install_extension_module(Module())
    with pytest.raises(errors.ValidationError, match=r"installed: test\.scale\.v1"):
        rt.extension("test.scale.v2")
    with pytest.raises(AttributeError, match="no operation 'scale'; it has scaled"):
        _ = rt.extension("test.scale.v1").scale
    assert "scaled" in dir(rt.extension("test.scale.v1"))


# ---- installing ------------------------------------------------------------------------------------------------------


def test_epochs_count_changes(rt):
    first, second = Module(), Module(gain=10.0)
    assert rt.install_extension_module(first) == 1
    assert rt.install_extension_module(first) == 1
    assert rt.install_extension_module(Module("test.other.v1")) == 2
    assert rt.install_extension_module(first) == 2
    assert use(rt).tolist() == [2.0, 4.0]
    assert rt.install_extension_module(second) == 3
    assert use(rt).tolist() == [20.0, 40.0]
    assert first.configured == second.configured == 1


@pytest.mark.parametrize("bad", ["sparse", "sparse.v1x", "lib.sparse", "lib..v1", "", None, 3, "lib.sparse.v", "1.a.v"])
def test_malformed_id(rt, bad):
    module = Module(bad)
    with pytest.raises(errors.ValidationError, match="malformed id") as caught:
        rt.install_extension_module(module)
    assert caught.value.argument == "module_id"
    assert module.configured == 0


def test_module_without_configure(rt):
    with pytest.raises(errors.ValidationError, match="configure"):
        rt.install_extension_module(SimpleNamespace(module_id="test.scale.v1"))
    with pytest.raises(errors.ValidationError, match="malformed id"):
        rt.install_extension_module(object())


@pytest.mark.parametrize(("more", "text"), [
    (lambda r: 1 / 0, "division by zero"),
    (lambda r: r.operation("scaled", len, len), "declared twice"),
    (lambda r: (r.rule("scaled"), r.rule("scaled")), "given twice"),
    (lambda r: r.executor("scaled", "host", len), "given twice"),
    (lambda r: r.executor("other", "host", len), "not declared"),
    (lambda r: r.rule("other", len), "not declared"),
    (lambda r: r.operation("two words", len, len), "identifier"),
    (lambda r: r.operation("_hidden", len, len), "identifier"),
    (lambda r: r.operation("other", len, None), "dtype_rule must be a function"),
    (lambda r: r.executor("scaled", 3, len), "kind"),
    (lambda r: r.rule("scaled", vjp=5), "vjp must be a function"),
])
def test_failing_configure_leaves_the_runtime_as_it_was(rt, more, text):
    old = Module()
    rt.install_extension_module(old)
    with pytest.raises(errors.RuntimeStateError, match=text) as caught:
        rt.install_extension_module(Module(rule=False, more=more))
    assert isinstance(caught.value.__cause__, (errors.ValidationError, ZeroDivisionError))
    assert use(rt).tolist() == [2.0, 4.0]
    assert rt.install_extension_module(old) == 1


def test_what_a_failing_configure_installed_goes_too(rt):
    def more(registrar):
        rt.install_extension_module(Module("test.inner.v1"))
        raise KeyError("late")

    with pytest.raises(errors.RuntimeStateError, match="late"):
        rt.install_extension_module(Module(more=more))
    for name in ("test.inner.v1", "test.scale.v1"):
        with pytest.raises(errors.ValidationError):
            rt.extension(name)


def test_a_module_may_install_another_but_not_itself(rt):
    assert rt.install_extension_module(Module(more=lambda r: rt.install_extension_module(Module("test.inner.v1")))) == 2
    assert rt.extension("test.inner.v1").scaled(1.0).item() == 2.0
    me = Module(more=lambda r: rt.install_extension_module(me))
    with pytest.raises(errors.RuntimeStateError, match="installs itself"):
        rt.install_extension_module(me)


def test_interrupt_in_configure_comes_out(rt):
    def more(registrar):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rt.install_extension_module(Module(more=more))
    with pytest.raises(errors.ValidationError):
        rt.extension("test.scale.v1")


def test_registrar_is_of_no_use_afterwards(rt):
    kept = []
    rt.install_extension_module(Module(more=kept.append))
    with pytest.raises(errors.RuntimeStateError, match="inside configure"):
        kept[0].operation("late", len, len)


def test_same_instance_again_needs_no_lock(rt):
    module, held, release = Module(), threading.Event(), threading.Event()
    rt.install_extension_module(module)

    def block(registrar):
        held.set()
        assert release.wait(30)

    thread = threading.Thread(target=rt.install_extension_module, args=(Module("test.slow.v1", more=block),))
    thread.start()
    try:
        assert held.wait(30)
        assert rt.install_extension_module(module) == 1
        assert use(rt).tolist() == [2.0, 4.0]
    finally:
        release.set()
        thread.join()
    assert rt.install_extension_module(module) == 2


def test_concurrent_first_use_loses_no_module(rt):
    shared = Module("test.shared.v1")
    own = [Module(f"test.own{i}.v1") for i in range(8)]
    start, epochs = threading.Barrier(8), []

    def work(module):
        start.wait()
        epochs.append(rt.install_extension_module(module))
        rt.install_extension_module(shared)

    threads = [threading.Thread(target=work, args=(m,)) for m in own]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(epochs)) == 8
    assert shared.configured == 1
    assert rt.install_extension_module(shared) == 9
    for m in own:
        assert rt.extension(m.module_id).scaled(1.0).item() == 2.0


def test_recorded_and_bound_operations_keep_what_they_were(rt):
    rt.install_extension_module(Module())
    x = rt.variable_from([1.0])
    extension = rt.extension("test.scale.v1")
    bound, y = extension.scaled, extension.scaled(x)
    rt.install_extension_module(Module(gain=10.0))
    assert rt.grad(tfr.sum(y), x).tolist() == [2.0]
    assert bound(x).tolist() == [2.0]
    assert extension.scaled(x).tolist() == [20.0]
    assert rt.grad(tfr.sum(extension.scaled(x)), x).tolist() == [20.0]


def test_runtime_goes_with_its_last_user():
    rt = tfr.EagerRuntime()
    rt.install_extension_module(Module())
    use(rt).runtime.extension("test.scale.v1").scaled(1.0)
    gone = weakref.ref(rt)
    gc.disable()
    try:
        del rt
        assert gone() is None
    finally:
        gc.enable()


# ---- rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", ["vjp", "jvp"])
def test_missing_rule_names_operation_and_remedy(rt, transform):
    rt.install_extension_module(Module(rule=False))
    x = rt.variable_from([1.0, 2.0])
    y = rt.extension("test.scale.v1").scaled(x)
    text = rf"test\.scale\.scaled\.v1 has no {transform} rule; .*registrar\.rule.*{transform}=.*AdContext"
    with pytest.raises(errors.UnsupportedAdRuleError, match=text) as caught:
        getattr(rt, transform)(y, x, [1.0, 1.0])
    assert (caught.value.op, caught.value.transform) == ("test.scale.scaled.v1", transform)


@pytest.mark.parametrize(("family", "factor"), [("test.scale.scaled.v1", 7.0), ("test.scale.v1", 7.0),
                                                ("test.other.v1", 2.0)])
def test_context_rules_by_operation_or_module(family, factor):
    rule = SimpleNamespace(family_id=family, vjp=lambda g, out, x, factor=2: g * 7, jvp=None)
    rt = tfr.EagerRuntime.with_ad_context(tfr.AdContext([rule]))
    rt.install_extension_module(Module())
    x = rt.variable_from([1.0])
    y = rt.extension("test.scale.v1").scaled(x)
    assert rt.grad(tfr.sum(y), x).tolist() == [factor]
    assert rt.jvp(y, x, np.ones(1)).tolist() == [2.0]


def test_the_rule_of_the_operation_goes_before_that_of_the_module():
    rules = [SimpleNamespace(family_id=family, vjp=lambda g, out, x, by=by: g * by)
             for family, by in (("test.scale.v1", 3), ("test.scale.scaled.v1", 5))]
    for order in (rules, rules[::-1]):
        rt = tfr.EagerRuntime.with_ad_context(tfr.AdContext(order))
        rt.install_extension_module(Module(rule=False))
        x = rt.variable_from(1.0)
        assert rt.grad(rt.extension("test.scale.v1").scaled(x), x).item() == 5.0


def test_a_family_has_one_rule():
    rule = SimpleNamespace(family_id="test.scale.v1", vjp=None, jvp=None)
    with pytest.raises(errors.ValidationError):
        tfr.AdContext([rule, rule])
    with pytest.raises(errors.ValidationError):
        tfr.AdContext([SimpleNamespace(family_id="scale", vjp=None, jvp=None)])
