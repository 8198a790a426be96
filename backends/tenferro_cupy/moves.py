"""Operations that move elements: casts, windows, joins, triangles, gathers.

A basic index is told as ``index``, (start, step, count) for each axis of the indexed array, and ``source``: for each axis of
the part, the axis that it comes from, or -1 for a new one.
"""

from math import prod

import numpy as np

from tenferro.errors import AxisError, ValidationError


def window(index):
    """A basic index as slices."""
    cut = []
    for start, step, count in index:
        stop = start + count * step if count > 1 else start + count
        cut.append(slice(start, None if stop < 0 else stop, step if count > 1 else 1))
    return tuple(cut)


class Moves:
    """Operations that compute nothing."""

    def cast(self, x, *, dtype):
        """x in another dtype, as NumPy casts; of complex numbers, real dtypes keep the real part."""
        if x.dtype.kind == "c" and dtype.kind == "b":
            return x != 0
        if x.dtype.kind == "c" and dtype.kind in "iuf":
            x = self.cupy.real(x)
        return x.astype(dtype) if x.dtype != dtype else x.copy(order="C")

    def convert(self, x, *, dtype):
        """A cast that refuses to lose information. It waits for the device, to see whether it does."""
        bad = self._unfit(x, dtype)
        if bad is not None and bool(self.cupy.any(bad)):
            value = x.reshape(-1)[int(self.cupy.argmax(bad.reshape(-1)))].get()
            raise ValidationError(f"convert: {value} of {x.dtype} cannot be represented in {dtype}; use cast() to lose "
                                  "information on purpose", op="convert", argument="x")
        return self.cast(x, dtype=dtype)

    def _unfit(self, x, dtype):
        """Which elements a dtype cannot hold; None if it holds everything. Rounding to single precision is allowed."""
        cp = self.cupy
        if np.can_cast(x.dtype, dtype) and x.dtype.kind in "bfc":
            return None
        if x.dtype.kind == "c":
            bad = self._unfit(cp.real(x), self._parts(dtype))
            imag = cp.imag(x)
            more = self._unfit(imag, self._parts(dtype)) if dtype.kind == "c" else imag != 0
            return more if bad is None else bad if more is None else bad | more
        if dtype.kind in "fc":
            return self._inexactly(x, self._parts(dtype))
        return self._beyond(x, dtype)

    @staticmethod
    def _parts(dtype):
        """The dtype of real and imaginary parts."""
        return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype

    def _inexactly(self, x, dtype):
        """Where real numbers do not fit a floating dtype: integers exactly, others unless they overflow."""
        cp = self.cupy
        if x.dtype.kind == "f":
            return cp.isinf(x.astype(dtype)) & cp.isfinite(x)
        if x.dtype.itemsize < dtype.itemsize:
            return None
        y = x.astype(dtype)
        end = float(2.0 ** (x.dtype.itemsize * 8 - (x.dtype.kind == "i")))
        inside = y < dtype.type(end)
        back = cp.where(inside, y, cp.zeros_like(y)).astype(x.dtype)
        return (back != x) | cp.logical_not(inside)

    def _beyond(self, x, dtype):
        """Where real numbers are no integers of a dtype."""
        cp = self.cupy
        low, high = (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
        if x.dtype.kind == "f":
            inside = (x >= x.dtype.type(low)) & (x.astype("float64") < float(high + 1)) & (x == cp.trunc(x))
            return cp.logical_not(inside)
        own = np.iinfo(x.dtype) if x.dtype.kind != "b" else None
        if own is None or (own.min >= low and own.max <= high):
            return None
        return (x < x.dtype.type(max(low, own.min))) | (x > x.dtype.type(min(high, own.max)))

    def copy(self, x):
        """x in fresh memory."""
        return x.copy(order="C")

    # ---- windows

    def _put(self, y, x, index, source):
        """Write x into the part of y that an index selects."""
        x = self.cupy.broadcast_to(x, tuple(1 if k < 0 else index[k][2] for k in source))
        y[window(index)] = x.reshape(tuple(n if k in source else 1 for k, (_, _, n) in enumerate(index)))
        return y

    def unslice(self, x, *, index, source, shape):
        """Zeros in which x is the part that an index selects."""
        return self._put(self.cupy.zeros(shape, dtype=x.dtype), x, index, source)

    def index_set(self, x, value, *, index, source):
        """``y = copy(x); y[index] = value``."""
        return self._put(x.copy(order="C"), value, index, source)

    def _window_positions(self, starts, outer, inner):
        """Row-major positions of a window in an array, whose starts are moved inside; nobody waits for their values."""
        cp, rank = self.cupy, len(outer)
        starts, flat = starts.astype("int64"), cp.zeros((1,) * rank, dtype="int64")
        for k, (n, m) in enumerate(zip(outer, inner, strict=True)):
            first = cp.minimum(cp.maximum(starts[k], 0), n - m)
            here = (first + cp.arange(m, dtype="int64")).reshape((1,) * k + (m,) + (1,) * (rank - k - 1))
            flat = flat * n + here
        return flat

    def dynamic_slice(self, x, starts, *, shape):
        """The part of x of a shape at starts that are values."""
        if not shape:
            return x
        return self.cupy.take(x.reshape(-1), self._window_positions(starts, x.shape, shape)).reshape(shape)

    def dynamic_unslice(self, x, starts, *, shape):
        """Zeros in which x is the part at starts that are values."""
        if not shape:
            return x
        y = self.cupy.zeros((prod(shape),), dtype=x.dtype)
        if x.size:
            y[self._window_positions(starts, shape, x.shape).reshape(-1)] = x.reshape(-1)
        return y.reshape(shape)

    def pad(self, x, value, *, widths):
        """x with as many copies of a value before and after it along each axis."""
        y = self.cupy.empty(tuple(n + a + b for n, (a, b) in zip(x.shape, widths, strict=True)), dtype=x.dtype)
        y[...] = value.astype(x.dtype)
        y[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True))] = x
        return y

    def concatenate(self, *arrays, axis, stacked, dtype):
        """The arrays one after the other along an axis, which is new if they are stacked."""
        arrays = [x.astype(dtype, copy=False) for x in arrays]
        return (self.cupy.stack if stacked else self.cupy.concatenate)(arrays, axis=axis)

    # ---- matrices

    def tril(self, x, *, k):
        """Zero above the k-th diagonal of the last two axes."""
        return self.cupy.tril(x, k=max(-x.shape[-2] - 1, min(k, x.shape[-1] + 1)))

    def triu(self, x, *, k):
        """Zero below the k-th diagonal of the last two axes."""
        return self.cupy.triu(x, k=max(-x.shape[-2] - 1, min(k, x.shape[-1] + 1)))

    def embed_diag(self, x, *, offset, axes, shape):
        """Zeros whose diagonal over two axes is the last axis of x."""
        first, second = axes
        n, m = shape[first], shape[second]
        start, count = (offset if offset >= 0 else -offset * m), x.shape[-1]
        y = self.cupy.zeros((*x.shape[:-1], n * m), dtype=x.dtype)
        if count:
            y[..., start:start + (count - 1) * (m + 1) + 1:m + 1] = x
        left = [k for k in range(len(shape)) if k not in axes]
        order = [0] * len(shape)
        for place, k in enumerate((*left, first, second)):
            order[k] = place
        return y.reshape((*x.shape[:-1], n, m)).transpose(tuple(order))

    # ---- index arrays

    def take(self, x, indices, *, position, axes):
        """Elements of some axes together, in row-major order; the axes of the indices stand at a position among the others.
        Positions out of range stand for the nearest end."""
        left = [k for k in range(x.ndim) if k not in axes]
        before, after = [tuple(x.shape[k] for k in some) for some in (left[:position], left[position:])]
        y = x.transpose((*left[:position], *axes, *left[position:]))
        size = prod(x.shape[k] for k in axes)
        return self.cupy.take(y.reshape((*before, size, *after)), self._clamped(indices, size, "take"), axis=len(before))

    def take_along_axis(self, x, indices, *, axis):
        """``y[.., i, ..] = x[.., indices[.., i, ..], ..]``; positions out of range stand for the nearest end."""
        return self.cupy.take_along_axis(x, self._clamped(indices, x.shape[axis], "take_along_axis"), axis)

    def flat_index(self, *indices, sizes):
        """Row-major position from an index for each axis; indices out of range stand for the nearest end."""
        y = 0
        for i, size in zip(indices, sizes, strict=True):
            y = y * size + self._clamped(i, size, "index")
        return y

    def _clamped(self, indices, size, op):
        """Indices from 0 on as int64; what is out of range is moved to the nearest end, so that nobody waits to see them."""
        if size == 0 and indices.size:
            raise AxisError(f"{op}: nothing can be taken from an empty axis", op=op, argument="indices",
                            expected="no indices", actual=tuple(indices.shape))
        kernel = self.kernels.get("within")
        if kernel is None:
            kernel = self.kernels["within"] = self.cupy.ElementwiseKernel(
                "int64 x, int64 length", "int64 y",
                "const long long k = x < 0 ? x + length : x; y = k < 0 ? 0 : k < length ? k : length - 1;",
                name="tenferro_within")
        return kernel(indices.astype("int64", copy=False), size)
