"""The look-alike of CuPy in place of CuPy."""

import cupy_lookalike
import pytest


@pytest.fixture
def machine():
    """What the look-alike counts, with two devices."""
    cupy_lookalike.MACHINE.start()
    yield cupy_lookalike.MACHINE
    cupy_lookalike.MACHINE.start()


@pytest.fixture
def cupy(monkeypatch, machine):
    """The look-alike, which ``import cupy`` finds as well."""
    return cupy_lookalike.install(monkeypatch)


@pytest.fixture
def engine(cupy):
    """The engine over the look-alike, on its first device."""
    from tenferro_cupy import CupyEngine
    return CupyEngine.open()
