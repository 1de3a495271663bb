"""Linearisation of constrained robots: published eigenvalues, finite differences, and LQR."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import appell as ap
from appell.control.directions import deviation
from appell.control.linear import linearize
from appell.errors import ArgumentError, ModelError
from appell.kinematics.assembly import ConstraintRows
from appell.model.constraint import Gear, Prescribed
from appell_lab.references.plain_closures import constraints
from constrained_cases import CASES, constrained, state, tree

RADIUS = 0.3  # of the bicycle's rear wheel


@cache
def bicycle():
    """Return the upright Whipple bicycle with the independent velocities of lean, rear wheel and steer."""
    model = CASES["whipple-bicycle"]["model"]
    home = [0.0, 0.0, RADIUS, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    independent = ("frame_wx", "rear", "fork")
    return tree(model).with_loops(*constraints(model["closures"]), independent=independent, home=home)


@pytest.mark.parametrize("case", CASES["whipple-bicycle"]["eigenvalues"], ids=lambda case: f"{case['speed']}m/s")
def test_the_bicycle_has_the_published_eigenvalues_and_zeros_of_its_cyclic_coordinates(case):
    """Four poles of weave, capsize and castering; position, heading, wheel angles and speed give six zeros."""
    robot = bicycle()
    linear = linearize(robot, robot.home, [0.0, case["speed"] / RADIUS, 0.0])
    poles = sorted(linear.poles, key=abs)
    assert len(poles) == 10
    assert max(np.abs(poles[:6])) <= 1e-6  # a double zero is exact to the square root of rounding
    published = [complex(*value) for value in case["values"]]
    for value in published:
        assert min(abs(np.array(poles[6:]) - value)) <= 1e-12 * max(map(abs, published))
    assert linear.cyclic == ("q_frame_vx", "q_frame_vy", "q_frame_wz", "q_rear", "q_front")
    selected = linear.part(["q_frame_wx", "q_fork", "v_frame_wx", "v_fork"])
    np.testing.assert_allclose(np.sort_complex(selected.poles), np.sort_complex(published), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["floating-fourbar", "rolling-disk", "mobile-manipulator", "bricard", "rod-leg"])
def test_the_matrix_agrees_with_finite_differences(name):
    """Finite differences of accelerations, and of the displacement between two neighbouring moving configurations.

    A distance of 1e-5 has an error of 1e-10 by curvature, and rounding of 1e-16 is divided by distance and time, 1e-9.
    Motions with constant velocity replace the true ones; the difference is quadratic in time and cancels.
    """
    given, system = state(name), constrained(name)
    q, tau, dyn = given["q"], given["tau"], ap.Dynamics(system)
    v = dyn.independent_velocity(q, given["v"])
    linear, T = linearize(system, q, v, tau), ConstraintRows(dyn).tangents(q)
    tree, p, distance, time = system.tree, T.shape[1], 1e-5, 1e-4

    def rate(at, speed):
        w, w0 = dyn.tree_velocity(at, speed), dyn.tree_velocity(q, v)
        steps = [tree.difference(tree.integrate(q, t * w0), tree.integrate(at, t * w)) for t in (time, -time)]
        xi = (steps[0] - steps[1])[list(system.map.positions)] / (2.0 * time)
        return np.concatenate([xi, dyn.forward_dynamics(at, speed, tau)])

    slopes = []
    for step in distance * np.eye(len(linear.states)):
        ends = [
            rate(ap.kinematics.assemble(dyn, tree.integrate(q, sign * T @ step[:p])), v + sign * step[p:])
            for sign in (1.0, -1.0)
        ]
        slopes.append((ends[0] - ends[1]) / (2.0 * distance))
    np.testing.assert_allclose(np.array(slopes).T, linear.A, rtol=0, atol=1e-6 * max(1.0, np.abs(linear.A).max()))


def test_a_robot_that_was_assembled_elsewhere_has_the_same_eigenvalues():
    """The independent positions of a leaning bicycle are not valid upright; others are chosen."""
    leaning, upright = constrained("whipple-bicycle"), bicycle()
    linear = linearize(
        leaning, upright.home, ap.Dynamics(upright).tree_velocity(upright.home, [0.0, 10.0, 0.0])[[0, 1, 7]]
    )
    expected = linearize(upright, upright.home, [0.0, 10.0, 0.0])
    for pole in sorted(expected.poles, key=abs)[6:]:
        assert min(np.abs(linear.poles - pole)) <= 1e-10
    assert leaning.velocity_names == ("frame_vx", "frame_vy", "fork")


def test_equilibria_of_a_four_bar_have_the_reference_eigenvalues():
    system = constrained("fourbar-grashof")
    for case in CASES["fourbar-grashof"]["equilibria"]:
        poles = linearize(system, case["q"], tau=np.zeros(3)).poles
        np.testing.assert_allclose(poles**2, case["eigenvalue_squared"], rtol=1e-12)


def test_a_bicycle_that_is_too_slow_to_be_stable_is_stabilised_by_steering():
    """Without control, it falls over at 3 m/s."""
    robot = bicycle()
    linear = ap.control.linearize(robot, robot.home, [0.0, 3.0 / RADIUS, 0.0], actuators=["fork"])
    law = ap.control.lqr(linear, {"q_frame_wx": 1.0, "q_fork": 1.0, "v_frame_wx": 1.0, "v_fork": 1.0}, 0.01)
    start = ap.kinematics.assemble(robot, robot.tree.integrate(robot.start, [0, 0, 0, 0.05, 0, 0, 0, 0, 0]))
    run = ap.simulate(robot, start, [0.0, 3.0 / RADIUS, 0.0], 6.0, torque=law, progress=False)
    alone = ap.simulate(robot, start, [0.0, 3.0 / RADIUS, 0.0], 2.0, progress=False)
    leans = [2.0 * np.arcsin(r.q[-1, 3]) for r in (run, alone)]
    assert abs(leans[0]) < 1e-3
    assert abs(leans[1]) > 0.5
    assert law.poles.real.max() < -0.5
    assert linear.poles.real.max() > 1.0


def test_a_mobile_robot_returns_to_its_line():
    """Two driven wheels return the robot to a line at constant speed, from a wrong position and heading."""
    model = CASES["diff-drive-caster"]["model"]
    robot = tree(model)
    system = robot.with_loops(
        *constraints(model["closures"]), actuated=["left", "right"], independent=["body_vx", "body_w"], home=np.zeros(7)
    )
    steady = np.array([0.5, 0.0])
    linear = ap.control.linearize(system, system.home, steady)
    weights = {"q_body_vy": 4.0, "q_body_w": 4.0, "q_fork": 0.0, "v_body_vx": 1.0, "v_body_w": 1.0}
    law = ap.control.lqr(linear, weights, 0.1)
    start = system.start + np.array([0.0, 0.1, 0.2, 0.0, 0.0, 0.0, 0.0])
    run = ap.simulate(system, start, steady, 15.0, torque=law, progress=False)
    names = [system.tree.velocity_names[k] for k in system.map.positions]
    remaining = dict(zip(names, deviation(system, system.start, steady, 15.0, run.q[-1]), strict=True))
    assert abs(remaining["body_vy"]) < 5e-3
    assert abs(remaining["body_w"]) < 5e-3
    np.testing.assert_allclose(run.v[-1], steady, atol=5e-3)


def test_states_that_depend_on_others_cannot_be_separated():
    robot = bicycle()
    linear = linearize(robot, robot.home, [0.0, 10.0, 0.0])
    with pytest.raises(ArgumentError, match=r"they depend on .*q_fork"):
        linear.part(["q_frame_wx", "v_frame_wx"])
    with pytest.raises(ArgumentError, match="has no state 'lean'"):
        linear.part(["lean"])


def test_an_impossible_feedback_is_rejected_with_its_states():
    """Steering does not control the speed."""
    robot = bicycle()
    linear = linearize(robot, robot.home, [0.0, 10.0, 0.0], actuators=["fork"])
    with pytest.raises(ArgumentError, match=r"no stabilising feedback from .*v_rear"):
        ap.control.lqr(linear, {"q_frame_wx": 1.0, "q_fork": 1.0, "v_frame_wx": 1.0, "v_fork": 1.0, "v_rear": 1.0})


def test_a_configuration_that_violates_constraints_is_rejected():
    system = constrained("fourbar-grashof")
    with pytest.raises(ArgumentError, match="violates constraint 'closure 0' by"):
        linearize(system, system.start + np.array([0.1, 0.0, 0.0]), tau=np.zeros(3))


def test_prescribed_motions_are_rejected():
    case = CASES["five-bar"]
    drive = Prescribed(Gear({"left1": 1.0}, offset=case["states"][0]["q"][0]), name="motor")
    robot = tree(case["model"]).with_loops(*constraints(case["model"]["closures"]), drive, home=case["states"][0]["q"])
    with pytest.raises(ModelError, match="has prescribed motions"):
        linearize(robot, robot.home)


@pytest.mark.parametrize("tau", [None, [0.0, 0.0, 0.0]])
def test_a_singular_configuration_is_rejected(tau):
    """All links of the parallelogram lie on one line."""
    model = CASES["singular-and-impossible"]["parallelogram"]["model"]
    system = tree(model).with_loops(*constraints(model["closures"]), home=[0.5, -0.5, 0.5])
    with pytest.raises(ArgumentError, match=r"'parallelogram' cannot be linearised at q = \[0. 0. 0.\].* singular"):
        linearize(system, [0.0, 0.0, 0.0], tau=tau)


def test_only_systems_are_linearised():
    arm = ap.load("planar-2r")
    with pytest.raises(
        ArgumentError, match=r"the system to linearise is Dynamics\(planar-2r(.|\n)*Pass dyn.system instead"
    ):
        linearize(ap.Dynamics(arm), [0.0, 0.0])
    with pytest.raises(ArgumentError, match="the system to linearise is None"):
        linearize(None, [0.0, 0.0])
