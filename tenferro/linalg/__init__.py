"""Linear algebra with NumPy's signatures, over stacks of matrices in the last two axes.

The operations are those of an extension module, ``"tenferro.linalg.v1"``, which is installed in the runtime of a tensor
when it is first used there. All are differentiable in both modes, to any order; what is not says so in its docstring.
"""

from ..errors import LinAlgError
from . import module  # noqa: F401  (the extension module)
from .decompositions import cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from .functions import expm, matrix_norm, matrix_power, matrix_rank, norm, pinv, vector_norm
from .solvers import det, inv, lstsq, slogdet, solve, triangular_solve

__all__ = ["LinAlgError", "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "expm", "inv", "lstsq",
           "matrix_norm", "matrix_power", "matrix_rank", "norm", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
           "triangular_solve", "vector_norm"]
