"""grad, value_and_grad, vjp, jvp, hvp, stop_gradient: values, nesting, containers, tracking, errors."""

import collections
import gc
import itertools
import threading

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from support import live, sample, value

import tenferro as tfr
from tenferro import errors
from tenferro._tree import flatten, paths
from tenferro.testing import check_grads

Pair = collections.namedtuple("Pair", "left right")


@pytest.fixture(autouse=True)
def recording_is_left_on():
    yield
    assert (tfr.variable(1.0) * 2.0).tracks_grad


def number(x):
    assert x.shape == ()
    return x.item()


# ---- values ----------------------------------------------------------------------------------------------------------

def test_grad_of_a_power():
    assert number(tfr.grad(lambda x: x * x * x)(2.0)) == 12.0


def test_gradient_has_the_arguments_shape_and_dtype():
    x = np.asarray([[1, 2, 3], [4, 5, 6]], np.float32)
    g = tfr.grad(lambda x: tfr.sum(tfr.sin(x)))(x)
    assert g.dtype == np.float32
    np.testing.assert_allclose(value(g), np.cos(x), rtol=1e-6)


def test_value_and_grad():
    y, g = tfr.value_and_grad(lambda x: tfr.sum(tfr.exp(x)))(np.array([0.0, 1.0]))
    np.testing.assert_allclose(number(y), 1 + np.e, rtol=1e-15)
    np.testing.assert_allclose(value(g), [1, np.e], rtol=1e-15)


def test_argnums():
    def f(a, b, c):
        return a * b + c
    assert number(tfr.grad(f)(2.0, 3.0, 5.0)) == 3
    assert number(tfr.grad(f, 1)(2.0, 3.0, 5.0)) == 2
    assert number(tfr.grad(f, -1)(2.0, 3.0, 5.0)) == 1
    gradients = tfr.grad(f, (1, -3))(2.0, 3.0, 5.0)
    assert isinstance(gradients, tuple)
    assert [number(g) for g in gradients] == [2, 3]
    assert isinstance(tfr.grad(f, [0])(2.0, 3.0, 5.0), tuple)


def test_other_arguments_are_handed_on():
    def f(x, n, *, scale):
        assert isinstance(n, int)
        assert scale == "2"
        return x ** n * float(scale)
    assert number(tfr.grad(f)(3.0, 2, scale="2")) == 12.0


def test_grad_of_a_complex_argument_is_hermitian():
    z = np.array([1 + 2j, 3 - 1j])
    np.testing.assert_allclose(value(tfr.grad(lambda z: tfr.sum(tfr.abs(z) ** 2))(z)), 2 * z, rtol=1e-14)
    g = tfr.grad(lambda z: z * z)(1 + 2j)           # of the real part
    assert g.dtype == np.complex128
    assert g.item() == 2 * (1 - 2j)


def test_what_the_result_does_not_depend_on_has_gradient_zero():
    g, h = tfr.grad(lambda x, y: x * 2.0, (0, 1))(1.0, np.ones(3))
    assert number(g) == 2
    assert value(h).tolist() == [0, 0, 0]
    assert number(tfr.grad(lambda x: 3.0)(1.0)) == 0


def test_identity_and_closure_returned():
    outer = tfr.variable(3.0)
    assert number(tfr.grad(lambda x: x)(1.0)) == 1
    y, g = tfr.value_and_grad(lambda x: outer)(1.0)
    assert number(y) == 3
    assert number(g) == 0
    assert y.tracks_grad


def test_vjp_of_a_matrix_product():
    rng = np.random.default_rng(0)
    a, b, c = (sample(rng, s, float) for s in ((2, 3), (3, 4), (2, 4)))
    out, pullback = tfr.vjp(tfr.matmul, a, b)
    np.testing.assert_allclose(value(out), a @ b)
    for k in (1.0, 2.0):                            # repeatedly
        da, db = pullback(k * c)
        np.testing.assert_allclose(value(da), k * c @ b.T)
        np.testing.assert_allclose(value(db), k * a.T @ c)


