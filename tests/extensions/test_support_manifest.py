"""Every public operation can do what the support manifest says, and cannot do what it denies."""

import json
from functools import cache

import numpy as np
import pytest
from oracles import oracle
from support import random_layout, value
from variants import VARIANTS

import tenferro as tfr
from tenferro import errors, support
from tenferro.testing import check_grads
from tenferro.testing import samples as table

la = tfr.linalg
NAMES = [name for operations in support.functions().values() for name in operations]
FUNCTIONS = {name: f for operations in support.functions().values() for name, f in operations.items()}
DOUBLE, SINGLE = ("float64", "complex128"), ("float32", "complex64")
UNREACHED = {"svd_full", "null_space", "cofactor_curvature"}
"""Operations of the extension modules that samples do not reach: for null spaces and third derivatives."""


@cache
def rows():
    return {row.operation: row for row in support.manifest()}


def layout(seed):
    """Every array in another layout."""
    rng = np.random.default_rng(seed)
    return lambda a: random_layout(a, rng)


# ---- what there is ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", NAMES)
def test_every_operation_has_samples(name):
    assert name in table.SAMPLES, f"give {name} a line in tenferro/testing/samples.py"


def test_every_sample_is_of_an_operation():
    assert set(table.SAMPLES) <= set(NAMES)
    assert set(support.EXCEPTIONS) | set(support.WHY) <= set(NAMES)


def test_every_operation_has_a_row():
    assert list(rows()) == NAMES
    for row in rows().values():
        states = {c: getattr(row, c) for c in support.COLUMNS}
        assert set(states.values()) | set(row.engines.values()) <= set(support.STATES)
        assert set(row.engines) == {record.name for record in tfr.engines() if record.available}
        assert {c for c, state in {**states, **row.engines}.items() if state != "supported"} == set(row.reasons)
        assert "sample" not in "".join(row.reasons.values())


class Noting:
    """A module that notes which of its operations run."""

    def __init__(self, module):
        self.module_id, self.configure_module, self.ran = module.module_id, module.configure, set()

    def configure(self, registrar):
        self.registrar = registrar
        self.operation, self.rule = registrar.operation, registrar.rule
        self.configure_module(self)

    def executor(self, name, kind, f):
        def noting(*args, **params):
            self.ran.add(name)
            return f(*args, **params)
        self.registrar.executor(name, kind, noting)


def test_every_operation_of_a_module_is_reached():
    """By the samples or their first and second derivatives."""
    reached = {name.split(".")[-2] for row in rows().values() for name in row.primitives if name.count(".") > 1}
    rt, module = tfr.default_runtime(), linalg_module()
    noting = Noting(module)
    rt.install_extension_module(noting)
    try:
        for name in NAMES:
            for sample in table.samples(name) if name.startswith("linalg.") else ():
                prepared = sample.prepared()
                prepared.run(FUNCTIONS[name], prepared.arrays)
                if rows()[name].vjp != "not differentiable":
                    check_grads(sample.function(FUNCTIONS[name]), sample.arrays)
    finally:
        rt.install_extension_module(module)
    left = {name.split(".")[-2] for name in support.module_operations()} - reached - noting.ran
    assert left <= UNREACHED, "give samples that reach them"


def linalg_module():
    return next(m for m in support.modules() if "linalg" in m.module_id)


def test_rows_are_plain_data():
    data = json.loads(json.dumps(support.as_data(rows().values())))
    assert data[0]["operation"] == "add"
    assert data[0]["engines"].items() >= {"cpu": "supported", "cpu-threads": "supported"}.items()
    assert {"add", "broadcast_to", "reduce_sum"} <= set(data[0]["primitives"])


