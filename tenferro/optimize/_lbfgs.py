"""Limited-memory BFGS steps."""

from .._core.state import no_grad
from ..errors import ValidationError
from ._leaves import absolute, as_variables, gradients, imag, is_complex, non_negative, parameters, real, total, vecdot

CURVATURE = 1e-10       # least product of a step and the change of the gradient that enters the memory


class LBFGS:
    """Steps along the directions of limited-memory BFGS, of fixed length (Nocedal, Math. Comp. 35, 773).

    Parameters
    ----------
    lr : float
        Length of a step in units of the direction; the first step is ``min(1, 1 / |g|_1)`` times that.
    history_size : int
        How many steps are remembered.
    tolerance_grad : float
        Parameters stay where no part of the gradient is larger.
    tolerance_change : float
        They stay where the loss would fall by less, to first order.

    Raises
    ------
    ValidationError
        A number is negative, `history_size` is less than 1; a gradient is None.

    Notes
    -----
    There is no line search: use ``minimize(method="L-BFGS-B")`` where one is needed. See `SGD` for ``init`` and ``step``.

    Examples
    --------
    >>> import tenferro as tfr
    >>> from tenferro.optimize import LBFGS
    >>> opt = LBFGS()
    >>> x = tfr.variable([3.0, -1.0])
    >>> state = opt.init(x)
    >>> for _ in range(10):
    ...     x, state = opt.step(x, tfr.grad(lambda x: tfr.sum(tfr.cosh(x)))(x), state)
    >>> bool(tfr.max(abs(x)) < 1e-3)
    True
    """

    def __init__(self, lr=1.0, history_size=100, tolerance_grad=1e-7, tolerance_change=1e-9):
        non_negative("LBFGS", lr=lr, tolerance_grad=tolerance_grad, tolerance_change=tolerance_change)
        if not history_size >= 1:
            raise ValidationError("LBFGS: history_size is at least 1", op="LBFGS", argument="history_size")
        self.lr, self.history_size = lr, int(history_size)
        self.tolerance_grad, self.tolerance_change = tolerance_grad, tolerance_change

    def init(self, params):
        """State before the first step.

        Parameters
        ----------
        params : container of array_like
            The parameters.

        Returns
        -------
        state : dict

        Raises
        ------
        ValidationError
            A parameter is neither floating nor complex.

        Examples
        --------
        >>> import tenferro as tfr
        >>> tfr.optimize.LBFGS().init(1.0)["step"]
        0
        """
        parameters(params, "LBFGS")
        return {"step": 0, "gradient": None, "last": None, "steps": [], "changes": [], "curvatures": [], "scale": 1.0}

    def step(self, params, grads, state):
        """New parameters and a new state.

        Parameters
        ----------
        params : container of array_like
            The parameters.
        grads : container of array_like, or Gradients
            Their gradients.
        state : dict
            From `init`, or from the step before.

        Returns
        -------
        params : container of EagerTensor
            Tracked leaves.
        state : dict

        Raises
        ------
        ValidationError
            Parameters, gradients and state do not belong together.

        Examples
        --------
        >>> import tenferro as tfr
        >>> opt = tfr.optimize.LBFGS()
        >>> x, state = opt.step(3.0, 2.0, opt.init(3.0))
        >>> x.item()
        2.0
        """
        leaves, structure = parameters(params, "LBFGS")
        g = gradients(grads, leaves, structure, "LBFGS")
        if any(t is None for t in g):
            raise ValidationError("LBFGS: a gradient is None; fill in zeros", op="LBFGS", argument="grads")
        self._check(state, leaves)
        with no_grad():
            g = [t.detach() for t in g]
            if _largest(g) <= self.tolerance_grad:
                return as_variables(leaves, structure), state
            memory = self._remembered(g, state)
            direction = _direction(g, memory)
            slope = _dot(g, direction)
            first = memory["step"] == 1
            length = self.lr * (min(1.0, 1.0 / _taxicab(g)) if first else 1.0)
            moves = slope <= -self.tolerance_change
            steps = [length * d for d in direction]
            if moves:
                leaves = [p + s for p, s in zip(leaves, steps)]
            return as_variables(leaves, structure), {**memory, "gradient": g, "last": steps}

    def _remembered(self, g, state):
        """The state with the previous step and the change of the gradient along it."""
        memory = {**state, "step": int(state["step"]) + 1}
        if state["gradient"] is None:
            return memory
        change = [a - b for a, b in zip(g, state["gradient"])]
        curvature = _dot(change, state["last"])
        if curvature > CURVATURE:
            for name, new in (("steps", state["last"]), ("changes", change), ("curvatures", curvature)):
                memory[name] = [*state[name], new][-self.history_size:]
            memory["scale"] = curvature / _dot(change, change)
        return memory

    def _check(self, state, leaves):
        last = state.get("last", leaves) if isinstance(state, dict) and "curvatures" in state else ()
        if last is not None and [t.shape for t in last] != [p.shape for p in leaves]:
            raise ValidationError("LBFGS: the state is not that of these parameters; it comes from init(params) or from the "
                                  "previous step", op="LBFGS", argument="state")


def _direction(g, memory):
    """Minus the approximate inverse Hessian times the gradient, by the recursion over the remembered steps."""
    q = [-t for t in g]
    pairs = list(zip(memory["steps"], memory["changes"], [1.0 / float(c) for c in memory["curvatures"]]))
    weights = []
    for step, change, rho in reversed(pairs):
        weights.append(rho * _dot(step, q))
        q = [t - weights[-1] * y for t, y in zip(q, change)]
    scale = float(memory["scale"])
    q = [scale * t for t in q]
    for (step, change, rho), weight in zip(pairs, reversed(weights)):
        q = [t + (weight - rho * _dot(change, q)) * s for t, s in zip(q, step)]
    return q


def _dot(a, b):
    """The real inner product of two lists of tensors."""
    return sum(vecdot(x.ravel(), y.ravel()).item().real for x, y in zip(a, b))


def _parts(tensors):
    for t in tensors:
        yield from (absolute(real(t)), absolute(imag(t))) if is_complex(t) else (absolute(t),)


def _largest(tensors):
    return max((t.max().item() for t in _parts(tensors) if t.size), default=0.0)


def _taxicab(tensors):
    return sum(total(t).item() for t in _parts(tensors))
