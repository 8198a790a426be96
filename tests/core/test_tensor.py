"""Tensor: import from and export to NumPy, memory layouts, errors."""

import copy
import gc

import numpy as np
import pytest
import support
from hypothesis import given
from hypothesis import strategies as st
from support import ALL_DTYPES, layouts, sample, shapes

from tenferro import Tensor, errors


def address(a):
    return np.asarray(a).__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
@given(shape=shapes(), layout=layouts, copied=st.booleans(), seed=st.integers(0, 99))
def test_from_numpy_keeps_values(dtype, shape, layout, copied, seed):
    a = sample(np.random.default_rng(seed), shape, dtype)
    t = Tensor.from_numpy(layout(a), copy=copied)
    assert (t.shape, t.dtype, t.ndim, t.size, t.placement) == (a.shape, a.dtype, a.ndim, a.size, "cpu")
    for b in (t.numpy(), np.asarray(t), np.array(memoryview(t))):
        assert b.dtype == a.dtype
        np.testing.assert_array_equal(b, a, strict=True)


@given(shape=shapes(min_dims=1, min_side=1), layout=layouts)
def test_without_copy_memory_and_strides_are_shared(shape, layout):
    a = layout(sample(np.random.default_rng(0), shape, "f8"))
    t = Tensor.from_numpy(a, copy=False)
    assert t.strides == a.strides
    assert t.numpy().__array_interface__["data"][0] == a.__array_interface__["data"][0]
    assert np.asarray(t).strides == a.strides


@given(shape=shapes(min_dims=1, min_side=2), perm=st.randoms())
def test_copies_keep_the_order_of_axes(shape, perm):
    order = list(range(len(shape)))
    perm.shuffle(order)
    a = np.zeros([shape[k] for k in order]).transpose(np.argsort(order))
    assert Tensor.from_numpy(a).strides == a.copy(order="K").strides
    assert Tensor.from_numpy(a[::-1]).strides == a.copy(order="K").strides


def test_copies_are_immune_to_later_writes_and_aligned():
    a = np.arange(1000.0)
    t, shared = Tensor.from_numpy(a), Tensor.from_numpy(a, copy=False)
    a[0] = 7
    assert t.numpy()[0] == 0
    assert shared.numpy()[0] == 7
    assert address(t) % 64 == 0


def foreign_arrays():
    a = np.arange(12.0)
    bytes_ = np.zeros(12 * 8 + 1, "u1")
    misaligned = bytes_[1:].view("f8")
    misaligned[:] = a
    record = np.zeros(12, np.dtype([("tag", "u1"), ("x", "f8")]))
    record["x"] = a
    wide = np.zeros(12, np.dtype({"names": ["x"], "formats": ["f8"], "offsets": [0], "itemsize": 12}))
    wide["x"] = a
    yield "byte-swapped", a.astype(">f8"), a
    yield "misaligned", misaligned, a
    yield "packed field", record["x"], a
    yield "strides between elements", wide["x"], a
    yield "overlapping", np.lib.stride_tricks.as_strided(a, (4, 4), (16, 8)), np.array([[2.0 * i + j for j in range(4)]
                                                                                       for i in range(4)])
    yield "zero strides", np.broadcast_to(a[:3], (2, 3)), np.array([[0.0, 1, 2]] * 2)
    yield "subclass", np.matrix([[1.0, 2.0]]) if hasattr(np, "matrix") else a, np.array([[1.0, 2.0]])
    yield "long double's neighbour", a.astype("c16"), a.astype("c16")
    yield "read-only", np.frombuffer(a.tobytes()), a


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("copied", [True, False])
def test_foreign_arrays(copied):
    for kind, a, expected in foreign_arrays():
        t = Tensor.from_numpy(a, copy=copied)
        assert t.dtype.isnative, kind
        assert type(t.numpy()) is np.ndarray
        np.testing.assert_array_equal(t.numpy(), expected, err_msg=kind)


def test_masked_elements_are_refused():
    with pytest.raises(errors.ValidationError, match="filled"):
        Tensor.from_numpy(np.ma.array([1.0, 2.0], mask=[True, False]))
    np.testing.assert_array_equal(Tensor.from_numpy(np.ma.array([1.0, 2.0])).numpy(), [1, 2])


