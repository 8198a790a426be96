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
    (Op.ADD, "add", "Sum; logical or of bools.",
     "[1.0, 2.0], 10.0", "EagerTensor([11., 12.], dtype=float64)"),
    (Op.SUB, "sub", "Difference.",
     "[1.0, 2.0], 10.0", "EagerTensor([-9., -8.], dtype=float64)"),
    (Op.MUL, "mul", "Product; logical and of bools.",
     "[1.0, 2.0], 10.0", "EagerTensor([10., 20.], dtype=float64)"),
    (Op.DIV, "div", "True quotient; integers give float64.",
     "[1, 2], 4", "EagerTensor([0.25, 0.5 ], dtype=float64)"),
    (Op.POW, "pow", "``x`` to the power ``y``; an integer to a negative integer power raises `ValidationError`.",
     "[2.0, 3.0], 2", "EagerTensor([4., 9.], dtype=float64)"),
    (Op.REM, "rem", "Remainder with the sign of the divisor, ``x - floor(x / y) * y``.",
     "[5.0, -5.0], 3.0", "EagerTensor([2., 1.], dtype=float64)"),
    (Op.FLOOR_DIV, "floor_div", "Largest integer that is not above the quotient.",
     "[5.0, -5.0], 3.0", "EagerTensor([ 1., -2.], dtype=float64)"),
    (Op.FMOD, "fmod", "Remainder with the sign of the dividend, as C's.",
     "[5.0, -5.0], 3.0", "EagerTensor([ 2., -2.], dtype=float64)"),
    (Op.NEG, "neg", "Negative.",
     "[1.0, -2.0]", "EagerTensor([-1.,  2.], dtype=float64)"),
    (Op.ABS, "abs", "Absolute value; its gradient is 0 at 0.",
     "[-3.0, 3 + 4j]", "EagerTensor([3., 5.], dtype=float64)"),
    (Op.SIGN, "sign", "Sign: -1, 0 or 1, and ``x / |x|`` of complex numbers.",
     "[-3.0, 0.0, 2.0]", "EagerTensor([-1.,  0.,  1.], dtype=float64)"),
    (Op.ANGLE, "angle", "Argument of complex numbers, in radians between -pi and pi.",
     "[1j, -1.0]", "EagerTensor([1.57079633, 3.14159265], dtype=float64)"),
    (Op.RECIPROCAL, "reciprocal", "Reciprocal; of integers rounded towards zero.",
     "[2.0, 4.0]", "EagerTensor([0.5 , 0.25], dtype=float64)"),
    (Op.SQUARE, "square", "Square.",
     "[2.0, -3.0]", "EagerTensor([4., 9.], dtype=float64)"),
    # analytic
    (Op.EXP, "exp", "Exponential.",
     "[0.0, 1.0]", "EagerTensor([1.        , 2.71828183], dtype=float64)"),
    (Op.EXPM1, "expm1", "``exp(x) - 1``, accurate near 0.",
     "[0.0, 1e-10]", "EagerTensor([0.e+00, 1.e-10], dtype=float64)"),
    (Op.EXP2, "exp2", "2 to the power ``x``.",
     "[3.0, -1.0]", "EagerTensor([8. , 0.5], dtype=float64)"),
    (Op.LOG, "log", "Natural logarithm.",
     "[1.0, 10.0]", "EagerTensor([0.        , 2.30258509], dtype=float64)"),
    (Op.LOG1P, "log1p", "``log(1 + x)``, accurate near 0.",
     "[0.0, 1e-10]", "EagerTensor([0.e+00, 1.e-10], dtype=float64)"),
    (Op.LOG2, "log2", "Logarithm to base 2.",
     "[8.0, 0.5]", "EagerTensor([ 3., -1.], dtype=float64)"),
    (Op.LOG10, "log10", "Logarithm to base 10.",
     "[1000.0, 0.1]", "EagerTensor([ 3., -1.], dtype=float64)"),
    (Op.SQRT, "sqrt", "Square root; NaN for negative real numbers.",
     "[4.0, 2.0]", "EagerTensor([2.        , 1.41421356], dtype=float64)"),
    (Op.RSQRT, "rsqrt", "Reciprocal of the square root.",
     "[4.0, 0.25]", "EagerTensor([0.5, 2. ], dtype=float64)"),
    (Op.CBRT, "cbrt", "Cube root of real numbers.",
     "[8.0, -27.0]", "EagerTensor([ 2., -3.], dtype=float64)"),
    (Op.SIN, "sin", "Sine of an angle in radians.",
     "[0.0, 0.5]", "EagerTensor([0.        , 0.47942554], dtype=float64)"),
    (Op.COS, "cos", "Cosine of an angle in radians.",
     "[0.0, 0.5]", "EagerTensor([1.        , 0.87758256], dtype=float64)"),
    (Op.TAN, "tan", "Tangent of an angle in radians.",
     "[0.0, 0.5]", "EagerTensor([0.        , 0.54630249], dtype=float64)"),
    (Op.ASIN, "asin", "Inverse sine, in radians between -pi/2 and pi/2.",
     "[0.0, 1.0]", "EagerTensor([0.        , 1.57079633], dtype=float64)"),
    (Op.ACOS, "acos", "Inverse cosine, in radians between 0 and pi.",
     "[0.0, 1.0]", "EagerTensor([1.57079633, 0.        ], dtype=float64)"),
    (Op.ATAN, "atan", "Inverse tangent, in radians between -pi/2 and pi/2.",
     "[0.0, 1.0]", "EagerTensor([0.        , 0.78539816], dtype=float64)"),
    (Op.ATAN2, "atan2", "Angle of the point ``(y, x)`` given as ``atan2(y, x)``, in radians between -pi and pi.",
     "[1.0, -1.0], [0.0, -1.0]", "EagerTensor([ 1.57079633, -2.35619449], dtype=float64)"),
    (Op.SINH, "sinh", "Hyperbolic sine.",
     "[0.0, 1.0]", "EagerTensor([0.        , 1.17520119], dtype=float64)"),
    (Op.COSH, "cosh", "Hyperbolic cosine.",
     "[0.0, 1.0]", "EagerTensor([1.        , 1.54308063], dtype=float64)"),
    (Op.TANH, "tanh", "Hyperbolic tangent.",
     "[0.0, 1.0]", "EagerTensor([0.        , 0.76159416], dtype=float64)"),
    (Op.ASINH, "asinh", "Inverse hyperbolic sine.",
     "[0.0, 1.0]", "EagerTensor([0.        , 0.88137359], dtype=float64)"),
    (Op.ACOSH, "acosh", "Inverse hyperbolic cosine.",
     "[1.0, 2.0]", "EagerTensor([0.       , 1.3169579], dtype=float64)"),
    (Op.ATANH, "atanh", "Inverse hyperbolic tangent.",
     "[0.0, 0.5]", "EagerTensor([0.        , 0.54930614], dtype=float64)"),
    (Op.ERF, "erf", "Error function.",
     "[0.0, 1.0]", "EagerTensor([0.        , 0.84270079], dtype=float64)"),
    (Op.ERFC, "erfc", "Complementary error function, ``1 - erf(x)``.",
     "[0.0, 1.0]", "EagerTensor([1.        , 0.15729921], dtype=float64)"),
    (Op.LGAMMA, "lgamma", "Logarithm of the absolute value of the gamma function; complex: its principal branch.",
     "[1.0, 5.0]", "EagerTensor([0.        , 3.17805383], dtype=float64)"),
    (Op.DIGAMMA, "digamma", "Logarithmic derivative of the gamma function.",
     "[1.0, 2.0]", "EagerTensor([-0.57721566,  0.42278434], dtype=float64)"),
    (Op.LOGADDEXP, "logaddexp", "``log(exp(x) + exp(y))`` without overflow.",
     "1000.0, 1000.0", "EagerTensor(1000.69314718, dtype=float64)"),
    (Op.HYPOT, "hypot", "``sqrt(x**2 + y**2)`` without overflow.",
     "3.0, 4.0", "EagerTensor(5., dtype=float64)"),
    # compare
    (Op.EQUAL, "equal", "Whether ``x == y``, as untracked bools.",
     "[1, 2, 3], 2", "EagerTensor([False,  True, False], dtype=bool)"),
    (Op.NOT_EQUAL, "not_equal", "Whether ``x != y``, as untracked bools.",
     "[1, 2, 3], 2", "EagerTensor([ True, False,  True], dtype=bool)"),
    (Op.LESS, "less", "Whether ``x < y``, as untracked bools.",
     "[1, 2, 3], 2", "EagerTensor([ True, False, False], dtype=bool)"),
    (Op.LESS_EQUAL, "less_equal", "Whether ``x <= y``, as untracked bools.",
     "[1, 2, 3], 2", "EagerTensor([ True,  True, False], dtype=bool)"),
    (Op.GREATER, "greater", "Whether ``x > y``, as untracked bools.",
     "[1, 2, 3], 2", "EagerTensor([False, False,  True], dtype=bool)"),
    (Op.GREATER_EQUAL, "greater_equal", "Whether ``x >= y``, as untracked bools.",
     "[1, 2, 3], 2", "EagerTensor([False,  True,  True], dtype=bool)"),
    (Op.LOGICAL_AND, "logical_and", "Whether both operands are not zero.",
     "[0, 1], [1, 2]", "EagerTensor([False,  True], dtype=bool)"),
    (Op.LOGICAL_OR, "logical_or", "Whether any of the operands is not zero.",
     "[0, 0], [0, 2]", "EagerTensor([False,  True], dtype=bool)"),
    (Op.LOGICAL_XOR, "logical_xor", "Whether exactly one of the operands is not zero.",
     "[0, 1], [1, 2]", "EagerTensor([ True, False], dtype=bool)"),
    (Op.LOGICAL_NOT, "logical_not", "Whether an element is zero.",
     "[0, 2]", "EagerTensor([ True, False], dtype=bool)"),
    (Op.ISFINITE, "isfinite", "Whether an element is neither infinite nor NaN.",
     '[1.0, float("inf"), float("nan")]', "EagerTensor([ True, False, False], dtype=bool)"),
    (Op.ISNAN, "isnan", "Whether an element is NaN.",
     '[1.0, float("inf"), float("nan")]', "EagerTensor([False, False,  True], dtype=bool)"),
    (Op.ISINF, "isinf", "Whether an element is infinite.",
     '[1.0, float("inf"), float("nan")]', "EagerTensor([False,  True, False], dtype=bool)"),
    (Op.MAXIMUM, "maximum", "Larger operand; NaN if any is; ties share the gradient equally.",
     "[1.0, 5.0], 3.0", "EagerTensor([3., 5.], dtype=float64)"),
    (Op.MINIMUM, "minimum", "Smaller operand; NaN if any is; ties share the gradient equally.",
     "[1.0, 5.0], 3.0", "EagerTensor([1., 3.], dtype=float64)"),
    # rounding
    (Op.FLOOR, "floor", "Largest integer that is not above an element; its gradient is 0.",
     "[1.5, -1.5]", "EagerTensor([ 1., -2.], dtype=float64)"),
    (Op.CEIL, "ceil", "Smallest integer that is not below an element; its gradient is 0.",
     "[1.5, -1.5]", "EagerTensor([ 2., -1.], dtype=float64)"),
    (Op.TRUNC, "trunc", "Integer part, rounded towards zero; its gradient is 0.",
     "[1.5, -1.5]", "EagerTensor([ 1., -1.], dtype=float64)"),
)
"""Operation, name, meaning, and arguments and result of an example of each regular elementwise function."""

