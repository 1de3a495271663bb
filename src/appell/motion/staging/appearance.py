"""What is seen of a system, made once: parts on its bodies, where they are, what can be set and taken hold of.

What its description says of its looks comes first: meshes of files and primitive shapes. If it says nothing, links are
drawn from the geometry.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from appell.display.poses import poses
from appell.display.scene import LAYERS, SHOWN, Actor, Color, Handle, SceneMotion, ScenePart, SceneSlider, Strut
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.model.frame import Frame
from appell.model.mechanism import Mechanism
from appell.model.robot import Robot
from appell.model.system import System
from appell.motion.mechanisms.pose_check import check_pose
from appell.motion.pictures.drawing import catalogue_of
from appell.motion.pictures.shape import Shape, branches, is_matter
from appell.motion.staging.layers import center_parts, frame_parts, inertia_parts, loop_parts
from appell.motion.staging.legs import Linkage
from appell.motion.staging.limbs import Limbs
from appell.motion.staging.paint import numbered
from appell.motion.staging.proportions import Proportions, proportions_of
from appell.motion.staging.visual_parts import pose_numbers, visual_parts

TURN = math.pi  # a slider of an angle without limits goes so far to either side
TRIES = 3  # configurations that tell whether it lies in a plane wherever it goes
HANDLES = 12  # named frames up to which all can be taken hold of


class Appearance:
    """What is seen of a system, made once; actors at any configuration and in any motion share it."""

    def __init__(self, robot: System | Dynamics, *, layers: Iterable[str] = LAYERS, color: Color | None = None):
        self.dyn = catalogue_of(robot)
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
        closing, rods = loop_parts(self.system, self.index, proportions)
        parts = [*parts, *closing, *frame_parts(shape, proportions), *center_parts(shape, proportions)]
        return [*parts, *inertia_parts(shape, proportions)], [*struts, *rods], notes

    def _links(self) -> tuple[list[ScenePart], list[Strut], list[str]]:
        shape, tree = self.shape, self.system.tree
        if tree is None:
            legs = Linkage(shape, self.proportions, self.color)
            return legs.parts(), legs.struts(), []
        if tree.visuals:
            branch = branches(tree)
            parts, notes = visual_parts(
                tree,
                shape.ellipsoids,
                self.proportions,
                lambda body: self.color or numbered(branch.get(body, 0)),
                self.color,
            )
            return [*parts, *self._undescribed(tree)], [], notes
        limbs = Limbs(shape, self.proportions, self.color)
        return limbs.parts(), limbs.struts(), []

    def _undescribed(self, tree: Robot) -> list[ScenePart]:
        """Links without a visual, drawn from the geometry if they are most of the robot; else they are hidden parts."""
        covered = {visual.body for visual in tree.visuals}
        bare = {self.index[link.name] for link in tree.links if is_matter(tree, link) and link.name not in covered}
        if 2 * len(bare) <= sum(is_matter(tree, link) for link in tree.links):
            return []
        return [part for part in Limbs(self.shape, self.proportions, self.color).parts() if part.body in bare]

    @property
    def index(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.shape.names)}

    # ---- where it is

    def poses(self, q) -> np.ndarray:
        """Of all bodies at configurations (..., nq), in the order of the system's body names: (..., bodies, 7)."""
        R, x = self.shape.places(self.system.sized("q", q, self.system.nq))
        return poses(R, x)

    def proportions_at(self, q: np.ndarray) -> Proportions:
        """Size and plane over some configurations, which may be more than the robot's own at its start."""
        return proportions_of(self.shape, q)

    def actor(self, q=None, *, motion: SceneMotion | None = None, name: str = "") -> Actor:
        """At q, its start if None; a pose out of reach is an error that names the leg."""
        system = self.system
        q = system.sized("q", system.start if q is None else q, system.nq)
        if q.ndim != 1 or not np.isfinite(q).all():
            raise ArgumentError(
                f"q is {q}.", expected=f"{system.nq} finite numbers, one configuration of {system.owner}"
            )
        if isinstance(system, Mechanism):
            check_pose(self.dyn, q, np.inf)
        return Actor(
            name or system.name,
            tuple(self.shape.names),
            self.poses(q),
            self.parts,
            self.struts,
            motion,
            self.sliders(q),
            self.handles,
        )

    @cached_property
    def levers(self) -> np.ndarray:
        """How far what is drawn on every body reaches from its origin: (bodies)."""
        found = np.zeros(len(self.shape.names))
        for part in self.parts:
            if part.body >= 0 and part.layer in SHOWN:
                far = math.hypot(*part.pose[:3]) + float(np.linalg.norm(part.mesh.vertices, axis=1).max(initial=0.0))
                found[part.body] = max(found[part.body], far)
        for strut in self.struts:
            for body, end in zip(strut.bodies, strut.ends, strict=True):
                if body >= 0:
                    found[body] = max(found[body], float(np.linalg.norm(end)))
        return found

    # ---- what can be set

    def sliders(self, q: np.ndarray) -> tuple[SceneSlider, ...]:
        """One for every coordinate; without limits, a turn, or as far as the robot is large, about where it starts."""
        system, found = self.system, []
        ways = {"rad": TURN, "m": max(1.0, self.proportions.size), "1": 1.0}
        for k, (name, unit) in enumerate(zip(system.coordinate_names, system.coordinate_units, strict=True)):
            (lower, upper), middle = system.ranges[k], 0.0 if unit != "m" else float(system.start[k])
            way = ways.get(unit, 1.0)
            low = lower if math.isfinite(lower) else min(middle - way, float(q[k]))
            high = upper if math.isfinite(upper) else max(middle + way, float(q[k]), low)
            found.append(SceneSlider(name, unit, min(low, float(q[k])), max(high, float(q[k])), float(q[k])))
        return tuple(found)

    @cached_property
    def handles(self) -> tuple[Handle, ...]:
        """Named frames on bodies, and tips that have none; where there are many, the furthest of every tip only."""
        frames = [frame for frame in self.system.frames if frame.body is not None]
        tips = self._tips()
        if len(frames) > HANDLES:
            frames = [frame for frame in (self._furthest(frames, tip) for tip in tips) if frame is not None]
        taken = {frame.body for frame in frames}
        frames += [Frame(tip, tip) for tip in tips if tip not in taken]
        return tuple(Handle(frame.name, self.index[frame.body or ""], pose_numbers(frame.pose)) for frame in frames)

    def _tips(self) -> list[str]:
        """Links that carry none but such as follow them; of a mechanism, what its legs hold: its last body."""
        tree = self.system.tree
        if tree is None:
            return self.shape.names[-1:]
        parents = {link.parent for link in tree.moving}
        return [link.name for link in tree.moving if link.name not in parents]

    def _furthest(self, frames: list[Frame], tip: str) -> Frame | None:
        own = [frame for frame in frames if frame.body == tip]
        return max(own, key=lambda frame: math.hypot(*frame.pose.translation), default=None)
