"""Visible parts of links: the visuals of a robot's description, or solids derived from its geometry.

**Links with visuals** are primitive shapes and meshes of files. All meshes share a budget of triangles in proportion to
their areas. If a file is missing or cannot be read, a note names it, and its link is drawn as the box with its mass and
moments of inertia.

**Links of a tree** without visuals are tapered rods between joints, drums along joint axes, and boxes for free bodies.
Rods become thinner towards the end of a chain. A slide is a rod between two bodies whose length follows their distance.

**Bodies of a mechanism** in closed form are drawn along the outlines in their description, one colour per leg. A
closed, flat and convex outline is drawn as a plate, any other as a tube. A corner that coincides with one of another
body or of the world is a joint. If two bodies of a leg have open ends, they form a slide, and a rod joins their ends.

**Boxes** are drawn for free and driving bodies, and for links whose mesh is missing. A body of mass m with principal
moments I is drawn as the box with the same mass and moments,

    lᵢ² = 6 (Iⱼ + Iₖ - Iᵢ) / m                                                                               (1)

whose edges are √(12 / 5) times the half axes of its ellipsoid. If the frames of a free body span a box of similar size
about its centre of mass, that box is drawn instead, so that its corners are where contact points touch a floor.
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
from appell.model.visual import Visual
from appell.show.meshes.mesh_cache import MeshSource, read_simplified
from appell.show.scene import solids
from appell.show.scene.poses import pose_along, poses
from appell.show.scene.scene import GROUND, METAL, WORLD, Color, Mesh, ScenePart, Strut, paint, palette_color
from appell.show.stage.shape import MIN_LINE_LENGTH_M, Ellipsoid, Proportions, Segment, Shape, branches, has_mass

BOX_EDGE_RATIO = math.sqrt(12.0 / 5.0)  # of an edge to the half axis of the ellipsoid, by (1)
POINT_MASS_EDGE = 0.3  # edge of the cube of a point mass, relative to the robot's size
MAX_BASE_EDGE = 0.45  # of a base that carries links, relative to the robot's size
MAX_EDGE_RATIO = 4.0  # up to which two boxes have a similar size


def inertia_boxes(
    ellipsoids: list[Ellipsoid], index: dict[str, int], proportions: Proportions, color: Color | None
) -> list[ScenePart]:
    """Return boxes with the mass and moments of bodies, each in its own colour."""
    return [inertia_box(solid, index, proportions, color or palette_color(k)) for k, solid in enumerate(ellipsoids)]


def inertia_box(
    solid: Ellipsoid, index: dict[str, int], proportions: Proportions, color: Color, max_edge: float = math.inf
) -> ScenePart:
    """Return the box of a body, scaled so that no edge is longer than `max_edge`."""
    if solid.axes.any():
        edges = np.maximum(_edges(solid), proportions.min_thickness)
    else:
        edges = np.full(3, POINT_MASS_EDGE * proportions.size)
    edges = edges * min(1.0, max_edge / edges.max())
    box = solids.box(*map(_rounded, edges))
    return ScenePart(box, index[solid.body], principal_pose(solid), color, name=solid.body)


def base_box(
    solid: Ellipsoid, robot: Robot, index: dict[str, int], proportions: Proportions, color: Color
) -> ScenePart:
    """Return the box of a free or driving base; that of its frames if it carries nothing and the sizes are similar."""
    if any(link.parent == solid.body for link in robot.links):
        return inertia_box(solid, index, proportions, color, MAX_BASE_EDGE * proportions.size)
    points = np.array([[*frame.pose.translation] for frame in robot.frames if frame.body == solid.body], float)
    spanned = 2.0 * np.abs(points - solid.center).max(axis=0) if len(points) > 2 else np.zeros(3)
    extent = np.abs(right_handed(solid.axes)) @ _edges(solid)
    if (spanned * MAX_EDGE_RATIO > extent).all() and (spanned < MAX_EDGE_RATIO * extent).all():
        pose = (*solid.center.tolist(), 0.0, 0.0, 0.0, 1.0)
        return ScenePart(solids.box(*map(_rounded, spanned)), index[solid.body], pose, color, name=solid.body)
    return inertia_box(solid, index, proportions, color)


def principal_pose(solid: Ellipsoid) -> tuple[float, ...]:
    """Return the pose of an ellipsoid on its body, with axes along its half axes."""
    return tuple(poses(right_handed(solid.axes), solid.center).tolist())


def right_handed(axes: np.ndarray) -> np.ndarray:
    """Return a rotation matrix along orthogonal columns, some of which may be zero."""
    sizes = np.linalg.norm(axes, axis=0)
    R = np.where(sizes > 0.0, axes / np.where(sizes > 0.0, sizes, 1.0), 0.0)
    if (sizes == 0.0).any():
        left, _, right = np.linalg.svd(R)
        R = left @ right
    R[:, 2] *= np.sign(np.linalg.det(R))
    return R


def _edges(solid: Ellipsoid) -> np.ndarray:
    return BOX_EDGE_RATIO * np.linalg.norm(solid.axes, axis=0)


def _rounded(number: float) -> float:
    """Round to six digits, so that equal bodies share a mesh."""
    return float(f"{number:.6g}")


TAPER = 0.45  # relative reduction of the rod radius at the end of the longest chain
TAPER_STEPS = 10  # so that many links share their meshes
# Dimensions of parts in radii of the rod:
DRUM_RADIUS, DRUM_LENGTH = 1.45, 3.1  # of a joint
FOOT_RADIUS = 2.2  # where a robot is fixed to the world
SLIDE_RADIUS = 0.6
POINT_RADIUS = 0.8  # of a frame on a free body
BOB_RADIUS = 1.6  # of the ball at the end of a line to a centre of mass


class TreeLinks:
    """The parts and struts of a tree without visuals."""

    def __init__(self, shape: Shape, proportions: Proportions, color: Color | None):
        self.shape, self.proportions, self.color = shape, proportions, color
        self.tree: Robot = shape.system.tree
        self.branch = branches(self.tree)
        self.depth = _depths(self.tree)
        self.free = {link.name for link in self.tree.links if link.parent is None and link.joint.motion.nv > 1}
        self.longest = max(1, *self.depth.values()) if self.depth else 1

    def parts(self) -> list[ScenePart]:
        """Return rods, joints, feet and boxes."""
        parts = [part for segment in self.shape.segments for part in self._rod(segment)]
        parts += [self._drum(link) for link in self.tree.links if has_mass(self.tree, link) and _is_jointed(link)]
        parts += [self._foot(link) for link in self.tree.links if self._is_fixed(link)]
        free = [e for e in self.shape.ellipsoids if e.body in self.free]
        parts += [base_box(e, self.tree, self.shape.index, self.proportions, self._color(e.body)) for e in free]
        bare = [e for e in self.shape.ellipsoids if e.bare and e.body not in self.free]
        return parts + inertia_boxes(bare, self.shape.index, self.proportions, self.color)

    def struts(self) -> list[Strut]:
        """Return the slides of prismatic joints, and the pieces of flexible links."""
        bent = [
            Strut(
                (self._body(segment.bodies[0]), self._body(segment.bodies[1])),
                segment.ends,
                self._radius(segment.bent),
                self._color(segment.bent),
                name=segment.bent,
            )
            for segment in self.shape.segments
            if segment.bent is not None
        ]
        return bent + [
            Strut(
                (self._body(segment.bodies[0]), self._body(segment.bodies[1])),
                segment.ends,
                SLIDE_RADIUS * self._radius(segment.bodies[1]),
                paint(METAL),
                name=segment.bodies[1] or "",
            )
            for segment in self.shape.segments
            if segment.bodies[0] != segment.bodies[1] and not segment.thin and segment.bent is None
        ]

    def _rod(self, segment: Segment) -> list[ScenePart]:
        owner = segment.bodies[0]
        if segment.bodies[1] != owner or segment.rim or (owner is None and not self._is_bracket(segment)):
            return []
        start, end = segment.ends
        at_end = (*end, 0.0, 0.0, 0.0, 1.0)
        color, body, name = self._color(owner), self._body(owner), owner or "world"
        if owner in self.free and not self._carries(segment):
            return [
                ScenePart(solids.sphere(POINT_RADIUS * self.proportions.radius), body, at_end, paint(METAL), name=name)
            ]
        length = float(np.linalg.norm(end - start))
        pose = pose_along(end - start, (*(0.5 * (start + end)), 0.0, 0.0, 0.0, 1.0))
        first, last = self._radius(owner), self._radius(owner, 1)
        if not segment.thin:
            return [ScenePart(solids.rod(first, last, length), body, pose, color, name=name)]
        return [
            ScenePart(solids.rod(0.5 * first, 0.5 * first, length), body, pose, color, name=name),
            ScenePart(solids.sphere(BOB_RADIUS * first), body, at_end, color, name=name),
        ]

    def _drum(self, link: Link) -> ScenePart:
        radius, body, motion = self._radius(link.name), self._body(link.name), link.joint.motion
        color, name = paint(METAL), link.joint.name
        if isinstance(motion, Revolute):
            drum = solids.cylinder(DRUM_RADIUS * radius, DRUM_LENGTH * radius)
            return ScenePart(drum, body, pose_along([*motion.axis]), color, name=name)
        if isinstance(motion, Prismatic):
            sleeve = solids.box(2.4 * radius, 2.4 * radius, DRUM_LENGTH * radius)
            return ScenePart(sleeve, body, pose_along([*motion.axis]), color, name=name)
        return ScenePart(solids.sphere(DRUM_RADIUS * radius), body, color=color, name=name)

    def _foot(self, link: Link) -> ScenePart:
        placement, radius = link.joint.placement, self._radius(link.name)
        motion = link.joint.motion
        assert isinstance(motion, OneAxis)
        pose = pose_along([*(placement.rotation @ motion.axis)], (*placement.translation, 0.0, 0.0, 0.0, 1.0))
        foot = solids.cylinder(FOOT_RADIUS * radius, 0.5 * DRUM_LENGTH * radius)
        return ScenePart(foot, WORLD, pose, paint(GROUND), name="world")

    def _is_fixed(self, link: Link) -> bool:
        """Whether a one-axis joint connects the link to the world, as for the anchors of a shape."""
        return link.parent is None and isinstance(link.joint.motion, OneAxis) and has_mass(self.tree, link)

    def _is_bracket(self, segment: Segment) -> bool:
        """Whether a line of the world leads to a joint or a frame, and not to a free or driving body."""
        free = [link for link in self.tree.links if link.parent is None and not self._is_fixed(link)]
        return all(np.any(segment.ends[1] != [*link.joint.placement.translation]) for link in free)

    def _carries(self, segment: Segment) -> bool:
        """Whether a line of a link leads to another link, and not only to a frame or a centre of mass."""
        children = [link for link in self.tree.links if link.parent == segment.bodies[0]]
        return any(np.all(segment.ends[1] == [*link.joint.placement.translation]) for link in children)

    def _radius(self, owner: str | None, further: int = 0) -> float:
        """Return the radius of a rod at the joint of a link, or `further` joints along the chain."""
        share = min(1.0, (self.depth.get(owner, 0) + further) / self.longest)
        return self.proportions.radius * (1.0 - TAPER * round(TAPER_STEPS * share) / TAPER_STEPS)

    def _color(self, owner: str | None) -> Color:
        if owner is None:
            return paint(GROUND)
        return self.color or palette_color(self.branch.get(owner, 0))

    def _body(self, owner: str | None) -> int:
        return WORLD if owner is None else self.shape.index[owner]


def _depths(robot: Robot) -> dict[str | None, int]:
    """Return the number of links with mass from the base up to each link, including the link itself."""
    depth: dict[str | None, int] = {None: 0}
    for link in robot.links:
        depth[link.name] = depth[link.parent] + (1 if has_mass(robot, link) else 0)
    return depth


def _is_jointed(link: Link) -> bool:
    """Whether the joint of a link has a position on the robot, unlike that of a free body."""
    return link.joint.motion.nv < 6 and not (link.parent is None and link.joint.motion.nv > 1)


FLATNESS_TOLERANCE = 1e-6  # of a plate, relative to its size
COINCIDENCE_TOLERANCE = 1e-6  # of corners that form a joint, relative to the size of the mechanism
MAX_JOINT_CORNERS = 8  # of an outline whose corners may all be joints
# Dimensions of parts in radii of the rods:
PLATE_THICKNESS = 1.2
BALL_RADIUS, LEG_DRUM_RADIUS, LEG_DRUM_LENGTH, LEG_SLIDE_RADIUS = 1.4, 1.4, 2.8, 0.6


@dataclass(frozen=True, eq=False)
class Corner:
    """An end of an outline, or a corner of a closed one."""

    body: str | None
    point: np.ndarray  # in the axes of the body
    at_start: np.ndarray  # in the world, at the start of the mechanism


class MechanismLinks:
    """The parts and struts of a mechanism."""

    def __init__(self, shape: Shape, proportions: Proportions, color: Color | None):
        assert shape.system.is_closed_form
        self.shape, self.proportions, self.color, self.system = shape, proportions, color, shape.system
        self.leg = _legs(self.system)
        corners = _corners(shape)
        limit = COINCIDENCE_TOLERANCE * proportions.size
        self.joints: list[Corner] = []  # corners that coincide with one of another body
        self.ends: list[Corner] = []  # the others
        for corner in corners:
            others = [other.at_start for other in corners if other.body != corner.body]
            distance = min((np.linalg.norm(x - corner.at_start) for x in others), default=np.inf)
            if corner.body is not None:
                (self.joints if distance <= limit else self.ends).append(corner)

    def parts(self) -> list[ScenePart]:
        """Return tubes and plates, joints, and boxes of bodies without an outline."""
        ground = [mesh for line in self.system.outlines for mesh in _drawn(line, self.proportions.radius)]
        parts = [ScenePart(mesh, WORLD, color=paint(GROUND), name="world") for mesh in ground]
        for part in self.system.parts:
            color = self.color or palette_color(self.leg[part.name])
            meshes = _drawn(part.outline, self.proportions.radius)
            parts += [ScenePart(mesh, self.shape.index[part.name], color=color, name=part.name) for mesh in meshes]
        parts += [self._joint(corner) for corner in self.joints]
        bare = [solid for solid in self.shape.ellipsoids if solid.bare]
        return parts + inertia_boxes(bare, self.shape.index, self.proportions, self.color)

    def struts(self) -> list[Strut]:
        """Return the slides between the open ends of two bodies of a leg."""
        struts = []
        for leg in dict.fromkeys(self.leg.values()):
            open_ends = [corner for corner in self.ends if self.leg[corner.body or ""] == leg]
            if len(open_ends) == 2 and open_ends[0].body != open_ends[1].body:
                bodies = (self.shape.index[open_ends[0].body or ""], self.shape.index[open_ends[1].body or ""])
                ends, radius = (
                    np.array([corner.point for corner in open_ends]),
                    LEG_SLIDE_RADIUS * self.proportions.radius,
                )
                struts.append(Strut(bodies, ends, radius, paint(METAL), name=f"slide of {open_ends[1].body}"))
        return struts

    def _joint(self, corner: Corner) -> ScenePart:
        body, radius = self.shape.index[corner.body or ""], self.proportions.radius
        at = (*corner.point.tolist(), 0.0, 0.0, 0.0, 1.0)
        joint, pose = solids.sphere(BALL_RADIUS * radius), at
        if self.proportions.normal is not None:  # all joints of a planar mechanism rotate about its normal
            joint = solids.cylinder(LEG_DRUM_RADIUS * radius, LEG_DRUM_LENGTH * radius)
            pose = pose_along(self.proportions.normal, at)
        return ScenePart(joint, body, pose, paint(METAL), name=corner.body or "")


def _corners(shape: Shape) -> list[Corner]:
    """Return the ends of all outlines, and all corners of closed ones, with their positions at the start."""
    R, x = shape.body_poses(shape.system.start)
    system = shape.system
    assert system.is_closed_form
    corners = [Corner(None, point, point) for line in system.outlines for point in _joint_candidates(line)]
    for part in system.parts:
        k = shape.index[part.name]
        corners += [Corner(part.name, point, R[k] @ point + x[k]) for point in _joint_candidates(part.outline)]
    return corners


def _joint_candidates(line: Polyline) -> np.ndarray:
    """Return the corners of a line, or only its ends if there are many corners, as in an arc."""
    points = np.array(line, float).reshape(-1, 3)
    few = points if len(points) <= MAX_JOINT_CORNERS else points[[0, -1]]
    return few[:-1] if len(few) > 2 and np.abs(few[0] - few[-1]).max() <= MIN_LINE_LENGTH_M else few


def _drawn(line: Polyline, radius: float) -> list[Mesh]:
    points = np.array(line, float).reshape(-1, 3)
    if len(points) < 2 or np.linalg.norm(np.diff(points, axis=0), axis=1).max() <= MIN_LINE_LENGTH_M:
        return []
    return [solids.prism(points[:-1], PLATE_THICKNESS * radius)] if _is_plate(points) else [solids.tube(points, radius)]


def _is_plate(points: np.ndarray) -> bool:
    """Whether a line is the border of a flat convex plate."""
    size = float(np.ptp(points, axis=0).max())
    if len(points) < 4 or np.abs(points[0] - points[-1]).max() > FLATNESS_TOLERANCE * size:
        return False
    corners = points[:-1] - points[:-1].mean(axis=0)
    edges = np.roll(corners, -1, axis=0) - corners
    corner_normals = np.cross(edges, np.roll(edges, -1, axis=0))
    normal = corner_normals.sum(axis=0)
    normal = normal / (np.linalg.norm(normal) or 1.0)
    return bool((corner_normals @ normal > 0.0).all() and np.abs(corners @ normal).max() <= FLATNESS_TOLERANCE * size)


def _legs(system: System) -> dict[str, int]:
    """Return the leg number of every body: bodies whose names have the same ending (arm_1, forearm_1) form a leg."""
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
MAX_LISTED_FILES = 6  # in a note

ColoredMeshes = list[tuple[Mesh, Color | None]]


def visual_parts(
    robot: Robot,
    ellipsoids: list[Ellipsoid],
    proportions: Proportions,
    color_of: Callable[[str | None], Color],
    color: Color | None = None,
) -> tuple[list[ScenePart], list[str]]:
    """Return the parts of all visuals of rigid links, and notes on files that cannot be shown.

    A visual does not bend: flexible links are drawn by the struts of `TreeLinks`.

    Parameters
    ----------
    robot : Robot
        Robot with visuals.
    ellipsoids : list of Ellipsoid
        Inertia ellipsoids of its links, for links whose mesh is missing.
    proportions : Proportions
        Size of the robot.
    color_of : callable
        Default colour of a link without one in its visual.
    color : Color, optional
        Overrides all colours.
    """
    index = {name: k for k, name in enumerate(robot.link_names)}
    flexible = {link.name for link in robot.flexible}
    visuals = tuple(visual for visual in robot.visuals if visual.body not in flexible)
    meshes, flaws = _meshes(visuals)
    parts: list[ScenePart] = []
    boxed: dict[str | None, Visual] = {}
    for k, visual in enumerate(visuals):
        if visual.shape == "mesh" and not meshes[k]:
            boxed.setdefault(visual.body, visual)
        body = WORLD if visual.body is None else index[visual.body]
        default = paint(GROUND) if visual.body is None else color_of(visual.body)
        colored = meshes[k] if visual.shape == "mesh" else [(_solid(visual, proportions.min_thickness), None)]
        for mesh, mesh_color in colored:
            part_color = color or visual.color or mesh_color or default
            name = visual.name or visual.body or "world"
            parts.append(ScenePart(mesh, body, pose_numbers(visual.pose), part_color, name=name))
    parts += _boxes(boxed, ellipsoids, index, proportions, color_of)
    return [part for part in parts if part.color[3] > 0.0], _note(flaws)


def pose_numbers(pose: Pose) -> tuple[float, ...]:
    """Return a pose as seven numbers, x y z qx qy qz qw."""
    R = np.array([list(row) for row in pose.rotation.rows], float)
    return tuple(poses(R, np.array([*pose.translation], float)).tolist())


def _solid(visual: Visual, min_thickness: float) -> Mesh:
    """Return the mesh of a primitive shape with a minimum thickness."""
    return SOLIDS[visual.shape](*(max(size, min_thickness) for size in visual.size))


def _meshes(visuals: tuple[Visual, ...]) -> tuple[dict[int, ColoredMeshes], list[str]]:
    """Return the meshes of visuals by index, empty if a file cannot be read, and a sentence about each such file."""
    scaled: dict[tuple[int, tuple[float, ...]], Mesh] = {}
    wanted: dict[int, MeshSource] = {}
    for k, visual in enumerate(visuals):
        if visual.shape == "mesh" and visual.triangles is not None:
            key = id(visual.triangles), tuple(visual.size)
            scaled[key] = wanted[k] = scaled.get(key) or _scaled(visual.triangles, visual.size)
        elif visual.shape == "mesh":
            wanted[k] = visual.file, visual.size
    meshes, flaws = read_simplified(list(wanted.values()), keep=fetch)
    return dict(zip(wanted, meshes, strict=True)), flaws


def _scaled(triangles: Mesh, size: tuple[float, ...]) -> Mesh:
    """Return a scaled mesh; a scale that mirrors also reverses the triangles, so that the outside stays outside."""
    faces = triangles.faces[:, ::-1] if np.prod(size) < 0.0 else triangles.faces
    return Mesh(triangles.vertices * np.array(size, float), faces)


def _boxes(
    boxed: dict[str | None, Visual],
    ellipsoids: list[Ellipsoid],
    index: dict[str, int],
    proportions: Proportions,
    color_of: Callable[[str | None], Color],
) -> list[ScenePart]:
    """Return a box for every link whose mesh is missing; a cube of a tenth of the robot's size if it has no mass."""
    known = {solid.body: solid for solid in ellipsoids if solid.axes.any()}
    boxes = []
    for body, visual in boxed.items():
        if body in known:
            boxes.append(inertia_box(known[body], index, proportions, color_of(body)))
        else:
            cube, at = solids.box(*(0.1 * proportions.size,) * 3), pose_numbers(visual.pose)
            boxes.append(ScenePart(cube, WORLD if body is None else index[body], at, color_of(body), name=visual.name))
    return boxes


def _note(flaws: list[str]) -> list[str]:
    """Return one note for all files that could not be read, grouped by problem, with the names of the first few."""
    if not flaws:
        return []
    files: dict[str, list[str]] = {}
    for sentence in flaws[:MAX_LISTED_FILES]:
        problem, _, source = sentence.rstrip(".").partition(" (")
        files.setdefault(problem, []).append(source.removesuffix(")"))
    problems = [f"{problem}: {', '.join(names)}" if any(names) else problem for problem, names in files.items()]
    more = f"; and {len(flaws) - MAX_LISTED_FILES} more" if len(flaws) > MAX_LISTED_FILES else ""
    return [f"links with missing meshes are drawn as boxes; {'; '.join(problems)}{more}."]
