"""Handles of eager tensors: making, sharing, assigning, and moving values out."""

import copy
import gc
import threading
import weakref

import numpy as np
import pytest
import support
from hypothesis import given
from support import DIFF_DTYPES, layouts, sample, shapes

import tenferro as tfr
from tenferro import EagerRuntime, EagerTensor, Tensor, errors


@pytest.fixture
def rt():
    return EagerRuntime()


@pytest.fixture
def live():
    """A function that tells what the test has allocated and not freed, without the cycle collector."""
    gc.collect()
    gc.disable()
    before = support.live()
    yield lambda: tuple(now - then for now, then in zip(support.live(), before))
    gc.enable()


def column_tensor(shape=(2, 3)):
    return Tensor.from_vec_col_major(shape, np.arange(float(np.prod(shape))))


def address(x):
    return x.value().numpy().__array_interface__["data"][0]


# ---- making ----------------------------------------------------------------------------------------------------------

def test_constructors(rt):
    t = column_tensor()
    for x, tracked in ((EagerTensor.from_tensor_in(t, rt), False), (EagerTensor.requires_grad_in(t, rt), True),
                       (rt.constant_from(t), False), (rt.variable_from(t), True),
                       (EagerTensor.from_vec_col_major_in((2, 3), range(6), rt, dtype=float), False)):
        assert type(x) is EagerTensor
        assert (x.runtime, x.ctx_id, x.tracks_grad) == (rt, rt.id, tracked)
        assert (x.shape, x.ndim, x.size, x.dtype) == ((2, 3), 2, 6, np.dtype(float))
        np.testing.assert_array_equal(x.value().numpy(), [[0, 2, 4], [1, 3, 5]])


def test_importing_a_tensor_copies_nothing(rt):
    t = column_tensor()
    where = t.numpy().__array_interface__["data"][0]
    assert address(rt.constant_from(t)) == address(rt.variable_from(t)) == where


def test_importing_arrays_copies(rt):
    a = np.arange(3.0)
    x, y = rt.constant_from(a), rt.variable_from(a)
    a[:] = -1
    assert x.tolist() == y.tolist() == [0, 1, 2]


@pytest.mark.parametrize("value", [[1, 2], np.array([True]), 3, np.arange(3, dtype="u1")], ids=str)
def test_integers_cannot_be_tracked(rt, value):
    for make in (tfr.variable, rt.variable_from, lambda v: EagerTensor.requires_grad_in(v, rt)):
        with pytest.raises(errors.ValidationError, match="dtype=float"):
            make(value)
    assert tfr.variable(value, dtype=float).dtype == "f8"


@pytest.mark.parametrize(("make", "error"), [
    (lambda rt: EagerTensor.from_vec_col_major_in((2, 3), [1.0], rt), errors.ShapeMismatchError),
    (lambda rt: EagerTensor.from_vec_col_major_in((2**40, 2**40), [1.0], rt), errors.IntegerOverflowError),
    (lambda rt: EagerTensor.from_vec_col_major_in((1,), [1.0], None), TypeError),
    (lambda rt: EagerTensor.from_tensor_in([1.0], "runtime"), TypeError),
    (lambda rt: EagerTensor.requires_grad_in(np.zeros(1, "f2"), rt), errors.DTypeMismatchError),
    (lambda rt: rt.constant_from("text"), errors.DTypeMismatchError),
    (lambda rt: tfr.variable([1j], dtype=float), errors.DTypeMismatchError),
    (lambda rt: tfr.constant([1.0], dtype="f2"), errors.DTypeMismatchError),
    (lambda rt: tfr.constant(2**70), errors.DTypeMismatchError),
    (lambda rt: tfr.constant([2**70], dtype="i8"), errors.IntegerOverflowError),
    (lambda rt: EagerTensor(), TypeError),
])
def test_errors_when_making(rt, live, make, error):
    with pytest.raises(error):
        make(rt)
    assert live() == (0, 0)


def test_variable_and_constant_defaults():
    assert tfr.variable(2.5).runtime is tfr.default_runtime() is tfr.constant(1).runtime
    assert (tfr.variable([1.0, 2.0]).dtype, tfr.constant([1, 2]).dtype, tfr.constant(True).dtype) == ("f8", "i8", "?")
    assert tfr.variable(np.float32(1)).dtype == "f4"
    assert tfr.variable(1, dtype="c8").dtype == "c8"
    assert float(tfr.variable(10**30, dtype=float)) == 1e30
    assert tfr.variable(2.5).shape == ()


