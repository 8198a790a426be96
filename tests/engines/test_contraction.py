"""Values, memory order and errors of the products that sum over axes; NumPy is the oracle.

Values are small whole numbers, also of floats: every sum is exact, whatever its order.
"""

import subprocess
import sys

import hypothesis.strategies as st
import numpy as np
import pytest
import support
from hypothesis import example, given, settings

import tenferro as tfr
from tenferro import errors

SIDES = st.sampled_from([0, 1, 2, 3, 5, 9, 17])
DTYPES = st.sampled_from([d.str[1:] for d in support.ALL_DTYPES])
TERMS = st.lists(st.sampled_from("abcd"), max_size=4)
SEEDS = st.integers(0, 2**32 - 1)


def whole(rng, shape, dtype):
    """Whole numbers whose products and sums are exact in every dtype."""
    x = support.sample(rng, shape, "i4", 0 if np.dtype(dtype).kind == "u" else -3, 3)
    if np.dtype(dtype).kind == "c":
        return (x + 1j * support.sample(rng, shape, "i4", -3, 3)).astype(dtype)
    return x.astype(dtype)


def shuffled(rng, letters):
    return "".join(rng.permutation(list(letters))) if letters else ""


def tensors(rng, *arrays):
    return [support.const(support.random_layout(a, rng)) for a in arrays]


# ---- matmul ----------------------------------------------------------------------------------------------------------

@settings(deadline=None)
@given(SEEDS, support.broadcastable_shapes(max_dims=3), SIDES, SIDES, SIDES, DTYPES, DTYPES,
       st.sampled_from(["mm", "vm", "mv", "vv"]))
def test_matmul(seed, batch, m, k, n, dtype_a, dtype_b, kinds):
    rng = np.random.default_rng(seed)
    a = whole(rng, (k,) if kinds[0] == "v" else (*batch.input_shapes[0], m, k), dtype_a)
    b = whole(rng, (k,) if kinds[1] == "v" else (*batch.input_shapes[1], k, n), dtype_b)
    x, y = tensors(rng, a, b)
    support.assert_same(x @ y, a @ b)


@pytest.mark.parametrize("order", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("dtype", support.DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(40, 30, 50), (1, 30, 40), (40, 30, 1), (40, 1, 50), (1, 3000, 1), (2, 3000, 2)],
                         ids=str)
def test_matrices_that_blas_takes_as_they_are(shape, dtype, order):
    m, k, n = shape
    rng = np.random.default_rng(0)
    a = np.array(whole(rng, (m, k), dtype), order=order[0])
    b = np.array(whole(rng, (k, n), dtype), order=order[1])
    support.assert_same(support.const(a) @ support.const(b), a @ b)


@pytest.mark.parametrize("dtype", support.ALL_DTYPES, ids=str)
def test_long_sums_wrap_and_bool_saturates(dtype):
    a = np.full((3, 700), 1, dtype)
    support.assert_same(support.const(a) @ support.const(a.T), a @ a.T)


def test_matmul_takes_lists_and_arrays():
    assert (np.ones((2, 3)) @ tfr.constant(np.ones((3, 1)))).shape == (2, 1)
    assert tfr.matmul([[1, 2]], [[3], [4]]).numpy().tolist() == [[11]]


def test_operands_with_the_most_axes():
    a = np.arange(4.0).reshape(*[1] * 62, 2, 2)
    support.assert_same(support.const(a) @ support.const(a), a @ a)


def test_nan_and_infinity_propagate():
    a = np.array([[np.inf, 0.0], [1.0, np.nan]])
    b = np.array([[0.0, 1.0], [1.0, 0.0]])
    with np.errstate(invalid="ignore"):
        expected = a @ b
    support.assert_same(support.const(a) @ support.const(b), expected)


def test_reused_memory_does_not_show_through():
    a, b = np.ones((80, 80)), np.ones(80)
    for _ in range(3):
        poison = tfr.constant(np.full(80, np.nan)), tfr.constant(np.full((80, 80), np.nan))
        del poison
        support.assert_same(support.const(a) @ support.const(b), a @ b)
        support.assert_same(support.const(a) @ support.const(a), a @ a)


# ---- axes by number --------------------------------------------------------------------------------------------------

@settings(deadline=None)
@given(SEEDS, st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), DTYPES,
       st.sampled_from([1, 2, 3, 6]))
