"""Structure operations against NumPy: values, shared memory, memory order, errors."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from support import ALL_DTYPES, assert_same, const, layouts, sample, shapes, value

import tenferro as tfr
from tenferro.errors import (
    AxisError,
    DTypeMismatchError,
    IntegerOverflowError,
    ShapeMismatchError,
    ValidationError,
)

dtypes = st.sampled_from(ALL_DTYPES)
seeds = st.integers(0, 2**32 - 1)


def arrays(shape=None, **kwargs):
    """Arrays of any dtype and layout."""
    return st.builds(lambda s, d, seed, layout: layout(sample(np.random.default_rng(seed), s, d, -5, 5)),
                     shapes(**kwargs) if shape is None else st.just(shape), dtypes, seeds, layouts)


def draw_axes(data, rank, unique=True, **kwargs):
    by = (lambda k: k % rank) if unique else None
    return tuple(data.draw(st.lists(st.integers(-rank, rank - 1), unique_by=by, **kwargs)))


def regroup(data, size):
    """A random shape with this many elements."""
    if size == 0:
        return data.draw(st.sampled_from([(0,), (0, 3), (2, 0, 5), (1, 0)]))
    shape = []
    while size > 1:
        k = data.draw(st.sampled_from([k for k in range(1, size + 1) if size % k == 0]))
        shape.append(k)
        size //= k
        if len(shape) > 5:
            shape.append(size)
            break
    return tuple(shape)


def same_and_shared(found, expected, x):
    """Equal values over the very memory of x, with NumPy's strides."""
    assert_same(found, expected)
    out = value(found)
    if expected.size:
        assert np.shares_memory(out, x)
        assert [s for s, n in zip(out.strides, out.shape) if n > 1] == [
            s for s, n in zip(expected.strides, out.shape) if n > 1]


@given(arrays(), st.data())
def test_reshape(x, data):
    shape = regroup(data, x.size)
    order = data.draw(st.sampled_from("CF"))
    expected = np.reshape(x, shape, order=order)
    found = tfr.reshape(const(x), shape, order=order)
    assert_same(found, expected)
    if x.size:
        assert np.shares_memory(value(found), x) == np.shares_memory(expected, x)


@given(arrays(min_side=1))
def test_reshape_fills_in_one_size(x):
    assert_same(tfr.reshape(const(x), (-1, 1)), x.reshape(-1, 1))
    assert_same(tfr.reshape(const(x), -1), x.reshape(-1))
    assert_same(tfr.ravel(const(x)), x.ravel())
    assert_same(tfr.ravel(const(x), "F"), x.ravel("F"))


def test_reshape_copy():
    x = np.arange(6.0).reshape(2, 3)
    assert not np.shares_memory(value(tfr.reshape(const(x), 6, copy=True)), x)
    assert np.shares_memory(value(tfr.reshape(const(x), 6, copy=False)), x)
    with pytest.raises(ValidationError, match="copy=None"):
        tfr.reshape(const(x.T), 6, copy=False)
    assert value(tfr.reshape(const(x.T), 6, order="A")).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("shape", [(4,), (-1, 4), (7, -1), (0, -1), (2**40, 2**40)])
def test_reshape_to_another_size(shape):
    with pytest.raises(ShapeMismatchError) as e:
        tfr.reshape(const(np.arange(6.0)), shape)
    assert (e.value.expected, e.value.actual) == (6, shape)


def test_reshape_errors():
    x = const(np.zeros((2, 0)))
    with pytest.raises(ShapeMismatchError):
        tfr.reshape(x, (0, -1))
    with pytest.raises(ValidationError, match="negative"):
        tfr.reshape(const(np.zeros(4)), (-1, -1))
    with pytest.raises(ValidationError, match="order"):
        tfr.reshape(x, 0, order="Z")
    with pytest.raises(IntegerOverflowError):
        tfr.reshape(x, (2**70, 0))
    with pytest.raises(IntegerOverflowError):
        tfr.reshape(x, (2**62, 2**62, 0))
    with pytest.raises(ValidationError, match="64 axes"):
        tfr.reshape(const(1.0), (1,) * 65)
    assert tfr.reshape(const(1.0), (1,) * 64).ndim == 64


