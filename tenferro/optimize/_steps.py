"""Gradient steps: `SGD`, `Adam`, `AdamW`. Parameters, gradients and a state go in, parameters and a state come out."""

import math

from .._core.state import no_grad
from ..errors import ValidationError
from ._leaves import as_variables, gradients, imag, is_complex, non_negative, parameters, real, sqrt


class SGD:
    """Steepest descent, with momentum if wanted.

    Parameters
    ----------
    lr : float
        Length of a step in units of the gradient.
    momentum : float
        Share of the previous direction that is kept.
    nesterov : bool
        Look ahead along the momentum.
    weight_decay : float
        This times the parameters is added to their gradients.

    Raises
    ------
    ValidationError
        A number is negative; `nesterov` without momentum.

    Notes
    -----
    ``init(params)`` returns a state, and ``step(params, grads, state)`` returns new parameters, as tracked leaves, and
    a new state; nothing is changed in place. `params` and `grads` are containers of the same structure; `grads` may
    also be what ``backward()`` returns. A parameter whose gradient is None stays as it is. States are dicts and lists of
    tensors and numbers, which `tenferro.save` writes. The arithmetic is PyTorch's. It holds for the other classes, too.

    Examples
    --------
    >>> import tenferro as tfr
    >>> from tenferro.optimize import SGD
    >>> opt = SGD(0.1)
    >>> x = tfr.variable(1.0)
    >>> state = opt.init(x)
    >>> x, state = opt.step(x, tfr.grad(lambda x: x * x)(x), state)
    >>> x.item()
    0.8
    """

    def __init__(self, lr, momentum=0.0, nesterov=False, weight_decay=0.0):
        non_negative("SGD", lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and not momentum:
            raise ValidationError("SGD: nesterov needs a momentum", op="SGD", argument="nesterov")
        self.lr, self.momentum, self.nesterov, self.weight_decay = lr, momentum, nesterov, weight_decay

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
        >>> tfr.optimize.SGD(0.1).init(1.0)["step"]
        0
        """
        leaves, _ = parameters(params, "SGD")
        return {"step": 0, "momentum": [None] * len(leaves)}

    def step(self, params, grads, state):
        """New parameters and a new state.

        Parameters
        ----------
        params : container of array_like
            The parameters.
        grads : container of array_like, or Gradients
            Their gradients, None for one that stays as it is.
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
        >>> opt = tfr.optimize.SGD(0.1)
        >>> x, state = opt.step(1.0, 2.0, opt.init(1.0))
        >>> x.item()
        0.8
        """
        leaves, structure = parameters(params, "SGD")
        grads = gradients(grads, leaves, structure, "SGD")
        kept = _entries(state, "momentum", leaves, "SGD")
        with no_grad():
            for k, (p, g) in enumerate(zip(leaves, grads)):
                if g is not None:
                    leaves[k], kept[k] = self._moved(p, g, kept[k])
        return as_variables(leaves, structure), {"step": int(state["step"]) + 1, "momentum": kept}

    def _moved(self, p, g, m):
        if self.weight_decay:
            g = g + self.weight_decay * p
        if self.momentum:
            m = g.detach() if m is None else self.momentum * m + g
            g = g + self.momentum * m if self.nesterov else m
        return p - self.lr * g, m


class Adam:
    """Steps scaled by running means of the gradient and of its square (Kingma and Ba, arXiv:1412.6980).

    Parameters
    ----------
    lr : float
        Bound of the length of a step, about.
    betas : pair of float
        Decay of the running means of the gradient and of its square.
    eps : float
        Added to the root of the mean square.
    weight_decay : float
        This times the parameters is added to their gradients.

    Raises
    ------
    ValidationError
        A number is negative, or a decay is not in ``[0, 1)``.

    Notes
    -----
    Real and imaginary parts of complex parameters are scaled separately. See `SGD` for ``init`` and ``step``.

    Examples
    --------
    >>> import tenferro as tfr
    >>> from tenferro.optimize import Adam
    >>> opt = Adam(0.1)
    >>> p = {"x": tfr.variable([1.0, -2.0])}
    >>> state = opt.init(p)
    >>> for _ in range(200):
    ...     p, state = opt.step(p, tfr.grad(lambda p: tfr.sum(p["x"] ** 2))(p), state)
    >>> bool(tfr.max(abs(p["x"])) < 0.01)
    True
    """

    def __init__(self, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        self.op = type(self).__name__
        non_negative(self.op, lr=lr, eps=eps, weight_decay=weight_decay)
        if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
            raise ValidationError(f"{self.op}: betas are two numbers in [0, 1), not {betas!r}", op=self.op, argument="betas")
        self.lr, self.betas, self.eps, self.weight_decay = lr, tuple(betas), eps, weight_decay

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
        >>> tfr.optimize.Adam().init([1.0, 2.0])["moments"]
        [[0, None, None], [0, None, None]]
        """
        leaves, _ = parameters(params, self.op)
        empty = [[0, None, None] for _ in leaves]
        return {"moments": empty}

    def step(self, params, grads, state):
        """New parameters and a new state.

        Parameters
        ----------
        params : container of array_like
            The parameters.
        grads : container of array_like, or Gradients
            Their gradients, None for one that stays as it is.
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
        >>> opt = tfr.optimize.Adam(lr=0.5)
        >>> x, state = opt.step(1.0, 2.0, opt.init(1.0))
        >>> round(x.item(), 6)
        0.5
        """
        leaves, structure = parameters(params, self.op)
        grads = gradients(grads, leaves, structure, self.op)
        moments = _entries(state, "moments", leaves, self.op)
        with no_grad():
            for k, (p, g) in enumerate(zip(leaves, grads)):
                if g is not None:
                    leaves[k], moments[k] = self._moved(p, g, *moments[k])
        return as_variables(leaves, structure), {"moments": moments}

    def _moved(self, p, g, n, mean, square):
        n = int(n) + 1
        p, g = self._decayed(p, g)
        b1, b2 = self.betas
        size, root = self.lr / (1 - b1**n), math.sqrt(1 - b2**n)
        mean = (1 - b1) * g if mean is None else mean + (1 - b1) * (g - mean)
        if not is_complex(g):
            square = _mean_square(square, g, b2)
            return p - size * mean / (sqrt(square) / root + self.eps), [n, mean, square]
        square = [None, None] if square is None else square
        square = [_mean_square(v, part, b2) for v, part in zip(square, (real(g), imag(g)))]
        re, im = (part / (sqrt(v) / root + self.eps) for part, v in zip((real(mean), imag(mean)), square))
        return p - size * (re + 1j * im), [n, mean, square]

    def _decayed(self, p, g):
        return p, g + self.weight_decay * p if self.weight_decay else g


class AdamW(Adam):
    """`Adam` whose decay shrinks the parameters apart from the gradients (Loshchilov and Hutter, arXiv:1711.05101).

    Parameters
    ----------
    lr, betas, eps
        As for `Adam`.
    weight_decay : float
        Each step multiplies the parameters by ``1 - lr * weight_decay``.

    Examples
    --------
    >>> import tenferro as tfr
    >>> from tenferro.optimize import AdamW
    >>> opt = AdamW(0.1, weight_decay=0.5)
    >>> x, state = opt.step(2.0, 0.0, opt.init(2.0))
    >>> round(x.item(), 12)
    1.9
    """

    def __init__(self, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        super().__init__(lr, betas, eps, weight_decay)

    def _decayed(self, p, g):
        return p * (1 - self.lr * self.weight_decay), g


def _mean_square(square, g, beta):
    new = (1 - beta) * (g * g)
    return new if square is None else beta * square + new


def _entries(state, name, leaves, op):
    """What a state holds for each parameter, as a list of its own."""
    entries = state.get(name) if isinstance(state, dict) else None
    if not isinstance(entries, list) or len(entries) != len(leaves):
        raise ValidationError(f"{op}: the state is not that of these {len(leaves)} parameters; it comes from init(params) or "
                              "from the previous step", op=op, argument="state")
    return list(entries)
