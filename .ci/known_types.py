"""Types that neither a signature nor a docstring tells."""

GENERIC = {"dict": "dict[typing.Any, typing.Any]", "tuple": "tuple[typing.Any, ...]", "list": "list[typing.Any]",
           "Iterable": "collections.abc.Iterable[typing.Any]", "type": "type[typing.Any]"}
TENSOR, NDARRAY = "EagerTensor", "numpy.ndarray[typing.Any, numpy.dtype[typing.Any]]"
ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
OF_TENSORS = {
    **{f"__{side}{name}__": TENSOR for name in ARITHMETIC for side in ("", "r", "i")},
    **dict.fromkeys(("__neg__", "__pos__", "__abs__", "__invert__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__",
                     "__getitem__", "__round__", "T", "mT", "H", "real", "imag"), TENSOR),
    **dict.fromkeys(("__divmod__", "__rdivmod__"), f"tuple[{TENSOR}, {TENSOR}]"),
    "__iter__": f"collections.abc.Iterator[{TENSOR}]", "__array__": NDARRAY, "grad": f"{TENSOR} | None",
    "ctx_id": "ContextId", "runtime": "EagerRuntime", "tracks_grad": "bool",
}
OF_VALUES = {"dtype": "numpy.dtype[typing.Any]", "shape": "tuple[int, ...]", "strides": "tuple[int, ...]", "ndim": "int",
             "size": "int", "nbytes": "int", "device": "str", "placement": "str", "numpy": NDARRAY, "__array__": NDARRAY}
MEMBERS = {
    TENSOR: {**OF_VALUES, **OF_TENSORS}, "Tensor": OF_VALUES, "EagerSession": {"runtime": "EagerRuntime",
    "engine": "ExecutionEngine"}, "EagerRuntime": {"id": "ContextId", "default_engine": "ExecutionEngine | None",
    "ad_transform_cache_limits": "CacheLimits", "prepared_derivative_cache_limits": "CacheLimits"},
    "Gradients": {"__getitem__": TENSOR, "__iter__": f"collections.abc.Iterator[{TENSOR}]"},
    "ExecutionEngine": {"name": "str", "kind": "str", "threads": "int"},
    "CacheLimits": {"max_entries": "int", "max_retained_bytes": "int"},
    "SessionGuard": {"__enter__": "EagerSession"}, "NoGrad": {"__enter__": "NoGrad"},
}  # fmt: skip
"""Class -> member -> type."""

FIELDS = {**dict.fromkeys(("UniqueAll", "UniqueCounts", "UniqueInverse"), TENSOR), "CacheStats": "int",
          "CacheReport": "CacheStats"}
"""Named tuple -> type of its fields."""

RETURNS = {
    "__init__": "None", "__len__": "int", "__bool__": "bool", "__hash__": "int", "__int__": "int", "__index__": "int",
    "__float__": "float", "__complex__": "complex", "__repr__": "str", "__str__": "str", "__contains__": "bool",
    "__setitem__": "None", "__delitem__": "None", "__setattr__": "None", "__delattr__": "None",
    "__iter__": "Iterator[typing.Any]",
}  # fmt: skip
