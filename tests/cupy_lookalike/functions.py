"""Functions of CuPy 14.2 with its signatures, computed by NumPy and SciPy. Only what is listed exists."""

from contextlib import contextmanager

import numpy as np
import scipy.linalg
import scipy.special

from .array import ndarray, on_current_device, operator, run, wrapped
from .machine import MACHINE

UFUNCS = {
    1: "negative absolute sign conjugate reciprocal square exp expm1 exp2 log log1p log2 log10 sqrt cbrt sin cos tan arcsin "
       "arccos arctan sinh cosh tanh arcsinh arccosh arctanh logical_not isfinite isnan isinf floor ceil rint trunc signbit "
       "invert",
    2: "add subtract multiply true_divide power remainder floor_divide fmod arctan2 logaddexp hypot copysign equal not_equal "
       "less less_equal greater greater_equal logical_and logical_or logical_xor maximum minimum bitwise_xor bitwise_and "
       "bitwise_or",
}
"""Functions of one or two arrays, by the number of arrays."""

REAL_ONLY = {"logical_and", "logical_or", "logical_xor", "logical_not"}
"""What CuPy lacks for complex numbers, though NumPy has it."""

FUNCTIONS = """
sum(a, axis=None, dtype=None, out=None, keepdims=False)
prod(a, axis=None, dtype=None, out=None, keepdims=False)
max(a, axis=None, out=None, keepdims=False)
min(a, axis=None, out=None, keepdims=False)
any(a, axis=None, out=None, keepdims=False)
all(a, axis=None, out=None, keepdims=False)
argmax(a, axis=None, dtype=None, out=None, keepdims=False)
argmin(a, axis=None, dtype=None, out=None, keepdims=False)
cumsum(a, axis=None, dtype=None, out=None)
cumprod(a, axis=None, dtype=None, out=None)
count_nonzero(a, axis=None)
concatenate(tup, axis=0, out=None, *, dtype=None, casting='same_kind')
stack(tup, axis=0, out=None, *, dtype=None, casting='same_kind')
tril(m, k=0)
triu(m, k=0)
flip(a, axis=None)
broadcast_to(array, shape)
transpose(a, axes=None)
reshape(a, newshape, order='C', *, copy=None)
moveaxis(a, source, destination)
expand_dims(a, axis)
squeeze(a, axis=None)
take(a, indices, axis=None, out=None)
take_along_axis(a, indices, axis)
where(condition, x=None, y=None)
angle(z, deg=False)
real(val)
imag(val)
flatnonzero(a)
diff(a, n=1, axis=-1, prepend=None, append=None)
argsort(a, axis=-1, kind=None)
searchsorted(a, v, side='left', sorter=None)
diagonal(a, offset=0, axis1=0, axis2=1)
ascontiguousarray(a, dtype=None)
tensordot(a, b, axes=2)
"""

CREATION = """
zeros(shape, dtype=float, order='C')
ones(shape, dtype=float, order='C')
empty(shape, dtype=float, order='C')
full(shape, fill_value, dtype=None, order='C')
eye(N, M=None, k=0, dtype=float, order='C')
arange(start, stop=None, step=1, dtype=None)
tri(N, M=None, k=0, dtype=float)
"""

LINALG = """
cholesky(a)
qr(a, mode='reduced')
svd(a, full_matrices=True, compute_uv=True)
eigh(a, UPLO='L')
eigvalsh(a, UPLO='L')
det(a)
slogdet(a)
solve(a, b)
inv(a)
eig(a)
eigvals(a)
"""

FFT = """
fft(a, n=None, axis=-1, norm=None)
ifft(a, n=None, axis=-1, norm=None)
fftn(a, s=None, axes=None, norm=None)
ifftn(a, s=None, axes=None, norm=None)
rfft(a, n=None, axis=-1, norm=None)
irfft(a, n=None, axis=-1, norm=None)
"""

SPECIAL = {"erf": "efd", "erfc": "efd", "gammaln": "efd", "loggamma": "efdFD", "digamma": "efdFD"}
"""Functions of ``cupyx.scipy.special`` with their inexact dtypes."""


class Ufunc:
    """An elementwise function."""

    def __init__(self, name, f, nin, complex=True):
        self.name, self.f, self.nin, self.complex = name, f, nin, complex

    def __call__(self, *args, out=None, dtype=None, casting="same_kind"):
        if len(args) not in (self.nin, self.nin + 1):
            raise TypeError(f"Wrong number of arguments for {self.name}")
        if not self.complex and any(getattr(a, "dtype", np.dtype(bool)).kind == "c" for a in args):
            raise TypeError(f"Wrong type of arguments for {self.name}")
        if len(args) > self.nin:
            *args, out = args
        words = {key: v for key, v in {"out": out, "dtype": dtype}.items() if v is not None}
        return run(self.name, self.f, args, words)

    def at(self, a, indices, b=None):
        on_current_device([a, indices, b])
        MACHINE.launch(f"{self.name}.at")
        self.f.at(a._host, indices._host, b._host)


