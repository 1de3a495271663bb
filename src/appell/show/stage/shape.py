"""What there is to see of a system: lines on its bodies, joints, ellipsoids of inertia.

A line belongs to a body, or to the world, and is a list of points in its axes; so are joints and named frames. Where
the bodies are follows from one compiled function of q, and everything else from that.

A body of mass m with principal moments I has the same mass and moments as a solid ellipsoid with the half axes

    aᵢ² = 5 (Iⱼ + Iₖ - Iᵢ) / 2m                                                                              (1)

which stands for a body of which nothing else can be seen. A link that carries nothing is a line to its centre of mass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
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
from appell.show.stage.walls import extent

SHORT = 1e-9  # m: a line that is shorter cannot be seen
ROUND = 24  # lines of a wheel


@dataclass(frozen=True, eq=False)
class Segment:
    """A straight line between points of bodies, or of the world (None); `branch` is the chain that it belongs to."""

    bodies: tuple[str | None, str | None]  # of its two ends, the same but for slides and rods
    ends: np.ndarray  # (2, 3), each in the axes of its body
    branch: int = 0
    thin: bool = False  # it only leads to a centre of mass
    rim: bool = False  # one of many that make a wheel


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """The solid ellipsoid with the mass and the moments of a body; `bare` if nothing else is seen of the body."""

    body: str
    center: np.ndarray  # (3), in the axes of the body
    axes: np.ndarray  # (3, 3), half axes as columns, in the axes of the body
    bare: bool


class Shape:
    """The lines, joints and ellipsoids of a system, each on its body."""

    def __init__(self, dyn: Dynamics):
        self.dyn, self.system = dyn, dyn.system
        self.names = list(self.system.body_names)
        tree = self.system.tree
        self.segments = _outlines(self.system) if tree is None else [*_tree(tree), *_constraints(self.system)]
        self.joints, self.anchors = _joints(self.system), _anchors(self.system)
        seen = {segment.bodies[0] for segment in self.segments}
        bodies = {name: body for name, body in self.system.bodies.items() if body is not None}
        lined = tree is not None and bool(seen - {None})  # joints show where the other links are
        self.ellipsoids = [_ellipsoid(name, body, not lined and name not in seen) for name, body in bodies.items()]

    @cached_property
    def index(self) -> dict[str, int]:
        """The numbers of bodies by name."""
        return {name: k for k, name in enumerate(self.names)}

    @cached_property
    def places(self) -> Function:
        """(R, x)(q): axes and origins of all bodies."""
        frames, equations = [self.system.frame(name) for name in self.names], self.dyn.equations
        tree = None if self.system.tree is None else Tree.of(self.system.tree)

        def body(q):
            links = None if tree is None else world_poses(tree, link_transforms(tree, q))  # all of them in one pass
            poses = [equations.pose(frame, q) if links is None else links[frame.name] for frame in frames]
            turns = [[list(row) for row in pose.rotation.rows] for pose in poses]
            return {"R": turns, "x": [list(pose.translation) for pose in poses]}

        return Function.of("places", {"q": self.system.nq}, body, "Where all bodies are.", self.system.owner)

    def at(self, q) -> PlacedShape:
        """The scene at configurations (..., nq)."""
        R, x = self.places(self.system.sized("q", q, self.system.nq))
        batch = R.shape[:-3]
        R = np.concatenate([R, np.broadcast_to(np.eye(3), (*batch, 1, 3, 3))], axis=-3)  # the world comes last
        x = np.concatenate([x, np.zeros((*batch, 1, 3))], axis=-2)

        def put(bodies: list[str | None], points: list[np.ndarray]) -> np.ndarray:
            """Points of bodies, in the world: (..., points, 3)."""
            index = [len(self.names) if body is None else self.index[body] for body in bodies]
            local = np.array(points, float).reshape(-1, 3)
            return np.einsum("...bij,bj->...bi", R[..., index, :, :], local) + x[..., index, :]

        lines, solids = self.segments, self.ellipsoids
        ends = [put([s.bodies[k] for s in lines], [s.ends[k] for s in lines]) for k in range(2)]
        half = np.array([e.axes for e in solids]).reshape(-1, 3, 3)
        return PlacedShape(
            np.stack(ends, axis=-2),
            np.array([-1 if s.bodies[0] is None else s.branch for s in lines], int),
            np.array([s.thin for s in lines], bool),
            put([body for body, _ in self.joints], [place for _, place in self.joints]),
            put([e.body for e in solids], [e.center for e in solids]),
            R[..., [self.index[e.body] for e in solids], :, :] @ half,
            np.array([e.bare for e in solids], bool),
            np.array(self.anchors, float).reshape(-1, 3),
        )


def _ellipsoid(name: str, body: Body, bare: bool) -> Ellipsoid:
    matrix = np.array([list(row) for row in body.inertia.rows], float)
    sound = body.mass > 0.0 and np.isfinite(matrix).all()
    moments, turn = np.linalg.eigh(matrix) if sound else (np.zeros(3), np.eye(3))
    squares = 2.5 * (moments.sum() - 2.0 * moments) / (body.mass if sound else 1.0)  # (1)
    return Ellipsoid(name, np.array([*body.com], float), turn * np.sqrt(np.maximum(squares, 0.0)), bare)


def _tree(robot: Robot) -> list[Segment]:
    """From every link's origin to the joints and frames that it carries, else to its centre of mass; and slides."""
    branch, found = branches(robot), []
    carried = [(link.parent, link.joint.placement.translation) for link in robot.links]
    carried += [(frame.body, frame.pose.translation) for frame in robot.frames]
    for owner, place in carried:
        if math.hypot(*place) > SHORT:
            found.append(Segment((owner, owner), np.array([[0.0, 0.0, 0.0], [*place]], float), branch.get(owner, 0)))
    owners = {segment.bodies[0] for segment in found}
    for link in robot.links:
        if link.body is not None and link.name not in owners and math.hypot(*link.body.com) > SHORT:
            ends = np.array([[0.0, 0.0, 0.0], [*link.body.com]], float)
            found.append(Segment((link.name, link.name), ends, branch[link.name], thin=True))
        if isinstance(link.joint.motion, Prismatic) and is_matter(robot, link):
            ends = np.array([[*link.joint.placement.translation], [0.0, 0.0, 0.0]], float)
            found.append(Segment((link.parent, link.name), ends, branch[link.name]))
    return found


