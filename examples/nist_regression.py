"""Fit NIST's nonlinear regression problems with Jacobians from forward-mode differentiation.

The Statistical Reference Datasets (StRD) of NIST come with certified parameters, 11 digits each, and two starting
points: start 1 is far from the solution, start 2 is near. SciPy's `least_squares` does the fitting. Each column of
the Jacobian of the residuals is one JVP over the trace of the model, and the whole is checked against a VJP.

    python examples/nist_regression.py
    python examples/nist_regression.py --quick
    python examples/nist_regression.py --method lm --picture fits.svg

The exit status is 1 when a fit from start 2 misses 6 certified digits in any parameter, or when the JVPs and the
VJP disagree.
"""

import argparse
import re
import sys
import time
from dataclasses import dataclass
from math import pi
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

import tenferro as tfr

DATA = Path(__file__).resolve().parent / "data"
QUICK = ("Misra1a", "Chwirut2", "Nelson")
REQUIRED_DIGITS = 6.0
CERTIFIED_DIGITS = 11.0
JACOBIAN_TOLERANCE = 1e-10


# --- models: predictors first, then the parameters in NIST's order ------------------------------------------------


def saturation(x, b1, b2):
    return b1 * (1 - tfr.exp(-b2 * x))


def exponential_over_line(x, b1, b2, b3):
    return tfr.exp(-b1 * x) / (b2 + b3 * x)


def three_exponentials(x, b1, b2, b3, b4, b5, b6):
    return b1 * tfr.exp(-b2 * x) + b3 * tfr.exp(-b4 * x) + b5 * tfr.exp(-b6 * x)


def two_peaks(x, b1, b2, b3, b4, b5, b6, b7, b8):
    first = b3 * tfr.exp(-((x - b4) ** 2) / b5**2)
    second = b6 * tfr.exp(-((x - b7) ** 2) / b8**2)
    return b1 * tfr.exp(-b2 * x) + first + second


def three_cycles(x, b1, b2, b3, b4, b5, b6, b7, b8, b9):
    def cycle(period, cosine, sine):
        phase = 2 * pi * x / period
        return cosine * tfr.cos(phase) + sine * tfr.sin(phase)

    return b1 + cycle(12, b2, b3) + cycle(b4, b5, b6) + cycle(b7, b8, b9)


def cubic_over_cubic(x, b1, b2, b3, b4, b5, b6, b7):
    return (b1 + b2 * x + b3 * x**2 + b4 * x**3) / (1 + b5 * x + b6 * x**2 + b7 * x**3)


MODELS = {
    "BoxBOD": saturation,
    "Chwirut1": exponential_over_line,
    "Chwirut2": exponential_over_line,
    "DanWood": lambda x, b1, b2: b1 * x**b2,
    "ENSO": three_cycles,
    "Eckerle4": lambda x, b1, b2, b3: b1 / b2 * tfr.exp(-0.5 * ((x - b3) / b2) ** 2),
    "Gauss1": two_peaks,
    "Gauss2": two_peaks,
    "Lanczos1": three_exponentials,
    "Lanczos3": three_exponentials,
    "MGH09": lambda x, b1, b2, b3, b4: b1 * (x**2 + x * b2) / (x**2 + x * b3 + b4),
    "MGH17": lambda x, b1, b2, b3, b4, b5: b1 + b2 * tfr.exp(-x * b4) + b3 * tfr.exp(-x * b5),
    "Misra1a": saturation,
    "Misra1b": lambda x, b1, b2: b1 * (1 - (1 + b2 * x / 2) ** (-2)),
    "Misra1d": lambda x, b1, b2: b1 * b2 * x * (1 + b2 * x) ** (-1),
    "Nelson": lambda x1, x2, b1, b2, b3: b1 - b2 * x1 * tfr.exp(-b3 * x2),
    "Rat43": lambda x, b1, b2, b3, b4: b1 / (1 + tfr.exp(b2 - b3 * x)) ** (1 / b4),
    "Thurber": cubic_over_cubic,
}
RESPONSES = {"Nelson": np.log}


# --- NIST's file format -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """One data set: `x` holds a row per predictor, `starts` a row per starting point."""

    name: str
    y: np.ndarray
    x: np.ndarray
    starts: np.ndarray
    certified: np.ndarray
    sum_of_squares: float


def line_range(text, section):
    """Return the slice of lines that the header gives, as in ``Data (lines 61 to 66)``."""
    match = re.search(rf"^.*\b{section}\s+\(lines\s+(\d+)\s+to\s+(\d+)\)", text, re.MULTILINE)
    if match is None:
        raise ValueError(f"the header does not say on which lines the {section.lower()} are")
    return slice(int(match[1]) - 1, int(match[2]))


