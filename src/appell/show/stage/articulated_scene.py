"""A system that is moved by hand in a page: sliders set its coordinates, handles bring its frames to poses.

    articulated = ArticulatedScene(dyn, q)            articulated.scene      a scene with one live actor
    articulated.posed(0, values)                  where it goes with its sliders there (`stage.sliders`)
    articulated.dragged(0, k, pose, values)       where it goes with handle k dragged to a pose (`stage.dragging`)
    articulated.shown(q)                          where it goes when Python says so

It keeps the last configuration that it could take, and stays there if it cannot follow; the note of an answer says why.
What answers need is compiled by `prepare`, so that each takes a few milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.motion.record import Record
from appell.show.scene.poses import rotations
from appell.show.scene.scene import Scene
from appell.show.server.live import Reply
from appell.show.stage.appearance import Appearance
from appell.show.stage.dragging import Follower, Grip, follower, grips, handles
from appell.show.stage.scenes import record_scene, robot_scene
from appell.show.stage.shape import checked_configuration
from appell.show.stage.sliders import Sliders, slid

LONGEST_PREPARATION_S = 10.0  # s of getting ready, after which handles wait until they are dragged
SAME = 1e-9  # of a slider's value: what a page may lose of it on the way


class ArticulatedScene:
    """A system in a page, at the configuration `q`."""

    def __init__(self, dyn: Dynamics, q=None, walls: Iterable[Any] = (), live: bool = True):
        self.dyn, self.system, self.walls = dyn, dyn.system, tuple(walls)
        self.sliders = Sliders(self.system)
        self.q = self._start() if q is None else checked_configuration(dyn, q)
        self.live = live  # whether it is its own scene that is on stage
        self._appearance = Appearance(dyn)
        self._followers: dict[int, Follower] = {}

    def _start(self) -> np.ndarray:
        """Where the system starts; a tree within its limits, which its neutral configuration may be outside of."""
        limits, q = self.system.limits, self.system.start
        return np.clip(q, limits.lower, limits.upper) if self.system.is_tree else q

    # ---- what is seen

    @cached_property
    def _grips(self) -> list[Grip]:
        return grips(self.dyn)

    @cached_property
    def _staged(self) -> Scene:
        """Where it started."""
        scene = robot_scene(self.dyn, self.q, walls=self.walls)
        (actor,) = scene.actors
        return replace(scene, actors=(replace(actor, handles=handles(self._grips, actor.bodies)),))

    @property
    def scene(self) -> Scene:
        """The scene, with its live actor where it is now."""
        (actor,) = self._staged.actors
        here = replace(actor, poses=self._poses(), sliders=self.sliders.at(self.q))
        return replace(self._staged, actors=(here,))

    def _poses(self) -> np.ndarray:
        return self._appearance.poses(self.q)

    @property
    def steps(self) -> int:
        """Of `prepare`."""
        return 2 + len(self._grips)

    def prepare(self, done: Callable[[], None] = lambda: None) -> None:
        """Read meshes and compile what answers need; `done` is called after each of the steps.

        Handles are compiled as long as that does not last too long, the outermost first, which a page offers first; the
        others when they are dragged.
        """
        start = time.perf_counter()
        for first in (lambda: self._staged, self._poses):
            first()
            done()
        for k, grip in reversed([*enumerate(self._grips)]):
            if time.perf_counter() - start < LONGEST_PREPARATION_S:
                here = self.dyn.pose(grip.body)(self.q) @ np.array(grip.pose.matrix, float)
                self._follower(k).follow(here, self.q)
            done()

    # ---- what a page asks

    def posed(self, actor: int, values: Sequence[float]) -> Reply:
        note = self._slide(values)
        return Reply(self.sliders.values(self.q, values), self._poses(), note)

    def dragged(self, actor: int, handle: int, pose: Sequence[float], values: Sequence[float]) -> Reply:
        if not np.allclose(values, self.sliders.values(self.q), rtol=SAME, atol=SAME):
            self._slide(values)
        target = np.eye(4)
        target[:3, :3], target[:3, 3] = rotations(np.array(pose)), pose[:3]
        found = self._follower(handle).follow(target, self.q)
        self.q = found.q
        return Reply(self.sliders.values(self.q), self._poses(), found.note)

    def _slide(self, values: Sequence[float]) -> str:
        self.q, note = slid(self.system, self.dyn, self.q, self.sliders.put(values, self.q))
        return note

    def _follower(self, handle: int) -> Follower:
        if handle not in self._followers:
            self._followers[handle] = follower(self.dyn, self._grips[handle])
        return self._followers[handle]

    # ---- what Python shows

    def shown(self, thing: Any) -> Scene | Reply:
        """A scene or a record takes the stage; a configuration moves the system, which takes it again."""
        if isinstance(thing, Scene | Record):
            scene = thing if isinstance(thing, Scene) else record_scene(thing, robot=thing.dynamics or self.dyn)
            self.live = False
            return scene
        self.q = checked_configuration(self.dyn, thing)
        if self.live:
            return Reply(self.sliders.values(self.q), self._poses())
        self.live = True
        return self.scene
