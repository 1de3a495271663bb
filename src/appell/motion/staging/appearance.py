"""What is seen of a system, made once: parts on its bodies, and where they are.

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
from appell.display.scene import LAYERS, SHOWN, Actor, Color, SceneMotion, ScenePart, Strut
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError, unknown_name
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
from appell.motion.staging.visual_parts import visual_parts

TRIES = 3  # configurations that tell whether it lies in a plane wherever it goes


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
