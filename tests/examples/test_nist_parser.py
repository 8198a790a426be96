"""The StRD parser of the regression example, against facts in NIST's files."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "nist_regression.py"

# name -> observations, parameters, predictors
COUNTS = {
    "BoxBOD": (6, 2, 1),
    "Chwirut1": (214, 3, 1),
    "Chwirut2": (54, 3, 1),
    "DanWood": (6, 2, 1),
    "ENSO": (168, 9, 1),
    "Eckerle4": (35, 3, 1),
    "Gauss1": (250, 8, 1),
    "Gauss2": (250, 8, 1),
    "Lanczos1": (24, 6, 1),
    "Lanczos3": (24, 6, 1),
    "MGH09": (11, 4, 1),
    "MGH17": (33, 5, 1),
    "Misra1a": (14, 2, 1),
    "Misra1b": (14, 2, 1),
    "Misra1d": (14, 2, 1),
    "Nelson": (128, 3, 2),
    "Rat43": (15, 4, 1),
    "Thurber": (37, 7, 1),
}


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("nist_regression_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def problem(example):
    return lambda name: example.parse((example.DATA / f"{name}.dat").read_text())


def boxbod_text(example):
    return (example.DATA / "BoxBOD.dat").read_text()


def test_every_file_has_a_model_and_a_count(example):
    assert {path.stem for path in example.DATA.glob("*.dat")} == set(COUNTS) == set(example.MODELS)


@pytest.mark.parametrize("name", COUNTS)
def test_counts(problem, name):
    observations, parameters, predictors = COUNTS[name]
    parsed = problem(name)
    assert parsed.name == name
    assert parsed.y.shape == (observations,)
    assert parsed.x.shape == (predictors, observations)
    assert parsed.starts.shape == (2, parameters)
    assert parsed.certified.shape == (parameters,)


def test_small_problem_value_for_value(problem):
    parsed = problem("BoxBOD")
    np.testing.assert_array_equal(parsed.y, [109, 149, 149, 191, 213, 224])
    np.testing.assert_array_equal(parsed.x, [[1, 2, 3, 5, 7, 10]])
    np.testing.assert_array_equal(parsed.starts, [[1, 1], [100, 0.75]])
    np.testing.assert_array_equal(parsed.certified, [213.80940889, 0.54723748542])
    assert parsed.sum_of_squares == 1168.0088766


def test_negative_values_and_tiny_sum_of_squares(problem):
    parsed = problem("MGH17")
    np.testing.assert_array_equal(parsed.starts, [[50, 150, -100, 1, 2], [0.5, 1.5, -1, 0.01, 0.02]])
    assert parsed.certified[2] == -1.4646871366
    assert parsed.sum_of_squares == 5.4648946975e-05
    assert problem("Lanczos1").sum_of_squares == 1.4307867721e-25


def test_two_predictors(problem):
    parsed = problem("Nelson")
    assert (parsed.y[0], *parsed.x[:, 0]) == (15.0, 1.0, 180.0)
    assert (parsed.y[-1], *parsed.x[:, -1]) == (1.2, 64.0, 275.0)
    np.testing.assert_array_equal(parsed.starts[1], [2.5, 5e-9, -0.05])


def test_capitalized_heading_of_the_starts(problem):
    parsed = problem("Thurber")
    np.testing.assert_array_equal(parsed.starts[0], [1000, 1000, 400, 40, 0.7, 0.3, 0.03])
    np.testing.assert_array_equal((parsed.y[0], parsed.x[0, 0]), (80.574, -3.067))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Dataset Name:", "Name:", "dataset name"),
        ("(lines 61 to 66)", "", "data"),
        ("(lines 41 to 42)", "", "starting values"),
        ("(lines 61 to 66)", "(lines 61 to 65)", "5 lines of data"),
        ("(lines 41 to 42)", "(lines 41 to 41)", "1 lines of parameters"),
        ("Residual Sum of Squares:", "Sum:", "residual sum of squares"),
    ],
)
def test_damaged_files_are_refused(example, old, new, message):
    text = boxbod_text(example)
    assert old in text
    with pytest.raises(ValueError, match=message):
        example.parse(text.replace(old, new))


def test_certified_digits(example):
    certified = np.array([2.0, -0.5])
    assert example.certified_digits(certified, certified) == 11.0
    assert example.certified_digits(np.array([2.0, -0.5 * (1 + 1e-4)]), certified) == pytest.approx(4.0, abs=1e-6)
    assert example.certified_digits(np.array([2.0 * (1 - 1e-7), -0.5]), certified) == pytest.approx(7.0, abs=1e-6)
    assert example.certified_digits(np.array([200.0, -0.5]), certified) == 0.0
    assert example.certified_digits(np.array([2.0, np.nan]), certified) == 0.0