def labelled_number(text, label):
    """Return the number on the line that starts with `label`."""
    match = re.search(rf"^{label}:\s+(\S+)\s*$", text, re.MULTILINE)
    if match is None:
        raise ValueError(f"no line gives the {label.lower()}")
    return float(match[1])


def parse(text):
    """Parse one StRD file of a nonlinear regression problem.

    Parameters
    ----------
    text : str
        Contents of the file.

    Returns
    -------
    Problem
        Name, data, both starting points, certified parameters and certified residual sum of squares.

    Raises
    ------
    ValueError
        If a part is missing or the counts in the file contradict each other.
    """
    lines = text.splitlines()
    name = re.search(r"^Dataset Name:\s+(\S+)", text, re.MULTILINE)
    if name is None:
        raise ValueError("not an StRD file: no line gives the dataset name")
    rows = [line.split("=")[1].split() for line in lines[line_range(text, "Starting Values")]]
    start1, start2, certified, _ = np.array(rows, dtype=float).T
    y, *x = np.array([line.split() for line in lines[line_range(text, "Data")]], dtype=float).T
    if y.size != labelled_number(text, "Number of Observations"):
        raise ValueError(f"{name[1]}: {y.size} lines of data, but another number of observations")
    if not re.search(rf"^\s+{certified.size} Parameters\b", text, re.MULTILINE):
        raise ValueError(f"{name[1]}: {certified.size} lines of parameters, but another number of parameters")
    total = labelled_number(text, "Residual Sum of Squares")
    return Problem(name[1], y, np.array(x), np.array([start1, start2]), certified, total)


# --- fitting ------------------------------------------------------------------------------------------------------


class Residuals:
    """Residuals of a problem and their derivatives; the trace of the latest evaluation is kept."""

    def __init__(self, problem):
        self.model = MODELS[problem.name]
        self.response = RESPONSES.get(problem.name, np.asarray)(problem.y)
        self.predictors = [tfr.constant(row) for row in problem.x]
        self.basis = [tfr.constant(row) for row in np.eye(problem.certified.size)]
        self.runtime = tfr.default_runtime()
        self.beta = None

    def value(self, beta):
        """Return fitted minus observed response, shape ``(observations,)``."""
        self.beta = np.array(beta)
        self.leaf = tfr.variable(self.beta)
        self.fitted = self.model(*self.predictors, *(self.leaf[i] for i in range(self.beta.size)))
        return np.asarray(self.fitted.detach()) - self.response

    def jacobian(self, beta):
        """Return the Jacobian, shape ``(observations, parameters)``: one JVP for each column."""
        if not np.array_equal(beta, self.beta):
            self.value(beta)
        with tfr.no_grad():
            columns = [self.runtime.jvp(self.fitted, self.leaf, tangent) for tangent in self.basis]
        return np.stack([np.asarray(column) for column in columns], axis=1)

    def vjp(self, beta, cotangent):
        """Return the cotangent pulled back to the parameters, shape ``(parameters,)``."""
        self.value(beta)
        with tfr.no_grad():
            return np.asarray(self.runtime.vjp(self.fitted, self.leaf, tfr.constant(cotangent)))

    def disagreement(self, beta):
        """Return the relative difference of JVPs and VJP along a random cotangent."""
        cotangent = np.random.default_rng(0).standard_normal(self.response.size)
        jacobian = self.jacobian(beta)
        difference = np.abs(cotangent @ jacobian - self.vjp(beta, cotangent))
        return np.max(difference / (np.abs(cotangent) @ np.abs(jacobian)))


@dataclass(frozen=True)
class Fit:
    """Outcome of one fit."""

    beta: np.ndarray
    digits: float
    sum_of_squares: float
    iterations: int
    seconds: float
    disagreement: float


def certified_digits(beta, certified):
    """Return the log relative error of the worst parameter, at most the 11 digits that NIST certifies."""
    if not np.all(np.isfinite(beta)):
        return 0.0
    with np.errstate(divide="ignore"):
        digits = -np.log10(np.abs(beta - certified) / np.abs(certified))
    return float(np.clip(np.min(digits), 0.0, CERTIFIED_DIGITS))


def polish(residuals, beta, steps=60):
    """Take Gauss-Newton steps while they are small and get smaller: the solver's own tests stop earlier."""
    value = residuals.value(beta)
    limit = 1e-2 * np.linalg.norm(value)
    for count in range(steps):
        jacobian = residuals.jacobian(beta)
        scale = np.linalg.norm(jacobian, axis=0)
        if not (np.all(np.isfinite(scale)) and np.all(scale > 0)):
            return beta, count
        step = np.linalg.lstsq(jacobian / scale, value)[0] / scale
        size = np.linalg.norm(jacobian @ step)
        if not size < limit:
            return beta, count
        beta, limit = beta - step, size
        value = residuals.value(beta)
    return beta, steps


