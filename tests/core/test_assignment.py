"""Item assignment and in-place operators: what the handle becomes, and what everything else keeps."""

import copy
import gc
import operator
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ALL_DTYPES, DIFF_DTYPES, assert_same, layouts, sample, shapes, value

import tenferro as tfr
from tenferro import EagerRuntime, errors
from tenferro._core import memory
from tenferro.testing import check_grads

IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod,
            operator.ipow]
PLAIN = {operator.iadd: operator.add, operator.isub: operator.sub, operator.imul: operator.mul,
         operator.itruediv: operator.truediv, operator.ifloordiv: operator.floordiv, operator.imod: operator.mod,
         operator.ipow: operator.pow, operator.imatmul: operator.matmul}


def leaf():
    return tfr.variable([1.0, 2.0, 3.0])


def untracked():
    return tfr.constant([1.0, 2.0, 3.0])


def result():
    return leaf() * 1.0


@pytest.fixture
def live():
    """A function that tells what the test has allocated and not freed, without the cycle collector."""
    gc.collect()
    gc.disable()
    tfr.default_runtime().clear_caches()
    before = memory.live()

    def now():
        tfr.default_runtime().clear_caches()
        return tuple(a - b for a, b in zip(memory.live(), before))

    yield now
    gc.enable()


# ---- values ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("f", IN_PLACE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("other", [2, 2.0, np.float64(2), np.array([1.0, 2.0, 3.0]), [1.0, 2.0, 3.0], np.array(2.0)],
                         ids=repr)
def test_operators_do_what_numpy_does(f, other):
    for make in (untracked, result):
        a = np.array([1.0, 2.0, 3.0])
        x = make()
        name, ident = x, id(x)
        x = f(x, other)
        a = f(a, other)
        assert x is name
        assert id(x) == ident
        assert_same(x, a)


@given(shape=shapes(), layout=layouts, data=st.data())
def test_item_assignment_does_what_numpy_does(shape, layout, data):
    a = layout(sample(np.random.default_rng(3), shape, "f8"))
    index = tuple(data.draw(st.one_of(st.integers(-n, n - 1) if n else st.nothing(), st.slices(n),
                                      st.just(slice(None)))) for n in shape)
    x, expected = tfr.constant(a), np.array(a)
    x[index] = 7.0
    expected[index] = 7.0
    assert_same(x, expected)
    x[...] = expected * 2
    assert_same(x, expected * 2)


@pytest.mark.parametrize("index", [0, -1, slice(1, None), ..., (), None, [0, 2], np.array([True, False, True]),
                                   (None, slice(None, None, -1))], ids=repr)
@pytest.mark.parametrize("other", [5, 5.0, np.float32(5)], ids=repr)
def test_kinds_of_index(index, other):
    for make in (untracked, result):
        x, a = make(), np.array([1.0, 2.0, 3.0])
        x[index] = other
        a[index] = other
        assert_same(x, a)


def test_updates_of_items():
    x, a = untracked(), np.array([1.0, 2.0, 3.0])
    x[1:] *= 10
    a[1:] *= 10
    x[[0, 0]] += 1
    a[[0, 0]] += 1
    x[0] -= 7
    a[0] -= 7
    assert_same(x, a)


def test_matrix_products_and_logic():
    a, b = np.arange(6.0).reshape(3, 2), np.array([[0.0, 1.0], [2.0, 3.0]])
    x = tfr.constant(a)
    x @= b
    assert_same(x, a @ b)
    m = tfr.constant([True, True, False, False])
    other = np.array([True, False, True, False])
    for f, g in ((operator.iand, np.logical_and), (operator.ior, np.logical_or), (operator.ixor, np.logical_xor)):
        y = +m
        y = f(y, other)
        assert_same(y, g(value(m), other))
    with pytest.raises(errors.DTypeMismatchError):
        operator.iand(tfr.constant([1.0, 2.0]), [1, 2])


def test_an_operand_may_be_the_tensor_itself():
    x = result()
    x += x
    x *= x
    x[0] = x[2]
    x[:] = x[::-1]
    assert x.tolist() == [36, 16, 36]


