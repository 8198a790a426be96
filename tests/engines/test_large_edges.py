"""Large values at their edges: special numbers, odd extents, high rank, refused memory, long training."""

import gc
import subprocess
import sys

import numpy as np
import pytest

import tenferro as tfr
from tenferro._core import memory

LARGE = 1 << 15


def loss(x):
    return (tfr.exp(-x * x) * tfr.sin(x) + tfr.log1p(x * x)).sum()


def slope(x):
    """The derivative, operation by operation, where nothing overflows."""
    e = np.exp(-x * x)
    return e * np.cos(x) - 2 * x * e * np.sin(x) + 2 * x / (1 + x * x)


def gradient(a, f=loss):
    x = tfr.variable(a, copy=False)
    f(x).backward()
    return x.grad.numpy()


def test_special_numbers():
    rng = np.random.default_rng(0)
    a = rng.standard_normal(LARGE)
    a[::97] = 0.0
    a[1::97] = -0.0
    a[2::97] = 5e-324
    a[3::97] = np.nan
    a[4::97] = 1e-310
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(gradient(a), slope(a), rtol=1e-12, atol=1e-300)
    b = rng.standard_normal(LARGE)
    b[5::97], b[6::97], b[7::97] = np.inf, -np.inf, 1e200
    got = gradient(b, lambda x: (tfr.tanh(x) * tfr.sigmoid(x)).sum())
    assert (got[5::97] == 0).all() and (got[6::97] == 0).all() and (got[7::97] == 0).all() and np.isfinite(got).all()


SHAPES = [(LARGE + 1,), (181, 183), (3, 11, 1009), (2,) * 15, (1,) * 48 + (2,) * 15, (1, LARGE, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_odd_extents_and_high_ranks(shape, order):
    a = np.asarray(np.random.default_rng(1).standard_normal(shape), order=order)
    np.testing.assert_allclose(gradient(a), slope(a), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("view", ["stepped", "reversed", "transposed", "offset", "repeated"])
def test_views(view):
    a = np.random.default_rng(2).standard_normal((300, 301))
    views = {"stepped": a[::2, ::3], "reversed": a[::-1, ::-2], "transposed": a.T[1:, 5:], "offset": a[7:, 3:],
             "repeated": np.broadcast_to(a[0], (200, 301))}
    x = views[view]
    np.testing.assert_allclose(gradient(x), slope(x), rtol=1e-12, atol=1e-14)


def test_unaligned_memory():
    raw = np.zeros(8 * LARGE + 8, np.uint8)
    a = raw[3:3 + 8 * LARGE].view(np.float64)
    a[:] = np.random.default_rng(3).standard_normal(LARGE)
    assert not a.flags.aligned
    np.testing.assert_allclose(gradient(a), slope(a), rtol=1e-12, atol=1e-14)


def test_nothing_and_one_element():
    assert gradient(np.zeros((0, 5))).shape == (0, 5)
    np.testing.assert_allclose(gradient(np.full((1, 1, 1), 0.7)), slope(np.full((1, 1, 1), 0.7)), rtol=1e-14)


REFUSED = """
import resource, numpy as np, tenferro as tfr
n = 8_000_000
x = tfr.variable(np.ones(n))
y = (tfr.exp(x) * tfr.sin(x)).sum()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 8 * n // 2, resource.RLIM_INFINITY))
try:
    y.backward()
except MemoryError as error:
    assert isinstance(error, tfr.errors.OutOfMemoryError) and error.nbytes > 0, error
else:
    raise SystemExit("memory was not refused")
assert x.grad is None
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
y.backward()
np.testing.assert_allclose(x.grad.numpy()[:3], np.exp(1) * (np.sin(1) + np.cos(1)), rtol=1e-13)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space")
def test_refused_memory_is_an_error_and_the_engine_goes_on():
    run = subprocess.run([sys.executable, "-c", REFUSED], text=True, capture_output=True, timeout=120)
    assert run.returncode == 0, run.stderr


def test_ten_thousand_steps_keep_memory_flat():
    rng = np.random.default_rng(4)
    rt = tfr.default_runtime()
    x, y = tfr.constant(rng.standard_normal((16, 8))), tfr.constant(rng.standard_normal((16, 4)))
    w = [tfr.variable(rng.standard_normal(s) / 4) for s in ((8, 16), (16,), (16, 4), (4,))]
    seen = []
    for step in range(10_000):
        r = tfr.tanh(x @ w[0] + w[1]) @ w[2] + w[3] - y
        value = tfr.mean(r * r)
        g = rt.grad(value, w)
        with rt.no_grad():
            w = [tfr.variable((p - 1e-2 * d).into_value()) for p, d in zip(w, g, strict=True)]
        if step % 2500 == 2499:
            del r, value, g
            gc.collect()
            seen.append((*memory.live(), rt.cache_stats().buffers.retained_bytes))
    assert seen[1:] == seen[:1] * 3
