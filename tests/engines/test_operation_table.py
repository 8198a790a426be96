"""Every operation of the table is everywhere where it belongs, documented, and has its rules."""

import numpy as np
import pytest

import tenferro as tfr
from tenferro import operations
from tenferro._core import rule
from tenferro._core.optable import ROWS

FAMILIES = {
    "arithmetic": "add sub mul div pow rem floor_div fmod neg abs sign conj real imag complex angle reciprocal square scale",
    "analytic": "exp expm1 exp2 log log1p log2 log10 sqrt rsqrt cbrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh "
                "acosh atanh erf erfc lgamma digamma polygamma logaddexp hypot",
    "compare and select": "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
                          "logical_not isfinite isnan isinf maximum minimum where clamp",
    "rounding": "floor ceil round trunc",
    "reduce": "reduce_sum reduce_prod reduce_max reduce_min reduce_mean reduce_var reduce_std logsumexp any all argmax "
              "argmin count_nonzero cumsum cumprod diff",
    "structure": "reshape transpose broadcast_to broadcast_in_dim squeeze expand_dims slice dynamic_slice pad concatenate "
                 "stack split reverse roll tile repeat tril triu extract_diag embed_diag trace",
    "index": "gather scatter scatter_add index_set take take_along_axis index_select",
    "dtype": "convert cast",
    "contraction": "matmul vecdot dot_general tensordot outer einsum",
}  # fmt: skip
NAMES = [name for names in FAMILIES.values() for name in names.split()]
INDICES = {("where", 0), ("dynamic_slice", 1), ("dynamic_unslice", 1)}      # conditions and places, which are cast first


@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_complete(family):
    assert set(operations.FAMILIES[family]) >= set(FAMILIES[family].split())


@pytest.mark.parametrize("name", sorted(operations.OPERATIONS))
def test_an_operation_is_everywhere(name):
    f = operations.OPERATIONS[name]
    assert getattr(tfr, name) is f
    assert name in tfr.__all__
    assert name in dir(tfr)
    with tfr.session() as s:
        bound = getattr(s, name)
        assert bound.__wrapped__ is f
        assert bound.__doc__ == f.__doc__
    assert name in dir(tfr.EagerSession)


@pytest.mark.parametrize("name", sorted(operations.PUBLIC))
def test_a_public_function_is_described(name):
    f = operations.PUBLIC[name]
    assert getattr(tfr, name) is f
    summary = [line for line in f.__doc__.splitlines() if line and not line.startswith((f"{f.__name__}(", "--"))]
    assert len(summary[0]) > 4


def test_every_name_of_the_table():
    assert set(NAMES) <= set(operations.OPERATIONS)
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("row", [row for row in rule.table() if row[:2] not in INDICES], ids=lambda row: f"{row[0]}-{row[1]}")
def test_every_argument_has_both_rules(row):
    name, argument, vjp, jvp = row
    assert vjp, f"{name} has no VJP rule for argument {argument}"
    assert jvp, f"{name} has no JVP rule for argument {argument}"


def test_the_rule_table_covers_all_operations():
    assert {row[0] for row in rule.table()} == {op.name.lower() for op, n, *_ in ROWS if n}
    assert all(row[2] == row[3] for row in rule.table())


def test_conditions_have_no_derivative():
    x = tfr.variable([1.0, 0.0, 2.0])
    y = tfr.where(x, x * 3, 0.0)
    assert y.runtime.vjp(y, x, np.ones(3)).tolist() == [3, 0, 3]
    assert y.runtime.jvp(y, x, np.ones(3)).tolist() == [3, 0, 3]


def test_aliases_are_the_same_function():
    for alias, name in operations.ALIASES.items():
        assert getattr(tfr, alias) is getattr(tfr, name)
