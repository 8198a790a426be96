"""``python -m tenferro``: what is installed here, how it computes, what it supports, and whether engines conform."""

import argparse
import json
import os
import platform
import sys

import numpy as np

import tenferro
from tenferro._core import memory
from tenferro._kernels import elementary
from tenferro._kernels.blas import library_name
from tenferro.bench import command as bench
from tenferro.testing import command as conformance


def scipy_blas():
    """Name and version of the BLAS behind ``scipy.linalg.cython_blas``."""
    try:
        import scipy
        build = scipy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    except Exception as error:
        return {"name": None, "reason": f"{type(error).__name__}: {error}"}
    return {"name": build.get("name"), "version": build.get("version"), "scipy": scipy.__version__}


def libraries():
    """The BLAS that matrix products call, and the library of LAPACK's routines."""
    scipy = scipy_blas()
    try:
        used = library_name()
        if used == "mkl":
            from tenferro._kernels import mkl
            return {"used": "mkl", "name": "mkl", **mkl.description()}, scipy
    except tenferro.errors.UnsupportedError as error:
        return {"used": None, "reason": str(error)}, scipy
    return {"used": "scipy", **scipy}, scipy


def engines():
    """The engines that are installed, why one is not available, and which is the default."""
    try:
        default, problem = tenferro.default_engine().name, None
    except tenferro.errors.TenferroError as error:
        default, problem = None, f"{type(error).__name__}: {error}"
    found = [known(name=r.name, kind=r.kind, available=r.available, default=r.name == default and r.available,
                   source=f"{r.distribution} {r.version}".strip(), reason=r.reason, error=r.error,
                   conflicts=", ".join(r.conflicts), spec=r.spec if r.conflicts else None) for r in tenferro.engines()]
    return known(default_engine=default, default_engine_error=problem, engines=found)


def plugins():
    """The plugins that were found, and how they failed."""
    return [known(name=p.name, value=p.value, source=f"{p.distribution} {p.version}".strip(), skipped=p.skipped or None,
                  milliseconds=round(1000 * p.seconds, 1), error=p.error) for p in tenferro.plugins.discover()]


def known(**facts):
    """Facts without those that are missing."""
    return {key: value for key, value in facts.items() if value is not None and value != ""}


def threads():
    """Environment variables that set thread counts of BLAS, and the CPUs that this process may use."""
    names = ("TENFERRO_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "MKL_THREADING_LAYER",
             "SLURM_CPUS_PER_TASK")
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"cpus": cpus, "variables": {name: os.environ[name] for name in names if name in os.environ}}


def info():
    """Facts about this installation, as plain data."""
    live_blocks, live_bytes = memory.live()
    blas, lapack = libraries()
    return {
        "tenferro": tenferro.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
        "include": tenferro.get_include(),
        "elementary": elementary.info(),
        "blas": blas,
        "lapack": lapack,
        "threads": threads(),
        **engines(),
        "plugins": plugins(),
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


def support():
    """The support manifest as plain data."""
    from tenferro import support
    return support.as_data(support.manifest())


def support_lines(rows):
    """One line for each operation whose support has limits, with the reasons."""
    yield f"{len(rows)} operations; all is supported but"
    for row in rows:
        if row["reasons"]:
            yield f"{row['operation']}:"
            yield from (f"  {row.get(column) or row['engines'][column]} ({column}): {reason}"
                        for column, reason in row["reasons"].items())


COMMANDS = {
    "info": (info, lines, "versions, BLAS, threads and engines"),
    "support": (support, support_lines, "what operations can do: derivatives, dtypes, engines"),
}


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m tenferro", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (_, _, description) in COMMANDS.items():
        command = commands.add_parser(name, help=description)
        command.add_argument("--json", action="store_true", help="print machine-readable JSON")
    timing = commands.add_parser("bench", help="the same work on this library and on others that are installed")
    timing.add_argument("--json", action="store_true", help="print machine-readable JSON")
    bench.add_arguments(timing)
    checking = commands.add_parser("check", help="whether an engine does what engines promise")
    checking.add_argument("--json", action="store_true", help="print machine-readable JSON")
    conformance.add_arguments(checking)
    options = parser.parse_args(argv)
    if options.command == "bench":
        blas, _ = libraries()
        bench.show(bench.run(options, f"{blas.get('name')} {blas.get('version')}"), options)
        return 0
    if options.command == "check":
        return conformance.run(options)
    gather, as_lines, _ = COMMANDS[options.command]
    facts = gather()
    sys.stdout.write(json.dumps(facts, indent=2) + "\n" if options.json else "\n".join(as_lines(facts)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
