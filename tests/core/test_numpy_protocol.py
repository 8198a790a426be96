"""NumPy's ufuncs, operators between arrays and eager tensors, and NumPy scalars (``__array_ufunc__``)."""

import operator

import numpy as np
import pytest
from scipy import special
from support import value

import tenferro as tfr
from tenferro import EagerTensor, errors
from tenferro._numpy.ufuncs import SPECIAL, UFUNCS
from tenferro.testing import check_grads

RNG = np.random.default_rng(11)
X, Y = np.array([0.7, -1.2, 2.6, 0.4]), np.array([1.1, 0.35, -0.6, 0.9])
INTS, BITS = np.array([3, -2, 5, 1]), np.array([True, False, True, True])
DTYPES = ("f4", "f8", "c8", "c16", "i4", "i8", "?")


def compare(found, expected, rtol=1e-12):
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for x, a in zip(found, expected, strict=True):
            compare(x, a, rtol)
        return
    assert isinstance(found, EagerTensor)
    expected = np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(value(found), expected, rtol=rtol, atol=rtol)


def tensor(a):
    return tfr.variable(a) if np.asarray(a).dtype.kind in "fc" else tfr.constant(a)


# ---- ufuncs ----------------------------------------------------------------------------------------------------------

UNIT = "arccos arcsin arctanh".split()
ABOVE = "log log10 log2 sqrt arccosh".split()
MATRICES = {"matmul": ((2, 3), (3, 2)), "vecdot": ((2, 3), (2, 3)), "matvec": ((2, 3), (3,)), "vecmat": ((2,), (2, 3))}
WHOLE = "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift".split()


def operands(ufunc, kind="f8"):
    name = ufunc.__name__
    if name in MATRICES:
        return [RNG.standard_normal(shape).astype(kind) for shape in MATRICES[name]]
    if name in WHOLE:
        return [INTS, np.array([1, 2, 0, 1])][: ufunc.nin]
    x, y = X, Y
    if name in UNIT:
        x = X / 4
    if name in (*ABOVE, "log1p", "power", "float_power"):
        x = np.abs(X) + 1
    return [a.astype(kind) for a in (x, y)[: ufunc.nin]]


@pytest.mark.parametrize("kind", ["f8", "f4", "c16", "i8"])
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
def test_ufuncs(ufunc, kind):
    args = operands(ufunc, kind)
    if kind == "i8":
        args = [np.abs(a) + 1 if ufunc.__name__ not in (*WHOLE, *UNIT) else a for a in args]
    try:
        expected = ufunc(*args)
    except TypeError:                           # NumPy has no loop for these dtypes
        with pytest.raises(TypeError):
            ufunc(*map(tensor, args))
        return
    rtol = 1e-5 if kind == "f4" else 1e-11
    compare(ufunc(*map(tensor, args)), expected, rtol)
    if ufunc.nin == 2:
        compare(ufunc(args[0], tensor(args[1])), expected, rtol)
        compare(ufunc(tensor(args[0]), args[1]), expected, rtol)


NO_DERIVATIVE = {f for f in UFUNCS if f.__name__ in WHOLE or f.types[0].endswith("?") or f.__name__ in
                 ("signbit", "isnan", "isinf", "isfinite", "floor_divide", "divmod")}


@pytest.mark.parametrize("ufunc", [f for f in UFUNCS if f not in NO_DERIVATIVE], ids=lambda f: f.__name__)
def test_derivatives(ufunc):
    check_grads(lambda *xs: ufunc(*xs), operands(ufunc), order=1)
    if ufunc.nin == 2:
        a, b = operands(ufunc)
        check_grads(lambda x: ufunc(x, b), [a], order=1)
        check_grads(lambda y: ufunc(a, y), [b], order=1)


@pytest.mark.parametrize("ufunc", [np.modf, np.fmax, np.fmin, np.copysign, np.heaviside, np.rint, np.signbit, np.logaddexp2,
                                   np.fabs], ids=lambda f: f.__name__)
def test_special_values(ufunc):
    special = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 2.0])
    args = [special] if ufunc.nin == 1 else [a.ravel() for a in np.meshgrid(special, special)]
    with np.errstate(all="ignore"):
        expected = ufunc(*args)
    found = ufunc(*map(tensor, args))
    compare(found, expected)
    for x, a in zip(found if isinstance(found, tuple) else [found], expected if isinstance(expected, tuple) else [expected],
                    strict=True):
        real = ~np.isnan(a)
        assert np.array_equal(np.signbit(value(x)[real]), np.signbit(a[real]))


