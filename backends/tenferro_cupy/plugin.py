"""What this distribution's CuPy engine tells ``tenferro`` about itself."""

from tenferro.hookspecs import EngineInfo, hookimpl


def _open(device=0):
    from .engine import CupyEngine
    return CupyEngine.open(device)


def _available():
    from .devices import missing
    return missing()


@hookimpl
def tenferro_engines():
    return [EngineInfo(name="cupy", kind="cupy", description="computes on an NVIDIA GPU, through CuPy", open=_open,
                       option="device", available=_available)]
