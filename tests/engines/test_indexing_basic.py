"""Basic indexing ``x[...]``, slices and the slice builder against NumPy."""

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from support import ALL_DTYPES, assert_same, const, layouts, leaf, sample, shapes, value

import tenferro as tfr
from tenferro.errors import (
    AxisError,
    ContextMismatchError,
    RuntimeStateError,
    ShapeMismatchError,
    ValidationError,
)

dtypes = st.sampled_from(ALL_DTYPES)
seeds = st.integers(0, 2**32 - 1)


def array(shape, dtype, seed, layout):
    return layout(sample(np.random.default_rng(seed), shape, dtype))


@given(shapes(max_side=5), dtypes, seeds, layouts, st.data())
def test_basic_index(shape, dtype, seed, layout, data):
    x = array(shape, dtype, seed, layout)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=8))
    found, expected = const(x)[index], np.asarray(x[index])
    assert_same(found, expected)
    if expected.size:
        assert np.shares_memory(value(found), x)


@given(shapes(max_side=5, min_dims=1), dtypes, seeds, layouts, st.data())
def test_index_of_an_index(shape, dtype, seed, layout, data):
    x = array(shape, dtype, seed, layout)
    first = data.draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=6))
    second = data.draw(hnp.basic_indices(np.shape(x[first]), allow_newaxis=True, max_dims=8))
    assert_same(const(x)[first][second], x[first][second])


@pytest.mark.parametrize(
    "index",
    [
        1,
        -1,
        (),
        ...,
        None,
        (None, 1, None),
        np.int8(1),
        (np.int64(0), -2),
        slice(None, None, -1),
        (slice(3, 0, -2), ...),
        slice(10, 20),
        slice(-10, None),
        (..., 0),
        (0, ..., 1),
        slice(2**80),
        slice(None, None, 2**70),
        slice(-(2**80), None, -(2**80)),
        (slice(None), np.uint8(2)),
        slice(0, 0),
    ],
)
def test_kinds_of_index(index):
    x = np.arange(12).reshape(3, 4)
    assert_same(const(x)[index], x[index])


def test_objects_that_act_as_integers():
    class Two:
        def __index__(self):
            return 2

    assert_same(const(np.arange(4))[Two()], np.int64(2))
    assert_same(const(np.arange(4))[Two() :], np.arange(2, 4))


@pytest.mark.parametrize("index", [3, -4, (0, 4), (0, 0, 0), (..., 0, 0, 0), (slice(None),) * 3, 2**70, (0, -5)])
def test_out_of_bounds(index):
    with pytest.raises(AxisError) as e:
        const(np.zeros((3, 4)))[index]
    assert isinstance(e.value, IndexError)
    with pytest.raises(IndexError):
        np.zeros((3, 4))[index]


def test_index_errors():
    x = const(np.zeros((3, 4)))
    with pytest.raises(ValidationError, match="zero"):
        x[::0]
    with pytest.raises(ValidationError, match="ellipsis"):
        x[..., ...]
    with pytest.raises(ValidationError, match="64 axes"):
        x[(None,) * 63]
    with pytest.raises(AxisError):
        const(1.0)[0]
    with pytest.raises((TypeError, ValueError, IndexError)):
        x[1.5]
    with pytest.raises(TypeError):
        x[1.5:]


def test_scalars():
    x = const(2.5)
    assert_same(x[()], np.array(2.5))
    assert_same(x[...], np.array(2.5))
    assert_same(x[None], np.array([2.5]))


def test_iteration_ends():
    assert [float(t) for t in const(np.arange(3.0))] == [0.0, 1.0, 2.0]


def test_recorded_index_is_one_node():
    x = leaf(np.arange(24.0).reshape(2, 3, 4))
    y = x[1, ::-1, None, 2:0:-1]
    y.backward_with(np.ones(y.shape))
    expected = np.zeros((2, 3, 4))
    expected[1, ::-1, 2:0:-1] = 1
    assert_same(x.grad, expected)


@given(shapes(max_side=5), dtypes, seeds, layouts, st.data())
def test_slice_function(shape, dtype, seed, layout, data):
    x = array(shape, dtype, seed, layout)
    bounds = [
        (
            data.draw(st.integers(-6, 6)),
            data.draw(st.none() | st.integers(-6, 6)),
            data.draw(st.sampled_from([-2, -1, 1, 3])),
        )
        for _ in shape
    ]
    starts, stops, steps = ([b[i] for b in bounds] for i in range(3))
    assert_same(tfr.slice(const(x), starts, stops, steps), x[tuple(slice(*b) for b in bounds)])
    assert_same(tfr.slice(const(x), starts, stops), x[tuple(slice(*b[:2]) for b in bounds)])


def test_slice_function_errors():
    x = const(np.zeros((3, 4)))
    assert tfr.slice(x, 1, 3).shape == (2, 2)
    with pytest.raises(ShapeMismatchError):
        tfr.slice(x, (0,), (1, 1))
    with pytest.raises(ValidationError, match="zero"):
        tfr.slice(x, (0, 0), (1, 1), (1, 0))


def test_slice_builder():
    x = np.arange(60.0).reshape(3, 4, 5)
    t = const(x)
    assert_same(t.slice_builder().apply(), x)
    y = t.slice_builder().axis(0, 1, 3).axis_step(-1, 0, 5, 2).apply()
    assert_same(y, x[1:3, :, 0:5:2])
    assert np.shares_memory(value(y), x)
    assert_same(t.slice_builder().axis_step(1, 3, -1, -2).apply(), x[:, 3::-2])
    assert_same(t.slice_builder().axis_step(1, 2, 0, -1).apply(), x[:, 2:0:-1])
    assert_same(t.slice_builder().axis(0, 1, 1).apply(), x[1:1])
    assert_same(t.slice_builder().take_axis(1, [3, 0, 0]).axis(0, 0, 1).apply(), x[0:1, [3, 0, 0]])


def test_slice_builder_in_a_session():
    x = np.arange(6.0).reshape(2, 3)
    t = const(x)
    with t.runtime.session() as s:
        assert_same(t.slice_builder().take_axis(1, [2, 1]).apply(session=s), x[:, [2, 1]])
    with pytest.raises(RuntimeStateError):
        t.slice_builder().apply(session=s)
    with tfr.EagerRuntime().session() as s, pytest.raises(ContextMismatchError):
        t.slice_builder().apply(s)
    with pytest.raises(TypeError):
        t.slice_builder().apply(3)


@pytest.mark.parametrize(
    "call",
    [
        lambda b: b.axis(0, 0, 1).axis(0, 1, 2),
        lambda b: b.axis(0, 0, 1).take_axis(-2, [0]),
        lambda b: b.take_axis(1, [0]).axis_step(1, 0, 2, 1),
        lambda b: b.axis_step(0, 0, 2, 0),
        lambda b: b.axis(0, 0, 4),
        lambda b: b.axis(0, -1, 2),
        lambda b: b.axis(0, 2, 1),
        lambda b: b.axis(2, 0, 1),
        lambda b: b.axis_step(0, 3, 0, -1),
        lambda b: b.axis_step(0, 0, 2, -1),
    ],
)
def test_slice_builder_errors(call):
    with pytest.raises(ValidationError):
        call(const(np.zeros((3, 4))).slice_builder())


def test_slice_builder_is_made_by_tensors():
    with pytest.raises(TypeError):
        type(const(1.0).slice_builder())()
