"""Fourier transforms: values against SciPy's, derivatives against their matrices, errors, installation."""

import subprocess
import sys

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.fft
from hypothesis import given, settings
from support import (
    ALL_DTYPES,
    COMPLEX_DTYPES,
    DIFF_DTYPES,
    REAL_DTYPES,
    assert_same,
    const,
    layouts,
    leaf,
    random_layout,
    sample,
    shapes,
    value,
)

import tenferro as tfr
from tenferro.errors import AxisError, DTypeMismatchError, ShapeMismatchError, UnsupportedError, ValidationError
from tenferro.testing import check_grads

OF_REAL = ("rfft", "ihfft")
TO_REAL = ("irfft", "hfft")
ONE = ("fft", "ifft", *OF_REAL, *TO_REAL)
MANY = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")
TRIGONOMETRIC = ("dct", "idct", "dst", "idst")
NORMS = (None, "backward", "ortho", "forward")

seeds = st.integers(0, 2**32 - 1)


def dtypes_of(name):
    return [d for d in ALL_DTYPES if d.kind != "c"] if name in (*OF_REAL, "rfftn", "rfft2") else ALL_DTYPES


def compare(name, x, **how):
    """The result is SciPy's; bool and integers are float64, as everywhere in this library."""
    wide = x.astype(float) if x.dtype.kind in "biu" else x
    f = getattr(scipy.fft, name)
    parts = name in TRIGONOMETRIC and wide.dtype.kind == "c"        # SciPy forgets arguments for complex numbers
    expected = (f(wide.real, **how) + 1j * f(wide.imag, **how)).astype(x.dtype) if parts else f(wide, **how)
    tolerance = 1e-5 if x.dtype.name in ("float32", "complex64") else 1e-13
    assert_same(getattr(tfr.fft, name)(const(x), **how), expected, rtol=tolerance, atol=tolerance * 20)


# ---- values ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ONE)
@settings(max_examples=40)
@given(data=st.data())
def test_one_axis(name, data):
    x = sample(np.random.default_rng(data.draw(seeds)), data.draw(shapes(min_dims=1, max_dims=3, min_side=1)),
               data.draw(st.sampled_from(dtypes_of(name))), -2, 2)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    n = data.draw(st.one_of(st.none(), st.integers(1, 7)))
    if n is None and name in TO_REAL and x.shape[axis] == 1:
        n = 1
    compare(name, data.draw(layouts)(x), n=n, axis=axis, norm=data.draw(st.sampled_from(NORMS)))


@pytest.mark.parametrize("name", MANY)
@settings(max_examples=30)
@given(data=st.data())
def test_several_axes(name, data):
    x = sample(np.random.default_rng(data.draw(seeds)), data.draw(shapes(min_dims=2, max_dims=3, min_side=2)),
               data.draw(st.sampled_from(dtypes_of(name))), -2, 2)
    k = data.draw(st.integers(1, x.ndim))
    axes = data.draw(st.permutations(range(-x.ndim, 0)))[:k]
    s = data.draw(st.one_of(st.none(), st.lists(st.sampled_from((-1, 1, 2, 3, 4, 5)), min_size=k, max_size=k)))
    compare(name, data.draw(layouts)(x), s=s, axes=axes, norm=data.draw(st.sampled_from(NORMS)))


types = pytest.mark.parametrize("type", [1, 2, 3, 4])


@types
@pytest.mark.parametrize("orthogonalize", [None, False, True])
@pytest.mark.parametrize("name", TRIGONOMETRIC)
@settings(max_examples=5)
@given(data=st.data())
def test_cosines_and_sines(name, type, orthogonalize, data):
    x = sample(np.random.default_rng(data.draw(seeds)), data.draw(shapes(min_dims=1, max_dims=3, min_side=2)),
               data.draw(st.sampled_from(ALL_DTYPES)), -2, 2)
    compare(name, data.draw(layouts)(x), type=type, n=data.draw(st.one_of(st.none(), st.integers(2, 7))),
            axis=data.draw(st.integers(-x.ndim, x.ndim - 1)), norm=data.draw(st.sampled_from(NORMS)),
            orthogonalize=orthogonalize)


