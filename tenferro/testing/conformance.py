"""The conformance kit: whether an engine does what engines promise, for every operation."""

import threading
import time

import numpy as np

from .. import errors
from .._core.engine import ExecutionEngine
from .._core.state import EagerRuntime
from . import examples as table
from .drift import drift
from .gradcheck import check_grads
from .report import Failure, Report, Row

RIGHT = ("C", "F", "strided", "reversed", "broadcast", "0-d", "empty", "special")
THREADS = 4
PATIENCE = 300
"""Seconds after which threads that have not finished count as stuck."""

_SINGLE = ("float32", "complex64")
_LOOSE = {"atol": 5e-3, "rtol": 5e-3}


class Outcome:
    """What a call gave: arrays or an exception."""

    def __init__(self, f, *args):
        self.arrays = self.error = None
        try:
            with np.errstate(all="ignore"):
                self.arrays = f(*args)
        except Exception as error:
            self.error = error

    @property
    def unsupported(self):
        return isinstance(self.error, errors.UnsupportedError)

    def __str__(self):
        if self.error is not None:
            return f"{type(self.error).__name__}: {self.error}"
        return ", ".join(f"{a.dtype}{list(a.shape)}" for a in self.arrays) or "nothing"


def tolerance(dtype, name):
    """Of results against those of the serial CPU engine, relative and absolute."""
    if dtype.kind not in "fc":
        return 0
    single = dtype.name in _SINGLE
    return (1e-4 if single else 1e-10) * (10 if name.startswith("linalg.") else 1)


def difference(found, expected, name):
    """The check that fails and how outcomes differ, or None."""
    if expected.error is not None or found.error is not None:
        same = type(found.error) is type(expected.error)
        return None if same else ("errors", f"expected {expected}\nfound {found}")
    if len(found.arrays) != len(expected.arrays):
        return "values", f"expected {len(expected.arrays)} results\nfound {len(found.arrays)}"
    for check, get in (("dtypes", lambda a: a.dtype), ("shapes", lambda a: a.shape)):
        if [get(a) for a in found.arrays] != [get(a) for a in expected.arrays]:
            return check, f"expected {expected}\nfound {found}"
    for a, b in zip(found.arrays, expected.arrays, strict=True):
        if a.tobytes() == b.tobytes():
            continue
        allowed = tolerance(b.dtype, name)
        with np.errstate(all="ignore"):
            if not np.allclose(a, b, allowed, allowed, equal_nan=True):
                return "values", f"expected {_short(b)}\nfound {_short(a)}\nallowed: {allowed:g}, relative and absolute"
    return None


def _short(a):
    return np.array2string(a, threshold=12, edgeitems=3).replace("\n", "")


def _bits(arrays):
    return [(a.dtype, a.shape, a.tobytes()) for a in arrays]


