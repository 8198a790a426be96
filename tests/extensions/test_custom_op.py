"""Operations with rules of the user's own: values, derivatives, and what is done about wrong rules."""

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import tenferro as tfr
from tenferro import errors
from tenferro._core import memory
from tenferro.testing import check_grads

RNG = np.random.default_rng(11)


def total(terms):
    """Sum of the terms that are there, None if there is none."""
    terms = [t for t in terms if t is not None]
    return sum(terms[1:], terms[0]) if terms else None


def times(t, factor):
    return None if t is None else t * factor


@tfr.custom_op(vjp=lambda g, out, x, y: (g * tfr.conj(y * tfr.cos(x * y)), g * tfr.conj(x * tfr.cos(x * y))),
               jvp=lambda ts, out, x, y: total([times(ts[0], y), times(ts[1], x)]) * tfr.cos(x * y))
def sine_of_product(x, y):
    """Sine of a product, by NumPy."""
    return np.sin(np.asarray(x) * np.asarray(y))


def pair_vjp(g, out, x, y):
    of_product, of_exp = g
    return total([times(of_product, y), times(of_exp, out[1])]), times(of_product, x)


def pair_jvp(ts, out, x, y):
    return total([times(ts[0], y), times(ts[1], x)]), times(ts[0], out[1])


@tfr.custom_op(vjp=pair_vjp, jvp=pair_jvp)
def product_and_exp(x, y):
    return np.asarray(x) * np.asarray(y), np.exp(np.asarray(x))


def linear(vjp=None, jvp=None, f=lambda x, y: x + y, **how):
    """The sum of two tensors, with rules under test."""
    return tfr.custom_op(f, vjp, jvp, **how)


# ---- values and derivatives ------------------------------------------------------------------------------------------


def test_value_and_tracking():
    x, y = RNG.standard_normal((2, 3))
    z = sine_of_product(tfr.variable(x), y)
    np.testing.assert_array_equal(z.detach(), np.sin(x * y))
    assert z.tracks_grad
    assert not sine_of_product(tfr.constant(x), y).tracks_grad
    with tfr.no_grad():
        assert not sine_of_product(tfr.variable(x), y).tracks_grad


def test_decorated_function_keeps_its_name_and_text():
    assert sine_of_product.__name__ == sine_of_product.name == "sine_of_product"
    assert sine_of_product.__doc__ == "Sine of a product, by NumPy."
    assert linear(name="other").name == "other"


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_derivatives_to_second_order(dtype):
    args = [np.asarray(RNG.standard_normal(4) + (1j * RNG.standard_normal(4) if dtype[0] == "c" else 0), dtype)
            for _ in range(2)]
    check_grads(sine_of_product, args, order=2)


def test_third_order():
    check_grads(sine_of_product, list(RNG.uniform(0.2, 1, (2, 2))), order=3)


def test_one_tensor_as_both_arguments():
    check_grads(lambda x: sine_of_product(x, x), [RNG.uniform(0.2, 1, 3)])


@pytest.mark.parametrize("f", [
    lambda x, y: product_and_exp(x, y),
    lambda x, y: product_and_exp(x, y)[0],
    lambda x, y: product_and_exp(x, y)[1] * y,
    lambda x, y: product_and_exp(*product_and_exp(x, y))[0] * x,
    lambda x, y: product_and_exp(x, y)[0] * product_and_exp(x, y)[1],
], ids=["both", "first", "second", "nested", "twice"])
def test_several_outputs(f):
    check_grads(f, list(RNG.uniform(0.2, 1, (2, 3))), order=2)


def test_several_outputs_to_third_order():
    args = list(RNG.uniform(0.2, 1, (2, 2)))
    check_grads(lambda x, y: product_and_exp(x, y)[0] * product_and_exp(x, y)[1], args, order=3)


def test_outputs_do_not_depend_on_each_other():
    rt = tfr.default_runtime()
    a, b = product_and_exp(tfr.variable([1.0, 2.0]), tfr.constant([3.0, 4.0]))
    assert rt.vjp_optional(b, a, [1.0, 1.0]) is None
    assert rt.jvp_optional(b, a, [1.0, 1.0]) is None


