"""`least_squares` and `root` with exact Jacobians."""

import numpy as np

from ._functions import Vector
from ._limits import bounds_of_sides
from ._space import Space
from ._watch import Watch, finished, on_containers

LARGE = 1 << 23         # entries of a Jacobian from which on it is not built
WITH_JACOBIAN = ("hybr", "lm")


def least_squares(fun, x0, jac=None, bounds=(-np.inf, np.inf), method="trf", ftol=1e-8, xtol=1e-8, gtol=1e-8,
                  x_scale=None, loss="linear", f_scale=1.0, diff_step=None, tr_solver=None, tr_options=None,
                  jac_sparsity=None, max_nfev=None, verbose=0, args=(), kwargs=None, callback=None, *, has_aux=False,
                  progress=False):
    """Minimise a sum of squares with `scipy.optimize.least_squares` and the exact Jacobian.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args, **kwargs)`` gets a container like `x0` and returns residuals, a tensor of any shape or a container
        of tensors; ``(residuals, auxiliary)`` if `has_aux`. A complex residual counts as two real ones.
    x0 : container of array_like
        Where to start.
    jac : callable or str, optional
        A Jacobian to use instead: ``jac(x, *args, **kwargs)`` returns a matrix over the numbers of the residuals and of
        `x0`; or one of SciPy's difference schemes.
    bounds : pair, or scipy.optimize.Bounds
        Lower and upper bounds, each a number, a vector or a container like `x0`.
    x_scale : optional
        A number, a vector, a container like `x0`, or ``"jac"``.
    tr_solver : {None, "exact", "lsmr"}
        With ``"lsmr"`` no Jacobian is built: products with it cost one sweep each. That is the default for Jacobians of
        more than 8 million entries.
    callback : callable, optional
        As in SciPy, with containers in the place of vectors.
    has_aux, progress
        As for `minimize`.
    method, ftol, xtol, gtol, loss, f_scale, diff_step, tr_options, jac_sparsity, max_nfev, verbose, args, kwargs
        As in SciPy.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As of `minimize`; `fun` is the vector of residuals and `history` half their sum of squares at every evaluation.

    Raises
    ------
    ValidationError
        As `minimize`; residuals are of integers or not finite at `x0`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> from tenferro.optimize import least_squares
    >>> t = tfr.linspace(0.0, 1.0, 5)
    >>> fit = least_squares(lambda p: p["a"] * tfr.exp(p["k"] * t) - 2.0 * tfr.exp(-t), {"a": 1.0, "k": 0.0})
    >>> round(fit.x["a"].item(), 6), round(fit.x["k"].item(), 6)
    (2.0, -1.0)
    """
    from scipy import optimize

    space = Space(x0, "least_squares")
    bounds = bounds_of_sides(space, bounds)
    if x_scale is not None and not isinstance(x_scale, str):
        x_scale = space.spread(x_scale, "x_scale", 1.0)
    args, kwargs = args if isinstance(args, tuple) else (args,), kwargs or {}
    rest = {} if callback is None else {"callback": on_containers(callback, space)}
    if x_scale is not None:
        rest["x_scale"] = x_scale
    with Watch("least_squares", progress) as watch:
        f = Vector("least_squares", fun, space, watch, args, kwargs, has_aux)
        if callable(jac):
            def derivative(x):
                return np.asarray(jac(space.container(x), *args, **kwargs))
        else:
            derivative = jac or _jacobian(f, method, tr_solver, x_scale)
        found = optimize.least_squares(f.value, space.start, derivative, (bounds.lb, bounds.ub), method, ftol=ftol,
                                       xtol=xtol, gtol=gtol, loss=loss, f_scale=f_scale, diff_step=diff_step,
                                       tr_solver=tr_solver, tr_options=tr_options, jac_sparsity=jac_sparsity,
                                       max_nfev=max_nfev, verbose=verbose, **rest)
        return finished(found, f, watch)


def _jacobian(f, method, tr_solver, x_scale):
    """A dense Jacobian, or an operator where the solver takes one and the matrix would be large."""
    if method == "lm" or tr_solver == "exact" or isinstance(x_scale, str):
        return f.jacobian
    if tr_solver == "lsmr":
        return f.operator

    def either(x):
        return f.operator(x) if f.value(x).size * f.space.size > LARGE else f.jacobian(x)
    return either


def root(fun, x0, args=(), method="hybr", jac=None, tol=None, callback=None, options=None, *, kwargs=None, has_aux=False,
         progress=False):
    """Solve a system of equations with `scipy.optimize.root` and the exact Jacobian.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args, **kwargs)`` gets a container like `x0` and returns a tensor or a container of tensors with as many
        numbers as `x0`; ``(that, auxiliary)`` if `has_aux`. A complex number counts as two real ones.
    x0 : container of array_like
        Where to start.
    method : str
        Any of SciPy's; ``hybr`` and ``lm`` use the Jacobian.
    jac : callable, optional
        A Jacobian to use instead: ``jac(x, *args, **kwargs)`` returns a matrix over the numbers.
    kwargs, has_aux, progress, callback
        As for `minimize`.
    args, tol, options
        As in SciPy.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As of `minimize`; `fun` is the vector of values, `history` half their sum of squares at every evaluation.

    Raises
    ------
    ValidationError
        As `minimize`; the number of equations is not that of the unknowns.

    Examples
    --------
    >>> import tenferro as tfr
    >>> from tenferro.optimize import root
    >>> found = root(lambda p: (p["x"] + p["y"] - 3.0, p["x"] * p["y"] - 2.0), {"x": 0.0, "y": 3.0})
    >>> round(found.x["x"].item(), 6), round(found.x["y"].item(), 6)
    (1.0, 2.0)
    """
    from scipy import optimize

    space = Space(x0, "root")
    args, kwargs = args if isinstance(args, tuple) else (args,), kwargs or {}
    with Watch("root", progress) as watch:
        f = Vector("root", fun, space, watch, args, kwargs, has_aux)
        count = f.value(space.start).size
        if count != space.size:
            space.fail("fun", f"fun returns {count} real numbers, but x0 holds {space.size}; as many equations as unknowns "
                              "are needed")
        given = {}
        if callable(jac):
            given["jac"] = lambda x: np.asarray(jac(space.container(x), *args, **kwargs))
        elif method.lower() in WITH_JACOBIAN:
            given["jac"] = f.jacobian
        found = optimize.root(f.value, space.start, method=method, tol=tol, callback=on_containers(callback, space),
                              options=options, **given)
        return finished(found, f, watch)
