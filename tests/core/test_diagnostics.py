"""Diagnostics: anomaly detection, profiles, drawings."""

import inspect
import json
import threading

import numpy as np
import pytest

import tenferro as tfr
from tenferro import EagerRuntime, errors

RT = tfr.default_runtime()


def here(offset=0):
    """File and line of the caller, as messages name them."""
    frame = inspect.currentframe().f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno + offset}"


@pytest.fixture(autouse=True)
def nothing_is_left_open():
    yield
    x = tfr.variable(-1.0)
    assert np.isnan(tfr.log(x).item())
    assert np.isnan(RT.grad(tfr.sqrt(x), x).item())


# ---- anomalies -------------------------------------------------------------------------------------------------------

def test_the_first_nan_of_a_forward_computation():
    x = tfr.variable([1.0, -1.0])
    line = here(2)
    with RT.detect_anomaly(), pytest.raises(errors.NumericalError) as e:
        y = tfr.log(x * 2.0)  # noqa: F841
    assert e.value.op == "log"
    assert isinstance(e.value, ArithmeticError)
    assert "log made the first NaN" in str(e.value)
    assert line in str(e.value)
    assert "y = tfr.log(x * 2.0)" in str(e.value)


@pytest.mark.parametrize("make", [tfr.variable, tfr.constant])
@pytest.mark.parametrize(("f", "op"), [
    (lambda x: x / x, "div"), (lambda x: tfr.exp(x + 1000.0) - tfr.exp(x + 1000.0), "sub"),
    (lambda x: tfr.asin(x + 2.0), "asin"),
    (lambda x: (x + 0.0) ** -1.0 @ tfr.constant([0.0, 0.0]), "contract"), (lambda x: tfr.mean(x[:0]), "reduce_mean"),
    (lambda x: tfr.sqrt(x - 1.0).astype("f4"), "sqrt"), (lambda x: tfr.sqrt(x.astype("c16") * np.inf), "mul"),
], ids=lambda v: v if isinstance(v, str) else "")
def test_operations_that_make_one(make, f, op):
    x = make([0.0, 0.0])
    with RT.detect_anomaly(), pytest.raises(errors.NumericalError) as e:
        f(x)
    assert e.value.op == op


def outer_product_of_logs(x):
    return tfr.log(x) * 2.0


def test_the_frame_is_the_users():
    """Functions of this library that are written in Python are passed over."""
    x = tfr.constant([0.0])
    with RT.detect_anomaly():
        with pytest.raises(errors.NumericalError) as e:
            outer_product_of_logs(x - 1.0)
        assert "in outer_product_of_logs: return tfr.log(x) * 2.0" in str(e.value)
        line = here(2)
        with pytest.raises(errors.NumericalError) as e:
            (x - 1.0).max() + (x / x).T.sum()
        assert line in str(e.value)
        line = here(2)
        with pytest.raises(errors.NumericalError) as e:
            tfr.grad(lambda v: v.sum())(x / x)
        assert line in str(e.value)


def test_nothing_is_said_about_what_is_no_anomaly():
    a = np.array([np.nan, 1.0, np.inf])
    x, c = tfr.variable(a), tfr.constant(a)
    with RT.detect_anomaly():
        y = x * 2.0 + c                 # the operands had it
        tfr.where(tfr.isnan(c), 0.0, c)
        z = (tfr.where(tfr.isnan(x), 0.0, x)[:2] ** 2).sum()
        z.backward()
        tfr.constant([1, 0]) // tfr.constant([1, 1])
        tfr.constant(a)
        tfr.exp(tfr.constant(1000.0))
    assert np.isnan(y[0].item())
    assert x.grad.tolist() == [0, 2, 0]


