"""``python -m tenferro bench``: its quick form, the check that precedes every figure, and peers that fail."""

import json
import subprocess
import sys
import xml.etree.ElementTree as xml
from argparse import Namespace

import numpy as np
import pytest

from tenferro.bench import driver, peers, reference, report, table, worker


def bench(*arguments):
    command = [sys.executable, "-m", "tenferro", "bench", *arguments]
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout


def test_every_workload_agrees_with_derivatives_written_by_hand():
    found = json.loads(bench("--quick", "--peers", "tenferro,numpy", "--json"))
    assert list(found["workloads"]) == list(table.ALL)
    for name, got in found["workloads"].items():
        assert set(got) == {"tenferro", "numpy"}
        for answer in got.values():
            assert answer.get("median", 0) > 0 and answer["ratio"] > 0, (name, answer)


def test_page_and_picture(tmp_path):
    text = bench("--quick", "--peers", "numpy", "--workloads", "bmm,linalg.solve", "--write", str(tmp_path))
    assert [line.split()[0] for line in text.splitlines()] == ["workload", "bmm", "linalg.solve.64", "linalg.solve.256"]
    page = (tmp_path / "benchmarks.md").read_text()
    assert "| bmm | ms |" in page and f"numpy {np.__version__}" in page
    root = xml.parse(tmp_path / "benchmarks.svg").getroot()
    assert {"bmm", "linalg.solve.256"} <= {e.text for e in root.iter("{http://www.w3.org/2000/svg}text")}


def test_nothing_is_timed_that_differs(monkeypatch):
    w = worker.Worker("tenferro", 1)
    assert w.prepare("elementwise_large.f64", True, 0)["count"] == 1
    right = reference.elementwise

    def wrong(p, c):
        loss, (g,) = right(p, c)
        g[-1] += 1e-6
        return loss, [g]

    monkeypatch.setattr(reference, "elementwise", wrong)
    with pytest.raises(ArithmeticError, match="differs"):
        w.prepare("elementwise_large.f64", True, 0)


@pytest.mark.parametrize("found", [np.array([1.0, np.nan]), np.array([[1.0, 2.0]]), np.array([2.0, 1.0])])
def test_difference(found):
    w, expected = table.ALL["bmm"], np.array([1.0, 2.0])
    assert worker.difference(w, [expected], [expected], False) == 0
    assert not worker.difference(w, [found], [expected], False) <= w.tolerance


def test_chosen():
    assert driver.chosen("all") == list(table.ALL)
    assert driver.chosen("linalg.qr,bmm") == ["bmm", "linalg.qr.64", "linalg.qr.256"]
    assert driver.chosen("overhead")[0] == "op_overhead.1"
    with pytest.raises(ValueError, match="nonsense"):
        driver.chosen("nonsense")


def test_peers_that_cannot_or_do_not_answer():
    slow = driver.Peer("numpy", 1, timeout=0)
    assert slow.ask("prepare", "bmm", True, 0) == ("error", "no answer within 0 s")
    assert slow.process is None
    slow.start()
    slow.process.kill()
    slow.process.join()
    assert "died" in slow.ask("prepare", "bmm", True, 0)[1]
    options = Namespace(quick=True, least=0, rounds=1, budget=1)

    class Refusing:
        name, process = "refusing", None

        def ask(self, command, *arguments):
            return "unsupported", "no products"

    got = driver.measure(table.ALL["bmm"], [Refusing()], options)
    assert got == {"refusing": {"unsupported": "no products"}}
    result = {"versions": {"refusing": "1"}, "workloads": {"bmm": got, "solve": got}}
    assert list(report.notes(result)) == ["refusing, bmm, solve: no products"]


def test_what_a_library_lacks_says_so():
    with pytest.raises(peers.NotSupported, match="first order"):
        peers.missing("first order only", "hvp")["hvp"](None)


def test_a_peer_that_is_not_installed_is_named():
    run = subprocess.run([sys.executable, "-m", "tenferro", "bench", "--peers", "theano"], text=True, capture_output=True)
    assert run.returncode == 1 and "theano" in run.stderr
