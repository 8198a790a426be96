"""Nanoseconds per element of NumPy's inner loops and of the library's own, in every build that this processor runs."""

import argparse
import ctypes
import time

import numpy as np

import tenferro  # noqa: F401
from tenferro._kernels import elementary

INVERSES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
RANGES = {"log": (0.01, 100), "log2": (0.01, 100), "log10": (0.01, 100), "log1p": (0, 9), "asin": (-1, 1), "acos": (-1, 1),
          "atanh": (-1, 1), "acosh": (1, 9)}


def own_loop(variant, name, x, y):
    """The loop as a call without arguments."""
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
    loop = signature(elementary.loop_address(variant, name, x.dtype == np.float64))
    pointers = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    size, strides = ctypes.c_ssize_t(x.size), (ctypes.c_ssize_t * 2)(x.itemsize, y.itemsize)
    return lambda: loop(pointers, ctypes.byref(size), strides, None)


def best(calls, size, rounds):
    """Smallest time per element of each call; the calls take turns."""
    found = [float("inf")] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(8):
                call()
            found[k] = min(found[k], (time.perf_counter() - start) / 8 / size * 1e9)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    builds = elementary.available
    for dtype in (np.float64, np.float32):
        print(f"| {dtype.__name__} | numpy | " + " | ".join(builds) + " |\n" + "|---" * (len(builds) + 2) + "|")
        for name in elementary.NAMES:
            x = rng.uniform(*RANGES.get(name, (-5, 5)), options.size).astype(dtype)
            y, ufunc = np.empty_like(x), getattr(np, INVERSES.get(name, name))
            calls = [lambda f=ufunc, x=x, y=y: f(x, out=y)] + [own_loop(build, name, x, y) for build in builds]
            times = best(calls, options.size, options.rounds)
            print(f"| `{name}` | " + " | ".join(f"{t:.2f}" for t in times) + " |")


if __name__ == "__main__":
    main()
