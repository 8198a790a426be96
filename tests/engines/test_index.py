"""Gathers, scatters and index expressions against NumPy."""

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as options
from support import ALL_DTYPES, INT_DTYPES, assert_same, const, layouts, leaf, live, random_layout, sample, shapes

import tenferro as tfr
from tenferro import errors

CASES = options(max_examples=200, deadline=None)
FEWER = options(max_examples=60, deadline=None)
dtypes = st.sampled_from(ALL_DTYPES)


def placed(a, layout):
    return const(layout(a))


# ---- index expressions -----------------------------------------------------------------------------------------


@st.composite
def index_arrays(draw, size, result):
    """An integer array that broadcasts to `result`, as an array of some dtype and layout, a list, or a tensor."""
    shape = list(result[draw(st.integers(0, len(result))) :])
    for k in range(len(shape)):
        if shape[k] > 1 and draw(st.booleans()):
            shape[k] = 1
    if size == 0:
        shape = [0, *shape[1:]] if shape else [0]
    a = draw(hnp.arrays(np.int64, shape, elements=st.integers(-size, max(size - 1, 0))))
    kind = draw(st.integers(0, 3))
    if kind == 0 and a.size:
        return a.tolist() if a.ndim else int(a)
    if kind == 1:
        dtype = draw(st.sampled_from(INT_DTYPES))
        return draw(layouts)(np.abs(a).astype(dtype) % max(size, 1) if dtype.kind == "u" else a.astype(dtype))
    return draw(layouts)(a) if kind == 2 else const(draw(layouts)(a))


@st.composite
def slices_of(draw, size):
    bound = st.none() | st.integers(-size - 1, size + 1)
    return slice(draw(bound), draw(bound), draw(st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3])))


@st.composite
def expressions(draw, shape):
    """What may stand in ``x[...]``, with an array or a boolean somewhere."""
    result = draw(shapes(max_dims=2, max_side=3, min_side=0))
    entries, axis, dots = [], 0, draw(st.booleans())
    arrays = draw(st.integers(0, max(len(shape) - 1, 0)))
    while axis < len(shape):
        kind = draw(st.integers(0, 9))
        if axis == arrays:
            kind = draw(st.sampled_from([0, 1, 2]))
        if kind == 0:
            width = draw(st.integers(1, len(shape) - axis))
            mask = draw(hnp.arrays(bool, shape[axis : axis + width]))
            entries.append(
                draw(st.sampled_from([mask, const(np.asfortranarray(mask)), mask.tolist()])) if mask.size else mask
            )
            axis += width
            continue
        if kind <= 3:
            entries.append(draw(index_arrays(shape[axis], result)))
        elif kind == 4 and shape[axis]:
            entries.append(draw(st.integers(-shape[axis], shape[axis] - 1)))
        elif kind == 5:
            entries.append(np.int16(draw(st.integers(-shape[axis], shape[axis] - 1)))) if shape[axis] else None
            axis += shape[axis] > 0
            continue
        elif kind == 6:
            entries.append(None)
            continue
        elif kind == 7 and dots:
            entries.append(Ellipsis)
            dots = False
            axis += draw(st.integers(0, len(shape) - axis))
            continue
        elif kind == 8 and axis > arrays:
            break
        else:
            entries.append(draw(slices_of(shape[axis])))
        axis += 1
    if not shape or draw(st.integers(0, 9)) == 0:
        entries.insert(draw(st.integers(0, len(entries))), draw(st.booleans()))
    return tuple(entries)


def for_numpy(index):
    return tuple(np.asarray(e.value()) if isinstance(e, tfr.EagerTensor) else e for e in index)


@st.composite
def cases(draw):
    shape = draw(shapes(max_dims=4, max_side=4))
    a = sample(np.random.default_rng(draw(st.integers(0, 99))), shape, draw(dtypes))
    return a, draw(layouts), draw(expressions(shape))


@CASES
@given(cases())
def test_getitem(case):
    a, layout, index = case
    x = placed(a, layout)
    try:
        expected = a[for_numpy(index)]
    except IndexError:
        with pytest.raises((IndexError, ValueError)):
            x[index]
    else:
        assert_same(x[index], expected)


