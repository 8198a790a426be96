"""How an engine's methods say what they are: for which dtypes, and whether the library itself, a composition or the host."""

DTYPES = {"b": ("bool",), "i": ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
          "f": ("float32", "float64"), "c": ("complex64", "complex128")}
"""Kinds of dtypes by letter."""

NATIVE, COMPOSED, HOST, OWN, UNSUPPORTED = "native", "composed", "host", "own", "unsupported"


def dtypes_of(kinds):
    """The dtypes of kinds that letters name."""
    return tuple(d for k in kinds for d in DTYPES[k])


def composed(kinds):
    """A method in terms of the standard's functions, for some kinds of dtypes of its last array."""
    def mark(f):
        f.kinds, f.level, f.names = kinds, COMPOSED, ()
        return f
    return mark


def _named(f, names, kinds, level):
    f.kinds, f.level, f.names = kinds, level, names
    return f


def unary(name, kinds, *names, fallback=None):
    """A method that calls the first function of these names that a namespace has, else a composition."""
    def method(self, x):
        f = self._found(names)
        if f is not None:
            return f(x)
        return NotImplemented if fallback is None else fallback(self, x)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``{names[0]}(x)``." if names else f"``{name}(x)``."
    return _named(method, names, kinds, COMPOSED if fallback else HOST)


def binary(name, kinds, *names, fallback=None):
    """As `unary`, of two arrays."""
    def method(self, x, y):
        f = self._found(names)
        if f is not None:
            return f(x, y)
        return NotImplemented if fallback is None else fallback(self, x, y)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``{names[0]}(x, y)``." if names else f"``{name}(x, y)``."
    return _named(method, names, kinds, COMPOSED if fallback else HOST)


def left_to_host(f):
    """A method that the standard has nothing for."""
    return _named(f, (), "", HOST)
