"""DLPack both ways."""

import gc

import numpy as np
import pytest
from support import ALL_DTYPES

import tenferro as tfr
from tenferro import errors
from tenferro._standard.dlpack import VERSIONED


class Capsule:
    """What an importer asks for, with a capsule that was made before."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **kwargs):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("version", [{}, {"max_version": (0, 8)}, {"max_version": (1, 0)}], ids=str)
@pytest.mark.parametrize("copy", [{}, {"copy": None}, {"copy": False}, {"copy": True}], ids=str)
def test_export(dtype, version, copy):
    x = tfr.constant(np.ones((2, 3, 4), dtype), copy=False).transpose(1, 0, 2)[:, :, ::2]
    for y in (x, x[:0], x[0, 0, 0]):
        a = np.from_dlpack(Capsule(y.__dlpack__(dl_device=(1, 0), **version, **copy)))
        np.testing.assert_array_equal(a, y.numpy(), strict=True)
        shared = y.size > 0 and np.shares_memory(a, y.numpy())
        told = VERSIONED and version.get("max_version") == (1, 0)
        wanted = copy.get("copy") is False or (copy.get("copy") is None and told)
        assert shared == (wanted and y.size > 0)
        if shared and told:
            assert not a.flags.writeable
    assert x.__dlpack_device__() == (1, 0)


def test_exported_memory_outlives_the_tensor():
    x = tfr.constant(np.arange(1000.0)) + 0.0
    a = np.from_dlpack(Capsule(x.__dlpack__(copy=False)))
    del x
    gc.collect()
    np.testing.assert_array_equal(a, np.arange(1000.0))


def test_what_cannot_be_exported():
    x = tfr.constant([1.0, 2.0])
    back = x[::-1]
    assert np.from_dlpack(back).tolist() == [2, 1]
    for wrong in (lambda: back.__dlpack__(copy=False), lambda: x.__dlpack__(stream=1), lambda: x.__dlpack__(dl_device=(2, 0)),
                  lambda: tfr.variable([1.0]).__dlpack__(), lambda: tfr.from_dlpack(tfr.variable([1.0]))):
        with pytest.raises(BufferError):
            wrong()


@pytest.mark.parametrize("make", [tfr.from_dlpack, tfr.Tensor.from_dlpack])
def test_import(make):
    a = np.arange(6.0).reshape(2, 3).T
    x = make(a)
    assert x.shape == (3, 2)
    a[0, 1] = 9
    assert np.asarray(x)[0, 1] == 9
    y = make(a, copy=True)
    a[0, 1] = 8
    assert np.asarray(y)[0, 1] == 9
    assert np.asarray(make(tfr.constant([1, 2]))).tolist() == [1, 2]
    with pytest.raises(errors.DTypeMismatchError):
        make(np.zeros(2, "f2"))
