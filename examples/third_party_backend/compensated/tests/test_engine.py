"""The engine as users meet it: found by name, right for every layout and dtype, differentiable."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from tenferro_compensated import kernels
from tenferro_compensated.engine import CompensatedEngine

import tenferro as tfr
from tenferro import EagerRuntime, ExecutionEngine, errors
from tenferro.testing import check_engine, check_grads
from tenferro.testing.drift import drift
from tenferro_cpu import CpuEngine


@pytest.fixture
def session():
    with EagerRuntime().session(tfr.engine("compensated")) as s:
        yield s


def spread(rng, shape):
    """Numbers of many magnitudes, most of which cancel."""
    a = rng.standard_normal(shape) * 10.0 ** rng.integers(-8, 9, shape)
    half = a.reshape(-1)[: a.size // 2]
    a.reshape(-1)[a.size - half.size:] = -half[::-1] * (1 + 1e-12)
    return a


def exact(a, axes, keepdims):
    """Sums by ``math.fsum``, and the magnitudes that went into them."""
    shape = tuple((1 if i in axes else n) for i, n in enumerate(a.shape))
    out = np.empty(shape)
    for place in np.ndindex(shape):
        part = a[tuple(slice(None) if i in axes else k for i, k in enumerate(place))]
        out[place] = math.fsum(part.ravel())
    size = np.abs(a).sum(axes, keepdims=True)
    return (out, size) if keepdims else (out.squeeze(axes), size.squeeze(axes))


def test_it_is_found():
    record, = (r for r in tfr.engines() if r.name == "compensated")
    assert (record.distribution, record.kind, record.available, record.error) == ("tenferro-compensated", "host", True, None)
    engine = tfr.engine("compensated")
    assert isinstance(engine, CompensatedEngine)
    assert (engine.name, engine.kind, engine.context_id) == ("compensated", "host", CpuEngine.serial().context_id)
    assert drift(engine) == []


def test_listing_loads_no_compiled_module():
    code = ("import tenferro_compensated.plugin as p, sys; p.tenferro_engines(); import tenferro; tenferro.engines(); "
            "print('tenferro_compensated.kernels' in sys.modules, tenferro.engine('compensated').name)")
    assert subprocess.check_output([sys.executable, "-W", "error", "-c", code], text=True) == "False compensated\n"


def test_cancellation(session):
    numbers = [1e16, 1.0, -1e16]
    assert session.reduce_sum(numbers).item() == 1
    assert tfr.sum(numbers).item() == 1
    with tfr.session(CpuEngine.serial()) as cpu:
        assert cpu.reduce_sum(numbers).item() == 0


LAYOUTS = {
    "row-major": lambda a: a, "column-major": np.asfortranarray, "reversed": lambda a: a[::-1, :, ::-1],
    "strided": lambda a: a[::2, :, 1::2], "transposed": lambda a: a.transpose(2, 0, 1),
    "repeated": lambda a: np.broadcast_to(a[:, :1], a.shape), "empty": lambda a: a[:, :0],
}


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums(session, layout, keepdims):
    rng = np.random.default_rng(1)
    a = LAYOUTS[layout](spread(rng, (6, 5, 8)))
    x = session.constant_from(tfr.Tensor.from_numpy(a, copy=False))
    eps = np.finfo(float).eps
    for n in range(1, 4):
        for axes in itertools.combinations(range(3), n):
            out = session.reduce_sum(x, axis=axes, keepdims=keepdims).numpy()
            expected, size = exact(a, axes, keepdims)
            assert out.shape == expected.shape
            assert np.all(np.abs(out - expected) <= eps * np.abs(expected) + a.size**2 * eps**2 * size)


@pytest.mark.parametrize("numbers", [[np.inf, 1.0], [np.inf, -np.inf], [np.nan, 1.0], [1e308, 1e308, -1e308], [-0.0, -0.0], []])
def test_special_values(session, numbers):
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(session.reduce_sum(np.array(numbers)).numpy(), np.sum(numbers))


@pytest.mark.parametrize("dtype", ["?", "i4", "u8", "f4", "c8", "c16"])
def test_other_dtypes_are_those_of_the_cpu_engine(session, dtype):
    a = (10 * np.random.default_rng(2).standard_normal((40, 3))).astype(dtype)
    with EagerRuntime().session(CpuEngine.serial()) as cpu:
        expected = cpu.reduce_sum(a, axis=0)
    out = session.reduce_sum(a, axis=0)
    assert out.dtype == expected.dtype
    np.testing.assert_array_equal(out.numpy(), expected.numpy())


def test_derivatives():
    args = [np.linspace(-1, 1, 6).reshape(3, 2), np.array([0.5, 2.0])]
    with tfr.session(tfr.engine("compensated")):
        check_grads(lambda x, y: tfr.sum(tfr.exp(x) * y, axis=0), args, order=2)


def test_engines_take_turns():
    rt = EagerRuntime()
    x = rt.variable_from([1e16, 1.0, -1e16])
    for spec, expected in (("compensated", 1), ("cpu", 0), ("compensated", 1)):
        with rt.session(tfr.engine(spec)) as s:
            y = s.reduce_sum(x)
        assert y.item() == expected
        assert rt.grad(y, x, engine=tfr.engine("cpu")).tolist() == [1, 1, 1]


def test_it_conforms():
    check_engine(tfr.engine("compensated"), raise_on_failure=True)


def test_another_abi_is_refused():
    engine = ExecutionEngine("other")
    with pytest.raises(errors.EngineError, match=f"ABI {kernels.ABI + 1}.*{kernels.ABI}"):
        engine.register_kernel("reduce_sum", kernels.reduce_sum(), kernels.ABI + 1)
    with pytest.raises(ValueError, match="PyCapsule"):
        engine.register_kernel("reduce_sum", object(), kernels.ABI)