def test_integer_outputs_are_untracked():
    op = tfr.custom_op(lambda x: (np.argsort(np.asarray(x)), np.sort(np.asarray(x))),
                       vjp=lambda g, out, x: tfr.take(g[1], tfr.constant(np.argsort(np.asarray(out[0])))))
    x = tfr.variable([3.0, 1.0, 2.0])
    order, values = op(x)
    assert not order.tracks_grad
    assert order.tolist() == [1, 2, 0]
    grad = tfr.sum(values * [1.0, 10.0, 100.0]).backward()[x]
    assert grad.tolist() == [100.0, 1.0, 10.0]


def test_a_sequence_of_one_output_stays_one():
    op = tfr.custom_op(lambda x: (x * 2,), vjp=lambda g, out, x: g[0] * 2, jvp=lambda ts, out, x: (ts[0] * 2,))
    (y,) = op(tfr.variable(1.0))
    assert y.item() == 2.0
    check_grads(lambda x: op(x)[0], [1.5])


def test_many_inputs_all_of_which_rules_see():
    op = tfr.custom_op(lambda *xs: np.prod([np.asarray(x) for x in xs], axis=0),
                       vjp=lambda g, out, *xs: tuple(g * tfr.prod(tfr.stack(xs[:i] + xs[i + 1:]), axis=0)
                                                     for i in range(len(xs))),
                       jvp=lambda ts, out, *xs: total([times(t, tfr.prod(tfr.stack(xs[:i] + xs[i + 1:]), axis=0))
                                                       for i, t in enumerate(ts)]))
    check_grads(op, list(RNG.uniform(0.5, 1.5, (10, 2))), order=2)


def test_too_many_inputs_are_refused():
    op = tfr.custom_op(lambda *xs: xs[0])
    with pytest.raises(errors.UnsupportedError, match="stack some"):
        op(*[tfr.variable(1.0)] * 254)
    assert op(*[tfr.constant(1.0)] * 254).item() == 1.0
    assert op(*[tfr.variable(1.0)] * 253).tracks_grad


def test_keyword_parameters_reach_function_and_rules():
    seen = []
    op = tfr.custom_op(lambda x, *, n: x ** n, vjp=lambda g, out, x, *, n: seen.append(n) or g * n * x ** (n - 1))
    x = tfr.variable(2.0)
    assert op(x, n=3).backward()[x].item() == 12.0
    assert seen == [3]


def test_numbers_take_the_dtype_of_the_tensor():
    op = tfr.custom_op(lambda x, y: np.asarray(x) * np.asarray(y))
    assert op(tfr.constant(np.float32(2)), 0.5).dtype == np.float32
    assert op([1, 2], 0.5).tolist() == [0.5, 1.0]


# ---- how rules are called --------------------------------------------------------------------------------------------


def test_rules_are_called_once_for_all_arguments():
    calls = []

    def vjp(g, out, x, y):
        calls.append("vjp")
        return g, g * 2

    def jvp(tangents, out, x, y):
        calls.append([t.tolist() if t is not None else None for t in tangents])
        return tangents[0] if tangents[1] is None else total(tangents)

    rt = tfr.default_runtime()
    x, y = tfr.variable([1.0]), tfr.variable([2.0])
    z = linear(vjp, jvp)(x, y)
    tfr.sum(z * z).backward()
    assert calls == ["vjp"]
    rt.vjp(z, [x, y], np.ones(1))
    assert calls == ["vjp"] * 2
    rt.vjp(z, y, np.ones(1))
    assert calls == ["vjp"] * 3
    rt.jvp(z, [x, y], [np.array([3.0]), np.array([4.0])])
    rt.jvp(z, x, np.array([3.0]))
    assert calls[3:] == [[[3.0], [4.0]], [[3.0], None]]


def test_rule_of_several_outputs_is_called_once_with_none_for_what_is_not_used():
    seen = []
    op = tfr.custom_op(lambda x: (x * 2, x * 3),
                       vjp=lambda g, out, x: seen.append(g) or total([times(g[0], 2), times(g[1], 3)]))
    x = tfr.variable(1.0)
    a, b = op(x)
    assert (a + b + b).backward()[x].item() == 8.0
    assert [[t.item() for t in g] for g in seen] == [[1.0, 2.0]]
    a, b = op(x)
    assert b.backward()[x].item() == 3.0
    assert seen[1][0] is None
    assert len(seen) == 2


