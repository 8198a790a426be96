"""What importing costs, and ``TENFERRO_ENGINE``, each in a fresh interpreter."""

import json

import pytest

import tenferro as tfr
from tenferro.__main__ import main

OFFER = "@hookimpl\ndef tenferro_engines():\n    return [{}]\n"


def printed(result):
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout.split()


def last_line(result):
    assert result.returncode != 0
    return result.stderr.strip().splitlines()[-1]


def test_importing_loads_no_plugin(site):
    modules = [site.install(f"tenferro-p{k}", OFFER.format(f"info('p{k}')")) for k in range(10)]
    names = [f"p{k}" for k in range(10)]
    assert [r.name for r in tfr.engines() if r.name in names] == names
    assert printed(site.run(f"""
        import sys
        import tenferro as tfr
        x = tfr.variable([1.0, 2.0])
        (x * x).sum().backward()
        tfr.engine("cpu")
        unwanted = ["pluggy", "importlib.metadata", "tenferro.plugins", "scipy", "opt_einsum", *{modules!r}]
        print(not [m for m in unwanted if m in sys.modules])
        found = tfr.engines()
        print(sum(r.name in {names!r} for r in found), all(m in sys.modules for m in {modules!r}))
        """)) == ["True", "10", "True"]


def test_no_engine_library_is_loaded_by_looking():
    import subprocess
    import sys
    code = ("import sys, tenferro; tenferro.engines(); "
            "assert not [m for m in ('cupy', 'torch', 'jax', 'scipy') if m in sys.modules]")
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.parametrize("first", ["{module}", "tenferro_cpu", "tenferro_cpu.plugin", "tenferro.hookspecs", "tenferro.plugins"])
def test_a_plugin_may_be_imported_first(site, first):
    module = site.install("tenferro-fast")
    assert printed(site.run(f"""
        import {first.format(module=module)}
        import tenferro
        print(tenferro.engine("fast").name, tenferro.ones(2).sum().item())
        """)) == ["fast", "2.0"]


def test_the_cpu_engine_needs_no_plugins(site):
    site.install("tenferro-broken", "raise SystemExit(3)")
    for value in ("cpu", ""):
        assert printed(site.run("""
            import sys, tenferro
            print(tenferro.default_engine().name, "tenferro.plugins" in sys.modules)
            """, TENFERRO_ENGINE=value)) == ["cpu", "False"]


@pytest.mark.parametrize(("value", "expected"), [
    ("cpu-threads:2", "cpu-threads"), ("fast:7", "fast"), ("tenferro-fast:fast", "fast"), ("tenferro:cpu", "cpu"),
])
def test_the_default_engine_by_name(site, value, expected):
    site.install("tenferro-fast", OFFER.format("info(option='device')"))
    assert printed(site.run("""
        import tenferro as tfr
        print((tfr.variable([1.0]) + 1).item(), tfr.default_engine().name, tfr.default_engine() is tfr.default_engine())
        """, TENFERRO_ENGINE=value)) == ["2.0", expected, "True"]


@pytest.mark.parametrize(("value", "kind", "message"), [
    ("fsat", "ValidationError", "there is no engine 'fsat'; did you mean 'fast'?"),
    ("fast:1", "ValidationError", "takes nothing after a colon"),
    ("away", "UnsupportedError", "the engine 'away' cannot be used here: no device"),
    ("wrong", "EngineError", "could not be opened: OSError: driver"),
    ("selfish", "RuntimeStateError", "the default engine is asked for while it is being opened"),
])
def test_a_bad_default_engine_names_the_variable(site, value, kind, message):
    site.install("tenferro-fast", OFFER.format("info(), info('away', available=lambda: 'no device'), info('wrong', open=fail), "
                                               "info('selfish', open=ask)"),
                 before="import tenferro\ndef fail():\n    raise OSError('driver')\ndef ask():\n"
                        "    return tenferro.default_engine()\n")
    for code in ("import tenferro\ntenferro.default_engine()", "import tenferro\ntenferro.variable([1.0]) + 1"):
        line = last_line(site.run(code, TENFERRO_ENGINE=value))
        assert line.startswith(f"tenferro.errors.{kind}: TENFERRO_ENGINE='{value}': ")
        assert message in line


