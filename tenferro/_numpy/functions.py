"""``__array_function__``: the table from NumPy's functions to those of this library, and calls by NumPy's signatures."""

import inspect
from importlib import import_module
from typing import Any

import numpy as np

from .._core.eager import EagerTensor
from .._core.tensor import Tensor
from . import adapters, signals, statistics, values
from .missing import no_argument, no_counterpart

SAME = """all amax amin any argmax argmin array_split astype broadcast_to concat concatenate count_nonzero cumprod cumsum
    cumulative_prod cumulative_sum diagonal diff dot empty_like expand_dims flip fliplr flipud full_like hstack inner kron
    matrix_transpose max mean min moveaxis nonzero ones_like outer pad permute_dims prod ravel repeat reshape roll round
    searchsorted sort split squeeze stack std sum swapaxes take take_along_axis tensordot tile trace transpose tril triu unique
    unique_all unique_counts unique_inverse unique_values unstack var vstack zeros_like argsort""".split()
"""Functions of `numpy` whose counterpart has the same name, and its arguments the same names and meaning."""

RENAMED = {"around": "round", "fix": "trunc"}

LINALG = """cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power matrix_rank
    matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals tensordot tensorinv tensorsolve trace vecdot
    vector_norm""".split()
"""The same of `numpy.linalg`."""

FFT = """fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn""".split()
"""The same of `numpy.fft`."""

IGNORED = {"subok", "kind", "casting", "stable", "optimize", "sorted"}
"""Arguments that choose how something is computed, or what never arises here."""

SIGNATURES: dict[str, Any] = {
    "concat": lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": None,
    "concatenate": lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": None,
    "dot": lambda a, b, out=None: None,
    "empty_like": lambda prototype, /, dtype=None, order="K", subok=True, shape=None, *, device=None: None,
    "inner": lambda a, b, /: None,
}
"""Those of compiled functions, which NumPy tells since 2.4 only."""


# ---- calls by NumPy's signatures -------------------------------------------------------------------------------------

class Call:
    """One function of NumPy by its counterpart: arguments that are at NumPy's default are left out.

    Arguments without default go by position, all others by name. ``dtype`` of functions whose counterpart has none converts
    the first argument (`convert` ``"first"``) or the result (``"last"``).
    """

    __slots__ = ("convert", "defaults", "f", "function", "home", "known", "lead", "names")

    def __init__(self, function, home, convert="last"):
        self.function, self.home, self.convert, self.f = function, home, convert, None

    def prepare(self):
        """Look the counterpart up, at the first call: linear algebra takes a while to load."""
        module, _, name = self.home.rpartition(".")
        f = getattr(import_module(module), name)
        parameters = inspect.signature(SIGNATURES.get(self.function.__name__, self.function)).parameters.values()
        self.names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self.lead = [n for n in self.names if n not in self.defaults]
        self.known = set(inspect.signature(f).parameters)
        self.f = f

    def __call__(self, *args, **kwargs):
        if self.f is None:
            self.prepare()
        if len(args) == len(self.lead) and kwargs.keys() <= self.known and type(np._NoValue) not in map(type, kwargs.values()):
            return self.f(*args, **kwargs)
        named = dict(zip(self.names, args, strict=False)) | kwargs
        first = [named.pop(name) for name in self.lead]
        dtype = None if "dtype" in self.known else named.pop("dtype", None)
        options = {name: value for name, value in named.items() if self.passed_on(name, value)}
        if dtype is not None and self.convert == "first":
            first[0] = first[0].astype(dtype)
        result = self.f(*first, **options)
        return result if dtype is None or self.convert == "first" else result.astype(dtype)

    def passed_on(self, name, value):
        """Whether an argument goes to the counterpart; raises for one that it does not have."""
        default = self.defaults.get(name, inspect.Parameter.empty)
        if value is default or value is np._NoValue or (isinstance(value, (bool, str)) and value == default):
            return False
        if name in self.known:
            return True
        if name in IGNORED:
            return False
        raise no_argument(self.function, name, "the result is a new tensor" if name == "out" else
                          "use tenferro.where first" if name == "where" else "leave it out")


def _calls():
    """Function of NumPy -> callable with NumPy's signature."""
    table = {}
    for module, home, names in ((np, "tenferro", {name: name for name in SAME} | RENAMED),
                                (np.linalg, "tenferro.linalg", dict(zip(LINALG, LINALG, strict=True))),
                                (np.fft, "tenferro.fft", dict(zip(FFT, FFT, strict=True)))):
        for name, ours in names.items():
            if hasattr(module, name):
                function = getattr(module, name)
                table[function] = Call(function, f"{home}.{ours}", "first" if name in ("mean", "std", "var") else "last")
    for name, f in {**adapters.TABLE, **statistics.TABLE, **signals.TABLE, **values.TABLE}.items():
        if hasattr(np, name):
            table[getattr(np, name)] = f
    return table | statistics.reductions(table)


FUNCTIONS = _calls()
"""Function of NumPy -> callable that takes what the function takes."""

_TYPES = (EagerTensor, np.ndarray, np.generic, Tensor)


def array_function(self, function, types, args, kwargs):
    """NumPy's other functions: ``np.sum(x)``, ``np.linalg.svd(x)``, ``np.concatenate([x, y])``."""
    for t in types:
        if not issubclass(t, _TYPES):
            return NotImplemented
    f = FUNCTIONS.get(function)
    if f is None:
        raise no_counterpart(function)
    return f(*args, **kwargs)
