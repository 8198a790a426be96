"""A kernel that says it failed but raises nothing is an error, wherever it runs."""

import ctypes

import numpy as np
import pytest

import tenferro as tfr
from tenferro import errors
from tenferro_cpu import CpuEngine

ABI = 1
kernel_t = ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
                                             ctypes.c_void_p])
failing = kernel_t(lambda *args: -1)


class Engine(CpuEngine):
    """The serial CPU engine whose kernels of some operations fail in silence."""

    def __init__(self, *operations):
        tfr.ExecutionEngine.__init__(self, "silent")
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        for name in operations:
            capsule = new(ctypes.cast(failing, ctypes.c_void_p), ctypes.c_char_p(b"tenferro.kernel"), None)
            self.register_kernel(name, capsule, ABI)


def refused(use, op):
    with pytest.raises(errors.EngineError, match=f"{op}.*silent.*without an exception") as caught:
        use()
    assert caught.value.engine == "silent"


def test_an_operation():
    rt = tfr.EagerRuntime(engine=Engine("exp"))
    x = rt.variable_from([1.0, 2.0])
    refused(lambda: tfr.exp(x), "exp")
    assert tfr.sin(x).tolist() == np.sin([1.0, 2.0]).tolist()


@pytest.mark.parametrize("op", ["cos", "add", "absorb_mul"])
@pytest.mark.parametrize("size", [2, 100_000])
def test_a_sweep(op, size):
    """Direct, watched, from a program, and followed where values are large."""
    rt, silent = tfr.EagerRuntime(engine=CpuEngine.serial()), Engine(op)
    x = rt.variable_from(np.linspace(0, 1, size))
    for _ in range(5):
        y = tfr.sum(tfr.sin(x) * x)
        refused(lambda y=y: y.backward(engine=silent), op)
        refused(lambda y=y: rt.grad(y, x, engine=silent), op)
        assert x.grad is None
        y.backward()
        np.testing.assert_allclose(x.grad.numpy(), np.cos(np.linspace(0, 1, size)) * np.linspace(0, 1, size)
                                   + np.sin(np.linspace(0, 1, size)))
        rt.clear_grads()
