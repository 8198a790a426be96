"""Functions of neural networks, made of operations whose derivatives hold in the tails and at infinities."""

from libc.math cimport isfinite as is_finite

from tenferro._core.abi cimport *
from tenferro._core.eager cimport (EagerTensor, alias, apply3, as_eager, as_operand, cast, computed_in,
                                   real_scalar, run2, scalar_like)
from tenferro._core.optable cimport Op, dtype_object
from .basic cimport *
from .reduce cimport axis_mask, reduced, sum_axes

from tenferro.errors import DTypeMismatchError, ValidationError

cdef double SQRT_HALF = 0.7071067811865476
cdef double INFINITY_ = float("inf")


# ---- arguments -------------------------------------------------------------------------------------------------------

cdef EagerTensor floating(object a, str op):
    """A real floating-point operand; bool and integers become float64."""
    cdef EagerTensor x = as_eager(a)
    if is_complex(x.v.meta.dtype):
        raise DTypeMismatchError(f"{op} is defined for real numbers; take real(), imag() or abs() first", op=op,
                                 argument="x", expected="a real dtype", actual=dtype_object(x.v.meta.dtype))
    return x if is_inexact(x.v.meta.dtype) else cast(x, D_F64)


cdef EagerTensor checked_mask(object mask, EagerTensor x, str op):
    cdef EagerTensor m = as_operand(mask, x.rt)
    if is_inexact(m.v.meta.dtype):
        raise DTypeMismatchError(f"{op}: the mask is {dtype_object(m.v.meta.dtype)}, not bool; compare, as in mask > 0",
                                 op=op, argument="mask", expected="bool", actual=dtype_object(m.v.meta.dtype))
    return computed_in(m, D_BOOL)


cdef EagerTensor masked(EagerTensor x, EagerTensor mask):
    """x where the mask is true, -inf elsewhere; what is masked does not reach any derivative."""
    return apply3(Op.WHERE, mask, x, scalar_like(x, -INFINITY_))


# ---- elementwise -----------------------------------------------------------------------------------------------------

cdef EagerTensor logistic(EagerTensor x):
    return run2(Op.SHARE, x, real_scalar(0.0, x.v.meta.dtype))


cdef EagerTensor within(EagerTensor x, double bound):
    """x cut to a range outside of which the function of it is constant: infinities meet no derivative."""
    return apply3(Op.CLAMP, x, scalar_like(x, -bound), scalar_like(x, bound))


def sigmoid(x):
    """Logistic function ``1 / (1 + exp(-x))``, accurate in both tails.

    Parameters
    ----------
    x : array_like
        Any real dtype; bool and integers are computed in float64.

    Returns
    -------
    EagerTensor
        Between 0 and 1, of `x`'s shape.

    Raises
    ------
    DTypeMismatchError
        `x` is complex.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.sigmoid([-1.0, 0.0, 1.0])
    EagerTensor([0.26894142, 0.5       , 0.73105858], dtype=float64)
    """
    return logistic(floating(x, "sigmoid"))


def silu(x):
    """``x * sigmoid(x)``, also called swish; 0 at -inf.

    Parameters
    ----------
    x : array_like
        Any real dtype; bool and integers are computed in float64.

    Returns
    -------
    EagerTensor
        Of `x`'s shape.

    Raises
    ------
    DTypeMismatchError
        `x` is complex.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.silu([-1.0, 0.0, 1.0])
    EagerTensor([-0.26894142,  0.        ,  0.73105858], dtype=float64)
    """
    cdef EagerTensor t = floating(x, "silu")
    return absorb_mul(logistic(within(t, 800.0)), t)


