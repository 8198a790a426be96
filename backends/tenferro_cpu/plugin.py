"""What this distribution's CPU engines tell ``tenferro`` about themselves."""

from tenferro.hookspecs import EngineInfo, hookimpl

from .engine import CpuEngine


def _serial():
    return CpuEngine.serial()


def _threaded(threads=None):
    return CpuEngine.threaded(threads)


@hookimpl
def tenferro_engines():
    return [
        EngineInfo(name="cpu", kind="host", description="computes on the calling thread", open=_serial),
        EngineInfo(name="cpu-threads", kind="host", description="splits large work over a pool of threads", open=_threaded,
                   option="threads"),
    ]
