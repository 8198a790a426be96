"""Values and errors of contractions of any number of tensors. NumPy is the oracle.

Values are small whole numbers, also of floats: every sum is exact, whatever its order.
"""

import hypothesis.strategies as st
import numpy as np
import pytest
import support
from hypothesis import given, settings

import tenferro as tfr
from tenferro import errors

SEEDS = st.integers(0, 2**32 - 1)
DTYPES = [d.str[1:] for d in support.ALL_DTYPES]


def whole(rng, shape, dtype="f8", low=-2, high=2):
    x = support.sample(rng, shape, "i4", 0 if np.dtype(dtype).kind == "u" else low, high)
    if np.dtype(dtype).kind == "c":
        return (x + 1j * support.sample(rng, shape, "i4", low, high)).astype(dtype)
    return x.astype(dtype)


def tensors(rng, arrays):
    return [support.const(support.random_layout(a, rng)) for a in arrays]


def ones(*shape, dtype="f8"):
    return tfr.constant(np.ones(shape, dtype))


# ---- values ----------------------------------------------------------------------------------------------------------

@st.composite
def expressions(draw, most=5):
    """Terms, output, shapes: labels that are repeated, summed in one operand, broadcast or of length zero."""
    terms = draw(st.lists(st.lists(st.sampled_from("abcdef"), max_size=4), min_size=1, max_size=most))
    known = sorted({c for term in terms for c in term})
    out = draw(st.permutations(known)) if known else []
    out = out[:draw(st.integers(0, len(out)))]
    size = {c: draw(st.sampled_from([1, 2, 3, 3, 4])) for c in known}
    if known and draw(st.integers(0, 9)) == 0:
        size[known[0]] = 0
    shapes = [[size[c] for c in term] for term in terms]
    for term, shape in zip(terms, shapes):
        for axis, c in enumerate(term):
            if len(terms) > 1 and term.count(c) == 1 and draw(st.integers(0, 7)) == 0:
                shape[axis] = 1
    return terms, out, shapes


OPTIMIZE = st.sampled_from(["auto", "greedy", "optimal", True, False])


@settings(deadline=None, max_examples=300)
@given(SEEDS, expressions(), st.lists(st.sampled_from(DTYPES), min_size=5, max_size=5), OPTIMIZE)
def test_any_expression(seed, expression, dtypes, optimize):
    """NumPy takes the operands in their common dtype, in which its integers wrap as ours do."""
    rng = np.random.default_rng(seed)
    terms, out, shapes = expression
    arrays = [whole(rng, shape, dtype) for shape, dtype in zip(shapes, dtypes)]
    common = np.result_type(*arrays)
    text = ",".join(map("".join, terms)) + "->" + "".join(out)
    expected = np.asarray(np.einsum(text, *[a.astype(common) for a in arrays]), common)
    support.assert_same(tfr.einsum(text, *tensors(rng, arrays), optimize=optimize), expected)
    ints = [arg for a, term in zip(tensors(rng, arrays), terms) for arg in (a, [ord(c) * 1000 - 98500 for c in term])]
    support.assert_same(tfr.einsum(*ints, [ord(c) * 1000 - 98500 for c in out], optimize=optimize), expected)


@pytest.mark.parametrize(("text", "shapes"), [
    ("...ij,...jk,...kl->...il", [(2, 3, 3), (4, 1, 3, 3), (3, 3)]), ("a...,b...,c...->...abc", [(2, 3), (2, 1), (2,)]),
    ("...,...,...", [(2, 3), (3,), ()]), ("ij,jk,kl", [(2, 3), (3, 4), (4, 2)]), ("ij,ji,kk", [(2, 3), (3, 2), (4, 4)]),
    ("i,i,i->i", [(3,), (3,), (3,)]), ("i,i,i,i", [(3,)] * 4), (",,", [(), (), ()]), (",i,->i", [(), (3,), ()]),
    ("i,j,k,l->lkji", [(2,), (3,), (4,), (5,)]), ("iij,jkk,l->", [(2, 2, 3), (3, 2, 2), (4,)]),
    ("ij,jk,kl->il", [(0, 3), (3, 4), (4, 2)]), ("ij,jk,kl->il", [(2, 0), (0, 4), (4, 2)]),
    ("ea,fb,abcd,gc,hd->efgh", [(3, 3), (3, 3), (3, 3, 3, 3), (3, 3), (3, 3)]),
    ("ba,ca,da,ea->bcde", [(2, 5)] * 4), ("a,ab,abc->abc", [(20,), (20, 20), (20, 20, 20)])], ids=str)
