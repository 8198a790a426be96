"""Contraction of two arrays by cuBLAS."""

from tenferro._foreign.contraction import _plan


class Contraction:
    """Products summed over common axes."""

    def contract(self, x, y, *, labels):
        """Einstein summation of two arrays; the axes of the arrays and of the result are labelled with small integers.

        bool is computed in integers.
        """
        dtype = x.dtype
        if dtype.kind == "b":
            return self.contract(x.astype("int64"), y.astype("int64"), labels=labels) != 0
        (x, a), (y, b) = self._alone(x, labels[0], labels[1:]), self._alone(y, labels[1], (labels[0], labels[2]))
        x, y = self._widened(x, y, a, b)
        return self._product(x, y, _plan((a, b, labels[2]), tuple(x.shape), tuple(y.shape)))

    def _alone(self, x, own, others):
        """The sum over axes that nobody else has, and the labels that are left."""
        lone = tuple(k for k, label in enumerate(own) if not any(label in other for other in others))
        if not lone:
            return x, own
        return self.cupy.sum(x, axis=lone, dtype=x.dtype), tuple(label for k, label in enumerate(own) if k not in lone)

    def _widened(self, x, y, a, b):
        """Both arrays with common axes of a common size: single elements are repeated."""
        size = dict(zip(a, x.shape, strict=True))
        for label, n in zip(b, y.shape, strict=True):
            size[label] = n if size.get(label, 1) == 1 else size[label]
        shapes = [tuple(size[label] for label in own) for own in (a, b)]
        return tuple(v if v.shape == shape else self.cupy.broadcast_to(v, shape)
                     for v, shape in zip((x, y), shapes, strict=True))

    def _product(self, x, y, plan):
        """The product of stacks of matrices that a plan says."""
        x_order, left, y_order, right, shape, order, summed = plan
        x, y = (v if o is None else v.transpose(o) for v, o in ((x, x_order), (y, y_order)))
        x, y = x.reshape(left), y.reshape(right)
        found = (self.cupy.matmul(x, y) if summed else self.mul(x, y)).reshape(shape)
        return found if order is None else found.transpose(order)
