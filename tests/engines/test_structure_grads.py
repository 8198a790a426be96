"""Derivatives of structure operations: both modes, nested, in random memory layouts; gradients in closed form."""

import numpy as np
import pytest
from support import DIFF_DTYPES, assert_same, leaf, random_layout, sample

import tenferro as tfr
from tenferro.testing import check_grads

CASES = {
    "reshape": lambda x: tfr.reshape(x, (4, 6)),
    "reshape_f": lambda x: tfr.reshape(x, (4, -1), order="F"),
    "reshape_of_transpose": lambda x: tfr.reshape(tfr.transpose(x), (6, 4)),
    "ravel": tfr.ravel,
    "ravel_f": lambda x: tfr.ravel(x, "F"),
    "copy": lambda x: tfr.reshape(x, (2, 3, 4), copy=True),
    "transpose": tfr.transpose,
    "transpose_axes": lambda x: tfr.transpose(x, (2, 0, 1)),
    "swapaxes": lambda x: tfr.swapaxes(x, 0, 2),
    "moveaxis": lambda x: tfr.moveaxis(x, 0, -1),
    "matrix_transpose": tfr.matrix_transpose,
    "broadcast_to": lambda x: tfr.broadcast_to(x[:, :1], (2, 2, 3, 4)),
    "broadcast_in_dim": lambda x: tfr.broadcast_in_dim(x, (4, 2, 2, 3), (1, 3, 0)),
    "squeeze": lambda x: tfr.squeeze(x[:1, :, 2:3], (0, 2)),
    "expand_dims": lambda x: tfr.expand_dims(x, (0, -2)),
    "slice": lambda x: tfr.slice(x, (0, 1, -1), (2, 3, None), (1, 1, -2)),
    "index_int": lambda x: x[1],
    "index_all_ints": lambda x: x[1, -1, 2],
    "index_steps": lambda x: x[::-1, 1:, ::2],
    "index_mixed": lambda x: x[None, 1, ..., None, 3:0:-2],
    "index_empty": lambda x: x[2:],
    "dynamic_slice": lambda x: tfr.dynamic_slice(x, np.array([5, 1, -2]), (1, 2, 3)),
    "pad": lambda x: tfr.pad(x, ((1, 0), (0, 2), (1, 1)), constant_values=2.0),
    "pad_edge": lambda x: tfr.pad(x, 1, "edge"),
    "pad_reflect": lambda x: tfr.pad(x, 1, "reflect"),
    "concatenate_itself": lambda x: tfr.concatenate([x, x[:, :1], x], axis=1),
    "concatenate_flat": lambda x: tfr.concatenate([x[0], x[1, 1]], axis=None),
    "stack_itself": lambda x: tfr.stack([x, x], axis=-2),
    "stack_scalars": lambda x: tfr.stack([x[0, 0, 0], 2.0, x[1, 2, 3]]),
    "split": lambda x: tfr.split(x, [1, 3], axis=2)[1],
    "unstack": lambda x: tfr.unstack(x, axis=1)[2],
    "reverse": lambda x: tfr.reverse(x, (0, 2)),
    "flip": tfr.flip,
    "roll": lambda x: tfr.roll(x, (1, 2), (0, 2)),
    "roll_flat": lambda x: tfr.roll(x, 5),
    "tile": lambda x: tfr.tile(x, (2, 1, 2)),
    "repeat": lambda x: tfr.repeat(x, 2, axis=1),
    "repeat_counts": lambda x: tfr.repeat(x, [2, 0, 1], axis=1),
    "tril": lambda x: tfr.tril(x, -1),
    "triu": lambda x: tfr.triu(x, 1),
    "extract_diag": lambda x: tfr.extract_diag(x, 1, 2, 0),
    "embed_diag": lambda x: tfr.embed_diag(x, -1, 0, 2),
    "trace": lambda x: tfr.trace(x, 0, 1, 2),
}
BINARY = {
    "concatenate": lambda x, y: tfr.concatenate([x, y, x], axis=-1),
    "stack": lambda x, y: tfr.stack([x, y], axis=1),
    "pad_value": lambda x, y: tfr.pad(x, ((1, 2), (0, 0), (0, 1)), constant_values=y[0, 0, 0]),
    "pad_values": lambda x, y: tfr.pad(x, 1, constant_values=y[0, 1, :2]),
    "broadcast_arrays": lambda x, y: tfr.broadcast_arrays(x[:1], y[:, :1]),
    "hstack": lambda x, y: tfr.hstack([x, y]),
    "vstack": lambda x, y: tfr.vstack([x, y]),
}


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_derivatives(name, dtype):
    f = CASES[name]
    for seed in range(2):
        rng = np.random.default_rng(seed)
        x = random_layout(sample(rng, (2, 3, 4), dtype), rng)
        # The square makes the function non-linear, so that second order says something.
        check_grads(lambda t: (f(t), f(t * t)), [x])


