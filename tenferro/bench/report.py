"""The table, the page and the picture of a run."""

import math
import os
import platform
import time
from html import escape

from .table import ALL

SCALE = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "B": 1}
COLOURS = ("#1b1b1b", "#d1495b", "#2e7dd1", "#66a8e8", "#3a9d5d", "#b07d2b", "#8a8a8a")


def machine():
    """What the figures depend on beside the libraries."""
    try:
        with open("/proc/cpuinfo") as f:
            cpu = next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        cpu = platform.processor() or platform.machine()
    return {"date": time.strftime("%Y-%m-%d"), "cpu": cpu, "cpus": os.cpu_count(), "load": round(os.getloadavg()[0], 1),
            "system": f"{platform.system()} {platform.machine()}", "python": platform.python_version()}


def number(x):
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


def cell(got, unit):
    if "median" not in got:
        return "n/a" if "unsupported" in got else "fails"
    ratio = f" ({number(got['ratio'])})" if "ratio" in got else ""
    return number(got["median"] * SCALE[unit]) + ratio


def rows(result):
    """Header and rows of the table."""
    names = list(result["versions"])
    yield ["workload", "unit", *names]
    for name, got in result["workloads"].items():
        unit = ALL[name].unit
        yield [name, unit.replace("us", "µs"), *(cell(got[peer], unit) for peer in names)]


def text(result, before=None):
    """Aligned columns; with an earlier run, the ratio of the first peer's least times as well."""
    lines = list(rows(result))
    if before:
        first = next(iter(result["versions"]))
        lines[0].append("now / before")
        for line in lines[1:]:
            then, now = before["workloads"].get(line[0], {}).get(first, {}), result["workloads"][line[0]][first]
            line.append(number(now["least"] / then["least"]) if "least" in then and "least" in now else "")
    width = [max(map(len, column)) for column in zip(*lines)]
    table = "\n".join("  ".join(x.ljust(n) for x, n in zip(line, width)).rstrip() for line in lines)
    return "\n".join([table, *notes(result)])


def notes(result):
    """Why there is no figure, the same reasons together."""
    reasons = {}
    for name, got in result["workloads"].items():
        for peer, answer in got.items():
            if "median" not in answer:
                reasons.setdefault((peer, answer.get("unsupported") or answer.get("error")), []).append(name)
    for (peer, reason), names in reasons.items():
        yield f"{peer}, {', '.join(names)}: {reason}"


def page(result):
    """The page in Markdown."""
    facts, first = result["machine"], next(iter(result["versions"]))
    header, *body = rows(result)
    table = [header, ["---"] * len(header), *body]
    count = result["threads"]
    yield "# Benchmarks"
    yield ""
    yield (f"Written by `python -m tenferro bench --write docs` on {facts['date']}: {facts['cpu']}, {facts['cpus']} CPUs (load "
           f"{facts['load']} at the start), {facts['system']}, Python {facts['python']}, "
           f"{', '.join(result['versions'].values())}; BLAS of {first}: {result['blas']}; "
           f"{count} thread{'s' if count > 1 else ''}, pinned.")
    yield ""
    yield ("Medians of samples that the libraries take in turn, each in a process of its own; in brackets the median of the "
           f"rounds' ratios to {first}: above 1 is slower than {first}. Before anything is timed, each library's first result "
           "is compared with a derivative written by hand with NumPy, which is also the column `numpy`. `jax.jit` is compiled "
           "ahead; its compile time is not counted. The rows `memory` tell by how many bytes per element or per recorded "
           "operation the first run lets a process grow at most, the rows `cold` how long a whole process takes. "
           "`tenferro/bench/` has the definitions.")
    yield ""
    yield f"![Time relative to {first}, logarithmic](benchmarks.svg)"
    yield ""
    yield from ("| " + " | ".join(line) + " |" for line in table)
    reasons = list(notes(result))
    if reasons:
        yield ""
        yield from (f"- {line}" for line in reasons)
    yield ""


def picture(result):
    """A row of dots for each workload on a logarithmic axis of ratios, as SVG."""
    names, first = list(result["versions"]), next(iter(result["versions"]))
    ratios = {name: {peer: a["ratio"] for peer, a in got.items() if "ratio" in a} for name, got in result["workloads"].items()}
    every = [r for row in ratios.values() for r in row.values()] or [1.0]
    low, high = math.floor(math.log10(min(every))), max(math.ceil(math.log10(max(every))), 1)
    left, top, step, width = 190, 60, 18, 640
    height = top + step * len(ratios) + 40

    def x(ratio):
        return left + width * (math.log10(ratio) - low) / (high - low)

    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} {height}" font-family="sans-serif" '
           'font-size="12">')
    yield '<rect width="100%" height="100%" fill="white"/>'
    yield f'<text x="{left}" y="20">time relative to {escape(first)} (logarithmic; right is slower)</text>'
    for k, peer in enumerate(names):
        yield f'<circle cx="{left + 5 + 90 * k}" cy="38" r="4.5" fill="{COLOURS[k]}"/>'
        yield f'<text x="{left + 14 + 90 * k}" y="42">{escape(peer)}</text>'
    for power in range(low, high + 1):
        at, colour = x(10.0**power), "#1b1b1b" if power == 0 else "#cccccc"
        yield f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top - 6}" y2="{height - 30}" stroke="{colour}"/>'
        yield f'<text x="{at:.1f}" y="{height - 14}" text-anchor="middle">{10.0**power:g}</text>'
    for k, (name, row) in enumerate(ratios.items()):
        y = top + step * k + step / 2
        yield f'<text x="{left - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>'
        yield f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eeeeee"/>'
        for peer, ratio in reversed(row.items()):
            yield f'<circle cx="{x(ratio):.1f}" cy="{y:.1f}" r="4.5" fill="{COLOURS[names.index(peer)]}" fill-opacity="0.85"/>'
    yield "</svg>"
    yield ""
