"""Elementwise operations: CuPy's functions where they are NumPy's, else a kernel of one operation from `code`."""

import inspect

import numpy as np

from tenferro._foreign.engine import NamespaceEngine

from . import fused
from .code import EXPRESSIONS, expression, result_dtype

FUNCTIONS = {
    "add": "biufc add", "sub": "iufc subtract", "mul": "biuf multiply", "div": "f true_divide", "neg": "iufc negative",
    "conj": "c conj", "real": "c real", "imag": "c imag", "sqrt": "f sqrt", "equal": "biuf equal",
    "not_equal": "biuf not_equal", "less": "biuf less", "less_equal": "biuf less_equal", "greater": "biuf greater",
    "greater_equal": "biuf greater_equal", "logical_and": "biuf logical_and", "logical_or": "biuf logical_or",
    "logical_xor": "biuf logical_xor", "logical_not": "biuf logical_not", "isfinite": "f isfinite", "isnan": "f isnan",
    "isinf": "f isinf", "floor": "f floor", "ceil": "f ceil", "round": "f rint", "trunc": "f trunc",
}
"""Kinds of dtypes for which a function of CuPy is the operation to the last bit, and its name. CuPy compiles others so that
products are added before they are rounded."""


def _method(op):
    kinds, _, function = FUNCTIONS.get(op, "").partition(" ")

    def method(self, *arrays):
        if arrays[-1].dtype.kind in kinds:
            return getattr(self.cupy, function)(*arrays)
        return self._single(op, arrays)

    base = getattr(NamespaceEngine, op)
    method.__name__ = method.__qualname__ = op
    method.__doc__, method.__signature__ = base.__doc__, inspect.signature(base)
    return method


class Elementwise:
    """Operations on one to three arrays that are broadcast against each other; some may be NumPy scalars."""

    for _op in EXPRESSIONS:
        locals()[_op] = _method(_op)
    del _op

    fusable = tuple(op for op in EXPRESSIONS if op != "lgamma")        # of complex numbers it has no expression

    def _single(self, op, arrays):
        """One operation by a kernel of its own."""
        dtypes = tuple(a.dtype for a in arrays)
        kernel = self.kernels.get((op, dtypes))
        if kernel is None:
            if expression(op, dtypes[-1]) is None:
                return NotImplemented
            kernel = self.kernels[op, dtypes] = fused.compiled(self.cupy, fused.single(op, dtypes))
        out = self._like(arrays, result_dtype(op, dtypes[-1]))
        return kernel(*arrays) if out is None else kernel(*arrays, out)

    def _like(self, arrays, dtype):
        """Memory for a result in the order of the first array of its shape, None if there is no such array."""
        shape = arrays[0].shape
        if any(a.shape != shape for a in arrays):
            shape = np.broadcast_shapes(*[a.shape for a in arrays])
        for a in arrays:
            if a.shape == shape and shape:
                return self.cupy.empty_like(a, dtype=dtype)
        return None

    def fused(self, program, arrays, outputs):
        """A group of operations by one kernel."""
        key = program, tuple(a.dtype for a in arrays)
        kernel = self.kernels.get(key)
        if kernel is None:
            text = fused.source(*key, tuple(a.dtype for a in outputs))
            kernel = self.kernels[key] = fused.compiled(self.cupy, text)
        kernel(*arrays, *outputs)
