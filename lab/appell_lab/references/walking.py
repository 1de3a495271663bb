"""crocoddyl's problem of a walking ANYmal, stated for appell.

The course (contacts, references of feet and centre of mass at every knot) is taken from crocoddyl's own problem, as the
weights are from `SimpleQuadrupedalGaitProblem`. Differences: appell applies an impact at the start of the step that
follows, where crocoddyl has a knot without duration; rotations are measured by 2 vec instead of the logarithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import appell as ap
from appell_lab.bench.peers.peer import PeerUnavailableError
from appell_lab.campaigns.control_robots import robot_files

FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
DT = 1e-2  # s
FRICTION = 0.7
SAME_POINT = 1e-9  # m
STATE, TORQUE, BOUNDS, CONE = 10.0, 0.1, 1e3, 10.0  # weights of the sums below


def walking_problem(course: dict[str, Any]) -> tuple[ap.Dynamics, np.ndarray, dict[str, Any], dict[str, np.ndarray]]:
    """Return dynamics, start, options of `Optimizer`, and the signals of all knots.

    Parameters
    ----------
    course : answer of the worker to "walking"
    """
    robot = ap.load(robot_files(["anymal_b_simple_description/robots/anymal.urdf"])[0], base="floating")
    dyn = ap.Dynamics(robot)
    order = [course["joints"].index(name) for name in robot.coordinate_names[7:]]  # Pinocchio sorts joints by name
    x0 = np.array(course["x0"])
    q0 = np.r_[x0[:7], x0[7:19][order]]
    _check_start(dyn, q0, course["feet"])
    phases, rows, impact = [], [], 0.0
    for knot in course["course"]:
        if knot["impulse"]:
            impact = 1.0 / DT  # the cost of the impulse knot, whose duration is zero
            landed = knot
            continue
        row = {"com": [0.0, 0.0, 0.0, 0.0], "feet": [0.0] * 16, "impact": [0.0] * 17}
        if "com" in knot:
            row["com"] = [1e6, *knot["com"]]
        for k, foot in enumerate(FEET):
            if foot in knot:
                row["feet"][4 * k : 4 * k + 4] = [1e6, *knot[foot]]
            if impact and foot in landed:
                row["impact"][1 + 4 * k : 5 + 4 * k] = [1e7 * impact, *landed[foot]]
        row["impact"][0], impact = impact, 0.0
        rows.append([*row["com"], *row["feet"], *row["impact"]])
        phases.append((1, knot["contacts"]))
    rows.append([0.0] * 37)
    rows[-1][20:] = [
        1.0 / DT,
        *(x for foot in FEET for x in ([1e7 / DT, *landed[foot]] if foot in landed else [0.0] * 4)),
    ]
    phases.append((1, list(FEET)))  # the last impact precedes a step on four feet
    poses, centre = {foot: dyn.pose(foot) for foot in FEET}, dyn.center_of_mass
    low, high = (np.r_[x[:12][order], x[12:18], x[18:][order]] for x in map(np.array, course["bounds"]))
    joints = q0[7:]

    def away(pose, target):
        return ap.square([row[3] - x for row, x in zip(list(pose)[:3], target, strict=True)])

    def state(q, v):
        weights = [500.0] * 3 + [0.01] * 12 + [10.0] * 6 + [1.0] * 12
        q, v = list(q), list(v)
        errors = [*ap.turn(q[3:7], q0[3:7]), *(a - b for a, b in zip(q[7:], joints, strict=True)), *v]
        beyond = []
        for x, lower, upper in zip([*q[7:], *v], low, high, strict=True):
            if np.isfinite(lower):
                beyond.append(ap.minimum(x - lower, 0.0))
            if np.isfinite(upper):
                beyond.append(ap.maximum(x - upper, 0.0))
        value = 0.5 * STATE * ap.square([w * e for w, e in zip(weights, errors, strict=True)])
        return value + (0.5 * BOUNDS * ap.square(beyond) if beyond else 0.0)

    def cost(t, q, v, tau, *, force, course):
        course = list(course)
        value = state(q, v) + 0.5 * TORQUE * ap.square(tau)
        value = value + 0.5 * course[0] * ap.square([a - b for a, b in zip(centre(q), course[1:4], strict=True)])
        landing = [1.0] * 3 + [10.0] * 30
        errors = [*ap.turn(list(q)[3:7], q0[3:7]), *(a - b for a, b in zip(list(q)[7:], joints, strict=True)), *v]
        value = value + 0.5 * STATE * course[20] * ap.square([w * e for w, e in zip(landing, errors, strict=True)])
        for k, foot in enumerate(FEET):
            pose = poses[foot](q)
            value = value + 0.5 * course[4 + 4 * k] * away(pose, course[5 + 4 * k : 8 + 4 * k])
            value = value + 0.5 * course[21 + 4 * k] * away(pose, course[22 + 4 * k : 25 + 4 * k])
            fx, fy, fz = list(force[k])[:3]
            facets = [fx - FRICTION * fz, fy - FRICTION * fz, -fx - FRICTION * fz, -fy - FRICTION * fz, -fz]
            value = value + 0.5 * CONE * ap.square([ap.maximum(x, 0.0) for x in facets])
        return value

    options = {
        "steps": len(rows),
        "dt": DT,
        "limits": False,
        "cost": cost,
        "final_cost": state,
        "contacts": {foot: ap.Touch(foot) for foot in FEET},
        "phases": phases,
        "gains": (0.0, 50.0),
        "actuators": robot.actuator_names[6:],
        "signals": {"course": 37},
    }
    return dyn, q0, options, {"course": np.array(rows)}


def _check_start(dyn: ap.Dynamics, q0: np.ndarray, feet: dict[str, list[float]]) -> None:
    """Raise an error if the feet of both robots are not at the same points at the start."""
    for name, position in feet.items():
        difference = np.abs(np.array(dyn.pose(name)(q0))[:3, 3] - position).max()
        if difference > SAME_POINT:
            raise PeerUnavailableError(f"crocoddyl: foot '{name}' of ANYmal is {difference:.1g} m from that of appell.")
