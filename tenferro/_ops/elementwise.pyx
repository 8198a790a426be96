"""Elementwise functions under their public names: those with parameters are written out here, the regular ones are in
`callables`. ``FUNCTIONS`` holds all of them by name.
"""

import builtins

import numpy as np

from tenferro._core.abi cimport *
from tenferro._core.eager cimport (EagerTensor, alias, alias_in, apply1, apply2, apply3, as_eager, as_operand, binary,
                                   cast as recorded_cast, computed_in, constant_value, emit1, emit_view, real_scalar,
                                   weak_scalar)
from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op, dtype_code, dtype_object
from tenferro._core.state cimport EagerRuntime, ambient_runtime
from .basic cimport div_s, mul_s, round as rint

from tenferro.errors import ShapeMismatchError, ValidationError

from .callables import FUNCTIONS as REGULAR

# ---- parts of complex numbers ----------------------------------------------------------------------------------------

cdef EagerTensor same(EagerTensor x):
    if x.node == NULL:
        return alias(x, NULL)
    return emit_view(Op.ALIAS, x, NULL, meta_ref(x.v.meta), x.v.data)


cdef EagerTensor part(int op, EagerTensor x, Py_ssize_t offset):
    cdef Meta *m = x.v.meta
    cdef Meta *out = meta_new(real_dtype(m.dtype), m.rank)
    cdef int i
    for i in range(2 * m.rank):
        out.dims[i] = m.dims[i]
    return emit_view(op, x, NULL, meta_finish(out), x.v.data + offset)


cdef EagerTensor real_part(EagerTensor x):
    return part(Op.REAL, x, 0) if is_complex(x.v.meta.dtype) else same(x)


