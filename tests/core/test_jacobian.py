"""jacobian and hessian: against closed forms and differences, in both modes, over containers and complex numbers."""

import itertools

import numpy as np
import pytest
from support import sample, value

import tenferro as tfr
from tenferro import errors
from tenferro.testing import check_grads

both = pytest.mark.parametrize("mode", [None, "fwd", "rev"])


def rng():
    return np.random.default_rng(7)


def numeric(f, x, eps=1e-6):
    """Central differences, of shape ``out.shape + in.shape``, along the real axis."""
    columns = []
    for k in range(x.size):
        e = np.zeros(x.size)
        e[k] = eps
        sides = [value(f(tfr.constant(x + s * e.reshape(x.shape)))) for s in (1, -1)]
        columns.append((sides[0] - sides[1]) / (2 * eps))
    return np.stack(columns, -1).reshape(columns[0].shape + x.shape)


# ---- values ----------------------------------------------------------------------------------------------------------

@both
def test_a_linear_map(mode):
    a = sample(rng(), (4, 3), float)
    for m in (a, a.T):
        found = tfr.jacobian(tfr.matmul, 1, mode)(m, np.ones(m.shape[1]))
        np.testing.assert_array_equal(value(found), m)


@both
@pytest.mark.parametrize(("shape", "f"), [
    ((3,), lambda x: tfr.sin(x) * tfr.sum(x)),
    ((2, 3), lambda x: tfr.matmul(x, x.T)),
    ((2, 2), lambda x: tfr.sum(x ** 3, axis=0)),
    ((), lambda x: tfr.stack([tfr.sin(x), tfr.exp(x)])),
    ((2, 3), lambda x: tfr.sum(x * x)),
    ((1, 2), lambda x: x.reshape(2, 1, 1) ** 3),
])
def test_against_differences(mode, shape, f):
    x = sample(rng(), shape, float)
    found = tfr.jacobian(f, mode=mode)(x)
    expected = numeric(f, x)
    assert found.shape == expected.shape
    np.testing.assert_allclose(value(found), expected, rtol=1e-7, atol=1e-8)
    assert not found.tracks_grad


def count(f, x):
    """Forward and reverse sweeps of a Jacobian."""
    sweeps = [0, 0]

    @tfr.custom_op(vjp=lambda g, out, x: _tick(sweeps, 1) or g, jvp=lambda t, out, x: _tick(sweeps, 0) or t[0])
    def watched(x):
        return x
    tfr.jacobian(lambda x: f(watched(x)))(x)
    return sweeps


def _tick(sweeps, k):
    sweeps[k] += 1


def test_the_mode_goes_by_shape():
    assert count(lambda x: tfr.concatenate([x, x]), np.ones(3)) == [3, 0]
    assert count(lambda x: x[:2], np.ones(3)) == [0, 2]
    assert count(lambda x: x, np.ones(3)) == [0, 3]
    assert count(tfr.sum, np.ones((2, 3))) == [0, 1]


def test_one_evaluation():
    calls = []
    tfr.jacobian(lambda x: calls.append(1) or x * x)(np.ones(5))
    assert len(calls) == 1


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_more_rows_than_are_joined_at_once(mode):
    x = np.arange(300.0)
    found = value(tfr.jacobian(lambda x: x * x, mode=mode)(x))
    np.testing.assert_array_equal(found, np.diag(2 * x))


@both
def test_empty(mode):
    assert tfr.jacobian(lambda x: x * x, mode=mode)(np.zeros((0, 2))).shape == (0, 2, 0, 2)
    assert tfr.jacobian(lambda x: x[:0], mode=mode)(np.zeros(3)).shape == (0, 3)
    assert tfr.jacobian(lambda x: tfr.sum(x), mode=mode)(np.zeros(0)).shape == (0,)
    assert tfr.jacobian(lambda z: tfr.sum(z), mode=mode)(np.zeros(0, complex)).shape == (0,)


@both
def test_single_precision(mode):
    found = tfr.jacobian(lambda x: x * x, mode=mode)(np.array([1, 2], np.float32))
    assert found.dtype == np.float32
    assert value(found).tolist() == [[2, 0], [0, 4]]
    mixed = tfr.jacobian(lambda x: x * np.ones(2), mode=mode)(np.array([1, 2], np.float32))
    assert mixed.dtype == np.float64