def test_foreign_operands_have_their_say():
    class Foreign:
        def __radd__(self, other):
            return "theirs"

        def __rmatmul__(self, other):
            return "theirs"

    x = untracked()
    x += Foreign()
    assert x == "theirs"
    x = untracked()
    x @= Foreign()
    assert x == "theirs"
    x = untracked()
    with pytest.raises(TypeError):
        x -= Foreign()
    with pytest.raises(TypeError):
        x += None
    assert x.tolist() == [1, 2, 3]


# ---- dtype and shape stay --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("f", [operator.iadd, operator.imul, operator.itruediv], ids=lambda f: f.__name__)
@pytest.mark.parametrize("source", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("target", ALL_DTYPES, ids=str)
def test_casting_is_numpys(f, target, source):
    a, b = np.ones(2, target), np.ones(2, source)
    x = tfr.constant(a)
    mixed = PLAIN[f](tfr.constant(a), tfr.constant(b)).dtype    # small integers are divided in float32, not in float16
    if np.can_cast(mixed, target, "same_kind"):
        assert_same(f(x, b), f(np.ones(2, target), b))
    else:
        with pytest.raises(errors.DTypeMismatchError) as e:
            f(x, b)
        assert (e.value.expected, e.value.actual) == (target, mixed)
        assert_same(x, a)


def test_python_scalars_are_weak():
    x = tfr.constant(np.ones(2, "f4"))
    x *= 2.0
    x[0] = 3
    assert_same(x, np.array([3, 2], "f4"))
    n = tfr.constant(np.ones(2, "u1"))
    n += 255
    assert_same(n, np.zeros(2, "u1"))
    with pytest.raises(errors.IntegerOverflowError):
        n += 256
    with pytest.raises(errors.IntegerOverflowError):
        n[0] = 256
    with pytest.raises(errors.DTypeMismatchError, match="astype"):
        n /= 2
    with pytest.raises(errors.DTypeMismatchError):
        n[0] = 1.5
    with pytest.raises(errors.DTypeMismatchError):
        x += 1j
    assert_same(x, np.array([3, 2], "f4"))
    assert_same(n, np.zeros(2, "u1"))


@pytest.mark.parametrize("make", [untracked, result])
def test_the_shape_stays(make):
    x = make()
    for f in (lambda: operator.iadd(x, np.ones((2, 1))), lambda: operator.imul(x[0], [1.0, 2.0]),
              lambda: operator.iadd(x, np.ones(4)), lambda: operator.imatmul(x, np.ones(3)),
              lambda: x.__setitem__(slice(1), [1.0, 2.0]), lambda: x.__setitem__(0, [1.0, 2.0])):
        with pytest.raises(errors.ShapeMismatchError):
            f()
    with pytest.raises(errors.AxisError):
        x[3] = 1.0
    with pytest.raises(errors.AxisError):
        x[0, 0] = 1.0
    assert x.tolist() == [1, 2, 3]
    with pytest.raises(errors.ShapeMismatchError, match="x = x \\+ y") as e:
        x += np.ones((2, 3))
    assert (e.value.op, e.value.expected, e.value.actual) == ("add", (3,), (2, 3))


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
def test_a_cast_back_is_recorded(dtype):
    w = tfr.variable(np.array([2.0, 3.0], "c16"))
    x = tfr.variable(np.ones(2, "c8")) * 1
    x *= w
    assert x.dtype == "c8"
    assert_same(w.runtime.grad(tfr.real(x).sum(), w), np.ones(2, "c16"))
    y = tfr.variable(np.ones(2, "f4")) * 1
    z = tfr.variable(np.array([2.0, 3.0], "f8"))
    y *= z
    assert_same(z.runtime.grad(y.sum(), z), np.ones(2, "f8"))
    e = tfr.variable(np.ones(3, dtype)) * 1
    e[:0] = np.ones(0, dtype)
    assert_same(e, np.ones(3, dtype))


# ---- what other handles keep -----------------------------------------------------------------------------------------

def change_operator(x):
    x *= 10.0


def change_item(x):
    x[...] = [10.0, 20.0, 30.0]


CHANGES = [change_operator, change_item]
OTHERS = {
    "copy": copy.copy, "view": lambda x: x[:], "reversed": lambda x: x[::-1][::-1], "detached": lambda x: x.detach(),
    "value": lambda x: x.value(), "positive": lambda x: +x, "transposed": lambda x: x.T.T,
    "reshaped": lambda x: x.reshape(3, 1)[:, 0],
    "real": lambda x: x.real, "as its dtype": lambda x: x.astype(x.dtype), "rolled": lambda x: tfr.roll(x, 3),
    "differences": lambda x: tfr.diff(x, n=0), "at least": tfr.atleast_1d,
    "broadcast": lambda x: tfr.broadcast_to(x, (3,)),
    "squeezed": lambda x: tfr.squeeze(x, ()), "clamped": lambda x: tfr.clamp(x), "raveled": lambda x: x.ravel(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", [untracked, result])
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_other_handles_and_views_keep_the_old_value(make, other, change):
    x = make()
    kept = other(x)
    change(x)
    assert x.tolist() == [10, 20, 30]
    assert np.asarray(kept.detach() if isinstance(kept, tfr.EagerTensor) else kept).tolist() == [1, 2, 3]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", [untracked, result, leaf])
@pytest.mark.parametrize("other", [f for k, f in OTHERS.items() if k not in ("copy", "value")],
                         ids=[k for k in OTHERS if k not in ("copy", "value")])
def test_changing_a_view_leaves_its_base_alone(make, other, change):
    x = make()
    y = other(x)
    change(y)
    assert y.tolist() == [10, 20, 30]
    assert x.tolist() == [1, 2, 3]
    with tfr.no_grad():
        z = other(x)
        change(z)
    assert z.tolist() == [10, 20, 30]
    assert x.tolist() == [1, 2, 3]


@pytest.mark.parametrize("change", CHANGES)
def test_exported_arrays_keep_the_old_value(change):
    x = untracked()
    a, m = x.numpy(), memoryview(x)
    change(x)
    assert a.tolist() == list(m) == [1, 2, 3]
    b = np.array([1.0, 2.0, 3.0])
    y = tfr.constant(b, copy=False)
    change(y)
    assert b.tolist() == [1, 2, 3]


def object_array(*items):
    a = np.empty(len(items), object)
    for i, item in enumerate(items):
        a[i] = item
    return a


def test_object_arrays_hold_handles():
    x, y = result(), result()
    a = object_array(x, y)
    b = a + object_array(tfr.constant(1.0), 1.0)
    assert [t.tolist() for t in b] == [[2, 3, 4]] * 2
    assert [t.tolist() for t in a] == [[1, 2, 3]] * 2           # an operand with one reference is not written to
    c = a.copy()
    a += 1.0                            # NumPy puts new tensors into the array
    assert [t.tolist() for t in a] == [[2, 3, 4]] * 2
    assert x.tolist() == y.tolist() == [1, 2, 3]
    c[0] *= 2.0                         # Python changes the element, which is a handle
    assert x.tolist() == [2, 4, 6]
    assert np.add.reduce(a).tolist() == [4, 6, 8]
    assert sum([x, x]).tolist() == [4, 8, 12]
    assert x.tolist() == [2, 4, 6]
    del x, y
    d = object_array(tfr.constant([1.0]) + 1.0, None)          # the only reference is the array's
    d[1] = d[0]
    d[0] = d[0] + tfr.constant([5.0])
    assert (d[0].tolist(), d[1].tolist()) == ([7], [2])


def test_two_names_are_one_handle():
    x = result()
    y = x
    y += 1.0
    assert x is y
    assert x.tolist() == [2, 3, 4]


def test_rows_of_an_iteration_are_handles_of_their_own():
    x = tfr.constant([[1.0, 2.0], [3.0, 4.0]])
    for row in x:
        row *= 10.0
    assert x.tolist() == [[1, 2], [3, 4]]


# ---- traces ----------------------------------------------------------------------------------------------------------

def test_a_trace_keeps_the_value_that_it_saw():
    x = leaf()
    y = x * 1.0
    square = y * y
    y *= 100.0
    y[0] = 0.0
    assert square.sum().backward()[x].tolist() == [2, 4, 6]
    assert (y * y).sum().backward()[x].tolist() == [0, 2e4 * 2, 2e4 * 3]


def test_assigned_values_are_differentiated():
    def f(x, y, z):
        t = x * 2.0
        t[1:] = y
        t[0] *= z
        t += t
        t **= 2
        t[[0, 0, 2]] -= y[:1] * z
        return t

    check_grads(f, [np.array([1.0, 2.0, 3.0]), np.array([0.5, -0.5]), np.array(1.5)], order=2)


@pytest.mark.parametrize("f", [g for g in IN_PLACE if g is not operator.ifloordiv], ids=lambda f: f.__name__)
def test_derivatives_of_operators(f):
    def in_place(x, y):
        t = +x
        return f(t, y)
    args = [np.array([1.3, 2.4]), np.array([0.7, 1.1])]
    check_grads(in_place, args, order=2)
    x, y = map(tfr.variable, args)
    rt = x.runtime
    for mine, theirs in zip(rt.grad(in_place(x, y).sum(), [x, y]), rt.grad(PLAIN[f](x, y).sum(), [x, y])):
        assert mine.tolist() == theirs.tolist()


def test_an_untracked_tensor_becomes_tracked_with_a_tracked_value():
    x, c = leaf(), untracked()
    shared = copy.copy(c)
    c += x
    assert c.tracks_grad
    assert not shared.tracks_grad
    d = tfr.zeros(3)
    d[1] = x[2]
    assert (c * d).sum().backward()[x].tolist() == [0, 3, 4]
    n = tfr.constant([1, 2, 3])
    with pytest.raises(errors.DTypeMismatchError):
        n += x
    assert not n.tracks_grad


def test_a_loss_that_is_summed_in_place():
    x = leaf()
    loss = 0.0
    for k in range(3):
        loss += (x * float(k)).sum()
    assert loss.backward()[x].tolist() == [3, 3, 3]
    loss = tfr.zeros(())
    for k in range(3):
        loss += (x * float(k)).sum()
    assert loss.backward()[x].tolist() == [3, 3, 3]


def test_inside_no_grad_nothing_is_recorded():
    x = leaf()
    y = x * 2.0
    with tfr.no_grad():
        y += 1.0
    assert y.tolist() == [3, 5, 7]
    assert not y.tracks_grad


def test_derivatives_with_respect_to_a_rebound_handle():
    x = leaf()
    y = x * 2.0
    y += 1.0
    z = (y * y).sum()
    assert x.runtime.grad(z, y).tolist() == [6, 10, 14]
    y *= 2.0
    with pytest.raises(errors.ValidationError):
        x.runtime.grad(z, y)


# ---- leaves ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("change", [*CHANGES, lambda x: operator.ipow(x, 2), lambda x: operator.imatmul(x, np.eye(3)),
                                    lambda x: x.__setitem__(0, 1.0)])
def test_a_tracked_leaf_refuses(change):
    x = leaf()
    with pytest.raises(errors.RuntimeStateError, match="assign") as e:
        change(x)
    assert e.value.op in ("mul", "setitem", "pow", "contract")
    assert x.tolist() == [1, 2, 3]


def test_a_step_of_descent():
    p = leaf()
    handle, trace = copy.copy(p), (p * p).sum()
    trace.backward()
    name = p
    with tfr.no_grad():
        p -= 0.5 * p.grad
        p[0] = 7.0
        p *= tfr.constant(2.0)
    assert p is name
    assert p.tracks_grad
    assert p.tolist() == handle.tolist() == [14, 0, 0]
    assert p.grad.tolist() == [2, 4, 6]
    assert trace.backward()[p].tolist() == [2, 4, 6]            # the old trace keeps the old value
    assert (p * p).sum().backward()[handle].tolist() == [28, 0, 0]


def test_a_leaf_keeps_shape_and_dtype():
    p = tfr.variable(np.ones(2, "f4"))
    with tfr.no_grad():
        p += np.ones(2)
        assert_same(p, np.full(2, 2, "f4"))
        with pytest.raises(errors.ShapeMismatchError):
            p += np.ones((3, 2))
        with pytest.raises(errors.DTypeMismatchError):
            p += 1j
    assert_same(p, np.full(2, 2, "f4"))


def test_captured_tensors_are_no_leaves():
    rt = EagerRuntime()
    c = rt.constant_from([1.0, 2.0])
    with rt.capture_trace():
        y = c * c
        z = copy.copy(c)
        c += 1.0
        w = c * c
    assert not c.tracks_grad
    assert (c.tolist(), z.tolist()) == ([2, 3], [1, 2])
    assert rt.vjp(y, z, [1.0, 1.0]).tolist() == [2, 4]
    assert rt.vjp(w, c, [1.0, 1.0]).tolist() == [4, 6]
    del z, y, w
    c *= 2.0
    assert c.tolist() == [4, 6]


# ---- errors, lifetimes, threads --------------------------------------------------------------------------------------

def test_a_consumed_handle_raises():
    for f in (*IN_PLACE, operator.imatmul, operator.iand):
        x = tfr.constant([1.0])
        x.into_value()
        with pytest.raises(errors.RuntimeStateError, match="into_value"):
            f(x, 1.0)
    with pytest.raises(errors.RuntimeStateError, match="into_value"):
        x[0] = 1.0
    y = untracked()
    with pytest.raises(errors.RuntimeStateError):
        y += x
    with pytest.raises(errors.RuntimeStateError):
        y[0] = x


def test_another_runtime():
    x, y = untracked(), EagerRuntime().constant_from([1.0, 2.0, 3.0])
    with pytest.raises(errors.ContextMismatchError):
        x += y
    with pytest.raises(errors.ContextMismatchError):
        x[0] = y[0]
    assert x.tolist() == [1, 2, 3]


def test_items_cannot_be_deleted():
    x = untracked()
    with pytest.raises((TypeError, NotImplementedError)):
        del x[0]


def test_a_rebound_handle_can_be_moved_out():
    x = result()
    x += 1.0
    x[0] = 5.0
    assert x.into_value().numpy().tolist() == [5, 3, 4]


def test_identity_survives():
    x = result()
    ref, key = weakref.ref(x), {x: 1}
    x += 1.0
    assert ref() is x
    assert key[x] == 1
    del x, key
    assert ref() is None


def test_nothing_is_left_alive(live):
    def run():
        for make in (untracked, result, leaf):
            x = make()
            y = copy.copy(x)
            with tfr.no_grad():
                x += 1.0
                x[0] = x[1]
            with pytest.raises(errors.TenferroError):
                x += np.ones(7)
            z = x * 1.0
            z *= z
            z[1:] = x[:2]
            if x.tracks_grad:
                z.sum().backward()
            del x
            y = y + 1.0
            y += y

    run()
    start = live()
    for _ in range(3):
        run()
    assert live() == start


@pytest.mark.parametrize("make", [tfr.constant, tfr.variable], ids=["constant", "leaf"])
def test_changes_while_other_threads_read(make):
    """A kernel that runs without the GIL goes on reading the memory that it began with."""
    n = 300_000
    x = make(np.zeros(n))
    bad, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            b = (x * 1.0).detach().numpy()
            if b.min() != b.max():
                bad.append((b.min(), b.max()))

    def write():
        same = x
        with tfr.no_grad():
            for k in range(200):
                same += 1.0
                tfr.constant(np.full(n, float(k)))          # reuses memory that was given up too early

    readers = [threading.Thread(target=read) for _ in range(3)]
    writer = threading.Thread(target=write)
    for t in (*readers, writer):
        t.start()
    writer.join()
    stop.set()
    for t in readers:
        t.join()
    assert bad == []
    assert x.tolist()[:2] == [200, 200]
