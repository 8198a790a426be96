"""SciPy and scikit-learn in their array-API modes compute with tensors what they compute with NumPy arrays."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from array_programs import SCIPY, SKLEARN

SCRIPT = Path(__file__).parent.parent / "array_programs.py"


def run(library):
    """All programs of a library in a process that has the mode switched on."""
    done = subprocess.run([sys.executable, SCRIPT, library], env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def scipy_results():
    return run("scipy")


@pytest.fixture(scope="module")
def sklearn_results():
    return run("sklearn")


def compare(result):
    kind, ours, theirs = result
    assert kind == "EagerTensor"
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", SCIPY)
def test_scipy(scipy_results, name):
    compare(scipy_results[name])


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="needs the dependency group ecosystem")
@pytest.mark.parametrize("name", SKLEARN)
def test_sklearn(sklearn_results, name):
    compare(sklearn_results[name])
