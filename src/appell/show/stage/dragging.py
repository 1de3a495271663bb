"""Dragging of frames: the configuration that brings a frame to a target pose, or as close to it as possible.

A tree is solved by damped least squares within its limits (`kinematics.inverse.numerical`), starting from the current
configuration. A moving base stays where it is while something on it is dragged: the target is transformed to its axes.
A mechanism, and a tree with loops, is solved by the Gauss-Newton method (`nearest_root`) for the same error

    e = ( Rᵀ(p* - p),  log(RᵀR*) )         ė = -J v                                                            (1)

in its independent directions. A step is rejected if a leg is out of reach, a loop opens or a limit is exceeded. A frame
with fewer than six degrees of freedom follows the target's position, or its orientation while the user only rotates the
handle (`DragMode`).

Handles are placed at a moving base, at grippers, and at the ends of chains. A gripper is a link with several links
below it that a single coordinate moves, such as mimicking fingers; the fingers then have no handles. The handle of a
link is at its frame 'tool', or at the frame farthest from the link's origin. A mechanism has handles at its named
frames, or else one at its platform or its last body: at the origin, or at the farthest point of its outline if that can
move in more directions, because the origin of a wrist does not move at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.dynamics import Dynamics
from appell.formulate.constrained.assembly import nearest_root
from appell.kinematics.assembly import ConstraintRows, step_along, tree_dynamics
from appell.kinematics.inverse import NumericalSolver, numerical
from appell.model.frame import Frame
from appell.model.joints import quaternion_difference
from appell.model.robot import Link, Robot
from appell.model.system import System
from appell.show.scene.poses import quaternions
from appell.show.scene.scene import Handle
from appell.show.stage.links import pose_numbers

POSE_DIMENSION = 6  # degrees of freedom of a pose
TOLERANCE = 1e-9  # m and rad: error of a reached target
MIN_DRAG = 1e-5  # m and rad: smaller moves and rotations are ignored; pages transmit seven digits
MAX_STEP = 0.3  # rad or m per iteration for (1)
CLOSURE_TOLERANCE = 1e-9  # m or rad: error of a closed loop
RANK_TOLERANCE = 1e-6  # relative to the largest singular value
ROWS = {"pose": slice(0, 6), "position": slice(0, 3), "rotation": slice(3, 6)}  # of (1)


@dataclass(frozen=True)
class FollowResult:
    """The new configuration, and the remaining errors of the dragged frame in m and rad."""

    q: np.ndarray
    position: float
    rotation: float

    @property
    def note(self) -> str:
        """Remaining distance to a target out of reach, for the page; empty if the target is reached."""
        errors = [f"{self.position:.3g} m"] if self.position > 1e3 * TOLERANCE else []
        errors += [f"{np.degrees(self.rotation):.3g}°"] if self.rotation > 1e3 * TOLERANCE else []
        return f"out of reach by {' and '.join(errors)}" if errors else ""


@dataclass(frozen=True)
class HandleFrame:
    """The frame of a handle on a body: a frame of a tree, or any point of a mechanism."""

    name: str
    body: str
    pose: Pose


class DragMode:
    """Detects whether the user only rotates a handle, relative to the previous target or to the present pose."""

    def __init__(self):
        self.last: np.ndarray | None = None
        self.rotates = False

    def is_rotation(self, target: np.ndarray, present: np.ndarray) -> bool:
        """Whether a 4x4 target is a rotation; the previous answer if it is both or neither."""
        for reference in (present if self.last is None else self.last, present):
            e = pose_error(target, reference)
            moved, rotated = np.linalg.norm(e[:3]) > MIN_DRAG, np.linalg.norm(e[3:]) > MIN_DRAG
            if moved != rotated:
                self.rotates = bool(rotated)
                break
        self.last = target
        return self.rotates


def pose_error(target: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return the error e of (1) between a pose T and a target, both 4x4."""
    if not np.isfinite(T).all():
        return np.full(6, np.nan)
    rotation = quaternion_difference(quaternions(T[:3, :3]), quaternions(target[:3, :3]))
    return np.concatenate([T[:3, :3].T @ (target[:3, 3] - T[:3, 3]), rotation])


