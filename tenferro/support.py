"""The support manifest: what every public operation can do, as data.

A row is derived, not written: the operation runs on its samples (`tenferro.testing.samples`), and every primitive on the
trace, on that of its VJP and on that of its JVP is looked up in the operation table and among the rules of the extension
modules. By hand are only ``EXCEPTIONS``, what a sample cannot show, and ``WHY``, the words for what is derived.
"""

from dataclasses import asdict, dataclass, field

import numpy as np

from . import fft, linalg
from ._core.eager import EagerTensor
from ._core.rule import table
from ._core.state import EagerRuntime
from .errors import DTypeMismatchError, TenferroError
from .operations import FAMILIES, PUBLIC
from .testing.samples import samples

__all__ = ["COLUMNS", "DERIVATIVES", "STATES", "Row", "as_data", "functions", "manifest", "module_operations", "modules"]

SUPPORTED, PARTIAL, NOT_DIFFERENTIABLE, UNSUPPORTED = STATES = (
    "supported", "partial", "not differentiable", "unsupported")
COLUMNS = ("vjp", "jvp", "second_order", "real", "complex")
DERIVATIVES = COLUMNS[:3]
"""The columns that have a state."""

_REAL, _COMPLEX = ("float32", "float64"), ("complex64", "complex128")
_SINGLE = ("float32", "complex64")      # have the rules of double precision
_NO_COMPLEX, _NO_SAMPLE = "real numbers only", "no sample in tenferro.testing.samples"

# operation: where it has no derivatives, which no sample shows and which makes them "partial"
EXCEPTIONS = {
    "linalg.svd": "the null space that full_matrices=True adds to matrices that are not square is not determined: "
                  "differentiating its vectors raises UnsupportedAdRuleError",
    "linalg.lu": "P is a constant; where one of the first min(M, N) pivots is zero, L and U get finite numbers that mean "
                 "nothing",
    "linalg.qr": "differentiating the columns that mode \"complete\" adds raises UnsupportedAdRuleError; where the first "
                 "min(M, N) columns are linearly dependent, derivatives are right for M <= N and for what does not depend on "
                 "the basis that rounding chose, otherwise finite numbers that mean nothing",
    "linalg.polar": "for a matrix without full rank, the result is finite numbers that mean nothing",
    "linalg.eig": "differentiating raises LinAlgError for a matrix that is defective to rounding",
    "linalg.eigvals": "differentiating raises LinAlgError for a matrix that is defective to rounding",
    "linalg.pinv": "for a matrix without full rank, the result is that for changes that keep the rank",
    "linalg.lstsq": "rank and singular_values are constants; for a matrix without full rank, the result is that for changes "
                    "that keep the rank",
    "linalg.slogdet": "differentiating raises LinAlgError for a singular matrix",
    "linalg.sqrtm": "differentiating raises LinAlgError for a singular matrix",
}
# operation: why its derivatives are not "supported", better than what can be derived
WHY = {
    "nonzero": "the results are positions",
    "linalg.matrix_rank": "a rank is an integer",
    "topk": "the positions are integers; the values are differentiable",
    "unique": "positions and counts are integers; the elements are differentiable",
}


