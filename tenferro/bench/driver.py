"""Peers in processes of their own, their samples interleaved: A B C A B C ..."""

import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager

from . import peers, worker
from .table import ALL, GROUPS

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "TENFERRO_NUM_THREADS")


def chosen(text):
    """Workloads by names, beginnings of names up to a dot, and groups, separated by commas."""
    names = []
    for part in text.split(","):
        for wanted in GROUPS.get(part, (part,)):
            found = [n for n in ALL if wanted in ("all", n) or n.startswith(wanted + ".")]
            if not found:
                raise ValueError(f"no workload {wanted!r}; there are {', '.join([*GROUPS, *ALL])}")
            names += found
    return [n for n in ALL if n in names]


class Peer:
    def __init__(self, name, threads, timeout):
        self.name, self.threads, self.timeout, self.process = name, threads, timeout, None

    @contextmanager
    def environment(self):
        """Thread counts as a process has to find them before it imports anything."""
        before = {name: os.environ.get(name) for name in THREADS}
        os.environ.update(dict.fromkeys(THREADS, str(self.threads)))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value

    def start(self):
        """A fresh process, pinned to the last CPUs."""
        cpus = sorted(os.sched_getaffinity(0))[-self.threads:] if hasattr(os, "sched_getaffinity") else []
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=worker.serve, args=(other, self.name, self.threads, cpus), daemon=True)
        with self.environment():
            self.process.start()
        other.close()

    def whole(self, program):
        """Seconds of a process from start to exit."""
        with self.environment():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True, timeout=self.timeout, stderr=subprocess.PIPE)
            return time.perf_counter() - start

    def ask(self, command, *arguments):
        """``(what, answer)``, where what is ok, unsupported or error."""
        if self.process is None:
            self.start()
        try:
            self.pipe.send((command, arguments))
            if self.pipe.poll(self.timeout):
                return self.pipe.recv()
            answer = "error", f"no answer within {self.timeout:.0f} s"
        except (EOFError, OSError):
            self.process.join(1)
            answer = "error", f"the process died ({self.process.exitcode})"
        self.stop()
        return answer

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None


def measure(w, team, options):
    """Per peer: median and least of what is measured, and the median of its ratios to the first peer, round by round."""
    return {"time": timed, "memory": grown, "process": started}[w.what](w, team, options)


def timed(w, team, options):
    """Seconds of one run."""
    found, samples, count, slowest = {}, {}, {}, 1e-3
    for peer in team:
        what, answer = peer.ask("prepare", w.name, options.quick, options.least)
        if what != "ok":
            found[peer.name] = {what: answer}
        elif answer["count"] == 0:
            samples[peer.name] = [answer["seconds"]]
        else:
            samples[peer.name], count[peer.name] = [], answer["count"]
            slowest = max(slowest, answer["seconds"] * answer["count"])
    for _ in range(max(min(5, options.rounds), min(options.rounds, int(options.budget / slowest)))):
        for peer in team:
            if peer.name in count:
                what, answer = peer.ask("sample", count[peer.name])
                if what == "ok":
                    samples[peer.name].append(answer)
                else:
                    found[peer.name] = {what: answer}
                    del count[peer.name], samples[peer.name]
    for peer in team:
        if peer.process is not None:
            peer.ask("drop")
    return summary(w, team, found, samples)


def grown(w, team, options):
    """Bytes by which the first run lets a fresh process grow at most."""
    found, samples = {}, {}
    for _ in range(1 if options.quick else 3):
        for peer in team:
            if peer.name not in found:
                peer.stop()
                what, answer = peer.ask("growth", w.name, options.quick)
                if what == "ok":
                    samples.setdefault(peer.name, []).append(answer)
                else:
                    found[peer.name] = {what: answer}
                    samples.pop(peer.name, None)
    return summary(w, team, found, samples)


def started(w, team, options):
    """Seconds of whole processes; the first of each is not counted."""
    found, samples = {}, {}
    for k in range(2 if options.quick else 8):
        for peer in team:
            if peer.name in found:
                continue
            what, program = peer.ask("program", w.model)
            try:
                if what != "ok":
                    raise RuntimeError(program)
                seconds = peer.whole(program)
                if k:
                    samples.setdefault(peer.name, []).append(seconds)
            except (RuntimeError, subprocess.SubprocessError) as error:
                found[peer.name] = {"error" if what == "ok" else what: str(error)[:200]}
    return summary(w, team, found, samples)


def summary(w, team, found, samples):
    """Medians, least values and ratios of samples, beside the reasons of peers without."""
    base = samples.get(team[0].name)
    for name, s in samples.items():
        found[name] = {"median": statistics.median(s) / w.per, "least": min(s) / w.per, "samples": len(s)}
        if base:
            pairs = zip(s, base) if len(s) == len(base) else [(statistics.median(s), statistics.median(base))]
            found[name]["ratio"] = statistics.median([a / b for a, b in pairs])
    return {peer.name: found[peer.name] for peer in team}


def run(names, options):
    """All measurements as plain data."""
    team = [Peer(name, options.threads, options.timeout) for name in options.peers]
    result = {}
    try:
        for name in names:
            start = time.perf_counter()
            result[name] = measure(ALL[name], team, options)
            sys.stderr.write(f"{name} [{time.perf_counter() - start:.1f} s]\n")
    finally:
        for peer in team:
            peer.stop()
    return {"versions": {name: peers.version(name) for name in options.peers}, "threads": options.threads,
            "quick": options.quick, "workloads": result}
