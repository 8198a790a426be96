"""The text of generated kernels, compiled for the host, beside the loops of the CPU engine."""

import cupy_lookalike
import numpy as np
import pytest

from tenferro._core.optable import DTYPES, Op
from tenferro.testing.conformance import tolerance
from tenferro_cpu import CpuEngine
from tenferro_cupy import code, fused

pytestmark = pytest.mark.skipif(cupy_lookalike.COMPILER is None, reason="needs a C++ compiler")

import tenferro as tfr  # noqa: E402

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 20.5, -30.0, 1e-20, 1e20, np.inf, -np.inf, np.nan)
ARGUMENTS = {"where": 3, "clamp": 3}
BINARY = frozenset(op.name.lower() for op in Op if Op.ADD <= op <= Op.FMOD) | {
    "complex", "absorb_mul", "absorb_both", "absorb_div", "atan2", "logaddexp", "hypot", "direction", "inversion", "share",
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor",
    "maximum", "minimum"}
NOT_COMPARED = {
    ("reciprocal", "iu"): "the quotient by zero is not defined",
    ("pow", "c"): "infinite numbers", ("tan", "c"): "infinite numbers", ("exp2", "c"): "infinite numbers",
    **{(op, "c"): "infinite numbers" for op in ("sech2", "asin_slope", "acosh_slope", "atanh_slope")},
}
"""What differs for special values, or is defined for other values only."""


def count(op):
    return ARGUMENTS.get(op, 2 if op in BINARY else 1)


def numbers(dtype, special, rng):
    """Values of a dtype in pairs with each other."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 3, 7, 100, info.max, info.max - 1] + ([-1, -2, -7, -100, info.min] if dtype.kind == "i" else
                                                                      []), dtype)
    some = np.array(SPECIAL if special else rng.uniform(-3, 3, 12))
    if dtype.kind == "c":
        some = (some[:, None] + 1j * rng.permutation(some)[None, :4]).reshape(-1)
    return some.astype(dtype)


def arguments(op, dtype, special):
    """Arrays of all pairs of values."""
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        values = numbers(dtype, special, rng)
    n = count(op)
    grids = np.meshgrid(*[np.arange(len(values))] * min(n, 2), indexing="ij")
    arrays = [values[g.reshape(-1)] for g in grids]
    if n == 3:
        arrays.append(rng.permutation(arrays[0]))
    if op == "where":
        arrays[0] = np.arange(len(arrays[0])) % 3 == 0
    if op == "pow" and dtype.kind in "iu":
        arrays[1] = np.abs(arrays[1].astype(np.int64) % 11).astype(dtype)
    return arrays


PUBLIC = {"div": "divide", "rem": "remainder", "floor_div": "floor_divide"}
OVER_NUMPY = tfr.NamespaceEngine(np)
COMPLEX = {
    "sech2": lambda z: 1 / np.cosh(z) ** 2, "asin_slope": lambda z: 1 / (np.sqrt(1 - z) * np.sqrt(1 + z)),
    "acosh_slope": lambda z: 1 / (np.sqrt(z - 1) * np.sqrt(z + 1)), "atanh_slope": lambda z: 1 / ((1 - z) * (1 + z)),
}


def expected(op, arrays):
    """What the CPU engine computes; for operations without a function of their own, what NumPy's functions do."""
    f = getattr(tfr, PUBLIC.get(op, op), None)
    if f is None and arrays[-1].dtype.kind == "c" and op in COMPLEX:
        return COMPLEX[op](arrays[0].astype("c16")).astype(arrays[0].dtype)
    if f is None:
        with np.errstate(all="ignore"):
            return getattr(OVER_NUMPY, op)(*arrays)
    with tfr.session(CpuEngine.serial()):
        try:
            return f(*[tfr.constant(a) for a in arrays]).numpy()
        except tfr.errors.DTypeMismatchError:
            return None


CASES = [(op, d) for op in code.EXPRESSIONS for d in DTYPES if code.expression(op, d) is not None]


def kernel_of(cupy, cases):
    """One kernel for many operations of one dtype: as many inputs and results."""
    inputs, results, lines = [], [], []
    for k, (op, dtype, arrays) in enumerate(cases):
        names = [(f"a{k}_{j}", a.dtype) for j, a in enumerate(arrays)]
        text, made = fused.step(f"v{k}", op, dtype, names)
        inputs += [f"{d.name} {name}" for name, d in names]
        results.append(f"{made.name} r{k}")
        lines += [text, f"r{k} = v{k};"]
    return cupy.ElementwiseKernel(", ".join(inputs), ", ".join(results), "\n".join(lines), preamble=code.preamble())


def compared(op, dtype, special):
    kinds = "".join(kinds for name, kinds in NOT_COMPARED if name == op)
    return not (dtype.kind in kinds and (special or dtype.kind in "iu"))


