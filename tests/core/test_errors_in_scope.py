"""Errors that no family's own tests raise: memory of another place, engines of another version, sizes without end."""

import copy
import ctypes
import pickle

import numpy as np
import pytest
from remote_arrays import RemoteEngine

import tenferro as tfr
from tenferro import errors
from tenferro._kernels import copy as kernels

# ---- memory that the engine cannot reach -------------------------------------------------------------------------------

@pytest.fixture
def elsewhere():
    """A tracked tensor in memory of another place."""
    rt = tfr.EagerRuntime()
    with rt.session(RemoteEngine()) as session:
        return rt.variable_from(session.constant_from_host(np.arange(128.0)))


@pytest.mark.parametrize("use", [
    tfr.exp, lambda x: x + x, lambda x: 2 * x, lambda x: tfr.where(x > 0, x, 0), lambda x: tfr.clamp(x, 0, 1), tfr.sum,
    lambda x: tfr.concatenate([x, x]), lambda x: x @ x, lambda x: x[[0, 1]], tfr.cumsum,
    lambda x: tfr.cast(x, "float32"), lambda x: tfr.ravel(tfr.reshape(x, (8, 16)).T),
    lambda x: x.runtime.constant_from(np.zeros(128)) + x,
])  # fmt: skip
def test_no_operation_reaches_foreign_memory(elsewhere, use):
    with pytest.raises(errors.PlacementError, match="to_tensor") as caught:
        use(elsewhere)
    assert (caught.value.expected, caught.value.actual) == ("cpu", "remote:0")
    assert caught.value.op in str(caught.value)


@pytest.mark.parametrize("use", [
    lambda x: x.as_slice("float64"), lambda x: x.numpy(), np.asarray, memoryview, lambda x: x.value().as_slice("float64"),
    lambda x: x.value().numpy(), lambda x: np.asarray(x.value()), pickle.dumps,
])  # fmt: skip
def test_no_conversion_reads_foreign_memory(elsewhere, use):
    with pytest.raises(errors.HostAccessError, match="to_tensor") as caught:
        use(elsewhere.detach())
    assert (caught.value.expected, caught.value.actual) == ("cpu", "remote:0")
    assert isinstance(caught.value, BufferError)


@pytest.mark.parametrize("use", [
    lambda x: x.tolist(), lambda x: x.to_tensor().numpy(), lambda x: [x[k].item() for k in range(128)],
    lambda x: [float(x[k]) for k in range(128)], lambda x: [x.item(k) for k in range(128)],
])  # fmt: skip
def test_what_asks_for_elements_downloads_them(elsewhere, use):
    assert list(use(elsewhere)) == list(range(128))


@pytest.mark.parametrize("use", [
    lambda x: x.duplicate_value(), lambda x: x.detach_into(tfr.EagerRuntime()).value(), lambda x: copy.deepcopy(x).value(),
    lambda x: copy.deepcopy(x.value()),
])  # fmt: skip
def test_copies_stay_where_they_are(elsewhere, use):
    y = use(elsewhere)
    assert (y.placement, y.shape, y.strides) == ("remote:0", (128,), (8,))


def test_foreign_memory_is_described(elsewhere):
    assert (elsewhere.shape, elsewhere.dtype, elsewhere[::2].shape) == ((128,), np.dtype("f8"), (64,))
    assert "remote:0" in repr(elsewhere) and "127." in repr(elsewhere)
    assert elsewhere.value().placement == elsewhere.device == "remote:0"


# ---- engines of another version ----------------------------------------------------------------------------------------


def kernel(name="copy", label=b"tenferro.kernel"):
    """Capsule around one of this library's kernels, as a compiled engine would hand it over."""
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_New.restype = ctypes.py_object
    exported = ctypes.py_object(kernels.__pyx_capi__[name])
    pointer = api.PyCapsule_GetPointer(exported, ctypes.c_char_p(api.PyCapsule_GetName(exported)))
    return api.PyCapsule_New(ctypes.c_void_p(pointer), ctypes.c_char_p(label), None)


ABI = 1


@pytest.mark.parametrize("abi", [0, 2, -1, 10**6])
def test_another_abi_is_refused(abi):
    engine = tfr.ExecutionEngine("mine")
    with pytest.raises(errors.EngineError, match=rf"ABI {abi}, this tenferro has {ABI}; rebuild") as caught:
        engine.register_kernel("neg", kernel(), abi)
    assert caught.value.engine == "mine"
    with pytest.raises(errors.UnsupportedError, match="mine"):
        tfr.default_runtime().with_eager_session(engine, lambda s: s.neg(1.0))


def test_a_kernel_belongs_to_one_engine():
    mine, other = tfr.ExecutionEngine("mine"), tfr.ExecutionEngine("other")
    mine.register_kernel("neg", kernel(), ABI)
    rt = tfr.EagerRuntime()
    x = rt.constant_from([1.0, 2.0])
    assert rt.with_eager_session(mine, lambda s: s.neg(x)).tolist() == [1, 2]       # it copies
    assert (-x).tolist() == [-1, -2]
    with pytest.raises(errors.UnsupportedError) as caught:
        rt.with_eager_session(other, lambda s: s.neg(x))
    assert (caught.value.op, caught.value.engine) == ("neg", "other")
    with pytest.raises(errors.UnsupportedError, match="exp"):
        rt.with_eager_session(mine, lambda s: s.exp(x))