def test_copy_argument():
    a = np.arange(3.0)
    shared, own = tfr.constant(a, copy=False), tfr.constant(a)
    a[0] = 5
    assert (shared.tolist(), own.tolist()) == ([5, 1, 2], [0, 1, 2])
    assert tfr.constant(Tensor.from_numpy(a, copy=False)).tolist() == [5, 1, 2]
    fixed = tfr.variable(tfr.constant(a, copy=False))
    a[0] = 9
    assert fixed.tolist() == [5, 1, 2]


def test_a_trace_is_immune_to_writes_to_shared_arrays():
    a = np.array([2.0, 3.0])
    x, c = tfr.variable([1.0, 1.0]), tfr.constant(a, copy=False)
    y, z = x * c, x * a
    a[:] = 100
    assert tfr.default_runtime().vjp([y, z], x, [np.ones(2), np.ones(2)]).tolist() == [4, 6]


def test_variable_of_a_tracked_tensor_is_a_new_leaf():
    x = tfr.variable([1.0, 2.0])
    y = tfr.variable(x * 3)
    assert y.tolist() == [3, 6]
    (y * y).backward_with([1.0, 1.0])
    assert y.grad.tolist() == [6, 12]
    assert x.grad is None


@given(shape=shapes(), layout=layouts)
def test_layouts_survive(shape, layout):
    a = layout(sample(np.random.default_rng(2), shape, "c16"))
    x = tfr.constant(a, copy=False)
    np.testing.assert_array_equal(x.numpy(), a)
    for t in (x.duplicate_value(), copy.deepcopy(x).value(), x.detach_into(EagerRuntime()).value()):
        np.testing.assert_array_equal(t.numpy(), a)
        assert a.size == 0 or t.strides == np.empty_like(a, order="K").strides or 1 in shape
    owned = x.to_tensor()
    np.testing.assert_array_equal(owned.as_slice("c16"), a.ravel(order="F"))


# ---- sharing ---------------------------------------------------------------------------------------------------------

def test_detach_shares_memory_and_leaves_the_trace():
    x = tfr.variable([1.0, 2.0])
    y = (x * x).detach()
    assert not y.tracks_grad
    assert y.tolist() == [1, 4]
    d = x.detach()
    assert address(d) == address(x)
    assert (d * x).sum().backward()[x].tolist() == [1, 2]


def test_detach_into(rt):
    x = tfr.variable([1.0, 2.0])
    y = (x * 2).detach_into(rt)
    assert (y.tracks_grad, y.runtime, y.tolist()) == (False, rt, [2, 4])
    assert address(x.detach_into(rt)) != address(x)
    with pytest.raises(errors.ContextMismatchError) as e:
        x + y
    assert {e.value.lhs, e.value.rhs} == {rt.id, tfr.default_runtime().id}
    with pytest.raises(TypeError):
        x.detach_into(None)


def test_same_context(rt):
    x = tfr.variable(1.0)
    assert x.same_context(tfr.constant(2.0))
    assert not x.same_context(rt.constant_from(2.0))
    with pytest.raises(TypeError):
        x.same_context(1.0)


def test_shallow_copies_are_the_same_leaf():
    x = tfr.variable([1.0, 2.0])
    y = copy.copy(x)
    assert y is not x
    assert address(y) == address(x)
    grads = (x * y).sum().backward()
    assert len(grads) == 1
    assert grads[x].tolist() == grads[y].tolist() == y.grad.tolist() == [2, 4]
    y.clear_grad()
    assert x.grad is None


def test_shallow_copies_of_results_share_the_node():
    x = tfr.variable([1.0, 2.0])
    y = x * x
    z = copy.copy(y)
    assert z.tracks_grad
    del y
    assert z.sum().backward()[x].tolist() == [2, 4]
    assert not copy.copy(x.detach()).tracks_grad