def test_vjp_returns_a_tuple_also_for_one_argument():
    _, pullback = tfr.vjp(lambda x: x * x, 3.0)
    assert [number(g) for g in pullback(1.0)] == [6]


def test_jvp_of_a_matrix_product():
    rng = np.random.default_rng(1)
    a, b, da, db = (sample(rng, s, float) for s in ((2, 3), (3, 4), (2, 3), (3, 4)))
    out, t = tfr.jvp(tfr.matmul, (a, b), (da, db))
    np.testing.assert_allclose(value(out), a @ b)
    np.testing.assert_allclose(value(t), da @ b + a @ db)


def test_one_tensor_as_two_arguments():
    x = tfr.variable(3.0)
    assert [number(g) for g in tfr.grad(lambda a, b: a * a * b, (0, 1))(x, x)] == [18, 9]
    assert number(tfr.jvp(lambda a, b: a * a * b, (x, x), (1.0, 0.0))[1]) == 18
    assert number(tfr.jvp(lambda a, b: a * a * b, (x, x), (0.0, 1.0))[1]) == 9


def test_none_is_a_zero_seed():
    _, pullback = tfr.vjp(lambda x: (x * x, x * 3.0), 2.0)
    assert number(pullback((1.0, None))[0]) == 4
    assert number(pullback((None, 1.0))[0]) == 3
    assert number(pullback((None, None))[0]) == 0
    assert number(tfr.jvp(lambda x, y: x * y, (2.0, 5.0), (None, 1.0))[1]) == 2


def test_integer_outputs():
    def f(x):
        return x * 2.0, tfr.argmax(x)
    x = np.array([1.0, 3.0])
    (_, where), (t, dwhere) = tfr.jvp(f, (x,), (np.array([1.0, 0.5]),))
    assert where.item() == 1
    assert value(t).tolist() == [2, 1]
    assert dwhere.item() == 0
    _, pullback = tfr.vjp(f, x)
    assert value(pullback((np.array([1.0, 10.0]), None))[0]).tolist() == [2, 20]


def test_hvp_of_a_quadratic_form():
    a = np.array([[2.0, 1.0], [1.0, 5.0]])
    v = np.array([1.0, -3.0])
    product = tfr.hvp(lambda x, scale: scale * tfr.sum(x * tfr.matmul(a, x)) / 2)
    np.testing.assert_allclose(value(product(np.array([7.0, 8.0]), v, 2.0)), 2 * a @ v)


def test_hvp_of_containers():
    x, v = {"a": 2.0, "b": [3.0]}, {"a": 1.0, "b": [10.0]}
    found = tfr.hvp(lambda d: d["a"] ** 2 * d["b"][0])(x, v)
    assert number(found["a"]) == 2 * 3 * 1 + 2 * 2 * 10
    assert number(found["b"][0]) == 2 * 2 * 1


def test_check_grads_of_transforms():
    rng = np.random.default_rng(2)
    x, c = sample(rng, (3,), float), sample(rng, (3,), float)

    def f(x):
        return tfr.sum(tfr.sin(x) * tfr.exp(x * c))
    check_grads(tfr.grad(f), (x,))
    check_grads(lambda x, t: tfr.jvp(lambda x: tfr.tanh(x) * x, (x,), (t,))[1], (x, c))
    check_grads(lambda x, t: tfr.vjp(lambda x: tfr.tanh(x) * x, x)[1](t)[0], (x, c))
    check_grads(tfr.hvp(f), (x, c), order=1)
    z = x + 1j * c
    check_grads(tfr.grad(lambda z: tfr.sum(tfr.abs(z) ** 2 * tfr.real(z))), (z,))


# ---- nesting ---------------------------------------------------------------------------------------------------------

def by_grad(f):
    return tfr.grad(f)