@CASES
@given(cases(), st.data())
def test_index_set(case, data):
    a, layout, index = case
    x = placed(a, layout)
    positions = np.arange(a.size).reshape(a.shape)
    try:
        positions = positions[for_numpy(index)]
    except IndexError:
        with pytest.raises((IndexError, ValueError)):
            tfr.index_set(x, index, a.dtype.type(1))
        return
    shape = positions.shape[data.draw(st.integers(0, positions.ndim)) :]
    value = sample(np.random.default_rng(1), shape, a.dtype)
    expected = a.copy()
    for k, v in zip(positions.ravel(), np.broadcast_to(value, positions.shape).ravel()):
        expected.reshape(-1)[k] = v
    assert_same(tfr.index_set(x, index, data.draw(layouts)(value)), expected)
    assert_same(x, a)


@pytest.mark.parametrize(
    "index",
    [
        np.s_[1],
        np.s_[:, 2],
        np.s_[...],
        np.s_[-1, ..., None, ::-2],
        np.s_[1:1],
        np.s_[None, ..., 0],
        np.s_[1, 2, 3],
        np.s_[:-5],
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_index_set_basic(index, dtype):
    rng = np.random.default_rng(0)
    a = sample(rng, (2, 3, 4), dtype)
    for order in "CF":
        expected = a.copy()
        value = sample(rng, a[index].shape[-1:], dtype)
        expected[index] = value
        assert_same(tfr.index_set(const(np.array(a, order=order)), index, value), expected)
        assert_same(tfr.index_set(const(np.array(a, order=order)), index, value[None, None]), expected)


def test_index_set_scalars():
    x = tfr.constant(np.arange(4, dtype=np.float32))
    assert_same(tfr.index_set(x, 1, 7), np.array([0, 7, 2, 3], np.float32))
    assert_same(tfr.index_set(x, [1, 1], 7.5), np.array([0, 7.5, 2, 3], np.float32))
    assert_same(tfr.index_set(tfr.constant([True, False]), 0, False), np.array([False, False]))
    with pytest.raises(errors.DTypeMismatchError, match="astype"):
        tfr.index_set(x, 1, 1j)
    with pytest.raises(errors.DTypeMismatchError, match="astype"):
        tfr.index_set(tfr.constant([1, 2]), 1, 1.5)
    with pytest.raises(errors.IntegerOverflowError, match="300"):
        tfr.index_set(tfr.constant(np.array([1, 2], np.int8)), 1, 300)
    with pytest.raises(errors.DTypeMismatchError):
        tfr.index_set(tfr.constant([True, False]), 0, 1)


def test_empty_ellipsis_separates():
    a = np.arange(24).reshape(2, 3, 4)
    x = tfr.constant(a)
    for index in (
        np.s_[:, [0], ..., [1, 2]],
        np.s_[:, 0, [1]],
        np.s_[0, :, [1, 2]],
        np.s_[:, [0], None, 1],
        np.s_[[0], ..., [1], 2],
    ):
        assert_same(x[index], a[index])


def test_index_kinds():
    a = np.arange(12.0).reshape(3, 4)
    x = tfr.constant(a)
    assert_same(x[[]], a[[]])
    assert_same(x[[[]]], a[[[]]])
    assert_same(x[(0, 1), :], a[(0, 1), :])
    assert_same(x[x > 5], a[a > 5])
    assert_same(x[[True, False, True]], a[[True, False, True]])
    assert_same(x[np.array(1)], a[1])
    assert_same(x[tfr.constant(1), tfr.constant([2])], a[1, [2]])
    assert_same(x[True], a[True])
    assert_same(x[np.False_], a[np.False_])
    assert_same(tfr.constant(3.0)[True], np.float64(3.0)[np.True_])


def bad_indices():
    f, i = np.zeros((2, 3)), errors.AxisError
    return [
        (np.s_[[2]], i, "index 2 .*axis 0 of size 2"), (np.s_[:, [0, -4]], i, "index -4 .*axis 1 of size 3"),
        (np.s_[[0], [3]], i, "index 3 .*axis 1 of size 3"), (np.s_[[0, -3], 0], i, "index -3 .*axis 0"),
        (np.s_[[0], 5], i, "index 5 .*axis 1"), (np.s_[[0], [0], [0]], i, "3 axes"), (np.s_[[0], 0, 0], i, "3 axes"),
        (np.s_[[0], ..., ...], errors.ValidationError, "ellipsis"), (np.s_[[0], ::0], errors.ValidationError, "step"),
        (np.s_[[0, 1], [0, 1, 2]], errors.ShapeMismatchError, "broadcast"),
        (np.s_[f > 0, 0], i, "3 axes"), (np.s_[np.ones(3, bool)], errors.ShapeMismatchError, "mask"),
        (np.s_[:, np.ones((3, 1), bool)], i, "axes"), (np.s_[[0.5]], errors.DTypeMismatchError, "astype"),
        (np.s_[f], errors.DTypeMismatchError, "astype"), (np.s_["a"], errors.DTypeMismatchError, "dtype"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("index", "error", "message"), bad_indices(), ids=lambda e: "" if isinstance(e, tuple) else None
)
def test_bad_index(index, error, message):
    x = tfr.variable(np.zeros((2, 3)))
    for f in (lambda: x[index], lambda: tfr.index_set(x, index, 1.0)):
        with pytest.raises(error, match=message):
            f()


def test_too_many_axes():
    x = tfr.constant(np.zeros((1,) * 40))
    with pytest.raises(errors.ValidationError, match="64"):
        x[(None,) * 25 + ([0],)]
    with pytest.raises(errors.ValidationError, match="64"):
        x[np.zeros((1,) * 26, int)]
    assert x[np.zeros((1,) * 25, int)].ndim == 64


# ---- functions -------------------------------------------------------------------------------------------------


@CASES
@given(st.data())
def test_take(data):
    shape = data.draw(shapes(max_dims=3, min_side=0))
    a = sample(np.random.default_rng(0), shape, data.draw(dtypes))
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1)) if shape else None
    size = a.size if axis is None else shape[axis]
    mode = data.draw(st.sampled_from(["raise", "wrap", "clip"]))
    reach = size if mode == "raise" else 3 * size
    shape = data.draw(shapes(max_dims=2))
    if size == 0:
        shape = (0, *shape[1:])
    idx = data.draw(hnp.arrays(np.int64, shape, elements=st.integers(-reach, max(reach - 1, 0))))
    x = placed(a, data.draw(layouts))
    assert_same(tfr.take(x, data.draw(layouts)(idx), axis=axis, mode=mode), np.take(a, idx, axis=axis, mode=mode))


@CASES
@given(st.data())
def test_take_along_axis(data):
    both = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=1, max_dims=3, min_side=0, max_side=4))
    rank = len(both.result_shape)
    shapes_ = [[1] * (rank - len(s)) + list(s) for s in both.input_shapes]
    axis = data.draw(st.integers(-rank, rank - 1))
    shapes_[1][axis] = data.draw(st.integers(0, 5))
    size = shapes_[0][axis]
    if size == 0:
        shapes_[1][axis] = 0
    a = sample(np.random.default_rng(0), shapes_[0], data.draw(dtypes))
    idx = data.draw(hnp.arrays(np.int64, shapes_[1], elements=st.integers(-size, max(size - 1, 0))))
    x = placed(a, data.draw(layouts))
    assert_same(tfr.take_along_axis(x, data.draw(layouts)(idx), axis=axis), np.take_along_axis(a, idx, axis))


