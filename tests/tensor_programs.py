"""Tensor-network programs as functions of quimb networks; each makes its network and the loss from a dtype."""

from functools import partial

import numpy as np
import quimb as qu
import quimb.tensor as qtn

METHODS = ("qr", "svd", "exp", "cayley", "mgs", "householder")
"""How quimb makes a matrix an isometry."""


def real(z):
    """A loss as a real number."""
    return z.real if np.iscomplexobj(z) or "complex" in str(getattr(z, "dtype", "")) else z


def matrix_product_energy(dtype):
    """Rayleigh quotient of a chain with a real operator."""
    operator = qtn.MPO_ham_heis(6)
    assert all(x.dtype == np.float64 for x in operator.arrays)

    def energy(psi):
        bra = psi.H
        ket, h, bra = qtn.tensor_network_align(psi, operator, bra)
        return real((ket | h | bra).contract(all) / (psi.H @ psi))
    return qtn.MPS_rand_state(6, 3, dtype=dtype, seed=1), energy


def matrix_product_compression(dtype):
    """Fidelity of a chain that is truncated to a smaller bond."""
    target = qtn.MPS_rand_state(8, 6, dtype=dtype, seed=2)

    def fidelity(psi):
        small = psi.copy()
        small.compress(max_bond=3)
        return abs(small.H @ target) ** 2
    return qtn.MPS_rand_state(8, 6, dtype=dtype, seed=3), fidelity


def operator_compression(dtype):
    """Fidelity of an operator times a chain that is compressed; the first matrices have columns of zeros."""
    operator, target = qtn.MPO_ham_heis(6), qtn.MPS_rand_state(6, 4, dtype=dtype, seed=2)

    def fidelity(psi):
        product = qtn.tensor_network_apply_op_vec(operator, psi)
        return abs(qtn.tensor_network_1d_compress(product, max_bond=3, method="direct").H @ target) ** 2
    return qtn.MPS_rand_state(6, 3, dtype=dtype, seed=3), fidelity


def lattice_norm(dtype):
    """Logarithm of the norm of a two-dimensional state by contraction of its boundary."""
    def norm(psi):
        return 1e-3 * abs(psi.make_norm().contract_boundary(max_bond=4))
    return qtn.PEPS.rand(3, 3, 2, seed=4, dtype=dtype, dist="normal") / 2.0, norm


def lattice_expectation(dtype):
    """Expectation value of NumPy operators on two neighbours, one real and one complex."""
    terms = {((0, 0), (0, 1)): np.asarray(qu.ham_heis(2)).real, ((1, 1), (2, 1)): np.asarray(qu.rand_herm(4, seed=10))}
    assert {type(x) for x in terms.values()} == {np.ndarray}

    def expectation(psi):
        return real(psi.compute_local_expectation(terms, max_bond=4, normalized=True))
    return qtn.PEPS.rand(3, 3, 2, seed=5, dtype=dtype), expectation


def _partition(dtype):
    return qtn.TN2D_rand(4, 4, 2, seed=6, dtype=dtype, dist="uniform")


def corner_transfer(dtype):
    """Corner transfer matrix renormalisation with truncation."""
    return _partition(dtype), lambda tn: abs(tn.contract_ctmrg(max_bond=3)) ** 0.25


def higher_order_renormalisation(dtype):
    """Higher-order tensor renormalisation with truncation."""
    return _partition(dtype), lambda tn: abs(tn.contract_hotrg(max_bond=3)) ** 0.25


def stripped_exponent(dtype):
    """Logarithm of a partition function that is contracted as mantissa and exponent."""
    def logarithm(tn):
        mantissa, exponent = tn.contract(all, strip_exponent=True, optimize="greedy")
        return qtn.array_ops.do("log10", abs(mantissa)) + exponent
    return _partition(dtype), logarithm