def test_what_is_no_kernel():
    engine = tfr.ExecutionEngine()
    for capsule in (None, 3, kernel(label=b"another.kind")):
        with pytest.raises(ValueError, match="PyCapsule"):
            engine.register_kernel("neg", capsule, ABI)
    for name in ("no_such_operation", "", "NEG"):
        with pytest.raises(errors.ValidationError, match="no operation"):
            engine.register_kernel(name, kernel(), ABI)


def test_an_engine_without_kernels_computes_nothing():
    with tfr.session(tfr.ExecutionEngine("empty")) as s:
        x = s.variable_from([1.0, 2.0])
        assert s.reshape(x, (2, 1)).shape == (2, 1)                                 # a view needs no kernel
        with pytest.raises(errors.UnsupportedError, match="'empty' has no kernel for mul"):
            s.mul(x, x)


# ---- sizes -------------------------------------------------------------------------------------------------------------

HUGE = 2**62


@pytest.mark.parametrize("make", [
    lambda x: tfr.zeros(HUGE), lambda x: tfr.ones((2**32, 2**32)), lambda x: tfr.full((2**31, 2**31, 2), 1.5),
    lambda x: tfr.broadcast_to(x, (HUGE, 2)), lambda x: tfr.tile(x, HUGE), lambda x: tfr.repeat(x, HUGE),
    lambda x: tfr.pad(x, (0, 2**63 - 1)), lambda x: tfr.zeros(2**64), lambda x: tfr.zeros((0, HUGE)),
    lambda x: tfr.Tensor.from_vec_col_major((2**32, 2**32), []),
    lambda x: tfr.EagerTensor.from_vec_col_major_in((2**64,), [], tfr.default_runtime()),
])  # fmt: skip
def test_sizes_beyond_the_index_type(make):
    with pytest.raises(errors.IntegerOverflowError) as caught:
        make(tfr.constant([1.0, 2.0]))
    assert isinstance(caught.value, OverflowError)
    assert isinstance(caught.value, errors.ValidationError)


def test_sizes_beyond_memory():
    x = tfr.broadcast_to(tfr.variable(1.0), (2**28, 2**28))
    for make in (tfr.exp, lambda x: x + x, lambda x: tfr.zeros(2**56), lambda x: x.astype("int64")):
        with pytest.raises(errors.OutOfMemoryError) as caught:
            make(x)
        assert caught.value.nbytes >= 2**56
    with pytest.raises(errors.OutOfMemoryError):
        tfr.arange(10**16)
    assert (tfr.constant(1.0) + 1).item() == 2                                      # the engine is usable


@pytest.mark.parametrize("shape", [(1,) * 65, [1] * 100, range(1, 200)])
def test_too_many_axes(shape):
    for make in (tfr.zeros, lambda s: tfr.broadcast_to(1.0, s), lambda s: tfr.reshape(1.0, s)):
        with pytest.raises(errors.ValidationError, match="at most 64 axes"):
            make(shape)


@pytest.mark.parametrize("make", [lambda s: tfr.zeros(s), lambda s: tfr.broadcast_to(1.0, s), lambda s: tfr.reshape(1.0, s),
                                  lambda s: tfr.Tensor.from_vec_col_major(s, [])])
def test_negative_sizes(make):
    for shape in ((-2,), (3, -5), (0, -2**62)):
        with pytest.raises(errors.ValidationError):
            make(shape)


# ---- arrays ------------------------------------------------------------------------------------------------------------


def test_overlapping_elements_are_read_as_numpy_reads_them():
    a = np.arange(10.0)
    windows = np.lib.stride_tricks.sliding_window_view(a, 4)
    x = tfr.variable(windows, copy=False)
    y = tfr.sum(x * x, axis=1)
    assert y.tolist() == (windows**2).sum(1).tolist()
    assert x.runtime.vjp(y, x, np.ones(7)).tolist() == (2 * windows).tolist()


@pytest.mark.parametrize("obj", [[[1.0], [1.0, 2.0]], "abc", b"abc", object(), [None], {1.0}, {"a": 1}, len, [10**30],
                                 np.array(["a"]), np.array(["2020"], "M8[D]"), np.zeros(2, [("a", "f8")]), iter([1.0])])
def test_what_is_no_array(obj):
    for make in (tfr.constant, tfr.variable, tfr.Tensor.from_numpy, tfr.exp, lambda v: tfr.add(1.0, v)):
        with pytest.raises((errors.ValidationError, TypeError, ValueError, OverflowError)):
            make(obj)


def test_a_list_that_contains_itself():
    a = []
    a.append(a)
    for make in (tfr.constant, tfr.exp, tfr.concatenate):
        with pytest.raises((ValueError, RecursionError)):
            make(a)