cdef EagerTensor imag_part(EagerTensor x):
    return part(Op.IMAG, x, x.v.meta.itemsize // 2) if is_complex(x.v.meta.dtype) else apply1(Op.IMAG, x)


def real(x):
    """Real part; a view of a complex tensor, the same value of a real one.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    EagerTensor
        Of the real dtype of the same precision.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.real([1 + 2j, 3.0])
    EagerTensor([1., 3.], dtype=float64)
    """
    return real_part(as_eager(x))


def imag(x):
    """Imaginary part; a view of a complex tensor, zeros of a real one.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    EagerTensor
        Of the real dtype of the same precision.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.imag([1 + 2j, 3.0])
    EagerTensor([2., 0.], dtype=float64)
    """
    return imag_part(as_eager(x))


def conj(x):
    """Complex conjugate; the same value of a real tensor.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    EagerTensor

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.conj([1 + 2j, 3.0])
    EagerTensor([1.-2.j, 3.-0.j], dtype=complex128)
    """
    cdef EagerTensor t = as_eager(x)
    return apply1(Op.CONJ, t) if is_complex(t.v.meta.dtype) else same(t)


def complex(re, im):
    """Complex numbers of their real and imaginary parts.

    Parameters
    ----------
    re, im : array_like
        Real; they broadcast and promote. Integers become floating.

    Returns
    -------
    EagerTensor
        complex64 for float32 parts, else complex128.

    Raises
    ------
    DTypeMismatchError
        A part is complex.
    ShapeMismatchError
        The shapes do not broadcast.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.complex([1.0, 2.0], -1.0)
    EagerTensor([1.-1.j, 2.-1.j], dtype=complex128)
    """
    return binary(Op.COMPLEX, re, im)


# ---- functions with parameters ---------------------------------------------------------------------------------------

cdef EagerTensor beside(object x, EagerTensor other):
    """An operand next to a tensor: Python scalars take its dtype."""
    cdef EagerTensor t
    if isinstance(x, EagerTensor):
        return as_operand(x, other.rt)
    t = weak_scalar(x, other.v.meta.dtype)
    return as_operand(x, other.rt) if t is None else alias_in(t, other.rt)


cdef bint is_scalar(object x):
    return isinstance(x, (int, float, builtins.complex)) and not isinstance(x, np.generic)


cdef EagerRuntime common_runtime(object x, object y, object z):
    for t in (x, y, z):
        if isinstance(t, EagerTensor):
            return (<EagerTensor> t).rt
    return ambient_runtime()


cdef EagerTensor select(object condition, object x, object y):
    cdef EagerRuntime rt
    cdef EagerTensor a, b
    if type(condition) is EagerTensor and type(x) is EagerTensor and type(y) is EagerTensor:
        return apply3(Op.WHERE, condition, x, y)
    rt = common_runtime(condition, x, y)
    if is_scalar(x) and not is_scalar(y):
        b = as_operand(y, rt)
        a = beside(x, b)
    else:
        a = as_operand(x, rt)
        b = beside(y, a) if not is_scalar(x) else as_operand(y, rt)
    return apply3(Op.WHERE, as_operand(condition, rt), a, b)


def where(condition, x, y):
    """Elements of `x` where the condition holds, else of `y`.

    What is not selected has gradient exactly 0, even where it is infinite or NaN.

    Parameters
    ----------
    condition : array_like
        Bools; other numbers hold where they are not zero.
    x, y : array_like
        They promote and broadcast with the condition; Python scalars take the dtype of the other one.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ShapeMismatchError
        The shapes do not broadcast.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.where([True, False], [1.0, 2.0], 0.0)
    EagerTensor([1., 0.], dtype=float64)
    """
    return select(condition, x, y)


cdef EagerTensor limit(EagerTensor x, bint upper):
    """The bound of x's dtype that does not act."""
    cdef int t = x.v.meta.dtype
    if is_inexact(t):
        return alias_in(real_scalar(float("inf") if upper else -float("inf"), t), x.rt)
    return constant_value(x.rt, np.asarray(extreme(t, upper), dtype_object(t)), -1, False)


cdef object extreme(int dtype, bint upper):
    if dtype == D_BOOL:
        return upper
    info = np.iinfo(dtype_object(dtype))
    return info.max if upper else info.min


cdef EagerTensor bound(object value, EagerTensor x, bint upper):
    cdef int t = x.v.meta.dtype
    if value is None:
        return limit(x, upper)
    if type(value) is int and not is_inexact(t) and t != D_BOOL:
        if (value > extreme(t, True)) if upper else (value < extreme(t, False)):
            return limit(x, upper)      # it cannot act
    return beside(value, x)


cdef int common_dtype(EagerTensor x, EagerTensor y, EagerTensor z) except -1:
    """NumPy's for three operands, which may be smaller than that of any two promoted first."""
    cdef int t = x.v.meta.dtype
    if y.v.meta.dtype == t and z.v.meta.dtype == t:
        return t
    return dtype_code(np.result_type(dtype_object(t), dtype_object(y.v.meta.dtype), dtype_object(z.v.meta.dtype)))


cdef EagerTensor clamped(object x, object low, object high):
    cdef EagerTensor t = as_operand(x, common_runtime(x, low, high))
    if low is None and high is None:
        return same(t)
    cdef EagerTensor a = bound(low, t, False), b = bound(high, t, True)
    cdef int dtype = common_dtype(t, a, b)
    return apply3(Op.CLAMP, t, recorded_cast(a, dtype), recorded_cast(b, dtype))


def clamp(x, min=None, max=None):
    """Elements limited to an interval, ``minimum(maximum(x, min), max)``.

    The gradient goes to `x` inside the bounds and to the bound that acts elsewhere; it is 0 for `x` at the bounds. NaN
    stays.

    Parameters
    ----------
    x : array_like
    min, max : array_like, optional
        Python scalars take the dtype of `x`.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ShapeMismatchError
        The shapes do not broadcast.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.clip([-1.0, 0.5, 2.0], 0.0, 1.0)
    EagerTensor([0. , 0.5, 1. ], dtype=float64)
    """
    return clamped(x, min, max)


def scale(x, factor):
    """Product with one number.

    Parameters
    ----------
    x : array_like
    factor : scalar or EagerTensor of shape ()
        A Python scalar takes the dtype of `x`.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ShapeMismatchError
        The factor is no scalar; `mul` broadcasts.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.scale([1.0, 2.0], 3.0)
    EagerTensor([3., 6.], dtype=float64)
    """
    shape = () if is_scalar(factor) else np.shape(factor) if not isinstance(factor, EagerTensor) else factor.shape
    if shape != ():
        raise ShapeMismatchError(f"scale: the factor has shape {shape}, not (); use mul for an elementwise product",
                                 op="scale", argument="factor", expected=(), actual=shape)
    return binary(Op.MUL, as_eager(x), factor)


def round(x, decimals=0):
    """Nearest multiple of ``10**-decimals``, ties to the even one; its gradient is 0.

    Parameters
    ----------
    x : array_like
    decimals : int
        May be negative.

    Returns
    -------
    EagerTensor
        Of the dtype of `x`; bools give float32.

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.round([0.5, 1.5, 2.25], 1)
    EagerTensor([0.5, 1.5, 2.2], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef int dtype = t.v.meta.dtype
    cdef bint exact = not is_inexact(dtype) and dtype != D_BOOL
    cdef double ten
    if exact and decimals >= 0:
        return same(t)
    if decimals == 0:
        return rint(t)
    if is_complex(dtype):
        return apply2(Op.COMPLEX, round(real_part(t), decimals), round(imag_part(t), decimals))
    ten = 10.0 ** builtins.abs(decimals)
    if exact:
        t = computed_in(t, D_F64)
    t = div_s(rint(mul_s(t, ten)), ten) if decimals > 0 else mul_s(rint(div_s(t, ten)), ten)
    return computed_in(t, dtype) if exact else t


def polygamma(n, x):
    """Derivative of order `n` of the digamma function.

    Parameters
    ----------
    n : int
        Not negative.
    x : array_like
        Real.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ValidationError
        The order is negative.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.polygamma(1, 1.0)
    EagerTensor(1.64493407, dtype=float64)
    """
    cdef Py_ssize_t order
    cdef EagerTensor t = as_eager(x)
    cdef Params *p
    order = n
    if order < 0:
        raise ValidationError(f"polygamma: the order is {order}; it must not be negative", op="polygamma",
                              argument="n")
    p = params_new(1)
    p.v[0] = order
    return apply1(Op.POLYGAMMA, t, p)


# ---- dtype -----------------------------------------------------------------------------------------------------------

cdef EagerTensor astype_(EagerTensor x, int dtype):
    if x.v.meta.dtype == dtype:
        return same(x)
    if is_inexact(dtype):
        return recorded_cast(x, dtype)
    return computed_in(x, dtype)


def cast(x, dtype):
    """Values in another dtype, whatever is lost.

    Fractions are cut off, imaginary parts dropped, integers wrap, and other numbers than 0 become True. Between floating
    and complex dtypes the gradient flows; integers and bools are untracked.

    Parameters
    ----------
    x : array_like
    dtype : dtype

    Returns
    -------
    EagerTensor

    Raises
    ------
    DTypeMismatchError
        The dtype is not supported.

    See Also
    --------
    convert : Refuses to lose information.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.cast([1.75, -1.75], tfr.int64)
    EagerTensor([ 1, -1], dtype=int64)
    """
    return astype_(as_eager(x), dtype_code(dtype))


def convert(x, dtype):
    """Values in another dtype, which must be able to hold them.

    Rounding from double to single precision is allowed. Between floating and complex dtypes the gradient flows.

    Parameters
    ----------
    x : array_like
    dtype : dtype

    Returns
    -------
    EagerTensor

    Raises
    ------
    ValidationError
        A value is out of range, has a fraction or an imaginary part that the dtype lacks, is an integer beyond the
        precision of a floating dtype, or is not finite and the dtype is one of integers.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.convert([1.0, 2.0], tfr.int64)
    EagerTensor([1, 2], dtype=int64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef int code = dtype_code(dtype)
    if t.v.meta.dtype == code:
        return same(t)
    if not is_inexact(code):
        t = alias(t, NULL)
    return emit1(Op.CONVERT, t, NULL, meta_like(t.v.meta, code))


FUNCTIONS = dict(REGULAR, real=real, imag=imag, conj=conj, complex=complex, where=where, clamp=clamp, scale=scale,
                 round=round, polygamma=polygamma, cast=cast, convert=convert)
"""Name -> function."""
globals().update(FUNCTIONS)