@dataclass(frozen=True)
class Row:
    """One operation.

    `vjp`, `jvp`, `second_order`, `real` and `complex` are "supported", "partial", "not differentiable" or "unsupported";
    `engines` maps names of engines to such states, and `reasons` columns or names of engines to what a state other than
    "supported" means. `primitives` are the operations of the table and of extension modules that it is made of. `routes`
    tells of engines over namespaces who computes these: name of the engine -> primitive -> "own", "native", "composed" or
    "host", as in `NamespaceEngine.support`.

    Parameters
    ----------
    operation, family : str
        Name of the operation and of its family.
    vjp, jvp, second_order, real, complex : str
        "supported", "partial", "not differentiable" or "unsupported".
    engines : dict
        Name of the engine -> such a state.
    primitives : tuple of str
        Operations of the table and of extension modules that it is made of.
    reasons : dict
        Name of the column or engine -> what a state other than "supported" means.
    routes : dict
        For engines over namespaces, name of the engine -> primitive -> "own", "native", "composed" or "host", as in
        `NamespaceEngine.support`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> states = dict.fromkeys(("vjp", "jvp", "second_order", "real", "complex"), "supported")
    >>> tfr.support.Row("exp", "analytic", **states, engines={"cpu": "supported"}, primitives=("exp",)).vjp
    'supported'
    """

    operation: str
    family: str
    vjp: str
    jvp: str
    second_order: str
    real: str
    complex: str
    engines: dict
    primitives: tuple
    reasons: dict = field(default_factory=dict)
    routes: dict = field(default_factory=dict)


def functions():
    """All public operations by family.

    Returns
    -------
    dict
        Family -> name -> function. One that has several names is there once.

    Examples
    --------
    >>> import tenferro as tfr
    >>> list(tfr.support.functions()["rounding"])
    ['floor', 'ceil', 'round', 'trunc']
    """
    found = {family: dict(operations) for family, operations in FAMILIES.items()}
    known = set(PUBLIC.values())
    for family, module in (("linear algebra", linalg), ("Fourier transforms", fft)):
        prefix = module.__name__.rpartition(".")[2]
        own = {name: getattr(module, name) for name in sorted(module.__all__)}
        found[family] = {f"{prefix}.{name}": f for name, f in own.items()
                         if callable(f) and not isinstance(f, type) and f not in known and f is not linalg.gauge_warnings}
    return found


def modules():
    """The extension modules that come with the library.

    Returns
    -------
    tuple

    Examples
    --------
    >>> import tenferro as tfr
    >>> [module.module_id for module in tfr.support.modules()]
    ['tenferro.linalg.v1', 'tenferro.fft.v1']
    """
    from .linalg.common import MODULE
    return [*MODULE, fft.MODULE]


class _Registrar:
    """Notes the rules that a module declares."""

    def __init__(self, module):
        self.family, _, self.version = module.module_id.rpartition(".")
        self.rules = {}
        module.configure(self)

    def name(self, name):
        return f"{self.family}.{name}.{self.version}"

    def operation(self, name, shape_rule, dtype_rule):
        self.rules.setdefault(self.name(name), (False, False))

    def rule(self, name, vjp=None, jvp=None):
        self.rules[self.name(name)] = (vjp is not None, jvp is not None)

    def executor(self, name, kind, f):
        """Whether an engine has what it needs is seen by running."""


def module_operations():
    """The operations of the extension modules that come with the library.

    Returns
    -------
    dict
        Full name -> whether it has a VJP and a JVP rule.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.support.module_operations()["tenferro.fft.c2c.v1"]
    (True, True)
    """
    return {name: rules for m in modules() for name, rules in _Registrar(m).rules.items()}


class _Rules:
    """Which primitives have rules."""

    def __init__(self):
        self.primitive = {(op, i): (vjp, jvp) for op, i, vjp, jvp in table()}
        self.extension = module_operations()

    def missing(self, nodes, mode):
        """What on a trace has no rule for a mode."""
        return sorted({node.op for node in nodes for i, source in enumerate(node.inputs)
                       if source is not None and not self.of(node.op, i)[mode]})

    def of(self, op, i):
        return self.extension.get(op) or self.primitive.get((op, i)) or self.primitive.get((op, 7), (False, False))


def _flat(outputs):
    """The tensors among results, which may be nested."""
    if isinstance(outputs, EagerTensor):
        return [outputs]
    return [y for item in outputs for y in _flat(item)] if isinstance(outputs, (list, tuple)) else []


def _nodes(tensors):
    return [node for y in tensors if y is not None and y.tracks_grad for node in y.runtime.draw(y, max_nodes=10**6).nodes
            if not node.leaf]


