"""Random constants from NumPy's generators, with their signatures and a `dtype`.

The functions of the module draw from one generator for all threads, which `seed` starts anew; `default_rng` makes
generators of one's own.
"""

import numpy as np

from ._core.handles import constant as _constant
from ._core.transfers import placed
from ._files import on_host
from .errors import DTypeMismatchError, ValidationError

__all__ = ["Generator", "choice", "default_rng", "integers", "normal", "permutation", "random", "seed", "standard_normal",
           "uniform"]


def constant(array, copy):
    """A constant in the memory of the engine that computes at this moment."""
    return placed(_constant(array, copy=copy))


class Generator:
    """Draws constants in the ambient runtime, row-major.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence or numpy.random.Generator, optional
        As for `numpy.random.default_rng`; without it every generator is different. The numbers are those that NumPy
        draws from the same seed, as far as it draws the dtype.

    Examples
    --------
    >>> import numpy as np
    >>> import tenferro as tfr
    >>> x = tfr.random.default_rng(7).normal(size=(2, 3))
    >>> bool(np.all(x.numpy() == np.random.default_rng(7).normal(size=(2, 3))))
    True
    """

    def __init__(self, seed=None):
        self.numpy = np.random.default_rng(seed)

    def spawn(self, n):
        """Independent generators, for threads or processes.

        Parameters
        ----------
        n : int
            How many.

        Returns
        -------
        list of Generator

        Raises
        ------
        OverflowError
            `n` is negative.

        Examples
        --------
        >>> import tenferro as tfr
        >>> a, b = tfr.random.default_rng(1).spawn(2)
        >>> bool(a.normal() == b.normal())
        False
        """
        return [Generator(rng) for rng in self.numpy.spawn(n)]

    def standard_normal(self, size=None, dtype=np.float64):
        """Normal numbers of mean 0 and variance 1; complex ones have variance 1/2 in each part.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape; by default ``()``.
        dtype : dtype
            float32, float64, complex64 or complex128.

        Returns
        -------
        EagerTensor
            Untracked.

        Raises
        ------
        DTypeMismatchError
            Another dtype.

        Examples
        --------
        >>> import tenferro as tfr
        >>> tfr.random.default_rng(1).standard_normal((2, 2), dtype=tfr.complex64).dtype
        dtype('complex64')
        """
        dtype = _floating(dtype, "standard_normal")
        return constant(self._normal(size, dtype), copy=False)

    def normal(self, loc=0.0, scale=1.0, size=None, dtype=np.float64):
        """Normal numbers of mean `loc` and standard deviation `scale`, which broadcast.

        Parameters
        ----------
        loc, scale : array_like
            The standard deviation of a complex number is the root of the mean of ``abs(z - loc)**2``.
        size : int or tuple of int, optional
            Shape; by default that of `loc` and `scale`.
        dtype : dtype
            float32, float64, complex64 or complex128.

        Returns
        -------
        EagerTensor
            Untracked.

        Raises
        ------
        ValidationError
            `scale` is negative or does not broadcast to `size`.

        Examples
        --------
        >>> import tenferro as tfr
        >>> tfr.random.default_rng(1).normal([0.0, 10.0], 0.1).shape
        (2,)
        """
        dtype = _floating(dtype, "normal")
        loc, scale = on_host(loc), on_host(scale)
        if not (scale >= 0).all():
            raise ValidationError("normal: scale is not negative", op="normal", argument="scale")
        size = _size(size, "normal", loc, scale)
        if dtype == np.float64:
            return constant(self.numpy.normal(_real(loc, "normal"), scale, size), copy=False)
        drawn = self._normal(size, dtype)
        return constant(np.asarray(loc + scale * drawn, dtype), copy=False)

    def uniform(self, low=0.0, high=1.0, size=None, dtype=np.float64):
        """Uniform numbers in ``[low, high)``; of complex ones both parts.

        Parameters
        ----------
        low, high : array_like
        size : int or tuple of int, optional
            Shape; by default that of `low` and `high`.
        dtype : dtype
            float32, float64, complex64 or complex128; where numbers are rounded to single precision, `high` can be reached.

        Returns
        -------
        EagerTensor
            Untracked.

        Raises
        ------
        ValidationError
            The bounds do not broadcast to `size`, or are not finite.

        Examples
        --------
        >>> import tenferro as tfr
        >>> bool(tfr.max(tfr.random.default_rng(1).uniform(2.0, 3.0, 10)) < 3.0)
        True
        """
        dtype = _floating(dtype, "uniform")
        low, high = _real(on_host(low), "uniform"), _real(on_host(high), "uniform")
        if not np.isfinite(high - low).all():
            raise ValidationError("uniform: high - low is not finite", op="uniform", argument="high")
        size = _size(size, "uniform", low, high)
        drawn = self.numpy.uniform(low, high, size)
        if dtype.kind == "c":
            drawn = drawn + 1j * self.numpy.uniform(low, high, size)
        return constant(np.asarray(drawn, dtype), copy=False)

    def random(self, size=None, dtype=np.float64):
        """Uniform numbers in ``[0, 1)``.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape; by default ``()``.
        dtype : dtype
            float32, float64, complex64 or complex128; both parts of complex numbers are uniform.

        Returns
        -------
        EagerTensor
            Untracked.

        Raises
        ------
        DTypeMismatchError
            Another dtype.

        Examples
        --------
        >>> import tenferro as tfr
        >>> tfr.random.default_rng(1).random(3).shape
        (3,)
        """
        dtype = _floating(dtype, "random")
        real = np.float32 if dtype.itemsize // (1 + (dtype.kind == "c")) == 4 else np.float64
        drawn = self.numpy.random(size, real)
        if dtype.kind == "c":
            drawn = drawn + 1j * self.numpy.random(size, real)
        return constant(np.asarray(drawn, dtype), copy=False)

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        """Integers in an interval, all with the same probability.

        Parameters
        ----------
        low : int or integer array_like
            The least integer; without `high` the bound, and 0 is the least.
        high : int or integer array_like, optional
            The bound, which is not drawn.
        size : int or tuple of int, optional
            Shape; by default that of `low` and `high`.
        dtype : dtype
            Of integers.
        endpoint : bool
            Whether the bound is drawn, too.

        Returns
        -------
        EagerTensor
            Untracked.

        Raises
        ------
        ValueError
            There are none, or they do not fit the dtype.

        Examples
        --------
        >>> import tenferro as tfr
        >>> tfr.random.default_rng(1).integers(10, size=4).dtype
        dtype('int64')
        """
        high = None if high is None else on_host(high)
        return constant(np.asarray(self.numpy.integers(on_host(low), high, size, dtype, endpoint)), copy=False)

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        """Elements of a tensor along an axis, or of ``range(a)``.

        Parameters
        ----------
        a : int or array_like
        size : int or tuple of int, optional
            Shape; by default ``()``.
        replace : bool
            Whether an element may be drawn twice.
        p : array_like, optional
            Probabilities; equal by default.
        axis : int
        shuffle : bool
            Whether what is drawn without replacement comes in random order, too.

        Returns
        -------
        EagerTensor
            Untracked.

        Raises
        ------
        ValueError
            `a` is empty, `p` does not sum to 1, more are asked for than there are without `replace`.

        Examples
        --------
        >>> import tenferro as tfr
        >>> sorted(tfr.random.default_rng(1).choice(4, 4, replace=False).tolist())
        [0, 1, 2, 3]
        """
        a = _counted(a)
        p = None if p is None else on_host(p)
        return constant(np.asarray(self.numpy.choice(a, size, replace, p, axis, shuffle)), copy=False)

    def permutation(self, x, axis=0):
        """The slices of a tensor along an axis, or ``range(x)``, in random order.

        Parameters
        ----------
        x : int or array_like
        axis : int

        Returns
        -------
        EagerTensor
            Untracked.

        Raises
        ------
        ValueError
            The axis is out of range.

        Examples
        --------
        >>> import tenferro as tfr
        >>> sorted(tfr.random.default_rng(1).permutation(3).tolist())
        [0, 1, 2]
        """
        return constant(self.numpy.permutation(_counted(x), axis), copy=False)

    def _normal(self, size, dtype):
        if dtype.kind != "c":
            return np.asarray(self.numpy.standard_normal(size, dtype))
        real = np.float32 if dtype.itemsize == 8 else np.float64
        re, im = self.numpy.standard_normal(size, real), self.numpy.standard_normal(size, real)
        return np.asarray((re + 1j * im) * np.sqrt(real(0.5)), dtype)


