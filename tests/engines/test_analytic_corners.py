"""Analytic functions where naive derivatives fail: poles, tails, cancellation, branch cuts, infinite arguments."""

import analytic_values
import numpy as np
import pytest
from support import COMPLEX_DTYPES, const, leaf

import tenferro as tfr

UNARY = (
    "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "lgamma", "digamma",
)
BINARY = ("atan2", "logaddexp", "hypot")
NASTY = [0.0, -0.0, 1.0, -1.0, -2.0, 1e3, -1e3, 1e200, 1e-200, np.inf, -np.inf, np.nan]
MODES = [(a, b) for a in ("rev", "fwd") for b in ("rev", "fwd")]


def derivative(y, x, mode):
    """f'(x) of an elementwise function, as a tensor that can be differentiated again; the VJP gives its conjugate."""
    one = const(np.ones(x.shape, x.dtype))
    if mode == "fwd":
        found = x.runtime.jvp_optional(y, [x], [one])
        return found[0] if isinstance(found, list) else found
    found = x.runtime.vjp_optional(y, [x], one)[0]
    return found if found is None else tfr.conj(found)


def first_and_second(f, x, outer, inner):
    t = leaf(x)
    d = derivative(f(t), t, inner)
    return d.detach().numpy(), derivative(d, t, outer).detach().numpy()


