"""Sample inputs of every public operation.

The support manifest is derived from them, and the gradient tests run on them. A line of ``SAMPLES`` is the name of an
operation and a list of functions; each takes a `Source` of random arrays and gives a `Sample`. The differentiable arguments
are the arrays of the source. Operations of ``tenferro.linalg`` and ``tenferro.fft`` are named ``linalg.svd``, ``fft.rfft``.
"""

from typing import NamedTuple

import numpy as np

import tenferro as tfr


class Source:
    """Random arrays of one dtype.

    Parameters
    ----------
    dtype : dtype
        float32, float64, complex64 or complex128.
    seed : int
    layout : callable, optional
        ``layout(array)`` gives an equal array that lies in memory as the operation is to meet it.
    """

    def __init__(self, dtype="float64", seed=0, layout=None):
        self.dtype = np.dtype(dtype)
        self.rng = np.random.default_rng(seed)
        self.layout = layout or (lambda a: a)

    @property
    def wide(self):
        """The double-precision dtype of this kind."""
        return np.result_type(self.dtype, np.float64)

    def made(self, real, imaginary=0.5):
        """The array of this dtype with a real part, and an imaginary part up to a bound."""
        if self.dtype.kind == "c":
            real = real + 1j * self.rng.uniform(-imaginary, imaginary, np.shape(real))
        return self.layout(np.asarray(real, self.dtype))

    def __call__(self, *shape):
        return self.made(self.rng.uniform(-2, 2, shape), 2)

    def between(self, low, high, *shape):
        return self.made(self.rng.uniform(low, high, shape))

    def positive(self, *shape):
        return self.between(0.5, 2, *shape)

    def away(self, *shape):
        """Of both signs, not near zero."""
        return self.made(self.rng.uniform(0.5, 2, shape) * self.rng.choice([-1, 1], shape))

    def apart(self, *shape):
        """Real parts that differ from each other, from zero and from integers."""
        n = int(np.prod(shape))
        return self.made((self.rng.permutation(n) - n // 2 + 0.4).reshape(shape) * 0.6)

    def matrix(self, *shape):
        """Well-conditioned matrices with separate singular values."""
        wide = np.asarray(self.made(self.rng.uniform(-2, 2, shape), 2), self.wide)
        u, _, vh = np.linalg.svd(wide, full_matrices=False)
        return self.layout(((u * np.linspace(2, 1, min(shape[-2:]))) @ vh).astype(self.dtype))


class Sample(NamedTuple):
    """One call: arguments by position and keyword, what to do before with the first array and after with the results."""

    args: tuple
    kwargs: dict
    before: object = None
    after: object = None

    @property
    def arrays(self):
        """The differentiable arguments, in order."""
        return [a for a in _flat(self.args) if _varies(a)]

    def prepared(self):
        """The same with `before` done: what the operation itself gets."""
        if self.before is None:
            return self
        first = self.before(tfr.constant(self.arrays[0])).numpy()
        return Sample(_filled(self.args, iter([first, *self.arrays[1:]])), self.kwargs, None, self.after)

    def run(self, f, arrays):
        """The operation alone on other differentiable arguments."""
        return f(*_filled(self.args, iter(arrays)), **self.kwargs)

    def function(self, f):
        """The operation between `before` and `after`, as a function of the differentiable arguments."""
        def g(x, *xs):
            y = self.run(f, [x if self.before is None else self.before(x), *xs])
            return y if self.after is None else self.after(y)
        return g


def given(*args, before=None, after=None, **kwargs):
    return Sample(args, kwargs, before, after)


def _varies(a):
    return isinstance(a, np.ndarray) and a.dtype.kind in "fc"


def _flat(args):
    for a in args:
        if isinstance(a, list):
            yield from _flat(a)
        else:
            yield a


def _filled(args, arrays):
    return type(args)(_filled(a, arrays) if isinstance(a, list) else next(arrays) if _varies(a) else a for a in args)


# ---- before and after ------------------------------------------------------------------------------------------------

def adjoint(x):
    return tfr.conj(tfr.swapaxes(x, -1, -2))


def definite(a):
    return a @ adjoint(a) + np.eye(a.shape[-2], dtype=a.dtype)


def hermitian(a):
    return a + adjoint(a) + np.diag(np.arange(1.0, a.shape[-1] + 1) * 3).astype(a.dtype)


def spread(a):
    """Matrices with separate eigenvalues."""
    return a * 0.3 + np.diag(np.arange(1.0, a.shape[-1] + 1)).astype(a.dtype)


def dominant(a):
    return a + 3 * np.eye(a.shape[-1], dtype=a.dtype)


def of_svd(y):
    """What does not depend on phases of singular vectors."""
    u, s, vh = y
    return [s, (u * tfr.sin(s)[..., None, :]) @ vh, tfr.abs(u), tfr.abs(vh)]


def of_eigh(y):
    w, v = y
    return [w, (v * tfr.sin(w)[..., None, :]) @ adjoint(v), tfr.abs(v)]


def of_eig(y):
    w, v = y
    return [(v * tfr.sin(w)[..., None, :]) @ tfr.linalg.inv(v), tfr.abs(v)]


# ---- the table -------------------------------------------------------------------------------------------------------

MASK = np.array([[True, False, True], [True, True, False]])
PLACES = np.array([2, 0, 2])


def _each(names, *samples):
    return {name: list(samples) for name in names.split()}


def unary(d):
    return given(d(2, 3))


def binary(d):
    return given(d(2, 3), d(3))


def positive(d):
    return given(d.positive(2, 3))


def small(d):
    return given(d.between(-0.8, 0.8, 2, 3))


def apart(d):
    return given(d.apart(2, 3))


def away(d):
    return given(d.away(2, 3))


def apart_pair(d):
    x = d.apart(2, 2, 3)
    return given(x[0], x[1])


def square(d):
    return given(d.matrix(3, 3))


def squares(d):
    return given(d.matrix(2, 2, 2))


def tall(d):
    return given(d.matrix(4, 2))


def wide(d):
    return given(d.matrix(2, 2, 3))


SAMPLES = {
    # arithmetic
    **_each("add sub mul", binary),
    "div": [lambda d: given(d(2, 3), d.away(3))],
    "pow": [lambda d: given(d.positive(2, 3), d(3)), lambda d: given(d.away(2, 3), 3)],
    **_each("rem floor_div fmod", lambda d: given(d.between(7.3, 7.5, 2, 3), d.between(2, 2.1, 3))),
    **_each("neg conj real imag square", unary),
    **_each("abs sign angle reciprocal", away),
    "complex": [binary],
    "scale": [lambda d: given(d(2, 3), d())],
    # analytic
    **_each("exp expm1 exp2 sin cos tan asinh sinh cosh tanh erf erfc", lambda d: given(d.between(-1.2, 1.2, 2, 3))),
    **_each("log log1p log2 log10 sqrt rsqrt cbrt lgamma digamma", positive),
    **_each("asin acos atan atanh", small),
    "acosh": [lambda d: given(d.between(1.3, 2.5, 2, 3))],
    **_each("atan2 hypot", lambda d: given(d.away(2, 3), d.away(3))),
    "polygamma": [lambda d: given(1, d.positive(2, 3))],
    "logaddexp": [binary],
    # comparison, selection, rounding, dtype
    **_each("equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor", binary),
    **_each("logical_not isfinite isnan isinf", unary),
    **_each("maximum minimum", apart_pair),
    "where": [lambda d: given(MASK, d(2, 3), d(3))],
    "clamp": [lambda d: given(d.apart(2, 3), -1.0, 1.0),
              lambda d: given(d.apart(2, 3), d.between(-1.1, -0.9, 3), d.between(0.9, 1.1))],
    **_each("floor ceil round trunc", apart),
    **_each("convert cast", lambda d: given(d(2, 3), d.wide)),
    # reduction
    **_each("reduce_sum reduce_mean reduce_var reduce_std logsumexp", unary, lambda d: given(d(2, 3, 2), axis=(0, 2))),
    **_each("reduce_prod", away, lambda d: given(d.away(2, 3), axis=1)),
    **_each("reduce_max reduce_min", apart, lambda d: given(d.apart(2, 3), axis=1, keepdims=True)),
    **_each("any all argmax argmin count_nonzero", lambda d: given(d.apart(2, 3), axis=1)),
    "cumsum": [lambda d: given(d(2, 3), axis=1)],
    "cumprod": [lambda d: given(d.away(2, 3), axis=1)],
    "diff": [unary, lambda d: given(d(4, 2), n=2, axis=0, prepend=d(1, 2))],
    # sorting
    **_each("sort argsort", lambda d: given(d.apart(2, 3)), lambda d: given(d.apart(2, 3), axis=0, descending=True)),
    "topk": [lambda d: given(d.apart(2, 3), 2)],
    "searchsorted": [lambda d: given(np.sort(d.apart(5)), d(3))],
    "unique": [apart, lambda d: given(d.apart(4), return_counts=True)],
    # structure
    "reshape": [lambda d: given(d(2, 3), (3, 2))],
    "transpose": [unary, lambda d: given(d(2, 3, 2), (1, 2, 0))],
    "broadcast_to": [lambda d: given(d(1, 3), (2, 2, 3))],
    "broadcast_in_dim": [lambda d: given(d(3, 2), (2, 4, 3), (2, 0))],
    "squeeze": [lambda d: given(d(2, 1, 3), 1)],
    "expand_dims": [lambda d: given(d(2, 3), 1)],
    "slice": [lambda d: given(d(4, 3), (0, 2), (4, 0), (2, -1))],
    "dynamic_slice": [lambda d: given(d(4, 3), np.array([1, 0]), (2, 2))],
    "pad": [lambda d: given(d(2, 3), ((1, 0), (0, 2)))],
    **_each("concatenate stack", lambda d: given([d(2, 3), d(2, 3)], axis=1)),
    "split": [lambda d: given(d(4, 3), 2)],
    "reverse": [lambda d: given(d(2, 3), 1)],
    "roll": [lambda d: given(d(2, 3), 1, 1)],
    "tile": [lambda d: given(d(2, 3), (2, 1))],
    "repeat": [lambda d: given(d(2, 3), 2, 1)],
    **_each("tril triu trace", lambda d: given(d(3, 3))),
    "extract_diag": [lambda d: given(d(3, 4), 1)],
    "embed_diag": [unary],
    # index
    **_each("gather take", lambda d: given(d(3, 2), PLACES, 0)),
    **_each("scatter scatter_add", lambda d: given(d(3, 2), PLACES, d(3, 2))),
    "index_set": [lambda d: given(d(3, 2), 1, d(2))],
    "take_along_axis": [lambda d: given(d(2, 3), np.array([[0, 0], [2, 1]]), 1)],
    "index_select": [lambda d: given(d(3, 2), 0, PLACES)],
    "masked_select": [lambda d: given(d(2, 3), MASK)],
    "nonzero": [away],
    # contraction
    "matmul": [lambda d: given(d(2, 3), d(3, 2)), lambda d: given(d(2, 2, 3), d(3))],
    "vecdot": [lambda d: given(d(2, 3), d(2, 3))],
    "dot_general": [lambda d: given(d(2, 3, 2), d(2, 2, 3), ((1,), (2,)), ((0,), (0,)))],
    "tensordot": [lambda d: given(d(2, 3), d(3, 2), 1)],
    "outer": [lambda d: given(d(2), d(3))],
    "einsum": [lambda d: given("ij,jk->ki", d(2, 3), d(3, 2)), lambda d: given("ij,jk,k->i", d(2, 3), d(3, 2), d(2))],
    "cross": [lambda d: given(d(2, 3), d(2, 3))],
    "kron": [lambda d: given(d(2, 1), d(2, 3))],
    # networks
    **_each("sigmoid silu softplus gelu softmax log_softmax", unary),
    "relu": [away],
    "layer_norm": [lambda d: given(d.apart(2, 3), d(3), d(3))],
    "rms_norm": [lambda d: given(d.away(2, 3), d(3))],
    "masked_softmax": [lambda d: given(d(2, 3), MASK)],
    "masked_log_softmax": [lambda d: given(d(2, 3), MASK, after=lambda y: tfr.where(MASK, y, 0))],
    # linear algebra
    "linalg.cholesky": [lambda d: given(d.matrix(3, 3), before=definite),
                        lambda d: given(d.matrix(2, 2, 2), upper=True, before=definite)],
    **_each("linalg.inv linalg.slogdet linalg.expm", square, squares),
    "linalg.det": [square, squares, lambda d: given(d.matrix(3, 2) @ d.matrix(2, 3))],
    "linalg.eigh": [lambda d: given(d.matrix(3, 3), before=hermitian, after=of_eigh)],
    "linalg.eigvalsh": [lambda d: given(d.matrix(3, 3), before=hermitian)],
    "linalg.funm_hermitian": [lambda d: given(d.matrix(3, 3), tfr.sin, before=hermitian)],
    "linalg.eig": [lambda d: given(d.matrix(3, 3), before=spread, after=of_eig)],
    "linalg.eigvals": [lambda d: given(d.matrix(3, 3), before=spread)],
    "linalg.sqrtm": [lambda d: given(d.matrix(3, 3), before=spread)],
    "linalg.svd": [lambda d: given(d.matrix(3, 3), after=of_svd),
                   lambda d: given(d.matrix(2, 3, 2), full_matrices=False, after=of_svd)],
    "linalg.rsvd": [lambda d: given(d.matrix(4, 2), 2, after=of_svd)],
    "linalg.low_rank": [lambda d: given(d.matrix(3, 3), 2), lambda d: given(d.matrix(2, 3, 2), 1)],
    **_each("linalg.svdvals linalg.pinv linalg.norm linalg.vector_norm linalg.polar linalg.lu", tall,
            lambda d: given(d.matrix(2, 3))),
    "linalg.matrix_norm": [tall, lambda d: given(d.matrix(2, 3), ord="nuc"), lambda d: given(d.matrix(2, 3), ord=1)],
    "linalg.cond": [tall, lambda d: given(d.matrix(3, 3), "fro")],
    "linalg.qr": [square, tall, wide, lambda d: given(d.matrix(3, 2), mode="r")],
    "linalg.householder_product": [lambda d: given(d(4, 2), d(2))],
    "linalg.matrix_power": [lambda d: given(d.matrix(3, 3), 3), lambda d: given(d.matrix(2, 2), -2)],
    "linalg.matrix_rank": [tall],
    "linalg.solve": [lambda d: given(d.matrix(3, 3), d(3)), lambda d: given(d.matrix(2, 2, 2), d(2, 3))],
    **_each("linalg.triangular_solve linalg.solve_triangular",
            lambda d: given(d.matrix(3, 3), d(3, 2), lower=True, before=dominant)),
    "linalg.solve_sylvester": [lambda d: given(d.matrix(3, 3), d.matrix(2, 2) / 4, d(3, 2), before=dominant)],
    "linalg.lstsq": [lambda d: given(d.matrix(4, 2), d(4), after=lambda y: y[:2])],
    "linalg.tensorinv": [lambda d: given(d.matrix(4, 4).reshape(2, 2, 4))],
    "linalg.tensorsolve": [lambda d: given(d.matrix(4, 4).reshape(2, 2, 4), d(2, 2))],
    "linalg.multi_dot": [lambda d: given([d(2, 3), d(3, 2), d(2)])],
    "linalg.outer": [lambda d: given(d(2), d(3))],
    **_each("linalg.trace linalg.diagonal", lambda d: given(d(2, 3, 3), offset=1)),
    # Fourier transforms
    **_each("fft.dct fft.idct fft.dst fft.idst", lambda d: given(d(2, 3)), lambda d: given(d(3, 2), 3, n=4, axis=0),
            lambda d: given(d(3), 1, norm="ortho")),
    **_each("fft.fft fft.ifft", lambda d: given(d(2, 3)), lambda d: given(d(3, 2), n=4, axis=0, norm="ortho")),
    **_each("fft.rfft fft.ihfft", lambda d: given(d(2, 4)), lambda d: given(d(3, 2), axis=0, norm="forward")),
    **_each("fft.irfft fft.hfft", lambda d: given(d(2, 3)), lambda d: given(d(3, 2), n=5, axis=0, norm="ortho")),
    **_each("fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.rfft2 fft.rfftn fft.irfft2 fft.irfftn",
            lambda d: given(d(2, 3)), lambda d: given(d(3, 2), s=(4, 3), axes=(1, 0))),
    **_each("fft.fftfreq fft.rfftfreq", lambda d: given(5)),
    **_each("fft.fftshift fft.ifftshift", unary),
}
"""Name of an operation -> functions that make samples."""


def samples(name, dtype="float64", seed=0, layout=None):
    """The samples of an operation with fresh arrays of a dtype.

    Parameters
    ----------
    name : str
    dtype : dtype
    seed : int
    layout : callable, optional

    Returns
    -------
    list of Sample
        Empty for an operation that nobody has given a sample.
    """
    return [make(Source(dtype, seed + k, layout)) for k, make in enumerate(SAMPLES.get(name, ()))]
