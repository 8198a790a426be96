"""Derivatives of gathers and scatters, of first and second order, in both modes."""

import numpy as np
import pytest
from support import DIFF_DTYPES, assert_same, leaf, random_layout, sample

import tenferro as tfr
from tenferro.testing import check_grads

MASK = np.array([[True, False, True], [False, False, True]])

EXPRESSIONS = {
    "repeated": ((3, 2), np.s_[[0, 2, 0, -1]]),
    "two arrays": ((3, 4), np.s_[[[0], [2]], [1, 1, 3]]),
    "apart": ((2, 3, 2), np.s_[[1, 0, 1], :, [0, 1, 1]]),
    "slices": ((3, 4, 2), np.s_[::-2, [3, 0, 3], None, 1]),
    "mask": ((2, 3), MASK),
    "mask and slice": ((2, 3, 4), np.s_[MASK, 1:]),
    "mask and array": ((2, 3, 2), np.s_[MASK, [1, 0, 1]]),
    "nothing": ((2, 3), np.s_[[], 1:]),
    "scalar array": ((3, 2), np.s_[np.array(1)]),
    "bool": ((2,), np.s_[True]),
}

FUNCTIONS = {
    "take": (lambda x: tfr.take(x, [[1, 0], [2, 1]], axis=1), [(2, 3)]),
    "take flat": (lambda x: tfr.take(x, [5, 0, 5]), [(2, 3)]),
    "take wrap": (lambda x: tfr.take(x, [-4, 7], axis=0, mode="wrap"), [(3, 2)]),
    "take clip": (lambda x: tfr.take(x, [-4, 7], axis=0, mode="clip"), [(3, 2)]),
    "take_along_axis": (lambda x: tfr.take_along_axis(x, [[0, 0], [2, 1]], axis=1), [(2, 3)]),
    "take_along_axis broadcast": (lambda x: tfr.take_along_axis(x, [[0], [2], [0]], axis=0), [(3, 4)]),
    "take_along_axis repeated": (lambda x: tfr.take_along_axis(x, [[1, 1], [0, 1], [1, 0]], axis=1), [(1, 2)]),
    "index_select": (lambda x: tfr.index_select(x, -1, [1, 1, 0]), [(2, 2)]),
    "gather": (lambda x: tfr.gather(x, ([1, 0, 1], [[2], [0]]), axis=(2, 0)), [(3, 2, 2)]),
    "scatter_add": (lambda x, u: tfr.scatter_add(x, [1, 1, 0], u), [(3, 2), (3, 2)]),
    "scatter_add broadcast": (lambda x, u: tfr.scatter_add(x, ([0, 1], [[1], [1]]), u, axis=(0, 2)), [(2, 3, 2), (3,)]),
    "scatter": (lambda x, u: tfr.scatter(x, [2, 0], u, axis=1), [(2, 3), (2, 2)]),
    "scatter repeated": (lambda x, u: tfr.scatter(x, ([0, 1, 0], [1, 0, 1]), u), [(2, 3, 2), (3, 2)]),
    "scatter one value": (lambda x, u: tfr.scatter(x, [[0, 0], [1, 0]], u), [(3, 2), ()]),
    "index_set": (lambda x, v: tfr.index_set(x, np.s_[1, ::-2, None], v), [(2, 3, 2), (2, 1, 2)]),
    "index_set broadcast": (lambda x, v: tfr.index_set(x, np.s_[..., 1:], v), [(2, 3), (2, 1)]),
    "index_set all": (lambda x, v: tfr.index_set(x, np.s_[...], v), [(2, 2), ()]),
    "index_set arrays": (lambda x, v: tfr.index_set(x, np.s_[1:, [0, 2, 0]], v), [(3, 3), (2, 3)]),
    "index_set mask": (lambda x, v: tfr.index_set(x, MASK, v), [(2, 3), (3,)]),
    "same operand": (lambda x: tfr.scatter_add(x, [1, 1], x[:2] * x[1:]), [(3, 2)]),
}


