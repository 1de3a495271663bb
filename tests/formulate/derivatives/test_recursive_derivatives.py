"""Recursive derivatives against the independently differentiated tape.

Both are the same polynomials in sines and cosines, summed in different order: errors are rounding errors, 1e-16 times
the number of terms, relative to the largest entry. In forward dynamics they also grow with the condition number of M.
"""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from appell.compile.function import Function
from appell.compile.program.program import Program
from appell.compile.tape.evaluate import evaluate
from appell.dynamics import Dynamics
from appell_lab.references.oracle import Oracle, relative_error
from robots import random_motion, random_tree, zoo
from systems import driven

EXACT, SOLVED = 1e-12, 1e-9
ALL = {
    "inverse_dynamics": ("q", "v", "a"),
    "generalized_forces": ("q", "v", "a"),
    "bias": ("q", "v"),
    "gravity": ("q",),
    "forward_dynamics": ("q", "v", "tau"),
    "state_rate": ("q", "v", "tau"),
}
REFERENCES = ("LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED")


def plain(function: Function) -> Function:
    """The same function without a derivative rule, so that it is differentiated through its tape."""
    return Function(function.tape, tangents=function.tangents)


def assert_same_derivatives(dyn: Dynamics, name: str, wrt: tuple[str, ...], *arguments) -> None:
    function = getattr(dyn, name)
    ruled, judge = function.rule(wrt), plain(function).jacobian(*wrt)
    assert (ruled.inputs, ruled.outputs, ruled.name) == (judge.inputs, judge.outputs, judge.name)
    tolerance = SOLVED if "tau" in ALL[name] else EXACT
    for ours, theirs in zip(evaluate(ruled.tape, *arguments), evaluate(judge.tape, *arguments), strict=True):
        assert np.abs(ours - theirs).max() <= tolerance * max(1.0, np.abs(theirs).max())


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("robot", zoo(), ids=str)
def test_a_robot_of_the_zoo_has_the_derivatives_of_its_tape(robot, name):
    wrt = ALL[name]
    motion = random_motion(robot, np.random.default_rng(3))[: 3 if len(wrt) == 3 else len(wrt)]
    assert_same_derivatives(Dynamics(robot), name, wrt, *motion)


@settings(max_examples=8, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(seed=st.integers(0, 10**6), links=st.integers(1, 5), floating=st.booleans(), data=st.data())
def test_any_tree_with_any_drives_has_the_derivatives_of_its_tape(seed, links, floating, data):
    robot = driven(random_tree(seed, links, base="floating" if floating else "fixed"), seed)
    name = data.draw(st.sampled_from(sorted(ALL)))
    wrt = tuple(data.draw(st.permutations(ALL[name]))[: data.draw(st.integers(1, len(ALL[name])))])
    switches = {"friction": data.draw(st.booleans()), "rotors": data.draw(st.booleans())}
    rng = np.random.default_rng(seed)
    motion = random_motion(robot, rng)[: len(ALL[name])]
    pushed = ["frame0", "frame1"] if len(ALL[name]) == 3 and data.draw(st.booleans()) else []
    dyn = Dynamics(robot, wrenches=pushed, reference=data.draw(st.sampled_from(REFERENCES)), **switches)
    assert_same_derivatives(dyn, name, wrt, *motion, *rng.normal(size=(len(pushed), 6)))


def test_free_parameters_stay_arguments_of_the_derivatives():
    robot = random_tree(5, 4, base="floating").with_free("link1", "link3")
    rng = np.random.default_rng(0)
    parameters = np.concatenate([robot.link(name).body.parameters for name in ("link1", "link3")])
    for name in ("inverse_dynamics", "forward_dynamics"):
        assert_same_derivatives(Dynamics(robot), name, ALL[name], *random_motion(robot, rng), parameters)


@pytest.mark.parametrize("robot", [*zoo(), random_tree(8, 12, base="floating")], ids=str)
def test_the_inverse_inertia_matrix_agrees_with_pinocchio(robot):
    q = random_motion(robot, np.random.default_rng(1))[0]
    ours = evaluate(Dynamics(robot).inverse_mass_matrix.tape, q)[0]
    assert np.array_equal(ours, ours.T)
    assert relative_error(ours, Oracle(robot).inverse_mass_matrix(q)) <= SOLVED


def test_a_jacobian_is_the_shorter_of_tape_and_rule():
    for robot in zoo():
        function = Dynamics(robot).inverse_dynamics
        wrt = ("q", "v", "a")
        lengths = len(function.rule(wrt).fused), len(plain(function).jacobian(*wrt).fused)
        assert len(function.jacobian(*wrt).fused) == min(lengths)


def test_a_long_tape_with_a_derivative_rule_is_not_differentiated():
    function = Dynamics(random_tree(2, 30, base="floating")).inverse_dynamics
    wrt = ("q", "v", "a")
    assert function.jacobian(*wrt).tape.digest == function.rule(wrt).tape.digest


def test_columns_solved_for_in_loops_agree_with_straight_line_code():
    robot = random_tree(21, 10, base="floating", kinds=("revolute", "mimic", "prismatic"))
    derivatives = Dynamics(robot).forward_dynamics.jacobian("q", "v", "tau")
    assert isinstance(derivatives.formula, Program)
    rng = np.random.default_rng(4)
    motions = [np.array(part) for part in zip(*(random_motion(robot, rng) for _ in range(5)), strict=True)]
    compiled = derivatives(*motions)
    for k in range(5):
        for ours, theirs in zip(compiled, evaluate(derivatives.tape, *(part[k] for part in motions)), strict=True):
            assert np.abs(ours[k] - theirs).max() <= EXACT * max(1.0, np.abs(theirs).max())


def test_derivatives_without_a_rule_are_computed_from_the_tape():
    robot = random_tree(4, 3)
    dyn = Dynamics(robot, wrenches=["frame0"])
    assert dyn.inverse_dynamics.rule(("q", "wrench_frame0")) is None
    assert dyn.inverse_dynamics.rule(("q", "q")) is None
    assert dyn.mass_matrix.rule is None
    assert Dynamics(robot, "newton-euler").inverse_dynamics.rule is None
    motion = (*random_motion(robot, np.random.default_rng(0)), np.ones(6))
    by_both = dyn.inverse_dynamics.jacobian("wrench_frame0", "q")(*motion)
    assert np.allclose(by_both[1], dyn.inverse_dynamics.jacobian("q")(*motion), rtol=EXACT, atol=EXACT)


def test_derivatives_of_a_tree_with_a_singular_inertia_matrix_are_nan():
    robot = random_tree(4, 3, kinds=("revolute",), branching=False)
    massless = replace(robot, links=tuple(replace(link, body=None) for link in robot.links), physical=False)
    function = Dynamics(massless).forward_dynamics
    assert function.rule(("q", "tau")) is None
    by_tau = function.jacobian("tau")(*random_motion(massless, np.random.default_rng(0)))
    assert np.isnan(by_tau.diagonal()).all()
    assert np.isnan(Dynamics(massless).inverse_mass_matrix(np.zeros(3))).all()


def test_a_function_is_pickled_with_its_derivative_rule():
    robot = random_tree(3, 5, base="floating")
    function = Dynamics(robot, friction=True).inverse_dynamics
    assert function.rule(("v",)) is not None
    sent = pickle.loads(pickle.dumps(function))
    assert sent.rule(("q", "v")).tape.digest == function.rule(("q", "v")).tape.digest