def test_weak_scalars():
    x = tfr.variable(np.float32([1.5, -2.0]))
    for ufunc in (np.add, np.power, np.copysign, np.float_power, np.heaviside, np.fmax, np.hypot):
        for scalar in (2, 2.0, True):
            compare(ufunc(x, scalar), ufunc(value(x), scalar), 1e-6)
            compare(ufunc(abs(x), scalar), ufunc(abs(value(x)), scalar), 1e-6)
        compare(ufunc(x, np.float64(2)), ufunc(value(x), np.float64(2)), 1e-6)


@pytest.mark.parametrize(("ufunc", "method"), [
    *((f, "reduce") for f in (np.add, np.multiply, np.maximum, np.minimum, np.logaddexp, np.logical_and, np.logical_or)),
    (np.add, "accumulate"), (np.multiply, "accumulate")], ids=lambda p: getattr(p, "__name__", p))
def test_reductions(ufunc, method):
    a = RNG.standard_normal((3, 4))
    f = getattr(ufunc, method)
    compare(f(tensor(a)), f(a))
    compare(f(tensor(a), axis=1), f(a, axis=1))
    if method == "reduce":
        compare(f(tensor(a), axis=(0, 1), keepdims=True), f(a, axis=(0, 1), keepdims=True))
        compare(f(tensor(a), None), f(a, None))
    if ufunc in (np.add, np.multiply):
        compare(f(tensor(INTS), dtype="f8"), f(INTS, dtype="f8"))
    if ufunc not in (np.logical_and, np.logical_or):
        check_grads(f, [a], order=1)


def test_outer_and_dtype():
    compare(np.multiply.outer(tensor(X), tensor(Y)), np.multiply.outer(X, Y))
    compare(np.subtract.outer(np.ones((2, 2)), tensor(Y)), np.subtract.outer(np.ones((2, 2)), Y))
    compare(np.add(tensor(INTS), 1, dtype="f8"), np.add(INTS, 1, dtype="f8"))
    compare(np.exp(tensor(np.float32(X)), dtype="f8"), np.exp(np.float32(X), dtype="f8"))
    compare(np.add(tensor(X), Y, casting="same_kind", order="K", subok=True, where=True, out=None), X + Y)
    compare(np.vecdot(tensor(np.ones((3, 2))), np.ones((3, 2)), axis=0), np.array([3.0, 3.0]))


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_of_scipy(name):
    ufunc, a = getattr(special, name), np.array([0.4, 1.3, 2.7])
    compare(ufunc(tensor(a)), ufunc(a), 1e-13)
    check_grads(ufunc, [a], order=1)


def test_ufuncs_of_others():
    with pytest.raises(TypeError, match="the ufunc j0 has no counterpart"):
        special.j0(tensor(X))
    with pytest.raises(TypeError, match=r"the ufunc .*lambda.* has no counterpart"):
        np.frompyfunc(lambda x: 2 * x, 1, 1)(tensor(X))


# ---- mixed expressions -----------------------------------------------------------------------------------------------

OPERATORS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, divmod,
             operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


def operand(kind, seed=0):
    a = np.random.default_rng(seed).uniform(1, 4, (2, 3))
    return (a * (1 + 0.5j) if kind.startswith("c") else a > 2.5 if kind == "?" else a).astype(kind)


@pytest.mark.parametrize("other", DTYPES)
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
def test_arrays_on_either_side(op, kind, other):
    a, b = operand(kind), operand(other, 1)
    for left, right in ((a, b), (a[0], b), (a, b[:, :1]), (a, b[0, 0]), (a[0, 0], b)):
        try:
            with np.errstate(all="ignore"):
                expected = (np.power if op is operator.pow else op)(left, right)
        except TypeError:
            continue
        if np.asarray(expected[0] if op is divmod else expected).dtype in (np.float16, np.int8):
            continue                            # of two bools, where NumPy takes smaller dtypes
        rtol = 1e-5 if {"f4", "c8"} & {kind, other} else 1e-12
        first = op(left, tensor(right))
        for found in (op(tensor(left), tensor(right)), op(tensor(left), right)):
            compare(found, expected, rtol)
        if op is not operator.pow or np.ndim(right):        # NumPy 2.0 takes a 0-d exponent by its __index__
            compare(first, expected, rtol)
        if op in OPERATORS[:4] and np.result_type(right).kind in "fc":
            assert first.tracks_grad


@pytest.mark.parametrize("scalar", [2, 2.5, True, 1 + 2j, np.float32(2.5), np.float64(2.5), np.int8(3), np.int64(3),
                                    np.bool(True), np.complex64(1 + 2j), np.array(2.5)], ids=lambda s: f"{type(s).__name__}")
