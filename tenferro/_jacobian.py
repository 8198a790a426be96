"""Jacobians and Hessians, built row by row (reverse mode) or column by column (forward mode) from one evaluation."""

import functools

import numpy as np

from ._core.identity import zeros
from ._core.transfers import placed
from ._files import on_host
from ._ops.assembly import concatenate, stack
from ._trace import Trace, check_function
from ._tree import paths, unflatten
from .errors import ValidationError
from .transforms import by_argument, grad, positions

__all__ = ["hessian", "jacobian"]

CHUNK = 128             # tensors joined at once
MODES = (None, "fwd", "rev")


def jacobian(f, argnums=0, mode=None, has_aux=False):
    """A function that returns all partial derivatives of every output with respect to every input.

    Parameters
    ----------
    f : callable
        Returns a tensor or a container of tensors, or ``(that, auxiliary)`` if `has_aux`.
    argnums : int or sequence of int
        Which positional arguments to differentiate with respect to, as for `grad`.
    mode : {None, "fwd", "rev"}
        One sweep for each input, or one for each output, over a single evaluation of `f`. By default forward if the
        outputs have more elements than the inputs, else reverse.
    has_aux : bool

    Returns
    -------
    callable
        Takes the arguments of `f`; returns tensors of shape ``out.shape + in.shape``, in the containers of the
        output, and at each place of it in the containers of the argument; or ``(that, auxiliary)``.

    Raises
    ------
    ValidationError
        An argument or output is of integers, `argnums` is out of range, the mode is unknown, or a derivative with
        respect to a complex input is no complex matrix.

    Notes
    -----
    A complex output of a real input has the complex derivative ``d(re)/dx + i d(im)/dx``. With a complex input the
    entries are ``df/dz``, which exist where `f` is holomorphic: the derivatives along the real and the imaginary axis
    are compared (two sweeps for each entry), and an error is raised where they contradict each other, or where the
    output is real.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.jacobian(lambda x: x * x)(tfr.constant([1.0, 2.0]))[0].tolist()
    [2.0, 0.0]
    """
    check_function(f, "jacobian")
    if mode not in MODES:
        raise ValidationError(f"jacobian: mode is 'fwd', 'rev' or None, not {mode!r}", op="jacobian", argument="mode")

    @functools.wraps(f)
    def matrix(*args, **kwargs):
        trace = Trace(f, args, kwargs, positions(argnums, len(args), "jacobian"), "jacobian", has_aux)
        _check_outputs(trace)
        blocks = _blocks(trace, mode)
        found = unflatten(trace.out_structure, [by_argument(trace, argnums, row) for row in blocks])
        return (found, trace.auxiliary()) if has_aux else found
    return matrix


def hessian(f, argnums=0, mode=None, has_aux=False):
    """A function that returns all second derivatives of a scalar function: the Jacobian of its gradient.

    Parameters
    ----------
    f : callable
        Returns a scalar, or ``(scalar, auxiliary)`` if `has_aux`.
    argnums : int or sequence of int
    mode : {None, "fwd", "rev"}
        How the gradient is differentiated.
    has_aux : bool

    Returns
    -------
    callable
        Takes the arguments of `f`; returns tensors of shape ``in.shape + in.shape`` in the containers of the
        argument, twice nested; or ``(that, auxiliary)``.

    Raises
    ------
    NonScalarGradError, ValidationError
        As `grad` and `jacobian`. The gradient of a real function of complex numbers is holomorphic only in special
        cases: use `hvp`, or real and imaginary parts.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.hessian(lambda x: x ** 3)(2.0).item()
    12.0
    """
    return jacobian(grad(f, argnums, has_aux), argnums, mode, has_aux)


def _check_outputs(trace):
    for k, y in enumerate(trace.outputs):
        if y.dtype.kind not in "fc":
            place = paths(trace.out_structure)[k]
            raise ValidationError(f"jacobian needs floating or complex outputs, but the function returned {y.dtype} at "
                                  f"{place}; return it through has_aux=True", op="jacobian", argument="f")