def test_deep_copies_are_independent_leaves():
    x = tfr.variable([1.0, 2.0])
    for y in (copy.deepcopy(x), copy.deepcopy(x * 1)):
        assert y.tracks_grad
        assert address(y) != address(x)
        (y * y).sum().backward()
        assert (y.grad.tolist(), x.grad) == ([2, 4], None)
    assert not copy.deepcopy(x.detach()).tracks_grad
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_identity():
    x = tfr.variable([1.0])
    assert hash(x) == hash(x)
    assert {x: 1}[x] == 1
    assert copy.copy(x) not in {x: 1}
    ref = weakref.ref(x)
    assert ref() is x
    del x
    assert ref() is None


# ---- moving out ------------------------------------------------------------------------------------------------------

def kept_by_another_handle(x):
    return copy.copy(x)


def kept_by_a_view(x):
    return x.T


def kept_by_detach(x):
    return x.detach()


def kept_by_a_borrow(x):
    return x.value()


def kept_by_a_buffer(x):
    return memoryview(x.value())


def kept_by_an_array(x):
    return x.value().numpy()[:1]


def kept_by_a_slice(x):
    return x.value().as_slice("f8")


def kept_by_a_trace(x):
    return x * tfr.variable([2.0, 2.0])


KEEPERS = [kept_by_another_handle, kept_by_a_view, kept_by_detach, kept_by_a_borrow, kept_by_a_buffer, kept_by_an_array,
           kept_by_a_slice, kept_by_a_trace]


def untracked():
    return tfr.constant([1.0, 2.0])


def leaf():
    return tfr.variable([1.0, 2.0])


def result():
    return tfr.variable([0.5, 1.0]) + tfr.variable([0.5, 1.0])


@pytest.mark.parametrize("make", [untracked, leaf, result])
@pytest.mark.parametrize("keep", KEEPERS)
def test_a_retained_value_is_not_moved(make, keep):
    x = make()
    kept = keep(x)
    with pytest.raises(errors.NotUniqueError) as e:
        x.into_value()
    assert e.value.tensor is x
    assert isinstance(e.value, errors.IntoValueError)
    assert x.tolist() == [1, 2]
    del kept
    where = address(x)
    moved = x.into_value()
    assert isinstance(moved, Tensor)
    assert moved.numpy().tolist() == [1, 2]
    assert moved.numpy().__array_interface__["data"][0] == where


def test_any_live_trace_on_a_leaf_retains_it():
    x = leaf()
    y = x + 1.0                         # saves no value
    with pytest.raises(errors.NotUniqueError):
        x.into_value()
    del y
    x.into_value()


def test_a_trace_that_saves_no_value_does_not_retain_a_result():
    y = result()
    z = (y + 1.0).sum()
    assert y.into_value().numpy().tolist() == [1, 2]
    z.backward()


def test_a_result_saved_by_its_own_node_only_is_moved():
    x = leaf()
    y = tfr.exp(x)
    assert y.into_value().numpy().tolist() == tfr.exp([1.0, 2.0]).numpy().tolist()
    y = tfr.exp(x)
    z = y + 1.0                         # its trace goes on through the node of y
    with pytest.raises(errors.NotUniqueError):
        y.into_value()
    z.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), tfr.exp([1.0, 2.0]).numpy())


def test_a_tensor_that_was_imported_retains_the_value(rt):
    t = column_tensor()
    x = rt.variable_from(t)
    with pytest.raises(errors.NotUniqueError):
        x.into_value()
    del t
    x.into_value()


@pytest.mark.parametrize("cut", [lambda x: x[1:], lambda x: x[::2], lambda x: x[:0], lambda x: x[0]])
def test_views_into_larger_memory_are_not_moved(cut):
    y = cut(tfr.constant([1.0, 2.0, 3.0]))
    with pytest.raises(errors.ExtractError) as e:
        y.into_value()
    assert e.value.tensor is y
    np.testing.assert_array_equal(y.duplicate_value().numpy(), y.numpy())


def test_a_view_of_the_whole_allocation_is_moved():
    y = tfr.constant([[1.0, 2.0], [3.0, 4.0]]).T
    assert y.into_value().numpy().tolist() == [[1, 3], [2, 4]]
    y = tfr.flip(tfr.constant([1.0, 2.0]))
    assert y.into_value().strides == (-8,)


