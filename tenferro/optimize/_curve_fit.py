"""`curve_fit` with the exact Jacobian."""

import inspect

import numpy as np

from .._core.eager import EagerTensor
from .._core.handles import constant
from .._files import on_host
from ..errors import ValidationError
from ._functions import Vector
from ._limits import bounds_of_sides
from ._space import Space
from ._watch import Watch


def curve_fit(f, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, check_finite=None, bounds=(-np.inf, np.inf),
              method=None, jac=None, *, full_output=False, nan_policy=None, progress=False, **kwargs):
    """Fit a model to data with `scipy.optimize.curve_fit` and the exact Jacobian.

    Parameters
    ----------
    f : callable
        The model: ``f(xdata, *p0)``, or ``f(xdata, **p0)`` if `p0` is a dict, returns a tensor of as many numbers as `ydata`.
    xdata : array_like or object
        Handed to the model; an array as a constant.
    ydata : array_like
        What the model should give. For complex data real and imaginary parts are fitted.
    p0 : optional
        Where to start: a sequence or a dict of parameters, each a number, a tensor or a container. By default one number
        for each argument of the model after the first, as in SciPy.
    sigma : array_like, optional
        Standard deviations of `ydata`, or its covariance matrix; for complex data standard deviations of both parts.
    bounds : pair, or scipy.optimize.Bounds
        Lower and upper bounds, each a number, a vector or a container like `p0`.
    jac : callable, optional
        A Jacobian to use instead: ``jac(xdata, *p0)`` returns a matrix over the numbers of `ydata` and of `p0`.
    progress : bool
        Show a bar that counts evaluations; needs tqdm.
    absolute_sigma, check_finite, method, full_output, nan_policy, **kwargs
        As in SciPy.

    Returns
    -------
    popt : EagerTensor, or container of EagerTensor
        The parameters: a tensor of shape ``(n,)`` if they are `n` plain numbers, else a container like `p0`.
    pcov : ndarray
        Covariance of the parameters' numbers, shape ``(n, n)``.
    infodict, mesg, ier
        Only with `full_output`.

    Raises
    ------
    ValidationError
        `p0` holds no floating or complex numbers, the model is not finite at `p0`, bounds have another structure.
    RuntimeError, ValueError, TypeError
        As in SciPy, such as for a fit that does not converge.

    Examples
    --------
    >>> import tenferro as tfr
    >>> from tenferro.optimize import curve_fit
    >>> x = tfr.linspace(0.0, 2.0, 9)
    >>> popt, pcov = curve_fit(lambda x, a, k: a * tfr.exp(-k * x), x, 3.0 * tfr.exp(-0.5 * x))
    >>> [round(p, 6) for p in popt.tolist()]
    [3.0, 0.5]
    """
    from scipy import optimize

    start = _start(f, p0, bounds)
    space = Space(start, "curve_fit", "p0")
    bounds = bounds_of_sides(space, bounds)
    ydata, sigma, paired = _data(ydata, sigma)
    with Watch("curve_fit", progress) as watch:
        model = _Model(f, space, watch, paired)
        if callable(jac):
            def derivative(x, *numbers):
                p = space.container(np.array(numbers))
                return np.asarray(jac(x, **p) if isinstance(p, dict) else jac(x, *p))
        else:
            derivative = jac or model.jacobian
        found = optimize.curve_fit(model.value, _plain(xdata, nan_policy is not None), ydata, space.start, sigma,
                                   absolute_sigma, check_finite, (bounds.lb, bounds.ub), method, derivative,
                                   full_output=full_output, nan_policy=nan_policy, **kwargs)
    return (space.restore(found[0]), *found[1:])


class _Model:
    """A model as SciPy calls it, for one `xdata` at a time."""

    def __init__(self, f, space, watch, paired):
        self.f, self.space, self.watch, self.paired = f, space, watch, paired
        self.x = self.function = None

    def at(self, x):
        if self.function is None or x is not self.x:
            given = constant(x) if isinstance(x, np.ndarray) else x

            def evaluated(p):
                y = self.f(given, **p) if isinstance(p, dict) else self.f(given, *p)
                if not self.paired and getattr(y, "dtype", np.dtype(float)).kind == "c":
                    self.space.fail("f", "the model is complex, but ydata is real; fit its real part, or its absolute value")
                return y + 0j if self.paired else y
            self.x, self.function = x, Vector("curve_fit", evaluated, self.space, self.watch, argument="f")
        return self.function

    def value(self, x, *numbers):
        return self.at(x).value(np.array(numbers))

    def jacobian(self, x, *numbers):
        return self.at(x).jacobian(np.array(numbers))


def _plain(xdata, omitting):
    """`xdata` as SciPy passes it on: real arrays it converts, complex ones only as tensors."""
    if isinstance(xdata, EagerTensor):
        return on_host(xdata) if omitting else xdata.detach()
    xdata = np.asarray(xdata) if isinstance(xdata, (list, tuple)) else xdata
    return constant(xdata) if isinstance(xdata, np.ndarray) and xdata.dtype.kind == "c" else xdata


def _data(ydata, sigma):
    """Real `ydata` and `sigma`, and whether they are pairs of complex numbers."""
    ydata = on_host(ydata).reshape(-1)
    sigma = None if sigma is None else on_host(sigma)
    if ydata.dtype.kind != "c":
        return ydata, sigma if sigma is None or sigma.ndim == 2 else sigma.reshape(-1), False
    if sigma is not None:
        if sigma.ndim == 2 and sigma.shape == (ydata.size, ydata.size) and ydata.size > 1:
            raise ValidationError("curve_fit: sigma of complex data holds standard deviations, not covariances",
                                  op="curve_fit", argument="sigma")
        sigma = np.repeat(np.broadcast_to(sigma.reshape(-1), ydata.shape), 2)
    return np.ascontiguousarray(ydata, np.complex128).view(np.float64), sigma, True


def _start(f, p0, bounds):
    """The parameters to start from: one tensor if they are plain numbers."""
    if p0 is None:
        return _inside(len(_arguments(f)) - 1, bounds)
    if isinstance(p0, (tuple, list)):
        for kinds, dtype in (((int, float, np.integer, np.floating), float), ((complex, np.complexfloating), complex)):
            if all(isinstance(p, kinds) for p in p0):
                return np.array(p0, dtype)
    if isinstance(p0, np.ndarray) and p0.dtype.kind in "iu":
        p0 = p0.astype(float)
    return np.atleast_1d(p0) if isinstance(p0, (np.ndarray, float, int)) else p0


def _arguments(f):
    try:
        names = [p for p in inspect.signature(f).parameters.values()
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    if len(names) < 2:
        raise ValidationError("curve_fit: the number of parameters cannot be told from the model; give p0", op="curve_fit",
                              argument="p0")
    return names


def _inside(n, bounds):
    """SciPy's choice: inside the bounds, 1 where there are none."""
    lower, upper = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    lower, upper = (np.broadcast_to(np.asarray(side, float), (n,)) for side in (lower, upper))
    with np.errstate(invalid="ignore"):
        middle = (lower + upper) / 2
    start = np.where(np.isfinite(lower), lower + 1, np.where(np.isfinite(upper), upper - 1, 1.0))
    return np.where(np.isfinite(lower) & np.isfinite(upper), middle, start)