def by_vjp(f):
    return lambda x: tfr.vjp(f, x)[1](1.0)[0]


def by_jvp(f):
    return lambda x: tfr.jvp(f, (x,), (1.0,))[1]


MODES = {"grad": by_grad, "vjp": by_vjp, "jvp": by_jvp}
pairs = pytest.mark.parametrize("names", list(itertools.product(MODES, repeat=2)), ids="-".join)
triples = pytest.mark.parametrize("names", list(itertools.product(MODES, repeat=3)), ids="-".join)


@triples
def test_third_derivative(names):
    a, b, c = (MODES[name] for name in names)
    d3 = a(b(c(lambda x: x ** 5 + tfr.sin(x))))
    np.testing.assert_allclose(number(d3(1.5)), 60 * 1.5 ** 2 - np.cos(1.5), rtol=1e-13)


@triples
def test_third_derivative_along_directions(names):
    rng = np.random.default_rng(3)
    c, x, *directions = (sample(rng, (4,), float) for _ in range(5))

    def along(name, f, v):
        if name == "grad":
            return lambda x: tfr.sum(tfr.grad(f)(x) * v)
        if name == "vjp":
            return lambda x: tfr.sum(tfr.vjp(f, x)[1](1.0)[0] * v)
        return lambda x: tfr.jvp(f, (x,), (v,))[1]

    def f(x):
        return tfr.exp(tfr.sum(c * x))
    for name, v in zip(names, directions):
        f = along(name, f, v)
    expected = np.exp(c @ x) * np.prod([c @ v for v in directions])
    np.testing.assert_allclose(number(f(x)), expected, rtol=1e-13)


@pairs
def test_perturbations_are_not_confused(names):
    outer, inner = (MODES[name] for name in names)
    assert number(outer(lambda x: x * inner(lambda y: x + y)(x))(1.0)) == 1
    assert number(outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0)) == 1
    assert number(outer(lambda x: x * inner(lambda y: x * y)(2.0))(3.0)) == 6
    assert number(outer(lambda x: inner(lambda y: x * x * y * y)(x))(3.0)) == 6 * 9         # d/dx 2 x**3
    assert number(outer(lambda x: x * inner(lambda y: x)(x))(3.0)) == 0


@pairs
def test_shift_operators_are_not_confused(names):
    """The derivative of ``u -> f(x + u)`` at 0, taken of its own result, is the second derivative of f."""
    first, second = (MODES[name] for name in names)

    def shift(mode):
        return lambda f: lambda x: mode(lambda u: f(x + u))(0.0)
    assert number(shift(first)(shift(second)(lambda x: x ** 4))(3.0)) == 12 * 9


@pairs
def test_inner_result_as_point_and_as_direction(names):
    outer, inner = (MODES[name] for name in names)
    assert number(outer(lambda x: inner(lambda y: y ** 3)(x * x))(2.0)) == 12 * 8           # d/dx 3 x**4
    assert number(outer(lambda x: tfr.jvp(lambda y: y ** 3, (x,), (x,))[1])(2.0)) == 36     # d/dx 3 x**3
    assert number(outer(lambda x: tfr.vjp(lambda y: y ** 3, x)[1](x)[0])(2.0)) == 36


def test_linear_functions_of_the_seed():
    _, pullback = tfr.vjp(lambda x: x ** 3, 2.0)
    assert number(tfr.grad(lambda c: pullback(c * c)[0])(5.0)) == 12 * 10
    c = tfr.variable(5.0)
    g = pullback(c)[0]
    assert number(g.runtime.grad(g, c)) == 12
    assert number(tfr.grad(lambda t: tfr.jvp(lambda x: x ** 3, (2.0,), (t * t,))[1])(5.0)) == 12 * 10