@given(arrays(), st.data())
def test_transpose(x, data):
    perm = tuple(data.draw(st.permutations(range(x.ndim))))
    perm = tuple(k - x.ndim if data.draw(st.booleans()) else k for k in perm)
    same_and_shared(tfr.transpose(const(x), perm), x.transpose(perm), x)
    same_and_shared(tfr.permute_dims(const(x), perm), x.transpose(perm), x)
    same_and_shared(tfr.transpose(const(x)), x.T, x)


@given(arrays(min_dims=2), st.data())
def test_exchanged_axes(x, data):
    a, b = (data.draw(st.integers(-x.ndim, x.ndim - 1)) for _ in range(2))
    same_and_shared(tfr.swapaxes(const(x), a, b), np.swapaxes(x, a, b), x)
    same_and_shared(tfr.matrix_transpose(const(x)), np.matrix_transpose(x), x)
    source = draw_axes(data, x.ndim)
    destination = draw_axes(data, x.ndim, min_size=len(source), max_size=len(source))
    same_and_shared(tfr.moveaxis(const(x), source, destination), np.moveaxis(x, source, destination), x)


@pytest.mark.parametrize("call", [
    lambda x: tfr.transpose(x, (0, 0)), lambda x: tfr.transpose(x, (0,)), lambda x: tfr.transpose(x, (0, 2)),
    lambda x: tfr.swapaxes(x, 0, 2), lambda x: tfr.moveaxis(x, 0, -3), lambda x: tfr.moveaxis(x, (0, 1), (0,)),
    lambda x: tfr.moveaxis(x, (0, 0), (0, 1)), lambda x: tfr.matrix_transpose(x[0]), lambda x: tfr.squeeze(x, 2),
    lambda x: tfr.squeeze(x, (0, -2)), lambda x: tfr.expand_dims(x, 3), lambda x: tfr.expand_dims(x, (0, -4)),
    lambda x: tfr.reverse(x, 2), lambda x: tfr.reverse(x, (0, 0)), lambda x: tfr.extract_diag(x, 0, 1, 1),
    lambda x: tfr.extract_diag(x[0]), lambda x: tfr.embed_diag(x, 0, 0, -3), lambda x: tfr.embed_diag(x, 0, 0, 3),
    lambda x: tfr.embed_diag(x[0, 0]), lambda x: tfr.concatenate([x, x], 2), lambda x: tfr.stack([x, x], 3),
    lambda x: tfr.split(x, 1, axis=2), lambda x: tfr.roll(x, 1, 2), lambda x: tfr.repeat(x, 2, 2),
    lambda x: tfr.tril(x[0]),
    lambda x: tfr.triu(x[0]), lambda x: tfr.trace(x, 0, 0, 0), lambda x: tfr.concatenate([x[0, 0]]),
    lambda x: tfr.broadcast_in_dim(x, (2, 3), (0, 0)), lambda x: tfr.broadcast_in_dim(x, (2, 3), (0, 2)),
    lambda x: tfr.broadcast_in_dim(x, (2, 3), (0,)), lambda x: tfr.unstack(x, 2), lambda x: tfr.squeeze(x, 2**80),
])
def test_axis_errors(call):
    with pytest.raises(AxisError):
        call(const(np.zeros((2, 3))))


@given(arrays(), st.data())
def test_broadcast_to(x, data):
    shape = tuple(data.draw(st.integers(0, 3)) if n == 1 else n for n in x.shape)
    shape = data.draw(shapes(max_dims=2, max_side=3)) + shape
    same_and_shared(tfr.broadcast_to(const(x), shape), np.broadcast_to(x, shape), x)


