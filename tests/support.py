"""Shared by the tests: random values in random memory layouts, and comparison with NumPy's results."""

import threading

import hypothesis
import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest

import tenferro as tfr
from tenferro._core import memory
from tenferro._core.state import open_here

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

REAL_DTYPES = tuple(np.dtype(t) for t in ("f4", "f8"))
COMPLEX_DTYPES = tuple(np.dtype(t) for t in ("c8", "c16"))
DIFF_DTYPES = REAL_DTYPES + COMPLEX_DTYPES
INT_DTYPES = tuple(np.dtype(t) for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"))
ALL_DTYPES = (np.dtype("?"), *INT_DTYPES, *DIFF_DTYPES)


def sample(rng, shape, dtype, low=-2, high=2):
    """Random values between bounds, which complex numbers have in both parts and integers include."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape), dtype)
    if dtype.kind in "iu":
        return np.asarray(rng.integers(max(low, 0) if dtype.kind == "u" else low, high + 1, shape), dtype)
    x = rng.uniform(low, high, shape)
    if dtype.kind == "c":
        x = x + 1j * rng.uniform(low, high, shape)
    return np.asarray(x, dtype)


def random_layout(a, rng):
    """An array equal to `a` in row-major, column-major or any other order, with gaps, negative and zero strides."""
    a = np.asarray(a)
    kind = rng.integers(5)
    if kind < 2:
        return np.array(a, order="CF"[kind])
    if kind == 2:
        flat = [k for k in range(a.ndim) if a.shape[k] > 1 and _constant_along(a, k)]
        if flat:
            return np.broadcast_to(random_layout(a.take([0], flat[rng.integers(len(flat))]), rng), a.shape)
    return _scattered(a, rng)


def _constant_along(a, axis):
    return np.array_equal(a, np.broadcast_to(a.take([0], axis), a.shape), equal_nan=a.dtype.kind in "fc")


def _scattered(a, rng):
    """A view of larger memory whose other elements are poison."""
    order = rng.permutation(a.ndim)
    steps = rng.integers(1, 4, a.ndim)
    starts = rng.integers(0, 3, a.ndim)
    base = np.full([starts[k] + a.shape[k] * steps[k] for k in order], np.nan if a.dtype.kind in "fc" else 1, a.dtype)
    cut = [slice(starts[k], None, steps[k]) for k in range(a.ndim)]
    turn = [slice(None, None, -1 if rng.integers(2) else 1) for _ in range(a.ndim)]
    view = base.transpose(np.argsort(order))[(*cut, ...)][(*turn, ...)]
    view[...] = a
    return view


def leaf(a):
    """Tracked leaf in the memory layout of `a`."""
    return tfr.variable(a, copy=False)


def const(a):
    """Untracked tensor in the memory layout of `a`."""
    return tfr.constant(a, copy=False)


def value(x):
    """NumPy array over the memory of a tensor, tracked or not."""
    return x.detach().numpy()


def assert_same(tensor, array, rtol=0, atol=0):
    """The tensor's dtype, shape and values are the array's: exactly, unless a tolerance is given. NaN equals NaN."""
    array = np.asarray(array)
    assert tensor.dtype == array.dtype, f"dtype {tensor.dtype}, expected {array.dtype}"
    assert tensor.shape == array.shape, f"shape {tensor.shape}, expected {array.shape}"
    found = value(tensor)
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    np.testing.assert_allclose(found, array, rtol=rtol, atol=atol)


class Layout:
    """Puts arrays into a memory layout that depends on a seed; readable in hypothesis's reports."""

    def __init__(self, seed):
        self.seed = seed

    def __call__(self, a):
        return random_layout(a, np.random.default_rng(self.seed))

    def __repr__(self):
        return f"Layout({self.seed})"


layouts = st.integers(0, 2**32 - 1).map(Layout)


def shapes(max_dims=4, max_side=4, min_dims=0, min_side=0):
    return hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side)


def broadcastable_shapes(n=2, max_dims=4, max_side=4, min_side=0):
    """`n` shapes and that of their broadcast result: ``BroadcastableShapes(input_shapes, result_shape)``."""
    return hnp.mutually_broadcastable_shapes(num_shapes=n, max_dims=max_dims, min_side=min_side, max_side=max_side)


def live():
    """Blocks and bytes in use, not counting what the default runtime's caches of derivatives hold."""
    tfr.default_runtime().clear_caches()
    return memory.live()


def _state():
    return open_here(), tfr.default_engine(), tfr.default_runtime()


@pytest.fixture(autouse=True)
def nothing_left_open():
    """Fails a test that leaves a guard or session open, another default engine, or a thread of its own."""
    before, threads = _state(), set(threading.enumerate())
    yield
    own = [t for t in threading.enumerate() if t not in threads]
    for t in own:
        t.join(2)
    assert _state() == before, "the test left a guard or session open, or another default engine"
    assert not [t for t in own if t.is_alive()], "the test left a thread running"
