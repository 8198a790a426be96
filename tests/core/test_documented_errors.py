"""The errors that docstrings name are those that come."""

import operator

import numpy as np
import pytest
from public_names import sections

import tenferro as tfr
from tenferro import EagerRuntime, constant, errors, variable

CALLS = [
    ("zeros", "ValidationError", lambda f: f(-1)),
    ("ones", "DTypeMismatchError", lambda f: f(2, dtype="S2")),
    ("zeros", "PlacementError", lambda f: f(2, device="x")),
    ("zeros_like", "DTypeMismatchError", lambda f: f([1.0], dtype="S2")),
    ("full_like", "PlacementError", lambda f: f([1.0], 2.0, device="x")),
    ("eye", "DTypeMismatchError", lambda f: f(2, dtype="S2")),
    ("identity", "DTypeMismatchError", lambda f: f(2, dtype="S2")),
    ("arange", "DTypeMismatchError", lambda f: f(3, dtype=np.longdouble)),
    ("arange", "PlacementError", lambda f: f(3, device="x")),
    ("arange", "OutOfMemoryError", lambda f: f(10 ** 15)),
    ("linspace", "DTypeMismatchError", lambda f: f(0, 1, 3, dtype=np.longdouble)),
    ("logspace", "DTypeMismatchError", lambda f: f(0, 1, 3, dtype=np.longdouble)),
    ("fliplr", "AxisError", lambda f: f([1.0])),
    ("flipud", "AxisError", lambda f: f(1.0)),
    ("allclose", "ShapeMismatchError", lambda f: f([1.0, 2], [1.0, 2, 3])),
    ("isclose", "ShapeMismatchError", lambda f: f([1.0, 2], [1.0, 2, 3])),
    ("copy", "DTypeMismatchError", lambda f: f(["a"])),
    ("positive", "DTypeMismatchError", lambda f: f(["a"])),
    ("bitwise_invert", "DTypeMismatchError", lambda f: f([1.0])),
    ("random.default_rng", "ValueError", lambda f: f(-1)),
    ("random.seed", "ValueError", lambda f: f(-1)),
    ("random.permutation", "ValueError", lambda f: f([1.0, 2], axis=3)),
    ("random.random", "DTypeMismatchError", lambda f: f(2, dtype=int)),
    ("unstack", "AxisError", lambda f: f(1.0)),
    ("unstack", "AxisError", lambda f: f([1.0], axis=3)),
    ("hstack", "ValidationError", lambda f: f([])),
    ("vstack", "ValidationError", lambda f: f([])),
    ("hstack", "ShapeMismatchError", lambda f: f([[[1.0]], [[1.0], [2.0]]])),
    ("vstack", "ShapeMismatchError", lambda f: f([[[1.0]], [[1.0, 2.0]]])),
    ("atleast_1d", "DTypeMismatchError", lambda f: f("a")),
    ("atleast_2d", "DTypeMismatchError", lambda f: f("a")),
    ("can_cast", "TypeError", lambda f: f("nope", float)),
    ("array_split", "AxisError", lambda f: f([1.0], 1, axis=3)),
    ("outer", "DTypeMismatchError", lambda f: f(["a"], [1.0])),
    ("ravel", "ValidationError", lambda f: f([1.0], order="Z")),
    ("swapaxes", "AxisError", lambda f: f([1.0], 0, 3)),
    ("permute_dims", "AxisError", lambda f: f([1.0], (3,))),
    ("matrix_transpose", "AxisError", lambda f: f([1.0])),
    ("broadcast_to", "ShapeMismatchError", lambda f: f([1.0, 2], (3,))),
    ("broadcast_to", "IntegerOverflowError", lambda f: f(1.0, (2**62, 2**62))),
    ("broadcast_in_dim", "ShapeMismatchError", lambda f: f([1.0, 2], (3,), (0,))),
    ("broadcast_in_dim", "AxisError", lambda f: f([1.0, 2], (2,), (5,))),
    ("broadcast_in_dim", "IntegerOverflowError", lambda f: f(1.0, (2**62, 2**62), ())),
    ("squeeze", "AxisError", lambda f: f([1.0], 5)),
    ("squeeze", "ShapeMismatchError", lambda f: f([1.0, 2], 0)),
    ("expand_dims", "AxisError", lambda f: f([1.0], (0, 0))),
    ("flip", "AxisError", lambda f: f([1.0], (0, 0))),
    ("broadcast_arrays", "ShapeMismatchError", lambda f: f([1.0, 2], [1.0, 2, 3])),
    ("dot", "ShapeMismatchError", lambda f: f([1.0, 2], [1.0, 2, 3])),
    ("inner", "ShapeMismatchError", lambda f: f([1.0, 2], [1.0, 2, 3])),
    ("dot_general", "ValidationError", lambda f: f([1.0], [1.0], ([0], []))),
    ("dot_general", "AxisError", lambda f: f([1.0], [1.0], ([3], [0]))),
    ("dot_general", "ShapeMismatchError", lambda f: f([1.0], [1.0, 2], ([0], [0]))),
    ("vecdot", "ShapeMismatchError", lambda f: f([1.0, 2], [1.0, 2, 3])),
    ("complex", "DTypeMismatchError", lambda f: f(1j, 2.0)),
    ("complex", "ShapeMismatchError", lambda f: f([1.0, 2], [1.0, 2, 3])),
    ("where", "ShapeMismatchError", lambda f: f([True, False], [1.0, 2, 3], 0)),
    ("clamp", "ShapeMismatchError", lambda f: f([1.0, 2], [1.0, 2, 3], None)),
    ("polygamma", "ValidationError", lambda f: f(-1, 1.0)),
    ("meshgrid", "ValidationError", lambda f: f([1.0], indexing="z")),
    ("fft.fftshift", "AxisError", lambda f: f([1.0], axes=4)),
    ("fft.rfft", "DTypeMismatchError", lambda f: f([1j])),
    ("fft.ihfft", "DTypeMismatchError", lambda f: f([1j])),
    ("fft.rfft2", "ValidationError", lambda f: f([[1.0]], axes=())),
    ("fft.irfftn", "ValidationError", lambda f: f([[1.0]], axes=())),
    ("fft.fftfreq", "ValidationError", lambda f: f(0)),
    ("fft.hfft", "ValidationError", lambda f: f([1.0], norm="x")),
    ("fft.fftn", "ShapeMismatchError", lambda f: f([[1.0]], s=(1, 1), axes=(0,))),
    ("log_softmax", "DTypeMismatchError", lambda f: f([1j])),
    ("masked_log_softmax", "ShapeMismatchError", lambda f: f([1.0, 2], [True] * 3)),
    ("rms_norm", "ValidationError", lambda f: f([1.0], eps=-1)),
    ("silu", "DTypeMismatchError", lambda f: f(1j)),
    ("std", "AxisError", lambda f: f([1.0], axis=3)),
    ("cumulative_prod", "ValidationError", lambda f: f(1.0)),
    ("round", "DTypeMismatchError", lambda f: f("a")),
    ("real", "DTypeMismatchError", lambda f: f("a")),
]

