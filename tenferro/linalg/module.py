"""The extension module: operations with their shapes, dtypes, executors and rules."""

from math import prod

import numpy as np

from . import common, composites, factors, host, host_factors, least_squares, reflectors, solving, spectra, triangles


def same(x, *others, **params):
    return x


def solution(a, b, *factors, **params):
    return b if a[:-2] == b[:-2] else (*np.broadcast_shapes(a[:-2], b[:-2]), *b[-2:])


def product_type(a, b, *factors, **params):
    return a if a == b else np.result_type(a, b)


def real(t, **params):
    return np.empty(0, t).real.dtype


def packed(a, **params):
    count = prod(a[:-2])
    return [(count, *a[-2:]), (count, a[-1])]


def stack_shape(a, *factors):
    return a[:-2]


def svd_shape(a, **params):
    *batch, m, n = a
    k = min(m, n)
    return [(*batch, m, k), (*batch, k), (*batch, k, n)]


def svd_full_shape(a):
    *batch, m, n = a
    return [(*batch, m, m), (*batch, min(m, n)), (*batch, n, n)]


def svd_full(a):
    return host.svd(a, full_matrices=True)


def qr_shape(a):
    *batch, m, n = a
    k = min(m, n)
    return [(*batch, m, k), (*batch, k, n)]


def lu_shape(a):
    return [a[:-1], *qr_shape(a)]


# name: shape rule, dtype rule, executor
OPERATIONS = {
    "lu_factor": (packed, lambda t, **params: [t, np.dtype(np.intc)], host.lu_factor),
    "lu_solve": (solution, product_type, host.lu_solve),
    "triangular_solve": (solution, product_type, host.triangular_solve),
    "cholesky": (same, same, host.cholesky),
    "inv": (same, same, host.inv),
    "det": (stack_shape, same, host.det),
    "slogdet": (lambda a, *factors: [a[:-2], a[:-2]], lambda t, *factors: [t, real(t)], host.slogdet),
    "cofactor": (same, same, host.cofactor),
    "cofactor_change": (same, same, host.cofactor_change),
    "cofactor_curvature": (same, same, host_factors.cofactor_curvature),
    "eigh": (lambda a, **params: [a[:-1], a], lambda t, **params: [real(t), t], host.eigh),
    "eigvalsh": (lambda a: a[:-1], real, host.eigvalsh),
    "svd": (svd_shape, lambda t, **params: [t, real(t), t], host.svd),
    "svd_full": (svd_full_shape, lambda t: [t, real(t), t], svd_full),
    "svdvals": (lambda a, **params: (*a[:-2], min(a[-2:])), real, host.svdvals),
    "qr": (qr_shape, lambda t: [t, t], host.qr),
    "null_space": (lambda a: (*a[:-1], a[-2] - a[-1]), same, host_factors.null_space),
    "lu": (lu_shape, lambda t: [np.dtype(np.int64), t, t], host_factors.lu),
    "permutation": (lambda p, **params: (*p, p[-1]), lambda t, single: np.dtype("f4" if single else "f8"),
                    host_factors.permutation),
    "householder_product": (same, same, host_factors.householder_product),
    "lstsq_solve": (lambda a, b, *factors: (*np.broadcast_shapes(a[:-2], b[:-2]), a[-1], b[-1]), product_type,
                    least_squares.lstsq_solve),
    "pinv": (lambda a, **params: (*a[:-2], a[-1], a[-2]), same, host.pinv),
    "eig": (lambda a, **params: [a[:-1], a], lambda t, **params: [host.complexes(t)] * 2, host.eig),
    "eigvals": (lambda a: a[:-1], host.complexes, host.eigvals),
    "expm": (same, same, host.expm),
    **composites.OPERATIONS,
}

RULES = {**solving.RULES, **spectra.RULES, **factors.RULES, **triangles.RULES, **reflectors.RULES,
         **composites.RULES, **least_squares.RULES}


class LinalgModule:
    """Linear algebra on host memory by LAPACK."""

    module_id = common.MODULE_ID

    def configure(self, registrar):
        for name, (shape, dtype, executor) in OPERATIONS.items():
            registrar.operation(name, shape, dtype)
            registrar.executor(name, "host", host.owned(executor))
            if name in RULES:
                vjp, jvp = RULES[name]
                registrar.rule(name, vjp=vjp, jvp=jvp)


common.MODULE.append(LinalgModule())
