"""Find the conductances of a network from the temperatures of its nodes, with a sparse product that has its own rules.

Heat flows between the nodes of a square grid. Its Laplacian is a sparse matrix with a fixed pattern whose stored values
depend on the unknown conductance of every edge. From temperatures that were recorded while a few starting states evened
out, SciPy's `minimize` (trust-ncg) recovers the conductances: it takes gradients in reverse mode and Hessian-vector
products in forward over reverse mode, all through the product of the sparse matrix and a vector.

That product is computed by SciPy, so the library needs to be told how to differentiate it. It is told twice, with the
same rules: as a function of this program's own (`tenferro.custom_op`), and as an extension module such as a library of
sparse matrices would ship, which is installed in a runtime.

    python examples/sparse_matvec.py
    python examples/sparse_matvec.py --quick
    python examples/sparse_matvec.py --as function

The exit status is 1 when a conductance is off by more than one per mille.
"""

import argparse
import sys
import time

import numpy as np
import scipy.sparse
from scipy.optimize import minimize

import tenferro as tfr

TOLERANCE = 1e-3
TIME_STEP = 0.1


# --- the sparse product -------------------------------------------------------------------------------------------


class Pattern:
    """Where the stored values of a CSR matrix stand."""

    def __init__(self, matrix):
        csr = scipy.sparse.csr_array(matrix)
        self.shape, self.indptr, self.columns = csr.shape, csr.indptr, csr.indices
        self.rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    def matrix(self, values):
        return scipy.sparse.csr_array((values, self.columns, self.indptr), shape=self.shape)


def product(values, x, *, pattern, transposed=False):
    """``A @ x``, or ``A.T @ x``, where A has the stored values at the places of the pattern."""
    matrix = pattern.matrix(np.asarray(values))
    return (matrix.T if transposed else matrix) @ np.asarray(x)


def rules(matvec):
    """VJP and JVP of the product: it is linear in either argument.

    With ``y = A x``, the cotangents are ``A^H g`` for x and ``g[row] * conj(x[column])`` for the value stored there.
    They are written with operations that can be differentiated, `matvec` itself among them, so the rules can be, too.
    """

    def vjp(g, out, values, x, *, pattern, transposed=False):
        ends = (pattern.columns, pattern.rows) if transposed else (pattern.rows, pattern.columns)
        for_values = tfr.take(g, ends[0]) * tfr.conj(tfr.take(x, ends[1]))
        return for_values, matvec(tfr.conj(values), g, pattern=pattern, transposed=not transposed)

    def jvp(tangents, out, values, x, **how):
        of_values, of_x = tangents
        parts = [] if of_values is None else [matvec(of_values, x, **how)]
        parts += [] if of_x is None else [matvec(values, of_x, **how)]
        return sum(parts[1:], parts[0])

    return vjp, jvp


matvec = tfr.custom_op(product, *rules(lambda *args, **how: matvec(*args, **how)), name="matvec")


class SparseModule:
    """The same operation as an extension module."""

    module_id = "example.sparse.v1"

    def configure(self, registrar):
        registrar.operation("matvec", self.shape, self.dtype)
        registrar.executor("matvec", "host", product)
        registrar.rule("matvec", *rules(lambda a, x, **how: a.runtime.extension(self.module_id).matvec(a, x, **how)))

    @staticmethod
    def shape(values, x, *, pattern, transposed=False):
        rows, columns = reversed(pattern.shape) if transposed else pattern.shape
        if values != pattern.rows.shape or x != (columns,):
            raise ValueError(f"{pattern.rows.size} values and a vector of {columns} are needed, not {values} and {x}")
        return (rows,)

    @staticmethod
    def dtype(values, x, **how):
        return np.result_type(values, x)


# --- the inverse problem ------------------------------------------------------------------------------------------