def _counted(x):
    """A number of elements, or the elements."""
    array = on_host(x)
    return int(array) if array.ndim == 0 and array.dtype.kind in "iu" else array


def _floating(dtype, op):
    dtype = np.dtype(dtype)
    if dtype.newbyteorder("=").str[1:] not in ("f4", "f8", "c8", "c16"):
        raise DTypeMismatchError(f"{op}: dtype is float32, float64, complex64 or complex128, not {dtype}", op=op,
                                 argument="dtype", actual=dtype)
    return dtype.newbyteorder("=")


def _real(array, op):
    if array.dtype.kind not in "biuf":
        raise ValidationError(f"{op}: real numbers are needed, not {array.dtype}", op=op, argument="loc")
    return array


def _size(size, op, *arrays):
    """The shape to draw: the one asked for, to which all arrays broadcast."""
    try:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        if size is None:
            return shape
        size = tuple(size) if hasattr(size, "__iter__") else (int(size),)
        if np.broadcast_shapes(shape, size) == size:
            return size
    except ValueError:
        pass
    raise ValidationError(f"{op}: the arguments of shapes {[a.shape for a in arrays]} do not broadcast to size {size}", op=op,
                          argument="size")


_shared = Generator()


def seed(seed=None):
    """Start the module's generator anew from a seed, for reproducible numbers.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence or numpy.random.Generator, optional
        Without it the numbers are different every time.

    Returns
    -------
    None

    Raises
    ------
    ValueError
        The seed is negative.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.random.seed(3)
    >>> first = tfr.random.normal()
    >>> tfr.random.seed(3)
    >>> bool(first == tfr.random.normal())
    True
    """
    _shared.numpy = np.random.default_rng(seed)


def default_rng(seed=None):
    """A `Generator`; one that is given comes back as it is.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence, numpy.random.Generator or Generator, optional

    Returns
    -------
    Generator

    Raises
    ------
    ValueError
        The seed is negative.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.random.default_rng(5).uniform(size=2).shape
    (2,)
    """
    return seed if isinstance(seed, Generator) else Generator(seed)


choice = _shared.choice
integers = _shared.integers
normal = _shared.normal
permutation = _shared.permutation
random = _shared.random
standard_normal = _shared.standard_normal
uniform = _shared.uniform


def __dir__():
    return __all__
