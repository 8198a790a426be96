"""The CPU engines: one kernel per operation on host memory, on one thread or on several."""

cimport cython
from tenferro._core.abi cimport *
from tenferro._core.engine cimport ExecutionEngine, kernel_table
from tenferro._core.optable cimport Op
from tenferro._kernels cimport along, contract, copy, fused, index, loops, moments, reduce, scan, special, structure, ufunc
from tenferro._kernels.parallel cimport close_engine, open_engine

from tenferro._core import optable
from tenferro._kernels import elementary, standard

from . import threads as counting

cdef kernel_t *table = kernel_table()


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class CpuEngine(ExecutionEngine):
    """Engine that computes on the CPU. All of them share the host's memory, so a fresh one never conflicts."""

    cdef int opened             # threads that BLAS and the pool know of

    def __cinit__(self, *args, **kwargs):
        self.kernels = table

    def __init__(self):
        self.name = "cpu"

    def __dealloc__(self):
        if self.opened:
            close_engine(self.opened)

    @staticmethod
    def serial():
        """Engine that computes on the calling thread. BLAS has a thread count of its own, which this engine leaves alone.

        Returns
        -------
        CpuEngine

        Examples
        --------
        >>> import tenferro as tfr
        >>> from tenferro_cpu import CpuEngine
        >>> CpuEngine.serial().threads
        1
        """
        return CpuEngine()

    @staticmethod
    def threaded(n=None):
        """Engine that shares large work among threads.

        Small work stays on the calling thread. Own kernels give the bits of the serial engine for any number of threads;
        BLAS and LAPACK agree to rounding. The process-wide thread count of BLAS is set to that of the engine; stacks of
        small matrices are shared among the threads instead, each with BLAS on one.

        Parameters
        ----------
        n : int, optional
            Number of threads, the calling one included. Without it the first of ``TENFERRO_NUM_THREADS``,
            ``OMP_NUM_THREADS`` and ``SLURM_CPUS_PER_TASK`` that is set, else as many as the process may use CPUs by its
            affinity mask and the quota of its control group.

        Returns
        -------
        CpuEngine

        Raises
        ------
        ValidationError
            The number, or the variable that the message names, is no whole number from 1 to 1024.

        Examples
        --------
        >>> import tenferro as tfr
        >>> from tenferro_cpu import CpuEngine
        >>> CpuEngine.threaded(2).threads
        2
        """
        cdef CpuEngine engine = CpuEngine()
        cdef int count = counting.count(n)
        engine.name = "cpu-threads"
        open_engine(count)
        engine.opened = engine.threads = count
        return engine

    def __repr__(self):
        return f"<CpuEngine {self.name!r} with {self.threads} threads>" if self.opened else f"<CpuEngine {self.name!r}>"


cdef class Table:
    """The kernels of all CPU engines."""

    cdef int register(self, int op, kernel_t fn, int abi) except -1:
        table[op] = fn
        return 0


def _fill():
    cdef Table e = Table()
    for op, _n_in, _kind, source, _flags in optable.ROWS:
        if source is not None:
            e.register(op, ufunc.elementwise, ENGINE_ABI)
    for op in (Op.RSQRT, Op.SECH2, Op.ASIN_SLOPE, Op.ACOSH_SLOPE, Op.ATANH_SLOPE, Op.DIRECTION, Op.INVERSION, Op.SHARE):
        e.register(op, ufunc.elementwise, ENGINE_ABI)
    for op in (Op.ABSORB_MUL, Op.ABSORB_BOTH, Op.ABSORB_DIV, Op.REAL, Op.IMAG, Op.COMPLEX, Op.ANGLE, Op.WHERE, Op.CLAMP):
        e.register(op, ufunc.elementwise, ENGINE_ABI)
    e.register(Op.POW, loops.power, ENGINE_ABI)
    e.register(Op.CONVERT, loops.convert, ENGINE_ABI)
    e.register(Op.POLYGAMMA, special.polygamma, ENGINE_ABI)
    for op in (Op.REDUCE_SUM, Op.REDUCE_PROD, Op.REDUCE_MAX, Op.REDUCE_MIN, Op.REDUCE_MEAN, Op.ANY, Op.ALL):
        e.register(op, reduce.reduce, ENGINE_ABI)
    e.register(Op.REDUCE_VAR, moments.variance, ENGINE_ABI)
    e.register(Op.REDUCE_STD, moments.variance, ENGINE_ABI)
    e.register(Op.LOGSUMEXP, moments.logsumexp, ENGINE_ABI)
    e.register(Op.COUNT_NONZERO, moments.count_nonzero, ENGINE_ABI)
    e.register(Op.CUMSUM, scan.cumulate, ENGINE_ABI)
    e.register(Op.CUMPROD, scan.cumulate, ENGINE_ABI)
    e.register(Op.LINEAR_SCAN, scan.linear_scan, ENGINE_ABI)
    e.register(Op.SHIFT, scan.shift, ENGINE_ABI)
    e.register(Op.ARGMAX, scan.arg_extreme, ENGINE_ABI)
    e.register(Op.ARGMIN, scan.arg_extreme, ENGINE_ABI)
    e.register(Op.COPY, copy.copy, ENGINE_ABI)
    e.register(Op.CAST, copy.cast, ENGINE_ABI)
    e.register(Op.UNSLICE, structure.unslice, ENGINE_ABI)
    e.register(Op.DYNAMIC_SLICE, structure.dynamic_slice, ENGINE_ABI)
    e.register(Op.DYNAMIC_UNSLICE, structure.dynamic_unslice, ENGINE_ABI)
    e.register(Op.PAD, structure.pad, ENGINE_ABI)
    e.register(Op.CONCATENATE, structure.concatenate, ENGINE_ABI)
    e.register(Op.TRIL, structure.triangle, ENGINE_ABI)
    e.register(Op.TRIU, structure.triangle, ENGINE_ABI)
    e.register(Op.EMBED_DIAG, structure.embed_diag, ENGINE_ABI)
    e.register(Op.TAKE, index.take, ENGINE_ABI)
    e.register(Op.TAKE_ADD, index.take_add, ENGINE_ABI)
    e.register(Op.SCATTER, index.scatter, ENGINE_ABI)
    e.register(Op.SCATTER_ADD, index.scatter, ENGINE_ABI)
    e.register(Op.TAKE_ALONG_AXIS, along.along_axis, ENGINE_ABI)
    e.register(Op.ALONG_AXIS_ADD, along.along_axis, ENGINE_ABI)
    e.register(Op.INDEX_SET, along.index_set, ENGINE_ABI)
    e.register(Op.FLAT_INDEX, along.flat_index, ENGINE_ABI)
    e.register(Op.CONTRACT, contract.contract, ENGINE_ABI)
    e.register(Op.ELEMENTWISE, ufunc.elementwise, ENGINE_ABI)
    e.register(Op.SUMS, reduce.reduce, ENGINE_ABI)
    e.register(Op.FUSED, fused.fused, ENGINE_ABI)


elementary.install()
standard.install()
_fill()
