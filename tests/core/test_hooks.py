"""Gradient hooks: what they see, what they change, when they are called, when they go."""

import copy
import gc
import threading
import weakref

import numpy as np
import pytest

import tenferro as tfr
from tenferro import EagerRuntime, errors

RT = tfr.default_runtime()
TIMES = range(4)                        # from the third time on, a structure without hooks runs from a program


def leaf():
    return tfr.variable([1.0, 2.0, 3.0])


def intermediate():
    return leaf() * 1.0


class Log(list):
    """A hook that keeps what it sees."""

    def __call__(self, g):
        self.append(g.tolist())


# ---- what a hook sees ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("make", [leaf, intermediate])
def test_the_total_cotangent_once_in_a_sweep(make):
    x, seen = make(), Log()
    x.register_hook(seen)
    y = x * 2.0 + x * x + x[::-1] * 3.0
    expected = [7, 9, 11]
    for _ in TIMES:
        y.sum().backward()
        assert seen == [expected]
        assert RT.grad(y.sum(), x).tolist() == expected
        assert RT.vjp(y, x, np.ones(3)).tolist() == expected
        assert seen == [expected] * 3
        seen.clear()


def test_uses_before_the_registration_count_as_well():
    x, seen = intermediate(), Log()
    y = x * 5.0
    x.register_hook(seen)
    (x + y).sum().backward()
    assert seen == [[6, 6, 6]]


def test_the_hook_sees_a_tensor_of_its_own():
    x, kept = leaf(), []

    def hook(g):
        assert isinstance(g, tfr.EagerTensor)
        assert (g.shape, g.dtype, g.runtime, g.tracks_grad) == ((3,), "f8", RT, False)
        kept.append(g)
        g *= 100.0                      # rebinds this handle only

    x.register_hook(hook)
    x.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
    assert kept[0].tolist() == [100, 100, 100]
    (x * 2.0).sum().backward()
    assert x.grad.tolist() == [3, 3, 3]
    assert kept[0].tolist() == [100, 100, 100]


def test_a_hook_that_keeps_the_cotangent_keeps_its_value():
    x = leaf()
    kept = []
    y = x * 1.0
    y.register_hook(lambda g: kept.append(g.detach()))
    z = y * 2.0
    w = z + y + x
    w.sum().backward()
    assert kept[0].tolist() == [3, 3, 3]
    assert x.grad.tolist() == [4, 4, 4]


def test_complex_and_cast_cotangents():
    x, seen = tfr.variable(np.array([1 + 1j, 2 - 1j], "c8")), []
    x.register_hook(lambda g: seen.append((str(g.dtype), g.tolist())))
    tfr.real(x.astype("c16") * 2j).sum().backward()
    assert seen == [("complex64", [-2j, -2j])]


def test_hooks_of_what_is_not_reached_are_not_called():
    x, other, seen = leaf(), leaf(), Log()
    other.register_hook(seen)
    y = other * 1.0
    (x * y.detach()).sum().backward()
    RT.grad((x * other).sum(), x)
    RT.jvp(x * other, other, np.ones(3))
    assert seen == []


# ---- what a hook changes ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("make", [leaf, intermediate])
def test_a_returned_tensor_takes_the_place(make):
    x = make()
    handle = x.register_hook(lambda g: g * 10.0)
    y = (x * x).sum()
    for _ in TIMES:
        assert RT.grad(y, x).tolist() == [20, 40, 60]
        assert RT.vjp(y, x, 2.0).tolist() == [40, 80, 120]
    if make is leaf:
        for k in TIMES:
            assert y.backward()[x].tolist() == [20, 40, 60]
            assert x.grad.tolist() == [20 * (k + 1), 40 * (k + 1), 60 * (k + 1)]
    handle.remove()
    for _ in TIMES:
        assert RT.grad(y, x).tolist() == [2, 4, 6]


def test_what_lies_before_gets_the_new_cotangent():
    x = leaf()
    y = x * 3.0
    y.register_hook(lambda g: g + 1.0)
    z = (y * 2.0).sum()
    for _ in TIMES:
        assert RT.grad(z, x).tolist() == [9, 9, 9]
        assert RT.grad(z, [x, y])[1].tolist() == [3, 3, 3]
        assert z.backward()[x].tolist() == [9, 9, 9]


@pytest.mark.parametrize("other", [np.ones(3), tfr.Tensor.from_numpy(np.ones(3)), tfr.constant(np.ones(3))],
                         ids=lambda v: type(v).__name__)
def test_arrays_are_taken_as_well(other):
    x = leaf()
    x.register_hook(lambda g: other)
    assert (x * x).sum().backward()[x].tolist() == [1, 1, 1]
    s = tfr.variable(2.0)
    s.register_hook(lambda g: 7)
    assert (s * s).backward()[s].item() == 7


def test_hooks_are_called_in_order():
    x, seen = leaf(), Log()
    x.register_hook(lambda g: g + 1.0)
    x.register_hook(seen)
    second = x.register_hook(lambda g: g * 2.0)
    x.register_hook(seen)
    assert x.sum().backward()[x].tolist() == [4, 4, 4]
    assert seen == [[2, 2, 2], [4, 4, 4]]
    second.remove()
    assert x.sum().backward()[x].tolist() == [2, 2, 2]


