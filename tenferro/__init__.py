"""Eager tensors with automatic differentiation on exchangeable execution engines.

The module itself is the array namespace: ``import tenferro as tfr``, then ``tfr.variable``, ``tfr.exp``, ``tfr.einsum``, ...
"""

import os as _os

import numpy as _np

from . import errors
from ._core import anomaly as _anomaly  # noqa: F401  (installs methods)
from ._core import assignment as _assignment  # noqa: F401  (installs methods)
from ._core import capture as _capture  # noqa: F401  (installs methods)
from ._core import derivative as _derivative  # noqa: F401  (installs methods)
from ._core import drawing as _drawing  # noqa: F401  (installs methods)
from ._core import explain as _explain  # noqa: F401  (installs methods)
from ._core import extension as _extension  # noqa: F401  (installs methods)
from ._core import inplace as _inplace  # noqa: F401  (installs methods)
from ._core import pickling as _pickling  # noqa: F401  (installs methods)
from ._core import profiling as _profiling  # noqa: F401  (installs methods)
from ._core.caches import AdContext, CacheLimits, CacheStats
from ._core.custom import custom_op
from ._core.eager import EagerTensor
from ._core.engine import ExecutionEngine
from ._core.gradients import Gradients
from ._core.handles import constant, variable
from ._core.memory import buffer_limit
from ._core.state import (
    ContextId,
    EagerRuntime,
    EagerSession,
    default_engine,
    default_runtime,
    no_grad,
    session,
    set_default_engine,
)
from ._core.tensor import Tensor
from ._creation import *  # noqa: F403
from ._creation import __all__ as _creation
from ._methods import install as _install
from ._numpy import install as _install_protocols
from ._standard.dlpack import from_dlpack
from ._standard.dtypes import *  # noqa: F403
from ._standard.dtypes import __all__ as _dtypes
from ._standard.info import VERSION as __array_api_version__
from ._standard.info import array_namespace_info as __array_namespace_info__
from .operations import PUBLIC as _PUBLIC
from .rules import load as _load_rules

__version__ = "0.1.0"

_load_rules()
_install()
_install_protocols()
globals().update(_PUBLIC)

_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
           "complex64", "complex128")
bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, complex64, complex128 = (
    _np.dtype(_name) for _name in _DTYPES)
e, inf, nan, pi, newaxis = _np.e, _np.inf, _np.nan, _np.pi, None

_LAZY = {"DeviceEngine": "_foreign.device", "DeviceMemory": "_foreign.device", "NamespaceEngine": "_foreign.engine",
         "checkpoint": "_checkpoint", "engine": "_engines", "engines": "_engines",
         "hessian": "_jacobian", "jacobian": "_jacobian",
         "load": "_files", "save": "_files",
         **dict.fromkeys(("grad", "hvp", "jvp", "stop_gradient", "value_and_grad", "vjp"), "transforms")}
_CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")
_SUBMODULES = ("hookspecs", "linalg", "optimize", "plugins", "random", "support", "testing")

__all__ = ["AdContext", "CacheLimits", "CacheStats", "ContextId", "EagerRuntime", "EagerSession", "EagerTensor",
           "ExecutionEngine", "Gradients", "Tensor", "buffer_limit", "constant", "custom_op", "default_engine",
           "default_runtime", "errors", "fft", "from_dlpack", "get_include", "no_grad", "session", "set_default_engine",
           "variable", "__array_api_version__", "__array_namespace_info__", "__version__", *_LAZY, *_SUBMODULES, *_creation,
           *_dtypes, *_DTYPES, *_CONSTANTS, *_PUBLIC]


def __getattr__(name):
    """Function transforms and submodules, loaded at first use."""
    if name not in _LAZY and name not in _SUBMODULES:
        raise AttributeError(f"module 'tenferro' has no attribute {name!r}")
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"tenferro.{name}")
    value = globals()[name] = getattr(import_module(f"tenferro.{_LAZY[name]}"), name)
    return value


def __dir__():
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def get_include() -> str:
    """Directory to add to Cython's ``include_path`` and to a C compiler's include path.

    It contains the ``tenferro`` package with its ``.pxd`` and ``.h`` files.

    Returns
    -------
    str
        Absolute path of the directory.

    Examples
    --------
    >>> import tenferro as tfr
    >>> import os
    >>> os.path.exists(os.path.join(tfr.get_include(), "tenferro", "_core", "abi.pxd"))
    True
    """
    return _os.path.dirname(_os.path.dirname(_os.path.abspath(__file__)))


from . import fft  # noqa: E402  (needs what is above)
