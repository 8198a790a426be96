"""Examples of every operation, in every dtype and memory layout, and calls that are wrong: what engines are compared on."""

import inspect
from functools import cache

import numpy as np

from .._core.eager import EagerTensor
from .._core.handles import constant
from .._core.state import EagerRuntime
from .._core.tensor import Tensor
from ..support import functions
from .samples import SAMPLES, Source

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
          "complex128")
HOST = "host"
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0)
ELEMENTWISE = ("arithmetic", "analytic", "compare and select", "rounding", "networks")
"""Families whose operations are also tried on NaN, infinities and signed zeros."""

UNDETERMINED = ("topk",)
"""Operations whose results are not determined for elements that repeat."""


class NoExampleError(LookupError):
    """There is no such example."""


@cache
def operations():
    """Name -> (family, function) of every public operation."""
    return {name: (family, f) for family, found in functions().items() for name, f in found.items()}


@cache
def _serial():
    """The runtime and the engine that results are compared with."""
    from tenferro_cpu import CpuEngine
    engine = CpuEngine.serial()
    return EagerRuntime(engine), engine


def serial_session():
    """A session on the serial CPU engine."""
    rt, engine = _serial()
    return rt.session(engine)


# ---- memory ----------------------------------------------------------------------------------------------------------

def put(session, array):
    """An untracked tensor in the memory of a session's engine; in the layout of the array if that is host memory."""
    if session.engine.kind == HOST:
        return session.constant_from(Tensor.from_numpy(array, copy=False))
    return session.constant_from_host(array)


def get(tensor):
    """The value of a tensor as an array, wherever it lies."""
    plain = tensor.detach()
    return plain.numpy() if plain.value().placement == "cpu" else plain.to_tensor().numpy()


# ---- layouts ---------------------------------------------------------------------------------------------------------

def _strided(a, turn=False):
    """A view that skips every other element of larger memory, in which the others are NaN or ones."""
    base = np.full([2 * n + 1 for n in a.shape], np.nan if a.dtype.kind in "fc" else 1, a.dtype)
    view = base[tuple(slice(1, None, 2) for _ in a.shape)] if a.ndim else base
    view = view[tuple(slice(None, None, -1) for _ in a.shape)] if turn and a.ndim else view
    view[...] = a
    return view


def _repeated(a, name):
    """An array of this shape whose elements repeat without taking memory."""
    axes = [k for k in range(a.ndim - 2 if name.startswith("linalg.") else a.ndim) if a.shape[k] > 1]
    return np.broadcast_to(a.take([0], axes[0]), a.shape) if axes else np.array(a)


def _special(a):
    out = np.array(a)
    out.reshape(-1)[:] = np.resize(SPECIAL, out.size)
    return out


def _each(f):
    return lambda arrays, name: [f(a) for a in arrays]


def _broadcast(arrays, name):
    found = [_repeated(a, name) for a in arrays]
    return None if name in UNDETERMINED or not any(0 in a.strides for a in found) else found


LAYOUTS = {
    "C": _each(lambda a: np.array(a, order="C")),
    "F": _each(lambda a: np.array(a, order="F")),
    "strided": _each(_strided),
    "reversed": _each(lambda a: _strided(a, turn=True)),
    "broadcast": _broadcast,
    "0-d": _each(lambda a: np.array(a.flat[0])),
    "special": _each(_special),
}


def _empties(arrays):
    """Arrays of which some or all have no elements; for most operations, one of these is right."""
    top = max((a.ndim for a in arrays), default=0)
    yield [a[..., :0] if a.ndim else a for a in arrays]
    yield [a[:0] if a.ndim == top else a for a in arrays]
    yield [a[:0] if k == 0 else a for k, a in enumerate(arrays)]
    yield [a[(slice(0),) * a.ndim] for a in arrays]


# ---- wrong calls -----------------------------------------------------------------------------------------------------

def _mismatched(arrays, call, f):
    """The last array longer than it should be, along every axis."""
    return ([*arrays[:-1], np.resize(arrays[-1], [n + 2 for n in arrays[-1].shape])], call) if len(arrays) > 1 else None


