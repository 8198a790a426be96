"""The conformance kit passes on every engine that is available and catches engines that are wrong on purpose."""

import json
import time

import numpy as np
import pytest
from broken import Broken, Failing, elementwise, register
from installed import ENGINES
from oracles import oracle

import tenferro as tfr
from tenferro import errors
from tenferro.__main__ import main
from tenferro.testing import check_engine, conformance, example, examples
from tenferro.testing.conformance import Outcome

DTYPES = ("int32", "float64", "complex64")
NEGATING = {"argsort", "topk", "softmax", "log_softmax"}
"""Operations whose oracles negate or subtract, which says nothing about unsigned numbers."""


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]()


def test_every_engine(engine):
    report = check_engine(engine, dtypes=DTYPES if engine.name == "cpu" else ["float64"])
    assert report.ok, str(report)
    assert [row.operation for row in report.rows] == [*examples.operations(), "engine"]
    assert all(row.checks for row in report.rows)
    if engine.name in ("cpu", "cpu-threads"):
        assert set(report.named("passed")) == {row.operation for row in report.rows}


@pytest.mark.sweep
@pytest.mark.parametrize("thorough", [False, True])
def test_every_engine_with_everything(engine, thorough):
    check_engine(engine, thorough=thorough, raise_on_failure=True)


def values(name, dtype, k):
    """Results of the serial CPU engine and of the oracle, or None where the oracle does not compute with the dtype."""
    case = example(name, dtype, "C", k)
    with np.errstate(all="ignore"):
        found = Outcome(case.expected)
        if found.error is not None:
            return None
        results = case.call.run(oracle(name), case.arrays)
        results = list(results) if isinstance(results, tuple) else results
        return found.arrays, case.settled(results)


@pytest.mark.parametrize("dtype", [dtype for dtype in examples.DTYPES if not dtype.endswith(("bool", "int8"))])
def test_what_engines_are_compared_with(dtype):
    """The serial CPU engine's results are NumPy's and SciPy's. (Which dtype comes of integers, the library decides itself.)"""
    compared = 0
    for name in examples.operations():
        for k in range(examples.count(name)):
            if np.dtype(dtype).kind == "u" and name in NEGATING:
                continue
            both = values(name, dtype, k)
            for a, b in zip(*both, strict=True) if both else ():
                assert a.shape == b.shape, name
                loose = a.dtype.name in ("float32", "complex64") or b.dtype.name in ("float32", "complex64")
                np.testing.assert_allclose(a, b, 1e-4 if loose else 1e-9, 1e-5 if loose else 1e-9, err_msg=name)
                compared += 1
    assert compared > 200


# ---- engines that are wrong ------------------------------------------------------------------------------------------

def in_one_dtype(out, x):
    out.array()[...] = np.exp(x.array()) * (1.001 if out.array().dtype == "f4" else 1)


def as_if_compact(out, x):
    """Ignores strides; the elements that follow the first one stay within the larger memory of the example."""
    a = x.array()
    if a.ndim == 2 and min(a.strides) > a.itemsize:
        a = np.lib.stride_tricks.as_strided(a, a.shape, (a.itemsize * a.shape[1], a.itemsize), writeable=False)
    out.array()[...] = np.exp(a)


def ignoring_order(out, x):
    a = x.array()
    out.array()[...] = np.exp(np.ravel(a, order="K").reshape(a.shape))


def over_its_input(out, x):
    a = x.array()
    out.array()[...] = np.exp(a)
    a[...] = 0


def at_random(out, x):
    out.array()[...] = np.exp(x.array()) * (1 + 1e-13 * np.random.default_rng().integers(0, 1000))


def unfinished(out, x):
    a = out.array()
    a[...] = np.exp(x.array())
    a.reshape(-1)[-1:] = 0


def without_nan(out, x):
    out.array()[...] = np.nan_to_num(np.exp(x.array()))


def of_another_shape(out, x):
    out.array()[...] = np.exp(x.array())

    def change(meta, dims):
        if meta.rank == 2:
            dims[0], dims[1], dims[2], dims[3] = dims[1], dims[0], dims[3], dims[2]
    out.replace_meta(change)


def of_another_dtype(out, x):
    out.array()[...] = np.exp(x.array())

    def change(meta, dims):
        meta.dtype = {10: 4}.get(meta.dtype, meta.dtype)       # int64 for float64
    out.replace_meta(change)


def slow_and_shared():
    shared = {}

    def kernel(out, x):
        shared["x"] = np.exp(x.array())
        time.sleep(0.001)
        out.array()[...] = np.resize(shared["x"], out.array().shape)
    return kernel


