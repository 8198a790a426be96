"""Completion shows what a user would look for, and computes nothing."""

import pytest

import tenferro as tfr

SHOWN = {
    "tfr": ("sin", "einsum", "variable", "grad", "float32", "pi", "linalg", "optimize", "session", "EagerRuntime"),
    "tfr.linalg": ("svd", "eigh", "norm", "LinAlgError"), "tfr.fft": ("fft", "irfft2", "dct"),
    "tfr.random": ("normal", "seed", "Generator"), "tfr.optimize": ("minimize", "Adam"),
    "x": ("T", "backward", "detach", "dtype", "grad", "item", "reshape", "sum"),
    "rt": ("grad", "jvp", "session", "variable_from", "cache_stats"),
    "session": ("add", "einsum", "svd", "fft", "engine", "runtime", "constant_from_host"),
    "grads": ("get", "take", "keys"),
}
CLUTTER = {"np", "os", "sys", "annotations", "import_module", "module", "decompositions", "arguments", "operations", "rules",
           "common", "functions", "host", "Any", "typing", "mro", "MODULE", "MODULE_ID"}


@pytest.fixture
def namespace():
    x = tfr.variable([[1.0, 2.0], [3.0, 4.0]])
    with tfr.session() as session:
        yield {"tfr": tfr, "x": x, "rt": x.runtime, "session": session, "grads": tfr.sum(x * x).backward()}


def completed(text, namespace):
    """What ``dir`` offers for an expression."""
    return {name for name in dir(eval(text, namespace)) if not name.startswith("_")}


@pytest.mark.parametrize("text", SHOWN)
def test_directory(text, namespace):
    offered = completed(text, namespace)
    assert set(SHOWN[text]) <= offered
    assert not CLUTTER & offered


def test_reading_attributes_records_nothing(namespace):
    x, rt = namespace["x"], namespace["rt"]
    before = x.grad
    with rt.profile() as seen:
        for name in dir(x):
            if name not in ("T", "mT", "H", "real", "imag"):        # views, as in NumPy
                getattr(x, name, None)
    assert seen.rows() == []
    assert x.grad.tolist() == before.tolist()
