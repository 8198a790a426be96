"""Operations of extension modules and the functions that compute them: of CuPy's module, then of arrays."""

from .composites import COMPOSITES
from .fourier import TRANSFORMS
from .linalg import FACTORS
from .second_order import SECOND

EXECUTORS = {f"tenferro.linalg.{name}.v1": f for name, f in {**FACTORS, **COMPOSITES, **SECOND}.items()}
EXECUTORS |= {f"tenferro.fft.{name}.v1": f for name, f in TRANSFORMS.items()}
