"""All eight solutions of the inverse kinematics of an arm with a spherical wrist, in closed form.

With the constants of `WristGeometry`, and everything in the base frame B, the wrist centre p = (p_x, p_y, p_z) follows
from the requested pose. The first joint rotates the plane of the arm to p,

    k = ±√(p_x² + p_y² - side²)                 q₁ = atan2(k p_y - side p_x, k p_x + side p_y)                  (1)
    P = (cos q₁ p_x + sin q₁ p_y - shoulder,  p_z)                                                              (2)

In the plane, with R(φ) the rotation about y, a = upper·fore, b = upper × fore, n = |upper||fore|,

    P = R(q₂) (upper + R(φ) fore)      c = (|P|² - |upper|² - |fore|²)/2,   d = ±√(n² - c²)                     (3)
    cos φ = (a c - b d)/n²             sin φ = (b c + a d)/n²               φ = ±q₃                             (4)

and q₂ is the angle between the bracket and P. The wrist has to provide the remaining rotation
W = Rz(q₄) Ry(q₅ + bend) Rz(q₆):

    q₄ = atan2(±W₂₃, ±W₁₃)       then Rz(-q₄) W gives q₅ and q₆                                                 (5)

P is computed with the q₁ that is returned, and q₅, q₆ with q₄, so that the joints after a nearly singular q₁ or q₄
compensate its rounding error: the pose is accurate to rounding everywhere. At a singular pose, where q₄ (or q₁) is
free, it is 0.

    row        0  1  2  3  4  5  6  7
    shoulder   +  +  +  +  -  -  -  -    the sign of k: the arm reaches forward, or backward over the shoulder
    elbow      +  +  -  -  +  +  -  -    the sign of d: above the line from shoulder to wrist, or below (for shoulder +)
    wrist      +  -  +  -  +  -  +  -    the sign of q₅ + bend

A branch that does not exist is a row of NaN. Angles are in (-π, π].

The geometry with this closed form is an arm with two parallel axes on a rotating base, and a spherical wrist.

It is read from the six joint axes in the neutral configuration, whatever frames the robot was described in. B is a
frame of the fixed base: z along axis 1, y along axis 2, its origin on axis 1 at the height of axis 2. In B

    axis 1 = z        axis 2 ∥ y        axis 3 ∥ ±y        axis 4 ⟂ axis 3        4 ⟂ 5 ⟂ 6 meet in one point, the wrist

The PUMA is such an arm, with the twists 0, -90°, 0, 90°, -90°, 90°; so are most industrial arms, whose axis 2 is also
offset from axis 1 (`shoulder`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, atan2, cos, select, sin, snap, sqrt
from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.errors import ArgumentError, ModelError
from appell.kinematics.inverse.numerical_solver import checked_poses, default_frame
from appell.model.robot import Link, Robot

TOLERANCE = 1e-9  # rad and m, for right angles, parallel axes and axes that intersect
ROUNDING = 1e-15  # distance from 0 and ±1 below which a number is rounded to them


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
        """Smallest and largest distance of the wrist from axis 2, m."""
        upper, fore = float(np.hypot(*self.upper)), float(np.hypot(*self.fore))
        return abs(upper - fore), upper + fore


def wrist_geometry(robot: Robot, frame: str) -> WristGeometry:
    """Return the geometry of the chain that carries a frame; raise ModelError with the joint in which it differs."""
    links = _chain(robot, frame)
    points, axes, end = _axes(robot, links, frame)
    name = [f"joint '{link.joint.name}'" for link in links]
    z, y = axes[0], axes[1]

    def require(condition: bool, culprit: int, problem: str) -> None:
        if not condition:
            raise _differs(robot, f"{name[culprit]} {problem}")

    require(abs(y @ z) < TOLERANCE, 1, f"has an axis at {_degrees(y, z)} to that of {name[0]}, not 90°")
    require(
        _parallel(axes[2], y),
        2,
        f"has an axis at {_degrees(axes[2], y)} to that of {name[1]}, not parallel to it",
    )
    require(abs(axes[3] @ y) < TOLERANCE, 3, f"has an axis at {_degrees(axes[3], y)} to that of {name[2]}, not 90°")
    for k in (4, 5):
        require(
            abs(axes[k] @ axes[k - 1]) < TOLERANCE,
            k,
            f"has an axis at {_degrees(axes[k], axes[k - 1])} to that of {name[k - 1]}, not 90°",
        )
    wrist = points[4] + axes[4] * (axes[4] @ (points[3] - points[4]))  # nearest to axis 4: the two are at right angles
    for k in (3, 5):
        miss = np.linalg.norm(np.cross(wrist - points[k], axes[k]))
        require(
            bool(miss < TOLERANCE),
            k,
            f"has an axis that misses the wrist centre, on the axis of {name[4]}, by {miss:.6g} m",
        )

    origin = points[0] + z * (z @ (points[1] - points[0]))
    B = np.stack([np.cross(y, z), y, z], axis=1)
    shoulder, elbow, centre = ((point - origin) @ B for point in (points[1], points[2], wrist))
    upper, fore = (elbow - shoulder)[[0, 2]], (centre - elbow)[[0, 2]]
    require(bool(np.hypot(*upper) > TOLERANCE), 2, f"has the same axis as {name[1]}")
    require(bool(np.hypot(*fore) > TOLERANCE), 3, f"belongs to a wrist whose centre is on the axis of {name[2]}")
    base, end_pose = Pose(_matrix(B), _vector(origin)), Pose(_matrix(end[:3, :3]), _vector(end[:3, 3]))
    tool = base.inverse @ end_pose
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
    """Return the six links from the world to the one that carries the frame."""
    links: list[Link] = []
    name = robot.frame(frame).body
    while name is not None:
        links.insert(0, robot.link(name))
        name = links[0].parent
    if len(links) != 6 or robot.nq != 6:
        raise _differs(
            robot, f"frame '{frame}' is carried by {len(links)} joints and the robot has {robot.nq} coordinates, not 6"
        )
    for link in links:
        if link.joint.motion.name not in ("revolute", "continuous"):
            raise _differs(robot, f"joint '{link.joint.name}' is {link.joint.motion.name}, not revolute")
        if link.joint.mimic:
            raise _differs(robot, f"joint '{link.joint.name}' mimics another joint")
    return links


def _axes(robot: Robot, links: list[Link], frame: str) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Return a point and the direction of every axis, and the frame, in the world, in the neutral configuration."""
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
        f"robot '{robot.name}' has no closed-form inverse kinematics: {problem}.",
        expected="six revolute joints: the base, two parallel axes perpendicular to it, and three that meet in a wrist",
        source=robot.source,
        hint="Use appell.kinematics.inverse.numerical(robot, frame), which works for any robot.",
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


