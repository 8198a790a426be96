"""Write ``docs/support.md`` from the support manifest, or with ``--check`` say whether it is up to date."""

import argparse
import sys
from pathlib import Path

import tenferro
from tenferro import support

PAGE = Path(__file__).resolve().parent.parent / "docs" / "support.md"
MARKS = dict(zip(support.STATES, ("✓", "◐", "–", "✗")))
MEANING = ("", ": not everywhere, or not for every result",
           ": the result is discrete or piecewise constant; it is untracked, or its derivative is zero",
           ": an error says so")
ENGINES = ("cpu", "cpu-threads:2")
TITLES = {"vjp": "VJP", "jvp": "JVP", "second_order": "second order", "real": "real", "complex": "complex"}
HEAD = """# What every operation supports

Written by `.ci/support_page.py` from the support manifest, which is data: `tenferro.support.manifest()`, or
`python -m tenferro support --json`. The manifest is derived: every operation runs on samples (`tenferro.testing.samples`), and
what is on its trace and on those of its derivatives is looked up among the rules that are registered. The tests compare the
values with NumPy's and SciPy's, and the derivatives with differences in both modes to second order.

{legend}

Second order means the derivatives of VJP and JVP in both modes. Real is float32 and float64, complex is complex64 and
complex128. The engines are those of this library that need no device;
what a device's engine supports it says itself: `tenferro.support.manifest([engine])`.
"""


def notes(rows):
    """One line for each reason in a family, with the operations and columns that it is about."""
    found = {}
    for row in rows:
        by_reason = {}
        for column, reason in row.reasons.items():
            by_reason.setdefault(reason, []).append(column)
        for reason, columns in by_reason.items():
            about = "derivatives" if set(columns) == set(support.DERIVATIVES) else ", ".join(TITLES.get(c, c) for c in columns)
            found.setdefault((about, reason), []).append(f"`{row.operation}`")
    return [f"- {', '.join(names)}: {about}: {reason}." for (about, reason), names in found.items()]


def section(family, rows, engines):
    """Title, table and notes of one family."""
    lines = [f"## {family[0].upper()}{family[1:]}", "",
             "| operation | " + " | ".join([*TITLES.values(), *engines]) + " |",
             "|---|" + ":-:|" * (len(TITLES) + len(engines))]
    for row in rows:
        states = [getattr(row, c) for c in TITLES] + [row.engines[e] for e in engines]
        lines.append(f"| `{row.operation}` | " + " | ".join(MARKS[s] for s in states) + " |")
    return [*lines, *([""] if any(row.reasons for row in rows) else []), *notes(rows), ""]


def page():
    rows = support.manifest([tenferro.engine(name) for name in ENGINES])
    engines = list(rows[0].engines)
    legend = "\n".join(f"- {sign} {state}{meaning}" for (state, sign), meaning in zip(MARKS.items(), MEANING))
    lines = [*HEAD.format(legend=legend).splitlines(), ""]
    for family in dict.fromkeys(row.family for row in rows):
        lines += section(family, [row for row in rows if row.family == family], engines)
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is not up to date")
    text = page()
    if not parser.parse_args().check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    print("docs/support.md is out of date; run: python .ci/support_page.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
