"""``python -m tenferro check``: the conformance kit as a command."""

import json
import sys

from .. import default_engine
from .._engines import engine as opened
from ..errors import TenferroError

PASSED, FAILED, UNKNOWN = 0, 1, 2
"""Exit statuses."""


def add_arguments(parser):
    parser.add_argument("name", nargs="?", help="the engine, as tenferro.engine takes it; by default that of the process")
    parser.add_argument("--thorough", action="store_true", help="more random numbers, layouts and derivatives")
    parser.add_argument("--operation", action="append", metavar="OP", help="check this one; may be given several times")
    parser.add_argument("--dtype", action="append", help="check this one; may be given several times")


def run(options):
    """Check an engine and print the report; returns the exit status."""
    from .conformance import check_engine
    try:
        engine = default_engine() if options.name is None else opened(options.name)
        report = check_engine(engine, operations=options.operation, dtypes=options.dtype, thorough=options.thorough)
    except TenferroError as error:
        sys.stderr.write(f"{error}\n")
        return UNKNOWN
    sys.stdout.write((json.dumps(report.as_data(), indent=2) if options.json else str(report)) + "\n")
    return PASSED if report.ok else FAILED
