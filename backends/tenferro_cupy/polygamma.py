"""The kernel of the n-th derivative of digamma."""

from math import factorial, pi
from pathlib import Path

from .code import TYPES, preamble
from .fused import OPTIONS


def reflection(n):
    """Coefficients of the polynomial Q with ``(1 + c**2) Q(c) = -pi**(n+1)`` times the n-th derivative of ``c = cot``.

    That of the next order has ``-(2 c Q + (1 + c**2) dQ/dc)``.
    """
    q = [-1.0]
    for _ in range(n - 1):
        padded = [0.0, *q, 0.0, 0.0]
        q = [-((k + 1) * (padded[k] + padded[k + 2])) for k in range(len(q) + 1)]
    return [-pi ** (n + 1) * c for c in q]


def kernel(cupy, n, dtype):
    """The kernel for a dtype."""
    scale = float(factorial(n) * (1 if n % 2 else -1))
    constants = {"ORDER": n, "SCALE": f"({scale!r})", "REFLECT": ", ".join(map(repr, reflection(n)))}
    defined = "".join(f"#define TF_{name} {text}\n" for name, text in constants.items())
    code = Path(__file__).with_name("polygamma.h").read_text(encoding="utf-8")
    t = TYPES[dtype.name]
    if dtype.kind == "c":
        call = f"const complex<double> w = tf_polygamma_c(complex<double>(x.real(), x.imag())); y = {t}(w.real(), w.imag());"
    else:
        call = f"y = ({t})tf_polygamma_f(x);"
    return cupy.ElementwiseKernel(f"{dtype.name} x", f"{dtype.name} y", call, name=f"tenferro_polygamma_{n}",
                                  preamble=preamble() + defined + code, options=OPTIONS)
