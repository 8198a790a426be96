"""The threaded CPU engine: its numbers and its thread count."""

import threading

import numpy as np
import pytest

import tenferro as tfr
from tenferro.errors import ValidationError
from tenferro_cpu import CpuEngine
from tenferro_cpu import threads as counting

COUNTS = (1, 2, 3, 8)
UNARY = """exp expm1 log1p sin cos tan tanh sinh arctan sqrt cbrt square negative abs sign floor isfinite sigmoid
           reciprocal""".split()
BINARY = "add multiply divide subtract maximum arctan2 hypot less logaddexp remainder".split()
REDUCTIONS = "sum mean prod max min var std any all count_nonzero logsumexp".split()


@pytest.fixture(scope="module")
def engines():
    """The serial engine first; the one of one thread, which BLAS heeds, is opened last."""
    return [CpuEngine.serial(), *[CpuEngine.threaded(n) for n in COUNTS[::-1]][::-1]]


def bits(result):
    arrays = result if isinstance(result, (tuple, list)) else [result]
    return [(a.dtype, a.shape, np.asarray(a.detach().numpy()).tobytes()) for a in arrays]


def same_bits(engines, f):
    """The result of the serial engine, which all others give bit for bit."""
    found = []
    for engine in engines:
        with tfr.session(engine):
            found.append(f())
    for engine, result in zip(engines[1:], found[1:], strict=True):
        assert bits(result) == bits(found[0]), f"{engine!r} differs from the serial engine"
    return found[0]