def test_double_vjp_is_a_jvp():
    rng = np.random.default_rng(4)
    x, t = sample(rng, (3,), float), sample(rng, (3,), float)

    def f(x):
        return tfr.sin(x) * x
    out, pullback = tfr.vjp(f, x)
    _, transposed = tfr.vjp(lambda c: pullback(c)[0], np.zeros(3))
    np.testing.assert_allclose(value(transposed(t)[0]), (np.cos(x) * x + np.sin(x)) * t, rtol=1e-14)
    assert not out.tracks_grad


def test_closures_are_differentiated_by_outer_transforms():
    w = tfr.variable(2.0)
    g = tfr.grad(lambda x: w * w * x)(5.0)
    assert g.tracks_grad
    g.backward()
    assert number(w.grad) == 4
    assert number(tfr.grad(lambda w: tfr.grad(lambda x: w ** 3 * x ** 2)(5.0))(2.0)) == 3 * 4 * 10
    assert number(tfr.jvp(lambda w: tfr.grad(lambda x: w ** 3 * x ** 2)(5.0), (2.0,), (1.0,))[1]) == 3 * 4 * 10


def test_a_tracked_argument_keeps_its_trace():
    w = tfr.variable(2.0)
    x = w * w
    y, g = tfr.value_and_grad(lambda x: x ** 3)(x)
    rt = w.runtime
    assert number(g) == 3 * 16
    assert number(rt.grad(g, w)) == 6 * 4 * 4
    assert number(rt.grad(y, w)) == 3 * 16 * 4
    assert number(rt.jvp(g, w, 1.0)) == 6 * 4 * 4


def test_runtime_calls_inside_a_transform():
    def f(x):
        return x.runtime.grad(x ** 3, x)
    assert number(tfr.grad(f)(2.0)) == 12


def test_a_rebound_argument():
    def f(x):
        x += 1.0
        x *= x
        return x
    assert number(tfr.grad(f)(2.0)) == 6
    x = tfr.variable(2.0)
    assert number(tfr.grad(f)(x)) == 6
    assert number(x) == 2


# ---- what is tracked -------------------------------------------------------------------------------------------------

def test_results_without_outer_dependence_are_untracked():
    x = np.array([1.0, 2.0])
    w = tfr.constant(3.0)

    def f(x):
        return tfr.sum(x * x * w)
    (y, a), g = tfr.value_and_grad(lambda x: (f(x), {"x": x, "n": 7}), has_aux=True)(x)
    out, pullback = tfr.vjp(f, x)
    _, t = tfr.jvp(f, (x,), (x,))
    results = [y, a["x"], g, out, pullback(1.0)[0], t, tfr.grad(tfr.grad(lambda x: x ** 3))(2.0), tfr.hvp(f)(x, x)]
    assert not any(r.tracks_grad for r in results)
    assert a["n"] == 7


def test_results_are_tracked_only_where_they_depend_on_the_callers_tensors():
    w = tfr.variable(3.0)
    y, g = tfr.value_and_grad(lambda x: x * x + w)(2.0)
    assert y.tracks_grad
    assert not g.tracks_grad
    (a, b), pullback = tfr.vjp(lambda x: (x * w, x * x), 2.0)
    assert a.tracks_grad
    assert not b.tracks_grad
    assert pullback((1.0, None))[0].tracks_grad
    assert not pullback((None, 1.0))[0].tracks_grad
    _, (t, u) = tfr.jvp(lambda x: (x * w, x * x), (2.0,), (1.0,))
    assert t.tracks_grad
    assert not u.tracks_grad


def test_no_slot_of_its_own():
    w = tfr.variable(3.0)
    grads = (tfr.grad(lambda x: x * x * w)(2.0) * w).backward()
    assert list(grads) == [w]
    assert number(w.grad) == 2 * 2 * 2 * 3


def test_slots_are_not_touched():
    w = tfr.variable(3.0)
    tfr.grad(lambda x: x * w)(w)
    assert w.grad is None