@given(arrays(max_dims=3), st.data())
def test_broadcast_in_dim(x, data):
    rank = x.ndim + data.draw(st.integers(0, 2))
    places = tuple(data.draw(st.permutations(range(rank))))[:x.ndim]
    shape = [data.draw(st.integers(0, 3)) for _ in range(rank)]
    for k, n in zip(places, x.shape):
        if n != 1:
            shape[k] = n
    order = np.argsort(places)
    middle = [1] * rank
    for k in order:
        middle[places[k]] = x.shape[k]
    expected = np.broadcast_to(x.transpose(order).reshape(middle), shape)
    assert_same(tfr.broadcast_in_dim(const(x), tuple(shape), places), expected)


@given(st.lists(arrays(max_dims=1, max_side=1), min_size=1, max_size=3), arrays(shape=(2, 3)))
def test_broadcast_arrays(few, x):
    few = [a for a in few if a.size] + [x]
    for found, expected in zip(tfr.broadcast_arrays(*map(const, few)), np.broadcast_arrays(*few), strict=True):
        assert_same(found, expected)


def test_broadcast_errors():
    x = const(np.zeros((2, 3)))
    for shape in [(3,), (2, 4), (3, 3), (1, 3), (2, -3)]:
        with pytest.raises(ShapeMismatchError) as e:
            tfr.broadcast_to(x, shape)
        assert e.value.actual == (2, 3)
    with pytest.raises(IntegerOverflowError):
        tfr.broadcast_to(x, (2**62, 2, 3))
    for shape, places in [((2, 4), (0, 1)), ((-1, 2, 3), (1, 2))]:
        with pytest.raises(ShapeMismatchError):
            tfr.broadcast_in_dim(x, shape, places)
    with pytest.raises(ShapeMismatchError):
        tfr.broadcast_arrays(x, np.zeros(2))


@given(arrays(), st.data())
def test_squeeze_and_expand_dims(x, data):
    ones = [k for k in range(x.ndim) if x.shape[k] == 1]
    axes = tuple(data.draw(st.lists(st.sampled_from(ones), unique=True))) if ones else ()
    same_and_shared(tfr.squeeze(const(x), axes), x.squeeze(axes), x)
    same_and_shared(tfr.squeeze(const(x)), x.squeeze(), x)
    n = data.draw(st.integers(1, 3))
    new = draw_axes(data, x.ndim + n, min_size=n, max_size=n)
    same_and_shared(tfr.expand_dims(const(x), new), np.expand_dims(x, new), x)
    same_and_shared(tfr.expand_dims(const(x), -1), np.expand_dims(x, -1), x)


def test_squeeze_of_a_longer_axis():
    with pytest.raises(ShapeMismatchError) as e:
        tfr.squeeze(const(np.zeros((1, 3))), (0, 1))
    assert (e.value.expected, e.value.actual) == (1, 3)
    with pytest.raises(ValidationError, match="64 axes"):
        tfr.expand_dims(const(np.zeros((1,) * 64)), 0)


@given(arrays(), st.data())
def test_reverse(x, data):
    axes = draw_axes(data, x.ndim) if x.ndim else ()
    same_and_shared(tfr.reverse(const(x), axes), np.flip(x, axes), x)
    same_and_shared(tfr.flip(const(x)), np.flip(x), x)


@given(arrays(min_dims=2), st.integers(-5, 5), st.data())
def test_diagonals(x, offset, data):
    a, b = draw_axes(data, x.ndim, min_size=2, max_size=2)
    same_and_shared(tfr.extract_diag(const(x), offset, a, b), x.diagonal(offset, a, b), x)
    assert_same(tfr.trace(const(x), offset, a, b), x.trace(offset, a, b), 1e-6, 1e-6)


@given(arrays(min_dims=1, max_dims=3), st.integers(-3, 3), st.data())
def test_embed_diag(x, offset, data):
    a, b = draw_axes(data, x.ndim + 1, min_size=2, max_size=2)
    n = x.shape[-1] + abs(offset)
    expected = np.zeros((*x.shape[:-1], n, n), x.dtype)
    i = np.arange(x.shape[-1])
    expected[..., i + max(0, -offset), i + max(0, offset)] = x
    rest = [k for k in range(x.ndim + 1) if k not in (a % (x.ndim + 1), b % (x.ndim + 1))]
    expected = np.moveaxis(expected, range(x.ndim + 1), [*rest, a, b])
    assert_same(tfr.embed_diag(const(x), offset, a, b), expected)
    assert_same(tfr.extract_diag(tfr.embed_diag(const(x), offset, a, b), offset, a, b), x)


