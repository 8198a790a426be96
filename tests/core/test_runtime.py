"""EagerRuntime: identity, gradient slots, caches and their limits, AdContext."""

import copy
import gc
import pickle
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import tenferro as tfr
from tenferro import AdContext, CacheLimits, CacheStats, ContextId, EagerRuntime, ExecutionEngine, errors
from tenferro_cpu import CpuEngine

PROPERTIES = ("ad_transform_cache_limits", "prepared_derivative_cache_limits")


@pytest.fixture
def rt():
    return EagerRuntime()


# ---- identity --------------------------------------------------------------------------------------------------------

def test_ids_are_unique_and_opaque():
    runtimes = [EagerRuntime() for _ in range(5)]
    ids = [rt.id for rt in runtimes]
    assert len(set(ids)) == 5
    assert all(type(i) is ContextId for i in ids)
    assert runtimes[0].id is runtimes[0].id
    assert runtimes[0].id == runtimes[0].id != runtimes[1].id
    assert runtimes[0].constant_from(1.0).ctx_id == runtimes[0].id
    with pytest.raises(AttributeError):
        runtimes[0].id = ids[1]


def test_ids_are_not_used_again():
    first = EagerRuntime().id
    assert EagerRuntime().id != first


def test_default_engine_of_a_runtime(rt):
    engine = CpuEngine.serial()
    assert EagerRuntime(engine).default_engine is engine
    assert EagerRuntime(engine=engine).default_engine is engine
    assert rt.default_engine is None