def arguments(shapes, dtype):
    rng = np.random.default_rng(7)
    return [random_layout(sample(rng, shape, dtype), rng) for shape in shapes]


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_getitem(name, dtype):
    shape, index = EXPRESSIONS[name]
    check_grads(lambda x: x[index] * x[index], arguments([shape], dtype), order=2)


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name, dtype):
    f, shapes = FUNCTIONS[name]

    def squared(*args):
        y = f(*args)
        return y * y

    check_grads(squared, arguments(shapes, dtype), order=2)


@pytest.mark.parametrize("dtypes", [("f8", "f4"), ("c16", "f8"), ("c16", "c8"), ("c8", "f4")], ids=str)
def test_updates_of_another_dtype(dtypes):
    x, u = (arguments([(3, 2)], t)[0] for t in dtypes)
    for f in (tfr.scatter, tfr.scatter_add):
        check_grads(lambda x, u, f=f: tfr.square(f(x, [1, 1, 0], u)), [x, u], order=1)
    check_grads(lambda x, u: tfr.square(tfr.index_set(x, np.s_[::-1], u)), [x, u], order=1)


def test_only_the_last_update_counts():
    x, u = leaf(np.zeros(3)), leaf(np.array([1.0, 2.0, 3.0, 4.0]))
    y = tfr.scatter(x, [1, 0, 1, 1], u)
    assert_same(y.detach(), np.array([2.0, 4.0, 0.0]))
    gx, gu = x.runtime.vjp(y, [x, u], tfr.constant([10.0, 20.0, 30.0]))
    assert_same(gx, np.array([0.0, 0.0, 30.0]))
    assert_same(gu, np.array([0.0, 10.0, 0.0, 20.0]))
    assert_same(x.runtime.jvp(y, u, tfr.constant([1.0, 2.0, 4.0, 8.0])), np.array([2.0, 8.0, 0.0]))
    assert_same(x.runtime.jvp(y, x, tfr.constant([1.0, 2.0, 4.0])), np.array([0.0, 0.0, 4.0]))


def test_repeated_places_add_up():
    x = leaf(np.zeros(3))
    g = x.runtime.vjp(x[[1, 1, -2, 0]], x, tfr.constant([1.0, 2.0, 4.0, 8.0]))
    assert_same(g, np.array([8.0, 7.0, 0.0]))


def test_cotangents_reach_only_what_was_taken():
    """A NaN or infinity elsewhere does not leak through a gather or an overwritten place."""
    x = leaf(np.array([np.nan, 1.0, np.inf]))
    grads = tfr.sum(tfr.square(x[[1, 1]])).backward()
    assert_same(grads[x], np.array([0.0, 4.0, 0.0]))
    y = leaf(np.array([np.inf, 1.0]))
    grads = tfr.sum(tfr.square(tfr.index_set(y, 0, 3.0))).backward()
    assert_same(grads[y], np.array([0.0, 2.0]))


def test_embedding():
    """Rows of a large table: the gradient is the sum of the cotangents of every use."""
    rng = np.random.default_rng(0)
    table, idx = leaf(rng.random((300, 40))), rng.integers(0, 300, 1000)
    c = np.round(rng.random((1000, 40)) * 8)
    expected = np.zeros((300, 40))
    np.add.at(expected, idx, c)
    assert_same(table.runtime.vjp(table[idx], table, tfr.constant(c)), expected)


def test_sort_by_indices():
    """A permutation and its inverse."""
    rng = np.random.default_rng(0)
    a = rng.random((4, 5))
    x = leaf(a)
    order = np.argsort(a, axis=0)
    c = rng.random((4, 5))
    expected = np.empty_like(c)
    np.put_along_axis(expected, order, c, 0)
    assert_same(x.runtime.vjp(tfr.take_along_axis(x, order, axis=0), x, tfr.constant(c)), expected)
