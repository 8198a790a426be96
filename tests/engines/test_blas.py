"""Which BLAS matrix products call."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import tenferro as tfr
from tenferro._kernels import blas, mkl

DTYPES = ("float32", "float64", "complex64", "complex128")
PRODUCTS = """
import sys
import numpy as np
import tenferro as tfr
for dtype in sys.argv[1:]:
    rng = np.random.default_rng(3)
    def sample(*shape):
        return (rng.integers(-9, 10, shape) + (1j * rng.integers(-9, 10, shape) if dtype[0] == "c" else 0)).astype(dtype)
    a, b, v, s = sample(70, 90), sample(90, 50), sample(90), sample(5, 31, 33)
    for x, y in ((a, b), (b.T, a.T), (a, v), (v, b), (s, np.swapaxes(s, 1, 2)), (a[::2, ::-1], b[:, ::3])):
        found = (tfr.constant(x, copy=False) @ tfr.constant(y, copy=False)).numpy()
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, x @ y)
"""
MISSING = """
from tenferro._kernels import mkl
import tenferro as tfr
mkl.candidates = lambda: ["/nowhere/libmkl_rt.so"]
a = tfr.ones((2, 2)) @ tfr.ones((2, 2))
for k in range(2):
    try:
        tfr.ones((40, 40)) @ tfr.ones((40, 40))
    except tfr.errors.UnsupportedError as error:
        assert "tenferro[mkl]" in str(error) and "/nowhere" in str(error)
    else:
        raise AssertionError
"""


def installed():
    try:
        mkl.library()
    except tfr.errors.UnsupportedError as error:
        return str(error)
    return ""


def python(*arguments, blas):
    return subprocess.run([sys.executable, *arguments], env={**os.environ, "TENFERRO_BLAS": blas}, check=True, text=True,
                          capture_output=True).stdout


@pytest.fixture
def with_mkl():
    if reason := installed():
        pytest.skip(f"needs the mkl wheel: {reason}")


def info(name):
    return json.loads(python("-m", "tenferro", "info", "--json", blas=name))


def test_products_of_scipy():
    python("-c", PRODUCTS, *DTYPES, blas="scipy")
    assert info("scipy")["blas"]["used"] == "scipy"


def test_products_of_mkl(with_mkl):
    code = PRODUCTS + "assert 'scipy' not in sys.modules\nassert 'libmkl_rt' in open('/proc/self/maps').read()"
    python("-c", code if sys.platform == "linux" else PRODUCTS, *DTYPES, blas="mkl")


def test_info_says_which_mkl(with_mkl):
    facts = info("mkl")
    assert facts["blas"]["used"] == "mkl" and "libmkl_rt" in facts["blas"]["path"] and "Version" in facts["blas"]["version"]
    assert facts["lapack"]["name"] != "mkl"


def test_missing_mkl_is_an_error_that_names_the_extra():
    python("-c", MISSING, blas="mkl")


def test_unknown_name():
    reason = info("atlas")["blas"]["reason"]
    assert "'atlas'" in reason and "scipy" in reason and "mkl" in reason


def test_mkl_with_64_bit_integers_is_refused(monkeypatch):
    monkeypatch.setattr(mkl, "candidates", lambda: ["one"])
    monkeypatch.setattr(mkl.ctypes, "CDLL", lambda path: SimpleNamespace(MKL_Set_Interface_Layer=lambda layer: 1))
    with pytest.raises(tfr.errors.UnsupportedError, match="64-bit"):
        mkl.library()


@pytest.mark.parametrize("name", [None, "", "scipy"])
def test_default(monkeypatch, name):
    monkeypatch.delenv("TENFERRO_BLAS", raising=False)
    if name is not None:
        monkeypatch.setenv("TENFERRO_BLAS", name)
    assert blas.library_name() == "scipy"
    assert (tfr.ones((40, 40)) @ tfr.ones((40, 40))).numpy().tolist() == np.full((40, 40), 40.0).tolist()
