"""Linear algebra with NumPy's signatures, over stacks of matrices in the last two axes.

The operations are those of an extension module, ``"tenferro.linalg.v1"``, which is installed in the runtime of a tensor
when it is first used there. All are differentiable in both modes, to any order; what is not says so in its docstring.
"""

from .. import cross, kron, matmul, matrix_transpose, tensordot, vecdot
from ..errors import LinAlgError
from . import module  # noqa: F401  (the extension module)
from .decompositions import cholesky, eig, eigh, eigvals, eigvalsh, lu, qr, svd, svdvals
from .functions import expm, matrix_norm, matrix_power, matrix_rank, norm, pinv, vector_norm
from .gauge import GaugeWarning, gauge_warnings
from .matrix_functions import funm_hermitian
from .polar_factors import polar
from .products import cond, diagonal, multi_dot, outer, solve_triangular, tensorinv, tensorsolve, trace
from .reflectors import householder_product
from .solvers import det, inv, lstsq, slogdet, solve, triangular_solve
from .sylvester import solve_sylvester, sqrtm
from .truncation import low_rank, rsvd

__all__ = ["GaugeWarning", "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh",
           "eigvals", "eigvalsh", "expm", "funm_hermitian", "gauge_warnings", "householder_product", "inv",
           "kron", "low_rank", "lstsq", "lu", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
           "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "polar", "qr", "rsvd", "slogdet",
           "solve", "solve_sylvester", "solve_triangular", "sqrtm", "svd", "svdvals", "tensordot",
           "tensorinv", "tensorsolve", "trace", "triangular_solve", "vecdot", "vector_norm"]


def __dir__():
    return __all__