cdef str TEXT = """{name}({arguments}, /)
--

{meaning}

Parameters
----------
{parameters}

Returns
-------
EagerTensor
    {shape}; where NumPy computes in float16, float32 is used.

Raises
------
DTypeMismatchError
    A dtype is not supported, or the function is not defined for it.{errors}

Examples
--------
>>> import tenferro as tfr
>>> tfr.{name}({example})
{result}
"""
cdef dict BY_INPUTS = {
    1: dict(arguments="x", shape="Of the operand's shape", errors="",
            parameters="x : array_like\n    An eager tensor or a constant."),
    2: dict(arguments="x, y", shape="Operands broadcast and promote as in NumPy 2",
            errors="\nShapeMismatchError\n    The shapes do not broadcast.",
            parameters="x, y : array_like\n    Eager tensors or constants; Python scalars take the dtype of the other one."),
}
cdef dict ERRORS = {"pow": "\nValidationError\n    An integer to a negative integer power."}
cdef list texts = []        # names and docstrings of the built-in functions


cdef object built_in(int slot, op, str name, str meaning, str example, str result, int n_in):
    cdef dict parts = dict(BY_INPUTS[n_in], name=name, meaning=meaning, example=example, result=result)
    parts["errors"] += ERRORS.get(name, "")
    cdef bytes c_name = name.encode(), doc = TEXT.format(**parts).encode()
    texts.append(c_name)
    texts.append(doc)
    return tf_function(n_in, slot, op, c_name, doc, sys.modules[__name__])


def _build():
    """The regular functions by name."""
    n_in = {row[0]: row[1] for row in ROWS}
    slots = {1: 0, 2: 0}
    functions = {}
    for op, name, meaning, example, result in TABLE:
        n = n_in[op]
        functions[name] = built_in(slots[n], op, name, meaning, example, result, n)
        slots[n] += 1
    return functions


FUNCTIONS = _build()
"""Name -> function."""