BOUNDARY_TOLERANCE = (
    1e-14  # relative; a square above minus this is taken as 0: the pose is on the boundary of the reach
)

# (shoulder, elbow, wrist) of every row of a solution
CONFIGURATIONS = tuple((s, e, w) for s in (1, -1) for e in (1, -1) for w in (1, -1))


@dataclass(frozen=True)
class SphericalWrist:
    """Closed-form inverse kinematics of one frame: `solver(pose)` returns joint angles (..., 8, 6), rad.

    The rows of a solution have the shoulder, elbow and wrist signs of `CONFIGURATIONS`; a row that does not exist is
    NaN. Made by `spherical_wrist`.
    """

    robot: Robot
    frame: str
    geometry: WristGeometry
    function: Function

    def __call__(self, pose) -> np.ndarray:
        return self.rows(checked_poses(pose))

    def rows(self, pose: np.ndarray) -> np.ndarray:
        """Return the solutions (..., 8, 6) of poses (..., 4, 4) without checking the poses."""
        with np.errstate(invalid="ignore"):  # NaN from the root of a negative number marks a branch that does not exist
            return self.function(pose)

    def shortfall(self, pose) -> np.ndarray:
        """Return the distance (...) of the wrist centre from the reach of the arm, m; 0 if a branch exists."""
        T = checked_poses(pose)
        g = self.geometry
        inverse = matrix_of(g.base.inverse)
        wrist = (inverse @ T @ np.array([*g.wrist_in_tool, 1.0]))[..., :3]
        radius = np.hypot(wrist[..., 0], wrist[..., 1])
        inside = np.maximum(0.0, abs(g.side) - radius)
        along = np.sqrt(np.maximum(0.0, radius**2 - g.side**2))
        nearest, farthest = g.reach
        gaps = []
        for k in (along, -along):
            distance = np.hypot(k - g.shoulder, wrist[..., 2])
            gaps.append(np.maximum(np.maximum(distance - farthest, nearest - distance), 0.0))
        return np.hypot(np.minimum(*gaps), inside)


@lru_cache(maxsize=32)
def spherical_wrist(robot: Robot, frame: str | None = None) -> SphericalWrist:
    """Return the closed-form inverse kinematics of a frame.

    Parameters
    ----------
    robot : a serial arm with six revolute joints and a spherical wrist
    frame : name of the frame; by default 'tool', or the last link

    Returns
    -------
    A `SphericalWrist`: `solver(pose)` returns all eight solutions (..., 8, 6) for poses (..., 4, 4).

    Raises
    ------
    ModelError
        If the arm has another geometry; the message names the joint.

    Examples
    --------
    >>> import appell as ap
    >>> puma = ap.load("puma")
    >>> pose = ap.Dynamics(puma).pose("tool")([0.3, -0.5, 0.4, 0.2, 0.6, -0.1])
    >>> q = ap.kinematics.inverse.spherical_wrist(puma)(pose)
    >>> q.shape
    (8, 6)
    """
    robot = robot.link_side
    frame = default_frame(robot) if frame is None else frame
    geometry = wrist_geometry(robot, frame)

    def body(pose):
        return {"q": solutions(geometry, pose)}

    function = Function.of(
        "spherical_wrist",
        {"pose": (4, 4)},
        body,
        "All configurations of the wrist in closed form.",
        f"robot '{robot.name}'",
    )
    return SphericalWrist(robot, frame, geometry, function)


