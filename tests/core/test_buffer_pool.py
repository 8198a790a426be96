"""The pool of large free blocks: reuse, limit, order of eviction, statistics."""

import gc
import subprocess
import sys

import numpy as np
import pytest

import tenferro as tfr
from tenferro._core import memory

MIB = 1 << 20


@pytest.fixture(autouse=True)
def empty_pool():
    before = memory.buffer_limit()
    gc.collect()
    tfr.default_runtime().clear_caches()
    yield
    memory.buffer_limit(before)
    tfr.default_runtime().clear_caches()


def pool():
    return tfr.default_runtime().cache_stats().buffers


def block(mib):
    return tfr.zeros((mib, MIB // 8))


def test_a_freed_block_is_reused():
    x = block(8)
    del x
    before = pool()
    assert before.entries >= 1 and before.retained_bytes >= 8 * MIB
    y = block(8)
    assert pool().hits == before.hits + 1 and pool().misses == before.misses
    assert (y.numpy() == 0).all()


def test_the_limit_holds_and_the_oldest_goes_first():
    memory.buffer_limit(20 * MIB)
    x, y, z = block(6), block(7), block(9)
    del x
    del y
    assert pool().entries == 2
    before = pool().evictions
    del z
    assert pool().evictions == before + 1 and pool().retained_bytes <= 20 * MIB
    hits = pool().hits
    assert block(7) is not None and pool().hits == hits + 1
    misses = pool().misses
    assert block(6) is not None and pool().misses == misses + 1


def test_a_block_beyond_the_limit_is_not_kept():
    memory.buffer_limit(4 * MIB)
    x = block(5)
    del x
    assert pool().retained_bytes <= 4 * MIB


def test_lowering_the_limit_evicts_at_once():
    xs = [block(5) for _ in range(4)]
    del xs
    assert pool().retained_bytes >= 20 * MIB
    assert memory.buffer_limit(8 * MIB) == 8 * MIB
    assert pool().retained_bytes <= 8 * MIB
    memory.buffer_limit(0)
    assert pool().entries == 0 and pool().retained_bytes == 0


def test_a_negative_limit_is_refused():
    with pytest.raises(tfr.errors.ValidationError, match="0 keeps none") as info:
        memory.buffer_limit(-1)
    assert info.value.argument == "nbytes"


def test_training_keeps_memory_flat():
    x = tfr.variable(np.ones((64, 64)))
    seen = []
    for step in range(300):
        loss = (tfr.tanh(x @ x) * x).sum()
        (g,) = tfr.default_runtime().grad(loss, [x])
        x = tfr.variable((x - 1e-3 * g).detach().numpy())
        if step % 100 == 99:
            del loss, g
            seen.append((memory.live()[1], pool().retained_bytes))
    assert seen[1] == seen[2]


def test_the_environment_sets_the_limit():
    code = "from tenferro._core import memory; print(memory.buffer_limit())"
    for text, want in (("12345678", "12345678"), ("", str(2**30))):
        run = subprocess.run([sys.executable, "-c", code], env={"TENFERRO_POOL_BYTES": text, "PATH": ""}, text=True,
                             capture_output=True, check=True)
        assert run.stdout.strip() == want
    run = subprocess.run([sys.executable, "-c", code], env={"TENFERRO_POOL_BYTES": "much", "PATH": ""}, text=True,
                         capture_output=True)
    assert run.returncode and "TENFERRO_POOL_BYTES" in run.stderr