def test_default_runtime_is_one():
    found = []
    threads = [threading.Thread(target=lambda: found.append(tfr.default_runtime())) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert set(found) == {tfr.default_runtime()}


def test_runtimes_do_not_mix(rt):
    x, y = rt.variable_from([1.0]), tfr.variable([2.0])
    for f in (lambda: x + y, lambda: tfr.where(True, x, y), lambda: rt.grad(tfr.sum(y), x), lambda: rt.vjp(x, x, y),
              lambda: rt.jvp(x, x, y), lambda: tfr.concatenate([x, y]), lambda: x.backward_with(y)):
        with pytest.raises(errors.ContextMismatchError, match="detach_into"):
            f()


def test_a_python_scalar_belongs_everywhere(rt):
    assert (rt.variable_from([1.0]) + 1).runtime is rt
    assert (rt.variable_from([1.0]) * np.array([2.0])).runtime is rt


# ---- gradient slots --------------------------------------------------------------------------------------------------

def test_clear_grads(rt):
    x, y, other = rt.variable_from(2.0), rt.variable_from(3.0), tfr.variable(1.0)
    (x * y).backward()
    (other * other).backward()
    kept = x.grad
    rt.clear_grads()
    assert (x.grad, y.grad) == (None, None)
    assert (kept.item(), other.grad.item()) == (3, 2)
    (x * y).backward()
    assert (x.grad.item(), y.grad.item()) == (3, 2)


def test_clear_grads_with_dead_leaves(rt):
    leaves = [rt.variable_from(float(k)) for k in range(6)]
    for x in leaves:
        (x * x).backward()
    del leaves[::2]
    rt.clear_grads()
    assert [x.grad for x in leaves] == [None] * 3


def test_a_result_outlives_its_names():
    x = EagerRuntime().variable_from([1.0, 2.0])
    rt = weakref.ref(x.runtime)
    y = tfr.sum(x * x)
    del x
    grads = y.backward()
    del y
    assert [g.tolist() for g in grads.values()] == [[2, 4]]
    gc.disable()
    try:
        assert rt() is not None
        del grads
        assert rt() is None
    finally:
        gc.enable()


# ---- caches ----------------------------------------------------------------------------------------------------------

def test_cache_limits():
    limits = CacheLimits()
    assert limits.max_entries > 0
    assert limits.max_retained_bytes > 0
    assert CacheLimits(max_entries=3, max_retained_bytes=5) == CacheLimits(3, 5) != CacheLimits(3, 6)
    assert CacheLimits(max_entries=3).max_retained_bytes == limits.max_retained_bytes
    assert hash(CacheLimits(3, 5)) == hash(CacheLimits(3, 5))
    assert CacheLimits(np.int64(3)).max_entries == 3
    assert limits != "limits"
    assert eval(repr(limits)) == pickle.loads(pickle.dumps(limits)) == copy.deepcopy(limits) == limits
    with pytest.raises(AttributeError):
        limits.max_entries = 4


@pytest.mark.parametrize("bad", [0, -1, 1.5, "3", None, True, 2**63])
@pytest.mark.parametrize("name", ["max_entries", "max_retained_bytes"])
def test_bad_cache_limits(name, bad):
    with pytest.raises(errors.ValidationError, match="positive") as e:
        CacheLimits(**{name: bad})
    assert e.value.argument == name


@pytest.mark.parametrize("name", PROPERTIES)
def test_limits_of_a_runtime(rt, name):
    assert getattr(rt, name) == CacheLimits()
    setattr(rt, name, CacheLimits(2, 100))
    assert getattr(rt, name) == CacheLimits(2, 100)
    others = [getattr(rt, p) for p in PROPERTIES if p != name]
    assert others == [CacheLimits()]
    assert getattr(EagerRuntime(), name) == CacheLimits()
    for bad in (3, None, (2, 100)):
        with pytest.raises(errors.ValidationError, match="CacheLimits"):
            setattr(rt, name, bad)
    assert getattr(rt, name) == CacheLimits(2, 100)


def test_cache_stats(rt):
    stats = rt.cache_stats()
    for entry in (stats.ad_transforms, stats.prepared_derivatives, stats.buffers, stats.contraction_plans):
        assert isinstance(entry, CacheStats)
        assert entry._fields == ("entries", "retained_bytes", "hits", "misses", "evictions", "clears")
        assert all(type(n) is int and n >= 0 for n in entry)


def test_clears_are_counted(rt):
    def clears():
        stats = rt.cache_stats()
        return stats.ad_transforms.clears, stats.prepared_derivatives.clears

    rt.clear_ad_transform_caches()
    assert clears() == (1, 0)
    rt.clear_prepared_derivative_cache()
    assert clears() == (1, 1)
    before = rt.cache_stats().buffers.clears
    rt.clear_caches()
    assert clears() == (2, 2)
    assert rt.cache_stats().buffers.clears == before + 1


def test_buffers_are_pooled_and_given_back(rt):
    rt.clear_caches()
    x = tfr.constant(np.zeros(100_000))
    empty = rt.cache_stats().buffers
    assert (empty.entries, empty.retained_bytes) == (0, 0)
    del x
    held = rt.cache_stats().buffers
    assert held.entries == 1
    assert held.retained_bytes >= 800_000
    x = tfr.constant(np.zeros(100_000))
    assert rt.cache_stats().buffers.hits == held.hits + 1
    del x
    rt.clear_caches()
    assert rt.cache_stats().buffers.retained_bytes == 0


# ---- AdContext -------------------------------------------------------------------------------------------------------

def rule(family="mylib.sparse.v1", **rules):
    return SimpleNamespace(family_id=family, **rules)


def test_ad_context_owns_rules():
    rules = [rule(), rule("mylib.sparse.v2", vjp=lambda g: g, jvp=None), rule("other_lib.a.b2.v10")]
    assert AdContext(rules).rules == AdContext(iter(rules)).rules == tuple(rules)
    assert AdContext().rules == ()


@pytest.mark.parametrize("family", [
    None, 3, "", "sparse", "v1", "mylib.sparse", "mylib.sparse.1", "mylib..v1", ".v1", "a.v", "mylib.spa rse.v1",
    "1lib.sparse.v1", "mylib.sparse.v1\n", "mylib.sparse.v1 ", "ü.x.v1",
])
def test_malformed_family_ids(family):
    with pytest.raises(errors.ValidationError, match="v1"):
        AdContext([rule(family)])


@pytest.mark.parametrize("rules", [[rule(), rule()], [NotImplemented], ["mylib.sparse.v1"], [rule(vjp=3)]], ids=str)
def test_bad_rules(rules):
    with pytest.raises(errors.ValidationError):
        AdContext(rules)


def test_runtimes_of_one_context_share_the_transforms_only():
    ad = AdContext()
    a, b = EagerRuntime.with_ad_context(ad), EagerRuntime.with_ad_context(ad, engine=CpuEngine.serial())
    other = EagerRuntime()
    a.ad_transform_cache_limits = CacheLimits(2, 200)
    a.prepared_derivative_cache_limits = CacheLimits(3, 300)
    assert b.ad_transform_cache_limits == CacheLimits(2, 200)
    assert b.prepared_derivative_cache_limits == other.ad_transform_cache_limits == CacheLimits()
    a.clear_ad_transform_caches()
    assert b.cache_stats().ad_transforms.clears == 1
    assert other.cache_stats().ad_transforms.clears == 0
    assert a.id != b.id
    assert (a.default_engine, b.default_engine.name) == (None, "cpu")


def test_with_ad_context_errors():
    for bad in (None, "ad", EagerRuntime()):
        with pytest.raises(TypeError):
            EagerRuntime.with_ad_context(bad)
    with pytest.raises(errors.UnsupportedError):
        EagerRuntime.with_ad_context(AdContext(), engine="cpu")


def test_contexts_retain_no_runtime():
    gc.disable()
    try:
        ad = AdContext()
        rt = EagerRuntime.with_ad_context(ad, ExecutionEngine("host"))
        rt.prepared_derivative_cache_limits = CacheLimits(1, 1)
        gone, context = weakref.ref(rt), weakref.ref(ad)
        del ad
        assert context() is not None
        del rt
        assert gone() is context() is None
    finally:
        gc.enable()