MEMBERS = [
    ("stop_gradient", "RuntimeStateError", lambda: tfr.stop_gradient(consumed())),
    ("optimize.SGD.init", "ValidationError", lambda: tfr.optimize.SGD(0.1).init([1, 2])),
    ("optimize.SGD.step", "ValidationError", lambda: tfr.optimize.SGD(0.1).step([1.0], [1.0, 2.0], {})),
    ("random.Generator.spawn", "OverflowError", lambda: tfr.random.default_rng(1).spawn(-1)),
    ("EagerRuntime", "UnsupportedError", lambda: EagerRuntime(3)),
    ("EagerRuntime.with_ad_context", "UnsupportedError", lambda: EagerRuntime.with_ad_context(tfr.AdContext(), engine=3)),
    ("EagerRuntime.vjp", "ContextMismatchError", lambda: EagerRuntime().vjp(variable(1.0), variable(1.0), 1.0)),
    ("EagerTensor.same_context", "TypeError", lambda: constant(1.0).same_context(3)),
    ("EagerTensor.tolist", "RuntimeStateError", lambda: consumed().tolist()),
    ("EagerTensor.detach_into", "RuntimeStateError", lambda: consumed().detach_into(EagerRuntime())),
    ("EagerTensor.slice_builder", "RuntimeStateError", lambda: consumed().slice_builder()),
    ("EagerTensor.from_tensor_in", "DTypeMismatchError", lambda: tfr.EagerTensor.from_tensor_in(["a"], EagerRuntime())),
    ("EagerTensor.from_vec_col_major_in", "ShapeMismatchError",
     lambda: tfr.EagerTensor.from_vec_col_major_in((2, 2), [1.0], EagerRuntime())),
    ("EagerTensor.backward_with", "ContextMismatchError",
     lambda: (variable(1.0) * 2).backward_with(EagerRuntime().constant_from(1.0))),
    ("EagerTensor.reshape", "ShapeMismatchError", lambda: constant([1.0]).reshape(3)),
    ("EagerTensor.transpose", "AxisError", lambda: constant([1.0]).transpose(1, 0)),
    ("EagerTensor.flatten", "ValidationError", lambda: constant([1.0]).flatten("Z")),
    ("EagerTensor.dot", "ShapeMismatchError", lambda: constant([1.0, 2]).dot([1.0, 2, 3])),
    ("Tensor.from_dlpack", "BufferError", lambda: tfr.Tensor.from_dlpack(variable(1.0))),
    ("no_grad", "RuntimeStateError", lambda: entered_twice(tfr.no_grad())),
]


def entered_twice(guard):
    with guard:
        pass
    guard.__enter__()


BUILT_IN = {e.__name__: e for e in (ValueError, TypeError, OverflowError, BufferError)}


def consumed():
    x = tfr.constant([1.0])
    x.into_value()
    return x


def check(value, expected, call):
    """The call raises what is expected, and the docstring names it."""
    with pytest.raises(BUILT_IN.get(expected) or getattr(errors, expected)):
        call()
    assert expected in sections(value)["Raises"].split()


@pytest.mark.parametrize(("name", "expected", "call"), CALLS, ids=lambda v: v if isinstance(v, str) else "")
def test_functions(name, expected, call):
    f = operator.attrgetter(name)(tfr)
    check(f, expected, lambda: call(f))


@pytest.mark.parametrize(("name", "expected", "call"), MEMBERS, ids=lambda v: v if isinstance(v, str) else "")
def test_members(name, expected, call):
    check(operator.attrgetter(name)(tfr), expected, call)