def test_a_returned_array_of_somebody_else_is_copied():
    x, a = leaf(), np.ones(3)
    x.register_hook(lambda g: tfr.constant(a, copy=False))
    x.sum().backward()
    a[:] = 5
    assert x.grad.tolist() == [1, 1, 1]


def test_a_hook_may_return_a_leaf_or_what_it_was_given():
    x, w = leaf(), leaf()
    x.register_hook(lambda g: w)
    g = RT.grad((x * x).sum(), x)
    assert g.tolist() == [1, 2, 3]
    x.sum().backward()
    assert x.grad.tolist() == [1, 2, 3]
    assert not x.grad.tracks_grad
    y = leaf()
    y.register_hook(lambda g: g)
    assert y.sum().backward()[y].tolist() == [1, 1, 1]


# ---- higher derivatives ----------------------------------------------------------------------------------------------

def test_what_a_hook_does_is_recorded_when_derivatives_are():
    x, tracked = tfr.variable(2.0), []

    def hook(g):
        tracked.append(g.tracks_grad)
        return g * g

    y = x * 1.0
    handle = y.register_hook(hook)
    for _ in TIMES:
        g = RT.grad(y * y * y, x)       # (3 x**2)**2
        assert g.item() == 144
        handle.remove()
        assert RT.grad(g, x).item() == 36 * 8
        handle = y.register_hook(hook)
    assert all(tracked)


def test_gradients_can_be_hooked():
    """Also where a gradient comes from a program and is recorded only when it is needed."""
    x = tfr.variable(2.0)
    for _ in TIMES:
        y = x * x * x
        g = RT.grad(y, x)
        seen = Log()
        g.register_hook(seen)
        h = RT.grad(g * g, x)           # 2 * 3 x**2 * 6 x
        assert h.item() == 288
        assert seen == [24]


def test_inside_no_grad():
    x, tracked = leaf(), []
    y = (x * x).sum()
    x.register_hook(lambda g: tracked.append(g.tracks_grad) or g * x)
    with tfr.no_grad():
        assert RT.grad(y, x).tolist() == [2, 8, 18]
    assert tracked == [False]


def test_transforms_see_hooks_on_their_arguments():
    def f(x):
        y = x * 1.0
        y.register_hook(lambda g: g * 10.0)
        return (y * y).sum()

    for _ in TIMES:
        assert tfr.grad(f)(np.array([1.0, 2.0])).tolist() == [20, 40]


# ---- handles ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("make", [leaf, intermediate])
def test_removing(make):
    x, seen = make(), Log()
    handle = x.register_hook(seen)
    y = x.sum()
    handle.remove()
    handle.remove()
    RT.grad(y, x)
    assert seen == []
    with x.register_hook(seen) as h:
        RT.grad(y, x)
        assert h.function is seen
    RT.grad(y, x)
    assert len(seen) == 1
    first, second = x.register_hook(seen), x.register_hook(seen)
    first.remove()
    RT.grad(y, x)
    assert len(seen) == 2
    del x, y
    second.remove()


def test_a_hook_may_remove_itself():
    x, seen = leaf(), Log()

    def once(g):
        handle.remove()
        seen(g)

    handle = x.register_hook(once)
    x.register_hook(seen)
    for _ in range(2):
        x.sum().backward()
    assert len(seen) == 3


def test_handles_and_values_of_a_hooked_tensor():
    x, seen = leaf(), Log()
    twin = copy.copy(x)
    x.register_hook(seen)
    x.assign([5.0, 6.0, 7.0])
    twin.sum().backward()
    assert len(seen) == 1
    copy.deepcopy(x).sum().backward()
    assert len(seen) == 1
    y = intermediate()
    y.register_hook(seen)
    z = y.sum()
    y *= 2.0                            # a new value, which is computed from the one that has the hook
    y.sum().backward()
    z.backward()
    assert seen[1:] == [[2, 2, 2], [1, 1, 1]]


# ---- errors ----------------------------------------------------------------------------------------------------------

def test_what_cannot_be_hooked():
    for x in (tfr.constant([1.0]), leaf().detach(), tfr.constant([1])):
        with pytest.raises(errors.RuntimeStateError, match="variable"):
            x.register_hook(print)
    rt = EagerRuntime()
    with rt.capture_trace():
        c = rt.constant_from([1.0]) * 2.0
    with pytest.raises(errors.RuntimeStateError):
        c.register_hook(print)
    for hook in (None, 3, leaf()):
        with pytest.raises(errors.ValidationError) as e:
            leaf().register_hook(hook)
        assert e.value.argument == "hook"


