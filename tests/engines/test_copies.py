"""Copies from one memory layout into another, large enough to go tile by tile."""

import numpy as np
import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st

import tenferro as tfr


@pytest.mark.parametrize("dtype", support.ALL_DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(37, 41), (64, 64), (3, 400), (4, 300), (7, 16, 33), (16, 5, 4, 19)], ids=str)
def test_reversed_axes(dtype, shape):
    a = support.sample(np.random.default_rng(0), shape, dtype, -9, 9)
    support.assert_same(tfr.reshape(support.const(a).T, (-1,)), a.T.reshape(-1))
    support.assert_same(tfr.reshape(support.const(np.asfortranarray(a)), (-1,)), a.reshape(-1))


@settings(deadline=None, max_examples=100)
@given(support.layouts, st.lists(st.integers(1, 13), min_size=2, max_size=5), st.randoms(use_true_random=False),
       st.sampled_from(["i1", "i2", "f4", "f8", "c16"]))
def test_any_layout(layout, shape, random, dtype):
    """Also negative and zero strides."""
    while np.prod(shape) < 1500:
        shape[random.randrange(len(shape))] += 5
    a = layout(support.sample(np.random.default_rng(1), shape, dtype, -9, 9))
    support.assert_same(tfr.reshape(support.const(a), (-1,)), a.reshape(-1))
    b = np.broadcast_to(a[:1], a.shape)
    support.assert_same(tfr.reshape(support.const(b), (-1,)), b.reshape(-1))


@pytest.mark.parametrize("orders", ["FF", "FC", "CF"])
@pytest.mark.parametrize("dtype", support.DIFF_DTYPES, ids=str)
def test_stacks_whose_batch_axis_is_fastest(dtype, orders):
    rng = np.random.default_rng(2)
    a, b = (np.array(support.sample(rng, shape, "i4", -3, 3).astype(dtype), order=order)
            for shape, order in zip([(20, 13, 17), (20, 17, 15)], orders))
    support.assert_same(support.const(a) @ support.const(b), a @ b)


ITEMS = ["i1", "i2", "f4", "f8", "c16"]


def numbers(shape, dtype):
    """Different elements, as far as the dtype has enough of them."""
    a = np.arange(int(np.prod(shape)), dtype="i8") * 2654435761 % 1000003
    return a.astype(dtype).reshape(shape)


def viewed(a, random):
    """A view with permuted, stepped, reversed or repeated axes."""
    a = a.transpose(random.sample(range(a.ndim), a.ndim))
    cut = []
    for n in a.shape:
        step = random.choice([1, 1, 1, 2, 3, -1, -2]) if n > 1 else 1
        cut.append(slice(random.randrange(2) if step > 0 and n > 3 else None, None, step))
    a = a[tuple(cut)]
    if random.random() < 0.3:
        axis = random.randrange(a.ndim)
        a = np.broadcast_to(a.take([0], axis), a.shape)
    return a


@settings(deadline=None, max_examples=300)
@given(st.lists(st.integers(1, 19), min_size=1, max_size=8), st.randoms(use_true_random=False), st.sampled_from(ITEMS),
       st.integers(0, 3))
def test_views_of_every_kind(shape, random, dtype, start):
    """Ranks 1 to 8, also with memory that starts anywhere."""
    while np.prod(shape) > 60000:
        shape[int(np.argmax(shape))] //= 2
    base = numbers(int(np.prod(shape)) + start, dtype)
    a = viewed(base[start:].reshape(shape), random)
    order = random.choice("CF")
    found = tfr.reshape(support.const(a) if order == "C" else support.const(a).T, (-1,))
    np.testing.assert_array_equal(found.numpy(), a.reshape(-1) if order == "C" else a.T.reshape(-1))


@pytest.mark.parametrize("dtype", ITEMS)
@pytest.mark.parametrize("n", [7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 130])
def test_sides_around_the_tile(dtype, n):
    for m in (3, n - 1, n, n + 1, 128):
        for shape in ((n, m), (n, 2, m), (n, m, 3)):
            a = numbers(shape, dtype)
            np.testing.assert_array_equal(tfr.reshape(support.const(a).T, (-1,)).numpy(), a.T.reshape(-1))


@pytest.mark.parametrize("dtype", ITEMS)
def test_many_short_axes(dtype):
    random = np.random.default_rng(3)
    for shape in ((2,) * 14, (3,) * 9, (2, 3) * 5, (4, 2, 1) * 4):
        a = numbers(shape, dtype)
        for _ in range(4):
            axes = random.permutation(len(shape))
            found = tfr.reshape(tfr.permute_dims(support.const(a), axes.tolist()), (-1,))
            np.testing.assert_array_equal(found.numpy(), a.transpose(axes).reshape(-1))


@pytest.mark.parametrize("dtype", ITEMS)
@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_sizes_around_the_one_from_which_lines_are_streamed(dtype, extra):
    """4 MiB, and rows that are and are not whole cache lines."""
    rows = (4 << 20) // np.dtype(dtype).itemsize // 256
    for shape in ((rows + extra, 256), (256, rows + extra), (rows // 16 + extra, 16, 256)):
        a = numbers(shape, dtype)
        np.testing.assert_array_equal(tfr.reshape(support.const(a).T, (-1,)).numpy(), a.T.reshape(-1))


def test_rows_past_the_caches():
    """64 MiB and more: contiguous, with gaps, and a window filled on a background."""
    a = np.resize(np.arange(-125, 126).astype("i1"), (8201, 8200))
    t = support.const(a)
    assert np.array_equal(t.duplicate_value().numpy(), a)
    assert np.array_equal(tfr.reshape(t[:, 3:], (-1,)).numpy(), a[:, 3:].reshape(-1))
    assert np.array_equal(tfr.pad(t, 1, constant_values=5).numpy(), np.pad(a, 1, constant_values=5))
