"""The namespace as the array API standard describes it: names, signatures, inspection, dtypes, devices, members."""

import inspect
import math
from importlib.metadata import entry_points
from inspect import Parameter

import array_api_strict as strict
import numpy as np
import pytest
from support import ALL_DTYPES, COMPLEX_DTYPES, DIFF_DTYPES, INT_DTYPES, REAL_DTYPES

import tenferro as tfr
from tenferro import EagerTensor, errors
from tenferro.testing import check_grads

DTYPES = strict.__array_namespace_info__().dtypes()


def functions(module):
    names = {*module.__all__, *(("eig", "eigvals") if module is strict.linalg else ())}
    found = {n: getattr(module, n) for n in sorted(names) if not n.startswith(("_", "set_", "get_", "reset_"))}
    return {n: f for n, f in found.items() if inspect.isfunction(f)}


FUNCTIONS = [(path, name) for path, module in (("", strict), ("linalg", strict.linalg), ("fft", strict.fft))
             for name in functions(module)]
ARRAY = type(strict.asarray(0))
MEMBERS = [n for n in dir(ARRAY) if n not in dir(object) and (not n.startswith("_") or n.endswith("__"))
           and n not in ("__slots__", "__buffer__", "__weakref__", "__module__", "__annotations__")]


# ---- names and signatures --------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("path", "name"), FUNCTIONS)
def test_signature(path, name):
    ours = getattr(getattr(tfr, path) if path else tfr, name)
    theirs = getattr(getattr(strict, path) if path else strict, name)
    have = list(inspect.signature(ours).parameters.values())
    for k, want in enumerate(inspect.signature(theirs).parameters.values()):
        if want.kind is Parameter.KEYWORD_ONLY:
            p = next(p for p in have if p.name == want.name)
            assert p.kind in (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        elif want.kind is Parameter.VAR_POSITIONAL:
            assert have[k].kind is Parameter.VAR_POSITIONAL
        else:
            assert have[k].kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
            assert want.kind is Parameter.POSITIONAL_ONLY or have[k].name == want.name
        if want.default is Parameter.empty and want.kind is not Parameter.VAR_POSITIONAL:
            assert k < len(have)


def test_the_functions_are_those_of_the_standard():
    assert len(FUNCTIONS) == 135 + 25 + 14


@pytest.mark.parametrize("name", MEMBERS)
def test_member(name):
    assert hasattr(EagerTensor, name)


def test_constants_and_dtypes():
    for name in ("e", "inf", "nan", "pi", "newaxis"):
        a, b = getattr(tfr, name), getattr(strict, name)
        assert a == b or (a != a and b != b)
    assert {str(t) for t in ALL_DTYPES} == set(DTYPES)
    for name in DTYPES:
        assert getattr(tfr, name) == np.dtype(name)


# ---- the namespace ---------------------------------------------------------------------------------------------------

def test_the_namespace():
    x = tfr.variable(1.0)
    assert x.__array_namespace__() is tfr
    assert x.__array_namespace__(api_version="2025.12") is x.__array_namespace__(api_version="2021.12") is tfr
    assert tfr.__array_api_version__ == "2025.12"
    with pytest.raises(ValueError, match=r"2031\.12"):
        x.__array_namespace__(api_version="2031.12")


def test_discovery():
    found = [e for e in entry_points(group="array_api") if e.name == "tenferro"]
    if not found:
        pytest.skip("the package was installed before it had this entry point")
    assert found[0].load() is tfr


def test_inspection():
    info = tfr.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert info.devices()[0] == info.default_device() == "cpu"
    assert info.default_dtypes() == {"real floating": tfr.float64, "complex floating": tfr.complex128, "integral": tfr.int64,
                                     "indexing": tfr.int64}
    for kind in (None, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric",
                 ("bool", "integral")):
        assert set(info.dtypes(kind=kind)) == set(strict.__array_namespace_info__().dtypes(kind=kind))
    assert all(np.dtype(name) == t for name, t in info.dtypes().items())
    for wrong in (lambda: info.dtypes(device="gpu"), lambda: info.default_dtypes(device="gpu")):
        with pytest.raises(errors.PlacementError):
            wrong()
    with pytest.raises(ValueError):
        info.dtypes(kind="real")


def test_devices():
    x = tfr.variable([1.0, 2.0])
    assert x.device == "cpu"
    assert x.to_device("cpu") is x
    for wrong in (lambda: x.to_device("gpu"), lambda: tfr.zeros(2, device="gpu"), lambda: tfr.asarray(x, device="gpu"),
                  lambda: tfr.fft.fftfreq(4, device="gpu"), lambda: tfr.astype(x, "f4", device="gpu"),
                  lambda: tfr.from_dlpack(np.zeros(2), device="gpu"), lambda: tfr.arange(3, device="gpu")):
        with pytest.raises(errors.PlacementError, match="gpu"):
            wrong()
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)
    for made in (tfr.zeros(2, device="cpu"), tfr.ones_like(x, device=x.device), tfr.linspace(0, 1, 3, device="cpu"),
                 tfr.eye(2, device="cpu"), tfr.full(2, 3, device="cpu"), tfr.empty_like(x, device="cpu")):
        assert made.device == "cpu"