def test_command(capsys, monkeypatch):
    from tenferro.__main__ import main

    monkeypatch.setattr(support, "manifest", lambda: list(rows().values()))
    assert main(["support", "--json"]) == 0
    assert [row["operation"] for row in json.loads(capsys.readouterr().out)] == NAMES
    assert main(["support"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("cbrt:") + 1] == "  unsupported (complex): real numbers only"
    assert "exp:" not in lines


def test_some_states():
    def states(name):
        return [getattr(rows()[name], c) for c in support.COLUMNS]

    assert states("exp") == ["supported"] * 5
    assert states("cbrt") == [*["supported"] * 4, "unsupported"]
    assert states("floor") == [*["not differentiable"] * 3, "supported", "unsupported"]
    assert states("argsort") == [*["not differentiable"] * 3, "supported", "supported"]
    assert states("linalg.svd") == [*["partial"] * 3, "supported", "supported"]


# ---- that it is true -------------------------------------------------------------------------------------------------

def kind_of(dtype):
    return "complex" if np.dtype(dtype).kind == "c" else "real"


def check(name, dtype, seed):
    row, f = rows()[name], FUNCTIONS[name]
    for sample in table.samples(name, dtype, seed, layout(seed)):
        if getattr(row, kind_of(dtype)) == "unsupported":
            with pytest.raises(errors.DTypeMismatchError):
                sample.run(f, sample.arrays)
            continue
        check_values(name, f, sample)
        if row.vjp in ("supported", "partial"):
            assert row.jvp == row.second_order == row.vjp
            check_derivatives(name, f, sample, dtype)
        else:
            check_no_derivative(f, sample, row)


def tolerance(dtype):
    return 1e-4 if dtype in SINGLE else 1e-9


def flat(y):
    """Arrays among results."""
    if isinstance(y, (list, tuple)):
        return [a for item in y for a in flat(item)]
    return [value(y) if isinstance(y, tfr.EagerTensor) else np.asarray(y)]


def in_order(name, y):
    """Eigenvalues, and vectors with them, in one order."""
    if name not in ("linalg.eig", "linalg.eigvals"):
        return y
    w, *v = [a.copy() for a in flat(y)]
    order = np.argsort(w)
    return tuple(tfr.constant(a[..., order]) for a in (w, *v)) if v else tfr.constant(w[order])


def check_values(name, f, sample):
    expected_by = oracle(name)
    assert expected_by is not None, f"name an oracle of {name} in tests/oracles.py"
    after = sample.after or (lambda y: y)
    sample = sample.prepared()
    found = sample.run(f, sample.arrays)
    expected = sample.run(expected_by, sample.arrays)
    if sample.after is not None:
        expected = [tfr.constant(a) for a in expected] if isinstance(expected, tuple) else tfr.constant(expected)
    found, expected = flat(after(in_order(name, found))), flat(after(in_order(name, expected)))
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance(a.dtype.name), atol=tolerance(a.dtype.name))


def check_derivatives(name, f, sample, dtype):
    loose = {"atol": 5e-3, "rtol": 5e-3} if dtype in SINGLE and name.startswith("linalg.") else {}
    check_grads(sample.function(f), sample.arrays, order=2, **loose)


def check_no_derivative(f, sample, row):
    """Results are constants, or have derivative zero and say so."""
    assert row.vjp == row.jvp == row.second_order == "not differentiable"
    rt = tfr.EagerRuntime()
    xs = [rt.variable_from(a) for a in sample.arrays]
    ys = [y for y in support._flat(sample.run(f, xs)) if y.tracks_grad]
    if "piecewise constant" not in row.reasons["vjp"]:
        assert not ys
        return
    assert ys
    found = rt.vjp_optional(ys, xs, [np.ones(y.shape, y.dtype) for y in ys])
    found += [t for x in xs for t in rt.jvp_optional(ys, [x], [np.ones(x.shape, x.dtype)])]
    assert all(t is None or not value(t).any() for t in found)


@pytest.mark.parametrize("dtype", DOUBLE)
@pytest.mark.parametrize("name", NAMES)
def test_operation(name, dtype):
    check(name, dtype, seed=NAMES.index(name))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1000, 1004))
@pytest.mark.parametrize("dtype", SINGLE + DOUBLE)
@pytest.mark.parametrize("name", NAMES)
def test_operation_in_many_layouts(name, dtype, seed):
    check(name, dtype, seed)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(2000, 2002))
@pytest.mark.parametrize("dtype", SINGLE + DOUBLE)
@pytest.mark.parametrize("name", VARIANTS)
def test_derivatives_of_variants(name, dtype, seed):
    if getattr(rows()[name], kind_of(dtype)) == "unsupported":
        return
    for make in VARIANTS[name]:
        check_derivatives(name, FUNCTIONS[name], make(table.Source(dtype, seed, layout(seed))), dtype)


def loss(f):
    return lambda a: sum((tfr.sum(tfr.abs(y)) for y in support._flat(f(a))), tfr.sum(a) * 0)


JORDAN, ONES, ZEROS = np.array([[2.0, 1.0], [0.0, 2.0]]), np.ones((3, 2)), np.zeros((2, 2))
# operation: function, argument, the error of its derivative; None where something else comes than a derivative
DENIED = {
    "linalg.svd": (lambda a: la.svd(a).U, ONES + np.eye(3, 2), errors.UnsupportedAdRuleError),
    "linalg.slogdet": (la.slogdet, ZEROS, errors.LinAlgError),
    "linalg.sqrtm": (la.sqrtm, ZEROS, errors.LinAlgError),
    "linalg.qr": (la.qr, ONES, None),
    "linalg.qr complete": (lambda a: la.qr(a, mode="complete").Q, ONES + np.eye(3, 2), errors.UnsupportedAdRuleError),
    "linalg.lu": (lambda a: la.lu(a)[1:], ONES, None),
    "linalg.polar": (la.polar, ONES, None),
    "linalg.eig": (lambda a: la.eig(a).eigenvalues, JORDAN, errors.LinAlgError),
    "linalg.eigvals": (la.eigvals, JORDAN, errors.LinAlgError),
    "linalg.pinv": (la.pinv, ONES, None),
    "linalg.lstsq": (lambda a: la.lstsq(a, np.arange(3.0)).solution, ONES, None),
}


