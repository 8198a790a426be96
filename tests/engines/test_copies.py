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
