"""Distributions that exist only for a test."""

import importlib
import itertools
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from support import nothing_left_open  # noqa: F401

from tenferro import plugins

_numbers = itertools.count()

HEAD = """\
from tenferro import ExecutionEngine
from tenferro.hookspecs import EngineInfo, hookimpl
from tenferro_cpu import CpuEngine

class Engine(CpuEngine):
    def __init__(self, name, kind="host", **options):
        ExecutionEngine.__init__(self, name, kind)
        self.options = options

def info(name="fast", **fields):
    given = dict(kind="host", description="a test", open=lambda **options: Engine(name, **options))
    return EngineInfo(name=name, **{**given, **fields})

"""
OFFER = "@hookimpl\ndef tenferro_engines():\n    return [info()]\n"


class Site:
    """A directory of installed distributions."""

    def __init__(self, path):
        self.path = path
        self.modules = []

    def install(self, distribution, source=OFFER, *, version="1.0", entry="main", before="", metadata=True, points=None):
        """Add a distribution with one plugin; returns the name of its module."""
        module = f"{distribution.replace('-', '_').replace('.', '_').lower()}_{next(_numbers)}"
        (self.path / f"{module}.py").write_text(before + HEAD + dedent(source))
        folder = self.path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        folder.mkdir(exist_ok=True)
        if metadata:
            (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        text = f"[tenferro.backends]\n{entry} = {module}\n" if points is None else points.format(module=module)
        (folder / "entry_points.txt").write_text(text)
        self.modules.append(module)
        importlib.invalidate_caches()
        plugins.forget()
        return module

    def run(self, code, **environment):
        """Run code in a fresh interpreter that sees these distributions first."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("TENFERRO_")}
        path = os.pathsep.join([str(self.path), *filter(None, [inherited.get("PYTHONPATH")])])
        return subprocess.run([sys.executable, "-W", "error", "-c", dedent(code)], capture_output=True, text=True, timeout=120,
                              env={**inherited, "PYTHONPATH": path, **environment}, check=False, cwd=self.path)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A directory of distributions: besides this library, the only ones that this process sees."""
    path = tmp_path / "site"
    path.mkdir()
    for name in ("TENFERRO_PLUGINS", "TENFERRO_TRACE_PLUGINS", "TENFERRO_ENGINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(path)
    monkeypatch.setattr(plugins.metadata, "distributions", lambda find=plugins.metadata.distributions: [
        d for d in find() if d.metadata["Name"] == "tenferro" or Path(d.locate_file("")).is_relative_to(tmp_path)])
    found = Site(path)
    plugins.forget()
    yield found
    plugins.forget()
    for module in found.modules:
        sys.modules.pop(module, None)
