"""Contractions of any number of tensors: values, paths, plans, errors and derivatives. NumPy is the oracle.

Values are small whole numbers, also of floats: every sum is exact, whatever its order.
"""

import subprocess
import sys
import threading

import hypothesis.strategies as st
import numpy as np
import pytest
import support
from hypothesis import given, settings

import tenferro as tfr
from tenferro import errors
from tenferro._ops import paths, plans
from tenferro._ops.subscripts import parse
from tenferro.testing import check_grads

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


def plan_stats():
    return tfr.default_runtime().cache_stats().contraction_plans


@pytest.fixture
def limits():
    """Sets the limits of the cache of plans, for one test."""
    tfr.default_runtime().clear_caches()
    old = plans.set_plan_limits(10, 2**20)
    yield plans.set_plan_limits
    plans.set_plan_limits(*old)


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


# ---- paths -----------------------------------------------------------------------------------------------------------

def products(text, shapes, optimize="auto"):
    """Pairs of slots that are contracted."""
    expression = parse(text, [len(s) for s in shapes])
    return [step[:2] for step in paths.plan(expression, shapes, optimize)[1]]


SHAPES = [(2, 30), (30, 30), (30, 30), (30, 3)]


def test_path_given_by_the_caller():
    text = "ab,bc,cd,de->ae"
    assert products(text, SHAPES, ((2, 3), (1, 2), (0, 1))) == [(2, 3), (1, 2), (0, 1)]
    assert products(text, SHAPES, ((1, 2), (0, 2), (0, 1))) == [(1, 2), (0, 1), (3, 0)]
    assert products(text, SHAPES, ((1, 2, 0), (0, 1))) == [(1, 2), (1, 0), (3, 1)]
    assert products(text, SHAPES, ((0,), (0, 1, 2, 3))) == [(1, 2), (1, 3), (1, 0)]
    assert products(text, SHAPES, False) == [(0, 1), (0, 2), (0, 3)]
    rng = np.random.default_rng(8)
    arrays = [whole(rng, s) for s in SHAPES]
    expected = np.linalg.multi_dot(arrays)
    for path in ([(2, 3), (1, 2), (0, 1)], [[1, 2], [0, 2], [0, 1]], ["einsum_path", (1, 2, 0), (0, 1)],
                 [(0, 1, 2, 3)], ((np.int64(3), 0), (0, 1), (0, 1))):
        support.assert_same(tfr.einsum(text, *arrays, optimize=path), expected)


def test_path_found_is_cheap():
    """A product of matrices with a short end starts at that end."""
    assert sorted(products("ab,bc,cd->ad", [(2, 30), (30, 30), (30, 30)])[0]) == [0, 1]
    assert sorted(products("ab,bc,cd->ad", [(30, 30), (30, 30), (30, 2)])[0]) == [1, 2]


def test_einsum_path_agrees_with_einsum():
    arrays = [np.ones(s) for s in SHAPES]
    path, text = tfr.einsum_path("ab,bc,cd,de->ae", *arrays)
    assert path[0] == "einsum_path"
    assert "ab,bc,cd,de->ae" in text
    support.assert_same(tfr.einsum("ab,bc,cd,de->ae", *arrays, optimize=path), np.linalg.multi_dot(arrays))
    assert np.einsum("ab,bc,cd,de->ae", *arrays, optimize=path).shape == (2, 3)
    assert tfr.einsum_path("ab,bc,cd,de->ae", *arrays, optimize=False)[0][1:] == [(0, 1, 2, 3)]


def test_optimizer_that_is_a_function():
    calls = []

    def backwards(inputs, output, sizes, memory_limit):
        calls.append((inputs, output, sizes))
        return [(1, 2), (0, 1)]
    a, b, c = np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 5))
    support.assert_same(tfr.einsum("ij,jk,kl->il", a, b, c, optimize=backwards), a @ b @ c)
    (inputs, output, sizes), = calls
    assert [len(labels) for labels in (*inputs, output)] == [2, 2, 2, 2]
    assert sorted(sizes.values()) == [2, 3, 4, 5]


