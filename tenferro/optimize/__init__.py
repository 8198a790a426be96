"""SciPy's optimisers and solvers over containers of tensors with exact derivatives, and gradient steps.

`minimize`, `least_squares`, `root` and `curve_fit` have SciPy's signatures and results. `SGD`, `Adam`, `AdamW` and
`LBFGS` turn parameters, gradients and a state into new parameters and a new state. SciPy is imported when one of the
former is called.
"""

from ._curve_fit import curve_fit
from ._lbfgs import LBFGS
from ._minimize import minimize
from ._solve import least_squares, root
from ._steps import SGD, Adam, AdamW

__all__ = ["LBFGS", "SGD", "Adam", "AdamW", "curve_fit", "least_squares", "minimize", "root"]


def __dir__():
    return __all__
