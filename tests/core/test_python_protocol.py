"""What Python's own functions and statements do with eager tensors, beside NumPy's arrays."""

import math
import operator

import numpy as np
import pytest
from support import value

import tenferro as tfr
from tenferro import EagerTensor

A = np.array([[1.5, -2.25, 3.0], [0.5, 4.0, -1.0]])


def compare(found, expected):
    assert isinstance(found, EagerTensor)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(value(found), expected)


@pytest.mark.parametrize("make", [tfr.constant, tfr.variable])
def test_arithmetic_of_built_ins(make):
    x = make(A)
    for found, expected in zip((*divmod(x, 2), *divmod(7, x), *divmod(x, A + 10)),
                               (*divmod(A, 2), *divmod(7, A), *divmod(A, A + 10)), strict=True):
        compare(found, expected)
    compare(abs(x), abs(A))
    compare(+x, A)
    compare(-x, -A)
    compare(round(x), np.round(A))
    compare(round(x, 1), np.round(A, 1))
    compare(sum(x), A.sum(axis=0))
    compare(math.prod(x), A.prod(axis=0))
    compare(max(x[0]), np.float64(3))
    for wrong in (lambda: divmod(x, "text"), lambda: divmod(None, x), lambda: round(x, "text")):
        with pytest.raises(TypeError):
            wrong()


def test_integers():
    x = tfr.constant([7, -7])
    for op in (operator.floordiv, operator.mod):
        compare(op(x, 3), op(np.array([7, -7]), 3))
    assert operator.index(x[0]) == 7
    assert list(range(10))[tfr.constant(2)] == 2
    assert np.arange(10)[tfr.constant(3)] == 3
    assert np.zeros(tfr.constant(3)).shape == (3,)


@pytest.mark.parametrize("f", [math.sin, math.exp, math.floor, math.ceil, math.trunc, math.isnan, math.sqrt, math.lgamma],
                         ids=lambda f: f.__name__)
def test_math_functions(f):
    for x in (tfr.variable(2.75), tfr.constant(2.75), tfr.variable([2.75])[0], tfr.constant(np.float32(2.75)), tfr.constant(2)):
        found = f(x)
        assert type(found) is type(f(x.item()))
        assert found == f(x.item())
    with pytest.raises((TypeError, ValueError)):
        f(tfr.constant([1.0, 2.0]))


def test_reversed_and_slices():
    x = tfr.variable(A)
    for found, expected in zip(reversed(x), reversed(A), strict=True):
        compare(found, expected)
        assert found.tracks_grad
    for index in (slice(None, None, -1), (slice(None), slice(None, None, -2)), (slice(1, None, -1), slice(2, 0, -1)),
                  slice(None, -5, -1), -1, (-1, -2)):
        compare(x[index], np.asarray(A[index]))
    tfr.sum(x[::-1, ::-2] * np.arange(4.0).reshape(2, 2)).backward()
    assert x.grad.tolist() == [[3, 0, 2], [1, 0, 0]]
    for f in (reversed, len, iter, list, max):
        with pytest.raises(TypeError):
            f(tfr.variable(1.0))


def test_membership_of_other_types():
    x = tfr.constant(A)
    assert "text" not in x
    assert b"text" not in x
    assert None not in x
    assert 4 in x
    assert x[1, 1] in x


@pytest.mark.parametrize("spec", ["", ".3f", "8.2e", "+g", "010.4f", "%", ">12", "n"])
@pytest.mark.parametrize("scalar", [2.5, -1e-7, np.float32(0.1), 7, True, 1.5 - 2j])
def test_formats_are_numpy_s(spec, scalar):
    a = np.asarray(scalar)
    try:
        expected = format(a, spec)
    except (ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            format(tfr.constant(a), spec)
        return
    assert format(tfr.constant(a), spec) == expected


def test_truth_of_several_elements():
    for a in (A, A[0, :2]):
        with pytest.raises(ValueError, match=r"ambiguous.*any\(\).*all\(\)"):
            bool(tfr.variable(a))
        with pytest.raises(ValueError, match="ambiguous"):
            assert tfr.variable(a) == a
    assert not tfr.variable(0.0)
    assert tfr.variable([[3.0]])


def test_directory():
    names = dir(tfr.variable(1.0))
    assert {"T", "backward", "detach", "dtype", "grad", "item", "mean", "reshape", "shape", "sum", "tracks_grad",
            "__array_ufunc__", "__array_function__", "__dlpack__"} <= set(names)
    assert all(hasattr(EagerTensor, name) for name in names)
    assert not any(name.startswith("_") and not name.endswith("__") for name in names)


def test_missing_attributes():
    x = tfr.variable(A)
    for name in ("align_axes", "columns", "_repr_html_", "_ipython_display_", "__array_interface__", "__dataframe__"):
        assert getattr(x, name, None) is None
        assert not hasattr(x, name)
