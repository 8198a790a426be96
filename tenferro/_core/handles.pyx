"""Making eager tensors, sharing them, and moving values out of them."""

from .abi cimport *
from .eager cimport EagerTensor, alias, check, computed_in, retire, wrap
from .importing cimport duplicate, extent, import_any, import_columns
from .memory cimport *
from .node cimport CAPTURED, IS_LEAF, Leaf, Node, leaf_new, node_drop, saved_value
from .optable cimport OUT, dtype_code, dtype_object
from .state cimport EagerRuntime, EagerSession, ambient_runtime, engine_for, install
from .spaces cimport device_array, download, memory_of, placement, space_of, upload, wrap_array
from .tensor cimport Tensor, copy_of, wrap_tensor
from libc.string cimport memcpy

from numpy import generic

from .spaces import space_by_name
from . import caches, convert           # no-cython-lint: they install what handles lean on
from ..errors import (ContextMismatchError, DTypeMismatchError, ExtractError, NotUniqueError, PlacementError,
                      RuntimeStateError, ShapeMismatchError, ValidationError)


# ---- making ----------------------------------------------------------------------------------------------------------

cdef EagerTensor leaf_of(EagerTensor x):
    cdef Leaf *f
    if not is_inexact(x.v.meta.dtype):
        raise ValidationError(f"a tensor of {dtype_object(x.v.meta.dtype)} cannot be tracked: derivatives need "
                              "floating or complex numbers; convert it, for example with dtype=float", op="variable",
                              argument="dtype")
    f = leaf_new(&x.v)
    x.node = &f.node
    f.handles = <PyObject *> x
    f.prev = &x.rt.leaves
    f.next = x.rt.leaves.next
    if f.next != NULL:
        f.next.prev = f
    x.rt.leaves.next = f
    return x


cdef EagerTensor untracked_alias(EagerTensor x):
    return alias(x, NULL)


cdef EagerTensor owned(EagerTensor x):
    """x, or a copy where somebody else may write to the memory."""
    cdef Value v
    if x.v.buf.flags & BORROWED:
        duplicate(&v, &x.v)
        value_drop(&x.v)
        x.v = v
    return x


cdef EagerTensor imported(EagerRuntime rt, object x, object dtype, bint copy):
    """Anything as a fresh untracked handle in a runtime; values that nobody can write to are shared."""
    cdef int code = -1 if dtype is None else dtype_code(dtype)
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    t.rt = rt
    if isinstance(x, EagerTensor):
        check(<EagerTensor> x)
        value_copy(&t.v, &(<EagerTensor> x).v)
    elif isinstance(x, Tensor):
        value_copy(&t.v, &(<Tensor> x).v)
    else:
        import_any(&t.v, x, code, copy)
    if copy:
        owned(t)
    if code < 0 or code == t.v.meta.dtype:
        return t
    if is_complex(t.v.meta.dtype) and not is_complex(code):
        raise DTypeMismatchError(f"complex values cannot become {dtype_object(code)}; take their real or imaginary "
                                 "part first", argument="dtype", expected=dtype_object(code), actual=t.dtype)
    return computed_in(t, code)


def variable(x, dtype=None, copy=True):
    """A tracked leaf in the runtime of the innermost open session, else in the default runtime.

    Parameters
    ----------
    x : array_like
        An eager tensor gives a leaf of its value, apart from its trace.
    dtype : dtype, optional
        By default that of `x`.
    copy : bool
        False shares a NumPy array's memory where it can be used as it is; later writes to it are then seen or not.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ValidationError
        The dtype is an integer or bool: pass ``dtype=float``.
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.variable([1.0, 2.0])
    EagerTensor([1., 2.], dtype=float64, tracks_grad=True)
    """
    return leaf_of(imported(ambient_runtime(), x, dtype, copy))


def constant(x, dtype=None, copy=True):
    """An untracked tensor in the runtime of the innermost open session, else in the default runtime.

    Parameters
    ----------
    x : array_like
    dtype : dtype, optional
        By default that of `x`.
    copy : bool
        False shares a NumPy array's memory where it can be used as it is; later writes to it are then seen or not.

    Returns
    -------
    EagerTensor

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant([1.0, 2.0])
    EagerTensor([1., 2.], dtype=float64)
    """
    return imported(ambient_runtime(), x, dtype, copy)


