"""Poses of the links and visuals of a robot, computed in the test, and configurations for Pinocchio models."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from appell.algebra.rotation import Pose
from appell.model.robot import Robot


def matrix(rows) -> np.ndarray:
    return np.array([list(row) for row in rows])


def homogeneous(pose: Pose) -> np.ndarray:
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = matrix(pose.rotation.rows), list(pose.translation)
    return result


def link_poses(robot: Robot, q: np.ndarray) -> dict[str | None, Pose]:
    poses: dict[str | None, Pose] = {None: Pose()}
    for link in robot.links:
        joint = link.joint
        moved = joint.motion.pose([float(x) for x in robot.joint_position(joint, q)])
        poses[link.name] = poses[link.parent] @ joint.placement @ moved
    return poses


def visual_poses(robot: Robot, q: np.ndarray) -> list[np.ndarray]:
    """Return the poses of all visuals in the world, 4x4."""
    poses = link_poses(robot, q)
    return [homogeneous(poses[visual.body] @ visual.pose) for visual in robot.visuals]


def same_configuration(robot: Robot, model, q: np.ndarray) -> np.ndarray:
    """Return q in the order of a Pinocchio model, with (cos, sin) for its continuous and planar joints."""
    result = pin.neutral(model)
    for joint in [link.joint for link in robot.moving]:
        other = model.joints[model.getJointId(joint.name)]
        position = robot.joint_position(joint, q)
        if other.nq == len(position) + 1:
            position = [*position[:-1], np.cos(position[-1]), np.sin(position[-1])]
        result[other.idx_q : other.idx_q + other.nq] = position
    return result