def circuit():
    """Overlap of a parametrised circuit with a unitary; the parameters are real, the tensors complex."""
    rng = np.random.default_rng(7)
    gates = qtn.Circuit(3)
    for layer in range(2):
        for i in range(3):
            gates.apply_gate("U3", *rng.normal(size=3), i, parametrize=True, gate_round=layer)
        for i in range(2):
            gates.apply_gate("RZZ", rng.normal(), i, i + 1, parametrize=True, gate_round=layer)
    target = np.asarray(qu.rand_uni(8, seed=8)).reshape([2] * 6)
    inds = [f"{side}{i}" for side in "kb" for i in range(3)]
    goal = qtn.Tensor(target, inds=inds)
    return gates.get_uni(), lambda tn: 1 - abs((tn.H & goal).contract(all)) / 8


def isometry(method, dtype):
    """A linear function of an isometry in a network."""
    rng = np.random.default_rng(9)

    def draw(*shape):
        x = rng.normal(size=shape)
        return x + 1j * rng.normal(size=shape) if dtype == "complex128" else x
    weight = qtn.Tensor(draw(4, 3), inds="ab")
    network = qtn.TensorNetwork([qtn.Tensor(draw(4, 3), inds="ab", left_inds="a")])
    return network, lambda tn: abs(tn.isometrize(method=method).contract(all).data.ravel() @ weight.data.ravel()) ** 2


def split(method, dtype):
    """A function of the product of the parts into which a matrix is split, and of one part's size."""
    rng = np.random.default_rng(11)

    def draw(*shape):
        x = rng.normal(size=shape)
        return x + 1j * rng.normal(size=shape) if dtype == "complex128" else x
    weight, shift = draw(4, 4), qtn.Tensor(4 * np.eye(4), inds="ab")
    options = {"max_bond": 2, "cutoff": 0.0} if method in ("svd", "svd:eig", "eigh") else {}

    def loss(network):
        t = network.contract(all)
        if method in ("eigh", "cholesky"):
            t = t.H.reindex({"a": "c"}).contract(t, output_inds="ca").reindex({"c": "a", "a": "b"}) + shift
        parts = t.split("a", method=method, **options)
        return abs(parts.contract(all, output_inds="ab").data.ravel() @ weight.ravel()) ** 2 + parts.tensors[0].norm() ** 2
    return qtn.TensorNetwork([qtn.Tensor(draw(4, 6), inds="ak"), qtn.Tensor(draw(6, 4), inds="kb")]), loss


def boundary(method, dtype):
    """The norm of a two-dimensional state by another way to contract its boundary."""
    network, _ = lattice_norm(dtype)
    return network, lambda psi: 1e-3 * abs(psi.make_norm().contract_boundary(max_bond=4, method=method, cutoff=0.0))


SPLITS = ("svd", "svd:eig", "qr", "lq", "qr:cholesky", "polar_right", "polar_left", "eigh", "cholesky")
BOUNDARIES = ("full-bond", "projector", "zipup", "local-early", "superorthogonal", "l2bp", "dm")

PROGRAMS = {f.__name__: f for f in (matrix_product_energy, matrix_product_compression, operator_compression, lattice_norm,
                                    lattice_expectation, corner_transfer, higher_order_renormalisation, stripped_exponent)}
"""Name -> function of the dtype."""

DTYPES = ("float64", "complex128")

CASES = {
    **{f"{name}-{dtype}": (partial(f, dtype), {}) for name, f in PROGRAMS.items() for dtype in DTYPES},
    "circuit": (circuit, {"tags": ["U3", "RZZ"]}),
    **{f"{method}-{dtype}": (partial(isometry, method, dtype), {}) for method in METHODS for dtype in DTYPES},
}
"""Name -> function that makes network and loss, and options of the optimiser."""

MORE = {f"{name}-{dtype}": partial(f, name, dtype)
        for f, names in ((split, SPLITS), (boundary, BOUNDARIES)) for name in names for dtype in DTYPES}
"""The same for further ways to split tensors and to contract boundaries."""
