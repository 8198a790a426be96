"""Value and gradient of quimb's programs beside quimb's own time for the value: ``python benchmarks/tensor_networks.py``.

The value is checked against NumPy's and the gradient against a central difference of NumPy's values before anything is timed.
Both sides take turns; the milliseconds are medians of the rounds and, in brackets, minima. ``1st`` and ``2nd`` are the first
two values and gradients of the process, after NumPy's value: by then quimb has searched its contraction paths and compiled
its functions for NumPy. Each program runs in a process of its own. ``OPENBLAS_NUM_THREADS=1`` and one CPU give steady figures.
"""

import argparse
import platform
import subprocess
import sys
import time
import warnings
from functools import partial
from importlib.metadata import version
from statistics import median

import numpy as np


def chain_energy(qtn, dtype):
    operator = qtn.MPO_ham_heis(20)

    def energy(psi):
        ket, h, bra = qtn.tensor_network_align(psi, operator, psi.H)
        return ((ket | h | bra).contract(all) / (psi.H @ psi)).real
    return qtn.MPS_rand_state(20, 16, dtype=dtype, seed=1), energy


def chain_compression(qtn, dtype):
    target = qtn.MPS_rand_state(8, 6, dtype=dtype, seed=2)

    def fidelity(psi):
        small = psi.copy()
        small.compress(max_bond=3)
        return abs(small.H @ target) ** 2
    return qtn.MPS_rand_state(8, 6, dtype=dtype, seed=3), fidelity


def lattice_norm(qtn, dtype, bond=2):
    def norm(psi):
        return 1e-3 * abs(psi.make_norm().contract_boundary(max_bond=8))
    return qtn.PEPS.rand(4, 4, bond, seed=4, dtype=dtype, dist="normal") / bond, norm


PROGRAMS = {"MPS energy, 20 sites, bond 16": chain_energy, "MPS compression, 8 sites, 6 to 3": chain_compression,
            "PEPS norm, 4 x 4, bond 2, chi 8": lattice_norm, "PEPS norm, 4 x 4, bond 3, chi 8": partial(lattice_norm, bond=3)}


def timed(f):
    start = time.perf_counter()
    f()
    return (time.perf_counter() - start) * 1e3


def check(opt, loss, x):
    """The value against NumPy's, the gradient against a central difference of NumPy's value."""
    def numpy_loss(x):
        opt.vectorizer.vector[:] = x
        return float(loss(opt.get_tn_opt()))
    value, gradient = opt.vectorized_value_and_grad(x)
    gradient = gradient.copy()
    np.testing.assert_allclose(value, numpy_loss(x), rtol=1e-10)
    d = np.random.default_rng(0).normal(size=x.size)
    h = 1e-4 / np.linalg.norm(d)
    slope = 8 * (numpy_loss(x + h * d) - numpy_loss(x - h * d)) - numpy_loss(x + 2 * h * d) + numpy_loss(x - 2 * h * d)
    np.testing.assert_allclose(gradient @ d, slope / (12 * h), atol=1e-6 * np.linalg.norm(gradient) * np.linalg.norm(d))


def measure(name, dtype, rounds):
    warnings.simplefilter("ignore")         # cotengra names the partitioner that it would rather have
    import quimb.tensor as qtn

    import tenferro.quimb  # noqa: F401

    network, loss = PROGRAMS[name](qtn, dtype)
    opt = qtn.TNOptimizer(network, loss, autodiff_backend="tenferro", progbar=False)
    x = opt.vectorizer.vector.copy()
    loss(network)
    early = [timed(lambda: opt.vectorized_value_and_grad(x)) for _ in range(2)]
    check(opt, loss, x)
    samples = [], []
    for _ in range(rounds):
        samples[0].append(timed(lambda: loss(network)))
        samples[1].append(timed(lambda: opt.vectorized_value_and_grad(x)))
    value, both = ((median(s), min(s)) for s in samples)
    print(f"{name:34}{dtype:12}{value[0]:8.2f} ({value[1]:6.2f}){both[0]:8.2f} ({both[1]:6.2f})"
          f"{both[0] / value[0]:8.2f} ({both[1] / value[1]:5.2f})"
          + "".join(f"{ms:8.1f}" for ms in early), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--program", choices=PROGRAMS)
    parser.add_argument("--dtype", choices=("float64", "complex128"))
    options = parser.parse_args()
    if options.program and options.dtype:
        return measure(options.program, options.dtype, options.rounds)
    libraries = ("numpy", "numba", "quimb", "cotengra", "autoray")
    print(platform.machine(), "Python", platform.python_version(), *(f"{d} {version(d)}" for d in libraries))
    print(f"{'':46}{'NumPy value, ms':>17}{'value and gradient':>17}{'ratio':>16}{'1st':>8}{'2nd':>8}")
    for name in [options.program] if options.program else PROGRAMS:
        for dtype in [options.dtype] if options.dtype else ("float64", "complex128"):
            call = [sys.executable, __file__, "--program", name, "--dtype", dtype, "--rounds", str(options.rounds)]
            subprocess.run(call, check=True)


if __name__ == "__main__":
    main()