def test_inside_no_grad():
    w = tfr.variable(3.0)
    with tfr.no_grad():
        y, g = tfr.value_and_grad(lambda x: x * x * w)(w)
        out, pullback = tfr.vjp(lambda x: x * w, w)
        _, t = tfr.jvp(lambda x: x * w, (w,), (w,))
        second = tfr.grad(tfr.grad(lambda x: x ** 4 * w))(2.0)
        h = tfr.hvp(lambda x: x ** 3)(w, 1.0)
        results = [y, g, out, pullback(w)[0], t, second, h]
        assert not (w * w).tracks_grad
    assert [number(r) for r in results] == [27, 18, 9, 9, 9, 12 * 4 * 3, 18]
    assert not any(r.tracks_grad for r in results)
    assert not pullback(1.0)[0].tracks_grad


def test_no_grad_inside_a_function_is_constant():
    def f(x):
        with tfr.no_grad():
            k = tfr.grad(lambda y: y ** 3)(x)
        return k * x
    assert number(tfr.grad(f)(2.0)) == 12


def test_stop_gradient():
    assert number(tfr.grad(lambda x: x * tfr.stop_gradient(x))(3.0)) == 3
    assert number(tfr.grad(tfr.grad(lambda x: x ** 3 * tfr.stop_gradient(x)))(2.0)) == 6 * 2 * 2
    assert number(tfr.jvp(lambda x: x * tfr.stop_gradient(x), (3.0,), (1.0,))[1]) == 3
    found = tfr.stop_gradient({"a": [tfr.variable(1.0), 2.0], "b": None, "c": "text"})
    assert not found["a"][0].tracks_grad
    assert found == {"a": [found["a"][0], 2.0], "b": None, "c": "text"}


def test_nothing_is_leaked():
    def use():
        w = tfr.variable(3.0)
        with pytest.raises(ZeroDivisionError):
            tfr.grad(lambda x: x * w * (1 // 0))(w)
        _, pullback = tfr.vjp(lambda x: x ** 3 * w, w)
        pullback(tfr.variable(2.0))
        tfr.grad(tfr.grad(lambda x: x ** 3 * w))(w)
        tfr.jvp(lambda x: {"a": x * w}, (w,), (w,))
    use()
    gc.collect()
    gc.disable()
    try:
        before = live()
        use()
        assert live() == before
    finally:
        gc.enable()


# ---- auxiliary results -----------------------------------------------------------------------------------------------

def test_has_aux():
    def f(x):
        return x * x, [x * 3.0, "note"]
    g, aux = tfr.grad(f, has_aux=True)(2.0)
    assert number(g) == 4
    assert number(aux[0]) == 6
    assert aux[1] == "note"
    (y, aux), g = tfr.value_and_grad(f, has_aux=True)(2.0)
    assert (number(y), number(aux[0]), number(g)) == (4, 6, 4)
    out, pullback, aux = tfr.vjp(f, 2.0, has_aux=True)
    assert (number(out), number(pullback(1.0)[0]), number(aux[0])) == (4, 4, 6)
    out, t, aux = tfr.jvp(f, (2.0,), (1.0,), has_aux=True)
    assert (number(out), number(t), number(aux[0])) == (4, 4, 6)


def test_auxiliary_results_are_differentiated_by_outer_transforms():
    def outer(x):
        _, aux = tfr.grad(lambda y: (y * y, y ** 3), has_aux=True)(x)
        return aux
    assert number(tfr.grad(outer)(2.0)) == 12


@pytest.mark.parametrize("out", [lambda x: x, lambda x: (x, x, x)])
def test_has_aux_needs_a_pair(out):
    with pytest.raises(errors.ValidationError, match="pair") as e:
        tfr.grad(out, has_aux=True)(1.0)
    assert e.value.argument == "has_aux"


# ---- containers ------------------------------------------------------------------------------------------------------

arrays = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from([(), (2,), (0,), (2, 3)])).map(
    lambda p: sample(np.random.default_rng(p[0]), p[1], float))
leaves = arrays | st.floats(-2, 2)
trees = st.recursive(leaves | st.none(), lambda t: st.lists(t, max_size=3) | st.tuples(t, t) | st.builds(Pair, t, t)
                     | st.dictionaries(st.sampled_from("abc"), t, max_size=3)
                     | st.dictionaries(st.sampled_from("abc"), t, max_size=3).map(collections.OrderedDict),
                     max_leaves=6)


def total(tree):
    """Sum of ``k * sum(sin(leaf))`` over the leaves, numbered by k from 1."""
    return sum((k * tfr.sum(tfr.sin(x)) for k, x in enumerate(flatten(tree)[0], 1)), start=tfr.constant(0.0))


def same_containers(a, b):
    if isinstance(b, dict):
        return type(a) is type(b) and list(a) == list(b) and all(same_containers(a[k], b[k]) for k in b)
    if isinstance(b, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_containers, a, b))
    return a is None if b is None else isinstance(a, tfr.EagerTensor) and a.shape == np.shape(b)


