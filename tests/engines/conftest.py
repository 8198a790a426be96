"""Every gradient check of these tests also checks that a derivative program gives the bits of the direct sweep.

``TENFERRO_TEST_ENGINE=numpy``, ``array_api_strict`` or ``torch`` runs them on the engine over that library.
"""

import numpy as np
import pytest
from namespaces import engine_under_test, without_own_kernels
from support import nothing_left_open  # noqa: F401

import tenferro as tfr
from tenferro._core.handles import constant, variable
from tenferro.testing import check_grads

ENGINE = engine_under_test()
if ENGINE is not None:
    tfr.set_default_engine(ENGINE)


def pytest_collection_modifyitems(items):
    if ENGINE is not None:
        items[:] = without_own_kernels(items)


def perturbed(value, k):
    """The argument with other numbers in the same layout; integers and booleans as they are."""
    a = np.asarray(value.detach().numpy() if isinstance(value, tfr.EagerTensor) else value)
    if a.dtype.kind not in "fc":
        return a
    b = np.array(a, order="K", copy=True)
    b *= 1 + k / 1024
    return b


def derivatives(f, args):
    """VJP and JVP of fixed cotangents and tangents, untracked, as arrays."""
    rt = tfr.default_runtime()
    tensors = [variable(a, copy=False) if a.dtype.kind in "fc" else constant(a, copy=False) for a in args]
    leaves = [t for t in tensors if t.tracks_grad]
    out = f(*tensors)
    outs = [y for y in (out if isinstance(out, (list, tuple)) else [out]) if y.tracks_grad]
    if not outs:
        return []
    rng = np.random.default_rng(1)
    seeds = [np.asarray(rng.standard_normal(y.shape), y.dtype) for y in outs]
    tangents = [np.asarray(rng.standard_normal(x.shape), x.dtype) for x in leaves]
    with rt.no_grad():
        found = rt.vjp_optional(outs, leaves, seeds) + rt.jvp_optional(outs, leaves, tangents)
    return [None if t is None else t.numpy() for t in found]


def check_programs(f, args):
    rt = tfr.default_runtime()
    rt.clear_caches()
    before = rt.cache_stats().ad_transforms.hits
    points = [[perturbed(a, k) for a in args] for k in range(4)]
    found = [derivatives(f, point) for point in points]
    assert not found[0] or rt.cache_stats().ad_transforms.hits == before + 4
    for got, point in zip(found, points, strict=True):
        rt.clear_caches()
        for g, e in zip(got, derivatives(f, point), strict=True):
            assert (g is None) == (e is None)
            if g is not None:
                np.testing.assert_array_equal(g, e, err_msg="a derivative program differs from the direct sweep")


@pytest.fixture(autouse=True)
def programs_too(request, monkeypatch):
    if getattr(request.module, "check_grads", None) is check_grads:
        def checked(f, args, *rest, **options):
            check_grads(f, args, *rest, **options)
            check_programs(f, args)

        monkeypatch.setattr(request.module, "check_grads", checked)