# ---- dtypes ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", REAL_DTYPES + COMPLEX_DTYPES, ids=str)
def test_finfo(dtype):
    theirs = strict.finfo(DTYPES[str(dtype)])
    for ours in (tfr.finfo(dtype), tfr.finfo(tfr.ones(2, dtype))):
        for field in ("bits", "eps", "max", "min", "smallest_normal"):
            value = getattr(ours, field)
            assert type(value) is (int if field == "bits" else float)
            assert value == getattr(theirs, field)
        assert str(ours.dtype) == str(theirs.dtype).rpartition(".")[2]


@pytest.mark.parametrize("dtype", INT_DTYPES, ids=str)
def test_iinfo(dtype):
    for ours in (tfr.iinfo(dtype), tfr.iinfo(tfr.ones(2, dtype))):
        theirs = strict.iinfo(DTYPES[str(dtype)])
        assert (ours.bits, ours.max, ours.min, ours.dtype) == (theirs.bits, theirs.max, theirs.min, dtype)
    for wrong in (tfr.iinfo, lambda t: tfr.finfo(dtype)):
        with pytest.raises(ValueError):
            wrong(tfr.float32)


@pytest.mark.parametrize("a", DTYPES)
def test_promotion_and_casting(a):
    for b in DTYPES:
        x, y = tfr.zeros(2, a), tfr.zeros((), b)
        assert tfr.can_cast(getattr(tfr, a), b) == tfr.can_cast(x, getattr(tfr, b)) == np.can_cast(a, b)
        try:
            want = str(strict.result_type(DTYPES[a], DTYPES[b])).rpartition(".")[2]
        except TypeError:
            continue                                    # not defined by the standard
        assert tfr.result_type(x, y) == tfr.result_type(getattr(tfr, a), y) == want
    kinds = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]
    for kind in [*kinds, ("bool", "real floating")]:
        assert tfr.isdtype(getattr(tfr, a), kind) == strict.isdtype(DTYPES[a], kind)
    assert tfr.isdtype(getattr(tfr, a), getattr(tfr, a))


def test_weak_scalars():
    assert tfr.result_type(tfr.zeros(1, "f4"), 1.0, 2) == tfr.float32
    assert tfr.result_type(tfr.zeros(1, "f4"), 1j) == tfr.complex64
    with pytest.raises(ValueError):
        tfr.result_type()
    with pytest.raises(ValueError):
        tfr.isdtype(tfr.float32, "floating")


def test_broadcast_shapes():
    assert tfr.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    with pytest.raises(errors.ShapeMismatchError):
        tfr.broadcast_shapes((2,), (3,))


# ---- tensors stay what they are --------------------------------------------------------------------------------------

def test_asarray_keeps_the_trace():
    x = tfr.variable([1.0, 2.0])
    assert tfr.asarray(x) is tfr.asarray(x, copy=False) is x
    y = tfr.asarray(x, copy=True)
    assert y is not x
    assert y.tracks_grad
    z = tfr.asarray(x, dtype="f4")
    assert tfr.default_runtime().grad(tfr.sum(z * z), x).tolist() == [2, 4]
    assert not tfr.asarray([1.0]).tracks_grad