def made(line, run_it):
    """A function of a signature. It runs as ``run_it(name, arguments by name)``."""
    name, signature = line.split("(", 1)
    space = {"run_it": run_it}
    exec(f"def {name}({signature}:\n    return run_it({name!r}, locals())", space)
    return space[name]


def table(text, run_it):
    return {line.split("(")[0]: made(line, run_it) for line in text.strip().splitlines()}


# ---- how NumPy computes them -----------------------------------------------------------------------------------------

OWN = {
    "take": lambda a, indices, axis, out: np.take(a, indices, axis=axis, mode="wrap"),
    "take_along_axis": lambda a, indices, axis: np.take_along_axis(a, indices % a.shape[axis], axis),
    "argsort": lambda a, axis, kind: np.argsort(a, axis=axis, kind="stable"),
    "argmax": lambda a, axis, dtype, out, keepdims: np.argmax(a, axis=axis, keepdims=keepdims),
    "argmin": lambda a, axis, dtype, out, keepdims: np.argmin(a, axis=axis, keepdims=keepdims),
    "count_nonzero": lambda a, axis: np.asarray(np.count_nonzero(a, axis=axis), np.int64),
    "reshape": lambda a, newshape, order, copy: np.reshape(a, newshape, order=order),
    "concatenate": lambda tup, axis, out, dtype, casting: np.concatenate(tup, axis, dtype=dtype, casting=casting),
    "stack": lambda tup, axis, out, dtype, casting: np.stack(tup, axis, dtype=dtype, casting=casting),
    "where": lambda condition, x, y: np.where(condition, x, y),
    "real": lambda val: np.real(val),
    "imag": lambda val: np.imag(val),
    "diff": lambda a, n, axis, prepend, append: np.diff(a, n, axis),
    "flip": lambda a, axis: np.flip(a, axis),
}


def _compute(name, given):
    if name == "flatnonzero":
        MACHINE.waits(name)
    return run(name, OWN.get(name) or getattr(np, name), (), given)


def _create(name, given):
    if name == "arange" and given["stop"] is None:
        given |= {"start": 0, "stop": given["start"]}
    words = {k: v for k, v in given.items() if v is not None}
    first = [words.pop(k) for k in ("shape", "fill_value", "N", "start", "stop", "step") if k in words]
    MACHINE.launch(name)
    return wrapped(np.array(getattr(np, name)(*first, **words), order="K"))


def _linalg(name, given):
    """By default CuPy does not wait to see whether something failed; results are not numbers then."""
    if MACHINE.linalg == "raise":
        MACHINE.waits(f"linalg.{name}")
    f = getattr(np.linalg, name)

    def call(**words):
        try:
            y = f(words["a"], **{k: v for k, v in words.items() if k != "a"})
        except np.linalg.LinAlgError:
            if MACHINE.linalg == "raise":
                raise
            y = np.full_like(words.get("b", words["a"]), np.nan)
        return tuple(y) if isinstance(y, tuple) else y
    return run(f"linalg.{name}", call, (), given)


def _fft(name, given):
    return run(f"fft.{name}", getattr(np.fft, name), (), given)


def copyto(dst, src, casting="same_kind", where=None):
    if not isinstance(src, ndarray):
        raise TypeError("src is not a device array")
    dst[...] = src


def matmul(*args, axes=None, axis=None, keepdims=False, casting="same_kind", dtype=None, signature=None, order="K", out=None):
    if any(not isinstance(a, ndarray) for a in args):
        raise TypeError("Argument has incorrect type (expected cupy._core.core._ndarray_base, got numpy.ndarray)")
    return run("matmul", np.matmul, args, {})


def empty_like(prototype, dtype=None, order="K", subok=None, shape=None):
    MACHINE.launch("empty_like")
    return wrapped(np.empty_like(prototype._host, dtype=dtype, order=order, shape=shape))


def ones_like(a, dtype=None, order="K", subok=None, shape=None):
    return _create("ones", {"shape": a.shape, "dtype": a.dtype if dtype is None else dtype})


@contextmanager
def allow_synchronize(allow):
    before, MACHINE.may_wait = MACHINE.may_wait, allow
    try:
        yield
    finally:
        MACHINE.may_wait = before


@contextmanager
def errstate(*, divide=None, over=None, under=None, invalid=None, linalg=None):
    before, MACHINE.linalg = MACHINE.linalg, linalg or MACHINE.linalg
    try:
        yield
    finally:
        MACHINE.linalg = before