def test_expressions(text, shapes):
    rng = np.random.default_rng(0)
    arrays = [whole(rng, shape) for shape in shapes]
    for _ in range(4):
        support.assert_same(tfr.einsum(text, *tensors(rng, arrays)), np.einsum(text, *arrays))


def test_integer_form_without_output_sorts_labels():
    rng = np.random.default_rng(1)
    a, b = whole(rng, (2, 3)), whole(rng, (3, 4))
    support.assert_same(tfr.einsum(a, [7, -2], b, [-2, 5]), (a @ b).T)
    support.assert_same(tfr.einsum(support.const(a), [1, 0]), a.T)
    support.assert_same(tfr.einsum(a, [np.int64(0), 10**30], b, (10**30, 1), range(2)), a @ b)


def test_integer_form_with_ellipsis():
    rng = np.random.default_rng(2)
    a, b, c = whole(rng, (4, 2, 3)), whole(rng, (3, 5)), whole(rng, (4, 1, 5))
    found = tfr.einsum(a, [..., 100], b, [100, 200], c, [..., 200], [200, ...])
    support.assert_same(found, np.einsum("...i,ij,...j->j...", a, b, c))


@pytest.mark.parametrize("count", [30, 60])
def test_more_labels_than_letters(count):
    """A ring of matrices has as many labels as matrices; their product in order is the oracle."""
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=(2, 3, 2)) / 2 for _ in range(count)]
    rest = np.linalg.multi_dot([a.sum(1) for a in arrays[4:]])
    expected = np.einsum("awb,bxc,cyd,dze,ea->wxyz", *arrays[:4], rest)
    args = []
    for k, a in enumerate(arrays):
        args += [a, [1000 * k, 1000 * k + 1, 1000 * ((k + 1) % count)]]
    for optimize in ("auto", False):
        found = tfr.einsum(*args, [1, 1001, 2001, 3001], optimize=optimize)
        support.assert_same(found, expected, rtol=1e-12)


def test_many_labels_in_two_operands():
    rng = np.random.default_rng(4)
    a, b = whole(rng, (2,) * 10 + (1,) * 40), whole(rng, (2,) * 6 + (1,) * 30)
    la, lb = list(range(50)), [*range(4), 100, 101, *range(60, 90)]
    expected = np.tensordot(a.reshape(16, 64), b.reshape(16, 4), ((0,), (0,))).reshape((2,) * 8)
    support.assert_same(tfr.einsum(a, la, b, lb, [*range(4, 10), 100, 101]), expected)


def test_symbols_beyond_ascii():
    opt_einsum = pytest.importorskip("opt_einsum")
    s = [opt_einsum.get_symbol(k) for k in (3, 60, 100, 4000)]
    rng = np.random.default_rng(5)
    a, b, c = whole(rng, (2, 3)), whole(rng, (3, 4)), whole(rng, (4, 5))
    text = f"{s[0]}{s[1]},{s[1]}{s[2]},{s[2]}{s[3]}"
    support.assert_same(tfr.einsum(f"{text}->{s[3]}{s[0]}", a, b, c), (a @ b @ c).T)
    support.assert_same(tfr.einsum(text, a, b, c), a @ b @ c)


def test_real_operands_stay_real_until_they_meet_a_complex_one():
    rng = np.random.default_rng(6)
    a, b, c = whole(rng, (3, 3), "f4"), whole(rng, (3, 3), "i2"), whole(rng, (3, 3), "c16")
    support.assert_same(tfr.einsum("ij,jk,kl", a, b, c), np.einsum("ij,jk,kl", a, b, c))


def test_integers_are_promoted_each_on_its_own():
    args = [np.ones(2, dtype) for dtype in ("i1", "u2", "f4")]
    for k in range(3):
        support.assert_same(tfr.einsum("i,i,i->i", *args[k:], *args[:k]), np.ones(2, np.result_type(*args)))


