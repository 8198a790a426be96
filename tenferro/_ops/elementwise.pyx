"""Elementwise functions under their public names.

The regular ones, of one or two operands and nothing else, are built-in functions made from ``TABLE``; the others are written
out. ``FUNCTIONS`` holds all of them by name.
"""

import builtins
import sys

import numpy as np

from tenferro._core.abi cimport *
from tenferro._core.eager cimport (EagerTensor, alias, alias_in, apply1, apply3, as_eager, as_operand, binary,
                                   cast as recorded_cast, computed_in, constant_value, emit1, emit_view, real_scalar, unary,
                                   weak_scalar)
from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op, dtype_code, dtype_object
from tenferro._core.state cimport EagerRuntime, ambient_runtime
from .basic cimport div_s, mul_s, round as rint

from tenferro.errors import ShapeMismatchError, ValidationError

cdef extern from "callables.h":
    object tf_function(int n_in, int slot, int op, const char *name, const char *doc, object module)


cdef object call1 "tf_call1"(int op, object x):
    return unary(op, x)


cdef object call2 "tf_call2"(int op, object x, object y):
    return binary(op, x, y)


TABLE = (
    # arithmetic
    (Op.ADD, "add", "Sum; logical or of bools."),
    (Op.SUB, "sub", "Difference."),
    (Op.MUL, "mul", "Product; logical and of bools."),
    (Op.DIV, "div", "True quotient; integers give float64."),
    (Op.POW, "pow", "``x`` to the power ``y``; an integer to a negative integer power raises `ValidationError`."),
    (Op.REM, "rem", "Remainder with the sign of the divisor, ``x - floor(x / y) * y``."),
    (Op.FLOOR_DIV, "floor_div", "Largest integer that is not above the quotient."),
    (Op.FMOD, "fmod", "Remainder with the sign of the dividend, as C's."),
    (Op.NEG, "neg", "Negative."),
    (Op.ABS, "abs", "Absolute value; its gradient is 0 at 0."),
    (Op.SIGN, "sign", "Sign: -1, 0 or 1, and ``x / |x|`` of complex numbers."),
    (Op.ANGLE, "angle", "Argument of complex numbers, in radians between -pi and pi."),
    (Op.RECIPROCAL, "reciprocal", "Reciprocal; of integers rounded towards zero."),
    (Op.SQUARE, "square", "Square."),
    # analytic
    (Op.EXP, "exp", "Exponential."),
    (Op.EXPM1, "expm1", "``exp(x) - 1``, accurate near 0."),
    (Op.EXP2, "exp2", "2 to the power ``x``."),
    (Op.LOG, "log", "Natural logarithm."),
    (Op.LOG1P, "log1p", "``log(1 + x)``, accurate near 0."),
    (Op.LOG2, "log2", "Logarithm to base 2."),
    (Op.LOG10, "log10", "Logarithm to base 10."),
    (Op.SQRT, "sqrt", "Square root; NaN for negative real numbers."),
    (Op.RSQRT, "rsqrt", "Reciprocal of the square root."),
    (Op.CBRT, "cbrt", "Cube root of real numbers."),
    (Op.SIN, "sin", "Sine."),
    (Op.COS, "cos", "Cosine."),
    (Op.TAN, "tan", "Tangent."),
    (Op.ASIN, "asin", "Inverse sine."),
    (Op.ACOS, "acos", "Inverse cosine."),
    (Op.ATAN, "atan", "Inverse tangent."),
    (Op.ATAN2, "atan2", "Angle of the point ``(y, x)`` given as ``atan2(y, x)``, in radians between -pi and pi."),
    (Op.SINH, "sinh", "Hyperbolic sine."),
    (Op.COSH, "cosh", "Hyperbolic cosine."),
    (Op.TANH, "tanh", "Hyperbolic tangent."),
    (Op.ASINH, "asinh", "Inverse hyperbolic sine."),
    (Op.ACOSH, "acosh", "Inverse hyperbolic cosine."),
    (Op.ATANH, "atanh", "Inverse hyperbolic tangent."),
    (Op.ERF, "erf", "Error function."),
    (Op.ERFC, "erfc", "Complementary error function, ``1 - erf(x)``."),
    (Op.LGAMMA, "lgamma", "Logarithm of the absolute value of the gamma function; complex: its principal branch."),
    (Op.DIGAMMA, "digamma", "Logarithmic derivative of the gamma function."),
    (Op.LOGADDEXP, "logaddexp", "``log(exp(x) + exp(y))`` without overflow."),
    (Op.HYPOT, "hypot", "``sqrt(x**2 + y**2)`` without overflow."),
    # compare
    (Op.EQUAL, "equal", "Whether ``x == y``, as untracked bools."),
    (Op.NOT_EQUAL, "not_equal", "Whether ``x != y``, as untracked bools."),
    (Op.LESS, "less", "Whether ``x < y``, as untracked bools."),
    (Op.LESS_EQUAL, "less_equal", "Whether ``x <= y``, as untracked bools."),
    (Op.GREATER, "greater", "Whether ``x > y``, as untracked bools."),
    (Op.GREATER_EQUAL, "greater_equal", "Whether ``x >= y``, as untracked bools."),
    (Op.LOGICAL_AND, "logical_and", "Whether both operands are not zero."),
    (Op.LOGICAL_OR, "logical_or", "Whether any of the operands is not zero."),
    (Op.LOGICAL_XOR, "logical_xor", "Whether exactly one of the operands is not zero."),
    (Op.LOGICAL_NOT, "logical_not", "Whether an element is zero."),
    (Op.ISFINITE, "isfinite", "Whether an element is neither infinite nor NaN."),
    (Op.ISNAN, "isnan", "Whether an element is NaN."),
    (Op.ISINF, "isinf", "Whether an element is infinite."),
    (Op.MAXIMUM, "maximum", "Larger operand; NaN if any is; ties share the gradient equally."),
    (Op.MINIMUM, "minimum", "Smaller operand; NaN if any is; ties share the gradient equally."),
    # rounding
    (Op.FLOOR, "floor", "Largest integer that is not above an element; its gradient is 0."),
    (Op.CEIL, "ceil", "Smallest integer that is not below an element; its gradient is 0."),
    (Op.TRUNC, "trunc", "Integer part, rounded towards zero; its gradient is 0."),
)
"""Operation, name and meaning of each regular elementwise function."""

