"""The look-alike's arrays and how its functions run: NumPy's, as if on a device."""

import numpy as np

from . import machine
from .machine import HIGH, MACHINE, Device, Memory, MemoryPointer, host_view

IMPLICIT = ("Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly.")
NUMBERS = (bool, int, float, complex, np.generic)


def wrapped(host, base=None):
    """A device array of a NumPy array: over the memory of an array, or in its own."""
    a = ndarray.__new__(ndarray)
    if base is None and (host.base is not None or not host.flags.owndata):
        host = host.copy(order="K")
    a._host = host
    a._mem = Memory(host.nbytes, host) if base is None else base._mem
    a.base = base
    return a


def on_current_device(arrays):
    """Refuse arrays of a device that is not the current one."""
    for a in arrays:
        if a._mem.device_id != MACHINE.device:
            raise ValueError(f"Array device must be same as the current device: array device = {a._mem.device_id} while "
                             f"current = {MACHINE.device}")


def as_host(value):
    """What NumPy is to compute with. Arrays of the host are refused."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, (list, tuple)):
        return type(value)(as_host(v) for v in value)
    return value


def arrays_in(values):
    for v in values:
        if isinstance(v, ndarray):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from arrays_in(v)


def run(name, f, args, kwargs):
    """Compute with NumPy; views stay views, everything else is a launch on the current device."""
    sources = list(arrays_in([*args, *kwargs.values()]))
    hosts, words = [as_host(a) for a in args], {k: as_host(v) for k, v in kwargs.items()}
    with np.errstate(all="ignore"):
        found = f(*hosts, **words)
    outputs = [finished(name, y, sources, kwargs.get("out")) for y in (found if isinstance(found, tuple) else [found])]
    return tuple(outputs) if isinstance(found, tuple) else outputs[0]


def finished(name, host, sources, out):
    host = np.asarray(host)
    base = next((s for s in sources if s.size and host.size and np.may_share_memory(host, s._host)), None)
    if base is not None and out is None:
        return wrapped(host, base)
    on_current_device(sources)
    MACHINE.launch(name)
    return out if out is not None else wrapped(host)


class ndarray:
    """Array on a device."""

    __array_ufunc__ = None
    __hash__ = None

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        shape, dtype = (shape,) if isinstance(shape, int) else tuple(shape), np.dtype(dtype)
        if memptr is None:
            self._host = np.empty(shape, dtype, order or "C")
            self._mem = Memory(self._host.nbytes, self._host)
        else:
            strides = np.empty(shape, np.dtype((np.void, dtype.itemsize)), order).strides if strides is None else strides
            self._host, self._mem = host_view(memptr, shape, tuple(strides), dtype), memptr.mem
        self.base = None

    # ---- what it is

    shape = property(lambda self: self._host.shape)
    strides = property(lambda self: self._host.strides)
    dtype = property(lambda self: self._host.dtype)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)
    nbytes = property(lambda self: self._host.nbytes)
    itemsize = property(lambda self: self._host.itemsize)
    flags = property(lambda self: self._host.flags)
    device = property(lambda self: Device(self._mem.device_id))

    @property
    def data(self):
        return MemoryPointer(self._mem, (self._host.__array_interface__["data"][0] ^ HIGH) - self._mem.ptr)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.data.ptr, False), "version": 3,
                "strides": self.strides, "stream": 1}

    def __len__(self):
        return len(self._host)

    def __repr__(self):
        return f"<{self.dtype}{list(self.shape)} on {self.device}>"

    # ---- what is refused, or makes the host wait

    def __array__(self, dtype=None, copy=None):
        raise TypeError(IMPLICIT)

    def __array_function__(self, f, types, args, kwargs):
        raise TypeError(f"numpy.{f.__name__} was called with an array of a device")

    def __iter__(self):
        raise TypeError("the look-alike refuses to iterate over a device array")

    def _number(self, convert):
        MACHINE.waits(convert.__name__)
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return convert(self._host.item())

    def __bool__(self):
        return self._number(bool)

    def __int__(self):
        return self._number(int)

    def __float__(self):
        return self._number(float)

    def __complex__(self):
        return self._number(complex)

    def item(self):
        MACHINE.waits("item")
        return self._host.item()

    def tolist(self):
        MACHINE.waits("tolist")
        return self._host.tolist()

    def get(self, stream=None, order="C", out=None, blocking=True):
        MACHINE.waits("get")
        if out is not None:
            out[...] = self._host
            return out
        return np.array(self._host, order=order, copy=True)

    def nonzero(self):
        MACHINE.waits("nonzero")
        return tuple(wrapped(np.ascontiguousarray(k)) for k in self._host.nonzero())

    # ---- elements

    def __getitem__(self, index):
        return run("getitem", _taken, (self, _checked(index, self)), {})

    def __setitem__(self, index, value):
        index = _checked(index, self)
        if isinstance(value, np.ndarray) and value.ndim:
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        on_current_device([self, *arrays_in([value, index])])
        MACHINE.launch("setitem")
        with np.errstate(all="ignore"):
            self._host[_wrapping(self._host, as_host(index))] = value._host if isinstance(value, ndarray) else value

    def _method(name):
        def method(self, *args, **kwargs):
            return run(name, lambda x, *a, **k: getattr(x, name)(*a, **k), (self, *args), kwargs)
        method.__name__ = name
        return method

    for _name in ("reshape", "transpose", "ravel", "squeeze", "sum", "prod", "max", "min", "any", "all", "argmax", "argmin",
                  "cumsum", "cumprod", "take", "diagonal", "swapaxes", "view", "conj", "conjugate", "mean", "repeat"):
        locals()[_name] = _method(_name)
    del _name

    T = property(lambda self: self.transpose())
    real = property(lambda self: run("real", np.real, (self,), {}))
    imag = property(lambda self: run("imag", np.imag, (self,), {}))

    @real.setter
    def real(self, value):
        self.real[...] = value

    @imag.setter
    def imag(self, value):
        self.imag[...] = value

    def astype(self, dtype, order="K", casting=None, subok=None, copy=True):
        if not copy and self.dtype == dtype:
            return self
        on_current_device([self])
        MACHINE.launch("astype")
        with np.errstate(all="ignore"):
            return wrapped(_cast(self._host, np.dtype(dtype), order))

    def copy(self, order="C"):
        on_current_device([self])
        MACHINE.launch("copy")
        return wrapped(self._host.copy(order=order))

    def fill(self, value):
        self[...] = value

    def set(self, arr, stream=None):
        if not isinstance(arr, np.ndarray) or arr.shape != self.shape or arr.dtype != self.dtype:
            raise TypeError("Only numpy.ndarray of this shape and dtype can be set to cupy.ndarray")
        if not (self.flags.c_contiguous and arr.flags.c_contiguous):
            raise RuntimeError("Cannot set to non-contiguous array")
        MACHINE.uploads.append((arr.nbytes, stream is not None))
        self._host[...] = arr

    def __dlpack_device__(self):
        return 2, self._mem.device_id

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        from .dlpack import exported
        return exported(self, max_version)


def _cast(x, dtype, order):
    """Complex numbers lose their imaginary parts without a warning."""
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return x.astype(dtype, order=order, copy=True)


def _checked(index, x):
    """An index as CuPy takes it; masks make the host wait."""
    for k in index if isinstance(index, tuple) else (index,):
        if isinstance(k, (np.ndarray, list)):
            raise TypeError("index a device array with device arrays")
        if isinstance(k, ndarray) and k.dtype.kind == "b":
            MACHINE.waits("mask")
    return index


def _wrapping(x, index):
    """Index arrays as CuPy reads them: modulo the size of their axis."""
    whole = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(k, np.ndarray) for k in whole):
        return index
    if Ellipsis in [k for k in whole if not isinstance(k, np.ndarray)] or any(k is None for k in whole):
        return index
    return tuple(k % x.shape[d] if isinstance(k, np.ndarray) and k.dtype.kind != "b" else k for d, k in enumerate(whole))


def _taken(x, index):
    return x[_wrapping(x, index)]


def operator(f, reverse=False):
    """An operator in terms of a function; other types get their turn."""
    def method(self, other):
        if isinstance(other, np.ndarray):
            raise TypeError(f"Unsupported type {type(other)}")
        if not isinstance(other, (ndarray, *NUMBERS)):
            return NotImplemented
        return f(other, self) if reverse else f(self, other)
    return method


__all__ = ["machine", "ndarray", "on_current_device", "operator", "run", "wrapped"]
