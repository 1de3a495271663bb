"""Limits and roundings: as floats, traced and compiled, all three the same."""

from __future__ import annotations

import math

import numpy as np
import pytest

from appell.algebra import piecewise, scalar
from appell.compile.function import Function
from appell.compile.tape import Array
from appell.compile.trace import trace

VALUES = [-2048.5, -3.5, -2.5, -1.0, -0.5, -0.49, 0.0, 0.49, 0.5, 1.5, 2.5, 7.0, 1e6 + 0.5, 123456789.75]


@pytest.mark.parametrize(("name", "meaning"), [("nearest", round), ("floor", math.floor), ("magnitude", abs)])
def test_rounding_means_the_same_for_floats_and_in_compiled_code(name, meaning):
    function = getattr(piecewise if name == "magnitude" else scalar, name)
    compiled = Function(trace(name, [Array("x", ())], lambda x: {"y": function(x)}))
    scaled = Function(trace(name, [Array("x", ())], lambda x: {"y": function(0.5 * x)}))  # a product that fuses
    for x in VALUES:
        assert function(x) == compiled(x) == meaning(x)
        assert scaled(x) == meaning(0.5 * x)


def test_clamp_keeps_what_is_inside_and_cuts_what_is_not():
    compiled = Function(trace("clamp", [Array("x", ())], lambda x: {"y": piecewise.clamp(x, -1.0, 2.0)}))
    x = np.linspace(-3.0, 3.0, 61)
    np.testing.assert_array_equal(compiled(x), np.clip(x, -1.0, 2.0))


def test_the_largest_of_several_is_found():
    compiled = Function(trace("largest", [Array("x", (4,))], lambda x: {"y": piecewise.largest(x)}))
    x = np.random.default_rng(0).normal(size=(50, 4))
    np.testing.assert_array_equal(compiled(x), x.max(axis=1))
