"""Talos on level ground, with points at the corners of its soles for simulation."""

from __future__ import annotations

import numpy as np

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.dynamics import Dynamics
from appell.kinematics.inverse import ComTask, numerical
from appell.model.frame import Frame
from appell.model.robot import Robot

SOLES = ("left_sole_link", "right_sole_link")
KNEES = {"leg_left_3_joint": -0.4, "leg_left_4_joint": 0.8, "leg_left_5_joint": -0.4}  # rad
ELBOWS = {"arm_left_2_joint": 0.2, "arm_left_4_joint": -0.5, "arm_right_2_joint": -0.2, "arm_right_4_joint": -0.5}


def sole_corners(robot: Robot, size: tuple[float, float]) -> list[Frame]:
    """Return frames at the corners of both soles; `size` has the half lengths in m."""
    corners = [(x, y) for x in (size[0], -size[0]) for y in (size[1], -size[1])]
    soles = [robot.frame(name) for name in SOLES]
    return [
        Frame(f"{sole.name}_{k}", sole.body, sole.pose @ Pose(translation=Vec3(x, y, 0.0)))
        for sole in soles
        for k, (x, y) in enumerate(corners)
    ]


def standing_talos(dyn: Dynamics) -> np.ndarray:
    """Return a configuration with bent knees, level feet at z = 0, and the centre of mass above their middle."""
    robot = dyn.system.tree
    q = robot.configuration(KNEES | {name.replace("left", "right"): x for name, x in KNEES.items()} | ELBOWS)
    targets = {name: dyn.pose(name, q) for name in SOLES}
    for pose in targets.values():
        pose[:3, :3], pose[2, 3] = np.eye(3), 0.0
    middle = sum(pose[:3, 3] for pose in targets.values()) / 2
    targets |= {"com": middle + np.array([0.0, 0.0, 0.87])}
    return numerical(robot, [*SOLES, ComTask()])(targets, q, starts=1).q


def hand_targets(dyn: Dynamics, count: int, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return reachable targets of both grippers, the centre of mass and the soles, by name, and the start.

    The joints of arms and torso are random within 80 % of their ranges about the start, and the centre of mass is moved
    by up to 4, 6 and 6 cm; the legs keep the soles on the ground.
    """
    robot, start = dyn.system.tree, standing_talos(dyn)
    rng, names = np.random.default_rng(seed), robot.coordinate_names
    upper_body = [k for k, name in enumerate(names) if name.startswith(("arm", "torso"))]
    q = np.repeat(start[None], count, axis=0)
    ends = rng.uniform(robot.limits.lower[upper_body], robot.limits.upper[upper_body], (count, len(upper_body)))
    q[:, upper_body] += 0.8 * (ends - q[:, upper_body])
    soles = {name: dyn.pose(name, start) for name in SOLES}
    centre = dyn.center_of_mass(start) + rng.uniform(-1.0, 1.0, (count, 3)) * [0.04, 0.06, 0.06]
    moved = numerical(robot, [*SOLES, ComTask()])(soles | {"com": centre}, q, starts=1)
    if not moved.reached.all():
        raise AssertionError(f"a target cannot be reached: {moved}")
    hands = {f"gripper_{side}_base_link": dyn.pose(f"gripper_{side}_base_link", moved.q) for side in ("left", "right")}
    return hands | soles | {"com": dyn.center_of_mass(moved.q)}, start
