"""Rules of spectral decompositions: scale-invariant, finite where values coincide.

Gaps that are within rounding of zero, relative to the largest value, are broadened.
"""

from functools import lru_cache

import numpy as np

import tenferro as tfr

from ..errors import LinAlgError, UnsupportedAdRuleError
from . import _lapack, _routines, gauge
from .common import adj, call, cols, diag, diag_matrix, eps, herm, mm, plus, reciprocal, rows, scale_of, skew, value
from .solving import factored, lu_solve


def tolerance(a):
    return 10 * max(a.shape[-2:]) * eps(a)


def gaps(w, a):
    """1/(w[j] - w[i]), zero on the diagonal."""
    on, off = diagonal_masks(w.shape[-1], w.dtype)
    scale = rows(scale_of(w))
    return reciprocal(cols(w) - rows(w) + scale * on, scale, tolerance(a)) * off


@lru_cache(64)
def diagonal_masks(n, dtype):
    """Ones on the diagonal of a matrix, and ones everywhere else."""
    on = np.eye(n, dtype=np.empty(0, dtype).real.dtype)
    return on, 1 - on


def eigh_vjp(g, out, a, op="eigh"):
    w, v = out
    gw, gv = g
    if gv is None:
        return herm(mm(v * cols(gw), adj(v)))
    gauge.check(op, (v, gv))
    core = gaps(w, a) * mm(adj(v), gv)
    return herm(mm(v, core if gw is None else core + diag_matrix(gw), adj(v)))


def eigh_jvp(tangents, out, a, op="eigh"):
    w, v = out
    m = mm(adj(v), herm(tangents[0]), v)
    return tfr.real(diag(m)), mm(v, gaps(w, a) * m)


# With P = U.H dA V = H + K (Hermitian and anti-Hermitian part): U.H dU = H/(s[j] - s[i]) + K/(s[j] + s[i]) and
# V.H dV = H/(s[j] - s[i]) - K/(s[j] + s[i]). On the diagonal, H is ds and K/(2 s) turns phases; nothing cancels.


def svd_parts(out):
    u, s, vh = out
    return u, s, adj(vh)


def inverse(s, a):
    return cols(reciprocal(s, scale_of(s), tolerance(a)))


def sums(s, a):
    return reciprocal(cols(s) + rows(s), rows(scale_of(s)), tolerance(a))


def outside(x, u):
    """The part of x that is orthogonal to the columns of u; None where these span everything."""
    return None if u.shape[-1] == u.shape[-2] else x - mm(u, mm(adj(u), x))


def svd_vjp(g, out, a, op="svd"):
    u, s, v = svd_parts(out)
    gu, gs, gvh = g
    if gu is None and gvh is None:
        return mm(u * cols(gs), adj(v))
    gv = None if gvh is None else adj(gvh)
    gauge.check(op, (u, gu), (v, gv))
    ku = None if gu is None else skew(mm(adj(u), gu))
    kv = None if gv is None else skew(mm(adj(v), gv))
    core = gaps(s, a) * plus(ku, kv) + sums(s, a) * plus(ku, None if kv is None else -kv)
    ga = mm(u, core if gs is None else core + diag_matrix(gs), adj(v))
    left = None if gu is None else outside(gu, u)
    right = None if gv is None else outside(gv, v)
    if left is not None:
        ga = ga + mm(left * inverse(s, a), adj(v))
    if right is not None:
        ga = ga + mm(u, adj(right * inverse(s, a)))
    return ga


def svd_jvp(tangents, out, a, op="svd"):
    u, s, v = svd_parts(out)
    t = tangents[0]
    p = mm(adj(u), t, v)
    h, k = gaps(s, a) * herm(p), sums(s, a) * skew(p)
    du, dv = mm(u, h + k), mm(v, h - k)
    left, right = outside(mm(t, v), u), outside(mm(adj(t), u), v)
    if left is not None:
        du = du + left * inverse(s, a)
    if right is not None:
        dv = dv + right * inverse(s, a)
    return du, tfr.real(diag(p)), adj(dv)


def null_space(transform):
    def rule(*args, **params):
        raise UnsupportedAdRuleError("svd: the null space in full_matrices=True has no derivative, because its basis "
                                     "is arbitrary; use full_matrices=False", op="svd", transform=transform)
    return rule


def eigenvector_factors(v, op):
    """LU factors of eigenvectors, which span the space unless the matrix is defective, to rounding."""
    lu, piv = factored(v, op, False)
    x = value(v)
    rcond = _lapack.gecon(value(lu), np.abs(x).sum(-2).max(-1, initial=0).reshape(-1))
    bad = np.flatnonzero(rcond <= x.shape[-1] * eps(v))
    if bad.size:
        where = _routines.place(bad[0], x.shape[:-2])
        raise LinAlgError(f"{op} (derivative): the matrix is defective (to rounding){where}, where eigenvalues and "
                          "eigenvectors have no derivative; use functions of the matrix itself, such as traces of powers",
                          op=op)
    return lu, piv


def eig_normal(d, v):
    """The part of a change of the eigenvectors that keeps their norm."""
    return d - v * cols(tfr.sum(tfr.real(tfr.conj(v) * d), axis=-2))


def eig_vjp(g, out, a, op="eig"):
    w, v = out
    gw, gv = g
    factors = eigenvector_factors(v, op)
    if gv is not None:
        gauge.check(op, (v, gv))
    core = None if gv is None else tfr.conj(gaps(w, a)) * mm(adj(v), eig_normal(gv, v))
    core = plus(core, None if gw is None else diag_matrix(gw))
    return mm(lu_solve(v, core, *factors, True), adj(v))


def eig_jvp(tangents, out, a, op="eig"):
    w, v = out
    x = lu_solve(v, mm(tangents[0], v), *eigenvector_factors(v, op))
    return diag(x), eig_normal(mm(v, gaps(w, a) * x), v)


# Operations that computed values alone decompose again, with vectors. Only the tangents of values are computed.


def values_vjp(name, index, vjp, count, own):
    def rule(g, values, a, op=own):
        return vjp([g if k == index else None for k in range(count)], call(name, a, op=op), a, op)
    return rule


def column_products(x, y):
    return tfr.sum(tfr.real(tfr.conj(x) * y), axis=-2)


def eigvalsh_jvp(tangents, values, a):
    v = call("eigh", a, op="eigvalsh")[1]
    return column_products(v, mm(herm(tangents[0]), v))


def svdvals_jvp(tangents, values, a, op="svdvals"):
    u, _, v = svd_parts(call("svd", a, op=op))
    return column_products(u, mm(tangents[0], v))


def eigvals_jvp(tangents, values, a, op="eigvals"):
    v = call("eig", a, op=op)[1]
    return diag(lu_solve(v, mm(tangents[0], v), *eigenvector_factors(v, op)))


RULES = {
    "eigh": (eigh_vjp, eigh_jvp),
    "eigvalsh": (values_vjp("eigh", 0, eigh_vjp, 2, "eigvalsh"), eigvalsh_jvp),
    "svd": (svd_vjp, svd_jvp),
    "svdvals": (values_vjp("svd", 1, svd_vjp, 3, "svdvals"), svdvals_jvp),
    "svd_full": (null_space("vjp"), null_space("jvp")),
    "eig": (eig_vjp, eig_jvp),
    "eigvals": (values_vjp("eig", 0, eig_vjp, 2, "eigvals"), eigvals_jvp),
}
