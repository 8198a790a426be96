"""Exceptions of the library.

Every class derives from `TenferroError` and from the built-in exception that a caller would catch anyway. The
message is ``str(error)`` and says what to do; the fields hold the same facts for programs. Fields are keyword-only,
default to ``None`` and survive copying and pickling, also in a process pool.
"""

import copy
import copyreg
import pickle

from numpy.linalg import LinAlgError as _NumPyLinAlgError

__all__ = [
    "AxisError",
    "ContextMismatchError",
    "DTypeMismatchError",
    "EngineError",
    "ExtractError",
    "HostAccessError",
    "IntegerOverflowError",
    "IntoValueError",
    "LinAlgError",
    "NonContiguousError",
    "NonScalarGradError",
    "NotUniqueError",
    "NumericalError",
    "OutOfMemoryError",
    "PlacementError",
    "RuntimeStateError",
    "ShapeMismatchError",
    "TenferroError",
    "UnsupportedAdRuleError",
    "UnsupportedError",
    "ValidationError",
]

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})


def _portable(value):
    """Return `value`, or its repr when it cannot be pickled: the error must still reach the other process."""
    if type(value) in _PLAIN:
        return value
    try:
        pickle.dumps(value)
    except Exception:
        return repr(value)
    return value


class TenferroError(Exception):
    """Base of every exception that the library raises on its own account.

    Parameters
    ----------
    message : str
        What is wrong and what to do about it; positional only, as in every subclass.

    Notes
    -----
    Pickling keeps the message and every field. A field that cannot be pickled itself travels as its ``repr``.
    Chained exceptions and tracebacks do not travel, as with the built-in exceptions.

    Examples
    --------
    >>> import tenferro as tfr
    >>> try:
    ...     tfr.sum([1.0, 2.0], axis=3)
    ... except tfr.errors.TenferroError as error:
    ...     print(type(error).__name__)
    AxisError
    """

    def __init__(self, message="", /):
        self.args = (message,)

    def __reduce__(self):
        state = {name: _portable(value) for name, value in self.__dict__.items()}
        return copyreg.__newobj__, (type(self), *self.args), state

    def __copy__(self):
        other = type(self).__new__(type(self), *self.args)
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self, memo):
        other = type(self).__new__(type(self), *self.args)
        memo[id(self)] = other
        other.args = copy.deepcopy(self.args, memo)
        other.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return other


class ValidationError(TenferroError, ValueError):
    """An argument is not acceptable.

    Parameters
    ----------
    message : str
        Text of the error.
    op : str, optional
        Name of the operation or member that was called.
    argument : str, optional
        Name of the argument at fault.

    Examples
    --------
    >>> import tenferro as tfr
    >>> try:
    ...     tfr.variable([1, 2])
    ... except tfr.errors.ValidationError as error:
    ...     print(error.op, error.argument)
    variable dtype
    """

    def __init__(self, message="", /, *, op=None, argument=None):
        self.args = (message,)
        self.op = op
        self.argument = argument


class _ExpectedActual(ValidationError):
    """Validation error that carries what was expected and what came."""

    def __init__(self, message="", /, *, op=None, argument=None, expected=None, actual=None):
        self.args = (message,)
        self.op = op
        self.argument = argument
        self.expected = expected
        self.actual = actual


class ShapeMismatchError(_ExpectedActual):
    """Shapes, or a shape and the length of the data, do not agree.

    Parameters
    ----------
    message : str
        Text of the error.
    op, argument : str, optional
        Operation or member called, and the argument at fault.
    expected, actual : tuple of int or int, optional
        Shape or length that is needed, and the one that came.

    Examples
    --------
    >>> import tenferro as tfr
    >>> try:
    ...     tfr.add([1.0, 2.0], [1.0, 2.0, 3.0])
    ... except tfr.errors.ShapeMismatchError as error:
    ...     print(error.op)
    add
    """