def _constraints(system: System) -> list[Segment]:
    """Rods that keep two points apart, and wheels where they roll."""
    if not system.is_constrained:
        return []
    branch, found = branches(system.tree), []
    for own in system.constraints:
        if isinstance(own, Distance):
            a, b = find_frame(system.tree, own.a), find_frame(system.tree, own.b)
            ends = np.array([[*a.pose.translation], [*b.pose.translation]], float)
            found.append(Segment((a.body, b.body), ends, branch.get(a.body, 0), thin=True))
        if isinstance(own, Rolling):
            body, number = find_frame(system.tree, own.frame).body, AXES.index(own.axis)
            rim = pairwise(_rim(find_frame(system.tree, own.frame), number, own.radius))
            found += [Segment((body, body), np.array(ends), branch.get(body, 0), rim=True) for ends in rim]
    return found


def _rim(frame: Frame, axis: int, radius: float) -> np.ndarray:
    """The points of a wheel about an axis of its frame, in the axes of its body."""
    turns = np.linspace(0.0, 2.0 * np.pi, ROUND + 1)
    rim = np.zeros((ROUND + 1, 3))
    rim[:, (axis + 1) % 3], rim[:, (axis + 2) % 3] = radius * np.cos(turns), radius * np.sin(turns)
    R = np.array([list(row) for row in frame.pose.rotation.rows], float)
    return rim @ R.T + np.array([*frame.pose.translation], float)


def branches(robot: Robot) -> dict[str | None, int]:
    """A number for every chain: a link goes on with its parent's unless the parent carries several."""
    children = [link.parent for link in robot.links]
    branch: dict[str | None, int] = {}
    for link in robot.links:
        alone = children.count(link.parent) == 1 and link.parent in branch
        branch[link.name] = branch[link.parent] if alone else len(set(branch.values()))
    return branch


def _outlines(system: System) -> list[Segment]:
    """The lines that a mechanism was given, of its bodies and of what stands still."""
    if not system.is_closed_form:
        return []
    lines: list[tuple[str | None, Polyline]] = [(None, line) for line in system.outlines]
    lines += [(part.name, part.outline) for part in system.parts]
    order = {part.name: k for k, part in enumerate(system.parts)}
    return [
        Segment((body, body), np.array(ends, float), 0 if body is None else order[body])
        for body, line in lines
        for ends in pairwise(line)
        if np.linalg.norm(np.subtract(*ends)) > SHORT
    ]


def _joints(system: System) -> list[tuple[str | None, np.ndarray]]:
    """Where to put dots: the joints of a tree, the ends of a mechanism's lines with few corners."""
    if (tree := system.tree) is not None:
        return [(link.name, np.zeros(3)) for link in tree.links if is_matter(tree, link)]
    if not system.is_closed_form:
        return []
    short = [part for part in system.parts if 0 < len(part.outline) < 9]
    return [(part.name, np.array(point, float)) for part in short for point in part.outline]


