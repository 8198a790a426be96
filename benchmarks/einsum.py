"""Contractions of many tensors: ``python benchmarks/einsum.py``.

Prints the smallest time of the rounds in microseconds; the last column is the same work done by hand.
"""

import time

import numpy as np

import tenferro as tfr

RNG = np.random.default_rng(7)
RT = tfr.default_runtime()


def measure(functions, rounds=30, least=2e-3):
    """Smallest time per call of each function in microseconds, the functions taking turns."""
    repeat, best = [], [float("inf")] * len(functions)
    for f in functions:
        f()
        start = time.perf_counter()
        f()
        repeat.append(max(1, int(least / (time.perf_counter() - start))))
    for _ in range(rounds):
        for k, f in enumerate(functions):
            start = time.perf_counter()
            for _ in range(repeat[k]):
                f()
            best[k] = min(best[k], (time.perf_counter() - start) / repeat[k] * 1e6)
    return best


def two_matrices(n):
    a, b = (tfr.constant(RNG.normal(size=(n, n))) for _ in range(2))
    return lambda: tfr.einsum("ij,jk->ik", a, b), lambda: tfr.matmul(a, b)


def three_matrices(n):
    """A plan that is found in the cache, against two products."""
    a, b, c = (tfr.constant(RNG.normal(size=(n, n))) for _ in range(3))
    return lambda: tfr.einsum("ij,jk,kl->il", a, b, c), lambda: tfr.matmul(tfr.matmul(a, b), c)


def overlap(sites, bond, gradient):
    """Inner product of two matrix product states as one expression, against one product after another."""
    xs = [tfr.variable(RNG.normal(size=(bond, 2, bond)) / (2 * bond) ** 0.5) for _ in range(2 * sites)]
    edge = tfr.constant(np.eye(bond))
    args = [edge, [0, 1]]
    for k in range(sites):
        args += [xs[2 * k], [3 * k, 3 * k + 2, 3 * k + 3], xs[2 * k + 1], [3 * k + 1, 3 * k + 2, 3 * k + 4]]
    args += [edge, [3 * sites, 3 * sites + 1], []]

    def by_hand():
        e = edge
        for k in range(sites):
            e = tfr.einsum("bsc,bsd->cd", tfr.einsum("ab,asc->bsc", e, xs[2 * k]), xs[2 * k + 1])
        return tfr.sum(e * edge)

    def one():
        return tfr.einsum(*args)
    return (lambda: RT.grad(one(), xs), lambda: RT.grad(by_hand(), xs)) if gradient else (one, by_hand)


def stacks(order):
    """Column-major stacks have their batch axis fastest; packed by hand on the right."""
    a, b = (np.array(RNG.normal(size=(64, 64, 64)), order=order) for _ in range(2))
    x, y = tfr.constant(a), tfr.constant(b)
    return lambda: tfr.matmul(x, y), lambda: np.ascontiguousarray(a) @ np.ascontiguousarray(b)


ROWS = {
    "ij,jk->ik, n = 3": two_matrices(3),
    "ij,jk->ik, n = 64": two_matrices(64),
    "ij,jk,kl->il, n = 3": three_matrices(3),
    "overlap, 40 sites, bond 32": overlap(40, 32, False),
    "overlap and gradient": overlap(40, 32, True),
    "stacks of 64 matrices, row-major": stacks("C"),
    "stacks of 64 matrices, column-major": stacks("F"),
}


if __name__ == "__main__":
    for name, functions in ROWS.items():
        einsum, by_hand = measure(functions)
        print(f"{name:40}{einsum:12.2f}{by_hand:12.2f}{einsum / by_hand:8.2f}")