def _bad_axis(arrays, call, f):
    try:
        known = "axis" in inspect.signature(f).parameters
    except (TypeError, ValueError):
        known = "axis=" in (f.__doc__ or "").partition("\n")[0]
    return (arrays, call._replace(kwargs={**call.kwargs, "axis": 7})) if known else None


def _bad_index(arrays, call, f):
    args = tuple(a + 50 if isinstance(a, np.ndarray) and a.dtype.kind == "i" else a for a in call.args)
    return (arrays, call._replace(args=args)) if any(a is not b for a, b in zip(args, call.args, strict=True)) else None


def _text(arrays, call, f):
    return [np.full(arrays[0].shape, "text"), *arrays[1:]], call


def _singular(arrays, call, f):
    """Zeros, if there is no result for them."""
    made = [np.zeros_like(a) for a in arrays]
    return None if _accepts(f, made, call) else (made, call)


WRONG = {"mismatched shapes": _mismatched, "axis out of range": _bad_axis, "index out of range": _bad_index, "text": _text,
         "singular": _singular}
"""Name -> how a call is made wrong. They take the place of a layout."""


def _accepts(f, arrays, call):
    """Whether the serial CPU engine raises no error, whichever it would be."""
    with serial_session() as s, np.errstate(all="ignore"):
        try:
            call.run(f, [put(s, a) for a in arrays])
        except Exception:
            return False
        return True


# ---- examples --------------------------------------------------------------------------------------------------------

def _base(dtype):
    """The dtype in which numbers are drawn that are then converted to a dtype."""
    return dtype if np.dtype(dtype).kind in "fc" else "float64"


@cache
def _prepared(name, k, dtype, seed):
    with serial_session():
        return SAMPLES[name][k](Source(dtype, seed + k)).prepared()