def values(shape, dtype, seed=0):
    """Positive and negative values between 0.1 and 3, in the given shape."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.1, 3, shape) * rng.choice([-1, 1], shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.uniform(-2, 2, shape)
    return np.asarray(x, dtype)


def layouts(dtype):
    """Large tensors whose elements follow one another, and some whose elements do not."""
    flat = values(200_003, dtype)
    block = values((37, 95, 83), dtype, 1)
    plane = values((1009, 401), dtype, 2)
    return {"flat": flat, "transposed": block.transpose(2, 0, 1), "stepped": plane.T[::2, ::-1], "offset": flat[1:],
            "repeated": np.broadcast_to(values((400, 1), dtype, 3), (400, 701)), "tall": values((70_001, 3), dtype, 4),
            "wide": values((3, 70_001), dtype, 5)}


@pytest.mark.parametrize("layout", layouts("f8"))
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_elementwise_operations(engines, dtype, layout):
    a = layouts(dtype)[layout]
    x, y = tfr.constant(a), tfr.constant(a[::-1])
    for name in UNARY:
        f = getattr(tfr, name)
        try:
            f(x[:1])
        except ValidationError:
            continue
        with np.errstate(all="ignore"):
            got = same_bits(engines, lambda f=f: f(x))
            if hasattr(np, name):
                np.testing.assert_allclose(got.numpy(), getattr(np, name)(a), rtol=1e-12 if a.itemsize > 4 else 2e-6)
    for name in BINARY:
        f = getattr(tfr, name)
        try:
            f(x[:1], y[:1])
        except ValidationError:
            continue
        got = same_bits(engines, lambda f=f: f(x, y))
        if hasattr(np, name):
            np.testing.assert_allclose(got.numpy(), getattr(np, name)(a, a[::-1]), rtol=1e-12 if a.itemsize > 4 else 2e-6)


def test_broadcast_operations(engines):
    a, b, c = values((512, 1, 300), "f8"), values((7, 300), "f8", 1), values((), "f8", 2)
    x, y, z = map(tfr.constant, (a, b, c))
    np.testing.assert_array_equal(same_bits(engines, lambda: x * y).numpy(), a * b)
    np.testing.assert_array_equal(same_bits(engines, lambda: (x + z) - y).numpy(), (a + c) - b)
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.where(x < y, x, z)).numpy(), np.where(a < b, a, c))


@pytest.mark.parametrize("layout", layouts("f8"))
def test_copies_and_casts(engines, layout):
    for dtype in ("f4", "f8", "c16", "i4", "u1", "?"):
        a = (100 * layouts("f8")[layout]).astype(dtype)
        x = tfr.constant(a)
        got = same_bits(engines, lambda x=x: tfr.reshape(x, (-1,)))
        np.testing.assert_array_equal(got.numpy(), a.reshape(-1))
        got = same_bits(engines, lambda x=x: tfr.concat([tfr.flip(x), x]))
        np.testing.assert_array_equal(got.numpy(), np.concatenate([np.flip(a), a]))
        for to in ("f4", "f8", "i8", "c8"):
            if not (a.dtype.kind == "c" and np.dtype(to).kind != "c"):
                np.testing.assert_array_equal(same_bits(engines, lambda x=x, to=to: tfr.astype(x, to)).numpy(), a.astype(to))


@pytest.mark.parametrize("layout", layouts("f8"))
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i4", "?"])
def test_reductions(engines, dtype, layout):
    a = layouts("f8")[layout] if dtype == "f8" else (layouts("c16" if dtype == "c16" else "f8")[layout]).astype(dtype)
    x = tfr.constant(a)
    for axis in {None, 0, a.ndim - 1, (0, a.ndim - 1) if a.ndim > 1 else 0}:
        for name in REDUCTIONS:
            f = getattr(tfr, name)
            try:
                f(x[:1], axis=axis)
            except (ValidationError, TypeError):
                continue
            got = same_bits(engines, lambda f=f, axis=axis: f(x, axis=axis))
            if name in ("sum", "mean", "max", "any", "count_nonzero") and dtype != "f4":
                np.testing.assert_allclose(got.numpy(), getattr(np, name)(a, axis=axis), rtol=1e-9, atol=1e-9)


def test_sums_keep_their_accuracy_whatever_the_number_of_threads(engines):
    a = np.full(3_000_001, 0.1)
    total = float(same_bits(engines, lambda: tfr.sum(tfr.constant(a))))
    assert abs(total - 300000.1) < 1e-9


def test_scans_and_indexing(engines):
    a = values((400, 701), "f8")
    rows = np.random.default_rng(1).integers(0, 400, 1000)
    x, i = tfr.constant(a), tfr.constant(rows)
    np.testing.assert_allclose(same_bits(engines, lambda: tfr.cumsum(x, axis=0)).numpy(), np.cumsum(a, axis=0), rtol=1e-9)
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.take(x, i, axis=0)).numpy(), a[rows])
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.argmax(x, axis=1)).numpy(), np.argmax(a, axis=1))
    np.testing.assert_array_equal(same_bits(engines, lambda: tfr.sort(x, axis=1)).numpy(), np.sort(a, axis=1))


def gradient_steps(a, w, steps=4):
    """Gradients of a structure that returns, so that the later ones come from fused programs."""
    found = []
    for k in range(steps):
        x, y = tfr.variable(a * (1 + k / 8)), tfr.variable(w)
        loss = tfr.sum(tfr.exp(-x * x) * tfr.sin(x) * y + tfr.log1p(x * x) * tfr.tanh(x + y))
        loss.backward()
        found += [loss, x.grad, y.grad]
    return found


@pytest.mark.parametrize("shapes", [(200_003, ()), ((600, 501), (501,)), ((90, 50, 70), (50, 1)), ((3, 70_001), (3, 1))],
                         ids=str)
def test_gradients_of_fused_programs(engines, shapes):
    a, w = values(shapes[0], "f8"), values(shapes[1], "f8", 1)
    tfr.default_runtime().clear_caches()
    same_bits(engines, lambda: gradient_steps(a, w))


def test_gradients_of_strided_leaves(engines):
    a = values((701, 402), "f8")
    tfr.default_runtime().clear_caches()
    same_bits(engines, lambda: gradient_steps(a.T[::2, ::-1], values(701, "f8", 1)))


@pytest.mark.parametrize("shapes", [((64, 40, 50), (64, 50, 30)), ((3, 300, 200), (3, 200, 250)), ((500, 30, 4), (4, 5)),
                                    ((700, 600), (600, 500)), ((9, 1, 20, 20), (8, 20, 20)), ((4000, 3, 3), (4000, 3, 3)),
                                    ((60, 90, 90), (60, 90))], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i8"])
def test_products(engines, dtype, shapes):
    a, b = ((10 * values(s, "c16" if dtype == "c16" else "f8", k)).astype(dtype) for k, s in enumerate(shapes))
    if len(shapes[1]) == len(shapes[0]) - 1 and shapes[1][-1] == shapes[0][-1] and len(shapes[1]) == 2 and len(shapes[0]) == 3:
        def f(m, x, y):
            return m.einsum("bij,bj->bi", x, y)
    else:
        def f(m, x, y):
            return m.matmul(x, y)
    want = f(np, a, b)
    size = np.abs(f(np, np.abs(a), np.abs(b))) if dtype != "i8" else 0
    for engine in engines:
        for left, right in ((a, b), (np.swapaxes(np.swapaxes(a, -1, -2).copy(), -1, -2), b)):
            with tfr.session(engine):
                got = f(tfr, tfr.constant(left), tfr.constant(right)).numpy()
            assert np.all(np.abs(got - want) <= (3e-6 if dtype == "f4" else 1e-14) * size), repr(engine)


def matrices(n, count, kind):
    a = values((count, n, n), "f8", n)
    if kind == "hermitian":
        return a + a.swapaxes(1, 2)
    if kind == "positive":
        return a @ a.swapaxes(1, 2) + np.eye(n)
    return a + 4 * np.sqrt(n) * np.eye(n)


LINALG = {"svdvals": "any", "eigvalsh": "hermitian", "qr": "any", "cholesky": "positive", "inv": "any", "det": "any",
          "eigvals": "any"}


@pytest.mark.parametrize("n", [1, 4, 16, 33])
@pytest.mark.parametrize("name", LINALG)
def test_stacks_of_small_matrices(engines, name, n):
    a = matrices(n, 301, LINALG[name])
    x = tfr.constant(a)
    f = getattr(tfr.linalg, name)
    want = [np.asarray(v) for v in np.atleast_1d(getattr(np.linalg, name)(a))] if name != "qr" else None
    for engine in engines:
        with tfr.session(engine):
            got = f(x)
        if name == "qr":
            np.testing.assert_allclose(got[0].numpy() @ got[1].numpy(), a, atol=1e-11)
        else:
            np.testing.assert_allclose(np.sort(got.numpy(), axis=-1), np.sort(want, axis=-1), rtol=1e-8, atol=1e-9)


def test_a_bad_matrix_of_a_stack_is_the_one_that_is_named(engines):
    a = matrices(8, 500, "positive")
    a[417] *= -1
    a[431] *= -1
    for engine in engines:
        with tfr.session(engine), pytest.raises(tfr.errors.LinAlgError, match="matrix 417 of the stack"):
            tfr.linalg.cholesky(tfr.constant(a))


def test_solutions_and_their_gradients(engines):
    a, b = matrices(12, 200, "any"), values((200, 12, 3), "f8", 1)
    want = np.linalg.solve(a, b)
    for engine in engines:
        with tfr.session(engine):
            x, y = tfr.variable(a), tfr.variable(b)
            z = tfr.linalg.solve(x, y)
            np.testing.assert_allclose(z.detach().numpy(), want, rtol=1e-9, atol=1e-10)
            tfr.sum(z).backward()
            adjoint = np.linalg.solve(a.swapaxes(1, 2), np.ones_like(b))
            np.testing.assert_allclose(y.grad.numpy(), adjoint, rtol=1e-9, atol=1e-10)


# ---- several Python threads ------------------------------------------------------------------------------------------

def test_python_threads_share_an_engine():
    a = values((400, 701), "f8")
    engine = CpuEngine.threaded(3)

    def f(k):
        with tfr.session(engine):
            x = tfr.variable(a + k)
            y = tfr.sum(tfr.exp(-x * x) * tfr.sin(x), axis=0)
            y.backward_with(np.ones(701))
            s = tfr.linalg.svdvals(tfr.constant(matrices(6, 100, "any")))
            return bits([y, x.grad, s])

    want = [f(k) for k in range(6)]
    found = {}

    def work(k):
        found[k] = [f(k) for _ in range(8)]

    workers = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in workers:
        t.start()
    for t in workers:
        t.join(120)
    assert not any(t.is_alive() for t in workers)
    assert [found[k] for k in range(6)] == [[w] * 8 for w in want]


def test_engines_come_and_go_while_others_compute():
    a = values(300_001, "f8")
    want = bits(tfr.exp(tfr.constant(a)))
    failures = []

    def work(n):
        for _ in range(10):
            with tfr.session(CpuEngine.threaded(n)):
                if bits(tfr.exp(tfr.constant(a))) != want:
                    failures.append(n)

    workers = [threading.Thread(target=work, args=(n,)) for n in (2, 3, 5)]
    for t in workers:
        t.start()
    for t in workers:
        t.join(120)
    assert not any(t.is_alive() for t in workers)
    assert failures == []


# ---- thread counts ---------------------------------------------------------------------------------------------------

def test_names_and_counts():
    engine = CpuEngine.threaded(5)
    assert (engine.name, engine.kind, engine.threads) == ("cpu-threads", "host", 5)
    assert CpuEngine.serial().threads == 1
    assert tfr.engine("cpu-threads:3").threads == 3
    assert tfr.engine("cpu-threads").threads == counting.count()
    assert "5 threads" in repr(engine)
    assert engine.context_id == CpuEngine.serial().context_id


@pytest.mark.parametrize("n", [0, -1, 1025, 2.0, "2", [2]])
def test_numbers_that_are_none_of_threads(n):
    with pytest.raises(ValidationError, match="from 1 to 1024") as info:
        CpuEngine.threaded(n)
    assert info.value.argument == "n"


def test_the_order_of_the_variables(monkeypatch):
    for name in counting.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert counting.count() == counting.available()
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "3")
    assert counting.count() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", " 5,2")
    assert counting.count() == 5
    monkeypatch.setenv("TENFERRO_NUM_THREADS", "7")
    assert counting.count() == 7
    assert counting.count(4) == 4
    monkeypatch.setenv("TENFERRO_NUM_THREADS", "")
    assert counting.count() == 5


@pytest.mark.parametrize("name", counting.VARIABLES)
@pytest.mark.parametrize("text", ["0", "-2", "two", "1.5", "5000", "²"])
def test_a_bad_variable_is_named(monkeypatch, name, text):
    for other in counting.VARIABLES:
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, text)
    with pytest.raises(ValidationError, match=f"{name}='{text}' must be a whole number") as info:
        CpuEngine.threaded()
    assert info.value.argument == name


def control_group(root, cgroup, mountinfo, files):
    (root / "self").mkdir()
    (root / "self" / "cgroup").write_text(cgroup)
    (root / "self" / "mountinfo").write_text(mountinfo.replace("ROOT", str(root)))
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root / "self"


MOUNT_2 = "30 23 0:26 / ROOT/fs rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
MOUNT_1 = "31 23 0:27 /docker/abc ROOT/cpu rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n"


@pytest.mark.parametrize(("text", "want"), [("150000 100000\n", 1.5), ("max 100000\n", None), ("", None), ("nonsense", None)])
def test_a_quota_of_version_2(tmp_path, text, want):
    proc = control_group(tmp_path, "0::/a/b\n", MOUNT_2, {"fs/a/b/cpu.max": text})
    assert counting.cgroup_cpus(proc) == want


def test_a_quota_above_the_group_counts(tmp_path):
    proc = control_group(tmp_path, "0::/a/b\n", MOUNT_2, {"fs/a/b/cpu.max": "max 100000", "fs/a/cpu.max": "200000 100000"})
    assert counting.cgroup_cpus(proc) == 2


@pytest.mark.parametrize(("quota", "want"), [("250000", 2.5), ("-1", None)])
def test_a_quota_of_version_1(tmp_path, quota, want):
    files = {"cpu/cpu.cfs_quota_us": quota, "cpu/cpu.cfs_period_us": "100000"}
    proc = control_group(tmp_path, "4:memory:/x\n3:cpuacct,cpu:/docker/abc\n", MOUNT_1, files)
    assert counting.cgroup_cpus(proc) == want


def test_without_control_groups(tmp_path):
    assert counting.cgroup_cpus(tmp_path) is None


def test_available_cpus(monkeypatch):
    monkeypatch.setattr(counting.os, "sched_getaffinity", lambda pid: set(range(6)), raising=False)
    for quota, want in ((None, 6), (2.5, 2), (0.5, 1), (64, 6)):
        monkeypatch.setattr(counting, "cgroup_cpus", lambda quota=quota: quota)
        assert counting.available() == want
