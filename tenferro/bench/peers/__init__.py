"""One module per library, all with the same names.

``leaf(array)`` and ``constant(array)``, ``numpy(tensor)``, the operations that the models call, ``forward(f)``,
``value_and_grad(f)`` and ``hvp(f)`` for functions of a list of leaves, ``update(leaves, gradients, rate)``, and ``sync``.
"""

from importlib import import_module, metadata, util

NAMES = {"tenferro": "tenferro", "torch": "torch", "jax": "jax", "jax.jit": "jax", "autograd": "autograd",
         "mygrad": "mygrad", "numpy": "numpy"}
"""Peers, and the package that each needs."""


class NotSupported(Exception):
    """The library has no such operation; the text goes into the notes."""


def installed():
    return [peer for peer, package in NAMES.items() if util.find_spec(package)]


def version(peer):
    return f"{peer} {metadata.version(NAMES[peer])}"


def load(peer, threads):
    """The peer's module, ready to compute."""
    package, _, variant = peer.partition(".")
    module = import_module(f"{__name__}.{package}_")
    module.configure(threads, variant)
    return module


def missing(reason, *names):
    """Functions by those names that say why the library has them not."""
    def fail(*arguments, **options):
        raise NotSupported(reason)
    return dict.fromkeys(names, fail)