def from_tensor_in(tensor, EagerRuntime rt not None):
    """An untracked tensor in a runtime.

    Parameters
    ----------
    tensor : Tensor or array_like
        The value of a `Tensor` is shared, array-likes are copied.
    rt : EagerRuntime

    Returns
    -------
    EagerTensor

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.EagerTensor.from_tensor_in([1.0, 2.0], tfr.EagerRuntime())
    EagerTensor([1., 2.], dtype=float64)
    """
    return imported(rt, tensor, None, not isinstance(tensor, Tensor))


def requires_grad_in(tensor, EagerRuntime rt not None):
    """A tracked leaf in a runtime.

    Parameters
    ----------
    tensor : Tensor or array_like
        The value of a `Tensor` is shared, array-likes are copied.
    rt : EagerRuntime

    Returns
    -------
    EagerTensor

    Raises
    ------
    ValidationError
        The dtype is an integer or bool.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.EagerTensor.requires_grad_in([1.0, 2.0], tfr.EagerRuntime())
    EagerTensor([1., 2.], dtype=float64, tracks_grad=True)
    """
    return leaf_of(imported(rt, tensor, None, not isinstance(tensor, Tensor)))


def from_vec_col_major_in(shape, data, EagerRuntime rt not None, dtype=None):
    """An untracked tensor in a runtime from compact column-major data, which is copied.

    Parameters
    ----------
    shape : sequence of int
    data : array_like
        One-dimensional; the first axis varies fastest.
    rt : EagerRuntime
    dtype : dtype, optional
        By default that of the data.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ShapeMismatchError
        The length of the data is not the product of the shape.
    IntegerOverflowError
        The product of the shape is too large.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.EagerTensor.from_vec_col_major_in((2, 2), [1.0, 2.0, 3.0, 4.0], tfr.EagerRuntime())
    EagerTensor([[1., 3.],
                 [2., 4.]], dtype=float64)
    """
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    t.rt = rt
    import_columns(&t.v, shape, data, dtype)
    return t


cdef EagerRuntime home(object owner, str op):
    """The runtime that a runtime or an open session imports into."""
    if isinstance(owner, EagerSession):
        if (<EagerSession> owner).closed:
            raise RuntimeStateError(f"{op}: this session has ended; open a new one", op=op)
        return (<EagerSession> owner).runtime
    return owner


def constant_from(self, tensor):
    """Import a value as an untracked constant of this runtime; nothing goes to or from a device.

    Parameters
    ----------
    tensor : Tensor or array_like
        The value of a `Tensor` is shared, array-likes are copied.

    Returns
    -------
    EagerTensor

    Raises
    ------
    RuntimeStateError
        This session has ended.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.EagerRuntime().constant_from([1.0, 2.0])
    EagerTensor([1., 2.], dtype=float64)
    """
    return from_tensor_in(tensor, home(self, "constant_from"))


def variable_from(self, tensor):
    """Import a value as a tracked leaf of this runtime; nothing goes to or from a device.

    Parameters
    ----------
    tensor : Tensor or array_like
        The value of a `Tensor` is shared, array-likes are copied.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ValidationError
        The dtype is an integer or bool.
    RuntimeStateError
        This session has ended.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.EagerRuntime().variable_from([1.0, 2.0])
    EagerTensor([1., 2.], dtype=float64, tracks_grad=True)
    """
    return requires_grad_in(tensor, home(self, "variable_from"))


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


# ---- devices ---------------------------------------------------------------------------------------------------------

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
    cdef int space = engine_for(x.rt).space if device is None else space_by_name(device, op)
    cdef EagerTensor t
    check(x)
    if space == x.v.buf.space:
        return x
    if x.node != NULL and not x.node.flags & CAPTURED:
        raise RuntimeStateError(f"{op}: a tracked tensor stays where it is; transfer x.detach(), and make a leaf of it there with "
                                "variable_from()", op=op)
    t = alias(x, NULL)
    value_drop(&t.v)
    if space == HOST_SPACE:
        download(&t.v, &x.v)
    elif x.v.buf.space == HOST_SPACE:
        upload(&t.v, space, &x.v)
    else:
        raise PlacementError(f"{op}: from {placement(x.v.buf.space)} to {placement(space)} a tensor goes by way of the host: use "
                             "to_device('cpu') first", op=op, expected=placement(space), actual=placement(x.v.buf.space))
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


