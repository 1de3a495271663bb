"""Positions of joints by name: numbers, poses or rotations, checked and converted to coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose, as_pose, as_rotation, quaternion_of
from appell.errors import AppellError, ArgumentError, ModelError, unknown_name, value_text
from appell.model.joints import Floating, Motion, Spherical

if TYPE_CHECKING:
    from appell.model.robot import Robot


def joint_coordinates(robot: Robot, name: str, position: Any) -> np.ndarray:
    """Return the coordinates of a joint with its own coordinates, at a position.

    Parameters
    ----------
    robot : the robot
    name : name of the joint
    position : as many numbers as the joint has coordinates; also a pose for a floating joint, and a rotation for a
        spherical one

    Raises
    ------
    ModelError
        If the joint is unknown or mimics another one.
    ArgumentError
        If it cannot be at this position.
    """
    joint = robot.joint(name)
    if joint.mimic:
        raise ModelError(
            f"joint '{name}' of {robot.owner} mimics '{joint.mimic.leader}' and has no position of its own.",
            hint=f"Use '{joint.mimic.leader}'.",
        )
    motion = joint.motion
    forms = {Floating: ", or a pose", Spherical: ", or a rotation"}
    numbers = "1 finite number" if motion.nq == 1 else f"{motion.nq} finite numbers"
    try:
        q = np.atleast_1d(np.asarray(_coordinates(motion, position), float))
    except (AppellError, TypeError, ValueError, OverflowError):
        q = np.zeros(0)
    if q.shape != (motion.nq,) or not np.isfinite(q).all():
        problem = f"joint '{name}' of {robot.owner} cannot be at {value_text(position)}."
        raise ArgumentError(problem, expected=numbers + forms.get(type(motion), ""))
    if ("qw", "1") in motion.coordinates and not q[-4:].any():
        raise ArgumentError(
            f"joint '{name}' of {robot.owner} cannot be at a quaternion of zeros.",
            expected="a quaternion of non-zero length",
        )
    return q


def _coordinates(motion: Motion, position: Any) -> Any:
    """Return the coordinates of a pose or a rotation; numbers unchanged."""
    is_matrix = isinstance(position, (Pose, Mat3)) or hasattr(position, "as_matrix") or hasattr(position, "homogeneous")
    if is_matrix or np.ndim(position) == 2:
        if isinstance(motion, Floating):
            pose = as_pose(position, "a pose")
            return [*pose.translation, *quaternion_of(pose.rotation)]
        if isinstance(motion, Spherical):
            return quaternion_of(as_rotation(position, "a rotation"))
    return position


def configuration(robot: Robot, positions: Mapping[str, Any]) -> np.ndarray:
    """Return the start configuration of a robot with some joints, or coordinates, at other positions."""
    if not isinstance(positions, Mapping):
        expected = 'a mapping from names of joints to positions, such as {"elbow": 1.0}'
        raise ArgumentError(f"positions is {value_text(positions)}.", expected=expected)
    q, joints = robot.start, {link.joint.name for link in robot.links}
    for name, position in positions.items():
        if name in joints:
            q[robot.span(robot.joint(name))[0]] = joint_coordinates(robot, name, position)
        elif name in robot.coordinate_names:
            q[robot.coordinate_names.index(name)] = coordinate(robot, name, position)
        else:
            known = dict.fromkeys((*robot.joint_names, *robot.coordinate_names))
            raise ModelError(unknown_name("joint or coordinate", str(name), known, robot.owner))
    for joint, motor in zip(robot.elastic_joints, robot.motor_names, strict=True):
        if joint in positions and motor not in positions:
            q[robot.coordinate_names.index(motor)] = q[robot.coordinate_names.index(joint)]  # a relaxed spring
    return q


def coordinate(system: Any, name: str, value: Any) -> float:
    """Return the value of one coordinate as a float; raise ArgumentError unless it is a finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not np.isfinite(number):
        problem = f"coordinate '{name}' of {system.owner} cannot be {value_text(value)}."
        raise ArgumentError(problem, expected="a finite number")
    return number