def _converted(a, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind in "fc":
        return a
    if dtype.kind == "b":
        return a > 0
    whole = np.rint(2 * a)
    return (np.abs(whole) if dtype.kind == "u" else whole).astype(dtype)


class Example:
    """One call of an operation.

    Attributes
    ----------
    operation, dtype, layout : str
        What is called on what; for a call that is wrong, `layout` says how.
    sample, seed : int
        Which sample of the operation, and which random numbers.
    arrays : list of numpy.ndarray
        The arguments that are tensors, as they lie in memory.
    """

    def __init__(self, operation, dtype, layout, sample, seed, arrays, call):
        self.operation, self.dtype, self.layout, self.sample, self.seed = operation, dtype, layout, sample, seed
        self.function = operations()[operation][1]
        self.arrays, self.call = arrays, call

    def __str__(self):
        inputs = ", ".join(f"{a.dtype}{list(a.shape)} with strides {list(a.strides)}" for a in self.arrays) or "no tensors"
        options = "".join(f", {key}={value!r}" for key, value in self.call.kwargs.items())
        return f"{self.operation} on {inputs}{options}"

    @property
    def code(self):
        """An expression that makes this example."""
        more = [str(self.sample)] * bool(self.sample or self.seed) + [str(self.seed)] * bool(self.seed)
        names = ", ".join([*map(repr, (self.operation, self.dtype, self.layout)), *more])
        return f"tenferro.testing.example({names})"

    def results(self, session, arrays=None):
        """What the operation gives in a session: tensors, nested as it returns them."""
        made = [a if a.dtype.kind in "US" else put(session, a) for a in (self.arrays if arrays is None else arrays)]
        return self.call.run(self.function, made)

    def on(self, engine, runtime=None):
        """Results that an engine computes.

        Parameters
        ----------
        engine : ExecutionEngine
        runtime : EagerRuntime, optional
            By default a fresh one.

        Returns
        -------
        list of numpy.ndarray
            Eigenvalues in one order, and of singular vectors and eigenvectors what does not depend on their phases.

        Raises
        ------
        TenferroError
            As the operation does.
        """
        with (runtime or EagerRuntime()).session(engine) as s:
            return self.settled(_on_host(self.results(s)))

    def expected(self):
        """The same from the serial CPU engine, on arrays that are row-major and compact."""
        with serial_session() as s:
            return self.settled(_on_host(self.results(s, [np.array(a, order="C") for a in self.arrays])))

    def settled(self, results):
        """Of results on the host, the arrays that are determined."""
        with serial_session():
            results = _tensors(_in_order(self.operation, results))
            return _on_host(self.call.after(results) if self.call.after else results, flat=True)


def tensors(results):
    """The tensors among results, in one list."""
    if isinstance(results, (list, tuple)):
        return [y for item in results for y in tensors(item)]
    return [results] if isinstance(results, EagerTensor) else []


def _on_host(results, flat=False):
    """Results as arrays, nested as they are or in one list."""
    if isinstance(results, (list, tuple)):
        found = [_on_host(item, flat) for item in results]
        return [a for item in found for a in item] if flat else found
    array = get(results) if isinstance(results, EagerTensor) else np.asarray(results)
    return [array] if flat else array


def _tensors(results):
    return [_tensors(item) for item in results] if isinstance(results, list) else constant(results)


def _in_order(name, results):
    """Eigenvalues in one order, and eigenvectors with them."""
    if name == "linalg.eigvals":
        return np.sort(results, axis=-1)
    if name != "linalg.eig":
        return results
    w, v = results
    order = np.argsort(w, axis=-1)
    return [np.take_along_axis(w, order, -1), np.take_along_axis(v, order[..., None, :], -1)]


def count(operation):
    """How many samples there are of an operation."""
    return len(SAMPLES.get(operation, ()))


def example(operation, dtype="float64", layout="C", sample=0, seed=0):
    """An example of an operation.

    Parameters
    ----------
    operation : str
        Name of a public operation, such as ``"exp"`` or ``"linalg.svd"``.
    dtype : str
        Any dtype of the library.
    layout : str
        ``"C"``, ``"F"``, ``"strided"``, ``"reversed"``, ``"broadcast"``, ``"0-d"``, ``"empty"``; ``"special"`` for NaN and
        infinities; or how the call is wrong: ``"mismatched shapes"``, ``"axis out of range"``, ``"index out of range"``,
        ``"text"``, ``"singular"``.
    sample, seed : int
        Which sample of the operation, and which random numbers.

    Returns
    -------
    Example
        ``example(...).on(engine)`` are the results of an engine, ``example(...).expected()`` those of the serial CPU engine.

    Raises
    ------
    LookupError
        There is no such example: not every operation takes arrays, or has an axis.

    Examples
    --------
    >>> import tenferro as tfr
    >>> example = tfr.testing.example("exp", layout="0-d")
    >>> example.arrays[0].shape
    ()
    """
    if operation not in operations() or not 0 <= sample < count(operation):
        raise NoExampleError(f"there is no sample {sample} of an operation {operation!r}")
    call = _prepared(operation, sample, _base(dtype), seed)
    made = _made(operation, [_converted(a, dtype) for a in call.arrays], call, layout)
    if made is None:
        raise NoExampleError(f"{operation} has no example {layout!r}")
    return Example(operation, dtype, layout, sample, seed, *made)


def _made(name, arrays, call, layout):
    """Arrays and call of an example, or None."""
    family, f = operations()[name]
    if not arrays:
        return (arrays, call) if layout == "C" else None
    if layout == "empty":
        choices = list(_empties(arrays))
        return next((found for found in choices if _accepts(f, found, call)), choices[0]), call
    if layout in WRONG:
        return WRONG[layout](arrays, call, f)
    if layout not in LAYOUTS:
        raise NoExampleError(f"there is no layout {layout!r}")
    if layout == "special" and (family not in ELEMENTWISE or arrays[0].dtype.kind != "f"):
        return None
    arrays = LAYOUTS[layout](arrays, name)
    return None if arrays is None else (arrays, call)
