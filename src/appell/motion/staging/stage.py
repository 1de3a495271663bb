"""Scenes of systems and of their motions, for whatever shows them: pages, films, live views.

staged(robot)                an actor that stands
staged_still(robot)          a scene of it
staged_record(record)        a scene in which it moves, with events, charts and walls
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from appell.display.scene import LAYERS, Actor, Color, Scene, SceneMotion
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.system import System
from appell.motion.pictures.camera import placed, upwards
from appell.motion.record import Record
from appell.motion.staging.appearance import Appearance
from appell.motion.staging.charts import charts
from appell.motion.staging.keyframes import keyframes
from appell.motion.staging.marks import marks
from appell.motion.staging.moved import configurations, moved
from appell.motion.staging.paint import numbered
from appell.motion.staging.wall_parts import rolled_on, wall_parts

__all__ = ["Appearance", "staged", "staged_record", "staged_still"]

GLANCES = 60  # at a motion, for how much room it takes


def staged(robot: System | Dynamics, q=None, *, layers: Iterable[str] = LAYERS, color: Color | None = None) -> Actor:
    """A robot or a mechanism at q, its start if None, with what belongs to these layers."""
    return Appearance(robot, layers=layers, color=color).actor(q)


def staged_still(
    robot: System | Dynamics, q=None, *, walls: Iterable[Any] = (), title: str = "", layers: Iterable[str] = LAYERS
) -> Scene:
    """The scene of a robot that stands still at q, its start if None."""
    seen = Appearance(robot, layers=layers)
    actor = seen.actor(q)
    here = seen.system.start if q is None else np.asarray(q, float)
    return _scene([(seen, actor, here)], tuple(walls), title, ())


def staged_record(
    record: Record,
    *others: Record,
    robot: System | Dynamics | None = None,
    walls: Iterable[Any] | None = None,
    title: str = "",
    layers: Iterable[str] = LAYERS,
) -> Scene:
    """The scene of a motion, with others over it, each in a colour of its own.

    Records of `simulate` know their robot and their walls; others are told, and those over it move the same robot
    unless they know their own. Frames are as many as it takes for straight lines between them to be the motion to less
    than a pixel, or as many as a mail can carry; a note then says how far off they are.
    """
    for own in (record, *others):
        if not isinstance(own, Record):
            raise ArgumentError(f"{own!r} cannot be shown.", expected="records")
    records, dyn = [own.in_si() for own in (record, *others)], moved(record, robot)
    members: list[tuple[Appearance, Actor, np.ndarray]] = []
    notes: list[str] = []
    for k, own in enumerate(records):
        own_dyn = dyn if k == 0 else moved(own, own.dynamics or dyn)
        seen = Appearance(own_dyn, layers=layers, color=numbered(k) if others else None)
        q = configurations(own, np.linspace(own.t[0], own.t[-1], GLANCES), own_dyn.system)
        q = q[np.isfinite(q).all(axis=-1)]
        if not len(q):
            raise ArgumentError(f"the record of {own_dyn.system.owner} has no row of finite numbers to show.")
        named = _name(own, own_dyn.system, k, len(records))
        shown = own.walls if walls is None or k else tuple(walls)
        motion, told = _motion(seen, own, q, tuple(shown))
        notes += [f"{named}: {note}" if others else note for note in told]
        actor = seen.actor(q[0], motion=motion, name=named)
        members.append((seen, actor, q))
    every = [wall for own in records for wall in own.walls] if walls is None else list(walls)
    return _scene(members, tuple(every), title, tuple(notes))


def _motion(seen: Appearance, record: Record, q: np.ndarray, walls: tuple[Any, ...]) -> tuple[SceneMotion, list[str]]:
    """Frames, marks and charts of a record, and notes on what was left out."""
    system, size = seen.system, seen.proportions_at(q).size
    found, noted = marks(record, seen, walls, size)
    t, poses, told = keyframes(
        lambda at: seen.poses(configurations(record, at, system)),
        (record.t[0], record.t[-1]),
        [mark.time for mark in found],
        seen.levers,
        size,
    )
    return SceneMotion(t, poses, tuple(found), tuple(charts(record, seen.dyn))), [*noted, *told]


def _scene(
    members: list[tuple[Appearance, Actor, np.ndarray]], walls: tuple[Any, ...], title: str, notes: tuple[str, ...]
) -> Scene:
    """Actors with what stands about them."""
    system = members[0][0].system
    walls = tuple(_once([*walls, *(wall for seen, _, _ in members for wall in rolled_on(seen.system))]))
    scenes = [seen.shape.at(q) for seen, _, q in members]
    places = np.concatenate([scene.places for scene in scenes])
    points = np.concatenate([scene.points(scene.bare) for scene in scenes])
    up = upwards(system.gravity)
    planar = len(places) > 0 and all(seen.proportions.normal is not None for seen, _, _ in members)
    camera = placed(places, system.gravity) if planar else None
    normal = camera.axes[2] if camera is not None and camera.flat else None
    parts, told = wall_parts(walls, points if len(points) else np.zeros((1, 3)), up, normal)
    missing = [note for seen, _, _ in members for note in seen.notes]
    return Scene(
        title or system.name,
        tuple(actor for _, actor, _ in members),
        tuple(parts),
        up=_three(up),
        notes=tuple(dict.fromkeys((*missing, *told, *notes))),
        flat=None if normal is None else _three(normal),
    )


def _name(record: Record, system: System, k: int, count: int) -> str:
    """How an actor is called: as its robot, and as which of several."""
    which = f" {record.about['member']}" if "member" in record.about else f" {k + 1}"
    return f"{system.name}{which}" if count > 1 else system.name


def _once(walls: list[Any]) -> list[Any]:
    """Walls of several records, each once."""
    found: list[Any] = []
    for wall in walls:
        if not any(wall is other or wall == other for other in found):
            found.append(wall)
    return found


def _three(vector: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (vector + 0.0).tolist()  # no -0
    return x, y, z
