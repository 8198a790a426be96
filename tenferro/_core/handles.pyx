"""Making eager tensors, sharing them, and moving values out of them."""

from .abi cimport *
from .eager cimport EagerTensor, alias, check, computed_in
from .importing cimport duplicate, extent, import_any, import_columns
from .memory cimport *
from .node cimport CAPTURED, IS_LEAF, Leaf, Node, leaf_new, node_drop, saved_value
from .optable cimport OUT, dtype_code, dtype_object
from .state cimport EagerRuntime, EagerSession, ambient_runtime, install
from .tensor cimport Tensor, copy_of, wrap_tensor
from libc.string cimport memcpy

from . import caches, convert           # no-cython-lint: they install what handles lean on
from ..errors import DTypeMismatchError, ExtractError, NotUniqueError, RuntimeStateError, ValidationError


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


for _f in (__copy__, __deepcopy__, detach, detach_into, same_context, duplicate_value, into_value):
    install(EagerTensor, _f.__name__, _f)
for _f in (from_tensor_in, requires_grad_in, from_vec_col_major_in):
    install(EagerTensor, _f.__name__, staticmethod(_f))
for _f in (constant_from, variable_from):
    install(EagerRuntime, _f.__name__, _f)
    install(EagerSession, _f.__name__, _f)
