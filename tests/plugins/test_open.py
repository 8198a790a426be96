"""Opening an engine by name: what follows the colon, options, and every way in which it can fail."""

import pickle

import numpy as np
import pytest

import tenferro as tfr
from tenferro import EagerRuntime, errors
from tenferro.hookspecs import EngineInfo

OFFER = "@hookimpl\ndef tenferro_engines():\n    return [{}]\n"


def offer(site, info, **options):
    site.install("tenferro-fast", OFFER.format(info), **options)


# ---- this distribution's engines -------------------------------------------------------------------------------------

def test_cpu():
    engine = tfr.engine("cpu")
    assert (engine.name, engine.kind) == ("cpu", "host")
    assert tfr.engine("cpu") is not engine
    with tfr.session(engine) as s:
        assert s.add([1.0], 2.0).tolist() == [3]


@pytest.mark.parametrize("spec", ["cpu-threads", "cpu-threads:2", "tenferro:cpu-threads:2"])
def test_cpu_threads(spec):
    engine = tfr.engine(spec)
    assert (engine.name, engine.kind, engine.context_id) == ("cpu-threads", "host", tfr.engine("cpu").context_id)
    x = np.arange(30_000.0)
    with tfr.session(engine) as s:
        np.testing.assert_array_equal(s.exp(-x).numpy(), tfr.exp(-tfr.constant(x)).numpy())


def test_host_engines_never_conflict(site):
    offer(site, "info()")
    rt = EagerRuntime()
    x = rt.variable_from([1.0, 2.0])
    for spec in ("cpu", "cpu-threads:2", "fast", "cpu"):
        with rt.session(tfr.engine(spec)):
            x = x * x
    assert x.tolist() == [1, 2**16]


@pytest.mark.parametrize(("spec", "options", "argument", "message"), [
    ("cpu:3", {}, "spec", "takes nothing after a colon, not '3'"),
    ("cpu:", {}, "spec", "takes nothing after a colon"),
    ("cpu", {"threads": 3}, "options", "'threads'"),
    ("cpu-threads:", {}, "threads", "missing after the colon"),
    ("cpu-threads:2", {"threads": 3}, "threads", "given twice"),
    ("cpu-threads", {"device": 3}, "options", "'device'"),
    ("cpu-threads:0", {}, "n", "from 1 to"),
    ("cpu-threads:two", {}, "n", "from 1 to"),
    ("cpu-threds", {}, "spec", r"did you mean 'cpu-threads'\? There are: cpu, cpu-threads"),
    ("CPU", {}, "spec", "did you mean 'cpu'"),
    ("zzz", {}, "spec", r"there is no engine 'zzz'\. There are: cpu, cpu-threads"),
    ("", {}, "spec", "there is no engine ''"),
    (3, {}, "spec", "named by a str, not by int"),
    (None, {}, "spec", "named by a str"),
])
def test_bad_specs(site, spec, options, argument, message):
    with pytest.raises(errors.ValidationError, match=message) as e:
        tfr.engine(spec, **options)
    assert e.value.argument == argument


def test_names_are_refused_where_engines_are_expected():
    with pytest.raises(errors.UnsupportedError, match=r"tenferro\.engine\('cpu'\)"), tfr.session("cpu"):
        pass


# ---- a third party's -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("spec", "options", "expected"), [
    ("fast", {}, {}), ("fast:1", {}, {"device": 1}), ("fast:cuda:1", {}, {"device": "cuda:1"}),
    ("fast:-1", {}, {"device": "-1"}), ("fast:07", {}, {"device": 7}), ("fast:²", {}, {"device": "²"}),
    ("fast", {"device": 2.5}, {"device": 2.5}),
    ("fast:1", {"streams": 2}, {"device": 1, "streams": 2}), ("tenferro-fast:fast", {}, {}),
    ("tenferro-fast:fast:x", {}, {"device": "x"}),
])
def test_options(site, spec, options, expected):
    offer(site, "info(option='device')")
    engine = tfr.engine(spec, **options)
    assert engine.name == "fast"
    assert engine.options == expected


def test_an_engine_may_say_more_in_its_name(site):
    offer(site, "info(open=lambda: Engine('fast:3'))")
    assert tfr.engine("fast").name == "fast:3"


