"""Second derivatives of functions of matrices, which the rules of ``tenferro.linalg`` ask for.

Every function takes CuPy's module, then arrays.
"""

from .composites import adj, as_kind, broadened, factored, finite_or, largest, product, tolerance
from .linalg import diagonal, svd


def funm_second(cp, a, e, h, w, v, divided):
    """Second derivative in directions e and h, by second divided differences."""
    finite_or(cp, divided, "(second derivative): f has no finite second derivative at an eigenvalue, or between equal ones")
    vh = adj(cp, v)
    e, h = (product(cp, vh, x, v) for x in (e, h))
    core = sum((divided.swapaxes(-1, -2) * x[..., :, None, :] * y.swapaxes(-1, -2)[..., None, :, :]).sum(axis=-1)
               for x, y in ((e, h), (h, e)))
    return as_kind(product(cp, v, core, vh), e, h, v, divided)


# ---- cofactors -------------------------------------------------------------------------------------------------------

def products_but_three(cp, s):
    """Products of all numbers but three, for places that differ; else 0."""
    n = s.shape[-1]
    one, unit, none = cp.eye(n, dtype="bool"), cp.ones((), dtype=s.dtype), cp.zeros((), dtype=s.dtype)
    out = one[:, None, None, :] | one[None, :, None, :] | one[None, None, :, :]
    p = cp.where(out, unit, s[..., None, None, None, :]).prod(axis=-1)
    return cp.where(one[:, :, None] | one[:, None, :] | one[None, :, :], none, p)


def cofactor_curvature(cp, a, e, t):
    """Second derivative of the conjugated cofactors in two directions; exact for singular matrices.

    For a diagonal matrix s, the third derivative of its determinant in directions e, t and h is the sum, over all
    different i, j, k and permutations m of these, of p[i, j, k] sign(m) e[i, m(i)] t[j, m(j)] h[k, m(k)], with p the
    product of all s but three. What multiplies h, by permutations: identity and exchange of i and j on the diagonal;
    the other exchanges and both cycles off it.
    """
    u, s, vh, phase = factored(cp, a)
    p, left, right = products_but_three(cp, s), adj(cp, u), adj(cp, vh)
    e, t = product(cp, left, e, right), product(cp, left, t, right)
    de, dt = diagonal(e), diagonal(t)

    def cycle(x, y):
        """The sum over j of p[i, j, k] x[i, j] y[j, k], at [k, i]."""
        return (p * x[..., :, :, None] * y[..., None, :, :]).sum(axis=-2).swapaxes(-1, -2)

    def along(d):
        """The sum over j of p[i, j, k] d[j]."""
        return (p * d[..., None, :, None]).sum(axis=-2)

    found = cycle(e, t) + cycle(t, e) - (e * along(dt) + t * along(de)).swapaxes(-1, -2)
    on = (p * (de[..., :, None, None] * dt[..., None, :, None] - (e * t.swapaxes(-1, -2))[..., None])).sum(axis=(-3, -2))
    found = cp.where(cp.eye(a.shape[-1], dtype="bool"), on[..., None, :], found)
    found = cp.conj(found) if found.dtype.kind == "c" else found
    return as_kind(phase[..., None, None] * product(cp, u, found, vh), a)


# ---- low rank --------------------------------------------------------------------------------------------------------

def dilated(cp, u, s, vh, kept):
    """Eigenvectors (both halves), eigenvalues and kept ones of [[0, a], [a.H, 0]]; u and vh are square."""
    v, root = adj(cp, vh), float(0.5 ** 0.5)
    k, m, n = s.shape[-1], u.shape[-1], v.shape[-1]
    none = [cp.zeros((*x.shape[:-1], other), dtype=x.dtype) for x, other in ((u, n - k), (v, m - k))]
    top = cp.concatenate([u[..., :k] * root, u[..., :k] * root, u[..., k:], none[0]], axis=-1)
    bottom = cp.concatenate([v[..., :k] * root, -v[..., :k] * root, none[1], v[..., k:]], axis=-1)
    rest = cp.zeros((*s.shape[:-1], m + n - 2 * k), dtype=s.dtype)
    return top, bottom, cp.concatenate([s, -s, rest], axis=-1), cp.concatenate([kept, kept, rest != 0], axis=-1)


def low_rank_second(cp, a, e, h, kept):
    """Second derivative: that of a function of the Hermitian matrix [[0, a], [a.H, 0]].

    Its divided differences are -y/((x - y)(z - y)) for two kept and one dropped value, x/((x - y)(x - z)) for one kept
    and two dropped ones, and zero for three of a kind.
    """
    top, bottom, w, mask = dilated(cp, *svd(cp, a, op="low_rank", full=True), kept)
    scale = largest(cp, w)
    w, one = w / scale, mask.astype(w.dtype)
    pairs = mask[..., :, None] & cp.logical_not(mask)[..., None, :]
    near = broadened(cp, w[..., :, None] - w[..., None, :], tolerance(w.shape[-1], w.dtype))
    gap = cp.where(pairs, near, cp.zeros((), dtype=w.dtype))
    parts = [product(cp, adj(cp, top), x, bottom) for x in (e, h)]
    e, h = (x + adj(cp, x) for x in parts)
    x, y = w * one, w * (1 - one)
    core = second_core(cp, e, h, gap, x, y, one) + second_core(cp, h, e, gap, x, y, one)
    return as_kind(product(cp, top, core / scale[..., None], adj(cp, bottom)), a, *parts)


def second_core(cp, e, h, gap, x, y, one):
    """Sum over k of f[w_i, w_k, w_j] e[i, k] h[k, j]; x holds kept values, y dropped ones."""
    def rows(z):
        return z[..., :, None]

    def cols(z):
        return z[..., None, :]

    mm, back, dropped = cp.matmul, gap.swapaxes(-1, -2), 1 - one
    ekk, hkk = (z * rows(one) * cols(one) for z in (e, h))
    edd, hdd = (z * rows(dropped) * cols(dropped) for z in (e, h))
    ekd, edk, hkd, hdk = gap * e, back * e, gap * h, back * h
    return (-gap * mm(ekk, hkd) * cols(y) - mm(ekd * cols(y), hdk) - rows(y) * back * mm(edk, hkk)
            + rows(x) * gap * mm(ekd, hdd) + mm(edk * cols(x), hkd) + back * mm(edd, hdk) * cols(x))


SECOND = {f.__name__: f for f in (funm_second, cofactor_curvature, low_rank_second)}
"""Operation -> function."""