def test_a_plugin_that_computes_while_it_is_imported(site):
    site.install("tenferro-eager", "import tenferro\ntwo = tenferro.ones(2).sum()\n" + OFFER.format("info()"))
    code = "import tenferro\nprint(tenferro.engine('fast').name)"
    assert printed(site.run(code)) == ["fast"]
    assert "RuntimeStateError: TENFERRO_ENGINE='fast': the default engine is asked for" in last_line(
        site.run("import tenferro\ntenferro.default_engine()", TENFERRO_ENGINE="fast"))


def test_threads_get_one_default_engine(site):
    site.install("tenferro-slow", OFFER.format("info(open=slow)"),
                 before="import time\ndef slow():\n    time.sleep(0.05)\n    return Engine('fast')\n")
    assert printed(site.run("""
        import threading
        import tenferro as tfr
        start, found = threading.Barrier(4), []
        def ask():
            start.wait()
            found.append(tfr.default_engine())
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print({e.name for e in found}, len({id(e) for e in found}))
        """, TENFERRO_ENGINE="fast")) == ["{'fast'}", "1"]


def test_after_a_bad_default_engine_another_one_can_be_used(site):
    assert printed(site.run("""
        import tenferro as tfr
        try:
            tfr.default_engine()
        except tfr.errors.ValidationError:
            with tfr.session(tfr.engine("cpu")) as s:
                print(s.add([1.0], 1.0).item())
        """, TENFERRO_ENGINE="nothing")) == ["2.0"]


# ---- python -m tenferro info -----------------------------------------------------------------------------------------

def test_info_lists_engines_and_plugins(site, capsys):
    site.install("tenferro-fast", OFFER.format("info(), info('away', available=lambda: 'no device')"), version="1.2")
    site.install("tenferro-broken", "raise OSError('driver')", entry="wreck")
    assert main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    found = {e["name"]: e for e in facts["engines"]}
    assert list(found)[:2] == ["cpu", "cpu-threads"]
    assert found["cpu"]["available"] is True
    assert [e["name"] for e in facts["engines"] if e["default"]] == [facts["default_engine"]] == [tfr.default_engine().name]
    assert found["fast"]["source"] == "tenferro-fast 1.2"
    assert (found["away"]["available"], found["away"]["reason"]) == (False, "no device")
    assert (found["wreck"]["available"], found["wreck"]["error"]) == (False, "OSError: driver")
    plugins = {p["name"]: p for p in facts["plugins"]}
    assert plugins["wreck"]["error"] == "OSError: driver"
    assert "error" not in plugins["main"]
    assert {"tenferro", "numpy", "python", "blas", "threads", "memory"} <= set(facts)
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    assert "name away, kind host, available False, default False, source tenferro-fast 1.2, reason no device" in text
    assert "OSError: driver" in text


def test_info_with_two_engines_of_one_name(site, capsys):
    site.install("tenferro-a")
    site.install("tenferro-b")
    main(["info"])
    assert "conflicts tenferro-b, spec tenferro-a:fast" in capsys.readouterr().out


def test_info_with_a_bad_default_engine(site):
    code = "import sys; from tenferro.__main__ import main; sys.exit(main(['info', '--json']))"
    result = site.run(code, TENFERRO_ENGINE="nothing")
    assert result.returncode == 0, result.stderr
    facts = json.loads(result.stdout)
    assert "default_engine" not in facts
    assert facts["default_engine_error"].startswith("ValidationError: TENFERRO_ENGINE='nothing': there is no engine")
    assert not [e for e in facts["engines"] if e["default"]]