def test_rules_see_tracked_tensors_only_when_the_derivative_is_recorded():
    seen = []
    op = tfr.custom_op(lambda x: x * x,
                       vjp=lambda g, out, x: seen.append((out.tracks_grad, x.tracks_grad)) or g * 2 * x)
    rt = tfr.default_runtime()
    x = tfr.variable(3.0)
    y = op(x)
    y.backward()
    rt.grad(y, x)
    with tfr.no_grad():
        rt.grad(y, x)
    assert seen == [(False, False), (True, True), (False, False)]


def test_rule_may_differentiate_inside_no_grad():
    def vjp(g, out, x):
        u = tfr.variable(x)
        return g * tfr.default_runtime().grad(tfr.sum(u ** 3), u)

    op = tfr.custom_op(lambda x: x ** 3, vjp=vjp)
    x = tfr.variable(2.0)
    y = op(x)
    with tfr.no_grad():
        assert tfr.default_runtime().grad(y, x).item() == 12.0
    assert y.backward()[x].item() == 12.0


def test_gradients_are_untracked_whatever_a_rule_closes_over():
    weight = tfr.variable(3.0)
    op = tfr.custom_op(lambda x: x * weight.detach(), vjp=lambda g, out, x: weight)
    x = tfr.variable(1.0)
    grads = op(x).backward()
    assert not grads[x].tracks_grad
    assert weight not in grads
    assert x.grad.item() == 3.0


def test_none_is_an_exact_zero():
    rt = tfr.default_runtime()
    x, y = tfr.variable([1.0, np.inf]), tfr.variable([2.0, 2.0])
    op = linear(lambda g, out, x, y: (None, g), lambda ts, out, x, y: ts[1])
    z = op(x, y)
    assert rt.vjp(z, x, [1.0, np.nan]).tolist() == [0.0, 0.0]
    assert rt.jvp(z, x, [1.0, np.nan]).tolist() == [0.0, 0.0]
    assert rt.vjp(z, y, [1.0, 2.0]).tolist() == [1.0, 2.0]


def test_cotangents_are_brought_to_shape_and_dtype_of_the_argument():
    x, y = tfr.variable(np.float32([[1], [2]])), tfr.variable([1.0, 2.0, 3.0])
    op = linear(lambda g, out, x, y: (g, g))
    g = np.arange(6.0).reshape(2, 3)
    of_x, of_y = tfr.default_runtime().vjp(op(x, y), [x, y], g)
    assert (of_x.dtype, of_x.tolist()) == (np.float32, [[3.0], [12.0]])
    assert of_y.tolist() == [3.0, 5.0, 7.0]


def test_real_argument_of_a_complex_operation_gets_the_real_part():
    op = tfr.custom_op(lambda x: np.asarray(x) * (2 + 1j), vjp=lambda g, out, x: g * (2 - 1j))
    x = tfr.variable(1.0)
    found = tfr.default_runtime().vjp(op(x), x, 1 + 1j)
    assert (found.dtype, found.item()) == (np.float64, 3.0)


def test_rules_may_return_arrays_and_numbers():
    x, y = tfr.variable(1.0), tfr.variable(2.0)
    grads = linear(lambda g, out, x, y: (np.float64(5), 7))(x, y).backward()
    assert (grads[x].item(), grads[y].item()) == (5.0, 7.0)


