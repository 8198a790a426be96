"""Elementwise operations. The table has the standard's functions, and those beyond it that several libraries share."""

from .methods import binary, composed, left_to_host, unary

# operation: kinds of dtypes (bool, integer, float, complex), then names of the function. What a library need not define,
# such as the quotient of integers by zero, is not in the kinds.
UNARY = {
    "neg": "ifc negative", "abs": "ifc abs", "sign": "ifc sign", "conj": "c conj", "real": "c real", "imag": "c imag",
    "square": "ifc square", "exp": "fc exp", "expm1": "fc expm1", "log": "fc log", "log1p": "f log1p", "log2": "fc log2",
    "log10": "fc log10", "sqrt": "fc sqrt", "sin": "fc sin", "cos": "fc cos", "tan": "fc tan", "asin": "fc asin",
    "acos": "fc acos", "atan": "fc atan", "sinh": "fc sinh", "cosh": "fc cosh", "tanh": "fc tanh", "asinh": "fc asinh",
    "acosh": "fc acosh", "atanh": "fc atanh", "logical_not": "b logical_not", "isfinite": "fc isfinite", "isnan": "fc isnan",
    "isinf": "fc isinf", "floor": "f floor", "ceil": "f ceil", "round": "f round", "trunc": "f trunc", "cbrt": "f cbrt",
    "erf": "f erf special.erf", "erfc": "f erfc special.erfc", "lgamma": " lgamma", "digamma": " digamma",
}
BINARY = {
    "add": "ifc add", "sub": "ifc subtract", "mul": "ifc multiply", "div": "fc divide", "pow": "fc pow", "rem": "f remainder",
    "floor_div": "f floor_divide", "atan2": "f atan2", "logaddexp": "f logaddexp", "hypot": "f hypot", "equal": "bifc equal",
    "not_equal": "bifc not_equal", "less": "if less", "less_equal": "if less_equal", "greater": "if greater",
    "greater_equal": "if greater_equal", "logical_and": "b logical_and", "logical_or": "b logical_or",
    "logical_xor": "b logical_xor", "maximum": "if maximum", "minimum": "if minimum",
}

# library: operation: the kinds of dtypes for which its function does what the standard says, also for infinities and zeros
LIMITED = {
    "torch": {"rem": "", "floor_div": "", "fmod": "", "pow": "f", "log2": "f", "acos": "f", "rsqrt": "f"},
}


def _split(row):
    kinds, *names = row.split(" ")
    return kinds, names


def _exp2(self, x):
    return self.xp.pow(self.zero(x) + 2, x)


def _reciprocal(self, x):
    return 1 / x


def _fmod(self, x, y):
    xp = self.xp
    return xp.copysign(xp.remainder(xp.abs(x), xp.abs(y)), x)


class Elementwise:
    """Operations on one to three arrays of one dtype, broadcast against each other."""

    for _name, _row in UNARY.items():
        _kinds, _names = _split(_row)
        locals()[_name] = unary(_name, _kinds, *_names)
    for _name, _row in BINARY.items():
        _kinds, _names = _split(_row)
        locals()[_name] = binary(_name, _kinds, *_names)
    del _name, _row, _kinds, _names

    exp2 = unary("exp2", "f", "exp2", fallback=_exp2)
    reciprocal = unary("reciprocal", "fc", "reciprocal", fallback=_reciprocal)
    rsqrt = unary("rsqrt", "fc", fallback=lambda self, x: self.reciprocal(self.xp.sqrt(x)))
    fmod = binary("fmod", "f", "fmod", fallback=_fmod)
    complex = binary("complex", "f", "complex")

    @left_to_host
    def polygamma(self, x, *, n):
        """The n-th derivative of digamma."""
        return NotImplemented

    @composed("bifc")
    def where(self, condition, x, y):
        """``x`` where the condition is true, else ``y``."""
        return self.xp.where(condition, x, y)

    @composed("if")
    def clamp(self, x, low, high):
        """``min(max(x, low), high)``; NaN wins."""
        return self.xp.minimum(self.xp.maximum(x, low), high)

    @composed("fc")
    def angle(self, x):
        """The argument of a complex number, in radians."""
        xp = self.xp
        return xp.atan2(xp.imag(x), xp.real(x)) if self.is_complex(x) else xp.atan2(xp.zeros_like(x), x)

    # ---- products and quotients that an exact zero absorbs

    @composed("fc")
    def absorb_mul(self, x, y):
        """``x * y``, and 0 where x is 0."""
        return self.xp.where(x == 0, self.zero(x), x * y)

    @composed("fc")
    def absorb_both(self, x, y):
        """``x * y``, and 0 where one of them is 0."""
        return self.xp.where((x == 0) | (y == 0), self.zero(x), x * y)

    @composed("fc")
    def absorb_div(self, x, y):
        """``x / y``, and 0 where x is 0."""
        return self.xp.where(x == 0, self.zero(x), x / y)

    # ---- derivatives without a name

    @composed("f")
    def sech2(self, x):
        """``1 / cosh(x)**2``."""
        e = self.xp.exp(-2 * self.xp.abs(x))
        return 4 * e / ((1 + e) * (1 + e))

    @composed("f")
    def asin_slope(self, x):
        """``1 / sqrt(1 - x**2)``."""
        return 1 / self.xp.sqrt((1 - x) * (1 + x))

    @composed("f")
    def acosh_slope(self, x):
        """``1 / sqrt(x**2 - 1)``."""
        return 1 / self.xp.sqrt(x - 1) / self.xp.sqrt(x + 1)

    @composed("f")
    def atanh_slope(self, x):
        """``1 / (1 - x**2)``."""
        return 1 / ((1 - x) * (1 + x))

    @composed("f")
    def share(self, x, y):
        """``exp(x) / (exp(x) + exp(y))``; equal infinities share equally."""
        xp = self.xp
        d = xp.where(x == y, self.zero(x), y - x)
        e = xp.exp(-xp.abs(d))
        return xp.where(d > 0, e, self.zero(x) + 1) / (1 + e)

    @composed("f")
    def direction(self, x, y):
        """``x / hypot(x, y)``, x itself at the origin, scaled so that nothing overflows."""
        xp = self.xp
        x, y = self._finite(x, y)
        m = xp.maximum(xp.abs(x), xp.abs(y))
        unit = self.zero(x) + 1
        a, b = x / xp.where(m == 0, unit, m), y / xp.where(m == 0, unit, m)
        return xp.where(m == 0, x + 0 * y, a / xp.where(m == 0, unit, xp.hypot(a, b)))

    @composed("f")
    def inversion(self, x, y):
        """``x / (x**2 + y**2)``."""
        return self.direction(x, y) / self.xp.hypot(x, y)

    def _finite(self, x, y):
        """Where one of two numbers is infinite, both in units of infinity."""
        xp = self.xp
        far = xp.isinf(x) | xp.isinf(y)
        return tuple(xp.where(far, xp.where(xp.isinf(v), xp.sign(v), 0 * xp.sign(v)), v) for v in (x, y))