class _Trial:
    """A sample that ran with tracked arguments: what was traced, and what is missing for derivatives."""

    def __init__(self, f, sample, rules, session=None):
        self.session = session
        self.rt = session.runtime if session else EagerRuntime()
        self.rules = rules
        self.xs = [self.leaf(a) for a in sample.arrays]
        with self.rt.profile() as seen:
            outputs = _flat(sample.run(f, self.xs))
        self.kinds = {y.dtype.kind for y in outputs}
        self.ys = [y for y in outputs if y.tracks_grad]
        self.constants = len(outputs) - len(self.ys)
        trace = _nodes(self.ys)
        self.primitives = {node.op for node in trace} | {row.op for row in seen.rows()} - {"alias", "copy"}
        vjp, jvp = rules.missing(trace, 0), rules.missing(trace, 1)
        self.missing = {"vjp": vjp, "jvp": jvp, "second_order": sorted({*vjp, *jvp})}
        self.one_mode = bool(vjp) != bool(jvp)
        self.zero = False

    def leaf(self, a):
        """A tracked tensor in the memory of the session's engine."""
        return self.rt.variable_from(self.session.constant_from_host(a) if self.session else a)

    def differentiate(self):
        """Apply the rules and look at what they trace."""
        ys, xs, found = self.ys, self.xs, []
        if ys and not self.missing["vjp"]:
            found += self.rt.vjp_optional(ys, xs, [self.leaf(np.ones(y.shape, y.dtype)) for y in ys])
        if ys and not self.missing["jvp"]:
            for x in xs:
                found += self.rt.jvp_optional(ys, [x], [self.leaf(np.ones(x.shape, x.dtype))])
        self.zero = not self.missing["second_order"] and not any(t is not None and t.tracks_grad for t in found)
        trace = _nodes(found)
        self.primitives |= {node.op for node in trace}
        missing = {*self.rules.missing(trace, 0), *self.rules.missing(trace, 1)}
        self.one_mode = self.one_mode and not missing
        self.missing["second_order"] = sorted({*self.missing["second_order"], *missing})
        return self


def _trials(name, f, dtypes, rules):
    """The trials of an operation for some dtypes, and the errors of those that did not run."""
    done, failed = [], []
    for dtype in dtypes:
        for sample in samples(name, dtype):
            try:
                trial = _Trial(f, sample.prepared(), rules)
                done.append(trial if dtype in _SINGLE else trial.differentiate())
            except TenferroError as error:
                failed.append(error)
    return done, failed


def _said(error):
    return f"{type(error).__name__}: {error}"


def _constant_reason(trials):
    """Why there is no derivative."""
    if not any(t.xs for t in trials):
        return "no argument is a tensor"
    kinds = set().union(*[t.kinds for t in trials])
    if kinds == {"b"}:
        return "the result is bool"
    return "the results are integers" if kinds <= set("iub") else "piecewise constant: the derivative is zero"


def _derivative(column, trials):
    """State and reason of one kind of derivative."""
    missing = sorted({op for t in trials for op in t.missing[column]})
    if missing:
        partly = any(not t.missing[column] or (column == "second_order" and t.one_mode) for t in trials)
        return PARTIAL if partly else UNSUPPORTED, f"no rule: {', '.join(missing)}"
    if not any(t.ys for t in trials) or all(t.zero for t in trials):
        return NOT_DIFFERENTIABLE, _constant_reason(trials)
    if any(t.constants for t in trials if t.ys):
        return PARTIAL, "some results are constants"
    return SUPPORTED, None


def _kind(done, failed, other):
    """State and reason of real or complex numbers."""
    if not done:
        expected = other and all(isinstance(e, DTypeMismatchError) for e in failed)
        return UNSUPPORTED, _NO_COMPLEX if expected else _said(failed[0]) if failed else _NO_SAMPLE
    if failed:
        return PARTIAL, _said(failed[0])
    if any(t.ys for t in other) and not any(t.ys for t in done):
        return PARTIAL, "computed, but without derivatives"
    return SUPPORTED, None


