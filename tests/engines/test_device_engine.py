"""Engines of devices, over a library of arrays that the host cannot read (tests/remote_arrays.py)."""

import copy
import threading

import numpy as np
import pytest
import remote_arrays
from remote_arrays import FusingEngine, RemoteArray, RemoteEngine, counted

import tenferro as tfr
from tenferro import errors
from tenferro.testing import check_engine, check_grads

A = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])


@pytest.fixture
def engine():
    return RemoteEngine()


@pytest.fixture
def rt(engine):
    return tfr.EagerRuntime(engine=engine)


def put(rt, array, tracked=False):
    """A tensor in the memory of the runtime's engine."""
    with rt.session() as s:
        x = s.constant_from_host(array)
    return rt.variable_from(x) if tracked else x


def where(x):
    return x.value().placement


def host(x):
    return x.to_tensor().numpy()


# ---- values and derivatives ------------------------------------------------------------------------------------------


def test_it_conforms(engine):
    report = check_engine(engine, raise_on_failure=True)
    assert {"exp", "matmul", "sort", "take", "cumsum", "softmax"} <= {row.operation for row in report.rows if row.computed}


def loss(x, w):
    h = tfr.tanh(tfr.matmul(x, w) * 0.5 + np.array([1.0, 2.0, 3.0]))
    return tfr.sum(h * h / (1 + tfr.exp(-h)))


@pytest.mark.parametrize("kind", [RemoteEngine, FusingEngine])
def test_gradients_stay_on_the_device_and_nothing_is_moved(kind):
    rt = tfr.EagerRuntime(engine=kind())
    w0 = np.random.default_rng(1).normal(size=(3, 3))
    x, w = put(rt, A, True), put(rt, w0, True)
    expected = tfr.variable(A), tfr.variable(w0)
    loss(*expected).backward()
    loss(x, w).backward()                       # uploads the bias, an array
    before = dict(counted)
    for _ in range(5):
        rt.clear_grads()
        h = tfr.tanh(x @ w)
        tfr.sum(h * 2.0).backward()
    assert counted == before
    for _ in range(4):                          # direct, watched, from the program
        rt.clear_grads()
        grads = loss(x, w).backward()
        for t, reference in zip((x, w), expected, strict=True):
            assert where(t.grad) == where(grads[t]) == "remote:0"
            np.testing.assert_allclose(host(t.grad), reference.grad.numpy(), rtol=1e-12)
    assert rt.cache_stats().prepared_derivatives.hits >= 1


@pytest.mark.parametrize("kind", [RemoteEngine, FusingEngine])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives_of_second_order(kind, dtype):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(2, 3)).astype(dtype), rng.normal(size=(3, 2)).astype(dtype)]
    if dtype == "complex128":
        arrays = [a + 1j * rng.normal(size=a.shape) for a in arrays]
    check_grads(lambda x, y: tfr.sum(tfr.exp(x @ y) * tfr.sin(x[:, :2])), arrays, order=2, engine=kind())


def test_a_large_structure_runs_in_passes():
    rng = np.random.default_rng(2)
    a = rng.normal(size=(300, 200))
    rt = tfr.EagerRuntime(engine=FusingEngine())
    x, y = put(rt, a, True), tfr.variable(a)
    before = FusingEngine.passes
    for t in (x, y):
        tfr.sum(tfr.exp(-t * t) * tfr.sin(t)).backward()
    assert FusingEngine.passes > before
    np.testing.assert_allclose(host(x.grad), y.grad.numpy(), rtol=1e-12)


def test_functional_transforms(rt):
    x = put(rt, A)
    with rt.session():
        value, g = tfr.value_and_grad(lambda x: tfr.sum(x ** 3))(x)
        h = tfr.hvp(lambda x: tfr.sum(x ** 3))(x, np.ones_like(A))
        out, t = tfr.jvp(tfr.sin, (x,), (np.ones_like(A),))
    assert {where(v) for v in (value, g, h, out, t)} == {"remote:0"}
    np.testing.assert_allclose(host(g), 3 * A ** 2)
    np.testing.assert_allclose(host(h), 6 * A)
    np.testing.assert_allclose(host(t), np.cos(A))


def test_a_training_loop(rt):
    x = put(rt, np.zeros(3), True)
    target = put(rt, np.array([1.0, -2.0, 3.0]))
    for _ in range(100):
        rt.clear_grads()
        tfr.sum((x - target) ** 2).backward()
        with tfr.no_grad():
            x -= 0.1 * x.grad
    np.testing.assert_allclose(host(x), [1, -2, 3], atol=1e-8)
    assert where(x) == "remote:0"


# ---- what crosses, and what does not -----------------------------------------------------------------------------------


def test_numbers_pass_by_value(rt):
    x = put(rt, A)
    before = dict(counted)
    y = 2.0 * x + 1 - np.float64(3) / (x + 5) + x ** 2
    assert counted == before
    np.testing.assert_allclose(host(y), 2 * A + 1 - 3 / (A + 5) + A ** 2)


