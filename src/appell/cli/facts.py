"""What there is to say about a robot or a mechanism, as plain data."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from appell.describe.drives import table_of
from appell.display.bar import Bar
from appell.dynamics import Dynamics
from appell.model.actuator import Actuator
from appell.model.body import Body
from appell.model.constrained import ConstrainedRobot
from appell.model.robot import Link, Robot
from appell.model.system import System

UNITS = {  # of what has no unit beside it
    "mass": "kg",
    "gravity": "m/s^2",
    "com": "m",
    "moments": "kg m^2",
    "at": "m",
    "home": "those of coordinates",
    "limits": "position in the unit of the joint",
}
COUNTED = ("inverse_dynamics", "mass_matrix", "bias", "gravity", "forward_dynamics", "regressor")


def facts(system: System, warnings: list[str], counts: bool, bar: Bar | None = None) -> dict[str, Any]:
    """Everything that `appell info` shows; a bar is told of every function that was counted."""
    tree = system.tree
    return {
        "name": system.name,
        "kind": system.kind,
        "description": system.description,
        "reference": system.reference,
        "source": system.source,
        "nq": system.nq,
        "nv": system.nv,
        "mass": sum(body.mass for body in system.bodies.values() if body is not None),
        "gravity": list(system.gravity),
        "home": None if isinstance(system, Robot) and system.home is None else system.start.tolist(),
        "coordinates": [
            {"name": name, "unit": unit, "lower": _finite(lower), "upper": _finite(upper)}
            for name, unit, (lower, upper) in zip(
                system.coordinate_names, system.coordinate_units, system.ranges, strict=True
            )
        ],
        "velocities": list(system.velocity_names),
        "links": [_link(tree, link) for link in tree.links] if tree is not None else [],
        "constraints": _constraints(system),
        "actuators": [
            {"name": name, "unit": _turns(system, name), **table_of(actuator)}
            for name, actuator in _actuators(system).items()
        ],
        "bodies": [_body(name, body) for name, body in system.bodies.items()],
        "frames": [
            {"name": frame.name, "body": frame.body, "at": list(frame.pose.translation)} for frame in system.frames
        ],
        "operations": _operations(system, bar) if counts and not system.lacking() else {},
        "warnings": [*warnings, *_lacking(system)],
        "units": UNITS,
    }


def _actuators(system: System) -> dict[str, Actuator]:
    """What drives each joint of a tree, mimics included, or each actuated joint of another system."""
    if isinstance(system, Robot):
        return dict(system.drives)
    return dict(zip(system.actuator_names, system.actuators, strict=True))


def _turns(system: System, actuator: str) -> str:
    """What an actuator's way is measured in: rad, m, or both for a joint of several axes."""
    if isinstance(system, Robot):
        units = tuple(unit for _, unit in system.joint(actuator).motion.velocities)
    else:
        units = (system.actuator_units[system.actuator_names.index(actuator)],)
    return " or ".join(dict.fromkeys(units))


def _link(robot: Robot, link: Link) -> dict[str, Any]:
    joint = link.joint
    axis = getattr(joint.motion, "axis", None)
    span = robot.span(joint)[1]
    return {
        "name": link.name,
        "parent": link.parent,
        "joint": joint.name,
        "type": joint.motion.name,
        "axis": None if axis is None else list(axis),
        "v": [span.start, span.stop],
        "unit": _turns(robot, joint.name),
        "limits": asdict(joint.limits),
        "mimic": None if joint.mimic is None else asdict(joint.mimic),
    }


def _constraints(system: System) -> list[dict[str, Any]]:
    """The constraints of a robot: how many rows each has, and how many of them carry forces."""
    if not isinstance(system, ConstrainedRobot):
        return []
    idle = {name: sum(row.startswith(f"{name}.") for row in system.idle_rows) for name in system.constraint_names}
    return [
        {"name": own.name, "kind": own.kind, "rows": own.rows, "forces": own.rows - idle[own.name]}
        for own in system.constraints
    ]


def _body(name: str, body: Body | None) -> dict[str, Any]:
    return {
        "name": name,
        "mass": None if body is None else body.mass,
        "com": None if body is None else list(body.com),
        "moments": None if body is None else _principal_moments(body),
    }


def _principal_moments(body: Body) -> list[float]:
    return np.linalg.eigvalsh([list(row) for row in body.inertia.rows]).tolist()


def _finite(limit: float) -> float | None:
    return limit if math.isfinite(limit) else None


def _lacking(system: System) -> list[str]:
    lacking = system.lacking()
    if not lacking:
        return []
    return [
        f"moving links without inertia: {', '.join(lacking)}. Kinematics work, dynamics will refuse; "
        "--no-physical takes them as massless."
    ]


def _operations(system: System, bar: Bar | None) -> dict[str, dict[str, int]]:
    catalogue, found = Dynamics(system), {}
    for name in COUNTED:
        if bar is not None:
            bar.say(f"deriving {name}")
        found[name] = asdict(getattr(catalogue, name).count())
        if bar is not None:
            bar.advance()
    return found
