"""The order in which `einsum` contracts its operands, and the cache of the plans made for it."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import support

import tenferro as tfr
from tenferro import errors
from tenferro._ops import paths, plans
from tenferro._ops.subscripts import parse


def whole(rng, shape):
    return support.sample(rng, shape, "i4").astype(float)


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
