"""Plugins are found, asked one by one, and a broken one breaks nothing else."""

import threading
import tomllib
from pathlib import Path

import pytest

import tenferro as tfr
from tenferro import errors, plugins

ROOT = Path(__file__).parents[2]
OWN = [r for r in tfr.engines() if r.distribution == "tenferro"]
OWN_NAMES = [r.name for r in OWN]
OWN_AVAILABLE = [r.name for r in OWN if r.available]
OFFER = "@hookimpl\ndef tenferro_engines():\n    return [info()]\n"


def records(**fields):
    return [r for r in tfr.engines() if all(getattr(r, key) == value for key, value in fields.items())]


def names():
    return [r.name for r in tfr.engines()]


def test_own_engines_come_first(site):
    found = tfr.engines()
    assert [r.name for r in found[:2]] == ["cpu", "cpu-threads"]
    for r in found[:2]:
        assert (r.kind, r.available, r.reason, r.error, r.spec) == ("host", True, None, None, r.name)
        assert (r.distribution, r.version, r.plugin) == ("tenferro", tfr.__version__, "cpu")
        assert r.description


def test_the_fallback_names_what_pyproject_names():
    facts = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert facts["project"]["entry-points"][plugins.GROUP] == plugins.OWN


def test_own_engines_without_metadata(site, monkeypatch):
    monkeypatch.setattr(plugins.metadata, "distributions", lambda: [])
    assert names() == OWN_NAMES


def test_a_third_party_is_listed(site):
    module = site.install("tenferro-fast", version="2.1")
    record, = records(distribution="tenferro-fast")
    assert (record.name, record.kind, record.description, record.plugin) == ("fast", "host", "a test", "main")
    assert (record.available, record.reason, record.error, record.version, record.spec) == (True, None, None, "2.1", "fast")
    plugin, = (p for p in plugins.discover() if p.distribution == "tenferro-fast")
    assert (plugin.value, plugin.own, plugin.skipped, [i.name for i in plugin.engines]) == (module, False, False, ["fast"])


def test_an_object_of_a_module(site):
    site.install("tenferro-fast", """\
        class Plugin:
            @hookimpl
            def tenferro_engines(self):
                yield info("one")
                yield info("two")

        plugin = Plugin()
        """, points="[tenferro.backends]\nmain = {module}:plugin\n")
    assert names()[-2:] == ["one", "two"]