def softplus(x):
    """``log(1 + exp(x))`` without overflow; its derivative is `sigmoid`.

    Parameters
    ----------
    x : array_like
        Any real dtype; bool and integers are computed in float64.

    Returns
    -------
    EagerTensor
        Not negative, of `x`'s shape.

    Raises
    ------
    DTypeMismatchError
        `x` is complex.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.softplus([-1000.0, 0.0, 1000.0])
    EagerTensor([0.00000000e+00, 6.93147181e-01, 1.00000000e+03], dtype=float64)
    """
    cdef EagerTensor t = floating(x, "softplus")
    return run2(Op.LOGADDEXP, t, real_scalar(0.0, t.v.meta.dtype))


def gelu(x, approximate="none"):
    """Gaussian error linear unit, ``x`` times the normal distribution function of ``x``; 0 at -inf.

    Parameters
    ----------
    x : array_like
        Any real dtype; bool and integers are computed in float64.
    approximate : {"none", "tanh"}
        "tanh" is ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``.

    Returns
    -------
    EagerTensor

    Raises
    ------
    DTypeMismatchError
        `x` is complex.
    ValidationError
        Another `approximate`.

    Notes
    -----
    D. Hendrycks and K. Gimpel, Gaussian Error Linear Units, arXiv:1606.08415.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.gelu([-1.0, 0.0, 1.0])
    EagerTensor([-0.15865525,  0.        ,  0.84134475], dtype=float64)
    """
    cdef EagerTensor t = floating(x, "gelu"), u
    if approximate == "none":
        return absorb_mul(erfc(mul_s(within(t, 40.0), -SQRT_HALF)), mul_s(t, 0.5))
    if approximate != "tanh":
        raise ValidationError(f"gelu: approximate is 'none' or 'tanh', not {approximate!r}", op="gelu",
                              argument="approximate")
    u = within(t, 40.0)
    u = mul(u, add_s(mul_s(square(u), 0.044715), 1.0))
    return absorb_mul(logistic(mul_s(u, 1.5957691216057308)), t)       # 2 sqrt(2 / pi)