cdef str RESULT = """

Returns
-------
EagerTensor
    Operands broadcast and promote as in NumPy 2; where NumPy computes in float16, float32 is used.
"""
cdef dict PARAMETERS = {1: ("x", "x : array_like\n    An eager tensor or a constant."),
                        2: ("x, y", "x, y : array_like\n    Eager tensors or constants; Python scalars take the dtype of the "
                                    "other operand.")}
cdef list texts = []        # names and docstrings of the built-in functions


cdef object built_in(int slot, op, str name, str meaning, int n_in):
    arguments, described = PARAMETERS[n_in]
    cdef bytes c_name = name.encode()
    cdef bytes doc = f"{name}({arguments}, /)\n--\n\n{meaning}\n\nParameters\n----------\n{described}{RESULT}".encode()
    texts.append(c_name)
    texts.append(doc)
    return tf_function(n_in, slot, op, c_name, doc, sys.modules[__name__])


def _build():
    """The regular functions by name."""
    from tenferro._core.optable import ROWS
    n_in = {row[0]: row[1] for row in ROWS}
    slots = {1: 0, 2: 0}
    functions = {}
    for op, name, meaning in TABLE:
        n = n_in[op]
        functions[name] = built_in(slots[n], op, name, meaning, n)
        slots[n] += 1
    return functions


# ---- parts of complex numbers ------------------------------------------------------------------------------------------

cdef EagerTensor same(EagerTensor x):
    if x.node == NULL:
        return alias(x, NULL)
    return emit_view(Op.ALIAS, x, NULL, meta_ref(x.v.meta), x.v.data)


cdef EagerTensor part(int op, EagerTensor x, Py_ssize_t offset):
    cdef Meta *m = x.v.meta
    cdef Meta *out = meta_new(real_dtype(m.dtype), m.rank)
    cdef int i
    for i in range(2 * m.rank):
        out.dims[i] = m.dims[i]
    return emit_view(op, x, NULL, meta_finish(out), x.v.data + offset)


cdef EagerTensor real_part(EagerTensor x):
    return part(Op.REAL, x, 0) if is_complex(x.v.meta.dtype) else same(x)


