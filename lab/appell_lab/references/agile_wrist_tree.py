"""The Agile Wrist as a tree with three loops: two revolute joints per leg, and the platform on a spherical joint.

Coordinates of the tree: (θ, ψ) of the three legs, then the quaternion (x, y, z, w) of the platform, whose velocity is
the angular velocity in platform axes. The end of each second arc coincides with a point of the platform at unit
distance from the centre.
"""

from __future__ import annotations

import math

import numpy as np

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.describe.legs import rotation_x
from appell.model.frame import Frame
from appell.model.joints import Revolute, Spherical
from appell.model.mechanism import Mechanism
from appell.model.robot import Joint, Link, Robot
from appell_lab.references.closed_tree import ClosedTree

Z = Vec3(0.0, 0.0, 1.0)


def agile_wrist_tree(wrist: Mechanism, recovery: float = 200.0) -> ClosedTree:
    """Return the wrist as a tree with closures, independent of the equations of the mechanism."""
    assert wrist.design is not None
    legs, (*arcs, platform) = wrist.design.legs, wrist.bodies.values()
    links, frames = [], []
    for k, (leg, first, second) in enumerate(zip(legs, arcs[::2], arcs[1::2], strict=True), start=1):
        bend = Pose(rotation_x(leg.alpha1))
        end = Vec3(0.0, -math.sin(leg.alpha2), math.cos(leg.alpha2))
        links.append(Link(f"first{k}", None, Joint(f"theta{k}", Revolute(Z), Pose(leg.base)), first))
        links.append(Link(f"second{k}", f"first{k}", Joint(f"psi{k}", Revolute(Z), bend), second))
        frames += [
            Frame(f"end{k}", f"second{k}", Pose(translation=end)),
            Frame(f"seat{k}", "platform", Pose(translation=leg.v_star)),
        ]
    links.append(Link("platform", None, Joint("ball", Spherical()), platform))
    robot = Robot("agile-wrist-tree", tuple(links), tuple(frames), wrist.gravity)
    numbers = range(1, len(legs) + 1)
    return ClosedTree(robot, [(f"end{k}", f"seat{k}") for k in numbers], [f"theta{k}" for k in numbers], recovery)


def tree_state(angles: np.ndarray, rates: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return (q, v) of the tree.

    Parameters
    ----------
    angles, rates : θ and ψ of all legs and their rates, rad and rad/s
    q, v : yaw, pitch and roll of the platform and their rates, rad and rad/s
    """
    legs = np.ravel(np.stack(np.split(angles, 2), axis=1))
    speeds = np.ravel(np.stack(np.split(rates, 2), axis=1))
    (cz, cy, cx), (sz, sy, sx) = np.cos(q / 2), np.sin(q / 2)
    quaternion = [
        cz * cy * sx - sz * sy * cx,
        cz * sy * cx + sz * cy * sx,
        sz * cy * cx - cz * sy * sx,
        cz * cy * cx + sz * sy * sx,
    ]
    return np.concatenate([legs, quaternion, speeds, body_rates(q) @ v])


def body_rates(q: np.ndarray) -> np.ndarray:
    """Return B(q) with ω = B v: the angular velocity of the platform in its axes for rates of yaw, pitch and roll."""
    sy, cy, sx, cx = np.sin(q[1]), np.cos(q[1]), np.sin(q[2]), np.cos(q[2])
    return np.array([[-sy, 0.0, 1.0], [cy * sx, cx, 0.0], [cy * cx, -sx, 0.0]])


def platform_motion(quaternion, omega, alpha) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return yaw, pitch and roll of a quaternion, their rates and second rates."""
    x, y, z, w = np.asarray(quaternion) / np.linalg.norm(quaternion)
    q = np.array(
        [
            math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
            math.asin(2 * (w * y - z * x)),
            math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
        ]
    )
    B = body_rates(q)
    v = np.linalg.solve(B, omega)
    sy, cy, sx, cx = np.sin(q[1]), np.cos(q[1]), np.sin(q[2]), np.cos(q[2])
    pitch, roll = v[1], v[2]
    drift = np.array(
        [
            [-cy * pitch, 0.0, 0.0],
            [-sy * sx * pitch + cy * cx * roll, -sx * roll, 0.0],
            [-sy * cx * pitch - cy * sx * roll, -cx * roll, 0.0],
        ]
    )
    return q, v, np.linalg.solve(B, alpha - drift @ v)
