"""Own loops of the elementary functions: accuracy, special values, and values that depend on the argument alone."""

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest
from support import const

import tenferro as tfr
from tenferro._kernels import elementary

NAMES = elementary.NAMES
INVERSES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
DTYPES = (np.float32, np.float64)
# Largest error in units of the last place that is allowed in float64; benchmarks/NOTES.md has what was measured. float32 keeps
# to SINGLE, or to 0.55.
BOUND = {"exp": 1.2, "exp2": 1.2, "expm1": 2.2, "log": 1.0, "log2": 2.0, "log10": 2.2, "log1p": 1.2, "sinh": 2.8, "cosh": 1.6,
         "tanh": 2.8, "asinh": 2.2, "acosh": 2.2, "atanh": 2.4, "asin": 1.8, "acos": 1.4, "atan": 2.0, "cbrt": 1.2, "sin": 1.1,
         "cos": 1.1, "tan": 2.6}
SINGLE = {"exp": 1.2, "expm1": 2.2, "log": 1.0, "log1p": 1.2, "tanh": 2.8}
WIDE = np.finfo(np.longdouble).nmant >= 63
# doubles beside multiples of pi/2, with sine, cosine and tangent from 1200 bits (mpmath), rounded once
NEAR_POLES = [
    (45.553093477052, 1.0, -6.189806365883577e-19, -1.6155594228467482e+18),
    (91.106186954104, -1.2379612731767154e-18, -1.0, 1.2379612731767154e-18),
    (182.212373908208, 2.475922546353431e-18, 1.0, 2.475922546353431e-18),
    (364.424747816416, 4.951845092706862e-18, 1.0, 4.951845092706862e-18),
    (728.849495632832, 9.903690185413723e-18, 1.0, 9.903690185413723e-18),
    (93872.35928558982, 1.0, -1.7655778116675464e-15, -566386818746619.6),
    (1457.698991265664, 1.9807380370827447e-17, 1.0, 1.9807380370827447e-17),
    (187744.71857117963, -3.531155623335093e-15, -1.0, 3.531155623335093e-15),
    (2915.397982531328, 3.9614760741654893e-17, 1.0, 3.9614760741654893e-17),
    (375489.43714235927, 7.062311246670186e-15, 1.0, 7.062311246670186e-15),
    (3.141592653589793, 1.2246467991473532e-16, -1.0, -1.2246467991473532e-16),
    (1.5707963267948966, 1.0, 6.123233995736766e-17, 1.633123935319537e+16),
    (4.71238898038469, -1.0, -1.8369701987210297e-16, 5443746451065123.0),
    (100000.0, 0.03574879797201651, -0.9993608074382124, -0.035771662952898776),
    (999999.5, -0.756251087561678, 0.654281508650351, -1.155849703167784),
    (1000000.0, -0.34999350217129294, 0.9367521275331447, -0.373624453987599),
    (1000000.5, 0.141954699000744, 0.9898731552232378, 0.14340695901459227),
    (5.319372648326541e+255, 1.0, -4.687165924254628e-19, -2.133485385753704e+18),
    (1e+22, -0.8522008497671888, 0.523214785395139, -1.6287782256068988),
    (1.7e+308, -0.5952560848632077, 0.803536056087918, -0.7407957369844252),
    (0.7853981633974483, 0.7071067811865475, 0.7071067811865476, 0.9999999999999999),
    (2.356194490192345, 0.7071067811865476, -0.7071067811865475, -1.0000000000000002),
]


def numpy_function(name):
    return getattr(np, INVERSES.get(name, name))


def evaluate(name, x):
    return getattr(tfr, name)(const(x)).numpy()


def same(a, b):
    """Equal bits, except that one NaN is as good as another."""
    bits = np.uint64 if a.dtype == np.float64 else np.uint32
    return bool(np.all((a.view(bits) == b.view(bits)) | (np.isnan(a) & np.isnan(b))))


def errors(found, exact):
    """In units of the last place of the exact result; infinite where only one of them is finite or a number."""
    nearest = exact.astype(found.dtype)
    with np.errstate(all="ignore"):
        error = np.abs(found.astype(np.longdouble) - exact) / np.spacing(np.abs(nearest))
    special = ~np.isfinite(nearest) | ~np.isfinite(found)
    right = (found == nearest) | (np.isnan(found) & np.isnan(nearest))
    edge = np.abs(np.where(np.isinf(found), nearest, found)) == np.finfo(found.dtype).max
    return np.where(special, np.where(right, 0.0, np.where(edge, 1.0, np.inf)), error)