def fit(problem, start, method):
    """Fit `problem` from ``problem.starts[start]`` and return a `Fit`."""
    residuals = Residuals(problem)
    first = problem.starts[start]
    began = time.perf_counter()
    settings = {"x_scale": "jac", "ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15, "max_nfev": 5000}
    # Trial steps may overflow; the solver then shortens them.
    with np.errstate(over="ignore", invalid="ignore"):
        result = least_squares(residuals.value, first, residuals.jacobian, method=method, **settings)
    beta, polishing = polish(residuals, result.x)
    seconds = time.perf_counter() - began
    return Fit(
        beta=beta,
        digits=certified_digits(beta, problem.certified),
        sum_of_squares=float(np.sum(residuals.value(beta) ** 2)),
        iterations=result.njev + polishing,
        seconds=seconds,
        disagreement=max(residuals.disagreement(first), residuals.disagreement(problem.certified)),
    )


# --- reporting ----------------------------------------------------------------------------------------------------


def show_progress(text):
    """Overwrite the progress line; only a terminal gets one."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def fit_all(problems, method):
    """Fit every problem from both starts, print a row for each and return the fits by problem and start."""
    fits = {}
    print("problem    start  parameters  certified digits  iterations  seconds")
    for problem in problems:
        for start in (0, 1):
            show_progress(f"fit {len(fits) + 1} of {2 * len(problems)}: {problem.name}, start {start + 1}")
            done = fits[problem.name, start] = fit(problem, start, method)
            show_progress("")
            print(
                f"{problem.name:<10} {start + 1:>5}  {problem.certified.size:>10}  {done.digits:>16.1f}  "
                f"{done.iterations:>10}  {done.seconds:>7.3f}",
                flush=True,
            )
    return fits


def summarize(problems, fits, method):
    """Print what was reached and what was not; return whether everything required was reached."""
    good = True
    for problem in problems:
        for start in (0, 1):
            done = fits[problem.name, start]
            if done.digits < REQUIRED_DIGITS:
                good = good and start == 0
                print(
                    f"{problem.name}: {method} from start {start + 1} ended at other parameters, with a residual sum "
                    f"of squares of {done.sum_of_squares:.6g}; the certified one is {problem.sum_of_squares:.6g}"
                )
    for start in (0, 1):
        worst = min(problems, key=lambda p: fits[p.name, start].digits)
        print(f"fewest certified digits from start {start + 1}: {fits[worst.name, start].digits:.1f} ({worst.name})")
    disagreement = np.max([done.disagreement for done in fits.values()])
    print(f"largest relative difference of JVPs and VJP: {disagreement:.1e}")
    return good and disagreement <= JACOBIAN_TOLERANCE


def save_picture(path, problems, fits):
    """Draw data and fits from start 2, one panel for each problem, if matplotlib is installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no picture: matplotlib is not installed")
        return
    figure = Figure(figsize=(18, 9), layout="constrained")
    for panel, problem in zip(figure.subplots(3, 6).flat, problems, strict=True):
        residuals = Residuals(problem)
        grid = np.linspace(problem.x[0].min(), problem.x[0].max(), 400)
        panel.plot(problem.x[0], residuals.response, ".", color="tab:gray", markersize=4)
        for others in np.unique(problem.x[1:], axis=1).T:
            residuals.predictors = [tfr.constant(np.broadcast_to(row, grid.shape)) for row in (grid, *others)]
            residuals.response = 0.0
            panel.plot(grid, residuals.value(fits[problem.name, 1].beta), linewidth=1)
        panel.set_title(f"{problem.name}, {fits[problem.name, 1].digits:.1f} digits", fontsize=9)
        panel.tick_params(labelsize=7)
    figure.savefig(path)
    print(f"picture: {path}")


def main(arguments=None):
    """Run the example and return its exit status."""
    parser = argparse.ArgumentParser(description="Fit NIST's nonlinear regression problems.")
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}, and no picture")
    parser.add_argument("--method", choices=("trf", "lm", "dogbox"), default="trf", help="solver (default: trf)")
    parser.add_argument("--picture", type=Path, default=Path("nist_fits.png"), metavar="FILE", help="picture to save")
    options = parser.parse_args(arguments)
    problems = [parse((DATA / f"{name}.dat").read_text()) for name in (QUICK if options.quick else MODELS)]
    fits = fit_all(problems, options.method)
    good = summarize(problems, fits, options.method)
    if not options.quick:
        save_picture(options.picture, problems, fits)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