@pytest.mark.parametrize("kind", ["f4", "f8", "c8", "c16", "i8"])
@pytest.mark.parametrize("op", [*OPERATORS[:4], operator.pow, operator.eq], ids=lambda f: f.__name__)
def test_scalars_on_either_side(op, kind, scalar):
    a = operand(kind)
    for left, right in ((a, scalar), (scalar, a)):
        try:
            expected = op(left, right)
        except TypeError:
            continue
        found = op(*(tensor(x) if x is a else x for x in (left, right)))
        compare(found, expected, 1e-5 if np.asarray(expected).dtype.itemsize <= 8 else 1e-12)
        if op in OPERATORS[:4] and kind != "i8":
            assert found.tracks_grad


def test_matrix_products_and_bits():
    a, b = RNG.standard_normal((2, 3)), RNG.standard_normal((3, 2))
    for found in (a @ tensor(b), tensor(a) @ b):
        compare(found, a @ b)
        assert found.tracks_grad
    for op in (operator.and_, operator.or_, operator.xor):
        compare(op(BITS, tensor(~BITS)), op(BITS, ~BITS))
        compare(op(tensor(BITS), np.bool(True)), op(BITS, np.bool(True)))


def test_expressions_are_tracked():
    x = tfr.variable(X)
    loss = np.sum(np.exp(-Y * x) + Y / (2 + np.cos(x)) - np.float64(3) * x**2)
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), -Y * np.exp(-Y * X) + Y * np.sin(X) / (2 + np.cos(X)) ** 2 - 6 * X)


def test_in_place_with_an_array_on_the_left():
    a, x = np.ones(4), tfr.variable(X)
    with pytest.raises(TypeError, match="detach"):
        a += x
    a += x.detach()
    np.testing.assert_allclose(a, 1 + X)


# ---- errors ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("call", [
    lambda x, a: np.exp(x, out=a), lambda x, a: np.add(x, a, out=a), lambda x, a: np.add(a, a, out=x),
    lambda x, a: np.add(a, a, out=x.detach()), lambda x, a: np.add.at(a, [0], x), lambda x, a: np.add.at(x, [0], 1.0),
    lambda x, a: np.add.at(x.detach(), [0], 1.0), lambda x, a: np.add.reduce(x, out=a),
    lambda x, a: np.add(x, a, where=a > 0), lambda x, a: np.add.reduce(x, initial=1.0),
    lambda x, a: np.subtract.reduce(x), lambda x, a: np.maximum.accumulate(x), lambda x, a: np.add.reduceat(x, [0, 2]),
    lambda x, a: np.gcd(x, x), lambda x, a: np.spacing(x), lambda x, a: np.frexp(x),
    lambda x, a: np.matmul(x, x, axes=[0, 0, ()]),
], ids=range(17))
def test_refused(call):
    with pytest.raises(TypeError, match=r"numpy\.\w+.*(immutable|detach|closest|supported)"):
        call(tfr.variable(X), np.ones(4))


def test_untracked_results_go_into_arrays():
    x, a = tfr.constant(X), np.zeros(4)
    assert np.exp(x, out=a) is a
    np.testing.assert_allclose(a, np.exp(X))
    np.add.at(a, [0, 0], tfr.constant([1.0, 2.0]))
    np.testing.assert_allclose(a, np.exp(X) + 3 * np.eye(4)[0])
    np.multiply(x, 2, out=a, where=tfr.constant(BITS))
    np.testing.assert_allclose(a, np.where(BITS, 2 * X, np.exp(X)))


class Foreign:
    """Another library's array."""
    __array_ufunc__ = None

    def __radd__(self, other):
        return "foreign"


class Winner:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return "winner"


def test_foreign_types():
    x = tfr.variable(X)
    assert x + Foreign() == "foreign"
    assert np.add(x, Winner()) == "winner"
    for wrong in ("text", b"bytes", None, object(), {1: 2}, {1, 2}):
        assert x.__array_ufunc__(np.add, "__call__", x, wrong) is NotImplemented
        with pytest.raises(TypeError):
            np.add(x, wrong)
        for op in (*OPERATORS[:8], operator.lt, operator.matmul):
            with pytest.raises(TypeError):
                op(x, wrong)
            with pytest.raises(TypeError):
                op(wrong, x) if not (op is operator.mod and isinstance(wrong, (str, bytes))) else operator.add(wrong, x)
        assert (x == wrong) is False
        assert (wrong == x) is False
        assert x != wrong


def test_runtimes_do_not_mix():
    x, y = tfr.variable(X), tfr.EagerRuntime().variable_from(X)
    with pytest.raises(errors.ContextMismatchError, match="detach_into"):
        np.add(x, y)
    assert (X * y).runtime is y.runtime
