"""An engine that is declared broken, and the runtime that goes on without it."""

import numpy as np
import pytest

import tenferro as tfr
from tenferro import errors
from tenferro_cpu import CpuEngine


def test_a_broken_engine_is_refused_and_nothing_else_suffers():
    rt = tfr.EagerRuntime()
    engine = CpuEngine.serial()
    x = rt.variable_from(tfr.Tensor.from_numpy(np.array([1.0, 2.0])))
    with rt.session(engine):
        y = (tfr.exp(x) * x).sum()
    assert engine.fault is None
    lost = OSError("the device is gone")
    engine.mark_broken(lost)
    assert engine.fault is lost
    for _ in range(3):
        with pytest.raises(errors.EngineError, match="open a new one") as info:
            y.backward(engine=engine)
        assert info.value.engine == "cpu" and info.value.__cause__ is lost
    with rt.session(engine), pytest.raises(errors.EngineError, match="exp: the engine 'cpu' is broken"):
        tfr.exp(x)
    assert x.grad is None
    y.backward(engine=CpuEngine.serial())
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1, 2]) * np.array([2, 3]), rtol=1e-14)


def test_large_values_on_a_broken_engine():
    engine = CpuEngine.serial()
    x = tfr.variable(np.ones(1 << 16))
    y = (tfr.exp(x) * x).sum()
    engine.mark_broken(OSError("gone"))
    with pytest.raises(errors.EngineError):
        y.backward(engine=engine)
    assert x.grad is None
    y.backward()
    assert float(x.grad[0]) == pytest.approx(2 * np.e)


def test_mark_broken_needs_a_failure():
    with pytest.raises(TypeError):
        CpuEngine.serial().mark_broken(None)