def relu(x):
    """Positive part: ``x`` where it is positive, else 0; NaN stays. Its derivative at 0 is 0.

    Parameters
    ----------
    x : array_like
        Any real dtype.

    Returns
    -------
    EagerTensor
        Of `x`'s dtype.

    Raises
    ------
    DTypeMismatchError
        `x` is complex.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.relu([-1.0, 0.0, 2.0])
    EagerTensor([0., 0., 2.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x), zero
    if is_complex(t.v.meta.dtype):
        floating(t, "relu")
    zero = computed_in(scalar_like(t, 0.0), t.v.meta.dtype)
    return apply3(Op.WHERE, less_equal(t, zero), zero, t)


# ---- softmax ---------------------------------------------------------------------------------------------------------

cdef EagerTensor shifted(EagerTensor x, unsigned long long axes):
    """x less its largest element; the shift is a constant, of which results do not depend."""
    cdef EagerTensor top = reduced(Op.REDUCE_MAX, alias(x, NULL), axes, True)
    return sub(x, where(isfinite(top), top, scalar_like(top, 0.0)))


cdef EagerTensor one_for_zero(EagerTensor s):
    return where(equal_s(s, 0.0), scalar_like(s, 1.0), s)


cdef EagerTensor shares(EagerTensor x, object axis):
    cdef unsigned long long axes = axis_mask(x, axis)
    cdef EagerTensor e
    if x.v.meta.size == 0:
        return exp(x)
    e = exp(shifted(x, axes))
    return div(e, one_for_zero(sum_axes(e, axes, True)))


cdef EagerTensor log_sum_error(EagerTensor x, EagerTensor log_sum, unsigned long long axes):
    """What the logarithm of the sum of exp(x) lacks where one element has most of it: a constant with derivative 0.

    Winners are 0 once shifted: the sum less 1 is that of the others and of one less than there are winners.
    """
    cdef EagerTensor top = cast(equal_s(x, 0.0), x.v.meta.dtype), others, lacking
    others = add(sum_axes(sub(exp(x), top), axes, True), sub_s(sum_axes(top, axes, True), 1.0))
    lacking = sub(log1p(where(equal_s(others, -1.0), scalar_like(others, 0.0), others)), log_sum)
    return where(isfinite(lacking), lacking, scalar_like(lacking, 0.0))


cdef EagerTensor log_shares(EagerTensor x, object axis):
    cdef unsigned long long axes = axis_mask(x, axis)
    cdef EagerTensor total, log_sum
    if x.v.meta.size == 0:
        return exp(x)
    x = shifted(x, axes)
    total = one_for_zero(sum_axes(exp(x), axes, True))
    log_sum = log(total)
    if not reduced(Op.REDUCE_MIN, alias(total, NULL), axis_mask(total, None), False).item() >= 1.25:
        log_sum = add(log_sum, log_sum_error(alias(x, NULL), alias(log_sum, NULL), axes))
    return sub(x, log_sum)


def softmax(x, axis=-1):
    """``exp(x) / sum(exp(x))`` along axes, without overflow.

    Parameters
    ----------
    x : array_like
        Any real dtype; bool and integers are computed in float64.
    axis : None, int or tuple of int
        The last one by default; None means all.

    Returns
    -------
    EagerTensor
        A slice whose elements are all -inf gives zeros, with derivative 0.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    DTypeMismatchError
        `x` is complex.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.softmax([0.0, 0.0, 1000.0])
    EagerTensor([0., 0., 1.], dtype=float64)
    """
    return shares(floating(x, "softmax"), axis)


def log_softmax(x, axis=-1):
    """``x - log(sum(exp(x)))`` along axes: the logarithm of `softmax`, also where that underflows or rounds to 1.

    Parameters
    ----------
    x : array_like
        Any real dtype; bool and integers are computed in float64.
    axis : None, int or tuple of int
        The last one by default; None means all.

    Returns
    -------
    EagerTensor
        A slice whose elements are all -inf gives -inf, the logarithm of the zeros that `softmax` gives; its derivatives are
        finite.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    DTypeMismatchError
        `x` is complex.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.log_softmax([0.0, 1000.0])
    EagerTensor([-1000.,     0.], dtype=float64)
    """
    return log_shares(floating(x, "log_softmax"), axis)


def masked_softmax(x, mask, axis=-1):
    """`softmax` of the elements where a mask is true; 0 elsewhere.

    Parameters
    ----------
    x : array_like
        Any real dtype; bool and integers are computed in float64. Elements that are masked may be anything, also NaN,
        and have derivative 0.
    mask : array_like of bool or integers
        True (not 0) for the elements that take part; broadcasts against `x`.
    axis : None, int or tuple of int
        The last one by default; None means all.

    Returns
    -------
    EagerTensor
        A slice without an element that takes part gives zeros, with derivative 0.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    ShapeMismatchError
        `mask` does not broadcast against `x`.
    DTypeMismatchError
        `x` is complex, or the mask is no mask.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.masked_softmax([1.0, 1.0, 5.0], [True, True, False])
    EagerTensor([0.5, 0.5, 0. ], dtype=float64)
    """
    cdef EagerTensor t = floating(x, "masked_softmax")
    return shares(masked(t, checked_mask(mask, t, "masked_softmax")), axis)


def masked_log_softmax(x, mask, axis=-1):
    """`log_softmax` of the elements where a mask is true; -inf elsewhere, with derivative 0.

    Parameters
    ----------
    x : array_like
        Any real dtype; bool and integers are computed in float64. Elements that are masked may be anything, also NaN,
        and have derivative 0.
    mask : array_like of bool or integers
        True (not 0) for the elements that take part; broadcasts against `x`.
    axis : None, int or tuple of int
        The last one by default; None means all.

    Returns
    -------
    EagerTensor
        -inf, with derivative 0, where the mask is not true.

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    ShapeMismatchError
        `mask` does not broadcast against `x`.
    DTypeMismatchError
        `x` is complex, or the mask is no mask.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.masked_log_softmax([1.0, 1.0, 5.0], [True, True, False])
    EagerTensor([-0.69314718, -0.69314718,        -inf], dtype=float64)
    """
    cdef EagerTensor t = floating(x, "masked_log_softmax"), m = checked_mask(mask, t, "masked_log_softmax")
    return masked(log_shares(masked(t, m), axis), m)


# ---- normalisation ---------------------------------------------------------------------------------------------------

cdef EagerTensor over_length(EagerTensor x, unsigned long long axes, double eps):
    """``x / sqrt(mean(|x|**2) + eps)``, scaled on the way by a constant of which it does not depend."""
    cdef EagerTensor top, square_mean
    if x.v.meta.size == 0:
        return mul_s(x, 1.0)
    top = reduced(Op.REDUCE_MAX, abs(alias(x, NULL)), axes, True)
    top = where(logical_and(isfinite(top), greater_s(top, 1.0 if eps > 0 else 0.0)), top, scalar_like(top, 1.0))
    x = div(x, top)
    square_mean = reduced(Op.REDUCE_MEAN, real(mul(conj(x), x)), axes, True)
    return mul(x, rsqrt(add(square_mean, square(s_div(eps ** 0.5, top)))))


cdef double checked_eps(object eps, str op) except? -1:
    cdef double e = eps
    if e < 0 or not is_finite(e):
        raise ValidationError(f"{op}: eps is a small number, 0 or more, not {eps}", op=op, argument="eps")
    return e


cdef EagerTensor affine(EagerTensor x, object weight, object bias):
    if weight is not None:
        x = mul(x, as_operand(weight, x.rt))
    return x if bias is None else add(x, as_operand(bias, x.rt))


def layer_norm(x, weight=None, bias=None, axis=-1, eps=1e-5):
    """``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias`` along axes.

    Parameters
    ----------
    x : array_like
        Any dtype; bool and integers are computed in float64.
    weight, bias : array_like, optional
        Broadcast against `x`.
    axis : None, int or tuple of int
        Axes of mean and variance, the last one by default; None means all.
    eps : float
        Not negative. With 0, a slice of equal elements gives NaN.

    Returns
    -------
    EagerTensor

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    ValidationError
        `eps` is negative or not finite.

    Notes
    -----
    J. L. Ba, J. R. Kiros and G. E. Hinton, Layer Normalization, arXiv:1607.06450.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.layer_norm([1.0, 2.0, 3.0], eps=0.0)
    EagerTensor([-1.22474487,  0.        ,  1.22474487], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef unsigned long long axes = axis_mask(t, axis)
    cdef double e = checked_eps(eps, "layer_norm")
    t = t if is_inexact(t.v.meta.dtype) else cast(t, D_F64)
    t = sub(t, reduced(Op.REDUCE_MEAN, t, axes, True))
    return affine(over_length(t, axes, e), weight, bias)


def rms_norm(x, weight=None, axis=-1, eps=1e-6):
    """``x / sqrt(mean(abs(x)**2) + eps) * weight`` along axes.

    Parameters
    ----------
    x : array_like
        Any dtype; bool and integers are computed in float64.
    weight : array_like, optional
        Broadcasts against `x`.
    axis : None, int or tuple of int
        Axes of the mean, the last one by default; None means all.
    eps : float
        Not negative. With 0, a slice of zeros gives NaN.

    Returns
    -------
    EagerTensor

    Raises
    ------
    AxisError
        An axis is out of range or named twice.
    ValidationError
        `eps` is negative or not finite.

    Notes
    -----
    B. Zhang and R. Sennrich, Root Mean Square Layer Normalization, arXiv:1910.07467.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.rms_norm([3.0, 4.0], eps=0.0)
    EagerTensor([0.84852814, 1.13137085], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    cdef unsigned long long axes = axis_mask(t, axis)
    cdef double e = checked_eps(eps, "rms_norm")
    t = t if is_inexact(t.v.meta.dtype) else cast(t, D_F64)
    return affine(over_length(t, axes, e), weight, None)