# ---- wrong rules -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("returned", "error", "text"), [
    (lambda g: g, errors.ValidationError, "a tuple of 2 is expected"),
    (lambda g: None, errors.ValidationError, "a tuple of 2 is expected"),
    (lambda g: (g,), errors.ValidationError, "returned 1 values; 2 are expected"),
    (lambda g: (g, g, g), errors.ValidationError, "returned 3 values; 2 are expected"),
    (lambda g: (g, "g"), errors.ValidationError, "argument 1.* type str"),
    (lambda g: (g, [1.0, 2.0]), errors.ValidationError, "argument 1.* type list"),
    (lambda g: (g, g[:1]), errors.ShapeMismatchError, r"argument 1.*shape \(1,\), but \(2,\) is expected"),
    (lambda g: (1.0, g), errors.ShapeMismatchError, r"argument 0.*shape \(\), but \(2,\) is expected"),
    (lambda g: (np.zeros((2, 3)), g), errors.ShapeMismatchError, r"argument 0.*shape \(2, 3\)"),
    (lambda g: (g, np.array([1, 2])), errors.DTypeMismatchError, "argument 1.*int64, but float64 is expected"),
    (lambda g: (g, np.array(["a", "b"])), errors.DTypeMismatchError, "argument 1"),
], ids=["no tuple", "none", "too few", "too many", "string", "list", "short", "scalar", "long", "integers", "strings"])
def test_wrong_vjp_is_named(returned, error, text):
    op = linear(lambda g, out, x, y: returned(g), name="faulty")
    x, y = tfr.variable([1.0, 2.0]), tfr.variable([3.0, 4.0])
    (x * 2).backward_with([1.0, 1.0])
    loss = tfr.sum(op(x, y) + x * y)
    with pytest.raises(error, match=f"faulty: .*{text}") as caught:
        loss.backward()
    assert caught.value.op == "faulty"
    assert x.grad.tolist() == [2.0, 2.0]
    assert y.grad is None


@pytest.mark.parametrize(("returned", "error", "text"), [
    (lambda t: "t", errors.ValidationError, "tangent of its output.*type str"),
    (lambda t: (t, t), errors.ValidationError, "type tuple"),
    (lambda t: t[:1][:0], errors.ShapeMismatchError, r"shape \(0,\), but \(2,\) is expected"),
    (lambda t: np.zeros((3, 2)), errors.ShapeMismatchError, r"shape \(3, 2\), but \(2,\) is expected"),
    (lambda t: np.zeros(2, bool), errors.DTypeMismatchError, "bool, but float64 is expected"),
], ids=["string", "tuple", "empty", "long", "bool"])
def test_wrong_jvp_is_named(returned, error, text):
    op = linear(jvp=lambda ts, out, x, y: returned(ts[0]), name="faulty")
    x = tfr.variable([1.0, 2.0])
    with pytest.raises(error, match=f"faulty: .*{text}") as caught:
        tfr.default_runtime().jvp(op(x, 1.0), x, [1.0, 1.0])
    assert caught.value.op == "faulty"


def test_wrong_rule_of_several_outputs_is_named():
    op = tfr.custom_op(lambda x: (x, x + 1), lambda g, out, x: (g[0], g[1]), lambda ts, out, x: ts[0], name="two")
    x = tfr.variable(1.0)
    a, b = op(x)
    with pytest.raises(errors.ValidationError, match="two: its vjp returned 2 values; 1 are expected"):
        (a * b).backward()
    with pytest.raises(errors.ValidationError, match=r"two: its jvp returned .*a tuple of 2 is expected"):
        tfr.default_runtime().jvp(b, x, 1.0)


def test_wrong_function_is_named():
    with pytest.raises(errors.ValidationError, match="faulty: the result of its function is of type str") as caught:
        linear(f=lambda x, y: "sum", name="faulty")(1.0, 2.0)
    assert caught.value.op == "faulty"


@pytest.mark.parametrize("transform", ["vjp", "jvp"])
def test_missing_rule_names_operation_and_remedy(transform):
    x = tfr.variable(1.0)
    y = linear(name="ruleless")(x, 2.0)
    assert y.tracks_grad
    text = f"ruleless has no {transform} rule; pass {transform}="
    with pytest.raises(errors.UnsupportedAdRuleError, match=text) as caught:
        getattr(tfr.default_runtime(), transform)(y, x, 1.0)
    assert (caught.value.op, caught.value.transform) == ("ruleless", transform)


def test_exception_in_a_rule_leaves_slots_and_thread_as_they_were():
    class Odd(Exception):
        pass

    def vjp(g, out, x, y):
        raise Odd

    x, y = tfr.variable(1.0), tfr.variable(2.0)
    (x * 5).backward()
    z = linear(vjp)(x, y) + x
    for call in (z.backward, lambda: tfr.default_runtime().grad(z, x)):
        with pytest.raises(Odd):
            call()
        with tfr.no_grad():
            with pytest.raises(Odd):
                call()
            assert not (x * y).tracks_grad
    assert (x.grad.item(), y.grad) == (5.0, None)
    assert (x * y).backward()[y].item() == 1.0


