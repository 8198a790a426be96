"""What the plugin says, with or without PyTorch."""

import subprocess
import sys

import pytest
from tenferro_torch.plugin import NEEDED, tenferro_engines

import tenferro as tfr


def record():
    found, = (r for r in tfr.engines() if r.name == "torch")
    return found


def test_it_is_found():
    found = record()
    assert (found.distribution, found.kind, found.error, found.spec) == ("tenferro-torch", "host", None, "torch")
    assert found.available == (found.reason is None)


@pytest.mark.parametrize("module", NEEDED)
def test_what_is_missing_is_named(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    assert not record().available
    assert NEEDED[module] in record().reason
    with pytest.raises(tfr.errors.UnsupportedError, match=f"not installed: .*{NEEDED[module]}"):
        tfr.engine("torch")


def test_a_folder_named_torch_is_not_pytorch(tmp_path, monkeypatch):
    (tmp_path / "torch").mkdir()
    for name in [m for m in sys.modules if m.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "meta_path", [f for f in sys.meta_path if getattr(f, "__name__", "") == "PathFinder"])
    info, = tenferro_engines()
    assert "torch" in info.available()


def test_listing_imports_nothing():
    code = ("import sys, tenferro; print([r.name for r in tenferro.engines() if r.name == 'torch'], "
            "[m for m in ('torch', 'array_api_compat', 'tenferro_torch.engine') if m in sys.modules])")
    assert subprocess.check_output([sys.executable, "-W", "error", "-c", code], text=True) == "['torch'] []\n"