def test_every_exception_is_tried():
    assert {case.split()[0] for case in DENIED} == set(support.EXCEPTIONS)


@pytest.mark.parametrize("case", DENIED)
def test_what_an_exception_denies(case):
    f, a, error = DENIED[case]
    x = tfr.variable(a)
    y = loss(f)(x)
    if error is None:
        with pytest.raises(AssertionError, match="is wrong"):
            check_grads(loss(f), [a], order=1)
        return
    assert f"raises {error.__name__}" in support.EXCEPTIONS[case.split()[0]]
    for differentiate in (lambda: x.runtime.grad(y, x), lambda: x.runtime.jvp(y, x, np.ones(a.shape))):
        with pytest.raises(error):
            differentiate()


# ---- that a claim is derived -----------------------------------------------------------------------------------------

def row_of(f, *args, monkeypatch, engines=()):
    """The row of another operation, for which there is one sample."""
    monkeypatch.setitem(table.SAMPLES, "another", [lambda d: table.given(*[a(d) for a in args])])
    return support._row("another", "others", f, engines, support._Rules())


def test_an_operation_without_kernel(monkeypatch):
    engine = tfr.ExecutionEngine("bare")
    row = row_of(tfr.exp, lambda d: d(2), monkeypatch=monkeypatch, engines=[engine, tfr.default_engine()])
    assert row.engines == {"bare": "unsupported", tfr.default_engine().name: "supported"}
    assert "no kernel for exp" in row.reasons["bare"]


def test_an_operation_without_sample():
    row = support._row("unheard of", "others", tfr.exp, [tfr.default_engine()], support._Rules())
    engine = tfr.default_engine().name
    assert {row.vjp, row.jvp, row.second_order, row.real, row.complex, row.engines[engine]} == {"unsupported"}
    assert "no sample" in row.reasons["vjp"]


class Module:
    """Doubling, with rules that are given."""

    module_id = "tests.doubling.v1"

    def __init__(self, **rules):
        self.rules = rules

    def configure(self, registrar):
        registrar.operation("double", lambda s: s, lambda t: t)
        registrar.executor("double", "host", lambda x: 2 * x)
        registrar.rule("double", **self.rules)

    def __call__(self, x):
        x.runtime.install_extension_module(self)
        return x.runtime.extension(self.module_id).double(x)


@pytest.mark.parametrize(("given", "missing", "rule"), [("vjp", "jvp", lambda g, out, x: g * 2),
                                                        ("jvp", "vjp", lambda tangents, out, x: tangents[0] * 2)])
def test_an_operation_without_a_rule(given, missing, rule, monkeypatch):
    module = Module(**{given: rule})
    monkeypatch.setattr(support, "modules", lambda: [module])
    row = row_of(module, lambda d: d(2), monkeypatch=monkeypatch)
    assert getattr(row, missing) == "unsupported"
    assert getattr(row, given) == "supported"
    assert row.second_order == "partial"
    assert "tests.doubling.double.v1" in row.reasons[missing]


def test_rules_without_rules(monkeypatch):
    once = Module()

    def untracked(g, out, x):
        return once(g)

    module = Module(vjp=untracked, jvp=lambda tangents, out, x: once(tangents[0]))
    module.module_id = "tests.twice.v1"
    monkeypatch.setattr(support, "modules", lambda: [module, once])
    row = row_of(module, lambda d: d(2), monkeypatch=monkeypatch)
    assert (row.vjp, row.jvp, row.second_order) == ("supported", "supported", "unsupported")
    assert row.reasons["second_order"] == "no rule: tests.doubling.double.v1"


def test_an_operation_of_complex_numbers_that_returns_constants(monkeypatch):
    def f(x):
        return x * 2 if x.dtype.kind == "f" else x.detach()

    row = row_of(f, lambda d: d(2), monkeypatch=monkeypatch)
    assert (row.vjp, row.real, row.complex) == ("supported", "supported", "partial")


def test_an_engine_that_computes_but_cannot_differentiate(monkeypatch):
    def vjp(g, out, x):
        raise errors.UnsupportedError("no kernel for the derivative", op="double", engine="cpu")

    module = Module(vjp=vjp)
    monkeypatch.setattr(support, "modules", lambda: [module])
    monkeypatch.setitem(table.SAMPLES, "another", [lambda d: table.given(d(2))])
    found = support._runs("another", module, tfr.default_engine(), "float64", support._Rules())
    assert found == ("partial", "UnsupportedError: no kernel for the derivative")