def test_large_integers_stay_exact():
    for dtype, values in (("u8", [2**63 - 1, 2**64 - 1]), ("u8", [[2**64 - 1], [1]]), ("i8", [-2**63, 2**63 - 1])):
        assert tfr.asarray(values, dtype=dtype).tolist() == tfr.constant(values, dtype).tolist() == values
    with pytest.raises(OverflowError):
        tfr.asarray([2**64 - 1, -1], dtype="u8")


def test_asarray_without_a_copy():
    a = np.arange(3.0)
    x = tfr.asarray(a, copy=False)
    a[0] = 7
    assert x.tolist() == [7, 1, 2]
    for wrong in (lambda: tfr.asarray([1.0], copy=False), lambda: tfr.asarray(a, dtype="f4", copy=False),
                  lambda: tfr.asarray(tfr.constant(a), dtype="f4", copy=False)):
        with pytest.raises(ValueError, match="copy"):
            wrong()
    b = np.arange(3.0)
    y = tfr.asarray(b, copy=True)
    b[0] = 7
    assert y.tolist() == [0, 1, 2]


def test_astype_copies_or_not():
    x = tfr.constant([1.0])
    assert tfr.astype(x, tfr.float64, copy=False) is x
    assert x.astype(tfr.float64) is not x
    y = x.astype("f8")
    y[0] = 5
    assert x.tolist() == [1]


def test_empty():
    assert tfr.empty((2, 0)).shape == (2, 0)
    assert tfr.empty(2, dtype="c8").dtype == tfr.empty_like(tfr.zeros(3, "c8")).dtype == tfr.complex64


# ---- bits ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", INT_DTYPES, ids=str)
def test_integer_operators(dtype):
    a, b = np.array([5, 6, 7], dtype), np.array([3, 1, 2], dtype)
    x, y = tfr.constant(a), tfr.constant(b)
    for ours, theirs in ((x & y, a & b), (x | y, a | b), (x ^ y, a ^ b), (~x, ~a), (x << y, a << b), (x >> y, a >> b),
                         (x & 3, a & 3), (3 | x, 3 | a), (1 << y, 1 << b), (x ^ b, a ^ b)):
        assert isinstance(ours, EagerTensor)
        np.testing.assert_array_equal(ours.numpy(), theirs, strict=True)
    same = z = tfr.constant(a)
    z &= 6
    z |= 1
    z ^= y
    z <<= 2
    z >>= 1
    assert z is same
    np.testing.assert_array_equal(z.numpy(), ((((a & 6) | 1) ^ b) << 2) >> 1, strict=True)


def test_what_has_no_bits():
    x, i = tfr.variable([1.0]), tfr.constant([1])
    for wrong in (lambda: x & x, lambda: i & 1.5, lambda: ~x, lambda: x << 1, lambda: tfr.bitwise_or(x, 1),
                  lambda: tfr.constant([True]) << tfr.constant([True]), lambda: tfr.bitwise_invert(x),
                  lambda: tfr.constant([1], "i8") & tfr.constant([1], "u8")):
        with pytest.raises(errors.DTypeMismatchError):
            wrong()
    with pytest.raises(OverflowError):
        tfr.constant([1], "i1") & 300
    with pytest.raises(TypeError):
        i & "a"
    b = tfr.constant([True])
    with pytest.raises(TypeError):
        b &= i
    with pytest.raises(errors.ContextMismatchError):
        i & tfr.EagerRuntime().constant_from(np.array([1]))


# ---- functions with derivatives --------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
def test_running_totals_start_with_the_neutral_element(dtype):
    x = np.array([[1, 2], [3, 0]], dtype)
    double = dtype.char in "dD"
    for f in (tfr.cumulative_sum, tfr.cumulative_prod):
        if double:
            check_grads(lambda x, f=f: f(x, axis=1, include_initial=True), [x])
    assert tfr.cumulative_prod(x, axis=0, include_initial=True).tolist() == [[1, 1], [1, 2], [3, 0]]
    with pytest.raises(ValueError, match=r"ax[ei]s"):
        tfr.cumulative_sum(x)
    with pytest.raises(ValueError, match=r"ax[ei]s"):
        tfr.cumulative_sum(1.0)