cdef EagerTensor imag_part(EagerTensor x):
    return part(Op.IMAG, x, x.v.meta.itemsize // 2) if is_complex(x.v.meta.dtype) else apply1(Op.IMAG, x)


def real(x):
    """Real part; a view of a complex tensor, the same value of a real one.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    EagerTensor
    """
    return real_part(as_eager(x))


def imag(x):
    """Imaginary part; a view of a complex tensor, zeros of a real one.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    EagerTensor
    """
    return imag_part(as_eager(x))


def conj(x):
    """Complex conjugate; the same value of a real tensor.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    EagerTensor
    """
    cdef EagerTensor t = as_eager(x)
    return apply1(Op.CONJ, t) if is_complex(t.v.meta.dtype) else same(t)


def complex(re, im):
    """Complex numbers of their real and imaginary parts.

    Parameters
    ----------
    re, im : array_like
        Real; they broadcast and promote. Integers become floating.

    Returns
    -------
    EagerTensor
        complex64 for float32 parts, else complex128.
    """
    return binary(Op.COMPLEX, re, im)


# ---- functions with parameters -----------------------------------------------------------------------------------------

cdef EagerTensor beside(object x, EagerTensor other):
    """An operand next to a tensor: Python scalars take its dtype."""
    cdef EagerTensor t
    if isinstance(x, EagerTensor):
        return as_operand(x, other.rt)
    t = weak_scalar(x, other.v.meta.dtype)
    return as_operand(x, other.rt) if t is None else alias_in(t, other.rt)


cdef bint is_scalar(object x):
    return isinstance(x, (int, float, builtins.complex)) and not isinstance(x, np.generic)


cdef EagerRuntime common_runtime(object x, object y, object z):
    for t in (x, y, z):
        if isinstance(t, EagerTensor):
            return (<EagerTensor> t).rt
    return ambient_runtime()


cdef EagerTensor select(object condition, object x, object y):
    cdef EagerRuntime rt
    cdef EagerTensor a, b
    if type(condition) is EagerTensor and type(x) is EagerTensor and type(y) is EagerTensor:
        return apply3(Op.WHERE, condition, x, y)
    rt = common_runtime(condition, x, y)
    if is_scalar(x) and not is_scalar(y):
        b = as_operand(y, rt)
        a = beside(x, b)
    else:
        a = as_operand(x, rt)
        b = beside(y, a) if not is_scalar(x) else as_operand(y, rt)
    return apply3(Op.WHERE, as_operand(condition, rt), a, b)


def where(condition, x, y):
    """Elements of `x` where the condition holds, else of `y`.

    What is not selected has gradient exactly 0, even where it is infinite or NaN.

    Parameters
    ----------
    condition : array_like
        Bools; other numbers hold where they are not zero.
    x, y : array_like
        They promote and broadcast with the condition; Python scalars take the dtype of the other one.

    Returns
    -------
    EagerTensor
    """
    return select(condition, x, y)


cdef EagerTensor limit(EagerTensor x, bint upper):
    """The bound of x's dtype that does not act."""
    cdef int t = x.v.meta.dtype
    if is_inexact(t):
        return alias_in(real_scalar(float("inf") if upper else -float("inf"), t), x.rt)
    return constant_value(x.rt, np.asarray(extreme(t, upper), dtype_object(t)), -1, False)


cdef object extreme(int dtype, bint upper):
    if dtype == D_BOOL:
        return upper
    info = np.iinfo(dtype_object(dtype))
    return info.max if upper else info.min


cdef EagerTensor bound(object value, EagerTensor x, bint upper):
    cdef int t = x.v.meta.dtype
    if value is None:
        return limit(x, upper)
    if type(value) is int and not is_inexact(t) and t != D_BOOL:
        if (value > extreme(t, True)) if upper else (value < extreme(t, False)):
            return limit(x, upper)      # it cannot act
    return beside(value, x)


cdef EagerTensor clamped(object x, object low, object high):
    cdef EagerTensor t = as_operand(x, common_runtime(x, low, high))
    if low is None and high is None:
        return same(t)
    return apply3(Op.CLAMP, t, bound(low, t, False), bound(high, t, True))


def clamp(x, min=None, max=None):
    """Elements limited to an interval, ``minimum(maximum(x, min), max)``.

    The gradient goes to `x` inside the bounds and to the bound that acts elsewhere; it is 0 for `x` at the bounds. NaN stays.

    Parameters
    ----------
    x : array_like
    min, max : array_like, optional
        Python scalars take the dtype of `x`.

    Returns
    -------
    EagerTensor
    """
    return clamped(x, min, max)


def scale(x, factor):
    """Product with one number.

    Parameters
    ----------
    x : array_like
    factor : scalar or EagerTensor of shape ()
        A Python scalar takes the dtype of `x`.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ShapeMismatchError
        The factor is no scalar; `mul` broadcasts.
    """
    shape = () if is_scalar(factor) else np.shape(factor) if not isinstance(factor, EagerTensor) else factor.shape
    if shape != ():
        raise ShapeMismatchError(f"scale: the factor has shape {shape}, not (); use mul for an elementwise product", op="scale",
                                 argument="factor", expected=(), actual=shape)
    return binary(Op.MUL, as_eager(x), factor)


def round(x, decimals=0):
    """Nearest multiple of ``10**-decimals``, ties to the even one; its gradient is 0.

    Parameters
    ----------
    x : array_like
    decimals : int
        May be negative.

    Returns
    -------
    EagerTensor
        Of the dtype of `x`; bools give float32.
    """
    cdef EagerTensor t = as_eager(x)
    cdef int dtype = t.v.meta.dtype
    cdef bint exact = not is_inexact(dtype) and dtype != D_BOOL
    cdef double ten
    if exact and decimals >= 0:
        return same(t)
    if decimals == 0:
        return rint(t)
    ten = 10.0 ** builtins.abs(decimals)
    if exact:
        t = computed_in(t, D_F64)
    t = div_s(rint(mul_s(t, ten)), ten) if decimals > 0 else mul_s(rint(div_s(t, ten)), ten)
    return computed_in(t, dtype) if exact else t


def polygamma(n, x):
    """Derivative of order `n` of the digamma function.

    Parameters
    ----------
    n : int
        Not negative.
    x : array_like
        Real.

    Returns
    -------
    EagerTensor
    """
    cdef Py_ssize_t order
    cdef EagerTensor t = as_eager(x)
    cdef Params *p
    order = n
    if order < 0:
        raise ValidationError(f"polygamma: the order is {order}; it must not be negative", op="polygamma", argument="n")
    p = params_new(1)
    p.v[0] = order
    return apply1(Op.POLYGAMMA, t, p)


# ---- dtype -------------------------------------------------------------------------------------------------------------

cdef EagerTensor astype_(EagerTensor x, int dtype):
    if x.v.meta.dtype == dtype:
        return same(x)
    if is_inexact(dtype):
        return recorded_cast(x, dtype)
    return computed_in(x, dtype)


def cast(x, dtype):
    """Values in another dtype, whatever is lost.

    Fractions are cut off, imaginary parts dropped, integers wrap, and other numbers than 0 become True. Between floating and
    complex dtypes the gradient flows; integers and bools are untracked.

    Parameters
    ----------
    x : array_like
    dtype : dtype

    Returns
    -------
    EagerTensor

    See Also
    --------
    convert : Refuses to lose information.
    """
    return astype_(as_eager(x), dtype_code(dtype))


def convert(x, dtype):
    """Values in another dtype, which must be able to hold them.

    Rounding from double to single precision is allowed. Between floating and complex dtypes the gradient flows.

    Parameters
    ----------
    x : array_like
    dtype : dtype

    Returns
    -------
    EagerTensor

    Raises
    ------
    ValidationError
        A value is out of range, has a fraction or an imaginary part that the dtype lacks, is an integer beyond the precision
        of a floating dtype, or is not finite and the dtype is one of integers.
    """
    cdef EagerTensor t = as_eager(x)
    cdef int code = dtype_code(dtype)
    if t.v.meta.dtype == code:
        return same(t)
    if not is_inexact(code):
        t = alias(t, NULL)
    return emit1(Op.CONVERT, t, NULL, meta_like(t.v.meta, code))


FUNCTIONS = _build()
FUNCTIONS.update(real=real, imag=imag, conj=conj, complex=complex, where=where, clamp=clamp, scale=scale, round=round,
                 polygamma=polygamma, cast=cast, convert=convert)
globals().update(FUNCTIONS)
