"""The workloads: a model, its data, and what one run does."""

from dataclasses import dataclass

import numpy as np

from . import models as m

F4, F8, C16 = m.F4, m.F8, m.C16


@dataclass
class Workload:
    """Modes: forward, grad, step (parameters change), descend (many steps from one start), hvp.

    What is measured is divided by `per`; `small` are the changes of `size` for quick runs. `what` is the time of a run, the
    ``memory`` by which the first run of a process lets it grow at most, or the time of a whole ``process``, whose model is the
    name of a program of the peer.
    """

    name: str
    unit: str
    mode: str
    model: object
    data: object
    size: dict
    small: dict
    options: dict
    per: int = 1
    what: str = "time"

    def arrays(self, quick):
        return self.data(np.random.default_rng(7), **{**self.size, **(self.small if quick else {})})

    @property
    def steps(self):
        return 200 if self.mode == "descend" else 1

    @property
    def tolerance(self):
        return 2e-3 if self.size.get("dtype") is F4 else 1e-8

    @property
    def symmetric(self):
        return self.model in (m.eigh, m.cholesky)       # libraries differ in which triangle they read


def small_rows():
    for n in (1, 10, 100):
        yield f"op_overhead.{n}", "ns", "forward", m.chain, m.d_chain, {"n": n}, {}, {"length": 1000}, 1000
    yield "fwd_bwd_small", "us", "grad", m.chain_sum, m.d_chain, {"n": 10}, {}, {"length": 100}, 100
    for n in (2, 10):
        yield f"scalar_loop.{n}", "ms", "descend", m.rosenbrock, m.d_points, {"n": n}, {}, {}
    yield "grad_accumulate.uses", "us", "grad", m.uses, m.d_vectors, {"n": 100}, {}, {"times": 1000}, 1000
    yield "deep_chain.20k", "us", "grad", m.chain_sum, m.d_chain, {"n": 1}, {}, {"length": 20_000}, 20_000


def network_rows():
    tiny = {"batch": 4, "width": 16, "hidden": 16, "out": 3}
    for mode, unit, name, n, dtypes in (
            ("step", "us", "mlp_small", (32, 64, 64, 10), (F8, F4)),
            ("step", "ms", "mlp_large", (512, 1024, 1024, 1024), (F8, F4)),
            ("hvp", "us", "hvp.small", (32, 64, 64, 10), (F8,)),
            ("hvp", "ms", "hvp.medium", (128, 256, 256, 256), (F8,))):
        for t in dtypes:
            suffix = {F8: ".f64", F4: ".f32"}[t] if mode == "step" else ""
            yield name + suffix, unit, mode, m.mlp, m.d_mlp, {**dict(zip(tiny, n)), "dtype": t}, tiny, {}


def large_rows():
    for name, model, shapes, small in (
            ("elementwise_large", m.elementwise, [10_000_000], [5000]),
            ("broadcast_reduce", m.broadcast, [(2000, 2000), 2000, (2000, 1)], [(50, 50), 50, (50, 1)])):
        for suffix, t in (("f64", F8), ("f32", F4)):
            yield f"{name}.{suffix}", "ms", "grad", model, m.d_normal, {"shapes": shapes, "dtype": t}, {"shapes": small}, {}
    large, small = ({"shapes": [(2 * n, 2 * n), (n, 2 * n)]} for n in (2000, 20))
    yield "strided.flip", "ms", "grad", m.flip, m.d_normal, large, small, {}
    large, small = ({"shapes": [(n,) * 6]} for n in (16, 4))
    for suffix, axes in (("rev", (5, 4, 3, 2, 1, 0)), ("mix", (3, 0, 4, 1, 5, 2))):
        yield f"strided.permute_{suffix}", "ms", "forward", m.permute, m.d_normal, large, small, {"axes": axes}


def product_rows():
    chain, batch = {"shape": (256, 256), "count": 9}, {"shape": (64, 64, 64), "count": 2}
    yield "matmul_chain", "ms", "grad", m.products, m.d_matrices, chain, {"shape": (32, 32)}, {}
    yield "bmm", "ms", "grad", m.products, m.d_matrices, batch, {"shape": (4, 32, 32)}, {}
    for suffix, t in (("f64", F8), ("c128", C16)):
        yield f"einsum_tn.{suffix}", "ms", "grad", m.mps, m.d_mps, {"sites": 40, "bond": 32, "dtype": t}, {"sites": 5}, {}
    for f in (m.svdvals, m.qr, m.eigh, m.solve, m.cholesky):
        for n in (64, 256):
            yield f"linalg.{f.__name__}.{n}", "us", "grad", f, m.d_linalg, {"n": n, "kind": f.__name__}, {"n": 12}, {}


def process_rows():
    size = {"shapes": [10_000_000], "dtype": F8}
    yield "memory.elementwise", "B", "grad", m.elementwise, m.d_normal, size, {"shapes": [500_000]}, {}, 10_000_000, "memory"
    yield "memory.chain", "B", "grad", m.chain_sum, m.d_chain, {"n": 1}, {}, {"length": 200_000}, 200_000, "memory"
    for name in ("import", "first_grad"):
        yield f"cold.{name}", "ms", "", name, None, {}, {}, {}, 1, "process"


ALL = {row[0]: Workload(*row) for rows in (small_rows, network_rows, large_rows, product_rows, process_rows) for row in rows()}
GROUPS = {"overhead": ("op_overhead", "fwd_bwd_small", "scalar_loop", "grad_accumulate", "deep_chain", "mlp_small",
                       "hvp.small")}
"""Names that stand for several."""
