"""Functions without derivatives that NumPy computes on the host; the results are constants."""

import numpy as np

from .._core.eager import EagerTensor
from .._core.handles import constant
from .._core.spaces import space_by_name
from .._core.tensor import Tensor
from .._ops.elementwise import cast
from ..errors import ContextMismatchError, DTypeMismatchError, IntegerOverflowError, PlacementError


def runtime_of(*xs):
    """The runtime that tensors share; None without tensors."""
    found = None
    for x in xs:
        if isinstance(x, EagerTensor):
            if found is not None and x.runtime is not found:
                raise ContextMismatchError(lhs=found.id, rhs=x.runtime.id)
            found = x.runtime
    return found


def read(x):
    """What NumPy computes with: the value of a tensor, anything else as it is."""
    if isinstance(x, EagerTensor):
        x = x.value()
    if isinstance(x, (list, tuple)):
        x = np.asarray(x)
    return x.numpy() if isinstance(x, Tensor) else x


def constant_in(runtime, array):
    """An array that nobody else holds as a constant, by default in the runtime of the innermost open session."""
    tensor = Tensor.from_numpy(np.asarray(array), copy=False)
    return constant(tensor, copy=False) if runtime is None else runtime.constant_from(tensor)


def on_host(op, f, *xs):
    """What a ufunc gives for the values of tensors and array-likes; Python scalars are weak."""
    runtime = runtime_of(*xs)
    try:
        with np.errstate(all="ignore"):
            found = f(*[read(x) for x in xs])
    except OverflowError as error:
        raise IntegerOverflowError(f"{op}: {error}; convert the tensor with astype()", op=op, argument="x2") from None
    except TypeError:
        kinds = " and ".join(str(getattr(x, "dtype", type(x).__name__)) for x in xs)
        raise DTypeMismatchError(f"{op} is not defined for {kinds}; convert with astype(), or compare first", op=op,
                                 actual=kinds) from None
    return constant_in(runtime, found)


def floating(op, *xs):
    """Real operands in their common floating dtype, float64 for integers; Python scalars are weak."""
    runtime = runtime_of(*xs)
    weak = [type(x) in (bool, int, float) for x in xs]
    xs = [x if isinstance(x, EagerTensor) else constant_in(runtime, np.array(read(x))) for x in xs]
    dtype = np.result_type(*[x.item() if w else x.dtype for x, w in zip(xs, weak)])
    if dtype.kind == "c":
        raise DTypeMismatchError(f"{op} is defined for real numbers; take real or imaginary parts", op=op,
                                 expected="a real dtype", actual=dtype)
    return [cast(x, dtype if dtype.kind == "f" else np.float64) for x in xs]


def checked_device(device, op):
    """Accept the devices that memory is made on."""
    if device is not None:
        if not isinstance(device, str):
            raise PlacementError(f"{op}: a device is named by a str such as 'cpu', not by {device!r}", op=op, expected="cpu",
                                 actual=device)
        space_by_name(device, op)