def test_a_tracked_number_of_the_host(rt):
    x, w = put(rt, A), rt.variable_from(np.float64(2.0))
    for _ in range(4):
        rt.clear_grads()
        tfr.sum(x * w).backward()
        assert where(w.grad) == "cpu" and float(w.grad) == pytest.approx(A.sum())
    g = rt.grad(tfr.sum(tfr.exp(x * w)), w)
    assert where(g) == "cpu" and float(g) == pytest.approx((A * np.exp(2 * A)).sum())
    assert float(rt.grad(g, w)) == pytest.approx((A ** 2 * np.exp(2 * A)).sum())


def test_arrays_as_operands_are_imported_where_the_engine_computes(rt):
    x = put(rt, A)
    np.testing.assert_allclose(host(x * A + [1.0, 2.0, 3.0]), A * A + [1, 2, 3])
    np.testing.assert_array_equal(host(x[np.array([1, 0])]), A[[1, 0]])
    np.testing.assert_array_equal(host(tfr.where(A > 0, x, 0)), np.where(A > 0, A, 0))


def test_tensors_of_the_host_are_not_moved(rt, engine):
    x, y = put(rt, A), rt.constant_from(A)
    for use in (lambda: x + y, lambda: y + x, lambda: x @ y.T, lambda: tfr.concatenate([x, y])):
        with pytest.raises(errors.PlacementError, match="constant_from_host") as caught:
            use()
        assert (caught.value.expected, caught.value.actual) == ("remote:0", "cpu")
    with pytest.raises(errors.PlacementError, match="to_tensor") as caught:
        rt.with_eager_session(tfr.engine("cpu"), lambda s: s.exp(x))
    assert (caught.value.expected, caught.value.actual, caught.value.op) == ("cpu", "remote:0", "exp")


def test_a_trace_is_differentiated_where_it_was_computed(rt):
    x = put(rt, A, True)
    for _ in range(4):
        y = tfr.sum(tfr.exp(x) * x)
        with pytest.raises(errors.PlacementError):
            y.backward(engine=tfr.engine("cpu"))
        assert x.grad is None
    y.backward()
    np.testing.assert_allclose(host(x.grad), np.exp(A) * (1 + A))


def test_a_program_of_the_host_is_not_run_on_a_device(engine):
    rt = tfr.EagerRuntime()
    x, y = rt.variable_from(A), None
    for _ in range(4):
        tfr.sum(tfr.exp(x) * x).backward()
    with rt.session(engine) as s:
        y = rt.variable_from(s.constant_from_host(A))
        for _ in range(4):
            rt.clear_grads()
            tfr.sum(tfr.exp(y) * y).backward()
    np.testing.assert_allclose(host(y.grad), np.exp(A) * (1 + A))
    assert where(y.grad) == "remote:0"


def test_views_share_the_memory(rt):
    x = put(rt, np.arange(24.0).reshape(2, 3, 4))
    before = dict(counted)
    y = x[::-1, 1:, ::2].T
    z = tfr.broadcast_to(x[0, 0], (5, 4))
    assert counted == before
    np.testing.assert_array_equal(host(y), np.arange(24.0).reshape(2, 3, 4)[::-1, 1:, ::2].T)
    np.testing.assert_array_equal(host(z * 1), np.broadcast_to(np.arange(4.0), (5, 4)))


def test_memory_order(rt):
    x = put(rt, np.asfortranarray(A))
    assert x.value().strides == tfr.exp(x).value().strides == (8, 16)
    assert (x + put(rt, A)).value().strides == (tfr.constant(np.asfortranarray(A)) + A).value().strides


# ---- members that ask for elements or a place ---------------------------------------------------------------------------


def test_devices(rt, engine):
    x = put(rt, A)
    assert x.device == "remote:0" and x.to_device("remote:0") is x
    y = x.to_device("cpu")
    assert where(y) == "cpu" and y.tolist() == A.tolist()
    with rt.session():
        assert where(y.to_device("remote:0")) == "remote:0"
    with pytest.raises(errors.PlacementError, match="nowhere"):
        x.to_device("nowhere")
    with pytest.raises(errors.RuntimeStateError, match="detach"):
        rt.variable_from(x).to_device("cpu")
    assert "remote:0" in tfr.__array_namespace_info__().devices()


def test_creation_functions(rt):
    with rt.session():
        made = [tfr.zeros((2, 3)), tfr.ones(3), tfr.eye(3), tfr.arange(4), tfr.linspace(0, 1, 5), tfr.full((2,), 7.0),
                tfr.asarray(A), tfr.array(A)]
        assert {where(x) for x in made} == {"remote:0"}
        assert where(tfr.zeros(3, device="cpu")) == where(tfr.arange(3, device="cpu")) == "cpu"
        assert where(tfr.constant(A)) == "cpu"
    assert host(made[2]).tolist() == np.eye(3).tolist() and host(made[3]).tolist() == [0, 1, 2, 3]
    x = put(rt, A)
    assert where(tfr.zeros_like(x)) == where(tfr.full_like(x, 2)) == "remote:0"
    assert where(tfr.zeros(3)) == "cpu"