@pytest.mark.parametrize("sweep", [
    lambda y, x: y.backward(), lambda y, x: RT.grad(y, x), lambda y, x: RT.vjp(y, x, 1.0),
    lambda y, x: RT.jvp(y, x, [1.0, 1.0]),
])
def test_the_first_nan_of_a_derivative(sweep):
    x = tfr.variable([1.0, 2.0])
    with RT.detect_anomaly():
        line = here(1)
        s = nan_slope(x)
        y = (s * 1.0).sum()
        with pytest.raises(errors.NumericalError) as e:
            sweep(y, x)
    assert e.value.op == "nan_slope"
    assert "the derivative of nan_slope made the first NaN (in div)" in str(e.value)
    assert line in str(e.value)
    assert x.grad is None


@tfr.custom_op(vjp=lambda g, out, x: (g - g) / (x - x), jvp=lambda t, out, x: (t[0] - t[0]) / (x - x), name="nan_slope")
def nan_slope(x):
    return x * 1.0


@pytest.mark.parametrize("several", [False, True])
def test_a_custom_operation_in_numpy(several):
    @tfr.custom_op
    def sink(x):
        y = np.where(x.numpy() > 0, 1.0, np.nan)
        return (y, y) if several else y

    x = tfr.variable([1.0])
    with RT.detect_anomaly():
        tfr.isnan(x)
        sink(x)
        with pytest.raises(errors.NumericalError) as e:
            sink(x - 5.0)
    assert e.value.op == "custom"
    assert "sink(x - 5.0)" in str(e.value)


def test_the_line_of_a_custom_operation_in_numpy():
    @tfr.custom_op(vjp=lambda g, out, x: (g - g) / (x - x))
    def quiet(x):
        return np.ones(1)

    x = tfr.variable([1.0])
    with RT.detect_anomaly():
        tfr.isnan(x)
        line = here(1)
        y = quiet(x)
        with pytest.raises(errors.NumericalError) as e:
            y.sum().backward()
    assert e.value.op == "quiet"
    assert line in str(e.value)


def test_a_derivative_of_a_builtin_operation():
    x = tfr.variable([1.0])
    zero = tfr.constant([0.0])
    with RT.detect_anomaly():
        y = x * 2.0
        line = here(1)
        y = y * zero
        z = y + 1.0
        with pytest.raises(errors.NumericalError) as e:
            RT.vjp(z, x, [np.inf])
    assert e.value.op == "mul"
    assert line in str(e.value)
    assert "y = y * zero" in str(e.value)


def test_cotangents_that_cancel_are_seen():
    x = tfr.variable([1.0])
    with RT.detect_anomaly():
        u, v = x * 1.0, x * 1.0
        with pytest.raises(errors.NumericalError, match="in add"):
            RT.vjp([u, v], x, [np.array([np.inf]), np.array([-np.inf])])


def test_callers_are_named():
    def step(x):
        return outer_product_of_logs(x)

    line = here(2)
    with RT.detect_anomaly(), pytest.raises(errors.NumericalError) as e:
        step(tfr.constant([-1.0]))
    text = str(e.value)
    assert text.index("in outer_product_of_logs") < text.index("in step") < text.index(line)


def test_lines_are_unknown_without_the_guard():
    x = tfr.variable([1.0])
    y = nan_slope(x).sum()
    with RT.detect_anomaly(), pytest.raises(errors.NumericalError, match="unknown line"):
        y.backward()


def test_guards_belong_to_a_thread_and_a_runtime():
    x = tfr.variable([-1.0])
    other = EagerRuntime().variable_from([-1.0])
    with RT.detect_anomaly():
        assert np.isnan(tfr.log(other).item())
        found = []
        t = threading.Thread(target=lambda: found.append(np.isnan(tfr.log(x).item())))
        t.start()
        t.join()
        assert found == [True]
        with pytest.raises(errors.NumericalError):
            tfr.log(x)


def test_guards_end():
    x = tfr.variable([-1.0])
    guard = RT.detect_anomaly()
    guard.close()
    tfr.log(x)
    guard = RT.detect_anomaly()
    guard.__enter__()
    inner = RT.detect_anomaly()
    inner.__enter__()
    with pytest.raises(errors.RuntimeStateError):
        guard.close()
    inner.close()
    with pytest.raises(errors.NumericalError):
        tfr.log(x)
    guard.close()
    guard.close()
    tfr.log(x)
    with pytest.raises(errors.RuntimeStateError):
        guard.__enter__()