def test_take_along_axis_default_and_flat():
    a = np.random.default_rng(0).random((3, 5))
    assert_same(tfr.take_along_axis(a, np.argsort(a)), np.sort(a))
    assert_same(tfr.take_along_axis(a.T, np.argsort(a, axis=None), axis=None), a.T.ravel()[np.argsort(a, axis=None)])


@st.composite
def gathers(draw):
    shape = draw(shapes(min_dims=1, max_dims=4))
    axes = draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    result = draw(shapes(max_dims=2, max_side=3)) if all(shape[k] for k in axes) else (0,)
    idx = []
    for k in axes:
        r = [n if draw(st.booleans()) else 1 for n in result[draw(st.integers(0, len(result))) :]] if shape[k] else [0]
        idx.append(draw(hnp.arrays(np.int64, r, elements=st.integers(-shape[k], max(shape[k] - 1, 0)))))
    a = sample(np.random.default_rng(draw(st.integers(0, 9))), shape, draw(dtypes), low=-3, high=3)
    return a, tuple(idx), axes


def moved(a, axes):
    """The named axes at the front, and the place where index axes go in what is left of a."""
    others = [k for k in range(a.ndim) if k not in axes]
    return a.transpose([*axes, *others]), sum(k < axes[0] for k in others)


def gathered(a, idx, axes):
    m, place = moved(a, axes)
    r = m[idx]
    n = r.ndim - (a.ndim - len(axes))
    return np.moveaxis(r, range(n), range(place, place + n))