@given(trees)
@settings(deadline=None)
def test_gradients_of_containers(tree):
    g = tfr.grad(total)(tree)
    assert same_containers(g, tree)
    for k, (found, x) in enumerate(zip(flatten(g)[0], flatten(tree)[0]), 1):
        np.testing.assert_allclose(value(found), k * np.cos(x), rtol=1e-14)


@given(trees, trees)
@settings(deadline=None)
def test_vjp_and_jvp_of_containers(a, b):
    def f(a, b):
        return {"sines": tfr_map(tfr.sin, a), "rest": [b, total(a) * total(b)]}

    def tfr_map(g, tree):
        return tfr._tree.map_tree(g, tree)
    out, t = tfr.jvp(f, (a, b), (a, b))
    assert same_containers(t, tfr_map(value, out))
    xs, dxs = flatten(a)[0], flatten(t["sines"])[0]
    for x, dx in zip(xs, dxs):
        np.testing.assert_allclose(value(dx), np.cos(x) * x, rtol=1e-14)
    _, pullback = tfr.vjp(f, a, b)
    cotangents = pullback(out)
    assert same_containers(cotangents, (a, b))
    forward = sum(np.vdot(value(y), value(dy)) for y, dy in zip(flatten(out)[0], flatten(t)[0]))
    backward = sum(np.vdot(value(c), x) for c, x in zip(flatten(cotangents)[0], flatten((a, b))[0]))
    np.testing.assert_allclose(forward, backward, rtol=1e-12, atol=1e-12)


def test_containers_in_containers_of_a_tracked_tensor():
    w = tfr.variable([1.0, 2.0])
    g = tfr.grad(lambda d: tfr.sum(d["w"][0] * d["b"]))({"w": (w,), "b": 3.0})
    assert value(g["w"][0]).tolist() == [3, 3]
    assert number(g["b"]) == 3


def test_dict_subclasses_keep_what_they_hold():
    tree = collections.defaultdict(list, a=2.0)
    g = tfr.grad(lambda d: d["a"] ** 2)(tree)
    assert isinstance(g, collections.defaultdict)
    assert g.default_factory is list
    assert tree == {"a": 2.0}


def test_paths():
    assert paths(flatten({"a": [1.0, None, (2.0,)], 3: 4.0})[1]) == ["$['a'][0]", "$['a'][2][0]", "$[3]"]


# ---- errors ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("bad", [3, True, np.arange(3), np.float16(1), "text", object()])
def test_arguments_that_have_no_derivative(bad):
    for call in (lambda: tfr.grad(tfr.sum)(bad), lambda: tfr.vjp(tfr.sum, bad),
                 lambda: tfr.jvp(tfr.sum, (bad,), (bad,))):
        with pytest.raises(errors.ValidationError, match="argument 0 cannot be differentiated"):
            call()


