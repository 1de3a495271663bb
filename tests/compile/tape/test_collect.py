"""Collecting by constants changes the cost of a tape but not its results."""

from __future__ import annotations

import numpy as np
import pytest

from appell.algebra.matrix import Mat3
from appell.algebra.vector import Vec3
from appell.compile.tape.collect import collect, simplest
from appell.compile.tape.count import count
from appell.compile.tape.evaluate import evaluate
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array
from appell.compile.tape.trace import trace
from appell.describe.load import load
from appell.dynamics import Dynamics
from robots import random_motion, random_trees


def crosses(s, omega, alpha):
    s, omega, alpha = (Vec3.of(x) for x in (s, omega, alpha))
    return {"a": list(alpha.cross(s) + omega.cross(omega.cross(s)))}


def test_a_double_vector_product_becomes_three_products_per_component():
    """ω̇ × s + ω × (ω × s) with s constant: 18 products become the six ω_i ω_j and nine with s."""
    tape = trace("crosses", [Array("s", (3,)), Array("omega", (3,)), Array("alpha", (3,))], crosses)
    assert (count(tape).mul, count(tape).add) == (18, 12)
    assert (count(collect(tape, range(3))).mul, count(collect(tape, range(3))).add) == (15, 15)


def test_coefficients_shared_by_two_constants_are_computed_once():
    def two(s, h, omega, alpha):
        return {"a": crosses(s, omega, alpha)["a"] + crosses(h, omega, alpha)["a"]}

    tape = trace("two", [Array("s", (3,)), Array("h", (3,)), Array("omega", (3,)), Array("alpha", (3,))], two)
    counts = count(simplest(tape, range(6)))
    assert (counts.mul, counts.add) == (6 + 9 + 9, 9 + 6 + 6)


def test_eulers_moment_needs_fifteen_products_with_the_inertia():
    def moment(inertia, omega, alpha):
        I, omega, alpha = Mat3.symmetric(*inertia), Vec3.of(omega), Vec3.of(alpha)
        return {"n": list(I @ alpha + omega.cross(I @ omega))}

    tape = trace("moment", [Array("inertia", (6,)), Array("omega", (3,)), Array("alpha", (3,))], moment)
    collected = collect(tape, range(6))
    online = [node for node in collected.nodes if node[0] == Op.MUL]
    assert len(online) == 6 + 15
    arguments = [np.random.default_rng(k).normal(size=array.shape) for k, array in enumerate(tape.inputs)]
    assert np.allclose(evaluate(collected, *arguments)[0], evaluate(tape, *arguments)[0], rtol=1e-13)


@pytest.mark.parametrize("robot", [load("puma"), load("tree10"), *random_trees(4, links=6)], ids=str)
@pytest.mark.parametrize("name", ["inverse_dynamics", "mass_matrix", "coriolis", "regressor"])
def test_collecting_preserves_results_and_never_increases_the_cost(robot, name):
    function = getattr(Dynamics(robot, "newton-euler", forward="ldl"), name)
    motion = random_motion(robot, np.random.default_rng(0))[: len(function.inputs)]
    collected = collect(function.tape)
    for ours, theirs in zip(evaluate(collected, *motion), evaluate(function.tape, *motion), strict=True):
        assert np.abs(ours - theirs).max() <= 1e-12 * np.abs(theirs).max()
    assert count(simplest(function.tape)).total <= count(function.tape).total


def test_a_result_that_other_nodes_use_is_preserved():
    def text(c, x):
        form = c[0] * x[0] + c[1] * x[1]
        return {"form": form, "square": form * x[0], "scaled": 2.0 * form}

    tape = trace("kept", [Array("c", (2,)), Array("x", (2,))], text)
    arguments = [np.array([0.3, 0.7]), np.array([1.1, -0.4])]
    for ours, theirs in zip(evaluate(collect(tape, range(2)), *arguments), evaluate(tape, *arguments), strict=True):
        assert np.allclose(ours, theirs)