@pytest.mark.parametrize("a", [
    np.zeros(2, "f2"), np.zeros(2, "O"), np.array(["a"]), np.array([b"a"]), np.zeros(2, [("x", "f8")]),
    np.zeros(2, "M8[s]"),
    pytest.param(np.zeros(2, "g"), marks=pytest.mark.skipif(np.dtype("g") == "f8", reason="long double is double")),
    "text", [1.0, "text"], [[1], [1, 2]], None, object(), {"a": 1},
], ids=lambda a: str(getattr(a, "dtype", a))[:20])
def test_unsupported_dtypes(a):
    for copied in (True, False):
        with pytest.raises(errors.DTypeMismatchError) as e:
            Tensor.from_numpy(a, copy=copied)
        assert isinstance(e.value, TypeError)
        assert e.value.actual is not None


# ---- column-major data -----------------------------------------------------------------------------------------------

@given(shape=shapes(), dtype=st.sampled_from(ALL_DTYPES))
def test_column_major_data(shape, dtype):
    n = int(np.prod(shape))
    data = sample(np.random.default_rng(1), (n,), dtype)
    t = Tensor.from_vec_col_major(shape, data)
    np.testing.assert_array_equal(t.numpy(), data.reshape(shape, order="F"), strict=True)
    np.testing.assert_array_equal(t.as_slice(dtype), data, strict=True)
    assert t.size == 0 or t.strides == np.zeros(shape, dtype, order="F").strides


def test_column_major_data_is_copied_and_converted():
    data = np.arange(6.0)
    t = Tensor.from_vec_col_major((2, 3), data[::-1], dtype="f4")
    data[:] = -1
    np.testing.assert_array_equal(t.numpy(), np.array([[5, 3, 1], [4, 2, 0]], "f4"), strict=True)
    assert Tensor.from_vec_col_major(3, [1, 2, 3]).dtype == "i8"
    assert Tensor.from_vec_col_major((0,), []).dtype == "f8"


@pytest.mark.parametrize(("shape", "data", "error"), [
    ((2, 3), range(5), errors.ShapeMismatchError),
    ((2, 3), [], errors.ShapeMismatchError),
    ((2, 3), np.zeros((2, 3)), errors.ShapeMismatchError),
    ((), 1.0, errors.ShapeMismatchError),
    ((2**40, 2**40), [1.0], errors.IntegerOverflowError),
    ((2**62,), [1.0], errors.IntegerOverflowError),
    ((2**70,), [1.0], errors.IntegerOverflowError),
    ((-1,), [1.0], errors.ValidationError),
    ((1.5,), [1.0], errors.ValidationError),
    ("ab", [1.0], errors.ValidationError),
    ((1,) * 65, [1.0], errors.ValidationError),
    ((1,), [1 + 2j], errors.DTypeMismatchError),
    ((1,), ["a"], errors.DTypeMismatchError),
])
def test_bad_column_major_data(shape, data, error):
    before = support.live()
    with pytest.raises(error):
        Tensor.from_vec_col_major(shape, data, dtype="f8")
    assert support.live() == before


def test_length_error_carries_both_lengths():
    with pytest.raises(errors.ShapeMismatchError) as e:
        Tensor.from_vec_col_major((2, 3), [1.0] * 5)
    assert (e.value.expected, e.value.actual, e.value.argument) == (6, 5, "data")


@pytest.mark.parametrize("dtype", ["f2", "O", "S3", object, [("x", "f8")], "nonsense"])
def test_bad_dtype_argument(dtype):
    with pytest.raises(errors.DTypeMismatchError):
        Tensor.from_vec_col_major((1,), [1.0], dtype=dtype)


# ---- export ----------------------------------------------------------------------------------------------------------

def test_as_slice_is_a_read_only_view():
    t = Tensor.from_vec_col_major((2, 2), [1.0, 2, 3, 4])
    s = t.as_slice(float)
    assert address(s) == address(t)
    assert not s.flags.writeable
    with pytest.raises(ValueError):
        s.flags.writeable = True
    del t
    np.testing.assert_array_equal(s, [1, 2, 3, 4])


def test_as_slice_errors():
    with pytest.raises(errors.NonContiguousError) as e:
        Tensor.from_numpy(np.zeros((2, 3))).as_slice("f8")
    assert isinstance(e.value, BufferError)
    assert e.value.actual == (24, 8)
    for a in (np.zeros(6)[::2], np.zeros(6)[::-1], np.broadcast_to(1.0, (3,))):
        with pytest.raises(errors.NonContiguousError):
            Tensor.from_numpy(a, copy=False).as_slice("f8")
    with pytest.raises(errors.DTypeMismatchError) as e:
        Tensor.from_numpy(np.zeros(3)).as_slice("f4")
    assert (e.value.expected, e.value.actual) == (np.dtype("f8"), np.dtype("f4"))
    assert Tensor.from_numpy(np.zeros((0, 3))).as_slice("f8").shape == (0,)


