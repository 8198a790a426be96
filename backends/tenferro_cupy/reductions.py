"""Reductions over several axes, positions of extremes, running sums and products, linear recurrences."""

from tenferro.errors import ValidationError


def _extreme(name, function):
    def method(self, x, *, axes, keepdims):
        if not axes:
            return x
        self._some(x, axes, name)
        return getattr(self.cupy, function)(x, axis=axes, keepdims=keepdims)
    return _named(method, name, f"``{function}(x, axis=axes, keepdims=keepdims)``.")


def _added(name, function):
    def method(self, x, *, axes, keepdims, dtype):
        if not axes:
            return x.astype(dtype, copy=False)
        return getattr(self.cupy, function)(x, axis=axes, keepdims=keepdims, dtype=dtype)
    return _named(method, name, f"``{function}(x, axis=axes, keepdims=keepdims, dtype=dtype)``.")


def _truth(name):
    def method(self, x, *, axes, keepdims):
        return getattr(self.cupy, name)(x, axis=axes, keepdims=keepdims) if axes else x != 0
    return _named(method, name, f"``{name}(x, axis=axes, keepdims=keepdims)``.")


def _position(name):
    def method(self, x, *, axis, keepdims):
        self._some(x, range(x.ndim) if axis is None else (axis,), name)
        return getattr(self.cupy, name)(x, axis=axis, keepdims=keepdims)
    return _named(method, name, f"``{name}(x, axis=axis, keepdims=keepdims)``; the first position, NaN before all others.")


def _running(name):
    def method(self, x, *, axis, reverse):
        f, flip = getattr(self.cupy, name), self.cupy.flip
        return flip(f(flip(x, axis), axis=axis, dtype=x.dtype), axis) if reverse else f(x, axis=axis, dtype=x.dtype)
    return _named(method, name, f"``{name}(x, axis=axis)``, from the end if reversed.")


def _named(method, name, text):
    method.__name__ = method.__qualname__ = name
    method.__doc__ = text
    return method


class Reductions:
    """``axes`` is a tuple of axes, all of them not negative."""

    reduce_sum, reduce_prod = _added("reduce_sum", "sum"), _added("reduce_prod", "prod")
    reduce_max, reduce_min = _extreme("reduce_max", "max"), _extreme("reduce_min", "min")
    any, all = _truth("any"), _truth("all")
    argmax, argmin = _position("argmax"), _position("argmin")
    cumsum, cumprod = _running("cumsum"), _running("cumprod")

    def _some(self, x, axes, op):
        """Refuse to look for an extreme among no elements."""
        if any(x.shape[k] == 0 for k in axes):
            raise ValidationError(f"{op}: there is no extreme of no elements, the shape is {x.shape}", op=op, argument="x")

    def _inexact(self, x):
        """x as real or complex numbers."""
        if x.dtype.kind in "fc":
            return x
        return x.astype("float32" if x.dtype.itemsize <= 2 else "float64")

    def count_nonzero(self, x, *, axes, keepdims):
        """Number of elements that are not zero, as int64."""
        there = x != 0
        return self.cupy.sum(there, axis=axes, keepdims=keepdims, dtype="int64") if axes else there.astype("int64")

    def reduce_mean(self, x, *, axes, keepdims):
        """The sum, divided by the number of elements."""
        x = self._inexact(x)
        return self.cupy.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype) / self.count(x, axes) if axes else x

    def reduce_var(self, x, *, axes, keepdims, correction):
        """Mean of the squared distances from the mean, with ``correction`` taken off the number of elements.

        Distances are first taken from the first element: those of equal elements vanish.
        """
        cp, x = self.cupy, self._inexact(x)
        first = x[tuple(slice(0, 1) if k in axes else slice(None) for k in range(x.ndim))]
        d = x - first if x.size else x
        d = d - cp.sum(d, axis=axes, keepdims=True, dtype=x.dtype) / max(self.count(x, axes), 1) if axes else d
        squares = cp.square(cp.real(d)) + cp.square(cp.imag(d)) if x.dtype.kind == "c" else d * d
        total = cp.sum(squares, axis=axes, keepdims=keepdims, dtype=squares.dtype) if axes else squares
        return total / float(max(self.count(x, axes) - correction, 0))

    def reduce_std(self, x, *, axes, keepdims, correction):
        """Root of the variance."""
        return self.cupy.sqrt(self.reduce_var(x, axes=axes, keepdims=keepdims, correction=correction))

    def logsumexp(self, x, *, axes, keepdims):
        """``m + log(sum(exp(x - m)))`` with the maximum m of the real parts, or 0 where that is infinite."""
        cp, x = self.cupy, self._inexact(x)
        if not axes:
            return x
        shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
        if any(x.shape[k] == 0 for k in axes):
            y = cp.full(shape, -float("inf"), dtype=x.dtype)
        else:
            m = cp.max(cp.real(x), axis=axes, keepdims=True)
            m = cp.where(cp.isfinite(m), m, cp.zeros_like(m))
            y = m + cp.log(cp.sum(cp.exp(x - m), axis=axes, keepdims=True, dtype=x.dtype))
        return y if keepdims else y.reshape(tuple(n for k, n in enumerate(x.shape) if k not in axes))

    def linear_scan(self, a, b, *, axis, reverse):
        """``y[k] = a[k] * y[k - 1] + b[k]``, from zero on, by composing ever longer stretches: as many passes as the length has
        binary digits."""
        cp, n = self.cupy, b.shape[axis]
        a, y = cp.broadcast_to(a, b.shape), b
        if reverse:
            a, y = cp.flip(a, axis), cp.flip(y, axis)
        done = 1
        while done < n:
            head, here, before = (self._part(axis, b.ndim, *ends) for ends in ((0, done), (done, n), (0, n - done)))
            y = cp.concatenate([y[head], self.mul(a[here], y[before]) + y[here]], axis=axis)
            a = cp.concatenate([a[head], self.mul(a[here], a[before])], axis=axis)
            done *= 2
        return cp.flip(y, axis) if reverse else y

    @staticmethod
    def _part(axis, rank, start, stop):
        """The index of a stretch of an axis."""
        return (slice(None),) * axis + (slice(start, stop),) + (slice(None),) * (rank - axis - 1)

    def shift(self, x, *, axis, reverse, fill):
        """``y[k] = x[k - 1]``, or ``x[k + 1]`` in reverse; ``fill`` at the end."""
        n = x.shape[axis]
        if n == 0:
            return x
        end = self.cupy.full((*x.shape[:axis], 1, *x.shape[axis + 1:]), fill, dtype=x.dtype)
        kept = x[self._part(axis, x.ndim, 1, n) if reverse else self._part(axis, x.ndim, 0, n - 1)]
        return self.cupy.concatenate([kept, end] if reverse else [end, kept], axis=axis)
