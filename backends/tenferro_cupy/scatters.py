"""Scatters without atomic operations: each element of the result gathers what belongs to it, for which many indices are sorted.

So equal indices add up in their order, the last of them wins, and the bits are the same every time.
"""

from math import prod

from .code import TYPES
from .fused import OPTIONS

_SUM = """
const long long row = i / width, column = i - row * width;
{type} sum = x;
for ({loop}) sum = sum {sign} blocks[{block} * width + column];
y = sum;
"""

_MANY = {"loop": "long long k = edges[row]; k < edges[row + 1]; k++", "block": "order[k]"}
_FEW = {"loop": "long long k = 0; k < count; k++) if (order[k] == row", "block": "k"}

FEW = 32
"""Indices up to which every element looks at all of them."""


class Scatters:
    """Operations that write where index arrays say. Positions out of range stand for the nearest end."""

    def scatter(self, x, updates, indices, *, position, axes):
        """A copy of x in which blocks are set where `take` would find them; the last of equal indices wins."""
        rows, blocks, back = self._blocks(x, updates, indices.ndim, position, axes)
        if not (rows.size and blocks.size):
            return x.copy(order="C")
        cp, (order, edges) = self.cupy, self._sorted(indices, rows.shape[0])
        last, hit = cp.maximum(edges[1:] - 1, 0), edges[1:] > edges[:-1]
        found = cp.take(blocks, cp.take(order, last), axis=0)
        return back(cp.where(hit.reshape(-1, 1), found, rows))

    def scatter_add(self, x, updates, indices, *, position, axes):
        """A copy of x to which blocks are added where `take` would find them."""
        rows, blocks, back = self._blocks(x, updates, indices.ndim, position, axes)
        return back(self._added(rows, blocks, indices))

    def take_add(self, g, indices, *, position, axes, shape):
        """Zeros to which blocks are added where `take` would find them."""
        return self.scatter_add(self.cupy.zeros(shape, dtype=g.dtype), g, indices, position=position, axes=axes)

    def along_axis_add(self, g, indices, *, axis, shape):
        """Zeros to which elements are added where `take_along_axis` would find them."""
        cp = self.cupy
        y = cp.zeros((prod(shape), 1), dtype=g.dtype)
        if not (y.size and g.size):
            return cp.zeros(shape, dtype=g.dtype)
        flat, step = cp.zeros((1,) * len(shape), dtype="int64"), 1
        for k in reversed(range(len(shape))):
            if k == axis:
                here = self._clamped(indices, shape[k], "take_along_axis")
            else:
                here = cp.arange(shape[k], dtype="int64").reshape((-1,) + (1,) * (len(shape) - k - 1))
            flat, step = flat + here * step, step * shape[k]
        return self._added(y, g.reshape(-1, 1), cp.broadcast_to(flat, g.shape)).reshape(shape)

    # ---- rows that indices select

    def _blocks(self, x, updates, rank, position, axes):
        """Both as tables whose rows indices select, and the way back to the shape of x."""
        left = [k for k in range(x.ndim) if k not in axes]
        order = (*axes, *left)
        shape = tuple(x.shape[k] for k in order)
        rows = x.transpose(order).reshape(prod(shape[:len(axes)]), prod(shape[len(axes):]))
        moved = (*range(position, position + rank), *range(position), *range(position + rank, updates.ndim))
        blocks = updates.transpose(moved).reshape(-1, rows.shape[1]) if updates.size else updates.reshape(0, rows.shape[1])
        inverse = tuple(sorted(range(x.ndim), key=order.__getitem__))
        return rows, blocks, lambda y: y.reshape(shape).transpose(inverse)

    def _sorted(self, indices, size):
        """The order of indices by value, equal ones as they come, and where each value begins and ends in it."""
        cp = self.cupy
        flat = self._clamped(indices, size, "scatter").reshape(-1)
        order = cp.argsort(flat)
        return order, cp.searchsorted(cp.take(flat, order), cp.arange(size + 1, dtype="int64"))

    def _added(self, rows, blocks, indices):
        """Rows to which those of another table are added, one after the other."""
        if not (rows.size and blocks.size):
            return rows.copy(order="C")
        few, width = blocks.shape[0] <= FEW, rows.shape[1]
        kernel = self.kernels.get(("added", few, rows.dtype))
        if kernel is None:
            kernel = self.kernels["added", few, rows.dtype] = self._sums(self.cupy, few, rows.dtype)
        x, blocks = (self.cupy.ascontiguousarray(v) for v in (rows, blocks))
        if few:
            order = self.cupy.ascontiguousarray(self._clamped(indices, rows.shape[0], "scatter")).reshape(-1)
            return kernel(x.reshape(-1), blocks, order, blocks.shape[0], width).reshape(rows.shape)
        return kernel(x.reshape(-1), blocks, *self._sorted(indices, rows.shape[0]), width).reshape(rows.shape)

    @staticmethod
    def _sums(cupy, few, dtype):
        """The kernel in which every element adds up what belongs to it."""
        d, bounds = dtype.name, "int64 count" if few else "raw int64 edges"
        text = _SUM.format(type=TYPES[d], sign="||" if dtype.kind == "b" else "+", **(_FEW if few else _MANY))
        return cupy.ElementwiseKernel(f"{d} x, raw {d} blocks, raw int64 order, {bounds}, int64 width", f"{d} y", text,
                                      name="tenferro_scatter_add", options=OPTIONS)