def test_lists_scalars_and_arrays():
    support.assert_same(tfr.einsum("i,,ij->j", [1, 2], 3, np.ones((2, 2))), np.array([9.0, 9.0]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order_of_the_result(order):
    rng = np.random.default_rng(7)
    arrays = [support.const(np.array(whole(rng, (5, 5)), order=order)) for _ in range(4)]
    for text in ("ab,bc,cd,de->ae", "ab,bc,cd,de->ea", "ab,ac,ad,ae->bcde"):
        assert tfr.einsum(text, *arrays).numpy().flags[f"{order}_CONTIGUOUS"]


def test_session_and_runtime():
    rt = tfr.EagerRuntime()
    x = rt.constant_from(tfr.Tensor.from_numpy(np.ones((2, 2))))
    assert tfr.einsum("ij,jk,kl", np.ones((2, 2)), x, np.ones((2, 2))).runtime is rt
    with pytest.raises(errors.ContextMismatchError):
        tfr.einsum("ij,jk,kl", x, x, ones(2, 2))


# ---- errors ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("labels", "place"), [
    (([0, 1], [1, 2], [0, 9]), "output, index 1"), (([0, 1], [1, 2], [0, 0]), "output, index 1"),
    (([0, 1, 2], [1, 2], [0]), "operand 0"), (([0, 1], [1], [0]), "operand 1"),
    (([..., 0, ...], [1, 2], [0]), "operand 0, index 2"), (([..., 0, 1], [..., 2], [0]), "output")], ids=str)
def test_integer_form_says_where_labels_are_wrong(labels, place):
    a, b, out = labels
    with pytest.raises(errors.ValidationError, match=f", {place}: ") as e:
        tfr.einsum(ones(2, 2), a, ones(2, 2), b, out)
    assert e.value.argument == "subscripts"


@pytest.mark.parametrize("args", [
    (), (np.ones(2),), (np.ones(2), "i"), (np.ones(2), [0.5]), (np.ones(2), 0), (np.ones(2), [0], [0.0]),
    ("i,i,i", np.ones(2), np.ones(2)), ("i", np.ones(2), np.ones(2)), (np.ones(2), [None])], ids=str)
def test_malformed_calls(args):
    with pytest.raises((errors.ValidationError, TypeError)) as e:
        tfr.einsum(*args)
    if args:
        assert e.value.argument == "subscripts"


def test_a_kept_plan_does_not_let_floats_pass():
    tfr.einsum(ones(2), [1], [1])
    with pytest.raises(errors.ValidationError):
        tfr.einsum(ones(2), [1.0], [1])


@pytest.mark.parametrize(("text", "shapes", "words"), [
    ("ij,jk,kl", [(2, 3), (4, 5), (5, 2)], ["label 'j'", "length 3 in operand 0 (axis 1)", "4 in operand 1 (axis 0)"]),
    ("ij,jk,jl", [(2, 1), (4, 5), (5, 2)], ["label 'j'", "length 4 in operand 1 (axis 0)", "5 in operand 2 (axis 0)"]),
    ("ii,j,j", [(2, 3), (4,), (4,)], ["label 'i'", "length 2 in operand 0 (axis 0)", "3 in operand 0 (axis 1)"]),
    ("ij,jk", [(2, 3), (4, 5)], ["label 'j'", "operand 0", "operand 1"]),
    ("...i,...i,i", [(2, 3), (4, 3), (3,)], ["axis -1 of '...'", "length 2 in operand 0", "4 in operand 1"])], ids=str)
def test_lengths_that_differ_are_named(text, shapes, words):
    with pytest.raises(errors.ShapeMismatchError) as e:
        tfr.einsum(text, *[ones(*s) for s in shapes])
    assert all(word in str(e.value) for word in [repr(text), *words])
    assert e.value.op == "einsum"
    assert {e.value.expected, e.value.actual} < {n for s in shapes for n in s}


def test_integer_labels_are_named():
    with pytest.raises(errors.ShapeMismatchError, match=r"\[0, 70\], \[70\], \[\.\.\.\]: label 70 has length 2 "):
        tfr.einsum(ones(2, 2), [0, 70], ones(3), [70], ones(), [...])


def test_partial_products_with_too_many_axes():
    args = []
    for labels in (range(40), range(40, 80), [*range(20), *range(40, 60)]):
        args += [ones(*[1] * 40), labels]
    out = [*range(20, 40), *range(60, 80)]
    with pytest.raises(errors.ValidationError, match="80 axes"):
        tfr.einsum(*args, out, optimize=False)
    assert tfr.einsum(*args, out, optimize=[(0, 2), (0, 1)]).shape == (1,) * 40
