"""Bounds and constraints in terms of containers, for SciPy in terms of vectors."""

import numpy as np

from .._tree import match
from ._functions import Vector


def bounds_of_pairs(space, bounds):
    """SciPy's `Bounds` from a pair for each number, each leaf, or from `Bounds`."""
    from scipy.optimize import Bounds

    if bounds is None:
        return None
    if isinstance(bounds, Bounds):
        return _checked(space, bounds.lb, bounds.ub, bounds.keep_feasible)
    sides = [_sides(space, entry, k) for k, entry in enumerate(match(space.structure, bounds, "bounds"))]
    lower, upper = (np.concatenate(side) for side in zip(*sides, strict=True))
    return _checked(space, lower, upper)


def bounds_of_sides(space, bounds):
    """SciPy's `Bounds` from lower and upper ones, each a number, a vector or a container; or from `Bounds`."""
    from scipy.optimize import Bounds

    if isinstance(bounds, Bounds):
        return _checked(space, bounds.lb, bounds.ub, bounds.keep_feasible)
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        space.fail("bounds", "bounds are a pair (lower, upper) of numbers, arrays or containers")
    return _checked(space, space.spread(bounds[0], "bounds", -np.inf), space.spread(bounds[1], "bounds", np.inf))


def _checked(space, lower, upper, keep_feasible=False):
    from scipy.optimize import Bounds

    lower, upper = (space.broadcast(np.asarray(side, float), (space.size,), "bounds", "") for side in (lower, upper))
    if np.isnan(lower).any() or np.isnan(upper).any():
        space.fail("bounds", "bounds hold NaN; None stands for no bound")
    if (lower > upper).any():
        space.fail("bounds", "a lower bound is greater than its upper bound")
    return Bounds(lower.copy(), upper.copy(), keep_feasible)


def _sides(space, entry, k):
    """Lower and upper bounds of one leaf: from None, a pair for each number, or a pair of numbers or arrays."""
    size = int(np.prod(space.layout.parts[k].shape))
    if entry is None:
        entry = (None, None)
    elif _counted(entry) == size and all(_counted(pair) == 2 for pair in entry):
        return tuple(np.concatenate([space.fill_one(pair[i], k, default) for pair in entry])
                     for i, default in enumerate((-np.inf, np.inf)))
    if _counted(entry) != 2:
        space.fail("bounds", f"bounds at {space.path(k)} are a pair (lower, upper), or one for each of its {size} numbers")
    return space.fill(entry[0], k, "bounds", -np.inf), space.fill(entry[1], k, "bounds", np.inf)


def _counted(x):
    return len(x) if isinstance(x, (tuple, list)) or (isinstance(x, np.ndarray) and x.ndim) else -1


def constraints_on_vectors(space, constraints, op, method):
    """The constraints of SciPy with functions of vectors, and exact derivatives where the user gave none."""
    if isinstance(constraints, dict) or not hasattr(constraints, "__iter__"):
        constraints = [constraints]
    curved = isinstance(method, str) and method.lower() == "trust-constr"
    return [_constraint(space, one, op, curved) for one in constraints]


def _constraint(space, given, op, curved):
    from scipy.optimize import NonlinearConstraint

    if isinstance(given, NonlinearConstraint):
        return _nonlinear(space, given, op, curved)
    if isinstance(given, dict):
        return _from_dict(space, given, op, curved)
    return given


def _nonlinear(space, given, op, curved):
    """Second derivatives go to the one method that takes them."""
    from scipy.optimize import HessianUpdateStrategy, NonlinearConstraint

    f = Vector(op, given.fun, space, argument="constraints")
    jac, hess = f.jacobian, f.curvature if curved else given.hess
    if callable(given.jac):
        def jac(x):
            return np.asarray(given.jac(space.container(x)))
    if callable(given.hess) and not isinstance(given.hess, HessianUpdateStrategy):
        def hess(x, v):
            return given.hess(space.container(x), v)
    return NonlinearConstraint(f.value, given.lb, given.ub, jac, hess, given.keep_feasible, given.finite_diff_rel_step,
                               given.finite_diff_jac_sparsity)


def _from_dict(space, given, op, curved):
    from scipy.optimize import NonlinearConstraint

    kind = str(given.get("type")).lower()
    if not callable(given.get("fun")) or kind not in ("eq", "ineq"):
        space.fail("constraints", "a constraint is a dict with 'type', 'eq' or 'ineq', and a function 'fun'")
    args = given.get("args", ())
    f = Vector(op, given["fun"], space, args=args, argument="constraints")
    jac = f.jacobian
    if callable(given.get("jac")):
        def jac(x):
            return np.asarray(given["jac"](space.container(x), *args))
    if curved and jac == f.jacobian:
        return NonlinearConstraint(f.value, 0.0, 0.0 if kind == "eq" else np.inf, jac, f.curvature)
    return {"type": kind, "fun": f.value, "jac": jac}