@both
def test_argnums(mode):
    def f(a, b):
        return a * tfr.sum(b)
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    da, db = np.eye(2) * 12, np.outer(a, np.ones(3))
    np.testing.assert_array_equal(value(tfr.jacobian(f, 0, mode)(a, b)), da)
    np.testing.assert_array_equal(value(tfr.jacobian(f, -1, mode)(a, b)), db)
    found = tfr.jacobian(f, (1, 0), mode)(a, b)
    assert isinstance(found, tuple)
    np.testing.assert_array_equal(value(found[0]), db)
    np.testing.assert_array_equal(value(found[1]), da)


@both
def test_containers(mode):
    x = {"a": np.array([1.0, 2.0]), "b": (3.0, None)}

    def f(x):
        return [x["a"] * x["b"][0], {"s": tfr.sum(x["a"] ** 2)}]
    found = tfr.jacobian(f, mode=mode)(x)
    first, second = found[0], found[1]["s"]
    assert value(first["a"]).tolist() == [[3, 0], [0, 3]]
    assert value(first["b"][0]).tolist() == [1, 2]
    assert first["b"][1] is None
    assert value(second["a"]).tolist() == [2, 4]
    assert second["b"][0].item() == 0
    assert second["b"][0].shape == ()


@both
def test_has_aux(mode):
    found, aux = tfr.jacobian(lambda x: (x * x, {"x": x, "n": 1}), mode=mode, has_aux=True)(np.ones(2))
    assert value(found).tolist() == [[2, 0], [0, 2]]
    assert not aux["x"].tracks_grad
    assert aux["n"] == 1
    found, aux = tfr.hessian(lambda x: (x ** 3, "text"), has_aux=True)(2.0)
    assert found.item() == 12
    assert aux == "text"


# ---- second order and nesting ----------------------------------------------------------------------------------------

@both
def test_hessian_of_a_quadratic_form(mode):
    a = sample(rng(), (3, 3), float)
    found = tfr.hessian(lambda x: tfr.sum(x * tfr.matmul(a, x)), mode=mode)(np.ones(3))
    np.testing.assert_allclose(value(found), a + a.T, rtol=1e-14)


@both
def test_hessian_against_differences(mode):
    x = sample(rng(), (2, 2), float)

    def f(x):
        return tfr.sum(tfr.exp(tfr.matmul(x, x)) * tfr.sin(x))
    found = value(tfr.hessian(f, mode=mode)(x))
    np.testing.assert_allclose(found, numeric(tfr.grad(f), x), rtol=1e-6, atol=1e-7)
    flat = found.reshape(4, 4)
    np.testing.assert_allclose(flat, flat.T, rtol=1e-12, atol=1e-12)


def test_hessian_of_containers():
    h = tfr.hessian(lambda d: d["a"] ** 2 * d["b"] ** 3)({"a": 2.0, "b": 5.0})
    assert {(i, j): h[i][j].item() for i in h for j in h[i]} == {
        ("a", "a"): 250, ("a", "b"): 300, ("b", "a"): 300, ("b", "b"): 120}
    blocks = tfr.hessian(lambda a, b: a ** 2 * b ** 3, (0, 1))(2.0, 5.0)
    assert [[x.item() for x in row] for row in blocks] == [[250, 300], [300, 120]]


@pytest.mark.parametrize("modes", list(itertools.product(["fwd", "rev"], repeat=3)), ids="-".join)
def test_third_derivatives(modes):
    x = sample(rng(), (2,), float)
    c = np.array([0.5, -1.5])

    def f(x):
        return tfr.exp(tfr.sum(c * x))
    for mode in modes:
        f = tfr.jacobian(f, mode=mode)
    np.testing.assert_allclose(value(f(x)), np.exp(c @ x) * np.einsum("i,j,k->ijk", c, c, c), rtol=1e-13)


@both
def test_a_jacobian_is_differentiated(mode):
    x = sample(rng(), (2, 3), float)
    check_grads(tfr.jacobian(lambda x: tfr.matmul(x, x.T), mode=mode), (x,), order=1)
    w = tfr.variable(2.0)
    found = tfr.jacobian(lambda x: x * x * w, mode=mode)(np.ones(2))
    assert found.tracks_grad
    assert w.runtime.grad(tfr.sum(found), w).item() == 4
    with tfr.no_grad():
        assert not tfr.jacobian(lambda x: x * x * w, mode=mode)(np.ones(2)).tracks_grad
        assert tfr.hessian(lambda x: x ** 3 * w, mode=mode)(2.0).item() == 24


