"""The appearance of a system: the visible parts of its bodies, and their poses.

Visuals of the description, meshes and primitive shapes, take precedence. Without them, links are drawn from the
geometry of the robot. Loop closures and wheels are always drawn. Axes of bodies and frames, centres of mass and inertia
ellipsoids are in layers that are hidden initially.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from appell.dynamics import Dynamics
from appell.dynamics.distances import robot_of
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.model.constraint import AXES, Closure, Distance, Rolling, find_frame
from appell.model.frame import Frame
from appell.model.robot import Robot
from appell.model.system import System
from appell.show.plot.style import COLORS
from appell.show.scene import solids
from appell.show.scene.poses import pose_along, poses
from appell.show.scene.scene import (
    DEFAULT_LAYERS,
    LAYERS,
    LIGHT_METAL,
    METAL,
    STANDARD_LAYERS,
    WORLD,
    Actor,
    Color,
    SceneMotion,
    ScenePart,
    Strut,
    paint,
    palette_color,
)
from appell.show.stage.collision_view import collision_parts
from appell.show.stage.links import MechanismLinks, TreeLinks, pose_numbers, principal_pose, visual_parts
from appell.show.stage.shape import (
    Proportions,
    Shape,
    branches,
    checked_configuration,
    dynamics_of,
    has_mass,
    proportions_of,
)
from appell.show.stage.walls import drawn_constraints

PLANARITY_SAMPLES = 3  # random configurations that decide whether a system is planar


class Appearance:
    """The visible parts of a system, made once and shared by actors at any configuration and in any motion."""

    def __init__(
        self,
        robot: System | Dynamics,
        *,
        layers: Iterable[str] = STANDARD_LAYERS,
        color: Color | None = None,
        bending: float = 1.0,
    ):
        self.dyn = dynamics_of(robot)
        self.system: System = self.dyn.system
        self.shape = Shape(self.dyn, bending)
        self.layers, self.color = tuple(layers), color
        for layer in self.layers:
            if layer not in LAYERS:
                raise ArgumentError(unknown_name("layer", str(layer), LAYERS, "a scene"))

    @property
    def is_fixed(self) -> bool:
        """Whether the robot is fixed to the world by joints with one axis."""
        tree = self.system.tree
        bases = [link.joint.motion.nv for link in tree.links if link.parent is None] if tree else []
        return bool(bases) and max(bases) == 1

    # ---- parts

    @cached_property
    def proportions(self) -> Proportions:
        """Proportions at the start; the normal is set if the system is planar at random configurations too."""
        at_start = proportions_of(self.shape, self.system.start)
        if at_start.normal is None:
            return at_start
        rng = np.random.default_rng(0)
        try:
            samples = [self.system.random_configuration(rng) for _ in range(PLANARITY_SAMPLES)]
        except ModelError:  # loops that cannot be closed elsewhere
            return at_start
        return replace(at_start, normal=proportions_of(self.shape, np.array([self.system.start, *samples])).normal)

    @property
    def parts(self) -> tuple[ScenePart, ...]:
        """Parts in the selected layers."""
        return tuple(part for part in self._all_parts[0] if part.layer in self.layers)

    @property
    def struts(self) -> tuple[Strut, ...]:
        """Struts in the selected layers."""
        return tuple(strut for strut in self._all_parts[1] if strut.layer in self.layers)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the reader, such as missing meshes."""
        return tuple(self._all_parts[2])

    @cached_property
    def _all_parts(self) -> tuple[list[ScenePart], list[Strut], list[str]]:
        shape, proportions = self.shape, self.proportions
        parts, struts, notes = self._links()
        closing, rods = loop_parts(self.system, self.shape.index, proportions)
        parts = [*parts, *closing, *frame_parts(shape, proportions), *center_parts(shape, proportions)]
        if "collisions" in self.layers:
            parts += collision_parts(robot_of(self.dyn), self.shape.index)
        return [*parts, *inertia_parts(shape, proportions)], [*struts, *rods], notes

    def _links(self) -> tuple[list[ScenePart], list[Strut], list[str]]:
        shape, tree = self.shape, self.system.tree
        if tree is None:
            legs = MechanismLinks(shape, self.proportions, self.color)
            return legs.parts(), legs.struts(), []
        if tree.visuals:
            branch = branches(tree)
            parts, notes = visual_parts(
                tree,
                shape.ellipsoids,
                self.proportions,
                lambda body: self.color or palette_color(branch.get(body, 0)),
                self.color,
            )
            flexible = {link.name for link in tree.flexible}
            bent = [s for s in TreeLinks(shape, self.proportions, self.color).struts() if s.name in flexible]
            return [*parts, *self._undescribed(tree)], bent, notes
        limbs = TreeLinks(shape, self.proportions, self.color)
        return limbs.parts(), limbs.struts(), []

    def _undescribed(self, tree: Robot) -> list[ScenePart]:
        """Return links without a visual, drawn from the geometry if they are the majority; else they stay invisible."""
        covered = {visual.body for visual in tree.visuals}
        solid = [link.name for link in tree.links if has_mass(tree, link)]
        without_visual = {self.shape.index[name] for name in solid if name not in covered}
        if 2 * len(without_visual) <= len(solid):
            return []
        return [
            part for part in TreeLinks(self.shape, self.proportions, self.color).parts() if part.body in without_visual
        ]

    # ---- poses

    def poses(self, q) -> np.ndarray:
        """Return the poses of all bodies at configurations (..., nq): (..., bodies, 7), in the order of body names."""
        R, x = self.shape.body_poses(self.system.sized("q", q, self.system.nq))
        return poses(R, x)

    def actor(self, q=None, *, motion: SceneMotion | None = None, name: str = "") -> Actor:
        """Return an actor at q (nq), by default the start; raise ArgumentError if q is out of reach of a leg."""
        poses, bodies = self.poses(checked_configuration(self.dyn, q)), tuple(self.shape.names)
        return Actor(name or self.system.name, bodies, poses, self.parts, self.struts, motion)

    @cached_property
    def levers(self) -> np.ndarray:
        """Largest distance of the parts of every body from its origin, in m: (bodies)."""
        levers = np.zeros(len(self.shape.names))
        for part in self.parts:
            if part.body >= 0 and part.layer in DEFAULT_LAYERS:
                distance = math.hypot(*part.pose[:3]) + float(
                    np.linalg.norm(part.mesh.vertices, axis=1).max(initial=0.0)
                )
                levers[part.body] = max(levers[part.body], distance)
        for strut in self.struts:
            for body, end in zip(strut.bodies, strut.ends, strict=True):
                if body >= 0:
                    levers[body] = max(levers[body], float(np.linalg.norm(end)))
        return levers


