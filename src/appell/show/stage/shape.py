"""The schematic shape of a system: lines on its bodies, joints and inertia ellipsoids.

Lines, joints and frames belong to a body or to the world and are points in its axes. One compiled function of q gives
the poses of all bodies, from which everything else follows.

A body of mass m with principal moments I has the same mass and moments as a solid ellipsoid with the half axes

    aᵢ² = 5 (Iⱼ + Iₖ - Iᵢ) / 2m                                                                              (1)

This ellipsoid is drawn for a body without lines. A link that carries no other link is a line to its centre of mass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from appell.algebra.rotation import Pose
from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, check_number
from appell.formulate.flexible.kinematics import Configuration, NodeMotion
from appell.formulate.kinematics import world_poses
from appell.formulate.recursion import link_transforms
from appell.formulate.tree import Tree
from appell.kinematics.mechanisms import check_pose
from appell.model.body import Body
from appell.model.constraint import AXES, Distance, Rolling, find_frame
from appell.model.frame import Frame
from appell.model.joints import Prismatic
from appell.model.mechanism import Polyline
from appell.model.robot import Link, Robot
from appell.model.system import System
from appell.show.scene.camera import parallel_camera
from appell.show.stage.walls import drawn_constraints, extent

MIN_LINE_LENGTH_M = 1e-9  # shorter lines are not drawn
WHEEL_LINES = 24  # lines of the rim of a wheel


@dataclass(frozen=True, eq=False)
class Segment:
    """A straight line between points of bodies, or of the world (None); `branch` is the number of its chain."""

    bodies: tuple[str | None, str | None]  # of its two ends, equal except for slides and rods
    ends: np.ndarray  # (2, 3), each in the axes of its body
    branch: int = 0
    thin: bool = False  # a line to a centre of mass, or a rod
    rim: bool = False  # a line of the rim of a wheel
    bent: str | None = None  # the flexible link of which it is a piece, between two stations


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """The solid ellipsoid with the mass and the moments of a body; `bare` if the body has no lines."""

    body: str
    center: np.ndarray  # (3), in the axes of the body
    axes: np.ndarray  # (3, 3), half axes as columns, in the axes of the body
    bare: bool


class Shape:
    """The lines, joints and ellipsoids of a system, each on its body; deflections are multiplied by `bending`."""

    def __init__(self, dyn: Dynamics, bending: float = 1.0):
        self.dyn, self.system, self.bending = dyn, dyn.system, bending
        tree = self.system.tree
        self.flexible = self.system.flexible
        check_number("bending, a factor of deflections,", bending, least=0.0)
        if bending != 1.0 and not self.flexible:
            raise ArgumentError(f"bending is {bending:g}, but {self.system.owner} has no flexible link.")
        stations = [station_name(link, k) for link in self.flexible for k in range(len(link.body.stations))]
        self.names = [*self.system.body_names, *stations]
        self.segments = _outlines(self.system) if tree is None else [*_tree(tree), *_constraints(self.system)]
        self.joints, self.anchors = _joints(self.system), _anchors(self.system)
        with_lines = {segment.bodies[0] for segment in self.segments}
        bodies = {name: body for name, body in self.system.bodies.items() if body is not None}
        has_lines = tree is not None and bool(with_lines - {None})  # links without lines are visible as joints
        self.ellipsoids = [
            _ellipsoid(name, body, not has_lines and name not in with_lines) for name, body in bodies.items()
        ]

    @cached_property
    def index(self) -> dict[str, int]:
        """Indices of bodies by name."""
        return {name: k for k, name in enumerate(self.names)}

    @cached_property
    def body_poses(self) -> Function:
        """Function (R, x)(q): rotations (bodies, 3, 3) and origins (bodies, 3) of all bodies in the world."""
        frames, equations = [self.system.frame(name) for name in self.system.body_names], self.dyn.equations
        tree = None if self.system.tree is None else Tree.of(self.system.tree)

        def body(q):
            if self.flexible and tree is not None:
                modal = {k for link in self.flexible for k in range(len(q))[tree.robot.modal_span(link)[0]]}
                bent = [self.bending * x if k in modal else x for k, x in enumerate(q)]
                return placed(*_with_stations(Configuration(tree, bent), self.flexible))
            links = None if tree is None else world_poses(tree, link_transforms(tree, q))  # all links in one pass
            return placed(*(equations.pose(frame, q) if links is None else links[frame.name] for frame in frames))

        def placed(*poses):
            rotations = [[list(row) for row in pose.rotation.rows] for pose in poses]
            return {"R": rotations, "x": [list(pose.translation) for pose in poses]}

        return Function.of("body_poses", {"q": self.system.nq}, body, "Poses of all bodies.", self.system.owner)

    def at(self, q) -> PlacedShape:
        """Return the shape in world coordinates at configurations (..., nq)."""
        R, x = self.body_poses(self.system.sized("q", q, self.system.nq))
        batch = R.shape[:-3]
        R = np.concatenate([R, np.broadcast_to(np.eye(3), (*batch, 1, 3, 3))], axis=-3)  # the world comes last
        x = np.concatenate([x, np.zeros((*batch, 1, 3))], axis=-2)

        def in_world(bodies: list[str | None], points: list[np.ndarray]) -> np.ndarray:
            """Return points of bodies in the world: (..., points, 3)."""
            index = [len(self.names) if body is None else self.index[body] for body in bodies]
            local = np.array(points, float).reshape(-1, 3)
            return np.einsum("...bij,bj->...bi", R[..., index, :, :], local) + x[..., index, :]

        lines, solids = self.segments, self.ellipsoids
        ends = [in_world([s.bodies[k] for s in lines], [s.ends[k] for s in lines]) for k in range(2)]
        half = np.array([e.axes for e in solids]).reshape(-1, 3, 3)
        return PlacedShape(
            np.stack(ends, axis=-2),
            np.array([-1 if s.bodies[0] is None else s.branch for s in lines], int),
            np.array([s.thin for s in lines], bool),
            in_world([body for body, _ in self.joints], [point for _, point in self.joints]),
            in_world([e.body for e in solids], [e.center for e in solids]),
            R[..., [self.index[e.body] for e in solids], :, :] @ half,
            np.array([e.bare for e in solids], bool),
            np.array(self.anchors, float).reshape(-1, 3),
        )


def _ellipsoid(name: str, body: Body, bare: bool) -> Ellipsoid:
    matrix = np.array([list(row) for row in body.inertia.rows], float)
    valid = body.mass > 0.0 and np.isfinite(matrix).all()
    moments, axes = np.linalg.eigh(matrix) if valid else (np.zeros(3), np.eye(3))
    squares = 2.5 * (moments.sum() - 2.0 * moments) / (body.mass if valid else 1.0)  # (1)
    return Ellipsoid(name, np.array([*body.com], float), axes * np.sqrt(np.maximum(squares, 0.0)), bare)


def _tree(robot: Robot) -> list[Segment]:
    """Return lines from the origin of each link to its joints and frames, or to its centre of mass; and slides."""
    branch, segments = branches(robot), []
    carried = [(link.parent, link.joint.placement.translation) for link in robot.links if link.at is None]
    carried += [(frame.body, frame.pose.translation) for frame in robot.frames if frame.at is None]
    for owner, point in carried:
        if math.hypot(*point) > MIN_LINE_LENGTH_M:
            ends = np.array([[0.0, 0.0, 0.0], [*point]], float)
            segments.append(Segment((owner, owner), ends, branch.get(owner, 0)))
    for link in robot.flexible:
        for pair in pairwise(station_name(link, k) for k in range(len(link.body.stations))):  # type: ignore[union-attr]
            segments.append(Segment(pair, np.zeros((2, 3)), branch[link.name], bent=link.name))
    owners = {segment.bent or segment.bodies[0] for segment in segments}
    for link in robot.links:
        if link.body is not None and link.name not in owners and math.hypot(*link.body.com) > MIN_LINE_LENGTH_M:
            ends = np.array([[0.0, 0.0, 0.0], [*link.body.com]], float)
            segments.append(Segment((link.name, link.name), ends, branch[link.name], thin=True))
        if isinstance(link.joint.motion, Prismatic) and has_mass(robot, link):
            ends = np.array([[*link.joint.placement.translation], [0.0, 0.0, 0.0]], float)
            segments.append(Segment((link.parent, link.name), ends, branch[link.name]))
    return segments


def station_name(link: Link, k: int) -> str:
    """Return the name of a point along a flexible link, which is drawn like a body of its own."""
    return f"{link.name}:{k}"


def _with_stations(configuration: Configuration, flexible: Sequence[Link]) -> list[Pose]:
    """Return the poses of all links, then those of the stations of flexible links."""
    poses = [configuration.poses[link.name] for link in configuration.tree.links]
    for link in flexible:
        pose, deformation = configuration.poses[link.name], configuration.deformation[link.name]
        nodes = (NodeMotion(station, deformation) for station in deformation.body.stations)
        poses += [Pose(pose.rotation, pose.apply(node.rho)) for node in nodes]
    return poses


def _constraints(system: System) -> list[Segment]:
    """Return rods of constant length and the rims of rolling wheels."""
    branch, segments = branches(system.tree), []
    for constraint in drawn_constraints(system):
        if isinstance(constraint, Distance):
            a, b = find_frame(system.tree, constraint.a), find_frame(system.tree, constraint.b)
            (body_a, at_a), (body_b, at_b) = _drawn_point(system.tree, a), _drawn_point(system.tree, b)
            segments.append(Segment((body_a, body_b), np.array([at_a, at_b]), branch.get(a.body, 0), thin=True))
        if isinstance(constraint, Rolling):
            frame = find_frame(system.tree, constraint.frame)
            body, rim = frame.body, pairwise(_rim(frame, AXES.index(constraint.axis), constraint.radius))
            segments += [Segment((body, body), np.array(ends), branch.get(body, 0), rim=True) for ends in rim]
    return segments


def _drawn_point(robot: Robot, frame: Frame) -> tuple[str | None, np.ndarray]:
    """Return the drawn body and the point in its axes of a frame: on a node, the nearest station of its link."""
    offset = np.array([*frame.pose.translation], float)
    if frame.at is None or frame.body is None:
        return frame.body, offset
    link = robot.link(frame.body)
    at = np.array([*link.body.node(frame.at).position], float)
    stations = np.array([[*station.position] for station in link.body.stations], float)
    nearest = int(np.linalg.norm(stations - at, axis=1).argmin())
    return station_name(link, nearest), at - stations[nearest] + offset


def _rim(frame: Frame, axis: int, radius: float) -> np.ndarray:
    """Return the points of the rim of a wheel about an axis of its frame, in the axes of its body."""
    angles = np.linspace(0.0, 2.0 * np.pi, WHEEL_LINES + 1)
    rim = np.zeros((WHEEL_LINES + 1, 3))
    rim[:, (axis + 1) % 3], rim[:, (axis + 2) % 3] = radius * np.cos(angles), radius * np.sin(angles)
    R = np.array([list(row) for row in frame.pose.rotation.rows], float)
    return rim @ R.T + np.array([*frame.pose.translation], float)


def branches(robot: Robot) -> dict[str | None, int]:
    """Return the chain number of every link: that of its parent if it is the only child, else a new one."""
    children = [link.parent for link in robot.links]
    branch: dict[str | None, int] = {}
    for link in robot.links:
        only_child = children.count(link.parent) == 1 and link.parent in branch
        branch[link.name] = branch[link.parent] if only_child else len(set(branch.values()))
    return branch


def _outlines(system: System) -> list[Segment]:
    """Return the lines of the outlines of a mechanism, of its bodies and of the world."""
    if not system.is_closed_form:
        return []
    lines: list[tuple[str | None, Polyline]] = [(None, line) for line in system.outlines]
    lines += [(part.name, part.outline) for part in system.parts]
    order = {part.name: k for k, part in enumerate(system.parts)}
    return [
        Segment((body, body), np.array(ends, float), 0 if body is None else order[body])
        for body, line in lines
        for ends in pairwise(line)
        if np.linalg.norm(np.subtract(*ends)) > MIN_LINE_LENGTH_M
    ]


def _joints(system: System) -> list[tuple[str | None, np.ndarray]]:
    """Return the positions of dots: the joints of a tree, or the corners of a mechanism's outlines with few corners."""
    if (tree := system.tree) is not None:
        return [(link.name, np.zeros(3)) for link in tree.links if has_mass(tree, link)]
    if not system.is_closed_form:
        return []
    short = [part for part in system.parts if 0 < len(part.outline) < 9]
    return [(part.name, np.array(point, float)) for part in short for point in part.outline]


