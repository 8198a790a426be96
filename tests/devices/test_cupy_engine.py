"""The CuPy engine over the look-alike: opening, devices, streams, memory, failures."""

import subprocess
import sys

import cupy_lookalike
import numpy as np
import pytest

import tenferro as tfr
from tenferro.errors import EngineError, HostAccessError, OutOfMemoryError, PlacementError, UnsupportedError, ValidationError
from tenferro.testing.drift import drift
from tenferro_cupy import devices

pytestmark = pytest.mark.skipif(cupy_lookalike.COMPILER is None, reason="needs a C++ compiler")
A = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def x(engine):
    """A tensor on the device, in a runtime of its own."""
    rt = tfr.EagerRuntime()
    with rt.session(engine) as s:
        yield s.constant_from_host(A)


def order(x):
    """Strides that matter."""
    v = x.value()
    return [s for n, s in zip(v.shape, v.strides, strict=True) if n > 1]


# ---- opening -----------------------------------------------------------------------------------------------------------

def test_specs(cupy):
    first, second = tfr.engine("cupy"), tfr.engine("cupy:1")
    assert (first.name, first.kind, first.context_id) == ("cupy", "cupy", "cuda:0")
    assert (second.name, second.kind, second.context_id) == ("cupy:1", "cupy", "cuda:1")
    assert tfr.engine("cupy", device=1).context_id == "cuda:1"


def test_it_is_listed(cupy, machine):
    record, = (r for r in tfr.engines() if r.name == "cupy")
    assert (record.kind, record.available, record.distribution) == ("cupy", True, "tenferro")
    machine.devices = 0
    record, = (r for r in tfr.engines() if r.name == "cupy")
    assert not record.available
    assert "device" in record.reason


@pytest.mark.parametrize("device", [2, -1, "0", 1.5, None])
def test_devices_that_do_not_exist(cupy, device):
    with pytest.raises(ValidationError, match="this machine has 2: devices 0 to 1") as e:
        tfr.engine("cupy", device=device)
    assert e.value.argument == "device"


def test_one_device(cupy, machine):
    machine.devices = 1
    with pytest.raises(ValidationError, match="this machine has 1: device 0"):
        tfr.engine("cupy:1")


def test_no_device(cupy, machine):
    machine.devices = 0
    with pytest.raises(UnsupportedError, match="device"):
        tfr.engine("cupy")
    from tenferro_cupy import CupyEngine
    with pytest.raises(UnsupportedError, match="open the engine 'cpu' instead"):
        CupyEngine.open()


def test_without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert "pip install 'tenferro[cuda13x]'" in devices.missing()
    from tenferro_cupy import CupyEngine
    with pytest.raises(UnsupportedError, match=r"tenferro\[cuda13x\].*tenferro\[cuda12x\]"):
        CupyEngine.open()


@pytest.mark.parametrize(("managed", "driven", "reason"), [
    ((0, "none there"), None, "none there"), ((2, "none there"), None, None), (None, (0, "no driver"), "no driver"),
    (None, (1, "no driver"), None)])
