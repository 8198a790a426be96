"""Elementwise functions over vectors that are long enough for vector instructions, with strides of every kind."""

import itertools

import numpy as np
import pytest
from support import ALL_DTYPES, const

from tenferro import operations
from tenferro._core.optable import ROWS
from tenferro._ops.callables import TABLE

N_IN = {row[0]: row[1] for row in ROWS}
SHAPES = [(71,), (5, 67), (67, 5), (3, 37, 2)]


def spread(step):
    def layout(a):
        base = np.zeros((abs(step) * a.shape[0], *a.shape[1:]), a.dtype)
        base[::step] = a
        return base[::step]

    return layout


LAYOUTS = {"as it is": np.array, "reversed": spread(-1), "gaps": spread(3), "gaps, reversed": spread(-2),
           "columns": np.asfortranarray}  # fmt: skip


def values(rng, shape, dtype):
    """Numbers of every kind, infinities and NaN among them."""
    a = rng.uniform(0 if dtype.kind in "iu" else -3, 3, shape)
    if dtype.kind == "c":
        a = a + 1j * rng.uniform(-3, 3, shape)
    a = np.asarray(a * (20 if dtype.kind in "iu" else 1)).astype(dtype)
    if dtype.kind in "fc":
        flat = a.reshape(-1)
        flat[::7], flat[3::11], flat[5::13] = np.nan, np.inf, -np.inf
    return a


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("op", "name"), [row[:2] for row in TABLE], ids=[row[1] for row in TABLE])
def test_strides_do_not_change_values(op, name):
    f, rng = operations.OPERATIONS[name], np.random.default_rng(0)
    done = 0
    for dtype, shape in itertools.product(ALL_DTYPES, SHAPES):
        arrays = [values(rng, shape, dtype) for _ in range(N_IN[op])]
        try:
            expected = f(*[const(a) for a in arrays]).numpy()
        except TypeError:                       # not defined for this dtype
            continue
        rtol = 0 if expected.dtype.kind not in "fc" else 1e-5 if expected.real.dtype == "f4" else 1e-13
        for layouts in itertools.product(LAYOUTS, repeat=N_IN[op]):
            found = f(*[const(LAYOUTS[k](a)) for k, a in zip(layouts, arrays, strict=True)]).numpy()
            np.testing.assert_allclose(found, expected, rtol, err_msg=f"{dtype} {shape} {layouts}")
            done += 1
    assert done >= 2 * len(SHAPES) * len(LAYOUTS)


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_classification(name):
    rng = np.random.default_rng(1)
    for dtype, layout in itertools.product(ALL_DTYPES, LAYOUTS.values()):
        a = values(rng, (67, 5), dtype)
        np.testing.assert_array_equal(operations.OPERATIONS[name](const(layout(a))).numpy(), getattr(np, name)(a))
