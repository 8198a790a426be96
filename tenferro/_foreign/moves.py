"""Operations that move elements: casts, windows, joins, triangles, gathers and scatters.

A basic index is told as ``index``, (start, step, count) for each axis of the indexed array, and ``source``: for each axis of
the part, the axis that it comes from, or -1 for a new one.
"""

from math import prod

from .methods import composed, left_to_host


def _window(index):
    """Slices with positive steps, and the axes whose steps are negative."""
    cut, turned = [], []
    for k, (start, step, count) in enumerate(index):
        if step < 0 and count > 1:
            turned.append(k)
            start, step = start + (count - 1) * step, -step
        step = step if count > 1 else 1
        cut.append(slice(start, start + (count - 1) * step + 1, step))
    return tuple(cut), tuple(turned)


WRITING = ("unslice", "index_set", "dynamic_unslice", "pad", "embed_diag")
"""The methods that write into parts of fresh arrays, which not every library allows."""


class Moves:
    """Operations that compute nothing."""

    @composed("bifc")
    def cast(self, x, *, dtype):
        """x in another dtype. Fractions to integers and complex numbers to real ones, which the standard leaves open, are the
        host's."""
        have = self.kind_of(x)
        if (have == "c" and dtype.kind != "c") or (have == "f" and dtype.kind in "iu"):
            return NotImplemented
        return self.xp.astype(x, self.dtype_of(dtype))

    @left_to_host
    def convert(self, x, *, dtype):
        """A cast that refuses to lose information."""
        return NotImplemented

    @left_to_host
    def copy(self, x):
        """x in fresh memory."""
        return NotImplemented

    # ---- windows

    def _put(self, y, x, index, source):
        """Write x into the part of y that an index selects."""
        cut, turned = _window(index)
        shape = [1 if k < 0 else index[k][2] for k in source]
        x = self.xp.reshape(self.xp.broadcast_to(x, tuple(shape)), tuple(count if k in source else 1 for k, (_, _, count)
                                                                        in enumerate(index)))
        y[cut] = self.xp.flip(x, axis=turned) if turned else x
        return y

    @composed("bifc")
    def unslice(self, x, *, index, source, shape):
        """Zeros in which x is the part that an index selects."""
        return self._put(self.xp.zeros(shape, dtype=x.dtype), x, index, source)

    @composed("bifc")
    def index_set(self, x, value, *, index, source):
        """``y = copy(x); y[index] = value``."""
        return self._put(self.fresh(x), value, index, source)

    def _starts(self, starts, outer, inner):
        return [max(0, min(int(starts[k]), n - m)) for k, (n, m) in enumerate(zip(outer, inner, strict=True))]

    @composed("bifc")
    def dynamic_slice(self, x, starts, *, shape):
        """The part of x of a shape at starts that are values."""
        return x[tuple(slice(s, s + m) for s, m in zip(self._starts(starts, x.shape, shape), shape, strict=True))]

    @composed("bifc")
    def dynamic_unslice(self, x, starts, *, shape):
        """Zeros in which x is the part at starts that are values."""
        y = self.xp.zeros(shape, dtype=x.dtype)
        y[tuple(slice(s, s + m) for s, m in zip(self._starts(starts, shape, x.shape), x.shape, strict=True))] = x
        return y

    @composed("bifc")
    def pad(self, x, value, *, widths):
        """x with as many copies of a value before and after it along each axis."""
        xp = self.xp
        if self.kind_of(value) != self.kind_of(x):
            return NotImplemented
        y = xp.empty(tuple(n + a + b for n, (a, b) in zip(x.shape, widths, strict=True)), dtype=x.dtype)
        y[...] = xp.astype(value, x.dtype)
        y[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True))] = x
        return y

    @composed("bifc")
    def concatenate(self, *arrays, axis, stacked, dtype):
        """The arrays one after the other along an axis, which is new if they are stacked."""
        xp, dtype = self.xp, self.dtype_of(dtype)
        arrays = [x if x.dtype == dtype else xp.astype(x, dtype) for x in arrays]
        return xp.stack(arrays, axis=axis) if stacked else xp.concat(arrays, axis=axis)

    # ---- matrices

    def _diagonal(self, k, shape):
        return max(-shape[-2] - 1, min(k, shape[-1] + 1))

    @composed("bifc")
    def tril(self, x, *, k):
        """Zero above the k-th diagonal of the last two axes."""
        return self.xp.tril(x, k=self._diagonal(k, x.shape))

    @composed("bifc")
    def triu(self, x, *, k):
        """Zero below the k-th diagonal of the last two axes."""
        return self.xp.triu(x, k=self._diagonal(k, x.shape))

    @composed("bifc")
    def embed_diag(self, x, *, offset, axes, shape):
        """Zeros whose diagonal over two axes is the last axis of x."""
        xp = self.xp
        first, second = axes
        n, m = shape[first], shape[second]
        start, count = (offset if offset >= 0 else -offset * m), x.shape[-1]
        y = xp.zeros((*x.shape[:-1], n * m), dtype=x.dtype)
        y[..., start:start + (count - 1) * (m + 1) + 1:m + 1] = x
        left = [k for k in range(len(shape)) if k not in axes]
        order = [0] * len(shape)
        for place, k in enumerate((*left, first, second)):
            order[k] = place
        return xp.permute_dims(xp.reshape(y, (*x.shape[:-1], n, m)), tuple(order))

    # ---- index arrays

    def _within(self, indices, size):
        """Indices from 0 on, or None where one is out of range: the host's kernel reports it."""
        xp = self.xp
        i = xp.where(indices < 0, indices + size, indices)
        return None if bool(xp.any((i < 0) | (i >= size))) else i

    @composed("i")
    def take(self, x, indices, *, position, axes):
        """Elements of some axes together, in row-major order; the axes of the indices stand at a position among the others."""
        xp = self.xp
        size = prod(x.shape[k] for k in axes)
        i = self._within(indices, size)
        if i is None:
            return NotImplemented
        left = [k for k in range(len(x.shape)) if k not in axes]
        order = (*left[:position], *axes, *left[position:])
        y = x if order == tuple(range(len(order))) else xp.permute_dims(x, order)
        before, after = [tuple(x.shape[k] for k in some) for some in (left[:position], left[position:])]
        y = xp.take(xp.reshape(y, (*before, size, *after)), xp.reshape(i, (-1,)), axis=position)
        return xp.reshape(y, (*before, *indices.shape, *after))

    @left_to_host
    def take_add(self, g, indices, *, position, axes, shape):
        """Zeros to which blocks are added where `take` would find them."""
        return NotImplemented

    @left_to_host
    def scatter(self, x, updates, indices, *, position, axes):
        """A copy of x in which blocks are set where `take` would find them; the last of equal indices wins."""
        return NotImplemented

    @left_to_host
    def scatter_add(self, x, updates, indices, *, position, axes):
        """A copy of x to which blocks are added where `take` would find them."""
        return NotImplemented

    @composed("i")
    def take_along_axis(self, x, indices, *, axis):
        """``y[.., i, ..] = x[.., indices[.., i, ..], ..]``."""
        f, i = self._found(("take_along_axis",)), self._within(indices, x.shape[axis])
        return NotImplemented if f is None or i is None else f(x, i, axis=axis)

    @left_to_host
    def along_axis_add(self, g, indices, *, axis, shape):
        """Zeros to which elements are added where `take_along_axis` would find them."""
        return NotImplemented

    @composed("i")
    def flat_index(self, *indices, sizes):
        """Row-major position from an index for each axis."""
        y = 0
        for i, size in zip(indices, sizes, strict=True):
            i = self._within(i, size)
            if i is None:
                return NotImplemented
            y = y * size + i
        return y
