"""The regular elementwise functions, of one or two operands and nothing else: built-ins made from ``TABLE``."""

import sys

from tenferro._core.eager cimport binary, unary
from tenferro._core.optable cimport Op

from tenferro._core.optable import ROWS

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
                        2: ("x, y", "x, y : array_like\n    Eager tensors or constants; Python scalars take the "
                                    "dtype of the other operand.")}
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
    n_in = {row[0]: row[1] for row in ROWS}
    slots = {1: 0, 2: 0}
    functions = {}
    for op, name, meaning in TABLE:
        n = n_in[op]
        functions[name] = built_in(slots[n], op, name, meaning, n)
        slots[n] += 1
    return functions


FUNCTIONS = _build()
"""Name -> function."""
