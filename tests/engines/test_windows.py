"""Windows on a background (adjoints of slices, padding) and joined tensors, of every layout."""

import numpy as np
import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st

import tenferro as tfr

CUTS = st.tuples(st.integers(0, 5), st.sampled_from([1, 1, 2, 3, -1, -2, -3]), st.booleans())


def index(shape, cuts):
    """A basic index: slices of any step, integers, whole axes and new ones."""
    out = []
    for n, (start, step, whole) in zip(shape, cuts, strict=False):
        if whole:
            out.append(slice(None))
        elif step == 3:
            out.append(min(start, n - 1))
        else:
            out.append(slice(min(start, n - 1) if step > 0 else None, None, step))
    return (*out, None) if cuts[0][0] == 4 else tuple(out)


def adjoint(x, cut, g):
    return tfr.default_runtime().vjp([x[cut]], [x], [g])[0]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.lists(CUTS, min_size=5, max_size=5), support.layouts,
       st.sampled_from(["f4", "f8", "c16"]), st.sampled_from("CF"))
def test_adjoint_of_any_slice(shape, cuts, layout, dtype, order):
    while np.prod(shape) > 40000:
        shape[int(np.argmax(shape))] //= 2
    cut = index(shape, cuts)
    expected = np.zeros(shape, dtype)
    g = support.sample(np.random.default_rng(0), expected[cut].shape, dtype)
    expected[cut] = g
    found = adjoint(support.leaf(np.zeros(shape, dtype, order)), cut, support.const(layout(g)))
    support.assert_same(found, expected)


@pytest.mark.parametrize("grain", ["C", "F"])
@pytest.mark.parametrize("shape", [(4300, 4300), (70, 300000), (300000, 70), (17000001,), (129, 131, 1025)], ids=str)
def test_adjoint_of_a_slice_past_the_caches(shape, grain):
    """More than 64 MiB, with the cotangent along the grain of the result and against it."""
    cut = (slice(None, None, -2), slice(3, None, 3), slice(1, None))[: len(shape)]
    expected = np.zeros(shape, "f4")
    g = np.asarray(np.random.default_rng(1).standard_normal(expected[cut].shape, "f4"), order=grain)
    expected[cut] = g
    assert np.array_equal(adjoint(support.leaf(np.zeros(shape, "f4")), cut, support.const(g)).numpy(), expected)


@settings(deadline=None, max_examples=100)
@given(support.layouts, st.lists(st.integers(1, 30), min_size=1, max_size=4), st.data(),
       st.sampled_from(["?", "i2", "f4", "c16"]))
def test_padding_any_layout(layout, shape, data, dtype):
    widths = [data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3))) for _ in shape]
    a = support.sample(np.random.default_rng(2), shape, dtype)
    support.assert_same(tfr.pad(support.const(layout(a)), widths, constant_values=1), np.pad(a, widths, constant_values=1))


@pytest.mark.parametrize("orders", ["CC", "CF", "FF"])
@pytest.mark.parametrize("dtype", ["i1", "f4", "f8", "c16"])
@pytest.mark.parametrize("shape", [(700, 300), (40, 50, 60), (3, 90001), (90001, 3)], ids=str)
def test_joining_large_tensors(shape, dtype, orders):
    rng = np.random.default_rng(3)
    arrays = [np.array(support.sample(rng, shape, dtype), order=order) for order in orders]
    for axis in range(len(shape)):
        support.assert_same(tfr.concatenate([support.const(a) for a in arrays], axis=axis), np.concatenate(arrays, axis))
    for axis in range(len(shape) + 1):
        support.assert_same(tfr.stack([support.const(a) for a in arrays], axis=axis), np.stack(arrays, axis))


def test_dynamic_windows():
    rng = np.random.default_rng(4)
    for shape, sizes in (((300, 200), (120, 130)), ((50, 60, 70), (50, 7, 11)), ((40000,), (33333,))):
        starts = [s - k for s, k in zip(shape, sizes, strict=True)]
        cut = tuple(slice(s, s + k) for s, k in zip(starts, sizes, strict=True))
        x = support.leaf(np.zeros(shape))
        g = rng.standard_normal(sizes)
        expected = np.zeros(shape)
        expected[cut] = g
        y = tfr.dynamic_slice(x, starts, sizes)
        for order in "CF":
            support.assert_same(tfr.default_runtime().vjp([y], [x], [support.const(np.array(g, order=order))])[0], expected)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.integers(1, 40), min_size=2, max_size=4), support.layouts, support.layouts, st.data(),
       st.sampled_from(["i4", "f4", "f8", "c16"]))
def test_elementwise_over_conflicting_orders(shape, one, other, data, dtype):
    """Also broadcast operands and short inner axes: the elements are NumPy's."""
    while np.prod(shape) < 2500:
        shape[data.draw(st.integers(0, len(shape) - 1))] += 9
    rng = np.random.default_rng(5)
    a = support.sample(rng, shape, dtype, 1, 9)
    b = support.sample(rng, [1 if data.draw(st.integers(0, 3)) == 0 else n for n in shape], dtype, 1, 9)
    x, y = support.const(one(a)), support.const(other(b))
    for f in (np.add, np.multiply):
        support.assert_same(getattr(tfr, f.__name__)(x, y), f(a, b))
        support.assert_same(getattr(tfr, f.__name__)(y, x), f(b, a))
    support.assert_same(tfr.where(x > y, x, y), np.where(a.real > b.real, a, b) if dtype != "c16" else np.where(a > b, a, b))


@pytest.mark.parametrize("dtype", ["i1", "f4", "f8", "c16"])
@pytest.mark.parametrize("rows", [51, 52, 103, 1000, 4099])
@pytest.mark.parametrize("columns", [1, 2, 3, 10, 15, 16])
def test_short_rows_with_a_repeated_operand(rows, columns, dtype):
    """Blocks of rows, the last of them not whole; in both orders of the result."""
    rng = np.random.default_rng(6)
    a = support.sample(rng, (rows, columns), dtype, 1, 9)
    for shape in ((columns,), (rows, 1), (1, columns), (3, 1, columns), (2, rows, 1)):
        b = support.sample(rng, shape, dtype, 1, 9)
        for order in "CF":
            x, y = support.const(np.array(a, order=order)), support.const(np.array(b, order=order))
            support.assert_same(x + y, a + b)
            support.assert_same(y - x, b - a)