@given(arrays(min_dims=2), st.integers(-5, 5))
def test_triangles(x, k):
    assert_same(tfr.tril(const(x), k), np.tril(x, k))
    assert_same(tfr.triu(const(x), k), np.triu(x, k))


def test_triangles_far_out():
    x = np.ones((2, 3))
    for k in (2**62, -2**62, 2**63 - 1, -2**63):
        assert_same(tfr.tril(const(x), k), x * (k > 0))
        assert_same(tfr.triu(const(x), k), x * (k < 0))


def draw_joined(data, x, n, axis):
    """x and n further arrays that differ along the axis only."""
    out = [x]
    for _ in range(n):
        shape = list(x.shape)
        if axis is not None:
            shape[axis] = data.draw(st.integers(0, 3))
        out.append(data.draw(arrays(tuple(shape))))
    return out


@given(arrays(min_dims=1, max_dims=3), st.integers(0, 3), st.data())
def test_concatenate(x, n, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    xs = draw_joined(data, x, n, axis)
    assert_same(tfr.concatenate([const(a) for a in xs], axis), np.concatenate(xs, axis))
    assert_same(tfr.concatenate([const(a) for a in xs], axis=None), np.concatenate(xs, axis=None))


@given(arrays(max_dims=3), st.integers(0, 3), st.data())
def test_stack(x, n, data):
    axis = data.draw(st.integers(-x.ndim - 1, x.ndim))
    xs = draw_joined(data, x, n, None)
    assert_same(tfr.stack([const(a) for a in xs], axis), np.stack(xs, axis))
    assert_same(tfr.hstack([const(a) for a in xs]), np.hstack(xs))
    assert_same(tfr.vstack([const(a) for a in xs]), np.vstack(xs))
    assert_same(tfr.stack(xs, axis), np.stack(xs, axis))


def test_joining_very_many():
    xs = [np.full((2, 1), k) for k in range(600)]
    assert_same(tfr.concatenate(xs, 1), np.concatenate(xs, 1))
    assert_same(tfr.stack(xs, 1), np.stack(xs, 1))


def test_joining_errors():
    x = const(np.zeros((2, 3)))
    for call in (lambda: tfr.concatenate([x, np.zeros((2, 2))], 0), lambda: tfr.concatenate([x, np.zeros(3)]),
                 lambda: tfr.stack([x, np.zeros((2, 2))])):
        with pytest.raises(ShapeMismatchError) as e:
            call()
        assert e.value.expected == (2, 3)
    for call in (lambda: tfr.concatenate([]), lambda: tfr.stack([])):
        with pytest.raises(ValidationError, match="at least one"):
            call()
    with pytest.raises(IntegerOverflowError):
        tfr.concatenate([tfr.broadcast_to(x, (2**59, 2, 3))] * 4)


@given(arrays(min_dims=1), st.data())
def test_split(x, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    places = data.draw(st.lists(st.integers(-6, 6), max_size=3))
    for found, expected in zip(tfr.split(const(x), places, axis), np.split(x, places, axis), strict=True):
        same_and_shared(found, expected, x)
    parts = data.draw(st.integers(1, 5))
    for found, expected in zip(tfr.array_split(const(x), parts, axis), np.array_split(x, parts, axis), strict=True):
        same_and_shared(found, expected, x)
    if x.shape[axis]:
        for found, expected in zip(tfr.unstack(const(x), axis=axis), np.unstack(x, axis=axis), strict=True):
            same_and_shared(found, expected, x)


def test_split_errors():
    x = const(np.zeros((2, 3)))
    assert [p.shape for p in tfr.split(x, 3, 1)] == [(2, 1)] * 3
    with pytest.raises(ShapeMismatchError, match="array_split"):
        tfr.split(x, 2, axis=1)
    with pytest.raises(ValidationError):
        tfr.split(x, 0)


@given(arrays(), st.data())
def test_roll(x, data):
    shift = data.draw(st.integers(-7, 7))
    assert_same(tfr.roll(const(x), shift), np.roll(x, shift))
    if x.ndim:
        axes = draw_axes(data, x.ndim, unique=False, max_size=3)
        shifts = tuple(data.draw(st.lists(st.integers(-7, 7), min_size=len(axes), max_size=len(axes))))
        assert_same(tfr.roll(const(x), shifts, axes), np.roll(x, shifts, axes))
        assert_same(tfr.roll(const(x), shift, 0), np.roll(x, shift, 0))


@given(arrays(max_dims=3), st.lists(st.integers(0, 3), max_size=4))
def test_tile(x, reps):
    assert_same(tfr.tile(const(x), reps), np.tile(x, reps))
    assert_same(tfr.tile(const(x), 2), np.tile(x, 2))


@given(arrays(), st.integers(0, 3), st.data())
def test_repeat(x, n, data):
    assert_same(tfr.repeat(const(x), n), np.repeat(x, n))
    if x.ndim:
        axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
        assert_same(tfr.repeat(const(x), n, axis), np.repeat(x, n, axis))
        counts = data.draw(st.lists(st.integers(0, 3), min_size=x.shape[axis], max_size=x.shape[axis]))
        assert_same(tfr.repeat(const(x), counts, axis), np.repeat(x, np.array(counts, int), axis))


def test_repeating_errors():
    x = const(np.zeros((2, 3)))
    with pytest.raises(ShapeMismatchError):
        tfr.repeat(x, [1, 2], 1)
    with pytest.raises(ValidationError):
        tfr.repeat(x, -1)
    with pytest.raises(DTypeMismatchError):
        tfr.repeat(x, 1.5)
    with pytest.raises(ValidationError):
        tfr.tile(x, (-1,))
    with pytest.raises(ShapeMismatchError):
        tfr.roll(x, (1, 2, 3), (0, 1))
    with pytest.raises(IntegerOverflowError):
        tfr.tile(x, 2**62)
    with pytest.raises(IntegerOverflowError):
        tfr.repeat(x, 2**62)


@given(arrays(), st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]), st.data())
def test_pad(x, mode, data):
    width = [(data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))) for _ in range(x.ndim)]
    if mode != "constant" and not x.size:
        return
    assert_same(tfr.pad(const(x), width or 0, mode), np.pad(x, width or 0, mode))