def test_integer_arguments_name_the_remedy_and_the_path():
    with pytest.raises(errors.ValidationError, match=r"dtype=float"):
        tfr.grad(lambda x: x)(3)
    with pytest.raises(errors.ValidationError, match=r"argument 1 at \$\['a'\]\[1\] .*int64.*dtype=float"):
        tfr.grad(lambda y, x: x, 1)(1.0, {"a": [1.0, np.arange(3)]})


def test_non_scalar_results():
    with pytest.raises(errors.NonScalarGradError, match=r"\(2,\)") as e:
        tfr.grad(lambda x: x * 2.0)(np.ones(2))
    assert e.value.shape == (2,)
    with pytest.raises(errors.ValidationError, match="container"):
        tfr.grad(lambda x: (x, x))(1.0)
    with pytest.raises(errors.ValidationError, match="container"):
        tfr.value_and_grad(lambda x: [x])(1.0)
    with pytest.raises(errors.ValidationError, match="int64"):
        tfr.grad(tfr.argmax)(np.ones(2))
    with pytest.raises(errors.ValidationError, match=r"\$\['a'\].*str"):
        tfr.vjp(lambda x: {"a": "text"}, 1.0)


@pytest.mark.parametrize(("argnums", "message"), [(2, "argument 2"), (-3, "argument -3"), ((0, 5), "argument 5"),
                                                  ((0, -2), "twice"), ((), "no argument"), ("x", "ints"), (1.0,
                                                  "ints")])
def test_argnums_out_of_range(argnums, message):
    with pytest.raises(errors.ValidationError, match=message) as e:
        tfr.grad(lambda x, y: x * y, argnums)(1.0, 2.0)
    assert e.value.argument == "argnums"


@pytest.mark.parametrize(("primal", "tangent", "where"), [
    ({"a": 1.0}, {"b": 1.0}, r"\$\[0\]:.*\['a'\].*\['b'\]"),
    ({"a": [1.0, 2.0]}, {"a": [1.0]}, r"\$\[0\]\['a'\]: expected 2 items, got 1 items"),
    ({"a": (1.0, None)}, {"a": (1.0, 2.0)}, r"\$\[0\]\['a'\]\[1\]: expected None, got float"),
    ([1.0], [{"x": 1.0}], r"\$\[0\]\[0\]: expected no container, got a dict"),
    ([1.0], 1.0, r"\$\[0\]: expected 1 items, got float"),
])
def test_containers_that_do_not_match(primal, tangent, where):
    with pytest.raises(errors.ValidationError, match="tangents.*" + where) as e:
        tfr.jvp(lambda x: flatten(x)[0][0], (primal,), (tangent,))
    assert e.value.argument == "tangents"


def test_cotangents_that_do_not_match():
    _, pullback = tfr.vjp(lambda x: {"a": x, "b": [x]}, np.ones(2))
    with pytest.raises(errors.ValidationError, match=r"cotangent .*\$\['b'\]: expected 1 items"):
        pullback({"a": np.ones(2), "b": []})
    with pytest.raises(errors.ShapeMismatchError):
        pullback({"a": np.ones(3), "b": [np.ones(2)]})
    with pytest.raises(errors.DTypeMismatchError):
        pullback({"a": np.ones(2, np.float32), "b": [np.ones(2)]})
    assert value(pullback({"a": np.ones(2), "b": [np.ones(2)]})[0]).tolist() == [2, 2]


def test_primals_and_tangents_are_sequences():
    with pytest.raises(errors.ValidationError, match="primals is a tuple"):
        tfr.jvp(lambda x: x, 1.0, (1.0,))
    with pytest.raises(errors.ValidationError, match="tangents is a tuple"):
        tfr.jvp(lambda x: x, (1.0,), 1.0)
    with pytest.raises(errors.ValidationError, match="expected 2 items"):
        tfr.jvp(lambda x, y: x, (1.0, 2.0), (1.0,))