@CASES
@given(gathers(), layouts)
def test_gather(case, layout):
    a, idx, axes = case
    assert_same(tfr.gather(placed(a, layout), idx, axis=axes), gathered(a, idx, axes))
    if len(axes) == 1:
        assert_same(tfr.gather(placed(a, layout), idx[0], axis=axes[0] - a.ndim), gathered(a, idx, axes))
    if axes == list(range(len(axes))):
        assert_same(tfr.gather(placed(a, layout), idx), a[idx])


@CASES
@given(gathers(), layouts, layouts, st.booleans())
def test_scatter(case, layout, layout2, add):
    a, idx, axes = case
    target = gathered(a, idx, axes).shape
    updates = sample(np.random.default_rng(3), target, a.dtype, low=-3, high=3)
    if a.dtype.kind in "fc":
        a, updates = np.round(a), np.round(updates)
    expected = a.copy()
    positions = gathered(np.arange(a.size).reshape(a.shape), idx, axes)
    n = positions.ndim - (a.ndim - len(axes))
    place = moved(a, axes)[1]
    flat = [np.moveaxis(p, range(place, place + n), range(n)).ravel() for p in (positions, updates)]
    for k, v in zip(*flat):
        expected.reshape(-1)[k] = expected.reshape(-1)[k] + v if add else v
    f = tfr.scatter_add if add else tfr.scatter
    x = placed(a, layout)
    assert_same(f(x, idx, placed(updates, layout2), axis=axes), expected)
    assert_same(x, a)


def test_scatter_matches_numpy():
    rng = np.random.default_rng(0)
    a, i, j = np.zeros((5, 6)), rng.integers(0, 5, (4, 3)), rng.integers(0, 6, 3)
    u = np.round(rng.random((4, 3)) * 8)
    expected = a.copy()
    np.add.at(expected, (i, j), u)
    assert_same(tfr.scatter_add(a, (i, j), u), expected)
    expected = a.copy()
    np.add.at(expected, np.s_[:, j], 2.0)
    assert_same(tfr.scatter_add(a, j, 2.0, axis=1), expected)
    assert_same(tfr.scatter(a, [1, 1], [[1.0], [2.0]]), np.where(np.arange(5)[:, None] == 1, 2.0, np.zeros((5, 6))))


@pytest.mark.parametrize("dtype", INT_DTYPES, ids=str)
def test_scatter_add_wraps(dtype):
    top = np.iinfo(dtype).max
    assert_same(
        tfr.scatter_add(np.array([top], dtype), [0, 0], np.array([1, 1], dtype)),
        np.array([np.iinfo(dtype).min + 1], dtype),
    )


@FEWER
@given(st.data())
def test_index_select(data):
    shape = data.draw(shapes(min_dims=1, min_side=1))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    idx = data.draw(
        hnp.arrays(np.int64, data.draw(st.integers(0, 5)), elements=st.integers(-shape[axis], shape[axis] - 1))
    )
    a = sample(np.random.default_rng(0), shape, data.draw(dtypes))
    assert_same(tfr.index_select(placed(a, data.draw(layouts)), axis, idx), np.take(a, idx, axis))


