"""A system that is moved interactively in a page: sliders set its coordinates, handles drag its frames.

    articulated = ArticulatedScene(dyn, q)
    articulated.scene                             a scene with one live actor
    articulated.posed(0, values)                  moves to slider values (`stage.sliders`)
    articulated.dragged(0, k, pose, values)       drags handle k to a pose (`stage.dragging`)
    articulated.shown(q)                          moves to a configuration given in Python

The system keeps its last valid configuration if it cannot follow a request; the note of the reply states why. `prepare`
compiles the required functions in advance, so that a reply takes a few milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.dynamics.distances import PairDistances, robot_of
from appell.motion.record import Record
from appell.show.scene.poses import rotations
from appell.show.scene.scene import STANDARD_LAYERS, Scene
from appell.show.server.live import Reply
from appell.show.stage.appearance import Appearance
from appell.show.stage.collision_view import closest_text
from appell.show.stage.dragging import Follower, HandleFrame, follower, handle_frames, handles
from appell.show.stage.scenes import record_scene, robot_scene
from appell.show.stage.shape import checked_configuration
from appell.show.stage.sliders import Sliders, follow_sliders

MAX_PREPARATION_S = 10.0  # after which the remaining handles are compiled when they are first dragged
SLIDER_TOLERANCE = 1e-9  # by which a page may change a slider value in transmission


class ArticulatedScene:
    """A system in a live page.

    Parameters
    ----------
    dyn : Dynamics
        Functions of the system.
    q : array_like, shape (nq,), optional
        Initial configuration; by default the start, within the limits of a tree.
    walls : iterable
        Surfaces of a simulation that are shown around the system.
    live : bool
        Whether the page shows this scene initially, and not a record.
    layers : iterable of str
        Layers of parts to include; with "collisions", replies state the closest pair of collision shapes.
    bending : float
        Factor of the deflections of flexible links in pictures.
    """

    def __init__(
        self,
        dyn: Dynamics,
        q=None,
        walls: Iterable[Any] = (),
        live: bool = True,
        layers: Iterable[str] = STANDARD_LAYERS,
        bending: float = 1.0,
    ):
        self.dyn, self.system, self.walls = dyn, dyn.system, tuple(walls)
        self.sliders = Sliders(self.system)
        self.q = checked_configuration(dyn, q)
        self.live = live  # whether pages show this scene, and not a record or another scene
        self._appearance = Appearance(dyn, layers=layers, bending=bending)
        self._followers: dict[int, Follower] = {}

    # ---- the scene

    @cached_property
    def _handle_frames(self) -> list[HandleFrame]:
        return handle_frames(self.dyn)

    @cached_property
    def _initial_scene(self) -> Scene:
        look = self._appearance
        scene = robot_scene(self.dyn, self.q, walls=self.walls, layers=look.layers, bending=look.shape.bending)
        (actor,) = scene.actors
        return replace(scene, actors=(replace(actor, handles=handles(self._handle_frames, actor.bodies)),))

    @property
    def scene(self) -> Scene:
        """The scene with its live actor at the current configuration."""
        (actor,) = self._initial_scene.actors
        moved = replace(actor, poses=self._poses(), sliders=self.sliders.at(self.q))
        return replace(self._initial_scene, actors=(moved,))

    def _poses(self) -> np.ndarray:
        return self._appearance.poses(self.q)

    @property
    def steps(self) -> int:
        """Number of steps of `prepare`."""
        return 2 + len(self._handle_frames)

    def prepare(self, done: Callable[[], None] = lambda: None) -> None:
        """Read meshes and compile the functions for replies; `done` is called after each step.

        Handles are compiled for up to MAX_PREPARATION_S, the outermost first, because the page selects it initially.
        The others are compiled when they are first dragged.
        """
        start = time.perf_counter()
        for first in (lambda: self._initial_scene, self._poses):
            first()
            done()
        for k, frame in reversed([*enumerate(self._handle_frames)]):
            if time.perf_counter() - start < MAX_PREPARATION_S:
                pose = self.dyn.pose(frame.body)(self.q) @ np.array(frame.pose.matrix, float)
                self._follower(k).follow(pose, self.q)
            done()

    # ---- requests of pages

    def posed(self, actor: int, values: Sequence[float]) -> Reply:
        """Move to slider values, as far as constraints allow."""
        note = self._slide(values)
        return Reply(self.sliders.values(self.q, values), self._poses(), self._note(note))

    def dragged(self, actor: int, handle: int, pose: Sequence[float], values: Sequence[float]) -> Reply:
        """Drag a handle to a pose (7), starting from slider values."""
        if not np.allclose(values, self.sliders.values(self.q), rtol=SLIDER_TOLERANCE, atol=SLIDER_TOLERANCE):
            self._slide(values)
        target = np.eye(4)
        target[:3, :3], target[:3, 3] = rotations(np.array(pose)), pose[:3]
        result = self._follower(handle).follow(target, self.q)
        self.q = result.q
        return Reply(self.sliders.values(self.q), self._poses(), self._note(result.note))

    def _note(self, note: str) -> str:
        """Return a note, or with collision shapes the closest pair if there is none."""
        return note or (closest_text(self._distances, self.q) if "collisions" in self._appearance.layers else "")

    @cached_property
    def _distances(self) -> PairDistances:
        return PairDistances(self.dyn, robot_of(self.dyn).collision_pairs.pairs)

    def _slide(self, values: Sequence[float]) -> str:
        self.q, note = follow_sliders(self.dyn, self.q, self.sliders.put(values, self.q))
        return note

    def _follower(self, handle: int) -> Follower:
        if handle not in self._followers:
            self._followers[handle] = follower(self.dyn, self._handle_frames[handle])
        return self._followers[handle]

    # ---- updates from Python

    def shown(self, thing: Any) -> Scene | Reply:
        """Return the scene of a record or a given scene, or move the system to a configuration and show it again."""
        if isinstance(thing, Scene | Record):
            look = self._appearance
            given: dict[str, Any] = {"layers": look.layers, "bending": look.shape.bending}
            scene = (
                thing if isinstance(thing, Scene) else record_scene(thing, robot=thing.dynamics or self.dyn, **given)
            )
            self.live = False
            return scene
        self.q = checked_configuration(self.dyn, thing)
        if self.live:
            return Reply(self.sliders.values(self.q), self._poses())
        self.live = True
        return self.scene
