"""What is seen of a system, made once: parts on its bodies, and where they are.

What its description says of its looks comes first: meshes of files and primitive shapes. If it says nothing, links are
drawn from the geometry.
On demand: axes of bodies and frames, centres of mass, ellipsoids of inertia. What closes loops, and wheels, are shown
always.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.model.constraint import AXES, Closure, Distance, Prescribed, Rolling, find_frame
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
    WORLD,
    Actor,
    Color,
    SceneMotion,
    ScenePart,
    Strut,
    paint,
    palette_color,
)
from appell.show.stage.links import MechanismLinks, TreeLinks, pose_numbers, upright, visual_parts
from appell.show.stage.shape import (
    Proportions,
    Shape,
    branches,
    checked_configuration,
    dynamics_of,
    is_matter,
    proportions_of,
)

TRIES = 3  # configurations that tell whether it lies in a plane wherever it goes


class Appearance:
    """What is seen of a system, made once; actors at any configuration and in any motion share it."""

    def __init__(self, robot: System | Dynamics, *, layers: Iterable[str] = LAYERS, color: Color | None = None):
        self.dyn = dynamics_of(robot)
        self.system: System = self.dyn.system
        self.shape = Shape(self.dyn)
        self.layers, self.color = tuple(layers), color
        for layer in self.layers:
            if layer not in LAYERS:
                raise ArgumentError(unknown_name("layer", str(layer), LAYERS, "a scene"))

    # ---- what is seen

    @cached_property
    def proportions(self) -> Proportions:
        """At its start; it lies in a plane if it does so wherever it may go."""
        own = proportions_of(self.shape, self.system.start)
        if own.normal is None:
            return own
        rng = np.random.default_rng(0)
        try:
            anywhere = [self.system.random_configuration(rng) for _ in range(TRIES)]
        except ModelError:  # loops that can be closed nowhere else
            return own
        return replace(own, normal=proportions_of(self.shape, np.array([self.system.start, *anywhere])).normal)

    @property
    def parts(self) -> tuple[ScenePart, ...]:
        return tuple(part for part in self._set[0] if part.layer in self.layers)

    @property
    def struts(self) -> tuple[Strut, ...]:
        return tuple(strut for strut in self._set[1] if strut.layer in self.layers)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a viewer should know: meshes that are missing."""
        return tuple(self._set[2])

    @cached_property
    def _set(self) -> tuple[list[ScenePart], list[Strut], list[str]]:
        shape, proportions = self.shape, self.proportions
        parts, struts, notes = self._links()
        closing, rods = loop_parts(self.system, self.shape.index, proportions)
        parts = [*parts, *closing, *frame_parts(shape, proportions), *center_parts(shape, proportions)]
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
            return [*parts, *self._undescribed(tree)], [], notes
        limbs = TreeLinks(shape, self.proportions, self.color)
        return limbs.parts(), limbs.struts(), []

    def _undescribed(self, tree: Robot) -> list[ScenePart]:
        """Links without a visual, drawn from the geometry if they are most of the robot; else they are hidden parts."""
        covered = {visual.body for visual in tree.visuals}
        solid = [link.name for link in tree.links if is_matter(tree, link)]
        bare = {self.shape.index[name] for name in solid if name not in covered}
        if 2 * len(bare) <= len(solid):
            return []
        return [part for part in TreeLinks(self.shape, self.proportions, self.color).parts() if part.body in bare]

    # ---- where it is

    def poses(self, q) -> np.ndarray:
        """Of all bodies at configurations (..., nq), in the order of the system's body names: (..., bodies, 7)."""
        R, x = self.shape.places(self.system.sized("q", q, self.system.nq))
        return poses(R, x)

    def actor(self, q=None, *, motion: SceneMotion | None = None, name: str = "") -> Actor:
        """At q, its start if None; a pose out of reach is an error that names the leg."""
        here, bodies = self.poses(checked_configuration(self.dyn, q)), tuple(self.shape.names)
        return Actor(name or self.system.name, bodies, here, self.parts, self.struts, motion)

    @cached_property
    def levers(self) -> np.ndarray:
        """How far what is drawn on every body reaches from its origin: (bodies)."""
        found = np.zeros(len(self.shape.names))
        for part in self.parts:
            if part.body >= 0 and part.layer in DEFAULT_LAYERS:
                far = math.hypot(*part.pose[:3]) + float(np.linalg.norm(part.mesh.vertices, axis=1).max(initial=0.0))
                found[part.body] = max(found[part.body], far)
        for strut in self.struts:
            for body, end in zip(strut.bodies, strut.ends, strict=True):
                if body >= 0:
                    found[body] = max(found[body], float(np.linalg.norm(end)))
        return found


AXIS = 0.13  # length of the axes of a frame, in the robot's size
HEAVIEST = 0.03  # radius of the ball at the centre of the heaviest body
CLEAR = 0.3  # opacity of ellipsoids
SPOKES = 5
TURNING = ("hinge", "cylinder", "slider")  # closures with an axis, which is z of their frames


def frame_parts(shape: Shape, proportions: Proportions) -> list[ScenePart]:
    """Axes at the origin of every body and at every named frame, those of frames smaller."""
    size = AXIS * proportions.size
    found = [part for name, k in shape.index.items() for part in solids.triad(size, k, name=name)]
    for frame in shape.system.frames:
        body = WORLD if frame.body is None else shape.index[frame.body]
        found += solids.triad(0.75 * AXIS * proportions.size, body, pose_numbers(frame.pose), name=frame.name)
    return found