class _MaskShapeError(ShapeMismatchError, IndexError):
    """A boolean index has not the shape of the axes that it selects from: an `IndexError`, too, as in NumPy."""


class AxisError(_ExpectedActual, IndexError):
    """An axis is out of range or named twice.

    Parameters
    ----------
    message : str
        Text of the error.
    op, argument : str, optional
        Operation or member called, and the argument at fault.
    expected, actual : object, optional
        Axes that are legal (usually the rank), and the axis or axes that came.

    Examples
    --------
    >>> import tenferro as tfr
    >>> try:
    ...     tfr.sum([1.0, 2.0], axis=3)
    ... except tfr.errors.AxisError as error:
    ...     print(error.actual)
    3
    """


class DTypeMismatchError(_ExpectedActual, TypeError):
    """A dtype is not supported, or not the one that is needed.

    Parameters
    ----------
    message : str
        Text of the error.
    op, argument : str, optional
        Operation or member called, and the argument at fault.
    expected, actual : object, optional
        Dtype or dtypes that are accepted, and the one that came.

    Examples
    --------
    >>> import tenferro as tfr
    >>> try:
    ...     tfr.cbrt(1j)
    ... except tfr.errors.DTypeMismatchError as error:
    ...     print(error.op, error.actual)
    cbrt complex128
    """


class IntegerOverflowError(_ExpectedActual, OverflowError):
    """A size, offset or product of extents does not fit the index type.

    Parameters
    ----------
    message : str
        Text of the error.
    op, argument : str, optional
        Operation or member called, and the argument at fault.
    expected, actual : object, optional
        Largest value that fits, and the value or shape that came.

    Examples
    --------
    >>> import tenferro as tfr
    >>> try:
    ...     tfr.broadcast_to(1.0, (2**62, 2**62))
    ... except tfr.errors.IntegerOverflowError as error:
    ...     print(isinstance(error, OverflowError))
    True
    """


class _BufferAccessError(TenferroError, BufferError):
    """Memory cannot be read in the way that was asked for."""

    def __init__(self, message="", /, *, op=None, expected=None, actual=None):
        self.args = (message,)
        self.op = op
        self.expected = expected
        self.actual = actual


class NonContiguousError(_BufferAccessError):
    """A view without copying needs compact memory, and this memory is strided otherwise.

    Parameters
    ----------
    message : str
        Text of the error.
    op : str, optional
        Member that was called.
    expected, actual : object, optional
        Memory order or strides that are needed, and those that came.

    Examples
    --------
    >>> import tenferro as tfr
    >>> try:
    ...     tfr.constant([[1.0, 2.0], [3.0, 4.0]]).as_slice(tfr.float64)
    ... except tfr.errors.NonContiguousError as error:
    ...     print(error.op)
    as_slice
    """


class HostAccessError(_BufferAccessError):
    """Device memory was asked for as host memory.

    Parameters
    ----------
    message : str
        Text of the error.
    op : str, optional
        Member that was called.
    expected, actual : object, optional
        Placement that is needed, and the placement of the value.

    Examples
    --------
    >>> import tenferro as tfr
    >>> isinstance(tfr.errors.HostAccessError("download it first", op="numpy", actual="cuda:0"), BufferError)
    True
    """


class NonScalarGradError(TenferroError, ValueError):
    """A gradient was asked for of an output that is not a scalar.

    Parameters
    ----------
    message : str
        Text of the error.
    shape : tuple of int, optional
        Shape of the output.

    Examples
    --------
    >>> import tenferro as tfr
    >>> try:
    ...     tfr.variable([1.0, 2.0]).backward()
    ... except tfr.errors.NonScalarGradError as error:
    ...     print(error.shape)
    (2,)
    """

    def __init__(self, message="", /, *, shape=None):
        self.args = (message,)
        self.shape = shape