@pytest.mark.parametrize("special", [False, True], ids=["usual", "special"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_values(cupy, dtype, special):
    """All operations of one dtype in one kernel."""
    if special and dtype.kind not in "fc":
        pytest.skip("no special values")
    cases = [(op, d, arguments(op, d, special)) for op, d in CASES if d == dtype and compared(op, d, special)]
    longest = max(len(arrays[0]) for _, _, arrays in cases)
    padded = [[cupy.asarray(np.resize(a, longest)) for a in arrays] for _, _, arrays in cases]
    found = kernel_of(cupy, cases)(*[a for arrays in padded for a in arrays])
    wrong = [text for (op, d, arrays), y in zip(cases, found, strict=True)
             for text in differences(op, arrays, y.get()[:len(arrays[0])])]
    assert wrong == []


def differences(op, arrays, found):
    want = expected(op, arrays)
    if want is None:
        if arrays[-1].dtype.kind in "fc":
            yield f"{op} of {arrays[-1].dtype} has nothing to be compared with"
        return
    if want.dtype != found.dtype:
        if arrays[-1].dtype.kind in "fc":
            yield f"{op} of {arrays[-1].dtype} gives {found.dtype}, not {want.dtype}"
        return          # integers that are computed in another dtype never come as integers
    allowed = tolerance(want.dtype, op)
    with np.errstate(all="ignore"):
        close = np.isclose(found, want, allowed, allowed, equal_nan=True) if want.dtype.kind in "fc" else found == want
        for k in np.flatnonzero(~close)[:2]:
            yield f"{op}({', '.join(str(a[k]) for a in arrays)}) of {arrays[-1].dtype} gives {found[k]}, not {want[k]}"


def test_every_expression_is_an_operation():
    names = {op.name.lower() for op in Op}
    assert set(code.EXPRESSIONS) <= names
    assert set(code.EXPRESSIONS) >= code.TRUTHS | (code.REAL & set(code.EXPRESSIONS))


PROGRAM = (3, 1, 2,
           int(Op.MUL), 10, 2, 0, 1, 0, 4,          # slot = in0 * in1
           int(Op.SIN), 10, 1, 4, 0, 0, 2,          # first result = sin(slot)
           int(Op.LESS), 10, 2, 2, 0, 0, 3)         # second result = first < in0


def test_a_program_becomes_one_kernel(cupy, machine):
    x, y = np.linspace(-1, 1, 12).reshape(3, 4), np.arange(4.0)
    f8, b = np.dtype("f8"), np.dtype("?")
    kernel = fused.compiled(cupy, fused.source(PROGRAM, (f8, f8), (f8, b)))
    out = cupy.empty((3, 4)), cupy.empty((3, 4), "?")
    before = len(machine.launches)
    kernel(cupy.asarray(x), cupy.asarray(y), *out)
    assert len(machine.launches) == before + 1
    np.testing.assert_allclose(out[0].get(), np.sin(x * y), rtol=1e-15)
    np.testing.assert_array_equal(out[1].get(), np.sin(x * y) < x)


def test_numbers_travel_with_the_launch(cupy, machine):
    f8, b = np.dtype("f8"), np.dtype("?")
    kernel = fused.compiled(cupy, fused.source(PROGRAM, (f8, f8), (f8, b)))
    x, out = cupy.asarray(np.arange(3.0)), (cupy.empty((3,)), cupy.empty((3,), "?"))
    uploads = len(machine.uploads)
    kernel(x, np.float64(2.0), *out)
    assert len(machine.uploads) == uploads
    np.testing.assert_allclose(out[0].get(), np.sin(2 * np.arange(3.0)), rtol=1e-15)


def test_names_say_what_is_in_a_kernel():
    f8, b = np.dtype("f8"), np.dtype("?")
    text = fused.source(PROGRAM, (f8, f8), (f8, b))
    assert text.name == "tenferro_mul_sin_less"
    assert text.inputs == "float64 in0, float64 in1"
    assert text.results == "float64 out0, bool out1"


def test_a_step_without_expression_is_refused():
    with pytest.raises(NotImplementedError, match="erf of complex128"):
        fused.single("erf", (np.dtype("c16"),))
    with pytest.raises(NotImplementedError, match="result 1"):
        fused.source(PROGRAM, (np.dtype("f8"),) * 2, (np.dtype("f8"),) * 2)


def test_registers_are_reused():
    """A slot that holds another dtype later is another variable."""
    program = (3, 1, 1, int(Op.ISNAN), 12, 1, 0, 0, 0, 2, int(Op.WHERE), 12, 3, 2, 0, 0, 2, int(Op.ABS), 12, 1, 2, 0, 0, 1)
    text = fused.source(program, (np.dtype("c16"),), (np.dtype("f8"),))
    assert "bool v0;" in text.operation
    assert "complex<double> v1;" in text.operation
    assert "double v2;" in text.operation
