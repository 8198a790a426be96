"""Strided tensors with eager reverse- and forward-mode differentiation."""

import os

__version__ = "0.1.0"


def get_include() -> str:
    """Directory to add to Cython's ``include_path`` and to a C compiler's include path.

    It contains the ``tenferro`` package with its ``.pxd`` and ``.h`` files.

    Returns
    -------
    str
        Absolute path of the directory.
    """
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