def center_parts(shape: Shape, proportions: Proportions) -> list[ScenePart]:
    """Balls at centres of mass, their volumes as the masses."""
    masses = {name: float(body.mass) for name, body in shape.system.bodies.items() if body is not None}
    most = max([mass for mass in masses.values() if np.isfinite(mass)], default=0.0)
    found = []
    for solid in shape.ellipsoids:
        mass = masses.get(solid.body, 0.0)
        if 0.0 < mass <= most:
            radius = HEAVIEST * proportions.size * max(0.15, (mass / most) ** (1.0 / 3.0))
            at, name = (*solid.center.tolist(), 0.0, 0.0, 0.0, 1.0), f"{solid.body}: {mass:.4g} kg"
            ball = solids.sphere(float(f"{radius:.3g}"), 14)
            found.append(ScenePart(ball, shape.index[solid.body], at, paint(COLORS[4]), "centers", name))
    return found


def inertia_parts(shape: Shape, proportions: Proportions) -> list[ScenePart]:
    """The ellipsoids with the mass and moments of all bodies, to look through."""
    found = []
    for k, solid in enumerate(shape.ellipsoids):
        half = np.maximum(np.linalg.norm(solid.axes, axis=0), 10.0 * proportions.least)
        if solid.axes.any() and np.isfinite(half).all():
            mesh = solids.ellipsoid(*(float(f"{x:.6g}") for x in half))
            color = (*palette_color(k)[:3], CLEAR)
            found.append(ScenePart(mesh, shape.index[solid.body], upright(solid), color, "inertia", solid.body))
    return found


def loop_parts(system: System, index: dict[str, int], proportions: Proportions) -> tuple[list[ScenePart], list[Strut]]:
    """Rods of constant length, wheels and balls that roll, and joints that close loops."""
    parts: list[ScenePart] = []
    struts: list[Strut] = []
    if not system.is_constrained:
        return parts, struts

    def body(frame: Frame) -> int:
        return WORLD if frame.body is None else index[frame.body]

    for each in system.constraints:
        own = each.constraint if isinstance(each, Prescribed) else each
        if isinstance(own, Distance):
            ends = [find_frame(system.tree, place) for place in (own.a, own.b)]
            places = np.array([[*frame.pose.translation] for frame in ends], float)
            pair = (body(ends[0]), body(ends[1]))
            struts.append(Strut(pair, places, 0.5 * proportions.radius, paint(METAL), "loops", own.name))
            pinned = zip(pair, places, strict=True)
            ball = solids.sphere(0.8 * proportions.radius)
            parts += [
                ScenePart(ball, k, (*at, 0.0, 0.0, 0.0, 1.0), paint(METAL), "loops", own.name) for k, at in pinned
            ]
        elif isinstance(own, Closure):
            frame = find_frame(system.tree, own.a)
            at, knob = pose_numbers(frame.pose), solids.sphere(1.25 * proportions.radius)
            if own.kind in TURNING:
                knob = solids.cylinder(1.25 * proportions.radius, 3.4 * proportions.radius)
            parts.append(ScenePart(knob, body(frame), at, paint(COLORS[4]), "loops", own.name))
        elif isinstance(own, Rolling):
            frame = find_frame(system.tree, own.frame)
            parts += _wheel(own, frame, body(frame), proportions)
    return parts, struts


def _wheel(own: Rolling, frame: Frame, body: int, proportions: Proportions) -> list[ScenePart]:
    """A rim whose outermost points are those that roll, a hub, and spokes that let its turning be seen."""
    at, rubber, metal = pose_numbers(frame.pose), paint("#3a3d42"), paint(LIGHT_METAL)
    if own.ball:
        band = solids.tube(_circle(1.005 * own.radius, 32), 0.03 * own.radius, 6)
        rims = [ScenePart(band, body, pose_along(axis, at), metal, "loops", own.name) for axis in np.eye(3)[:2]]
        return [ScenePart(solids.sphere(own.radius), body, at, palette_color(1), "loops", own.name), *rims]
    thick = min(0.12 * own.radius, proportions.radius)
    pose = pose_along(np.eye(3)[AXES.index(own.axis)], at)
    hub = solids.cylinder(2.0 * thick, 4.0 * thick)
    rim = solids.tube(_circle(own.radius - thick, 48), thick, 10)
    found = [(rim, rubber), (hub, metal)]
    for turn in 2.0 * np.pi * np.arange(SPOKES) / SPOKES:
        end = (own.radius - thick) * np.array([np.cos(turn), np.sin(turn), 0.0])
        found.append((solids.tube([(0.0, 0.0, 0.0), end.tolist()], 0.35 * thick, 6), metal))
    return [ScenePart(mesh, body, pose, color, "loops", own.name) for mesh, color in found]


def _circle(radius: float, corners: int) -> list[tuple[float, float, float]]:
    turns = np.linspace(0.0, 2.0 * np.pi, corners + 1)
    return [(radius * float(np.cos(turn)), radius * float(np.sin(turn)), 0.0) for turn in turns]