class Kit:
    """A run of the kit over one engine."""

    def __init__(self, engine, names, dtypes, thorough, seed):
        self.engine, self.names, self.dtypes, self.thorough, self.seed = engine, names, dtypes, thorough, seed
        self.host = engine.kind == table.HOST
        self.told = _told(engine)
        self.code = f"engine = tenferro.engine({engine.name!r})"
        self.rt = EagerRuntime()
        self.row = None

    def run(self):
        start = time.perf_counter()
        report = Report(self.engine.name, self.engine.kind, self.thorough, self.told)
        report.rows += [self.operation(name) for name in self.names]
        report.rows.append(self.whole())
        report.seconds = time.perf_counter() - start
        return report

    def fail(self, check, message, example="", code=""):
        self.row.failures.append(Failure(self.row.operation, check, str(example), message, f"{self.code}; {code}"))

    def expect(self, check, example, found, expected):
        """Compare outcomes; whether the engine supports it and is right."""
        if found.unsupported and not expected.unsupported:
            self.row.unsupported.setdefault(f"{example.dtype} {check}", str(found.error))
            return False
        self.row.checks += 1
        self.row.computed += any(a.size for a in found.arrays or ())
        wrong = difference(found, expected, example.operation)
        if wrong is None:
            return True
        code = f"{example.code}.on(engine)"
        self.fail(wrong[0] if check == "values" else check, wrong[1], example, code)
        return False

    # ---- one operation -----------------------------------------------------------------------------------------------

    def operation(self, name):
        self.row = Row(name, self.told.get(name))
        wrong_calls = False
        for dtype in self.dtypes:
            for example in self.examples(name, dtype, RIGHT):
                self.values(example)
            for example in self.examples(name, dtype, table.WRONG) if dtype == self.dtypes[0] or self.thorough else ():
                self.values(example)
                wrong_calls = True
        for dtype in sorted(self.dtypes, key=_SINGLE.count):
            if np.dtype(dtype).kind in "fc":
                self.derivatives(name, dtype)
        if wrong_calls:
            self.recovery(name)
        return self.row

    def examples(self, name, dtype, layouts, seeds=None):
        """Examples of an operation. A thorough run has some for more random numbers."""
        for seed in range(self.seed, self.seed + (seeds or (3 if self.thorough else 1))):
            for sample in range(table.count(name)):
                for layout in layouts:
                    if layout == "index out of range" and not getattr(self.engine, "checks_indices", True):
                        continue
                    try:
                        yield table.example(name, dtype, layout, sample, seed)
                    except table.NoExampleError:
                        continue

    def on(self, example):
        return Outcome(example.on, self.engine, self.rt)

    def values(self, example):
        """The results are those of the serial CPU engine, again and again, and the arguments as they were."""
        expected = Outcome(example.expected)
        before = _bits(example.arrays)
        found = self.on(example)
        if not self.expect("values", example, found, expected):
            return
        code = f"{example.code}.on(engine)"
        if _bits(example.arrays) != before:
            self.fail("inputs", "the operation changed its arguments", example, code)
        elif found.error is None and not self.same(example, found):
            self.fail("determinism", "the same call gave other bits the second time", example, code)

    def same(self, example, found):
        again = self.on(example)
        return again.error is None and _bits(again.arrays) == _bits(found.arrays)

    def recovery(self, name):
        """After calls that were wrong, a right one gives what it gave before."""
        right = next(self.examples(name, self.dtypes[-1], ["C"]), None)
        if right is None:
            return
        for wrong in self.examples(name, self.dtypes[-1], table.WRONG):
            self.on(wrong)
        self.expect("recovery", right, self.on(right), Outcome(right.expected))

    # ---- derivatives -------------------------------------------------------------------------------------------------

    def derivatives(self, name, dtype):
        single = dtype in _SINGLE
        layouts = ("C", "F", "strided", "reversed") if self.thorough else ["F"] if single else ["strided"]
        for example in self.examples(name, dtype, layouts):
            if not example.arrays or self.row.failures:
                continue
            if not single or self.thorough:
                self.gradients(example, single)
            if self.host and not self.row.failures:
                self.mixing(example)

    def gradients(self, example, single):
        """VJP and JVP of the engine agree with differences, to second order."""
        f = self.function(example)
        options = _LOOSE if single and example.operation.startswith("linalg.") else {}
        try:
            with np.errstate(all="ignore"):
                check_grads(f, example.arrays, order=2, engine=self.engine, **options)
        except AssertionError as error:
            self.fail("gradients", str(error), example, self.gradient_code(example))
        except errors.UnsupportedError as error:
            self.row.unsupported.setdefault(f"{example.dtype} gradients", str(error))
            return
        except Exception as error:
            self.as_serial(example, error, f, options)
        self.row.checks += 1

    def as_serial(self, example, error, f, options):
        """An error of the gradient check has to be that of the serial CPU engine."""
        with table.serial_session() as s:
            expected = Outcome(lambda: check_grads(f, example.arrays, order=2, engine=s.engine, **options)).error
        if type(expected) is not type(error):
            wanted = "no error" if expected is None else type(expected).__name__
            self.fail("gradients", f"expected {wanted}\nfound {type(error).__name__}: {error}", example,
                      self.gradient_code(example))

    @staticmethod
    def gradient_code(example):
        return f"e = {example.code}; tenferro.testing.check_grads(e.call.function(e.function), e.arrays, engine=engine)"

    @staticmethod
    def function(example):
        return example.call.function(example.function)

    def mixing(self, example):
        """One engine computes and the other differentiates; everything is what one engine gives."""
        with table.serial_session() as s:
            serial = s.engine
        expected = Outcome(take_turns, example, serial, serial, serial, self.rt)
        for engines in ((self.engine, serial, serial), (serial, self.engine, serial), (self.engine, serial, self.engine)):
            found = Outcome(take_turns, example, *engines, self.rt)
            names = ", ".join(e.name for e in engines)
            if found.unsupported:
                self.row.unsupported.setdefault(f"{example.dtype} gradients", str(found.error))
                return
            self.row.checks += 1
            wrong = difference(found, expected, example.operation)
            if wrong:
                self.fail("mixing", f"engines that took turns (operation, loss, gradient): {names}\n{wrong[1]}", example,
                          f"from tenferro.testing.conformance import take_turns; cpu = tenferro.engine('cpu'); "
                          f"take_turns({example.code}, {', '.join('engine' if e is self.engine else 'cpu' for e in engines)})")
                return

    # ---- the engine --------------------------------------------------------------------------------------------------

    def whole(self):
        """What belongs to no operation."""
        self.row = Row("engine")
        self.identity()
        self.threads()
        return self.row

    def require(self, condition, message, code):
        self.row.checks += 1
        if not condition:
            self.fail("identity", message, code=code)

    def identity(self):
        engine, again = self.engine, self.engine.context_id
        for field in ("name", "kind"):
            value = getattr(engine, field)
            self.require(isinstance(value, str) and value, f"{field} is {value!r}, not a text", f"engine.{field}")
        self.require(again == engine.context_id and _hashable(again), "context_id is not one hashable value",
                     "engine.context_id")
        departures = drift(engine)
        self.require(not departures, "\n".join(departures), "tenferro.testing.drift.drift(engine)")
        if self.host:
            with table.serial_session() as s:
                own = s.engine.context_id
            self.require(again == own, f"an engine of host memory has the context_id {own!r}, not {again!r}",
                         "engine.context_id")
        if self.row.failures:
            return
        other = ExecutionEngine("other", engine.kind, object())
        refused = Outcome(lambda: _open(engine, engine, other))
        self.require(refused.unsupported, f"one runtime accepted two identities of kind {engine.kind!r}", "engine.context_id")

    def threads(self):
        """Python threads that share the engine compute what one computes."""
        todo = []
        for name in self.names:
            for example in self.examples(name, "float64", ["C"], THREADS):
                alone = self.on(example)
                todo += [(example, alone)] if alone.error is None else []
        found, rounds = [], 3 if self.thorough else 1

        def work(k):
            for n in range(rounds * len(todo)):
                example, alone = todo[(n + k * len(todo) // THREADS) % len(todo)]
                wrong = difference(self.on(example), alone, example.operation)
                if wrong:
                    found.append((example, wrong[1]))
                    return

        started = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(THREADS)]
        for thread in started:
            thread.start()
        end = time.monotonic() + PATIENCE
        for thread in started:
            thread.join(max(0, end - time.monotonic()))
        self.row.checks += THREADS * rounds * len(todo)
        if any(thread.is_alive() for thread in started):
            self.fail("threads", f"{THREADS} threads have not finished after {PATIENCE} s")
        for example, message in found[:1]:
            self.fail("threads", f"with {THREADS} threads at once\n{message}", example, f"{example.code}.on(engine)")


def take_turns(example, computes, continues, differentiates, runtime=None):
    """Results, loss and gradients of one runtime in which engines take turns."""
    rt = runtime or EagerRuntime()
    with rt.session(computes) as s:
        xs = [rt.variable_from(table.put(s, a)) if a.dtype.kind in "fc" else table.put(s, a) for a in example.arrays]
        ys = table.tensors(example.call.function(example.function)(*xs))
    with rt.session(continues) as s:
        ys = [s.mul(y, y) for y in ys]
    ys = [y for y in ys if y.tracks_grad]
    wrt = [x for x in xs if x.tracks_grad]
    found = rt.vjp_optional(ys, wrt, [np.ones(y.shape, y.dtype) for y in ys], engine=differentiates) if ys and wrt else []
    return [table.get(t) for t in [*ys, *found] if t is not None]


def _open(*engines):
    rt = EagerRuntime()
    for engine in engines:
        with rt.session(engine):
            pass


def _hashable(value):
    return Outcome(hash, value).error is None


def _told(engine):
    """What ``engine.support()`` says: name of an operation -> words; nothing for an engine that does not tell."""
    support = getattr(engine, "support", None)
    said = support() if callable(support) else {}
    return {name: str(state) for name, state in dict(said).items()}


def _chosen(given, known, what):
    given = [given] if isinstance(given, str) else given
    chosen = list(known) if given is None else [str(name) for name in given]
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        raise errors.ValidationError(f"unknown {what}: {', '.join(unknown) or 'none given'}", op="check_engine", argument=what)
    return chosen


def check_engine(engine, *, operations=None, dtypes=None, thorough=False, seed=0, raise_on_failure=False):
    """Check that an engine does what engines promise.

    Every operation runs on samples of every dtype in every memory layout, empty, 0-d and with NaN and infinities. Values,
    shapes, dtypes and errors are compared with those of the serial CPU engine on compact arrays; derivatives of both modes
    with differences, to second order. Calls are repeated for the same bits, wrong calls must leave the engine usable, Python
    threads share it, and an engine of host memory takes turns with the CPU engine in one runtime. What raises
    ``UnsupportedError`` counts as unsupported, not as a failure.

    Parameters
    ----------
    engine : ExecutionEngine
    operations : sequence of str, optional
        Names such as ``"exp"`` and ``"linalg.svd"``, by default all.
    dtypes : sequence of str, optional
        By default all.
    thorough : bool
        More random numbers, layouts and dtypes for derivatives, and rounds of threads.
    seed : int
        Of the random numbers.
    raise_on_failure : bool
        Raise AssertionError with the report as its message if the engine fails.

    Returns
    -------
    Report

    Raises
    ------
    ValidationError
        Unknown operations or dtypes.
    UnsupportedError
        `engine` is no engine.

    Examples
    --------
    >>> import tenferro as tfr
    >>> report = tfr.testing.check_engine(tfr.default_engine(), operations=["trunc"], dtypes=["float64"])
    >>> report.ok
    True
    """
    if not isinstance(engine, ExecutionEngine):
        raise errors.UnsupportedError(f"{engine!r} is no engine; open one with tenferro.engine", op="check_engine",
                                      engine=type(engine).__name__)
    names = _chosen(operations, table.operations(), "operations")
    dtypes = _chosen(None if dtypes is None else np.atleast_1d(dtypes), table.DTYPES, "dtypes")
    report = Kit(engine, names, dtypes, thorough, seed).run()
    return report.raise_on_failure() if raise_on_failure else report
