"""Positions that depend on values: orders, what is not zero, what is different."""


class Sorting:
    """Methods that give int64 positions. Those whose number depends on values wait for the device."""

    def argsort(self, x, *, axis, descending):
        """Positions that sort, stable in both directions; NaN counts as the largest."""
        cp = self.cupy
        if not descending:
            return cp.argsort(x, axis=axis)
        return x.shape[axis] - 1 - cp.flip(cp.argsort(cp.flip(x, axis), axis=axis), axis)

    def searchsorted(self, x, values, *, side):
        """Positions in a sorted vector before which values are to be inserted."""
        return self.cupy.searchsorted(x, values, side=side)

    def nonzero(self, x):
        """One vector of positions for each axis, in row-major order; waits for the device."""
        return x.nonzero()

    def flatnonzero(self, x):
        """Row-major positions of what is not zero; waits for the device."""
        return self.cupy.flatnonzero(x)

    def unique(self, x, *, axis, equal_nan):
        """Of the different elements: where they come first, which of them every element is, how often they occur; waits for the
        device. Slices along an axis are only compared of vectors."""
        cp = self.cupy
        if axis is not None and x.ndim != 1:
            raise self.unsupported("unique along an axis of several")
        flat = x.reshape(-1)
        order = cp.argsort(flat)
        s = cp.take(flat, order)
        new = s[1:] != s[:-1]
        if equal_nan and x.dtype.kind in "fc":
            new = new & cp.logical_not(self.isnan(s[1:]) & self.isnan(s[:-1]))
        new = cp.concatenate([cp.ones((min(x.size, 1),), dtype="bool"), new])
        starts = cp.flatnonzero(new)
        inverse = cp.empty((x.size,), dtype="int64")
        inverse[order] = cp.cumsum(new, dtype="int64") - 1
        ends = cp.concatenate([starts[1:], cp.full((min(x.size, 1),), x.size, dtype="int64")])
        return cp.take(order, starts), inverse.reshape(x.shape), ends - starts
