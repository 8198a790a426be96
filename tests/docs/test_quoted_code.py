"""What the documentation quotes from the examples is there word for word."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "third_party_backend" / "compensated"


def blocks(page, language):
    """Code blocks of a page."""
    return re.findall(rf"^```(?:{language})\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)


QUOTED = blocks("engines.md", "cython|py")
REMOTE = blocks("devices.md", "py")[1:]         # the first needs a device
FILES = [path for path in sorted(EXAMPLE.rglob("*.py*")) if path.suffix in (".py", ".pyx") and "build" not in path.parts]
SOURCES = [path.read_text() for path in FILES]


def test_code_is_quoted():
    assert len(QUOTED) >= 5
    assert len(SOURCES) >= 5


@pytest.mark.parametrize("code", QUOTED, ids=lambda code: code.splitlines()[0][:40])
def test_quoted_code(code):
    assert any(code in source for source in SOURCES), f"not in {EXAMPLE.name}:\n{code}"


@pytest.mark.parametrize("code", REMOTE, ids=lambda code: code.splitlines()[0][:40])
def test_quoted_engine_of_a_device(code):
    assert len(REMOTE) == 2
    assert code in (ROOT / "tests" / "remote_arrays.py").read_text()