@types
@pytest.mark.parametrize("orthogonalize", [None, False, True])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("name", TRIGONOMETRIC)
def test_gradients_of_cosines_and_sines(name, dtype, norm, orthogonalize, type):
    """Against the transposed matrix, which SciPy makes of the identity."""
    how = {"type": type, "norm": norm, "orthogonalize": orthogonalize}
    matrix = getattr(scipy.fft, name)(np.eye(5), axis=0, **how)
    x = tfr.variable(sample(np.random.default_rng(0), (5, 2), dtype))
    g = sample(np.random.default_rng(1), (5, 2), dtype)
    y, rt = getattr(tfr.fft, name)(x, axis=0, **how), x.runtime
    np.testing.assert_allclose(value(rt.vjp(y, x, g)), matrix.T @ g, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(value(rt.jvp(y, x, g)), matrix @ g, rtol=1e-12, atol=1e-12)
    if norm is None and orthogonalize is None:
        check_grads(lambda z: getattr(tfr.fft, name)(z, axis=0, **how) ** 2, [value(x)], order=2)


@pytest.mark.parametrize(("call", "kind", "argument"), [
    (lambda: tfr.fft.dct([1.0, 2.0], type=5), ValidationError, "type"),
    (lambda: tfr.fft.dct([1.0], 1), ValidationError, "n"), (lambda: tfr.fft.dct([1.0, 2.0], 1, 1), ValidationError, "n"),
    (lambda: tfr.fft.dct([1.0], norm="x"), ValidationError, "norm"), (lambda: tfr.fft.dct([1.0], axis=1), AxisError, "axis"),
    (lambda: tfr.fft.dct([1.0], n=0), ValidationError, "n")])
def test_bad_arguments_of_cosines(call, kind, argument):
    with pytest.raises(kind, match="dct: ") as caught:
        call()
    assert (caught.value.op, caught.value.argument) == ("dct", argument)


@pytest.mark.parametrize("name", MANY)
def test_default_axes(name):
    x = np.arange(24.0).reshape(2, 3, 4)
    compare(name, x)
    compare(name, x, s=(3, 2))


def test_order_in_memory():
    x = np.arange(6.0).reshape(2, 3)
    for name in ("fft", "rfft", "irfft"):
        f = getattr(tfr.fft, name)
        assert value(f(const(x), axis=0)).flags.c_contiguous
        assert value(f(const(np.asfortranarray(x)), axis=0)).flags.f_contiguous


def test_no_axes():
    assert_same(tfr.fft.fftn([1.0, 2], axes=()), np.array([1.0 + 0j, 2]))
    assert_same(tfr.fft.fftn(3.0), np.array(3 + 0j))


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n):
    for dtype in REAL_DTYPES:
        for name in ("fftfreq", "rfftfreq"):
            assert_same(getattr(tfr.fft, name)(n, d=0.3, dtype=dtype), getattr(np.fft, name)(n, 0.3).astype(dtype))


@settings(max_examples=30)
@given(data=st.data())
def test_shifts(data):
    shape = data.draw(shapes(min_dims=1, max_dims=3))
    x = np.arange(np.prod(shape)).reshape(shape)
    axes = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1), st.just((0, -1)[:x.ndim])))
    for name in ("fftshift", "ifftshift"):
        assert_same(getattr(tfr.fft, name)(const(x), axes), getattr(np.fft, name)(x, axes))
        assert_same(getattr(tfr.fft, name)(3), np.array(3))


# ---- derivatives -----------------------------------------------------------------------------------------------------

def operand(name, shape, dtype, seed=1):
    rng = np.random.default_rng(seed)
    return random_layout(sample(rng, shape, dtype), rng)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 1, 2, 3, 6, 7])
@pytest.mark.parametrize("name", ONE)
def test_derivatives_along_one_axis(name, n, norm):
    """Lengths below and above those of the operand, even and odd."""
    f = getattr(tfr.fft, name)
    x = operand(name, (2, 4), "f8" if name in OF_REAL else "c16")
    check_grads(lambda t: f(t, n, norm=norm), [x], order=1)
    check_grads(lambda t: f(t, n, axis=0, norm=norm), [x], order=1)


@pytest.mark.parametrize(("name", "dtype"), [(name, d) for name in ONE for d in DIFF_DTYPES
                                             if name not in OF_REAL or d not in COMPLEX_DTYPES])
def test_second_derivatives(name, dtype):
    f = getattr(tfr.fft, name)
    check_grads(lambda t: tfr.square(f(t)), [operand(name, (2, 5), dtype)], order=2)