def _blocks(trace, mode):
    """``blocks[i][j]``: derivative of output i with respect to input j."""
    rows, columns = (sum(t.size * (1 + _is_complex(t)) for t in ts) for ts in (trace.outputs, trace.inputs))
    if mode == "fwd" or (mode is None and rows > columns):
        found = [_sweeps(trace, trace.jvp, trace.inputs, j, trace.outputs, -1) for j in range(len(trace.inputs))]
        return [[_block(trace, *column[i], i, j, False) for j, column in enumerate(found)]
                for i in range(len(trace.outputs))]
    found = [_sweeps(trace, trace.vjp, trace.outputs, i, trace.inputs, 0) for i in range(len(trace.outputs))]
    return [[_block(trace, *row[j], i, j, True) for j in range(len(trace.inputs))] for i, row in enumerate(found)]


def _is_complex(t):
    return t.dtype.kind == "c"


def _sweeps(trace, sweep, ends, k, others, axis):
    """For each of `others` the results of all sweeps from one end, joined along an axis; in directions 1 and i."""
    parts = []
    for unit in (1, 1j)[: 1 + _is_complex(ends[k])]:
        seeds = [None] * len(ends)
        results = []
        for e in _units(ends[k], unit):
            seeds[k] = placed(trace.rt.constant_from(e))
            results.append(sweep(seeds))
        parts.append([_joined([r[m] for r in results], others[m], axis) for m in range(len(others))])
    return list(zip(parts[0], parts[-1]))


def _units(t, unit):
    """The basis of the space of a tensor, in row-major order; one array that changes, so a user copies it."""
    e = np.zeros(t.size, t.dtype)
    for k in range(t.size):
        e[k] = unit
        yield e.reshape(t.shape)
        e[k] = 0


def _joined(tensors, like, axis):
    """Tensors joined along a new axis, None standing for zeros; None if there is nothing else."""
    if all(t is None for t in tensors):
        return None
    join, tensors = stack, [zeros(like) if t is None else t for t in tensors]
    while len(tensors) > 1 or join is stack:
        tensors = [join(tensors[k:k + CHUNK], axis) for k in range(0, len(tensors), CHUNK)]
        join = concatenate
    return tensors[0]


def _block(trace, a, b, i, j, by_rows):
    """One block, from its rows (cotangents) or columns (tangents) in direction 1 and, in b, in direction i."""
    y, x = trace.outputs[i], trace.inputs[j]
    shape, dtype = y.shape + x.shape, np.result_type(y.dtype, x.dtype)
    if a is None:
        return placed(trace.rt.constant_from(np.zeros(shape, dtype)))
    if _is_complex(x):
        eps = max(np.finfo(t.dtype).eps for t in (x, y))
        if not _is_complex(y) or _contradict(a, b, eps):
            _no_matrix(trace, i, j)
        block = a.conj() if by_rows else a
    else:
        block = a + 1j * b if by_rows and _is_complex(y) else a
    return block.reshape(shape).astype(dtype)


def _contradict(a, b, eps):
    """Whether derivatives along 1 and along i differ by more than rounding explains."""
    a, b = on_host(a), on_host(b)
    return a.size > 0 and bool(np.any(np.abs(b - 1j * a) > np.sqrt(eps) * (np.abs(a).max() + np.abs(b).max())))


def _no_matrix(trace, i, j):
    place = paths(trace.out_structure)[i]
    raise ValidationError(f"jacobian: the output at {place} is not a holomorphic function of complex input {j}, "
                          "so its derivative is no complex matrix; differentiate with respect to real and imaginary "
                          "parts, as in "
                          "jacobian(lambda re, im: f(re + 1j * im), argnums=(0, 1)), or use grad, jvp or hvp",
                          op="jacobian", argument="f")