def test_gradients_can_be_moved_out(rt):
    x = rt.variable_from([1.0, 2.0])
    for f in (lambda: x.sum(), lambda: (x * x).sum(), lambda: (x * 3.0).sum()):
        g = rt.grad(f(), x)
        expected = g.tolist()
        assert g.into_value().numpy().tolist() == expected
    g = rt.grad(x[0] + 1.0, x).into_value()
    assert g.numpy().tolist() == [1, 0]


def test_moved_values_can_be_imported_again(rt):
    x = rt.variable_from([1.0, 2.0])
    where = address(x)
    for _ in range(3):
        x = rt.variable_from(x.into_value())
    assert address(x) == where
    assert x.tracks_grad


def members():
    special = ("__float__", "__int__", "__complex__", "__bool__", "__index__", "__len__", "__iter__", "__array__",
               "__copy__", "__neg__", "__abs__", "__pos__")
    for name in sorted(set(dir(EagerTensor)) - set(dir(object))):
        if not name.startswith("_") or name in special:
            yield name
    yield "__deepcopy__"


CONSTRUCTORS = {"from_tensor_in", "from_vec_col_major_in", "requires_grad_in"}


@pytest.mark.parametrize("name", [n for n in members() if n not in CONSTRUCTORS])
def test_every_member_of_a_consumed_handle_raises(name):
    x = leaf()
    x.into_value()
    outcomes = []
    for args in ((), (0,), (0, 0), ({},), (tfr.constant([1.0, 2.0]),), (tfr.default_runtime(),), ("f8",), ((1, 2),)):
        try:
            outcomes.append(getattr(x, name)(*args))
        except errors.RuntimeStateError as e:
            outcomes = [str(e)]
            break
        except TypeError:
            pass                        # these are not the arguments of this member
    assert "into_value" in str(outcomes)


def test_operators_on_a_consumed_handle_raise():
    x, y = leaf(), leaf()
    x.into_value()
    for f in (lambda: x + y, lambda: y * x, lambda: 2.0 / x, lambda: x ** 2, lambda: x == y, lambda: x < 1,
              lambda: x[0], lambda: -x, lambda: x @ y,
              lambda: tfr.sum(x), lambda: tfr.exp(x), lambda: tfr.where(x > 0, x, y), lambda: 1.0 in x,
              lambda: tfr.stack([y, x]), lambda: np.asarray(x), lambda: f"{x}", lambda: tfr.constant(x),
              lambda: tfr.default_runtime().grad(x, y), lambda: y.same_context(x), lambda: y.assign(x)):
        with pytest.raises(errors.RuntimeStateError):
            f()
    with pytest.raises((errors.RuntimeStateError, BufferError)):
        memoryview(x)
    assert "consumed" in repr(x)
    assert hash(x) == hash(x)


def test_another_name_is_the_same_handle():
    x = leaf()
    y = x
    x.into_value()
    with pytest.raises(errors.RuntimeStateError):
        y.shape


# ---- assigning -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("value", [[3.0, 4.0], (3, 4), np.array([3.0, 4.0]), np.array([0.0, 3.0, 4.0])[1:],
                                   Tensor.from_numpy(np.array([3.0, 4.0]))], ids=lambda v: type(v).__name__)
def test_assign(value):
    x = leaf()
    y, kept = x * x, x.detach()
    other = copy.copy(x)
    x.assign(value)
    assert x.tolist() == other.tolist() == [3, 4]
    assert kept.tolist() == [1, 2]
    assert y.sum().backward()[x].tolist() == [2, 4]         # this trace keeps the old value
    assert (other * other).sum().backward()[x].tolist() == [6, 8]
    assert x.tracks_grad


def test_assign_through_any_handle_reaches_all_of_them():
    x = leaf()
    handles = [copy.copy(x) for _ in range(3)]
    del handles[1]
    handles[0].assign(x * 10.0)
    assert [h.tolist() for h in (x, *handles)] == [[10, 20]] * 3
    grads = (x * x).sum().backward()
    x.assign([0.0, 0.0])
    found = next(iter(grads))
    assert found.tolist() == [0, 0]


def test_assign_is_not_recorded():
    x, w = leaf(), tfr.variable([5.0, 5.0])
    x.assign(w * w)
    grads = (x * x).sum().backward()
    assert w not in grads
    assert grads[x].tolist() == [50, 50]


def test_assign_scalar_and_dtype():
    x = tfr.variable(np.float32(1))
    x.assign(2)
    assert (x.dtype, x.item()) == ("f4", 2)