def test_threads_that_look_at_once(site):
    site.install("tenferro-slow", "import time\ntime.sleep(0.05)\n" + OFFER)
    start, found = threading.Barrier(4), []

    def look():
        start.wait()
        found.append(names())

    threads = [threading.Thread(target=look) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [[*OWN_NAMES, "fast"]] * 4


def test_discovery_happens_once(site):
    site.install("tenferro-fast")
    assert plugins.discover() is plugins.discover()
    before = plugins.discover()
    plugins.forget()
    assert plugins.discover() is not before


BROKEN = {
    "import": ("import no_such_module_anywhere", "ModuleNotFoundError: No module named 'no_such_module_anywhere'"),
    "import raises": ("raise RuntimeError('no luck')", "RuntimeError: no luck"),
    "syntax": ("def f(:", "SyntaxError"),
    "exit": ("import sys; sys.exit(3)", "SystemExit: 3"),
    "no hook": ("x = 1", "implements no hook"),
    "not marked": ("def tenferro_engines(): return []", "implements no hook"),
    "misspelt hook": ("@hookimpl\ndef tenferro_engine(): return []", "tenferro_engine"),
    "unknown argument": ("@hookimpl\ndef tenferro_engines(device): return []", "device"),
    "hook raises": ("@hookimpl\ndef tenferro_engines(): raise OSError('driver')", "OSError: driver"),
    "generator raises": ("@hookimpl\ndef tenferro_engines():\n    yield info()\n    1 / 0", "ZeroDivisionError: division"),
    "returns None": ("@hookimpl\ndef tenferro_engines(): info()", "iterable of tenferro.hookspecs.EngineInfo, not NoneType"),
    "returns one": ("@hookimpl\ndef tenferro_engines(): return info()", "EngineInfo, not EngineInfo"),
    "returns str": ("@hookimpl\ndef tenferro_engines(): return 'fast'", "not str with str"),
    "returns names": ("@hookimpl\ndef tenferro_engines(): return [info(), 'fast']", "not list with str"),
    "twice": ("@hookimpl\ndef tenferro_engines(): return [info(), info()]", "'fast' twice"),
    "bad name": ("@hookimpl\ndef tenferro_engines(): return [info('Fast:1')]", "EngineInfo.name"),
    "recursive import": ("import tenferro\ntenferro.engines()", "must not ask for engines"),
    "recursive hook": ("import tenferro\n@hookimpl\ndef tenferro_engines(): return tenferro.engine('fast')",
                       "must not ask for engines"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_breaks_nothing_else(site, case):
    source, message = BROKEN[case]
    site.install("tenferro-a-good", OFFER.replace("info()", "info('good')"))
    site.install("tenferro-broken", source, entry="wreck")
    site.install("tenferro-z-good", OFFER.replace("info()", "info('better')"))
    broken, = records(distribution="tenferro-broken")
    assert message in broken.error
    assert (broken.name, broken.plugin, broken.available, broken.spec) == ("wreck", "wreck", False, None)
    assert broken.reason == "its plugin failed"
    assert [r.name for r in tfr.engines() if r.available] == [*OWN_AVAILABLE, "good", "better"]
    assert tfr.engine("good").name == "good"
    with pytest.raises(errors.ValidationError, match="plugin 'wreck' of tenferro-broken failed") as e:
        tfr.engine("wreck")
    assert message in str(e.value)


def test_a_missing_object(site):
    site.install("tenferro-broken", points="[tenferro.backends]\nmain = {module}:nothing\n")
    assert "nothing" in records(distribution="tenferro-broken")[0].error


def test_metadata_that_cannot_be_read(site):
    site.install("tenferro-broken", points="[tenferro.backends]\nno entry point at all {module}\n")
    site.install("tenferro-fast")
    assert "fast" in names()
    failed = [r for r in tfr.engines() if r.error]
    assert len(failed) == 1
    assert "tenferro_broken-1.0.dist-info" in failed[0].name
    assert "its metadata cannot be read" in failed[0].error


def test_a_distribution_without_a_name(site):
    site.install("tenferro-broken", metadata=False)
    assert "fast" in names()


def test_the_first_of_a_distribution_on_the_path_counts(site, tmp_path, monkeypatch):
    site.install("tenferro-fast", OFFER.replace("info()", "info('old')"), version="1.0")
    second = type(site)(tmp_path / "second")
    second.path.mkdir()
    monkeypatch.syspath_prepend(second.path)
    second.install("Tenferro.Fast", OFFER.replace("info()", "info('new')"), version="2.0")
    assert [n for n in names() if n not in OWN_NAMES] == ["new"]


def test_a_newer_distribution_that_is_no_plugin_hides_the_old_one(site, tmp_path, monkeypatch):
    site.install("tenferro-fast", version="1.0")
    second = type(site)(tmp_path / "second")
    second.path.mkdir()
    monkeypatch.syspath_prepend(second.path)
    second.install("tenferro-fast", version="2.0", points="[console_scripts]\nfast = {module}:main\n")
    assert names() == OWN_NAMES


# ---- names that several offer ----------------------------------------------------------------------------------------

def test_two_distributions_with_one_name(site):
    site.install("tenferro-b", OFFER.replace("info()", "info(option='device')"))
    site.install("tenferro-a", OFFER.replace("info()", "info(option='device')"))
    first, second = records(name="fast")
    assert (first.distribution, first.spec, first.conflicts) == ("tenferro-a", "tenferro-a:fast", ("tenferro-b",))
    assert (second.distribution, second.spec, second.conflicts) == ("tenferro-b", "tenferro-b:fast", ("tenferro-a",))
    with pytest.raises(errors.ValidationError, match="'tenferro-a:fast' or 'tenferro-b:fast'") as e:
        tfr.engine("fast")
    assert (e.value.op, e.value.argument) == ("engine", "spec")
    a, b = (tfr.engine(r.spec) for r in (first, second))
    assert type(a) is not type(b)
    assert type(tfr.engine("Tenferro_B:fast")) is type(b)
    assert tfr.engine("tenferro-b:fast:3").options == {"device": 3}


def test_own_names_cannot_be_taken(site):
    site.install("tenferro-rogue", OFFER.replace("info()", "info('cpu'), info('cpu-threads')"))
    own, theirs = records(name="cpu")
    assert (own.distribution, own.spec, own.conflicts) == ("tenferro", "cpu", ("tenferro-rogue",))
    assert (theirs.distribution, theirs.spec, theirs.conflicts) == ("tenferro-rogue", "tenferro-rogue:cpu", ("tenferro",))
    assert type(tfr.engine("cpu")).__name__ == type(tfr.engine("cpu-threads:1")).__name__ == "CpuEngine"
    assert type(tfr.engine("tenferro:cpu")).__name__ == "CpuEngine"
    assert type(tfr.engine("tenferro-rogue:cpu")).__name__ == "Engine"


def test_two_plugins_of_a_distribution_with_one_name(site):
    site.install("tenferro-fast", points="[tenferro.backends]\none = {module}\ntwo = {module}\n")
    first, second = records(distribution="tenferro-fast")
    assert (first.plugin, first.name, first.available) == ("one", "fast", True)
    assert (second.plugin, second.available) == ("two", False)
    assert "'one' of the same distribution" in second.error
    assert tfr.engine("fast").name == "fast"


# ---- variables -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("value", "expected"), [
    (None, ["a", "b"]), ("", []), (",", []), ("tenferro-a", ["a"]), ("Tenferro_A", ["a"]), (" other , tenferro-a ", ["a", "b"]),
    ("other", ["b"]), ("main", ["a"]),
])
def test_plugins_are_restricted(site, monkeypatch, value, expected):
    site.install("tenferro-a", OFFER.replace("info()", "info('a')"))
    source = OFFER.replace("info()", "info('b')") if "b" in expected else "raise SystemExit('imported')"
    site.install("tenferro-b", source, entry="other")
    if value is not None:
        monkeypatch.setenv("TENFERRO_PLUGINS", value)
    plugins.forget()
    assert [r.name for r in tfr.engines() if r.available] == [*OWN_AVAILABLE, *expected]
    assert not [r for r in tfr.engines() if r.error]
    left_out = {p.distribution for p in plugins.discover() if p.skipped}
    assert left_out == {f"tenferro-{x}" for x in "ab" if x not in expected}
    if "a" not in expected:
        assert "TENFERRO_PLUGINS" in records(distribution="tenferro-a")[0].reason
        with pytest.raises(errors.ValidationError, match="TENFERRO_PLUGINS leaves the plugin 'main' of tenferro-a out"):
            tfr.engine("a")
    assert tfr.engine("cpu").name == "cpu"


def test_a_restriction_to_what_is_not_there(site, monkeypatch):
    monkeypatch.setenv("TENFERRO_PLUGINS", "tenferro-absent")
    plugins.forget()
    assert [r.error for r in records(name="tenferro-absent")] == [
        "TENFERRO_PLUGINS names it, but no installed distribution or plugin is called so"]
    assert names()[:len(OWN_NAMES)] == OWN_NAMES


@pytest.mark.parametrize("value", ["1", "0", "", None])
def test_trace(site, monkeypatch, capsys, value):
    site.install("tenferro-fast", version="3.2")
    site.install("tenferro-broken", "raise OSError('driver')")
    if value is not None:
        monkeypatch.setenv("TENFERRO_TRACE_PLUGINS", value)
    plugins.forget()
    tfr.engine("fast")
    out, err = capsys.readouterr()
    assert out == ""
    if value != "1":
        assert err == ""
        return
    lines = [line for line in err.splitlines() if line.startswith("tenferro plugins: ")]
    assert any(f"{plugins.GROUP}: {2 + len(plugins.OWN)}, found in" in line and " ms" in line for line in lines)
    assert any("(tenferro-fast 3.2): " in line and line.endswith("engines fast") for line in lines)
    assert any("(tenferro-broken 1.0): " in line and line.endswith("failed") for line in lines)
    assert lines[-1].endswith("engine fast opened")
    assert "Traceback" in err
    assert "OSError: driver" in err
