"""One peer's process: sets a workload up, checks its first result, and times it."""

import gc
import os
import sys
import time

import numpy as np

from . import peers
from .table import ALL

SETTLE = 0.15       # seconds that a pool of threads needs to spread over the CPUs after an idle spell


class Loss:
    """A model with its constants, as a function of the differentiated tensors."""

    def __init__(self, P, w, constants):
        self.P, self.model, self.options, self.constants = P, w.model, w.options, constants

    def __call__(self, p):
        return self.model(self.P, p, self.constants, **self.options)


def build(P, w, quick):
    """A function without arguments that does the work once and returns a flat list of tensors."""
    arrays, constants = w.arrays(quick)
    f = Loss(P, w, [P.constant(a) for a in constants])
    p = [P.leaf(a) for a in arrays]
    if w.mode == "forward":
        g = P.forward(f)
        return lambda: [g(p)]
    if w.mode == "hvp":
        h, v = P.hvp(f), [P.constant(np.cos(a)) for a in arrays]
        return lambda: list(h(p, v))
    g = P.value_and_grad(f)

    def gradient():
        loss, grads = g(p)
        return [loss, *grads]

    def steps():
        nonlocal p
        if w.mode == "descend":
            p = [P.leaf(a) for a in arrays]
        for _ in range(w.steps):
            loss, grads = g(p)
            p = P.update(p, grads, 1e-3)
        return [loss, *p]

    return gradient if w.mode == "grad" else steps


def difference(w, found, expected, conjugate):
    """Largest error relative to each result's largest element."""
    worst = 0.0
    for a, b in zip(found, expected, strict=True):
        a = np.conj(a) if conjugate else np.asarray(a)
        if a.shape != b.shape:
            return np.inf
        if w.symmetric and a.ndim == 2:
            a, b = (a + a.T) / 2, (b + b.T) / 2
        error = np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-300)
        worst = max(worst, error if np.isfinite(error) else np.inf)
    return float(worst)


def resident(field):
    """Bytes of a line of /proc/self/status."""
    with open("/proc/self/status") as f:
        return next(1024 * int(line.split()[1]) for line in f if line.startswith(field + ":"))


class Worker:
    def __init__(self, peer, threads):
        self.P, self.threads, self.run = peers.load(peer, threads), threads, None

    def once(self):
        out = self.run()
        self.P.sync(out)
        return out

    def timed(self, count):
        start = time.perf_counter()
        for _ in range(count):
            self.once()
        return (time.perf_counter() - start) / count

    def prepare(self, name, quick, least):
        """Check, then how many runs fill a sample."""
        w = ALL[name]
        self.run = build(self.P, w, quick)
        start = time.perf_counter()
        out = self.once()
        first = time.perf_counter() - start
        expected = [np.asarray(x) for x in build(peers.load("numpy", 1), w, quick)()]
        error = difference(w, [self.P.numpy(x) for x in out], expected, getattr(self.P, "CONJUGATE", False))
        del out, expected
        gc.collect()
        if not error <= w.tolerance:
            raise ArithmeticError(f"differs from NumPy by {error:.1e}")
        if first > 10:
            return {"count": 0, "seconds": first}
        seconds = self.timed(1)
        if seconds < least:
            seconds = self.timed(max(1, int(least / seconds / 4)))
        return {"count": max(1, round(least / seconds)), "seconds": seconds}

    def growth(self, name, quick):
        """Bytes by which the process grows at most during its first run, per element as the workload counts them."""
        w = ALL[name]
        run = build(self.P, w, quick)
        gc.collect()
        before = resident("VmRSS")
        try:
            with open("/proc/self/clear_refs", "w") as f:
                f.write("5")            # the mark of the largest size starts again from here
        except OSError as error:
            raise peers.NotSupported("only Linux tells how far a process has grown") from error
        out = run()
        self.P.sync(out)
        return max(resident("VmHWM") - before, 0) * (w.arrays(False)[0][0].size / w.arrays(quick)[0][0].size if quick else 1)

    def program(self, name):
        """Source of a program of this library."""
        return self.P.PROGRAMS[name]

    def sample(self, count):
        """Seconds of one run, after uncounted ones that bring caches and freed pages back."""
        end = time.perf_counter() + (SETTLE if self.threads > 1 else 0)
        self.once()
        while time.perf_counter() < end:
            self.once()
        return self.timed(count)

    def drop(self):
        self.run = None
        gc.collect()


def serve(pipe, peer, threads, cpus):
    """Answer requests until the other end closes."""
    if cpus:
        os.sched_setaffinity(0, cpus)
    sys.setrecursionlimit(10_000)
    worker = None
    while True:
        try:
            command, arguments = pipe.recv()
        except EOFError:
            return
        try:
            worker = worker or Worker(peer, threads)
            pipe.send(("ok", getattr(worker, command)(*arguments)))
        except peers.NotSupported as reason:
            pipe.send(("unsupported", str(reason)))
        except Exception as error:
            pipe.send(("error", f"{type(error).__name__}: {error}"[:200]))
