"""What happens in a record, for the time line and in space: a mark an event, arrows where something was struck.

An impulse along the normal of its wall is n = ∇φ / |∇φ| of the gap φ at the point that struck it, away from the wall;
impulses of friction are vectors of the world as they are. One scale holds for all arrows of a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.display.poses import rotations
from appell.display.scene import Mark
from appell.motion.event import Event
from appell.motion.record import Record
from appell.motion.staging.appearance import Appearance
from appell.motion.staging.moved import configurations

LARGEST = 0.25  # the longest arrow in the robot's size
MOST = 1000  # marks of a record
NAMED = 6  # points that a label names

Arrow = tuple[np.ndarray, np.ndarray]


def marks(record: Record, seen: Appearance, walls: Sequence[Any], size: float) -> tuple[list[Mark], list[str]]:
    """The marks of all events inside the record's time, and notes on what has none."""
    inside = [event for event in record.events if record.t[0] <= event.time <= record.t[-1]]
    chosen = _strongest(inside)
    told = [] if len(chosen) == len(inside) else [f"{len(chosen)} of {len(inside)} events are marked, the strongest."]
    impulses = _impulses(record, seen, walls, chosen)
    most = max((float(np.linalg.norm(vector)) for own in impulses for _, vector in own), default=0.0)
    scale = LARGEST * size / most if most > 0.0 else 0.0
    return [
        Mark(float(event.time), event.kind, told_of(event, seen), tuple((place, scale * p) for place, p in own))
        for event, own in zip(chosen, impulses, strict=True)
    ], told


def told_of(event: Event, seen: Appearance) -> str:
    """An event in words: what met, how hard, how fast."""
    joints = {link.joint.name: link.joint.motion for link in (seen.system.tree.links if seen.system.tree else ())}
    told = []
    for k, name in enumerate(event.points[:NAMED]):
        stopped = k < len(event.surfaces) and event.surfaces[k] < 0
        turning = stopped and getattr(joints.get(name), "unit", "rad") == "rad"
        words = name
        if event.kind == "impact" and k < len(event.impulses):
            words += f" {event.impulses[k]:.4g} {'N m s' if turning else 'N s'}"
        if event.kind == "impact" and k < len(event.normal_speeds):
            words += f" at {event.normal_speeds[k]:.4g} {'rad/s' if turning else 'm/s'}"
        if k < len(event.frictions) and np.any(event.frictions[k]):
            words += f", friction {np.linalg.norm(event.frictions[k]):.4g} N s"
        told.append(words)
    if len(event.points) > NAMED:
        told.append(f"and {len(event.points) - NAMED} more")
    where = f" of {'; '.join(told)}" if told else ""
    return f"{event.kind}{where}" + (f": {event.note}" if event.note else "")


def _strongest(events: list[Event]) -> list[Event]:
    """All events, or those with the largest impulses, in their order."""
    if len(events) <= MOST:
        return events
    strength = [float(np.abs(event.impulses).max(initial=0.0)) for event in events]
    kept = np.sort(np.argsort(strength, kind="stable")[-MOST:])
    return [events[k] for k in kept]


def _impulses(record: Record, seen: Appearance, walls: Sequence[Any], events: Sequence[Event]) -> list[list[Arrow]]:
    """For each event, where in the world its points are and the impulses on them, in N s."""
    struck = [event for event in events if event.kind == "impact" and len(event.impulses)]
    if not struck or not walls:
        return [[] for _ in events]
    times = np.array([event.time for event in struck])
    poses = seen.poses(configurations(record, times, seen.system))
    normals = [_normal_of(wall) for wall in walls]
    rows = {id(event): _arrows(event, seen, own, normals) for event, own in zip(struck, poses, strict=True)}
    return [rows.get(id(event), []) for event in events]


def _arrows(event: Event, seen: Appearance, poses: np.ndarray, normals: list[Function]) -> list[Arrow]:
    found = []
    for k, (name, surface) in enumerate(zip(event.points, event.surfaces, strict=False)):
        known = name in seen.system.frame_names and 0 <= surface < len(normals) and k < len(event.impulses)
        if not known:
            continue
        frame = seen.system.frame(name)
        if frame.body is None:
            continue
        pose = poses[seen.index[frame.body]]
        place = rotations(pose) @ np.array([*frame.pose.translation], float) + pose[:3]
        gradient = normals[surface](place)
        size = np.linalg.norm(gradient)
        if not (np.isfinite(size) and size > 0.0):
            continue
        impulse = event.impulses[k] * gradient / size
        impulse = impulse + (event.frictions[k] if k < len(event.frictions) else 0.0)
        if np.isfinite(impulse).all() and impulse.any():
            found.append((place, impulse))
    return found


def _normal_of(wall: Any) -> Function:
    """The gradient of a wall's gap, as a function of the place."""
    return Function.of("gap", {"x": 3}, lambda x: {"gap": wall.gap(*x)}).jacobian("x")