def test_hessian_agrees_with_hvp():
    x, v = sample(rng(), (4,), float), sample(rng(), (4,), float)

    def f(x):
        return tfr.sum(tfr.tanh(x) * tfr.sum(x * x))
    np.testing.assert_allclose(value(tfr.hessian(f)(x)) @ v, value(tfr.hvp(f)(x, v)), rtol=1e-12)


# ---- complex ---------------------------------------------------------------------------------------------------------

@both
def test_real_to_complex(mode):
    x = sample(rng(), (3,), float)
    found = tfr.jacobian(lambda x: tfr.exp(1j * x) * tfr.sum(x), mode=mode)(x)
    assert found.dtype == np.complex128
    expected = np.diag(1j * np.exp(1j * x) * x.sum()) + np.exp(1j * x)[:, None]
    np.testing.assert_allclose(value(found), expected, rtol=1e-13, atol=1e-15)


@both
def test_holomorphic(mode):
    z = sample(rng(), (2, 2), complex)
    found = tfr.jacobian(lambda z: tfr.matmul(z, z), mode=mode)(z)
    eye = np.eye(2)
    expected = np.einsum("ia,bj->ijab", eye, z) + np.einsum("ia,bj->ijab", z, eye)
    np.testing.assert_allclose(value(found), expected, rtol=1e-14)
    assert tfr.jacobian(lambda z: z * z, mode=mode)(np.complex64(1 + 1j)).dtype == np.complex64
    same = tfr.jacobian(lambda z: tfr.exp(z) * np.ones(2), mode=mode)(np.complex64(1 + 1j))
    np.testing.assert_allclose(value(same), np.exp(1 + 1j) * np.ones(2), rtol=1e-6)


@both
@pytest.mark.parametrize("f", [tfr.conj, tfr.abs, tfr.real, lambda z: z * tfr.conj(z)])
def test_what_is_not_holomorphic(mode, f):
    with pytest.raises(errors.ValidationError, match=r"not a holomorphic.*re \+ 1j \* im") as e:
        tfr.jacobian(f, mode=mode)(np.array([1 + 2j]))
    assert e.value.op == "jacobian"


@both
def test_the_remedy_for_what_is_not_holomorphic(mode):
    re, im = tfr.jacobian(lambda re, im: tfr.abs(re + 1j * im) ** 2, (0, 1), mode)(3.0, 4.0)
    assert [re.item(), im.item()] == [6, 8]


@both
def test_complex_and_real_arguments_together(mode):
    dx, dz = tfr.jacobian(lambda x, z: x * z, (0, 1), mode)(2.0, 3 + 1j)
    assert [dx.item(), dz.item()] == [3 + 1j, 2]
    found = tfr.jacobian(lambda p: (p[0] ** 2, p[1] ** 2), mode=mode)((3.0, 1j))
    assert [x.item() for x in (*found[0], *found[1])] == [6, 0, 0, 2j]


# ---- errors ----------------------------------------------------------------------------------------------------------

def test_errors():
    with pytest.raises(errors.ValidationError, match="'fwd', 'rev' or None, not 'forward'"):
        tfr.jacobian(lambda x: x, mode="forward")
    with pytest.raises(errors.ValidationError, match="takes a function"):
        tfr.jacobian(tfr.variable(1.0))
    with pytest.raises(errors.ValidationError, match="takes a function"):
        tfr.hessian(tfr.variable(1.0))
    with pytest.raises(errors.ValidationError, match="argument 1"):
        tfr.jacobian(lambda x: x, 1)(1.0)
    with pytest.raises(errors.ValidationError, match="dtype=float"):
        tfr.jacobian(lambda x: x)(np.arange(3))
    with pytest.raises(errors.ValidationError, match=r"int64 at \$\[1\]"):
        tfr.jacobian(lambda x: (x, tfr.argmax(x)))(np.ones(3))
    with pytest.raises(errors.NonScalarGradError):
        tfr.hessian(lambda x: x)(np.ones(2))
