"""The engines that can be opened here: name -> a function that opens a new one."""

import numpy as np

import tenferro as tfr


def _found():
    specs = [record.spec for record in tfr.engines() if record.available]
    names = ["cpu-threads:2" if spec == "cpu-threads" else spec for spec in specs]
    return {name: (lambda name=name: tfr.engine(name)) for name in names}


ENGINES = _found()
if hasattr(tfr, "NamespaceEngine"):
    ENGINES["namespace of NumPy"] = lambda: tfr.NamespaceEngine(np)