def arguments(dtype, n=3000):
    """All magnitudes, the neighbourhoods of 0, 1 and multiples of pi/4 and log(2), and the ends of the range."""
    rng = np.random.default_rng(1)
    info = np.finfo(dtype)
    everything = rng.integers(0, 2 ** (8 * info.dtype.itemsize), n, np.uint64, endpoint=False) if dtype == np.float32 else \
        rng.integers(0, 2**64 - 1, n, np.uint64, endpoint=True)
    parts = [everything.astype(np.uint32).view(dtype) if dtype == np.float32 else everything.view(dtype)]
    parts += [rng.uniform(-s, s, n) for s in (1e-3, 0.3, 1, 2, 5, 30, 100, 800, 1e4, 1e6, 2e6, 1e9)]
    parts += [np.arange(-n, n) * (np.pi / 4), 1 + rng.uniform(-1, 1, n) * 2.0 ** rng.uniform(-50, 0, n)]
    parts += [np.arange(-1100, 1100, 0.5) * np.log(2), np.arange(-1100, 1100, 0.25)]
    parts += [2.0 ** rng.uniform(info.minexp - info.nmant, info.maxexp, n) * rng.choice([-1, 1], n)]
    with np.errstate(over="ignore"):
        return np.concatenate([np.asarray(p, dtype) for p in parts])


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, -5e-324, 1e-310, 2.3e-308, 1e-45, 1.2e-38, 3.4e38, 1.7e308,
           -1.7e308, 2.0, -2.0, 0.5, -0.5, 709.78, 709.79, -745.1, -745.2, 88.72, 88.73, -103.97, -104.0,
           708.0, 708.1, -708.1, 87.0, 87.1, -87.1]


