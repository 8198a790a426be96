"""Engines of devices: what a device's memory is to the core, and the engine over a library of arrays in it."""

from .._core.device import DeviceKernels
from ..errors import AxisError, UnsupportedError
from .engine import ALL, NamespaceEngine
from .methods import HOST, NATIVE, OWN, UNSUPPORTED, composed, dtypes_of


class DeviceMemory:
    """The memory of one device, as a library of arrays has it. There is one object per device and process.

    A subclass sets `name` and overrides `upload`, `download`, `pointer`, `view` and `empty`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> class Remote(tfr.DeviceMemory):
    ...     name = "remote:0"
    >>> Remote().name
    'remote:0'

    Attributes
    ----------
    name : str
        The placement of tensors in it, such as ``"cuda:0"``.
    dlpack_device : tuple of int or None
        The device as DLPack's type and number; None if it has none.
    """

    name = "device"
    dlpack_device = None

    def upload(self, array):
        """A fresh array with the elements of a NumPy array, its axes in the same order of strides."""
        raise NotImplementedError

    def download(self, array):
        """A fresh NumPy array with the elements of the library's; waits for the device."""
        raise NotImplementedError

    def pointer(self, array):
        """Address of the element [0, 0, ...] as an int."""
        raise NotImplementedError

    def view(self, base, offset, shape, strides, dtype):
        """An array over the memory of another one, which it keeps alive.

        Parameters
        ----------
        base : array
        offset : int
            Bytes from ``pointer(base)`` to the first element.
        shape, strides : tuple of int
            Strides are in bytes; they may be 0 or negative.
        dtype : numpy.dtype
        """
        raise NotImplementedError

    def empty(self, shape, strides, dtype):
        """Fresh memory without gaps, whose strides in bytes are positive."""
        raise NotImplementedError

    def layout(self, array):
        """``(pointer, shape, strides in bytes, NumPy dtype)`` of an array."""
        return self.pointer(array), array.shape, array.strides, array.dtype

    def fill(self, target, source):
        """Set all elements of an array to those of another one, or to a number."""
        target[...] = source

    def from_dlpack(self, obj):
        """The library's array over what a DLPack exporter has on this device."""
        raise BufferError(f"the engine of {self.name} imports nothing through DLPack")

    def to_dlpack(self, array, **options):
        """Capsule of an array; the options are those of ``__dlpack__``."""
        return array.__dlpack__(**options)