def _anchors(system: System) -> list[list[float]]:
    """Return where a tree is fixed to the world: its one-axis joints on the world that carry a link with mass."""
    if (tree := system.tree) is None:
        return []
    bases = [link for link in tree.links if link.parent is None and link.joint.motion.nv == 1]
    return [[*link.joint.placement.translation] for link in bases if has_mass(tree, link)]


def has_mass(robot: Robot, link: Link) -> bool:
    """Whether a link has mass, or its description lacks one; other links only connect two joints."""
    return link.body is not None or link.name in robot.missing


@dataclass(frozen=True, eq=False)
class PlacedShape:
    """A shape in world coordinates; leading axes are those of the configurations."""

    segments: np.ndarray  # (..., segments, 2, 3) in the world
    branches: np.ndarray  # (segments), -1 for lines of the world
    thin: np.ndarray  # (segments), lines to a centre of mass, and rods
    joints: np.ndarray  # (..., joints, 3)
    centers: np.ndarray  # (..., ellipsoids, 3)
    axes: np.ndarray  # (..., ellipsoids, 3, 3)
    bare: np.ndarray  # (ellipsoids)
    anchors: np.ndarray  # (anchors, 3), where joints are fixed to the world

    @property
    def key_points(self) -> np.ndarray:
        """Ends of lines, joints, and centres of bodies without lines: (points, 3)."""
        return _finite([self.segments, self.joints, self.centers[..., self.bare, :], self.anchors])

    def points(self, solid: np.ndarray) -> np.ndarray:
        """Return the key points and the tips of these ellipsoids, which a picture must contain: (points, 3)."""
        half = np.swapaxes(self.axes[..., solid, :, :], -1, -2)
        tips = self.centers[..., solid, None, :] + np.concatenate([half, -half], axis=-2)
        return _finite([self.key_points, tips])


