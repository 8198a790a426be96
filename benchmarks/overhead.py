"""Overhead of small operations and sweeps: ``python benchmarks/overhead.py [--json FILE] [--against FILE]``.

Prints, per row, the smallest and the median time of its rounds. Run it before and after a change of the core; with
``--against`` it prints the ratio to the figures of an earlier ``--json`` run.
"""

import argparse
import json
import statistics
import sys
import time

import numpy as np

import tenferro as tfr

RNG = np.random.default_rng(7)
RT = tfr.default_runtime()


def chain(n, length):
    """Alternating products and sums of vectors with n elements."""
    x = tfr.variable(RNG.uniform(0.5, 1, n))
    a, b = tfr.constant(RNG.uniform(0.5, 0.9, n)), tfr.constant(RNG.uniform(0.1, 0.2, n))

    def run():
        z = x
        for _ in range(length // 2):
            z = z * a
            z = z + b
        return z

    return run


def chain_and_sweep(n, length):
    forward = chain(n, length)

    def run():
        tfr.sum(forward()).backward()

    return run


def rosenbrock(dim):
    x = [tfr.variable(v) for v in np.linspace(-0.5, 0.5, dim)]

    def run():
        t = 0.0
        for i in range(dim - 1):
            u = x[i + 1] - x[i] * x[i]
            v = 1.0 - x[i]
            t = t + (100.0 * (u * u) + v * v)
        RT.grad(t, x)

    return run


def uses(times):
    x, c = tfr.variable(RNG.standard_normal(100)), tfr.constant(RNG.standard_normal(100))

    def run():
        s = x * c
        for _ in range(times):
            s = s + x
        tfr.sum(s * s).backward()
        x.clear_grad()

    return run


def with_idle_leaves(count):
    """A small sweep while many unrelated leaves live."""
    idle = [tfr.variable([1.0]) for _ in range(count)]
    run = chain_and_sweep(10, 100)
    return lambda idle=idle: run()


def session_call():
    engine = tfr.default_engine()
    return lambda: RT.with_eager_session(engine, bool)


ROWS = {  # name: (function, operations in one run)
    "op_overhead.1": (chain(1, 1000), 1000),
    "op_overhead.10": (chain(10, 1000), 1000),
    "op_overhead.100": (chain(100, 1000), 1000),
    "fwd_bwd_small": (chain_and_sweep(10, 100), 100),
    "fwd_bwd_small, 10,000 idle leaves": (with_idle_leaves(10_000), 100),
    "rosenbrock.2 value and gradient": (rosenbrock(2), 1),
    "rosenbrock.10 value and gradient": (rosenbrock(10), 1),
    "grad_accumulate.uses": (uses(1000), 1000),
    "deep_chain.200k": (chain_and_sweep(1, 200_000), 200_000),
    "with_eager_session": (session_call(), 1),
}


def measure(run, per, rounds=15, least=0.02):
    run()
    start = time.perf_counter()
    run()
    repeat = max(1, int(least / (time.perf_counter() - start)))
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeat):
            run()
        samples.append((time.perf_counter() - start) / repeat / per * 1e9)
    return {"min": min(samples), "median": statistics.median(samples)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--against", help="figures of an earlier run")
    options = parser.parse_args()
    before = {}
    if options.against:
        with open(options.against) as f:
            before = json.load(f)
    figures = {}
    for name, (run, per) in ROWS.items():
        figures[name] = got = measure(run, per)
        ratio = f"  {got['min'] / before[name]['min']:.2f}x" if name in before else ""
        sys.stdout.write(f"{name:36} min {got['min']:9.0f} ns   median {got['median']:9.0f} ns{ratio}\n")
    if options.json:
        with open(options.json, "w") as f:
            json.dump(figures, f, indent=1)


if __name__ == "__main__":
    main()