@pytest.mark.skipif(not WIDE, reason="long double is no wider than double")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_accuracy(name, dtype):
    x = arguments(dtype)
    with np.errstate(all="ignore"):
        exact = numpy_function(name)(x.astype(np.longdouble))
        worst = errors(evaluate(name, x), exact)
    k = np.argmax(worst)
    assert worst[k] <= (BOUND[name] if dtype == np.float64 else SINGLE.get(name, 0.55)), (x[k], worst[k])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_special_values(name, dtype):
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL).astype(dtype)
        expected = numpy_function(name)(x)
    found = evaluate(name, x)
    np.testing.assert_allclose(found, expected, rtol=2e-15 if dtype == np.float64 else 1e-6, atol=0)
    exact = np.isin(np.abs(x), [0, np.inf]) | (expected == 0) | np.isinf(expected)
    np.testing.assert_array_equal(found[exact], expected[exact])
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(expected[number]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_values(dtype):
    k = np.arange(-120, 121).astype(dtype)
    np.testing.assert_array_equal(evaluate("exp2", k), np.ldexp(dtype(1), k.astype(int)))
    np.testing.assert_array_equal(evaluate("log2", np.ldexp(dtype(1), k.astype(int))), k)
    np.testing.assert_array_equal(evaluate("log10", np.array([10.0**n for n in range(11)], dtype)), np.arange(11))
    np.testing.assert_array_equal(evaluate("cbrt", np.arange(-50, 51).astype(dtype) ** 3), np.arange(-50, 51))
    np.testing.assert_array_equal(evaluate("exp", np.zeros(3, dtype)), 1)
    np.testing.assert_array_equal(evaluate("cos", np.zeros(3, dtype)), 1)


def test_bounded_functions_stay_in_bounds():
    x = np.concatenate([arguments(np.float64), np.arange(-5000, 5000) * (np.pi / 2)])
    for name in ("sin", "cos", "tanh"):
        assert np.nanmax(np.abs(evaluate(name, x))) <= 1


def test_beside_multiples_of_a_right_angle():
    x, sine, cosine, tangent = (np.array(column) for column in zip(*NEAR_POLES, strict=True))
    for name, exact in (("sin", sine), ("cos", cosine), ("tan", tangent)):
        for sign in (1, -1):
            expected = exact if name == "cos" else sign * exact
            assert np.max(np.abs(evaluate(name, sign * x) - expected) / np.spacing(np.abs(expected))) <= 3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_a_value_depends_on_its_argument_alone(name, dtype):
    rng = np.random.default_rng(2)
    with np.errstate(over="ignore"):
        x = np.concatenate([rng.uniform(-1.2, 1.2, 90), rng.uniform(-90, 90, 60), [1e5, 1e7, -3e8, 1e30, 1e39], SPECIAL])
        x = np.asarray(rng.permutation(x), dtype)
    t, f = const(x), getattr(tfr, name)
    whole = f(t).numpy()
    for k in range(x.size):
        assert same(f(t[k:k + 1]).numpy(), whole[k:k + 1]), x[k]
    for n in range(1, 71):
        for start in range(9):
            assert same(f(t[start:start + n]).numpy(), whole[start:start + n]), (start, n)
    for step in (-3, -2, -1, 2, 3):
        for start in range(5):
            part = slice(start, None, step) if step > 0 else slice(x.size - 1 - start, None, step)
            assert same(f(t[part]).numpy(), whole[part]), part
    many = np.tile(x, 50)
    assert same(f(const(many)).numpy(), np.tile(whole, 50))
    assert same(f(const(np.ascontiguousarray(many.reshape(50, -1).T)).T).numpy().ravel(), np.tile(whole, 50))
    assert same(f(tfr.broadcast_to(t[:, None], (x.size, 3))).numpy(), np.repeat(whole[:, None], 3, 1))


def call(variant, name, x, y, n, strides):
    """A loop as the engines call it."""
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
    address = elementary.loop_address(variant, name, x.dtype == np.float64)
    pointers = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    signature(address)(pointers, ctypes.byref(ctypes.c_ssize_t(n)), (ctypes.c_ssize_t * 2)(*strides), None)


@pytest.mark.parametrize("variant", elementary.available)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_in_place_and_within_bounds(name, dtype, variant):
    rng = np.random.default_rng(3)
    for n in (0, 1, 7, 255, 256, 257, 700):
        x = rng.uniform(-1, 1, n + 2).astype(dtype)
        x[3:n:50] *= 1e8
        fresh, place = np.full_like(x, 9), x.copy()
        call(variant, name, x[1:], fresh[1:], n, [x.itemsize] * 2)
        assert fresh[0] == fresh[n + 1] == 9
        call(variant, name, place[1:], place[1:], n, [x.itemsize] * 2)
        assert same(place[1:n + 1], fresh[1:n + 1])
        assert (place[0], place[n + 1]) == (x[0], x[n + 1])
        wide = np.full(2 * n + 2, 9, dtype)
        call(variant, name, x[1:], wide[1:], n, [x.itemsize, 2 * x.itemsize])
        assert same(wide[1:2 * n + 1:2], fresh[1:n + 1])
        assert np.all(wide[::2] == 9)
        call(variant, name, wide[1:], wide[1:], n, [2 * x.itemsize] * 2)
        assert np.all(wide[::2] == 9)


def test_the_chosen_build_is_used():
    wanted = os.environ.get("TENFERRO_CPU")
    if wanted in elementary.available:
        assert elementary.info()["loops"] == wanted
    x = np.linspace(-3, 3, 50)
    for name in ("sin", "exp", "tanh"):
        y = np.empty_like(x)
        call(elementary.chosen, name, x, y, x.size, [8, 8])
        assert same(y, evaluate(name, x))


@pytest.mark.parametrize("variant", elementary.available)
def test_every_build_passes_these_tests(variant):
    if "TENFERRO_CPU" in os.environ:
        pytest.skip("runs once, without a chosen build")
    folder = os.path.dirname(__file__)
    files = [os.path.join(folder, f) for f in ("test_elementary.py", "test_analytic.py", "test_analytic_corners.py")]
    left_out = "not gradients and not third and not cotangents"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", left_out, *files]
    done = subprocess.run(command, env={**os.environ, "TENFERRO_CPU": variant}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("wanted", ["avx1024", "baseline", "avx512"])
def test_info_names_the_build(wanted):
    code = "import tenferro; from tenferro._kernels import elementary; print(elementary.info())"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TENFERRO_CPU": wanted}, capture_output=True,
                          text=True, check=True)
    if wanted in elementary.available:
        assert f"'loops': {wanted!r}" in done.stdout
        assert "note" not in done.stdout
    else:
        assert f"TENFERRO_CPU={wanted} is ignored" in done.stdout
        assert f"'loops': {elementary.available[-1]!r}" in done.stdout