class Network:
    """A grid of ``size * size`` nodes, the edges between neighbours, and the pattern of its Laplacian."""

    def __init__(self, size):
        node = np.arange(size * size).reshape(size, size)
        self.edges = np.concatenate([np.stack([node[:, :-1].ravel(), node[:, 1:].ravel()]),
                                     np.stack([node[:-1].ravel(), node[1:].ravel()])], axis=1)
        n, m = size * size, self.edges.shape[1]
        a, b = self.edges
        ones = np.ones(m)
        self.pattern = Pattern(scipy.sparse.coo_array(
            (np.ones(2 * m + n), (np.r_[a, b, np.arange(n)], np.r_[b, a, np.arange(n)])), shape=(n, n)))
        incidence = scipy.sparse.csr_array((np.r_[ones, -ones], (np.r_[range(m), range(m)], np.r_[a, b])), shape=(m, n))
        # stored value k of the Laplacian is the sum over edges e of B[e, row k] * B[e, column k] * conductance e
        self.assembly = incidence.T[self.pattern.rows].multiply(incidence.T[self.pattern.columns]).tocsr()
        self.assembly_pattern = Pattern(self.assembly)
        self.nodes, self.edge_count = n, m


class Experiment:
    """Starting states, the temperatures that followed, and how far a guess is from them."""

    def __init__(self, network, product, starts, steps):
        self.network, self.product, self.starts, self.steps = network, product, starts, steps
        self.observed = None

    def temperatures(self, log_conductance):
        """States after every step of ``x - dt * L x``, for every start."""
        network, product = self.network, self.product
        assembly = tfr.constant(network.assembly.data)
        values = product(assembly, tfr.exp(log_conductance), pattern=network.assembly_pattern)
        states = []
        for x in self.starts:
            for _ in range(self.steps):
                x = x - TIME_STEP * product(values, x, pattern=network.pattern)
                states.append(x)
        return states

    def loss(self, log_conductance):
        misfits = [tfr.sum((x - seen) ** 2) for x, seen in zip(self.temperatures(log_conductance), self.observed)]
        return sum(misfits[1:], misfits[0])


def fit(experiment, first, progress):
    """Minimise the loss with exact gradients and Hessian-vector products."""
    rt = tfr.default_runtime()

    def value_and_gradient(p):
        p = tfr.variable(p)
        loss = experiment.loss(p)
        return loss.item(), np.asarray(rt.grad(loss, p).detach())

    def hessian_product(p, v):
        p = tfr.variable(p)
        gradient = rt.grad(experiment.loss(p), p)
        return np.asarray(rt.jvp(gradient, p, v).detach())

    return minimize(value_and_gradient, first, jac=True, hessp=hessian_product, method="trust-ncg", callback=progress,
                    options={"gtol": 1e-9, "maxiter": 100})


def solve(quick, product, out=print):
    """Make data from known conductances, fit them, and return the largest relative error of a conductance."""
    rng = np.random.default_rng(5)
    network = Network(4 if quick else 8)
    starts = [tfr.constant(rng.standard_normal(network.nodes)) for _ in range(4 if quick else 8)]
    experiment = Experiment(network, product, starts, 4 if quick else 6)
    truth = rng.uniform(0.5, 2.0, network.edge_count)
    experiment.observed = experiment.temperatures(tfr.constant(np.log(truth)))
    out(f"{network.nodes} nodes, {network.edge_count} unknown conductances, {len(experiment.observed)} recorded states")

    count = [0]

    def progress(p):
        count[0] += 1
        out(f"  iteration {count[0]:2d}: loss {experiment.loss(tfr.constant(p)).item():.3e}, "
            f"largest error {np.abs(np.exp(p) / truth - 1).max():.3e}")

    began = time.perf_counter()
    result = fit(experiment, np.zeros(network.edge_count), progress)
    error = np.abs(np.exp(result.x) / truth - 1).max()
    out(f"{result.nit} iterations, {result.nfev} losses, {result.nhev} Hessian-vector products in "
        f"{time.perf_counter() - began:.2f} s; largest relative error of a conductance {error:.1e}")
    return error


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small network")
    parser.add_argument("--as", dest="way", choices=("module", "function"), default="module",
                        help="use the operation of the extension module, or the custom function")
    options = parser.parse_args(arguments)
    if options.way == "module":
        rt = tfr.default_runtime()
        rt.install_extension_module(SparseModule())
        chosen = rt.extension(SparseModule.module_id).matvec
    else:
        chosen = matvec
    return int(not solve(options.quick, chosen) < TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