def test_exception_in_the_function_comes_out_and_recording_goes_on():
    def f(x, y):
        raise KeyError("x")

    x = tfr.variable(1.0)
    with pytest.raises(KeyError):
        linear(f=f)(x, 1.0)
    assert (x * 2).tracks_grad


@pytest.mark.parametrize(("arguments", "named"), [((3,), "f"), ((abs, 3), "vjp"), ((abs, None, "j"), "jvp"),
                                                   ((abs, None, None, 5), "name")])
def test_wrong_arguments(arguments, named):
    with pytest.raises(errors.ValidationError, match="custom_op") as caught:
        tfr.custom_op(*arguments)
    assert caught.value.argument == named


def test_runtimes_do_not_mix():
    other = tfr.EagerRuntime()
    foreign = other.constant_from(1.0)
    x = tfr.variable(1.0)
    with pytest.raises(errors.ContextMismatchError):
        linear()(x, foreign)
    with pytest.raises(errors.ContextMismatchError):
        linear(f=lambda x, y: foreign)(x, 1.0)
    with pytest.raises(errors.ContextMismatchError, match="detach_into"):
        linear(lambda g, out, x, y: (foreign, None))(x, 1.0).backward()


@pytest.mark.parametrize("f", [sine_of_product, lambda x, y: product_and_exp(x, y)[0]], ids=["one", "several"])
def test_captured_trace(f):
    rt = tfr.default_runtime()
    x, y = tfr.constant([1.0, 2.0]), tfr.constant([3.0, 4.0])
    with rt.capture_trace():
        z = f(x, y)
        with tfr.no_grad():
            unrecorded = f(x, y)
    assert not z.tracks_grad
    u, v = tfr.variable(x), tfr.variable(y)
    w = f(u, v)
    assert rt.vjp(z, x, [1.0, 2.0]).tolist() == rt.vjp(w, u, [1.0, 2.0]).tolist()
    assert rt.jvp(z, y, [1.0, 2.0]).tolist() == rt.jvp(w, v, [1.0, 2.0]).tolist()
    assert rt.vjp_optional(unrecorded, x, [1.0, 2.0]) is None
    assert rt.vjp_optional(f(z, z), x, [1.0, 2.0]) is None


def test_functions_and_rules_create_tensors_in_the_runtime_of_the_arguments():
    rt = tfr.EagerRuntime()
    x = rt.variable_from([1.0, 2.0])
    op = tfr.custom_op(lambda x: x + tfr.ones(2), lambda g, out, x: g * tfr.full(2, 3.0),
                       lambda ts, out, x: tfr.ones(2))
    y = op(x)
    assert y.runtime is rt
    assert rt.vjp(y, x, [1.0, 2.0]).tolist() == [3.0, 6.0]
    assert rt.jvp(y, x, [5.0, 5.0]).tolist() == [1.0, 1.0]
    assert tfr.ones(1).runtime is tfr.default_runtime()


# ---- rules of an AdContext -------------------------------------------------------------------------------------------


def test_rules_of_the_context_go_first():
    rule = SimpleNamespace(family_id="test.sum.v1", vjp=lambda g, out, x, y: (g * 10, None))
    op = linear(lambda g, out, x, y: (g, g), lambda ts, out, x, y: ts[0] * 7, name="test.sum.v1")
    rt = tfr.EagerRuntime.with_ad_context(tfr.AdContext([rule]))
    x = rt.variable_from(1.0)
    y = op(x, 1.0)
    assert rt.grad(y, x).item() == 10.0
    assert rt.jvp(y, x, 1.0).item() == 7.0
    plain = tfr.variable(1.0)
    assert op(plain, 1.0).backward()[plain].item() == 1.0


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_result_that_the_function_keeps_is_copied():
    work = np.zeros(3)
    op = tfr.custom_op(lambda x: np.multiply(np.asarray(x), 2, out=work), vjp=lambda g, out, x: g * out)
    x = tfr.variable([1.0, 2.0, 3.0])
    y = op(x)
    work[:] = -1
    assert y.tolist() == [2.0, 4.0, 6.0]
    assert tfr.sum(y).backward()[x].tolist() == [2.0, 4.0, 6.0]


def test_result_that_nobody_keeps_is_not_copied():
    where = []

    def f(x):
        found = np.asarray(x) * 2
        where.append(found.ctypes.data)
        return found

    y = tfr.custom_op(f)(np.ones(1000))
    assert np.asarray(y).ctypes.data == where[0]