def row_of(shoulder: int = 1, elbow: int = 1, wrist: int = 1) -> int:
    """Return the row of a solution of `SphericalWrist` with the given signs.

    Parameters
    ----------
    shoulder, elbow, wrist : +1 or -1

    Examples
    --------
    >>> row_of(shoulder=1, elbow=-1, wrist=1)
    2
    """
    if (shoulder, elbow, wrist) not in CONFIGURATIONS:
        raise ArgumentError(
            f"the configuration ({shoulder}, {elbow}, {wrist}) does not exist.",
            expected="shoulder, elbow and wrist, each 1 or -1",
        )
    return CONFIGURATIONS.index((shoulder, elbow, wrist))


def solutions(g: WristGeometry, pose) -> list[list[Scalar]]:
    """Return the eight solutions of a 4x4 pose, over abstract scalars."""
    target = g.base.inverse @ Pose(Mat3.of(row[:3] for row in pose[:3]), Vec3.of(row[3] for row in pose[:3]))
    p, rotation = target.apply(g.wrist_in_tool), target.rotation @ g.tool.rotation.T
    return [
        [q1 + validity, q2, q3, *wrist]
        for shoulder in (1.0, -1.0)
        for q1, c1, s1 in [_base(g, p, shoulder)]
        for elbow in (1.0, -1.0)
        for q2, q3, c23, s23, validity in [_arm(g, c1 * p.x + s1 * p.y - g.shoulder, p.z, elbow)]
        for wrist in _wrists(
            g, Mat3.of([[c1 * c23, -s1, c1 * s23], [s1 * c23, c1, s1 * s23], [-s23, 0.0, c23]]).T @ rotation
        )
    ]


def _base(g: WristGeometry, p: Vec3, sign: float) -> tuple[Scalar, Scalar, Scalar]:
    square = p.x * p.x + p.y * p.y
    k = sign * _root(square - g.side * g.side, g.side * g.side)
    q1 = atan2(k * p.y - g.side * p.x, k * p.x + g.side * p.y)  # (1)
    return q1, cos(q1), sin(q1)


def _arm(g: WristGeometry, x: Scalar, z: Scalar, sign: float) -> tuple[Scalar, ...]:
    """Return q₂, q₃, cosine and sine of the forearm's rotation, and 0, or NaN where these do not exist."""
    (ux, uz), (fx, fz) = g.upper, g.fore
    a, b = ux * fx + uz * fz, ux * fz - uz * fx
    n = (ux * ux + uz * uz) * (fx * fx + fz * fz)
    c = 0.5 * (x * x + z * z - (ux * ux + uz * uz + fx * fx + fz * fz))
    d = sign * _root(n - c * c, n)  # (3)
    cos_phi, sin_phi = (1.0 / n) * (a * c - b * d), (1.0 / n) * (b * c + a * d)  # (4)
    vx, vz = ux + cos_phi * fx + sin_phi * fz, uz - sin_phi * fx + cos_phi * fz
    q2 = atan2(vz * x - vx * z, vx * x + vz * z)
    c2, s2 = cos(q2), sin(q2)
    q3 = atan2(g.elbow_sense * sin_phi, cos_phi)
    validity = sqrt(select(n - c * c + BOUNDARY_TOLERANCE * n, 0.0, -1.0))
    return q2, q3, c2 * cos_phi - s2 * sin_phi, s2 * cos_phi + c2 * sin_phi, validity


def _wrists(g: WristGeometry, remaining: Mat3) -> list[list[Scalar]]:
    """Return both solutions of the wrist for the remaining rotation."""
    cb, sb = cos(g.bend), sin(g.bend)
    bend = Mat3.of([[cb, 0.0, sb], [0.0, 1.0, 0.0], [-sb, 0.0, cb]])
    W = g.wrist_axes.T @ remaining @ g.wrist_axes @ bend
    q4 = atan2(W[1, 2], W[0, 2])  # (5)
    c4, s4 = cos(q4), sin(q4)
    up, level = c4 * W[0, 2] + s4 * W[1, 2], W[2, 2]
    s6, c6 = c4 * W[1, 0] - s4 * W[0, 0], c4 * W[1, 1] - s4 * W[0, 1]
    return [
        [q4, atan2(up * cb - level * sb, level * cb + up * sb), atan2(s6, c6)],
        [_opposite(q4), atan2(-up * cb - level * sb, level * cb - up * sb), atan2(-s6, -c6)],
    ]


def _opposite(angle: Scalar) -> Scalar:
    """Return the opposite angle, in (-π, π]."""
    return select(angle, angle - np.pi, angle + np.pi)


def _root(square: Scalar, scale: float) -> Scalar:
    """Return the square root; 0 if rounding made the argument negative, NaN if it is negative."""
    return sqrt(
        select(square, square, select(square + BOUNDARY_TOLERANCE * max(scale, BOUNDARY_TOLERANCE), 0.0, square))
    )


def matrix_of(pose: Pose) -> np.ndarray:
    """Return a pose as a 4x4 matrix."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = [list(row) for row in pose.rotation.rows], list(pose.translation)
    return matrix
