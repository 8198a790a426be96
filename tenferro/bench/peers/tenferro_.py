import tenferro as tfr
from tenferro import conj, constant, einsum, exp, log1p, mean, real, sin, sum, tanh  # noqa: F401
from tenferro.linalg import cholesky, eigh, qr, solve, svdvals  # noqa: F401
from tenferro_cpu import CpuEngine

from .common import flipped, forward, sync  # noqa: F401

PROGRAMS = {
    "import": "import tenferro",
    "first_grad": "import tenferro as tfr; x = tfr.variable([1.0, 1.0, 1.0]); (x * x).sum().backward(); assert x.grad[0] == 2",
}

rt = tfr.default_runtime()


def configure(threads, variant):
    if threads > 1:
        tfr.set_default_engine(CpuEngine.threaded(threads))


def leaf(a):
    return tfr.variable(a)


def numpy(x):
    return x.detach().numpy()


def permuted(x, axes):
    return tfr.reshape(tfr.permute_dims(x.detach(), axes), (-1,))


def value_and_grad(f):
    def run(p):
        loss = f(p)
        with rt.no_grad():          # as the others do it: the gradient is not to be differentiated again
            return loss, rt.grad(loss, p)
    return run


def update(p, g, rate):
    with rt.no_grad():
        return [rt.variable_from((q - rate * d).into_value()) for q, d in zip(p, g)]


def hvp(f):
    return lambda p, v: rt.vjp(rt.grad(f(p), p), p, v)
