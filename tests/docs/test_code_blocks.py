"""Every Python block of README and docs runs, block after block of one file in one namespace."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_blocks_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = path.read_text()
    namespace = {"__name__": "__block__"}
    for match in BLOCK.finditer(text):
        line = text[: match.start(1)].count("\n")
        exec(compile("\n" * line + match[1], str(path), "exec"), namespace)


def test_readme_has_blocks():
    assert len(BLOCK.findall(FILES[0].read_text())) >= 3