def _runs(name, f, engine, dtype, rules):
    """State and reason of one engine."""
    ran, given = 0, samples(name, dtype)
    try:
        with EagerRuntime().session(engine) as s:
            for sample in given:
                trial = _Trial(f, sample.prepared(), rules, s)
                ran += 1
                trial.differentiate()
    except TenferroError as error:
        return PARTIAL if ran else UNSUPPORTED, _said(error)
    return (SUPPORTED, None) if given else (UNSUPPORTED, _NO_SAMPLE)


def _routes(engines, primitives):
    """Who computes primitives, for the engines that tell."""
    told = {e.name: e.support() for e in engines if hasattr(e, "support")}
    return {name: {p: routes[p] for p in sorted(primitives) if p in routes} for name, routes in told.items()}


def _row(name, family, f, engines, rules):
    real, no_real = _trials(name, f, _REAL, rules)
    compl, no_complex = _trials(name, f, _COMPLEX, rules)
    trials = [t for t in real + compl if not t.xs or t.xs[0].dtype.name not in _SINGLE]
    found = {column: _derivative(column, trials) if trials else (UNSUPPORTED, _NO_SAMPLE) for column in DERIVATIVES}
    if name in WHY:
        found = {c: (state, WHY[name] if reason else None) for c, (state, reason) in found.items()}
    if name in EXCEPTIONS:
        found = dict.fromkeys(DERIVATIVES, (PARTIAL, EXCEPTIONS[name]))
    found["real"], found["complex"] = _kind(real, no_real, []), _kind(compl, no_complex, real)
    on = {e.name: _runs(name, f, e, "float64" if real else "complex128", rules) for e in engines}
    primitives = set().union(*[t.primitives for t in trials])
    return Row(name, family, **{c: found[c][0] for c in COLUMNS}, engines={e: state for e, (state, _) in on.items()},
               primitives=tuple(sorted(primitives)), routes=_routes(engines, primitives),
               reasons={c: reason for c, (_, reason) in {**found, **on}.items() if reason})


def _available():
    """Every engine that can be opened here."""
    from ._engines import engine, engines
    found = []
    for record in engines():
        if record.available:
            try:
                found.append(engine(record.spec))
            except TenferroError:       # it said that it could; opening it by name says why not
                continue
    return found


def manifest(engines=None):
    """One `Row` for every public operation, those of ``tenferro.linalg`` and ``tenferro.fft`` included.

    Parameters
    ----------
    engines : sequence of ExecutionEngine, optional
        The engines that the rows tell about, by default all of `tenferro.engines()` that can be opened here.

    Returns
    -------
    list of Row
        In the order of the families. It takes a few seconds: every operation is tried.

    Examples
    --------
    >>> import tenferro as tfr
    >>> rows = tfr.support.manifest()
    >>> [row.vjp for row in rows if row.operation == "exp"]
    ['supported']
    """
    engines = _available() if engines is None else list(engines)
    rules = _Rules()
    return [_row(name, family, f, engines, rules) for family, operations in functions().items()
            for name, f in operations.items()]


def as_data(rows):
    """Rows as plain data for JSON.

    Parameters
    ----------
    rows : sequence of Row
        From `manifest`.

    Returns
    -------
    list of dict

    Raises
    ------
    TypeError
        What is no row.

    Examples
    --------
    >>> import tenferro as tfr
    >>> states = dict.fromkeys(("vjp", "jvp", "second_order", "real", "complex"), "supported")
    >>> row = tfr.support.Row("exp", "analytic", **states, engines={"cpu": "supported"}, primitives=("exp",))
    >>> tfr.support.as_data([row])[0]["engines"]
    {'cpu': 'supported'}
    """
    return [asdict(row) for row in rows]


def __dir__():
    return __all__
