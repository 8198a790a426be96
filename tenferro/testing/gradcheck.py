"""Compare derivatives of both modes, to any order, with differences of function values."""

from contextlib import nullcontext

import numpy as np

from tenferro._core.eager import EagerTensor
from tenferro._core.handles import constant, variable
from tenferro._core.state import EagerRuntime, open_here

_WIDE = {"f": np.float64, "c": np.complex128}


def check_grads(f, args, order=2, modes=("rev", "fwd"), *, eps=None, atol=None, rtol=None, rng=None, engine=None):
    """Check the derivatives of `f` at `args` against central differences.

    For each inexact argument, along a random direction ``v``: the JVP equals the difference quotient ``dy``;
    the VJP ``g`` of a random cotangent ``c`` satisfies ``<g, v> = <c, dy>`` in the real inner product
    ``<a, b> = Re sum(conj(a) * b)``. Every gradient and tangent has the shape and dtype of its primal. Higher orders
    check the functions ``x, c -> vjp(f, x, c)`` and ``x, v -> jvp(f, x, v)`` in the same way, in every mode: `order` 2
    nests reverse over reverse, forward over reverse, reverse over forward and forward over forward.

    The differences are those of `f` at the arguments in float64 and complex128: single-precision derivatives are
    compared with them at single precision. An `f` that itself goes down to single precision needs an `eps` to match.

    Parameters
    ----------
    f : callable
        Takes eager tensors and returns one or a sequence; outputs that are neither floating nor complex are ignored.
    args : sequence of array_like or EagerTensor
        Floats and complex numbers are varied, in the memory layout that they have; integers and booleans are constants.
    order : int
    modes : sequence of {"rev", "fwd"}
    eps : float, optional
        Step of the differences, 1e-5.
    atol, rtol : float, optional
        Tolerances, 1e-6 for double and 1e-4 for single precision.
    rng : numpy.random.Generator or int, optional
        Source of directions; the same ones every time by default.
    engine : ExecutionEngine, optional
        Computes everything, in a runtime of its own; arguments are uploaded to its memory.

    Returns
    -------
    None

    Raises
    ------
    AssertionError
        Names the nesting, the argument, and what was expected and found.
    ValueError
        There is nothing to check, or an unknown mode.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.testing.check_grads(lambda x: tfr.sum(tfr.sin(x)), ([1.0, 2.0],))
    """
    if not modes or not set(modes) <= {"rev", "fwd"}:
        raise ValueError(f"modes are 'rev' and 'fwd', not {modes!r}")
    if order < 1:
        raise ValueError("order is at least 1")
    point = [_Arg(a, f"args[{i}]") for i, a in enumerate(_sequence(args))]
    if not any(a.varies for a in point):
        raise ValueError("no argument is floating or complex: there is nothing to check")
    rng = np.random.default_rng(0 if rng is None else rng)
    check = _Check(modes, 1e-5 if eps is None else eps, atol, rtol, rng)
    with nullcontext() if engine is None else EagerRuntime().session(engine):
        checked = check.run(_outputs(f), point, order, "")
    if not checked:
        raise ValueError("no output is floating or complex: there is nothing to check")


class _Arg:
    """An argument: the array as given, its double-precision copy, a leaf of either."""

    def __init__(self, value, name):
        self.value = _array(value)
        self.varies = self.value.dtype.kind in _WIDE
        self.wide = self.value.astype(_WIDE[self.value.dtype.kind]) if self.varies else self.value
        self.name = name

    def leaf(self):
        return _placed(self.value, self.varies)

    def wide_leaf(self, step=0.0):
        return _placed(np.asarray(self.wide + step) if self.varies else self.value, self.varies)


