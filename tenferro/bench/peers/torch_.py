import torch
from torch import conj, einsum, exp, log1p, real, sin, tanh  # noqa: F401
from torch.linalg import cholesky, eigh, qr, solve, svdvals  # noqa: F401

from .common import forward, sync  # noqa: F401

PROGRAMS = {
    "import": "import torch",
    "first_grad": "import torch; x = torch.ones(3, requires_grad=True); (x * x).sum().backward(); assert x.grad[0] == 2",
}


def configure(threads, variant):
    torch.set_num_threads(threads)


def leaf(a):
    return torch.tensor(a, requires_grad=True)


def constant(a):
    return torch.tensor(a)


def numpy(x):
    return x.detach().resolve_conj().numpy()


def sum(x):
    return x.sum()


def mean(x, axis=None):
    return x.mean() if axis is None else x.mean(axis)


def flipped(x):
    return torch.flip(x.T[::2], (1,))       # there are no negative strides


def permuted(x, axes):
    return x.detach().permute(axes).reshape(-1)


def value_and_grad(f):
    def run(p):
        loss = f(p)
        return loss, torch.autograd.grad(loss, p)
    return run


def update(p, g, rate):
    with torch.no_grad():
        for q, d in zip(p, g):
            q.sub_(d, alpha=rate)
    return p


def hvp(f):
    def run(p, v):
        return torch.autograd.grad(torch.autograd.grad(f(p), p, create_graph=True), p, v)
    return run
