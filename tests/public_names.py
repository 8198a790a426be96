"""Every public name of the library with its value: modules' names, and members of public classes."""

import importlib
import inspect
import re

import tenferro as tfr

MODULES = ("linalg", "fft", "random", "optimize", "testing", "errors", "plugins", "hookspecs", "operations", "support")
OPTIONAL = ("quimb",)       # needs its library
CLASSES = ("tenferro.EagerTensor", "tenferro.EagerRuntime", "tenferro.EagerSession", "tenferro.Tensor", "tenferro.Gradients",
           "tenferro.AdContext", "tenferro.CacheLimits", "tenferro.CacheStats", "tenferro.ContextId",
           "tenferro.ExecutionEngine", "tenferro.random.Generator", "tenferro.optimize.SGD",
           "tenferro.optimize.Adam", "tenferro.optimize.AdamW", "tenferro.optimize.LBFGS", "tenferro._ops.builder.SliceBuilder",
           "tenferro_cpu.CpuEngine")


def modules():
    """Name and module of every public namespace that can be imported."""
    yield "tenferro", tfr
    for name in (*MODULES, *OPTIONAL):
        try:
            yield f"tenferro.{name}", importlib.import_module(f"tenferro.{name}")
        except ImportError:
            if name not in OPTIONAL:
                raise


def public(namespace):
    """Public names of a namespace."""
    return [name for name in getattr(namespace, "__all__", None) or dir(namespace) if not name.startswith("_")]


def names():
    """Full name -> value, for what modules offer."""
    return {f"{place}.{name}": getattr(module, name) for place, module in modules() for name in public(module)}


def members():
    """Full name -> value, for the members of public classes, and the operations of a session as a session has them."""
    found = {}
    for place in CLASSES:
        home, _, name = place.rpartition(".")
        cls = getattr(importlib.import_module(home), name)
        found.update((f"{place}.{member}", inspect.getattr_static(cls, member)) for member in public(cls)
                     if not hasattr(tuple, member))
    with tfr.session() as session:
        found.update((f"tenferro.EagerSession.{name}", getattr(session, name)) for name in public(session))
    return {name: value.__func__ if isinstance(value, classmethod | staticmethod) else value for name, value in found.items()}


def sections(value):
    """Section -> text of a docstring; what comes first has the empty name."""
    parts = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}$", inspect.getdoc(value) or "", flags=re.MULTILINE)
    return {"": parts[0].strip(), **dict(zip(parts[1::2], parts[2::2]))}