def test_a_function_without_a_signature(site):
    offer(site, "info('cpu2', open=dict)")
    with pytest.raises(errors.EngineError, match="opened dict"):
        tfr.engine("cpu2", anything=1)


@pytest.mark.parametrize(("info", "message"), [
    ("info(open=lambda: 'fast')", "opened str as engine 'fast': it has to be a tenferro.ExecutionEngine"),
    ("info(open=lambda: None)", "opened NoneType"),
    ("info(open=lambda: Engine)", "opened type"),
    ("info(open=lambda: Engine('slow'))", "opened 'slow' of kind 'host'"),
    ("info(open=lambda: Engine('faster'))", "opened 'faster'"),
    ("info(open=lambda: Engine('fast', 'gpu'))", "of kind 'host', but opened 'fast' of kind 'gpu'"),
])
def test_what_is_opened_is_checked(site, info, message):
    offer(site, info)
    with pytest.raises(errors.EngineError, match=message) as e:
        tfr.engine("fast")
    assert e.value.engine == "fast"
    assert "tenferro-fast" in str(e.value)


@pytest.mark.parametrize("failure", ["OSError('driver')", "SystemExit(3)", "KeyError('x')"])
def test_a_failure_is_chained(site, failure):
    offer(site, f"info(open=lambda: (_ for _ in ()).throw({failure}))")
    with pytest.raises(errors.EngineError, match=failure.partition("(")[0]) as e:
        tfr.engine("fast")
    assert type(e.value.__cause__).__name__ == failure.partition("(")[0]
    assert pickle.loads(pickle.dumps(e.value)).engine == "fast"


@pytest.mark.parametrize("error", [MemoryError, errors.OutOfMemoryError, errors.UnsupportedError, KeyboardInterrupt])
def test_errors_that_say_enough_come_out_unchanged(site, error):
    offer(site, f"info(open=lambda: (_ for _ in ()).throw({error.__name__}('as it is')))",
          before=f"from {error.__module__} import {error.__name__}\n")
    with pytest.raises(error, match=r"^as it is$") as e:
        tfr.engine("fast")
    assert type(e.value) is error


@pytest.mark.parametrize(("available", "reason", "broken"), [
    ("lambda: 'no device'", "no device", False),
    ("lambda: 1 / 0", "available() failed: ZeroDivisionError: division by zero", True),
    ("lambda: exit(3)", "available() failed: SystemExit: 3", True),
    ("lambda: True", "available() returned True, neither None nor a reason", True),
    ("lambda: ''", "available() returned '', neither None nor a reason", True),
])
def test_an_engine_that_is_not_available(site, available, reason, broken):
    offer(site, f"info(available={available})")
    record = tfr.engines()[-1]
    assert (record.name, record.available, record.reason) == ("fast", False, reason)
    assert record.error == (reason if broken else None)
    with pytest.raises(errors.UnsupportedError, match="cannot be used here") as e:
        tfr.engine("fast")
    assert reason in str(e.value)
    assert (e.value.op, e.value.engine) == ("engine", "fast")


def test_availability_is_asked_every_time(site):
    offer(site, "info(available=lambda: answers.pop())", before="answers = [None, 'gone', None]\n")
    assert tfr.engines()[-1].available
    assert not tfr.engines()[-1].available
    assert tfr.engines()[-1].available


# ---- EngineInfo ------------------------------------------------------------------------------------------------------

GOOD = {"name": "fast", "kind": "host", "description": "a test", "open": print}


@pytest.mark.parametrize("name", ["a", "cpu-threads", "x.y_z-3", "3d"])
def test_good_names(name):
    assert EngineInfo(**{**GOOD, "name": name}).name == name


@pytest.mark.parametrize(("field", "value"), [
    *(("name", bad) for bad in ("", "Fast", "fast:1", "a b", "-a", "a-", "fast\n", "é", None, 3)),
    ("kind", ""), ("kind", None), ("kind", "a\nb"), ("description", ""), ("description", "two\nlines"), ("description", 3),
    ("open", None), ("open", "f"), ("available", None), ("available", True), ("option", ""), ("option", "a b"), ("option", 3),
])
def test_bad_fields(field, value):
    with pytest.raises(errors.ValidationError, match=rf"EngineInfo\.{field} is") as e:
        EngineInfo(**{**GOOD, field: value})
    assert (e.value.op, e.value.argument) == ("EngineInfo", field)