def _anchors(system: System) -> list[list[float]]:
    """Where a tree is bolted to the world: joints about or along one axis that carry a link with mass."""
    if (tree := system.tree) is None:
        return []
    feet = [link for link in tree.links if link.parent is None and link.joint.motion.nv == 1]
    return [[*link.joint.placement.translation] for link in feet if is_matter(tree, link)]


def is_matter(robot: Robot, link: Link) -> bool:
    """Whether a link is more than a step between two joints: it has mass, or its description forgot to say how much."""
    return link.body is not None or link.name in robot.missing


@dataclass(frozen=True, eq=False)
class PlacedShape:
    """Where everything is: leading axes are those of the configurations."""

    segments: np.ndarray  # (..., segments, 2, 3) in the world
    branches: np.ndarray  # (segments), -1 for what stands still
    thin: np.ndarray  # (segments), whether a line only leads to a centre of mass
    joints: np.ndarray  # (..., joints, 3)
    centers: np.ndarray  # (..., ellipsoids, 3)
    axes: np.ndarray  # (..., ellipsoids, 3, 3)
    bare: np.ndarray  # (ellipsoids)
    anchors: np.ndarray  # (anchors, 3), where the world carries a joint

    @property
    def places(self) -> np.ndarray:
        """The ends of lines, joints, and centres of bodies of which nothing else is seen: (places, 3)."""
        return _finite([self.segments, self.joints, self.centers[..., self.bare, :], self.anchors])

    def points(self, solid: np.ndarray) -> np.ndarray:
        """The places, and the tips of these ellipsoids: what has to be in the picture, (points, 3)."""
        half = np.swapaxes(self.axes[..., solid, :, :], -1, -2)
        tips = self.centers[..., solid, None, :] + np.concatenate([half, -half], axis=-2)
        return _finite([self.places, tips])


def _finite(parts: list[np.ndarray]) -> np.ndarray:
    """All points (n, 3), but those of legs that do not reach."""
    points = np.concatenate([part.reshape(-1, 3) for part in parts])
    return points[np.isfinite(points).all(axis=-1)]


SLENDER = 0.1  # radius of a rod in its length
THINNEST, THICKEST, THICKEST_LEG = (
    0.003,
    0.045,
    0.028,
)  # and in the size of all; legs of mechanisms are no thicker than the last
SHORT_LINE = 0.04  # of the size of all: a shorter line says nothing about how thick rods are
THINNEST_SHEET = 1e-4  # of the size of all: the thinnest sheet that is drawn


@dataclass(frozen=True, eq=False)
class Proportions:
    """The size of a system, the radius of its rods, and the normal of the plane that it lies in, if there is one."""

    size: float
    radius: float
    normal: np.ndarray | None

    @property
    def least(self) -> float:
        return THINNEST_SHEET * self.size


def proportions_of(shape: Shape, q: np.ndarray) -> Proportions:
    """At one configuration (nq), or over several (..., nq)."""
    scene = shape.at(q)
    points = scene.points(scene.bare)
    size = extent(points) if len(points) else 1.0
    lines = [k for k, segment in enumerate(shape.segments) if not segment.rim]
    lengths = np.linalg.norm(np.diff(scene.segments[..., lines, :, :], axis=-2), axis=-1)
    long = lengths[np.isfinite(lengths) & (lengths > SHORT_LINE * size)]
    all_of_them = long if long.size else lengths[np.isfinite(lengths) & (lengths > 0.0)]
    usual = float(np.quantile(all_of_them, 0.7)) if all_of_them.size else size
    camera = parallel_camera(scene.places, shape.system.gravity) if len(scene.places) else None
    normal = camera.axes[2] if camera is not None and camera.flat else None
    thickest = THICKEST_LEG if shape.system.tree is None else THICKEST
    return Proportions(size, float(np.clip(SLENDER * usual, THINNEST * size, thickest * size)), normal)


def checked_configuration(dyn: Dynamics, q=None) -> np.ndarray:
    """One configuration of finite numbers, the start if None; a pose out of reach is an error that names the leg."""
    system = dyn.system
    q = np.array(system.sized("q", system.start if q is None else q, system.nq))
    if q.ndim != 1 or not np.isfinite(q).all():
        raise ArgumentError(f"q is {q}.", expected=f"{system.nq} finite numbers, one configuration of {system.owner}")
    check_pose(dyn, q, np.inf)
    return q


def dynamics_of(robot: Any) -> Dynamics:
    """The functions of what is to be drawn."""
    if isinstance(robot, Dynamics):
        return robot
    if not isinstance(robot, System):
        raise ArgumentError(f"{robot!r} cannot be drawn.", expected="a robot, a mechanism or their Dynamics")
    return Dynamics(robot)