class ContextMismatchError(TenferroError, ValueError):
    """Tensors of different runtimes meet in one operation.

    Parameters
    ----------
    message : str, optional
        Text of the error; by default it names the remedy, ``detach_into``.
    lhs, rhs : ContextId, optional
        The two contexts.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.EagerTensor.from_tensor_in([1.0], tfr.EagerRuntime())
    >>> try:
    ...     x + tfr.constant([1.0])
    ... except tfr.errors.ContextMismatchError as error:
    ...     print(error.lhs == x.ctx_id)
    True
    """

    def __init__(self, message=None, /, *, lhs=None, rhs=None):
        if message is None:
            message = f"tensors of different runtimes ({lhs} and {rhs}); bring one over with detach_into(runtime)"
        self.args = (message,)
        self.lhs = lhs
        self.rhs = rhs


class UnsupportedAdRuleError(TenferroError, NotImplementedError):
    """An operation has no derivative rule of the kind that a sweep needs.

    Parameters
    ----------
    message : str
        Text of the error.
    op : str, optional
        Name of the operation.
    transform : str, optional
        Kind of rule that is missing, ``"vjp"`` or ``"jvp"``.

    Examples
    --------
    >>> import tenferro as tfr
    >>> f = tfr.custom_op(lambda x: x * x, jvp=lambda t, out, x: 2.0 * x * t[0], name="my_square")
    >>> try:
    ...     f(tfr.variable(3.0)).backward()
    ... except tfr.errors.UnsupportedAdRuleError as error:
    ...     print(error.op, error.transform)
    my_square vjp
    """

    def __init__(self, message="", /, *, op=None, transform=None):
        self.args = (message,)
        self.op = op
        self.transform = transform


class UnsupportedError(TenferroError, NotImplementedError):
    """An engine cannot do what was asked for, or cannot be used here.

    Parameters
    ----------
    message : str
        Text of the error.
    op : str, optional
        Operation or member called.
    engine : str, optional
        Name of the engine.

    Examples
    --------
    >>> import tenferro as tfr
    >>> try:
    ...     tfr.set_default_engine(object())
    ... except tfr.errors.UnsupportedError as error:
    ...     print(error.engine)
    object
    """

    def __init__(self, message="", /, *, op=None, engine=None):
        self.args = (message,)
        self.op = op
        self.engine = engine


class PlacementError(TenferroError, ValueError):
    """The engine cannot reach the memory of an operand; the message names the transfer to make.

    Parameters
    ----------
    message : str
        Text of the error.
    op : str, optional
        Operation that was called.
    expected, actual : object, optional
        Placement that the engine can reach, and the placement of the operand.

    Examples
    --------
    >>> import tenferro as tfr
    >>> try:
    ...     tfr.zeros(3, device="abacus")
    ... except tfr.errors.PlacementError as error:
    ...     print(error.actual)
    abacus
    """

    def __init__(self, message="", /, *, op=None, expected=None, actual=None):
        self.args = (message,)
        self.op = op
        self.expected = expected
        self.actual = actual


class RuntimeStateError(TenferroError, RuntimeError):
    """The object is in a state that forbids the call: a consumed handle, a closed session, a guard out of order.

    Parameters
    ----------
    message : str
        Text of the error.
    op : str, optional
        Operation or member called.

    Examples
    --------
    >>> import tenferro as tfr
    >>> with tfr.session() as s:
    ...     pass
    >>> try:
    ...     s.add(1.0, 2.0)
    ... except tfr.errors.RuntimeStateError as error:
    ...     print(error.op)
    add
    """

    def __init__(self, message="", /, *, op=None):
        self.args = (message,)
        self.op = op


class IntoValueError(TenferroError, RuntimeError):
    """A value cannot be moved out of its handle.

    Parameters
    ----------
    message : str
        Text of the error.
    tensor : EagerTensor, optional
        The handle, as it was before the call.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.constant([1.0, 2.0])
    >>> y = x[:1]
    >>> try:
    ...     y.into_value()
    ... except tfr.errors.IntoValueError as error:
    ...     print(error.tensor is y)
    True
    """

    def __init__(self, message="", /, *, tensor=None):
        self.args = (message,)
        self.tensor = tensor


