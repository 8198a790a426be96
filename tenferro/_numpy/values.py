"""Functions of NumPy whose results have no derivative: NumPy's own, on the values. Arrays come back as untracked tensors."""

import numpy as np

from .._core.eager import EagerTensor
from .missing import full_name

ON_VALUES = """allclose argpartition argwhere array2string array_equal array_equiv array_str bincount can_cast common_type
    digitize flatnonzero histogram histogram_bin_edges isclose iscomplex iscomplexobj isin isneginf isposinf isreal isrealobj
    ix_ lexsort min_scalar_type nanargmax nanargmin ndim packbits ravel_multi_index result_type shape size tril_indices_from
    triu_indices_from unpackbits unravel_index""".split()
"""Functions that compute with the values of tracked tensors too."""

EXPORTS = "may_share_memory save savetxt savez savez_compressed shares_memory".split()
"""Functions that need the array itself: tracked tensors raise, as in ``np.asarray``."""

WRITES = {"copyto": "tenferro.where", "fill_diagonal": "tenferro.where", "place": "tenferro.where", "put": "tenferro.index_set",
          "put_along_axis": "tenferro.scatter", "putmask": "tenferro.where"}
"""Functions that write into their first argument -> what replaces them where that is a tensor."""


def _mapped(x, change):
    """Containers with every tensor in them replaced."""
    if isinstance(x, EagerTensor):
        return change(x)
    if type(x) in (list, tuple):
        return type(x)(_mapped(y, change) for y in x)
    if type(x) is dict:
        return {k: _mapped(y, change) for k, y in x.items()}
    return x


def _value(x):
    return x.detach().numpy()


def _first(x):
    """Any tensor among arguments."""
    found = []
    _mapped(x, found.append)
    return found[0]


def _back(result, runtime):
    """NumPy's results as NumPy gives them, arrays as tensors."""
    if type(result) is np.ndarray and result.ndim:
        return runtime.constant_from(result)
    return tuple(_back(r, runtime) for r in result) if type(result) is tuple else result


def on_values(function):
    """NumPy's function on the values of its arguments."""
    def call(*args, **kwargs):
        runtime = _first((args, kwargs)).runtime
        return _back(function(*_mapped(args, _value), **_mapped(kwargs, _value)), runtime)

    return call


def on_arrays(function):
    """NumPy's function on untracked arguments as arrays."""
    def call(*args, **kwargs):
        return function(*_mapped(args, np.asarray), **_mapped(kwargs, np.asarray))

    return call


def writing(function, instead):
    """NumPy's function on untracked arguments, unless it would write into a tensor."""
    write = on_arrays(function)

    def call(target, *args, **kwargs):
        if isinstance(target, EagerTensor):
            raise TypeError(f"{full_name(function)} cannot write into an eager tensor, which is immutable; what comes closest "
                            f"is {instead}")
        return write(target, *args, **kwargs)

    return call


TABLE = {
    **{name: on_values(getattr(np, name)) for name in ON_VALUES},
    **{name: on_arrays(getattr(np, name)) for name in EXPORTS},
    **{name: writing(getattr(np, name), instead) for name, instead in WRITES.items()},
    "array_repr": lambda arr, *args, **kwargs: repr(arr),
}
"""Name of the function in `numpy` -> callable."""
