"""Reductions over several axes, positions of extremes, running sums and products."""

from .methods import composed, left_to_host


def _over(name, kinds):
    """A reduction that the standard has under a name of its own."""
    def method(self, x, *, axes, keepdims):
        return getattr(self.xp, standard)(x, axis=axes, keepdims=keepdims) if axes else NotImplemented
    standard = {"reduce_max": "max", "reduce_min": "min"}.get(name, name)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``{standard}(x, axis=axes, keepdims=keepdims)``."
    return composed(kinds)(method)


def _added(name):
    """Sum or product in the dtype of the result."""
    def method(self, x, *, axes, keepdims, dtype):
        f = getattr(self.xp, standard)
        return f(x, axis=axes, keepdims=keepdims, dtype=self.dtype_of(dtype)) if axes else NotImplemented
    standard = name.removeprefix("reduce_")
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``{standard}(x, axis=axes, keepdims=keepdims, dtype=dtype)``."
    return composed("ifc")(method)


def _position(name):
    def method(self, x, *, axis, keepdims):
        return getattr(self.xp, name)(x, axis=axis, keepdims=keepdims)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``{name}(x, axis=axis, keepdims=keepdims)``; the first position, that of a NaN before all others."
    return composed("if")(method)


def _running(name, standard):
    def method(self, x, *, axis, reverse):
        f = self._found((standard,))
        if f is None:
            return NotImplemented
        if not reverse:
            return f(x, axis=axis, dtype=x.dtype)
        return self.xp.flip(f(self.xp.flip(x, axis=axis), axis=axis, dtype=x.dtype), axis=axis)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``{standard}(x, axis=axis)``, from the end if reversed."
    return composed("ifc")(method)


class Reductions:
    """``axes`` is a tuple of axes, all of them not negative."""

    reduce_sum, reduce_prod = _added("reduce_sum"), _added("reduce_prod")
    reduce_max, reduce_min = _over("reduce_max", "if"), _over("reduce_min", "if")
    any, all = _over("any", "bif"), _over("all", "bif")
    argmax, argmin = _position("argmax"), _position("argmin")
    cumsum, cumprod = _running("cumsum", "cumulative_sum"), _running("cumprod", "cumulative_prod")

    @composed("bifc")
    def count_nonzero(self, x, *, axes, keepdims):
        """Number of elements that are not zero, as int64."""
        xp = self.xp
        there = x if self.kind_of(x) == "b" else x != 0
        return xp.sum(xp.astype(there, xp.int64), axis=axes, keepdims=keepdims, dtype=xp.int64) if axes else NotImplemented

    @composed("fc")
    def reduce_mean(self, x, *, axes, keepdims):
        """The sum, divided by the number of elements."""
        if not axes:
            return NotImplemented
        return self.xp.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype) / self.count(x, axes)

    @composed("fc")
    def reduce_var(self, x, *, axes, keepdims, correction):
        """Mean of the squared distances from the mean, with ``correction`` taken off the number of elements.

        Distances are first taken from the first element: those of equal elements vanish.
        """
        xp = self.xp
        n = self.count(x, axes) - correction
        if not axes or n <= 0:
            return NotImplemented
        d = x - x[tuple(slice(0, 1) if k in axes else slice(None) for k in range(len(x.shape)))]
        d = d - xp.sum(d, axis=axes, keepdims=True, dtype=x.dtype) / self.count(x, axes)
        squares = xp.square(xp.real(d)) + xp.square(xp.imag(d)) if self.is_complex(x) else d * d
        return xp.sum(squares, axis=axes, keepdims=keepdims, dtype=squares.dtype) / n

    @composed("fc")
    def reduce_std(self, x, *, axes, keepdims, correction):
        """Root of the variance."""
        v = self.reduce_var(x, axes=axes, keepdims=keepdims, correction=correction)
        return v if v is NotImplemented else self.xp.sqrt(v)

    @composed("f")
    def logsumexp(self, x, *, axes, keepdims):
        """``m + log(sum(exp(x - m)))`` with the maximum m, or 0 where that is infinite."""
        xp = self.xp
        if not axes:
            return NotImplemented
        if 0 in x.shape:
            return xp.log(xp.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype))
        m = xp.max(x, axis=axes, keepdims=True)
        m = xp.where(xp.isfinite(m), m, self.zero(m))
        y = m + xp.log(xp.sum(xp.exp(x - m), axis=axes, keepdims=True, dtype=x.dtype))
        return y if keepdims else xp.squeeze(y, axis=axes)

    @left_to_host
    def linear_scan(self, a, b, *, axis, reverse):
        """``y[k] = a[k] * y[k - 1] + b[k]``, from zero on."""
        return NotImplemented

    @composed("bifc")
    def shift(self, x, *, axis, reverse, fill):
        """``y[k] = x[k - 1]``, or ``x[k + 1]`` in reverse; ``fill`` at the end."""
        xp = self.xp
        n, rank = x.shape[axis], len(x.shape)
        end = xp.full((*x.shape[:axis], 1, *x.shape[axis + 1:]), fill, dtype=x.dtype)
        kept = slice(1, n) if reverse else slice(0, n - 1)
        kept = x[tuple(kept if k == axis else slice(None) for k in range(rank))]
        return xp.concat([kept, end] if reverse else [end, kept], axis=axis)
