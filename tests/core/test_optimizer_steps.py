"""SGD, Adam, AdamW and LBFGS against PyTorch's."""

import numpy as np
import pytest

import tenferro as tfr
from tenferro.errors import DTypeMismatchError, ShapeMismatchError, ValidationError
from tenferro.optimize import LBFGS, SGD, Adam, AdamW

STEPS = 50
RNG = np.random.default_rng(11)
A = RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3)) + 3.0 * np.eye(3)
START = {"w": RNG.normal(size=(3, 2)), "z": RNG.normal(size=3) + 1j * RNG.normal(size=3), "b": 0.3}


def loss(p, space=tfr):
    a = tfr.constant(A) if space is tfr else space.tensor(A)
    residual = a @ p["z"] - 1.0
    return (space.sum(space.real(residual * space.conj(residual))) + 0.5 * space.sum((p["w"] - p["b"]) ** 2)
            + 0.1 * space.sum(p["w"] ** 4) + (p["b"] - 1.0) ** 2)


CASES = {
    "sgd": (SGD(0.01), lambda t, p: t.optim.SGD(p, 0.01)),
    "momentum": (SGD(0.01, 0.9, weight_decay=0.1), lambda t, p: t.optim.SGD(p, 0.01, 0.9, weight_decay=0.1)),
    "nesterov": (SGD(0.01, 0.9, True, 0.05), lambda t, p: t.optim.SGD(p, 0.01, 0.9, nesterov=True, weight_decay=0.05)),
    "adam": (Adam(0.05), lambda t, p: t.optim.Adam(p, 0.05)),
    "adam_decay": (Adam(0.05, (0.8, 0.95), 1e-6, 0.1), lambda t, p: t.optim.Adam(p, 0.05, (0.8, 0.95), 1e-6, 0.1)),
    "adamw": (AdamW(0.05, weight_decay=0.2), lambda t, p: t.optim.AdamW(p, 0.05, weight_decay=0.2)),
    "lbfgs": (LBFGS(0.02, 5, 0.0, 0.0),
              lambda t, p: t.optim.LBFGS(p, 0.02, max_iter=1, history_size=5, tolerance_grad=0.0, tolerance_change=0.0)),
    "lbfgs_far": (LBFGS(0.5, 5, 0.0, 0.0),
                  lambda t, p: t.optim.LBFGS(p, 0.5, max_iter=1, history_size=5, tolerance_grad=0.0, tolerance_change=0.0)),
}


def walk(opt, params, steps=STEPS):
    gradient = tfr.grad(loss)
    state = opt.init(params)
    for _ in range(steps):
        params, state = opt.step(params, gradient(params), state)
    return params, state


@pytest.mark.parametrize("name", CASES)
def test_same_steps_as_pytorch(name):
    torch = pytest.importorskip("torch")
    ours, theirs = CASES[name]
    steps = 15 if name == "lbfgs_far" else STEPS    # near a minimum quotients of small differences decide
    found, _ = walk(ours, START, steps)
    other = {key: torch.tensor(value, dtype=None if key == "z" else torch.float64, requires_grad=True)
             for key, value in START.items()}
    opt = theirs(torch, list(other.values()))

    def closure():
        opt.zero_grad()
        value = loss(other, torch)
        value.backward()
        return value
    for _ in range(steps):
        opt.step(closure)
    for key, value in other.items():
        np.testing.assert_allclose(found[key].detach(), value.detach().numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_what_comes_out(name):
    opt = CASES[name][0]
    params = {"w": tfr.variable(np.ones((2, 2), "f4")), "z": (tfr.variable(np.ones(2, "c8")),)}
    before = params["w"].detach().numpy().copy()
    state = opt.init(params)
    grads = {"w": tfr.ones((2, 2), "f4"), "z": (tfr.full(2, 1 + 1j, "c8"),)}
    new, state = opt.step(params, grads, state)
    assert type(new["z"]) is tuple and new["w"].dtype == np.float32 and new["z"][0].dtype == np.complex64
    assert new["w"].tracks_grad and new["w"].grad is None
    np.testing.assert_array_equal(params["w"].detach(), before)
    assert (new["w"].detach().numpy() < before).all()
    loss = tfr.sum(new["w"])
    loss.backward()
    np.testing.assert_array_equal(new["w"].grad.detach(), np.ones((2, 2)))
    again, _ = opt.step(new, grads, state)
    assert (again["w"].detach().numpy() < new["w"].detach().numpy()).all()


@pytest.mark.parametrize("name", CASES)
def test_states_are_saved(name, tmp_path):
    opt = CASES[name][0]
    params, state = walk(opt, START, 4)
    tfr.save(tmp_path / "state", {"params": params, "state": state})
    loaded = tfr.load(tmp_path / "state")
    gradient = tfr.grad(loss)(params)
    expected, _ = opt.step(params, gradient, state)
    found, _ = opt.step(loaded["params"], gradient, loaded["state"])
    for key in START:
        np.testing.assert_array_equal(found[key].detach(), expected[key].detach())


def test_gradients_of_backward_and_gaps():
    p = {"x": tfr.variable([1.0, 2.0]), "unused": tfr.variable(5.0)}
    opt = Adam(0.1)
    grads = tfr.sum(p["x"] ** 2).backward()
    new, state = opt.step(p, grads, opt.init(p))
    np.testing.assert_allclose(new["x"].detach(), [0.9, 1.9])
    assert new["unused"].item() == 5.0 and new["unused"].tracks_grad
    new, state = opt.step(new, {"x": [1.0, 1.0], "unused": None}, state)
    assert new["unused"].item() == 5.0


def test_traces_do_not_grow():
    x = tfr.variable(1.0)
    opt = SGD(0.1, 0.9)
    y = x * x
    g = tfr.default_runtime().grad(y, x)
    assert g.tracks_grad
    _, state = opt.step(x, g, opt.init(x))
    assert not state["momentum"][0].tracks_grad


def test_lbfgs_stays_at_a_minimum():
    opt = LBFGS()
    x = tfr.variable([1.0, 2.0])
    new, state = opt.step(x, tfr.zeros(2), opt.init(x))
    np.testing.assert_array_equal(new.detach(), [1.0, 2.0])
    assert new.tracks_grad and state["step"] == 0


def test_errors():
    opt = SGD(0.1)
    x = tfr.variable([1.0, 2.0])
    state = opt.init(x)
    with pytest.raises(ShapeMismatchError, match="grads"):
        opt.step(x, tfr.ones(3), state)
    with pytest.raises(DTypeMismatchError, match="real part"):
        opt.step(x, tfr.ones(2, dtype=complex), state)
    with pytest.raises(ValidationError, match="grads has another structure"):
        opt.step({"x": x}, {"y": x}, state)
    for other in (SGD(0.1), Adam(), LBFGS()):
        for bad in (None, {}, Adam().init([x, x])):
            with pytest.raises(ValidationError) as error:
                other.step(x, x.detach(), bad)
            assert error.value.argument == "state"
    with pytest.raises(ValidationError, match="None"):
        LBFGS().step(x, None, LBFGS().init(x))
    with pytest.raises(ValidationError, match="int64"):
        opt.init(tfr.arange(3))
    for make in (lambda: SGD(-1.0), lambda: SGD(1.0, nesterov=True), lambda: Adam(betas=(1.0, 0.5)), lambda: Adam(eps=-1.0),
                 lambda: LBFGS(history_size=0), lambda: AdamW(weight_decay=float("nan"))):
        with pytest.raises(ValidationError):
            make()
