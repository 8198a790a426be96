"""Completion in IPython offers what ``dir`` offers, and computes nothing."""

import pytest

import tenferro as tfr

completer = pytest.importorskip("IPython.core.completer")


@pytest.mark.parametrize("jedi", [False, True])
@pytest.mark.parametrize("text", ["tfr", "tfr.linalg", "tfr.fft", "tfr.random", "tfr.optimize", "x", "rt", "session", "grads"])
def test_completion(text, jedi):
    x = tfr.variable([[1.0, 2.0], [3.0, 4.0]])
    rt = x.runtime
    with tfr.session() as session:
        namespace = {"tfr": tfr, "x": x, "rt": rt, "session": session, "grads": tfr.sum(x * x).backward()}
        ipython = completer.IPCompleter(namespace=namespace, use_jedi=jedi)
        with rt.profile() as seen, completer.provisionalcompleter():
            found = {c.text.rpartition(".")[2] for c in ipython.completions(f"{text}.", len(text) + 1)}
    offered = {name for name in dir(eval(text, namespace)) if not name.startswith("_")}
    assert {name for name in found if not name.startswith("_")} == offered
    assert seen.rows() == []


def test_results_complete_from_the_stubs():
    ipython = completer.IPCompleter(namespace={"tfr": tfr, "x": tfr.eye(2)}, use_jedi=True)
    text = "tfr.linalg.svd(x)."
    with completer.provisionalcompleter():
        assert {"U", "S", "Vh"} <= {c.text for c in ipython.completions(text, len(text))}
