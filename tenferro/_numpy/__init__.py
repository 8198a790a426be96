"""NumPy's protocols: functions and operators of NumPy on eager tensors run as tracked operations of this library.

Also the protocols of Python's `round` and `math.trunc`. The tables are loaded by the first call that NumPy routes here.
"""

from .._core.eager import EagerTensor
from .._core.session_ops import install_methods


def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
    """NumPy's ufuncs: ``np.exp(x)``, ``array * x``, ``np.add.reduce(x)``."""
    from .ufuncs import array_ufunc

    install_methods(EagerTensor, {"__array_ufunc__": array_ufunc})
    return array_ufunc(self, ufunc, method, *inputs, **kwargs)


def __array_function__(self, function, types, args, kwargs):
    """NumPy's other functions: ``np.sum(x)``, ``np.linalg.svd(x)``, ``np.concatenate([x, y])``."""
    from .functions import array_function

    install_methods(EagerTensor, {"__array_function__": array_function})
    return array_function(self, function, types, args, kwargs)


def __round__(self, ndigits=None):
    """Tensor of rounded elements; see `tenferro.round`."""
    from ..operations import PUBLIC

    return PUBLIC["round"](self, 0 if ndigits is None else ndigits)


def __trunc__(self):
    """Integer part of the only element."""
    return int(self)


def install():
    """Give `EagerTensor` the protocols."""
    install_methods(EagerTensor, {f.__name__: f for f in (__array_ufunc__, __array_function__, __round__, __trunc__)})
