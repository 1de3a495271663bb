"""Compiled formulations agree with each other and report robots that they do not support."""

from __future__ import annotations

import numpy as np
import pytest

from answers import answer
from appell.describe.load import load
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError
from appell.formulate.formulations import FORMULATIONS, FORWARD_DYNAMICS, MASS_MATRIX, SOLVERS
from appell_lab.references.oracle import relative_error
from robots import random_motion, random_tree

TREE = random_tree(11, 5, kinds=("revolute", "prismatic"))
BRANCHED = random_tree(3, 6, kinds=("revolute",))
MIMIC = next(
    robot
    for robot in (random_tree(seed, 6, kinds=("revolute", "mimic")) for seed in range(20))
    if any(link.joint.mimic for link in robot.links)
)


@pytest.mark.parametrize("name", FORMULATIONS)
@pytest.mark.parametrize("robot", [load("puma"), TREE], ids=str)
def test_a_compiled_formulation_agrees_with_the_default(name, robot):
    if name == "mata" and robot is TREE:
        with pytest.raises(ModelError, match="branches off"):
            Dynamics(robot, name)
        return
    rng = np.random.default_rng(0)
    q, v, a = random_motion(robot, rng)
    ours, theirs = Dynamics(robot), Dynamics(robot, name)
    tau = ours.inverse_dynamics(q, v, a)
    assert relative_error(theirs.inverse_dynamics(q, v, a), tau) < 1e-11
    assert relative_error(answer(theirs.bias, q, v), answer(ours.bias, q, v)) < 1e-11
    assert relative_error(answer(theirs.gravity, q), answer(ours.gravity, q)) < 1e-11
    assert relative_error(answer(theirs.mass_matrix, q), answer(ours.mass_matrix, q)) < 1e-11
    assert relative_error(answer(theirs.forward_dynamics, q, v, tau), a) < 1e-10  # cond(M) of the PUMA: 1e3


@pytest.mark.parametrize("inertia", MASS_MATRIX)
def test_the_inertia_matrix_can_be_chosen_separately(inertia):
    robot, q = load("planar-2r"), [0.3, -0.7]
    assert relative_error(Dynamics(robot, inertia=inertia).mass_matrix(q), Dynamics(robot).mass_matrix(q)) < 1e-12


@pytest.mark.parametrize("forward", [*SOLVERS, *FORWARD_DYNAMICS])
def test_forward_dynamics_can_be_chosen_separately(forward):
    robot, state = load("planar-2r"), ([0.3, -0.7], [1.0, 2.0], [0.5, -0.5])
    result = Dynamics(robot, "kane", forward=forward).forward_dynamics(*state)
    assert relative_error(result, Dynamics(robot).forward_dynamics(*state)) < 1e-12


@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_formulation_supports_free_parameters(name):
    robot = load("planar-2r").with_free("lower")
    parameters = np.array(robot.link("lower").body.parameters)
    state = ([0.3, -0.7], [1.0, 2.0], [0.5, -0.5])
    fixed = Dynamics(load("planar-2r")).inverse_dynamics(*state)
    assert relative_error(Dynamics(robot, name).inverse_dynamics(*state, parameters), fixed) < 1e-12


def test_methods_with_centres_of_mass_support_links_without_mass():
    robot = load("planar-2r").with_bodies({"upper": None})
    state = ([0.3, -0.7], [1.0, 2.0], [0.5, -0.5])
    expected = Dynamics(robot).inverse_dynamics(*state), Dynamics(robot).mass_matrix(state[0])
    for name in ("newton-euler", "walker-orin", "kane"):
        dyn = Dynamics(robot, name)
        assert relative_error(dyn.inverse_dynamics(*state), expected[0]) < 1e-12
        assert relative_error(dyn.mass_matrix(state[0]), expected[1]) < 1e-12


# ---- invalid choices


def test_an_unknown_formulation_lists_the_known_ones():
    with pytest.raises(ArgumentError, match=r"no formulation 'newton-eulr'\. Did you mean 'newton-euler'") as caught:
        Dynamics(load("puma"), "newton-eulr")
    assert all(name in str(caught.value) for name in FORMULATIONS)


def test_an_unknown_inertia_matrix_lists_the_known_ones():
    with pytest.raises(ArgumentError, match="no inertia matrix 'crba'") as caught:
        Dynamics(load("puma"), inertia="crba")
    assert all(name in str(caught.value) for name in MASS_MATRIX)


def test_an_unknown_forward_dynamics_lists_the_known_ones():
    with pytest.raises(ArgumentError, match="no forward dynamics 'qr'") as caught:
        Dynamics(load("puma"), forward="qr")
    assert all(name in str(caught.value) for name in (*SOLVERS, *FORWARD_DYNAMICS))


def test_the_error_of_a_method_for_chains_names_the_joint_that_branches_off():
    order = [link.name for link in BRANCHED.links]
    culprit = next(link for i, link in enumerate(BRANCHED.links) if i and link.parent != order[i - 1])
    with pytest.raises(ModelError, match=f"joint '{culprit.joint.name}' branches off") as caught:
        Dynamics(BRANCHED, "mata")
    assert "hessian-loops" in str(caught.value)
    assert "inertia='gibbs-appell'" in str(caught.value)


def test_the_error_of_a_method_for_one_axis_names_the_joint_with_several_axes():
    robot = random_tree(1, 1, base="floating", kinds=("revolute",), branching=False)
    with pytest.raises(ModelError, match="joint 'root_joint' has more than one axis"):
        Dynamics(robot, inertia="hessian-loops")


@pytest.mark.parametrize("forward", FORWARD_DYNAMICS)
def test_the_error_of_articulated_bodies_names_the_mimic_joint(forward):
    culprit = next(link.joint.name for link in MIMIC.links if link.joint.mimic)
    with pytest.raises(ModelError, match=f"joint '{culprit}' mimics another") as caught:
        Dynamics(MIMIC, forward=forward)
    assert "forward='ldl'" in str(caught.value)


def test_newton_euler_supports_mimic_joints_with_another_forward_dynamics():
    q, v, a = random_motion(MIMIC, np.random.default_rng(0))
    dyn = Dynamics(MIMIC, "newton-euler", forward="ldl")
    assert relative_error(dyn.forward_dynamics(q, v, dyn.inverse_dynamics(q, v, a)), a) < 1e-11
