"""DLPack both ways with PyTorch and JAX: memory is shared, orders are kept, negative strides stay at home."""

import numpy as np
import pytest

import tenferro as tfr

BASE = np.arange(24.0).reshape(2, 3, 4)
VALUES = {
    "row-major": lambda: tfr.constant(BASE),
    "column-major": lambda: tfr.constant(np.asfortranarray(BASE)),
    "transposed": lambda: tfr.constant(BASE).T,
    "steps": lambda: tfr.constant(BASE)[:, ::2, 1::2],
    "negative steps": lambda: tfr.constant(BASE)[::-1, :, ::-2],
    "broadcast": lambda: tfr.broadcast_to(tfr.constant([1.0, 2.0]), (3, 2)),
    "0-d": lambda: tfr.constant(2.5),
    "empty": lambda: tfr.constant(np.zeros((0, 3))),
    "complex128": lambda: tfr.constant([1 + 2j, 3j]),
    "complex64": lambda: tfr.constant(np.complex64([1 + 2j, 3j])),
    "float32": lambda: tfr.constant(np.float32([1.5, 2.5])),
    "bool": lambda: tfr.constant([True, False]),
    "int64": lambda: tfr.constant([1, -2]),
    "uint8": lambda: tfr.constant(np.array([1, 255], np.uint8)),
}


@pytest.fixture(params=["torch", "jax"])
def peer(request):
    """``from_dlpack``, and what gives an array of a result, of one library."""
    module = pytest.importorskip(request.param)
    if request.param == "torch":
        return module.from_dlpack, lambda t: t.numpy(), lambda t: t.data_ptr()
    module.config.update("jax_enable_x64", True)
    return module.numpy.from_dlpack, np.asarray, lambda t: t.unsafe_buffer_pointer()


@pytest.mark.parametrize("name", VALUES)
def test_there_and_back(peer, name):
    take, array, _ = peer
    x = VALUES[name]()
    y = take(x)
    np.testing.assert_array_equal(array(y), x.numpy(), strict=True)
    for back in (tfr.from_dlpack(y), tfr.from_dlpack(y, copy=True), tfr.constant(tfr.Tensor.from_dlpack(y))):
        np.testing.assert_array_equal(back.numpy(), x.numpy(), strict=True)
        assert not back.tracks_grad


def test_memory_is_shared_and_orders_are_kept(peer):
    take, _, address = peer
    for name in ("row-major", "column-major", "transposed"):
        x = VALUES[name]()
        y = take(x)
        back = tfr.from_dlpack(y)
        assert back.numpy().ctypes.data == address(y)
        if take.__module__.startswith("torch"):             # JAX asks for no version, so it gets a copy
            assert address(y) == x.numpy().ctypes.data
            assert back.value().strides == x.value().strides


def test_tracked_tensors_stay_at_home(peer):
    take, array, _ = peer
    x = tfr.variable([1.0, 2.0])
    with pytest.raises(BufferError, match="detach"):
        take(x)
    assert array(take(x.detach())).tolist() == [1, 2]


def test_memory_outlives_the_other_side(peer):
    take, array, _ = peer
    y = take(tfr.constant(np.arange(1000.0)) * 2)
    assert array(y).sum() == 999000
    x = tfr.from_dlpack(take(tfr.constant(np.arange(1000.0)) * 2))
    assert float(x.sum()) == 999000


def test_what_pytorch_cannot_give():
    torch = pytest.importorskip("torch")
    with pytest.raises(BufferError):
        tfr.from_dlpack(torch.ones(2, requires_grad=True))
    with pytest.raises(tfr.errors.DTypeMismatchError):
        tfr.from_dlpack(torch.ones(2, dtype=torch.float16))
