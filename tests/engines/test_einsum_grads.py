"""Derivatives of contractions of more than two tensors, to second order in both modes, and what they cost."""

import numpy as np
import pytest
import support

import tenferro as tfr
from tenferro import errors
from tenferro._core import memory
from tenferro.testing import check_grads

GRADS = {
    "chain": ("ij,jk,kl->il", [(2, 3), (3, 2), (2, 2)]),
    "ring": ("iaj,jbk,kci->abc", [(2, 2, 2)] * 3),
    "hadamard": ("ij,ij,ij->ij", [(2, 3)] * 3),
    "batches": ("bij,bjk,bkl->bil", [(2, 2, 2)] * 3),
    "summed alone": ("ij,kl,m->ik", [(2, 2), (2, 3), (3,)]),
    "diagonals": ("iij,jkk,ij->k", [(2, 2, 3), (3, 2, 2), (2, 3)]),
    "broadcast": ("ij,jk,ki->ik", [(2, 1), (3, 2), (1, 2)]),
    "ellipsis": ("...i,...ij,j...->...", [(2, 2), (3, 1, 2, 2), (2, 2)]),
    "scalars": (",i,->i", [(), (3,), ()]),
    "star": ("ai,bi,ci,i->abc", [(2, 3), (2, 3), (2, 3), (3,)]),
    "empty": ("ij,jk,kl->il", [(2, 0), (0, 3), (3, 2)]),
}


@pytest.mark.parametrize("dtype", support.DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("case", GRADS)
def test_second_order(case, dtype):
    text, shapes = GRADS[case]
    rng = np.random.default_rng(10)
    args = [support.random_layout(support.sample(rng, s, dtype, -1, 1), rng) for s in shapes]
    check_grads(lambda *xs: tfr.einsum(text, *xs), args, order=2)


def test_mixed_dtypes_to_second_order():
    rng = np.random.default_rng(11)
    args = [support.sample(rng, (2, 2), dtype, -1, 1) for dtype in ("f8", "c16", "f8", "c16")]
    check_grads(lambda *xs: tfr.einsum("ij,jk,kl,li->", *xs), args, order=2)
    integers = np.array([[2, 1], [0, 3]])
    check_grads(lambda *xs: tfr.einsum("ij,jk,kl,lm,mi->", *xs, integers), args, order=1)


def contractions(f):
    """Number of products that a call computes."""
    with tfr.default_runtime().profile() as profile:
        f()
    return {row.op: row.calls for row in profile.rows()}.get("contract", 0)


@pytest.mark.parametrize("optimize", ["auto", False])
@pytest.mark.parametrize("n", [3, 10, 40])
def test_derivative_of_n_factors_costs_a_multiple_of_n(n, optimize):
    """Every product has two derivatives; a rule for all N factors at once would make N * (N - 2) products."""
    rt = tfr.default_runtime()
    rng = np.random.default_rng(12)
    xs = [tfr.variable(rng.normal(size=(3, 3))) for _ in range(n)]
    args = [arg for k, x in enumerate(xs) for arg in (x, [k, k + 1])]
    out = []
    assert contractions(lambda: out.append(tfr.einsum(*args, [0, n], optimize=optimize))) == n - 1
    cotangent = tfr.constant(np.ones((3, 3)))
    assert contractions(lambda: rt.vjp(out[0], xs, cotangent)) == 2 * (n - 1)
    assert contractions(lambda: rt.vjp(out[0], xs[0], cotangent)) <= n - 1
    assert contractions(lambda: rt.jvp(out[0], xs[0], cotangent)) <= n - 1
    rows = np.linalg.multi_dot([x.detach().numpy() for x in xs[1:]]).sum(1)
    support.assert_same(rt.vjp(out[0], xs[0], cotangent), np.broadcast_to(rows, (3, 3)), rtol=1e-12)


def test_nothing_is_left_alive():
    def work():
        x = support.leaf(np.ones((3, 3)))
        g, = tfr.default_runtime().grad(tfr.einsum("ij,jk,kl,lm->", x, x, x, x), [x])
        assert g.shape == (3, 3)
        for args in (("ij,jk,kl", x, x, np.ones(4)), ("ij,jk,kl", x, x, np.ones((4, 4)))):
            with pytest.raises(errors.ValidationError):
                tfr.einsum(*args)
        tfr.default_runtime().clear_caches()
    work()
    before = memory.live()
    work()
    assert memory.live() == before
