"""The contract: every hook is documented with its exact signature and has a test of its name; engines do not drift from it."""

import inspect
import re
from pathlib import Path

import numpy as np
import pluggy
import pytest

import tenferro as tfr
from tenferro import EagerRuntime, EagerSession, ExecutionEngine, errors, hookspecs, operations
from tenferro.testing.drift import drift
from tenferro_cpu import CpuEngine

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "engines.md").read_text()
HOOKS = {name: f for name, f in vars(hookspecs).items() if hasattr(f, f"{hookspecs.PROJECT}_spec")}
AVAILABLE = [r.spec for r in tfr.engines() if r.available]


def test_the_hooks_are_those_of_the_manager():
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    assert set(HOOKS) == set(vars(manager.hook)) - {"_name2plugin"} == {"tenferro_engines"}
    assert set(HOOKS) <= set(hookspecs.__all__)


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_a_hook_is_documented(name):
    signature = re.sub(r"\b(?:collections\.abc|tenferro\.hookspecs)\.", "", str(inspect.signature(HOOKS[name])))
    assert f"def {name}{signature}:" in DOCUMENT
    assert inspect.getdoc(HOOKS[name])


@pytest.mark.parametrize("field", inspect.signature(hookspecs.EngineInfo).parameters)
def test_a_field_of_engine_info_is_documented(field):
    assert f"`{field}`" in DOCUMENT
    assert re.search(rf"^    {field} : ", hookspecs.EngineInfo.__doc__, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_a_hook_has_a_test(name):
    assert callable(globals()[f"test_{name}"])


@pytest.mark.parametrize("name", ["TENFERRO_ENGINE", "TENFERRO_PLUGINS", "TENFERRO_TRACE_PLUGINS"])
def test_a_variable_is_documented(name):
    assert f"| `{name}` |" in (ROOT / "docs" / "environment.md").read_text()
    assert f"`{name}" in DOCUMENT


def test_tenferro_engines(site):
    site.install("tenferro-fast", """\
        calls = []

        @hookimpl
        def tenferro_engines():
            calls.append(1)
            return (info("one"), info("two", option="level", available=lambda: "not today"))
        """)
    plugin = tfr.plugins.discover()[-1]
    assert [(i.name, i.option, i.available()) for i in plugin.engines] == [("one", None, None), ("two", "level", "not today")]
    assert tfr.engine("one").name == "one"
    tfr.engines()
    import importlib
    assert importlib.import_module(plugin.value).calls == [1]


# ---- engines keep to the operations of the table ---------------------------------------------------------------------

@pytest.mark.parametrize("spec", AVAILABLE)
def test_engines_do_not_drift(spec):
    assert drift(tfr.engine(spec)) == []


@pytest.mark.parametrize("spec", AVAILABLE)
def test_a_session_has_the_operations_of_the_table(spec):
    with EagerRuntime().session(tfr.engine(spec)) as s:
        assert type(s) is EagerSession
        for name, f in operations.OPERATIONS.items():
            assert getattr(s, name).__wrapped__ is f
        with pytest.raises(AttributeError):
            s.faster_than_light = 1


class Added(CpuEngine):
    def exp(self, x):
        return x

    def tensordot(self, a, b):
        return a

    def reduce_sum(self, x):
        return x


class Changed(CpuEngine):
    def register_kernel(self, op, kernel):
        return None


class Fine(CpuEngine):
    limit = 3

    def synchronize(self):
        return None

    def register_kernel(self, op, kernel, abi):
        return None

    def _exp(self, x):
        return x


def test_drift_is_seen():
    assert [line.split(":")[0] for line in drift(Added())] == ["exp", "reduce_sum", "tensordot"]
    assert drift(Changed()) == ["register_kernel: the signature differs from that of ExecutionEngine"]
    assert drift(Fine()) == []
    assert drift(ExecutionEngine()) == []


def test_a_kernel_for_an_operation_that_does_not_exist():
    with pytest.raises(errors.ValidationError, match="faster_than_light"):
        ExecutionEngine().register_kernel("faster_than_light", None, 1)


def test_an_engine_without_kernels():
    with EagerRuntime().session(ExecutionEngine("bare")) as s, pytest.raises(errors.UnsupportedError, match="bare") as e:
        s.exp(np.ones(2))
    assert (e.value.op, e.value.engine) == ("exp", "bare")