@pytest.mark.parametrize("name", MANY)
def test_derivatives_along_several_axes(name):
    f = getattr(tfr.fft, name)
    x = operand(name, (3, 2, 4), "f8" if name.startswith("rfft") else "c16")
    check_grads(lambda t: f(t, norm="ortho"), [x], order=2)
    check_grads(lambda t: tfr.square(f(t, s=(3, 5), axes=(2, 0))), [x], order=2)


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
def test_derivatives_of_shifts(dtype):
    for f in (tfr.fft.fftshift, tfr.fft.ifftshift):
        check_grads(f, [operand("fftshift", (3, 4), dtype)], order=2)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_adjoint_of_half_transforms_is_that_of_their_matrices(n):
    """Every column of the real matrix of a transform is that of a unit vector."""
    m = n // 2 + 1
    to_half = scipy.fft.rfft(np.eye(n), axis=0)
    x, g = leaf(np.ones(n)), np.arange(1, m + 1) * (1 + 2j)
    y = tfr.fft.rfft(x)
    np.testing.assert_allclose(value(x.runtime.vjp(y, x, g)), (to_half.conj().T @ g).real, atol=1e-13)
    real = scipy.fft.irfft(np.eye(m), n, axis=0)
    imag = scipy.fft.irfft(1j * np.eye(m), n, axis=0)
    z, h = leaf(np.ones(m, complex)), np.arange(1.0, n + 1)
    y = tfr.fft.irfft(z, n)
    np.testing.assert_allclose(value(z.runtime.vjp(y, z, h)), real.T @ h + 1j * (imag.T @ h), atol=1e-13)


# ---- errors ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ONE)
def test_errors_of_one_axis(name):
    f = getattr(tfr.fft, name)
    x = np.ones((2, 3))
    with pytest.raises(ValidationError, match="at least 1 point") as caught:
        f(x, n=0)
    assert (caught.value.op, caught.value.argument) == (name, "n")
    with pytest.raises(ValidationError, match="integer"):
        f(x, n=2.5)
    with pytest.raises(ValidationError, match="at least 1 point"):
        f(np.ones((2, 0)))
    with pytest.raises(AxisError, match=name):
        f(x, axis=2)
    with pytest.raises(AxisError):
        f(1.0)
    with pytest.raises(ValidationError, match="'ortho'"):
        f(x, norm="unitary")


@pytest.mark.parametrize("name", MANY)
def test_errors_of_several_axes(name):
    f = getattr(tfr.fft, name)
    x = np.ones((2, 3))
    with pytest.raises(AxisError, match="twice"):
        f(x, axes=(1, -1))
    with pytest.raises(ShapeMismatchError, match="one for each"):
        f(x, s=(2,), axes=(0, 1))
    with pytest.raises(ValidationError, match="at least 1 point"):
        f(x, s=(2, 0))
    if name in ("rfftn", "irfftn"):
        with pytest.raises(ValidationError, match="at least one"):
            f(x, axes=())


def test_complex_numbers_are_refused_by_transforms_of_real_ones():
    for name in (*OF_REAL, "rfftn", "rfft2"):
        with pytest.raises(DTypeMismatchError, match=name):
            getattr(tfr.fft, name)(np.ones((2, 2), complex))
    for f in (tfr.fft.fftfreq, tfr.fft.rfftfreq):
        with pytest.raises(ValidationError):
            f(0)


class OtherEngine(tfr.ExecutionEngine):
    """An engine of another kind that has no kernels."""

    def __init__(self):
        super().__init__("other", "otherkind", "other memory")


# ---- the module ------------------------------------------------------------------------------------------------------

def test_installed_once_in_the_runtime_of_its_operand():
    rt = tfr.EagerRuntime()
    x = rt.variable_from([1.0, 2.0])
    y = tfr.fft.fft(x)
    assert y.runtime is rt
    epoch = rt.install_extension_module(tfr.fft.MODULE)
    tfr.fft.irfft(y)
    assert rt.install_extension_module(tfr.fft.MODULE) == epoch
    assert rt.extension("tenferro.fft.v1").module_id == tfr.fft.MODULE_ID


def test_in_a_session():
    rt = tfr.EagerRuntime()
    with rt.session() as s:
        np.testing.assert_allclose(value(s.rfft([1.0, 2.0])), [3, -1])
        assert s.rfft([1.0, 2.0]).runtime is rt


def test_engines_of_other_kinds_have_no_executor():
    rt = tfr.EagerRuntime()
    x = rt.constant_from(np.ones(2, complex))
    with rt.session(OtherEngine()), pytest.raises(UnsupportedError, match="otherkind"):
        tfr.fft.fft(x)
    np.testing.assert_array_equal(value(tfr.fft.fft(x)), [2, 0])


def test_scipy_is_loaded_by_the_first_transform():
    code = ("import sys, tenferro as tfr; tfr.fft.fftfreq(4); assert 'scipy' not in sys.modules; "
            "tfr.fft.fft([1.0, 2.0]); assert 'scipy.fft' in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)
