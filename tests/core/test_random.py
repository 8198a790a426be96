"""tenferro.random draws what NumPy's generators draw."""

import numpy as np
import pytest
from support import assert_same

import tenferro as tfr
from tenferro.errors import DTypeMismatchError, ValidationError


def both(seed=5):
    return tfr.random.default_rng(seed), np.random.default_rng(seed)


@pytest.mark.parametrize(("name", "args", "kwargs"), [
    ("normal", (), {}), ("normal", (1.0, 2.0, (2, 3)), {}), ("normal", ([0.0, 5.0], [[1.0], [2.0]]), {}),
    ("normal", (), {"size": 4}), ("uniform", (), {}), ("uniform", (-1.0, [1.0, 2.0]), {}), ("uniform", (2, 3, (2, 2)), {}),
    ("standard_normal", (), {}), ("standard_normal", ((2, 3),), {}), ("standard_normal", (3, "f4"), {}),
    ("random", (), {}), ("random", ((3, 2), "f4"), {}), ("integers", (10,), {}),
    ("integers", (-5, 5, (3, 4)), {}), ("integers", (1, 6, 9, np.uint8, True), {}), ("integers", ([3, 100],), {}),
    ("choice", (7, (2, 3)), {}), ("choice", (7, 7, False), {}), ("choice", ([1.0, 5.0, 9.0],), {"p": [0.2, 0.3, 0.5]}),
    ("choice", (np.arange(6.0).reshape(2, 3), 2), {"axis": 1}), ("permutation", (9,), {}),
    ("permutation", (np.arange(12.0).reshape(3, 4),), {"axis": 1}),
])
def test_numbers_are_numpys(name, args, kwargs):
    ours, theirs = both()
    for _ in range(2):
        found, expected = getattr(ours, name)(*args, **kwargs), getattr(theirs, name)(*args, **kwargs)
        assert_same(found, np.asarray(expected))
        assert not found.tracks_grad
    tfr.random.seed(5)
    assert_same(getattr(tfr.random, name)(*args, **kwargs), np.asarray(getattr(both()[1], name)(*args, **kwargs)))


def test_tensors_as_arguments():
    ours, theirs = both()
    loc = tfr.variable([1.0, 2.0])
    assert_same(ours.normal(loc, 0.5), theirs.normal([1.0, 2.0], 0.5))
    assert_same(ours.permutation(np.int64(5)), theirs.permutation(5))
    assert_same(ours.choice(tfr.constant(5), 3), theirs.choice(5, 3))
    assert_same(ours.permutation(loc), theirs.permutation([1.0, 2.0]))
    assert_same(ours.choice(loc, 4, p=tfr.constant([0.5, 0.5])), theirs.choice([1.0, 2.0], 4, p=[0.5, 0.5]))


@pytest.mark.parametrize("name", ["normal", "standard_normal", "uniform", "random"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_dtypes(name, dtype):
    x = getattr(tfr.random.default_rng(1), name)(size=(50, 60), dtype=dtype)
    assert x.dtype == dtype and x.shape == (50, 60) and x.numpy().flags.c_contiguous
    x = x.numpy().astype("c16" if dtype[0] == "c" else "f8")
    parts = [x.real, x.imag] if dtype[0] == "c" else [x]
    mean, variance = (0.0, 1.0 / len(parts)) if "normal" in name else (0.5, 1.0 / 12.0)
    for part in parts:
        assert abs(part.mean() - mean) < 6 * np.sqrt(variance / 3000)
        assert abs(part.var() / variance - 1.0) < 0.2
    if dtype[0] == "c":
        assert abs(np.corrcoef(*[p.ravel() for p in parts])[0, 1]) < 0.1
    with pytest.raises(DTypeMismatchError):
        getattr(tfr.random, name)(size=2, dtype=int)


def test_complex_means_and_scales():
    z = tfr.random.default_rng(1).normal(3 + 4j, [[1.0], [10.0]], (2, 4000), dtype=complex).numpy()
    np.testing.assert_allclose(z.mean(1), 3 + 4j, atol=0.5)
    np.testing.assert_allclose(z.std(1), [1.0, 10.0], rtol=0.1)


def test_generators():
    rng = tfr.random.default_rng(3)
    assert tfr.random.default_rng(rng) is rng
    assert_same(tfr.random.default_rng(np.random.default_rng(3)).random(4), np.random.default_rng(3).random(4))
    first, second = tfr.random.default_rng(3).spawn(2)
    again = tfr.random.default_rng(3).spawn(2)
    assert_same(again[0].random(4), first.random(4).numpy())
    assert second.random(4).tolist() != first.random(4).tolist()
    assert tfr.random.default_rng().random(4).tolist() != tfr.random.default_rng().random(4).tolist()


def test_constants_belong_to_the_open_session():
    rt = tfr.EagerRuntime()
    with rt.session():
        assert tfr.random.normal(size=2).runtime is rt


def test_errors():
    with pytest.raises(ValidationError) as error:
        tfr.random.normal(scale=-1.0)
    assert error.value.argument == "scale"
    for call in (lambda: tfr.random.normal(np.zeros(3), 1.0, 2), lambda: tfr.random.uniform(np.zeros((2, 1)), 1.0, (3,)),
                 lambda: tfr.random.uniform(0.0, np.inf), lambda: tfr.random.uniform(1j), lambda: tfr.random.normal(1j)):
        with pytest.raises(ValidationError):
            call()
    with pytest.raises(ValueError):
        tfr.random.integers(5, 5)
    with pytest.raises(ValueError):
        tfr.random.choice(3, 4, replace=False)
