"""What tenferro learns about this distribution; imports neither the engine nor its compiled module."""

from tenferro.hookspecs import EngineInfo, hookimpl


def _open():
    from .engine import CompensatedEngine
    return CompensatedEngine()


@hookimpl
def tenferro_engines():
    return [EngineInfo(name="compensated", kind="host", description="the CPU engine with compensated float64 sums", open=_open)]
