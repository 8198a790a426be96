"""What NumPy routes to eager tensors and does not exist here, writes into arrays, or belongs to others."""

import numpy as np
import pytest

import tenferro as tfr
from tenferro import EagerTensor
from tenferro._numpy.functions import FUNCTIONS
from tenferro._numpy.missing import CLOSEST, closest

V, W = np.array([0.7, -1.2, 2.5, 0.4]), np.array([1.1, 0.3, -0.6, 0.9])

DISPATCHED = type(np.sum)
MISSING = [f for f in vars(np).values() if isinstance(f, DISPATCHED) and f not in FUNCTIONS]


@pytest.mark.parametrize("f", MISSING, ids=lambda f: f.__name__)
@pytest.mark.parametrize("make", [tfr.constant, tfr.variable], ids=["constant", "variable"])
def test_missing_functions_say_what_comes_closest(f, make):
    x = make(V)
    with pytest.raises(TypeError, match=rf"numpy.{f.__name__} has no counterpart.* closest"):
        x.__array_function__(f, (EagerTensor,), (x,), {})


def test_missing_functions_name_functions_that_exist():
    for advice in [*CLOSEST.values(), *(closest(f.__name__) for f in MISSING)]:
        for word in advice.split():
            word = word.strip(",;")
            if word.startswith(("tenferro.", "numpy.")):
                home, _, name = word.partition(".")
                f = tfr if home == "tenferro" else np
                for part in name.split("."):
                    f = getattr(f, part)


def test_missing_functions_through_numpy():
    x = tfr.variable(V)
    for call in (lambda: np.nanmedian(x), lambda: np.intersect1d(x, V), lambda: np.insert(x, 0, 1.0), lambda: np.poly(x)):
        with pytest.raises(TypeError, match="closest"):
            call()


@pytest.mark.parametrize("call", [
    lambda x, a: np.sum(x, out=a), lambda x, a: np.concatenate([x, x], out=a), lambda x, a: np.clip(x, 0, 1, out=a),
    lambda x, a: np.median(x, out=a), lambda x, a: np.cumsum(x, out=a), lambda x, a: np.einsum("i->", x, out=a),
    lambda x, a: np.linspace(x, 1, 3, retstep=True), lambda x, a: np.take(x, [0], out=a)])
def test_arguments_that_only_numpy_has(call):
    with pytest.raises(TypeError, match=r"numpy\.\w+: (out|initial|retstep)= is not supported"):
        call(tfr.variable(V), np.zeros(4))


def test_writing():
    x, a = tfr.variable(V), np.zeros(4)
    for call in (lambda: np.copyto(x, a), lambda: np.put(x, [0], [1.0]), lambda: np.place(x, a > 0, [1.0]),
                 lambda: np.putmask(x, a > 0, 1.0), lambda: np.put_along_axis(x, np.array([0]), 1.0, 0)):
        with pytest.raises(TypeError, match="immutable"):
            call()
    np.copyto(a, x.detach())
    assert a.tolist() == V.tolist()
    with pytest.raises(tfr.errors.RuntimeStateError, match="detach"):
        np.copyto(a, x)


def test_exports(tmp_path):
    x = tfr.variable(V)
    np.save(tmp_path / "x.npy", x.detach())
    assert np.load(tmp_path / "x.npy").tolist() == V.tolist()
    np.savez(tmp_path / "x.npz", a=x.detach())
    assert np.load(tmp_path / "x.npz")["a"].tolist() == V.tolist()
    for call in (lambda: np.save(tmp_path / "y.npy", x), lambda: np.savez(tmp_path / "y.npz", a=x),
                 lambda: np.savetxt(tmp_path / "y.txt", x)):
        with pytest.raises(tfr.errors.RuntimeStateError, match="detach"):
            call()
    y = x.detach()
    assert np.shares_memory(y, y.numpy())


def test_foreign_types_go_first():
    class Foreign:
        def __array_function__(self, function, types, args, kwargs):
            return "foreign"

    class Declines:
        __array_function__ = None

        def __array_function__(self, function, types, args, kwargs):    # noqa: F811
            return NotImplemented

    x = tfr.variable(V)
    assert np.concatenate([x, Foreign()]) == "foreign"
    with pytest.raises(TypeError):
        np.concatenate([x, Declines()])


def test_results_belong_to_the_runtime_of_their_operands():
    rt = tfr.EagerRuntime()
    x = rt.variable_from(V)
    for y in (np.exp(x), np.sum(x), np.argwhere(x), np.concatenate([V, x]), np.isclose(x, W), np.linspace(0, x, 3)):
        assert y.runtime is rt
    with pytest.raises(tfr.errors.ContextMismatchError):
        np.concatenate([x, tfr.variable(V)])