def test_dot_general(seed, n_batch, n_sum, n_left, n_right, dtype, longest):
    """einsum of NumPy with the same axes named by letters."""
    rng = np.random.default_rng(seed)
    letters = iter("abcdefgh")
    batch, summed, left, right = ["".join(next(letters) for _ in range(n)) for n in (n_batch, n_sum, n_left, n_right)]
    size = {c: int(rng.integers(1, longest + 1)) for c in "abcdefgh"}
    term_a, term_b = [shuffled(rng, batch + summed + own) for own in (left, right)]
    a, b = [whole(rng, [size[c] for c in term], dtype) for term in (term_a, term_b)]
    x, y = tensors(rng, a, b)
    found = tfr.dot_general(x, y, contracting=([term_a.index(c) for c in summed], [term_b.index(c) for c in summed]),
                            batch=([term_a.index(c) for c in batch], [term_b.index(c) for c in batch]))
    out = batch + "".join(c for c in term_a if c in left) + "".join(c for c in term_b if c in right)
    support.assert_same(found, np.einsum(f"{term_a},{term_b}->{out}", a, b))


@pytest.mark.parametrize("axes", [0, 1, 2, ((0, 1), (1, 0)), (1, 0), ([-1], [0]), ((), ())], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "c16", "i8", "?"])
def test_tensordot(axes, dtype):
    rng = np.random.default_rng(1)
    a, b = whole(rng, (3, 3, 3), dtype), whole(rng, (3, 3, 2, 2), dtype)
    for _ in range(5):
        x, y = tensors(rng, a, b)
        support.assert_same(tfr.tensordot(x, y, axes), np.tensordot(a, b, axes))


def test_tensordot_sums_two_axes_by_default():
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(12.0).reshape(3, 4)
    support.assert_same(tfr.tensordot(support.const(a), support.const(b)), np.tensordot(a, b))


@settings(deadline=None)
@given(SEEDS, support.broadcastable_shapes(max_dims=3), SIDES, DTYPES, st.integers(0, 3))
def test_vecdot(seed, batch, k, dtype, axis):
    rng = np.random.default_rng(seed)
    operands = []
    for shape in batch.input_shapes:
        shape = list(shape)
        shape.insert(len(shape) - min(axis, len(shape)), k)
        operands.append(whole(rng, shape, dtype))
    a, b = operands
    axis = -1 - min(axis, a.ndim - 1, b.ndim - 1)
    if a.shape[axis] != k or b.shape[axis] != k:
        return
    x, y = tensors(rng, a, b)
    product = np.logical_and if dtype == "b1" else np.multiply
    expected = product(np.moveaxis(a, axis, -1).conj(), np.moveaxis(b, axis, -1))
    expected = expected.any(-1) if dtype == "b1" else expected.sum(-1, dtype=expected.dtype)
    support.assert_same(tfr.vecdot(x, y, axis=axis), expected)


@pytest.mark.parametrize("shapes", [((3,), (4,)), ((), (2,)), ((2, 3), (2, 2)), ((0,), (3,)), ((40,), (300,))], ids=str)
@pytest.mark.parametrize("dtype", support.ALL_DTYPES, ids=str)
def test_outer(shapes, dtype):
    rng = np.random.default_rng(2)
    a, b = [whole(rng, shape, dtype) for shape in shapes]
    x, y = tensors(rng, a, b)
    support.assert_same(tfr.outer(x, y), np.outer(a, b))


@pytest.mark.parametrize("name", ["dot", "inner"])
def test_dot_and_inner(name):
    from tenferro._ops import contraction
    rng = np.random.default_rng(3)
    for shapes in [((), (3,)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 3)), ((4, 2, 3), (2, 3, 3))]:
        a, b = [whole(rng, shape, "f8") for shape in shapes]
        support.assert_same(getattr(contraction, name)(*tensors(rng, a, b)), getattr(np, name)(a, b))


# ---- einsum ----------------------------------------------------------------------------------------------------------

