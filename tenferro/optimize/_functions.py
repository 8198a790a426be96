"""A user's function as SciPy calls it: values and exact derivatives at vectors, all from one evaluation per point."""

import numpy as np

from .._core.state import no_grad
from .._trace import Trace
from .._tree import unflatten
from ..errors import ShapeMismatchError, ValidationError
from ..transforms import _seed, grad, vjp
from ._space import Layout


class Function:
    """A function of a container, evaluated once at each vector that SciPy asks for in a row."""

    def __init__(self, op, fun, space, watch=None, args=(), kwargs=None, has_aux=False, argument="fun"):
        if not callable(fun):
            raise ValidationError(f"{op}: {argument} is a function, not {type(fun).__name__}", op=op, argument=argument)
        args, kwargs = args if isinstance(args, tuple) else (args,), kwargs or {}
        self.op, self.argument = op, argument
        self.space = space
        self.watch = watch
        self.has_aux = has_aux
        self.call = lambda p: fun(p, *args, **kwargs)
        self.main = (lambda p: self.call(p)[0]) if has_aux else self.call
        self.checked = set()
        self.point = self.bent = None

    def at(self, x):
        """The trace of the evaluation at a vector."""
        if self.point is None or not np.array_equal(x, self.point):
            self.point, self.trace = None, None
            self.trace = self._traced(self.call, x, self.has_aux)
            self._evaluated()
            self.point = np.array(x)
        return self.trace

    def auxiliary(self, x):
        return self.at(x).auxiliary()

    def _traced(self, f, x, has_aux=False):
        with no_grad():
            return Trace(f, (self.space.container(x),), {}, (0,), self.op, has_aux)

    def _evaluated(self):
        """Look at a new evaluation."""

    def _finite(self, values, what):
        if what not in self.checked and not np.isfinite(values).all():
            raise ValidationError(f"{self.op}: {what} of {self.argument} at {self.space.argument} is not finite; start "
                                  "where it is", op=self.op, argument=self.argument)
        self.checked.add(what)

    def _bent(self, make, x, *rest):
        """The trace of a first derivative, for second derivatives; kept for one vector."""
        key = np.concatenate([x, *rest])
        if self.bent is None or not np.array_equal(key, self.bent[0]):
            self.bent = key, self._traced(make(), x)
        return self.bent[1]

    def _turned(self, trace, p):
        """The derivative of a traced gradient along a vector."""
        tangents = self.space.leaves(np.asarray(p).reshape(-1))
        return self.space.layout.pack(trace.jvp(tangents))


class Scalar(Function):
    """A real function; of a complex one the real part."""

    def _evaluated(self):
        _seed(self.trace)
        self.y = float(self.trace.outputs[0].item().real)
        self.gradient_here = None
        self._finite(self.y, "the value")
        if self.watch is not None:
            self.watch.note(self.y)

    def value(self, x):
        self.at(x)
        return self.y

    def gradient(self, x):
        trace = self.at(x)
        if self.gradient_here is None:
            g = self.space.layout.pack(trace.vjp([1.0]))
            self._finite(g, "the gradient")
            self.gradient_here = g
        return self.gradient_here.copy()

    def hessian_product(self, x, p):
        return self._turned(self._bent(lambda: grad(self.main), x), p)

    def hessian(self, x):
        """The Hessian, one forward sweep over the gradient's trace for each column."""
        trace = self._bent(lambda: grad(self.main), x)
        h = np.empty((self.space.size, self.space.size))
        for k, e in self.space.layout.units(self.space.rt):
            h[k] = self.space.layout.pack(trace.jvp(e))
        return (h + h.T) / 2


class Vector(Function):
    """Numbers in any container as one real vector, complex ones as pairs."""

    layout = None

    def _evaluated(self):
        outputs = self.trace.outputs
        for y in outputs:
            if y.dtype.kind not in "fc":
                raise ValidationError(f"{self.op}: {self.argument} returned {y.dtype}, but floating or complex numbers are "
                                      "needed", op=self.op, argument=self.argument)
        layout = Layout.of(outputs)
        if self.layout is not None and layout.parts != self.layout.parts:
            raise ShapeMismatchError(f"{self.op}: {self.argument} returned other shapes or dtypes than at its first "
                                     "evaluation", op=self.op, argument=self.argument,
                                     expected=[part.shape for part in self.layout.parts],
                                     actual=[part.shape for part in layout.parts])
        self.layout = layout
        self.y = layout.pack(outputs)
        self.matrix_here = None
        self._finite(self.y, "the value")
        if self.watch is not None:
            self.watch.note(0.5 * float(self.y @ self.y))

    def value(self, x):
        self.at(x)
        return self.y.copy()

    def jacobian(self, x):
        """Dense matrix: one forward sweep for each column, or one reverse sweep for each row if there are fewer."""
        trace = self.at(x)
        if self.matrix_here is None:
            self.matrix_here = self._matrix(trace)
        return self.matrix_here.copy()

    def _matrix(self, trace):
        rows, columns = self.layout, self.space.layout
        matrix = np.empty((rows.size, columns.size))
        if rows.size < columns.size:
            for k, e in rows.units(self.space.rt):
                matrix[k] = columns.pack(trace.vjp(e))
        else:
            for k, e in columns.units(self.space.rt):
                matrix[:, k] = rows.pack(trace.jvp(e))
        return matrix

    def operator(self, x):
        """The Jacobian as a linear operator: a sweep for each product."""
        from scipy.sparse.linalg import LinearOperator

        trace, rt = self.at(x), self.space.rt
        rows, columns = self.layout, self.space.layout

        def product(p):
            return rows.pack(trace.jvp([rt.constant_from(a) for a in columns.split(p.reshape(-1))]))

        def transposed(p):
            return columns.pack(trace.vjp([rt.constant_from(a) for a in rows.split(p.reshape(-1))]))
        return LinearOperator((rows.size, columns.size), matvec=product, rmatvec=transposed, dtype=np.float64)

    def curvature(self, x, v):
        """The sum of the Hessians of all numbers, weighted by `v`, as a linear operator."""
        from scipy.sparse.linalg import LinearOperator

        structure = self.at(x).out_structure
        weights = [self.space.rt.constant_from(a) for a in self.layout.split(v)]

        def pulled():
            return lambda p: vjp(self.main, p)[1](unflatten(structure, weights))[0]
        trace = self._bent(pulled, x, np.atleast_1d(v))
        shape = (self.space.size, self.space.size)
        return LinearOperator(shape, matvec=lambda p: self._turned(trace, p), rmatvec=lambda p: self._turned(trace, p),
                              dtype=np.float64)
