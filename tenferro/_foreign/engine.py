"""The engine over an array-API namespace."""

import sys

import numpy as np

from .._core.foreign import OPERATIONS, NamespaceKernels
from ..errors import ValidationError
from .contraction import Contraction
from .elementwise import LIMITED, Elementwise
from .methods import HOST, NATIVE, OWN, dtypes_of
from .moves import WRITING, Moves
from .reductions import Reductions

ALL = dtypes_of("bifc")


def _compatible(xp):
    """The namespace as array_api_compat has it, where that is installed and knows it. NumPy needs no help."""
    if xp is np or xp.__name__.startswith("array_api_compat."):
        return xp
    try:
        from importlib import import_module
        return import_module(f"array_api_compat.{xp.__name__}")
    except ImportError:
        return xp


def _lacking(xp):
    """The dtypes that a library does not compute."""
    if xp.__name__.rpartition(".")[2] == "torch":       # conversions are all that it has for these
        return {"uint16", "uint32", "uint64"}
    return {d for d in ALL if not hasattr(xp, d)}


class NamespaceEngine(Elementwise, Reductions, Moves, Contraction, NamespaceKernels):
    """Engine that computes with a library of arrays in host memory.

    A subclass names the library, which has the functions of the array API standard by itself or through ``array_api_compat``,
    and is a working engine. Each operation is a method that a subclass can override: it takes the library's arrays, and what
    the operation is told beside them as keywords.

    A method gives an array of the promised shape and dtype, in fresh memory or over that of its arguments, which it does not
    change; ``NotImplemented`` leaves the work to the CPU engine's kernel. What the library raises reaches the caller as
    `EngineError`, failed allocations as `OutOfMemoryError`; the engine stays usable. Arrays without elements never reach a
    method.

    Parameters
    ----------
    xp : module, optional
        The library, for an engine that needs no class of its own.
    name : str, optional
        The engine's name; by default the attribute ``name`` of the class, else the library's name.

    Raises
    ------
    ValidationError
        Neither the class nor the call names a library.

    Examples
    --------
    >>> import tenferro as tfr
    >>> import numpy as np
    >>> engine = tfr.NamespaceEngine(np, name="numpy")
    >>> with tfr.session(engine) as s:
    ...     y = s.exp([0.0, 1.0])
    >>> y
    EagerTensor([1.        , 2.71828183], dtype=float64)

    Attributes
    ----------
    xp : module
        The namespace that methods use.
    """

    xp = None

    def __init__(self, xp=None, name=None):
        given = xp if xp is not None else type(self).xp
        if given is None:
            raise ValidationError(f"{type(self).__name__} names no library; set its attribute xp, such as xp = numpy",
                                  op="engine", argument="xp")
        self.xp = _compatible(given)
        plain = given is np
        torch = given.__name__.rpartition(".")[2] == "torch"
        self._given = given
        self._torch = sys.modules["torch"] if torch else None
        declared = type(self).name
        name = name or (declared if isinstance(declared, str) else given.__name__.rpartition(".")[2])
        self._prepare(name, set(ALL) - _lacking(self.xp), not torch, not plain, *self._conversions(plain))
        self._dtypes = {np.dtype(d): getattr(self.xp, d) for d in ALL if hasattr(self.xp, d)}
        self._kinds = self._kinds_of_dtypes()
        self._levels = {op: self._method(op) for op in OPERATIONS}

    def _kinds_of_dtypes(self):
        """Kind of each dtype as arrays have it."""
        return {self.xp.zeros((), dtype=t).dtype: d.kind for d, t in self._dtypes.items()}

    def _conversions(self, plain):
        """`from_host` and `to_host`, or None where NumPy's arrays are the library's."""
        own_from, own_to = (getattr(type(self), f) is not getattr(NamespaceEngine, f) for f in ("from_host", "to_host"))
        return None if plain and not own_from else self.from_host, None if plain and not own_to else self.to_host

    def _method(self, op):
        """Bind the method of an operation; returns who computes it."""
        f = getattr(type(self), op)
        if f is not getattr(NamespaceEngine, op):
            self._bind(op, getattr(self, op), ALL)
            return OWN
        kinds = LIMITED.get(self._given.__name__.rpartition(".")[2], {}).get(op, f.kinds)
        found = self._found(f.names)
        if not kinds or (found is None and f.level == HOST) or (op in WRITING and not self._assigns()):
            return HOST
        self._bind(op, found or getattr(self, op), dtypes_of(kinds))
        return f.level if found is None else NATIVE

    def _assigns(self):
        """Whether elements of arrays can be set."""
        x = self.xp.zeros((2,))
        try:
            x[:1] = x[1:]
        except Exception:               # libraries have exceptions of their own for it
            return False
        return True

    def support(self):
        """Who computes each operation.

        Returns
        -------
        dict
            Operation -> ``"own"`` (a method of a subclass), ``"native"`` (one function of the library), ``"composed"``
            (several), or ``"host"`` (the CPU engine's kernel). What is native or composed is that for the dtypes for which the
            standard defines its functions; other dtypes run on the host.
        """
        return dict(self._levels)

    # ---- conversions, for subclasses to override

    def from_host(self, array):
        """The library's array over the memory of a NumPy array, which must not be changed."""
        if self._torch is not None:
            if any(s < 0 for s in array.strides):
                array = array.copy()
            return self._torch.from_numpy(array)
        return self.xp.asarray(array)

    def to_host(self, array):
        """A NumPy array over the memory of the library's."""
        if self._torch is not None:
            return array.numpy(force=True)
        return np.asarray(array)

    # ---- for methods

    def _found(self, names):
        """The first function of these names that the namespace has."""
        for name in names:
            f = self.xp
            for part in name.split("."):
                f = getattr(f, part, None)
            if f is not None:
                return f
        return None

    def dtype_of(self, dtype):
        """The library's dtype of a NumPy dtype."""
        return self._dtypes[dtype]

    def kind_of(self, x):
        """The kind of x's dtype, as NumPy has it: ``"b"``, ``"i"``, ``"u"``, ``"f"`` or ``"c"``."""
        return self._kinds[x.dtype]

    def is_complex(self, x):
        """Whether the elements are complex."""
        return self._kinds[x.dtype] == "c"

    def zero(self, x):
        """0 of x's dtype."""
        return self.xp.zeros((), dtype=x.dtype)

    def count(self, x, axes):
        """Number of elements that go into one of a reduction's."""
        n = 1
        for k in axes:
            n *= x.shape[k]
        return n

    def fresh(self, x):
        """A copy."""
        return self.xp.asarray(x, copy=True)
