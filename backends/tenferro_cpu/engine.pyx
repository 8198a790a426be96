"""The serial CPU engine: one kernel per operation on host memory."""

from tenferro._core.abi cimport *
from tenferro._core.engine cimport ExecutionEngine, kernel_table
from tenferro._core.optable cimport Op, OpDef, ops
from tenferro._kernels cimport copy, reduce, ufunc

from tenferro._core import optable

cdef kernel_t *table = kernel_table()


cdef class CpuEngine(ExecutionEngine):
    """Engine that computes on the CPU. All of them share the host's memory, so a fresh one never conflicts."""

    def __cinit__(self, *args, **kwargs):
        self.kernels = table

    def __init__(self):
        self.name = "cpu"

    @staticmethod
    def serial():
        """Engine that computes on the calling thread."""
        return CpuEngine()


def _fill():
    cdef CpuEngine e = CpuEngine()
    for op, n, kind, loops, flags in optable.ROWS:
        if kind == "like":
            e.register(op, ufunc.elementwise, ENGINE_ABI)
    e.register(Op.REDUCE_SUM, reduce.reduce, ENGINE_ABI)
    e.register(Op.COPY, copy.copy, ENGINE_ABI)
    e.register(Op.CAST, copy.cast, ENGINE_ABI)


_fill()