@pytest.mark.parametrize(("returned", "error", "text"), [
    (lambda g: np.ones(2), errors.ShapeMismatchError, "(2,)"),
    (lambda g: g[:1], errors.ShapeMismatchError, "(1,)"),
    (lambda g: 1.0, errors.ShapeMismatchError, "()"),
    (lambda g: g.astype("f4"), errors.DTypeMismatchError, "float32"),
    (lambda g: np.ones(3, "i8"), errors.DTypeMismatchError, "int64"),
    (lambda g: g * 1j, errors.DTypeMismatchError, "complex128"),
    (lambda g: "text", errors.ValidationError, "str"),
    (lambda g: [1.0, 2.0, 3.0], errors.ValidationError, "list"),
    (lambda g: (g,), errors.ValidationError, "tuple"),
    (lambda g: EagerRuntime().constant_from(np.ones(3)), errors.ContextMismatchError, "detach_into"),
    (lambda g: 1 / 0, ZeroDivisionError, "zero"),
])
@pytest.mark.parametrize("on", [0, 1])
def test_a_failing_hook_leaves_everything_as_it_was(on, returned, error, text):
    x, w = leaf(), leaf()
    y = x * w
    (y * 2.0).sum().backward()
    before = x.grad.tolist(), w.grad.tolist()
    handle = (x, y)[on].register_hook(returned)
    z = (y * 3.0).sum()
    for f in (z.backward, lambda: RT.grad(z, x)):
        with pytest.raises(error) as e:
            f()
        assert text in str(e.value)
        if isinstance(e.value, errors.ValidationError):
            assert (e.value.op, e.value.argument) == ("register_hook", "hook")
        assert (x.grad.tolist(), w.grad.tolist()) == before
    handle.remove()
    assert z.backward()[x].tolist() == [3, 6, 9]


def test_sweeps_inside_a_hook():
    x, w = leaf(), leaf()
    x.register_hook(lambda g: g + RT.grad((w * w).sum(), w) + (w * 2.0).sum().backward()[w])
    y = (x * 3.0).sum()
    for _ in TIMES:
        assert y.backward()[x].tolist() == [7, 9, 11]


# ---- lifetimes -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("make", [leaf, intermediate])
@pytest.mark.parametrize("keep", ["handle", "nothing"])
def test_hooks_go_with_the_tensor(make, keep):
    gc.disable()
    try:
        x = make()
        hook = Log()
        handle = x.register_hook(hook) if keep == "handle" else x.register_hook(hook) and None
        gone, tensor = weakref.ref(hook), weakref.ref(x)
        y = (x * x).sum()
        y.backward()
        del hook, x, y
        assert tensor() is None
        if keep == "handle":
            assert gone() is not None
            handle.remove()
            del handle
        assert gone() is None
    finally:
        gc.enable()


class Owner:
    """Something with attributes and a method that is a hook."""

    def __init__(self, x, calls):
        self.x = x
        self.calls = calls

    def hook(self, g):
        self.calls.append(1)
        return g * self.x


def closure(x, calls):
    y = x * 1.0
    x.register_hook(lambda g: calls.append(1) or g * x + y.detach())
    return x


def method_of_its_owner(x, calls):
    owner = Owner(x, calls)
    x.register_hook(owner.hook)
    return owner


def a_trace(x, calls):
    y = x * x
    x.register_hook(Owner(y.sum(), calls).hook)
    return y


def two_tensors(x, calls):
    y = leaf()
    x.register_hook(lambda g: calls.append(1) or g * y)
    y.register_hook(lambda g: g * x)
    return y


SELF_REFERENCES = [closure, method_of_its_owner, a_trace, two_tensors]


@pytest.mark.parametrize("make", [leaf, intermediate])
@pytest.mark.parametrize("tie", SELF_REFERENCES)
def test_hooks_that_refer_to_their_tensor_are_collected(tie, make):
    x = make()
    end = tie(x, [])
    gone = [weakref.ref(x), weakref.ref(end)]
    del x, end
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


KEEPERS = {"tensor": lambda x: x, "trace": lambda x: x * 2.0, "view": lambda x: x[:2], "frame": lambda x: wait_for(x)}


def wait_for(x):
    """A suspended frame."""
    def frame(x):
        while True:
            yield x
    g = frame(x)
    next(g)
    return g


@pytest.mark.parametrize("make", [leaf, intermediate])
@pytest.mark.parametrize("tie", SELF_REFERENCES)
@pytest.mark.parametrize("keep", KEEPERS)
def test_hooks_in_use_are_not_collected(tie, make, keep):
    x, calls = make(), []
    end = tie(x, calls)
    kept = KEEPERS[keep](x)
    del x, end
    gc.collect()
    t = kept if isinstance(kept, tfr.EagerTensor) else next(iter(kept))
    t[:1].sum().backward()
    assert calls == [1]
    del t, kept
    gc.collect()


def test_one_of_two_hooked_tensors_keeps_the_other():
    x, calls = leaf(), []
    ref = weakref.ref(x)
    end = two_tensors(x, calls)
    del x
    gc.collect()
    assert ref() is not None
    assert end.sum().backward()[end].tolist() == [1, 2, 3]
    del end
    gc.collect()
    assert ref() is None


def test_threads_share_hooks():
    x, seen = leaf(), []
    x.register_hook(lambda g: seen.append(1))

    def run():
        for _ in range(50):
            (x * x).sum().backward()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(seen) == 200
    assert x.grad.tolist() == [400, 800, 1200]