class DeviceEngine(NamespaceEngine, DeviceKernels):
    """Engine that computes with a library of arrays in a device's memory.

    Methods are those of `NamespaceEngine`, over arrays of the device; nothing runs on the host. An operation without a method,
    or whose method gives ``NotImplemented``, raises `UnsupportedError`. An operand that is one number in host memory comes as a
    NumPy scalar where the other operands of an elementwise operation are arrays.

    Parameters
    ----------
    xp : module
        The library's namespace.
    name : str
        The engine's name.
    kind : str
        Kind of the memory; a runtime accepts one identity of each kind.
    context_id : hashable
        The identity: which device it is.
    memory : DeviceMemory

    Examples
    --------
    >>> import tenferro as tfr
    >>> issubclass(tfr.DeviceEngine, tfr.NamespaceEngine)
    True

    Attributes
    ----------
    memory : DeviceMemory
    """

    def __init__(self, xp, name, kind, context_id, memory):
        super().__init__(xp, name)
        self._reach(kind, context_id, memory)
        if self.fusable:
            self._fuse(self.fused, self.fusable)

    checks_indices = False
    """Whether an index out of range raises; otherwise it stands for the nearest end."""

    fusable = ()
    """Names of the elementwise operations that `fused` can compute."""

    def fused(self, program, arrays, outputs):
        """Compute a group of elementwise operations in one pass.

        Parameters
        ----------
        program : tuple of int
            ``(steps, slots, results)``, then per step: operation (``tenferro._core.optable.Op``), dtype code of its last
            argument, number of arguments, three argument registers (0 where there is none), result register. Registers are
            numbered inputs first, then results, then slots, which hold what only the group reads.
        arrays : list
            The inputs, broadcast against the outputs; numbers as NumPy scalars.
        outputs : list of array
            Where the results go.
        """
        raise NotImplementedError

    def executor(self, name):
        """What computes an operation of an extension module, such as ``"tenferro.linalg.svd.v1"``.

        Returns
        -------
        callable or None
            A function of the device's arrays, with the parameters of the operation as keywords; None if there is none.
        """
        return None

    # ---- the parts of NamespaceEngine that are about the host

    def _conversions(self, plain):
        return None, None

    def _kinds_of_dtypes(self):
        return {d: d.kind for d in self._dtypes}        # `DeviceMemory.layout` tells NumPy's

    def _method(self, op):
        """Bind the method of an operation; returns who computes it."""
        f = getattr(type(self), op)
        own = f is not getattr(NamespaceEngine, op)
        found = None if own else self._found(f.names)
        if not own and (f.level == HOST and found is None):
            return UNSUPPORTED
        self._bind(op, found or getattr(self, op), ALL if own else dtypes_of(f.kinds))
        return OWN if own else f.level if found is None else NATIVE

    @composed("bifc")
    def copy(self, x):
        """x in fresh memory."""
        return self.fresh(x)

    @composed("bifc")
    def cast(self, x, *, dtype):
        """x in another dtype; of a complex number its real part, of a fraction what the device makes of it."""
        if self.is_complex(x) and dtype.kind != "c":
            x = self.xp.real(x)
        return self.xp.astype(x, self.dtype_of(dtype))

    # ---- positions that are values: they are not read, so they are not checked either

    def _within(self, indices, size):
        """Indices from 0 on. Those out of range are moved to the nearest end."""
        if 0 in indices.shape:
            return indices
        if size == 0:
            raise AxisError("take: nothing can be taken from an empty axis", op="take", argument="indices", actual=0)
        xp = self.xp
        i = xp.where(indices < 0, indices + size, indices)
        return xp.where(i < 0, xp.zeros_like(i), xp.where(i >= size, xp.full_like(i, max(size - 1, 0)), i))

    def _window(self, starts, outer, inner):
        """Index arrays of a part of an array whose start is a value."""
        xp, rank, found = self.xp, len(outer), []
        for k, (n, m) in enumerate(zip(outer, inner, strict=True)):
            s = xp.astype(starts[k], xp.int64)
            s = xp.where(s < 0, xp.zeros_like(s), xp.where(s > n - m, xp.full_like(s, n - m), s))
            found.append(xp.reshape(s + xp.arange(m, dtype=xp.int64), (1,) * k + (m,) + (1,) * (rank - k - 1)))
        return tuple(found)

    @composed("i")
    def dynamic_slice(self, x, starts, *, shape):
        """The part of x of a shape at starts that are values."""
        return x[self._window(starts, x.shape, shape)]

    @composed("i")
    def dynamic_unslice(self, x, starts, *, shape):
        """Zeros in which x is the part at starts that are values."""
        y = self.xp.zeros(shape, dtype=x.dtype)
        y[self._window(starts, shape, x.shape)] = x
        return y

    # ---- operations whose results depend on values; they give arrays of positions

    def argsort(self, x, *, axis, descending):
        """Positions that sort, stable in both directions; NaN counts as the largest."""
        xp = self.xp
        if not descending:
            return xp.argsort(x, axis=axis, stable=True)
        return x.shape[axis] - 1 - xp.flip(xp.argsort(xp.flip(x, axis=axis), axis=axis, stable=True), axis=axis)

    def searchsorted(self, x, values, *, side):
        """Positions in a sorted vector before which values are to be inserted."""
        return self.xp.searchsorted(x, values, side=side)

    def nonzero(self, x):
        """One vector of positions for each axis, in row-major order; waits for the device, as the next two do."""
        return self.xp.nonzero(x)

    def flatnonzero(self, x):
        """Row-major positions of what is not zero."""
        return self.xp.nonzero(self.xp.reshape(x, (-1,)))[0]

    def unique(self, x, *, axis, equal_nan):
        """Of the different elements (or slices along an axis): where they come first, which of them every element is, how
        often they occur."""
        raise self.unsupported("unique")

    def unsupported(self, op):
        """The error for something that this engine has no function for."""
        return UnsupportedError(f"{op}: the engine '{self.name}' has nothing for it; compute it on the host, with "
                                "to_tensor() before and session.constant_from_host() after", op=op, engine=self.name)