# ---- sharing ---------------------------------------------------------------------------------------------------------

cdef EagerTensor another_handle(EagerTensor x):
    """A handle on the same value and the same node."""
    cdef EagerTensor t = alias(x, x.node)
    cdef Leaf *f
    if x.node != NULL:
        x.node.refs += 1
        if x.node.flags & IS_LEAF:
            f = <Leaf *> x.node
            t.next_handle = f.handles
            f.handles = <PyObject *> t
    return t


def __copy__(EagerTensor self):
    check(self)
    return another_handle(self)


def __deepcopy__(EagerTensor self, memo):
    cdef EagerTensor t
    check(self)
    t = duplicated(self, self.rt)
    if self.node != NULL and not self.node.flags & CAPTURED:
        leaf_of(t)
    memo[id(self)] = t
    return t


cdef EagerTensor duplicated(EagerTensor x, EagerRuntime rt):
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    t.rt = rt
    copy_of(&t.v, &x.v)
    return t


def detach(EagerTensor self):
    """The same value without the trace; the memory is shared.

    Returns
    -------
    EagerTensor

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.variable([1.0, 2.0]).detach().tracks_grad
    False
    """
    check(self)
    return alias(self, NULL)


def detach_into(EagerTensor self, EagerRuntime runtime not None):
    """A copy of the value in another runtime, untracked.

    Parameters
    ----------
    runtime : EagerRuntime

    Returns
    -------
    EagerTensor

    Raises
    ------
    RuntimeStateError
        The handle was consumed by `into_value`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> rt = tfr.EagerRuntime()
    >>> tfr.variable([1.0, 2.0]).detach_into(rt).runtime is rt
    True
    """
    check(self)
    return duplicated(self, runtime)


def same_context(EagerTensor self, EagerTensor other not None):
    """Whether both tensors belong to the same runtime.

    Parameters
    ----------
    other : EagerTensor

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        The other one is no eager tensor.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant(1.0).same_context(tfr.variable(2.0))
    True
    """
    check(self)
    check(other)
    return self.rt is other.rt


def duplicate_value(EagerTensor self):
    """A fresh, standalone allocation with the value, its axes in the same memory order.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.variable([1.0, 2.0]).duplicate_value().numpy().tolist()
    [1.0, 2.0]
    """
    cdef Value v
    check(self)
    copy_of(&v, &self.v)
    return wrap_tensor(&v)


# ---- moving out ------------------------------------------------------------------------------------------------------

cdef Py_ssize_t own_references(EagerTensor x) noexcept:
    """References to x's buffer that go when this handle goes."""
    cdef Py_ssize_t n = 1
    cdef Value *saved
    if x.node == NULL or x.node.refs > 1:
        return n
    if x.node.flags & IS_LEAF:
        return n + ((<Leaf *> x.node).value.buf == x.v.buf)
    saved = saved_value(x.node, OUT)
    return n + (saved != NULL and saved.buf == x.v.buf)


cdef bint covers(const Value *v) noexcept:
    """Whether the distinct elements fill the allocation."""
    return extent(v.meta) >= v.buf.nbytes


def into_value(EagerTensor self):
    """Move the value out without copying; this handle is consumed, and every member of it raises from then on.

    Returns
    -------
    Tensor

    Raises
    ------
    NotUniqueError
        Another handle, a live borrow, an exported buffer or a trace retains the value; a leaf is retained by every live
        trace on it.
    ExtractError
        The value is a view into a larger allocation; use `duplicate_value`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.constant([1.0, 2.0])
    >>> x.into_value().shape
    (2,)
    """
    cdef Value v
    cdef Node *node = self.node
    check(self)
    if node != NULL and node.flags & IS_LEAF and node.refs > 1:
        raise NotUniqueError("another handle or a live trace retains this leaf; drop it, or use duplicate_value()",
                             tensor=self)
    if self.v.buf.flags & SHARED:
        copy_elements(&v, &self.v)
    elif self.v.buf.refs != own_references(self):
        raise NotUniqueError("another handle, a borrow, an exported buffer or a trace retains this value; drop it, or "
                             "use duplicate_value()", tensor=self)
    elif not covers(&self.v):
        raise ExtractError("this value is a view into a larger allocation; use duplicate_value()", tensor=self)
    else:
        value_copy(&v, &self.v)
    value_drop(&self.v)
    self.node = NULL
    if node != NULL and node.flags & IS_LEAF:
        (<Leaf *> node).handles = NULL
    node_drop(node)
    return wrap_tensor(&v)