# ---- profiles --------------------------------------------------------------------------------------------------------

def test_a_table_per_operation():
    x = tfr.variable(np.ones((10, 10)))
    with RT.profile() as p:
        for _ in range(3):
            y = tfr.sin(x) * x
        y.sum()
        x.T
    rows = {r.op: r for r in p.rows()}
    assert {op: (r.calls, r.nbytes) for op, r in rows.items()} == {
        "sin": (3, 2400), "mul": (3, 2400), "reduce_sum": (1, 8), "transpose": (1, 0)}
    assert [r.total_us for r in p.rows()] == sorted([r.total_us for r in p.rows()], reverse=True)
    assert all(r.total_us > 0 for r in p.rows())
    text = p.table()
    assert text == str(p)
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["operation", "calls", "total", "us", "us/call", "bytes"]
    assert {line[0]: line[1] for line in lines[1:]} == {"sin": "3", "mul": "3", "reduce_sum": "1", "transpose": "1",
                                                        "total": "8"}
    assert "8 operations" in repr(p)


def test_events():
    x = tfr.variable(np.ones((2, 3), "f4"))
    with RT.profile() as p:
        y = tfr.exp(x).sum()
        y.backward()
    names = [(e.op, e.shape, e.dtype, e.nbytes, e.rule_of) for e in p.events]
    assert names[:2] == [("exp", (2, 3), "float32", 24, None), ("reduce_sum", (), "float32", 4, None)]
    assert names[2][-1] == "reduce_sum"
    assert names[-1][-1] == "exp"
    assert all(e.duration_us >= 0 for e in p.events)
    starts = [e.start_us for e in p.events]
    assert starts == sorted(starts)
    assert starts[0] >= 0


def test_derivatives_are_measured_although_they_are_cached():
    x = tfr.variable(np.ones(3))
    for _ in range(3):
        tfr.exp(x).sum().backward()
    with RT.profile() as p:
        tfr.exp(x).sum().backward()
    assert {e.rule_of for e in p.events} >= {"exp", "reduce_sum"}


def test_a_chrome_trace(tmp_path):
    x = tfr.variable(np.ones(3))
    with RT.profile() as p:
        tfr.exp(x).sum().backward()
    path = tmp_path / "trace.json"
    p.chrome_trace(path)
    data = json.loads(path.read_text())
    events = data["traceEvents"]
    assert len(events) == len(p.events)
    assert all(e["ph"] == "X" and {"name", "cat", "ts", "dur", "pid", "tid"} <= set(e) for e in events)
    assert events[0]["name"] == "exp"
    assert events[0]["args"] == {"shape": [3], "dtype": "float64", "bytes": 24}
    assert events[-1]["cat"] == "derivative of exp"


def test_the_number_of_events_is_bounded():
    x = tfr.constant(1.0)
    with RT.profile(max_events=2) as p:
        for _ in range(5):
            x + 1.0
    assert len(p.events) == 2
    assert p.rows()[0].calls == 5
    for bad in (-1, "many", None, 1.5):
        with pytest.raises(errors.ValidationError) as e:
            RT.profile(max_events=bad)
        assert e.value.argument == "max_events"


def test_a_profile_is_of_one_runtime_and_thread():
    other = EagerRuntime().constant_from([1.0])
    x = tfr.constant([1.0])
    with RT.profile() as p, RT.profile() as q:
        other + other
        t = threading.Thread(target=lambda: x + x)
        t.start()
        t.join()
        x * x
    x - x
    for r in (p, q):
        assert [e.op for e in r.events] == ["mul"]


def test_operations_that_raise():
    x = tfr.constant([1.0, -1.0])
    with RT.profile() as p, RT.detect_anomaly():
        for _ in range(100):
            with pytest.raises(errors.NumericalError):
                tfr.sqrt(x)
            with pytest.raises(errors.ShapeMismatchError):
                x + tfr.constant([1.0, 2.0, 3.0])
        x * x
    assert {r.op: r.calls for r in p.rows()}["mul"] == 1
    assert p.events[-1].op == "mul"


