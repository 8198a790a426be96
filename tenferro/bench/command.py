"""The command ``python -m tenferro bench``."""

import json
import sys
from pathlib import Path

from . import driver, peers, report


def add_arguments(parser):
    parser.add_argument("--peers", help=f"of {','.join(peers.NAMES)}; those installed, unless given; ratios are to the first")
    parser.add_argument("--workloads", default="all", help="names, beginnings of names up to a dot, or the group overhead")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small arrays and one short round: whether everything works")
    parser.add_argument("--rounds", type=int, default=15, help="most samples of each peer and workload")
    parser.add_argument("--budget", type=float, default=1.5, help="seconds of sampling for the slowest peer of a workload")
    parser.add_argument("--least", type=float, default=0.02, help="seconds that a sample lasts at least")
    parser.add_argument("--timeout", type=float, default=60, help="seconds after which a peer counts as failed")
    parser.add_argument("--against", metavar="FILE", help="output of --json to compare the first peer's least times with")
    parser.add_argument("--write", metavar="FOLDER", help="write benchmarks.md and benchmarks.svg there")


def run(options, blas):
    """Measure, write, and return the result as plain data."""
    there = peers.installed()
    options.peers = options.peers.split(",") if options.peers else there
    absent = [name for name in options.peers if name not in there]
    if absent:
        raise SystemExit(f"not installed or unknown: {', '.join(absent)}; there are {', '.join(there)}")
    try:
        names = driver.chosen(options.workloads)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    if options.quick:
        options.rounds, options.least = 1, 0
    facts = report.machine()
    result = {"machine": facts, "blas": blas, **driver.run(names, options)}
    if options.write:
        folder = Path(options.write)
        (folder / "benchmarks.md").write_text("\n".join(report.page(result)), encoding="utf-8")
        (folder / "benchmarks.svg").write_text("\n".join(report.picture(result)), encoding="utf-8")
    return result


def show(result, options):
    if options.json:
        sys.stdout.write(json.dumps(result, indent=1) + "\n")
        return
    before = json.loads(Path(options.against).read_text()) if options.against else None
    sys.stdout.write(report.text(result, before) + "\n")