def test_memory_limit():
    a, b, c = np.ones((9, 2)), np.ones((9, 2)), np.ones((2, 2))
    support.assert_same(tfr.einsum("ia,jb,ab->", a, b, c, optimize=("greedy", 4)), np.einsum("ia,jb,ab->", a, b, c))


@pytest.mark.parametrize("path", [
    [(0, 1)], [(0, 1), (0, 2)], [(0, 0), (0, 1)], [(0, -1), (0, 1)], [(0, 1), (0, 1), (0, 1)], [(), (0, 1, 2)], [],
    [0, 1], [("a", "b")], "no such algorithm", 7, [(0.5, 1), (0, 1)], ["einsum_path", (0, 1)], None], ids=str)
def test_bad_paths(path):
    with pytest.raises(errors.ValidationError) as e:
        tfr.einsum("ij,jk,kl->il", ones(2, 2), ones(2, 2), ones(2, 2), optimize=path)
    assert e.value.argument == "optimize"


def test_bad_path_for_two_operands():
    with pytest.raises(errors.ValidationError, match="step 0"):
        tfr.einsum("ij,jk", ones(2, 2), ones(2, 2), optimize=[(0, 2)])
    support.assert_same(tfr.einsum("ij,jk", ones(2, 2), ones(2, 2), optimize=[(0, 1)]), 2 * np.ones((2, 2)))
    support.assert_same(tfr.einsum("ij->ji", ones(2, 2), optimize="optimal"), np.ones((2, 2)))


