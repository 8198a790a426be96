"""The layouts that other tests rely on really occur and never change a value."""

import numpy as np
import pytest
import support
from hypothesis import given


@pytest.mark.parametrize("dtype", support.ALL_DTYPES, ids=str)
def test_random_layout_keeps_values(dtype):
    rng = np.random.default_rng(0)
    for shape in [(), (0,), (5,), (2, 3), (3, 1, 4), (2, 0, 3)]:
        a = support.sample(rng, shape, dtype)
        assert a.dtype == dtype
        for _ in range(20):
            b = support.random_layout(a, rng)
            assert b.dtype == a.dtype
            np.testing.assert_array_equal(b, a)
            support.assert_same(support.const(b), a)


def test_random_layout_varies_strides():
    rng = np.random.default_rng(0)
    a, flat = rng.normal(size=(3, 4)), np.ones((3, 4))
    found = [support.random_layout(a, rng).strides for _ in range(100)]
    assert (32, 8) in found
    assert (8, 24) in found
    assert any(min(s) < 0 for s in found)
    assert any(s[0] < s[1] for s in found)
    assert any(max(map(abs, s)) > 32 for s in found)
    assert any(0 in support.random_layout(flat, rng).strides for _ in range(100))


def test_eager_tensors_keep_the_layout():
    a = np.arange(24.0).reshape(4, 6)[::-1, ::2].T
    assert support.value(support.leaf(a)).strides == a.strides
    assert support.value(support.const(a)).strides == a.strides
    assert support.leaf(a).tracks_grad
    assert not support.const(a).tracks_grad


@given(support.layouts, support.broadcastable_shapes(2))
def test_layouts_are_reproducible(layout, shapes):
    a = np.zeros(shapes.result_shape)
    assert layout(a).strides == layout(a).strides
    assert np.broadcast_shapes(*shapes.input_shapes) == shapes.result_shape


def test_assert_same_fails():
    t = support.const(np.arange(3.0))
    support.assert_same(t, np.arange(3.0))
    a = np.arange(3.0)
    for wrong in (a.astype(int), np.arange(4.0), a[None], a + 1e-15, a.astype("f4")):
        with pytest.raises(AssertionError):
            support.assert_same(t, wrong)
    support.assert_same(t, np.arange(3.0) + 1e-15, rtol=1e-14, atol=1e-14)
