"""Discrete cosine and sine transforms of types 1 to 4 with SciPy's signatures: one linear operation.

With the factors of orthogonalisation every transform is c * O for an orthogonal matrix O, whose transpose is O of types 1
and 4 and exchanges types 2 and 3. Without them it is ``inv(L) @ O @ inv(R)``: L divides output elements, and R multiplies
input elements, by the root of two (S. A. Martucci, 1994).
"""

from functools import lru_cache

import numpy as np

from ..errors import ValidationError
from ..operations import OPERATIONS
from .arguments import checked_norm, fitted, one_axis, tensor
from .module import ADJOINT, call, ordered, shared

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def points(sine, kind, n):
    """Length of the periodic sequence that a transform of n points belongs to."""
    return 2 * n if kind != 1 else 2 * (n + 1 if sine else n - 1)


@lru_cache(maxsize=64)
def factors(sine, kind, n, dtype):
    """Diagonals of inv(L) and inv(R), None for the identity."""
    left, right = np.ones(n, dtype), np.ones(n, dtype)
    root = np.sqrt(dtype.type(2))
    end = n - 1 if sine else 0
    if kind == 1 and not sine:
        left[[0, -1]], right[[0, -1]] = root, 1 / root
        return left, right
    if kind == 2:
        left[end] = root
        return left, None
    if kind == 3:
        right[end] = 1 / root
        return None, right
    return None, None


def scaled(x, w, axis):
    return x if w is None else x * w.reshape([-1 if k == axis else 1 for k in range(x.ndim)])


# ---- the operation ---------------------------------------------------------------------------------------------------

@ordered
def run(x, axis, sine, kind, norm, orthogonal):
    import scipy.fft
    f = scipy.fft.dst if sine else scipy.fft.dct
    if x.dtype.kind == "f":
        return shared(f, x, type=kind, axis=axis, norm=norm, orthogonalize=orthogonal)
    # SciPy ignores `orthogonalize` for complex numbers.
    parts = np.ascontiguousarray(x)[..., None].view(np.finfo(x.dtype).dtype)
    y = shared(f, parts, type=kind, axis=axis, norm=norm, orthogonalize=orthogonal)
    return np.ascontiguousarray(y).view(x.dtype)[..., 0]


def vjp(g, out, x, axis, sine, kind, norm, orthogonal):
    n = x.shape[axis]
    left, right = (None, None) if orthogonal else factors(sine, kind, n, np.empty(0, x.dtype).real.dtype)
    y = call("trigonometric", scaled(g, left, axis), axis=axis, sine=sine, kind=_INVERSE[kind], norm="ortho",
             orthogonal=True)
    size = float(points(sine, kind, n)) ** {"backward": 0.5, "ortho": 0, "forward": -0.5}[norm]
    return scaled(y if norm == "ortho" else y * size, right, axis)


def jvp(tangents, out, x, **params):
    return call("trigonometric", tangents[0], **params)


def declare(registrar):
    registrar.operation("trigonometric", lambda x, **params: x, lambda x, **params: x)
    registrar.executor("trigonometric", "host", run)
    registrar.rule("trigonometric", vjp=vjp, jvp=jvp)


# ---- functions -------------------------------------------------------------------------------------------------------

def _transform(x, kind, n, axis, norm, orthogonalize, op):
    x = tensor(x)
    if x.dtype.kind not in "fc":
        x = OPERATIONS["cast"](x, np.float64)
    name, inverse = op.removeprefix("i"), op[0] == "i"
    if kind not in _INVERSE:
        raise ValidationError(f"{op}: type is 1, 2, 3 or 4, not {kind!r}", op=op, argument="type")
    axis, norm = one_axis(x, axis, op), checked_norm(norm, op)
    x = fitted(x, (axis,), (n,), op)
    if name == "dct" and kind == 1 and x.shape[axis] < 2:
        raise ValidationError(f"{op}: type 1 needs at least 2 points, not {x.shape[axis]}; use another type", op=op,
                              argument="n")
    orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    return call("trigonometric", x, axis=axis, sine=name == "dst", kind=int(_INVERSE[kind] if inverse else kind),
                norm=ADJOINT[norm] if inverse else norm, orthogonal=orthogonal)