def test_nothing_to_index():
    """Zero-size tensors and index arrays, and the scalar."""
    a = np.zeros((0, 3))
    assert_same(tfr.take(a, np.zeros((2, 0), int), axis=0), np.zeros((2, 0, 3)))
    assert_same(tfr.take(5.0, [0, -1]), np.array([5.0, 5.0]))
    assert_same(tfr.scatter_add(a, np.zeros(0, int), np.zeros((0, 3))), a)
    x = tfr.constant(a)
    for call in (
        lambda: tfr.take(a, [0], axis=0),
        lambda: tfr.take(a, [3], axis=1),
        lambda: tfr.take(a, [0]),
        lambda: x[:, [3]],
    ):
        with pytest.raises(errors.AxisError):
            call()


@pytest.mark.parametrize("dtype", ["?", "u2", "f4", "f8", "c16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_large(dtype, order):
    """Sizes at which kernels give up the GIL, long and short rows, both orders."""
    rng = np.random.default_rng(0)
    a = np.array(sample(rng, (130, 140), dtype), order=order)
    a = np.round(a) if a.dtype.kind in "fc" else a
    x = const(a)
    for axis in (0, 1):
        idx = rng.integers(-a.shape[axis], a.shape[axis], 200)
        assert_same(tfr.take(x, idx, axis=axis), np.take(a, idx, axis))
        u = np.take(a[::-1, ::-1], idx, axis)
        expected = a.copy()
        np.add.at(expected, (slice(None),) * axis + (idx,), u)
        assert_same(tfr.scatter_add(x, idx, u, axis=axis), expected)
        along = np.argsort(rng.random(a.shape), axis=axis)
        assert_same(tfr.take_along_axis(x, np.asfortranarray(along), axis=axis), np.take_along_axis(a, along, axis))
    i, j = rng.integers(0, 130, (90, 1)), rng.integers(0, 140, (1, 100))
    assert_same(x[i, j], a[i, j])
    mask = rng.random(a.shape) < 0.3
    assert_same(x[mask], a[mask])
    with pytest.raises(errors.AxisError, match="index 130"):
        x[np.where(i == i[-1], 130, i), j]
    with pytest.raises(errors.AxisError, match="index 140"):
        tfr.take_along_axis(x, np.full(a.shape, 140))


def test_memory_order():
    """Column-major, unless every input of rank 2 or more is row-major."""
    a, idx = np.zeros((3, 4, 5)), np.zeros((2, 2), int)
    rows, columns = const(a), const(np.asfortranarray(a))
    flat = tfr.constant(np.zeros(6))

    def strides(t):
        return np.asarray(t.value()).strides

    assert strides(rows[:, idx]) == np.zeros((3, 2, 2, 5)).strides
    assert strides(columns[:, idx]) == np.zeros((3, 2, 2, 5), order="F").strides
    assert strides(rows[:, np.asfortranarray(idx)]) == np.zeros((3, 2, 2, 5), order="F").strides
    assert strides(flat[np.asfortranarray(idx)]) == np.zeros((2, 2), order="F").strides
    assert strides(flat[idx]) == np.zeros((2, 2)).strides
    assert strides(tfr.index_set(rows, 0, np.zeros(5))) == a.strides
    assert strides(tfr.index_set(columns, 0, np.zeros(5))) == np.asfortranarray(a).strides
    assert strides(tfr.index_set(rows, [0, 1], np.zeros((4, 5)))) == a.strides
    assert strides(tfr.scatter_add(rows, [0], np.zeros((4, 5), order="F"))) == np.asfortranarray(a).strides


def test_borrowed_indices_are_kept():
    """Writing to an index array after the operation changes no derivative."""
    idx, mask = np.array([2, 0]), np.array([True, False, True])
    x = tfr.variable([1.0, 2.0, 4.0])
    loss = tfr.sum(x[idx] * x[mask] * tfr.take(x, idx))
    idx[:], mask[:] = 1, False
    grads = loss.backward()
    assert_same(grads[x], np.array([24.0, 0.0, 9.0]))  # of x2 x0 x2 + x0 x2 x0 at (1, 2, 4)


def test_function_errors():
    x = tfr.constant(np.zeros((2, 3)))
    for call, error, message in [
        (lambda: tfr.take(x, [2], axis=0), errors.AxisError, "take: index 2 .*axis 0 of size 2"),
        (lambda: tfr.take(x, [-7]), errors.AxisError, "flattened tensor of size 6"),
        (lambda: tfr.take(x, [0], axis=2), errors.AxisError, "axis"),
        (lambda: tfr.take(x, [0], mode="no"), errors.ValidationError, "mode"),
        (lambda: tfr.take(x, [True]), errors.DTypeMismatchError, "mask"),
        (lambda: tfr.take(x, [0.0]), errors.DTypeMismatchError, "astype"),
        (lambda: tfr.index_select(x, 0, [[0]]), errors.ShapeMismatchError, "take"),
        (lambda: tfr.take_along_axis(x, [0]), errors.ShapeMismatchError, "indices"),
        (lambda: tfr.take_along_axis(x, [[0], [0], [0]]), errors.ShapeMismatchError, "indices"),
        (lambda: tfr.take_along_axis(x, [[3]]), errors.AxisError, "index 3 .*axis 1 of size 3"),
        (lambda: tfr.take_along_axis(x, [[0]], axis=None), errors.ShapeMismatchError, "indices"),
        (lambda: tfr.gather(x, ([0], [0]), axis=(1, -1)), errors.AxisError, "twice"),
        (lambda: tfr.gather(x, [0], axis=(0, 1)), errors.ValidationError, "one for each axis"),
        (lambda: tfr.gather(x, ([0], [0], [0])), errors.AxisError, "axis"),
        (lambda: tfr.gather(x, ([0], [3])), errors.AxisError, "index 3 .*axis 1"),
        (lambda: tfr.gather(x, ()), errors.ValidationError, "at least one"),
        (lambda: tfr.scatter(x, [0], np.zeros((2, 3))), errors.ShapeMismatchError, "updates"),
        (lambda: tfr.scatter_add(x, [0, 5], 1.0), errors.AxisError, "scatter_add: index 5"),
        (lambda: tfr.scatter_add(x, [0], 1j), errors.DTypeMismatchError, "astype"),
    ]:
        with pytest.raises(error, match=message):
            call()
        before = live()
        for _ in range(3):
            with pytest.raises(error):
                call()
        assert live()[0] <= before[0] + 1


def test_fields_of_the_error():
    with pytest.raises(errors.AxisError) as e:
        tfr.take(np.zeros(3), [0, 9], axis=0)
    assert (e.value.op, e.value.argument, e.value.actual) == ("take", "indices", 9)


def test_other_runtime():
    rt = tfr.EagerRuntime()
    idx = rt.constant_from(tfr.Tensor.from_numpy(np.array([0])))
    with pytest.raises(errors.ContextMismatchError, match="detach_into"):
        tfr.constant([1.0])[idx]


def test_results_are_copies():
    a = np.arange(3.0)
    x = const(a)
    y = x[[0, 1, 2]]
    a[:] = 9
    assert_same(y, np.arange(3.0))


def test_nothing_is_recorded_for_integers():
    assert not tfr.constant([1, 2])[[0]].tracks_grad
    assert not tfr.constant([1.0, 2])[[0]].tracks_grad
    assert leaf(np.ones(2))[[0]].tracks_grad
    assert tfr.index_set(np.ones(2), [0], leaf(np.ones(()))).tracks_grad


def test_random_layouts_agree():
    """One gather of the same values in many layouts."""
    a = np.arange(60.0).reshape(3, 4, 5)
    rng = np.random.default_rng(5)
    for _ in range(30):
        assert_same(const(random_layout(a, rng))[:, [1, 3], [0, 4]], a[:, [1, 3], [0, 4]])
