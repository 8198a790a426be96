"""Derivatives of the products that sum over axes, to second order in both modes."""

import numpy as np
import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st

import tenferro as tfr
from tenferro._ops import contraction
from tenferro.testing import check_grads


def subscripts(text):
    return lambda *xs: tfr.einsum(text, *xs)


CASES = {
    "matmul": (tfr.matmul, (2, 3), (3, 4)),
    "matmul row": (tfr.matmul, (3,), (3, 2)),
    "matmul column": (tfr.matmul, (2, 3), (3,)),
    "matmul dot": (tfr.matmul, (3,), (3,)),
    "matmul batches": (tfr.matmul, (2, 2, 3), (2, 3, 2)),
    "matmul broadcast": (tfr.matmul, (2, 1, 2, 3), (3, 3, 2)),
    "matmul broadcast both": (tfr.matmul, (1, 2, 1, 2), (3, 1, 2, 1)),
    "matmul vector batches": (tfr.matmul, (2,), (3, 2, 2)),
    "matmul empty": (tfr.matmul, (2, 0), (0, 3)),
    "dot_general": (lambda x, y: tfr.dot_general(x, y, ((0, 2), (3, 1)), ((1,), (0,))), (2, 3, 2, 2), (3, 2, 2, 2)),
    "dot_general outer": (lambda x, y: tfr.dot_general(x, y, ((), ()), ((1,), (0,))), (2, 3), (3, 2)),
    "tensordot": (lambda x, y: tfr.tensordot(x, y, ((0, 1), (1, 0))), (2, 3, 2), (3, 2, 2)),
    "outer": (tfr.outer, (2, 2), (3,)),
    "vecdot": (tfr.vecdot, (2, 3), (1, 3)),
    "vecdot axis": (lambda x, y: tfr.vecdot(x, y, axis=0), (3, 2), (3, 1)),
    "dot": (contraction.dot, (2, 3), (2, 3, 2)),
    "inner": (contraction.inner, (2, 3), (2, 3)),
    "einsum matrix": (subscripts("ij,jk->ki"), (2, 3), (3, 2)),
    "einsum elementwise": (subscripts("ij,ji->ij"), (2, 3), (3, 2)),
    "einsum sums": (subscripts("ij,kl->i"), (2, 3), (2, 2)),
    "einsum scalar": (subscripts("ij,ij->"), (2, 3), (2, 3)),
    "einsum factor": (subscripts(",ij->ji"), (), (2, 3)),
    "einsum diagonals": (subscripts("iij,jkk->ik"), (2, 2, 3), (3, 2, 2)),
    "einsum dots": (subscripts("...ij,...jk"), (2, 2, 3), (1, 3, 2)),
    "einsum broadcast": (subscripts("ij,jk->ik"), (2, 1), (3, 2)),
    "einsum broadcast kept": (subscripts("ij,j->ij"), (2, 1), (3,)),
    "einsum one operand": (subscripts("iji->j"), (2, 3, 2)),
    "einsum trace": (subscripts("ii"), (3, 3)),
    "einsum transpose": (subscripts("ijk->ki"), (2, 3, 2)),
}


@pytest.mark.parametrize("dtype", support.DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_second_order(case, dtype):
    f, *shapes = CASES[case]
    rng = np.random.default_rng(0)
    check_grads(f, [support.random_layout(support.sample(rng, shape, dtype), rng) for shape in shapes], order=2)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(support.DIFF_DTYPES),
       st.sampled_from(["matmul", "dot_general", "einsum diagonals"]))
def test_any_layout(seed, dtype, case):
    f, *shapes = CASES[case]
    rng = np.random.default_rng(seed)
    check_grads(f, [support.random_layout(support.sample(rng, shape, dtype), rng) for shape in shapes], order=2)


@pytest.mark.parametrize("order", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_matrices_large_enough_for_blas(dtype, order):
    rng = np.random.default_rng(1)
    a, b = [np.array(support.sample(rng, shape, dtype), order=o) for shape, o in zip([(3, 12, 15), (15, 11)], order)]
    check_grads(tfr.matmul, [a, b], order=2)


@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("f8", "c8"), ("c16", "f4"), ("f4", "c16"), ("c8", "c16")], ids=str)
@pytest.mark.parametrize("case", ["matmul", "einsum sums", "vecdot"])
def test_mixed_dtypes(case, dtypes):
    f, *shapes = CASES[case]
    rng = np.random.default_rng(2)
    check_grads(f, [support.sample(rng, shape, dtype) for shape, dtype in zip(shapes, dtypes)], order=2)


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("dtype", ["i4", "?"])
def test_integer_operands_are_constants(dtype, position):
    rng = np.random.default_rng(3)
    args = [support.sample(rng, (3, 3), "c8"), support.sample(rng, (3, 3), "f8")]
    args[position] = support.sample(rng, (3, 3), dtype)
    check_grads(tfr.matmul, args, order=2)
    x = support.leaf(args[1 - position])
    assert (x @ args[position]).tracks_grad
    assert not (support.const(args[position]) @ support.const(args[position])).tracks_grad


def test_an_operand_may_be_both():
    rng = np.random.default_rng(4)
    check_grads(lambda x: x @ x, [support.sample(rng, (3, 3), "c16")], order=2)


def test_closed_form():
    """d tr(A B) = tr(dA B) + tr(A dB), so the gradient of Re tr(A B) is conj(B)' for A."""
    rng = np.random.default_rng(5)
    a, b = [support.sample(rng, (4, 4), "c16") for _ in range(2)]
    x, y = support.leaf(a), support.leaf(b)
    rt = x.runtime
    gx, gy = rt.grad(tfr.einsum("ij,ji->", x, y), [x, y])
    support.assert_same(gx, b.conj().T)
    support.assert_same(gy, a.conj().T)


@pytest.mark.parametrize("order", ["C", "F"])
def test_gradients_keep_the_order_of_the_operands(order):
    a, b, g = [np.array(np.random.default_rng(6).normal(size=(20, 20)), order=order) for _ in range(3)]
    x, y = support.leaf(a), support.leaf(b)
    for d in x.runtime.vjp(x @ y, [x, y], support.const(g)):
        assert support.value(d).flags[f"{order}_CONTIGUOUS"]


def test_only_what_active_arguments_need_is_saved():
    """A product with one tracked operand keeps the other one alone."""
    x = support.leaf(np.ones((50, 50)))
    before = support.live()[1]
    y = x @ np.ones((50, 50))
    y = y @ np.ones((50, 50))
    assert support.live()[1] - before < 3.5 * 50 * 50 * 8
