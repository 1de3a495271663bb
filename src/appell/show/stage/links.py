"""Parts of links: as a robot's description says that they look, or drawn from its geometry.

**Described links** are primitive shapes and meshes of files. All meshes together have at most so many triangles, shared
out by their surfaces. A file that is missing or cannot be read is noted, and its link drawn as the box with its mass
and moments.

**Links of a tree** without a description are tapered rods between joints, drums along joint axes, boxes of free bodies.
Rods become thinner outwards, as those of arms do. A slide is a rod between two bodies, as long as they are apart.

**Bodies of a mechanism** in closed form are drawn along the outlines that they were given, a colour per leg. A closed,
flat and convex outline is a plate; any other is a tube. A corner that meets one of another body, or of what stands
still, is a joint. Two bodies of a leg that end in the open slide in each other, and a rod joins their ends.

**Boxes** stand for bodies of which little else is seen: what flies, what drives, and links whose mesh is missing. A
body of mass m with principal moments I is drawn as the box with the same mass and moments,

    lᵢ² = 6 (Iⱼ + Iₖ - Iᵢ) / m                                                                               (1)

whose edges are √(12 / 5) times the half axes of its ellipsoid. If points are named on a body that flies, and they span
a box about its centre of mass of about that size, that is the box: its corners are then where it strikes a floor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from appell.algebra.rotation import Pose
from appell.compile.cache.object_cache import fetch
from appell.model.joints import OneAxis, Prismatic, Revolute
from appell.model.mechanism import Polyline
from appell.model.robot import Link, Robot
from appell.model.system import System
from appell.model.visual import Visual, VisualMesh
from appell.show.meshes.mesh_cache import MeshSource, read_simplified
from appell.show.scene import solids
from appell.show.scene.poses import pose_along, poses
from appell.show.scene.scene import GROUND, METAL, WORLD, Color, Mesh, ScenePart, Strut, paint, palette_color
from appell.show.stage.shape import SHORT, Ellipsoid, Proportions, Segment, Shape, branches, is_matter

EDGES = math.sqrt(12.0 / 5.0)  # by (1)
POINT_MASS = 0.3  # of the robot's size: the cube of a mass without extent
LONGEST_BASE = 0.45  # of the robot's size: the longest edge of a base that carries links
ALIKE = 4.0  # the ratio of edges up to which two boxes are of about one size


def inertia_boxes(
    ellipsoids: list[Ellipsoid], index: dict[str, int], proportions: Proportions, color: Color | None
) -> list[ScenePart]:
    """Boxes with the mass and moments of bodies, a colour each."""
    return [inertia_box(solid, index, proportions, color or palette_color(k)) for k, solid in enumerate(ellipsoids)]


def inertia_box(
    solid: Ellipsoid, index: dict[str, int], proportions: Proportions, color: Color, most: float = math.inf
) -> ScenePart:
    """The box of one body, no edge longer than `most`."""
    edges = (
        np.maximum(_edges(solid), proportions.least) if solid.axes.any() else np.full(3, POINT_MASS * proportions.size)
    )
    edges = edges * min(1.0, most / edges.max())
    return ScenePart(solids.box(*map(_short, edges)), index[solid.body], upright(solid), color, name=solid.body)


def base_box(
    solid: Ellipsoid, robot: Robot, index: dict[str, int], proportions: Proportions, color: Color
) -> ScenePart:
    """The box of a base that flies or drives; one that its named points span, if it carries nothing."""
    if any(link.parent == solid.body for link in robot.links):
        return inertia_box(solid, index, proportions, color, LONGEST_BASE * proportions.size)
    points = np.array([[*frame.pose.translation] for frame in robot.frames if frame.body == solid.body], float)
    spanned = 2.0 * np.abs(points - solid.center).max(axis=0) if len(points) > 2 else np.zeros(3)
    across = np.abs(right_handed(solid.axes)) @ _edges(solid)
    if (spanned * ALIKE > across).all() and (spanned < ALIKE * across).all():
        pose = (*solid.center.tolist(), 0.0, 0.0, 0.0, 1.0)
        return ScenePart(solids.box(*map(_short, spanned)), index[solid.body], pose, color, name=solid.body)
    return inertia_box(solid, index, proportions, color)


def upright(solid: Ellipsoid) -> tuple[float, ...]:
    """The pose of an ellipsoid on its body, its axes along the half axes."""
    return tuple(poses(right_handed(solid.axes), solid.center).tolist())


def right_handed(axes: np.ndarray) -> np.ndarray:
    """Unit vectors along orthogonal columns, some of which may be zero."""
    sizes = np.linalg.norm(axes, axis=0)
    found = np.where(sizes > 0.0, axes / np.where(sizes > 0.0, sizes, 1.0), 0.0)
    if (sizes == 0.0).any():
        left, _, right = np.linalg.svd(found)
        found = left @ right
    found[:, 2] *= np.sign(np.linalg.det(found))
    return found


def _edges(solid: Ellipsoid) -> np.ndarray:
    return EDGES * np.linalg.norm(solid.axes, axis=0)


def _short(number: float) -> float:
    """As many digits as are seen, so that bodies that are alike share a mesh."""
    return float(f"{number:.6g}")


TAPER = 0.45  # how much of its radius a rod has lost at the end of the longest chain
STEPS = 10  # of the taper, so that many links share their meshes
DRUM, WIDTH = 1.45, 3.1  # radius and length of a joint, in radii of the rod
FOOT = 2.2  # radius of what a robot is bolted to the world by
SLIDE = 0.6  # radius of a slide
KNOB = 0.8  # radius of a named point on what flies
BOB = 1.6  # radius of the ball at the end of a line that only leads to a centre of mass


class TreeLinks:
    """The parts and struts of a tree of which nobody said how it looks."""

    def __init__(self, shape: Shape, proportions: Proportions, color: Color | None):
        self.shape, self.proportions, self.color = shape, proportions, color
        self.tree: Robot = shape.system.tree
        self.branch = branches(self.tree)
        self.depth = _depths(self.tree)
        self.loose = {link.name for link in self.tree.links if link.parent is None and link.joint.motion.nv > 1}
        self.longest = max(1, *self.depth.values()) if self.depth else 1

    def parts(self) -> list[ScenePart]:
        found = [part for segment in self.shape.segments for part in self._rod(segment)]
        found += [self._drum(link) for link in self.tree.links if is_matter(self.tree, link) and _is_jointed(link)]
        found += [self._foot(link) for link in self.tree.links if self._is_bolted(link)]
        loose = [e for e in self.shape.ellipsoids if e.body in self.loose]
        found += [base_box(e, self.tree, self.shape.index, self.proportions, self._color(e.body)) for e in loose]
        bare = [e for e in self.shape.ellipsoids if e.bare and e.body not in self.loose]
        return found + inertia_boxes(bare, self.shape.index, self.proportions, self.color)

    def struts(self) -> list[Strut]:
        """Slides."""
        return [
            Strut(
                (self._body(segment.bodies[0]), self._body(segment.bodies[1])),
                segment.ends,
                SLIDE * self._radius(segment.bodies[1]),
                paint(METAL),
                name=segment.bodies[1] or "",
            )
            for segment in self.shape.segments
            if segment.bodies[0] != segment.bodies[1] and not segment.thin
        ]

    def _rod(self, segment: Segment) -> list[ScenePart]:
        owner = segment.bodies[0]
        if segment.bodies[1] != owner or segment.rim or (owner is None and not self._is_bracket(segment)):
            return []
        start, end = segment.ends
        at_end = (*end, 0.0, 0.0, 0.0, 1.0)
        color, body, name = self._color(owner), self._body(owner), owner or "world"
        if owner in self.loose and not self._carries(segment):
            return [ScenePart(solids.sphere(KNOB * self.proportions.radius), body, at_end, paint(METAL), name=name)]
        length = float(np.linalg.norm(end - start))
        pose = pose_along(end - start, (*(0.5 * (start + end)), 0.0, 0.0, 0.0, 1.0))
        first, last = self._radius(owner), self._radius(owner, 1)
        if not segment.thin:
            return [ScenePart(solids.rod(first, last, length), body, pose, color, name=name)]
        return [
            ScenePart(solids.rod(0.5 * first, 0.5 * first, length), body, pose, color, name=name),
            ScenePart(solids.sphere(BOB * first), body, at_end, color, name=name),
        ]

    def _drum(self, link: Link) -> ScenePart:
        radius, body, motion = self._radius(link.name), self._body(link.name), link.joint.motion
        color, name = paint(METAL), link.joint.name
        if isinstance(motion, Revolute):
            drum = solids.cylinder(DRUM * radius, WIDTH * radius)
            return ScenePart(drum, body, pose_along([*motion.axis]), color, name=name)
        if isinstance(motion, Prismatic):
            sleeve = solids.box(2.4 * radius, 2.4 * radius, WIDTH * radius)
            return ScenePart(sleeve, body, pose_along([*motion.axis]), color, name=name)
        return ScenePart(solids.sphere(DRUM * radius), body, color=color, name=name)

    def _foot(self, link: Link) -> ScenePart:
        place, radius = link.joint.placement, self._radius(link.name)
        motion = link.joint.motion
        assert isinstance(motion, OneAxis)
        pose = pose_along([*(place.rotation @ motion.axis)], (*place.translation, 0.0, 0.0, 0.0, 1.0))
        return ScenePart(solids.cylinder(FOOT * radius, 0.5 * WIDTH * radius), WORLD, pose, paint(GROUND), name="world")

    def _is_bolted(self, link: Link) -> bool:
        """Whether the world carries it by a joint with an axis, as the anchors of a shape are."""
        return link.parent is None and isinstance(link.joint.motion, OneAxis) and is_matter(self.tree, link)

    def _is_bracket(self, segment: Segment) -> bool:
        """Whether a line of the world holds a joint, or a frame: it does not hold what flies or drives."""
        free = [link for link in self.tree.links if link.parent is None and not self._is_bolted(link)]
        return all(np.any(segment.ends[1] != [*link.joint.placement.translation]) for link in free)

    def _carries(self, segment: Segment) -> bool:
        """Whether a line of a link leads to another link, and not to a frame or a centre of mass only."""
        own = [link for link in self.tree.links if link.parent == segment.bodies[0]]
        return any(np.all(segment.ends[1] == [*link.joint.placement.translation]) for link in own)

    def _radius(self, owner: str | None, further: int = 0) -> float:
        """Of a rod that begins at the joint of a link, or so many joints on."""
        share = min(1.0, (self.depth.get(owner, 0) + further) / self.longest)
        return self.proportions.radius * (1.0 - TAPER * round(STEPS * share) / STEPS)

    def _color(self, owner: str | None) -> Color:
        if owner is None:
            return paint(GROUND)
        return self.color or palette_color(self.branch.get(owner, 0))

    def _body(self, owner: str | None) -> int:
        return WORLD if owner is None else self.shape.index[owner]


def _depths(robot: Robot) -> dict[str | None, int]:
    """How many links with matter each stands on."""
    depth: dict[str | None, int] = {None: 0}
    for link in robot.links:
        depth[link.name] = depth[link.parent] + (1 if is_matter(robot, link) else 0)
    return depth


def _is_jointed(link: Link) -> bool:
    """Whether its joint is a place on the robot, which that of a body that flies is not."""
    return link.joint.motion.nv < 6 and not (link.parent is None and link.joint.motion.nv > 1)


FLAT = 1e-6  # how far from its plane the corners of a plate are, in its size
MEET = 1e-6  # how near to each other corners meet, in the size of the mechanism
CORNERS = 8  # of an outline that may be joints
PLATE = 1.2  # its thickness in radii of the rods
BALL, LEG_DRUM, LEG_WIDTH, LEG_SLIDE = 1.4, 1.4, 2.8, 0.6  # joints and slides in radii of the rods


@dataclass(frozen=True, eq=False)
class Corner:
    """An end of an outline, or a corner of a closed one: on which body, where there, and where at home."""

    body: str | None
    point: np.ndarray
    place: np.ndarray


class MechanismLinks:
    """The parts and struts of a mechanism."""

    def __init__(self, shape: Shape, proportions: Proportions, color: Color | None):
        assert shape.system.is_closed_form
        self.shape, self.proportions, self.color, self.system = shape, proportions, color, shape.system
        self.leg = _legs(self.system)
        corners = _corners(shape)
        others = [[c.place for c in corners if c.body != own.body] for own in corners]
        pairs = zip(corners, others, strict=True)
        near = [min((np.linalg.norm(x - own.place) for x in far), default=np.inf) for own, far in pairs]
        meets = [distance <= MEET * proportions.size for distance in near]
        self.joints = [corner for corner, met in zip(corners, meets, strict=True) if met and corner.body is not None]
        self.ends = [corner for corner, met in zip(corners, meets, strict=True) if not met and corner.body is not None]

    def parts(self) -> list[ScenePart]:
        """Tubes and plates, joints, and boxes of bodies without an outline."""
        ground = [mesh for line in self.system.outlines for mesh in _drawn(line, self.proportions.radius)]
        found = [ScenePart(mesh, WORLD, color=paint(GROUND), name="world") for mesh in ground]
        for part in self.system.parts:
            color = self.color or palette_color(self.leg[part.name])
            meshes = _drawn(part.outline, self.proportions.radius)
            found += [ScenePart(mesh, self.shape.index[part.name], color=color, name=part.name) for mesh in meshes]
        found += [self._joint(corner) for corner in self.joints]
        bare = [solid for solid in self.shape.ellipsoids if solid.bare]
        return found + inertia_boxes(bare, self.shape.index, self.proportions, self.color)

    def struts(self) -> list[Strut]:
        """Between the open ends of two bodies of one leg."""
        found = []
        for leg in dict.fromkeys(self.leg.values()):
            open_ = [corner for corner in self.ends if self.leg[corner.body or ""] == leg]
            if len(open_) == 2 and open_[0].body != open_[1].body:
                bodies = (self.shape.index[open_[0].body or ""], self.shape.index[open_[1].body or ""])
                ends, radius = np.array([corner.point for corner in open_]), LEG_SLIDE * self.proportions.radius
                found.append(Strut(bodies, ends, radius, paint(METAL), name=f"slide of {open_[1].body}"))
        return found

    def _joint(self, corner: Corner) -> ScenePart:
        body, radius = self.shape.index[corner.body or ""], self.proportions.radius
        at = (*corner.point.tolist(), 0.0, 0.0, 0.0, 1.0)
        knob, pose = solids.sphere(BALL * radius), at
        if self.proportions.normal is not None:  # of a planar mechanism all joints turn about one axis
            knob, pose = solids.cylinder(LEG_DRUM * radius, LEG_WIDTH * radius), pose_along(self.proportions.normal, at)
        return ScenePart(knob, body, pose, paint(METAL), name=corner.body or "")


def _corners(shape: Shape) -> list[Corner]:
    """The ends of all outlines, and all corners of closed ones, with their places at home."""
    R, x = shape.places(shape.system.start)
    system = shape.system
    assert system.is_closed_form
    found = [Corner(None, point, point) for line in system.outlines for point in _turns(line)]
    for part in system.parts:
        k = shape.index[part.name]
        found += [Corner(part.name, point, R[k] @ point + x[k]) for point in _turns(part.outline)]
    return found


def _turns(line: Polyline) -> np.ndarray:
    """The ends of a line, and its corners if they are few and not those of an arc."""
    points = np.array(line, float).reshape(-1, 3)
    few = points if len(points) <= CORNERS else points[[0, -1]]
    return few[:-1] if len(few) > 2 and np.abs(few[0] - few[-1]).max() <= SHORT else few


def _drawn(line: Polyline, radius: float) -> list[Mesh]:
    points = np.array(line, float).reshape(-1, 3)
    if len(points) < 2 or np.linalg.norm(np.diff(points, axis=0), axis=1).max() <= SHORT:
        return []
    return [solids.prism(points[:-1], PLATE * radius)] if _is_plate(points) else [solids.tube(points, radius)]


def _is_plate(points: np.ndarray) -> bool:
    """Whether a line is the rim of a flat convex plate."""
    size = float(np.ptp(points, axis=0).max())
    if len(points) < 4 or np.abs(points[0] - points[-1]).max() > FLAT * size:
        return False
    corners = points[:-1] - points[:-1].mean(axis=0)
    edges = np.roll(corners, -1, axis=0) - corners
    turns = np.cross(edges, np.roll(edges, -1, axis=0))
    normal = turns.sum(axis=0)
    normal = normal / (np.linalg.norm(normal) or 1.0)
    return bool((turns @ normal > 0.0).all() and np.abs(corners @ normal).max() <= FLAT * size)


def _legs(system: System) -> dict[str, int]:
    """The leg of every body, by number: bodies whose names end alike, arm_1 and forearm_1, are of one."""
    ends = [part.name.rpartition("_")[2] for part in system.parts]
    order = list(dict.fromkeys(ends))
    return {part.name: order.index(end) for part, end in zip(system.parts, ends, strict=True)}


SOLIDS: dict[str, Callable[..., Mesh]] = {
    "box": solids.box,
    "sphere": solids.sphere,
    "cylinder": solids.cylinder,
    "capsule": solids.capsule,
    "ellipsoid": solids.ellipsoid,
}
LISTED = 6  # files that a note names

Painted = list[tuple[Mesh, Color | None]]


def visual_parts(
    robot: Robot,
    ellipsoids: list[Ellipsoid],
    proportions: Proportions,
    color_of: Callable[[str | None], Color],
    color: Color | None = None,
) -> tuple[list[ScenePart], list[str]]:
    """The parts of all visuals, and notes on files that are not there; `color` paints over what was described."""
    index = {name: k for k, name in enumerate(robot.link_names)}
    meshes, flaws = _meshes(robot.visuals)
    found: list[ScenePart] = []
    boxed: dict[str | None, Visual] = {}
    for k, visual in enumerate(robot.visuals):
        if visual.shape == "mesh" and not meshes[k]:
            boxed.setdefault(visual.body, visual)
        body = WORLD if visual.body is None else index[visual.body]
        usual = paint(GROUND) if visual.body is None else color_of(visual.body)
        for mesh, own in meshes.get(k) or (
            [] if visual.shape == "mesh" else [(_solid(visual, proportions.least), None)]
        ):
            shown = color or visual.color or own or usual
            name = visual.name or visual.body or "world"
            found.append(ScenePart(mesh, body, pose_numbers(visual.pose), shown, name=name))
    found += _boxes(boxed, ellipsoids, index, proportions, color_of)
    return [part for part in found if part.color[3] > 0.0], _note(flaws)


def pose_numbers(pose: Pose) -> tuple[float, ...]:
    """A pose as seven numbers."""
    R = np.array([list(row) for row in pose.rotation.rows], float)
    return tuple(poses(R, np.array([*pose.translation], float)).tolist())


def _solid(visual: Visual, least: float) -> Mesh:
    """A primitive shape; one without thickness is a thin one."""
    return SOLIDS[visual.shape](*(max(size, least) for size in visual.size))


def _meshes(visuals: tuple[Visual, ...]) -> tuple[dict[int, Painted], list[str]]:
    """The meshes of visuals by their number, none where a file cannot be read, and a sentence about each such file."""
    held: dict[tuple[int, tuple[float, ...]], Mesh] = {}
    wanted: dict[int, MeshSource] = {}
    for k, visual in enumerate(visuals):
        if visual.shape == "mesh" and visual.triangles is not None:
            key = id(visual.triangles), tuple(visual.size)
            held[key] = wanted[k] = held.get(key) or _scaled(visual.triangles, visual.size)
        elif visual.shape == "mesh":
            wanted[k] = visual.file, visual.size
    found, flaws = read_simplified(list(wanted.values()), keep=fetch)
    return dict(zip(wanted, found, strict=True)), flaws


def _scaled(triangles: VisualMesh, size: tuple[float, ...]) -> Mesh:
    """A mesh in memory at its scale; one that mirrors turns the triangles round, so that outside stays outside."""
    faces = triangles.faces[:, ::-1] if np.prod(size) < 0.0 else triangles.faces
    return Mesh(triangles.vertices * np.array(size, float), faces)


def _boxes(
    boxed: dict[str | None, Visual],
    ellipsoids: list[Ellipsoid],
    index: dict[str, int],
    proportions: Proportions,
    color_of: Callable[[str | None], Color],
) -> list[ScenePart]:
    """A box for every link whose mesh is missing; one of a tenth of the robot where a link has no mass."""
    known = {solid.body: solid for solid in ellipsoids if solid.axes.any()}
    found = []
    for body, visual in boxed.items():
        if body in known:
            found.append(inertia_box(known[body], index, proportions, color_of(body)))
        else:
            cube, at = solids.box(*(0.1 * proportions.size,) * 3), pose_numbers(visual.pose)
            found.append(ScenePart(cube, WORLD if body is None else index[body], at, color_of(body), name=visual.name))
    return found


def _note(flaws: list[str]) -> list[str]:
    """One note for all files that could not be read, the first few by name, those with the same flaw together."""
    if not flaws:
        return []
    files: dict[str, list[str]] = {}
    for sentence in flaws[:LISTED]:
        problem, _, source = sentence.rstrip(".").partition(" (")
        files.setdefault(problem, []).append(source.removesuffix(")"))
    told = [f"{problem}: {', '.join(own)}" if any(own) else problem for problem, own in files.items()]
    more = f"; and {len(flaws) - LISTED} more" if len(flaws) > LISTED else ""
    return [f"links whose mesh cannot be shown are boxes; {'; '.join(told)}{more}."]
