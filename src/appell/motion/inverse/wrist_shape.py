"""The geometry that has a closed-form inverse: an arm of two parallel axes on a turning base, and a spherical wrist.

Read from the six joint axes in the neutral configuration, whatever frames the robot was described in. B is a frame of
the resting base: z along axis 1, y along axis 2, its origin on axis 1 at the height of axis 2. In B

    axis 1 = z        axis 2 ∥ y        axis 3 ∥ ±y        axis 4 ⟂ axis 3        4 ⟂ 5 ⟂ 6 meet in one point, the wrist

The PUMA is such an arm, with the twists 0, -90°, 0, 90°, -90°, 90°; so are most industrial arms, which also set axis 2
before axis 1 (`shoulder`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import snap
from appell.algebra.vector import Vec3
from appell.errors import ModelError
from appell.model.robot import Link, Robot

TOLERANCE = 1e-9  # rad and m: what may be missing to a right angle, to parallel axes, or to axes that meet
ROUNDING = 1e-15


@dataclass(frozen=True)
class WristGeometry:
    """The constants of the closed form; plane vectors are (x, z) of B, in the neutral configuration."""

    base: Pose  # B in the world
    shoulder: float  # x of axis 2
    side: float  # y of the wrist
    upper: tuple[float, float]  # from axis 2 to axis 3
    fore: tuple[float, float]  # from axis 3 to the wrist
    elbow_sense: float  # +1 if axis 3 points along axis 2, -1 if against it
    wrist_axes: Mat3  # columns: axis 5 x axis 4, axis 5, axis 4, in B
    bend: float  # angle about axis 5 from axis 4 to axis 6
    tool: Pose  # the frame in B
    wrist_in_tool: Vec3

    @property
    def reach(self) -> tuple[float, float]:
        """How near to axis 2 and how far from it the wrist can be, m."""
        upper, fore = float(np.hypot(*self.upper)), float(np.hypot(*self.fore))
        return abs(upper - fore), upper + fore


def wrist_geometry(robot: Robot, frame: str) -> WristGeometry:
    """The geometry of the chain that carries a frame, or the joint in which it differs."""
    links = _chain(robot, frame)
    points, axes, end = _axes(robot, links, frame)
    name = [f"joint '{link.joint.name}'" for link in links]
    z, y = axes[0], axes[1]

    def demand(is_right: bool, culprit: int, problem: str) -> None:
        if not is_right:
            raise _differs(robot, f"{name[culprit]} {problem}")

    demand(abs(y @ z) < TOLERANCE, 1, f"turns about an axis {_degrees(y, z)} from that of {name[0]}, not 90°")
    demand(
        _parallel(axes[2], y),
        2,
        f"turns about an axis {_degrees(axes[2], y)} from that of {name[1]}, not parallel to it",
    )
    demand(
        abs(axes[3] @ y) < TOLERANCE, 3, f"turns about an axis {_degrees(axes[3], y)} from that of {name[2]}, not 90°"
    )
    for k in (4, 5):
        demand(
            abs(axes[k] @ axes[k - 1]) < TOLERANCE,
            k,
            f"turns about an axis {_degrees(axes[k], axes[k - 1])} from that of {name[k - 1]}, not 90°",
        )
    wrist = points[4] + axes[4] * (axes[4] @ (points[3] - points[4]))  # nearest to axis 4: the two are at right angles
    for k in (3, 5):
        miss = np.linalg.norm(np.cross(wrist - points[k], axes[k]))
        demand(bool(miss < TOLERANCE), k, f"has an axis that passes the wrist, on that of {name[4]}, at {miss:.6g} m")

    origin = points[0] + z * (z @ (points[1] - points[0]))
    B = np.stack([np.cross(y, z), y, z], axis=1)
    shoulder, elbow, centre = ((point - origin) @ B for point in (points[1], points[2], wrist))
    upper, fore = (elbow - shoulder)[[0, 2]], (centre - elbow)[[0, 2]]
    demand(bool(np.hypot(*upper) > TOLERANCE), 2, f"has the axis of {name[1]}")
    demand(bool(np.hypot(*fore) > TOLERANCE), 3, f"starts a wrist that lies on the axis of {name[2]}")
    base, place = Pose(_matrix(B), _vector(origin)), Pose(_matrix(end[:3, :3]), _vector(end[:3, 3]))
    tool = base.inverse @ place
    E = B.T @ np.stack([np.cross(axes[4], axes[3]), axes[4], axes[3]], axis=1)
    return WristGeometry(
        base=base,
        shoulder=_clean(shoulder[0]),
        side=_clean(centre[1]),
        upper=(_clean(upper[0]), _clean(upper[1])),
        fore=(_clean(fore[0]), _clean(fore[1])),
        elbow_sense=float(np.sign(axes[2] @ y)),
        wrist_axes=_matrix(E),
        bend=_clean(np.arctan2(axes[4] @ np.cross(axes[3], axes[5]), axes[3] @ axes[5])),
        tool=tool,
        wrist_in_tool=tool.inverse.apply(_vector(centre)),
    )


def _chain(robot: Robot, frame: str) -> list[Link]:
    """The six links from the world to the one that carries the frame."""
    links: list[Link] = []
    name = robot.frame(frame).body
    while name is not None:
        links.insert(0, robot.link(name))
        name = links[0].parent
    if len(links) != 6 or robot.nq != 6:
        raise _differs(
            robot, f"frame '{frame}' stands on {len(links)} joints and the robot has {robot.nq} coordinates, not 6"
        )
    for link in links:
        if link.joint.motion.name not in ("revolute", "continuous"):
            raise _differs(robot, f"joint '{link.joint.name}' is {link.joint.motion.name}, not revolute")
        if link.joint.mimic:
            raise _differs(robot, f"joint '{link.joint.name}' follows another joint")
    return links


def _axes(robot: Robot, links: list[Link], frame: str) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """A point and the direction of every axis, and the frame, in the world, in the neutral configuration."""
    pose, points, axes = Pose(), [], []
    for link in links:
        pose = pose @ link.joint.placement
        points.append(np.array(list(pose.translation)))
        axes.append(np.array(list(pose.rotation @ link.joint.motion.axis)))  # type: ignore[attr-defined]
    end = pose @ robot.frame(frame).pose
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = [list(row) for row in end.rotation.rows], list(end.translation)
    return points, axes, matrix


def _differs(robot: Robot, problem: str) -> ModelError:
    return ModelError(
        f"robot '{robot.name}' has no closed-form inverse: {problem}.",
        expected="six revolute joints: one turns the base, two are parallel and square to it, three meet in a wrist",
        source=robot.source,
        hint="appell.motion.inverse.numerical_solver(robot, frame), which works for any robot",
    )


def _parallel(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.linalg.norm(np.cross(a, b)) < TOLERANCE)


def _degrees(a: np.ndarray, b: np.ndarray) -> str:
    return f"{np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)):.6g}°"


def _clean(x) -> float:
    return snap(float(x), ROUNDING)


def _vector(x: np.ndarray) -> Vec3:
    return Vec3.of(_clean(component) for component in x)


def _matrix(m: np.ndarray) -> Mat3:
    return Mat3.of([_clean(x) for x in row] for row in m)