AXIS_LENGTH = 0.13  # of the axes of a body, relative to the robot's size
MAX_MASS_RADIUS = 0.03  # radius of the ball at the centre of the heaviest body, relative to the robot's size
ELLIPSOID_OPACITY = 0.3
SPOKES = 5
AXIS_CLOSURES = ("hinge", "cylinder", "slider")  # closures with an axis, which is z of their frames


def frame_parts(shape: Shape, proportions: Proportions) -> list[ScenePart]:
    """Return the axes of every body and, smaller, of every named frame."""
    size = AXIS_LENGTH * proportions.size
    parts = [part for name, k in shape.index.items() for part in solids.triad(size, k, name=name)]
    for frame in shape.system.frames:
        body = WORLD if frame.body is None else shape.index[frame.body]
        parts += solids.triad(0.75 * AXIS_LENGTH * proportions.size, body, pose_numbers(frame.pose), name=frame.name)
    return parts


def center_parts(shape: Shape, proportions: Proportions) -> list[ScenePart]:
    """Return balls at the centres of mass, with volumes proportional to the masses."""
    masses = {name: float(body.mass) for name, body in shape.system.bodies.items() if body is not None}
    heaviest = max([mass for mass in masses.values() if np.isfinite(mass)], default=0.0)
    parts = []
    for solid in shape.ellipsoids:
        mass = masses.get(solid.body, 0.0)
        if 0.0 < mass <= heaviest:
            radius = MAX_MASS_RADIUS * proportions.size * max(0.15, (mass / heaviest) ** (1.0 / 3.0))
            at, name = (*solid.center.tolist(), 0.0, 0.0, 0.0, 1.0), f"{solid.body}: {mass:.4g} kg"
            ball = solids.sphere(float(f"{radius:.3g}"), 14)
            parts.append(ScenePart(ball, shape.index[solid.body], at, paint(COLORS[4]), "centers", name))
    return parts