def zeros_like(a, dtype=None, order="K", subok=None, shape=None):
    return _create("zeros", {"shape": a.shape, "dtype": a.dtype if dtype is None else dtype})


def array(obj, dtype=None, copy=True, order="K", subok=False, ndmin=0, *, blocking=False):
    """From the host through pinned memory: the host does not wait unless it is told to."""
    if isinstance(obj, ndarray):
        on_current_device([obj])
        return obj.astype(obj.dtype if dtype is None else dtype, order=order, copy=copy)
    host = np.array(obj, dtype=dtype, copy=True, ndmin=ndmin,
                    order="F" if getattr(obj, "ndim", 0) and obj.flags.fnc and order in "KAF" else "C")
    if blocking:
        MACHINE.waits("array")
    MACHINE.uploads.append((host.nbytes, not blocking))
    return wrapped(host)


def asarray(a, dtype=None, order=None, *, copy=None, blocking=False):
    if isinstance(a, ndarray) and (dtype is None or a.dtype == dtype) and not copy:
        return a
    return array(a, dtype, order=order or "K", blocking=blocking)


def asnumpy(a, stream=None, order="C", out=None, *, blocking=True):
    return a.get(stream=stream, order=order, out=out) if isinstance(a, ndarray) else np.asarray(a)


def scatter_add(a, slices, value):
    if a.dtype.name not in ("int32", "uint32", "uint64", "float32", "float64"):
        raise TypeError("scatter_add only supports int32, float32, float64, uint32, uint64 as data type")
    on_current_device([a])
    MACHINE.launch("scatter_add")
    np.add.at(a._host, slices._host % a.shape[0], value._host)


def empty_pinned(shape, dtype=float, order="C"):
    return np.empty(shape, dtype, order)


def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=False):
    if a.ndim != 2:
        raise ValueError("expected square matrix")
    if check_finite:
        MACHINE.waits("solve_triangular")
    return run("solve_triangular", lambda x, y: np.asarray(scipy.linalg.solve_triangular(
        x, y, trans, lower, unit_diagonal, check_finite=False)), (a, b), {})


def lu_factor(a, overwrite_a=False, check_finite=True):
    if a.ndim != 2:
        raise np.linalg.LinAlgError("1-dimensional or stacked array given. Array must be two-dimensional")
    MACHINE.waits("lu_factor")
    lu, piv = run("lu_factor", scipy.linalg.lu_factor, (a,), {})
    return lu, piv.astype("int32")


def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    if check_finite:
        MACHINE.waits("lu_solve")
    return run("lu_solve", lambda lu, piv, y: np.asarray(scipy.linalg.lu_solve((lu, piv), y, trans, check_finite=False)),
               (*lu_and_piv, b), {})


def _special(name, chars):
    f = getattr(scipy.special, name)

    def call(*args, out=None, dtype=None, casting="same_kind"):
        if args[0].dtype.char not in chars:
            raise TypeError(f"Wrong type ({args[0].dtype}) of arguments for cupyx_scipy_special_{name}")
        return run(name, f, args, {})
    call.__name__ = name
    return call


def polygamma(n, x):
    return run("polygamma", scipy.special.polygamma, (n, x), {})


def numpy_functions():
    """Everything of the main namespace that computes."""
    found = {name: Ufunc(name, getattr(np, name), nin, name not in REAL_ONLY)
             for nin, names in UFUNCS.items() for name in names.split()}
    found["divide"] = found["true_divide"]
    found["abs"], found["conj"] = found["absolute"], found["conjugate"]
    found.update(table(FUNCTIONS, _compute))
    found.update(table(CREATION, _create))
    for f in (copyto, matmul, zeros_like, ones_like, empty_like, array, asarray, asnumpy):
        found[f.__name__] = f
    return found


def install_operators(f):
    """Python's operators of arrays."""
    for sign, name in {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "pow": "power",
                       "mod": "remainder", "floordiv": "floor_divide", "matmul": "matmul", "and": "bitwise_and",
                       "or": "bitwise_or", "xor": "bitwise_xor"}.items():
        setattr(ndarray, f"__{sign}__", operator(f[name]))
        setattr(ndarray, f"__r{sign}__", operator(f[name], True))
    for sign, name in {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
                       "ge": "greater_equal"}.items():
        setattr(ndarray, f"__{sign}__", operator(f[name]))
    for sign, name in {"neg": "negative", "abs": "absolute", "invert": "invert"}.items():
        setattr(ndarray, f"__{sign}__", lambda self, g=f[name]: g(self))


LINALG_FUNCTIONS = table(LINALG, _linalg)
FFT_FUNCTIONS = table(FFT, _fft)
SPECIAL_FUNCTIONS = {**{name: _special(name, chars) for name, chars in SPECIAL.items()}, "polygamma": polygamma}