def test_copies_and_consumed_handles(rt):
    x = put(rt, A, True)
    for y in (copy.deepcopy(x), copy.copy(x), x.detach(), x.detach_into(tfr.EagerRuntime(engine=rt.default_engine))):
        assert where(y) == "remote:0" and y.tolist() == A.tolist()
    y = x * 2
    value = y.detach().duplicate_value()
    assert value.placement == "remote:0"
    assert put(rt, A).into_value().placement == "remote:0"


def test_assignment(rt):
    x = put(rt, A, True)
    x.assign(put(rt, 2 * A))
    assert x.tolist() == (2 * A).tolist()
    with pytest.raises(errors.PlacementError, match="assign"):
        x.assign(A)
    y = put(rt, A) * 1
    y[0, 1] = 5.0
    y += 1
    expected = A.copy()
    expected[0, 1] = 5
    assert y.tolist() == (expected + 1).tolist() and where(y) == "remote:0"


def test_operations_whose_results_depend_on_values(rt):
    x = put(rt, A)
    np.testing.assert_array_equal(host(tfr.sort(x, axis=0)), np.sort(A, 0))
    assert host(tfr.argsort(x, descending=True)).tolist() == np.argsort(-A).tolist()
    values, places = tfr.topk(x, 2)
    np.testing.assert_array_equal(host(values), -np.sort(-A)[:, :2])
    assert where(places) == "remote:0"
    np.testing.assert_array_equal(host(x[x > 0]), A[A > 0])
    assert [host(k).tolist() for k in tfr.nonzero(x > 0)] == [k.tolist() for k in np.nonzero(A > 0)]
    np.testing.assert_array_equal(host(tfr.unique(put(rt, [3.0, 1.0, 3.0]))), np.array([1.0, 3.0]))
    assert host(tfr.searchsorted(put(rt, [1.0, 2.0, 3.0]), put(rt, [0.5, 2.0]))).tolist() == [0, 1]
    with pytest.raises(errors.PlacementError, match="sort"):
        rt.with_eager_session(tfr.engine("cpu"), lambda s: s.sort(x))


def test_what_the_library_lacks_says_so(rt, engine):
    x = put(rt, A)
    with pytest.raises(errors.UnsupportedError, match="remote") as caught:
        tfr.erf(x)
    assert (caught.value.op, caught.value.engine) == ("erf", "remote")
    with pytest.raises(errors.UnsupportedError, match=r"svd.*remote"):
        tfr.linalg.svd(x)
    assert engine.support()["erf"] == "unsupported"


def test_an_engine_computes_operations_of_extension_modules(rt, monkeypatch):
    def svdvals(a, **params):
        return RemoteArray(np.linalg.svd(a.hidden, compute_uv=False))

    monkeypatch.setattr(RemoteEngine, "executors", {"tenferro.linalg.svdvals.v1": svdvals})
    s = tfr.linalg.svdvals(put(rt, A))
    assert where(s) == "remote:0"
    np.testing.assert_allclose(host(s), np.linalg.svd(A, compute_uv=False))


# ---- failures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure_known", [False, True])
def test_memory_that_is_refused(rt, structure_known):
    x = put(rt, A, True)
    for _ in range(4 if structure_known else 0):
        tfr.sum(tfr.exp(x)).backward()
    rt.clear_grads()
    y = tfr.sum(tfr.exp(x))
    remote_arrays.refusing.append(1)
    try:
        with pytest.raises(errors.OutOfMemoryError) as caught:
            y.backward()
        assert caught.value.engine.startswith("remote")
        with pytest.raises(errors.OutOfMemoryError):
            tfr.exp(x)
    finally:
        remote_arrays.refusing.clear()
    assert x.grad is None
    y.backward()
    np.testing.assert_allclose(host(x.grad), np.exp(A))


def test_a_failed_upload(rt):
    remote_arrays.refusing.append(1)
    try:
        with pytest.raises(errors.OutOfMemoryError) as caught:
            put(rt, A)
        assert caught.value.nbytes == A.nbytes
    finally:
        remote_arrays.refusing.clear()
    assert put(rt, A).tolist() == A.tolist()


def test_the_memory_goes_with_its_last_user(rt):
    import weakref

    x = put(rt, A, True)
    y = tfr.exp(x)
    array = weakref.ref(tfr._core.transfers.library_array(y)[1])
    z = y * y
    del y
    assert array() is not None          # the trace keeps it
    del z
    assert array() is None


def test_threads_share_a_device(rt):
    x = put(rt, A, True)

    def work():
        for _ in range(50):
            tfr.sum(tfr.exp(x) * x).backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    np.testing.assert_allclose(host(x.grad), 200 * np.exp(A) * (1 + A), rtol=1e-12)


def test_empty_tensors_are_no_numbers(rt):
    x = put(rt, np.zeros((0, 3)))
    assert host(x * np.zeros((0, 1))).shape == (0, 3)
    with pytest.raises(errors.PlacementError):
        x * rt.constant_from(np.zeros((0, 1)))
