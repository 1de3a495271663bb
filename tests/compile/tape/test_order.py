"""Another order of the same nodes gives the same bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import appell as ap
from appell.compile.function import Function
from appell.compile.tape.evaluate import evaluate
from appell.compile.tape.ops import Op
from appell.compile.tape.passes import in_groups
from appell.compile.tape.tape import Array, renumber, verify
from appell.compile.tape.trace import trace


def tape():
    return trace(
        "f", [Array("x", (3,))], lambda x: {"r": [ap.sin(x[0]) * x[1], ap.cos(x[2]) + x[1] * x[1], ap.sin(x[0]) - x[2]]}
    )


def reordered(given, groups):
    nodes, results = renumber(given.nodes, in_groups(given.nodes, groups), given.results)
    return verify(replace(given, nodes=nodes, results=results))


def test_the_nodes_of_the_first_group_come_first():
    given = tape()
    grouped = reordered(given, [given.results[2:], given.results[:2]])
    assert sorted(node[0] for node in grouped.nodes) == sorted(node[0] for node in given.nodes)
    assert grouped.results[2] < min(grouped.results[:2])
    assert Op.COS not in [node[0] for node in grouped.nodes[: grouped.results[2] + 1]]


def test_the_values_are_the_same():
    given = tape()
    grouped = reordered(given, [[result] for result in reversed(given.results)])
    x = np.array([0.3, -1.1, 2.0])
    np.testing.assert_array_equal(evaluate(grouped, x)[0], evaluate(given, x)[0])


def test_derivatives_are_computed_direction_by_direction():
    inverse = Function(ap.Dynamics(ap.load("puma")).inverse_dynamics.tape)  # without a derivative rule
    function = inverse.jacobian("q", "v", "a")
    results = np.reshape(function.tape.results, (3, 6, 6))
    last = results.max(axis=1).ravel()  # index at which each direction is complete; some share constants
    assert np.count_nonzero(np.diff(last) > 0) >= 15
