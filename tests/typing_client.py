"""A typed program over the front door, checked with ``mypy --strict``; it also runs."""

from typing import Any

import numpy as np

import tenferro as tfr
from tenferro import EagerRuntime, EagerTensor, Gradients, Tensor


def energy(x: EagerTensor) -> EagerTensor:
    y: EagerTensor = tfr.sin(x) * 2.0 + 1.0 - x**2 / 3
    return tfr.sum(tfr.where(y > 0, y, -y), axis=0)


def shapes(x: EagerTensor) -> tuple[int, ...]:
    y = x.reshape(2, -1).T @ tfr.ones((2, 3), dtype=tfr.float64)
    z: EagerTensor = y.sum(axis=0, keepdims=True).astype(tfr.complex128).conj()
    dtype: np.dtype[Any] = z.dtype
    return (*z.shape, z.ndim, z.size, dtype.itemsize)


def derivatives(x: EagerTensor) -> list[EagerTensor]:
    rt: EagerRuntime = tfr.default_runtime()
    loss = energy(x)
    found: Gradients = loss.backward()
    slot: EagerTensor | None = x.grad
    value, gradient = tfr.value_and_grad(energy)(x)
    functional = tfr.grad(energy, argnums=0)(x)
    pullback = rt.vjp(loss, x, 1.0, engine=None)
    assert slot is not None
    x.clear_grad()
    return [found[x], slot, value, gradient, functional, pullback]


def linear_algebra(a: np.ndarray[Any, np.dtype[np.float64]]) -> EagerTensor:
    x = tfr.constant(a, dtype=float)
    u, s, vh = tfr.linalg.svd(x, full_matrices=False)
    back: EagerTensor = (u * s) @ vh
    spectrum: EagerTensor = tfr.fft.fft(back, norm="ortho")
    return tfr.linalg.solve(tfr.real(spectrum @ spectrum.mT) + 10 * tfr.eye(len(x)), back)


def sessions(x: EagerTensor) -> float:
    with tfr.session() as s, tfr.no_grad():
        y: EagerTensor = s.einsum("i,i->", x, s.cos(x))
        s.engine.name.upper()
    value: Tensor = y.value()
    return float(value.numpy())


def fit(seed: int) -> float:
    rng: tfr.random.Generator = tfr.random.default_rng(seed)
    target: EagerTensor = rng.normal(size=(3,))
    result = tfr.optimize.minimize(lambda x: tfr.sum((x - target) ** 2), tfr.zeros(3), method="BFGS")
    opt = tfr.optimize.Adam(lr=0.1)
    state = opt.init(result.x)
    params, state = opt.step(result.x, tfr.zeros(3), state)
    return float(tfr.linalg.norm(params - target))


def wrong(x: EagerTensor) -> str | None:
    try:
        tfr.reshape(x, (7, 7))
    except tfr.errors.ShapeMismatchError as error:
        return str(error.op)
    return None


def main() -> None:
    x = tfr.variable([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert shapes(x) == (1, 3, 2, 3, 16)
    first, *others = derivatives(x)
    assert all(tfr.allclose(first, g) for g in others if g.shape == first.shape)
    assert linear_algebra(np.eye(3)).shape == (3, 3)
    assert abs(sessions(x) - sum(t * np.cos(t) for t in x.tolist())) < 1e-12
    assert fit(0) < 1e-4
    assert wrong(x) == "reshape"


if __name__ == "__main__":
    main()
