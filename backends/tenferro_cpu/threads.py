"""How many threads an engine uses unless it is told."""

import operator
import os
from pathlib import Path

from tenferro.errors import ValidationError

VARIABLES = ("TENFERRO_NUM_THREADS", "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK")
LARGEST = 1024


def checked(n, source):
    """A number of threads, or `ValidationError` that names where it comes from."""
    try:
        n = operator.index(n)
    except TypeError:
        n = 0
    if not 1 <= n <= LARGEST:
        raise ValidationError(f"{source} must be a whole number of threads from 1 to {LARGEST}", op="CpuEngine.threaded",
                              argument=source.partition("=")[0])
    return n


def from_environment(environ):
    """What the first variable that is set says, or None."""
    for name in VARIABLES:
        text = environ.get(name, "").strip()
        if text:
            first = text.partition(",")[0].strip() if name == "OMP_NUM_THREADS" else text
            return checked(int(first) if first.isascii() and first.isdigit() else None, f"{name}={text!r}")
    return None


def read(path):
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""


def quotas_v2(folder):
    """Quotas of a control group and of those above it, in CPUs."""
    for place in (folder, *folder.parents):
        quota, _, period = read(place / "cpu.max").strip().partition(" ")
        if quota.isdigit() and period.isdigit() and int(period):
            yield int(quota) / int(period)


def quotas_v1(folder):
    for place in (folder, *folder.parents):
        quota, period = (read(place / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
        if quota.isdigit() and period.isdigit() and int(period):
            yield int(quota) / int(period)


def mounts(text):
    """``(root, place, type, options)`` of what /proc/self/mountinfo lists."""
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) >= 5 and len(kind) >= 3:
            yield fields[3], fields[4], kind[0], kind[2].split(",")


def inside(root, place, path):
    """Where a control group is seen below a mount; the mount itself if it lies outside."""
    below = os.path.relpath(path, root)
    return Path(place) if below.startswith("..") else Path(place, below)


def cgroup_cpus(proc=Path("/proc/self")):
    """The smallest CPU quota of the control groups of this process, or None."""
    places = {}
    for line in read(proc / "cgroup").splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        places.update(dict.fromkeys(names.split(",") if number != "0" else [""], path))
    found = []
    for root, place, kind, options in mounts(read(proc / "mountinfo")):
        if kind == "cgroup2" and "" in places:
            found += quotas_v2(inside(root, place, places[""]))
        elif kind == "cgroup" and "cpu" in options and "cpu" in places:
            found += quotas_v1(inside(root, place, places["cpu"]))
    return min(found, default=None)


def available():
    """CPUs that this process may run on, by its affinity mask and its quota."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cgroup_cpus()
    return max(1, min(cpus, LARGEST, cpus if quota is None else int(quota)))


def count(n=None):
    """Number of threads: `n`, else the environment's, else one for each CPU that this process may use."""
    if n is not None:
        return checked(n, "n")
    found = from_environment(os.environ)
    return available() if found is None else found
