"""Limits and roundings give the same results for floats and in compiled code."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
import pytest

from appell.algebra import scalar
from appell.compile.function import Function
from appell.errors import ArgumentError

VALUES = [-2048.5, -3.5, -2.5, -1.0, -0.5, -0.49, 0.0, 0.49, 0.5, 1.5, 2.5, 7.0, 1e6 + 0.5, 123456789.75]


@pytest.mark.parametrize(("name", "meaning"), [("nearest", round), ("floor", math.floor), ("abs", abs)])
def test_rounding_is_the_same_for_floats_and_in_compiled_code(name, meaning):
    function = getattr(scalar, name)
    compiled = Function.of(name, {"x": ()}, lambda x: {"y": function(x)})
    scaled = Function.of(name, {"x": ()}, lambda x: {"y": function(0.5 * x)})  # a product that may be fused
    for x in VALUES:
        assert function(x) == compiled(x) == meaning(x)
        assert scaled(x) == meaning(0.5 * x)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_the_nearest_integer_agrees_with_numpy_for_values_of_all_sizes(kind):
    draw = np.random.default_rng(0)
    largest = np.finfo(kind).maxexp - 1
    sizes = np.ldexp(draw.uniform(1, 2, 4000), draw.integers(-largest, largest, 4000)).astype(kind)
    ties = (draw.integers(0, 2**24, 2000) / 2).astype(kind)
    edge = kind(2) ** (np.finfo(kind).nmant + np.arange(-2, 3)).astype(kind)
    near = [np.nextafter(edge, kind(0)), edge, np.nextafter(edge, kind(np.inf)), edge - kind(0.5)]
    x = np.concatenate([sizes, ties, np.nextafter(ties, kind(0)), *near, np.zeros(1, kind)])
    x = np.concatenate([x, -x])
    rounded = Function.of("nearest", {"x": ()}, lambda x: {"y": scalar.nearest(x)})
    below = Function.of("floor", {"x": ()}, lambda x: {"y": scalar.floor(x)})
    rounded(x), below(x)
    with np.errstate(all="raise"):
        got = rounded(x)
        np.testing.assert_array_equal(below(x), np.floor(x))
    assert got.dtype == kind
    np.testing.assert_array_equal(got, np.rint(x))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(x))


@pytest.mark.parametrize("x", [2.5, -0.3, 1e300, math.inf, -math.inf, 7, np.float32(3.5)])
def test_the_nearest_integer_of_a_python_number_agrees_with_numpy(x):
    assert scalar.nearest(x) == np.rint(x)
    assert np.signbit(scalar.nearest(x)) == np.signbit(np.rint(x))


def test_clamp_limits_values_to_the_interval():
    compiled = Function.of("clamp", {"x": ()}, lambda x: {"y": scalar.clamp(x, -1.0, 2.0)})
    x = np.linspace(-3.0, 3.0, 61)
    np.testing.assert_array_equal(compiled(x), np.clip(x, -1.0, 2.0))


@pytest.mark.parametrize("name", ["sin", "exp", "abs", "power", "minimum", "atan2"])
@pytest.mark.parametrize("value", [[1.0], "x", None, np.ones(2)], ids=["list", "text", "nothing", "array"])
def test_functions_of_something_else_are_rejected_by_name(name, value):
    function = getattr(scalar, name)
    arguments = (1.0, value) if name in ("power", "minimum", "atan2") else (value,)
    with pytest.raises(ArgumentError, match=rf"ap\.{name} is called with a value of type {type(value).__name__}\."):
        function(*arguments)


def test_maximum_of_several_numbers():
    compiled = Function.of("largest", {"x": 4}, lambda x: {"y": reduce(scalar.maximum, x)})
    x = np.random.default_rng(0).normal(size=(50, 4))
    np.testing.assert_array_equal(compiled(x), x.max(axis=1))
