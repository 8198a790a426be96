"""The engine: the serial CPU engine with one kernel of its own."""

from tenferro import ExecutionEngine
from tenferro_cpu import CpuEngine

from . import kernels


class CompensatedEngine(CpuEngine):
    """Engine on host memory whose sums of float64 numbers lose nothing to cancellation.

    The error of a sum of n numbers is one rounding of the result and at most about ``n**2 * eps**2`` times the sum of the
    magnitudes. Sums of other dtypes, and all other operations, are those of ``CpuEngine``.
    """

    def __init__(self):
        ExecutionEngine.__init__(self, "compensated")
        self.register_kernel("reduce_sum", kernels.reduce_sum(), kernels.ABI)