EINSUMS = [
    "ij,jk->ik", "ij,jk", "ij,kj->ki", "ji,jk->ik", "ij,ij->", "ij,ij->ij", "i,j->ij", "i,j->ji", "ij,j->i",
    "bij,bjk->bik", "ijb,jkb->ikb", "ij,jk->ki", "ii,ij->j", "ii->i", "ii->", "ij->ji", "ij->", "ij->i", "ji",
    "iij->ji", "ij,kl->", "ij,kl->ki", "...ij,...jk->...ik", "...ij,jk", "i...,i...->...", "...,...->...", "...i->...",
    "i...->...i", ",ij->ij", " ij , jk -> ik ", "Ab,bA", "iij,jkk->ik", "ijk,jil->kl", "abc,cd->adb", "abc,bd->acd",
    "abcd,dcef->abfe"]


@pytest.mark.parametrize("subscripts", EINSUMS)
def test_einsum(subscripts):
    rng = np.random.default_rng(4)
    inputs = subscripts.replace(" ", "").split("->")[0].split(",")
    for dtype in ("f8", "c8", "i2"):
        for side in (1, 2, 3, 12):
            arrays = [whole(rng, (side,) * len(term.replace("...", "..")), dtype) for term in inputs]
            support.assert_same(tfr.einsum(subscripts, *tensors(rng, *arrays)), np.einsum(subscripts, *arrays))


@settings(deadline=None, max_examples=300)
@given(SEEDS, TERMS, TERMS, st.booleans(), DTYPES)
@example(0, list("ab"), list("ab"), False, "f8")
def test_einsum_of_any_subscripts(seed, term_a, term_b, single, dtype):
    rng = np.random.default_rng(seed)
    terms = [term_a] if single else [term_a, term_b]
    known = sorted({c for term in terms for c in term})
    out = [c for c in rng.permutation(known) if rng.integers(2)] if known else []
    size = {c: int(rng.integers(0 if rng.integers(8) == 0 else 1, 5)) for c in "abcd"}
    arrays = [whole(rng, [size[c] for c in term], dtype) for term in terms]
    subscripts = ",".join("".join(term) for term in terms) + "->" + "".join(out)
    expected = np.einsum(subscripts, *arrays)
    support.assert_same(tfr.einsum(subscripts, *tensors(rng, *arrays)), np.asarray(expected, dtype))


@settings(deadline=None, max_examples=200)
@given(SEEDS, st.sampled_from(["f8", "f4", "c16", "i8"]), st.sampled_from([2, 4, 9]))
def test_every_arrangement_of_axes(seed, dtype, side):
    """Two axes of each group, in any order in each operand: fused, spilled or packed."""
    rng = np.random.default_rng(seed)
    batch, rows, columns = [pair[:rng.integers(3)] for pair in ("ab", "cd", "ef")]
    summed = "gh"[:rng.integers(1, 3)]
    terms = [shuffled(rng, group) for group in (batch + rows + summed, batch + columns + summed)]
    out = shuffled(rng, batch + rows + columns)
    size = {c: int(rng.integers(1, side + 1)) for c in "abcdefgh"}
    a, b = [whole(rng, [size[c] for c in term], dtype) for term in terms]
    subscripts = f"{terms[0]},{terms[1]}->{out}"
    expected = np.einsum(subscripts, a, b, optimize=True).astype(dtype)
    support.assert_same(tfr.einsum(subscripts, *tensors(rng, a, b)), expected)


@pytest.mark.parametrize(("subscripts", "shape_a", "shape_b"), [
    ("ij,jk->ik", (2, 1), (3, 4)), ("ij,jk->ik", (2, 3), (1, 4)), ("ij,ij->ij", (1, 3), (2, 1)),
    ("ij,j->", (2, 3), (1,)), ("...i,...i->...", (2, 1, 3), (4, 3)),
    ("bij,bjk->bik", (1, 20, 20), (3, 20, 20)), ("i,i->i", (1,), (3,))])
def test_einsum_broadcasts_axes_of_length_one(subscripts, shape_a, shape_b):
    rng = np.random.default_rng(5)
    a, b = whole(rng, shape_a, "f8"), whole(rng, shape_b, "f8")
    support.assert_same(tfr.einsum(subscripts, *tensors(rng, a, b)), np.einsum(subscripts, a, b))


def test_einsum_sums_in_the_common_dtype():
    a, b = np.full((2, 300), 100, "i1"), np.ones(2)
    support.assert_same(tfr.einsum("ij,i->", a, tfr.constant(b)), np.einsum("ij,i->", a, b))


