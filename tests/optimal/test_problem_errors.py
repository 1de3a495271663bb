"""Problems that cannot be solved are refused with a message that names what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError, ModelWarning, TraceError
from appell.optimal.problem import Problem


def effort(t, q, v, tau):
    return ap.square(tau)


def made(name="planar-2r", steps=5, dt=0.01, **options):
    return Problem(ap.Dynamics(ap.load(name)), steps, dt, **{"cost": effort, "limits": False} | options)


def branching(t, q, v, tau):
    return tau[0] if q[0] > 0.0 else tau[1]


REFUSED = {
    "a cost that is a vector": ({"cost": lambda t, q, v, tau: tau}, TraceError, "returned"),
    "a cost that branches": ({"cost": branching}, TraceError, "Line .* of test_problem_errors.py.*if q"),
    "a cost that is a number": ({"cost": 3.0}, ArgumentError, "cost is 3.0"),
    "no cost": ({"cost": None}, ArgumentError, "no cost"),
    "a step of zero": ({"dt": 0.0}, ArgumentError, "dt, the length of a step"),
    "no steps": ({"steps": 0}, ArgumentError, "steps is 0"),
    "dt and duration": ({"duration": (0.1, 1.0)}, ArgumentError, "duration is unknown"),
    "a duration in the wrong order": ({"dt": None, "duration": (2.0, 1.0)}, ArgumentError, r"duration is \(2, 1\)"),
    "a negative duration": ({"dt": None, "duration": (-2.0, 1.0)}, ArgumentError, "shortest duration"),
    "an unknown method": ({"method": "moreau"}, ArgumentError, "moreau"),
    "an unknown actuator": ({"actuators": ["knee"]}, ap.ModelError, "knee"),
    "an actuator twice": ({"actuators": ["shoulder", "shoulder"]}, ArgumentError, "'shoulder' 2 times"),
    "a torque without cost": (
        {"cost": lambda t, q, v, tau: tau[0] * tau[0]},
        ArgumentError,
        "does not determine the torque of 'elbow'",
    ),
    "bounds in the wrong order": (
        {"keep": lambda t, q, v, tau: {"box": (1.0, q[0], -1.0)}},
        ArgumentError,
        "row 'box' of keep .* lower bound 1 above its upper bound -1",
    ),
    "a row without bounds": (
        {"keep": lambda t, q, v, tau: {"box": (None, q[0], None)}},
        ArgumentError,
        "row 'box' of keep .* has no bound",
    ),
    "a row that is not a triple": ({"keep": lambda t, q, v, tau: {"box": q[0]}}, TraceError, "row 'box'"),
    "rows without names": ({"keep": lambda t, q, v, tau: [q[0]]}, TraceError, "expected.*dict|a dict"),
    "a row named like a limit": (
        {"limits": {"torque": 1.0}, "keep": lambda t, q, v, tau: {"torque of 'shoulder'": (0.0, q[0], 1.0)}},
        ArgumentError,
        "used for two rows",
    ),
    "limits in the wrong order": (
        {"limits": {"position": {"shoulder": (1.0, -1.0)}}},
        ArgumentError,
        "lower limit 1 of 'shoulder' is above its upper limit -1",
    ),
    "an unknown kind of limit": ({"limits": "force"}, ArgumentError, "force"),
    "an unknown joint": ({"limits": {"speed": {"knee": 1.0}}}, ArgumentError, "knee"),
    "an argument that is not declared": (
        {"cost": lambda t, q, v, tau, *, goal: ap.square(tau - goal)},
        ArgumentError,
        "parameter 'goal' of cost",
    ),
    "an argument that is not used": ({"arguments": {"goal": 2}}, ArgumentError, "argument 'goal' .* not used"),
    "an unknown free parameter": ({"free": {"goal": None}}, ArgumentError, "goal"),
    "a terminal row outside the range": (
        {"limits": {"position": 1.0}, "meet": lambda q, v: {"end": q[0] - 1.5}},
        ArgumentError,
        "row 'end' requires 'shoulder' to be 1.5",
    ),
    "a signal of a final cost": (
        {"signals": {"goal": 2}, "final_cost": lambda q, v, *, goal: ap.square(q - goal)},
        ArgumentError,
        "signal 'goal', which has no value at the end",
    ),
    "phases without contacts": ({"phases": [(5, [])]}, ArgumentError, "without contacts"),
    "phases of another length": (
        {"contacts": {"tip": ap.Touch("tool")}, "phases": [(3, ["tip"])]},
        ArgumentError,
        "3 steps together",
    ),
    "a contact that does not exist": (
        {"contacts": {"tip": ap.Touch("tool")}, "phases": [(5, ["heel"])]},
        ArgumentError,
        "heel",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_is_refused(case):
    options, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        made(**options)


def test_subtracted_quaternions_are_refused():
    start = ap.load("box").start
    with pytest.raises(ArgumentError, match=r"subtracts 'free_q.', a component of a quaternion(.|\n)*ap\.turn"):
        made("box", final_cost=lambda q, v: ap.square(q - start))
    made("box", final_cost=lambda q, v: ap.square(ap.turn(q[3:7], start[3:7])) + ap.square(q[:3] - start[:3]))


def test_redundant_torques_need_a_cost():
    with pytest.raises(ArgumentError, match="does not determine the torque of 'shoulder'"):
        made(cost=lambda t, q, v, tau: 1.0 + 0.0 * t)


def test_dry_friction_is_smoothed_with_a_warning():
    drive = {"hinge": {"friction": ap.Friction(coulomb=0.1)}}
    with pytest.warns(ModelWarning, match=r"dry friction.*hinge"):
        problem = Problem(ap.load("pendulum").with_actuators(drive), 5, 0.01, cost=effort)
    assert problem.step.formula.contact is not None


STARTS = {
    "outside a position limit": ({"q0": [2.0, 0.0]}, "position of 'shoulder' is 2"),
    "outside a speed limit": ({"q0": [0.0, 0.0], "v0": [0.0, 3.0]}, "speed of 'elbow' is 3"),
    "of the wrong size": ({"q0": [0.0]}, r"q0 has shape \(1,\)"),
    "torques of the wrong shape": ({"q0": [0.0, 0.0], "given": np.zeros((4, 2))}, r"shape \(4, 2\)"),
    "torques that are NaN": ({"q0": [0.0, 0.0], "given": np.full((5, 2), np.nan)}, "not finite at knot 0"),
    "states of the wrong shape": ({"q0": [0.0, 0.0], "given": {"q": np.zeros((5, 2))}}, r"q of the guess has shape"),
    "an unknown part": ({"q0": [0.0, 0.0], "given": {"x": 1}}, "x"),
    "something else": ({"q0": [0.0, 0.0], "given": "fast"}, "the guess is 'fast'"),
}


@pytest.mark.parametrize("case", STARTS)
def test_a_start_or_guess_is_refused(case):
    options, message = STARTS[case]
    with pytest.raises(ArgumentError, match=message):
        made(limits={"position": 1.5, "speed": 2.0}).guess(**options)


def test_an_open_loop_is_refused():
    with pytest.raises(ArgumentError, match=r"leaves constraint .* open"):
        made("four-bar").guess(ap.load("four-bar").start + 0.1)


def test_guesses_have_the_shapes_of_the_knots():
    problem = made(limits=False)
    still = problem.guess([[0.3, 0.1], [0.2, 0.0]])
    assert still.q.shape == (2, 6, 2)
    assert still.u.shape == (2, 5, 2)
    np.testing.assert_allclose(still.u[1, 3], problem.dyn.gravity([0.2, 0.0]), atol=1e-12)
    torques = np.ones((5, 2))
    rolled = problem.guess([0.3, 0.1], None, torques)
    record = ap.rollout(problem.dyn, [0.3, 0.1], None, torques, steps=5, dt=0.01, method="euler")
    np.testing.assert_allclose(rolled.q[0], record.q[0], atol=1e-15)
    motion = problem.guess([0.3, 0.1], None, record[0])
    np.testing.assert_allclose(motion.v[0], record.v[0], atol=1e-14)


def test_rows_of_limits_are_bounds_of_unknowns():
    rows = made("puma", limits={"torque": 9.0, "speed": 3.0, "position": {"joint2": (-1.0, 1.0)}}).rows[0]
    assert len(rows) == 26
    assert all(row.unknown is not None for row in rows)
    assert [row.unknown for row in rows if "position" in row.name] == [1, 1]
    assert {row.state_only for row in rows if "torque" in row.name} == {False}
    four_bar = made("four-bar", limits={"position": 2.0}).rows[0]
    assert sum(row.unknown is not None for row in four_bar) == 2  # the crank; the other joints are functions of it


def test_a_joint_whose_torque_is_limited_to_zero_is_not_an_input():
    robot = ap.load("planar-2r")
    problem = Problem(robot, 5, 0.01, cost=effort, limits={"torque": [3.0, 0.0]})
    assert problem.actuators == [0]
    assert problem.nu == 1
    with pytest.raises(ArgumentError, match="all torques of robot 'planar-2r' are limited to zero"):
        Problem(robot, 5, 0.01, cost=effort, limits={"torque": 0.0})


def test_limits_of_the_state_hold_at_the_last_knot():
    problem = Problem(ap.load("planar-2r"), 5, 0.01, cost=effort, limits={"torque": 3.0, "speed": 2.0})
    assert [row.name for row in problem.final_rows] == [row.name for row in problem.rows[0] if "speed" in row.name]
    assert len(problem.final_rows) == 4
