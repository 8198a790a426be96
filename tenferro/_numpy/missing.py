"""Errors for what NumPy routes here and this library does not have: they name the function and what comes closest."""

from difflib import get_close_matches

import numpy as np

from ..operations import PUBLIC

CLOSEST = {
    "apply_along_axis": "tenferro.stack over x[i]", "apply_over_axes": "a reduction with axis=(...)",
    "bitwise_count": "numpy.bitwise_count on the values", "choose": "tenferro.where", "copyto": "tenferro.where",
    "diag_indices_from": "tenferro.diagonal", "frexp": "tenferro.log2", "geomspace": "tenferro.exp of numpy.linspace",
    "histogram2d": "tenferro.searchsorted", "histogramdd": "tenferro.searchsorted",
    "i0": "tenferro.custom_op around scipy.special.i0", "insert": "tenferro.concatenate", "intersect1d": "tenferro.unique",
    "ldexp": "tenferro.exp2", "logspace": "tenferro.exp of numpy.linspace", "nanmedian": "tenferro.sort",
    "nanpercentile": "tenferro.sort", "nanquantile": "tenferro.sort", "nextafter": "numpy.nextafter on the values",
    "partition": "tenferro.topk", "piecewise": "tenferro.where", "poly": "tenferro.linalg.eigvals",
    "roots": "tenferro.linalg.eigvals of the companion matrix", "setdiff1d": "tenferro.unique", "setxor1d": "tenferro.unique",
    "sort_complex": "tenferro.sort", "spacing": "numpy.spacing on the values", "trim_zeros": "x[start:stop]",
    "union1d": "tenferro.unique",
}
"""Function of NumPy -> what comes closest, where the names do not tell."""


def closest(name):
    """What to use instead of a function of NumPy."""
    if name in CLOSEST:
        return CLOSEST[name]
    found = get_close_matches(name, PUBLIC, 1, 0.5)
    return f"tenferro.{found[0]}" if found else "tenferro.custom_op around NumPy's function"


def full_name(function):
    """Name with the module, as users write it; ufuncs do not know where they come from."""
    if isinstance(function, np.ufunc) and getattr(np, function.__name__, None) is not function:
        return f"the ufunc {function.__name__}"
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module}.{function.__name__}"


def no_counterpart(function):
    """The error for a function that does not exist here."""
    return TypeError(f"{full_name(function)} has no counterpart for eager tensors; what comes closest is "
                     f"{closest(function.__name__)}; for the values alone call it on x.detach().numpy()")


def no_argument(function, name, advice="leave it out"):
    """The error for an argument that the counterpart here does not have."""
    return TypeError(f"{full_name(function)}: {name}= is not supported for eager tensors; {advice}")