# ---- memory order ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("order", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("side", [3, 40])
def test_result_is_column_major_unless_all_operands_are_row_major(order, side):
    rng = np.random.default_rng(6)
    a, b = [np.array(whole(rng, (side, side), "f8"), order=o) for o in order]
    products = [tfr.matmul, lambda x, y: tfr.tensordot(x, y, 1), lambda x, y: tfr.einsum("ij,kj->ki", x, y),
                lambda x, y: tfr.einsum("ij,kl->likj", x, y), lambda x, y: tfr.dot_general(x, y, ((0,), (1,)))]
    x, y = support.const(a), support.const(b)
    for f in products:
        assert f(x, y).numpy().flags["C_CONTIGUOUS" if order == "CC" else "F_CONTIGUOUS"]
    batch = tfr.matmul(support.const(np.array(whole(rng, (2, side, side), "f8"), order=order[0])), support.const(b))
    assert batch.numpy().flags["C_CONTIGUOUS" if order == "CC" else "F_CONTIGUOUS"]


def test_vectors_make_a_row_major_result():
    assert tfr.outer(support.const(np.ones(3)), support.const(np.ones(4))).numpy().flags.c_contiguous


# ---- errors ----------------------------------------------------------------------------------------------------------

def ones(*shape, dtype="f8"):
    return tfr.constant(np.ones(shape, dtype))


@pytest.mark.parametrize(("shape_a", "shape_b"), [
    ((2, 3), (4, 2)), ((3,), (4,)), ((), (3,)), ((3,), ()), ((2, 2, 3), (3, 3, 2)), ((2, 3), (3, 2, 2)),
    ((4, 1, 2), (3, 5, 2, 1)), ((2, 3), (2,))], ids=str)
def test_matmul_refuses_shapes(shape_a, shape_b):
    with pytest.raises(errors.ShapeMismatchError) as e:
        ones(*shape_a) @ ones(*shape_b)
    assert e.value.op == "matmul"
    assert (e.value.expected, e.value.actual) == (shape_a, shape_b)