def test_devices_are_counted_without_cupy(monkeypatch, managed, driven, reason):
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(devices.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(devices, "managed", lambda: managed)
    monkeypatch.setattr(devices, "driven", lambda: driven)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert devices.missing() == reason
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "CUDA_VISIBLE_DEVICES" in devices.missing()


def test_counting_does_not_fail():
    """Whatever there is on this machine."""
    assert devices.managed() is None or devices.managed()[0] >= 0
    count, reason = devices.driven()
    assert count > 0 or reason


def test_listing_engines_does_not_import_cupy():
    code = ("import sys, tenferro; tenferro.engines(); import tenferro_cupy; "
            "assert not {'cupy', 'tenferro_cupy.engine'} & {*sys.modules}")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_keeps_to_the_operations(engine):
    assert drift(engine) == []
    assert set(engine.support().values()) == {"own"}


# ---- waiting -----------------------------------------------------------------------------------------------------------

def test_nobody_waits_for_uploads_and_computations(engine, machine):
    rt = tfr.EagerRuntime()
    with machine.no_waiting(), rt.session(engine) as s:
        x = rt.variable_from(s.constant_from_host(A))
        y = s.sum(s.tanh(x @ s.swapaxes(x, 0, 1)) * 2.0)
        y.backward()
        s.take(x, s.constant_from_host(np.array([0, 2])), axis=1)
        s.cumsum(x, axis=0)
        s.argmax(x)
        s.sort(x)
        s.where(x > 1.0, x, 0.0)
        s.pad(x, ((1, 1), (0, 0)))
    assert machine.uploads
    assert all(asynchronous for _, asynchronous in machine.uploads)


def test_downloads_wait(x, machine):
    before = len(machine.syncs)
    np.testing.assert_array_equal(x.to_tensor().numpy(), A)
    assert machine.syncs[before:] == ["get"]


def test_what_has_changed_after_an_upload_does_not_matter(engine):
    with tfr.EagerRuntime().session(engine) as s:
        a = A.copy()
        x = s.constant_from_host(a)
        a[...] = 0
        np.testing.assert_array_equal(x.to_tensor().numpy(), A)


@pytest.mark.parametrize("layout", [A, A.T, A[::-1], A[:, ::2], np.broadcast_to(A[0], (4, 3)), np.asfortranarray(A)[:, None],
                                    np.array(2.0), np.zeros((0, 3)), A.reshape(1, 2, 3).transpose(2, 0, 1)])
def test_uploads_and_downloads_keep_the_order_of_axes(engine, layout):
    with tfr.EagerRuntime().session(engine) as s:
        x = s.constant_from_host(layout)
        assert x.device == "cuda:0"
        np.testing.assert_array_equal(x.to_tensor().numpy(), layout)
        host = tfr.constant(layout.copy(order="K"))
        if 0 not in layout.shape:
            assert order(x) == order(host)


# ---- devices and streams -------------------------------------------------------------------------------------------------

def test_the_engine_makes_its_device_the_current_one(cupy, machine):
    rt = tfr.EagerRuntime()
    with rt.session(tfr.engine("cupy:1")) as s:
        x = rt.variable_from(s.constant_from_host(A))
        y = s.sum(s.exp(x) * s.rsqrt(x + 1.0))
        y.backward()
        assert (x.device, x.grad.device) == ("cuda:1", "cuda:1")
        np.testing.assert_allclose(y.to_tensor().numpy(), np.sum(np.exp(A) / np.sqrt(A + 1)), rtol=1e-14)
    assert {device for _, device, _ in machine.launches} == {1}
    assert cupy.cuda.get_device_id() == 0


def test_tensors_of_another_device_are_refused(cupy):
    rt = tfr.EagerRuntime()
    with rt.session(tfr.engine("cupy")) as s:
        x = s.constant_from_host(A)
    with tfr.EagerRuntime().session(tfr.engine("cupy:1")) as s, pytest.raises((PlacementError, ValueError)):
        s.exp(x.detach())
    with pytest.raises(UnsupportedError, match="runtime"), rt.session(tfr.engine("cupy:1")):
        pass


def test_host_tensors_in_device_operations_are_refused(engine):
    with tfr.EagerRuntime().session(engine) as s:
        x = s.constant_from_host(A)
        with pytest.raises(PlacementError, match="constant_from_host"):
            s.add(x, tfr.constant(A))
        with pytest.raises(HostAccessError):
            np.asarray(x)


def test_launches_go_to_the_current_stream(cupy, x, machine):
    stream = cupy.cuda.Stream(non_blocking=True)
    before = len(machine.launches)
    with stream:
        x * x
    assert {ptr for _, _, ptr in machine.launches[before:]} == {stream.ptr}


def test_threads_have_streams_of_their_own(cupy, engine, machine):
    from concurrent.futures import ThreadPoolExecutor

    def work(k):
        with cupy.cuda.Stream(non_blocking=True), tfr.EagerRuntime().session(engine) as s:
            return s.sum(s.constant_from_host(A + k)).to_tensor().numpy()

    with ThreadPoolExecutor(4) as pool:
        assert [float(v) for v in pool.map(work, range(8))] == [15.0 + 6 * k for k in range(8)]
    assert len({ptr for name, _, ptr in machine.launches if name == "sum"}) == 8


# ---- memory --------------------------------------------------------------------------------------------------------------

def test_failed_allocations_lose_nothing(engine, machine):
    rt = tfr.EagerRuntime()
    with rt.session(engine) as s:
        x = rt.variable_from(s.constant_from_host(A))
        y = s.exp(x)
        machine.fail(0)
        with pytest.raises(OutOfMemoryError, match="'cupy'") as e:
            s.sin(y)
        assert e.value.engine == "cupy"
        assert "48 bytes" in str(e.value.__cause__)
        s.sum(y).backward()
        np.testing.assert_allclose(x.grad.to_tensor().numpy(), np.exp(A), rtol=1e-15)


def test_failed_allocations_in_a_gradient(engine, machine):
    rt = tfr.EagerRuntime()
    with rt.session(engine) as s:
        x = rt.variable_from(s.constant_from_host(A))
        y = s.sum(s.sin(x) * x)
        machine.fail(1)
        with pytest.raises(OutOfMemoryError):
            rt.grad(y, x)
        np.testing.assert_allclose(rt.grad(y, x).to_tensor().numpy(), np.cos(A) * A + np.sin(A), rtol=1e-14)


def test_the_runtime_reports_memory_too(cupy, engine, x, machine):
    machine.fail(0, cupy.cuda.runtime.CUDARuntimeError(2))
    with pytest.raises(OutOfMemoryError, match="release"):
        x + 1.0
    machine.error = None
    assert engine.fault is None
    x + 1.0


def test_memory_can_be_asked_for_and_released(cupy, engine, x):
    info = engine.memory_info()
    assert set(info) == {"used", "held", "free", "total"}
    assert 0 < info["free"] <= info["total"]
    engine.release()
    assert cupy.get_default_memory_pool().freed == 1


def test_memory_is_given_back(engine, machine):
    def work():
        rt = tfr.EagerRuntime(engine=engine)
        with rt.session() as s:
            x = rt.variable_from(s.constant_from_host(A))
            y = s.sum(s.exp(x)[:, ::-1] * x.T.T)
            y.backward()

    work()
    before = machine.live
    for _ in range(5):
        work()
    assert machine.live == before


def test_synchronize(engine, machine):
    before = len(machine.syncs)
    engine.synchronize()
    assert machine.syncs[before:] == ["Device.synchronize"]


# ---- failures ------------------------------------------------------------------------------------------------------------

def test_fatal_errors_break_the_engine(cupy, machine):
    engine, rt = tfr.engine("cupy"), tfr.EagerRuntime()
    host = rt.variable_from(A)
    with rt.session(engine) as s:
        x = s.constant_from_host(A)
        error = cupy.cuda.runtime.CUDARuntimeError(700)
        machine.fail(0, error)
        with pytest.raises(EngineError, match=r"broken.*illegal memory access") as e:
            s.exp(x)
        assert e.value.__cause__ is error
        machine.error = None
        assert engine.fault is error
        with pytest.raises(EngineError, match="open a new one"):
            s.exp(x)
    with rt.session(tfr.engine("cpu")) as s:
        np.testing.assert_array_equal((s.sum(host)).value().numpy(), 15.0)


def test_other_errors_do_not(engine, x, machine):
    machine.fail(0, RuntimeError("a kernel does not compile"))
    with pytest.raises(EngineError, match="stays usable"):
        x + 1.0
    machine.error = None
    assert engine.fault is None
    np.testing.assert_array_equal((x + 1.0).to_tensor().numpy(), A + 1)