def linear_jacobian_at(J: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return the linear rows of a body's Jacobian (6, nv) for another point of the body, in its axes."""
    return J[:3] - np.cross(point, J[3:].T).T


class TreeFollower:
    """Moves a frame of a tree without loops to 4x4 target poses."""

    def __init__(self, dyn: Dynamics, robot: Robot, frame: HandleFrame):
        self.dyn, self.frame, self.mode = dyn, frame, DragMode()
        root = robot.link(_root(robot, frame.body))
        self.base = root if root.joint.motion.nv > 1 and root.name != frame.body else None
        arm = robot if self.base is None else robot.locked([self.base.joint.name])
        self.weight = 1.0 if _mobility(arm, frame.body) >= POSE_DIMENSION else 0.0  # of the orientation
        self.solver: NumericalSolver = numerical(arm, frame.name, weight=self.weight)
        if self.base is not None:
            self.base_pose = dyn.pose(self.base.name)
            self.base_at_start = self.base_pose(robot.start)
            base_coordinates = np.arange(robot.nq)[robot.span(self.base.joint)[0]]
            self.arm_coordinates = np.setdiff1d(np.arange(robot.nq), base_coordinates)

    def follow(self, target: np.ndarray, q: np.ndarray) -> FollowResult:
        """Move the frame to a target, starting from q (nq)."""
        if self.base is None:
            rotates = not self.weight and self.mode.is_rotation(target, self.newton.frame_pose(q))
            return self.newton.nearest(target, q, "rotation") if rotates else self._solve(target, q)
        in_base = self.base_at_start @ np.linalg.inv(self.base_pose(q)) @ target
        result = self._solve(in_base, q[self.arm_coordinates])
        moved = np.array(q)
        moved[self.arm_coordinates] = result.q
        return FollowResult(moved, result.position, result.rotation)

    @cached_property
    def newton(self) -> NewtonFollower:
        """Follower for rotations of a short chain."""
        return NewtonFollower(self.dyn, self.frame)

    def _solve(self, target: np.ndarray, q: np.ndarray) -> FollowResult:
        solution = self.solver(target, q, tolerance=TOLERANCE, starts=1)
        rotation = float(solution.rotation_error) * self.weight
        return FollowResult(solution.q, float(solution.position_error), rotation)


class NewtonFollower:
    """Moves a frame of a mechanism or of a tree with loops to 4x4 target poses, and rotates that of a short chain."""

    def __init__(self, dyn: Dynamics, frame: HandleFrame):
        self.dyn, self.system, self.limits = dyn, dyn.system, dyn.system.limits
        self.rows = ConstraintRows(dyn) if self.system.is_constrained else None
        catalogue = dyn if self.rows is None else tree_dynamics(dyn)
        self.pose, self.jacobian = catalogue.pose(frame.body), catalogue.jacobian(frame.body)
        self.on_body = np.array(frame.pose.matrix, float)
        self.mode = DragMode()

    @cached_property
    def mobility(self) -> int:
        """Number of independent velocities of the frame at the start."""
        J = self._directions(self.system.start)
        return int(np.linalg.matrix_rank(J, rtol=RANK_TOLERANCE)) if J.any() else 0

    def frame_pose(self, q: np.ndarray) -> np.ndarray:
        """Return the 4x4 pose of the frame."""
        return self.pose(q) @ self.on_body

    def follow(self, target: np.ndarray, q: np.ndarray) -> FollowResult:
        """Move the frame to a target, starting from q (nq)."""
        if self.mobility >= POSE_DIMENSION:
            return self.nearest(target, q, "pose")
        rotates = self.mode.is_rotation(target, self.frame_pose(q))
        return self.nearest(target, q, "rotation" if rotates else "position")

    def nearest(self, target: np.ndarray, q: np.ndarray, part: str) -> FollowResult:
        """Move the "pose", the "position" or the "rotation" of the frame to that of a target."""
        rows, longest = ROWS[part], np.full(self._directions(q).shape[1], MAX_STEP)

        def gaps(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return pose_error(target, self.frame_pose(at))[rows], -self._directions(at)[rows]  # (1)

        root, e = nearest_root(gaps, self._moved, q, longest, TOLERANCE), np.zeros(6)
        e[rows] = root.gaps
        return FollowResult(root.q, float(np.linalg.norm(e[:3])), float(np.linalg.norm(e[3:])))

    def _directions(self, q: np.ndarray) -> np.ndarray:
        """Return the Jacobian of the frame with respect to the independent velocities of the system."""
        J, (to_frame, origin) = self.jacobian(q), (self.on_body[:3, :3].T, self.on_body[:3, 3])
        J = np.concatenate([to_frame @ linear_jacobian_at(J, origin), to_frame @ J[3:]])
        return J if self.rows is None else J @ self.rows.tangents(q)

    def _moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return q after a step, or NaN if the step violates a limit or a loop."""
        moved = step_along(self.dyn, q, step)
        bounded = self.limits.contain(moved) or not self.limits.contain(q)
        return moved if bounded and self._is_closed(moved) else np.full_like(moved, np.nan)

    def _is_closed(self, q: np.ndarray) -> bool:
        if self.rows is not None:
            return self.rows.largest_gap(q) <= CLOSURE_TOLERANCE
        return not self.system.out_of_reach(q.tolist())


Follower = TreeFollower | NewtonFollower


def follower(dyn: Dynamics, frame: HandleFrame) -> Follower:
    """Return the solver that moves a frame of a system to target poses."""
    system = dyn.system
    return TreeFollower(dyn, system.tree, frame) if system.is_tree else NewtonFollower(dyn, frame)


def _root(robot: Robot, body: str) -> str:
    """Return the link on the world that carries a body."""
    link = robot.link(body)
    while link.parent is not None:
        link = robot.link(link.parent)
    return link.name


def _mobility(robot: Robot, body: str | None) -> int:
    """Return the number of independent velocities that move a body."""
    velocities: set[int] = set()
    while body is not None:
        link = robot.link(body)
        span = robot.span(link.joint)[1]
        velocities |= {*range(span.start, span.stop)}
        body = link.parent
    return len(velocities)


TOOL_FRAME = "tool"


def handle_frames(dyn: Dynamics) -> list[HandleFrame]:
    """Return the frames of the handles of a system."""
    system = dyn.system
    if system.tree is not None:
        frames = [_frame(system, name) for name in _links(system.tree)]
    else:
        frames = [frame for frame in system.frames if frame.body is not None] or [_most_mobile_frame(dyn)]
    return [HandleFrame(frame.name, frame.body, frame.pose) for frame in frames if frame.body is not None]


def handles(frames: Sequence[HandleFrame], bodies: Sequence[str]) -> tuple[Handle, ...]:
    """Return the handles of an actor with these bodies."""
    return tuple(Handle(frame.name, bodies.index(frame.body), pose_numbers(frame.pose)) for frame in frames)


def _links(tree: Robot) -> list[str]:
    """Return moving bases, grippers and ends of chains."""
    children: dict[str | None, list[Link]] = {}
    for link in tree.links:
        children.setdefault(link.parent, []).append(link)

    def below(name: str) -> list[Link]:
        return [x for child in children.get(name, []) for x in (child, *below(child.name))]

    def is_gripper(name: str) -> bool:
        carried = below(name)
        return len(carried) > 1 and sum(link.joint.mimic is None for link in carried) <= 1

    grippers = [link.name for link in tree.links if is_gripper(link.name)]
    fingers = {link.name for gripper in grippers for link in below(gripper)}
    roots = [link.name for link in tree.links if link.parent is None and link.joint.motion.nv > 1]
    ends = [link.name for link in tree.links if not children.get(link.name)]
    return list(dict.fromkeys(name for name in (*roots, *grippers, *ends) if name not in fingers))


def _frame(system: System, link: str) -> Frame:
    """Return the frame of a link at which its handle is placed."""
    candidates = [frame for frame in system.frames if frame.body == link]
    if tools := [frame for frame in candidates if frame.name == TOOL_FRAME]:
        return tools[0]
    farthest = max(candidates, key=lambda frame: float(np.linalg.norm([*frame.pose.translation])), default=None)
    return system.frame(link) if farthest is None else farthest


def _most_mobile_frame(dyn: Dynamics) -> Frame:
    """Return the point of a mechanism without frames that can move in the most directions, as a frame."""
    system = dyn.system
    body = "platform" if "platform" in system.body_names else system.body_names[-1]
    parts = system.parts
    outline = next((part.outline for part in parts if part.name == body), ())
    J = dyn.jacobian(body)(system.start)
    farthest = max(outline, key=lambda point: float(np.linalg.norm(point)), default=(0.0, 0.0, 0.0))

    def mobility(point: Sequence[float]) -> int:
        tolerance = RANK_TOLERANCE * np.abs(J).max()
        return int(np.linalg.matrix_rank(linear_jacobian_at(J, np.array(point)), tol=tolerance))

    best = max([(0.0, 0.0, 0.0), tuple(farthest)], key=mobility)  # the origin if both are equal
    return Frame(body, body, Pose(translation=Vec3.of(best)))
