"""Run the docstring examples of every module of the installed packages, compiled modules included."""

import doctest
import importlib
import pkgutil
import sys

PACKAGES = ("tenferro", "tenferro_cpu")
ADAPTERS = ("tenferro.bench.peers.", "tenferro.quimb")       # each needs its library


def names() -> list[str]:
    """All module names, in order."""
    found = list(PACKAGES)
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        found += [item.name for item in pkgutil.walk_packages(path, f"{package}.")]
    return sorted(name for name in found if not name.endswith("__main__") and not name.startswith(ADAPTERS))


def main() -> int:
    results = [doctest.testmod(importlib.import_module(name), report=True) for name in names()]
    failed, attempted = (sum(counts) for counts in zip(*results, strict=True))
    print(f"{attempted} docstring examples, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