cdef int copy_elements(Value *out, const Value *v) except -1:
    """A constant of the library, or a broadcast view of one, gets memory of its own."""
    out.buf = buffer_new(v.buf.nbytes)
    memcpy(out.buf.data, v.buf.data, v.buf.nbytes)
    out.meta = meta_ref(v.meta)
    out.data = out.buf.data + (v.data - v.buf.data)
    return 0


# ---- assigning -------------------------------------------------------------------------------------------------------

cdef EagerTensor assignable(EagerTensor x, object value):
    """An untracked value of x's shape and dtype; Python numbers and lists of them take the dtype."""
    cdef EagerTensor t
    if isinstance(value, EagerTensor) and (<EagerTensor> value).v.meta != NULL and (<EagerTensor> value).rt is not x.rt:
        raise ContextMismatchError(lhs=x.rt.id, rhs=(<EagerTensor> value).rt.id)
    t = imported(x.rt, value, x.dtype if isinstance(value, (int, float, complex, list, tuple))
                 and not isinstance(value, generic) else None, True)
    if not same_shape(t.v.meta, x.v.meta):
        raise ShapeMismatchError(f"assign: the value has shape {t.shape}, the leaf {x.shape}; broadcast or reshape the "
                                 "value", op="assign", argument="value", expected=x.shape, actual=t.shape)
    if t.v.meta.dtype != x.v.meta.dtype:
        raise DTypeMismatchError(f"assign: the value has dtype {t.dtype}, the leaf {x.dtype}; use astype()",
                                 op="assign", argument="value", expected=x.dtype, actual=t.dtype)
    if t.v.buf.space != x.v.buf.space:
        raise PlacementError(f"assign: the value lies in {placement(t.v.buf.space)}, the leaf in {placement(x.v.buf.space)}; "
                             "transfer the value first with session.constant_from_host() or to_tensor()", op="assign",
                             expected=placement(x.v.buf.space), actual=placement(t.v.buf.space))
    return t


def assign(EagerTensor self, value):
    """Give a tracked leaf a new value of equal shape and dtype. Not recorded; existing traces keep the old value.

    Every handle of the leaf sees the new value.

    Parameters
    ----------
    value : array_like
        Of the leaf's shape and dtype.

    Returns
    -------
    None

    Raises
    ------
    ValidationError
        Shape or dtype differ.
    RuntimeStateError
        This tensor is no tracked leaf.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable([1.0, 2.0])
    >>> x.assign([3.0, 4.0])
    >>> x
    EagerTensor([3., 4.], dtype=float64, tracks_grad=True)
    """
    cdef EagerTensor t
    cdef Leaf *f
    cdef Value old
    cdef PyObject *p
    check(self)
    if self.node == NULL or not self.node.flags & IS_LEAF:
        raise RuntimeStateError("assign: only a tracked leaf, made by variable(), can be given a new value",
                                op="assign")
    t = assignable(self, value)
    f = <Leaf *> self.node
    value_copy(&old, &f.value)          # nothing is freed before all handles agree
    give(&f.value, &t.v)
    give(&self.v, &t.v)
    p = f.handles
    while p != NULL:
        give(&(<EagerTensor> p).v, &t.v)
        p = (<EagerTensor> p).next_handle
    retire(wrap(self.rt, &old, NULL))


cdef inline void give(Value *dst, const Value *src) noexcept:
    cdef Value old = dst[0]
    value_copy(dst, src)
    value_drop(&old)


for _f in (__copy__, __deepcopy__, detach, detach_into, same_context, duplicate_value, into_value, assign):
    install(EagerTensor, _f.__name__, _f)
for _f in (from_tensor_in, requires_grad_in, from_vec_col_major_in):
    install(EagerTensor, _f.__name__, staticmethod(_f))
for _f in (constant_from, variable_from):
    install(EagerRuntime, _f.__name__, _f)
    install(EagerSession, _f.__name__, _f)
install(EagerSession, "constant_from_host", constant_from_host)
