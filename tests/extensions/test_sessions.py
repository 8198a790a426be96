"""Operations of the extension modules as methods of sessions: the right runtime and engine, loaded when first used."""

import subprocess
import sys

import numpy as np
import pytest
from support import value

import tenferro as tfr
from tenferro import errors
from tenferro._methods import LINEAR_ALGEBRA

A = np.array([[4.0, 1.0], [1.0, 3.0]])

MORE = {                                # what an operation takes beside a matrix
    "solve": (np.ones(2),),
    "triangular_solve": (np.ones(2),),
    "lstsq": (np.ones(2),),
    "matrix_power": (2,),
    "householder_product": (np.array([1.0, 0.5]),),
    "funm_hermitian": (tfr.exp,),
    "low_rank": (1,),
    "rsvd": (1,),
}
OF_FOURIER = [name for name in tfr.fft.__all__ if not name.isupper()]


class OtherEngine(tfr.ExecutionEngine):
    """An engine of another kind that has no kernels."""

    def __init__(self):
        super().__init__("other", "otherkind", "other memory")


def tensors(result):
    return [x for x in (result if isinstance(result, tuple) else (result,)) if isinstance(x, tfr.EagerTensor)]


@pytest.mark.parametrize("name", LINEAR_ALGEBRA)
def test_linear_algebra(name):
    """The result is that of the function, in the session's runtime."""
    rt = tfr.EagerRuntime()
    x = rt.variable_from(A)
    expected = tensors(getattr(tfr.linalg, name)(x, *MORE.get(name, ())))
    assert expected
    with rt.session() as s:
        found = tensors(getattr(s, name)(x, *MORE.get(name, ())))
        from_array = tensors(getattr(s, name)(A, *MORE.get(name, ())))
    for a, b, c in zip(found, expected, from_array, strict=True):
        assert a.runtime is rt
        assert c.runtime is rt
        np.testing.assert_allclose(value(a), value(b), rtol=1e-12, atol=1e-13)
    with pytest.raises(errors.RuntimeStateError, match="ended"):
        getattr(s, name)(x, *MORE.get(name, ()))


@pytest.mark.parametrize("name", OF_FOURIER)
def test_fourier(name):
    rt = tfr.EagerRuntime()
    x = 4 if name.endswith("freq") else rt.variable_from(A)
    with rt.session() as s:
        found = getattr(s, name)(x)
        assert found.runtime is rt
        np.testing.assert_array_equal(value(found), value(getattr(tfr.fft, name)(x)))


def test_kron_is_there_and_an_operation_of_its_own():
    with tfr.session() as s:
        np.testing.assert_array_equal(value(s.kron(A, A)), np.kron(A, A))


def test_on_the_engine_of_the_session():
    """Wherever it is called: inside another session, too."""
    rt = tfr.EagerRuntime()
    x, z = rt.constant_from(A), rt.constant_from(A + 0j)
    with rt.session(OtherEngine()) as other, rt.session(tfr.default_engine()):
        with pytest.raises(errors.UnsupportedError, match="otherkind"):
            other.inv(x)
        with pytest.raises(errors.UnsupportedError, match="otherkind"):
            other.fft(z)
        np.testing.assert_allclose(value(tfr.linalg.inv(x)), np.linalg.inv(A))


def test_derivatives_of_what_a_session_computed():
    rt = tfr.EagerRuntime()
    x = rt.variable_from(A)
    with rt.session() as s:
        loss = s.slogdet(x).logabsdet
        loss.backward()
    np.testing.assert_allclose(value(x.grad), np.linalg.inv(A).T, rtol=1e-13)


def test_loaded_at_first_use():
    code = """
import sys
import tenferro as tfr
def loaded():
    return [m for m in sys.modules if m.startswith(("scipy", "tenferro.linalg"))]
with tfr.session() as s:
    assert not loaded()
    assert "svd" in dir(s) and hasattr(type(s), "solve")
    assert not loaded()
    assert s.inv([[2.0]]).item() == 0.5
    assert "tenferro.linalg" in loaded()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
