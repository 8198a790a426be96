"""save and load: round trips, foreign files, damage, interrupted writes."""

import os
import zipfile
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ALL_DTYPES, assert_same, layouts, sample, value

import tenferro as tfr
from tenferro._files import _downloaded
from tenferro.errors import DTypeMismatchError, ValidationError

Pair = namedtuple("Pair", "left right")


def there_and_back(tree, tmp_path):
    path = tmp_path / "file.npz"
    tfr.save(path, tree)
    return tfr.load(path)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_every_dtype_and_shape(dtype, tmp_path):
    rng = np.random.default_rng(0)
    arrays = [sample(rng, shape, dtype) for shape in ((), (3,), (0,), (2, 3, 2), (4, 0, 2))]
    for found, array in zip(there_and_back([tfr.constant(a) for a in arrays], tmp_path), arrays, strict=True):
        assert_same(found, array)
        assert not found.tracks_grad


def test_orders_are_kept(tmp_path):
    a = np.arange(6.0).reshape(2, 3)
    found = there_and_back({"c": tfr.constant(a), "f": tfr.constant(np.asfortranarray(a)), "t": tfr.variable(a.T)}, tmp_path)
    assert value(found["c"]).flags.c_contiguous and not value(found["c"]).flags.f_contiguous
    assert value(found["f"]).flags.f_contiguous and not value(found["f"]).flags.c_contiguous
    assert value(found["t"]).flags.f_contiguous
    assert_same(found["f"], a)
    assert_same(found["t"], a.T)


@pytest.mark.parametrize("order", "CF")
def test_order_of_what_is_downloaded(order):
    a = np.array(np.arange(24.0).reshape(2, 3, 4), order=order)
    for x in (tfr.constant(a), tfr.constant(a).value()):
        found = _downloaded(x)
        np.testing.assert_array_equal(found, a)
        assert found.strides == a.strides


@given(layout=layouts)
def test_any_layout(layout, tmp_path_factory):
    a = layout(np.arange(24.0).reshape(2, 3, 4))
    assert_same(there_and_back(tfr.constant(a, copy=False), tmp_path_factory.mktemp("layout")), a)


leaves = st.none() | st.floats(allow_nan=False) | st.integers(-9, 9) | st.booleans() | st.complex_numbers(allow_nan=False)
keys = (st.text(st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=4)
        | st.sampled_from(("a", "a.npy")))
trees = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
                     | st.lists(inner, max_size=2).map(tuple), max_leaves=8)


def same(a, b):
    if isinstance(b, (dict, list, tuple)):
        assert type(a) is type(b) and len(a) == len(b)
        if isinstance(b, dict):
            assert list(a) == list(b)
            a, b = a.values(), b.values()
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif b is None:
        assert a is None
    else:
        assert_same(a, np.asarray(b))


@given(tree=trees)
def test_any_container(tree, tmp_path_factory):
    same(there_and_back(tree, tmp_path_factory.mktemp("tree")), tree)


def test_names_in_the_file(tmp_path):
    path = tmp_path / "model"
    tfr.save(path, {"a": {"b": [1.0, tfr.variable([2.0])]}, "pair": Pair(3, None), "none": [], "text/with": 4.0})
    with np.load(path) as archive:
        assert sorted(archive.files) == ["__structure__", "a/b/0", "a/b/1", "pair/0", "text/with"]
        assert archive["a/b/1"].tolist() == [2.0]
    found = tfr.load(path)
    assert type(found["pair"]) is tuple and found["none"] == [] and found["text/with"].item() == 4.0
    tfr.save(str(path), tfr.ones(2))
    assert tfr.load(os.fspath(path)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("tree", [{"a/b": 1, "a": {"b": 2}}, {1: 2.0}, {"a": {("b",): 2.0}}, {"__structure__": 1},
                                  {"a\0": 1}, {"": {"a": 1}, "a": 2}])
def test_bad_names(tree, tmp_path):
    with pytest.raises(ValidationError) as error:
        tfr.save(tmp_path / "file", tree)
    assert error.value.argument == "tree" and os.listdir(tmp_path) == []


@pytest.mark.parametrize("leaf", ["text", object(), np.float16(1), np.array(["a"]), {1, 2}, np.datetime64(1, "s"),
                                  np.longdouble(1)])
def test_bad_dtypes(leaf, tmp_path):
    with pytest.raises(DTypeMismatchError, match="'x/0'"):
        tfr.save(tmp_path / "file", {"x": [leaf]})
    assert os.listdir(tmp_path) == []


def test_files_of_numpy(tmp_path):
    path = tmp_path / "numpy.npz"
    np.savez_compressed(path, a=np.arange(3, dtype=">i4"), b=np.asfortranarray(np.ones((2, 3))))
    found = tfr.load(path)
    assert list(found) == ["a", "b"]
    assert_same(found["a"], np.arange(3, dtype="i4"))
    assert value(found["b"]).flags.f_contiguous


def test_nothing_is_unpickled(tmp_path):
    path = tmp_path / "objects.npz"
    np.savez(path, a=np.array([{}], object))
    with pytest.raises(DTypeMismatchError, match="objects"):
        tfr.load(path)
    np.savez(path, a=np.array(["text"]))
    with pytest.raises(DTypeMismatchError, match="'a'"):
        tfr.load(path)


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        tfr.load(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError):
        tfr.load(tmp_path)
    path = tmp_path / "file"
    tfr.save(path, {"a": np.arange(100.0)})
    good = path.read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 4] ^= 1
    for data in (b"", b"text", good[:100], good[:-30], bytes(flipped), b"PK" + good[2:50]):
        path.write_bytes(data)
        with pytest.raises(ValidationError, match="damaged") as error:
            tfr.load(path)
        assert error.value.argument == "path"
    np.save(tmp_path / "one.npy", np.ones(2))
    with pytest.raises(ValidationError, match="damaged"):
        tfr.load(tmp_path / "one.npy")


@pytest.mark.parametrize("outline", ['["b"]', '[["set", []]]', "{", "[]", '[["dict", []]]', "3"])
def test_bad_outlines(outline, tmp_path):
    path = tmp_path / "file.npz"
    np.savez(path, a=np.ones(2), __structure__=np.array(outline))
    with pytest.raises(ValidationError, match="damaged"):
        tfr.load(path)


def test_an_entry_that_is_no_array(tmp_path):
    path = tmp_path / "file.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme", "text")
    with pytest.raises(ValidationError, match="no array"):
        tfr.load(path)


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    tfr.save(path, tfr.ones(2))

    def fail(*_, **__):
        raise OSError("disk full")
    monkeypatch.setattr("tenferro._files.npy.write_array", fail)
    with pytest.raises(OSError, match="disk full"):
        tfr.save(path, tfr.zeros(2))
    assert os.listdir(tmp_path) == ["file"]
    assert tfr.load(path).tolist() == [1.0, 1.0]
    with pytest.raises(FileNotFoundError):
        tfr.save(tmp_path / "nowhere" / "file", tfr.ones(2))


def test_links_and_equal_bytes(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    tfr.save(target, tfr.ones(2))
    first = target.read_bytes()
    link.symlink_to(target)
    tfr.save(link, tfr.zeros(2))
    assert link.is_symlink() and tfr.load(target).tolist() == [0.0, 0.0]
    tfr.save(link, tfr.ones(2))
    assert target.read_bytes() == first
