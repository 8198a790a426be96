"""The operations of the composites: shapes, dtypes, executors and rules."""

import numpy as np

from . import composite_host as run
from . import matrix_functions, polar_factors, sylvester, truncation
from .composite_host import with_kind


def real(t):
    return np.empty(0, t).real.dtype


def first(x, *rest, **params):
    return x


def svd_shapes(a, **params):
    *batch, m, n = a
    k = min(m, n)
    return [(*batch, m, k), (*batch, k), (*batch, k, n)]


def second_dtype(a, e, h, w, v, divided):
    return with_kind(with_kind(np.result_type(e, h), a), divided)


# name: shape rule, dtype rule, executor
OPERATIONS = {
    "thin_svd": (svd_shapes, lambda t, **params: [t, real(t), t], run.thin_svd),
    "hermitian_eigh": (lambda a, **params: [a[:-1], a], lambda t, **params: [real(t), t], run.hermitian_eigh),
    "polar": (first, first, run.polar),
    "hermitian_sylvester": (lambda p, q, w, v: q, lambda p, q, w, v: np.result_type(p, q), run.hermitian_sylvester),
    "hermitian_divide": (lambda b, p, w, v: b, lambda b, p, w, v: np.result_type(p, b), run.hermitian_divide),
    "funm": (first, lambda a, w, v, values, **params: with_kind(a, values), run.funm),
    "funm_change": (first, lambda a, e, w, v, d, **params: with_kind(with_kind(e, a), d), run.funm_change),
    "funm_second": (first, second_dtype, run.funm_second),
    "sqrtm": (first, first, run.sqrtm),
    "sylvester": (lambda a, b, q, **params: q, lambda a, b, q, **params: q, run.sylvester),
    "low_rank": (first, first, run.low_rank),
    "low_rank_change": (first, lambda a, e, *rest: np.result_type(a, e), run.low_rank_change),
    "low_rank_second": (first, lambda a, e, h, kept: np.result_type(a, e, h), run.low_rank_second),
    "sketch_rank": (lambda a, omega: (), lambda a, omega: np.dtype(np.int64), run.sketch_rank),
}

RULES = {**polar_factors.RULES, **sylvester.RULES, **matrix_functions.RULES, **truncation.RULES}
