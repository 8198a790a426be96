"""Engines over array libraries: values and gradients beside the CPU engine's, overriding, errors, memory."""

import subprocess
import sys
import warnings

import namespaces
import numpy as np
import pytest
from support import assert_same, const, leaf, random_layout, sample, value

import tenferro as tfr
from tenferro._core import memory
from tenferro._core.foreign import OPERATIONS
from tenferro.errors import AxisError, EngineError, OutOfMemoryError, ValidationError
from tenferro.support import functions, manifest
from tenferro.testing import check_engine, check_grads
from tenferro.testing.drift import drift
from tenferro.testing.samples import samples
from tenferro_cpu import CpuEngine

CPU = CpuEngine.serial()
FUNCTIONS = [(name, f) for operations in functions().values() for name, f in operations.items()
             if not name.startswith(("linalg.", "fft."))]


@pytest.fixture(params=namespaces.NAMES)
def engine(request):
    return namespaces.engine(request.param)


class Own(tfr.NamespaceEngine):
    """An engine with a method of each kind."""

    xp = np
    name = "own"

    def __init__(self):
        super().__init__()
        self.asked = []

    def exp(self, x):
        self.asked.append(("exp", type(x)))
        return np.exp(x)

    def reduce_sum(self, x, *, axes, keepdims, dtype):
        self.asked.append(("reduce_sum", axes, keepdims, dtype))
        return super().reduce_sum(x, axes=axes, keepdims=keepdims, dtype=dtype)

    def scatter_add(self, x, updates, indices, *, position, axes):
        self.asked.append(("scatter_add", position, axes))
        return super().scatter_add(x, updates, indices, position=position, axes=axes)


def flat(outputs):
    if isinstance(outputs, tfr.EagerTensor):
        return [outputs]
    return [y for item in outputs for y in flat(item)] if isinstance(outputs, (list, tuple)) else []


def computed(f, given, engine):
    """Values, and the gradients of sums of squares."""
    with tfr.session(engine):
        xs = [tfr.variable(a) for a in given.arrays]
        ys = flat(given.run(f, xs))
        found = [value(y) for y in ys]
        tracked = [y for y in ys if y.tracks_grad]
        if tracked:
            loss = sum(tfr.sum(tfr.real(tfr.conj(y) * y)) for y in tracked)
            found += [value(g) if g is not None else None for g in loss.runtime.vjp_optional([loss], xs, [tfr.ones(())])]
    return found


