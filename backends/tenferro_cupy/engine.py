"""The engine over CuPy: one device, its memory, and what failures mean."""

from tenferro._foreign.device import DeviceEngine
from tenferro.errors import EngineError, OutOfMemoryError

from . import devices
from .contraction import Contraction
from .elementwise import Elementwise
from .executors import EXECUTORS
from .memory import CupyMemory
from .moves import Moves
from .reductions import Reductions
from .scatters import Scatters
from .sorting import Sorting
from .special import Special

FATAL = frozenset({46, 100, 101, 201, 214, 219, 220, 226, 304, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 720, 721, 999})
"""Errors after which CUDA fails for the rest of the process: no access to the device, or a context that is corrupt."""

NO_MEMORY = 2

_memories = {}          # number of a device and module -> its memory, one for a process


def memory_on(cupy, number):
    """The memory of a device."""
    key = number, id(cupy)
    if key not in _memories:
        _memories.setdefault(key, CupyMemory(cupy, number))
    return _memories[key]


class CupyEngine(Special, Elementwise, Reductions, Moves, Scatters, Sorting, Contraction,
                 DeviceEngine):
    """Engine that computes on one CUDA device with CuPy.

    Work is queued on CuPy's current stream of the device, and nobody waits for it: not for uploads, and not for results before
    they are asked for. Those who use several streams order them themselves. These operations alone wait for the device:
    downloads, `convert` and integers to integer powers, which look at values, and factorizations of matrices, which may fail.
    Groups of elementwise operations of derivatives run as one generated kernel.

    Index arrays are not checked, as that would wait: positions beyond an axis stand for its nearest end, and starts of windows
    are moved inside. Sums and scatters give the same bits again; running sums of large arrays need not.

    Parameters
    ----------
    cupy : module
    device : int
        Its number.

    Attributes
    ----------
    cupy : module
    device : int
    """

    def __init__(self, cupy, device):
        self.cupy, self.device = cupy, device
        self.kernels = {}
        self._current, self._here = cupy.cuda.get_device_id, cupy.cuda.Device
        with self._here(device):
            super().__init__(cupy, "cupy" if device == 0 else f"cupy:{device}", "cupy", f"cuda:{device}",
                             memory_on(cupy, device))

    @classmethod
    def open(cls, device=0):
        """An engine on a device.

        Parameters
        ----------
        device : int
            The number that CUDA gives it.

        Raises
        ------
        UnsupportedError
            CuPy cannot be imported, or there is no device.
        ValidationError
            There is no such device; the message says how many there are.
        """
        cupy = devices.imported()
        return cls(cupy, devices.chosen(cupy, device))

    # ---- how methods are called

    def _bind(self, op, call, dtypes):
        super()._bind(op, self._guarded(call), dtypes)

    def _fuse(self, method, operations):
        super()._fuse(self._guarded(method), operations)

    def _guarded(self, call):
        """The call with the device as the current one; failures that CUDA does not recover from break the engine."""
        def guarded(*args, **kwargs):
            try:
                if self._current() == self.device:
                    return call(*args, **kwargs)
                with self._here(self.device):
                    return call(*args, **kwargs)
            except Exception as error:
                self._judge(error)
                raise
        return guarded

    def _judge(self, error):
        status = getattr(error, "status", None)
        if status == NO_MEMORY or "ALLOC_FAILED" in str(error):
            raise OutOfMemoryError(f"the device of the engine '{self.name}' has no memory for it ({error}); free tensors or "
                                   "call engine.release()", engine=self.name) from error
        if status in FATAL and type(error).__name__ in ("CUDARuntimeError", "CUDADriverError"):
            self.mark_broken(error)
            raise EngineError(f"the engine '{self.name}' is broken: {error}; CUDA does not recover from it in this process. "
                              "Tensors in host memory and the runtime are as they were", engine=self.name) from error

    # ---- operations of extension modules

    def executor(self, name):
        f = EXECUTORS.get(name)
        if f is None:
            return None
        return self._guarded(lambda *arrays, **params: f(self.cupy, *arrays, **params))

    # ---- the device

    def synchronize(self):
        """Wait for everything that was queued on the device."""
        self._guarded(lambda: self._here(self.device).synchronize())()

    def memory_info(self):
        """Memory in bytes.

        Returns
        -------
        dict
            ``used`` by arrays and ``held`` by CuPy's memory pool in this process; ``free`` and ``total`` on the device.
        """
        return self._guarded(self.memory.info)()

    def release(self):
        """Give memory that CuPy's pool holds without using it back to the device."""
        self._guarded(self.memory.release)()
