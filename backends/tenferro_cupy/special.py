"""Gamma functions, complex where CuPy has them so, and integer powers."""

from importlib import import_module

from tenferro.errors import ValidationError

from . import polygamma


class Special:
    """Operations that need more than an expression."""

    def _functions(self):
        """``cupyx.scipy.special``."""
        return import_module(f"{self.cupy.__name__}x.scipy.special")

    def lgamma(self, x):
        """``log(abs(gamma(x)))``; of complex numbers the analytic continuation."""
        return self._functions().loggamma(x) if x.dtype.kind == "c" else self._single("lgamma", (x,))

    def digamma(self, x):
        """The derivative of lgamma."""
        return self._functions().digamma(x)

    def polygamma(self, x, *, n):
        """The n-th derivative of digamma."""
        key = "polygamma", n, x.dtype
        kernel = self.kernels.get(key)
        if kernel is None:
            kernel = self.kernels[key] = polygamma.kernel(self.cupy, n, x.dtype)
        return kernel(x)

    def pow(self, x, y):
        """``x ** y``. Whether an integer is to be raised to a negative integer power is looked for, which waits."""
        if y.dtype.kind == "i" and bool((y < 0).any() if hasattr(y, "any") else y < 0):
            raise ValidationError("pow: an integer to a negative integer power is no integer; convert one operand to a "
                                  "floating dtype with astype()", op="pow", argument="y")
        return self._single("pow", (x, y))
