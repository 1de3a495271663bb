"""What there is to say about a robot, as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.model.body import Body
from appell.model.robot import Link, Robot

COUNTED = ("inverse_dynamics", "mass_matrix", "bias", "gravity", "forward_dynamics", "regressor")


def facts(robot: Robot, warnings: list[str], counts: bool) -> dict[str, Any]:
    """Everything that `appell info` shows."""
    return {
        "name": robot.name,
        "description": robot.description,
        "reference": robot.reference,
        "source": robot.source,
        "nq": robot.nq,
        "nv": robot.nv,
        "mass": sum(link.body.mass for link in robot.links if link.body is not None),
        "gravity": list(robot.gravity),
        "home": None if robot.home is None else list(robot.home),
        "links": [_link(robot, link) for link in robot.links],
        "frames": [
            {"name": frame.name, "link": frame.body, "at": list(frame.pose.translation)} for frame in robot.frames
        ],
        "operations": _operations(robot) if counts and not _lacking(robot) else {},
        "warnings": [*warnings, *_lacking(robot)],
    }


def _link(robot: Robot, link: Link) -> dict[str, Any]:
    joint, body = link.joint, link.body
    axis = getattr(joint.motion, "axis", None)
    span = robot.span(joint)[1]
    return {
        "name": link.name,
        "parent": link.parent,
        "joint": joint.name,
        "type": joint.motion.name,
        "axis": None if axis is None else list(axis),
        "v": [span.start, span.stop],
        "limits": asdict(joint.limits),
        "mimic": None if joint.mimic is None else asdict(joint.mimic),
        "damping": joint.damping,
        "friction": joint.friction,
        "mass": None if body is None else body.mass,
        "com": None if body is None else list(body.com),
        "moments": None if body is None else _principal_moments(body),
    }


def _principal_moments(body: Body) -> list[float]:
    return np.linalg.eigvalsh([list(row) for row in body.inertia.rows]).tolist()


def _lacking(robot: Robot) -> list[str]:
    lacking = [name for name in robot.missing if name not in robot.free]
    if not lacking or not robot.physical:
        return []
    return [
        f"moving links without inertia: {', '.join(lacking)}. Kinematics work, dynamics will refuse; "
        "--no-physical takes them as massless."
    ]


def _operations(robot: Robot) -> dict[str, dict[str, int]]:
    catalogue = Dynamics(robot)
    return {name: asdict(getattr(catalogue, name).count()) for name in COUNTED}
