"""Containers of tensors as real vectors, which is what SciPy works on."""

from typing import NamedTuple

import numpy as np

from .._core.eager import EagerTensor
from .._files import on_host
from .._trace import _runtime as runtime_of
from .._tree import LEAF, flatten, match, paths, unflatten
from ..errors import ShapeMismatchError, ValidationError

SIZES = {"f": (4, 8), "c": (8, 16)}


class Part(NamedTuple):
    """The place of one tensor in a vector."""

    shape: tuple
    dtype: np.dtype
    where: slice

    @property
    def paired(self):
        """Whether each element takes two places, its real and its imaginary part."""
        return self.dtype.kind == "c"


class Layout:
    """Tensors laid end to end: elements in row-major order, a complex one as its real and its imaginary part."""

    def __init__(self, shapes, dtypes):
        self.parts, stop = [], 0
        for shape, dtype in zip(shapes, dtypes, strict=True):
            start, stop = stop, stop + int(np.prod(shape)) * (1 + (dtype.kind == "c"))
            self.parts.append(Part(tuple(shape), dtype, slice(start, stop)))
        self.size = stop

    @classmethod
    def of(cls, tensors):
        return cls([t.shape for t in tensors], [t.dtype for t in tensors])

    def pack(self, tensors):
        """The vector of tensors of these shapes, None standing for zeros."""
        vector = np.zeros(self.size)
        for part, t in zip(self.parts, tensors, strict=True):
            if t is not None:
                vector[part.where] = as_real(on_host(t), part)
        return vector

    def piece(self, part, vector):
        """Array of one tensor, from its own part of a vector."""
        array = vector.view(np.complex128) if part.paired else vector
        return array.reshape(part.shape).astype(part.dtype, copy=False)

    def split(self, vector):
        """Arrays of all tensors."""
        vector = np.ascontiguousarray(vector, np.float64)
        return [self.piece(part, vector[part.where]) for part in self.parts]

    def units(self, rt):
        """``(k, tensors)`` for each unit vector, None standing for zeros."""
        for j, part in enumerate(self.parts):
            e = np.zeros(part.where.stop - part.where.start)
            for k in range(e.size):
                e[k] = 1
                yield part.where.start + k, [rt.constant_from(self.piece(part, e)) if i == j else None
                                             for i in range(len(self.parts))]
                e[k] = 0


def as_real(array, part):
    """The elements of an array as they stand in a vector."""
    if not part.paired:
        return array.reshape(-1)
    return np.ascontiguousarray(array.reshape(-1), np.complex128).view(np.float64)


class Space:
    """The vector space of a container.

    Numbers are float64 or complex128 while SciPy works; `restore` gives the dtypes of the container back.
    """

    def __init__(self, tree, op, argument="x0"):
        self.op = op
        self.argument = argument
        leaves, self.structure = flatten(tree)
        self.rt = runtime_of(leaves, [], op)
        arrays = [self._array(leaf, k) for k, leaf in enumerate(leaves)]
        self.dtypes = [a.dtype for a in arrays]
        wide = [np.dtype("c16" if a.dtype.kind == "c" else "f8") for a in arrays]
        self.layout = Layout([a.shape for a in arrays], wide)
        self.start = self.layout.pack(arrays)
        self.size = self.layout.size
        if not self.size:
            self.fail(argument, f"{argument} holds no numbers; give at least one tensor, array or float")
        if not np.isfinite(self.start).all():
            self.fail(argument, f"{argument} holds numbers that are not finite")

    def fail(self, argument, message):
        raise ValidationError(f"{self.op}: {message}", op=self.op, argument=argument)

    def path(self, k):
        return paths(self.structure)[k]

    def _array(self, leaf, k):
        array = np.asarray(float(leaf) if type(leaf) is int else on_host(leaf))
        if array.dtype.kind not in "fc" or array.dtype.itemsize not in SIZES[array.dtype.kind]:
            self.fail(self.argument, f"{self.argument} at {self.path(k)} is of {array.dtype}, not of float32, float64 or "
                                     "complex numbers; convert it with dtype=float")
        return array

    def leaves(self, vector):
        return [self.rt.constant_from(a) for a in self.layout.split(vector)]

    def container(self, vector):
        """The container of a vector, for the user's function."""
        return unflatten(self.structure, self.leaves(vector))

    def restore(self, vector):
        """The container of a vector, in its own dtypes."""
        arrays = zip(self.layout.split(vector), self.dtypes, strict=True)
        return unflatten(self.structure, [self.rt.constant_from(a.astype(dtype)) for a, dtype in arrays])

    def vector(self, tree, argument):
        """The vector of a container of the same structure and shapes, as a user's derivative returns it."""
        leaves = [on_host(leaf) for leaf in match(self.structure, tree, argument)]
        for k, (leaf, part) in enumerate(zip(leaves, self.layout.parts, strict=True)):
            if leaf.shape != part.shape:
                raise ShapeMismatchError(f"{self.op}: {argument} at {self.path(k)} has shape {leaf.shape}, not "
                                         f"{part.shape}", op=self.op, argument=argument, expected=part.shape,
                                         actual=leaf.shape)
        return self.layout.pack(leaves)

    def spread(self, value, argument, default=None):
        """A vector from one number for all, a vector, or a container with a number or an array for each leaf."""
        if self.structure is not LEAF and isinstance(value, (int, float, np.ndarray, EagerTensor)):
            return self.broadcast(on_host(value), (self.size,), argument, "")
        leaves = match(self.structure, value, argument)
        return np.concatenate([self.fill(leaf, k, argument, default) for k, leaf in enumerate(leaves)])

    def fill(self, value, k, argument, default=None):
        """The part of leaf `k` of a vector, from a number, an array or None."""
        return self._filled(value, k, self.layout.parts[k].shape, argument, default)

    def fill_one(self, value, k, default):
        """The same for a bound of one number of leaf `k`."""
        return self._filled(value, k, (), "bounds", default)

    def _filled(self, value, k, shape, argument, default):
        part = self.layout.parts[k]
        array = np.asarray(default if value is None else on_host(value))
        if array.dtype.kind not in "biufc" or (array.dtype.kind == "c" and not part.paired):
            self.fail(argument, f"{argument} at {self.path(k)} is of {array.dtype}, but real numbers are needed")
        if part.paired and array.dtype.kind != "c":
            if np.isfinite(array).any():
                self.fail(argument, f"{argument} of the complex numbers at {self.path(k)} are complex: one number for the "
                                    "real and one for the imaginary part")
            real, array = array, np.empty(array.shape, np.complex128)
            array.real = array.imag = real
        return as_real(self.broadcast(array, shape, argument, f" at {self.path(k)}"), part)

    def broadcast(self, array, shape, argument, place):
        try:
            return np.broadcast_to(array, shape)
        except ValueError:
            raise ShapeMismatchError(f"{self.op}: {argument}{place} has shape {array.shape}, which does not broadcast to "
                                     f"{shape}", op=self.op, argument=argument, expected=shape,
                                     actual=array.shape) from None