class _Check:

    def __init__(self, modes, eps, atol, rtol, rng):
        self.modes, self.eps, self.atol, self.rtol, self.rng = modes, eps, atol, rtol, rng

    def run(self, f, point, order, path):
        """Check f's derivatives and, for a higher order, those of its derivatives; the number of outputs of f."""
        xs = [a.leaf() for a in point]
        ys = f(*xs)
        if not ys:
            return 0
        tangents = [_Arg(self.direction(a.value), f"tangent of {a.name}") if a.varies else None for a in point]
        cotangents = [_Arg(self.direction(_array(y)), f"cotangent[{i}]") for i, y in enumerate(ys)]
        numeric = {i: self.difference(f, point, i, tangents[i].wide) for i, a in enumerate(point) if a.varies}
        if "fwd" in self.modes:
            self.forward(point, xs, ys, tangents, numeric, _nest("fwd", path))
        if "rev" in self.modes:
            self.reverse(point, xs, ys, tangents, cotangents, numeric, _nest("rev", path))
        if order > 1 and "rev" in self.modes:
            self.run(_pullback(f, point), point + cotangents, order - 1, _nest("rev", path))
        if order > 1 and "fwd" in self.modes:
            varied = [t for t in tangents if t is not None]
            self.run(_pushforward(f, point), point + varied, order - 1, _nest("fwd", path))
        return len(ys)

    def direction(self, like):
        v = self.rng.standard_normal(like.shape)
        if like.dtype.kind == "c":
            v = v + 1j * self.rng.standard_normal(like.shape)
        return np.asarray(v, like.dtype)

    def difference(self, f, point, k, v):
        """Derivative of f along direction v of argument k, in double precision."""
        sides = [f(*[a.wide_leaf(sign * self.eps * v if i == k else 0.0) for i, a in enumerate(point)])
                 for sign in (1, -1)]
        return [(_array(p) - _array(m)) / (2 * self.eps) for p, m in zip(*sides, strict=True)]

    def forward(self, point, xs, ys, tangents, numeric, path):
        rt = xs[0].runtime
        for i, a in enumerate(point):
            if not a.varies:
                continue
            found = rt.jvp_optional(ys, [xs[i]], [_placed(tangents[i].value)])
            for j, (t, y) in enumerate(zip(found, ys, strict=True)):
                where = f"{path}: tangent of output {j} along {a.name} {_kind(a.value)}"
                actual = _same_kind(t, y, where)
                atol, rtol = self.tolerances(a.value, actual)
                expected = numeric[i][j]
                if not np.allclose(actual, expected, rtol, atol):
                    self.fail(where, expected, actual, atol, rtol)

    def reverse(self, point, xs, ys, tangents, cotangents, numeric, path):
        rt = xs[0].runtime
        varied = [i for i, a in enumerate(point) if a.varies]
        found = rt.vjp_optional(ys, [xs[i] for i in varied], [_placed(c.value) for c in cotangents])
        for i, g in zip(varied, found, strict=True):
            where = f"{path}: cotangent of {point[i].name} {_kind(point[i].value)}"
            gradient = _same_kind(g, xs[i], where)
            terms = np.conj(gradient) * tangents[i].wide
            expected = sum(_inner(c.wide, d) for c, d in zip(cotangents, numeric[i], strict=True))
            actual = _inner(gradient, tangents[i].wide)
            atol, rtol = self.tolerances(point[i].value, *(c.value for c in cotangents))
            if not abs(actual - expected) <= atol + rtol * max(np.abs(terms).sum(), abs(expected)):
                self.fail(f"{where}, inner product with a direction", expected, actual, atol, rtol)

    def tolerances(self, *arrays):
        single = any(a.dtype.name in ("float32", "complex64") for a in arrays)
        default = 1e-4 if single else 1e-6
        return default if self.atol is None else self.atol, default if self.rtol is None else self.rtol

    def fail(self, where, expected, actual, atol, rtol):
        difference = np.max(np.abs(np.asarray(actual) - expected))
        raise AssertionError(f"{where} is wrong\nexpected (differences with eps={self.eps:g}): {expected}\n"
                             f"actual: {actual}\nlargest difference: {difference:g} (atol={atol:g}, rtol={rtol:g})")


def _pullback(f, point):
    """``x, c -> vjp(f, x, c)``, for the arguments that f depends on."""
    n = len(point)

    def pullback(*xs):
        wrt = [x for x, a in zip(xs, point) if a.varies]
        found = xs[0].runtime.vjp_optional(f(*xs[:n]), wrt, list(xs[n:]))
        return [g for g in found if g is not None]
    return pullback


def _pushforward(f, point):
    """``x, v -> jvp(f, x, v)``, for the outputs that depend on an argument."""
    n = len(point)

    def pushforward(*xs):
        wrt = [x for x, a in zip(xs, point) if a.varies]
        found = xs[0].runtime.jvp_optional(f(*xs[:n]), wrt, list(xs[n:]))
        return [t for t in found if t is not None]
    return pushforward


def _outputs(f):
    def differentiable(*xs):
        return [y for y in _sequence(f(*xs)) if y.dtype.kind in _WIDE]
    return differentiable


def _sequence(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _placed(value, varies=False):
    """A leaf or constant in the memory of the innermost session's engine; on the host in the layout of the array."""
    session = open_here()[2]
    if session is None or session.engine.kind == "host":
        return variable(value, copy=False) if varies else constant(value)
    x = session.constant_from_host(value)
    return session.runtime.variable_from(x) if varies else x


def _array(x):
    """The value of a tensor, tracked or not, in its layout on the host; anything else as an array."""
    if not isinstance(x, EagerTensor):
        return np.asarray(x)
    plain = x.detach()
    return plain.numpy() if plain.value().placement == "cpu" else plain.to_tensor().numpy()


def _same_kind(tensor, primal, where):
    """The value of a gradient or tangent, zeros for None."""
    if tensor is None:
        return np.zeros(primal.shape, primal.dtype)
    if tensor.shape != primal.shape or tensor.dtype != primal.dtype:
        raise AssertionError(f"{where} has shape {tensor.shape} and dtype {tensor.dtype}\n"
                             f"expected those of its primal: {primal.shape} and {primal.dtype}")
    return _array(tensor)


def _kind(a):
    return f"({a.dtype}{list(a.shape)})"


def _nest(mode, path):
    return f"{mode} over {path}" if path else mode


def _inner(a, b):
    return np.sum(np.conj(a) * b).real
