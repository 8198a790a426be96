"""Arrays that end, or begin, where mapped memory does: reading one byte too far is a segmentation fault."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect")

PRELUDE = """
import ctypes, mmap
import numpy as np
import tenferro as tfr

libc = ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
PAGE = mmap.PAGESIZE
kept = []


def guarded(a, at_end):
    \"\"\"Copy of an array, in its memory order, with nothing readable right after it, or right before it.\"\"\"
    a = np.asarray(a)
    order = sorted(range(a.ndim), key=lambda k: -abs(a.strides[k]))
    flat = a.transpose(order)
    pages = -(-a.nbytes // PAGE) + 2
    m = mmap.mmap(-1, pages * PAGE)
    kept.append(m)
    base = ctypes.addressof(ctypes.c_char.from_buffer(m))
    for guard in (0, pages - 1):
        if libc.mprotect(base + guard * PAGE, PAGE, 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    start = (pages - 1) * PAGE - a.nbytes if at_end else PAGE
    out = np.frombuffer(m, a.dtype, a.size, start).reshape(flat.shape)
    out[...] = flat
    return out.transpose(np.argsort(order))


def tensors(a):
    for at_end in (True, False):
        g = guarded(a, at_end)
        t = tfr.constant(g, copy=False)
        assert t.numpy().ctypes.data == g.ctypes.data, "the tensor was copied"
        yield t


rng = np.random.default_rng(0)
"""


def run(body):
    done = subprocess.run([sys.executable, "-c", PRELUDE + body], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:] or f"ended by signal {-done.returncode}"
    assert done.stdout.strip() == "done"


def test_the_guard_is_one():
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + "g = guarded(np.zeros(7), True)\nctypes.string_at(g.ctypes.data + g.nbytes, 1)"],
        capture_output=True, timeout=60)  # fmt: skip
    assert done.returncode < 0


def test_copies():
    run("""
for dtype in ("i1", "i2", "i4", "f8", "c16"):
    for shape in ((37, 41), (64, 64), (129, 3), (3, 500), (8, 8), (16, 16, 16), (5, 33, 65), (2,) * 11):
        a = (rng.standard_normal(shape) * 50).astype(dtype)
        for x in (a, np.asfortranarray(a), a.transpose(np.roll(range(a.ndim), 1)).copy().transpose(np.roll(range(a.ndim), -1))):
            for t in tensors(x):
                np.testing.assert_array_equal(tfr.reshape(t.T, (-1,)).numpy(), a.T.reshape(-1))
                np.testing.assert_array_equal(tfr.reshape(t, (-1,)).numpy(), a.reshape(-1))
                r = a[::-1, ::2]
                np.testing.assert_array_equal(tfr.reshape(t[::-1, ::2], (-1,)).numpy(), r.reshape(-1))
                np.testing.assert_array_equal(tfr.reshape(t[::2, ::-1].T, (-1,)).numpy(), a[::2, ::-1].T.reshape(-1))
print("done")
""")


def test_elementwise_in_conflicting_orders():
    run("""
for dtype in ("f4", "f8", "c16"):
    for n, m in ((67, 67), (300, 5), (5, 300), (64, 128)):
        a = rng.uniform(0.5, 2, (n, m)).astype(dtype)
        b = np.asfortranarray(rng.uniform(0.5, 2, (n, m)).astype(dtype))
        c = rng.uniform(0.5, 2, (n, 1)).astype(dtype)
        for x, y, z in zip(tensors(a), tensors(b), tensors(c)):
            np.testing.assert_array_equal((x * y).numpy(), a * b)
            np.testing.assert_array_equal((x + z).numpy(), a + c)
            np.testing.assert_array_equal((y[::-1, ::-1] - x).numpy(), b[::-1, ::-1] - a)
            np.testing.assert_allclose(tfr.exp(y).numpy(), np.exp(b), 1e-5 if dtype == "f4" else 1e-13)
            np.testing.assert_allclose(tfr.sin(x[::2, ::-1]).numpy(), np.sin(a[::2, ::-1]), 1e-5 if dtype == "f4" else 1e-13)
print("done")
""")


def test_reductions_and_windows():
    run("""
for dtype in ("f4", "f8", "i2"):
    for shape in ((67, 67), (1, 513), (40, 3, 31)):
        a = (rng.standard_normal(shape) * 9).astype(dtype)
        for t in tensors(a):
            for axis in (None, 0, 1):
                np.testing.assert_allclose(tfr.sum(t, axis=axis).numpy(), a.sum(axis=axis), 1e-4, 1e-3)
                np.testing.assert_array_equal(tfr.max(t, axis=axis).numpy(), a.max(axis=axis))
            np.testing.assert_array_equal(tfr.concatenate([t, t[::-1]], axis=-1).numpy(), np.concatenate([a, a[::-1]], axis=-1))
            np.testing.assert_array_equal(tfr.stack([t, t], axis=-1).numpy(), np.stack([a, a], axis=-1))
            np.testing.assert_array_equal(tfr.pad(t, 3).numpy(), np.pad(a, 3))
x = tfr.variable(np.zeros((70, 90)))
for step in (1, 2, -3):
    g = rng.standard_normal(x[::step, 5:77].shape)
    expected = np.zeros(x.shape)
    expected[::step, 5:77] = g
    for order in "CF":
        for t in tensors(np.array(g, order=order)):
            np.testing.assert_array_equal(tfr.default_runtime().vjp([x[::step, 5:77]], [x], [t])[0].numpy(), expected)
print("done")
""")
