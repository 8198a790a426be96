"""Random arguments for the functions of the array API standard, and comparison with array-api-strict."""

import math

import array_api_strict as strict
import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
from support import COMPLEX_DTYPES, INT_DTYPES, REAL_DTYPES

import tenferro as tfr

BOOL = (np.dtype("?"),)
KINDS = {"?": BOOL, "i": INT_DTYPES, "f": REAL_DTYPES, "c": COMPLEX_DTYPES}
SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 0.5, -2.0, 3.0, 1e-30, -1e30)


class Draw:
    """Arguments drawn from hypothesis' data; kinds are letters: ``?`` bool, ``i`` integers, ``f`` real, ``c`` complex."""

    def __init__(self, data):
        self.data = data

    def one(self, strategy):
        return self.data.draw(strategy)

    def choice(self, *options):
        return self.one(st.sampled_from(options))

    def integer(self, low, high):
        return self.one(st.integers(low, high))

    def flag(self):
        return self.one(st.booleans())

    def dtype(self, kinds):
        return self.choice(*[t for k in kinds for t in KINDS[k]])

    def shape(self, least=0, most=3, side=0):
        return self.one(hnp.array_shapes(min_dims=least, max_dims=most, min_side=side, max_side=3))

    def elements(self, dtype, special=True, low=-3, high=3):
        if dtype.kind == "b":
            return st.booleans()
        if dtype.kind in "iu":
            ends = np.iinfo(dtype)
            near = st.integers(max(low, int(ends.min)), high)
            return near | st.integers(int(ends.min), int(ends.max)) if special else near
        width = dtype.itemsize * 8 // (2 if dtype.kind == "c" else 1)
        real = st.floats(low, high, width=width).filter(lambda v: v == 0 or abs(v) > 1e-30)
        if special:
            real = st.sampled_from([float(np.float32(v)) for v in SPECIAL]) | real
        return real if dtype.kind == "f" else st.builds(complex, real, real)

    def array(self, kinds="?ifc", shape=None, dtype=None, least=0, most=3, side=0, **values):
        dtype = self.dtype(kinds) if dtype is None else dtype
        shape = self.shape(least, most, side) if shape is None else shape
        return self.one(hnp.arrays(dtype, shape, elements=self.elements(dtype, **values)))

    def pair(self, kinds, **values):
        """Two arrays that promote and broadcast, or an array and a Python scalar."""
        dtype = self.dtype(kinds)
        x = self.array(dtype=dtype, **values)
        if self.integer(0, 3) == 0:
            scalar = self.one(self.elements(dtype, **values))
            return self.choice((x, scalar), (scalar, x))
        other = self.dtype([k for k in KINDS if dtype in KINDS[k]])
        if {dtype.kind, other.kind} == {"i", "u"}:
            other = dtype
        shape = tuple(1 if self.integer(0, 2) == 0 else n for n in x.shape)
        return x, self.array(dtype=other, shape=shape[self.integer(0, len(shape)):], **values)

    def axis(self, x, none=False):
        return None if none and self.integer(0, 3) == 0 else self.integer(-x.ndim, x.ndim - 1)

    def axes(self, x):
        """None, one axis, or several."""
        if x.ndim == 0 or self.integer(0, 2) == 0:
            return None
        if self.integer(0, 1):
            return self.axis(x)
        return tuple(self.one(st.lists(st.integers(0, x.ndim - 1), unique=True)))

    def matrix(self, kinds="fc", square=False, least=0):
        """Stacks of well-conditioned matrices."""
        m = self.integer(max(1, least), 3)
        n = m if square else self.integer(max(1, least), 3)
        rng = np.random.default_rng(self.integer(0, 1000))
        shape = (*self.choice((), (2,), (0,), (2, 1)), m, n)
        a = rng.uniform(-1, 1, shape) + 2 * np.eye(m, n)
        dtype = self.dtype(kinds)
        return (a + 0.5j * rng.uniform(-1, 1, shape) if dtype.kind == "c" else a).astype(dtype)


def arrays_of(xp, x):
    """Arguments with every NumPy array replaced by one of a namespace."""
    if isinstance(x, (np.ndarray, np.generic)):
        return xp.asarray(np.asarray(x))
    if isinstance(x, np.dtype):
        return getattr(xp, str(x))
    if isinstance(x, (list, tuple)) and any(isinstance(y, np.ndarray) for y in x):
        return type(x)(arrays_of(xp, y) for y in x)
    return x


def run(xp, name, args, kwargs):
    f = xp
    for part in name.split("."):
        f = getattr(f, part)
    return f(*[arrays_of(xp, a) for a in args], **{k: arrays_of(xp, a) for k, a in kwargs.items()})


def same(ours, theirs, loose=1.0):
    """Shapes and dtypes are equal, values to rounding, zeros of real numbers with their signs."""
    if isinstance(theirs, (tuple, list)):
        assert isinstance(ours, tuple)
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            same(a, b, loose)
        return
    a, b = ours.numpy(), np.from_dlpack(theirs)
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    if b.dtype.kind not in "fc":
        np.testing.assert_array_equal(a, b)
        return
    eps = float(np.finfo(b.dtype).eps)
    np.testing.assert_allclose(a, b, rtol=30 * eps * loose, atol=30 * eps * loose)
    if b.dtype.kind == "f":
        zero = b == 0
        assert loose > 1 or np.array_equal(np.signbit(a[zero & (a == 0)]), np.signbit(b[zero & (a == 0)]))


def check(name, *args, loose=1.0, **kwargs):
    """Compare one call with array-api-strict."""
    with np.errstate(all="ignore"):
        theirs = run(strict, name, args, kwargs)
        same(run(tfr, name, args, kwargs), theirs, loose)