@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("f4", "f8"), ("f8", "c16"), ("c8", "c8"), ("c8", "f4")])
@pytest.mark.parametrize("name", BINARY)
def test_derivatives_of_two_arguments(name, dtypes):
    if name.startswith("pad") and dtypes == ("f8", "c16"):
        dtypes = ("c16", "f8")
    rng = np.random.default_rng(3)
    x, y = (random_layout(sample(rng, (2, 3, 4), d), rng) for d in dtypes)
    check_grads(lambda a, b: BINARY[name](a, b), [x, y])
    check_grads(lambda a, b: BINARY[name](a * a, b * b), [x, y])


@pytest.mark.parametrize("f", [
    tfr.transpose, tfr.ravel, tfr.flip, tfr.tril, tfr.extract_diag, tfr.embed_diag, lambda x: x[1:],
    lambda x: tfr.pad(x, 1),
    lambda x: tfr.concatenate([x, x]), lambda x: tfr.stack([x, x]), lambda x: tfr.roll(x, 1),
    lambda x: tfr.dynamic_slice(x, (0, 0), (0, 0)), lambda x: tfr.tile(x, 2), tfr.trace,
])
def test_derivatives_of_empty_tensors(f):
    x = leaf(np.zeros((0, 3)))
    y = f(x)
    y.backward_with(np.ones(y.shape))
    assert_same(x.grad, np.zeros((0, 3)))


@pytest.mark.parametrize("f", [
    tfr.transpose, tfr.ravel, tfr.flip, lambda x: x[...], lambda x: x[None], lambda x: tfr.broadcast_to(x, (2, 2)),
    lambda x: tfr.stack([x, x]), lambda x: tfr.tile(x, 3), lambda x: tfr.repeat(x, 2), lambda x: tfr.roll(x, 1),
    lambda x: tfr.reshape(x, (1, 1)), lambda x: tfr.pad(x, 0), lambda x: tfr.dynamic_slice(x, (), ()),
])
def test_derivatives_of_scalars(f):
    check_grads(lambda x: f(x * x), [np.array(1.5)])


def test_gradient_of_overlapping_slices():
    x = leaf(np.arange(5.0))
    (tfr.sum(x[1:4] * 2.0) + tfr.sum(x[::-2] * 3.0) + x[2]).backward()
    assert_same(x.grad, np.array([3.0, 2.0, 6.0, 2.0, 3.0]))


def test_gradient_of_joining_very_many():
    xs = [leaf(np.array([float(k)])) for k in range(520)]
    weights = np.arange(520.0)
    grads = tfr.sum(tfr.concatenate(xs) * weights).backward()
    assert [float(grads[x][0]) for x in xs] == weights.tolist()


def test_gradients_have_the_order_of_their_primal():
    for order in "CF":
        x = leaf(np.asarray(np.ones((3, 4)), order=order))
        tfr.sum(x[1:, ::2] * 2.0).backward()
        assert x.grad.numpy().flags[f"{order}_CONTIGUOUS"]


def test_pad_value_gradient_counts_the_border_only():
    x, c = leaf(np.full((2, 2), np.inf)), leaf(np.array(3.0))
    y = tfr.pad(x, 1, constant_values=c)
    y.backward_with(np.full((4, 4), 2.0))
    assert float(c.grad) == 24.0
    assert_same(x.grad, np.full((2, 2), 2.0))


def test_dynamic_slice_of_a_start_that_is_a_tensor():
    x, start = leaf(np.arange(5.0)), tfr.constant([2])
    tfr.sum(tfr.dynamic_slice(x, start, (2,)) ** 2).backward()
    assert_same(x.grad, np.array([0.0, 0.0, 4.0, 6.0, 0.0]))
