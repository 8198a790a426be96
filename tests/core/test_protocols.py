"""Python's and NumPy's protocols on eager tensors: scalars, containers, arrays, buffers, printing."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given
from support import ALL_DTYPES, layouts, sample, shapes

import tenferro as tfr
from tenferro import EagerTensor, Tensor, errors


def address(a):
    return np.asarray(a).__array_interface__["data"][0]


# ---- Python scalars --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_scalars(dtype, shape):
    a = np.full(shape, 1 if dtype.kind == "b" else 3, dtype)
    make = tfr.variable if dtype.kind in "fc" else tfr.constant
    x, expected = make(a), a.item()
    assert type(x.item()) is type(expected)
    assert x.item() == expected
    assert bool(x) is True
    assert complex(x) == complex(expected)
    if dtype.kind != "c":
        assert float(x) == float(expected)
        assert int(x) == int(expected)
        assert type(float(x)) is float
        assert type(int(x)) is int
    else:
        for convert in (float, int):
            with pytest.raises(TypeError):
                convert(x)
    if dtype.kind in "iu" and shape == ():
        assert [10, 20, 30, 40][x] == 40
        assert range(9)[x] == 3
    else:
        with pytest.raises(TypeError):
            x.__index__()


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_extreme_scalars(dtype):
    if dtype.kind in "iu":
        values = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    elif dtype.kind == "b":
        values = [False, True]
    else:
        values = [np.finfo(dtype).max, np.finfo(dtype).tiny, np.inf, -np.inf, np.nan, -0.0]
    for v in values:
        a = np.array(v, dtype)
        x = tfr.constant(a)
        assert repr(x.item()) == repr(a.item())
        assert bool(x) == bool(a)


def test_conversions_fail_as_in_python():
    with pytest.raises(ValueError):
        int(tfr.constant(math.nan))
    with pytest.raises(OverflowError):
        int(tfr.constant(math.inf))
    assert int(tfr.constant(-2.9)) == -2
    assert int(tfr.constant(1e300)) == int(1e300)


@pytest.mark.parametrize("a", [np.zeros(2), np.zeros(0), np.zeros((2, 2), "c16")], ids=str)
def test_several_elements_are_no_scalar(a):
    x = tfr.variable(a)
    for convert in (float, int, complex, bool, EagerTensor.item):
        with pytest.raises(ValueError, match=r"element|ambiguous"):
            convert(x)


def test_item_with_an_index():
    x = tfr.variable([[1.0, 2.0], [3.0, 4.0]])
    assert (x.item(2), x.item(1, 1), x.item((0, 1))) == (3, 4, 2)
    with pytest.raises(IndexError):
        x.item(9)


# ---- containers ------------------------------------------------------------------------------------------------------

@given(shape=shapes(), layout=layouts)
def test_tolist(shape, layout):
    a = sample(np.random.default_rng(0), shape, "f4")
    assert tfr.variable(layout(a), copy=False).tolist() == a.tolist()


def test_length_and_iteration():
    x = tfr.variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    rows = list(x)
    assert len(x) == len(rows) == 3
    assert [r.tolist() for r in rows] == x.tolist()
    a, b, c = x
    assert all(r.tracks_grad and r.shape == (2,) for r in (a, b, c))
    assert tfr.default_runtime().vjp(b, x, [1.0, 2.0]).tolist() == [[0, 0], [1, 2], [0, 0]]
    assert list(tfr.constant(np.zeros((0, 3)))) == []
    assert list(map(list, zip(tfr.constant([1, 2]), "ab"))) == [[1, "a"], [2, "b"]]


def test_a_scalar_has_no_length():
    x = tfr.variable(1.0)
    with pytest.raises(TypeError, match="0-d"):
        len(x)
    with pytest.raises(TypeError, match="0-d"):
        iter(x)


def test_membership():
    x = tfr.variable([[1.0, 2.0], [3.0, np.nan]])
    assert 2 in x
    assert 2.5 not in x
    assert np.nan not in x
    assert tfr.constant(3.0) in x
    assert [3.0, 7.0] in x                  # NumPy's rule: any element equal after broadcasting
    assert 1 not in tfr.constant(np.zeros(0))


# ---- arrays ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
@given(shape=shapes(), layout=layouts)
def test_untracked_tensors_are_read_only_arrays(dtype, shape, layout):
    a = layout(sample(np.random.default_rng(0), shape, dtype))
    x = tfr.constant(a, copy=False)
    for b in (x.numpy(), np.asarray(x), x.__array__(), np.asarray(memoryview(x)), np.asarray(x.value()),
              np.asarray(x.tensor_read())):
        assert b.dtype == dtype
        np.testing.assert_array_equal(b, a, strict=True)
        assert not b.flags.writeable
        assert a.size == 0 or address(b) == address(a)


def test_array_copy_semantics():
    x = tfr.constant([1.0, 2.0])
    assert address(np.asarray(x, copy=False)) == address(x.__array__(copy=False)) == address(x.numpy())
    for fresh in (np.array(x), x.__array__(copy=True), x.__array__("f4"), np.asarray(x, "f4")):
        assert fresh.flags.writeable
        assert address(fresh) != address(x.numpy())
    for refused in (lambda: x.__array__("f4", copy=False), lambda: np.asarray(x, "i8", copy=False)):
        with pytest.raises(ValueError, match="copy"):
            refused()


EXPORTS = [np.asarray, np.array, lambda x: x.numpy(), lambda x: x.__array__(), lambda x: x.__array__("f4", copy=True)]


@pytest.mark.parametrize("factor", [None, 2], ids=["leaf", "result"])
def test_tracked_tensors_are_not_exported(factor):
    x = tfr.variable([1.0, 2.0])
    x = x * factor if factor else x
    for export in EXPORTS:
        with pytest.raises(errors.RuntimeStateError, match="detach"):
            export(x)
    with pytest.raises(BufferError, match="detach"):
        memoryview(x)
    for readable in (x.value(), x.detach()):
        assert np.asarray(readable).tolist() == memoryview(readable).tolist() == x.tolist()
        assert readable.as_slice("f8").tolist() == x.tolist()


def test_no_array_of_tracked_tensors_is_made_silently():
    x = tfr.variable(1.0)
    with pytest.raises(errors.RuntimeStateError, match="detach"):
        np.asarray([x, x])
    with pytest.raises(errors.RuntimeStateError, match="detach"):
        tfr.constant([x, 2.0])
    assert tfr.constant([x.detach(), 2.0]).tolist() == [1, 2]
    assert tfr.constant([[x.item(), 2], tfr.constant([3.0, 4.0])]).tolist() == [[1, 2], [3, 4]]


def test_as_slice_and_to_tensor():
    x = tfr.variable([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(errors.NonContiguousError):
        x.as_slice("f8")
    with pytest.raises(errors.DTypeMismatchError):
        x.as_slice("f4")
    with pytest.raises(errors.DTypeMismatchError):
        x.value().as_slice(int)
    t = x.to_tensor()
    assert isinstance(t, Tensor)
    assert t.as_slice("f8").tolist() == [1, 3, 2, 4]
    assert (t.strides, x.value().strides) == ((8, 16), (16, 8))
    assert address(t) != address(x.value())
    assert tfr.default_runtime().grad((x * x)[0, 0], x).value().dtype == "f8"


def test_value_is_a_borrow():
    x = tfr.variable([[1.0, 2.0, 3.0]])
    v = x.value()
    assert (v.shape, v.dtype, v.placement) == ((1, 3), np.dtype("f8"), "cpu")
    x.assign([[4.0, 5.0, 6.0]])
    assert v.numpy().tolist() == [[1, 2, 3]]
    assert x.value().numpy().tolist() == [[4, 5, 6]]


# ---- printing --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("x", "text"), [
    (lambda: tfr.variable([1.0, 2.5]), "EagerTensor([1. , 2.5], dtype=float64, tracks_grad=True)"),
    (lambda: tfr.variable([1.0]) * 2, "EagerTensor([2.], dtype=float64, tracks_grad=True)"),
    (lambda: tfr.constant([True, False]), "EagerTensor([ True, False], dtype=bool)"),
    (lambda: tfr.constant([[1, 2], [3, 4]]), "EagerTensor([[1, 2],\n             [3, 4]], dtype=int64)"),
    (lambda: tfr.constant(np.zeros((2, 0))), "EagerTensor([], shape=(2, 0), dtype=float64)"),
    (lambda: tfr.constant(2.5), "EagerTensor(2.5, dtype=float64)"),
])
def test_repr(x, text):
    assert repr(x()) == str(x()) == text


def test_printing_follows_print_options():
    with np.printoptions(precision=2):
        assert repr(tfr.constant([math.pi])) == "EagerTensor([3.14], dtype=float64)"


def test_format():
    x = tfr.variable(2.5)
    assert (f"{x:.3f}", f"{x}") == ("2.500", "2.5")
    assert (f"{tfr.constant(7):04d}", f"{tfr.constant(1j):.1f}") == ("0007", "0.0+1.0j")
    y = tfr.constant([1.0])
    assert f"{y}" == repr(y)
    with pytest.raises(TypeError):
        f"{y:.3f}"


# ---- the object ------------------------------------------------------------------------------------------------------

def test_attributes():
    x = tfr.variable(np.zeros((2, 3), "f4"))
    assert (x.dtype, x.shape, x.ndim, x.size, len(x)) == (np.dtype("f4"), (2, 3), 2, 6, 2)
    assert all(type(n) is int for n in x.shape)
    for name in ("no_such_member", "__no_such_protocol__", "__cuda_array_interface__", "__array_interface__"):
        with pytest.raises(AttributeError):
            getattr(x, name)
    with pytest.raises(AttributeError):
        x.no_such_member = 1
    for name in ("dtype", "shape", "runtime", "tracks_grad", "grad"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)


def test_comparison_with_foreign_types():
    x = tfr.variable([1.0])
    assert x.__eq__("text") is NotImplemented
    assert x.__lt__(object()) is NotImplemented
    assert (x == "text") is False
    assert x != object()
    with pytest.raises(TypeError):
        sorted([x, "text"])


def test_the_class_is_final():
    with pytest.raises(TypeError):
        type("Sub", (EagerTensor,), {})
    with pytest.raises(TypeError, match="variable"):
        EagerTensor([1.0])


def test_handles_work_in_containers_of_python():
    x = tfr.variable([1.0, 2.0])
    params = {"w": x, "list": [x, copy.copy(x)]}
    params["w"].assign([3.0, 4.0])
    assert [p.tolist() for p in params["list"]] == [[3, 4], [3, 4]]
    assert len({x, params["w"], *params["list"]}) == 2