def test_opt_einsum_is_loaded_by_the_first_search():
    code = """
import sys
import numpy as np
import tenferro as tfr
a = np.ones((2, 2))
tfr.einsum("ij,jk->ik", a, a)
tfr.einsum("ij,jk,kl", a, a, a, optimize=False)
tfr.einsum("ij,jk,kl", a, a, a, optimize=[(1, 2), (0, 1)])
assert "opt_einsum" not in sys.modules
tfr.einsum("ij,jk,kl", a, a, a)
assert "opt_einsum" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- the cache of plans ----------------------------------------------------------------------------------------------

def test_statistics(limits):
    start = plan_stats()
    assert (start.entries, start.retained_bytes) == (0, 0)
    a, b, c = ones(2, 3), ones(3, 4), ones(4, 5)
    for k in range(3):
        tfr.einsum("ij,jk,kl->il", a, b, c)
        now = plan_stats()
        assert (now.entries, now.hits - start.hits, now.misses - start.misses) == (1, k, 1)
    assert 200 < now.retained_bytes < 5000
    tfr.einsum("ij,jk,kl->il", ones(2, 3, dtype="c8"), b, c)            # dtypes do not matter
    assert plan_stats().entries == 1
    tfr.einsum("ij,jk,kl->il", ones(2, 3), b, ones(4, 6))               # shapes do, and what was asked for
    tfr.einsum("ij,jk,kl->il", a, b, c, optimize=False)
    tfr.einsum("ij,jk,kl->il", a, b, c, optimize=[(0, 1), (0, 1)])
    tfr.einsum("ij,jk,kl->il", a, b, c, optimize=[[0, 1], [0, 1]])
    tfr.einsum(a, [0, 1], b, [1, 2], c, [2, 3], [0, 3])
    now = plan_stats()
    assert (now.entries, now.misses - start.misses, now.hits - start.hits) == (5, 5, 4)
    tfr.default_runtime().clear_caches()
    after = plan_stats()
    assert (after.entries, after.retained_bytes, after.clears) == (0, 0, now.clears + 1)


def test_two_operands_share_a_plan_for_all_lengths(limits):
    for n in range(1, 6):
        assert tfr.einsum("ij,jk->ik", ones(n, n + 1), ones(n + 1, 2)).shape == (n, 2)
    assert plan_stats().entries == 1


def test_failures_are_not_kept(limits):
    for _ in range(2):
        with pytest.raises(errors.ShapeMismatchError):
            tfr.einsum("ij,jk,kl", ones(2, 3), ones(4, 3), ones(3, 3))
        with pytest.raises(errors.ValidationError):
            tfr.einsum("ij,jk,kl->im", ones(2, 3), ones(3, 3), ones(3, 3))
    assert plan_stats().entries == 0


def test_least_recently_used_plan_goes_first(limits):
    limits(3, 2**20)
    x = [ones(n, n) for n in range(6)]

    def use(n):
        before = plan_stats()
        tfr.einsum("ij,jk,kl", x[n], x[n], x[n])
        return plan_stats().hits > before.hits
    start = plan_stats()
    assert [use(n) for n in (1, 2, 3, 1, 4)] == [False, False, False, True, False]
    assert plan_stats().evictions == start.evictions + 1
    assert [use(n) for n in (1, 3, 4, 2)] == [True, True, True, False]
    limits(1, 2**20)
    assert plan_stats().entries == 1
    assert use(2)


def test_limit_of_bytes(limits):
    limits(1000, 5000)
    for n in range(1, 30):
        tfr.einsum("ij,jk,kl", *[ones(n, n)] * 3)
        assert plan_stats().retained_bytes <= 5000
    assert 1 < plan_stats().entries < 12
    limits(1000, 100)
    assert plan_stats()[:2] == (0, 0)
    tfr.einsum("ij,jk,kl", *[ones(2, 2)] * 3)
    assert plan_stats()[:2] == (0, 0)


def test_threads_share_the_cache(limits):
    limits(4, 2**20)
    rng = np.random.default_rng(9)
    arrays = {n: [whole(rng, (n, n)) for _ in range(3)] for n in range(2, 10)}
    expected = {n: np.linalg.multi_dot(a) for n, a in arrays.items()}
    failures = []

    def work(seed):
        order = np.random.default_rng(seed)
        try:
            for n in order.integers(2, 10, 60):
                support.assert_same(tfr.einsum("ij,jk,kl", *arrays[n]), expected[n])
        except BaseException as e:
            failures.append(e)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    stats = plan_stats()
    assert stats.entries <= 4
    assert stats.retained_bytes < 4 * 3000
    tfr.default_runtime().clear_caches()
    assert plan_stats()[:2] == (0, 0)


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


# ---- derivatives -----------------------------------------------------------------------------------------------------

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


def allocations(f):
    """Results of more than a few kilobytes that a call makes."""
    rt = tfr.default_runtime()
    before = rt.cache_stats().buffers
    f()
    after = rt.cache_stats().buffers
    return after.hits + after.misses - before.hits - before.misses


@pytest.mark.parametrize("optimize", ["auto", False])
def test_derivative_of_n_factors_costs_a_multiple_of_n(optimize):
    """Every product has two derivatives; a rule for all N factors at once would make N * (N - 2) products."""
    rt = tfr.default_runtime()
    rng = np.random.default_rng(12)
    for n in (10, 40):
        xs = [tfr.variable(rng.normal(size=(64, 64)) / 8) for _ in range(n)]
        args = [arg for k, x in enumerate(xs) for arg in (x, [k, k + 1])]
        out = []
        forward = allocations(lambda a=args, n=n, o=out: o.append(tfr.einsum(*a, [0, n], optimize=optimize)))
        assert n - 1 <= forward <= n + 1
        cotangent = ones(64, 64)
        assert n <= allocations(lambda x=xs, o=out, c=cotangent: rt.vjp(o[0], x, c)) <= 3 * n
        assert allocations(lambda x=xs, o=out, c=cotangent: rt.jvp(o[0], x[0], c)) <= 2 * n


def test_nothing_is_left_alive(limits):
    from tenferro._core import memory

    def work():
        x = support.leaf(np.ones((3, 3)))
        g, = tfr.default_runtime().grad(tfr.einsum("ij,jk,kl,lm->", x, x, x, x), [x])
        assert g.shape == (3, 3)
        for args in (("ij,jk,kl", x, x, ones(4)), ("ij,jk,kl", x, x, ones(4, 4))):
            with pytest.raises(errors.ValidationError):
                tfr.einsum(*args)
        tfr.default_runtime().clear_caches()
    work()
    before = memory.live()
    work()
    assert memory.live() == before
