"""The numerical solver on random reachable poses, compared with Pinocchio, and on poses out of reach."""

from __future__ import annotations

import warnings
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest

from appell import ArgumentError, Dynamics, ModelError, ModelWarning, load
from appell.kinematics.inverse import numerical
from appell_lab.references.oracle import Oracle
from robots import random_tree


def talos_arm():
    (path,) = (file for file in files("example-robot-data") if file.name == "talos_left_arm.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load(Path(str(path.locate())), physical=False)


@pytest.mark.parametrize(
    ("robot", "frame"), [(load("panda"), "tool"), (talos_arm(), "gripper_left_base_link")], ids=str
)
def test_nearly_all_of_3000_random_reachable_poses_are_reached_inside_the_limits(robot, frame):
    solver = numerical(robot, frame)
    T = Dynamics(robot).pose(frame)(solver.random(np.random.default_rng(3), 3_000))
    solution = solver(T, tolerance=1e-10)
    assert solution.reached.mean() >= 0.995
    lower, upper = robot.limits.lower, robot.limits.upper
    assert ((solution.q >= lower) & (solution.q <= upper)).all()
    oracle = Oracle(robot)
    for k in np.flatnonzero(solution.reached)[:200]:
        assert (
            np.abs(oracle.pose(frame, solution.q[k]) - T[k]).max() < 2e-10
        )  # matrix entries after a rotation by 1e-10 rad


def test_the_same_call_gives_the_same_result_and_another_seed_may_not():
    robot = load("panda")
    solver = numerical(robot)
    T = Dynamics(robot).pose("tool")(solver.random(np.random.default_rng(5), 50))
    np.testing.assert_array_equal(solver(T).q, solver(T).q)
    assert not np.array_equal(solver(T).q, solver(T, seed=1).q)


def test_a_redundant_arm_moves_towards_the_preferred_posture():
    robot = load("panda")
    solver = numerical(robot)
    q = robot.start + np.array([0.2, 0.1, -0.3, 0.2, 0.1, -0.2, 0.3])
    T = Dynamics(robot).pose("tool")(q)
    free, pulled = solver(T), solver(T, prefer=robot.start + 0.1)
    assert free.reached
    assert pulled.reached
    gap = [np.linalg.norm(x.q - robot.start - 0.1) for x in (free, pulled)]
    assert gap[1] < gap[0] - 1e-3
    # at the optimum the difference from the posture has no component in the null space
    J = Dynamics(robot).jacobian("tool")(pulled.q)
    null = np.linalg.svd(J)[2][-1]
    assert abs(null @ (robot.start + 0.1 - pulled.q)) < 1e-4


def test_only_the_position_matters_with_weight_zero():
    robot = load("planar-2r")
    solver = numerical(robot, weight=0.0)
    T = Dynamics(robot).pose("tool")([0.4, 0.9])
    T[:3, :3] = np.eye(3)  # an orientation that the arm does not have there
    solution = solver(T)
    assert solution.reached
    assert solution.position_error < 1e-10


def test_out_of_reach_the_closest_configuration_and_the_error_are_returned():
    robot = load("planar-2r")
    solver = numerical(robot, weight=0.0)
    straight = Dynamics(robot).pose("tool")([0.7, 0.0])
    reach = np.linalg.norm(straight[:3, 3])
    T = straight.copy()
    T[:3, 3] *= 1.5
    solution = solver(T)
    assert not solution.reached
    assert solution.position_error == pytest.approx(0.5 * reach, abs=1e-6)
    np.testing.assert_allclose(Dynamics(robot).pose("tool")(solution.q)[:3, 3], straight[:3, 3], atol=1e-3)
    assert f"misses its target by {0.5 * reach:.4g}"[:30] in str(solution)
    both = solver(np.stack([straight, T]))
    assert both.reached.tolist() == [True, False]
    assert "does not reach 1 of 2 targets; sample [1]" in str(both)


def test_a_robot_with_a_floating_base_uses_its_base():
    robot = random_tree(4, 5, base="floating", kinds=("revolute", "spherical"))
    frame = robot.links[-1].name
    q = robot.random_configuration(np.random.default_rng(0))
    solution = numerical(robot, frame)(Dynamics(robot).pose(frame)(q))
    assert solution.reached
    quaternion = solution.q[3:7]
    assert np.linalg.norm(quaternion) == pytest.approx(1.0, abs=1e-9)


def test_wrong_arguments_are_named_errors():
    panda, solver = load("panda"), numerical(load("panda"))
    for problem, call in {
        r"target of the task .tool. has shape \(3, 3\)": lambda: solver(np.eye(3)),
        r"start has shape \(6,\)": lambda: solver(np.eye(4), np.zeros(6)),
        r"prefer has shape \(2,\)": lambda: solver(np.eye(4), prefer=[0, 0]),
        "starts is 0": lambda: solver(np.eye(4), starts=0),
        "starts is 2.5": lambda: solver(np.eye(4), starts=2.5),
        "tolerance is nan": lambda: solver(np.eye(4), tolerance=float("nan")),
        "weight is -1 m/rad": lambda: numerical(panda, "tool", weight=-1.0),
    }.items():
        with pytest.raises(ArgumentError, match=problem):
            call()
    with pytest.raises(ModelError, match="no frame 'tol'"):
        numerical(panda, "tol")
    with pytest.raises(ModelError, match="ends"):
        numerical(random_tree(1, 6, kinds=("revolute",)))
