"""Pickling: value, order in memory and, for a leaf, tracking."""

import copy
import multiprocessing
import operator
import pickle

import numpy as np
import pytest
from hypothesis import given
from support import ALL_DTYPES, layouts, sample, shapes

import tenferro as tfr
from tenferro import EagerRuntime, Tensor, errors

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def through(x, protocol=pickle.DEFAULT_PROTOCOL):
    return pickle.loads(pickle.dumps(x, protocol))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_value_and_dtype(dtype, protocol):
    a = sample(np.random.default_rng(1), (2, 3), dtype)
    for make in (tfr.constant, Tensor.from_numpy):
        x = make(a)
        y = through(x, protocol)
        assert type(y) is type(x)
        assert (y.dtype, y.shape) == (a.dtype, a.shape)
        np.testing.assert_array_equal(y.numpy(), a)


@given(shape=shapes(), layout=layouts)
def test_order_in_memory(shape, layout):
    a = layout(sample(np.random.default_rng(2), shape, "f4"))
    for protocol in (2, 5):
        for make in (lambda: tfr.constant(a, copy=False), lambda: Tensor.from_numpy(a, copy=False)):
            b = through(make(), protocol).numpy()
            np.testing.assert_array_equal(b, a)
            assert a.size == 0 or 1 in shape or b.strides == np.empty_like(a, order="K").strides


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_row_and_column_major(order, protocol):
    x = tfr.constant(np.arange(6.0).reshape(2, 3).copy(order))
    assert through(x, protocol).value().strides == x.value().strides
    assert through(x.T, protocol).value().strides == x.T.value().strides
    y = through(x[:, ::-2], protocol)
    assert y.tolist() == [[2, 0], [5, 3]]
    assert min(y.value().strides) > 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_leaf_stays_a_leaf(protocol):
    x = tfr.variable([1.0, 2.0])
    (x * x).sum().backward()
    y = through(x, protocol)
    assert y.tracks_grad
    assert y.grad is None
    (y * y).sum().backward()
    assert y.grad.tolist() == [2, 4]
    y.assign([5.0, 6.0])
    assert x.tolist() == [1, 2]
    assert not through(x.detach(), protocol).tracks_grad
    assert not through(x.grad, protocol).tracks_grad


def test_into_the_default_runtime():
    rt = EagerRuntime()
    for x in (rt.variable_from([1.0]), rt.constant_from([1.0])):
        with rt.session():
            assert through(x).runtime is tfr.default_runtime()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_trace_is_not_pickled(protocol):
    y = tfr.variable([1.0]) * 2.0
    with pytest.raises(errors.RuntimeStateError, match=r"detach\(\)") as e:
        pickle.dumps(y, protocol)
    assert e.value.op == "pickle"
    assert through(y.detach(), protocol).tolist() == [2]


def test_a_captured_result_is_untracked():
    rt = EagerRuntime()
    c = rt.constant_from([1.0])
    with rt.capture_trace():
        y = c * 2.0
    assert not through(y).tracks_grad
    assert through(y).tolist() == [2]


def test_a_consumed_handle():
    x = tfr.constant([1.0])
    x.into_value()
    with pytest.raises(errors.RuntimeStateError, match="into_value"):
        pickle.dumps(x)


def test_what_is_one_object_stays_one_object():
    x = tfr.variable([1.0])
    a, b, c = through([x, x, copy.copy(x)])
    assert a is b
    assert c is not a


def test_out_of_band_buffers():
    x = tfr.constant(np.arange(1000.0))
    buffers = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(data) < 1000
    assert len(buffers) == 1
    assert pickle.loads(data, buffers=buffers).tolist() == x.tolist()
    writable = [bytearray(b.raw()) for b in buffers]
    y = pickle.loads(data, buffers=writable)
    writable[0][:8] = b"\1" * 8
    assert y[0].item() == 0


def test_another_process():
    """A fresh process gets a leaf, and what it sends back arrives."""
    x = tfr.variable(np.arange(6.0).reshape(2, 3).copy("F"))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(operator.attrgetter("tracks_grad"), (x,)) is True
        y = pool.apply(operator.methodcaller("detach"), (x,))
        t = pool.apply(operator.methodcaller("to_tensor"), (x,))
        with pytest.raises(errors.RuntimeStateError, match="assign"):
            pool.apply(operator.setitem, (x, 0, 1.0))
    assert type(y) is tfr.EagerTensor
    assert y.tolist() == x.tolist()
    assert y.value().strides == x.value().strides
    assert type(t) is Tensor
    assert t.numpy().tolist() == x.tolist()


def test_copying_does_not_pickle():
    x = tfr.variable([1.0]) * 2.0
    assert copy.copy(x).tolist() == copy.deepcopy(x).tolist() == [2]
    assert copy.deepcopy(x.to_tensor()).numpy().tolist() == [2]


def test_named_results_pickle():
    for f in (tfr.unique_all, tfr.unique_counts, tfr.unique_inverse):
        found = f([3.0, 1.0, 3.0])
        back = pickle.loads(pickle.dumps(found))
        assert type(back) is type(found)
        assert [t.tolist() for t in back] == [t.tolist() for t in found]