@given(arrays(), st.data())
def test_pad_constants(x, data):
    width = [(data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))) for _ in range(x.ndim)] or 0
    assert_same(tfr.pad(const(x), width, constant_values=1), np.pad(x, width, constant_values=1))
    if x.ndim:
        values = np.arange(2 * x.ndim).reshape(x.ndim, 2)
        assert_same(tfr.pad(const(x), width, constant_values=values), np.pad(x, width, constant_values=values))
        assert_same(tfr.pad(const(x), (1, 2), constant_values=(3, 4)), np.pad(x, (1, 2), constant_values=(3, 4)))
        assert_same(tfr.pad(const(x), {-1: (1, 0)}), np.pad(x, [(0, 0)] * (x.ndim - 1) + [(1, 0)]))


def test_pad_errors():
    x = const(np.zeros((2, 3)))
    for width in (-1, ((1, -2), (0, 0))):
        with pytest.raises(ValidationError, match="negative"):
            tfr.pad(x, width)
    with pytest.raises(ShapeMismatchError):
        tfr.pad(x, ((1, 2), (1, 2), (1, 2)))
    with pytest.raises(DTypeMismatchError):
        tfr.pad(x, 1.5)
    with pytest.raises(DTypeMismatchError):
        tfr.pad(x, 1, constant_values=1j)
    with pytest.raises(ShapeMismatchError):
        tfr.pad(x, 1, constant_values=np.zeros((3, 2)))
    with pytest.raises(ValidationError, match="mode"):
        tfr.pad(x, 1, "linear_ramp")
    with pytest.raises(ValidationError, match="empty"):
        tfr.pad(const(np.zeros((0, 2))), 1, "edge")
    with pytest.raises(IntegerOverflowError):
        tfr.pad(x, 2**61)


