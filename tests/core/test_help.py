"""Every public name helps: signature, NumPy-style docstring, an example that runs, and completion without clutter."""

import doctest
import inspect
import io
import re
import types

import pytest
from public_names import members, modules, names, sections

import tenferro as tfr

NAMES, MEMBERS = names(), members()
EVERYTHING = {**NAMES, **MEMBERS}
DATA = (types.ModuleType, bool, int, float, str, tuple, dict, list, type(None))
SEALED = {"ContextId", "EagerSession", "EagerTensor", "Gradients", "SliceBuilder", "Tensor"}
"""Classes whose objects other functions make."""

NEVER_RAISE = {"tenferro.Gradients.get", "tenferro.Gradients.take", "tenferro.support.manifest"}
"""Functions that accept everything, or are known by their arguments' own errors."""

FOREIGN = ("pluggy.", "numpy.")
"""Packages whose objects these namespaces hand on."""


def is_attribute(value):
    return isinstance(value, property) or inspect.isdatadescriptor(value)


def parameters(value):
    """Names of the parameters that a caller gives; None if there is no signature."""
    try:
        found = list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return None
    return found[1:] if found[:1] in (["self"], ["cls"]) else found


def described(text):
    """Names that a section of parameters describes."""
    lines = re.findall(r"^([\w*, ]+?)(?: :|$)", text, re.MULTILINE)
    return {name.strip().lstrip("*") for line in lines for name in line.split(",")}


def made_elsewhere(cls):
    """Whether a class has a constructor of its own that users call."""
    return cls.__name__ in SEALED or (issubclass(cls, BaseException) and "__init__" not in vars(cls))


def missing(name, value):
    """What the help of a name lacks."""
    if isinstance(value, DATA) or not (callable(value) or is_attribute(value)):
        return []
    found, lacking = sections(value), []
    if not found[""]:
        lacking.append("docstring")
    if is_attribute(value):
        return lacking
    is_class, named = isinstance(value, type), parameters(value)
    takes = None if is_class and made_elsewhere(value) else named
    if named is None and not (is_class and made_elsewhere(value)):
        lacking.append("signature")
    if absent := [name for name in takes or () if name not in described(found.get("Parameters", ""))]:
        lacking.append(f"Parameters ({', '.join(absent)})")
    if not is_class:
        can_raise = takes and name not in NEVER_RAISE
        lacking += [section for section in ("Returns", "Raises")[:2 if can_raise else 1] if section not in found]
    return lacking if ">>> " in found.get("Examples", "") else [*lacking, "Examples"]


def own(value):
    return not type(value).__module__.startswith(FOREIGN)


@pytest.mark.parametrize("name", [name for name, value in EVERYTHING.items() if own(value)])
def test_help_is_complete(name):
    lacking = missing(name, EVERYTHING[name])
    assert lacking == []


def examples():
    """Name -> text of the examples, each text once."""
    texts = {}
    for name, value in EVERYTHING.items():
        if own(value) and not isinstance(value, DATA) and ">>> " in (text := sections(value).get("Examples", "")):
            texts.setdefault(text, name)
    return {name: text for text, name in texts.items()}


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name):
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name], {}, name, None, 0)
    said = io.StringIO()
    result = doctest.DocTestRunner(verbose=False).run(test, out=said.write)
    assert result.attempted > 0
    assert result.failed == 0, said.getvalue()
    assert any(example.want for example in test.examples) or name in SILENT


SILENT = {"tenferro.testing.check_grads"}
"""Functions whose success is silence."""


TIDY = dict(modules())


@pytest.mark.parametrize("name", TIDY)
def test_directory_of_modules_is_what_they_offer(name):
    module = TIDY[name]
    offered = {item for item in dir(module) if not item.startswith("_")}
    assert offered == {item for item in module.__all__ if not item.startswith("_")}
    for item in module.__all__:
        getattr(module, item)


def test_directory_of_the_namespace():
    assert not {"os", "np", "rules", "operations", "transforms", "annotations", "import_module"} & set(dir(tfr))
    assert {"sin", "float32", "pi", "linalg", "fft", "random", "optimize", "variable", "grad", "errors"} <= set(dir(tfr))
    assert {"__version__", "__all__", "__doc__"} <= set(dir(tfr))