class NotUniqueError(IntoValueError):
    """Something else retains the value: another handle, a live borrow or exported buffer, or a trace.

    Parameters
    ----------
    message : str
        Text of the error.
    tensor : EagerTensor, optional
        The handle, as it was before the call.

    Examples
    --------
    >>> import tenferro as tfr
    >>> import copy
    >>> x = tfr.constant([1.0, 2.0])
    >>> y = copy.copy(x)
    >>> try:
    ...     x.into_value()
    ... except tfr.errors.NotUniqueError as error:
    ...     print(error.tensor is x)
    True
    """


class ExtractError(IntoValueError):
    """The value is a view into a larger allocation and cannot be moved out of it.

    Parameters
    ----------
    message : str
        Text of the error.
    tensor : EagerTensor, optional
        The handle, as it was before the call.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.constant([1.0, 2.0])
    >>> y = x[:1]
    >>> del x
    >>> try:
    ...     y.into_value()
    ... except tfr.errors.ExtractError as error:
    ...     print(error.tensor is y)
    True
    """


class EngineError(TenferroError, RuntimeError):
    """An engine failed; the failure itself is chained as ``__cause__``.

    Parameters
    ----------
    message : str
        Text of the error; says so when the failure is fatal and the engine is broken from now on.
    engine : str, optional
        Name of the engine.

    Examples
    --------
    >>> import tenferro as tfr
    >>> engine = tfr.ExecutionEngine("mine")
    >>> engine.mark_broken(OSError("the device is gone"))
    >>> try:
    ...     with tfr.session(engine) as s:
    ...         s.add(1.0, 2.0)
    ... except tfr.errors.EngineError as error:
    ...     print(error.engine, repr(error.__cause__))
    mine OSError('the device is gone')
    """

    def __init__(self, message="", /, *, engine=None):
        self.args = (message,)
        self.engine = engine


# MemoryError has an allocator of its own, so it must be the first base.
class OutOfMemoryError(MemoryError, TenferroError):
    """An allocation failed; the engine stays usable.

    Parameters
    ----------
    message : str
        Text of the error.
    engine : str, optional
        Name of the engine.
    nbytes : int, optional
        Size of the allocation in bytes.

    Examples
    --------
    >>> import tenferro as tfr
    >>> isinstance(tfr.errors.OutOfMemoryError("use a smaller size", engine="cpu", nbytes=2**60), MemoryError)
    True
    """

    def __init__(self, message="", /, *, engine=None, nbytes=None):
        self.args = (message,)
        self.engine = engine
        self.nbytes = nbytes


class NumericalError(TenferroError, ArithmeticError):
    """An algorithm did not converge, or its input has no result.

    Parameters
    ----------
    message : str
        Text of the error.
    op : str, optional
        Operation that was called.

    Examples
    --------
    >>> import tenferro as tfr
    >>> try:
    ...     with tfr.default_runtime().detect_anomaly():
    ...         tfr.log(tfr.variable(-1.0))
    ... except tfr.errors.NumericalError as error:
    ...     print(error.op)
    log
    """

    def __init__(self, message="", /, *, op=None):
        self.args = (message,)
        self.op = op


class LinAlgError(NumericalError, _NumPyLinAlgError):
    """`NumericalError` of linear algebra; also a ``numpy.linalg.LinAlgError``.

    Parameters
    ----------
    message : str
        Text of the error.
    op : str, optional
        Operation that was called.

    Examples
    --------
    >>> import tenferro as tfr
    >>> try:
    ...     tfr.linalg.inv([[0.0]])
    ... except tfr.errors.LinAlgError as error:
    ...     print(error.op)
    inv
    """


def __dir__():
    return __all__
