"""Packed results: the same numbers without structural zeros."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.sparse import coo_array

import appell as ap
from appell.compile.function import Function
from appell.errors import ArgumentError
from robots import random_tree

TREE = ap.Dynamics(random_tree(3, 7))


def arguments(function: Function, count: int = 5):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(count, *array.shape)) for array in function.inputs]


@pytest.mark.parametrize("name", ["regressor", "base_regressor", "mass_matrix", "inverse_dynamics"])
def test_dense_restores_the_complete_result_bit_for_bit(name):
    function = getattr(TREE, name)
    packed, given = function.packed(), arguments(function)
    np.testing.assert_array_equal(packed.pattern.dense(packed(*given)), function(*given))
    assert len(packed.pattern) == np.count_nonzero(~function.structural_zeros)


def test_every_result_of_a_derivative_has_its_own_pattern():
    function = TREE.inverse_dynamics.jacobian("q", "a")
    packed, given = function.packed(), arguments(function)
    for pattern, values, dense in zip(packed.patterns, packed(*given), function(*given), strict=True):
        np.testing.assert_array_equal(pattern.dense(values), dense)
    with pytest.raises(ArgumentError, match="2 results"):
        _ = packed.pattern


def test_scalar_results_can_be_packed():
    packed, given = TREE.energy.packed(), arguments(TREE.energy)
    for pattern, values, dense in zip(packed.patterns, packed(*given), TREE.energy(*given), strict=True):
        np.testing.assert_array_equal(pattern.dense(values), dense)


def test_a_pattern_gives_the_indices_of_a_sparse_matrix():
    function = TREE.base_regressor
    packed, given = function.packed(), [argument[0] for argument in arguments(function)]
    pattern = packed.pattern
    sparse = coo_array((packed(*given), (pattern.rows, pattern.columns)), shape=pattern.shape)
    np.testing.assert_array_equal(sparse.toarray(), function(*given))


def test_a_packed_function_survives_pickling():
    packed = TREE.mass_matrix.packed()
    given = arguments(TREE.mass_matrix)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(packed))(*given), packed(*given))


def test_values_of_another_pattern_are_rejected():
    with pytest.raises(ArgumentError, match="entries along the last axis"):
        TREE.mass_matrix.packed().pattern.dense(np.zeros((3, 4)))


def test_a_result_that_is_always_zero_cannot_be_packed():
    nothing = Function.of("nothing", {"x": 2}, lambda x: {"y": [0.0, 0.0]})
    with pytest.raises(ArgumentError, match="zero for all arguments"):
        nothing.packed()
