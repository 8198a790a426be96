"""Contraction of two arrays by one matrix product."""

from functools import lru_cache
from math import prod

from .methods import composed


def _order(labels, wanted):
    """Axes in another order, None for the same one."""
    order = tuple(labels.index(k) for k in wanted)
    return None if order == tuple(range(len(order))) else order


@lru_cache(maxsize=4096)
def _plan(labels, x, y):
    """How arrays of two shapes become stacks of matrices: orders and shapes of both, shape and order of the result.

    A label that only one of the three has stands for a single element. None where it does not.
    """
    a, b, c = labels
    size = {**dict.fromkeys(c, 1), **dict(zip(a, x, strict=True)), **dict(zip(b, y, strict=True))}
    batch = [k for k in c if k in a and k in b]
    rows, columns = [k for k in c if k in a and k not in b], [k for k in c if k in b and k not in a]
    summed = [k for k in a if k in b and k not in c]
    lone_a, lone_b = [k for k in a if k not in b and k not in c], [k for k in b if k not in a and k not in c]
    if any(size[k] != n for k, n in zip(a, x, strict=True)) or any(size[k] != 1 for k in (*lone_a, *lone_b)):
        return None
    m, s, n = (prod(size[k] for k in group) for group in (rows, summed, columns))
    front = tuple(size[k] for k in batch)
    found = (*batch, *rows, *columns, *(k for k in c if k not in a and k not in b))
    left = (*front, m, s) if batch or rows else (s,)
    right = (*front, s, n) if batch or columns else (s,)
    orders = (_order(a, (*batch, *rows, *summed, *lone_a)), _order(b, (*batch, *summed, *columns, *lone_b)),
              _order(found, c))
    return orders[0], left, orders[1], right, tuple(size[k] for k in found), orders[2], s != 1


class Contraction:
    """Products summed over common axes."""

    def _arranged(self, x, order, shape):
        if order is not None:
            x = self.xp.permute_dims(x, order)
        return x if x.shape == shape else self.xp.reshape(x, shape)

    @composed("ifc")
    def contract(self, x, y, *, labels):
        """Einstein summation of two arrays; the axes of the arrays and of the result are labelled with small integers."""
        plan = _plan(labels, tuple(x.shape), tuple(y.shape))
        if plan is None:
            return NotImplemented
        x_order, left, y_order, right, shape, order, summed = plan
        x, y = self._arranged(x, x_order, left), self._arranged(y, y_order, right)
        found = self.xp.matmul(x, y) if summed else x * y
        if found.shape != shape:
            found = self.xp.reshape(found, shape)
        return found if order is None else self.xp.permute_dims(found, order)
