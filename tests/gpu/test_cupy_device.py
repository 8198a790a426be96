"""The CuPy engine on a CUDA device: conformance, gradients, streams, memory, other libraries.

``python -m pytest tests/gpu`` runs them where CuPy is installed and finds a device; elsewhere they are skipped.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tenferro as tfr
from tenferro.errors import OutOfMemoryError
from tenferro.testing import check_engine, check_grads
from tenferro_cupy import devices

REASON = devices.missing()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=str(REASON))]
RNG = np.random.default_rng(11)


@pytest.fixture
def engine():
    return tfr.engine("cupy")


@pytest.fixture
def rt(engine):
    return tfr.EagerRuntime(engine=engine)


@pytest.fixture
def cupy(engine):
    return engine.cupy


def put(rt, array, tracked=False):
    """An array as a tensor on the device."""
    with rt.session() as s:
        x = s.constant_from_host(array)
    return rt.variable_from(x) if tracked else x


def host(x):
    return x.to_tensor().numpy()


# ---- values and gradients --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtypes", [["float64"], ["complex64", "int32", "bool"], pytest.param(None, marks=pytest.mark.sweep)],
                         ids=["float64", "others", "all"])
def test_conforms(engine, dtypes):
    report = check_engine(engine, dtypes=dtypes)
    print(report)
    report.raise_on_failure()


def loss(x, w):
    h = tfr.tanh(tfr.matmul(x, w) * 0.5 + 1.0)
    return tfr.sum(h * h / (1.0 + tfr.exp(-h)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_gradients_are_those_of_the_cpu_engine(rt, dtype):
    a, b = (RNG.standard_normal(s).astype(dtype) * 0.3 for s in ((60, 50), (50, 40)))
    x, w = put(rt, a, True), put(rt, b, True)
    mine = [tfr.variable(a), tfr.variable(b)]
    expected = tfr.real(loss(*mine)).backward()
    found = [[host(g) for g in rt.grad(tfr.real(loss(x, w)), [x, w])] for _ in range(4)]
    for grads in found:
        for g, first, t in zip(grads, found[0], mine, strict=True):
            np.testing.assert_array_equal(g, first, err_msg="a derivative program differs from the direct sweep")
            np.testing.assert_allclose(g, expected[t].numpy(), rtol=1e-3 if dtype == "float32" else 1e-10, atol=1e-4)


def test_second_order(engine):
    check_grads(lambda x, y: tfr.sum(tfr.tanh(x @ y) * tfr.logsumexp(x, axis=1, keepdims=True)),
                [RNG.standard_normal((3, 4)), RNG.standard_normal((4, 3))], order=2, engine=engine)


@pytest.mark.parametrize("shape", [(1 << 22,), (1000, 4097), (3, 5, 70001)])
def test_large_arrays(rt, shape):
    a = RNG.standard_normal(shape)
    x = put(rt, a)
    np.testing.assert_allclose(host(tfr.sum(x, axis=-1)), a.sum(-1), rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(host(tfr.exp(x) * x), np.exp(a) * a, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(host(tfr.argmax(x, axis=0)), a.argmax(0))
    np.testing.assert_allclose(host(tfr.cumsum(x, axis=-1)), a.cumsum(-1), rtol=1e-9, atol=1e-8)


def test_scatters_give_the_same_bits_again(rt):
    g, at = RNG.standard_normal((200_000, 8)).astype("f4"), RNG.integers(0, 1000, 200_000)
    zeros, where, updates = put(rt, np.zeros((1000, 8), "f4")), put(rt, at), put(rt, g)
    first = host(tfr.scatter_add(zeros, where, updates, axis=0))
    want = np.zeros((1000, 8), "f8")
    np.add.at(want, at, g)
    np.testing.assert_allclose(first, want, rtol=1e-3, atol=1e-3)
    for _ in range(5):
        np.testing.assert_array_equal(host(tfr.scatter_add(zeros, where, updates, axis=0)), first)


# ---- the device ------------------------------------------------------------------------------------------------------------

def test_nobody_waits(rt, cupy):
    from cupyx import allow_synchronize
    a = RNG.standard_normal((64, 64))
    x = put(rt, a, True)
    loss(x, x).backward()               # compiles
    with allow_synchronize(False), rt.session() as s:
        y = s.constant_from_host(a)
        z = loss(x, y)
        z.backward()
        s.take(x, s.constant_from_host(np.array([1, 2, -1])), axis=1)
        s.sort(y)
        s.scatter_add(y, s.constant_from_host(np.array([1, 1])), s.constant_from_host(a[:2]), axis=0)
    np.testing.assert_allclose(float(host(z)), float(loss(tfr.constant(a), tfr.constant(a))), rtol=1e-10)


def test_streams(rt, cupy):
    a = RNG.standard_normal((500, 500))
    with cupy.cuda.Stream(non_blocking=True) as stream:
        y = put(rt, a)
        for _ in range(10):
            y = tfr.matmul(y, y) * 1e-3
        found = host(y)
        stream.synchronize()
    want = a
    for _ in range(10):
        want = want @ want * 1e-3
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-300)


def test_python_threads(engine, cupy):
    def work(k):
        rt = tfr.EagerRuntime(engine=engine)
        with cupy.cuda.Stream(non_blocking=True):
            x = put(rt, np.full((300, 300), float(k)))
            return float(host(tfr.sum(tfr.matmul(x, x))))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(12))) == [300.0 ** 3 * k * k for k in range(12)]


def test_uploads_may_be_overwritten_at_once(rt):
    a = RNG.standard_normal(1 << 20)
    b, found = a.copy(), []
    for k in range(5):
        b[...] = a + k
        found.append(put(rt, b))
    b[...] = 0
    for k, x in enumerate(found):
        np.testing.assert_array_equal(host(x), a + k)


def test_failed_allocations_lose_nothing(rt, engine, cupy):
    a = RNG.standard_normal(1 << 20)
    x = put(rt, a, True)
    y = tfr.exp(x)
    pool = cupy.get_default_memory_pool()
    engine.release()
    pool.set_limit(size=pool.used_bytes() + (1 << 20))
    try:
        with pytest.raises(OutOfMemoryError) as e:
            tfr.sin(y)
        assert e.value.engine == "cupy"
    finally:
        pool.set_limit(size=0)
    tfr.sum(y).backward()
    np.testing.assert_allclose(host(x.grad), np.exp(a), rtol=1e-13)


def test_memory_comes_back(rt, engine):
    def work():
        x = put(rt, RNG.standard_normal((500, 500)), True)
        loss(x, x).backward()
        return None

    for _ in range(3):
        work()
    before = engine.memory_info()["used"]
    for _ in range(20):
        work()
    assert engine.memory_info()["used"] <= before + (1 << 20)


def test_other_devices(cupy):
    count = cupy.cuda.runtime.getDeviceCount()
    if count < 2:
        pytest.skip("needs two devices")
    rt = tfr.EagerRuntime(engine=tfr.engine(f"cupy:{count - 1}"))
    a = RNG.standard_normal((50, 50))
    x = put(rt, a, True)
    loss(x, x).backward()
    assert x.grad.device == f"cuda:{count - 1}"
    y = tfr.variable(a)
    loss(y, y).backward()
    np.testing.assert_allclose(host(x.grad), y.grad.numpy(), rtol=1e-10)


# ---- other libraries -------------------------------------------------------------------------------------------------------

def test_cupy_shares_memory(rt, cupy):
    mine = cupy.arange(6.0).reshape(2, 3)
    with rt.session():
        x = tfr.from_dlpack(mine)
    mine[0, 0] = 9.0
    assert host(x)[0, 0] == 9.0
    y = cupy.from_dlpack(x)
    assert y.data.ptr == mine.data.ptr


def test_torch_shares_memory(rt, cupy):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no CUDA")
    mine = torch.arange(6.0, device="cuda", dtype=torch.float64)
    with rt.session():
        x = tfr.from_dlpack(mine)
    y = torch.from_dlpack(x)
    assert y.data_ptr() == mine.data_ptr()
    np.testing.assert_array_equal(host(x), np.arange(6.0))


def test_jax_shares_memory(rt):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU")
    with rt.session():
        x = tfr.from_dlpack(jax.numpy.arange(6.0))
    np.testing.assert_array_equal(host(x), np.arange(6.0))
    np.testing.assert_array_equal(np.asarray(jax.dlpack.from_dlpack(x)), np.arange(6.0))
