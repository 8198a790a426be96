"""`minimize` with exact derivatives."""

import numpy as np

from ._functions import Scalar
from ._limits import bounds_of_pairs, constraints_on_vectors
from ._space import Space
from ._watch import Watch, finished, on_containers

WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")
WITH_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")
WITH_HESSIAN = ("dogleg", "trust-exact")


def minimize(fun, x0, args=(), method=None, jac=None, hess=None, hessp=None, bounds=None, constraints=(), tol=None,
             callback=None, options=None, *, kwargs=None, has_aux=False, progress=False):
    """Minimise a scalar function of a container of tensors with `scipy.optimize.minimize` and exact derivatives.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args, **kwargs)`` gets a container like `x0` and returns a scalar tensor, or ``(scalar, auxiliary)`` if
        `has_aux`. Of a complex scalar the real part is minimised.
    x0 : container of array_like
        Where to start: tensors, arrays, floats and complex numbers in nested dicts, lists and tuples.
    args : tuple
        Further arguments of `fun`.
    method : str or callable, optional
        Any of SciPy's. Those that use gradients get exact ones, ``Newton-CG``, ``trust-ncg``, ``trust-krylov`` and
        ``trust-constr`` Hessian-vector products, ``dogleg`` and ``trust-exact`` the Hessian.
    jac, hess, hessp : optional
        Derivatives to use instead of the exact ones: ``jac(x, *args)`` and ``hessp(x, p, *args)`` return containers like
        `x0`, ``hess(x, *args)`` a matrix over the numbers in `x0`; or what else SciPy takes, such as ``"2-point"``.
    bounds : optional
        `scipy.optimize.Bounds`, or a container like `x0` with a pair ``(lower, upper)`` at each leaf, of numbers, arrays or
        None; or SciPy's pair for each number of a leaf, which is what two pairs for two numbers are taken for. Bounds
        of complex numbers are complex: for real and imaginary part.
    constraints : optional
        SciPy's. The functions in `scipy.optimize.NonlinearConstraint` and dicts get containers like `x0`; their
        derivatives are exact. The matrix of a `scipy.optimize.LinearConstraint` acts on the vector of numbers.
    tol, options
        As in SciPy.
    callback : callable, optional
        As in SciPy, with containers in the place of vectors.
    kwargs : dict, optional
        Keyword arguments of `fun`.
    has_aux : bool
        Whether `fun` returns a second thing; the one at the solution is ``result.aux``.
    progress : bool
        Show a bar that counts evaluations; needs tqdm.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result, where `x` is a container of constants like `x0`; `x_flat` is SciPy's vector, over which `jac`,
        `hess` and `hess_inv` are. `history` holds the objective at every evaluation.

    Raises
    ------
    NonScalarGradError
        `fun` returns a tensor whose shape is not ``()``.
    ValidationError
        `x0` holds integers or what is not finite, the objective or its gradient is not finite at `x0`, bounds have another
        structure or contradict each other.
    ImportError
        `progress` without tqdm.

    Notes
    -----
    The vector has the leaves in order, row-major; a complex number takes two places, its real and its imaginary part.
    Everything is computed in double precision; float32 and complex64 leaves are rounded when they are returned.
    Value and gradient come from one evaluation of `fun`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> from tenferro.optimize import minimize
    >>> result = minimize(lambda p: (p["a"] - 3.0) ** 2 + tfr.sum((p["b"] - p["a"]) ** 2), {"a": 0.0, "b": tfr.zeros(2)})
    >>> round(result.x["a"].item(), 5), result.x["b"].shape
    (3.0, (2,))
    """
    from scipy import optimize

    space = Space(x0, "minimize")
    if jac is True:
        space.fail("jac", "the gradient is computed from fun, which returns the value alone; leave jac out")
    args = args if isinstance(args, tuple) else (args,)
    bounds = bounds_of_pairs(space, bounds)
    constraints = constraints_on_vectors(space, constraints, "minimize", method)
    with Watch("minimize", progress) as watch:
        f = Scalar("minimize", fun, space, watch, args, kwargs, has_aux)
        found = optimize.minimize(f.value, space.start, method=method, bounds=bounds, constraints=constraints, tol=tol,
                                  callback=on_containers(callback, space), options=options,
                                  **_derivatives(f, method, jac, hess, hessp, args))
        return finished(found, f, watch)


def _derivatives(f, method, jac, hess, hessp, args):
    """What a method uses: the user's derivatives where there are any, else exact ones."""
    name = "" if method is None else "custom" if callable(method) else method.lower()
    space, given = f.space, {}
    if callable(jac):
        given["jac"] = lambda x: space.vector(jac(space.container(x), *args), "jac")
    elif jac:
        given["jac"] = jac
    elif name not in WITHOUT_GRADIENT:
        given["jac"] = f.gradient
    if hessp is not None:
        given["hessp"] = lambda x, p: space.vector(hessp(space.container(x), space.container(p), *args), "hessp")
    if hess is not None:
        given["hess"] = (lambda x: np.asarray(hess(space.container(x), *args))) if _function(hess) else hess
    if hess is None and hessp is None:
        if name in WITH_PRODUCTS or name == "custom":
            given["hessp"] = f.hessian_product
        elif name in WITH_HESSIAN:
            given["hess"] = f.hessian
    return given


def _function(hess):
    from scipy.optimize import HessianUpdateStrategy

    return callable(hess) and not isinstance(hess, HessianUpdateStrategy)
