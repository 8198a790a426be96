"""Extension modules and their flags; everything else about the package is in pyproject.toml."""

import os
from glob import glob
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("TENFERRO_DEBUG", "0") not in ("", "0")
ONLY = os.environ.get("TENFERRO_ONLY", "").split()
JOBS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
BUILD_DIR = Path("build", "debug" if DEBUG else "release")

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "allow_none_for_extension_args": False,
    "embedsignature": True,
    "embedsignature.format": "python",
}
MACROS = [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"), ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION")]
# Contraction and value-changing optimisations stay off: a result must not depend on how a loop was compiled.
FLAGS = ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-Wno-unused-function", "-Wno-char-subscripts"]


def level(source: str) -> list[str]:
    """Optimisation flags of one source file."""
    if DEBUG:
        return ["-O1", "-g", "-UNDEBUG"]
    return ["-O3" if Path(source).parent.name == "_kernels" else "-O2", "-g0"]


def flags_stamp() -> str:
    """File that is newer than every object built with other flags, so that a changed switch rebuilds."""
    stamp, text = Path("build", "flags"), f"{DEBUG=} {FLAGS=}\n"
    if not stamp.exists() or stamp.read_text() != text:
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(text)
    return stamp.as_posix()


def headers(folder: str) -> list[str]:
    """Included files of a directory and those below it."""
    return sorted(path for end in ("h", "pxi") for path in glob(f"{folder}/**/*.{end}", recursive=True))


def extension(source: str, stamp: str) -> Extension:
    """Extension module of one Cython source, named by its place in the tree."""
    return Extension(
        ".".join(Path(source.removeprefix("backends/")).with_suffix("").parts),
        [source],
        include_dirs=[".", "tenferro/_core", "tenferro/_kernels", numpy.get_include()],
        define_macros=MACROS + ([] if DEBUG else [("CYTHON_WITHOUT_ASSERTIONS", "1")]),
        extra_compile_args=level(source) + FLAGS,
        libraries=["m"],
        depends=[stamp, *headers(os.path.dirname(source))],
    )


def extensions() -> list[Extension]:
    """All extension modules, or those that TENFERRO_ONLY names."""
    sources = sorted(glob("tenferro/**/*.pyx", recursive=True) + glob("backends/*/*.pyx"))
    stamp = flags_stamp()
    return cythonize(
        [extension(source, stamp) for source in sources if not ONLY or source in ONLY],
        build_dir=BUILD_DIR.as_posix(),
        include_path=["."],
        compiler_directives=DIRECTIVES,
        nthreads=JOBS,
        quiet=True,
    )


if __name__ == "__main__":
    setup(ext_modules=extensions(), options={"build_ext": {"parallel": JOBS}})
