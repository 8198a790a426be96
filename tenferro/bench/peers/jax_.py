import jax
import jax.numpy as jnp
from jax.numpy import conj, einsum, exp, log1p, mean, real, sin, sum, tanh  # noqa: F401
from jax.numpy.linalg import cholesky, eigh, qr, solve  # noqa: F401

from .common import flipped, update  # noqa: F401

CONJUGATE = True

PROGRAMS = {
    "import": "import jax.numpy",
    "first_grad": "import jax, jax.numpy as np; assert jax.grad(lambda x: (x * x).sum())(np.ones(3))[0] == 2",
}

compiled = None


def configure(threads, variant):
    global compiled
    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit if variant == "jit" else lambda f: f


def leaf(a):
    return jnp.asarray(a)


constant = leaf


def numpy(x):
    return jax.device_get(x)


def sync(out):
    jax.block_until_ready(out)


def svdvals(a):
    return jnp.linalg.svd(a, compute_uv=False)


def permuted(x, axes):
    return jnp.transpose(x, axes).reshape(-1)


def forward(f):
    return compiled(f)


def value_and_grad(f):
    return compiled(jax.value_and_grad(f))


def hvp(f):
    return compiled(lambda p, v: jax.jvp(jax.grad(f), (p,), (v,))[1])
