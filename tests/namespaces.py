"""Engines over foreign array libraries, for tests."""

import os
from importlib import import_module

import pytest

import tenferro as tfr

NAMES = ("numpy", "array_api_strict", "torch")
"""The libraries that tests compute with; those that are not installed are skipped."""


def engine(name):
    """Engine over a library; skips the test where it is not installed."""
    if name not in NAMES:
        raise ValueError(f"there are no tests over {name!r}; use one of {', '.join(NAMES)}")
    pytest.importorskip(name)
    if name == "torch":
        pytest.importorskip("array_api_compat")
    return tfr.NamespaceEngine(import_module(name))


def engine_under_test():
    """The engine that the variable ``TENFERRO_TEST_ENGINE`` names, or None."""
    name = os.environ.get("TENFERRO_TEST_ENGINE", "")
    return engine(name) if name else None


OWN_KERNELS = ("test_blas", "test_elementary", "test_fusion", "test_fusion_sums", "test_guard_pages", "test_reduce_blocks",
               "test_thread_processes", "test_threads", "test_dimensions_beyond_32_bits_are_refused")
"""Modules and tests about the loops of the CPU engine, which say nothing about others."""


DIFFERENT = {
    "array_api_strict": {"test_special_values[fmod]": "another sign of NaN"},
    "torch": {
        "test_special_values[log1p-float64]": "results below the normal numbers are zero",
        "test_special_values_of_two_arguments[atan2]": "another sign of NaN",
        "test_special_values[pow]": "one unit in the last place",
        "test_elementwise_over_conflicting_orders": "products of complex numbers round otherwise",
    },
}
"""Tests that demand more than a library gives, and what is missing."""


def without_own_kernels(items):
    """Test items that the engine under test has to pass."""
    different = DIFFERENT.get(os.environ.get("TENFERRO_TEST_ENGINE"), {})
    return [item for item in items if item.path.stem not in OWN_KERNELS and item.originalname not in OWN_KERNELS
            and item.name not in different]