def relative_error(actual, expected):
    """Largest one by modulus; subnormal results are exempt."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    normal = np.abs(expected) > 1e-306
    assert np.all(np.abs(actual[~normal]) < 1e-305)
    scale = np.abs(expected[normal])
    return np.max(np.abs(actual[normal] / scale - expected[normal] / scale), initial=0)


@pytest.mark.parametrize(("outer", "inner"), MODES)
@pytest.mark.parametrize("name", sorted(analytic_values.REAL))
def test_range_of_real_derivatives(name, outer, inner):
    columns = zip(*analytic_values.REAL[name], strict=True)
    x, first, second = (np.array([np.nan if v is None else v for v in column]) for column in columns)
    d1, d2 = first_and_second(getattr(tfr, name), x, outer, inner)
    assert relative_error(d1, first) < 1e-14
    known = ~np.isnan(second)
    assert relative_error(d2[known], second[known]) < 1e-14
    assert np.all(np.isinf(d2[~known]))


@pytest.mark.parametrize(("outer", "inner"), MODES)
@pytest.mark.parametrize("name", sorted(analytic_values.COMPLEX))
def test_range_of_complex_derivatives(name, outer, inner):
    x, first, second = (np.array(column) for column in zip(*analytic_values.COMPLEX[name], strict=True))
    d1, d2 = first_and_second(getattr(tfr, name), x, outer, inner)
    assert relative_error(d1, first) < 1e-14
    assert relative_error(d2, second) < 1e-14


@pytest.mark.parametrize("name", ["tanh", "atanh", "asin", "log", "sqrt", "erfc"])
def test_range_in_single_precision(name):
    """The same formulas in float32, against float64."""
    x = {"tanh": [1e-30, 0.5, 20, -40], "log": [1e-18, 0.5, 1e18], "sqrt": [1e-25, 0.5, 1e25],
         "erfc": [1e-30, 0.5, 6]}.get(name, [1e-30, 0.5, -0.999999, 1e-4])
    for wide, narrow in zip(first_and_second(getattr(tfr, name), np.array(x, "f4").astype("f8"), "rev", "rev"),
                            first_and_second(getattr(tfr, name), np.array(x, "f4"), "rev", "rev"), strict=True):
        assert narrow.dtype == np.float32
        np.testing.assert_allclose(narrow, wide, rtol=1e-5, atol=1e-37)


def masked_derivatives(f, arrays, outer, inner):
    """All first and second derivatives of a function that is used nowhere."""
    nowhere, zero = const(np.zeros(arrays[0].shape, bool)), const(np.zeros_like(arrays[0]))
    for i in range(len(arrays)):
        xs = [leaf(a) for a in arrays]
        d = derivative(tfr.where(nowhere, f(*xs), zero), xs[i], inner)
        yield d
        for x in xs:
            second = derivative(d, x, outer)
            if second is not None:
                yield second


@pytest.mark.parametrize(("outer", "inner"), MODES)
@pytest.mark.parametrize("name", UNARY)
def test_zero_cotangents_stay_zero(name, outer, inner):
    for d in masked_derivatives(getattr(tfr, name), [np.array(NASTY)], outer, inner):
        np.testing.assert_array_equal(d.detach().numpy(), 0)


@pytest.mark.parametrize("dtype", COMPLEX_DTYPES, ids=str)
@pytest.mark.parametrize(("outer", "inner"), MODES)
@pytest.mark.parametrize("name", [n for n in UNARY if n != "cbrt"])
def test_complex_zero_cotangents_stay_zero(name, outer, inner, dtype):
    imaginary = (0.0, -0.0, 1.0, -1.0, 1e3, np.inf, np.nan)
    with np.errstate(all="ignore"):
        z = np.array([complex(re, im) for re in NASTY for im in imaginary]).astype(dtype)
    for d in masked_derivatives(getattr(tfr, name), [z], outer, inner):
        np.testing.assert_array_equal(d.detach().numpy(), 0)


@pytest.mark.parametrize(("outer", "inner"), MODES)
@pytest.mark.parametrize("name", BINARY)
def test_zero_cotangents_of_two_arguments_stay_zero(name, outer, inner):
    x, y = np.meshgrid(NASTY, NASTY)
    for d in masked_derivatives(getattr(tfr, name), [x, y], outer, inner):
        np.testing.assert_array_equal(d.detach().numpy(), 0)


@pytest.mark.parametrize(("outer", "inner"), MODES)
@pytest.mark.parametrize("n", [1, 2])
def test_polygamma_zero_cotangents_stay_zero(n, outer, inner):
    for x in (np.array(NASTY), np.array([0, -1, -2 + 0j, complex(np.nan, 1)])):
        for d in masked_derivatives(lambda t: tfr.polygamma(n, t), [x], outer, inner):
            np.testing.assert_array_equal(d.detach().numpy(), 0)


def test_gradient_beside_a_pole():
    """The usual way to keep a square root real."""
    x = leaf(np.array([0.0, 4.0, -1.0]))
    y = tfr.where(x > 0, tfr.sqrt(x), 0.0)
    (g,) = x.runtime.vjp(y, [x], const(np.ones(3)))
    np.testing.assert_array_equal(g.detach().numpy(), [0, 0.25, 0])
    (h,) = x.runtime.vjp(g, [x], const(np.ones(3)))
    np.testing.assert_array_equal(h.detach().numpy(), [0, -0.03125, 0])


@pytest.mark.parametrize(("name", "point", "slope"), [
    ("sqrt", 0.0, np.inf), ("log", 0.0, np.inf), ("rsqrt", 0.0, -np.inf), ("cbrt", 0.0, np.inf), ("asin", 1.0, np.inf),
    ("acos", -1.0, -np.inf), ("acosh", 1.0, np.inf), ("atanh", 1.0, np.inf), ("log1p", -1.0, np.inf),
    ("digamma", 0.0, np.inf), ("exp", np.inf, np.inf), ("exp", -np.inf, 0.0), ("tanh", np.inf, 0.0),
    ("tanh", -np.inf, 0.0), ("atan", np.inf, 0.0), ("asinh", -np.inf, 0.0), ("acosh", np.inf, 0.0),
    ("log", np.inf, 0.0), ("sqrt", np.inf, 0.0), ("rsqrt", np.inf, 0.0), ("erf", np.inf, 0.0), ("erfc", -np.inf, 0.0),
    ("lgamma", np.inf, np.inf), ("digamma", np.inf, 0.0),
])
def test_slopes_at_poles_and_infinity(name, point, slope):
    for mode in ("rev", "fwd"):
        x = leaf(np.array(point))
        d = derivative(getattr(tfr, name)(x), x, mode).item()
        assert d == slope, (mode, d)


@pytest.mark.parametrize(("x", "y", "expected"), [
    (0.0, 0.0, (0.5, 0.5)), (np.inf, 1.0, (1, 0)), (1.0, np.inf, (0, 1)), (np.inf, np.inf, (0.5, 0.5)),
    (-np.inf, 1.0, (0, 1)), (-np.inf, -np.inf, (0.5, 0.5)), (-np.inf, np.inf, (0, 1)), (800.0, -800.0, (1, 0)),
    (1e300, -1e300, (1, 0)), (0.0, 700.0, (np.exp(-700.0), 1)),
    (1e10, 1e10 - 3, (1 / (1 + np.exp(-3)), 1 / (1 + np.exp(3)))),
])
def test_logaddexp_shares(x, y, expected):
    a, b = leaf(np.array(x)), leaf(np.array(y))
    found = a.runtime.grad(tfr.logaddexp(a, b), [a, b])
    np.testing.assert_allclose([g.item() for g in found], expected, rtol=1e-15)


@pytest.mark.parametrize(("x", "y", "expected"), [
    (0.0, 0.0, (0, 0)), (0.0, -2.0, (0, -1)), (3e200, -4e200, (0.6, -0.8)), (3e-200, 4e-200, (0.6, 0.8)),
    (1.2e308, 1.6e308, (0.6, 0.8)), (5e-324, 0.0, (1, 0)), (np.inf, 2.0, (1, 0)), (2.0, -np.inf, (0, -1)),
    (np.inf, -np.inf, (np.sqrt(0.5), -np.sqrt(0.5))), (1e-150, 1e150, (1e-300, 1)),
])
def test_hypot_slopes(x, y, expected):
    a, b = leaf(np.array(x)), leaf(np.array(y))
    found = a.runtime.grad(tfr.hypot(a, b), [a, b])
    np.testing.assert_allclose([g.item() for g in found], expected, rtol=1e-15)


@pytest.mark.parametrize(("y", "x", "expected"), [
    (3e200, 4e200, (1.6e-201, -1.2e-201)), (3e-200, -4e-200, (-1.6e199, -1.2e199)), (1.0, np.inf, (0, 0)),
    (-np.inf, 1.0, (0, 0)), (1e-100, 1e150, (1e-150, 0)), (1e150, 1e-100, (0, -1e-150)),
])
def test_atan2_slopes(y, x, expected):
    a, b = leaf(np.array(y)), leaf(np.array(x))
    found = a.runtime.grad(tfr.atan2(a, b), [a, b])
    np.testing.assert_allclose([g.item() for g in found], expected, rtol=1e-14)


def test_second_derivatives_of_atan2_far_out():
    y, x = leaf(np.array([1e-300, 1e-200])), leaf(np.array([1e-200, 3e-300]))
    (dy,) = x.runtime.vjp(tfr.atan2(y, x), [y], const(np.ones(2)))
    found = x.runtime.vjp(dy, y, const(np.ones(2)))
    np.testing.assert_allclose(found.detach().numpy(), [-2e300, -6e300], rtol=1e-14)


def test_second_derivatives_of_hypot_far_out():
    x, y = leaf(np.array([3e200, 3e-200])), leaf(np.array([4e200, 4e-200]))
    (dx,) = x.runtime.vjp(tfr.hypot(x, y), [x], const(np.ones(2)))
    xx, xy = x.runtime.vjp(dx, [x, y], const(np.ones(2)))
    np.testing.assert_allclose(xx.detach().numpy(), [1.28e-201, 1.28e199], rtol=1e-14)
    np.testing.assert_allclose(xy.detach().numpy(), [-0.96e-201, -0.96e199], rtol=1e-14)


CUTS = {"log": [-2], "log2": [-2], "log10": [-2], "log1p": [-3], "sqrt": [-2], "rsqrt": [-2], "asin": [2, -3],
        "acos": [2, -3], "acosh": [-3, -0.5, 0.5], "atanh": [2, -3], "asinh": [2j, -3j], "atan": [2j, -3j],
        "lgamma": [-2.5, -0.5]}


def beside(p, zero, along=0.0):
    """A point of a cut, moved along it; `zero` is the coordinate across."""
    return const(np.array(complex(p.real + along, zero) if p.imag == 0 else complex(zero, p.imag + along)))


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("name", sorted(CUTS))
def test_both_sides_of_a_branch_cut(name, side):
    """The derivative on a cut is the limit from the side that the sign of the zero names, as the value is."""
    f, h = getattr(tfr, name), 1e-6
    for p in map(complex, CUTS[name]):
        x = leaf(beside(p, side * 0.0).numpy())
        y = f(x)
        np.testing.assert_allclose(y.item(), f(beside(p, side * 1e-9)).item(), rtol=1e-7)
        expected = (f(beside(p, side * 0.0, h)).item() - f(beside(p, side * 0.0, -h)).item()) / (2 * h)
        if p.imag:
            expected /= 1j
        for mode in ("rev", "fwd"):
            np.testing.assert_allclose(derivative(y, x, mode).item(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["tanh", "tan", "asinh", "atan", "erf", "cbrt"])
def test_many_elements_in_several_blocks(name):
    """Own loops work in blocks; a value depends on neither its position nor its neighbours."""
    x = np.linspace(-3, 3, 1001)
    d1, d2 = first_and_second(getattr(tfr, name), x, "rev", "rev")
    for start in (1, 255, 256, 700):
        e1, e2 = first_and_second(getattr(tfr, name), x[start:start + 9], "rev", "rev")
        np.testing.assert_array_equal(d1[start:start + 9], e1)
        np.testing.assert_array_equal(d2[start:start + 9], e2)
