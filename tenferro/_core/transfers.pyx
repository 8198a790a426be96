"""Tensors between host memory and that of devices; nothing else moves them."""

from .abi cimport *
from .eager cimport EagerTensor, alias, check
from .handles cimport home, imported
from .memory cimport *
from .node cimport CAPTURED
from .spaces cimport device_array, download, memory_of, placement, space_of, upload, wrap_array
from .state cimport EagerSession, engine_for, install
from .tensor cimport Tensor, wrap_tensor

from .spaces import space_by_name
from ..errors import PlacementError, RuntimeStateError


def constant_from_host(EagerSession self, array):
    """Copy an array-like into the memory of the session's engine, as an untracked constant.

    Parameters
    ----------
    array : array_like

    Returns
    -------
    EagerTensor

    Raises
    ------
    RuntimeStateError
        This session has ended.
    PlacementError
        The value is another device's.
    OutOfMemoryError
        The device has no memory for it.

    Examples
    --------
    >>> import tenferro as tfr
    >>> with tfr.session() as s:
    ...     y = s.constant_from_host([1.0, 2.0])
    >>> y
    EagerTensor([1., 2.], dtype=float64)
    """
    cdef EagerTensor t = imported(home(self, "constant_from_host"), array, None, True)
    cdef Value v
    if self.engine.space == t.v.buf.space:
        return t
    if t.v.buf.space != HOST_SPACE:
        raise PlacementError(f"constant_from_host: the value lies in {placement(t.v.buf.space)}; bring it to the host with "
                             "to_tensor()", op="constant_from_host", expected="cpu", actual=placement(t.v.buf.space))
    upload(&v, self.engine.space, &t.v)
    value_drop(&t.v)
    t.v = v
    return t


cdef int named(object device, int here, str op) except -1:
    return here if device == placement(here) else space_by_name(device, op)


def placed(EagerTensor x not None, device=None, str op not None="to_device"):
    """An untracked tensor in another memory; itself if it lies there.

    Parameters
    ----------
    device : str, optional
        Name of the memory; by default that of the engine that computes at this moment.

    Raises
    ------
    PlacementError
        No engine for this memory was opened, or the value would go from one device to another.
    RuntimeStateError
        The tensor is tracked.
    """
    cdef int space
    cdef EagerTensor t
    check(x)
    space = engine_for(x.rt).space if device is None else named(device, x.v.buf.space, op)
    if space == x.v.buf.space:
        return x
    if x.node != NULL and not x.node.flags & CAPTURED:
        raise RuntimeStateError(f"{op}: a tracked tensor stays where it is; transfer x.detach(), and make a leaf of it "
                                "there with variable_from()", op=op)
    t = alias(x, NULL)
    value_drop(&t.v)
    if space == HOST_SPACE:
        download(&t.v, &x.v)
    elif x.v.buf.space == HOST_SPACE:
        upload(&t.v, space, &x.v)
    else:
        raise PlacementError(f"{op}: from {placement(x.v.buf.space)} to {placement(space)} a tensor goes by way of the host: "
                             "use to_device('cpu') first", op=op, expected=placement(space), actual=placement(x.v.buf.space))
    return t


def library_array(x not None):
    """The array of a device's library over a tensor in its memory. It must not be written to.

    Parameters
    ----------
    x : EagerTensor or Tensor

    Returns
    -------
    tuple
        The ``DeviceMemory`` and the array; ``(None, None)`` for a tensor in host memory.
    """
    cdef const Value *v
    if isinstance(x, Tensor):
        v = &(<Tensor> x).v
    else:
        check(<EagerTensor?> x)
        v = &(<EagerTensor> x).v
    if v.buf.space == HOST_SPACE:
        return None, None
    return memory_of(v.buf.space), device_array(v)


def tensor_over(memory not None, array):
    """A `Tensor` over an array of a device's library, which it keeps alive."""
    cdef Value v
    wrap_array(&v, space_of(memory), array)
    return wrap_tensor(&v)


install(EagerSession, "constant_from_host", constant_from_host)