def test_copysign_has_a_derivative():
    x, y = tfr.variable([1.0, -2.0, 0.0, -0.0]), np.array([-1.0, -0.0, 1.0, -3.0])
    z = tfr.copysign(x, y)
    assert str(z.tolist()) == "[-1.0, -2.0, 0.0, -0.0]"
    assert tfr.default_runtime().grad(tfr.sum(z), x).tolist() == [-1, 1, 1, 1]
    check_grads(lambda x: tfr.copysign(x, -1.0), [np.array([1.0, -2.0])])


def test_meshgrid_keeps_the_trace():
    check_grads(lambda x, y: tfr.stack(tfr.meshgrid(x, y)) ** 2, [np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0])])
    with pytest.raises(ValueError):
        tfr.meshgrid([1.0], indexing="yx")


@pytest.mark.parametrize("invert", [False, True])
def test_isin(invert):
    x = tfr.constant([[1, 2], [3, 4]])
    assert tfr.isin(x, [2, 3, 9], invert=invert).tolist() == [[invert, not invert], [not invert, invert]]
    top = 2**63 - 1
    assert tfr.isin(tfr.constant([top - 1, top, -1]), tfr.constant([top, 2**64 - 1], "u8")).tolist() == [False, True, False]
    assert tfr.isin(tfr.constant([2**64 - 1, 5], "u8"), tfr.constant([-1, 5])).tolist() == [False, True]
    assert not tfr.isin(tfr.constant([math.nan]), [math.nan]).item()


# ---- special values where NumPy differs ------------------------------------------------------------------------------

INF = math.inf


@pytest.mark.parametrize("dtype", REAL_DTYPES, ids=str)
@pytest.mark.parametrize(("x1", "x2", "want"), [
    (INF, 2.0, INF), (INF, -2.0, -INF), (-INF, 2.0, -INF), (-INF, -2.0, INF), (INF, INF, math.nan), (INF, 0.0, INF),
    (2.0, INF, 0.0), (-2.0, -INF, 0.0), (2.0, -INF, -1.0), (-2.0, INF, -1.0), (-0.0, 2.0, -0.0), (1.0, 0.0, INF),
])
def test_floor_divide(dtype, x1, x2, want):
    found = tfr.floor_divide(tfr.constant(x1, dtype), tfr.constant(x2, dtype))
    assert found.dtype == dtype
    assert repr(found.item()) == repr(want)


@pytest.mark.parametrize("dtype", COMPLEX_DTYPES, ids=str)
@pytest.mark.parametrize(("x", "want"), [
    (complex(INF, 0), complex(INF, 0)), (complex(-INF, INF), complex(-1, 0)), (complex(INF, INF), complex(INF, math.nan)),
    (complex(-INF, math.nan), complex(-1, 0)), (complex(INF, math.nan), complex(INF, math.nan)),
    (complex(math.nan, 0), complex(math.nan, 0)), (complex(-0.0, 0), 0j), (complex(-INF, 3), complex(-1, 0)),
    (complex(INF, 1), complex(INF, INF)), (complex(1, INF), complex(math.nan, math.nan)),
])
def test_complex_expm1(dtype, x, want):
    assert repr(tfr.expm1(tfr.constant(x, dtype)).item()) == repr(want)


# ---- masks -----------------------------------------------------------------------------------------------------------

def test_a_mask_that_does_not_fit_is_an_index_error():
    x = tfr.constant(np.ones((2, 3)))
    for mask in (np.ones(3, bool), np.ones((2, 2), bool)):
        with pytest.raises(IndexError) as caught:
            x[mask]
        assert isinstance(caught.value, errors.ShapeMismatchError)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (0, 0)])
def test_an_empty_mask_selects_nothing(shape):
    a = np.ones((2, 3))
    mask = np.zeros(shape, bool)
    assert tfr.constant(a)[mask].shape == a[mask].shape
