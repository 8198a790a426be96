"""The operations by family: one table that drives session methods, the namespace, the tests and the documentation.

A family maps the name of an operation to the function that does it. ``ALIASES`` are the everyday names of NumPy and the array
API standard for the same functions.
"""

from ._kernels import ufunc  # noqa: F401  (looks inner loops up)
from ._ops import (
    assembly,
    composites,
    contraction,
    elementwise,
    index,
    networks,
    products,
    reduce,
    slicing,
    sorting,
    views,
)
from ._standard import elementwise as standard
from ._standard import everyday, scans
from ._standard.dtypes import astype

__all__ = ["ALIASES", "FAMILIES", "OPERATIONS", "OTHERS", "PUBLIC"]

_FUNCTIONS = elementwise.FUNCTIONS


def _family(source, names):
    """Pick operations out of a module or table; ``name=function`` where the two differ."""
    table = {}
    for name in names.split():
        name, _, function = name.partition("=")
        function = function or name
        table[name] = source[function] if isinstance(source, dict) else getattr(source, function)
    return table


def _find(name):
    """The module of the structure and contraction families that has a function."""
    modules = (views, slicing, assembly, composites, contraction, sorting)
    return next(getattr(m, name) for m in modules if hasattr(m, name))


FAMILIES = {
    "arithmetic": _family(_FUNCTIONS, "add sub mul div pow rem floor_div fmod neg abs sign conj real imag complex angle "
                                      "reciprocal square scale"),
    "analytic": _family(_FUNCTIONS, "exp expm1 exp2 log log1p log2 log10 sqrt rsqrt cbrt sin cos tan asin acos atan atan2 sinh "
                                    "cosh tanh asinh acosh atanh erf erfc lgamma digamma polygamma logaddexp hypot"),
    "compare and select": _family(_FUNCTIONS, "equal not_equal less less_equal greater greater_equal logical_and logical_or "
                                              "logical_xor logical_not isfinite isnan isinf maximum minimum where clamp"),
    "rounding": _family(_FUNCTIONS, "floor ceil round trunc"),
    "dtype": _family(_FUNCTIONS, "convert cast"),
    "reduce": _family(reduce, "reduce_sum=sum reduce_prod=prod reduce_max=max reduce_min=min reduce_mean=mean reduce_var=var "
                              "reduce_std=std logsumexp any all argmax argmin count_nonzero cumsum cumprod diff"),
    "sorting": _family(sorting, "sort argsort topk searchsorted unique"),
    "structure": {name: _find(name) for name in (
        "reshape transpose broadcast_to broadcast_in_dim squeeze expand_dims slice dynamic_slice pad concatenate stack split "
        "reverse roll tile repeat tril triu extract_diag embed_diag trace").split()},
    "index": {**_family(index, "gather scatter scatter_add index_set take take_along_axis index_select"),
              **_family(sorting, "masked_select nonzero")},
    "contraction": {**_family(contraction, "matmul vecdot dot_general tensordot outer einsum"),
                    **_family(products, "cross kron")},
    "networks": _family(networks, "sigmoid silu softplus gelu relu softmax log_softmax layer_norm rms_norm masked_softmax "
                                  "masked_log_softmax"),
}
"""Family -> name -> function."""

OPERATIONS = {name: f for family in FAMILIES.values() for name, f in family.items()}
"""Name -> function."""

ALIASES = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "power": "pow",
    "float_power": "pow", "remainder": "rem", "mod": "rem", "floor_divide": "floor_div", "negative": "neg", "absolute": "abs",
    "conjugate": "conj", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "gammaln": "lgamma", "rint": "round", "clip": "clamp",
    "sum": "reduce_sum", "prod": "reduce_prod", "max": "reduce_max", "min": "reduce_min", "mean": "reduce_mean",
    "var": "reduce_var", "std": "reduce_std", "amax": "reduce_max", "amin": "reduce_min", "concat": "concatenate",
}
"""Everyday name -> operation."""

OTHERS = {name: _find(name) for name in (
    "ravel swapaxes moveaxis flip diagonal permute_dims matrix_transpose broadcast_arrays atleast_1d atleast_2d hstack vstack "
    "fliplr flipud unstack array_split dot inner einsum_path unique_all unique_counts unique_inverse "
    "unique_values").split()}
OTHERS.update({name: getattr(module, name) for module in (standard, everyday, scans) for name in module.__all__})
OTHERS["astype"] = astype
"""Composites that are no operations of their own."""

PUBLIC = {**OPERATIONS, **{name: OPERATIONS[op] for name, op in ALIASES.items()}, **OTHERS}
"""All functions of the namespace."""


def __dir__():
    return __all__