@pytest.mark.parametrize(("call", "error"), [
    (lambda: tfr.tensordot(ones(2, 3), ones(2, 3), 1), errors.ShapeMismatchError),
    (lambda: tfr.tensordot(ones(2, 3), ones(2, 3), 3), errors.AxisError),
    (lambda: tfr.tensordot(ones(2, 3), ones(2, 3), -1), errors.AxisError),
    (lambda: tfr.tensordot(ones(2, 3), ones(2, 3), ((0, 1), (0,))), errors.ShapeMismatchError),
    (lambda: tfr.tensordot(ones(2, 3), ones(2, 3), ((0, 2), (0, 1))), errors.AxisError),
    (lambda: tfr.tensordot(ones(2, 3), ones(2, 3), ((0, 0), (0, 0))), errors.AxisError),
    (lambda: tfr.tensordot(ones(2, 3), ones(2, 3), (1, 2, 3)), errors.ValidationError),
    (lambda: tfr.dot_general(ones(2, 3), ones(2, 3), ((0,), (1,))), errors.ShapeMismatchError),
    (lambda: tfr.dot_general(ones(2, 3), ones(2, 3), ((0,), (0,)), ((0,), (0,))), errors.AxisError),
    (lambda: tfr.dot_general(ones(2, 3), ones(2, 3), ((0,), (0,)), ((-2,), (1,))), errors.ShapeMismatchError),
    (lambda: tfr.dot_general(ones(2, 3), ones(2, 3), ((5,), (0,))), errors.AxisError),
    (lambda: tfr.dot_general(ones(2, 3), ones(2, 3), 0), errors.ValidationError),
    (lambda: tfr.vecdot(ones(2, 3), ones(2, 4)), errors.ShapeMismatchError),
    (lambda: tfr.vecdot(ones(2, 3), ones(3, 3)), errors.ShapeMismatchError),
    (lambda: tfr.vecdot(ones(), ones(3)), errors.AxisError),
    (lambda: tfr.vecdot(ones(2, 3), ones(2, 3), axis=2), errors.AxisError),
    (lambda: tfr.tensordot(ones(*[1] * 40), ones(*[1] * 40), 0), errors.ValidationError),
])
def test_errors(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize(("subscripts", "position"), [
    ("ij,j1->i", 4), ("ij,jk->il", 8), ("ij,jk->ii", 8), ("ij.,jk->ik", 2), ("i...j...,jk", 5), ("ij,jk->i->k", 8),
    ("ij,jk->i,k", 8), ("ij,jk-ik", 5), ("ijk,jk->ik", 0), ("ij,j->i", 3), ("...ij,...jkl", 6), ("...j,j...->j", 11)])
def test_einsum_says_where_subscripts_are_wrong(subscripts, position):
    with pytest.raises(errors.ValidationError, match=rf"position {position}:") as e:
        tfr.einsum(subscripts, ones(2, 2), ones(2, 2))
    assert e.value.argument == "subscripts"
    assert repr(subscripts) in str(e.value)


@pytest.mark.parametrize(("call", "error"), [
    (lambda: tfr.einsum("ij,jk", ones(2, 3), ones(2, 3)), errors.ShapeMismatchError),
    (lambda: tfr.einsum("ii", ones(2, 3)), errors.ShapeMismatchError),
    (lambda: tfr.einsum("ii", ones(1, 3)), errors.ShapeMismatchError),
    (lambda: tfr.einsum("ij,jk", ones(2, 3)), errors.ValidationError),
    (lambda: tfr.einsum("ij", ones(2, 3), ones(2)), errors.ValidationError),
    (lambda: tfr.einsum("ij"), errors.ValidationError),
    (lambda: tfr.einsum(ones(2, 3)), errors.ValidationError),
])
def test_einsum_errors(call, error):
    with pytest.raises(error):
        call()


def test_foreign_operands_are_refused():
    other = tfr.EagerRuntime()
    x = ones(2, 2)
    y = tfr.EagerRuntime.with_eager_session(other, lambda s: ones(2, 2))
    for f in (tfr.matmul, tfr.outer, lambda a, b: tfr.einsum("ij,jk", a, b)):
        with pytest.raises(errors.ContextMismatchError):
            f(x, y)


def repeated(*shape):
    """A huge tensor of ones in the memory of one number."""
    return tfr.constant(np.broadcast_to(np.ones(()), shape), copy=False)


@pytest.mark.parametrize("shape", [(2, 2**31, 2), (3, 2**40, 5), (1, 2**31, 2)], ids=str)
def test_dimensions_beyond_32_bits_are_refused(shape):
    m, k, n = shape
    with pytest.raises(errors.IntegerOverflowError) as e:
        repeated(m, k) @ repeated(k, n)
    assert e.value.expected == 2**31 - 1


def test_results_beyond_memory_are_refused():
    with pytest.raises(errors.IntegerOverflowError):
        tfr.outer(repeated(2**40), repeated(2**40))


def test_nothing_is_left_alive():
    """Neither by results nor by errors, which give parameters and metadata back."""
    def work():
        rng = np.random.default_rng(7)
        for seed in range(20):
            a = support.const(support.random_layout(np.ones((3, 4, 20, 20)), np.random.default_rng(seed)))
            b = support.const(support.random_layout(np.ones((20, 4, 20)), np.random.default_rng(seed + 1)))
            tfr.einsum("abcd,dbe->bcae", a, b)
            tfr.vecdot(a, a)
        for f in (lambda: tfr.outer(repeated(2**40), repeated(2**40)), lambda: repeated(2, 2**31) @ repeated(2**31, 2),
                  lambda: tfr.tensordot(ones(*[1] * 40), ones(*[1] * 40), 0)):
            with pytest.raises(errors.TenferroError):
                f()
        return rng
    work()
    before = support.live()
    work()
    assert support.live() == before


def test_scipy_is_loaded_by_the_first_large_product_and_no_more_of_it_than_needed():
    code = """
import sys
import tenferro as tfr
a = tfr.constant([[1.0, 2.0], [3.0, 4.0]])
assert (a @ a).numpy().tolist() == [[7.0, 10.0], [15.0, 22.0]]
assert "scipy" not in sys.modules
b = tfr.constant([[1.0] * 30] * 30)
assert (b @ b).numpy().tolist() == [[30.0] * 30] * 30
assert "scipy.linalg" not in sys.modules
import scipy.linalg, scipy.linalg.cython_blas
assert scipy.linalg.cython_blas.__pyx_capi__
assert scipy.linalg.lu([[2.0]])[2][0, 0] == 2
"""
    subprocess.run([sys.executable, "-c", code], check=True)