@pytest.mark.parametrize(("name", "f"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
@pytest.mark.parametrize("dtype", ["float64", pytest.param("complex64", marks=pytest.mark.sweep)])
@pytest.mark.parametrize("over", namespaces.NAMES)
def test_values_and_gradients(over, name, f, dtype):
    engine = namespaces.engine(over)
    rtol = 1e-12 if dtype == "float64" else 1e-4
    for mine, theirs in zip(samples(name, dtype), samples(name, dtype), strict=True):
        try:
            expected = computed(f, theirs.prepared(), CPU)
        except tfr.errors.TenferroError as error:
            with pytest.raises(type(error)):
                computed(f, mine.prepared(), engine)
            continue
        for a, b in zip(computed(f, mine.prepared(), engine), expected, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "u2", "u8", "i8", "f4", "c16"])
def test_dtypes_that_a_library_lacks(engine, dtype):
    a, b = (sample(np.random.default_rng(k), (3, 4), dtype, 1, 3) for k in range(2))
    with tfr.session(engine):
        x, y = const(a), const(b)
        assert_same(x * y, a * b, rtol=1e-6)
        assert_same(tfr.equal(x, y), a == b)
        assert_same(tfr.maximum(x, y), np.maximum(a, b))
        assert_same(tfr.concatenate([x, y]), np.concatenate([a, b]))
        assert_same(tfr.flip(x, axis=1), a[:, ::-1])
        assert_same(tfr.tril(x), np.tril(a))
        assert_same(tfr.sum(x, axis=0), np.sum(a, axis=0, dtype=tfr.sum(x).dtype), rtol=1e-6)
        assert_same(x.astype("f8") if dtype != "c16" else tfr.real(x), a.real.astype("f8"))


def test_any_layout(engine):
    rng = np.random.default_rng(3)
    with tfr.session(engine):
        for _ in range(40):
            a = random_layout(rng.standard_normal((3, 4, 2)), rng)
            assert_same(tfr.exp(const(a)), np.exp(a), rtol=1e-15)
            assert_same(tfr.sum(const(a), axis=(0, 2)), a.sum((0, 2)), rtol=1e-14, atol=1e-14)
            assert_same(tfr.einsum("ijk,ljk->il", const(a), const(a)), np.einsum("ijk,ljk->il", a, a), rtol=1e-13, atol=1e-14)


def test_second_order(engine):
    rng = np.random.default_rng(0)
    with tfr.session(engine):
        check_grads(lambda x, y: tfr.sum(tfr.tanh(x @ y) * tfr.logsumexp(x, axis=1, keepdims=True)),
                    [rng.standard_normal((3, 4)), rng.standard_normal((4, 3))])


def test_no_warnings(engine):
    """Neither what NumPy says of infinities, nor what libraries say of memory that they should not write to."""
    with warnings.catch_warnings(), tfr.session(engine):
        warnings.simplefilter("error")
        x = const(np.array([0.0, -1.0, 1e308]))
        assert_same(tfr.log(x * 10), np.array([-np.inf, np.nan, np.inf]))
        assert tfr.isinf(1 / x).tolist() == [True, False, False]


def test_who_computes_what(engine):
    support = engine.support()
    assert tuple(support) == OPERATIONS
    assert {"exp": "native", "contract": "composed", "scatter_add": "host"}.items() <= support.items()
    assert set(support.values()) <= {"native", "composed", "host"}
    assert Own().support()["exp"] == "own"


def test_arrays_that_cannot_be_written_to(engine, monkeypatch):
    monkeypatch.setattr(tfr.NamespaceEngine, "_assigns", lambda self: False)
    immutable = tfr.NamespaceEngine(engine.xp)
    assert {op for op, who in immutable.support().items() if who != engine.support()[op]} == {
        "unslice", "index_set", "dynamic_unslice", "pad", "embed_diag"}
    with tfr.session(immutable):
        assert_same(tfr.pad(const(np.ones(2)), (1, 0)), np.array([0.0, 1.0, 1.0]))


def test_the_manifest_tells(monkeypatch):
    monkeypatch.setattr("tenferro.support.functions", lambda: {"some": {"exp": tfr.exp, "cumsum": tfr.cumsum}})
    rows = {row.operation: row for row in manifest([CPU, Own()])}
    assert rows["exp"].routes["own"]["exp"] == "own"
    assert rows["cumsum"].routes["own"]["cumsum"] == "composed"
    assert rows["exp"].engines == {"cpu": "supported", "own": "supported"}
    assert list(rows["exp"].routes) == ["own"]


def test_overridden_methods_are_asked():
    engine = Own()
    with tfr.session(engine):
        x = tfr.constant(np.arange(6.0).reshape(2, 3))
        tfr.exp(x)
        assert_same(tfr.sum(x, axis=-1, keepdims=True), np.array([[3.0], [12.0]]))
    assert engine.name == "own"
    assert engine.asked == [("exp", np.ndarray), ("reduce_sum", (1,), True, np.float64)]


def test_what_a_method_declines_runs_on_the_host():
    class Reluctant(tfr.NamespaceEngine):
        xp = np

        def exp(self, x):
            return NotImplemented

        def sin(self, x):
            raise NotImplementedError

    with tfr.session(Reluctant()):
        assert_same(tfr.exp(const(np.ones(2))), np.exp(np.ones(2)), rtol=1e-15)
        assert_same(tfr.sin(const(np.ones(2))), np.sin(np.ones(2)), rtol=1e-15)


def test_arrays_without_elements_never_reach_a_method():
    engine = Own()
    with tfr.session(engine):
        assert tfr.exp(tfr.zeros((0, 3))).shape == (0, 3)
        assert_same(tfr.sum(tfr.zeros((0, 3)), axis=0), np.zeros(3))
    assert engine.asked == []


def failing(method):
    return type("Failing", (tfr.NamespaceEngine,), {"xp": np, "exp": method})()


@pytest.mark.parametrize(("wrong", "text"), [(lambda self, x: x[:1], r"shape \(1,\) where \(3,\)"),
                                             (lambda self, x: x.astype("f4"), "dtype float32 where float64"),
                                             (lambda self, x: "x", "exp")])
def test_wrong_results_are_refused(wrong, text):
    with tfr.session(failing(wrong)) as s, pytest.raises(EngineError, match=text) as e:
        s.exp(tfr.ones(3))
    assert e.value.engine == "numpy"


def test_failures_keep_their_cause_and_the_engine():
    def fail(self, x):
        raise KeyError("inside")

    engine = failing(fail)
    with tfr.session(engine):
        with pytest.raises(EngineError, match=r"exp.*numpy.*KeyError") as e:
            tfr.exp(tfr.ones(3))
        assert isinstance(e.value.__cause__, KeyError)
        assert_same(tfr.sin(tfr.ones(3)), np.sin(np.ones(3)), rtol=1e-15)


def test_failed_allocations():
    def fail(self, x):
        raise MemoryError

    with tfr.session(failing(fail)), pytest.raises(OutOfMemoryError) as e:
        tfr.exp(tfr.ones(3))
    assert (e.value.engine, e.value.nbytes) == ("numpy", 24)


def test_errors_of_the_library_itself_pass():
    with tfr.session(namespaces.engine("numpy")), pytest.raises(AxisError, match="out of bounds"):
        tfr.take(tfr.ones(3), [5])


def test_an_engine_needs_a_library():
    with pytest.raises(ValidationError, match="xp = numpy"):
        tfr.NamespaceEngine()


def test_mixed_with_the_cpu_engine(engine):
    assert (engine.kind, engine.context_id) == (CPU.kind, CPU.context_id)
    x = tfr.variable(np.linspace(0.1, 1, 5))
    with tfr.session(engine):
        y = tfr.exp(x)
    with tfr.session(CPU):
        loss = tfr.sum(y * y)
    loss.backward(engine=engine)
    np.testing.assert_allclose(value(x.grad), 2 * np.exp(2 * value(x)), rtol=1e-14)


def test_arguments_cannot_be_written_to():
    def scribble(self, x):
        x[...] = 0

    with tfr.session(failing(scribble)), pytest.raises(EngineError, match="read-only"):
        tfr.exp(tfr.ones(3))


def test_memory_of_arguments_is_not_shared():
    """A method may give its argument back; gradients that are added up in place must not reach it."""
    engine = failing(lambda self, x: x)
    a = np.arange(20000.0)
    with tfr.session(engine):
        x = tfr.constant(a)
        y = tfr.exp(x)
    assert_same(y, a)
    assert not np.shares_memory(y.numpy(), x.numpy())


def test_kept_arrays_are_not_taken_over():
    kept = np.arange(20000.0)
    with tfr.session(failing(lambda self, x: kept)):
        y = tfr.exp(tfr.ones(20000))
    assert not np.shares_memory(y.numpy(), kept)


def test_large_results_are_taken_over(engine):
    a = np.ones(100000)
    with tfr.session(engine):
        x = tfr.constant(a)
        before = memory.live()[1]
        y = tfr.exp(x)
        assert memory.live()[1] - before < 8000, "the result was copied"
    assert_same(y, np.exp(a), rtol=1e-15)
    del x
    assert_same(y, np.exp(a), rtol=1e-15)


def test_gradients_over_memory_that_was_taken_over(engine):
    a = np.linspace(0, 1, 50000)
    with tfr.session(engine):
        for _ in range(4):
            x = leaf(a)
            y = tfr.exp(x)
            tfr.sum(y * y + y * x).backward()
            np.testing.assert_allclose(value(x.grad), 2 * np.exp(2 * a) + np.exp(a) * (1 + a), rtol=1e-13)
            assert_same(y.detach(), np.exp(a), rtol=1e-15)


def test_engines_keep_to_the_operations(engine):
    assert drift(engine, base=tfr.NamespaceEngine) == []
    assert drift(Own(), base=tfr.NamespaceEngine) == []

    class Drifting(tfr.NamespaceEngine):
        xp = np

        def exp(self, x, precision):
            return x

    assert len(drift(Drifting(), base=tfr.NamespaceEngine)) == 1


@pytest.mark.parametrize("operations", [["exp", "matmul", "logsumexp"], pytest.param(None, marks=pytest.mark.sweep)],
                         ids=["some", "all"])
def test_conforms(engine, operations):
    check_engine(engine, operations=operations, raise_on_failure=True)


def test_every_operation_is_a_documented_method():
    assert [op for op in OPERATIONS if not getattr(tfr.NamespaceEngine, op).__doc__] == []


def test_nothing_is_imported_before_use():
    code = "import sys, tenferro; assert 'tenferro._foreign' not in sys.modules and 'tenferro._core.foreign' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