def never_the_same_after_a_wrong_index():
    state = {"broken": False}

    def kernel(out, x, i):
        state["broken"] = state["broken"] or np.any(i.array() > 40)
        result = np.take(x.array(), i.array(), 0, mode="clip")
        out.array()[...] = 0 if state["broken"] else result.reshape(out.array().shape)
    return kernel


def clipping(out, x, i):
    out.array()[...] = np.take(x.array(), np.clip(i.array(), 0, len(x.array()) - 1), 0).reshape(out.array().shape)


# name: kernel of which operation, the kernel, what is checked, the checks that have to fail, a word of the report
WRONG = {
    "values in one dtype": ("exp", in_one_dtype, "exp", {"values"}, "float32"),
    "gaps": ("exp", as_if_compact, "exp", {"values"}, "'strided'"),
    "order": ("exp", ignoring_order, "exp", {"values"}, "'F'"),
    "last element": ("exp", unfinished, "exp", {"values"}, "expected"),
    "NaN": ("exp", without_nan, "exp", {"values"}, "'special'"),
    "shape": ("exp", of_another_shape, "exp", {"shapes"}, "float64[2, 3]"),
    "dtype": ("exp", of_another_dtype, "exp", {"dtypes"}, "int64[2, 3]"),
    "arguments": ("exp", over_its_input, "exp", {"inputs"}, "changed its arguments"),
    "bits": ("exp", at_random, "exp", {"determinism"}, "other bits"),
    "error": ("take", clipping, "index_select", {"errors"}, "AxisError"),
    "recovery": ("take", never_the_same_after_a_wrong_index(), "index_select", {"recovery"}, "reproduce"),
    "derivative": ("cos", elementwise(np.sin), "sin", {"gradients"}, "fwd: tangent"),
    "threads": ("exp", slow_and_shared(), "exp", {"threads"}, "threads at once"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_found(case):
    op, kernel, operation, checks, word = WRONG[case]
    report = check_engine(Broken(op, kernel), operations=[operation])
    assert not report.ok
    assert checks <= {failure.check for failure in report.failures}, str(report)
    assert any(word in str(failure) for failure in report.failures), str(report)


@pytest.mark.parametrize("error", [errors.EngineError("driver"), MemoryError(), KeyError("x"), errors.ValidationError("no")])
def test_errors_that_the_cpu_engine_does_not_raise_are_found(error):
    report = check_engine(Failing("exp", error), operations=["exp"])
    assert {"errors", "recovery"} <= {failure.check for failure in report.failures}
    assert f"found {type(error).__name__}" in str(report)


def test_unsupported_is_no_failure():
    report = check_engine(Failing("exp", errors.UnsupportedError("not here")), operations=["exp"])
    assert report.ok
    assert set(report.rows[0].unsupported.values()) == {"not here"}


def test_a_right_kernel_of_the_same_kind_passes():
    report = check_engine(Broken("exp", elementwise(np.exp)), operations=["exp", "sigmoid", "logaddexp"])
    assert report.ok, str(report)


def test_reproducing():
    engine = Broken("exp", in_one_dtype)
    failure = check_engine(engine, operations=["exp"], dtypes=["float32"]).failures[0]
    opening, _, call = failure.code.partition("; ")
    assert opening == "engine = tenferro.engine('broken')"
    found = eval(call, {"tenferro": tfr, "engine": engine})
    expected = example("exp", "float32").expected()
    assert 1e-4 < np.max(found[0] / expected[0] - 1) < 1e-2


def test_taking_turns_is_checked(monkeypatch):
    """Everything that the engine computes alone is right, and what it hands to another engine is not."""
    honest = conformance.take_turns

    def spoilt(example, *engines):
        arrays = honest(example, *engines)
        return [2 * a for a in arrays] if engines[0] is not engines[1] else arrays

    monkeypatch.setattr(conformance, "take_turns", spoilt)
    report = check_engine(tfr.engine("cpu"), operations=["exp"], dtypes=["float64"])
    assert {f.check for f in report.failures} == {"mixing"}


@pytest.mark.parametrize(("engine", "message"), [
    (lambda: tfr.ExecutionEngine("x", "host", "elsewhere"), "context_id"),
    (lambda: tfr.ExecutionEngine("x", "host", []), "hashable"),
    (lambda: tfr.ExecutionEngine("", "host"), "name is ''"),
    (lambda: type("E", (tfr.ExecutionEngine,), {"register_kernel": lambda self, op: None})(), "register_kernel: the signature"),
])
def test_identity(engine, message):
    report = check_engine(engine(), operations=["exp"], dtypes=["float64"])
    assert {f.check for f in report.failures} == {"identity"}
    assert message in str(report)


class Elsewhere(type(tfr.engine("cpu"))):
    """The CPU engine's kernels under another kind of memory."""

    def __init__(self):
        tfr.ExecutionEngine.__init__(self, "elsewhere", "elsewhere", "its memory")


def test_an_engine_of_another_kind():
    """Its tensors are uploaded; it does not take turns with engines of host memory, and modules have no executors for it."""
    report = check_engine(Elsewhere(), operations=["exp", "matmul", "linalg.inv", "fft.fft"])
    assert report.ok, str(report)
    assert [row.state for row in report.rows] == ["passed", "passed", "unsupported", "unsupported", "passed"]


def test_gradients_by_an_engine():
    a = np.linspace(-1, 1, 6).reshape(2, 3)
    seen = []

    def f(x):
        seen.append(x.runtime)
        return tfr.sin(x)

    for engine in (tfr.engine("cpu"), Elsewhere()):
        tfr.testing.check_grads(f, [a], engine=engine)
    assert tfr.default_runtime() not in seen
    assert len(set(seen)) == 2
    with pytest.raises(AssertionError, match="is wrong"):
        tfr.testing.check_grads(f, [a], engine=Broken("cos", elementwise(np.sin)))


# ---- reports ---------------------------------------------------------------------------------------------------------

def test_an_engine_that_supports_nothing():
    report = check_engine(tfr.ExecutionEngine("bare"), operations=["exp", "add"])
    assert report.ok
    assert report.named("unsupported") == ["exp", "add"]
    assert "no kernel for exp" in report.rows[0].unsupported["float64 values"]
    assert "unsupported (2): exp, add" in str(report)


def test_an_engine_that_supports_something():
    engine = tfr.ExecutionEngine("few")
    kernel = Broken("exp", elementwise(np.exp))
    register(engine, "exp", kernel.kernel)
    report = check_engine(engine, operations=["exp", "sigmoid"])
    assert report.ok
    assert {row.operation: row.state for row in report.rows} == {"exp": "partial", "sigmoid": "unsupported", "engine": "passed"}


def test_what_an_engine_tells():
    class Telling(type(tfr.engine("cpu"))):
        def support(self):
            return {"exp": "native", "add": "composed", "sin": "native"}

    report = check_engine(Telling(), operations=["exp", "add"], dtypes=["float64"])
    assert [row.told for row in report.rows] == ["native", "composed", None]
    assert report.told == Telling().support()
    assert "told native (1): exp\n" in str(report) + "\n"
    assert "sin" not in str(report)


def test_report():
    good = check_engine(tfr.engine("cpu"), operations="exp", dtypes="float64")
    assert good.raise_on_failure() is good
    assert str(good).startswith("engine 'cpu' of kind 'host': conforms\n1 operations, ")
    bad = check_engine(Broken("exp", unfinished), operations=["exp"], dtypes=["float64"])
    with pytest.raises(AssertionError, match="DOES NOT CONFORM"):
        bad.raise_on_failure()
    with pytest.raises(AssertionError, match="inputs: exp on float64"):
        check_engine(Broken("exp", unfinished), operations=["exp"], dtypes=["float64"], raise_on_failure=True)
    data = json.loads(json.dumps(bad.as_data()))
    assert (data["ok"], data["engine"], data["rows"][0]["state"]) == (False, "broken", "failed")
    assert data["rows"][0]["failures"][0]["check"] == "values"


@pytest.mark.parametrize("options", [{"operations": ["exp", "nothing"]}, {"dtypes": ["float16"]}, {"operations": []}])
def test_bad_options(options):
    with pytest.raises(errors.ValidationError) as e:
        check_engine(tfr.engine("cpu"), **options)
    assert e.value.argument == next(iter(options))


def test_no_engine():
    with pytest.raises(errors.UnsupportedError, match=r"tenferro\.engine"):
        check_engine("cpu")


@pytest.mark.parametrize(("arguments", "status"), [
    (["cpu", "--operation", "exp"], 0), (["cpu-threads:2", "--operation", "exp", "--operation", "add", "--dtype", "int8"], 0),
    (["--operation", "exp", "--thorough"], 0), (["unheard-of"], 2), (["cpu", "--operation", "unheard_of"], 2)])
def test_command(arguments, status, capsys):
    assert main(["check", *arguments]) == status
    out, err = capsys.readouterr()
    assert ("conforms" in out, "unheard" in err) == (status == 0, status == 2)


def test_command_for_an_engine_that_fails(capsys, monkeypatch):
    monkeypatch.setattr("tenferro.testing.command.opened", lambda name: Broken("exp", unfinished))
    assert main(["check", "broken", "--operation", "exp", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["ok"], data["rows"][0]["operation"]) == (False, "exp")


# ---- examples --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", examples.DTYPES)
def test_layouts(dtype):
    plain = example("mul", dtype).arrays
    assert [a.shape for a in plain] == [(2, 3), (3,)]
    for layout in ("F", "strided", "reversed"):
        for a, b in zip(plain, example("mul", dtype, layout).arrays, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype == dtype
    size = np.dtype(dtype).itemsize
    assert example("mul", dtype, "F").arrays[0].strides == (size, 2 * size)
    assert example("mul", dtype, "strided").arrays[0].strides == (14 * size, 2 * size)
    assert example("mul", dtype, "reversed").arrays[0].strides == (-14 * size, -2 * size)
    assert [a.strides for a in example("mul", dtype, "broadcast").arrays] == [(0, size), (0,)]
    assert [a.shape for a in example("mul", dtype, "0-d").arrays] == [(), ()]
    assert [a.shape for a in example("mul", dtype, "empty").arrays] == [(2, 0), (0,)]


@pytest.mark.parametrize(("operation", "shapes"), [
    ("matmul", [(2, 0), (0, 2)]), ("reduce_max", [(2, 0)]), ("linalg.inv", [(0, 0)]), ("concatenate", [(2, 0), (2, 0)])])
def test_empty_examples_are_right_where_they_can_be(operation, shapes):
    found = example(operation, layout="empty")
    accepted = [a.shape for a in found.arrays]
    assert all(0 in s for s in accepted[:1])
    assert len(accepted) == len(shapes)


@pytest.mark.parametrize(("operation", "layout", "error"), [
    ("add", "mismatched shapes", errors.ShapeMismatchError), ("softmax", "axis out of range", errors.AxisError),
    ("exp", "text", errors.DTypeMismatchError), ("take", "index out of range", IndexError),
    ("linalg.inv", "singular", errors.LinAlgError)])
def test_wrong_examples_raise(operation, layout, error):
    with pytest.raises(error):
        example(operation, layout=layout).expected()


@pytest.mark.parametrize("arguments", [("nothing",), ("exp", "float64", "diagonal"), ("exp", "float64", "C", 7),
                                       ("exp", "float64", "axis out of range"), ("exp", "complex64", "special"),
                                       ("exp", "float64", "singular")])
def test_no_example(arguments):
    with pytest.raises(LookupError):
        example(*arguments)


def test_examples_describe_themselves():
    found = example("reduce_max", "float32", "F", 1, 5)
    assert str(found) == "reduce_max on float32[2, 3] with strides [4, 8], axis=1, keepdims=True"
    assert found.code == "tenferro.testing.example('reduce_max', 'float32', 'F', 1, 5)"
    np.testing.assert_array_equal(found.on(tfr.engine("cpu"))[0], found.arrays[0].max(1, keepdims=True))


# ---- engines over a namespace ----------------------------------------------------------------------------------------

def overriding(f):
    """An engine over NumPy with its own exp."""
    return type("Own", (tfr.NamespaceEngine,), {"xp": np, "name": "own", "exp": lambda self, x: f(x)})()


def raising(x):
    raise IndexError("out of range")


# what exp gives: the failing checks, a word of the report
OVERRIDDEN = {
    "shape": (lambda x: np.exp(x).reshape(-1), {"errors", "recovery"}, "gave the shape (6,)"),
    "dtype": (lambda x: np.exp(x).astype(np.float16), {"errors", "recovery"}, "gave the dtype float16"),
    "error": (raising, {"errors", "recovery"}, "IndexError: out of range"),
    "argument itself": (lambda x: x, {"values", "recovery"}, "expected [["),
}


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("case", OVERRIDDEN)
def test_a_wrong_method_is_found(case):
    f, checks, word = OVERRIDDEN[case]
    report = check_engine(overriding(f), operations=["exp"])
    assert checks <= {failure.check for failure in report.failures}
    assert word in str(report)


def test_a_right_method_passes():
    engine = overriding(np.exp)
    report = check_engine(engine, operations=["exp", "sigmoid"], raise_on_failure=True)
    assert report.told == engine.support()
    assert report.rows[0].told == "own"
