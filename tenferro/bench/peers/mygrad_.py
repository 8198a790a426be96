import mygrad as mg
import numpy as np
from mygrad import einsum, exp, log1p, mean, sin, sum, tanh  # noqa: F401

from . import NotSupported, missing
from .common import flipped, forward, sync  # noqa: F401

globals().update(missing("no such operation", "svdvals", "qr", "eigh", "solve", "cholesky"),
                 **missing("first order only", "hvp"), **missing("the same as NumPy", "permuted"))

PROGRAMS = {
    "import": "import mygrad",
    "first_grad": "import mygrad; x = mygrad.tensor([1.0, 1.0, 1.0]); (x * x).sum().backward(); assert x.grad[0] == 2",
}


def configure(threads, variant):
    mg.turn_memory_guarding_off()


def leaf(a):
    if np.iscomplexobj(a):
        raise NotSupported("no complex numbers")
    return mg.tensor(a)


def constant(a):
    return leaf(a) if np.iscomplexobj(a) else mg.tensor(a, constant=True)


def numpy(x):
    return np.asarray(getattr(x, "data", x))


def conj(x):
    return x


real = conj


def value_and_grad(f):
    def run(p):
        loss = f(p)
        loss.backward()
        return loss, [q.grad for q in p]
    return run


def update(p, g, rate):
    return [mg.tensor(q.data - rate * d) for q, d in zip(p, g)]