def _finite(parts: list[np.ndarray]) -> np.ndarray:
    """Return the finite points (n, 3); points of legs out of reach are not finite."""
    points = np.concatenate([part.reshape(-1, 3) for part in parts])
    return points[np.isfinite(points).all(axis=-1)]


ROD_RADIUS = 0.1  # relative to the length of a typical rod
MIN_ROD_RADIUS, MAX_ROD_RADIUS, MAX_LEG_RADIUS = (
    0.003,
    0.045,
    0.028,
)  # relative to the system's size; legs of mechanisms
MIN_TYPICAL_LENGTH = 0.04  # relative to the system's size: shorter lines do not affect the radius of rods
MIN_THICKNESS = 1e-4  # relative to the system's size: smallest thickness that is drawn


@dataclass(frozen=True, eq=False)
class Proportions:
    """The size of a system and the radius of its rods in m, and the normal of the plane of a planar system."""

    size: float
    radius: float
    normal: np.ndarray | None

    @property
    def min_thickness(self) -> float:
        """Smallest thickness that is drawn, in m."""
        return MIN_THICKNESS * self.size


def proportions_of(shape: Shape, q: np.ndarray) -> Proportions:
    """Return the proportions of a shape at one configuration (nq) or over several (..., nq)."""
    placed = shape.at(q)
    points = placed.points(placed.bare)
    size = extent(points) if len(points) else 1.0
    lines = [k for k, segment in enumerate(shape.segments) if not segment.rim]
    lengths = np.linalg.norm(np.diff(placed.segments[..., lines, :, :], axis=-2), axis=-1)
    long_lengths = lengths[np.isfinite(lengths) & (lengths > MIN_TYPICAL_LENGTH * size)]
    considered = long_lengths if long_lengths.size else lengths[np.isfinite(lengths) & (lengths > 0.0)]
    typical = float(np.quantile(considered, 0.7)) if considered.size else size
    camera = parallel_camera(placed.key_points, shape.system.gravity) if len(placed.key_points) else None
    normal = camera.axes[2] if camera is not None and camera.flat else None
    max_radius = MAX_LEG_RADIUS if shape.system.tree is None else MAX_ROD_RADIUS
    radius = float(np.clip(ROD_RADIUS * typical, MIN_ROD_RADIUS * size, max_radius * size))
    return Proportions(size, radius, normal)


def checked_configuration(dyn: Dynamics, q=None) -> np.ndarray:
    """Return q (nq); by default the start, within the limits of a tree.

    Raises ArgumentError if q is invalid or out of reach of a leg.
    """
    system = dyn.system
    if q is None:
        limits, q = system.limits, system.start
        q = np.clip(q, limits.lower, limits.upper) if system.is_tree else q
    q = np.array(system.sized("q", q, system.nq))
    if q.ndim != 1 or not np.isfinite(q).all():
        raise ArgumentError(f"q is {q}.", expected=f"{system.nq} finite numbers, one configuration of {system.owner}")
    check_pose(dyn, q, np.inf)
    return q


def dynamics_of(robot: Any) -> Dynamics:
    """Return the Dynamics of a robot or mechanism; a Dynamics is returned unchanged."""
    if isinstance(robot, Dynamics):
        return robot
    if not isinstance(robot, System):
        raise ArgumentError(f"cannot draw {robot!r}.", expected="a robot, a mechanism or its Dynamics")
    return Dynamics(robot)