@given(arrays(max_dims=3), st.data())
def test_dynamic_slice(x, data):
    sizes = tuple(data.draw(st.integers(0, n)) for n in x.shape)
    starts = [data.draw(st.integers(-3, 6)) for _ in x.shape]
    kind = data.draw(st.sampled_from(["i1", "i8", "u1", "u8"]))
    if kind[0] == "u":
        starts = [abs(s) for s in starts]
    cut = tuple(slice(min(max(s, 0), n - k), min(max(s, 0), n - k) + k) for s, n, k in zip(starts, x.shape, sizes))
    assert_same(tfr.dynamic_slice(const(x), np.array(starts, kind), sizes), x[cut])


def test_dynamic_slice_clamps_and_checks():
    x = const(np.arange(5.0))
    for start, first in [(2**64 - 1, 3.0), (2**63, 3.0), (1, 1.0)]:
        assert value(tfr.dynamic_slice(x, np.array([start], "u8"), (2,)))[0] == first
    assert value(tfr.dynamic_slice(x, (-7,), (2,))).tolist() == [0.0, 1.0]
    with pytest.raises(DTypeMismatchError):
        tfr.dynamic_slice(x, np.array([1.0]), (2,))
    for starts, sizes in [([1, 1], (2,)), ([1], (2, 2)), ([1], (6,)), ([1], (-1,)), ([1], ())]:
        with pytest.raises(ShapeMismatchError):
            tfr.dynamic_slice(x, starts, sizes)


def row_order(x):
    return value(x).flags.c_contiguous, value(x).flags.f_contiguous


FRESH = [
    lambda x: tfr.concatenate([x, x]), lambda x: tfr.stack([x, x]), lambda x: tfr.pad(x, 1), tfr.tril, tfr.triu,
    tfr.embed_diag, lambda x: tfr.dynamic_slice(x, (0, 0), (2, 2)),
]


@pytest.mark.parametrize("f", FRESH)
def test_order_of_fresh_memory(f):
    x = np.arange(12.0).reshape(3, 4)
    assert row_order(f(const(x))) == (True, False)
    assert row_order(f(const(np.asfortranarray(x)))) == (False, True)


def test_order_of_mixed_inputs():
    x = np.arange(12.0).reshape(3, 4)
    assert row_order(tfr.concatenate([x, np.asfortranarray(x)])) == (False, True)
    assert row_order(tfr.stack([x[0], x[1]])) == (True, False)
    assert row_order(tfr.embed_diag(x[0])) == (True, False)


def test_scalars_and_empty_tensors():
    assert_same(tfr.transpose(2.5), np.array(2.5))
    assert_same(tfr.stack([1, 2.5]), np.array([1, 2.5]))
    assert_same(tfr.roll(3, 1), np.array(3))
    assert_same(tfr.tile(3, (2, 2)), np.full((2, 2), 3))
    assert_same(tfr.pad(3.0, 0), np.array(3.0))
    assert_same(tfr.atleast_1d(3), np.array([3]))
    assert_same(tfr.atleast_2d(np.arange(3)), np.arange(3)[None])
    assert_same(tfr.atleast_2d(3), np.array([[3]]))
    assert_same(tfr.concatenate([np.zeros((0, 2)), np.zeros((0, 2))]), np.zeros((0, 2)))
    assert_same(tfr.trace(np.zeros((0, 3))), np.array(0.0))


def test_joining_tensors_of_two_runtimes():
    from tenferro.errors import ContextMismatchError
    x = tfr.EagerRuntime().constant_from(tfr.Tensor.from_numpy(np.zeros(2)))
    with pytest.raises(ContextMismatchError):
        tfr.concatenate([const(np.zeros(2)), x])