def inertia_parts(shape: Shape, proportions: Proportions) -> list[ScenePart]:
    """Return transparent ellipsoids with the mass and moments of inertia of all bodies."""
    parts = []
    for k, solid in enumerate(shape.ellipsoids):
        half = np.maximum(np.linalg.norm(solid.axes, axis=0), 10.0 * proportions.min_thickness)
        if solid.axes.any() and np.isfinite(half).all():
            mesh = solids.ellipsoid(*(float(f"{x:.6g}") for x in half))
            color = (*palette_color(k)[:3], ELLIPSOID_OPACITY)
            parts.append(ScenePart(mesh, shape.index[solid.body], principal_pose(solid), color, "inertia", solid.body))
    return parts


def loop_parts(system: System, index: dict[str, int], proportions: Proportions) -> tuple[list[ScenePart], list[Strut]]:
    """Return rods of constant length, rolling wheels and balls, and joints that close loops."""
    parts: list[ScenePart] = []
    struts: list[Strut] = []

    def body(frame: Frame) -> int:
        return WORLD if frame.body is None else index[frame.body]

    for constraint in drawn_constraints(system):
        if isinstance(constraint, Distance):
            frames = [find_frame(system.tree, name) for name in (constraint.a, constraint.b)]
            ends = np.array([[*frame.pose.translation] for frame in frames], float)
            pair = (body(frames[0]), body(frames[1]))
            struts.append(Strut(pair, ends, 0.5 * proportions.radius, paint(METAL), "loops", constraint.name))
            ball = solids.sphere(0.8 * proportions.radius)
            parts += [
                ScenePart(ball, k, (*end, 0.0, 0.0, 0.0, 1.0), paint(METAL), "loops", constraint.name)
                for k, end in zip(pair, ends, strict=True)
            ]
        elif isinstance(constraint, Closure):
            frame = find_frame(system.tree, constraint.a)
            pose, joint = pose_numbers(frame.pose), solids.sphere(1.25 * proportions.radius)
            if constraint.kind in AXIS_CLOSURES:
                joint = solids.cylinder(1.25 * proportions.radius, 3.4 * proportions.radius)
            parts.append(ScenePart(joint, body(frame), pose, paint(COLORS[4]), "loops", constraint.name))
        elif isinstance(constraint, Rolling):
            frame = find_frame(system.tree, constraint.frame)
            parts += _wheel(constraint, frame, body(frame), proportions)
    return parts, struts


def _wheel(constraint: Rolling, frame: Frame, body: int, proportions: Proportions) -> list[ScenePart]:
    """Return a rim with the rolling radius, a hub, and spokes that make the rotation visible; or a ball."""
    at, rubber, metal = pose_numbers(frame.pose), paint("#3a3d42"), paint(LIGHT_METAL)
    if constraint.ball:
        band = solids.tube(_circle(1.005 * constraint.radius, 32), 0.03 * constraint.radius, 6)
        rims = [ScenePart(band, body, pose_along(axis, at), metal, "loops", constraint.name) for axis in np.eye(3)[:2]]
        ball = solids.sphere(constraint.radius)
        return [ScenePart(ball, body, at, palette_color(1), "loops", constraint.name), *rims]
    thickness = min(0.12 * constraint.radius, proportions.radius)
    pose = pose_along(np.eye(3)[AXES.index(constraint.axis)], at)
    hub = solids.cylinder(2.0 * thickness, 4.0 * thickness)
    rim = solids.tube(_circle(constraint.radius - thickness, 48), thickness, 10)
    pieces = [(rim, rubber), (hub, metal)]
    for angle in 2.0 * np.pi * np.arange(SPOKES) / SPOKES:
        end = (constraint.radius - thickness) * np.array([np.cos(angle), np.sin(angle), 0.0])
        pieces.append((solids.tube([(0.0, 0.0, 0.0), end.tolist()], 0.35 * thickness, 6), metal))
    return [ScenePart(mesh, body, pose, color, "loops", constraint.name) for mesh, color in pieces]


def _circle(radius: float, corners: int) -> list[tuple[float, float, float]]:
    angles = np.linspace(0.0, 2.0 * np.pi, corners + 1)
    return [(radius * float(np.cos(angle)), radius * float(np.sin(angle)), 0.0) for angle in angles]