def test_buffer_protocol_honours_every_request():
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    view = memoryview(Tensor.from_numpy(a))
    assert (view.shape, view.strides, view.format, view.itemsize, view.readonly) == ((2, 3), (8, 16), "d", 8, True)
    assert view.f_contiguous
    assert view.tolist() == a.tolist()
    with pytest.raises(BufferError):
        np.frombuffer(Tensor.from_numpy(a))             # asks for row-major memory
    assert np.frombuffer(Tensor.from_numpy(a.T)).tolist() == a.T.ravel().tolist()
    with pytest.raises((BufferError, TypeError)):
        b"".join([Tensor.from_numpy(np.zeros(4)[::2], copy=False)])
    assert b"".join([Tensor.from_numpy(np.zeros(2))]) == bytes(16)


def test_buffer_refuses_writers():
    import io
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"x" * 32).readinto(Tensor.from_numpy(np.zeros(4)))


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_buffer_formats(dtype):
    assert memoryview(Tensor.from_numpy(np.zeros(2, dtype))).format == memoryview(np.zeros(2, dtype)).format


def test_array_copy_semantics():
    t = Tensor.from_numpy(np.arange(3.0))
    for same in (np.asarray(t), np.asarray(t, copy=False), t.__array__(), t.__array__(copy=False), t.__array__("f8")):
        assert address(same) == address(t)
        assert not same.flags.writeable
    for fresh in (np.array(t), np.asarray(t, copy=True), t.__array__(copy=True), t.__array__("f4")):
        assert address(fresh) != address(t)
        assert fresh.flags.writeable
    assert t.__array__("f4").dtype == "f4"
    with pytest.raises(ValueError, match="copy"):
        t.__array__("f4", copy=False)
    with pytest.raises(ValueError, match="copy"):
        np.asarray(t, dtype="f4", copy=False)


def test_exports_outlive_the_tensor_and_free_it():
    before = support.live()
    gc.disable()
    try:
        t = Tensor.from_numpy(np.arange(1000.0))
        views = [t.numpy(), np.asarray(t), memoryview(t), t.as_slice("f8"), copy.copy(t), t.numpy()[::2]]
        del t
        assert views[0][-1] == views[1][-1] == views[2][999] == views[3][-1] == 999
        del views
        assert support.live() == before
    finally:
        gc.enable()


def test_foreign_memory_is_kept_alive_and_released():
    import weakref

    class Array(np.ndarray):
        pass

    base = np.zeros(5).view(Array)
    alive = weakref.ref(base)
    t = Tensor.from_numpy(base[1:], copy=False)
    del base
    assert alive() is not None
    del t
    assert alive() is None


def test_copying_tensors():
    t = Tensor.from_numpy(np.arange(6.0).reshape(2, 3)[:, ::-1], copy=False)
    same, fresh = copy.copy(t), copy.deepcopy(t)
    assert address(same) == address(t) != address(fresh)
    np.testing.assert_array_equal(fresh.numpy(), t.numpy())


@pytest.mark.parametrize(("a", "text"), [
    (np.array([1.0, 2.5]), "Tensor([1. , 2.5], dtype=float64)"),
    (np.array(3), "Tensor(3, dtype=int64)"),
    (np.zeros((0, 3), "f4"), "Tensor([], shape=(0, 3), dtype=float32)"),
    (np.array([[1, 2], [3, 4]], "i1"), "Tensor([[1, 2],\n        [3, 4]], dtype=int8)"),
])
def test_repr(a, text):
    assert repr(Tensor.from_numpy(a)) == text


def test_repr_of_large_tensors_is_short():
    text = repr(Tensor.from_numpy(np.zeros((1000, 1000))))
    assert "shape=(1000, 1000)" in text
    assert len(text) < 1000


def test_tensors_are_made_by_constructors_only():
    with pytest.raises(TypeError, match="from_numpy"):
        Tensor()
    with pytest.raises(AttributeError):
        Tensor.from_numpy(np.zeros(2)).no_such_member
    with pytest.raises(AttributeError):
        Tensor.from_numpy(np.zeros(2)).shape = (1, 2)