def test_assigned_arrays_are_copied():
    x, a = leaf(), np.array([3.0, 4.0])
    x.assign(a)
    a[:] = 0
    assert x.tolist() == [3, 4]
    x.assign(tfr.constant(a, copy=False))
    a[:] = 1
    assert x.tolist() == [0, 0]


@pytest.mark.parametrize(("target", "value", "error"), [
    (leaf, [1.0, 2.0, 3.0], errors.ShapeMismatchError),
    (leaf, 1.0, errors.ShapeMismatchError),
    (leaf, [[1.0, 2.0]], errors.ShapeMismatchError),
    (leaf, np.array([1, 2]), errors.DTypeMismatchError),
    (leaf, np.array([1, 2], "f4"), errors.DTypeMismatchError),
    (leaf, [1j, 2j], errors.DTypeMismatchError),
    (leaf, ["a", "b"], errors.DTypeMismatchError),
    (untracked, [1.0, 2.0], errors.RuntimeStateError),
    (result, [1.0, 2.0], errors.RuntimeStateError),
])
def test_assign_errors(target, value, error):
    x = target()
    with pytest.raises(error):
        x.assign(value)
    assert x.tolist() == [1, 2]


def test_assign_from_another_runtime(rt):
    with pytest.raises(errors.ContextMismatchError, match="detach_into"):
        leaf().assign(rt.constant_from([1.0, 2.0]))


# ---- lifetimes -------------------------------------------------------------------------------------------------------

def life(make):
    """All kinds of handles on one value, and their end in an order that is not that of their making."""
    x = make()
    handles = [x, copy.copy(x), x.detach(), copy.deepcopy(x), x.detach_into(EagerRuntime())]
    handles += [x.value(), memoryview(x.detach()), x.detach().numpy(), x.duplicate_value(), x.to_tensor()]
    if x.tracks_grad:
        handles += [x * x, (x * x).sum().backward(), tfr.default_runtime().grad((x * x).sum(), x)]
    for k in (3, 0, 5, 1, 0, 2):
        del handles[k]


@pytest.mark.parametrize("make", [untracked, leaf, result])
def test_nothing_is_left_alive(live, make):
    life(make)
    start = live()
    for _ in range(3):
        life(make)
    assert live() == start


def test_failures_leave_nothing_alive(live):
    def fail():
        x = leaf()
        y = copy.copy(x)
        for f in (x.into_value, lambda: x.assign([1.0]), lambda: x.assign("a"), lambda: y[1:].detach().into_value()):
            with pytest.raises(errors.TenferroError):
                f()
    fail()
    start = live()
    fail()
    assert live() == start


def test_a_moved_value_is_freed_with_its_tensor(live):
    t = leaf().into_value()
    assert live() > (0, 0)
    del t
    assert live() == (0, 0)


@pytest.mark.parametrize("make", [
    lambda rt: rt, lambda rt: rt.session(), lambda rt: rt.constant_from([1.0]),
    lambda rt: rt.variable_from([1.0]) * 2.0, lambda rt: rt.variable_from([1.0]).sum().backward(),
])
def test_a_runtime_goes_with_its_last_user(make):
    gc.disable()
    try:
        rt = EagerRuntime()
        gone = weakref.ref(rt)
        user = make(rt)
        del rt
        assert gone() is not None
        del user
        assert gone() is None
    finally:
        gc.enable()


def test_handles_of_one_leaf_may_die_in_another_thread():
    x = leaf()
    handles = [copy.copy(x) for _ in range(100)]
    t = threading.Thread(target=handles.clear)
    t.start()
    t.join()
    x.assign([7.0, 8.0])
    assert x.tolist() == [7, 8]
    x.into_value()


@pytest.mark.parametrize("dtype", DIFF_DTYPES, ids=str)
def test_empty_and_scalar_values(dtype):
    for shape in ((), (0,), (0, 3), (3, 0)):
        x = tfr.variable(np.zeros(shape, dtype))
        assert copy.deepcopy(x).shape == x.detach().shape == shape
        assert x.to_tensor().as_slice(dtype).shape == (x.size,)
        x.assign(np.ones(shape, dtype))
        assert x.into_value().numpy().tolist() == np.ones(shape, dtype).tolist()