def dct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    """Discrete cosine transform along one axis.

    Parameters
    ----------
    x : array_like
        Any dtype; integers are computed in float64. Real and imaginary parts are transformed alike.
    type : {1, 2, 3, 4}
        As SciPy numbers them.
    n : int, optional
        Number of points; `x` is cut or padded with zeros at the end of the axis.
    axis : int
        The last one by default.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor ``1/m`` is on the inverse transform (the default), the root of it on both, or it on this one; m
        is ``2 * (n - 1)`` for type 1 and ``2 * n`` for the others.
    overwrite_x, workers : optional
        Without effect: input is never overwritten, and one thread is used.
    orthogonalize : bool, optional
        Scale the elements at the ends so that the matrix is a multiple of an orthogonal one, by default for "ortho".

    Returns
    -------
    EagerTensor
        Of `x`'s kind.

    Raises
    ------
    AxisError
        The axis is out of range.
    ValidationError
        There are too few points, another `type`, or another `norm`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.dct([1.0, 0.0])
    EagerTensor([2.        , 1.41421356], dtype=float64)
    """
    return _transform(x, type, n, axis, norm, orthogonalize, "dct")


def idct(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    """Inverse of `dct` of the same type.

    Parameters
    ----------
    x : array_like
        Any dtype; integers are computed in float64. Real and imaginary parts are transformed alike.
    type : {1, 2, 3, 4}
        As SciPy numbers them; of the transform that is inverted.
    n : int, optional
        Number of points; `x` is cut or padded with zeros at the end of the axis.
    axis : int
        The last one by default.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor ``1/m`` is on the inverse transform (the default), the root of it on both, or it on `dct`; m
        is ``2 * (n - 1)`` for type 1 and ``2 * n`` for the others.
    overwrite_x, workers : optional
        Without effect: input is never overwritten, and one thread is used.
    orthogonalize : bool, optional
        Scale the elements at the ends so that the matrix is a multiple of an orthogonal one, by default for "ortho".

    Returns
    -------
    EagerTensor
        Of `x`'s kind.

    Raises
    ------
    AxisError
        The axis is out of range.
    ValidationError
        There are too few points, another `type`, or another `norm`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.round(tfr.fft.idct(tfr.fft.dct([1.0, 2.0])), 6)
    EagerTensor([1., 2.], dtype=float64)
    """
    return _transform(x, type, n, axis, norm, orthogonalize, "idct")


def dst(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    """Discrete sine transform along one axis.

    Parameters
    ----------
    x : array_like
        Any dtype; integers are computed in float64. Real and imaginary parts are transformed alike.
    type : {1, 2, 3, 4}
        As SciPy numbers them.
    n : int, optional
        Number of points; `x` is cut or padded with zeros at the end of the axis.
    axis : int
        The last one by default.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor ``1/m`` is on the inverse transform (the default), the root of it on both, or it on this one; m
        is ``2 * (n + 1)`` for type 1 and ``2 * n`` for the others.
    overwrite_x, workers : optional
        Without effect: input is never overwritten, and one thread is used.
    orthogonalize : bool, optional
        Scale the elements at the ends so that the matrix is a multiple of an orthogonal one, by default for "ortho".

    Returns
    -------
    EagerTensor
        Of `x`'s kind.

    Raises
    ------
    AxisError
        The axis is out of range.
    ValidationError
        There are too few points, another `type`, or another `norm`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.fft.dst([1.0, 0.0])
    EagerTensor([1.41421356, 2.        ], dtype=float64)
    """
    return _transform(x, type, n, axis, norm, orthogonalize, "dst")


def idst(x, type=2, n=None, axis=-1, norm=None, overwrite_x=False, workers=None, orthogonalize=None):
    """Inverse of `dst` of the same type.

    Parameters
    ----------
    x : array_like
        Any dtype; integers are computed in float64. Real and imaginary parts are transformed alike.
    type : {1, 2, 3, 4}
        As SciPy numbers them; of the transform that is inverted.
    n : int, optional
        Number of points; `x` is cut or padded with zeros at the end of the axis.
    axis : int
        The last one by default.
    norm : {"backward", "ortho", "forward"}, optional
        Whether the factor ``1/m`` is on the inverse transform (the default), the root of it on both, or it on `dst`; m
        is ``2 * (n + 1)`` for type 1 and ``2 * n`` for the others.
    overwrite_x, workers : optional
        Without effect: input is never overwritten, and one thread is used.
    orthogonalize : bool, optional
        Scale the elements at the ends so that the matrix is a multiple of an orthogonal one, by default for "ortho".

    Returns
    -------
    EagerTensor
        Of `x`'s kind.

    Raises
    ------
    AxisError
        The axis is out of range.
    ValidationError
        There are too few points, another `type`, or another `norm`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.round(tfr.fft.idst(tfr.fft.dst([1.0, 2.0])), 6)
    EagerTensor([1., 2.], dtype=float64)
    """
    return _transform(x, type, n, axis, norm, orthogonalize, "idst")
