"""``python -m tenferro``: what is installed here, and how it computes."""

import argparse
import json
import os
import platform
import sys

import numpy as np

import tenferro
from tenferro._core import memory


def blas():
    """Name and version of the BLAS behind ``scipy.linalg.cython_blas``, which matrix products call."""
    try:
        import scipy
        build = scipy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    except Exception as error:
        return {"name": None, "reason": f"{type(error).__name__}: {error}"}
    return {"name": build.get("name"), "version": build.get("version"), "scipy": scipy.__version__}


def engines():
    """The engines that come with this distribution."""
    engine = tenferro.default_engine()
    return [{"name": engine.name, "kind": engine.kind, "available": True, "default": True, "source": "tenferro_cpu"}]


def threads():
    """Environment variables that set thread counts of BLAS, and the CPUs that this process may use."""
    names = ("TENFERRO_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SLURM_CPUS_PER_TASK")
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpus": cpus, "variables": {name: os.environ[name] for name in names if name in os.environ}}


def info():
    """Facts about this installation, as plain data."""
    live_blocks, live_bytes = memory.live()
    return {
        "tenferro": tenferro.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
        "include": tenferro.get_include(),
        "blas": blas(),
        "threads": threads(),
        "engines": engines(),
        "memory": {"live_blocks": live_blocks, "live_bytes": live_bytes},
    }


def lines(facts, indent=""):
    """Facts as indented text."""
    for key, value in facts.items():
        if isinstance(value, dict):
            yield f"{indent}{key}:"
            yield from lines(value, indent + "  ")
        elif isinstance(value, list):
            yield f"{indent}{key}:"
            for item in value:
                yield indent + "  - " + ", ".join(f"{k} {v}" for k, v in item.items())
        else:
            yield f"{indent}{key}: {value}"


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m tenferro", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("info", help="versions, BLAS, threads and engines")
    command.add_argument("--json", action="store_true", help="print machine-readable JSON")
    options = parser.parse_args(argv)
    facts = info()
    sys.stdout.write(json.dumps(facts, indent=2) + "\n" if options.json else "\n".join(lines(facts)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
