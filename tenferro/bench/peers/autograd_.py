import autograd
import autograd.numpy as anp
import numpy as np
from autograd.numpy import conj, einsum, exp, log1p, mean, real, sin, sum, tanh  # noqa: F401
from autograd.numpy.linalg import cholesky, eigh, qr, solve  # noqa: F401

from . import missing
from .common import configure, flipped, sync, update  # noqa: F401

CONJUGATE = True

PROGRAMS = {
    "import": "import autograd.numpy",
    "first_grad": "import autograd, autograd.numpy as np; assert autograd.grad(lambda x: np.sum(x * x))(np.ones(3))[0] == 2",
}

value_and_grad = autograd.value_and_grad
globals().update(missing("the same as NumPy", "permuted"))


def leaf(a):
    return np.array(a)


constant = leaf


def numpy(x):
    return np.asarray(getattr(x, "_value", x))


def svdvals(a):
    return anp.linalg.svd(a, compute_uv=False)


def forward(f):
    return lambda p: autograd.make_vjp(f)(p)[1]


def hvp(f):
    def slope(p, v):
        total = 0.0
        for g, d in zip(autograd.grad(f)(p), v):
            total = total + anp.sum(g * d)
        return total
    return autograd.grad(slope)