@pytest.mark.parametrize("transform", [tfr.grad, tfr.value_and_grad, tfr.vjp, tfr.hvp,
                                       lambda f: tfr.jvp(f, (1.0,), (1.0,))])
def test_what_is_no_function(transform):
    with pytest.raises(errors.ValidationError, match=r"takes a function, not EagerTensor.*runtime\.grad"):
        transform(tfr.variable(1.0))


def test_other_runtimes():
    here, there = tfr.variable(1.0), tfr.EagerRuntime().variable_from(2.0)
    with pytest.raises(errors.ContextMismatchError, match="detach_into"):
        tfr.grad(lambda x, y: x, (0, 1))(here, there)
    with pytest.raises(errors.ContextMismatchError):
        tfr.grad(lambda x: x * there)(here)
    with pytest.raises(errors.ContextMismatchError, match="returned a tensor of another runtime"):
        tfr.vjp(lambda x: there, here)


def test_floats_go_where_the_tensors_are():
    rt = tfr.EagerRuntime()
    there = rt.constant_from(2.0)
    g, h = tfr.grad(lambda x, y: x * y, (0, 1))(3.0, there)
    assert g.runtime is rt
    assert h.runtime is rt
    assert tfr.grad(lambda x, y: x * y)(3.0, there).runtime is rt
    with rt.session():
        assert tfr.grad(lambda x: x)(1.0).runtime is rt


def test_exceptions_come_out_unchanged():
    class Mine(Exception):
        pass

    def f(x):
        raise Mine
    for call in (lambda: tfr.grad(f)(1.0), lambda: tfr.vjp(f, 1.0), lambda: tfr.jvp(f, (1.0,), (1.0,)),
                 lambda: tfr.hvp(f)(1.0, 1.0)):
        with pytest.raises(Mine):
            call()
        with tfr.no_grad():
            with pytest.raises(Mine):
                call()
            assert not (tfr.variable(1.0) * 2.0).tracks_grad


def test_names_and_documentation_of_the_function_are_kept():
    def loss(x):
        """Its text."""
        return x
    for transform in (tfr.grad, tfr.value_and_grad, tfr.jacobian, tfr.hessian):
        assert transform(loss).__name__ == "loss"
        assert transform(loss).__doc__ == "Its text."


def test_many_threads():
    w = tfr.variable(np.arange(1.0, 5.0))
    found, failed = [], []

    def work():
        try:
            for k in range(1, 30):
                h = tfr.hvp(lambda x: tfr.sum(x ** 3 * w))(np.full(4, float(k)), np.ones(4))
                found.append(np.array_equal(value(h), 6.0 * k * np.arange(1.0, 5.0)))
        except Exception as e:
            failed.append(e)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed
    assert len(found) == 4 * 29
    assert all(found)


# ---- capture_trace ---------------------------------------------------------------------------------------------------

def test_transforms_inside_capture_trace():
    x = tfr.constant(2.0)
    rt = x.runtime
    with rt.capture_trace():
        y, g = tfr.value_and_grad(lambda y: y ** 3 * x)(x)
        _, t = tfr.jvp(lambda y: y ** 3, (x,), (x,))
        h = tfr.hvp(lambda y: y ** 3)(x, 1.0)
    assert [number(r) for r in (y, g, t, h)] == [16, 24, 24, 12]
    assert not any(r.tracks_grad for r in (y, g, t, h))
    assert number(rt.vjp(y, x, 1.0)) == 4 * 8
    assert number(rt.vjp(g, x, 1.0)) == 9 * 4
    assert number(rt.jvp(t, x, 1.0)) == 9 * 4
    assert number(rt.vjp(h, x, 1.0)) == 6


def test_what_was_captured_ends_with_the_guard():
    x = tfr.constant(2.0)
    with x.runtime.capture_trace():
        y = x * x
    assert not tfr.grad(lambda z: z ** 3)(y).tracks_grad
