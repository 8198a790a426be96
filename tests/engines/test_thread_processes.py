"""The threaded CPU engine through forks, exits, interrupts and deletion: each in a process of its own with a time limit."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tenferro._kernels import parallel

LIMIT = 120
TESTS = Path(__file__).parent
START = """
import gc, multiprocessing, os, signal, sys, threading, time, warnings
import numpy as np
import tenferro as tfr
from tenferro._kernels import parallel
from tenferro_cpu import CpuEngine
warnings.simplefilter("ignore", DeprecationWarning)     # forks of a process that has threads

def compute(engine, n=300_000):
    with tfr.session(engine):
        x = tfr.variable(np.linspace(0.1, 2, n))
        y = tfr.sum(tfr.exp(-x * x) * tfr.sin(x))
        y.backward()
        s = tfr.linalg.svdvals(tfr.constant(np.arange(7200.0).reshape(200, 6, 6) % 7))
        p = tfr.constant(np.ones((300, 300))) @ tfr.constant(np.ones((300, 300)))
        assert float(p[0, 0]) == 300
        return float(y), float(x.grad.numpy().sum()), float(tfr.sum(s))

def tasks():
    return len(os.listdir("/proc/self/task"))

def reap(pid, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "timeout"
"""


def environment(**variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TENFERRO_", "OMP_", "OPENBLAS_", "SLURM_"))}
    return {**kept, **variables}


def run(tmp_path, code, expect=0, **variables):
    """Standard output of a program that starts with START."""
    script = tmp_path / "program.py"
    script.write_text(START + code)
    done = subprocess.run([sys.executable, "-X", "faulthandler", str(script)], text=True, capture_output=True, timeout=LIMIT,
                          env=environment(**variables))
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout.split()


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")


@needs_fork
def test_fork(tmp_path):
    run(tmp_path, """
engine = CpuEngine.threaded(3)
want = compute(engine)
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        assert parallel.state()["workers"] == 0
        good = compute(engine) == want and parallel.state()["workers"] == 2 and set(parallel.state()["blas"]) == {3}
        os._exit(0 if good else 3)
    assert reap(pid) == 0
    assert compute(engine) == want
""")


@needs_fork
def test_fork_while_other_threads_compute(tmp_path):
    run(tmp_path, """
engine = CpuEngine.threaded(3)
want = compute(engine)
stop = False

def work():
    x = tfr.constant(np.arange(7200.0).reshape(200, 6, 6) % 7)
    y = tfr.constant(np.linspace(0, 1, 500_000))
    with tfr.session(engine):
        while not stop:
            tfr.linalg.svdvals(x)
            tfr.exp(y)

helpers = [threading.Thread(target=work) for _ in range(2)]
for t in helpers:
    t.start()
codes = []
for _ in range(12):
    pid = os.fork()
    if pid == 0:
        x = tfr.constant(np.linspace(0.1, 2, 500_000))
        with tfr.session(engine):
            y = tfr.sum(tfr.exp(x)).numpy()
        os._exit(0 if np.isfinite(y) and parallel.state()["workers"] == 2 else 3)
    codes.append(reap(pid))
    time.sleep(0.01)
stop = True
for t in helpers:
    t.join()
assert codes == [0] * 12, codes
assert compute(engine) == want
""")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@needs_fork
def test_multiprocessing(tmp_path, method):
    run(tmp_path, f"""
def work(k):
    return compute(tfr.default_engine())

if __name__ == "__main__":
    tfr.set_default_engine(CpuEngine.threaded(2))
    want = work(0)
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        assert pool.map_async(work, range(4)).get(90) == [want] * 4
    assert work(0) == want
""", TENFERRO_ENGINE="cpu-threads:2")


@needs_proc
def test_workers_end_with_the_last_engine(tmp_path):
    run(tmp_path, """
before = tasks()
a, b = CpuEngine.threaded(4), CpuEngine.threaded(2)
assert tasks() == before, "workers start when there is work"
x = tfr.constant(np.linspace(0, 1, 400_000))
def work(engine):
    rt = tfr.EagerRuntime(engine)
    y = rt.constant_from(tfr.Tensor.from_numpy(np.linspace(0, 1, 400_000)))
    tfr.exp(y)
work(b)
assert tasks() == before + 1
work(a)
assert tasks() == before + 3
del a
gc.collect()
work(b)
assert tasks() == before + 3 and parallel.state()["engines"] == [2]
del b
gc.collect()
assert tasks() == before, (tasks(), before)
for _ in range(50):
    work(CpuEngine.threaded(3))
gc.collect()
assert tasks() == before and parallel.state()["engines"] == []
""")


def test_blas_has_the_threads_of_the_engine(tmp_path):
    run(tmp_path, """
def product(engine):
    rt = tfr.EagerRuntime(engine)
    x = rt.constant_from(tfr.Tensor.from_numpy(np.ones((90, 12, 12)) + np.eye(12)))
    (x @ x), tfr.linalg.svdvals(x)
    return parallel.state()["blas"]

serial, engine = CpuEngine.serial(), CpuEngine.threaded(3)
product(serial)
assert set(product(engine)) == {3}
assert set(product(serial)) == {3}, "the serial engine leaves the number alone"
other = CpuEngine.threaded(2)
assert set(product(other)) == {2}
del other
gc.collect()
assert set(parallel.state()["blas"]) == {3}
del engine
gc.collect()
assert set(parallel.state()["blas"]) == {1}, "the number that the library had"
""", OPENBLAS_NUM_THREADS="1")


@pytest.mark.parametrize("end", ["pass", "sys.exit(0)", "raise SystemExit(0)"])
def test_exit_while_a_daemon_thread_computes(tmp_path, end):
    run(tmp_path, f"""
engine = CpuEngine.threaded(3)
tfr.set_default_engine(engine)
x = tfr.constant(np.linspace(0, 1, 2_000_000))
m = tfr.constant(np.arange(72000.0).reshape(2000, 6, 6) % 7)
begun = threading.Event()

def work():
    while True:
        tfr.exp(x)
        begun.set()
        tfr.linalg.svdvals(m)

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(0.05)
{end}
""")


def test_computing_after_the_workers_have_ended(tmp_path):
    assert run(tmp_path, """
import atexit
atexit._run_exitfuncs()
engine = CpuEngine.threaded(3)
assert compute(engine) == compute(CpuEngine.serial())
print(parallel.state()["workers"])
""") == ["0"]


def test_interrupt(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(START + """
engine = CpuEngine.threaded(3)
want = compute(engine)
try:
    print("ready", flush=True)
    while True:
        compute(engine, 2_000_000)
except KeyboardInterrupt:
    print("interrupted", compute(engine) == want, flush=True)
""")
    process = subprocess.Popen([sys.executable, str(script)], text=True, stdout=subprocess.PIPE, env=environment())
    try:
        assert process.stdout.readline().split() == ["ready"]
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
        process.wait()
    assert out.split() == ["interrupted", "True"]
    assert process.returncode == 0


@pytest.mark.parametrize("variables", [{"TENFERRO_ENGINE": "cpu-threads:2"},
                                       {"TENFERRO_ENGINE": "cpu-threads", "TENFERRO_NUM_THREADS": "2", "OMP_NUM_THREADS": "7"}])
def test_the_environment_chooses_the_engine(tmp_path, variables):
    assert run(tmp_path, """
compute(tfr.default_engine())
print(tfr.default_engine().name, tfr.default_engine().threads, parallel.state()["workers"], *set(parallel.state()["blas"]))
""", **variables) == ["cpu-threads", "2", "1", "2"]


@pytest.mark.parametrize("tests", ["test_windows.py test_contraction.py", "test_long_strides.py test_copies.py"])
def test_tests_of_engines_pass_with_threads(tests):
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                           *(str(TESTS / name) for name in tests.split())], text=True, capture_output=True,
                          cwd=TESTS.parent.parent, timeout=5 * LIMIT, env=environment(TENFERRO_ENGINE="cpu-threads:2"))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


# ---- the pool itself -------------------------------------------------------------------------------------------------

BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)


def pool():
    """The C function ``parallel(threads, chunks, body, arg)``."""
    capsule = parallel.__pyx_capi__["parallel"]
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_ssize_t, BODY, ctypes.c_void_p)
    return kind(pointer(capsule, name(capsule)))


@pytest.fixture
def share():
    """The pool for one test; its workers end with it."""
    from tenferro_cpu import CpuEngine
    engine = CpuEngine.threaded(2)
    yield pool()
    del engine


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("chunks", [0, 1, 2, 3, 100])
def test_every_chunk_runs_once_and_slots_are_threads(share, threads, chunks):
    for _ in range(20):
        done = []

        def body(arg, chunk, slot, done=done):
            done.append((chunk, slot, threading.get_ident()))

        share(threads, chunks, BODY(body), None)
        assert sorted(chunk for chunk, _, _ in done) == list(range(chunks))
        slots = {(slot, ident) for _, slot, ident in done}
        assert len(slots) == len({slot for slot, _ in slots}) == len({ident for _, ident in slots})
        assert all(0 <= slot < threads for slot, _ in slots)
        assert all(ident == threading.get_ident() for slot, ident in slots if slot == 0)


def test_regions_inside_regions_run_on_their_thread(share):
    done = []

    def body(arg, chunk, slot):
        mine = threading.get_ident()
        share(4, 5, BODY(lambda arg, inner, slot: done.append((chunk, inner, slot, threading.get_ident() == mine))), None)

    share(3, 7, BODY(body), None)
    assert sorted(done) == [(chunk, inner, 0, True) for chunk in range(7) for inner in range(5)]


def test_a_second_caller_runs_alone_instead_of_waiting(share):
    inside, second_is_done = threading.Event(), threading.Event()
    idents = set()

    def wait(arg, chunk, slot):
        inside.set()
        assert second_is_done.wait(60)

    def second():
        assert inside.wait(60)
        share(4, 50, BODY(lambda arg, chunk, slot: idents.add((threading.get_ident(), slot))), None)
        idents.add((threading.get_ident(), 0))
        second_is_done.set()

    t = threading.Thread(target=second)
    t.start()
    share(2, 4, BODY(wait), None)
    t.join(60)
    assert not t.is_alive()
    assert len(idents) == 1