def test_recorded_array_argument_may_be_overwritten():
    a = np.array([2.0, 3.0])
    x = tfr.variable([1.0, 1.0])
    y = sine_of_product(x, a)
    a[:] = 0
    assert tfr.sum(y).backward()[x].tolist() == (np.array([2.0, 3.0]) * np.cos([2.0, 3.0])).tolist()


def test_value_of_an_output_can_be_moved_out():
    y = sine_of_product(tfr.variable(np.ones(3)), 2.0)
    assert y.into_value().shape == (3,)


def test_everything_is_freed():
    def use():
        x, y = tfr.variable(RNG.standard_normal(3)), tfr.variable(RNG.standard_normal(3))
        a, b = product_and_exp(x, sine_of_product(x, y))
        rt = tfr.default_runtime()
        g = rt.grad(tfr.sum(a * b), x)
        rt.jvp(g, y, [1.0, 2.0, 3.0])
        tfr.sum(g).backward()

    use()
    gc.collect()
    gc.disable()
    try:
        before = memory.live()
        use()
        assert memory.live() == before
    finally:
        gc.enable()


def test_a_call_takes_nothing_with_it_into_the_next_sweep():
    """Cotangents that a rule has given for arguments that are not asked for go at the end of the sweep."""
    x, y = tfr.variable(np.ones(1000)), tfr.variable(np.ones(1000))
    z = linear(lambda g, out, x, y: (g * 2, g * 3))(x, y)
    rt = tfr.default_runtime()
    rt.vjp(z, x, np.ones(1000))
    before = memory.live()
    rt.vjp(z, x, np.ones(1000))
    assert memory.live() == before


class Mark:
    """Something that shows whether what refers to it has been freed."""


def in_a_cycle(call, outputs):
    """A reference to something that only a rule keeps, which also keeps what the operation gave."""
    box, mark = [], Mark()

    def vjp(g, out, x):
        return (mark, box)

    op = tfr.custom_op(lambda x: x if outputs == 1 else (x,) * outputs, vjp=vjp)
    box.append(call(op, tfr.variable(np.ones(3))))
    return weakref.ref(mark)


@pytest.mark.parametrize(("call", "outputs"), [
    (lambda op, x: op(x), 1),
    (lambda op, x: op(op(op(x))), 1),
    (lambda op, x: [op(x), op(x)], 1),
    (lambda op, x: op(x), 3),
    (lambda op, x: op(x)[1], 3),
    (lambda op, x: op(op(x)[0])[2], 3),
], ids=["output", "nested", "several calls", "several outputs", "one of several", "nested several"])
def test_rule_that_refers_to_its_output_is_collected(call, outputs):
    gc.collect()
    before = memory.live()
    gone = in_a_cycle(call, outputs)
    assert gone() is not None
    gc.collect()
    assert gone() is None
    assert memory.live() == before


def test_collector_takes_nothing_that_is_in_use():
    box = []
    op = tfr.custom_op(lambda x: x * 2, vjp=lambda g, out, x: g * len(box))
    x = tfr.variable(1.0)
    box.append(op(x))
    loss = box[0] * 3
    again = op(op(x))
    del op
    gc.collect()
    assert loss.backward()[x].item() == 3.0
    assert again.backward()[x].item() == 1.0
    assert box[0].backward()[x].item() == 1.0


def test_a_call_in_use_by_what_was_computed_from_it_survives_its_handle():
    def build():
        box = []
        op = tfr.custom_op(lambda x: x * 2, vjp=lambda g, out, x: g * (2 * len(box)))
        y = op(x)
        box.append(y)
        return y * 3

    x = tfr.variable(1.0)
    z = build()
    gc.collect()
    assert z.backward()[x].item() == 6.0


def test_the_collector_sees_results_of_custom_operations_only():
    x = tfr.variable([1.0, 2.0])
    y = sine_of_product(x, 2.0)
    assert gc.is_tracked(y)
    assert not any(map(gc.is_tracked, (x, y * 2, x * x, y.detach())))
    del y
    many = [sine_of_product(x, 2.0) for _ in range(2000)]
    gc.collect()
    assert all(map(gc.is_tracked, many))