# ---- drawings --------------------------------------------------------------------------------------------------------

def test_a_tree():
    x, w = tfr.variable(np.ones((2, 3))), tfr.variable(np.ones(3, "f4"))
    y = x * w
    loss = (y + y * 2.0).sum()
    assert str(RT.draw(loss)) == "\n".join([
        "[0] reduce_sum float64 ()",
        "└─ [1] add float64 (2, 3)",
        "   ├─ [2] mul float64 (2, 3)",
        "   │  ├─ [4] leaf float64 (2, 3)",
        "   │  └─ [5] leaf float32 (3,)",
        "   └─ [3] mul float64 (2, 3)",
        "      ├─ [2] mul float64 (2, 3) (shown above)",
        "      └─ constant",
    ])


def test_a_graph():
    x = tfr.variable(2.0)
    d = RT.draw(x * x * 3.0)
    assert d.dot() == "\n".join([
        "digraph trace {", "  rankdir=BT;", "  node [shape=box];",
        '  n0 [label="mul\\nfloat64 ()"];', '  n1 [label="mul\\nfloat64 ()"];',
        '  n2 [label="leaf\\nfloat64 ()", style=filled];',
        "  n1 -> n0;", '  c0_1 [label="constant", shape=plaintext];', "  c0_1 -> n0;", "  n2 -> n1;", "  n2 -> n1;",
        "}", ""])
    assert d.complete
    assert [n.op for n in d.nodes] == ["mul", "mul", "leaf"]
    assert "3 nodes" in repr(d)


def test_names_of_custom_operations_are_shown_and_quoted():
    f = tfr.custom_op(lambda x: x * 1.0, name='say "f"\\')
    d = RT.draw(f(tfr.variable(1.0)))
    assert 'say "f"\\ float64 ()' in str(d)
    assert r'label="say \"f\"\\\\nfloat64 ()"' in d.dot() or r'label="say \"f\"\\\nfloat64 ()"' in d.dot()


def test_a_long_trace_is_cut_off():
    x = tfr.variable(1.0)
    y = x
    for _ in range(100_000):
        y = y * 1.0 + x
    d = RT.draw(y, max_nodes=10)
    assert len(d.nodes) == 10
    assert not d.complete
    assert len(str(d).splitlines()) < 30
    assert "only the 10 nodes nearest" in str(d).splitlines()[-1]
    assert "only the 10 nodes nearest" in d.dot()
    assert '"..."' in d.dot()
    assert len(RT.draw(y).nodes) == 100
    whole = RT.draw(y, max_nodes=10**6)
    assert len(whole.nodes) == 200_001
    assert whole.complete


def test_many_uses_of_one_node():
    x = tfr.variable(1.0)
    y = x
    for _ in range(60):
        y = y + y
    text = str(RT.draw(y))
    assert len(text.splitlines()) == 121
    assert "only the" not in text


def test_drawings_of_leaves_and_constants():
    assert str(RT.draw(tfr.variable([1.0]))) == "[0] leaf float64 (1,)"
    assert str(RT.draw(tfr.constant([1, 2]))) == "[0] constant int64 (2,)"


def test_a_drawing_keeps_nothing_alive():
    x = tfr.variable([1.0, 2.0])
    y = x * x
    d = RT.draw(y)
    del y
    x.into_value()
    assert "mul" in str(d)


def test_what_cannot_be_drawn():
    x = tfr.variable(1.0)
    with pytest.raises(errors.ContextMismatchError):
        EagerRuntime().draw(x)
    with pytest.raises(TypeError):
        RT.draw(None)
    with pytest.raises(TypeError):
        RT.draw(1.0)
    for bad in (0, -1, "all", None):
        with pytest.raises(errors.ValidationError) as e:
            RT.draw(x, max_nodes=bad)
        assert e.value.argument == "max_nodes"
    x.into_value()
    with pytest.raises(errors.RuntimeStateError):
        RT.draw(x)
